"""Arrays of positions as kernels see them: looked at before anything is read or written where they lead."""
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.indexed_loops cimport phintys_first_outside, position_dtype
from phintys.ops.integers cimport integer_at
from phintys.ops.strided_copy cimport PHINTYS_MAX_RANK, CopyPlan, next_place, plan_copy
from phintys.vm.abi cimport Cell

cdef inline int check_positions(const Cell* positions, int dtype, npy_intp length, int axis) except -1 nogil:
    """Every position must lie in the dimension ``axis`` of ``length``, counted from the start or from the end."""
    cdef CopyPlan plan
    cdef npy_intp index[PHINTYS_MAX_RANK]
    cdef npy_intp count = 1, stride = positions.itemsize, found
    cdef char* line = positions.data
    cdef const char* same = positions.data
    if plan_copy(&plan, positions.ndim, positions.shape, positions.strides, positions.strides) == 0:
        return 0
    memset(index, 0, plan.ndim * sizeof(npy_intp))
    if plan.ndim:
        count, stride = plan.shape[plan.ndim - 1], plan.target[plan.ndim - 1]
    while True:
        found = phintys_first_outside[dtype](line, stride, count, length)
        if found >= 0:
            return refuse_position(line + found * stride, positions, dtype, length, axis)
        if not next_place(&plan, plan.ndim - 1, index, &line, &same):
            return 0

cdef inline int refuse_position(char* place, const Cell* positions, int dtype, npy_intp length,
                                int axis) except -1 with gil:
    """Raise because of the position that stands at ``place``."""
    cdef Cell one = positions[0]
    one.ndim, one.data = 0, place
    position = integer_at(&one, 0)
    if dtype == position_dtype("uint64"):
        position %= 2 ** 64
    raise IndexError(f"index {position} is out of bounds for axis {axis} with size {length}")
