"""Kernels that call LAPACK once for each matrix of a stack.

A stack has leading dimensions before those of its items; an operand whose leading dimension is declared to have length
1 (``spread``) is used for all items. A subclass says what one item is: it checks shapes (``fit``) and computes
(``compute``), and this class walks over the stack. LAPACK takes matrices in column order. A matrix in C order is its
own transpose there, and kernels use that instead of copying wherever the mathematics permits.

``compute`` may fail in the middle of a stack. The kernels then raise, so that what was written is never visible.
Workers share long stacks; each has scratch memory of its own, and BLAS runs on one thread meanwhile, as it does for
small matrices, for which OpenBLAS's ``getrs`` wakes threads from two columns on. Of several matrices that fail, the
first one decides which exception is raised.
"""
import numpy
from libc.math cimport NAN
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.integers cimport shape_of
from phintys.ops.native.sets cimport PHINTYS_SETS, set_of_process
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.ops.products.blas_library cimport enter_single_thread, leave_single_thread
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, parallel, scratch
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.thresholds cimport LONG_FACTORIZATION, PIECE_FACTORIZATION, THREADED_FACTORIZATION

cdef extern from "factorizations/finite_loops.h" nogil:
    ctypedef bint (*Finite)(const void* numbers, npy_intp count) noexcept nogil
    const Finite all_finite_float[PHINTYS_SETS]
    const Finite all_finite_double[PHINTYS_SETS]

ctypedef int (*Refusal)(void* kernel, int reason) noexcept nogil
ctypedef int (*Report)(void* kernel) noexcept nogil


cdef int raise_refusal(void* kernel, int reason) except -1 with gil:
    return (<StackKernel>kernel).refuse(reason)


cdef int make_report(void* kernel) except -1 with gil:
    return (<StackKernel>kernel).report()


# The cast removes `except -1`: ``run`` returns -1 with the exception set, and its caller handles it.
cdef Refusal refuse_item = <Refusal>raise_refusal
cdef Report report_items = <Report>make_report


cdef int raise_linalg_error(str message) except -1:
    raise numpy.linalg.LinAlgError(message)


cdef int check_square(str name, const Item* item) except -1 nogil:
    if item.rows != item.columns:
        with gil:
            raise_linalg_error(f"{name}: Last 2 dimensions of the array must be square, the matrix has shape "
                               f"({item.rows}, {item.columns})")
    return 0


cdef void copy_item(const Item* item, char* target, npy_intp row_step, npy_intp column_step,
                    int itemsize) noexcept nogil:
    cdef npy_intp shape[2]
    cdef npy_intp source[2]
    cdef npy_intp steps[2]
    if item.data == target:
        return
    shape[0], shape[1] = item.rows, item.columns
    source[0], source[1] = item.row_step, item.column_step
    steps[0], steps[1] = row_step, column_step
    copy_strided(2, shape, target, steps, item.data, source, itemsize)


cdef bint all_finite(const char* data, npy_intp count, int precision, bint is_complex) noexcept nogil:
    cdef int instructions = set_of_process()[0]
    if precision == 8:
        return all_finite_double[instructions](data, count << is_complex)
    return all_finite_float[instructions](data, count << is_complex)


cdef void fill_with_nan(char* data, npy_intp count, int precision, bint is_complex) noexcept nogil:
    cdef npy_intp position
    for position in range(count << is_complex):
        if precision == 8:
            (<double*>data)[position] = NAN
        else:
            (<float*>data)[position] = NAN


cdef void fill_item_with_nan(const Item* item, int precision, bint is_complex) noexcept nogil:
    cdef npy_intp row, column
    for row in range(item.rows):
        for column in range(item.columns):
            fill_with_nan(item.data + row * item.row_step + column * item.column_step, 1, precision, is_complex)


cdef void clear_triangle(char* data, npy_intp order, bint lower, int itemsize) noexcept nogil:
    cdef npy_intp row
    for row in range(order):
        if lower:
            memset(data + row * order * itemsize, 0, row * itemsize)
        else:
            memset(data + (row * order + row + 1) * itemsize, 0, (order - row - 1) * itemsize)


cdef inline void show_first(Item* item, const Cell* cell, int lead, int rank, int itemsize) noexcept nogil:
    """The first item of a stack."""
    item.data, item.rows, item.columns, item.row_step, item.column_step = cell.data, 1, 1, itemsize, itemsize
    if rank:
        item.rows, item.row_step = cell.shape[lead], cell.strides[lead]
    if rank == 2:
        item.columns, item.column_step = cell.shape[lead + 1], cell.strides[lead + 1]


# What workers know of the stack that they share.
cdef struct Stack:
    void* kernel
    Context* context
    Item first[MOST_OPERANDS]
    npy_intp steps[MOST_OPERANDS][MAX_RANK]
    const npy_intp* shape              # of the leading dimensions
    npy_intp room                      # bytes of scratch memory for a worker, its `Failure` included


cdef void fill_outputs_with_nan(StackKernel kernel, const Item* items) noexcept nogil:
    cdef int position
    for position in range(kernel.inputs, kernel.operands):
        fill_item_with_nan(&items[position], kernel.precision, kernel.is_complex)


cdef void compute_items(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute the items [start, stop) of a stack, up to the first one that fails."""
    cdef Stack* stack = <Stack*>argument
    cdef char* room = stack.context.scratch + worker * stack.room
    cdef Failure* failure = <Failure*>room
    cdef Item items[MOST_OPERANDS]
    cdef npy_intp index[MAX_RANK]
    cdef npy_intp left = start
    cdef int operands = (<StackKernel>stack.kernel).operands, lead = (<StackKernel>stack.kernel).lead
    cdef int axis, position, reason
    for position in range(operands):
        items[position] = stack.first[position]
    for axis in range(lead - 1, -1, -1):
        index[axis] = left % stack.shape[axis]
        left //= stack.shape[axis]
        for position in range(operands):
            items[position].data += index[axis] * stack.steps[position][axis]
    while start < stop:
        reason = (<StackKernel>stack.kernel).compute(stack.context, items, room + FAILURE_ROOM)
        if reason and (<StackKernel>stack.kernel).fails_with_nan:
            fill_outputs_with_nan(<StackKernel>stack.kernel, items)
        elif reason:
            if failure.reason == 0 or start < failure.item:
                failure.item, failure.reason = start, reason
            return
        start += 1
        for axis in range(lead - 1, -1, -1):
            index[axis] += 1
            for position in range(operands):
                items[position].data += stack.steps[position][axis]
            if index[axis] < stack.shape[axis]:
                break
            for position in range(operands):
                items[position].data -= index[axis] * stack.steps[position][axis]
            index[axis] = 0


cdef class StackKernel(Kernel):
    """The base class; see the docstring of the file. The first arguments of all these kernels, and the last one where
    inputs may be broadcast, are those of ``describe``.

    Parameters
    ----------
    dtype : str
    lead : int
        The number of leading dimensions.
    spread : tuple of int
        For each input, bits for the leading dimensions that are broadcast.
    """

    def __cinit__(self):
        self.examined, self.binding = (), BOUND
        self.may_fail = True

    cdef int describe(self, str dtype, int lead, ranks, int inputs, spread=()) except -1:
        cdef int position
        described = numpy.dtype(dtype)
        if described.char not in "fdFD":
            raise TypeError(f"array type {dtype} is unsupported in linalg")
        self.typenum, self.itemsize, self.is_complex = described.num, described.itemsize, described.kind == "c"
        self.precision = self.itemsize >> self.is_complex
        self.lead, self.inputs, self.operands = lead, inputs, len(ranks)
        for position in range(self.operands):
            self.ranks[position] = ranks[position]
            self.spread[position] = spread[position] if position < len(spread) else 0
        return 0

    cdef npy_intp fit(self, Context* context, Item* items, double* cost) except -1 nogil:
        return 0

    cdef int compute(self, Context* context, Item* items, char* room) noexcept nogil:
        return 0

    cdef int refuse(self, int reason) except -1:
        raise numpy.linalg.LinAlgError(f"LAPACK failed with number {reason}")

    cdef int report(self) except -1:
        return 0

    cdef void give(self, const char* data, npy_intp leading, const Item* out) noexcept nogil:
        cdef Item item = out[0]
        item.data, item.row_step, item.column_step = <char*>data, self.itemsize, leading * self.itemsize
        copy_item(&item, out.data, out.row_step, out.column_step, self.itemsize)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Item items[MOST_OPERANDS]
        cdef npy_intp shape[MAX_RANK + 2]
        cdef npy_intp room, count = 1
        cdef double cost = 0
        cdef int axis, position
        for axis in range(self.lead):
            shape[axis] = -1
            for position in range(self.inputs):
                if not self.spread[position] >> axis & 1:
                    if shape[axis] >= 0 and shape[axis] != operands[position].shape[axis]:
                        self.raise_unequal(operands)
                    shape[axis] = operands[position].shape[axis]
            if shape[axis] < 0:
                shape[axis] = 1
            count *= shape[axis]
        for position in range(self.inputs):
            show_first(&items[position], operands[position], self.lead, self.ranks[position], self.itemsize)
        room = self.fit(context, items, &cost)
        for position in range(self.inputs, self.operands):
            shape[self.lead], shape[self.lead + 1] = items[position].rows, items[position].columns
            allocate(context, operands[position], shape)
        scratch(context, (FAILURE_ROOM + rounded(room)) * self.workers_for(context, count, cost))
        return count * (cost + 100) >= LONG_FACTORIZATION

    cdef int workers_for(self, Context* context, npy_intp count, double cost) noexcept nogil:
        """How many workers share a stack."""
        return context.workers if count > 1 and count * (cost + 100) >= 2. * PIECE_FACTORIZATION else 1

    cdef int raise_unequal(self, Cell** operands) except -1 with gil:
        shapes = " and ".join([str(shape_of(operands[position])) for position in range(self.inputs)])
        raise ValueError(f"the stacks of matrices have different lengths: the shapes are {shapes} "
                         "(a length of 1 is repeated only where the type declares it)")

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Stack stack
        cdef npy_intp count = 1
        cdef double cost = 0
        cdef int axis, position, workers, status
        cdef bint single
        cdef Cell* cell
        stack.kernel, stack.context = <void*>self, context
        stack.shape = operands[self.operands - 1].shape                    # outputs have all items
        for axis in range(self.lead):
            count *= stack.shape[axis]
        if count == 0:
            return 0
        for position in range(self.operands):
            cell = operands[position]
            show_first(&stack.first[position], cell, self.lead, self.ranks[position], cell.itemsize)
            for axis in range(self.lead):
                stack.steps[position][axis] = cell.strides[axis] if cell.shape[axis] != 1 else 0
        stack.room = FAILURE_ROOM + rounded(self.fit(context, stack.first, &cost))
        workers = self.workers_for(context, count, cost)
        single = workers > 1 or 0 < cost < THREADED_FACTORIZATION
        if single:
            enter_single_thread()
        status = self.run_items(<void*>&stack, count, workers, <npy_intp>(PIECE_FACTORIZATION / (cost + 100)) + 1)
        if single:
            leave_single_thread()
        return status

    cdef int run_items(self, void* argument, npy_intp count, int workers, npy_intp grain) noexcept nogil:
        cdef Stack* stack = <Stack*>argument
        cdef Failure* failure
        cdef Context alone
        cdef npy_intp first = count
        cdef int worker, reason = 0
        cdef bint noted = False
        for worker in range(workers):
            failure = <Failure*>(stack.context.scratch + worker * stack.room)
            failure.reason, failure.noted = 0, False
        if count == 1:
            compute_items(stack, 0, 0, count)
        elif workers == 1:
            alone = stack.context[0]
            alone.workers = 1
            parallel(&alone, compute_items, stack, count, 1)
        else:
            parallel(stack.context, compute_items, stack, count, grain)
        for worker in range(workers):
            failure = <Failure*>(stack.context.scratch + worker * stack.room)
            noted |= failure.noted
            if failure.reason and failure.item < first:
                first, reason = failure.item, failure.reason
        if reason:
            refuse_item(<void*>self, reason)
            return -1
        return report_items(<void*>self) if noted else 0
