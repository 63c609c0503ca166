"""Frames; see ``frame.pyx``. And epochs, by which kernels stay bound.

During an epoch each cell has one shape and one set of strides whenever it has a value. The next epoch begins when one
of these meets a different layout: arguments, LOAD, COPY, ALIAS, MOVE, OWN, CALL, kernels whose output layouts vary with
values (also in a group), and values that ``perform`` has replaced. A new plan and a failed call begin one, too. A site
that was bound in the current epoch runs at once, and compares nothing. So a new opcode that writes a cell's layout must
compare it with the old one (``take_layout``, or ``remember_layouts`` and ``compare_layouts``);
``tests/vm/machine/test_epochs.py`` has a test for each writer.
"""
from numpy cimport npy_intp

from phintys.vm.abi cimport CELL_LATE, CELL_LENT, CELL_READONLY, Binding, BoundRun, Cell, Context, Interrupts
from phintys.vm.containers.claims cimport Claim
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.machine.profile cimport Timing
from phintys.vm.pool cimport Buffer
from phintys.vm.python_api cimport PyObject

cdef enum:
    KEPT = CELL_READONLY | CELL_LENT | CELL_LATE    # cells that RESULT does not empty
    WASTE = 4096                    # bytes of its memory that a value may leave unused
    UNATTENDED = 1                  # of `Context.flags`: C code called, without the GIL; nothing looks at signals
    IN_BODY = 2                     # likewise: of the body of a loop

cdef struct Block:                  # of code that runs once a call
    long long call                  # the number of the call in which it ran last
    const Instruction* entered      # the NEED that it goes back to

cdef struct Site:                   # what a frame knows of one instruction that runs a kernel
    long long bound                 # the epoch in which it was bound; for the others see `Machine.epoch`
    long long prepared              # the epoch in which it was prepared, negative: and could not be bound
    BoundRun bound_run              # NULL: the kernel's `run`
    void* private_memory
    Binding binding
    int worth                       # what `prepare` returned, with `looks`
    int looks                       # LOOKS at a site where the loop looks around, else 0
    int inputs                      # how many of the operands they are
    bint varies                     # the outputs' layouts depend on values, too
    bint runs_bound                 # of PREPARE, in this call: RUN goes on with the bound run
    Site* first                     # RUN: that of its PREPARE; others: their own

cdef enum Planning:                 # what a frame knows about the sizes of its values, in mode "plan"
    UNKNOWN                         # nothing yet
    WATCHED                         # the last call's shapes are in the cells
    INSTALLED                       # slots are laid out for the shapes in `key`

ctypedef int (*GiveStep)(void* receiver) noexcept nogil

cdef struct Machine:                # one running call, in C
    const Instruction* code
    const Instruction* at           # the instruction that failed
    Cell* cells
    Cell** operands                 # the operand pool, resolved to this frame's cells
    PyObject** kernels
    PyObject** containers
    void* released                  # the thread state, while the GIL is released
    Claim** claims                  # of the containers that the program updates, by address
    int n_claims
    bint long_commit                # what was prepared for the commit is worth leaving the GIL
    bint changing                   # the commit has left the GIL
    long long call                  # counts the calls of the frame
    # The number of the present epoch. During an epoch, each cell has the same shape and strides whenever it has a
    # value; what finds another layout begins the next epoch. So a site bound in it need not look at layouts.
    long long epoch
    Site* sites                     # by position of the instruction
    npy_intp* layouts               # memory for the layouts of one instruction's outputs
    Block* blocks
    Interrupts interrupts           # how the kernels of the call look at signals
    double looked                   # when signals were looked at, in seconds
    long long watch                 # the last call in which `looked` was set by a program that keeps the GIL
    int patience                    # marked sites until the loop looks at the clock
    PyObject* frame                 # the Frame, borrowed
    Planning planning
    Cell** leaves                   # arguments and shared values, whose shapes choose the plan
    npy_intp* key                   # their shapes in the last call, one after the other
    int n_leaves
    PyObject** watched              # the containers that the program both reads and updates
    long long* seen                 # how often they had changed when they were loaded
    int n_watched
    Timing* timing                  # NULL: calls are not measured
    GiveStep give                   # what RESULT calls, with its argument, instead of making arrays; or NULL
    void* receiver
    Context context

cdef class Frame:
    cdef Code code
    cdef Machine machine
    cdef Cell* cells
    cdef npy_intp* dimensions
    cdef PyObject** results         # what RESULT made: strong references until the call ends
    cdef PyObject** recycled        # results of earlier calls: small ones, taken again once dropped, and lent ones
    cdef int n_results
    cdef PyObject** given           # the arguments of the call, converted: strong references until it ends, or NULL
    cdef Buffer* slots              # what the plan has for each cell that it may place
    cdef Cell** placed              # these cells
    cdef int n_slots
    cdef Buffer* arena              # the memory of all slots, or NULL
    cdef int _add_cell(self, Cell* cell, layout, npy_intp* dimensions) except -1
    cdef int _find_donors(self) except -1
    cdef int _find_heirs(self) except -1
    cdef int _find_slots(self) except -1
    cdef int _find_sites(self) except -1
    cdef char* private_memory       # of all sites' kernels

cdef inline bint take_layout(Cell* cell, const npy_intp* shape, const npy_intp* strides) noexcept nogil:
    """Give a cell this shape and these strides; returns whether they are others than before: the next epoch begins."""
    cdef int axis
    cdef bint differs = False
    for axis in range(cell.ndim):
        differs |= cell.shape[axis] != shape[axis] or cell.strides[axis] != strides[axis]
        cell.shape[axis], cell.strides[axis] = shape[axis], strides[axis]
    return differs

cdef inline void remember_layouts(Machine* machine, Cell** operands, int first, int count) noexcept nogil:
    """Keep the shapes and strides of an instruction's outputs, before it gives them others."""
    cdef npy_intp* number = machine.layouts
    cdef Cell* cell
    cdef int index, axis
    for index in range(first, count):
        cell = operands[index]
        for axis in range(cell.ndim):
            number[0], number[1] = cell.shape[axis], cell.strides[axis]
            number += 2

cdef inline void compare_layouts(Machine* machine, Cell** operands, int first, int count) noexcept nogil:
    """Begin the next epoch if an output has another shape or other strides than were kept."""
    cdef npy_intp* number = machine.layouts
    cdef Cell* cell
    cdef int index, axis
    for index in range(first, count):
        cell = operands[index]
        for axis in range(cell.ndim):
            if number[0] != cell.shape[axis] or number[1] != cell.strides[axis]:
                machine.epoch += 1
                return
            number += 2

# Of a list of idle frames: one, or a new one; all, which are then out of the way of calls that start. Several threads
# may ask at the same time.
cdef Frame idle_frame(list idle, Code code)
cdef list taken_from(list idle)
cdef void empty_after(Frame frame) noexcept
cdef int reset(Frame frame) except -1
cdef void forget_results(Frame frame) noexcept
cdef int empty_frame(Frame frame) except -1
cdef void give_up_larger(Frame frame) noexcept
cdef size_t bytes_kept_by(Frame frame) noexcept
cdef size_t bytes_kept_by_context(const Context* context) noexcept nogil
cdef void clear_slots(Frame frame) noexcept
cdef void take_back(Frame frame, int index) noexcept
