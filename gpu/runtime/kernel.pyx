"""Kernels of the device: what a family of kernels writes, and what it gets for nothing.

A kernel is a ``DeviceKernel``: CUDA source text, the names of the kernels in it, and two methods in Cython.

* ``prepare`` calls ``ready`` first, checks shapes, raises what can be raised, and allocates the outputs, as kernels of
  the processor do: ``allocate`` takes memory of the device for cells that are there. Views are made by ``share``.
* ``run`` packs the arguments of a launch in a struct on the stack, and calls ``start``. It takes no Python object, no
  GIL and no lock. A launch is not waited for.

Operands of which the values are read in ``prepare`` are on the host (``examined``, as ever); operands of one element
may be on the host, too, and are passed by value, where the family says so (see ``twins.py``). A launch can fail, so all
these kernels ``may_fail``: they run before COMMIT, and no update is visible if one fails.
"""
from libc.stdlib cimport calloc, free
from numpy cimport npy_intp

from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport Arguments, launch_grid, load_function, read_notes, set_failure
from phintys.vm.abi cimport BOUND, Context, Kernel
from phintys.vm.machine.frame cimport IN_BODY
from phintys.vm.python_api cimport PyErr_SetObject, PyObject

from phintys.gpu.runtime.compiler import compiled


cdef class DeviceKernel(Kernel):
    """A kernel made from CUDA source.

    Attributes
    ----------
    source : str
        The text that is compiled, for the device in use, when the kernel is first prepared.
    names : tuple of str
        The kernels in it that are launched; ``start`` takes their positions.
    tells : bool
        Whether ``run`` may launch with a note (``driver.new_note``), for what is found wrong only there.
    """

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (), BOUND, True
        self.source, self.names, self.loaded = "", (), -1

    def __dealloc__(self):
        free(self.functions)

    cdef int ready(self) except -1 nogil:
        if self.loaded == driver.generation:
            return 0
        with gil:
            return load(self)

    cdef int start(self, int which, npy_intp blocks, int threads, Arguments* arguments) noexcept nogil:
        return self.start_grid(which, blocks, 1, threads, 0, arguments)

    cdef int start_grid(self, int which, npy_intp blocks, npy_intp rows, int threads, int shared,
                        Arguments* arguments) noexcept nogil:
        cdef int error = launch_grid(self.functions[which], blocks, rows, threads, shared, arguments)
        return failed(self, which, error) if error else 0


    cdef int noted(self, Context* context, int error) noexcept nogil:
        # In the body of a loop the note is read at once, so that the error says in which step it was.
        return read_notes() if not error and context.flags & IN_BODY else error

    cdef int told(self, const long long* words) except -1:
        raise NotImplementedError


cdef void raise_told(PyObject* kernel, const long long* words) noexcept with gil:
    """Set the exception; it stays set, as what has read the note returns -1."""
    try:
        (<DeviceKernel>kernel).told(words)
    except Exception as error:
        PyErr_SetObject(type(error), error)


driver.tell_error = raise_told


cdef DeviceKernel piece(str source, tuple names):
    cdef DeviceKernel made = DeviceKernel()
    made.source, made.names = source, names
    return made


cdef int loaded(DeviceKernel kernel) noexcept nogil:
    return 0 if kernel.loaded == driver.generation else load_now(kernel)


cdef int load_now(DeviceKernel kernel) noexcept with gil:
    try:
        return kernel.ready()
    except BaseException as error:
        caught = error
    PyErr_SetObject(type(caught), caught)
    return -1


cdef int failed(DeviceKernel kernel, int which, int error) noexcept nogil:
    with gil:
        name = f"the kernel {kernel.names[which]} of {type(kernel).__name__}".encode()
        return set_failure(error, name)


cdef int load(DeviceKernel kernel) except -1:
    """Compile the source and look up its kernels; equal sources are compiled and loaded once."""
    if kernel.functions == NULL:
        kernel.functions = <void**>calloc(len(kernel.names) + 1, sizeof(void*))
        if kernel.functions == NULL:
            raise MemoryError()
    load_function(compiled(kernel.source), list(kernel.names), kernel.functions)
    kernel.loaded = driver.generation
    return 0
