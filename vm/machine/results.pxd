"""RESULT: what the caller of a function gets; see ``results.pyx``."""
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Frame, Machine

cdef int check_lent(Frame frame) except -1
cdef int take_results(Machine* machine, const Instruction* at) except -1
