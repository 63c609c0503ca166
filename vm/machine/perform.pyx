"""CALL: ops that have only ``perform``; and values that Python code has replaced inside a call.

The interpreter calls ``call_perform``, with the GIL. ``perform`` may keep or change whatever it is given, and store
anything: so values of cells are given as arrays that are safe to keep, and what it stores is checked, and copied where
another value might use its memory.
"""
cimport numpy as cnp

from phintys.vm.abi cimport (
    CELL_DEVICE, CELL_NUMBER, CELL_OBJECT, Cell, cell_give_array, cell_hold_array, cell_to_array, cell_to_number,
    device_memory, drop)
from phintys.vm.containers.container cimport Container
from phintys.vm.free_threads cimport references
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.machine.frame cimport Frame, Machine, compare_layouts, remember_layouts
from phintys.vm.python_api cimport Py_INCREF, PyErr_SetObject, PyObject

from phintys.graph.thunks import compute
from phintys.vm.linking.inner_updates import lost_update, may_have_read

cnp.import_array()

cdef extern from *:
    object PyArray_View(cnp.ndarray, void*, void*)


cdef object argument_of(Cell* cell, bint writeable):
    """A cell as an op's ``perform`` sees it; safe for it to keep."""
    cdef object array
    if cell.flags & CELL_OBJECT:
        return <object>cell.object if cell.object != NULL else None
    if cell.flags & CELL_NUMBER:
        return cell_to_number(cell)
    if cell.flags & CELL_DEVICE:
        return cell_to_array(cell)
    if cell.object == NULL:
        array = cell_to_array(cell)
    elif writeable or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>cell.object):
        return <object>cell.object                  # the caller's own array
    else:
        array = PyArray_View(<cnp.ndarray>cell.object, NULL, NULL)
    if not writeable:
        cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef list inputs_of(dict destroy_map, Cell** operands, int count):
    """What ``perform`` gets: arrays that are read-only, unless the op declares that it overwrites them."""
    cdef int index
    if not destroy_map:
        return [argument_of(operands[index], False) for index in range(count)]
    destroyed = {position for positions in destroy_map.values() for position in positions}
    return [argument_of(operands[index], index in destroyed) for index in range(count)]


cdef int follow_changes(Machine* machine, const Instruction* at) except -1:
    """What ``perform`` calls has replaced values that this call has loaded: load them again, unless an instruction has
    already read the old ones, whose results would undo the change."""
    cdef Code code = (<Frame>machine.frame).code
    cdef Container container
    cdef int index, cell, position = <int>(at - machine.code)
    for index in range(machine.n_watched):
        container = <Container>machine.watched[index]
        if container.changes == machine.seen[index]:
            continue
        cell = code.watched_cells[index]
        if (cell, position) not in code.known_reads:
            code.known_reads[cell, position] = may_have_read(code.program, cell, position)
        if code.known_reads[cell, position]:
            raise lost_update(container, f"perform of {code.program.calls[at.a].op}")
        machine.seen[index] = container.changes
        machine.epoch += container.load(&machine.context, &machine.cells[cell])
    return 0


cdef void refuse_late_change(Machine* machine) noexcept with gil:
    """Set the exception for a value that was replaced inside the call when its old value had been read."""
    cdef int index
    for index in range(machine.n_watched):
        if (<Container>machine.watched[index]).changes != machine.seen[index]:
            error = lost_update(<Container>machine.watched[index], "a callback, a finalizer or the handler of a signal")
            PyErr_SetObject(RuntimeError, error)
            return


cdef inline bint is_of_cell(value, const Cell* cell) noexcept:
    """Whether an array, perhaps of a subclass, has the cell's dtype and rank and can be worked on as it is."""
    return (isinstance(value, cnp.ndarray) and cnp.PyArray_TYPE(value) == cell.typenum
            and cnp.PyArray_NDIM(value) == cell.ndim and cnp.PyArray_ISBEHAVED(value))


cdef int take_output(Machine* machine, Cell* cell, list storage, variable, bint may_alias, bint is_given) except -1:
    """Move what ``perform`` stored into the cell, checked against the declared type."""
    cdef cnp.ndarray array
    value = storage[0] if storage else None
    if value is None and not cell.flags & CELL_OBJECT:
        raise ValueError(f"perform stored no value for its output {variable} of type {variable.type}")
    if cell.flags & CELL_OBJECT:
        Py_INCREF(value)
        drop(&machine.context, cell)
        cell.object, cell.data = <PyObject*>value, <char*>cell.value
        return 0
    if cell.flags & CELL_DEVICE:
        return device_memory.hold(&machine.context, cell, variable.type.filter(value))
    if is_given and is_of_cell(value, cell):
        check_broadcastable(value, variable)
        cell_give_array(&machine.context, cell, value)
        return 0
    if type(value) is not cnp.ndarray:
        value = cnp.PyArray_FROM_O(value)
    array = value
    if cnp.PyArray_TYPE(array) != cell.typenum and value.dtype != variable.type.numpy_dtype:
        raise TypeError(f"perform stored a value of dtype {value.dtype} for its output {variable}, "
                        f"declared as {variable.type}")
    if (type(value) is not cnp.ndarray or cnp.PyArray_TYPE(array) != cell.typenum
            or cnp.PyArray_NDIM(array) != cell.ndim or not cnp.PyArray_ISBEHAVED_RO(array)):
        array = cnp.PyArray_FROM_O(variable.type.filter(value, strict=False, allow_downcast=False))
    else:
        check_broadcastable(array, variable)
    storage[0] = None
    value = None
    # Others may keep or change this memory: the op, or the owner of an input that was returned as it is.
    if not may_alias and (references(<PyObject*>array) > 1 or cnp.PyArray_BASE(array) is not NULL):
        array = array.copy()
    cell_hold_array(&machine.context, cell, array)
    return 0


cdef int check_broadcastable(cnp.ndarray array, variable) except -1:
    cdef int axis
    for axis, broadcastable in enumerate(variable.type.broadcastable):
        if broadcastable and cnp.PyArray_DIM(array, axis) != 1:
            raise ValueError(f"perform stored a value of shape {(<object>array).shape} for its output {variable}, "
                             f"declared as {variable.type}")
    return 0


cdef int call_perform(Machine* machine, const Instruction* at) except -1:
    cdef Frame frame = <Frame>machine.frame
    cdef Cell** operands = machine.operands + at.b
    cdef int index
    node = frame.code.program.calls[at.a]
    cdef int n_inputs = len(node.inputs)
    cdef int n_outputs = at.c - n_inputs
    cdef list storage = [[None] for index in range(n_outputs)]
    op = node.op
    cdef list inputs = inputs_of(op.destroy_map, operands, n_inputs)
    compute(op, node, inputs, storage)
    del inputs
    remember_layouts(machine, operands, n_inputs, at.c)
    if machine.n_watched > 0 and has_changed(machine):
        follow_changes(machine, at)
    if len(storage) < n_outputs:
        raise ValueError(f"perform took away some of the {n_outputs} cells for its outputs")
    for index in range(n_outputs):
        take_output(machine, operands[n_inputs + index], storage[index], node.outputs[index],
                    index in op.view_map or index in op.destroy_map, index in op.gives_memory)
    compare_layouts(machine, operands, n_inputs, at.c)
    return 0
