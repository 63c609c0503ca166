"""The slots of a plan; see ``slots.pyx``."""
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Frame, Machine

cdef bint is_planned(Machine* machine) noexcept nogil
cdef int choose_plan(Machine* machine, const Instruction* at) except -1     # with the GIL
cdef list shapes_of(Frame frame)
