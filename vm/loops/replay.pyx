"""Bodies of loops, step after step in the same memory.

When all kernels of a body are bound, a step differs from the step before in the addresses of the body's arguments only:
each value gets the memory that it had in the last step. So the kernel of loops lets one step be *recorded*: it is run
as any other, and for each kernel is noted what is called, and where its results are. Later steps call the same
functions one after the other. No cell gets or gives up memory, and nothing is decided.

The memory is that of the recorded step. What the frame has released in it stays with the frame, in its lists of free
blocks, from which nothing is taken until ``release``. This holds for frames that keep their memory
(``allow_gc=False``). Calls of C functions do the same (``machine/recorded_call.pyx``); what both do is in
``machine/plays.pyx``.
"""
from libc.stdlib cimport calloc, free

from phintys.vm cimport pool
from phintys.vm.abi cimport BOUND, Cell, drop
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Frame, Machine, Site
from phintys.vm.machine.plays cimport Play, drop_values, note_copy, note_kernel

include "opcodes.pxi"


cdef class Replay:
    """A recorded step.

    Parameters
    ----------
    frame : Frame
        Of whose machine ``can_note`` is true.
    """

    def __cinit__(self, Frame frame):
        cdef int n_plays = frame.code.n_instructions + 1, n_cells = frame.code.n_cells
        self.frame = frame
        self.plays = <Play*>calloc(1, n_plays * sizeof(Play) + 3 * n_cells * sizeof(void*))     # and the tables below
        if self.plays == NULL:
            raise MemoryError()
        self.written = <Cell**>(self.plays + n_plays)
        self.addresses = <char**>(self.written + n_cells)
        self.views = <Cell**>(self.addresses + n_cells)

    def __dealloc__(self):
        free(self.plays)

    cdef int record(self) except -1:
        """Run a step, and note what it does."""
        cdef Machine* machine = &self.frame.machine
        cdef const Instruction* at = machine.code
        machine.call += 1
        while at.op != OP_HALT:
            machine.at = at
            if at.op == OP_KERNEL:
                self._run_kernel(at)
            elif at.op == OP_COPY:
                self._copy(at)
            elif at.op == OP_DROP:
                drop_values(machine, at)
            at += 1
        return 0

    cdef int _run_kernel(self, const Instruction* at) except -1:
        cdef Machine* machine = &self.frame.machine
        cdef const Site* site = &machine.sites[at - machine.code]
        cdef Play* to = &self.plays[self.n_plays]
        cdef int index
        if note_kernel(machine, at, to) < 0:
            return -1
        for index in range(site.inputs, at.c):
            if site.binding == BOUND:
                self._note(to.operands[index])
            else:
                self.views[self.n_views] = to.operands[index]
                self.n_views += 1
        self.n_plays += 1
        return 0

    cdef int _copy(self, const Instruction* at) except -1:
        cdef Machine* machine = &self.frame.machine
        if note_copy(machine, at, &self.plays[self.n_plays]) < 0:
            return -1
        self.n_plays += 1
        self._note(&machine.cells[at.a])
        return 0

    cdef int _note(self, Cell* cell) noexcept:
        """Remember where a value is."""
        self.written[self.n_written], self.addresses[self.n_written] = cell, cell.data
        self.n_written += 1
        return 0

    cdef char* address_of(self, const Cell* cell) noexcept:
        """Where the recorded step had a value that it computed, or NULL."""
        cdef int index
        for index in range(self.n_written):
            if self.written[index] == cell:
                return self.addresses[index]
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
            self.written[index].data = self.addresses[index]
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
