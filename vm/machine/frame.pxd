"""Frames; see ``frame.pyx``."""
from cpython.ref cimport PyObject
from numpy cimport npy_intp

from phintys.vm.abi cimport CELL_LENT, CELL_READONLY, Cell, Context
from phintys.vm.machine.claims cimport Claim
from phintys.vm.machine.code cimport Code, Instruction
from phintys.vm.pool cimport Buffer

cdef enum:
    CELL_SHOWN = 16                 # a result that may be a view of what others hold
    CELL_LATE = 32                  # a result that is read again after COMMIT
    CELL_CONSTANT = 64              # belongs to the program
    KEPT = CELL_READONLY | CELL_LENT | CELL_LATE    # cells that RESULT does not empty
    WASTE = 4096                    # bytes that a value may hold in vain

cdef struct Block:                  # of code that runs once a call
    long long call                  # the number of the call in which it ran last
    const Instruction* entered      # the NEED that it goes back to

cdef enum Planning:                 # what a frame knows about the sizes of its values, in mode "plan"
    UNKNOWN                         # nothing yet
    WATCHED                         # the last call's shapes are in the cells
    INSTALLED                       # slots are laid out for the shapes in `key`

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
    Block* blocks
    double looked                   # when signals were looked at, in seconds; set while the GIL is released
    PyObject* frame                 # the Frame, borrowed
    Planning planning
    Cell** leaves                   # arguments and shared values, whose shapes choose the plan
    npy_intp* key                   # their shapes in the last call, one after the other
    int n_leaves
    PyObject** watched              # the containers that the program both reads and updates
    long long* seen                 # how often they had changed when they were loaded
    int n_watched
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

cdef void empty_after(Frame frame) noexcept
cdef int reset(Frame frame) except -1
cdef void forget_results(Frame frame) noexcept
cdef int empty_frame(Frame frame) except -1
cdef size_t bytes_kept_by(Frame frame) noexcept
cdef void clear_slots(Frame frame) noexcept
cdef void take_back(Frame frame, int index) noexcept
