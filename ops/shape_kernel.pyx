"""Kernels that look at, move or make arrays without arithmetic: views, reshapes, copies, fills, ranges.

Views set shape and strides in ``prepare`` and take the memory (``share``) in ``run``: a 0-d source is copied into the
view's own cell, so its value must exist by then. A kernel that either views or copies decides by the strides, both times.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.integers cimport integer_at, shape_of
from phintys.ops.strided_copy cimport copy_strided, view_strides
from phintys.vm.abi cimport Cell, Context, Kernel, allocate, cell_size, share

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    LONG_BYTES = 131072             # copying as much takes about 20 microseconds from memory


cdef inline int is_long(const Cell* cell) noexcept nogil:
    return cell_size(cell) * cell.itemsize >= LONG_BYTES


cdef inline void copy_cell(Cell* target, const Cell* source) noexcept nogil:
    """Copy a cell's elements to another of the same shape."""
    copy_strided(source.ndim, source.shape, target.data, target.strides, source.data, source.strides, source.itemsize)


cdef class CopyKernel(Kernel):
    """A copy in C order: ``(x, out)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[1], operands[0].shape)
        return is_long(operands[1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        copy_cell(operands[1], operands[0])
        return 0


cdef class DimShuffleKernel(Kernel):
    """A view with permuted, dropped and added dimensions: ``(x, out)``.

    Parameters
    ----------
    input_rank : int
    new_order : sequence of int or 'x'
    """
    cdef int order[MAX_RANK]
    cdef int dropped[MAX_RANK]
    cdef int ndim, drops

    def __init__(self, int input_rank, new_order):
        self.ndim = len(new_order)
        for axis, value in enumerate(new_order):
            self.order[axis] = -1 if value == "x" else value
        self.drops = 0
        for axis in range(input_rank):
            if axis not in new_order:
                self.dropped[self.drops] = axis
                self.drops += 1

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef Cell* view = operands[1]
        cdef int axis, old
        for axis in range(self.drops):
            if source.shape[self.dropped[axis]] != 1:
                with gil:
                    raise ValueError(f"DimShuffle drops dimension {self.dropped[axis]}, which must have length 1, of an "
                                     f"array of shape {shape_of(source)}")
        for axis in range(self.ndim):
            old = self.order[axis]
            view.shape[axis] = source.shape[old] if old >= 0 else 1
            view.strides[axis] = source.strides[old] if old >= 0 else source.itemsize
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0


cdef class RebroadcastKernel(Kernel):
    """The same array under a type with other broadcastable dimensions: ``(x, out)``; ``ones`` must have length 1."""
    cdef int ones[MAX_RANK]
    cdef int count

    def __init__(self, ones):
        self.count = len(ones)
        for index, axis in enumerate(ones):
            self.ones[index] = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int index
        for index in range(self.count):
            if operands[0].shape[self.ones[index]] != 1:
                with gil:
                    raise ValueError(f"Dimension {self.ones[index]} in Rebroadcast's input was supposed to be 1 "
                                     f"(got {operands[0].shape[self.ones[index]]} instead)")
        view_whole(operands[0], operands[1])
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0


cdef inline void view_whole(const Cell* source, Cell* view) noexcept nogil:
    """Give a view the shape and the strides of its source."""
    memcpy(view.shape, source.shape, source.ndim * sizeof(npy_intp))
    memcpy(view.strides, source.strides, source.ndim * sizeof(npy_intp))


cdef class SpecifyShapeKernel(Kernel):
    """The same array, after a check of its shape: ``(x, shape, out)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis
        cdef bint right = operands[1].shape[0] == operands[0].ndim
        for axis in range(operands[0].ndim):
            right = right and integer_at(operands[1], axis) == operands[0].shape[axis]
        if not right:
            with gil:
                wanted = tuple([integer_at(operands[1], axis) for axis in range(operands[1].shape[0])])
                raise AssertionError(f"SpecifyShape: got shape {shape_of(operands[0])}, expected {wanted}")
        view_whole(operands[0], operands[2])
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[2], operands[0], operands[0].data)
        return 0


cdef class ReshapeKernel(Kernel):
    """Another shape with the same elements in C order: ``(x, shape, out)``; a view where strides allow, else a copy."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* source = operands[0]
        cdef Cell* wanted = operands[1]
        cdef Cell* result = operands[2]
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = cell_size(source)
        cdef npy_intp known = 1
        cdef int axis, unknown = -1
        cdef bint right = wanted.shape[0] == result.ndim
        if not right:
            with gil:
                raise ValueError(f"shape argument to Reshape has length {wanted.shape[0]}, should be {result.ndim}")
        for axis in range(result.ndim):
            shape[axis] = integer_at(wanted, axis)
            if shape[axis] == -1 and unknown < 0:
                unknown = axis
            elif shape[axis] < 0:
                right = False
            else:
                known *= shape[axis]
        if unknown >= 0:
            right = right and known != 0 and size % known == 0
            if right:
                shape[unknown] = size // known
        elif known != size:
            right = False
        if not right:
            with gil:
                asked = tuple([integer_at(wanted, axis) for axis in range(result.ndim)])
                raise ValueError(f"Cannot reshape input of shape {shape_of(source)} to shape {asked}")
        if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim, shape, result.strides):
            memcpy(result.shape, shape, result.ndim * sizeof(npy_intp))
            return 0
        allocate(context, result, shape)
        return is_long(result)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell* result = operands[2]
        cdef npy_intp strides[MAX_RANK]
        if view_strides(source.ndim, source.shape, source.strides, source.itemsize, result.ndim, result.shape, strides):
            share(context, result, source, source.data)
            return 0
        contiguous_strides(source.ndim, source.shape, source.itemsize, strides)
        copy_strided(source.ndim, source.shape, result.data, strides, source.data, source.strides, source.itemsize)
        return 0


cdef inline void contiguous_strides(int ndim, const npy_intp* shape, npy_intp itemsize, npy_intp* strides) noexcept nogil:
    cdef int axis
    for axis in range(ndim - 1, -1, -1):
        strides[axis] = itemsize
        itemsize *= shape[axis]


cdef class ShapeKernel(Kernel):
    """The shape as a vector of int64: ``(x, out)``."""

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp length = operands[0].ndim
        allocate(context, operands[1], &length)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef int axis
        for axis in range(operands[0].ndim):
            (<int64_t*>operands[1].data)[axis] = operands[0].shape[axis]
        return 0


cdef class ShapeIKernel(Kernel):
    """One length as a 0-d int64: ``(x, out)``."""
    cdef int axis

    def __init__(self, int axis):
        self.axis = axis

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[1], NULL)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        (<int64_t*>operands[1].data)[0] = operands[0].shape[self.axis]
        return 0


cdef inline void read_shape(Cell** lengths, int rank, npy_intp* shape) noexcept nogil:
    """The shape that 0-d operands give."""
    cdef int axis
    for axis in range(rank):
        shape[axis] = integer_at(lengths[axis], 0)


cdef class AllocKernel(Kernel):
    """A new array filled by broadcasting: ``(value, length, ..., length, out)``."""
    cdef int rank

    def __init__(self, int rank):
        self.rank = rank

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* value = operands[0]
        cdef npy_intp shape[MAX_RANK]
        cdef int axis, lead = self.rank - value.ndim
        read_shape(operands + 1, self.rank, shape)
        for axis in range(value.ndim):
            if value.shape[axis] != 1 and value.shape[axis] != shape[axis + lead]:
                with gil:
                    wanted = tuple([shape[other] for other in range(self.rank)])
                    raise ValueError(f"Alloc: could not broadcast a value of shape {shape_of(value)} into {wanted}")
        allocate(context, operands[1 + self.rank], shape)
        return is_long(operands[1 + self.rank])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* value = operands[0]
        cdef Cell* result = operands[1 + self.rank]
        cdef npy_intp strides[MAX_RANK]
        broadcast_strides(value, result, strides)
        copy_strided(result.ndim, result.shape, result.data, result.strides, value.data, strides, value.itemsize)
        return 0


cdef inline void broadcast_strides(const Cell* value, const Cell* target, npy_intp* strides) noexcept nogil:
    """The strides that make ``value`` as large as ``target``."""
    cdef int axis, lead = target.ndim - value.ndim
    for axis in range(target.ndim):
        strides[axis] = 0 if axis < lead or value.shape[axis - lead] == 1 else value.strides[axis - lead]


cdef class AllocEmptyKernel(Kernel):
    """A new array of unspecified content: ``(length, ..., length, out)``."""
    cdef int rank

    def __init__(self, int rank):
        self.rank = rank

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        read_shape(operands, self.rank, shape)
        allocate(context, operands[self.rank], shape)
        return 0


cdef class EyeKernel(Kernel):
    """Ones on a diagonal, zeros elsewhere: ``(rows, columns, diagonal, out)``."""
    cdef char one[16]

    def __init__(self, one):
        cdef bytes value = one.tobytes()
        memcpy(self.one, <char*>value, len(value))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[2]
        read_shape(operands, 2, shape)
        allocate(context, operands[3], shape)
        return is_long(operands[3])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[3]
        cdef npy_intp diagonal = integer_at(operands[2], 0)
        cdef npy_intp row
        memset(result.data, 0, cell_size(result) * result.itemsize)
        for row in range(max(0, -diagonal), min(result.shape[0], result.shape[1] - diagonal)):
            memcpy(result.data + row * result.strides[0] + (row + diagonal) * result.itemsize, self.one, result.itemsize)
        return 0


cdef class MakeVectorKernel(Kernel):
    """0-d operands of one dtype side by side: ``(x, ..., x, out)``."""
    cdef npy_intp count

    def __init__(self, npy_intp count):
        self.count = count

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        allocate(context, operands[self.count], &self.count)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[self.count]
        cdef npy_intp index
        for index in range(self.count):
            memcpy(result.data + index * result.itemsize, operands[index].data, result.itemsize)
        return 0


# ---- ranges ----------------------------------------------------------------------------------------------------------
cdef inline double real_at(const Cell* cell) noexcept nogil:
    if cell.typenum == cnp.NPY_FLOAT64:
        return (<double*>cell.data)[0]
    if cell.typenum == cnp.NPY_FLOAT32:
        return (<float*>cell.data)[0]
    return <double>integer_at(cell, 0)


cdef class ARangeKernel(Kernel):
    """``start + i * step`` below ``stop``: ``(start, stop, step, out)``; NumPy's length and NumPy's rounding.

    ``exact``: all three operands are integers; otherwise the length is computed in double precision.
    """
    cdef bint exact

    def __init__(self, bint exact):
        self.exact = exact

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp start, stop, step
        cdef npy_intp length = 0
        cdef double real
        if self.exact:
            start, stop, step = integer_at(operands[0], 0), integer_at(operands[1], 0), integer_at(operands[2], 0)
            if step > 0 and stop > start:
                length = (stop - start - 1) // step + 1
            elif step < 0 and stop < start:
                length = (start - stop - 1) // -step + 1
        else:
            step = real_at(operands[2]) != 0
            real = (real_at(operands[1]) - real_at(operands[0])) / real_at(operands[2])
            if not real < 1e18:
                with gil:
                    raise ValueError("ARange: the length of the range cannot be computed: start, stop and step are "
                                     f"{real_at(operands[0])}, {real_at(operands[1])}, {real_at(operands[2])}")
            length = <npy_intp>real + (<double><npy_intp>real < real) if real > 0 else 0
        if step == 0:
            with gil:
                raise ZeroDivisionError("ARange: the step is zero")
        allocate(context, operands[3], &length)
        return is_long(operands[3])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[3]
        cdef npy_intp length = result.shape[0]
        cdef double first = real_at(operands[0]), second = first + real_at(operands[2])
        if result.typenum == cnp.NPY_FLOAT64:
            fill_range(<double*>result.data, first, second, length)
        elif result.typenum == cnp.NPY_FLOAT32:
            fill_range(<float*>result.data, <float>first, <float>second, length)
        else:
            fill_integers(result, operands, length, self.exact)
        return 0


ctypedef fused RangeValue:
    double
    float
    cnp.npy_int8
    cnp.npy_int16
    cnp.npy_int32
    cnp.npy_int64


cdef inline void fill_range(RangeValue* target, RangeValue first, RangeValue second, npy_intp length) noexcept nogil:
    cdef RangeValue step = second - first
    cdef npy_intp index
    for index in range(length):
        target[index] = first + <RangeValue>index * step


cdef void fill_integers(Cell* result, Cell** operands, npy_intp length, bint exact) noexcept nogil:
    """Unsigned types share the loops of the signed ones of their size: both wrap alike."""
    cdef npy_intp first = integer_at(operands[0], 0) if exact else <npy_intp>real_at(operands[0])
    cdef npy_intp second = (first + integer_at(operands[2], 0) if exact
                            else <npy_intp>(real_at(operands[0]) + real_at(operands[2])))
    if result.itemsize == 8:
        fill_range(<cnp.npy_int64*>result.data, <cnp.npy_int64>first, <cnp.npy_int64>second, length)
    elif result.itemsize == 4:
        fill_range(<cnp.npy_int32*>result.data, <cnp.npy_int32>first, <cnp.npy_int32>second, length)
    elif result.itemsize == 2:
        fill_range(<cnp.npy_int16*>result.data, <cnp.npy_int16>first, <cnp.npy_int16>second, length)
    else:
        fill_range(<cnp.npy_int8*>result.data, <cnp.npy_int8>first, <cnp.npy_int8>second, length)
