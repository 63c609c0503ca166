"""Kernels that make new arrays: filled or uninitialised arrays, diagonals and ranges.

Lengths are 0-d integer operands. Of larger operands, only the value that fills an array is read.
"""
cimport numpy as cnp
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.ops.native.asking cimport UNASKED, clear, ends_after
from phintys.ops.native.integers cimport integer_at
from phintys.ops.native.result_shapes cimport broadcast_strides, check_filling, read_shape
from phintys.ops.native.strided_copy cimport clear_in_parts, copy_in_parts
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_size, interrupted
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_COPY

from phintys.ops.creation.absent import ABSENT

cnp.import_array()


cdef enum:
    ROW = 16                        # elements that a row takes as long as, besides its own


cdef inline int is_long(const Cell* cell) noexcept nogil:
    return cell_size(cell) * cell.itemsize >= LONG_COPY


cdef class AllocKernel(Kernel):
    """A new array filled by broadcasting: ``(value, length, ..., length, out)``.

    Parameters
    ----------
    rank : int
    repeats : str, optional
        The function whose numbers of repetitions are among the lengths, for error messages.
    """
    cdef int rank
    cdef bint names_function
    cdef object repeats

    def __init__(self, int rank, repeats=None):
        self.rank = rank
        self.examined, self.binding = tuple(range(1, 1 + rank)), BOUND
        self.repeats, self.names_function = repeats, repeats is not None

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef int axis
        read_shape(operands + 1, self.rank, shape)
        if self.names_function:
            for axis in range(self.rank):
                if shape[axis] < 0:
                    with gil:
                        raise ValueError(f"{self.repeats}: a number of repetitions is negative: {shape[axis]}")
        check_filling(operands[0], self.rank, shape)
        allocate(context, operands[1 + self.rank], shape)
        return is_long(operands[1 + self.rank])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* value = operands[0]
        cdef Cell* result = operands[1 + self.rank]
        cdef npy_intp strides[MAX_RANK]
        broadcast_strides(value, result, strides)
        copy_in_parts(context, result.ndim, result.shape, result.data, result.strides, value.data, strides,
                      value.itemsize)
        return 0


cdef class AllocEmptyKernel(Kernel):
    """A new array of unspecified content: ``(length, ..., length, out)``."""
    cdef int rank

    def __init__(self, int rank):
        self.rank = rank
        self.examined, self.binding = tuple(range(rank)), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        read_shape(operands, self.rank, shape)
        allocate(context, operands[self.rank], shape)
        return 0


cdef class EyeKernel(Kernel):
    """Ones on a diagonal, zeros elsewhere: ``(rows, columns, diagonal, out)``; absent columns mean as many as rows."""
    cdef char one[16]
    cdef char* absent               # the address that represents None, see ``absent.py``

    def __cinit__(self):
        self.examined, self.binding = (0, 1), BOUND

    def __init__(self, one):
        cdef bytes value = one.tobytes()
        memcpy(self.one, <char*>value, len(value))
        self.absent = <char*>cnp.PyArray_DATA(ABSENT)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[2]
        read_shape(operands, 2, shape)
        if operands[1].data == self.absent:
            shape[1] = shape[0]
        allocate(context, operands[3], shape)
        return RUNS_ALONE if is_long(operands[3]) else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[3]
        cdef npy_intp diagonal = integer_at(operands[2], 0)
        cdef npy_intp row
        clear_in_parts(context, result.data, cell_size(result) * result.itemsize)
        if interrupted(context):
            return 0
        for row in range(max(0, -diagonal), min(result.shape[0], result.shape[1] - diagonal)):
            memcpy(result.data + row * result.strides[0] + (row + diagonal) * result.itemsize, self.one,
                   result.itemsize)
        return 0


cdef class TriKernel(EyeKernel):
    """Ones on and below a diagonal, zeros above: ``(rows, columns, diagonal, out)``."""

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* result = operands[3]
        cdef npy_intp columns = result.shape[1]
        cdef npy_intp diagonal = integer_at(operands[2], 0)
        cdef npy_intp row, ones, itemsize = result.itemsize, repeated = 0, unasked = 0
        cdef char* target = result.data
        for row in range(result.shape[0]):
            ones = min(max(row + diagonal + 1, 0), columns)
            copy_in_parts(context, 1, &ones, target, &itemsize, self.one, &repeated, result.itemsize)
            clear(context, target + ones * result.itemsize, (columns - ones) * result.itemsize)
            target += columns * result.itemsize
            if ends_after(context, &unasked, columns + ROW):
                return 0
        return 0


# ---- ranges ----------------------------------------------------------------------------------------------------------
cdef inline double real_at(const Cell* cell) noexcept nogil:
    if cell.typenum == cnp.NPY_FLOAT64:
        return (<double*>cell.data)[0]
    if cell.typenum == cnp.NPY_FLOAT32:
        return (<float*>cell.data)[0]
    return <double>integer_at(cell, 0)


cdef class ARangeKernel(Kernel):
    """``start + i * step`` below ``stop``: ``(start, stop, step, out)``. Length and rounding are those of NumPy.

    ``exact`` means that all three operands are integers; otherwise the length is computed in double precision.
    """
    cdef bint exact

    def __cinit__(self):
        self.examined, self.binding = (0, 1, 2), BOUND

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
            fill_range(context, <double*>result.data, first, second, length)
        elif result.typenum == cnp.NPY_FLOAT32:
            fill_range(context, <float*>result.data, <float>first, <float>second, length)
        else:
            fill_integers(context, result, operands, length, self.exact)
        return 0


ctypedef fused RangeValue:
    double
    float
    cnp.npy_int8
    cnp.npy_int16
    cnp.npy_int32
    cnp.npy_int64


cdef inline void fill_range(Context* context, RangeValue* target, RangeValue first, RangeValue second,
                            npy_intp length) noexcept nogil:
    cdef RangeValue step = second - first
    cdef npy_intp index = 0, stop
    while index < length and not (index and interrupted(context)):
        stop = min(index + UNASKED, length)
        for index in range(index, stop):
            target[index] = first + <RangeValue>index * step
        index = stop


cdef void fill_integers(Context* context, Cell* result, Cell** operands, npy_intp length,
                        bint exact) noexcept nogil:
    """Fill a range of integers. Unsigned types share the loops of the signed types of their size, because both wrap
    around in the same way."""
    cdef npy_intp first = integer_at(operands[0], 0) if exact else <npy_intp>real_at(operands[0])
    cdef npy_intp second = (first + integer_at(operands[2], 0) if exact
                            else <npy_intp>(real_at(operands[0]) + real_at(operands[2])))
    if result.itemsize == 8:
        fill_range(context, <cnp.npy_int64*>result.data, <cnp.npy_int64>first, <cnp.npy_int64>second, length)
    elif result.itemsize == 4:
        fill_range(context, <cnp.npy_int32*>result.data, <cnp.npy_int32>first, <cnp.npy_int32>second, length)
    elif result.itemsize == 2:
        fill_range(context, <cnp.npy_int16*>result.data, <cnp.npy_int16>first, <cnp.npy_int16>second, length)
    else:
        fill_range(context, <cnp.npy_int8*>result.data, <cnp.npy_int8>first, <cnp.npy_int8>second, length)
