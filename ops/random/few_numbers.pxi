"""Few numbers of a RandomState, drawn without a copy of its state: a part of ``draw_kernel.pyx``.

The state has 2.5 KB, and a copy takes as long as to draw ten numbers. So these kernels draw from the state as it is and
return how it changes, in two words, which are stored inside a cell. The change is made after COMMIT, in place.
"""

cdef enum:
    MERSENNE_WORDS = 316


cdef class FewNumbersKernel(DrawKernel):
    """``(state, size, parameter, ..., change, sample)``: uniform or normal numbers of float64, all with the same
    parameters.

    Parameters
    ----------
    name, kind, parameters
        As of `DrawKernel`, for ``randomstate_uniform`` or ``randomstate_normal``.

    Raises
    ------
    ValueError
        Raised by ``prepare`` as by `DrawKernel`.
    """

    def __init__(self, name, int kind, parameters):
        super().__init__(name, kind, parameters)
        if self.kind_of_function != MERSENNE_UNIFORM and self.kind_of_function != MERSENNE_NORMAL:
            raise TypeError(f"few numbers of {name} are not drawn without a copy of the state")

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* sample = operands[3 + self.count]
        cdef npy_intp shape[MAX_RANK]
        cdef int number
        self.check(operands, sample.ndim, shape)
        for number in range(self.count):
            if cell_size(operands[2 + number]) != 1:
                with gil:
                    raise ValueError(f"{self.name}: {self.names[number]} has to be one number")
        allocate(context, sample, shape)
        shape[0] = PHINTYS_CHANGE
        allocate(context, operands[2 + self.count], shape)
        return 1 if cell_size(sample) >= LONG_DRAW else 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell* state = operands[0]
        cdef Cell* sample = operands[3 + self.count]
        cdef uint64_t* change = <uint64_t*>operands[2 + self.count].data
        cdef bint normal = self.kind_of_function == MERSENNE_NORMAL
        cdef npy_intp count = cell_size(sample)
        cdef double first = (<double*>operands[2].data)[0], second = (<double*>operands[3].data)[0]
        cdef uint64_t copy[MERSENNE_WORDS]
        if not normal:
            second -= first
        if state.strides[0] == sizeof(uint64_t) and phintys_few_numbers(
                <uint64_t*>state.data, change, normal, count, first, second, <double*>sample.data):
            return 0
        copy_state(state, copy)
        copy[0] = PHINTYS_MT19937
        phintys_make_valid(copy)
        phintys_numbers_of_copy(copy, change, normal, count, first, second, <double*>sample.data)
        return 0


cdef class StateChangeKernel(Kernel):
    """``(state, change, new state)``: the state after numbers were drawn by `FewNumbersKernel`.

    Raises
    ------
    ValueError
        Raised by ``prepare`` if the state is that of another generator, or the change has another length.
    """

    def __cinit__(self):
        self.examined, self.binding = (), BOUND

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        check_state(operands[0], PHINTYS_MT19937, "a change of a state")
        if operands[1].shape[0] != PHINTYS_CHANGE:
            with gil:
                raise ValueError(f"a change of a state has {PHINTYS_CHANGE} words, not {operands[1].shape[0]}")
        allocate(context, operands[2], operands[0].shape)
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef uint64_t* new = <uint64_t*>operands[2].data
        cdef const char* change = operands[1].data
        if operands[2].data != operands[0].data:
            copy_state(operands[0], new)
        phintys_change_state(new, (<uint64_t*>change)[0], (<uint64_t*>(change + operands[1].strides[0]))[0])
        return 0
