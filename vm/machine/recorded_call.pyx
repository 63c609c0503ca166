"""Calls that repeat a recorded one.

When all kernels of a program without jumps are bound, and their layouts stay, a call differs from the one before in
the addresses of arguments only. So one call is *recorded*: it is run as any other, and for each kernel is noted what is
called, and for each value where it is. Later calls move the cells that look at arguments, and call the same functions
one after the other. No cell gets or gives up memory, views are not made again, and nothing is decided.

The memory is that of the recorded call. What the frame has released in it stays with the frame, in its lists of free
blocks, from which nothing is taken until ``release``. This holds for frames that keep their memory. The bodies of loops
do the same with their steps (``loops/replay.pyx``); what both do is in ``plays.pyx``.
"""
from libc.stdlib cimport calloc, free

from phintys.vm cimport pool
from phintys.vm.abi cimport BOUND, INLINE_BYTES, Cell, Kernel, overlap, span_of_cell
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.machine.frame cimport Machine, Site
from phintys.vm.machine.plays cimport Play, drop_values, note_copy, note_kernel, play_all

include "opcodes.pxi"


cdef unsigned char* kernels_that_look(Code code) except NULL:
    cdef unsigned char* looks = <unsigned char*>calloc(code.n_instructions + 1, 1)
    cdef Instruction* at
    cdef Kernel kernel
    cdef int position
    if looks == NULL:
        raise MemoryError()
    for position in range(code.n_instructions):
        at = &code.instructions[position]
        if at.op == OP_KERNEL:
            kernel = <Kernel>code.kernels[at.a]
            looks[position] = (not kernel.may_fail and kernel.examined is not None
                               and code.fixed.issuperset([code.pool[at.b + index] for index in kernel.examined]))
    return looks


cdef Recording* new_recording(int n_instructions, int n_cells, int n_leaves) noexcept nogil:
    cdef size_t size = (sizeof(Recording) + n_instructions * sizeof(Play) + n_leaves * sizeof(Leaf)
                        + (3 + n_leaves) * n_cells * sizeof(void*))
    cdef Recording* recording = <Recording*>calloc(1, size)
    cdef int index
    if recording == NULL:
        return NULL
    recording.plays = <Play*>(recording + 1)
    recording.leaves = <Leaf*>(recording.plays + n_instructions)
    recording.written = <Cell**>(recording.leaves + n_leaves)
    recording.addresses = <char**>(recording.written + n_cells)
    recording.wandering = <Cell**>(recording.addresses + n_cells)
    for index in range(n_leaves):
        recording.leaves[index].views = recording.wandering + (1 + index) * n_cells
    return recording


cdef inline bint is_inline(const Cell* cell) noexcept nogil:
    return <const char*>cell.value <= cell.data < <const char*>cell.value + INLINE_BYTES


cdef inline void note_address(Recording* recording, Cell* cell, char* address) noexcept nogil:
    recording.written[recording.n_written], recording.addresses[recording.n_written] = cell, address
    recording.n_written += 1


cdef inline char* address_of(const Recording* recording, const Cell* cell) noexcept nogil:
    """Where a value is in each call."""
    cdef int index
    for index in range(recording.n_written):
        if recording.written[index] == cell:
            return recording.addresses[index]
    return cell.data


cdef char* address_in_number(const Recording* recording, const Cell* view, Cell** operands, int inputs) noexcept nogil:
    """A view of a value inside its cell is a copy of it, at the same offset. Replayed calls need none: this is where
    the value is itself. NULL: it is not clear whose value it is."""
    cdef const Cell* source = NULL
    cdef int index
    for index in range(inputs):
        if is_inline(operands[index]):
            if source != NULL and source != operands[index]:
                return NULL
            source = operands[index]
    if source == NULL:
        return NULL
    return address_of(recording, source) + (
        (view.data - <const char*>view.value) - (source.data - <const char*>source.value))


cdef bint note_view(Recording* recording, Cell* cell, Cell** operands, int inputs) noexcept nogil:
    """Note a cell that looks at memory of others; returns whether its kernel need not run again."""
    cdef Leaf* leaf
    cdef char* address = cell.data
    cdef int index
    if is_inline(cell):
        address = address_in_number(recording, cell, operands, inputs)
        if address == NULL:
            return False
    for index in range(recording.n_leaves):
        leaf = &recording.leaves[index]
        if leaf.span.low <= address < leaf.span.high:         # an empty view may be outside: nobody reads there
            leaf.views[leaf.n_views] = cell
            leaf.n_views += 1
            break
    note_address(recording, cell, address)
    return True


cdef inline bint wanders(const Recording* recording, Cell** operands, int count) noexcept nogil:
    """Whether one of these cells looks elsewhere in each call, by its kernel's choice."""
    cdef int index, position
    for index in range(recording.n_wandering):
        for position in range(count):
            if recording.wandering[index] == operands[position]:
                return True
    return False


cdef void note_views(Recording* recording, Cell** operands, int inputs, int count, bint only_looks) noexcept nogil:
    """After a kernel that makes its outputs views: it runs again unless it does nothing else."""
    cdef bint again = not only_looks or wanders(recording, operands, inputs)
    cdef int index
    for index in range(inputs, count):
        if again:
            recording.wandering[recording.n_wandering] = operands[index]
            recording.n_wandering += 1
        elif not note_view(recording, operands[index], operands, inputs):
            recording.n_plays += 1
            return                                          # it is the only output
    recording.n_plays += again


cdef int record_kernel(Recording* recording, Machine* machine, const Instruction* at, bint only_looks) noexcept nogil:
    cdef const Site* site = &machine.sites[at - machine.code]
    cdef Cell** operands = machine.operands + at.b
    cdef int index
    if note_kernel(machine, at, &recording.plays[recording.n_plays]) < 0:
        return -1
    if site.binding != BOUND:
        note_views(recording, operands, site.inputs, at.c, only_looks)
        return 0
    for index in range(site.inputs, at.c):
        note_address(recording, operands[index], operands[index].data)
    recording.n_plays += 1
    return 0


cdef int record_copy(Recording* recording, Machine* machine, const Instruction* at) noexcept nogil:
    if note_copy(machine, at, &recording.plays[recording.n_plays]) < 0:
        return -1
    note_address(recording, &machine.cells[at.a], machine.cells[at.a].data)
    recording.n_plays += 1
    return 0


cdef bint find_leaves(Recording* recording, Machine* machine, int* leaves) noexcept nogil:
    """Note where arguments and shared values are; returns whether they are apart."""
    cdef Leaf* leaf
    cdef int index, other
    for index in range(recording.n_leaves):
        leaf = &recording.leaves[index]
        leaf.cell = &machine.cells[leaves[index]]
        leaf.data, leaf.span = leaf.cell.data, span_of_cell(leaf.cell)
        for other in range(index):
            if overlap(leaf.span, recording.leaves[other].span):
                return False
    return True


cdef Recording* record(Machine* machine, int n_instructions, int n_cells, int* leaves, int n_leaves,
                       const unsigned char* only_looks, bint* failed) noexcept nogil:
    cdef Recording* recording = new_recording(n_instructions, n_cells, n_leaves)
    cdef const Instruction* at = machine.code
    cdef int result = 0
    failed[0] = False
    if recording == NULL:
        return NULL
    recording.epoch, recording.n_leaves = machine.epoch, n_leaves
    if not find_leaves(recording, machine, leaves):
        free(recording)
        return NULL
    machine.call += 1
    while at.op != OP_HALT and at.op != OP_RESULT:
        if at.op == OP_KERNEL:
            result = record_kernel(recording, machine, at, only_looks[at - machine.code])
        elif at.op == OP_COPY:
            result = record_copy(recording, machine, at)
        elif at.op == OP_DROP:
            drop_values(machine, at)
        if result < 0:
            machine.at = at
            free(recording)
            failed[0] = True
            return NULL
        at += 1
    return recording


cdef bint hold(Recording* recording, Machine* machine) noexcept nogil:
    cdef int index
    for index in range(recording.n_written):
        if recording.written[index].size + machine.context.kept_bytes > pool.pool_limit:
            return False
    for index in range(recording.n_written):
        recording.written[index].data = recording.addresses[index]
    return True


cdef inline void move_views(Leaf* leaf) noexcept nogil:
    """Follow an argument to where it is in this call."""
    cdef Py_ssize_t distance = leaf.cell.data - leaf.data
    cdef int index
    leaf.data = leaf.cell.data
    for index in range(leaf.n_views):
        leaf.views[index].data += distance


cdef int play(Recording* recording, Machine* machine) noexcept nogil:
    cdef int index
    for index in range(recording.n_leaves):
        if recording.leaves[index].cell.data != recording.leaves[index].data:
            move_views(&recording.leaves[index])
    return play_all(machine, recording.plays, recording.n_plays)


cdef void release(Recording* recording) noexcept nogil:
    cdef Cell* cell
    cdef int index
    for index in range(recording.n_written):
        cell = recording.written[index]
        cell.data = cell.buffer.data if cell.buffer != NULL else NULL
    free(recording)
