"""Copies of cells, and cells that refer to the memory of others; see ``copies.pyx``."""
from phintys.vm.abi cimport Cell, Context, cell_size
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport WASTE, Machine

# Both return whether the target has another shape or other strides than before.
cdef bint alias(Context* context, Cell* target, Cell* source) noexcept nogil
cdef bint move(Context* context, Cell* target, Cell* source) noexcept nogil
cdef int copy_cell(Machine* machine, const Instruction* at) except -1 nogil
cdef int own_cell(Machine* machine, const Instruction* at) except -1 nogil
cdef void copy_elements(char* write, Cell* source) noexcept nogil

cdef inline bint is_wasteful(const Cell* cell) noexcept nogil:
    """Whether the cell uses less than half of its buffer, which is worth a copy that releases the rest."""
    return cell.buffer.capacity > 2 * <size_t>(cell_size(cell) * cell.itemsize) + WASTE
