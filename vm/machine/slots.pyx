"""The slots of a plan: in mode "plan", where temporaries are in one arena, chosen by the shapes of a call.

The interpreter calls ``is_planned`` and ``choose_plan`` at PLAN, before any temporary has memory. A slot is only an
offer: ``take_slot`` of ``vm/abi.pyx`` takes it if the value fits and the slot is free, so a plan for other shapes costs
memory, and never makes a value wrong.
"""
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.vm.abi cimport CELL_OBJECT, Cell, context_clear
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport INSTALLED, UNKNOWN, WASTE, WATCHED, Frame, Machine, clear_slots
from phintys.vm.pool cimport buffer_acquire_arena, buffer_release


cdef bint is_planned(Machine* machine) noexcept nogil:
    """Whether the slots are laid out for the shapes of this call."""
    cdef npy_intp* key = machine.key
    cdef Cell* leaf
    cdef int index, axis
    if machine.planning != INSTALLED:
        return False
    for index in range(machine.n_leaves):
        leaf = machine.leaves[index]
        for axis in range(leaf.ndim):
            if leaf.shape[axis] != key[axis]:
                return False
        key += leaf.ndim
    return True


cdef int choose_plan(Machine* machine, const Instruction* at) except -1:
    """Lay out the slots for the shapes of this call; when they are new, watch which sizes they lead to."""
    cdef Frame frame = <Frame>machine.frame
    planner = frame.code.planner
    if machine.planning == WATCHED:
        planner.watched(known_key(machine), shapes_of(frame))
    machine.planning = UNKNOWN
    machine.epoch += 1
    clear_slots(frame)
    remember_key(machine)
    layout = planner.layout(known_key(machine))
    if layout is None:
        forget_shapes(frame)
        machine.planning = WATCHED
    else:
        least, most = planner.room(layout)
        install(frame, layout, least, most)
        machine.planning = INSTALLED
    return 0


cdef tuple known_key(Machine* machine):
    """The shapes in ``key`` as a tuple."""
    cdef int index, length = 0
    for index in range(machine.n_leaves):
        length += machine.leaves[index].ndim
    return tuple([machine.key[index] for index in range(length)])


cdef void remember_key(Machine* machine) noexcept:
    cdef npy_intp* key = machine.key
    cdef int index
    for index in range(machine.n_leaves):
        memcpy(key, machine.leaves[index].shape, machine.leaves[index].ndim * sizeof(npy_intp))
        key += machine.leaves[index].ndim


cdef list shapes_of(Frame frame):
    """The shapes that the cells had in the last call; None for objects, and for values that were not computed."""
    cdef list shapes = []
    cdef Cell* cell
    cdef int index, axis
    for index in range(frame.code.n_cells):
        cell = &frame.cells[index]
        if cell.flags & CELL_OBJECT or (cell.ndim and cell.shape[0] < 0):
            shapes.append(None)
        else:
            shapes.append(tuple([cell.shape[axis] for axis in range(cell.ndim)]))
    return shapes


cdef void forget_shapes(Frame frame) noexcept:
    """So that it shows which values the coming call computes."""
    cdef int index
    for index in range(frame.n_slots):
        frame.placed[index].shape[0] = -1


cdef int install(Frame frame, layout, size_t total, size_t largest) except -1:
    """Point the slots into the arena, which has ``total`` bytes, and little more than ``largest``."""
    cdef int index
    cdef Py_ssize_t offset
    if frame.arena != NULL and not total <= frame.arena.capacity <= largest + (largest >> 3) + WASTE:
        buffer_release(frame.arena)
        frame.arena = NULL
    if frame.arena == NULL and total:
        context_clear(&frame.machine.context)           # what it keeps served the values that are placed now
        frame.arena = buffer_acquire_arena(total)
        if frame.arena == NULL:
            raise MemoryError(f"no memory for the {total} bytes of a plan")
    for index in range(frame.n_slots):
        offset = layout.offsets[index]
        if offset >= 0:
            frame.slots[index].data = frame.arena.data + offset
            frame.slots[index].capacity = layout.sizes[index]
    return 0
