"""Kernels that workers run side by side; see ``group.pyx``."""

from phintys.vm.abi cimport Cell, Context
from phintys.vm.python_api cimport PyObject

cdef enum:
    LARGEST_GROUP = 16

cdef struct Member:
    PyObject* kernel
    Cell** operands
    void* private_memory       # see `Context.private_memory`
    char* scratch              # its own, while the others run
    size_t scratch_size
    bint alone                 # its `run` uses one thread, and is long enough for a worker
    bint continues             # the branch of the member before it

cdef struct Group:
    Context* context
    int count
    Member members[LARGEST_GROUP]

ctypedef int (*Preparation)(PyObject* kernel, Context* context, Cell** operands) noexcept nogil
# `Kernel.prepare`. When it raises, it returns -1 with the exception set; the GIL is not needed to notice that.
cdef Preparation prepare

# Prepare the next member; returns what `Kernel.prepare` does. The GIL is taken only to raise.
cdef int prepare_member(Group* group, PyObject* kernel, Cell** operands, void* private_memory,
                        bint continues) noexcept nogil
# Run all members, those that are alone at the beginning of their branches on the workers.
cdef void run_group(Group* group) noexcept nogil
# Give back what the members had; to be called in any case.
cdef void leave_group(Group* group) noexcept nogil
