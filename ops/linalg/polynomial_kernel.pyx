"""Polynomials with a vector of coefficients: values, ``(p, x, out)``, and sums of powers, ``(g, x, terms, out)``."""
cimport numpy as cnp
import numpy
from libc.string cimport memcpy
from numpy cimport npy_intp

from phintys.ops.native.asking cimport data_without_gaps
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.ops.native.sets cimport PHINTYS_SETS, usable_set
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_size, parallel, scratch
from phintys.vm.thresholds cimport LONG_CUMULATIVE

cnp.import_array()

cdef extern from "linalg/polynomial_loops.h" nogil:
    void (*phintys_horner[2][PHINTYS_SETS])(const void* p, npy_intp terms, const void* x, void* out, npy_intp first,
                                            npy_intp count) noexcept nogil
    void (*phintys_power_sums[2][PHINTYS_SETS])(const void* g, const void* x, npy_intp count, double* out,
                                                npy_intp terms) noexcept nogil

cdef enum:
    MULTIPLICATIONS = 10               # for what is counted as one element


cdef inline npy_intp rounded(npy_intp size) noexcept nogil:
    return (size + 63) & ~<npy_intp>63


cdef struct Part:
    const char* p
    npy_intp terms
    const char* x
    char* out
    bint double_precision


cdef void horner_part(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    cdef Part* part = <Part*>argument
    phintys_horner[part.double_precision][usable_set()](part.p, part.terms, part.x, part.out, start, stop - start)


cdef class HornerKernel(Kernel):
    """The values of a polynomial at all elements; the coefficient of the highest power comes first.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of all operands.
    """
    cdef bint double_precision

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    def __init__(self, dtype):
        self.double_precision = numpy.dtype(dtype).itemsize == 8

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[1]
        allocate(context, operands[2], x.shape)
        scratch(context, rounded(operands[0].shape[0] * x.itemsize) + rounded(cell_size(x) * x.itemsize))
        return cell_size(x) * (operands[0].shape[0] + MULTIPLICATIONS) >= LONG_CUMULATIVE * MULTIPLICATIONS

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Part part
        cdef char* room = context.scratch
        part.terms, part.out, part.double_precision = operands[0].shape[0], operands[2].data, self.double_precision
        part.p = data_without_gaps(context, operands[0], room)
        part.x = data_without_gaps(context, operands[1], room + rounded(part.terms * operands[0].itemsize))
        parallel(context, horner_part, &part, cell_size(operands[1]),
                 LONG_CUMULATIVE * MULTIPLICATIONS // (part.terms + MULTIPLICATIONS) + 64)
        return 0


cdef class PowerSumsKernel(Kernel):
    """The sums of g x^k over all elements, for k from the highest power to 0.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of all operands but the number of terms.
    """
    cdef bint double_precision

    def __cinit__(self):
        self.examined, self.binding = (2,), BOUND

    def __init__(self, dtype):
        self.double_precision = numpy.dtype(dtype).itemsize == 8

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef npy_intp terms = integer_at(operands[2], 0)
        cdef int axis
        for axis in range(operands[0].ndim):
            if operands[0].shape[axis] != operands[1].shape[axis]:
                with gil:
                    raise ValueError(f"PowerSums: the factors have shape {shape_of(operands[0])}, the numbers whose "
                                     f"powers they are for {shape_of(operands[1])}")
        allocate(context, operands[3], &terms)
        scratch(context, 2 * rounded(cell_size(operands[0]) * operands[0].itemsize) + rounded(terms * sizeof(double)))
        return cell_size(operands[0]) * (terms + MULTIPLICATIONS) >= LONG_CUMULATIVE * MULTIPLICATIONS

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef npy_intp terms = operands[3].shape[0], count = cell_size(operands[0]), term
        cdef npy_intp size = rounded(count * operands[0].itemsize)
        cdef char* g = data_without_gaps(context, operands[0], context.scratch)
        cdef char* x = data_without_gaps(context, operands[1], context.scratch + size)
        cdef double* sums = <double*>(context.scratch + 2 * size)
        phintys_power_sums[self.double_precision][usable_set()](g, x, count, sums, terms)
        if self.double_precision:
            memcpy(operands[3].data, sums, terms * sizeof(double))
        else:
            for term in range(terms):
                (<float*>operands[3].data)[term] = <float>sums[term]
        return 0
