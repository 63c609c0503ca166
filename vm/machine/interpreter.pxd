"""The bytecode loop; see ``interpreter.pyx``."""
from phintys.vm.abi cimport Cell
from phintys.vm.machine.frame cimport Machine

# Whether a number is zero, of whatever dtype; NaN is not.
cdef bint is_zero(const Cell* cell) noexcept nogil
cdef int execute(Machine* machine) noexcept nogil
