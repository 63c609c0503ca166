"""Frames: all that one running call changes.

A ``Frame`` has cells, their shapes, free lists and scratch memory. It keeps what is worth keeping for the next call,
and is as good as new after a call that failed.

With ``allow_gc=False`` dropped memory stays here: values up to 4 KiB in their cells, larger blocks in lists
(``Context.kept``, at most ``config.pool_limit``). So from the second call on only results need memory from the pool,
and a lock. Values whose lifetimes do not overlap share these blocks; a buffer for each value was tried, and calls took
up to 1.8 times as long when all buffers together were larger than the cache. A chain of small values that overwrite
each other leaves its buffer in the last cell (``Cell.heir``), where the first one finds it in the next call.
"""
cimport cython
from libc.stdlib cimport calloc, free, malloc
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_ANY_LAYOUT, CELL_CONSTANT, CELL_DEVICE, CELL_LATE, CELL_LENT, CELL_NUMBER, CELL_OBJECT, CELL_READONLY,
    CELL_SHOWN, Cell, Context, cell_borrow_array, cell_init, context_clear, context_init, drop)
from phintys.vm.containers.container cimport Container
from phintys.vm.machine.code cimport Code, Instruction, Outline
from phintys.vm.machine.profile cimport free_timing
from phintys.vm.pool cimport (
    HOST, MEDIUM_CLASSES, PLANNED, SMALL_CLASSES, Buffer, buffer_give_back, buffer_release)
from phintys.vm.python_api cimport Py_INCREF, Py_XDECREF, PyObject

from phintys.vm.views import roots_of

include "opcodes.pxi"


@cython.no_gc_clear                 # what it frees at its end is found through `code`; no cycle needs a frame to end
cdef class Frame:

    def __cinit__(self, Code code):
        cdef int index
        cdef npy_intp* dimensions
        self.code = code
        context_init(&self.machine.context)
        self.machine.context.keeps = code.program.allow_gc is False
        self.cells = <Cell*>calloc(code.n_cells + 1, sizeof(Cell))
        self.dimensions = <npy_intp*>calloc(code.n_dimensions + 1, sizeof(npy_intp))
        self.n_results = code.program.n_results
        self.results = <PyObject**>calloc(self.n_results + 1, sizeof(PyObject*))
        self.recycled = <PyObject**>calloc(self.n_results + 1, sizeof(PyObject*))
        self.given = <PyObject**>calloc(code.n_arguments + 1, sizeof(PyObject*))
        self.machine.operands = <Cell**>malloc((code.n_operands + 1) * sizeof(Cell*))
        self.machine.blocks = <Block*>calloc(code.n_blocks + 1, sizeof(Block))
        self.machine.seen = <long long*>calloc(code.n_watched + 1, sizeof(long long))
        if (self.cells == NULL or self.dimensions == NULL or self.machine.operands == NULL or self.results == NULL
                or self.recycled == NULL or self.given == NULL or self.machine.blocks == NULL
                or self.machine.seen == NULL):
            raise MemoryError()
        dimensions = self.dimensions
        for index, layout in enumerate(code.program.cells):
            self._add_cell(&self.cells[index], layout, dimensions)
            dimensions += 2 * <int>layout.ndim
        for index in range(code.n_operands):
            self.machine.operands[index] = &self.cells[code.pool[index]]
        self.machine.code = code.instructions
        self.machine.cells = self.cells
        self.machine.kernels = code.kernels
        self.machine.containers = code.containers
        self.machine.claims = code.updated
        self.machine.n_claims = code.n_updated
        self.machine.watched = code.watched
        self.machine.n_watched = code.n_watched
        self.machine.frame = <PyObject*>self
        if code.timed:
            self.machine.timing = code.profile.new_timing(code.ops)
        self._find_donors()
        self._find_heirs()
        self._find_sites()
        if code.planner is not None:
            self._find_slots()

    cdef int _find_donors(self) except -1:
        """Cells that may take another's memory; loaded values know the container that they come from."""
        cdef int index
        for index, layout in enumerate(self.code.program.cells):
            if layout.donor is not None:
                self.cells[index].donor = &self.cells[<int>layout.donor]
        for index in range(self.code.n_instructions):
            if self.code.ops[index] == OP_LOAD:
                self.cells[self.code.instructions[index].a].donor = &(
                    <Container>self.code.containers[self.code.instructions[index].b]).cell
        return 0

    cdef int _find_heirs(self) except -1:
        """Where buffers stay between calls: they are lent, or small and kept. There the next call starts from."""
        cdef int index, last, view
        cdef list cells = self.code.program.cells
        cdef dict roots
        cdef set overwritten
        if self.code.program.allow_gc is not False and not self.code.lent:
            return 0
        # From the last cell of a chain of donors back to its first: a view stands for its root, whose memory it is. All
        # of them get the last one as heir, so that the buffer that it keeps is there when the next call allocates for
        # the first one. Arguments and containers end a chain: their memory is not the frame's.
        roots = roots_of(self.code.program)
        overwritten = {layout.donor for layout in cells}
        for last in range(self.code.n_cells):
            if last in overwritten or not (self.code.program.allow_gc is False or cells[last].access == "lent"):
                continue
            index = last
            while cells[index].donor is not None and cells[<int>cells[index].donor].kind == "value":
                index = roots.get(cells[index].donor, cells[index].donor)
                self.cells[index].heir = &self.cells[last]
        for view, index in roots.items():
            self.cells[view].heir = self.cells[index].heir
        return 0

    cdef int _find_slots(self) except -1:
        """Room for a plan; there is none until the shapes of a call are known."""
        cdef int index, length = 0
        cdef list placed = self.code.planner.cells, leaves = self.code.planner.leaves
        self.n_slots = len(placed)
        self.machine.n_leaves = len(leaves)
        for index in leaves:
            length += self.cells[index].ndim
        self.slots = <Buffer*>calloc(self.n_slots + 1, sizeof(Buffer))
        self.placed = <Cell**>malloc((self.n_slots + 1) * sizeof(Cell*))
        self.machine.leaves = <Cell**>malloc((self.machine.n_leaves + 1) * sizeof(Cell*))
        self.machine.key = <npy_intp*>malloc((length + 1) * sizeof(npy_intp))
        if self.slots == NULL or self.placed == NULL or self.machine.leaves == NULL or self.machine.key == NULL:
            raise MemoryError()
        for index in range(self.machine.n_leaves):
            self.machine.leaves[index] = &self.cells[<int>leaves[index]]
        for index in range(self.n_slots):
            self.placed[index] = &self.cells[<int>placed[index]]
            self.placed[index].slot = &self.slots[index]
            self.slots[index].size_class = PLANNED
        return 0

    cdef int _find_sites(self) except -1:
        """Room for what is remembered of each instruction that runs a kernel; the first epoch begins."""
        cdef Code code = self.code
        cdef Outline* outline
        cdef Site* site
        cdef int position
        self.machine.epoch = 1
        self.machine.sites = <Site*>calloc(code.n_instructions + 1, sizeof(Site))
        self.machine.layouts = <npy_intp*>malloc((code.most_layouts + 1) * sizeof(npy_intp))
        self.private_memory = <char*>calloc(code.private_bytes + 16, 1)
        if self.machine.sites == NULL or self.machine.layouts == NULL or self.private_memory == NULL:
            raise MemoryError()
        for position in range(code.n_instructions):
            # RUN shares with its PREPARE (`outline.first`) private memory and what is remembered of the kernel.
            outline, site = &code.outlines[position], &self.machine.sites[position]
            site.inputs, site.varies, site.looks = outline.inputs, outline.varies, outline.looks
            site.private_memory = self.private_memory + code.outlines[outline.first].private_at
            site.first = &self.machine.sites[outline.first]
        return 0

    cdef int _add_cell(self, Cell* cell, layout, npy_intp* dimensions) except -1:
        if layout.typenum < 0:
            cell.flags = CELL_OBJECT
            if layout.kind == "constant":
                Py_INCREF(layout.value)
                cell.object = <PyObject*>layout.value
                cell.data = <char*>cell.value
                cell.flags |= CELL_READONLY | CELL_CONSTANT
            return 0
        cell_init(cell, layout.typenum, layout.ndim, dimensions)
        if layout.kind == "constant":
            cell_borrow_array(cell, layout.value)           # the program keeps the array alive
        elif cell.ndim:
            cell.shape[0] = -1                              # not computed yet
        if layout.kind != "value" and layout.access != "mutable":
            cell.flags = CELL_READONLY
        if layout.kind == "constant":
            cell.flags |= CELL_CONSTANT
        if layout.donor is not None and layout.any_layout:
            cell.flags |= CELL_ANY_LAYOUT
        if layout.place != HOST:
            cell.flags |= CELL_DEVICE
        cell.flags |= {"lent": CELL_LENT, "shown": CELL_SHOWN, "late": CELL_LATE}.get(layout.access, 0)
        if layout.is_number:
            cell.flags |= CELL_NUMBER
        return 0

    def __dealloc__(self):
        cdef int index
        if self.cells != NULL:
            for index in range(self.code.n_cells):
                drop(&self.machine.context, &self.cells[index])
        context_clear(&self.machine.context)
        if self.results != NULL and self.recycled != NULL:
            for index in range(self.n_results):
                Py_XDECREF(self.results[index])
                Py_XDECREF(self.recycled[index])
        if self.given != NULL:
            for index in range(self.code.n_arguments):
                Py_XDECREF(self.given[index])
        if self.arena != NULL:
            buffer_release(self.arena)
        free(self.private_memory)
        free(self.machine.sites)
        free(self.machine.layouts)
        free(self.slots)
        free(self.placed)
        free(self.machine.leaves)
        free(self.machine.key)
        free(self.results)
        free(self.recycled)
        free(self.given)
        free(self.cells)
        free(self.dimensions)
        free(self.machine.operands)
        free(self.machine.blocks)
        free(self.machine.seen)
        free_timing(self.machine.timing)


cdef int reset(Frame frame) except -1:
    """After a failure: empty every cell that is not a constant. The frame is then as good as a new one."""
    cdef Cell* cell
    cdef int index
    for index in range(frame.code.n_cells):
        cell = &frame.cells[index]
        if not cell.flags & CELL_CONSTANT:
            drop(&frame.machine.context, cell)
            cell.flags &= ~CELL_LENT                # it moves along with the memory; see `adopt`
    for index in frame.code.lent:
        take_back(frame, index)
        frame.machine.operands[frame.code.first_result + index].flags |= CELL_LENT
    forget_results(frame)
    frame.machine.epoch += 1
    frame.machine.long_commit = False
    if frame.machine.planning == WATCHED:
        frame.machine.planning = UNKNOWN
    return 0


cdef void empty_after(Frame frame) noexcept:
    """Drop old values, and all else that HALT names; the call has given up its claims."""
    cdef const Instruction* halt = frame.code.instructions + frame.code.halt
    cdef Cell** at = frame.machine.operands + halt.b
    cdef Cell** end = at + halt.c
    while at != end:
        at[0].data = NULL
        if at[0].buffer != NULL or at[0].flags & CELL_OBJECT:
            drop(&frame.machine.context, at[0])
        at += 1


cdef int empty_frame(Frame frame) except -1:
    """Give up all memory that an idle frame keeps."""
    reset(frame)
    clear_slots(frame)
    if frame.arena != NULL:
        buffer_release(frame.arena)
        frame.arena = NULL
    frame.machine.planning = UNKNOWN
    context_clear(&frame.machine.context)
    return 0


cdef void give_up_larger(Frame frame) noexcept:
    """Give up the larger blocks that the frame keeps for its cells; small ones and scratch memory stay."""
    cdef Context* context = &frame.machine.context
    cdef Buffer* buffer
    cdef int size_class
    if context.kept_bytes == 0:
        return
    for size_class in range(MEDIUM_CLASSES + 1):
        while context.kept[size_class] != NULL:
            buffer = context.kept[size_class]
            context.kept[size_class] = buffer.next
            buffer_give_back(buffer)
    context.kept_bytes = 0


cdef size_t bytes_kept_by_context(const Context* context) noexcept nogil:
    """The memory that a frame keeps beside that of its cells."""
    cdef size_t size = context.scratch_size + context.kept_bytes
    cdef const Buffer* buffer
    cdef int size_class
    for size_class in range(SMALL_CLASSES + 1):
        buffer = context.free[size_class]
        while buffer != NULL:
            size += buffer.capacity
            buffer = buffer.next
    return size


cdef size_t bytes_kept_by(Frame frame) noexcept:
    """The memory that an idle frame keeps for the next call."""
    cdef size_t size = bytes_kept_by_context(&frame.machine.context)
    cdef Buffer* buffer
    cdef int index
    if frame.arena != NULL:
        size += frame.arena.capacity
    for index in range(frame.code.n_cells):
        buffer = frame.cells[index].buffer
        if buffer != NULL and buffer.owner == NULL and buffer.size_class != PLANNED:
            size += buffer.capacity
    return size


cdef Frame idle_frame(list idle, Code code):
    # Without a GIL another thread may take the last frame between the test and `pop`.
    try:
        return <Frame>idle.pop() if idle else Frame(code)
    except IndexError:
        return Frame(code)


cdef list taken_from(list idle):
    cdef list taken = []
    try:
        while idle:
            taken.append(idle.pop(0))
    except IndexError:
        pass
    return taken


cdef void forget_results(Frame frame) noexcept:
    """Drop results that the caller did not get."""
    cdef int index
    cdef PyObject* result
    for index in range(frame.n_results):
        result = frame.results[index]
        frame.results[index] = NULL
        Py_XDECREF(result)


cdef void clear_slots(Frame frame) noexcept:
    cdef int index
    for index in range(frame.n_slots):
        drop(&frame.machine.context, frame.placed[index])
        frame.slots[index].data = NULL
        frame.slots[index].capacity = 0


cdef void take_back(Frame frame, int index) noexcept:
    """Leave a lent result to those who hold it: its memory is not used again."""
    cdef PyObject* array = frame.recycled[index]
    frame.recycled[index] = NULL
    Py_XDECREF(array)
