"""Transfers between host and device, and kernels that only move elements on the device.

To the device: an array without gaps is copied from where it is, another one is packed first. To the host: the elements
in C order; this waits for all work that they depend on. Where only the caller reads them, the copy is begun, and waited
for with all others at the end of the call. Constants are copied to the device once.
"""
cimport numpy as cnp
from numpy cimport npy_intp

import numpy

from phintys.gpu.runtime.copies cimport copy_elements
from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport (
    begin_download, copy_to_host, end_downloads, note_range, read_notes, set_failure, upload)
from phintys.gpu.runtime.mover cimport mover_ready
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport (
    BOUND, BOUND_VIEW, UNBOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, cell_is_contiguous, cell_size,
    device_memory, scratch, share)
from phintys.vm.pool cimport Buffer, buffer_release, buffer_retain

cnp.import_array()


cdef class ToDeviceKernel(Kernel):
    """``(x on the host, out on the device)``."""

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (), UNBOUND, True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        mover_ready()
        allocate(context, operands[1], operands[0].shape)
        if not cell_is_contiguous(operands[0]):
            scratch(context, cell_size(operands[0]) * operands[0].itemsize)
        return 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef const char* elements = source.data
        cdef npy_intp size = cell_size(source) * source.itemsize
        cdef int error
        if not cell_is_contiguous(source):
            copy_strided(source.ndim, source.shape, context.scratch, operands[1].strides, source.data, source.strides,
                         source.itemsize)
            elements = context.scratch
        error = upload(operands[1].buffer, elements, size)
        note_range(operands[1].buffer, elements, size, source.typenum)
        return set_failure(error, b"copying to the device") if error else 0


cdef class ToHostKernel(Kernel):
    """``(x on the device, out on the host)``."""
    cdef bint late                                  # an ArrivalKernel follows

    def __cinit__(self):
        self.examined, self.binding, self.may_fail, self.late = (), UNBOUND, True, False

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        mover_ready()
        allocate(context, operands[1], operands[0].shape)
        return 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* source = operands[0]
        cdef Cell packed
        cdef Buffer* buffer = NULL
        cdef npy_intp size = cell_size(source) * source.itemsize
        cdef const char* elements = source.data
        cdef int error = 0, failed = 0
        if not cell_is_contiguous(source):
            buffer = device_memory.acquire(size if size else 1)
            if buffer == NULL:
                return set_failure(2, b"copying to the host")
            packed = operands[1][0]                 # its shape and strides: C order
            packed.data = elements = buffer.data
            failed = copy_elements(&packed, source)
        if not failed and self.late:
            error = begin_download(operands[1].data, elements, size, context)
        elif not failed:
            error = copy_to_host(operands[1].data, elements, size)
        if buffer != NULL:
            buffer_release(buffer)
        if error or failed:
            return set_failure(error, b"copying to the host") if error else failed
        return 0 if self.late else read_notes()


cdef class LateToHostKernel(ToHostKernel):
    """``(x on the device, out on the host)``: out is there after an ArrivalKernel."""

    def __cinit__(self):
        self.late = True


cdef class ArrivalKernel(Kernel):
    """``(values of LateToHostKernels)``: waits until they are there, and for kernels that may tell what is wrong."""

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (), UNBOUND, True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        return 1

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        return end_downloads(context)


cdef class ConstantKernel(Kernel):
    """``(out on the device)``: the elements of an array, which are copied there by the first call.

    Parameters
    ----------
    value : numpy.ndarray
    """
    cdef cnp.ndarray value
    cdef Buffer* buffer
    cdef long copied

    def __cinit__(self):
        self.examined, self.binding, self.may_fail, self.copied = (), UNBOUND, True, -1

    def __init__(self, value):
        self.value = numpy.ascontiguousarray(value)

    def __dealloc__(self):
        if self.buffer != NULL:
            buffer_release(self.buffer)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if self.copied != driver.generation:
            with gil:
                self.copy()
        return 0

    cdef int copy(self) except -1:
        cdef size_t size = cnp.PyArray_NBYTES(self.value)
        cdef Buffer* buffer = device_memory.acquire(size if size else 1)
        cdef int error
        if buffer == NULL:
            raise MemoryError(f"no memory on the device for a constant of shape {(<object>self.value).shape}")
        error = upload(buffer, <const char*>cnp.PyArray_DATA(self.value), size)
        if error:
            buffer_release(buffer)
            set_failure(error, b"copying a constant to the device")
            return raise_pending()
        if self.buffer != NULL:
            buffer_release(self.buffer)
        self.buffer, self.copied = buffer, driver.generation
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* cell = operands[0]
        cdef Buffer* old = cell.buffer
        cdef npy_intp stride = cell.itemsize
        cdef int axis
        for axis in range(cell.ndim - 1, -1, -1):
            cell.shape[axis], cell.strides[axis] = cnp.PyArray_DIM(self.value, axis), stride
            stride *= cell.shape[axis]
        buffer_retain(self.buffer)
        cell.buffer, cell.data = self.buffer, self.buffer.data
        if old != NULL:
            buffer_release(old)
        return 0


cdef int raise_pending() except -1:
    return -1


cdef class GpuContiguousKernel(Kernel):
    """The array itself if it is in C order, else a copy: ``(x, out)``."""

    def __cinit__(self):
        self.examined, self.may_fail = (), True

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int axis
        if not cell_is_contiguous(operands[0]):
            allocate(context, operands[1], operands[0].shape)
            return 0
        for axis in range(operands[0].ndim):
            operands[1].shape[axis], operands[1].strides[axis] = operands[0].shape[axis], operands[0].strides[axis]
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        if not cell_is_contiguous(operands[0]):
            return copy_elements(operands[1], operands[0])
        share(context, operands[1], operands[0], operands[0].data)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        return BOUND_VIEW if cell_is_contiguous(operands[0]) else BOUND
