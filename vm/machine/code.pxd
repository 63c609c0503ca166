"""Programs in C arrays; see ``code.pyx``."""

from phintys.vm.containers.claims cimport Claim
from phintys.vm.machine.profile cimport Profile
from phintys.vm.python_api cimport PyObject

cdef packed struct Instruction:
    unsigned char op
    unsigned char flags
    unsigned short n
    int a
    int b
    int c

cdef enum:
    LOOKS = 4                       # a bit beside what `prepare` returns: the site is marked

cdef struct Outline:                # of an instruction that runs a kernel or calls `perform`
    int inputs                      # how many of the operands they are
    bint varies                     # the layouts of the outputs depend on values, too
    int first                       # RUN: the position of its PREPARE; others: their own
    int looks                       # LOOKS: the loop looks around here, although the kernel is short; else 0
    size_t private_at               # where the kernel's private memory begins in the frame's

cdef class Code:
    """A Program in C arrays, shared by all frames.

    Parameters
    ----------
    program : Program
    first_whole : int, optional
        The program is the body of a loop, and from this argument on arguments are the same in all steps of a run.
    """
    cdef readonly object program
    cdef Instruction* instructions
    cdef unsigned char* ops         # what PROFILE and FAIL replaced, by position
    cdef int* pool                  # the operand pool: numbers of cells
    cdef Outline* outlines          # by position of the instruction
    cdef size_t private_bytes       # of all kernels
    cdef int most_layouts           # numbers in the shapes and strides of all outputs of any instruction
    cdef int n_instructions, n_cells, n_operands, n_dimensions, n_blocks
    cdef PyObject** kernels
    cdef PyObject** containers
    cdef Claim** updated            # of the containers that STORE writes, by address
    cdef Claim** loaded             # of those that LOAD reads
    cdef PyObject** watched         # containers that are both loaded and stored
    cdef int* watched_cells         # the cells into which they are loaded
    cdef dict known_reads           # (such a cell, a CALL) → whether it may have been read by then
    cdef int n_updated, n_loaded, n_watched, n_arguments
    cdef bint is_body               # of a loop
    cdef int first_whole            # of a loop's body: the first argument that is the same in all steps
    cdef bint reads_wholes          # whether layouts depend on such values
    cdef set fixed, steady          # cells whose values are the same during an epoch; with wholes, in the second set
    cdef int halt                   # the position of HALT
    cdef int first_result           # position of the results' cells in the operand pool
    cdef list lent                  # which results are lent
    cdef list kept
    cdef object planner             # a Planner in mode "plan", else None
    cdef Profile profile            # None: calls are not measured
    cdef bint timed                 # PROFILE has replaced the instructions
    cdef long long spared           # so often FAIL runs what it replaced, before it raises
    cdef int measure(self, bint timed) except -1
    cdef int put_failure(self, int position, long long spared) except -1
    cdef unsigned char _usual(self, int position) noexcept
    cdef int _find_claims(self) except -1
    cdef int _find_watched(self) except -1
    cdef int _find_steady(self) except -1
    cdef int _find_outlines(self) except -1
    cdef bytes _operands_of(self, Instruction* at)
    cdef int _inputs_of(self, int position) except -1
    cdef int _mark_sites(self) except -1
    cdef bint _varies(self, int position) except -1
