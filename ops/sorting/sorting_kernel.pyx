"""Kernels that sort lines along an axis, or the positions of their elements, by NumPy's functions in C; and partitions
and the largest or smallest elements, by those of ``selection_loops.h``.

NumPy's functions are those of the type's table (``PyArray_ArrFuncs``), which choose the instruction set themselves;
``narrow_sort.h`` has others for 8- and 16-bit numbers.
They take lines without gaps, and need neither the GIL nor an array for these dtypes. The stable ones allocate memory,
so ``run`` may fail.
"""
cimport numpy as cnp
import numpy
from libc.math cimport log2
from libc.stdint cimport INT32_MAX
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.loops import TYPES
from phintys.ops.native.sets cimport PHINTYS_SETS, usable_set
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.ops.sorting.line_walk cimport Line, LineTask, lines_of, walk_lines
from phintys.vm.abi cimport (
    BOUND, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size, parallel, scratch)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_SORT, PIECE_SORT

cnp.import_array()

ctypedef int (*SortFunction)(void* start, npy_intp count, void* array) noexcept nogil
ctypedef int (*ArgSortFunction)(void* values, npy_intp* positions, npy_intp count, void* array) noexcept nogil

cdef extern from "numpy/arrayobject.h" nogil:
    ctypedef struct PyArray_ArrFuncs:
        SortFunction sort[3]
        ArgSortFunction argsort[3]
    PyArray_ArrFuncs* PyDataType_GetArrFuncs(void* descriptor)

cdef extern from "sorting/narrow_sort.h" nogil:
    const SortFunction phintys_narrow_sorts[6]
    SortFunction phintys_quicksort_int8, phintys_quicksort_uint8, phintys_quicksort_int16, phintys_quicksort_uint16
    SortFunction phintys_radix_sort_int16, phintys_radix_sort_uint16

cdef extern from "sorting/selection_loops.h" nogil:
    ctypedef struct Best:
        npy_intp wanted
        npy_intp capacity
        int largest
        int sorted
        int position_size
        SortFunction sort
        ArgSortFunction argsort
        SortFunction sort_positions
    ctypedef void (*phintys_partition)(const char* source, char* line, npy_intp count, const npy_intp* chosen,
                                       npy_intp n_chosen, char* room) nogil
    ctypedef void (*phintys_argpartition)(const char* line, npy_intp step, npy_intp count, const npy_intp* chosen,
                                          npy_intp n_chosen, char* room, char* positions, npy_intp positions_step) nogil
    ctypedef void (*phintys_best)(const char* line, npy_intp step, npy_intp count, const Best* best, char* room,
                                  char* values, npy_intp values_step, char* positions, npy_intp positions_step) nogil
    ctypedef struct Selection:
        phintys_partition partition
        phintys_argpartition argpartition
        phintys_best best
        int position_size
    const Selection phintys_selections[PHINTYS_SETS][14]
    npy_intp phintys_partition_room(const Selection* of, npy_intp count)
    npy_intp phintys_argpartition_room(const Selection* of, npy_intp count)
    npy_intp phintys_best_room(const Selection* of, const Best* best)
    void phintys_fill_bits_of_mask()

cdef extern from "sorting/short_rows_loops.h" nogil:
    ctypedef void (*phintys_sort_rows)(const char* source, npy_intp row_step, npy_intp step, npy_intp rows, int length,
                                       char* out) noexcept nogil
    ctypedef struct ShortRows:
        phintys_sort_rows sort[PHINTYS_SETS]
        phintys_sort_rows argsort[PHINTYS_SETS]
        int longest_sort, longest_argsort
    const ShortRows phintys_short_rows[4]

# The dtypes whose short rows are sorted side by side.
SHORT_ROW_TYPES = ("int32", "int64", "float32", "float64")

phintys_fill_bits_of_mask()

# NumPy's number of an algorithm; "mergesort" means a stable one.
NUMBERS = {None: 0, "quicksort": 0, "heapsort": 1, "mergesort": 2, "stable": 2}

# The dtypes that have functions of their own, in the order of their table.
NARROW_TYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16")


cdef SortFunction numpy_sort(dtype, int algorithm) except NULL:
    descriptor = numpy.dtype(dtype)
    return PyDataType_GetArrFuncs(<void*>descriptor).sort[algorithm]


phintys_quicksort_int8, phintys_quicksort_uint8 = numpy_sort("int8", 0), numpy_sort("uint8", 0)
phintys_quicksort_int16, phintys_quicksort_uint16 = numpy_sort("int16", 0), numpy_sort("uint16", 0)
phintys_radix_sort_int16, phintys_radix_sort_uint16 = numpy_sort("int16", 2), numpy_sort("uint16", 2)


cdef SortFunction quickest_sort(dtype) except NULL:
    """The function that sorts numbers of a dtype; equal ones cannot be told apart."""
    if dtype in NARROW_TYPES:
        return phintys_narrow_sorts[<int>NARROW_TYPES.index(dtype)]
    return numpy_sort(dtype, 0)


# What a task for one line knows. Not all fields have a meaning for each task.
cdef struct Settings:
    SortFunction sort
    ArgSortFunction argsort
    const Selection* selection         # for this instruction set
    const Selection* any_selection     # for lines of any length
    int itemsize
    const npy_intp* chosen             # the positions whose elements a partition determines, ascending
    npy_intp n_chosen
    Best best
    bint values, positions                # which results are wanted
    bint* failed                       # set when there is no memory


cdef inline npy_intp rounded(npy_intp size) noexcept nogil:
    return (size + 63) & ~<npy_intp>63


cdef void move_line(char* target, npy_intp target_step, const char* source, npy_intp step, npy_intp count,
                    int itemsize) noexcept nogil:
    copy_strided(1, &count, target, &target_step, source, &step, itemsize)


# ---- tasks -----------------------------------------------------------------------------------------------------------
cdef void sort_line(const void* argument, const Line* line, char* room) noexcept nogil:
    """Sort the elements of a line where they are."""
    cdef const Settings* settings = <const Settings*>argument
    cdef npy_intp count = line.lengths[0]
    cdef bint has_gaps = line.steps[0] != settings.itemsize and count > 1
    cdef char* data = room if has_gaps else line.data[0]
    if has_gaps:
        move_line(room, settings.itemsize, line.data[0], line.steps[0], count, settings.itemsize)
    if settings.sort(data, count, NULL) < 0:
        settings.failed[0] = True
    if has_gaps:
        move_line(line.data[0], line.steps[0], room, settings.itemsize, count, settings.itemsize)


cdef void partition_line(const void* argument, const Line* line, char* room) noexcept nogil:
    """Partition a line; the result may be where its elements are."""
    cdef const Settings* settings = <const Settings*>argument
    cdef npy_intp count = line.lengths[0]
    cdef bint has_gaps = line.steps[1] != settings.itemsize and count > 1
    cdef const char* source = line.data[0]
    cdef char* data = line.data[1]
    if has_gaps:
        data = room
        room += rounded(count * settings.itemsize)
    if line.steps[0] != settings.itemsize and count > 1:
        source = data
        move_line(data, settings.itemsize, line.data[0], line.steps[0], count, settings.itemsize)
    settings.selection.partition(source, data, count, settings.chosen, settings.n_chosen, room)
    if has_gaps:
        move_line(line.data[1], line.steps[1], data, settings.itemsize, count, settings.itemsize)


cdef void argsort_line(const void* argument, const Line* line, char* room) noexcept nogil:
    cdef const Settings* settings = <const Settings*>argument
    cdef npy_intp count = line.lengths[0], position
    cdef char* values = line.data[0]
    cdef npy_intp* positions = <npy_intp*>line.data[1]
    if line.steps[0] != settings.itemsize and count > 1:
        values = room
        move_line(room, settings.itemsize, line.data[0], line.steps[0], count, settings.itemsize)
    if line.steps[1] != sizeof(npy_intp) and count > 1:
        positions = <npy_intp*>(room + rounded(count * settings.itemsize))
    for position in range(count):
        positions[position] = position
    if settings.argsort(values, positions, count, NULL) < 0:
        settings.failed[0] = True
    if <char*>positions != line.data[1]:
        move_line(line.data[1], line.steps[1], <char*>positions, sizeof(npy_intp), count, sizeof(npy_intp))


cdef void argpartition_line(const void* argument, const Line* line, char* room) noexcept nogil:
    cdef const Settings* settings = <const Settings*>argument
    settings.selection.argpartition(line.data[0], line.steps[0], line.lengths[0], settings.chosen, settings.n_chosen,
                                    room, line.data[1], line.steps[1])


cdef void best_of_line(const void* argument, const Line* line, char* room) noexcept nogil:
    cdef const Settings* settings = <const Settings*>argument
    cdef int positions = 1 + settings.values
    settings.selection.best(line.data[0], line.steps[0], line.lengths[0], &settings.best, room,
                            line.data[1] if settings.values else NULL, line.steps[1],
                            line.data[positions] if settings.positions else NULL, line.steps[positions])


# ---- short rows ------------------------------------------------------------------------------------------------------
cdef struct RowsOfShort:
    phintys_sort_rows function
    const char* source
    npy_intp row_step, step
    int length
    char* out
    npy_intp out_step                  # bytes of a row


cdef void sort_short_rows(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef RowsOfShort* rows = <RowsOfShort*>argument
    rows.function(rows.source + start * rows.row_step, rows.row_step, rows.step, stop - start, rows.length,
                  rows.out + start * rows.out_step)


cdef bint can_be_side_by_side(const Cell* x, int axis, int longest) noexcept nogil:
    """Whether the lines along an axis are short, many, and at equal distances: those of the last axis of an array whose
    other dimensions have no gaps."""
    cdef int other
    if axis != x.ndim - 1 or x.ndim < 2 or not 2 <= x.shape[axis] <= longest:
        return False
    for other in range(x.ndim - 2):
        if x.strides[other] != x.strides[other + 1] * x.shape[other + 1]:
            return False
    return lines_of(x, axis) >= 8


cdef void sort_side_by_side(Context* context, phintys_sort_rows function, const Cell* x, Cell* out,
                            npy_intp grain) noexcept nogil:
    cdef RowsOfShort rows
    rows.function, rows.source, rows.out = function, x.data, out.data
    rows.row_step, rows.step = x.strides[x.ndim - 2], x.strides[x.ndim - 1]
    rows.length, rows.out_step = <int>x.shape[x.ndim - 1], x.shape[x.ndim - 1] * out.itemsize
    parallel(context, sort_short_rows, &rows, lines_of(x, x.ndim - 1), grain)


# ---- kernels ---------------------------------------------------------------------------------------------------------
cdef class LineKernel(Kernel):
    """The base class: what a line costs, and where the axis comes from."""
    cdef str name                      # for errors
    cdef Settings settings
    cdef int axis                      # or, where it is operand 1 or later, its number there
    cdef bint failing
    cdef const ShortRows* short_rows   # NULL: none of this dtype or kind
    cdef int set                       # of instructions

    cdef int describe(self, str name, str dtype) except -1:
        self.name = name
        self.settings.itemsize = numpy.dtype(dtype).itemsize
        self.short_rows, self.set = NULL, usable_set()
        self.settings.selection = &phintys_selections[self.set][<int>TYPES.index(dtype)]
        self.settings.any_selection = &phintys_selections[0][<int>TYPES.index(dtype)]
        if dtype in SHORT_ROW_TYPES:
            self.short_rows = &phintys_short_rows[<int>SHORT_ROW_TYPES.index(dtype)]
        return 0

    cdef const Selection* selection_for(self, npy_intp length) noexcept nogil:
        """The selection for lines of a length, whose positions it can hold."""
        if self.settings.selection.position_size == 4 and length > INT32_MAX:
            return self.settings.any_selection
        return self.settings.selection

    cdef int checked_axis(self, const Cell* axis, int rank) except -1 nogil:
        """The axis that an operand names; it may be any number."""
        cdef double number = number_at(axis)
        if number != <npy_intp>number or not -rank <= number < rank:
            with gil:
                if number != <npy_intp>number:
                    raise ValueError(f"{self.name}: sort axis must be an integer or None, got {number}")
                raise ValueError(f"{self.name}: axis {<npy_intp>number} is out of bounds for {rank} dimensions")
        return <int>number if number >= 0 else <int>number + rank

    cdef int is_long(self, npy_intp lines, npy_intp length) noexcept nogil:
        return lines * length * log2(length + 2.0) >= LONG_SORT

    cdef npy_intp grain(self, npy_intp length) noexcept nogil:
        """The least number of lines for a worker."""
        return <npy_intp>(PIECE_SORT / (length * log2(length + 2.0) + 1)) + 1

    cdef int walk(self, Context* context, Settings* settings, LineTask task, Cell** cells, int count, int axis,
                  npy_intp room) noexcept nogil:
        cdef bint failed = False
        settings.failed = &failed
        walk_lines(context, task, settings, cells, count, axis, room, self.grain(cells[0].shape[axis]))
        if failed:
            context.failure = b"there is no memory for sorting"
            return -1
        return 0


cdef double number_at(const Cell* cell) noexcept nogil:
    """The value of a 0-d cell of any real dtype but float16."""
    if cell.typenum == cnp.NPY_FLOAT64:
        return (<const double*>cell.data)[0]
    if cell.typenum == cnp.NPY_FLOAT32:
        return (<const float*>cell.data)[0]
    return <double>integer_at(cell, 0)


cdef class SortKernel(LineKernel):
    """The elements, sorted: ``(x, axis, out)``.

    Parameters
    ----------
    dtype : str
    kind : {"quicksort", "mergesort", "heapsort", "stable", None}
        NumPy's name of the algorithm.
    """

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (1,), BOUND, True

    def __init__(self, dtype, kind):
        self.describe("SortOp", dtype)
        self.settings.sort = numpy_sort(dtype, NUMBERS[kind]) if NUMBERS[kind] else quickest_sort(dtype)
        if NUMBERS[kind]:                            # stable, or another algorithm
            self.short_rows = NULL

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis = self.checked_axis(operands[1], operands[0].ndim)
        cdef npy_intp length = operands[0].shape[axis]
        allocate(context, operands[2], operands[0].shape)
        if axis != operands[0].ndim - 1:
            scratch(context, context.workers * rounded(length * self.settings.itemsize))
        return self.is_long(lines_of(operands[0], axis), length)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[2]
        cdef Settings settings = self.settings
        cdef int axis = <int>number_at(operands[1])
        axis += x.ndim if axis < 0 else 0
        if self.short_rows != NULL and can_be_side_by_side(x, axis, self.short_rows.longest_sort) and (
                out.data != x.data or cell_is_contiguous(x)):
            sort_side_by_side(context, self.short_rows.sort[self.set], x, out, self.grain(x.shape[axis]))
            return 0
        if out.data != x.data:
            copy_strided(x.ndim, x.shape, out.data, out.strides, x.data, x.strides, x.itemsize)
        return self.walk(context, &settings, sort_line, &out, 1, axis, rounded(x.shape[axis] * settings.itemsize))


cdef class ArgSortKernel(LineKernel):
    """The positions of the elements in sorted order, as int64: ``(x, axis, out)``; parameters as of ``SortKernel``."""

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (1,), BOUND, True

    def __init__(self, dtype, kind):
        self.describe("ArgSortOp", dtype)
        descriptor = numpy.dtype(dtype)
        self.settings.argsort = PyDataType_GetArrFuncs(<void*>descriptor).argsort[<int>NUMBERS[kind]]
        if NUMBERS[kind]:
            self.short_rows = NULL

    cdef npy_intp room_for(self, npy_intp length) noexcept nogil:
        return rounded(length * self.settings.itemsize) + rounded(length * sizeof(npy_intp))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis = self.checked_axis(operands[1], operands[0].ndim)
        cdef npy_intp length = operands[0].shape[axis]
        allocate(context, operands[2], operands[0].shape)
        scratch(context, context.workers * self.room_for(length))
        return self.is_long(lines_of(operands[0], axis), length)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Settings settings = self.settings
        cdef Cell* cells[2]
        cdef int axis = <int>number_at(operands[1])
        axis += operands[0].ndim if axis < 0 else 0
        if self.short_rows != NULL and can_be_side_by_side(operands[0], axis, self.short_rows.longest_argsort):
            sort_side_by_side(context, self.short_rows.argsort[self.set], operands[0], operands[2],
                              self.grain(operands[0].shape[axis]))
            return 0
        cells[0], cells[1] = operands[0], operands[2]
        return self.walk(context, &settings, argsort_line, cells, 2, axis, self.room_for(operands[0].shape[axis]))


cdef class PartitionKernel(LineKernel):
    """The elements, partly sorted: ``(x, chosen, axis, out)``. The chosen positions are in any order; negative ones
    count from the end.

    Parameters
    ----------
    dtype : str
    positions : bool
        Whether to return positions, as int64, instead of elements.
    """
    cdef bint positions
    cdef SortFunction sort_chosen

    def __cinit__(self):
        self.examined, self.binding = (1, 2), BOUND

    def __init__(self, dtype, positions):
        self.describe("argpartition" if positions else "partition", dtype)
        self.positions = positions
        self.sort_chosen = numpy_sort("int64", 0)

    cdef npy_intp room_for(self, npy_intp length) noexcept nogil:
        """Bytes for each worker."""
        cdef const Selection* selection = self.selection_for(length)
        if self.positions:
            return phintys_argpartition_room(selection, length)
        return phintys_partition_room(selection, length) + rounded(length * self.settings.itemsize)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis = self.checked_axis(operands[2], operands[0].ndim)
        cdef npy_intp length = operands[0].shape[axis], count = operands[1].shape[0], number, chosen
        for number in range(count):
            chosen = integer_at(operands[1], number)
            if not -length <= chosen < length:
                with gil:
                    raise ValueError(f"{self.name}: kth(={chosen}) out of bounds ({length})")
        allocate(context, operands[3], operands[0].shape)
        scratch(context, rounded(count * sizeof(npy_intp)) + context.workers * self.room_for(length))
        return lines_of(operands[0], axis) * length >= LONG_SORT // 4

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Settings settings = self.settings
        cdef Cell* cells[2]
        cdef npy_intp number, length
        cdef npy_intp* chosen = <npy_intp*>context.scratch
        cdef int axis = <int>number_at(operands[2]), result
        axis += operands[0].ndim if axis < 0 else 0
        length = operands[0].shape[axis]
        settings.selection = self.selection_for(length)
        settings.chosen, settings.n_chosen = chosen, operands[1].shape[0]
        for number in range(settings.n_chosen):
            chosen[number] = integer_at(operands[1], number)
            chosen[number] += length if chosen[number] < 0 else 0
        self.sort_chosen(chosen, settings.n_chosen, NULL)
        context.scratch += rounded(settings.n_chosen * sizeof(npy_intp))
        cells[0], cells[1] = operands[0], operands[3]
        result = self.walk(context, &settings, argpartition_line if self.positions else partition_line, cells, 2, axis,
                           self.room_for(length))
        context.scratch = <char*>chosen
        return result


cdef class TopKKernel(LineKernel):
    """The largest elements of each line and their positions: ``(x, k, values, positions)``, or one of both.

    Parameters
    ----------
    dtype : str
    axis : int
        Not negative.
    sorted : bool
        Whether the best element comes first.
    position_dtype : str
        The dtype of positions.
    values, positions : bool
        Which results there are.
    """

    def __cinit__(self):
        self.examined, self.binding = (1,), BOUND

    def __init__(self, dtype, int axis, bint sorted, position_dtype, bint values, bint positions):
        self.describe("topk", dtype)
        self.axis = axis
        self.settings.best.sorted = sorted
        self.settings.best.position_size = numpy.dtype(position_dtype).itemsize
        descriptor = numpy.dtype(dtype)
        self.settings.best.sort = quickest_sort(dtype)
        self.settings.best.argsort = PyDataType_GetArrFuncs(<void*>descriptor).argsort[0]
        self.settings.best.sort_positions = numpy_sort("int64", 0)
        self.settings.values, self.settings.positions = values, positions

    cdef npy_intp fit(self, Best* best, npy_intp k, npy_intp length) noexcept nogil:
        """Fill in what is wanted; returns the bytes of room for a worker."""
        best.largest, best.wanted = k > 0, k if k > 0 else -k
        # Of few candidates the best are selected again and again; a line that is not much longer is selected from.
        best.capacity = min(length, max(4 * best.wanted + 512, min(32 * best.wanted, 1 << 17)))
        return phintys_best_room(self.selection_for(length), best)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp k = integer_at(operands[1], 0), length = operands[0].shape[self.axis]
        cdef Best best
        cdef int axis
        if k == 0 or k > length or -k > length:
            with gil:
                if k == 0:
                    raise ValueError("topk: kth cannot be zero")
                raise ValueError(f"topk: kth cannot be larger than the size of specified axis {self.axis}: it is {k}, "
                                 f"and the shape is {shape_of(operands[0])}")
        for axis in range(operands[0].ndim):
            shape[axis] = operands[0].shape[axis]
        shape[self.axis] = k if k > 0 else -k
        for axis in range(self.settings.values + self.settings.positions):
            allocate(context, operands[2 + axis], shape)
        scratch(context, context.workers * self.fit(&best, k, length))
        return cell_size(operands[0]) >= LONG_SORT // 4

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Settings settings = self.settings
        cdef Cell* cells[3]
        cdef int number, count = 1 + settings.values + settings.positions
        cdef npy_intp room = self.fit(&settings.best, integer_at(operands[1], 0), operands[0].shape[self.axis])
        settings.selection = self.selection_for(operands[0].shape[self.axis])
        cells[0] = operands[0]
        for number in range(1, count):
            cells[number] = operands[1 + number]
        return self.walk(context, &settings, best_of_line, cells, count, self.axis, room)
