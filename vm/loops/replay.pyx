"""Bodies of loops, step after step in the same memory.

When all kernels of a body are bound, a step differs from the step before in the addresses of the body's arguments only:
each value gets the memory that it had in the last step. So the kernel of loops lets one step be *recorded*: it is run
as any other, and for each kernel is noted what is called, and where its results are. Later steps call the same
functions one after the other. No cell gets or gives up memory, and nothing is decided.

The memory is that of the recorded step. What the frame has released in it stays with the frame, in its lists of free
blocks, from which nothing is taken until ``release``. This holds for frames that keep their memory
(``allow_gc=False``).
"""
from libc.stdlib cimport calloc, free

from phintys.vm cimport pool
from phintys.vm.abi cimport BOUND, BOUND_VIEW, Cell, Kernel, drop, renew
from phintys.vm.machine.code cimport LOOKS, Instruction
from phintys.vm.machine.copies cimport copy_cell, copy_elements
from phintys.vm.machine.frame cimport Frame, Machine, Site
from phintys.vm.machine.interpreter cimport raise_failure
from phintys.vm.pool cimport SMALL_CLASSES, Buffer
from phintys.vm.python_api cimport PyObject

include "opcodes.pxi"


cdef bint can_replay(Frame frame) noexcept:
    """Whether the frame's next step can be recorded."""
    cdef Machine* machine = &frame.machine
    cdef const Instruction* at = machine.code
    cdef const Site* site
    if not machine.context.keeps or machine.context.poison or pool.stress:
        return False
    while at.op != OP_HALT:
        site = &machine.sites[at - machine.code]
        if at.op == OP_KERNEL:
            if site.bound != machine.epoch or site.worth & ~LOOKS or site.binding not in (BOUND, BOUND_VIEW):
                return False
        elif at.op == OP_TOGETHER:
            if site.bound != machine.epoch:
                return False
        elif at.op != OP_DROP and at.op != OP_COPY:
            return False
        at += 1
    return True


cdef class Replay:
    """A recorded step.

    Parameters
    ----------
    frame : Frame
        Of which ``can_replay`` is true.
    """

    def __cinit__(self, Frame frame):
        cdef int n_plays = frame.code.n_instructions + 1, n_cells = frame.code.n_cells
        self.frame = frame
        self.plays = <Play*>calloc(1, n_plays * sizeof(Play) + 3 * n_cells * sizeof(void*))     # and the tables below
        if self.plays == NULL:
            raise MemoryError()
        self.written = <Cell**>(self.plays + n_plays)
        self.places = <char**>(self.written + n_cells)
        self.views = <Cell**>(self.places + n_cells)

    def __dealloc__(self):
        free(self.plays)

    cdef int record(self) except -1:
        """Run a step, and note what it does."""
        cdef Machine* machine = &self.frame.machine
        cdef const Instruction* at = machine.code
        cdef Cell** operands
        cdef int index
        machine.call += 1
        while at.op != OP_HALT:
            machine.at = at
            if at.op == OP_KERNEL:
                self._run_kernel(at)
            elif at.op == OP_COPY:
                copy_cell(machine, at)
                self.plays[self.n_plays].source, self.plays[self.n_plays].target = (
                    &machine.cells[at.b], &machine.cells[at.a])
                self.n_plays += 1
                self._note(&machine.cells[at.a])
            elif at.op == OP_DROP:
                operands = machine.operands + at.b
                for index in range(at.c):
                    if not (at.flags & DROP_LARGE and is_small(operands[index].buffer)):
                        drop(&machine.context, operands[index])
            at += 1
        return 0

    cdef int _run_kernel(self, const Instruction* at) except -1:
        cdef Machine* machine = &self.frame.machine
        cdef const Site* site = &machine.sites[at - machine.code]
        cdef Play* to = &self.plays[self.n_plays]
        cdef int index
        to.at, to.step, to.kernel, to.room = at, site.step, machine.kernels[at.a], site.room
        to.operands = machine.operands + at.b
        machine.context.room = site.room
        if site.binding == BOUND:
            for index in range(site.inputs, at.c):
                renew(&machine.context, to.operands[index])
        if play_one(machine, to) < 0:
            raise_failure(machine)
            return -1
        for index in range(site.inputs, at.c):
            if site.binding == BOUND:
                self._note(to.operands[index])
            else:
                self.views[self.n_views] = to.operands[index]
                self.n_views += 1
        self.n_plays += 1
        return 0

    cdef int _note(self, Cell* cell) noexcept:
        """Remember where a value is."""
        self.written[self.n_written], self.places[self.n_written] = cell, cell.data
        self.n_written += 1
        return 0

    cdef char* place_of(self, const Cell* cell) noexcept:
        """Where the recorded step had a value that it computed, or NULL."""
        cdef int index
        for index in range(self.n_written):
            if self.written[index] == cell:
                return self.places[index]
        return NULL

    cdef bint can_hold(self) noexcept:
        """Whether the frame has kept all memory that it released in the recorded step."""
        cdef int index
        for index in range(self.n_written):
            if self.written[index].size + self.frame.machine.context.kept_bytes > pool.pool_limit:
                return False
        return True

    cdef int hold(self) noexcept:
        """Let each value have the memory of the recorded step."""
        cdef int index
        for index in range(self.n_written):
            self.written[index].data = self.places[index]
        return 0

    cdef int release(self) noexcept:
        """After the last step: the cells have what the frame says again. Their values are lost."""
        cdef Cell* cell
        cdef int index
        for index in range(self.n_written):
            cell = self.written[index]
            cell.data = cell.buffer.data if cell.buffer != NULL else NULL
        for index in range(self.n_views):
            drop(&self.frame.machine.context, self.views[index])
        return 0


cdef inline bint is_small(const Buffer* buffer) noexcept:
    return buffer == NULL or 0 < buffer.size_class <= SMALL_CLASSES


cdef inline int play_one(Machine* machine, const Play* at) noexcept nogil:
    if at.step != NULL:
        return at.step(&machine.context, at.operands)
    if at.kernel != NULL:
        return (<Kernel>at.kernel).run(&machine.context, at.operands)
    copy_elements(at.target.data, at.source)
    return 0


cdef int play(Replay replay) noexcept nogil:
    """Do what the recorded step did; returns -1 with an exception, and ``machine.at``, if a kernel failed."""
    cdef Machine* machine = &replay.frame.machine
    cdef const Play* at = replay.plays
    cdef const Play* end = at + replay.n_plays
    while at != end:
        machine.context.room = at.room
        if play_one(machine, at) < 0:
            machine.at = at.at
            raise_failure(machine)
            return -1
        at += 1
    return 0
