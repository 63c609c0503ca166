"""What a failed call raises: the error, the instruction that it belongs to, and what this one reads.

Functions and loops call this before they empty the frame: ``machine.at`` is still the instruction that failed, and its
operands still have their values. Small values are copied, so an error keeps no memory of the frame.
"""
from phintys.vm.abi cimport CELL_DEVICE, CELL_OBJECT, Cell, cell_size, cell_to_array
from phintys.vm.machine.frame cimport Machine

from phintys.vm.explaining.runtime_error import SHOWN_SIZE, later_checks, reason_of


cdef tuple what_failed(Machine* machine, program, error):
    """Return an error, the number of its instruction, and what this reads.

    That is the error that happened or, if a later instruction would have found its reason, the latter's.
    """
    cdef int position = <int>(machine.at - machine.code)
    later = later_checks(error, program, position)
    done = set(program.nodes[:position]) if later else None
    checks = [(number, operands_read(machine, program, number, False, done)) for number in later]
    reason, found = reason_of(error, program, position, checks)
    return reason, found, operands_read(machine, program, found, found == position, done if found > position else None)


cdef list operands_read(Machine* machine, program, int position, bint has_run=False, set done=None):
    """(shape, strides, value if it is small) of what an instruction reads; None where a cell is empty or no array.

    What an instruction that has run read on a device may have been dropped since, but still has its shape. If nodes
    are given that are done, what others compute is None, too: in loops it may be memory of the call before.
    """
    cdef Cell* cell
    cdef int index, axis
    cdef list described = []
    cdef int count = program.operands_of_node(position)
    for index in range(min(count, machine.code[position].c)):
        if done is not None:
            inputs = program.nodes[position].inputs
            if index >= len(inputs) or not (inputs[index].owner is None or inputs[index].owner in done):
                described.append(None)
                continue
        cell = machine.operands[machine.code[position].b + index]
        if (cell.data == NULL and not (has_run and cell.flags & CELL_DEVICE)) or cell.flags & CELL_OBJECT:
            described.append(None)
        else:
            described.append((tuple([cell.shape[axis] for axis in range(cell.ndim)]),
                              tuple([cell.strides[axis] for axis in range(cell.ndim)]),
                              None if cell.flags & CELL_DEVICE or cell_size(cell) > SHOWN_SIZE
                              else cell_to_array(cell)))
    return described
