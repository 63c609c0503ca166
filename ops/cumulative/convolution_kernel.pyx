"""The convolution of two vectors: ``(a, v, out)``, all of one dtype; ``out[k]`` is the sum of ``a[i] v[k - i]``.

``numpy.convolve`` and products of polynomials use it. The inner loop runs along the longer vector, so each element of
the shorter one is a factor that stays in a register; sums are in the order of the shorter one, whatever the lengths.
"""
cimport numpy as cnp
import numpy
from libc.string cimport memset
from numpy cimport npy_intp

from phintys.ops.native.asking cimport data_without_gaps
from phintys.vm.abi cimport BOUND, RUNS_ALONE, Cell, Context, Kernel, allocate, cell_is_contiguous, interrupted, scratch
from phintys.vm.thresholds cimport LONG_MATRIX

cdef enum:
    UNASKED = 1048576               # products between two questions whether the call is to end

ctypedef fused number:
    float
    double
    float complex
    double complex
    cnp.npy_int64


cdef void add_products(Context* context, const number* longer, npy_intp n, const number* shorter, npy_intp m,
                       number* out) noexcept nogil:
    """Add ``longer``, multiplied by each element of ``shorter``, at that element's position: the compiler can vectorise
    the inner loop."""
    cdef npy_intp i, j, asked = max(UNASKED // n, <npy_intp>1)
    cdef number factor
    cdef number* position
    for j in range(m):
        factor, position = shorter[j], out + j
        for i in range(n):
            position[i] += longer[i] * factor
        if j % asked == 0 and interrupted(context):
            return


cdef class VectorConvolutionKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    dtype : {"float32", "float64", "complex64", "complex128", "int64"}

    Raises
    ------
    ValueError
        Raised by ``prepare`` if a vector is empty.
    """
    cdef int typenum

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype):
        self.typenum = numpy.dtype(dtype).num

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp n = operands[0].shape[0], m = operands[1].shape[0], length = n + m - 1, room = 0
        if n == 0 or m == 0:
            with gil:
                raise ValueError(f"convolve: {'v' if n else 'a'} cannot be empty")
        allocate(context, operands[2], &length)
        if not cell_is_contiguous(operands[0]):
            room = n * operands[0].itemsize
        if not cell_is_contiguous(operands[1]):
            room += m * operands[1].itemsize
        scratch(context, room)
        return RUNS_ALONE if n * m >= LONG_MATRIX else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp n = operands[0].shape[0], m = operands[1].shape[0]
        cdef char* room = context.scratch
        cdef char* longer = data_without_gaps(context, operands[0], room)
        cdef char* shorter
        cdef char* out = operands[2].data
        if longer == room:
            room += n * operands[0].itemsize
        shorter = data_without_gaps(context, operands[1], room)
        if n < m:
            longer, shorter, n, m = shorter, longer, m, n
        memset(out, 0, (n + m - 1) * operands[2].itemsize)
        if self.typenum == cnp.NPY_FLOAT64:
            add_products(context, <const double*>longer, n, <const double*>shorter, m,
                         <double*>out)
        elif self.typenum == cnp.NPY_FLOAT32:
            add_products(context, <const float*>longer, n, <const float*>shorter, m,
                         <float*>out)
        elif self.typenum == cnp.NPY_COMPLEX128:
            add_products(context, <const double complex*>longer, n, <const double complex*>shorter, m,
                         <double complex*>out)
        elif self.typenum == cnp.NPY_COMPLEX64:
            add_products(context, <const float complex*>longer, n, <const float complex*>shorter, m,
                         <float complex*>out)
        else:
            add_products(context, <const cnp.npy_int64*>longer, n, <const cnp.npy_int64*>shorter, m,
                         <cnp.npy_int64*>out)
        return 0
