"""Fourier transforms of all lines along an axis: ``(x, length, factor, out)``.

The transforms are NumPy's (pocketfft), found as the inner loops of its generalized ufuncs. Such a loop transforms
several lines at any distance, pads or cuts them to the length of the result, and multiplies by a factor. It needs no
GIL. Where NumPy has no such ufuncs, there is no kernel, and the op calls ``numpy.fft``.
"""
cimport numpy as cnp
import importlib

import numpy
from libc.math cimport log2
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_size, parallel
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.python_api cimport PyErr_Occurred, PyObject
from phintys.vm.thresholds cimport LONG_FOURIER, PIECE_FOURIER

cnp.import_array()

cdef extern from "numpy/ufuncobject.h" nogil:
    ctypedef void (*LoopFunction "PyUFuncGenericFunction")(char** arguments, const npy_intp* dimensions,
                                                         const npy_intp* steps, void* data) noexcept nogil
    ctypedef struct PyUFuncObject:
        LoopFunction* functions
        void* const* data

# Kind of transform → NumPy's ufunc; that of real numbers has one for even and one for odd lengths.
UFUNCS = {"forward": ("fft",), "backward": ("ifft",), "real": ("rfft_n_even", "rfft_n_odd"), "hermitian": ("irfft",)}

# From this size on, memory may be missing; asking about it takes the GIL.
cdef enum:
    LARGE = 1 << 20                    # bytes of a line


def has_loops():
    """Whether NumPy has the ufuncs."""
    try:
        module = importlib.import_module("numpy.fft._pocketfft_umath")
    except ImportError:
        return False
    return all([len(getattr(module, name, numpy.add).types) and hasattr(module, name)
                for names in UFUNCS.values() for name in names])


cdef struct Transform:
    LoopFunction function
    void* data
    char* source
    char* target
    char* factor
    int outer                          # dimensions besides the axis
    npy_intp shape[MAX_RANK]
    npy_intp source_strides[MAX_RANK]
    npy_intp target_strides[MAX_RANK]
    npy_intp lengths[2]                # of a line of the source and the target
    npy_intp steps[2]                  # within a line


cdef void transform_lines(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The lines [start, stop), those along the last of the outer dimensions in one call."""
    cdef Transform* transform = <Transform*>argument
    cdef char* arguments[3]
    cdef npy_intp dimensions[3]
    cdef npy_intp steps[5]
    cdef npy_intp left, index
    cdef int axis, last = transform.outer - 1
    steps[1] = 0
    while start < stop:
        arguments[0], arguments[1], arguments[2] = transform.source, transform.factor, transform.target
        left, dimensions[0], steps[0], steps[2] = start, 1, 0, 0
        for axis in range(last, -1, -1):
            index = left % transform.shape[axis]
            left //= transform.shape[axis]
            arguments[0] += index * transform.source_strides[axis]
            arguments[2] += index * transform.target_strides[axis]
            if axis == last:
                dimensions[0] = min(stop - start, transform.shape[axis] - index)
                steps[0], steps[2] = transform.source_strides[axis], transform.target_strides[axis]
        start += dimensions[0]
        dimensions[1], dimensions[2] = transform.lengths[0], transform.lengths[1]
        steps[3], steps[4] = transform.steps[0], transform.steps[1]
        transform.function(arguments, dimensions, steps, transform.data)


cdef bint an_error_is_set() noexcept with gil:
    return PyErr_Occurred() != NULL


cdef class TransformKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    kind : {"forward", "backward", "real", "hermitian"}
        From complex numbers to complex ones, with a negative or a positive exponent; from real numbers to half of
        their spectrum; from half of the spectrum of real numbers to these numbers.
    dtype : str
        Of the input: float32, float64, complex64 or complex128.
    axis : int
        Not negative.
    """
    cdef LoopFunction functions[2]     # for even and odd lengths
    cdef void* data[2]
    cdef int axis
    cdef bint is_real                  # the result is half of a spectrum

    def __cinit__(self):
        self.examined, self.binding, self.may_fail = (1,), BOUND, True

    def __init__(self, kind, dtype, int axis):
        module = importlib.import_module("numpy.fft._pocketfft_umath")
        cdef int number, index
        cdef object ufunc
        cdef PyUFuncObject* table
        for number in range(2):
            ufunc = getattr(module, UFUNCS[kind][number % len(UFUNCS[kind])])
            index = [types[0] for types in ufunc.types].index(numpy.dtype(dtype).char)
            table = <PyUFuncObject*><PyObject*>ufunc
            self.functions[number] = table.functions[index]
            self.data[number] = <void*>table.data[index] if table.data != NULL else NULL
        self.axis, self.is_real = axis, kind == "real"

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp length = integer_at(operands[1], 0)
        cdef int axis
        if length < 1:
            with gil:
                raise ValueError(f"Invalid number of FFT data points ({length}) specified.")
        for axis in range(operands[0].ndim):
            shape[axis] = operands[0].shape[axis]
        shape[self.axis] = length // 2 + 1 if self.is_real else length
        allocate(context, operands[3], shape)
        return cell_size(operands[3]) * log2(length + 1.0) >= LONG_FOURIER

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* x = operands[0]
        cdef Cell* out = operands[3]
        cdef npy_intp length = integer_at(operands[1], 0), lines = 1
        cdef int axis
        cdef Transform transform
        if cell_size(out) == 0:
            return 0
        transform.function, transform.data = self.functions[length & 1], self.data[length & 1]
        transform.source, transform.factor, transform.target = x.data, operands[2].data, out.data
        transform.lengths[0], transform.lengths[1] = x.shape[self.axis], out.shape[self.axis]
        if x.data == out.data:                          # in place: strides differ at most where a length is 1, but
            x = out                                     # NumPy's loops refuse that
        transform.steps[0], transform.steps[1] = x.strides[self.axis], out.strides[self.axis]
        transform.outer = 0
        for axis in range(x.ndim):
            if axis != self.axis and x.shape[axis] != 1:
                transform.shape[transform.outer] = x.shape[axis]
                transform.source_strides[transform.outer] = x.strides[axis]
                transform.target_strides[transform.outer] = out.strides[axis]
                transform.outer += 1
                lines *= x.shape[axis]
        if x.shape[self.axis] == 0:                     # NumPy's loops for real numbers read the first element
            memset(out.data, 0, cell_size(out) * out.itemsize)
            return 0
        parallel(context, transform_lines, &transform, lines,
                 <npy_intp>(PIECE_FOURIER / (length * log2(length + 1.0))) + 1)
        return -1 if length * out.itemsize >= LARGE and an_error_is_set() else 0
