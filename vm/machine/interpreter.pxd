"""The bytecode loop; see ``interpreter.pyx``."""
from phintys.vm.machine.frame cimport Machine

cdef int execute(Machine* machine) noexcept nogil
