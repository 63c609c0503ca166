"""Samples of multinomial distributions from uniform numbers: ``(probabilities, uniform, n, out)``.

Row r of the probabilities uses the uniform numbers r, r + rows, r + 2 rows, ... A number u selects the first outcome at
which the sum of the probabilities so far exceeds u; sums are in double precision. Nothing is selected if the sum of
all of them does not, which rounding may cause. Rows that are no probabilities are errors.
"""
cimport numpy as cnp
from libc.math cimport fabs
from libc.stdint cimport uint16_t
from numpy cimport npy_intp

from phintys.ops.native.asking cimport ends_after
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.vm.abi cimport BOUND, Cell, Context, Kernel, allocate, cell_size, parallel, scratch
from phintys.vm.python_api cimport PyErr_SetString
from phintys.vm.thresholds cimport LONG_NANOSECONDS, PIECE_NANOSECONDS

cdef extern from "native/half_floats.h" nogil:
    double phintys_from_half(uint16_t half)
    uint16_t phintys_to_half(double value)

cdef struct Work:
    Context* context
    const Cell* probabilities
    const Cell* uniform
    const Cell* out
    npy_intp samples                # of each row
    bint replace
    bint checked                    # a row that has no probabilities is an error
    double* room                    # a row of scratch memory for each worker
    double tolerance                # how far the sum of a row may be from 1
    npy_intp wrong                  # a row that has no probabilities, or -1


cdef inline double float_at(const char* data, int typenum) noexcept nogil:
    if typenum == cnp.NPY_FLOAT64:
        return (<const double*>data)[0]
    if typenum == cnp.NPY_FLOAT32:
        return (<const float*>data)[0]
    return phintys_from_half((<const uint16_t*>data)[0])


cdef inline double rounded(double value, int typenum) noexcept nogil:
    """The value in the dtype of the probabilities."""
    if typenum == cnp.NPY_FLOAT32:
        return <float>value
    return value if typenum == cnp.NPY_FLOAT64 else phintys_from_half(phintys_to_half(value))


cdef inline void store(char* data, int typenum, int itemsize, npy_intp number) noexcept nogil:
    if typenum == cnp.NPY_FLOAT64:
        (<double*>data)[0] = <double>number
    elif typenum == cnp.NPY_FLOAT32:
        (<float*>data)[0] = <float>number
    elif typenum == cnp.NPY_FLOAT16:
        (<uint16_t*>data)[0] = phintys_to_half(<double>number)
    elif typenum == cnp.NPY_BOOL:
        data[0] = number != 0
    elif itemsize == 8:
        (<cnp.npy_int64*>data)[0] = number
    elif itemsize == 4:
        (<cnp.npy_int32*>data)[0] = <cnp.npy_int32>number
    elif itemsize == 2:
        (<cnp.npy_int16*>data)[0] = <cnp.npy_int16>number
    else:
        (<cnp.npy_int8*>data)[0] = <cnp.npy_int8>number


cdef inline double uniform_at(Work* work, npy_intp sample, npy_intp row) noexcept nogil:
    cdef npy_intp position = sample * work.probabilities.shape[0] + row
    return float_at(work.uniform.data + position * work.uniform.strides[0], work.uniform.typenum)


cdef inline bint read_row(Work* work, npy_intp row, double* values, npy_intp* unasked) noexcept nogil:
    """Read a row of probabilities; return whether the call goes on."""
    cdef const Cell* p = work.probabilities
    cdef npy_intp column
    for column in range(p.shape[1]):
        values[column] = float_at(p.data + row * p.strides[0] + column * p.strides[1], p.typenum)
        if ends_after(work.context, unasked, 1):
            return False
    return True


cdef bint accumulate(double* values, npy_intp count) noexcept nogil:
    """Replace probabilities by their sums up to each; returns whether the sums never decrease."""
    cdef double total = 0
    cdef bint grows = True
    cdef npy_intp column
    for column in range(count):
        grows &= values[column] >= 0
        total += values[column]
        values[column] = total
    return grows


cdef inline bint is_wrong(Work* work, const double* sums, npy_intp row, bint grows) noexcept nogil:
    """Whether a row has a negative probability, or a sum that is not 1; it is then noted."""
    if not work.checked or work.probabilities.shape[1] == 0 or (
            grows and fabs(sums[work.probabilities.shape[1] - 1] - 1) <= work.tolerance):
        return False
    work.wrong = row
    return True


cdef npy_intp first_above(const double* sums, npy_intp count, double number, bint grows) noexcept nogil:
    """The position of the first sum above a number; ``count`` if there is none."""
    cdef npy_intp low = 0, middle
    if not grows or count < 8:
        while low < count and not sums[low] > number:
            low += 1
        return low
    while low < count:
        middle = (low + count) // 2
        if sums[middle] > number:
            count = middle
        else:
            low = middle + 1
    return low


cdef void counted_rows(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Numbers of how often each outcome was selected."""
    cdef Work* work = <Work*>argument
    cdef npy_intp outcomes = work.probabilities.shape[1], row, sample, position, unasked = 0
    cdef double* sums = work.room + worker * 2 * outcomes
    cdef npy_intp* counts = <npy_intp*>(sums + outcomes)
    cdef char* out
    cdef bint grows
    for row in range(start, stop):
        if not read_row(work, row, sums, &unasked):
            return
        grows = accumulate(sums, outcomes)
        if is_wrong(work, sums, row, grows):
            return
        for position in range(outcomes):
            counts[position] = 0
            if ends_after(work.context, &unasked, 1):
                return
        for sample in range(work.samples):
            position = first_above(sums, outcomes, uniform_at(work, sample, row), grows)
            if position < outcomes:
                counts[position] += 1
            if ends_after(work.context, &unasked, 1 if grows else position + 1):
                return
        out = work.out.data + row * outcomes * work.out.itemsize
        for position in range(outcomes):
            store(out + position * work.out.itemsize, work.out.typenum, work.out.itemsize, counts[position])
            if ends_after(work.context, &unasked, 1):
                return


cdef void remove(double* values, npy_intp outcomes, npy_intp position, double before, int typenum) noexcept nogil:
    """Give an outcome the probability 0, and the others the sum 1, with the roundings of their dtype."""
    cdef double total = rounded(before, typenum)
    cdef npy_intp column
    values[position] = 0
    for column in range(position, outcomes):
        total = rounded(total + values[column], typenum)
    for column in range(outcomes):
        values[column] = rounded(values[column] / total, typenum)


cdef void chosen_rows(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """The outcomes that were selected, in order; without replacement each at most once."""
    cdef Work* work = <Work*>argument
    cdef npy_intp outcomes = work.probabilities.shape[1], row, sample, position, unasked = 0
    cdef double* values = work.room + worker * 2 * outcomes
    cdef double total, number
    cdef char* out
    for row in range(start, stop):
        if not read_row(work, row, values, &unasked):
            return
        if is_wrong(work, values, row, accumulate(values, outcomes)):
            return
        if not read_row(work, row, values, &unasked):
            return
        out = work.out.data + row * work.samples * work.out.itemsize
        for sample in range(work.samples):
            total, position, number = 0, 0, uniform_at(work, sample, row)
            while position < outcomes:
                total += values[position]
                if total > number:
                    break
                position += 1
            if position < outcomes and not work.replace and sample < work.samples - 1:
                remove(values, outcomes, position, total - values[position], work.probabilities.typenum)
            store(out, work.out.typenum, work.out.itemsize, position if position < outcomes else -1)
            out += work.out.itemsize
            if ends_after(work.context, &unasked, position + 1 if work.replace else 2 * outcomes):
                return


cdef void fail_row(Work* work) noexcept with gil:
    """Set the error for a row that is wrong."""
    cdef const Cell* p = work.probabilities
    values = [float_at(p.data + work.wrong * p.strides[0] + column * p.strides[1], p.typenum)
              for column in range(p.shape[1])]
    shown = ", ".join([f"{value:.6g}" for value in values[:8]]) + (", ..." if len(values) > 8 else "")
    low = min(values)
    what = f"their sum is {sum(values):.6g}, not 1" if low >= 0 else f"{low:.6g} is negative"
    if any([value != value for value in values]):
        what = "they contain NaN"
    message = f"multinomial: row {work.wrong} has no probabilities: {what}: [{shown}]".encode()
    PyErr_SetString(ValueError, message)


cdef class MultinomialKernel(Kernel):
    """See the docstring of the file.

    Parameters
    ----------
    chooses : bool
        The result has the outcomes, a column for each of the n samples; otherwise counts, a column for each outcome.
    replace : bool
        An outcome may be chosen several times.
    checked : bool
        Rows have to be probabilities. Otherwise a number above all sums selects nothing, or the outcome -1.

    Raises
    ------
    ValueError
        Raised by ``run``, if rows are checked, if a probability is negative or NaN, or the sum of a row is not 1, as
        far as rounding allows. Raised by ``prepare`` if there are not n uniform numbers for each row, and if n is
        negative, or larger than the number of outcomes where these are chosen.
    """
    cdef bint chooses, replace, checked

    def __init__(self, bint chooses, bint replace, bint checked):
        self.chooses, self.replace, self.checked = chooses, replace, checked
        self.examined, self.binding, self.may_fail = (2,), BOUND, checked

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* p = operands[0]
        cdef npy_intp samples = integer_at(operands[2], 0)
        cdef npy_intp shape[2]
        if samples < 0 or self.chooses and samples > p.shape[1]:
            with gil:
                raise ValueError("Cannot sample without replacement n samples bigger than the size of the "
                                 f"distribution: n is {samples}, and there are {p.shape[1]} outcomes")
        if operands[1].shape[0] != p.shape[0] * samples:
            with gil:
                raise ValueError(f"unis.shape[0] != pvals.shape[0] * n: {operands[1].shape[0]} uniform numbers, "
                                 f"probabilities of shape {shape_of(p)}, n = {samples}")
        shape[0], shape[1] = p.shape[0], samples if self.chooses else p.shape[1]
        allocate(context, operands[3], shape)
        scratch(context, context.workers * 2 * p.shape[1] * sizeof(double))
        return 1 if p.shape[0] * self.row_time(p, samples) >= LONG_NANOSECONDS else 0

    cdef inline npy_intp row_time(self, const Cell* p, npy_intp samples) noexcept nogil:
        """About how many nanoseconds a row takes."""
        return 20 + (p.shape[1] * (1 + samples if self.chooses else 3) + 10 * samples)

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Work work
        cdef Cell* p = operands[0]
        work.context, work.probabilities, work.uniform, work.out = context, p, operands[1], operands[3]
        work.samples, work.replace, work.room = integer_at(operands[2], 0), self.replace, <double*>context.scratch
        work.checked = self.checked
        work.wrong, work.tolerance = -1, 1e-2 if p.typenum == cnp.NPY_FLOAT16 else 1e-3
        if cell_size(operands[3]):
            parallel(context, chosen_rows if self.chooses else counted_rows, &work, p.shape[0],
                     PIECE_NANOSECONDS // self.row_time(p, work.samples) + 1)
        if work.wrong >= 0:
            fail_row(&work)
            return -1
        return 0
