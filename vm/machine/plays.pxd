"""What the instructions of a call or a step do, noted and done again; see ``plays.pyx``."""
from phintys.vm.abi cimport BoundRun, Cell
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Machine
from phintys.vm.python_api cimport PyObject

cdef struct Play:                   # what one KERNEL calls, or a COPY
    const Instruction* at
    BoundRun bound_run              # NULL: the kernel's `run`
    PyObject* kernel                # NULL, too: a copy
    Cell** operands
    void* private_memory

# Whether all kernels are bound and short, in a program that has no jumps, and memory may stay where it is.
cdef bint can_note(const Machine* machine) noexcept nogil
# Run a KERNEL or a COPY, and note what it does. Returns -1 with an exception.
cdef int note_kernel(Machine* machine, const Instruction* at, Play* to) noexcept nogil
cdef int note_copy(Machine* machine, const Instruction* at, Play* to) noexcept nogil
# Run a DROP.
cdef void drop_values(Machine* machine, const Instruction* at) noexcept nogil
# Do what was noted; returns -1 with an exception, and ``machine.at``, if a kernel failed.
cdef int play_all(Machine* machine, const Play* plays, int count) noexcept nogil
