"""The operands of elementwise kernels whose sample is drawn block by block: a part of the modules of such kernels."""

cdef enum:
    DRAWN = 512                     # numbers in a block: two lanes
    MOST_PLACES = 64                # operands, constants and registers of the steps
    DRAWN_REGISTERS = 24576         # bytes

cdef void gather(ElementwiseKernel elementwise, int place, int typenum, Cell** others, Cell** results, Cell* sample,
                 npy_intp* lengths, Cell** cells) noexcept nogil:
    """The operands of the elementwise kernel. ``lengths`` has room for the shape and strides of the sample, which is
    input ``place``."""
    cdef Program* program = &elementwise.program.program
    cdef int index
    memset(sample, 0, sizeof(Cell))
    sample.ndim, sample.typenum, sample.itemsize = elementwise.program.rank, typenum, program.input_sizes[place]
    sample.shape, sample.strides = lengths, lengths + MAX_RANK
    for index in range(program.inputs):
        cells[index] = sample if index == place else others[index - (index > place)]
    for index in range(program.results):
        cells[program.inputs + index] = results[index]


cdef bint is_flat(ElementwiseKernel elementwise, int place, Cell** cells, npy_intp* block) noexcept nogil:
    """Whether blocks of the sample meet blocks of all other operands; sets their length."""
    cdef Program* program = &elementwise.program.program
    cdef npy_intp count = cell_size(cells[place])
    cdef int index
    if program.place_count > MOST_PLACES:
        return False
    block[0] = DRAWN
    if program.registers * program.register_size * DRAWN > DRAWN_REGISTERS:
        block[0] = (DRAWN_REGISTERS // (program.registers * program.register_size)) & ~<npy_intp>15
    for index in range(program.inputs + program.results):
        if index != place and not cell_is_contiguous(cells[index]):
            return False
        if cell_size(cells[index]) != count and (cell_size(cells[index]) != 1 or index >= program.inputs):
            return False
    return block[0] >= 32


cdef int check_operands(ElementwiseKernel elementwise, int place, Cell** cells) except -1 nogil:
    """Raise if an input has neither the lengths of the sample nor, where its type says so, the length 1."""
    cdef Program* program = &elementwise.program.program
    cdef const Cell* sample = cells[place]
    cdef int index, axis
    for index in range(program.inputs):
        for axis in range(sample.ndim):
            if cells[index].shape[axis] != sample.shape[axis] and not program.broadcastable[index] >> axis & 1:
                with gil:
                    raise ValueError(f"Input dimension mis-match. (an operand of shape {shape_of(cells[index])}, "
                                     f"a sample of shape {shape_of(sample)})")
    return 0
