"""RESULT: what the caller of a function gets.

Small results are copied into arrays of NumPy's own. When the caller has dropped such an array, a later call uses it
again if its shape, strides, dtype, flags and weak references are those of a new one, because making and freeing an
array costs ten times as much as the arithmetic. Larger results take their cell's memory, unless others refer to it. A
borrowed result that is a view of a borrowed argument is not copied; the memory of other borrowed results stays in the
frame, and the next call writes to it unless more than one reference exists or an argument has the same memory.
"""
cimport numpy as cnp
from numpy cimport npy_intp

from phintys.vm cimport pool
from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_LATE, CELL_LENT, CELL_NUMBER, CELL_OBJECT, CELL_READONLY, CELL_SHOWN, RESULT_COPY_BYTES, Cell,
    Span, allocate, cell_is_whole, cell_size, cell_to_array, cell_to_number, cell_to_result, cell_to_view,
    device_memory, drop, overlap, owner_is_alone, span_of_cell)
from phintys.vm.containers.container cimport is_held_by_another
from phintys.vm.free_threads cimport references
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.copies cimport copy_elements, is_wasteful
from phintys.vm.machine.frame cimport KEPT, Frame, Machine, take_back
from phintys.vm.pool cimport GIVEN, PLANNED, buffer_references
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyObject

include "opcodes.pxi"

cnp.import_array()

cdef extern from "machine/plain_arrays.h":
    bint phintys_is_untouched(PyObject*, int, int, const npy_intp*) noexcept
    bint phintys_is_view_of(PyObject*, char*, int, int, const npy_intp*, const npy_intp*) noexcept
    void* phintys_data(PyObject*) noexcept


cdef enum:
    NO_PLAIN_NUMBER = CELL_OBJECT | CELL_NUMBER | CELL_LENT | CELL_SHOWN


cdef object result_of(Cell* cell):
    """What the user gets: memory that only the cell refers to itself; a copy of other memory, unless it is borrowed."""
    if cell.flags & CELL_OBJECT:
        return <object>cell.object if cell.object != NULL else None
    if cell.buffer == NULL or cell.buffer.size_class == PLANNED:
        return cell_to_result(cell)
    if cell.flags & CELL_SHOWN:
        return cell_to_view(cell)
    if buffer_references(cell.buffer) != 1 or (cell.buffer.owner == NULL and is_wasteful(cell)):
        return cell_to_array(cell).copy()
    if cell.buffer.owner != NULL and owner_is_alone(cell.buffer) and cell_is_whole(cell, <object>cell.buffer.owner):
        return <object>cell.buffer.owner
    return cell_to_result(cell)


cdef object device_result(Machine* machine, Cell* cell):
    """A result on the device: over memory that only the cell refers to, or that both sides borrow; else over a copy.
    The caller has the memory then: the next call takes other."""
    cdef Cell fresh
    cdef npy_intp dimensions[2 * MAX_RANK]
    cdef bint own = cell.buffer != NULL and cell.buffer.owner == NULL and buffer_references(cell.buffer) == 1
    cdef object result
    if own or cell.flags & CELL_SHOWN:
        result = cell_to_result(cell)
    else:
        fresh = cell[0]
        fresh.buffer, fresh.data, fresh.donor, fresh.heir, fresh.slot = NULL, NULL, NULL, NULL, NULL
        fresh.shape, fresh.strides = dimensions, dimensions + cell.ndim
        allocate(&machine.context, &fresh, cell.shape)
        try:
            device_memory.copy(&fresh, cell)
            result = cell_to_result(&fresh)
        finally:
            drop(&machine.context, &fresh)
    if not cell.flags & (CELL_READONLY | CELL_LATE):
        drop(&machine.context, cell)
    return result


cdef object lent_result(Frame frame, int index, Cell* cell):
    """A result whose memory the next call may use again: the same array, if the memory is the same."""
    cdef PyObject* array = frame.recycled[index]
    cdef object fresh
    if array != NULL and phintys_is_view_of(array, cell.data, cell.typenum, cell.ndim, cell.shape,
                                             cell.strides):
        return <object>array
    fresh = cell_to_view(cell)
    Py_INCREF(fresh)
    frame.recycled[index] = <PyObject*>fresh
    Py_XDECREF(array)
    return fresh


cdef int check_lent(Frame frame) except -1:
    """Before a call: results lent by the last one, of which more than one user knows, are left to them."""
    cdef int index
    cdef PyObject* array
    for index in frame.code.lent:
        array = frame.recycled[index]
        if array != NULL and (references(array) > 2 or overlaps_argument(frame, array) or is_in_container(array)):
            take_back(frame, index)
            drop(&frame.machine.context, frame.machine.operands[frame.code.first_result + index])
    return 0


cdef inline bint is_in_container(PyObject* lent) noexcept:
    """Whether the one user of a small lent result may be a container, which was to keep its value."""
    return (references(lent) == 2 and cnp.PyArray_BASE(<cnp.ndarray>lent) is NULL
            and is_held_by_another(None, <cnp.ndarray>lent))


cdef bint overlaps_argument(Frame frame, PyObject* lent) noexcept:
    """Whether an argument of the coming call lies in the memory of a lent result."""
    cdef Cell* cell
    cdef Span span
    cdef int index
    span.low = <char*>phintys_data(lent)
    span.high = span.low + cnp.PyArray_NBYTES(<cnp.ndarray>lent)        # it has no gaps
    for index in range(frame.code.n_arguments):
        cell = &frame.cells[index]
        if not cell.flags & CELL_OBJECT and overlap(span, span_of_cell(cell)):
            return True
    return False


cdef inline bint is_unused(PyObject* array, Cell* cell) noexcept:
    """Whether an array of an earlier call is ours alone (or lent), as it was made, and of the cell's shape."""
    return (array != NULL and not pool.stress and references(array) <= (2 if cell.flags & CELL_LENT else 1)
            and phintys_is_untouched(array, cell.typenum, cell.ndim, cell.shape) and not is_in_container(array))


cdef object small_result(Frame frame, int index, Cell* cell):
    """A small result. Making and freeing its array costs more than computing it does, so the array of an earlier call
    is taken again when the user has dropped it."""
    cdef PyObject* array = frame.recycled[index]
    cdef object fresh
    if is_unused(array, cell):
        copy_elements(<char*>phintys_data(array), cell)
        return <object>array
    fresh = cell_to_result(cell)
    Py_INCREF(fresh)
    frame.recycled[index] = <PyObject*>fresh
    Py_XDECREF(array)
    return fresh


cdef inline bint store_number(PyObject* array, const Cell* cell) noexcept:
    """Store a number of eight bytes in the array of an earlier call, if that is free; most results of small programs
    are such numbers."""
    if (cell.ndim or cell.itemsize != 8 or array == NULL or cell.flags & NO_PLAIN_NUMBER or cell.buffer != NULL
            or references(array) != 1
            or not phintys_is_untouched(array, cell.typenum, 0, cell.shape)):
        return False
    (<double*>phintys_data(array))[0] = (<const double*>cell.data)[0]
    return True


cdef int take_results(Machine* machine, const Instruction* at) except -1:
    cdef Frame frame = <Frame>machine.frame
    cdef Cell** operands = machine.operands + at.b
    cdef PyObject** recycled = frame.recycled
    cdef PyObject** results = frame.results
    cdef bint stress = pool.stress                  # then each result is in memory of its own
    cdef Cell* cell
    cdef object result
    cdef npy_intp size
    cdef int index
    if machine.give != NULL:
        return machine.give(machine.receiver)
    for index in range(at.c):
        cell = operands[index]
        if cell.flags & CELL_DEVICE:
            result = device_result(machine, cell)
            Py_INCREF(result)
            results[index] = <PyObject*>result
            continue
        if not stress and store_number(recycled[index], cell):
            Py_INCREF(<object>recycled[index])
            results[index] = recycled[index]
            continue
        size = RESULT_COPY_BYTES + 1 if cell.flags & CELL_OBJECT else cell_size(cell) * cell.itemsize
        if cell.flags & CELL_NUMBER:
            result = cell_to_number(cell)
            if cell.flags & CELL_LENT and cell.buffer != NULL:
                drop(&machine.context, cell)
        elif size <= RESULT_COPY_BYTES and not cell.flags & CELL_SHOWN and (
                cell.buffer == NULL or cell.buffer.size_class != GIVEN):
            result = small_result(frame, index, cell)
            if cell.flags & CELL_LENT and cell.buffer != NULL:
                drop(&machine.context, cell)        # a copy was lent: other users of this memory keep it
        elif cell.flags & CELL_LENT and (cell.buffer == NULL or cell.buffer.owner == NULL):
            result = lent_result(frame, index, cell)
        else:
            result = result_of(cell)
        if at.flags & RESULT_EMPTIES and (cell.ndim or cell.buffer != NULL) and not cell.flags & KEPT:
            drop(&machine.context, cell)
        Py_INCREF(result)
        results[index] = <PyObject*>result
    return 0
