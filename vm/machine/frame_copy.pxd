"""Copies of frames that need no GIL; see ``frame_copy.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell
from phintys.vm.machine.frame cimport Frame, Machine

cdef struct FrameModel:             # what copies are made of: the parts of a frame that has never run
    const Machine* machine
    const Cell* cells
    const npy_intp* dimensions
    const char* private_memory
    size_t n_cells, n_dimensions, n_operands, n_blocks, n_sites, n_layouts, private_bytes

cdef struct FrameCopy:              # all in one block of memory, this struct first
    Machine machine
    const FrameModel* model

# The frame must live as long as the model and its copies.
cdef void describe_frame(Frame frame, FrameModel* model) noexcept
# NULL: there is no memory.
cdef FrameCopy* copy_frame(const FrameModel* model) noexcept nogil
cdef void free_copy(FrameCopy* copy) noexcept nogil
# After a failure: empty every cell that is not a constant.
cdef void reset_copy(FrameCopy* copy) noexcept nogil
# The memory that a copy keeps for the next call.
cdef size_t bytes_kept_by_copy(const FrameCopy* copy) noexcept nogil
