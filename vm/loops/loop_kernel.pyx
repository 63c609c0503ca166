"""The kernel of loops: a virtual machine inside an instruction of another.

The body of a loop is a program of its own. Its frame belongs to the kernel, which moves the addresses of the body's
arguments from step to step and runs the frame's code: no Python object, no lock and no allocation is needed for a step
whose body has only kernels. Shapes and strides are the same in each step, so the body's kernels are bound in the second
step (see ``Machine.epoch``).

The groups of inputs and outputs are those of ``ops/loops/parts.py``, with one exception: sums are carried values, to
which the body adds. So the program may add in place, or fuse the addition with a product.

* A sequence's argument has the address of the step's row.
* The rows of states and stacked values are in the memory of the outer outputs, one after the other. The arguments of
  taps have the addresses of earlier rows. Where only the last rows are kept, the rows are a ring (``rows.pxi``), which
  is put in order after the last step. Where no other rows are kept than those that taps read, the next row *reuses* the
  memory of one that the body has read, and of which other results may be views. So these rows are written last. A state
  whose results are views of such rows themselves (``returns_own_row``) reuses none: its ring has a row more.
* Rows that are computed ahead, for a block of steps at a time, are moved along as sequences are: see ``blocks.pyx``.
* A carried value passes from the result's cell to the argument's: they exchange buffers.
* When all kernels are bound, a step is recorded, and later ones are replayed: see ``replayed.pxi``. Results are then
  computed in the rows themselves, where that is possible.
* Bodies of numbers, or of rows of one shape, run many steps in one call of a kernel: see ``scalar_runs.pxi``; so do
  some bodies on a device: see ``device_runs.pxi``.
* If all layouts follow from those of the inputs, the kernel is bound as others are: the outputs have memory, and
  ``run_again`` does what ``prepare`` did. So calls with such loops are recorded, too (``machine/recorded_call.pyx``).
* The GIL is held, and each kernel of the body that takes long leaves it. Between short steps, the loop looks at signals
  and lets other threads run every 20 ms. In a C function (UNATTENDED) the GIL is left once all steps that may be
  recorded are done, until the last step; or until rows are computed ahead.
"""
from functools import partial

cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    BOUND, CELL_DEVICE, UNBOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size,
    device_memory, drop, set_contiguous_strides)
from phintys.vm.containers.claims cimport let_others_in
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.loops.blocks cimport Blocks, drop_large, empty_idle, keep_results, kept_by_idle
from phintys.vm.loops.replay cimport Replay
from phintys.vm.machine.code cimport Code
from phintys.vm.machine.copies cimport copy_elements
from phintys.vm.machine.failure cimport what_failed
from phintys.vm.machine.frame cimport (
    IN_BODY, UNATTENDED, Frame, give_up_larger, idle_frame, reset, take_layout, taken_from)
from phintys.vm.machine.interpreter cimport execute, is_zero
from phintys.vm.machine.plays cimport can_note, play_all
from phintys.vm.machine.profile cimport end, phintys_seconds
from phintys.vm.machine.slots cimport shapes_of
from phintys.vm.pool cimport HOST, PLANNED, Buffer, buffer_references
from phintys.vm.scalar_steps cimport Lane, ScalarSteps

from phintys.graph import hooks
from phintys.graph.config import config
from phintys.graph.errors import with_details
from phintys.graph.loop_errors import (
    NO_BOUND, changed_row, negative_rows, negative_steps, no_step, short_sequence, where, where_of_steps,
    wrong_initial_rows)
from phintys.graph.progress import Progress, is_on_terminal, patience_when_not_asked
from phintys.graph.row_lengths import lengths_of_rows
from phintys.vm.explaining.runtime_error import explained
from phintys.vm.views import memories_of

include "opcodes.pxi"

cdef enum:
    FIRST_CAPACITY = 256            # rows for which a while loop has memory at first
    FEWEST_TO_REPLAY = 8            # steps for which recording one is worth its time
    FIRST_BLOCK = 16                # steps of the first block, which shows how large its rows are
    MOST_COPIED = 1024              # bytes of a carried value that are copied, so that values stay where they are
    FIRST_SCALAR_STEPS = 1024       # in registers, before the loop looks at the clock: a few microseconds
    FEW_ELEMENTS = 8192             # of all rows of a short run, which does not look at the clock
    FEW_LANES = 16                  # of a short run

cdef bint shows_progress = False    # config.scan.progress is True
cdef bint may_show_progress = False # it is "auto"
cdef double long_patience = 2       # then there is a bar after so many seconds, on a terminal
cdef double SHORT_PATIENCE = 0.001  # a short run takes less
cdef double TURN_SECONDS = 0.02     # after so long, signals are looked at and other threads run
cdef npy_intp last_to_record = 8    # by this step all kernels are bound, if ever


include "rows.pxi"


cdef struct Tap:
    Cell* argument
    int state
    npy_intp back                   # how many steps

cdef struct Carried:                # of a step that is replayed
    char* before                    # where the argument is
    npy_intp bytes                  # what is copied there from the result; 0: it is computed there


@cython.final
cdef class LoopRun:
    """One run of a loop: what its steps need, in C."""
    cdef Frame frame
    cdef Cell** outer               # the operands of the outer instruction
    cdef bint given                 # the outputs have memory already
    cdef Cell* arguments            # of the body
    cdef Cell** results             # of the body
    cdef void* memory               # of the rows, taps, spares and carried values
    cdef Rows* rows                 # of states, then of stacked values
    cdef Tap* taps
    cdef Cell* spares               # for carried results in the memory of arguments
    cdef npy_intp* dimensions       # of the spares
    cdef npy_intp step, n_steps
    cdef double turn                # when the last turn began
    cdef npy_intp next_turn, interval
    cdef object progress            # shows how far the loop is, or None
    cdef object title               # for the progress bar
    cdef double late                # when a bar begins though no option asks for one; negative: never
    cdef int n_spares
    cdef Replay replay              # or None
    cdef Frame ahead                # of what is computed for blocks of steps, or None
    cdef npy_intp block_end         # the step for which the next block is needed; 0: there are no blocks
    cdef Carried* carried           # of a replay
    cdef Lane* lanes                # of a body in registers
    cdef char** fixed               # the addresses of its carried values and wholes
    cdef double discarded[2]           # where it stores rows of which none is kept

    cdef int give_up(self) except -1:
        """Drop the spares."""
        cdef int index
        for index in range(self.n_spares):
            drop(&self.frame.machine.context, &self.spares[index])
        return 0

    def __dealloc__(self):
        free(self.memory)
        free(self.dimensions)
        free(self.lanes)
        free(self.fixed)


cdef class LoopKernel(Kernel):
    """Run a program for a number of steps: ``(steps, sequences, initial rows, first values, counts, wholes,
    outputs...)``. Of each stacked value at most so many rows are kept as its count says, the last ones.

    Parameters
    ----------
    program : Program
        The body. Its arguments: a row of each sequence, the taps of each state, the carried values, the wholes; its
        results: the next row of each state, stacked rows, carried values and, of a while loop, the condition that ends
        it. Carried values are arguments that may be overwritten. No argument or result is an object.
    n_sequences, n_stacked, n_carried : int
    taps : tuple of tuple of int
        For each state its taps, negative numbers.
    is_while : bool
    kept : tuple of (int or None)
        For each state, how many of the rows that the steps make are kept, the last ones; None: all.
    row_lengths : tuple of tuple
        For each stacked value, the lengths of its rows if there is no step; see ``graph/row_lengths.py``.
    title : str
        For error messages.
    name : str, optional
        For the progress bar; by default the title.
    scalar_body : Kernel, optional
        Runs many steps of the same body at once: see ``vm/scalar_steps.pxd``. All its values are of rank 0, or rows of
        one shape; steps are done one by one where rows turn out to be others, or not to be contiguous.
    ahead : Program, optional
        Computes rows for a block of steps: see ``blocks.pyx``. The body has an argument for a row of each result, after
        those for rows of sequences. Not of while loops, and without stacked values.
    lengths : Program, optional
        Has the arguments of the body, and returns the lengths that ``row_lengths`` leaves open. It reads no element of
        a row of a sequence, and of values on a device only the shapes.
    needs_step : bool, optional
        Whether the loop is refused if it does no step.

    Raises
    ------
    IndexError
        From ``prepare``: for a negative number of steps, or none where one is needed.
    ValueError
        From ``prepare``: for sequences that are too short, and for rows whose shapes differ from step to step.
    """
    cdef readonly object program
    cdef readonly Kernel scalar_body
    cdef readonly long long replayed        # how many steps, in all calls
    cdef public long long steps_done        # in all runs, if they are measured
    cdef Code code
    cdef list idle                  # frames
    cdef readonly Blocks blocks             # what computes rows ahead, or None
    cdef int n_sequences, n_states, n_stacked, n_carried, n_taps, n_wholes, n_arguments
    cdef int first_tap              # the argument for the first tap
    cdef bint is_while
    cdef bint needs_step
    cdef bint at_device             # some values of the body are
    cdef readonly dict steps_at_device      # shapes of arguments → the kernel of all steps, and shapes of results
    cdef bint* copied               # which carried results may be in the memory of arguments
    cdef bint* returns_own_row      # of states: whether results are views of rows that taps read
    cdef int* order                 # in which rows are written: those that reuse a row last
    cdef int* depths                # of states: rows before the first step
    cdef npy_intp* kept_rows        # as ``kept``; -1: all
    cdef Tap* first_taps            # which state each tap reads, and how far back
    cdef bint may_be_short          # whether ``run_few`` can do all steps
    cdef bint is_foreseeable        # whether layouts of inputs, steps and counts decide all layouts
    cdef readonly tuple checked     # of which inputs the values decide no layout, then; see `Code._varies`
    cdef tuple taps, kept, row_lengths
    cdef object lengths             # a program, or None
    cdef object title, name

    def __init__(self, program, int n_sequences, tuple taps, int n_stacked, int n_carried, bint is_while, tuple kept,
                 tuple row_lengths, title, name=None, Kernel scalar_body=None, ahead=None, lengths=None,
                 bint needs_step=False):
        self.scalar_body = scalar_body
        self.program, self.title, self.name, self.idle = program, title, name, []
        self.n_sequences, self.n_states, self.n_stacked, self.n_carried = n_sequences, len(taps), n_stacked, n_carried
        self.is_while, self.needs_step = is_while, needs_step
        self.at_device = any([cell.place != HOST for cell in program.cells])
        self.steps_at_device = {}
        self.n_taps = sum([len(own) for own in taps])
        self.blocks = None if ahead is None else Blocks(ahead)
        self.first_tap = n_sequences + (0 if ahead is None else self.blocks.n_results)
        self.n_arguments = program.n_arguments
        self.n_wholes = self.n_arguments - self.first_tap - self.n_taps - n_carried
        self.taps, self.kept, self.row_lengths, self.lengths = taps, kept, row_lengths, lengths
        self._note_states()
        self.may_be_short = (scalar_body is not None and ahead is None and not is_while and n_carried == 0
                             and n_sequences + self.n_taps + self.n_states + n_stacked <= FEW_LANES
                             and self.n_wholes <= FEW_LANES)
        self.may_fail, self.private_bytes = True, sizeof(void*)     # `examined` stays None: `prepare` does all steps
        self.code = Code(program, self.first_tap + self.n_taps + n_carried)
        keep_results(self.code)
        self._find_views()
        self.is_foreseeable = self._can_be_foreseen()
        self.checked = () if not self.is_foreseeable else (
            *range(1, self._first_count()), *range(self._first_count() + n_stacked, self._first_output()))

    def __dealloc__(self):
        free(self.copied)
        free(self.returns_own_row)
        free(self.order)
        free(self.depths)
        free(self.kept_rows)
        free(self.first_taps)

    cdef int _note_states(self) except -1:
        """What each run needs to know of taps and rows, as numbers in C."""
        cdef int index, position = 0
        self.depths = <int*>calloc(self.n_states + 1, sizeof(int))
        self.kept_rows = <npy_intp*>calloc(self.n_states + 1, sizeof(npy_intp))
        self.first_taps = <Tap*>calloc(self.n_taps + 1, sizeof(Tap))
        if self.depths == NULL or self.kept_rows == NULL or self.first_taps == NULL:
            raise MemoryError()
        for index in range(self.n_states):
            self.depths[index] = -min(self.taps[index])
            self.kept_rows[index] = -1 if self.kept[index] is None else self.kept[index]
            for tap in self.taps[index]:
                self.first_taps[position].state, self.first_taps[position].back = index, -tap
                position += 1
        return 0

    cdef int _find_views(self) except -1:
        """Which results may be in the memory of the body's arguments, and in which order rows are written.

        ``memories_of`` maps a cell to the cell whose memory it may use, if that is another one. Three conclusions:

        * A carried result in the memory of any argument must be copied before arguments change: ``x, y = y, x``.
        * A state's result in the memory of a tap, such as ``r[-1]``, is a row of the ring. It must still be there when
          it is copied to the next position, so this position must not be the one of a row that a tap reads.
        * The row of a state that reuses a row overwrites what other results may refer to, so it is written after them.
          Two such states need no order: what refers to rows, their results do not (else ``returns_own_row``).
        """
        cdef int index, n_rows = self.n_states + self.n_stacked
        self.copied = <bint*>calloc(self.n_carried + 1, sizeof(bint))
        self.returns_own_row = <bint*>calloc(self.n_states + 1, sizeof(bint))
        self.order = <int*>calloc(n_rows + 1, sizeof(int))
        if self.copied == NULL or self.returns_own_row == NULL or self.order == NULL:
            raise MemoryError()
        memories = memories_of(self.program.symbolic())
        of_arguments = [memories.get(cell, cell) for cell in range(self.n_arguments)]
        of_taps = set(of_arguments[self.first_tap:self.first_tap + self.n_taps])
        of_results = [memories.get(cell, cell) for cell in self.program.pool[
            self.code.first_result:self.code.first_result + n_rows + self.n_carried]]
        for index in range(self.n_carried):
            self.copied[index] = of_results[n_rows + index] in of_arguments
        for index in range(self.n_states):
            self.returns_own_row[index] = of_results[index] in of_taps
        reusing = [index for index in range(self.n_states) if self.kept[index] == 0 and not self.returns_own_row[index]]
        for index, number in enumerate([number for number in range(n_rows) if number not in reusing] + reusing):
            self.order[index] = number
        return 0

    cdef bint _can_be_foreseen(self) except -1:
        """Whether the layouts of the inputs decide those of all values, once the number of steps and the counts are
        known. A ring that has a row more than the output needs memory of its own."""
        cdef int index
        for index in range(self.n_states):
            if self.returns_own_row[index] and self.kept_rows[index] >= 0:
                return False
        return not (self.is_while or self.at_device) and is_foreseeable(self.code) and (
            self.blocks is None or is_foreseeable(self.blocks.code))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return self._run_anyhow(context, operands, False)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        if not self.is_foreseeable or (<long long*>operands[0].data)[0] == 0:      # no steps: lengths are asked for
            return UNBOUND
        (<void**>context.private_memory)[0] = <void*>self
        bound_run[0] = run_again_step
        return BOUND

    cdef int _run_anyhow(self, Context* context, Cell** operands, bint given) except -1 nogil:
        if self.may_be_short and run_few(self, context, operands, given):
            return 0
        with gil:
            self._run(context, operands, given)
        return 0

    cdef int _run(self, Context* context, Cell** operands, bint given) except -1:
        cdef LoopRun run = LoopRun.__new__(LoopRun)
        cdef Frame frame = idle_frame(self.idle, self.code)
        run.frame, run.outer, run.given = frame, operands, given
        cdef double start = 0 if self.code.profile is None else phintys_seconds()
        frame.machine.context.workers = context.workers
        frame.machine.context.poison = context.poison
        frame.machine.context.flags |= IN_BODY
        if self.blocks is not None:
            run.ahead = self.blocks.begin(context)
        try:
            self._begin(context, run)
            if run.n_steps == 0:
                self._begin_rows_of_no_steps(context, run)
            elif self.scalar_body is not None and rows_are_alike(self, run):
                all_scalar_steps(self, context, run)
            elif not (self.at_device and all_steps_at_device(self, context, run)):
                self._all_steps(context, run)
            self._end(context, run)
        except BaseException:
            reset(frame)
            if self.blocks is not None:
                reset(run.ahead)
            raise
        finally:
            # In this order: what needs the frame's context or times; then cells have the memory of their buffers again,
            # so that it can be released; at last another call may take the frames. The GIL is held all along.
            if run.progress is not None:
                run.progress.close(run.step)
            run.give_up()
            if self.code.profile is not None:
                self._add_to_profile(run, start)
            if run.replay is not None:
                run.replay.release()
            frame.machine.context.flags &= ~UNATTENDED
            drop_large(frame)
            if not context.keeps:
                give_up_larger(frame)
            self.idle.append(frame)
            if self.blocks is not None:
                self.blocks.end(run.ahead, context.keeps)
        return 0

    # ---- for tests and reports ---------------------------------------------------------------------------------------
    def last_shapes(self):
        """The shapes that the body's cells had in the last step.

        Returns
        -------
        list of tuple or None
            One entry a cell; None: not computed.
        """
        cdef list idle = taken_from(self.idle)
        shapes = shapes_of(<Frame>idle[len(idle) - 1]) if idle else [None] * len(self.program.cells)
        self.idle.extend(idle)
        return shapes

    def fail_at(self, position=None, step=0):
        """Let an instruction of the body raise ``RuntimeError`` when it is run for the step-th time, in the next run of
        the loop, and from then on; None: in no step any more.

        For tests.

        Raises
        ------
        IndexError
            If there is no such instruction, or it is the last one.
        """
        if position is not None and not 0 <= position < self.code.halt:
            raise IndexError(f"instruction {position} cannot fail: those are 0 to {self.code.halt - 1}")
        self.code.put_failure(-1 if position is None else position, step)

    def measured(self, timed):
        """The same kernel once more, which measures how often the loop runs, how many steps it does, and, if ``timed``,
        the instructions of the body.

        Returns
        -------
        LoopKernel
        """
        cdef LoopKernel kernel = LoopKernel(*self.arguments, **(self.named_arguments or {}))
        kernel.code.measure(timed)
        return kernel

    def measurements(self):
        """The ``Profile`` of the body, which counts the runs of the loop as calls; None if they are not measured."""
        return self.code.profile

    cdef int _add_to_profile(self, LoopRun run, double start) except -1:
        if run.frame.machine.timing != NULL:
            end(run.frame.machine.timing)         # of an instruction that failed
            self.code.profile.add(run.frame.machine.timing)
        self.steps_done = 0 if self.code.profile.skips_first else self.steps_done + run.step
        self.code.profile.add_call(phintys_seconds() - start)
        return 0

    def free(self):
        """Give up all memory that idle frames keep between calls."""
        empty_idle(self.idle)
        if self.blocks is not None:
            self.blocks.free()

    def kept_bytes(self):
        """The memory that idle frames keep between calls, in bytes."""
        return kept_by_idle(self.idle) + (0 if self.blocks is None else self.blocks.kept_bytes())

    # ---- before the first step ---------------------------------------------------------------------------------------
    cdef int _begin(self, Context* context, LoopRun run) except -1:
        """Check the inputs, allocate rows, and let the body's arguments refer to the first rows."""
        cdef Cell** outer = run.outer
        cdef Cell* argument
        cdef int index
        run.n_steps = (<long long*>outer[0].data)[0]
        self._check(run)
        run.frame.machine.epoch += self.code.reads_wholes         # their values may be others than in the last run
        run.arguments = run.frame.cells
        run.results = run.frame.machine.operands + self.code.first_result
        self._allocate_tables(run)
        for index in range(self.n_sequences):
            refer_to_row(run.frame, &run.arguments[index], outer[1 + index], outer[1 + index].data)
        for index in range(self.n_states):
            self._begin_state(context, run, index)
        self._begin_taps(run)
        for index in range(self.n_carried):
            argument = &run.arguments[self.first_tap + self.n_taps + index]
            copy_into_argument(run.frame, argument, outer[1 + self.n_sequences + self.n_states + index])
        for index in range(self.n_wholes):
            refer(run.frame, &run.arguments[self.first_tap + self.n_taps + self.n_carried + index],
                 outer[self._first_count() + self.n_stacked + index])
        run.interval = run.next_turn = 1
        run.turn = phintys_seconds()
        run.title, run.late = self.name or self.title, -1
        if shows_progress:
            run.progress = begun_progress(run, None)
            run.progress.tell(0)
        elif may_show_progress:
            run.late = run.turn + long_patience
        return 0

    cdef int _allocate_tables(self, LoopRun run) except -1:
        """One allocation for all tables: short loops in the steps of others notice more."""
        cdef int index, n_rows = self.n_states + self.n_stacked
        run.memory = calloc(1, n_rows * sizeof(Rows) + self.n_taps * sizeof(Tap)
                            + self.n_carried * (sizeof(Cell) + sizeof(Carried)) + 1)
        if run.memory == NULL:
            raise MemoryError()
        run.rows = <Rows*>run.memory
        for index in range(n_rows):
            run.rows[index].given = run.given
        run.taps = <Tap*>(run.rows + n_rows)
        run.spares = <Cell*>(run.taps + self.n_taps)
        run.carried = <Carried*>(run.spares + self.n_carried)
        run.n_spares = self.n_carried
        return 0

    cdef int _check(self, LoopRun run) except -1:
        cdef Cell* cell
        cdef int index
        if run.n_steps < 0:
            raise negative_steps(self.title, run.n_steps)
        if run.n_steps == 0 and self.needs_step:
            raise no_step(self.title)
        for index in range(self.n_sequences):
            cell = run.outer[1 + index]
            if cell.shape[0] < run.n_steps:
                raise short_sequence(self.title, index, shape_of(cell), run.n_steps)
        for index in range(self.n_states):
            cell = run.outer[1 + self.n_sequences + index]
            if cell.shape[0] != self.depths[index]:
                raise wrong_initial_rows(self.title, index, shape_of(cell), self.taps[index])
        for index in range(self.n_stacked):
            if self._count(run.outer, index) < 0:
                raise negative_rows(self.title, index, self._count(run.outer, index))
        return 0

    cdef int _begin_state(self, Context* context, LoopRun run, int index) except -1:
        """Memory for the rows of a state, of which the first are its initial ones."""
        return self._begin_rows_of_state(context, run.outer, &run.rows[index], index, run.n_steps)

    cdef int _begin_rows_of_state(self, Context* context, Cell** outer, Rows* rows, int index,
                                  npy_intp n_steps) except -1 nogil:
        cdef Cell* initial = outer[1 + self.n_sequences + index]
        rows.out = outer[self._first_output() + index]
        rows.depth = initial.shape[0]
        rows.kept = rows.wanted = self.kept_rows[index]
        rows.kept += rows.kept >= 0 and self.returns_own_row[index]
        allocate_rows(context, rows, initial.shape + 1, self._first_capacity(n_steps, rows))
        copy_in_place(rows.out.data, initial)
        rows.next = rows.depth
        return 0

    cdef inline int _first_count(self) noexcept nogil:
        """Which operand is the first that says how many rows of a stacked value are kept."""
        return 1 + self.n_sequences + self.n_states + self.n_carried

    cdef inline int _first_output(self) noexcept nogil:
        """Which operand is the first output."""
        return self._first_count() + self.n_stacked + self.n_wholes

    cdef npy_intp _count(self, Cell** outer, int index) noexcept nogil:
        """How many rows of a stacked value are kept at most."""
        return (<long long*>outer[self._first_count() + index].data)[0]

    cdef npy_intp _first_capacity(self, npy_intp n_steps, Rows* rows) noexcept nogil:
        """For how many rows of steps there is memory at first."""
        if 0 <= rows.kept < n_steps:
            return rows.kept
        rows.kept = -1
        return min(n_steps, <npy_intp>FIRST_CAPACITY) if self.is_while else n_steps

    cdef Cell* _output(self, LoopRun run, int index):
        """The cell of an output of the outer instruction."""
        return run.outer[self._first_output() + index]

    cdef int _begin_taps(self, LoopRun run) except -1:
        cdef int position
        cdef Rows* rows
        for position in range(self.n_taps):
            run.taps[position] = self.first_taps[position]
            run.taps[position].argument = &run.arguments[self.first_tap + position]
            rows = &run.rows[run.taps[position].state]
            refer_to_row(run.frame, run.taps[position].argument, rows.out, rows.out.data)
        return 0

    # ---- steps -------------------------------------------------------------------------------------------------------
    cdef int _all_steps(self, Context* context, LoopRun run) except -1:
        cdef bint recorded
        if self.blocks is not None and run.block_end == 0:
            self._next_block(run)
        while run.step < run.n_steps:
            if context.flags & UNATTENDED and run.step >= last_to_record and not self.at_device:
                run.frame.machine.context.flags |= UNATTENDED
                with nogil:
                    self._rest_unattended(context, run)
                return 0
            self._move_taps(run)
            recorded = is_worth_recording(self, run) and can_note(&run.frame.machine)
            if recorded:
                record_step(self, run)
            elif execute(&run.frame.machine) < 0:
                self._fail(run)
            self._take_results(context, run)
            if self._goes_on(run) and recorded and can_hold(self, run):
                hold_values(self, run)
                replay_steps(self, context, run)
        return 0

    cdef int _rest_unattended(self, Context* context, LoopRun run) except -1 nogil:
        """All other steps, none of which is recorded, without the GIL."""
        while True:
            self._move_taps(run)
            if execute(&run.frame.machine) < 0:
                with gil:
                    self._fail(run)
            self._take_results(context, run)
            if not self._advance_unattended(run):
                return 0

    cdef inline int _advance_unattended(self, LoopRun run) except -1 nogil:
        cdef bint goes_on = self._advance(run)
        if goes_on and run.step == run.block_end:
            with gil:
                self._next_block(run)
        return goes_on

    cdef inline bint _advance(self, LoopRun run) noexcept nogil:
        """After a step: begin the next one, if there is one."""
        run.step += 1
        if self.is_while and not is_zero(run.results[self.n_states + self.n_stacked + self.n_carried]):
            run.n_steps = run.step
        self._move_sequences(run)
        return run.step < run.n_steps

    cdef inline bint _goes_on(self, LoopRun run) except -1:
        """The same, and let signals and other threads have their turn."""
        cdef bint goes_on = self._advance(run)
        if run.step == run.next_turn:
            take_turn(run)
        if goes_on and run.step == run.block_end:
            self._next_block(run)
        return goes_on

    cdef inline void _move_sequences(self, LoopRun run) noexcept nogil:
        cdef int index
        for index in range(self.n_sequences):
            run.arguments[index].data += run.outer[1 + index].strides[0]
        for index in range(self.n_sequences, self.first_tap):
            run.arguments[index].data += self._ahead(run, index).strides[0]

    cdef inline Cell* _ahead(self, LoopRun run, int argument) noexcept nogil:
        """The rows that were computed ahead for an argument."""
        return run.ahead.machine.operands[self.blocks.code.first_result + argument - self.n_sequences]

    cdef int _next_block(self, LoopRun run) except -1:
        """Compute the rows of the next steps ahead, and let the arguments for them refer to the first one."""
        cdef Cell** sequences = run.outer + 1
        cdef Cell** wholes = run.outer + self._first_count() + self.n_stacked
        cdef npy_intp left = run.n_steps - run.step
        cdef npy_intp count = self.blocks.length if self.blocks.length else FIRST_BLOCK    # shows how large rows are
        cdef int index
        cdef npy_intp n_blocks = (left + count - 1) // count
        count = (left + n_blocks - 1) // n_blocks       # blocks of one length, so that they have the same memory
        try:
            self.blocks.compute(run.ahead, sequences, self.n_sequences, wholes, self.n_wholes, run.step, count)
        except BaseException as error:
            self._raise_explained_ahead(run, error, count)
        self.blocks.learn(run.ahead)
        for index in range(self.n_sequences, self.first_tap):
            if self._ahead(run, index).shape[0] < count:
                raise ValueError(f"{self.title}: there are {self._ahead(run, index).shape[0]} rows for {count} steps")
            refer_to_row(run.frame, &run.arguments[index], self._ahead(run, index), self._ahead(run, index).data)
        run.block_end = run.step + count
        return 0

    cdef inline void _move_taps(self, LoopRun run) noexcept nogil:
        """Let the arguments of taps refer to the rows of earlier steps."""
        cdef Tap* tap = run.taps
        cdef Tap* end = tap + self.n_taps
        cdef Rows* rows
        cdef npy_intp position
        while tap != end:
            # A ring of three rows after six steps, as numbers of steps:  | 6 | 4 | 5 |
            #                                                                   ^ rows.next, which is written next
            # Tap -1 is one before it (6), tap -3 is itself (4): it is read before it is written.
            rows = &run.rows[tap.state]
            position = rows.next - tap.back
            if position < 0:
                position += rows.capacity
            tap.argument.data = rows.out.data + position * rows.bytes
            tap += 1

    cdef int _take_results(self, Context* context, LoopRun run) except -1 nogil:
        """Copy rows into the outputs, and hand carried values over to their arguments."""
        cdef int index, number
        cdef Cell* result
        cdef Rows* rows
        # Arguments refer to rows and to memory of the step before, and results may lie there, too. So first what is
        # carried is copied away if it lies in an argument's memory; then rows are written, those that reuse a row last
        # (`order`); what is carried changes places with arguments at the end.
        if run.step == 0:
            for index in range(self.n_states, self.n_states + self.n_stacked):
                self._begin_stacked(context, run, index, run.results[index].shape)
        for index in range(self.n_carried):             # what is in the memory of an argument, before that changes
            if self.copied[index]:
                result = run.results[self.n_states + self.n_stacked + index]
                if result < run.arguments + self.n_arguments or not has_memory_alone(result):
                    self._spare(run, index, result)
        for number in range(self.n_states + self.n_stacked):
            index = self.order[number]
            rows, result = &run.rows[index], run.results[index]
            if not has_row_shape(rows, result):
                self._refuse_shape(run, rows, result, index)
            self._begin_row(context, run, rows)
            keep_row(rows, result)
        if self.n_carried:
            self._hand_over(run)
        return 0

    cdef inline int _begin_row(self, Context* context, LoopRun run, Rows* rows) except -1 nogil:
        """Memory for the next row."""
        if rows.next == rows.capacity:
            if rows.kept >= 0:
                rows.next = 0
            else:
                self._grow(context, run, rows)
        return 0

    cdef int _begin_stacked(self, Context* context, LoopRun run, int index, const npy_intp* shape) except -1 nogil:
        cdef Rows* rows = &run.rows[index]
        return self._begin_rows_of_stacked(context, run.outer, rows, index, shape, run.n_steps)

    cdef int _begin_rows_of_stacked(self, Context* context, Cell** outer, Rows* rows, int index, const npy_intp* shape,
                                    npy_intp n_steps) except -1 nogil:
        rows.out, rows.depth, rows.next = outer[self._first_output() + index], 0, 0
        rows.kept = rows.wanted = self._count(outer, index - self.n_states)
        allocate_rows(context, rows, shape, self._first_capacity(n_steps, rows))
        return 0

    cdef int _grow(self, Context* context, LoopRun run, Rows* rows) except -1 nogil:
        """Double the memory for the rows of a while loop."""
        cdef Cell old = rows.out[0]
        cdef npy_intp done = rows.next
        cdef npy_intp shape[MAX_RANK]
        old.shape = shape
        memcpy(shape, rows.out.shape, old.ndim * sizeof(npy_intp))
        rows.out.buffer, rows.out.data = NULL, NULL
        allocate_rows(context, rows, rows.out.shape + 1, 2 * done - rows.depth)
        old.data = old.data if old.buffer != NULL else <char*>old.value
        copy_rows(rows.out, 0, &old, 0, done)
        if old.buffer != NULL:
            drop(context, &old)
        return 0

    cdef int _hand_over(self, LoopRun run) except -1 nogil:
        """Results become the arguments of the next step."""
        cdef int index, first = self.n_states + self.n_stacked
        cdef Cell* argument = &run.arguments[self.first_tap + self.n_taps]
        for index in range(self.n_carried):
            if run.spares[index].data != NULL:
                hand_over(run.frame, argument + index, &run.spares[index])
                run.spares[index].data = NULL
            else:
                hand_over(run.frame, argument + index, run.results[first + index])
        return 0

    cdef int _spare(self, LoopRun run, int index, Cell* source) except -1 nogil:
        """A copy of a carried result."""
        cdef Cell* spare = &run.spares[index]
        if run.dimensions == NULL:
            run.dimensions = <npy_intp*>malloc(self.n_carried * 2 * MAX_RANK * sizeof(npy_intp))
            if run.dimensions == NULL:
                with gil:
                    raise MemoryError()
        spare.ndim, spare.typenum, spare.itemsize = source.ndim, source.typenum, source.itemsize
        spare.shape = run.dimensions + 2 * MAX_RANK * index
        spare.strides = spare.shape + MAX_RANK
        spare.flags = source.flags & CELL_DEVICE
        allocate(&run.frame.machine.context, spare, source.shape)
        copy_in_place(spare.data, source)
        return 0

    # ---- after the last step -----------------------------------------------------------------------------------------
    cdef int _end(self, Context* context, LoopRun run) except -1:
        cdef int index
        cdef Cell* out
        cdef Cell* source
        for index in range(self.n_states + self.n_stacked):
            put_in_order(context, &run.rows[index], run.step)
        for index in range(self.n_carried):
            out = self._output(run, self.n_states + self.n_stacked + index)
            source = &run.arguments[self.first_tap + self.n_taps + index]
            if run.given:
                copy_in_place(out.data, source)
            else:
                copy_into(context, out, source)
        if self.is_while:
            out = self._output(run, self.n_states + self.n_stacked + self.n_carried)
            allocate(context, out, NULL)
            (<long long*>out.data)[0] = run.step
        return 0

    # ---- without a step ----------------------------------------------------------------------------------------------
    cdef int _begin_rows_of_no_steps(self, Context* context, LoopRun run) except -1:
        """The shapes of stacked outputs, which no step shows."""
        cdef int index, axis
        cdef npy_intp shape[MAX_RANK]
        if self.n_stacked == 0:
            return 0
        self._move_taps(run)                      # the lengths may depend on the rows before the first step
        shapes = [shape_of(&run.arguments[index]) for index in range(self.n_arguments)]
        found = lengths_of_rows(self.row_lengths, shapes, partial(self._computed_lengths, run))
        for index, lengths in enumerate(found):
            for axis, length in enumerate(lengths):
                shape[axis] = length
            self._begin_stacked(context, run, self.n_states + index, shape)
        return 0

    def _computed_lengths(self, LoopRun run):
        """The lengths that ``row_lengths`` leaves open."""
        cdef Code code = Code(self.lengths)
        cdef Frame frame
        cdef Cell** results
        cdef int index, count = sum([entry is None for lengths in self.row_lengths for entry in lengths])
        keep_results(code)
        frame = Frame(code)
        for index in range(self.n_arguments):
            refer(frame, &frame.cells[index], &run.arguments[index])
        if execute(&frame.machine) < 0:
            raise_pending()
        results = frame.machine.operands + code.first_result
        return [(<long long*>results[index].data)[0] for index in range(count)]

    # ---- errors ------------------------------------------------------------------------------------------------------
    def _which_step(self, LoopRun run):
        return where(self.title, run.step, run.n_steps)

    cdef int _fail(self, LoopRun run) except -1:
        """Raise what happened in the body."""
        try:
            raise_pending()
        except BaseException as error:
            self._raise_explained(run, error)

    cdef int _raise_explained(self, LoopRun run, error) except -1:
        """Raise an error of the body, with the node and the step in which it happened."""
        reason, position, _ = what_failed(&run.frame.machine, self.program, error)
        described = explained(reason, self.program, position, [], lambda node: ())
        if isinstance(described, Exception):
            described = with_details(described, self._which_step(run))
        if described is error:
            raise error
        raise described.with_traceback(error.__traceback__) from reason.__cause__

    cdef int _raise_explained_ahead(self, LoopRun run, error, npy_intp count) except -1:
        """Raise an error of what is computed ahead, with the node and the steps."""
        reason, position, _ = what_failed(&run.ahead.machine, self.blocks.program, error)
        described = explained(reason, self.blocks.program, position, [], lambda node: ())
        if isinstance(described, Exception):
            described = with_details(described, where_of_steps(self.title, run.step, count, run.n_steps))
        if described is error:
            raise error
        raise described.with_traceback(error.__traceback__) from reason.__cause__

    cdef int _refuse_shape(self, LoopRun run, Rows* rows, Cell* result, int index) except -1 with gil:
        shape = tuple([rows.out.shape[axis] for axis in range(1, rows.out.ndim)])
        raise with_details(changed_row(index, shape_of(result), shape), self._which_step(run))


include "replayed.pxi"
include "scalar_runs.pxi"
include "device_runs.pxi"


cdef bint is_foreseeable(Code code) except -1:
    """Whether the layouts of a program's arguments decide all layouts."""
    cdef int position
    for position in range(code.halt):
        if code.ops[position] not in (OP_KERNEL, OP_TOGETHER, OP_COPY, OP_DROP, OP_RESULT) or (
                code.ops[position] == OP_KERNEL and code.outlines[position].varies):
            return False
    return not code.reads_wholes


cdef int run_again(Context* context, Cell** operands) except -1 nogil:
    """The bound run: what ``prepare`` did, in memory that the outputs have."""
    cdef void* kernel = (<void**>context.private_memory)[0]
    return (<LoopKernel>kernel)._run_anyhow(context, operands, True)


cdef BoundRun run_again_step = <BoundRun>run_again          # returns -1 with the exception set


cdef int raise_pending() except -1:
    """Raise the exception that C code has set."""
    return -1


cdef tuple shape_of(Cell* cell):
    return tuple([cell.shape[axis] for axis in range(cell.ndim)])


# ---- arguments of the body -------------------------------------------------------------------------------------------
cdef void refer(Frame frame, Cell* argument, const Cell* source) noexcept:
    """Let an argument refer to a value of the outer program, which keeps it alive."""
    argument.data = source.data
    frame.machine.epoch += take_layout(argument, source.shape, source.strides)


cdef void refer_to_row(Frame frame, Cell* argument, const Cell* rows, char* data) noexcept:
    """Let an argument refer to a row."""
    cdef Cell row = rows[0]
    row.ndim, row.shape, row.strides, row.data = rows.ndim - 1, rows.shape + 1, rows.strides + 1, data
    refer(frame, argument, &row)


cdef int copy_into(Context* context, Cell* target, Cell* source) except -1 nogil:
    """A copy of a value, in C order."""
    allocate(context, target, source.shape)
    return copy_in_place(target.data, source)


cdef int copy_into_argument(Frame frame, Cell* argument, Cell* source) except -1 nogil:
    """The same for an argument of the body, whose layout may change."""
    cdef npy_intp old[2 * MAX_RANK]
    cdef int axis
    for axis in range(argument.ndim):
        old[axis], old[MAX_RANK + axis] = argument.shape[axis], argument.strides[axis]
    copy_into(&frame.machine.context, argument, source)
    for axis in range(argument.ndim):
        frame.machine.epoch += old[axis] != argument.shape[axis] or old[MAX_RANK + axis] != argument.strides[axis]
    return 0


cdef int hand_over(Frame frame, Cell* argument, Cell* result) except -1 nogil:
    """Let an argument have what a result has: its buffer if no other cell refers to it, else a copy."""
    cdef Buffer* old
    if argument == result:
        return 0
    if (result.buffer == NULL or result.buffer.owner != NULL or result.buffer.size_class == PLANNED
            or buffer_references(result.buffer) != 1 or not cell_is_contiguous(result)):
        return copy_into_argument(frame, argument, result)
    frame.machine.epoch += take_layout(argument, result.shape, result.strides)
    old = argument.buffer
    argument.buffer, argument.data, argument.size = result.buffer, result.data, result.size
    result.buffer, result.data = old, NULL
    return 0


cdef int take_turn(LoopRun run) except -1:
    """Look at signals and let other threads run; steps of any length lead here about every 20 ms."""
    cdef double now = phintys_seconds(), elapsed = now - run.turn
    cdef bint is_early = elapsed < TURN_SECONDS / 16 and run.progress is None
    if elapsed < TURN_SECONDS / 2:                      # eight times as many steps may end within this turn
        run.interval = min((8 if is_early else 2) * run.interval, <npy_intp>1 << 30)
    elif elapsed > 2 * TURN_SECONDS:
        run.interval = max(run.interval // 2, <npy_intp>1)
    if elapsed >= TURN_SECONDS / 2:
        let_others_in()
        run.turn = phintys_seconds()
    if run.late >= 0 and now > run.late:
        run.late = -1
        if is_on_terminal():
            run.progress = begun_progress(run, 0)
    if run.progress is not None:
        run.progress.tell(run.step)
    run.next_turn = run.step + run.interval
    return 0


cdef object begun_progress(LoopRun run, patience):
    """What shows how far a loop is, after so many seconds."""
    return Progress(run.title, None if run.n_steps == NO_BOUND else run.n_steps, patience)


def record_steps(npy_intp last=8):
    """Set before which step one is recorded, to be replayed; 0: never; for tests."""
    global last_to_record
    last_to_record = last


def show_progress(value):
    """Follow ``config.scan.progress``."""
    global shows_progress, may_show_progress, long_patience
    long_patience = patience_when_not_asked()
    may_show_progress = value == "auto"
    shows_progress = value and not may_show_progress


config.on_change("scan.progress", show_progress)


def loops_in(program):
    """The kernels of a program's loops, and of the loops in their bodies.

    Parameters
    ----------
    program : Program

    Returns
    -------
    list of LoopKernel
    """
    found = [kernel for kernel in program.kernels if isinstance(kernel, LoopKernel)]
    for kernel in found:                                # grows meanwhile
        found += [inner for inner in kernel.program.kernels if isinstance(inner, LoopKernel)]
    return found
