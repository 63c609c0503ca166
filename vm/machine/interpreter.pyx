"""The interpreter: the loop that runs bytecode over the cells of a frame.

The loop has no Python object, no lock and no allocation per instruction of its own. It starts with the GIL held; the
first kernel whose ``prepare`` says that its work is long makes it leave the GIL, and it takes it back where Python is
needed: at CALL, PREPARE, RESULT and COMMIT. Between long kernels it looks at signals every 100 ms, and these do so
between blocks of their work (``abi.interrupted``). Programs of many short kernels keep the GIL; at the sites that
``Code`` has marked, the loop now and then looks at the clock, and after 20 ms at signals, and lets other threads in. A
commit whose kernels are long leaves the GIL too; its containers are marked as changing meanwhile.

Dropping the reference to an object, or to memory that a user lent, can run any Python code: callbacks of weak
references, ``__del__``. That code may read and set the same variables and call the same function. So code that drops a
reference completes its own work first: the cell or container no longer points at the dropped object, and no DROP is
emitted after COMMIT. STORE exchanges buffers; HALT names the cells that hold old values after that, and those whose
last use was in RUN. They are emptied when all STOREs are done, a long commit has ended and the claims have been given
up. ``tests/vm/machine/test_callbacks.py`` has a row for every place where references are dropped.
"""
cimport numpy as cnp

from phintys.vm cimport guards
from phintys.vm.abi cimport BOUND, UNBOUND, Cell, Context, Interrupts, Kernel, drop, renew
from phintys.vm.containers.claims cimport begin_change, end_change, let_others_in
from phintys.vm.containers.container cimport Container
from phintys.vm.guards cimport give_back_scratch
from phintys.vm.machine.code cimport LOOKS, Code, Instruction
from phintys.vm.machine.copies cimport alias, copy_cell, move, own_cell
from phintys.vm.machine.frame cimport UNATTENDED, Block, Frame, Machine, Site, compare_layouts, remember_layouts
from phintys.vm.machine.group cimport Group, leave_group, prepare, prepare_member, run_group
from phintys.vm.machine.perform cimport call_perform, has_changed, refuse_late_change
from phintys.vm.machine.profile cimport begin, end, phintys_seconds
from phintys.vm.machine.quick_memory cimport drop_quickly, is_inside, is_small, note_fit, renew_quickly
from phintys.vm.machine.results cimport take_results
from phintys.vm.machine.slots cimport choose_plan, is_planned
from phintys.vm.python_api cimport (
    Py_XDECREF, PyErr_Fetch, PyErr_Occurred, PyErr_Restore, PyErr_SetString, PyObject)

include "opcodes.pxi"

cdef extern from "Python.h" nogil:
    void* PyEval_SaveThread()
    void PyEval_RestoreThread(void*)
    unsigned long PyThread_get_thread_ident()
    int PyErr_CheckSignals()
    void PyErr_SetInterrupt()

cdef extern from * nogil:
    """
    /* Workers of the call read it meanwhile. */
    static inline int phintys_raise(int* raised, int whether) {
        __atomic_store_n(raised, whether, __ATOMIC_RELAXED);
        return whether;
    }
    """
    bint phintys_raise(bint*, bint)

submit_device_work = NULL
wait_for_device_work = NULL
give_up_copies = NULL
read_device_notes = NULL
blamed_kernel = NULL
cdef double KERNEL_SECONDS = 0.05   # a kernel that works without the GIL looks at signals this often
cdef double SIGNAL_SECONDS = 0.1    # a call that works without the GIL looks at signals this often
cdef double TURN_SECONDS = 0.02     # one that works with the GIL does so, and lets other threads in, this often
cdef long looks_to_interrupt = 0    # of tests: so many looks from kernels later one finds Ctrl-C; 0: none
cdef enum:
    PATIENCE = 2                    # marked sites from one look at the clock to the next


def take_turns(double seconds=0.02):
    """Set how long a call of short kernels works before it looks at signals and lets other threads in; for tests."""
    global TURN_SECONDS
    TURN_SECONDS = seconds


def interrupt_at_look(number):
    """For tests: kernels look at signals whenever they ask, and find Ctrl-C at this look from now; 0: as usual."""
    global KERNEL_SECONDS, looks_to_interrupt
    KERNEL_SECONDS, looks_to_interrupt = (0, number) if number else (0.05, 0)


# What raises in Python returns -1 to the loop, which cleans up before the exception is handled.
ctypedef int (*MemoryStep)(Context* context, Cell* cell) noexcept nogil
ctypedef int (*TurnStep)() noexcept nogil
ctypedef int (*PythonStep)(Machine* machine, const Instruction* instruction) noexcept nogil


cdef int renew_cell(Context* context, Cell* cell) except -1 nogil:
    return renew(context, cell)


cdef MemoryStep renew_step = <MemoryStep>renew_cell
cdef int choose_plan_anew(Machine* machine, const Instruction* at) except -1 with gil:
    """A loop in a C function has no GIL here."""
    return choose_plan(machine, at)


cdef TurnStep turn_step = <TurnStep>let_others_in
cdef PythonStep call_step = <PythonStep>call_perform
cdef PythonStep copy_step = <PythonStep>copy_cell
cdef PythonStep own_step = <PythonStep>own_cell
cdef PythonStep result_step = <PythonStep>take_results
cdef PythonStep plan_step = <PythonStep>choose_plan_anew


cdef inline void take_gil(Machine* machine) noexcept nogil:
    cdef void* released = machine.released
    if released != NULL:
        machine.released = NULL
        PyEval_RestoreThread(released)


cdef int leave_gil(Machine* machine) noexcept nogil:
    """Work without the GIL from here on; returns -1 when the handler of a signal raised."""
    cdef double now
    if machine.context.flags & UNATTENDED:
        return 0
    now = phintys_seconds()
    if machine.released != NULL:
        if now - machine.looked < SIGNAL_SECONDS:
            return 0
        take_gil(machine)
        if PyErr_CheckSignals() < 0:
            return -1
    machine.looked = now
    machine.interrupts.thread = PyThread_get_thread_ident()
    machine.interrupts.look = look_from_kernel
    machine.interrupts.machine = machine
    machine.context.interrupts = &machine.interrupts
    machine.released = PyEval_SaveThread()
    return 0


cdef bint look_from_kernel(Interrupts* interrupts) noexcept nogil:
    """``abi.interrupted``: look at signals in the middle of a kernel; an exception stays with the thread."""
    global looks_to_interrupt
    cdef Machine* machine = <Machine*>interrupts.machine
    if (PyThread_get_thread_ident() != interrupts.thread or machine.released == NULL or machine.changing
            or phintys_seconds() - machine.looked < KERNEL_SECONDS):
        return False
    take_gil(machine)
    if looks_to_interrupt > 0:
        looks_to_interrupt -= 1
        if looks_to_interrupt == 0:
            PyErr_SetInterrupt()
    cdef bint raised = phintys_raise(&interrupts.raised, PyErr_CheckSignals() < 0)
    machine.looked = phintys_seconds()
    machine.released = PyEval_SaveThread()
    return raised


cdef inline int is_interrupted(Machine* machine) noexcept nogil:
    """After a kernel that may have left the GIL: -1 if the handler of a signal raised while it ran."""
    return -1 if machine.interrupts.raised else 0


cdef int look_around(Machine* machine) noexcept nogil:
    """At a marked site, before a short kernel: look at signals and let other threads in, if that is due."""
    cdef double now
    machine.patience -= 1
    if machine.patience > 0 or machine.context.flags & UNATTENDED:
        return 0
    machine.patience = PATIENCE
    if machine.released != NULL:
        return leave_gil(machine)
    now = phintys_seconds()
    if machine.watch != machine.call:               # the first look of this call
        machine.watch = machine.call
        machine.looked = now
    elif now - machine.looked >= TURN_SECONDS:
        if turn_step() < 0:
            return -1
        machine.looked = phintys_seconds()
    return 0


cdef inline int pause(Machine* machine, int worth) noexcept nogil:
    """Before a kernel that is worth leaving the GIL, or whose site is marked."""
    return look_around(machine) if worth == LOOKS else leave_gil(machine)


cdef void start_change(Machine* machine) noexcept with gil:
    """Leave the GIL for a long commit. Signals wait: nothing may stop it half-way."""
    machine.long_commit = False
    machine.changing = True
    begin_change(machine.claims, machine.n_claims)


cdef void finish_change(Machine* machine) noexcept with gil:
    machine.changing = False
    end_change(machine.claims, machine.n_claims)


cdef bint is_zero(const Cell* cell) noexcept nogil:
    """Whether a number is zero, of whatever dtype; NaN is not."""
    cdef const char* data = cell.data
    if cell.typenum == cnp.NPY_DOUBLE:
        return (<const double*>data)[0] == 0
    if cell.typenum == cnp.NPY_FLOAT:
        return (<const float*>data)[0] == 0
    if cell.typenum == cnp.NPY_CFLOAT:
        return (<const float*>data)[0] == 0 and (<const float*>data)[1] == 0
    if cell.typenum == cnp.NPY_CDOUBLE:
        return (<const double*>data)[0] == 0 and (<const double*>data)[1] == 0
    if cell.typenum == cnp.NPY_FLOAT16:
        return ((<const unsigned short*>data)[0] & 0x7fff) == 0
    if cell.itemsize == 1:
        return data[0] == 0
    if cell.itemsize == 2:
        return (<const short*>data)[0] == 0
    if cell.itemsize == 4:
        return (<const int*>data)[0] == 0
    return (<const long long*>data)[0] == 0


cdef void finish_device_work(Machine* machine) noexcept with gil:
    """After a failure. What a kernel has told comes first: it ran before the instruction that failed."""
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* traceback
    cdef PyObject* blamed = blamed_kernel()
    PyErr_Fetch(&kind, &value, &traceback)
    submit_device_work()
    give_up_copies(&machine.context)
    if blamed == NULL and read_device_notes() < 0:
        blamed = blamed_kernel()
        if blamed != NULL:
            Py_XDECREF(kind)
            Py_XDECREF(value)
            Py_XDECREF(traceback)
            PyErr_Fetch(&kind, &value, &traceback)
    PyErr_Restore(kind, value, traceback)
    if blamed != NULL:
        go_to_kernel(machine, blamed)


cdef void go_to_kernel(Machine* machine, PyObject* kernel) noexcept:
    """Let the instruction of a kernel be the one that failed."""
    cdef const Instruction* at = machine.code
    cdef int position
    cdef unsigned char op
    for position in range((<Frame>machine.frame).code.n_instructions):
        op = at[position].op
        if op == OP_PROFILE:
            op = machine.timing.ops[position]
        if op == OP_KERNEL and machine.kernels[at[position].a] == kernel:
            machine.at = at + position


cdef inline int run_bound(Machine* machine, const Instruction* at, const Site* site, Cell** operands) noexcept nogil:
    """KERNEL with operands of the layouts that the kernel is bound to."""
    cdef Context* context = &machine.context
    if site.worth and pause(machine, site.worth) < 0:
        return -1
    if site.binding == BOUND and renew_all(context, operands + site.inputs, operands + at.c) < 0:
        return -1
    if (site.bound_run(context, operands) if site.bound_run != NULL
            else (<Kernel>machine.kernels[at.a]).run(context, operands)) < 0:
        raise_failure(machine)
        return -1
    return is_interrupted(machine) if site.worth else 0


cdef int execute(Machine* machine) noexcept nogil:
    """Run to HALT; returns 0, or -1 with a Python exception set and ``machine.at`` at the instruction that failed.

    The GIL is held at the start and at the end.
    """
    cdef const Instruction* at = machine.code
    cdef const Instruction* last                            # only of TOGETHER, so that `at` stays in a register
    cdef Context* context = &machine.context
    cdef Cell** operands
    cdef Block* block
    cdef Site* site
    cdef unsigned char op = at.op
    cdef int index, worth
    machine.call += 1
    for index in range(machine.n_watched):
        machine.seen[index] = (<Container>machine.watched[index]).changes
    while True:
        if op == OP_KERNEL:
            operands = machine.operands + at.b
            site = &machine.sites[at - machine.code]
            context.private_memory = site.private_memory
            if site.bound != machine.epoch:
                if run_anew(machine, at, site) < 0:
                    break
            elif run_bound(machine, at, site, operands) < 0:
                break
        elif op == OP_DROP:
            operands = machine.operands + at.b
            for index in range(at.c):
                if not (at.flags & DROP_LARGE and is_small(operands[index].buffer)) and (
                        not drop_quickly(context, operands[index])):
                    drop(context, operands[index])
        elif op == OP_LOAD:
            machine.epoch += (<Container>machine.containers[at.b]).load(context, &machine.cells[at.a])
        elif op == OP_TOGETHER:
            site = &machine.sites[at - machine.code]
            if site.bound != machine.epoch:                 # bound: the members are too short to be shared
                last = at
                worth = run_together(machine, &last, site)
                at = last
                if worth < 0:
                    break
        elif op == OP_CALL:
            take_gil(machine)
            if call_step(machine, at) < 0:
                break
        elif op == OP_COPY:
            if copy_step(machine, at) < 0:
                break
        elif op == OP_OWN:
            if machine.cells[at.a].data != <char*>machine.cells[at.a].value and own_step(machine, at) < 0:
                break                                       # a value inside the cell is its own
        elif op == OP_RESULT:
            take_gil(machine)
            if result_step(machine, at) < 0:
                break
        elif op == OP_PREPARE:
            if prepare_change(machine, at) < 0:
                break
        elif op == OP_COMMIT:
            if commit(machine) < 0:
                break
        elif op == OP_JUMP:
            at = machine.code + at.a
            op = at.op
            continue
        elif op == OP_JUMPZ:
            if is_zero(&machine.cells[at.b]):
                at = machine.code + at.a
                op = at.op
                continue
        elif op == OP_ALIAS:
            machine.epoch += alias(context, &machine.cells[at.a], &machine.cells[at.b])
        elif op == OP_MOVE:
            machine.epoch += move(context, &machine.cells[at.a], &machine.cells[at.b])
        elif op == OP_NEED:
            # Code that several arms need runs at most once in a call: a block knows in which call it ran last, so
            # nothing is reset between calls. BACK returns to the NEED that entered it.
            block = &machine.blocks[at.b]
            if block.call != machine.call:
                block.call = machine.call
                block.entered = at
                at = machine.code + at.a
                op = at.op
                continue
        elif op == OP_BACK:
            at = machine.blocks[at.a].entered
        elif op == OP_RUN:
            run_change(machine, at)
        elif op == OP_STORE:
            take_gil(machine)
            (<Container>machine.containers[at.a]).store(context, &machine.cells[at.b])
        elif op == OP_PLAN:
            if not is_planned(machine) and plan_step(machine, at) < 0:
                break
        elif op == OP_FAIL:
            op = spared(machine, at)
            if op == OP_FAIL:
                break
            continue
        elif op == OP_PROFILE:
            op = noted(machine, at)
            continue
        else:                                               # OP_HALT
            take_gil(machine)
            if machine.changing:
                finish_change(machine)
            return 0
        at += 1
        op = at.op
    take_gil(machine)
    machine.interrupts.raised = False
    machine.at = at
    if submit_device_work != NULL:
        finish_device_work(machine)                                # it may read what the caller gives up now
    return -1


# ---- instructions that need more than a line -------------------------------------------------------------------------
cdef inline int renew_all(Context* context, Cell** first, Cell** end) noexcept nogil:
    """Memory for outputs whose layouts are those of the last call."""
    cdef Cell* cell
    while first != end:
        cell = first[0]
        if is_inside(context, cell):
            cell.data = <char*>cell.value
        elif renew_outside(context, cell) < 0:
            return -1
        first += 1
    return 0


cdef int renew_outside(Context* context, Cell* cell) noexcept nogil:
    return 0 if renew_quickly(context, cell) else renew_step(context, cell)


cdef unsigned char noted(Machine* machine, const Instruction* at) noexcept nogil:
    """PROFILE: returns the opcode for which it stands. HALT ends the measurement."""
    if wait_for_device_work != NULL:
        machine.timing.at_device = wait_for_device_work()   # an error comes again, in the call
    cdef int position = <int>(at - machine.code)
    cdef int inputs = machine.sites[position].inputs
    cdef unsigned char op = machine.timing.ops[position]
    if op == OP_KERNEL or op == OP_CALL or op == OP_RUN:
        begin(machine.timing, position, machine.operands + at.b + inputs, at.c - inputs)
    else:
        begin(machine.timing, position, NULL, 0)
    if op == OP_HALT:
        take_gil(machine)
        end_measurement(machine)
    return op


cdef void end_measurement(Machine* machine) noexcept with gil:
    cdef Frame frame = <Frame>machine.frame
    end(machine.timing)
    frame.code.profile.add(machine.timing)


cdef int prepare_anew(Machine* machine, const Instruction* at, Site* site) noexcept nogil:
    """Call ``prepare``, and notice outputs whose layouts nothing else could foresee; returns what it did."""
    cdef Cell** operands = machine.operands + at.b
    cdef int worth
    if site.varies:
        remember_layouts(machine, operands, site.inputs, at.c)
    machine.context.private_memory = site.private_memory
    worth = prepare(machine.kernels[at.a], &machine.context, operands)
    if worth < 0:
        return worth
    if site.varies:
        compare_layouts(machine, operands, site.inputs, at.c)
    site.worth = worth | site.looks
    return site.worth


cdef void bind_if_repeated(Machine* machine, const Instruction* at, Site* site) noexcept nogil:
    """After ``run``: when an epoch's layouts came twice, bind the kernel to them."""
    cdef int index
    # `prepared` is the epoch in which the kernel was prepared last, or minus that if it refused to be bound in it. Only
    # a second call in one epoch binds: binding takes longer than `prepare`, which layouts of one call would not repay.
    if site.varies or site.prepared == -machine.epoch or guards.guards:
        return
    if site.prepared != machine.epoch:
        site.prepared = machine.epoch
        return
    site.bound_run = NULL
    site.binding = (<Kernel>machine.kernels[at.a]).bind(&machine.context, machine.operands + at.b, &site.bound_run)
    if site.binding == UNBOUND:
        site.prepared = -machine.epoch
    else:
        site.bound = machine.epoch
        for index in range(site.inputs, at.c):
            note_fit(machine.operands[at.b + index])


cdef int run_anew(Machine* machine, const Instruction* at, Site* site) noexcept nogil:
    """KERNEL with operands of unknown shapes."""
    cdef Cell** operands = machine.operands + at.b
    cdef int worth
    if guards.guards:                                       # then this kernel gets scratch memory of just its size
        give_back_scratch(machine.context.scratch, machine.context.scratch_size)
        machine.context.scratch, machine.context.scratch_size = NULL, 0
    worth = prepare_anew(machine, at, site)
    if worth < 0 or (worth and pause(machine, worth) < 0):
        return -1
    if (<Kernel>machine.kernels[at.a]).run(&machine.context, operands) < 0:
        raise_failure(machine)
        return -1
    if is_interrupted(machine) < 0:
        return -1
    bind_if_repeated(machine, at, site)
    return 0


cdef int prepare_change(Machine* machine, const Instruction* at) noexcept nogil:
    """PREPARE: all of KERNEL that can fail."""
    cdef Site* site = &machine.sites[at - machine.code]
    cdef Cell** operands = machine.operands + at.b
    cdef int worth
    take_gil(machine)                                       # who else refers to a value may not change from here on
    site.runs_bound = site.bound == machine.epoch
    if not site.runs_bound:
        worth = prepare_anew(machine, at, site)
        if worth < 0:
            return -1
        machine.long_commit |= worth
        return 0
    machine.long_commit |= site.worth
    if site.binding == BOUND:
        return renew_all(&machine.context, operands + site.inputs, operands + at.c)
    return 0


cdef int commit(Machine* machine) noexcept nogil:
    """COMMIT: nothing after it can fail."""
    take_gil(machine)
    if machine.n_watched > 0 and has_changed(machine):
        refuse_late_change(machine)
        return -1
    if submit_device_work != NULL and submit_device_work() < 0:
        return -1
    if machine.long_commit:
        start_change(machine)
        machine.released = PyEval_SaveThread()
    return 0


cdef void run_change(Machine* machine, const Instruction* at) noexcept nogil:
    """RUN: the rest of KERNEL."""
    cdef Site* site = machine.sites[at - machine.code].first
    cdef Cell** operands = machine.operands + at.b
    machine.context.private_memory = site.private_memory
    if site.runs_bound and site.bound_run != NULL:
        site.bound_run(&machine.context, operands)
        return
    (<Kernel>machine.kernels[at.a]).run(&machine.context, operands)
    if not site.runs_bound:
        bind_if_repeated(machine, at, site)


cdef int run_together(Machine* machine, const Instruction** at, Site* site) noexcept nogil:
    """Run the group after TOGETHER; ``at`` moves to its last instruction, or to the one that failed."""
    cdef Group group
    cdef Site* member
    cdef Cell** operands
    cdef int index, worth, count = at[0].a
    cdef bint is_long = False
    group.context, group.count = &machine.context, 0
    for index in range(count):
        at[0] += 1
        member, operands = &machine.sites[at[0] - machine.code], machine.operands + at[0].b
        if member.varies:
            remember_layouts(machine, operands, member.inputs, at[0].c)
        worth = prepare_member(&group, machine.kernels[at[0].a], operands, member.private_memory,
                               at[0].flags & CONTINUES)
        if worth < 0:
            leave_group(&group)
            return -1
        if member.varies:
            compare_layouts(machine, operands, member.inputs, at[0].c)
        is_long |= worth != 0
    if is_long and leave_gil(machine) < 0:
        leave_group(&group)
        return -1
    run_group(&group)
    leave_group(&group)
    if not is_long:
        site.bound = machine.epoch
    return is_interrupted(machine)


cdef void raise_failure(Machine* machine) noexcept with gil:
    """Turn a ``may_fail`` kernel's reason into the exception, unless it has raised one itself."""
    cdef const char* reason = machine.context.failure
    machine.context.failure = NULL
    if reason == NULL:
        reason = b"the kernel failed"
    if PyErr_Occurred() == NULL:
        PyErr_SetString(ValueError, reason)


cdef unsigned char spared(Machine* machine, const Instruction* at) noexcept with gil:
    """FAIL: returns the opcode for which it stands while that is to be done, and then FAIL, with an exception set."""
    cdef Code code = (<Frame>machine.frame).code
    if code.spared == 0:
        PyErr_SetString(RuntimeError, b"this instruction was asked to fail")
        return OP_FAIL
    code.spared -= 1
    return code._usual(<int>(at - machine.code))
