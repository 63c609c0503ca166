"""Scalar code on single numbers, for a machine with registers: see ``register_code.pyx``."""
from numpy cimport npy_intp

from phintys.ops.native.loops cimport InnerLoop
from phintys.vm.scalar_steps cimport ScalarSteps

cdef extern from "elementwise/register_machine.h" nogil:
    enum:
        PHINTYS_REGISTER_BYTES
        PHINTYS_CALL_OPERANDS
    ctypedef struct phintys_call:
        void* function
        void* data
        int count
        int registers[PHINTYS_CALL_OPERANDS]
        npy_intp sizes[PHINTYS_CALL_OPERANDS]
    ctypedef struct phintys_register_instruction:
        const void* label
        int out, x, y, z, w
        double a, b
        const phintys_call* call

# One instruction, whose operands are first values and then registers.
cdef class Operation:
    cdef str name
    cdef int out                        # the result, or the lane that is stored to; -1: none
    cdef list operands                  # or the lane that is loaded
    cdef tuple constants
    cdef InnerLoop loop                 # of a call

cdef class RegisterCode:
    cdef list operations
    cdef list register_of               # by value: slots of the scalar code, then what is between instructions of trees
    cdef dict contents                  # of registers that are constants
    cdef list owners                    # keep the data of loops alive
    cdef phintys_register_instruction* code
    cdef phintys_call* calls
    cdef char* registers                # as they are before the first step
    cdef int n_registers
    cdef int append(self, str name, int out, operands, tuple constants=*, InnerLoop loop=*) except -1
    cdef int append_step(self, int slot, InnerLoop loop, tuple operands, list values) except -1
    cdef int assign_registers(self, list last_read, dict next_of) except -1
    cdef int release(self, set values, list free_registers, set waiting, dict next_of) except -1
    cdef int append_end(self, list sizes, dict stores, dict next_of, int condition, str stop) except -1
    cdef int encode(self) except -1
    cdef int write(self, int index, phintys_call* call) except -1

cdef extern from * nogil:
    """
    #define phintys_align_registers(place) \\
        ((char*)(((uintptr_t)(place) + PHINTYS_REGISTER_BYTES - 1) & ~(uintptr_t)(PHINTYS_REGISTER_BYTES - 1)))
    """
    char* phintys_align_registers(void*)

# Do the steps: `registers` begin as those of the code, and are at a multiple of their size.
cdef void run_registers(const phintys_register_instruction* code, char* registers, ScalarSteps* steps) noexcept nogil
