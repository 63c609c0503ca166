"""Elementwise work on numbers while they are drawn: a part of ``draw_kernel.pyx``.

A block of numbers is drawn into memory that stays in the L1 cache, and the steps of an elementwise kernel run over it,
so the sample is never stored. This requires that results and all other inputs are contiguous, or inputs of one element.
Else the whole sample is drawn into scratch memory, and the elementwise kernel runs as usual.
"""

cdef enum:
    DRAWN = 512                     # numbers in a block: two lanes
    MOST_OPERANDS = 64              # operands, constants and registers of the steps
    DRAWN_REGISTERS = 24576         # bytes

cdef struct DrawnWork:
    PyObject* kernel                # a DrawnElementwiseKernel; its C methods need no GIL
    bitgen_t* bits
    BlockTables* blocks
    char** data                     # of the inputs of the elementwise kernel, and then of the results
    bint* moves                     # whether an input has more than one element
    npy_intp block
    bint narrow


cdef void drawn_piece(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """A piece of numbers that can be counted ahead."""
    cdef DrawnWork* work = <DrawnWork*>argument
    cdef uint64_t state[7]
    cdef bitgen_t bits
    phintys_pcg64_after(<const uint64_t*>work.bits.state, start, work.narrow, state)
    bits = phintys_bit_generator(state)
    drawn_blocks(work, &bits, start, stop)


cdef void drawn_blocks(DrawnWork* work, bitgen_t* bits, npy_intp start, npy_intp stop) noexcept nogil:
    """Draw a block, and run the steps on it, until all are done."""
    cdef BlockTables* blocks = work.blocks
    cdef char* pointers[MOST_OPERANDS]
    cdef npy_intp strides[MOST_OPERANDS]
    cdef char registers[DRAWN_REGISTERS + 64]
    cdef double numbers[DRAWN]
    cdef int index
    cdef int position = (<DrawnElementwiseKernel>work.kernel).position
    cdef npy_intp count
    set_operands(blocks, pointers, strides, <char*>((<size_t>registers + 63) & ~<size_t>63), work.block)
    for index in range(blocks.inputs):
        strides[index] = blocks.input_sizes[index] if work.moves[index] else 0
        pointers[index] = work.data[index] + start * strides[index]
    pointers[position], strides[position] = <char*>numbers, blocks.input_sizes[position]
    set_results(blocks, pointers, strides, work.data + blocks.inputs, start)
    while start < stop:
        count = min(stop - start, work.block)
        (<DrawnElementwiseKernel>work.kernel).fill_standard(bits, work.narrow, count, <char*>numbers)
        run_block(blocks, pointers, strides, count)
        start += count
        advance(blocks, pointers, strides, count, True)
        pointers[position] = <char*>numbers             # of each block


cdef class DrawnElementwiseKernel(DrawKernel):
    """``(state, size, parameter, ..., input, ..., new state, result, ...)``: what an elementwise kernel makes of the
    inputs and of numbers that are drawn.

    Parameters
    ----------
    name, kind, parameters
        As of `DrawKernel`, for a distribution that is drawn without its parameters.
    position : int
        Which input of the elementwise kernel is the sample.
    typenum : int
        NumPy's number of the sample's dtype.
    elementwise : ElementwiseKernel

    Raises
    ------
    ValueError
        Raised by ``prepare`` as by the two kernels.
    """
    cdef ElementwiseKernel elementwise
    cdef int position, typenum

    def __init__(self, name, int kind, parameters, int position, int typenum, ElementwiseKernel elementwise):
        super().__init__(name, kind, parameters)
        if self.kind_of_function != FILL:
            raise TypeError(f"the numbers of {name} are not drawn in blocks")
        self.position, self.typenum, self.elementwise = position, typenum, elementwise

    cdef inline int others(self) noexcept nogil:
        """How many inputs the elementwise kernel has beside the sample."""
        return self.elementwise.blocks.tables.inputs - 1

    cdef void gather(self, Cell** operands, Cell* sample, npy_intp* lengths, Cell** cells) noexcept nogil:
        """The operands of the elementwise kernel. ``lengths`` has room for the shape and strides of the sample."""
        cdef BlockTables* blocks = &self.elementwise.blocks.tables
        cdef int index, first = 2 + self.count
        memset(sample, 0, sizeof(Cell))
        sample.ndim, sample.typenum, sample.itemsize = self.elementwise.blocks.rank, self.typenum, 8
        if self.typenum == cnp.NPY_FLOAT32:
            sample.itemsize = 4
        sample.shape, sample.strides = lengths, lengths + MAX_RANK
        for index in range(blocks.inputs):
            cells[index] = sample
            if index != self.position:
                cells[index] = operands[first]
                first += 1
        for index in range(blocks.results):
            cells[blocks.inputs + index] = operands[first + 1 + index]

    cdef bint is_flat(self, Cell** cells, npy_intp* block) noexcept nogil:
        """Whether blocks of the sample meet blocks of all other operands; sets their length."""
        cdef BlockTables* blocks = &self.elementwise.blocks.tables
        cdef npy_intp count = cell_size(cells[self.position])
        cdef int index
        if blocks.operand_count > MOST_OPERANDS:
            return False
        block[0] = DRAWN
        if blocks.registers * blocks.register_size * DRAWN > DRAWN_REGISTERS:
            block[0] = (DRAWN_REGISTERS // (blocks.registers * blocks.register_size)) & ~<npy_intp>15
        for index in range(blocks.inputs + blocks.results):
            if index != self.position and not cell_is_contiguous(cells[index]):
                return False
            if cell_size(cells[index]) != count and (cell_size(cells[index]) != 1 or index >= blocks.inputs):
                return False
        return block[0] >= 32

    cdef int check_operands(self, Cell** cells) except -1 nogil:
        """Raise if an input has neither the lengths of the sample nor, where its type says so, the length 1."""
        cdef BlockTables* blocks = &self.elementwise.blocks.tables
        cdef const Cell* sample = cells[self.position]
        cdef int index, axis
        for index in range(blocks.inputs):
            for axis in range(sample.ndim):
                if cells[index].shape[axis] != sample.shape[axis] and not blocks.broadcastable[index] >> axis & 1:
                    with gil:
                        raise ValueError(f"Input dimension mis-match. (an operand of shape {shape_of(cells[index])}, "
                                         f"a sample of shape {shape_of(sample)})")
        return 0

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell sample
        cdef npy_intp lengths[2 * MAX_RANK]
        cdef Cell* cells[MOST_OPERANDS]
        cdef npy_intp block, count
        cdef int number
        self.gather(operands, &sample, lengths, cells)
        self.check(operands, sample.ndim, lengths)
        set_contiguous_strides(&sample)
        self.check_operands(cells)
        allocate(context, operands[2 + self.count + self.others()], operands[0].shape)
        self.elementwise.prepare(context, cells)
        count = cell_size(&sample)
        if not self.is_flat(cells, &block):
            scratch(context, count * sample.itemsize)
        if count < LONG_DRAW:
            return 0
        return 1 if self.kind == PHINTYS_PCG64 else RUNS_ALONE

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Cell sample
        cdef npy_intp lengths[2 * MAX_RANK]
        cdef Cell* cells[MOST_OPERANDS]
        cdef char* data[MOST_OPERANDS]
        cdef bint moves[MOST_OPERANDS]
        cdef BlockTables* blocks = &self.elementwise.blocks.tables
        cdef Cell* advanced = operands[2 + self.count + self.others()]
        cdef bitgen_t bits = generator_of_copy(operands[0], advanced, self.kind)
        cdef DrawnWork work
        cdef npy_intp count, position
        cdef int index
        self.gather(operands, &sample, lengths, cells)
        # The shape of the results is that of the sample: `prepare` and the types of the op have seen to that.
        memcpy(lengths, cells[blocks.inputs].shape, sample.ndim * sizeof(npy_intp))
        set_contiguous_strides(&sample)
        count = cell_size(&sample)
        if not self.is_flat(cells, &work.block):
            sample.data = context.scratch
            self.draw_standard(context, &bits, &sample)
            self.elementwise.run(context, cells)
            return 0
        for index in range(blocks.inputs + blocks.results):
            data[index], moves[index] = cells[index].data, cell_size(cells[index]) != 1
        work.kernel, work.bits, work.blocks = <PyObject*>self, &bits, blocks
        work.data, work.moves, work.narrow = data, moves, self.typenum == cnp.NPY_FLOAT32
        if self.can_count_ahead() and count > LONG_DRAW:
            parallel(context, drawn_piece, &work, count,
                     <npy_intp>(PIECE_NANOSECONDS / (0.5 + nanoseconds(blocks, count) / (count + 1))) + 1)
            phintys_pcg64_after(<uint64_t*>bits.state, count, work.narrow, <uint64_t*>bits.state)
        else:
            position = 0
            while position < count and not (position and interrupted(context)):
                drawn_blocks(&work, &bits, position, min(count, position + UNASKED))
                position += UNASKED
        return 0
