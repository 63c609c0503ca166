"""The layout of the indexed part of an array and of its partner: see ``index_walk.pyx``."""
from numpy cimport npy_intp

from phintys.ops.native.indexed_loops cimport ItemLoop, LineLoop, OffsetLoop
from phintys.ops.native.mask_loops cimport MaskCursor
from phintys.ops.native.row_copy cimport RowLoop
from phintys.ops.native.strided_copy cimport CopyPlan
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

# An array of positions or a mask.
cdef struct Source:
    char* data
    npy_intp strides[MAX_RANK]              # along the dimensions of the arrays: bytes; of a mask: true elements
    npy_intp length, step                   # of the dimension it selects from: length, bytes from element to element
    npy_intp count                          # true elements of a mask
    OffsetLoop offsets                      # NULL: a mask
    MaskCursor cursor

# The broadcast dimensions of the index arrays.
cdef struct Arrays:
    int count
    npy_intp shape[MAX_RANK]
    npy_intp partner[MAX_RANK]              # bytes, in the partner

cdef struct Walk:
    char* base
    char* partner
    npy_intp size                           # number of elements of the broadcast index arrays
    Arrays arrays
    CopyPlan before, behind                 # kept dimensions before and after those of the index arrays; `target` is
                                            # the array, `source` the partner
    Source* sources
    int source_count
    bint lines_alike                        # whether the offsets of two lines of positions differ only by a constant
    ItemLoop items
    LineLoop line
    RowLoop rows                            # moves rows that are contiguous on both sides; or NULL
    npy_intp row_bytes

# Add the partner to the layout of the indexed part, which has `rank` dimensions; lengths of 1 are broadcast.
cdef void start_walk(Walk* walk, Cell* partner, int rank) noexcept nogil
# Move the elements for positions [start, stop) of the index arrays. This is a Task.
cdef void walk_positions(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil
