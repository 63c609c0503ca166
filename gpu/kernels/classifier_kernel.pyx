"""The gradient of a classifier's last layer: a product, softmax with a bias, and the gradient of cross-entropies with
labels, by one kernel of the device where the product is narrow.
"""
from libc.string cimport memset
from numpy cimport npy_intp

import numpy

from phintys.gpu.kernels.product_kernel cimport (
    DEEP, MOST_NARROW, GpuProductKernel, NarrowProductKernel, Product, columns_of, put_product)
from phintys.gpu.kernels.rows.softmax_kernel cimport put_labels, raise_bad_label
from phintys.gpu.runtime.driver cimport Arguments, new_note, pass_notes, put, put_address, put_integer
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel
from phintys.vm.abi cimport (
    BOUND, CELL_DEVICE, UNBOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, drop)
from phintys.vm.python_api cimport PyObject


cdef struct Between:                # the values between the kernels
    Cell cells[2]
    npy_intp dimensions[2][4]


cdef class GpuClassifierKernel(DeviceKernel):
    """``(x, weights, bias, dy, labels, gradient)``.

    Parameters
    ----------
    product : GpuProductKernel
    softmax, gradient : Kernel
        What is done in turn where the product is not narrow.
    dtype, label : str
        Of the matrices, and of the labels.
    as_index, leading : bool
        See ``CrossentropyGradKernel``.
    rank_of_dy : int
    """
    cdef GpuProductKernel product
    cdef Kernel softmax, gradient
    cdef int rank_of_dy, typenum
    cdef bint as_index, leading
    cdef object dtype, label
    cdef list narrow
    cdef void* narrow_kernels[MOST_NARROW + 1]

    def __init__(self, product, softmax, gradient, dtype, label, bint as_index, bint leading, int rank_of_dy):
        self.tells, self.product, self.softmax, self.gradient = True, product, softmax, gradient
        self.dtype, self.label, self.as_index, self.leading = dtype, label, as_index, leading
        self.rank_of_dy, self.typenum, self.narrow = rank_of_dy, numpy.dtype(dtype).num, []
        memset(self.narrow_kernels, 0, sizeof(self.narrow_kernels))

    cdef bint is_narrow(self, Cell** operands, Product* product) noexcept nogil:
        """Whether one kernel does it; wrong shapes are found by those of the processor's order."""
        cdef Cell* of_product[3]
        cdef npy_intp rows = operands[0].shape[0]
        of_product[0], of_product[1], of_product[2] = operands[0], operands[1], operands[5]
        self.product.sort(of_product, product)
        return (self.product.form_of(product) == DEEP and operands[1].shape[0] == product.k
                and operands[2].shape[0] == product.n
                and (operands[4].shape[0] == rows or (self.leading and operands[4].shape[0] < rows))
                and (self.rank_of_dy == 0 or operands[3].shape[0] in (1, operands[4].shape[0])))

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Product product
        cdef npy_intp shape[2]
        cdef int columns
        if not self.is_narrow(operands, &product):
            return self.in_turn(context, operands)
        shape[0], shape[1], columns = product.m, product.n, columns_of(&product)
        allocate(context, operands[5], shape)
        if self.narrow_kernels[columns] == NULL:
            with gil:
                kernel = NarrowProductKernel(self.dtype, columns, None, self.label)
                self.narrow.append(kernel)
                self.narrow_kernels[columns] = <void*>kernel
        return (<NarrowProductKernel>self.narrow_kernels[columns]).ready()

    cdef int in_turn(self, Context* context, Cell** operands) except -1 nogil:
        """The three kernels."""
        cdef Between between
        cdef Cell* cells[4]
        cdef int index, failed
        memset(&between, 0, sizeof(Between))
        for index in range(2):
            between.cells[index].ndim, between.cells[index].typenum = 2, self.typenum
            between.cells[index].itemsize, between.cells[index].flags = self.product.itemsize, CELL_DEVICE
            between.cells[index].shape = between.dimensions[index]
            between.cells[index].strides = between.dimensions[index] + 2
        try:
            cells[0], cells[1], cells[2] = operands[0], operands[1], &between.cells[0]
            self.product.prepare(context, cells)
            failed = self.product.run(context, cells)
            if not failed:
                cells[0], cells[1], cells[2] = &between.cells[0], operands[2], &between.cells[1]
                self.softmax.prepare(context, cells)
                failed = self.softmax.run(context, cells)
            if not failed:
                cells[0], cells[1], cells[2], cells[3] = operands[3], &between.cells[1], operands[4], operands[5]
                self.gradient.prepare(context, cells)
                failed = self.gradient.run(context, cells)
                pass_notes(<PyObject*>self.gradient, <PyObject*>self)
        finally:
            drop(context, &between.cells[0])
            drop(context, &between.cells[1])
        return -1 if failed else 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        cdef Product product
        return BOUND if self.is_narrow(operands, &product) else UNBOUND

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Product product
        cdef Arguments arguments
        cdef Cell* dy = operands[3]
        cdef double zero = 0
        cdef bint here = dy.flags & CELL_DEVICE != 0
        cdef unsigned long long note
        cdef void* narrow
        if not self.is_narrow(operands, &product):
            return 0                                # `prepare` has computed all
        note = new_note(<PyObject*>self)
        if note == 0:
            return -1
        put_product(&arguments, &product, <const char*>self.product.one, self.product.itemsize)
        put_address(&arguments, operands[2])
        put_integer(&arguments, operands[2].strides[0] if operands[2].shape[0] != 1 else 0)
        put_integer(&arguments, operands[4].shape[0])
        put_integer(&arguments, <npy_intp>dy.data if here else 0)
        put(&arguments, <const char*>&zero if here else dy.data, self.product.itemsize)
        put_integer(&arguments, dy.strides[0] if self.rank_of_dy and dy.shape[0] != 1 else 0)
        put_labels(&arguments, operands[4], self.as_index, note)
        narrow = self.narrow_kernels[columns_of(&product)]
        return self.noted(context, (<NarrowProductKernel>narrow).start(
            DEEP, (<NarrowProductKernel>narrow).blocks_of(&product, DEEP), THREADS, &arguments))

    cdef int told(self, const long long* words) except -1:
        return raise_bad_label(words, self.as_index)
