"""The bytecode loop; see ``interpreter.pyx``."""
from phintys.vm.abi cimport Cell, Context
from phintys.vm.machine.frame cimport Machine
from phintys.vm.python_api cimport PyObject

# Whether a number is zero, of whatever dtype; NaN is not.
cdef bint is_zero(const Cell* cell) noexcept nogil
cdef int execute(Machine* machine) noexcept nogil
# Lets a device begin with what it was given: before COMMIT, and after a call that failed. Set by the runtime of
# devices; NULL: there is none. Returns -1 with an exception set.
cdef int (*submit_device_work)() noexcept nogil
# Waits until a device has done what it was given, so that instructions that are measured have the time of their work;
# returns how many seconds of that the device worked.
cdef double (*wait_for_device_work)() noexcept nogil
# Called after a call that failed: copies from a device that it has begun are not wanted any more.
cdef void (*give_up_copies)(Context* context) noexcept nogil
# Waits for the kernels of this thread that tell later what they find wrong; returns 0, or -1 with an exception set.
cdef int (*read_device_notes)() noexcept nogil
# The kernel that the exception is about, if such a kernel has told it; else NULL.
cdef PyObject* (*blamed_kernel)() noexcept nogil
# Set the exception for a kernel whose `run` returned -1.
cdef void raise_failure(Machine* machine) noexcept with gil
