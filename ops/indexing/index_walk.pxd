"""The indexed part of an array beside its partner, and a way through both: see ``index_walk.pyx``."""
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

# The dimensions of the index arrays, broadcast together.
cdef struct Arrays:
    int count
    npy_intp shape[MAX_RANK]
    npy_intp partner[MAX_RANK]              # bytes, in the partner

cdef struct Walk:
    char* base
    char* partner
    npy_intp size                           # number of positions: of the index arrays, broadcast
    Arrays arrays
    CopyPlan before, behind                 # dimensions that the index keeps; `target`: array, `source`: partner
    Source* sources
    int source_count
    bint lines_alike                        # whether only their common offset tells one line of positions from another
    ItemLoop items
    LineLoop line
    RowLoop rows                            # for rows without gaps on either side; or NULL
    npy_intp row_bytes

# Lay the partner beside the indexed part, which has `rank` dimensions; lengths of 1 are repeated.
cdef void start_walk(Walk* walk, Cell* partner, int rank) noexcept nogil
# Move what belongs to positions [start, stop) of the index arrays. A Task.
cdef void walk_positions(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil
