"""Batch normalization on the device: each channel is a row, of the axes that are averaged over.

The processor's kernel checks shapes and allocates the results.
"""
from numpy cimport npy_intp

from phintys.gpu.kernels.rows.batch_normalization_source import gradient, inference, training
from phintys.gpu.kernels.rows.rows_kernel cimport MOST_POINTERS, Layout, RowsKernel
from phintys.gpu.runtime.driver cimport Arguments, put_value
from phintys.ops.nnet.batch_normalization_kernel import (
    BatchNormInferenceKernel, BatchNormTrainGradKernel, BatchNormTrainKernel)
from phintys.vm.abi cimport CELL_DEVICE, Cell, Context, Kernel
from phintys.vm.limits cimport MAX_RANK

KINDS = {"training": (BatchNormTrainKernel, training), "inference": (BatchNormInferenceKernel, inference),
         "gradient": (BatchNormTrainGradKernel, gradient)}
PARAMETERS = "dtype", "axes", "whole", "running"

cdef enum:
    MOST_OPERANDS = 16


cdef class GpuBatchNormKernel(RowsKernel):
    """One of the three kernels.

    Parameters
    ----------
    kind : {"training", "inference", "gradient"}
    arguments, named
        Of the processor's kernel.
    operands : sequence of (dtype, rank, at_host)
        Inputs, then results.

    Raises
    ------
    NoSource
        If there is no text for these dtypes.
    """
    cdef Kernel host
    cdef int operands
    cdef bint passed[MOST_OPERANDS]
    cdef int axes[MAX_RANK]                 # those of channels, then those that are averaged over

    def __init__(self, str kind, arguments, named, operands):
        cdef int index
        host_class, describe = KINDS[kind]
        self.host = host_class(*arguments, **dict(named))
        given = {"whole": True, "running": False} | dict(zip(PARAMETERS, arguments)) | dict(named)
        kept, streamed = describe(given, operands)
        self.operands = len(operands)
        for index in range(self.operands):      # the gradient's epsilon is not passed
            self.passed[index] = kind != "gradient" or index != 5
        order = [axis for axis in range(kept.rank) if axis not in given["axes"]] + list(given["axes"])
        for index, axis in enumerate(order):
            self.axes[index] = axis
        self.private_bytes = self.host.private_bytes
        self.set_rows(kept, [[axis if axis < rank else -1 for axis in order]
                             for (_, rank, at_host), passed in zip(operands, list(self.passed)) if passed
                             and not at_host], streamed)

    cdef void choose_cells(self, Cell** operands, Cell** cells, npy_intp* shape) noexcept nogil:
        """The operands on the device, and the shape with the averaged axes last."""
        cdef int index, count = 0
        for index in range(self.operands):
            if self.passed[index] and operands[index].flags & CELL_DEVICE:
                cells[count] = operands[index]
                count += 1
        for index in range(self.rank):
            shape[index] = operands[0].shape[self.axes[index]]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* cells[MOST_POINTERS]
        cdef npy_intp shape[MAX_RANK]
        self.host.prepare(context, operands)
        self.choose_cells(operands, cells, shape)
        return self.prepare_rows(cells, shape)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* cells[MOST_POINTERS]
        cdef npy_intp shape[MAX_RANK]
        cdef Arguments arguments
        cdef Layout layout
        cdef int index
        self.choose_cells(operands, cells, shape)
        self.put_rows(cells, shape, &layout, &arguments)
        if layout.rows == 0:
            return 0
        for index in range(self.operands):
            if self.passed[index] and not operands[index].flags & CELL_DEVICE:
                put_value(&arguments, operands[index])
        return self.start_rows(&layout, &arguments)
