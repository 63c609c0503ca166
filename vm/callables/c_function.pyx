"""C functions: a compiled function as an address that C code calls, without the GIL and without Python objects.

A ``CFunction`` has a copy of the function's code in which RESULT ends the run; its results are then copied into the
caller's memory. Arguments are read where the caller has them. A call takes an idle frame of the entry (``FrameCopy``),
by one atomic exchange, and gives it back at its end; so each running call has a frame of its own, and threads meet only
at a lock of the pool, if a value needs more memory than the frame has kept.

A program that updates shared variables, its random streams too, runs to its end, as from Python: a call claims the
variables and takes their values under the GIL, computes without it, and takes it again from RESULT on. So such calls
come one after the other, in whatever threads.

Shared variables are read in a *snapshot*: references to the memory of all their values, taken together under the GIL.
What a reference exists to is never overwritten, so a snapshot never changes. Containers count their changes; a call
that finds another count than its snapshot's takes the GIL for the next snapshot.

``Context.flags`` says UNATTENDED in these frames: the loop never looks at signals or for the GIL. When all kernels of a
program without jumps are bound, a call is recorded, and later ones repeat it (``machine/recorded_call.pyx``).

A call that fails returns a status. The GIL is taken to keep the exception, with the position of its instruction. In a
thread that Python does not know the exception would vanish with the thread state that ``with gil`` makes, so the first
call of such a thread makes a state that stays until the thread ends.
"""
cimport cython
cimport numpy as cnp
from libc.math cimport NAN, isfinite
from libc.stdint cimport int64_t, intptr_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, strcmp
from numpy cimport npy_intp

from phintys.vm.abi cimport (
    CELL_READONLY, INLINE_BYTES, Cell, cell_is_contiguous, cell_size, drop, set_contiguous_strides)
from phintys.vm.containers.claims cimport claim, give_up, values_turn, wait_until_whole
from phintys.vm.containers.container cimport Container
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.machine.copies cimport copy_elements
from phintys.vm.machine.failure cimport what_failed
from phintys.vm.machine.frame cimport Frame, Machine, take_layout
from phintys.vm.machine.frame_copy cimport (
    FrameCopy, FrameModel, bytes_kept_by_copy, copy_frame, describe_frame, free_copy, reset_copy)
from phintys.vm.machine.interpreter cimport execute
from phintys.vm.machine.plays cimport can_note
from phintys.vm.machine.quick_memory cimport drop_quickly
from phintys.vm.machine.recorded_call cimport Recording, hold, kernels_that_look, play, record, release
from phintys.vm.pool cimport Buffer, allocation_fails, buffer_release, buffer_retain
from phintys.vm.python_api cimport PyObject

from phintys.vm.callables.c_signatures import SharedTable, check_program, lengths_of, signature_named, title_of
from phintys.vm.explaining.runtime_error import explained

cnp.import_array()

include "opcodes.pxi"

cdef extern from "Python.h" nogil:
    int PyGILState_Check()
    void* PyEval_SaveThread()
    void PyEval_RestoreThread(void*)

cdef extern from "callables/c_entries.h" nogil:
    enum: PHINTYS_ENTRIES
    enum: PHINTYS_SEATS
    ctypedef struct phintys_signature:
        const char* name
        void** functions
    const phintys_signature* phintys_signatures
    ctypedef struct phintys_seat:
        void* frame
    void* phintys_entries[1]
    int64_t (*phintys_on_general)(void*, const void**, const int64_t**, void**, int64_t**, void*) noexcept nogil
    int64_t (*phintys_on_log_density)(void*, uint64_t, const double*, double*, double*, void*) noexcept nogil
    int64_t (*phintys_on_expand)(void*, uint64_t, uint64_t, const double*, double*, void*) noexcept nogil
    double (*phintys_on_number)(void*, double) noexcept nogil
    double (*phintys_on_number_data)(void*, double, void*) noexcept nogil
    double (*phintys_on_numbers)(void*, int, double*) noexcept nogil
    double (*phintys_on_numbers_data)(void*, int, double*, void*) noexcept nogil
    int (*phintys_on_window)(void*, double*, intptr_t, double*, void*) noexcept nogil
    int (*phintys_on_line)(void*, double*, intptr_t, double*, intptr_t, void*) noexcept nogil
    unsigned phintys_own_seat()
    void* phintys_take(phintys_seat*)
    bint phintys_put(phintys_seat*, void*)
    long long phintys_look(const long long*)
    void phintys_count(long long*)
    void phintys_lock_snapshots()
    void phintys_unlock_snapshots()
    void phintys_follow_forks()
    int phintys_follow_threads()
    int phintys_meet_thread()
    void phintys_spread(double* out, npy_intp count, int typenum)
    bint phintys_all_finite(const double* numbers, uint64_t count)

phintys_follow_forks()
if phintys_follow_threads() != 0:
    raise MemoryError("no key for what is stored for each thread")

STRAIGHT = (OP_LOAD, OP_PLAN, OP_KERNEL, OP_TOGETHER, OP_COPY, OP_DROP, OP_RESULT, OP_HALT)


cdef enum Status:                   # what a C function returns; nutpie goes on after positive ones
    DONE = 0
    NUMERICAL_ERROR = 1
    GRADIENT_NOT_FINITE = 3
    VALUE_NOT_FINITE = 4
    WRONG_ARGUMENT = -1
    FAILED = -2
    NO_MEMORY = -3
    GONE = -4
    OTHER_LENGTHS = 5

cdef enum Fault:                    # why an argument is wrong
    DIMENSION                       # another number of elements
    EXPANDED                        # the results have another number of elements
    TABLE                           # of values, for a program that updates its variables
    ALIGNMENT
    MISSING                         # NULL
    BROADCAST                       # a dimension that must have length 1
    NEGATIVE                        # a length
    HEAD                            # fewer elements in the first results than there is room for
    NO_LENGTHS                      # a result's: NULL
    NO_ROOM                         # a result's: NULL

cdef struct Input:
    int typenum, ndim, itemsize, alignment
    unsigned long long broadcastable    # bit per axis
    npy_intp size                   # how many elements of the flat vector it is; -1: what others leave
    npy_intp* shape                 # of a flat one

cdef struct Shared:                 # the value of a shared variable in a snapshot
    long long changes               # how often the container had changed
    Buffer* buffer                  # a reference, or NULL
    char* data
    double value[2]
    npy_intp layout[2 * MAX_RANK]

cdef struct Snapshot:
    long references                 # changed with the lock
    Shared values[1]                # one for each shared variable

cdef struct Entry:
    FrameModel model
    PyObject* owner                 # the CFunction, borrowed
    phintys_seat* seats
    int workers
    int n_arguments, n_results, n_shared, n_emptied
    bint gil_must_go                # workers may need the GIL that the caller has
    Input* inputs
    npy_intp fixed                  # elements of all inputs that have a size
    bint has_rest
    int* results                    # cells
    int* emptied                    # cells that are emptied when the results are copied
    int* shared                     # cells
    PyObject** containers           # of the shared variables
    Snapshot* snapshot
    long long frames_made
    bint is_straight                # the program has no jumps, and updates nothing
    bint updates
    bint is_quiet                   # a failure is told to Python, and is no status
    bint has_ended                  # such a failure was told: later calls compute nothing
    int* leaves                     # the cells of arguments and shared values
    unsigned char* only_looks       # of each instruction: its kernel makes views, and does nothing else

cdef struct Runner:                 # a frame, and what it knows of shared variables
    FrameCopy* frame
    Snapshot* snapshot
    Recording* recording            # or NULL
    long long epoch                 # in which the frame has tried to record a call,
    int trials                      # so often
    Recording* fresh                # of the call that is running, or NULL
    int layouts                     # how often a recording was given up for other layouts

cdef struct Call:
    bint is_flat
    const double* x                 # flat: all arguments
    uint64_t dim
    const void** inputs             # else: an address for each argument,
    int64_t** shapes                # and its lengths
    void* user_data
    double* head                    # flat: where the first `split` results go, which have `head_size` elements
    uint64_t split, head_size
    double* tail                    # and the others
    uint64_t tail_size
    void** outputs
    int64_t** output_shapes
    Entry* entry                    # of a program with updates, which gives its results before its end:
    FrameCopy* frame
    long long given                 # the status so far


include "c_frames.pxi"
include "c_values.pxi"


# ---- recorded calls --------------------------------------------------------------------------------------------------
cdef enum:
    MOST_TRIALS = 8                 # calls of one layout in which all kernels are bound, if ever
    MOST_LAYOUTS = 8                # a caller with more does not come back to one


cdef inline void forget_recording(Runner* runner) noexcept nogil:
    if runner.recording != NULL:
        release(runner.recording)
        runner.recording = NULL


cdef bint may_record(Entry* entry, Runner* runner) noexcept nogil:
    """Whether to record this call."""
    cdef const Machine* machine = &runner.frame.machine
    if runner.epoch != machine.epoch:
        runner.epoch, runner.trials = machine.epoch, 0
    if not entry.is_straight or runner.trials == MOST_TRIALS or runner.layouts == MOST_LAYOUTS:
        return False
    runner.trials += 1
    return can_note(machine)


cdef inline int run(Entry* entry, Runner* runner) noexcept nogil:
    """Run the program on arguments that are bound: as recorded, or recording, or by the interpreter."""
    cdef Machine* machine = &runner.frame.machine
    cdef bint has_failed
    if runner.recording != NULL:
        if runner.recording.epoch == machine.epoch:
            return play(runner.recording, machine)
        forget_recording(runner)
        runner.layouts += 1
    if may_record(entry, runner):
        runner.fresh = record(machine, <int>entry.model.n_sites, <int>entry.model.n_cells, entry.leaves,
                              entry.n_arguments + entry.n_shared, entry.only_looks, &has_failed)
        if runner.fresh != NULL:
            return 0
        if has_failed:
            return -1
    return execute(machine)


cdef inline void finish(Entry* entry, Runner* runner) noexcept nogil:
    """After a call that succeeded: drop what the program drops, and hold what was recorded."""
    if runner.recording != NULL:
        return
    empty(entry, runner.frame)
    if runner.fresh != NULL:
        runner.recording, runner.fresh = runner.fresh, NULL
        if not hold(runner.recording, &runner.frame.machine):
            forget_recording(runner)


# ---- calls -----------------------------------------------------------------------------------------------------------
cdef inline long long bind(Entry* entry, Runner* runner, Call* call) noexcept nogil:
    cdef long long status = show_flat(entry, runner, call) if call.is_flat else show_each(entry, runner, call)
    if status == DONE and entry.updates:
        return refuse(entry, TABLE, -1, 0, 0) if call.user_data != NULL else DONE
    if status == DONE and entry.n_shared:
        if call.user_data != NULL:
            show_table(entry, runner, <const uint64_t*>call.user_data)
        else:
            status = show_shared(entry, runner)
    return status


cdef inline long long give(Entry* entry, FrameCopy* frame, Call* call) noexcept nogil:
    return give_flat(entry, frame, call) if call.is_flat else give_each(entry, frame, call)


cdef inline void empty(Entry* entry, FrameCopy* frame) noexcept nogil:
    """Drop what the program drops after RESULT, and the results."""
    cdef Cell* cell
    cdef int index
    for index in range(entry.n_emptied):
        cell = &frame.machine.cells[entry.emptied[index]]
        if not drop_quickly(&frame.machine.context, cell):
            drop(&frame.machine.context, cell)


cdef inline long long call_entry(Entry* entry, Call* call) noexcept nogil:
    cdef Runner* runner
    cdef phintys_seat* seat
    cdef void* released = NULL
    cdef long long status
    if entry == NULL:
        return GONE
    if phintys_meet_thread() != 0:
        return NO_MEMORY
    seat = &entry.seats[phintys_own_seat()]
    runner = <Runner*>phintys_take(seat)
    if runner == NULL:
        runner = other_runner(entry)
        if runner == NULL:
            return lack_memory(entry)
    if entry.gil_must_go and PyGILState_Check():
        released = PyEval_SaveThread()
    status = bind(entry, runner, call)
    if status == DONE and entry.updates:
        status = call_with_updates(entry, runner, call)
    elif status == DONE:
        if run(entry, runner) < 0:
            status = keep_failure(entry, runner)
            forget_recording(runner)
            reset_copy(runner.frame)
        else:
            status = give(entry, runner.frame, call)
            finish(entry, runner)
    if released != NULL:
        PyEval_RestoreThread(released)
    if not phintys_put(seat, runner):
        put_elsewhere(entry, runner)
    return status


cdef int give_now(void* receiver) noexcept nogil:
    """RESULT of a program with updates; what the caller has no room for is not committed."""
    cdef Call* call = <Call*>receiver
    call.given = give(call.entry, call.frame, call)
    return 0 if call.given == DONE else -1


cdef long long call_with_updates(Entry* entry, Runner* runner, Call* call) noexcept with gil:
    with cython.critical_section(values_turn):
        return call_in_turn(entry, runner, call)


cdef long long call_in_turn(Entry* entry, Runner* runner, Call* call) noexcept:
    """The whole program; arguments are bound."""
    cdef Machine* machine = &runner.frame.machine
    cdef Code code = (<CFunction>entry.owner).code
    cdef bint has_failed
    try:
        claim(code.updated, code.n_updated)
    except BaseException as error:
        return keep_error(entry, error, NULL)
    try:
        wait_until_whole(code.loaded, code.n_loaded)
    except BaseException as error:
        give_up(code.updated, code.n_updated)
        return keep_error(entry, error, NULL)
    load(entry, runner)
    call.entry, call.frame, call.given = entry, runner.frame, DONE
    machine.give, machine.receiver, machine.long_commit = give_now, call, False
    machine.released = PyEval_SaveThread()
    has_failed = execute(machine) < 0                       # it comes back with the GIL
    give_up(code.updated, code.n_updated)
    if not has_failed:
        empty(entry, runner.frame)
    elif call.given == DONE:
        call.given = keep_failure(entry, runner)
    if has_failed:
        reset_copy(runner.frame)
    return call.given


cdef long long keep_failure(Entry* entry, Runner* runner) noexcept with gil:
    try:
        raise_pending()
    except BaseException as error:
        return keep_error(entry, error, runner)


cdef int raise_pending() except -1:
    """Let an exception that C code has set travel on as a Cython one."""
    return -1


cdef long long keep_error(Entry* entry, error, Runner* runner) noexcept:
    cdef CFunction owner = <CFunction>entry.owner
    cdef long long status = FAILED
    try:
        if isinstance(error, MemoryError):
            status = NO_MEMORY
        elif isinstance(error, owner.recoverable):
            status = NUMERICAL_ERROR
        failure = (error, -1, None) if runner == NULL else what_failed(&runner.frame.machine, owner.program, error)
        with cython.critical_section(owner):
            if owner.failure is None or owner.failed_status == NUMERICAL_ERROR or status != NUMERICAL_ERROR:
                owner.failed_status, owner.failure = status, failure        # what is recoverable hides nothing else
    except BaseException as another:                        # no memory for this either
        owner.failure = (another, -1, None)
    return status


cdef long long lack_memory(Entry* entry) noexcept with gil:
    return keep_error(entry, MemoryError("no memory for a frame"), NULL)


cdef long long refuse(Entry* entry, Fault fault, int index, long long found, long long wanted) noexcept with gil:
    """Keep the error for an argument that is wrong."""
    cdef CFunction owner = <CFunction>entry.owner
    try:
        error = ValueError(owner.describe_fault(fault, index, found, wanted))
    except BaseException as another:
        error = another
    keep_error(entry, error, NULL)
    return WRONG_ARGUMENT


# ---- handlers: one for each signature --------------------------------------------------------------------------------
cdef int64_t on_general(void* entry, const void** inputs, const int64_t** shapes, void** outputs,
                        int64_t** output_shapes, void* user_data) noexcept nogil:
    cdef Call call
    call.is_flat, call.inputs, call.shapes, call.user_data = False, inputs, <int64_t**>shapes, user_data
    call.outputs, call.output_shapes = outputs, output_shapes
    return call_entry(<Entry*>entry, &call)


cdef inline int64_t call_flat(void* entry, uint64_t dim, const double* x, uint64_t split, double* head,
                              double* tail, uint64_t tail_size, void* user_data) noexcept nogil:
    cdef Call call
    call.is_flat, call.x, call.dim, call.user_data = True, x, dim, user_data
    call.split, call.head, call.head_size, call.tail, call.tail_size = split, head, split, tail, tail_size
    return call_entry(<Entry*>entry, &call)


cdef int64_t on_log_density(void* entry, uint64_t dim, const double* x, double* gradient, double* value,
                            void* user_data) noexcept nogil:
    cdef int64_t status
    if entry != NULL and (<Entry*>entry).has_ended:
        return NUMERICAL_ERROR
    status = call_flat(entry, dim, x, 1, value, gradient, dim, user_data)
    if status == DONE:
        if not phintys_all_finite(gradient, dim):
            return GRADIENT_NOT_FINITE
        if not isfinite(value[0]):
            return VALUE_NOT_FINITE
    elif status < 0 and entry != NULL and (<Entry*>entry).is_quiet:
        tell(<Entry*>entry)
        return NUMERICAL_ERROR
    return status


cdef int64_t on_expand(void* entry, uint64_t dim, uint64_t expanded, const double* x, double* out,
                       void* user_data) noexcept nogil:
    cdef int64_t status = NUMERICAL_ERROR
    cdef uint64_t index
    if entry == NULL or not (<Entry*>entry).has_ended:
        status = call_flat(entry, dim, x, 0, NULL, out, expanded, user_data)
        if status == DONE or entry == NULL or not (<Entry*>entry).is_quiet:
            return status
        tell(<Entry*>entry)
    for index in range(expanded):
        out[index] = NAN
    return DONE


cdef void tell(Entry* entry) noexcept with gil:
    """After a failure that its caller would not survive."""
    entry.has_ended = True
    try:
        if (<CFunction>entry.owner).listener is not None:
            (<CFunction>entry.owner).listener()
    except BaseException as error:
        keep_error(entry, error, NULL)


cdef double on_number(void* entry, double x) noexcept nogil:
    return on_numbers_data(entry, 1, &x, NULL)


cdef double on_number_data(void* entry, double x, void* user_data) noexcept nogil:
    return on_numbers_data(entry, 1, &x, user_data)


cdef double on_numbers(void* entry, int count, double* x) noexcept nogil:
    return on_numbers_data(entry, count, x, NULL)


cdef double on_numbers_data(void* entry, int count, double* x, void* user_data) noexcept nogil:
    cdef double result = NAN
    cdef int64_t status = call_flat(entry, count, x, 0, NULL, &result, 1, user_data)
    return result if status == DONE else NAN


cdef int on_window(void* entry, double* x, intptr_t count, double* result, void* user_data) noexcept nogil:
    return call_flat(entry, count, x, 0, NULL, result, 1, user_data) == DONE


cdef int on_line(void* entry, double* x, intptr_t count, double* result, intptr_t result_count,
                 void* user_data) noexcept nogil:
    return call_flat(entry, count, x, 0, NULL, result, result_count, user_data) == DONE


phintys_on_general, phintys_on_log_density, phintys_on_expand = on_general, on_log_density, on_expand
phintys_on_number, phintys_on_number_data = on_number, on_number_data
phintys_on_numbers, phintys_on_numbers_data = on_numbers, on_numbers_data
phintys_on_window, phintys_on_line = on_window, on_line


# ---- the object ------------------------------------------------------------------------------------------------------
cdef void* address_for(str name, int slot) except NULL:
    """The C function of an entry."""
    cdef bytes encoded = name.encode()
    cdef const phintys_signature* row = phintys_signatures
    while strcmp(row.name, encoded) != 0:               # check_program has found the name in the table of signatures
        row += 1
    return row.functions[slot]


cdef class CFunction:
    """A compiled function as a C function; made by ``Function.c_function``, which says what the parameters are.

    The object keeps the function alive, and must live as long as C code may call the address.

    Attributes
    ----------
    address : int
        Of the C function.
    name : str
        The name of its signature.
    signature : str
        The signature in C.
    ctypes_type : type
        The signature as a function type of ``ctypes``.
    function : Function
        What was compiled.
    shared : list of Container
        The storage of the shared variables that the function reads, in the order of the tables that C code may pass
        instead; see ``table``.
    error : Exception or None
        What the last failing call raised, with its node and where that was made; None: no call has failed. An exception
        that is recoverable does not replace one that is not.
    """
    cdef Entry* entry
    cdef int slot
    cdef readonly object function, name, signature, ctypes_type
    cdef readonly list shared
    cdef object program, made, pointers
    cdef tuple recoverable
    cdef object listener
    cdef object failure             # (exception, position, operands) or None
    cdef long long failed_status    # of it
    cdef Frame frame                # what copies are made of
    cdef Code code
    cdef object __weakref__

    def __cinit__(self, function, signature="general", shapes=None, workers=1, recoverable=()):
        self.slot = -1

    def __init__(self, function, signature="general", shapes=None, int workers=1, recoverable=()):
        if self.entry != NULL:
            raise TypeError("a CFunction is made once")
        row = signature_named(signature)
        check_program(function.program, row, function.argument_names)
        self.function, self.program, self.name, self.signature = function, function.program, row.name, row.text
        self.ctypes_type, self.recoverable = row.ctypes_type(), tuple(recoverable)
        self.code = Code(self.program, self.program.n_arguments)      # as of a body: no caller gives it memory
        self.frame = Frame(self.code)
        self.entry = <Entry*>calloc(1, sizeof(Entry))
        if self.entry == NULL:
            raise MemoryError()
        self.entry.workers, self.entry.owner = workers, <PyObject*>self
        self.entry.gil_must_go = workers > 1
        describe_frame(self.frame, &self.entry.model)
        self._note_cells()
        self._note_arguments(lengths_of(function, row, shapes))
        self._find_slot()

    cdef int _note_cells(self) except -1:
        """Let the code end with RESULT if it updates nothing, and note which cells are results, shared values, or to be
        emptied."""
        cdef Entry* entry = self.entry
        cdef Instruction* at
        cdef int position, index, cell
        cdef list results = [], emptied = [], loaded = []
        cdef bint ended = False
        self.shared, entry.is_straight, entry.updates = [], True, self.code.n_updated > 0
        for position in range(self.code.halt + 1):
            at = &self.code.instructions[position]
            operands = [self.code.pool[at.b + index] for index in range(at.c)]
            entry.is_straight &= at.op in STRAIGHT
            if at.op == OP_LOAD:
                loaded.append(at.a)
                self.shared.append(self.program.containers[at.b])
                at.op, at.c = OP_DROP, 0
            elif at.op == OP_PLAN:
                at.op, at.c = OP_DROP, 0
            elif at.op == OP_RESULT:
                ended, results = True, operands
                if at.flags & RESULT_EMPTIES:
                    emptied += operands
                if not entry.updates:
                    at.op = OP_HALT
            elif ended and (at.op == OP_DROP or at.op == OP_HALT):
                emptied += operands
            self.code.ops[position] = at.op
        emptied = [cell for cell in dict.fromkeys(emptied) if self.program.cells[cell].kind != "constant"]
        entry.n_arguments, entry.n_results = self.program.n_arguments, len(results)
        entry.n_shared, entry.n_emptied = len(loaded), len(emptied)
        entry.results, entry.emptied, entry.shared = in_c(results), in_c(emptied), in_c(loaded)
        entry.leaves = in_c([*range(entry.n_arguments), *loaded])
        entry.only_looks = kernels_that_look(self.code)
        entry.containers = <PyObject**>malloc((len(self.shared) + 1) * sizeof(PyObject*))
        entry.seats = <phintys_seat*>calloc(PHINTYS_SEATS, sizeof(phintys_seat))
        if entry.containers == NULL or entry.seats == NULL:
            raise MemoryError()
        for index, container in enumerate(self.shared):
            entry.containers[index] = <PyObject*>container
        if self.shared and not entry.updates:
            take_snapshot(entry)
        return 0

    cdef int _note_arguments(self, list lengths) except -1:
        """Note the types of arguments, and their lengths: a tuple for each, or None."""
        cdef Entry* entry = self.entry
        cdef Input* input
        cdef int index, axis
        entry.inputs = <Input*>calloc(entry.n_arguments + 1, sizeof(Input))
        if entry.inputs == NULL:
            raise MemoryError()
        for index in range(entry.n_arguments):
            input = &entry.inputs[index]
            type_ = self.function.argument_types[index]
            dtype = cnp.PyArray_DescrFromType(self.program.cells[index].typenum)
            input.typenum, input.ndim = self.program.cells[index].typenum, self.program.cells[index].ndim
            input.itemsize, input.alignment = dtype.itemsize, dtype.alignment
            for axis, broadcastable in enumerate(type_.broadcastable):
                if broadcastable:
                    input.broadcastable |= <unsigned long long>1 << axis
            if lengths[index] is None:
                input.size = -1
                entry.has_rest = True
                continue
            input.size = 1
            input.shape = <npy_intp*>malloc((input.ndim + 1) * sizeof(npy_intp))
            if input.shape == NULL:
                raise MemoryError()
            for axis, length in enumerate(lengths[index]):
                input.shape[axis] = length
                input.size *= input.shape[axis]
            entry.fixed += input.size
        return 0

    cdef int _find_slot(self) except -1:
        cdef int slot
        with cython.critical_section(values_turn):
            for slot in range(PHINTYS_ENTRIES):
                if phintys_entries[slot] == NULL:
                    phintys_entries[slot] = self.entry
                    self.slot = slot
                    return 0
        raise RuntimeError(f"there are {PHINTYS_ENTRIES} C functions already, which is the most that may live at once: "
                           "drop some")

    def __dealloc__(self):
        cdef int index
        if self.slot >= 0:
            phintys_entries[self.slot] = NULL
        if self.entry == NULL:
            return
        if self.entry.seats != NULL:
            free_idle(self.entry)
        release_snapshot(self.entry, self.entry.snapshot)
        if self.entry.inputs != NULL:
            for index in range(self.entry.n_arguments):
                free(self.entry.inputs[index].shape)
        free(self.entry.inputs)
        free(self.entry.results)
        free(self.entry.emptied)
        free(self.entry.shared)
        free(self.entry.leaves)
        free(self.entry.only_looks)
        free(self.entry.containers)
        free(self.entry.seats)
        free(self.entry)

    @property
    def address(self):
        return <size_t>address_for(self.name, self.slot)

    @property
    def ctypes(self):
        """The C function as a function of ``ctypes``, which keeps this object alive."""
        pointer = self.ctypes_type(self.address)
        pointer.c_function = self
        return pointer

    @property
    def error(self):
        if self.failure is None:
            return None
        error, position, operands = self.failure
        if position >= 0:
            described = explained(error, self.program, position, operands, self.function.at_length)
            if described is not error:
                described = described.with_traceback(error.__traceback__)
                described.__cause__ = error.__cause__
            self.failure = described, -1, None
            return described
        return error

    def raise_error(self):
        """Raise what the last failing call raised, if one failed since this was asked last."""
        error = self.error
        self.failure = None
        if error is not None:
            raise error

    def be_quiet(self, listener=None):
        """For C code that does not survive a failure: after one, call ``listener()`` and ``end()``."""
        self.listener, self.entry.is_quiet = listener, True

    def end(self):
        """Let later calls compute nothing: of ``log_density`` they return 1, of ``expand`` 0, with results of NaN."""
        self.entry.has_ended = True

    def table(self, values):
        """Values that C code may pass instead of shared variables, as nutpie does with its data.

        Parameters
        ----------
        values : dict
            Shared variable, or its name or container, to a value of its dtype and rank; lengths may be others. The
            others have their present values. All values are copied.

        Returns
        -------
        SharedTable
            Its attribute ``address`` is what to pass as ``user_data``; it must live as long as calls read it.
        """
        if self.entry.updates:
            raise TypeError(f"{self._title()} updates shared variables, so it reads and writes their own values, and "
                            "takes no table of others")
        return SharedTable(self.shared, values)

    @property
    def frames_made(self):
        """How many frames there have been: as many as calls ran at the same time, at most."""
        return phintys_look(&self.entry.frames_made)

    def free(self):
        """Give up idle frames, with all memory that they keep."""
        free_idle(self.entry)

    def fail_at(self, position=None):
        """Let instruction ``position`` fail in each call, before the results exist or before updates are committed;
        None: none any more. For tests.

        Returns
        -------
        bool
            Whether there is such an instruction.
        """
        if position is not None and self.code.ops[<int>position] in (OP_HALT, OP_COMMIT):
            return False
        self.code.put_failure(-1 if position is None else position, 0)
        free_idle(self.entry)                               # what they have recorded does not fail
        return True

    def kept_bytes(self):
        """The memory that idle frames keep for the next calls, in bytes."""
        cdef Runner* runner
        cdef size_t total = 0
        cdef int index
        for index in range(PHINTYS_SEATS):
            runner = <Runner*>phintys_take(&self.entry.seats[index])
            if runner != NULL:
                total += bytes_kept_by_copy(runner.frame)
                put_elsewhere(self.entry, runner)
        return total

    def recorded_frames(self):
        """How many idle frames repeat a recorded call; for tests."""
        cdef Runner* runner
        cdef int index, count = 0
        for index in range(PHINTYS_SEATS):
            runner = <Runner*>phintys_take(&self.entry.seats[index])
            if runner != NULL:
                count += runner.recording != NULL
                put_elsewhere(self.entry, runner)
        return count

    def _title(self):
        return f"C function {self.name} of {self.function.name or 'a phintys function'}"

    cdef object describe_fault(self, Fault fault, int index, long long found, long long wanted):
        title = self._title()
        if fault == TABLE:
            return f"{title} updates shared variables, so it takes no table of other values: user_data must be NULL"
        if fault == DIMENSION:
            more = "at least " if self.entry.has_rest else ""
            return f"{title}: x has {found} elements, expected {more}{wanted}"
        if fault == EXPANDED or fault == HEAD:
            return f"{title}: the results have {found} elements, or more; there is room for {wanted}"
        if index >= 0 and fault != NO_LENGTHS and fault != NO_ROOM:
            title += f", argument {index} ({title_of(self.function, index)})"
        elif index >= 0:
            title += f", result {index}"
        if fault == ALIGNMENT:
            return f"{title}: the address {found:#x} is no multiple of {wanted}"
        if fault == MISSING:
            return f"{title}: the address of its {'lengths' if found else 'elements'} is NULL"
        if fault == BROADCAST:
            return f"{title}: its length in dimension {wanted} is {found}, but it is declared to be 1"
        if fault == NEGATIVE:
            return f"{title}: its length in dimension {wanted} is {found}"
        return f"{title}: the address of its {'lengths' if fault == NO_LENGTHS else 'elements'} is NULL"


cdef void free_idle(Entry* entry) noexcept:
    cdef Runner* runner
    cdef int index
    for index in range(PHINTYS_SEATS):
        runner = <Runner*>phintys_take(&entry.seats[index])
        if runner != NULL:
            free_runner(entry, runner)


cdef int* in_c(list numbers) except NULL:
    cdef int* copied = <int*>malloc((len(numbers) + 1) * sizeof(int))
    cdef int index
    if copied == NULL:
        raise MemoryError()
    for index in range(len(numbers)):
        copied[index] = numbers[index]
    return copied
