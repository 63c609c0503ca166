"""NVIDIA's libraries as kernels of the device use them: nothing is compiled against them.

A ``Library`` is looked for when a kernel that may use it is first prepared: loading takes up to 50 ms. A ``Routine`` is
what a library does for one kernel, which a description of the kernel names: how much scratch memory that takes, and
steps that are put into the queue of work. Where the library is not installed, the configuration does not want it, or
``room`` refuses the operands, the kernel of our own computes.
"""
from numpy cimport npy_intp

from phintys.gpu.runtime cimport driver
from phintys.vm.abi cimport Cell

from phintys.gpu.runtime.libraries import names_of

cdef extern from "dlfcn.h" nogil:
    void* dlopen(const char*, int)
    void* dlsym(void*, const char*)
    enum: RTLD_LAZY, RTLD_LOCAL, RTLD_GLOBAL


cdef class Library:
    """A library of NVIDIA's.

    Parameters
    ----------
    name : str
        As "cusolver".
    names : sequence of str
        Of its functions that are used, in the order of the struct at `functions`.
    needs : sequence of str
        Libraries that it needs, which are loaded before it: a package's library may not find those of others.
    """

    def __init__(self, name, names, needs=()):
        self.name, self.names, self.needs, self.tried = name, names, needs, -1

    cdef int load(self) except -1 nogil:
        if self.tried != driver.generation:
            with gil:
                self.found = self.tried == driver.generation and self.found or open_library(self)
        return 0


cdef bint open_library(Library library) except -1:
    cdef void* opened
    library.tried = driver.generation
    for needed in library.needs:
        for name in names_of(needed):
            if dlopen(name.encode(), RTLD_LAZY | RTLD_GLOBAL) != NULL:
                break
    for name in names_of(library.name):
        opened = dlopen(name.encode(), RTLD_LAZY | RTLD_LOCAL)
        if opened != NULL and look_up(library, opened):
            return driver.enter_device() == 0 and library.begin() == 0
    return False


cdef bint look_up(Library library, void* opened) except -1:
    """Whether it has all functions; an older version may lack some."""
    cdef int index
    for index, name in enumerate(library.names):
        library.functions[index] = dlsym(opened, name.encode())
        if library.functions[index] == NULL:
            return False
    return True


cdef class Routine:
    """What a library does for a kernel."""

    cdef int ready(self) except -1 nogil:
        return 0

    cdef npy_intp room(self, Cell** operands) noexcept nogil:
        return REFUSED

    cdef bint wants(self, int step, Cell** operands) noexcept nogil:
        return True

    cdef int call(self, int step, Cell** operands, char* scratch, npy_intp bytes) noexcept nogil:
        return 0
