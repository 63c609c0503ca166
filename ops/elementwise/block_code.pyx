"""Scalar code, prepared to run over blocks that fit in the L1 cache: a call of an inner loop for each step.

``BlockCode`` evaluates constant steps, drops steps without readers, and assigns each intermediate to a register (a
block of scratch memory) by liveness: a register is free again after its last reader. The step of a result writes
directly into the result's memory. BlockCode handles neither shapes nor loops over dimensions: the kernel that runs
it sets a pointer and a stride for each operand and calls ``run_block`` once per block. Block code does not change after
construction, so threads may share it.
"""
cimport cython
cimport numpy as cnp
from libc.string cimport memcpy
from numpy cimport npy_intp

import numpy

from phintys.graph import hooks
from phintys.ops.elementwise.arithmetic_tree import merge_arithmetic
from phintys.ops.elementwise.scalar_code import ScalarCode, numbered
from phintys.ops.native.loops cimport InnerLoop, find_loop
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

cnp.import_array()

cdef enum:
    MAXIMUM_OPERANDS = 32      # of one step, the result included; see run_block


cdef object evaluate(InnerLoop loop, list operands):
    """The 0-d result of one step on 0-d arrays."""
    cdef char* arguments[MAXIMUM_OPERANDS]
    cdef npy_intp strides[MAXIMUM_OPERANDS]
    cdef npy_intp n = 1
    cdef int operand, count = len(operands)
    result = numpy.empty((), loop.dtypes[count])
    for operand in range(count):
        arguments[operand] = <char*>cnp.PyArray_DATA(<cnp.ndarray>operands[operand])
        strides[operand] = 0
    arguments[count] = <char*>cnp.PyArray_DATA(<cnp.ndarray>result)
    strides[count] = (<cnp.ndarray>result).dtype.itemsize
    loop.function(arguments, &n, strides, loop.data)
    return result


cdef void* table(list memory, list numbers, object dtype):
    """A C array of the numbers, kept alive by ``memory``."""
    cdef cnp.ndarray array = numpy.array(numbers, dtype=dtype)
    memory.append(array)
    return cnp.PyArray_DATA(array)


@cython.final
cdef class Filled:
    """How many elements a step computes, and up to the end of which vectors registers are filled after it."""
    cdef int constants, registers      # the first operand of each
    cdef list numbers                  # of the registers, by operand
    cdef dict vectors                  # register: the logarithm of the number of elements of a vector

    def __cinit__(self, int constants, int registers, list numbers):
        self.constants, self.registers, self.numbers, self.vectors = constants, registers, numbers, {}

    cdef int vector_at(self, int operand) except -1:
        """The logarithm for what an operand has."""
        if self.constants <= operand < self.registers:
            return SIZES
        return self.vectors.get(self.number(operand), 0)

    cdef object number(self, int operand):
        """The register that is this operand; None for inputs and results."""
        return self.numbers[operand - self.registers] if 0 <= operand - self.registers < len(self.numbers) else None

    cdef int choose_size(self, BlockTables* blocks, BlockCall* call, InnerLoop loop, list operands) except -1:
        """Choose the size of the next call.

        Example: ``exp(x) * exp(x) + y`` of 5 numbers, in vectors of 4. ``exp`` reads an input, which has only 5;
        but its result goes to a register, so its last vector is stored as a whole (``filling``), and 8 numbers are
        there, of which 3 mean nothing. A step that reads only such registers, and vectors, computes 8, by two whole
        vectors. One that reads ``y`` or writes a result computes 5.
        """
        cdef object register = self.number(operands[len(operands) - 1])
        cdef int size
        call.size = 0
        if register is None:
            return 0
        size = (loop.vector // numpy.dtype(loop.dtypes[0]).itemsize).bit_length() - 1 if loop.vector else 0
        if min([self.vector_at(operand) for operand in operands[:len(operands) - 1]]) >= size:
            call.size = size
        elif loop.filling != NULL:
            call.data = loop.filling
        else:
            size = 0
        self.vectors[register] = size
        blocks.in_vectors |= size > 0
        return 0


cdef class BlockCode:
    """The calls for scalar code over operands of one rank.

    Parameters
    ----------
    code : ScalarCode
    patterns : list of tuple of bool
        Broadcastable pattern of each input, all of one length.

    Raises
    ------
    TypeError
        For a loop that does not exist.
    ValueError
        For inputs of different ranks.
    """

    def __cinit__(self, code, list patterns):
        self.memory = []
        self.rank = len(patterns[0]) if patterns else 0
        if self.rank > MAX_RANK:
            raise ValueError(f"an operand has {self.rank} dimensions; at most {MAX_RANK} are possible")
        if len(patterns) != len(code.input_dtypes):
            raise ValueError(f"{len(patterns)} broadcastable patterns for {len(code.input_dtypes)} inputs")
        for index, pattern in enumerate(patterns):
            if len(pattern) != self.rank:
                raise ValueError(f"input {index} has {len(pattern)} dimensions, input 0 has {self.rank}")
        self.code = with_copies(with_loops(code))
        self.value_dtypes = [code.dtypes[slot] for slot in code.outputs]
        self.number_operands()
        self.write_tables(patterns)

    cdef int number_operands(self) except -1:
        """Assign registers, and numbers to all operands."""
        cdef BlockTables* blocks = &self.tables
        code = self.code
        registers, blocks.registers, blocks.register_size = assign_registers(code)
        sized = {slot: (number, numpy.dtype(code.dtypes[slot]).itemsize) for slot, number in registers.items()}
        register_operands = sorted(set(sized.values()))
        blocks.register_numbers = <int*>table(self.memory, [number for number, size in register_operands], numpy.intc)
        blocks.register_strides = <int*>table(self.memory, [size for number, size in register_operands], numpy.intc)
        blocks.register_operands = len(register_operands)
        blocks.inputs, blocks.constants = len(code.input_dtypes), len(code.constants)
        blocks.results = len(code.outputs)
        first_result = code.first_step + blocks.register_operands
        operand_of = dict(zip(range(code.first_step), range(code.first_step)))
        operand_of.update({slot: code.first_step + register_operands.index(place) for slot, place in sized.items()})
        operand_of.update({slot: first_result + number for number, slot in enumerate(code.outputs)})
        self.calls = [(loop, [operand_of[operand] for operand in operands] + [operand_of[slot]])
                      for slot, (loop, operands, dtypes) in enumerate(code.steps, code.first_step)]
        blocks.operand_count = first_result + blocks.results
        blocks.small = -1 if blocks.operand_count > SMALL_OPERANDS else (
            (SMALL_REGISTERS // (blocks.registers * blocks.register_size) if blocks.registers else 1 << 20) & ~15)
        return 0

    cdef int write_tables(self, list patterns) except -1:
        cdef BlockTables* blocks = &self.tables
        cdef int index, first = 0
        cdef InnerLoop loop
        cdef Filled filled
        cdef cnp.ndarray constant
        sizes = [numpy.dtype(dtype).itemsize for dtype in self.code.input_dtypes]
        result_sizes = [numpy.dtype(dtype).itemsize for dtype in self.value_dtypes]
        blocks.input_sizes = <int*>table(self.memory, sizes, numpy.intc)
        blocks.result_sizes = <int*>table(self.memory, result_sizes, numpy.intc)
        blocks.operand_size = sum(sizes) + sum(result_sizes) + blocks.registers * blocks.register_size
        blocks.memory_size = sum(sizes) + sum(result_sizes)
        blocks.broadcastable = <unsigned long long*>table(
            self.memory, [sum([1 << axis for axis, flag in enumerate(pattern) if flag]) for pattern in patterns],
            numpy.uint64)
        blocks.read_later = <unsigned long long*>table(self.memory, later_reads(self.code), numpy.uint64)
        blocks.constant_values = <char*>table(self.memory, [0] * (2 * blocks.constants), numpy.uint64)
        for index in range(blocks.constants):
            constant = self.code.constants[index]
            memcpy(blocks.constant_values + index * CONSTANT_BYTES, cnp.PyArray_DATA(constant),
                   constant.dtype.itemsize)
        numbers = [operand for loop, operands in self.calls for operand in operands]
        blocks.operands = <int*>table(self.memory, numbers, numpy.intc)
        blocks.call_count = len(self.calls)
        blocks.calls = <BlockCall*>table(self.memory, [0] * <Py_ssize_t>(blocks.call_count * sizeof(BlockCall)),
                                         numpy.uint8)
        blocks.cost, blocks.in_vectors = 0, False
        filled = Filled(blocks.inputs, blocks.inputs + blocks.constants,
                        [blocks.register_numbers[index] for index in range(blocks.register_operands)])
        for index in range(blocks.call_count):
            loop, operands = self.calls[index]
            blocks.calls[index].function = loop.function
            blocks.calls[index].data = loop.data
            blocks.calls[index].first = first
            blocks.calls[index].count = len(operands)
            filled.choose_size(blocks, &blocks.calls[index], loop, operands)
            blocks.cost += loop.cost
            first += len(operands)
        self.vectors = [1 << blocks.calls[index].size for index in range(blocks.call_count)]


def with_loops(code):
    """The code with loops in place of ufuncs and names, constants in place of steps on constants, and arithmetic merged
    into trees."""
    cdef InnerLoop loop
    values, steps = code.by_slot()
    for slot, (operation, operands, signature) in list(steps.items()):
        loop = find_loop(operation, signature)
        if len(signature) > MAXIMUM_OPERANDS:
            raise TypeError(f"{loop.name} has {len(signature)} operands; at most {MAXIMUM_OPERANDS} are possible")
        steps[slot] = loop, operands, signature
        if all([operand in values for operand in operands]):
            values[slot] = evaluate(loop, [values[operand] for operand in operands])
            del steps[slot]
    return merge_arithmetic(numbered(code.input_dtypes, values, steps, code.outputs))


cdef object with_copies(code):
    """Append a copying step for each result that is an input, a constant, or equal to an earlier result."""
    steps, outputs = list(code.steps), []
    for slot in code.outputs:
        if slot < code.first_step or slot in outputs:
            dtypes = code.dtypes[slot], code.dtypes[slot]
            steps.append((find_loop("copy", dtypes), [slot], dtypes))
            slot = code.first_step + len(steps) - 1
        outputs.append(slot)
    return ScalarCode(code.input_dtypes, code.constants, steps, outputs)


cdef list later_reads(code):
    """For each input, a bit mask of the results that are written before the input's last reader runs."""
    return [sum([1 << number for number, slot in enumerate(code.outputs) if slot < last and number < 64])
            for last in code.last_reader[:len(code.input_dtypes)]]


cdef tuple assign_registers(code):
    """({slot: register}, number of registers, bytes per element) for the steps that are not results."""
    cdef InnerLoop loop
    registers, free, last_reader = {}, [], code.last_reader
    count, size = 0, 1
    for slot, (loop, operands, _) in enumerate(code.steps, code.first_step):
        released = [registers[operand] for operand in set(operands)
                    if operand in registers and last_reader[operand] == slot]
        if loop.overwrites:
            free += released
        if slot not in code.outputs:
            size = max(size, numpy.dtype(code.dtypes[slot]).itemsize)
            if not free:
                free.append(count)
                count += 1
            registers[slot] = free.pop()
        if not loop.overwrites:
            free += released
    return registers, count, size


# ---- shapes and axes -------------------------------------------------------------------------------------------------
def length_mismatch(lengths, is_one, int rank, int axis):
    """Theano's error for the first pair of inputs whose lengths along an axis differ; and advice, where NumPy would
    broadcast a length of 1.

    Parameters
    ----------
    lengths : sequence of int
        Of the inputs along the axis.
    is_one : sequence of bool
        Whether their types say that it is 1.
    rank, axis : int

    Returns
    -------
    ValueError
    """
    first = None
    for index, length in enumerate(lengths):
        if is_one[index] and length != 1:
            return ValueError(f"Input dimension mis-match. (input[{index}].shape[{axis}] = {length}, but it is "
                              "declared broadcastable, of length 1)")
        if is_one[index]:
            continue
        if first is None:
            first = index
        elif length != lengths[first]:
            return ValueError(f"Input dimension mis-match. (input[{first}].shape[{axis}] = {lengths[first]}, "
                              f"input[{index}].shape[{axis}] = {length})"
                              f"{about_ones(lengths, first, index, rank, axis)}")


cdef str about_ones(lengths, int first, int second, int rank, int axis):
    cdef int short = first if lengths[first] == 1 else second
    if lengths[short] != 1:
        return ""
    declared = f"declare input[{short}] as T.{'row' if axis == 0 else 'col'}, or " if rank == 2 else ""
    return (f". A length of 1 is repeated only where the type says that it is always 1: {declared}use "
            f"T.addbroadcast(x, {axis})"
            + ("" if hooks.broadcast_advice is None else hooks.broadcast_advice(axis, rank)))


cdef int fail_shapes(BlockTables* blocks, Cell** operands, int rank, int axis) except -1 with gil:
    cdef int index
    raise length_mismatch([operands[index].shape[axis] for index in range(blocks.inputs)],
                          [blocks.broadcastable[index] >> axis & 1 for index in range(blocks.inputs)], rank, axis)


cdef int broadcast_shape(BlockTables* blocks, Cell** operands, int rank, npy_intp* shape) except -1 nogil:
    """The common shape of the inputs. Raises ValueError."""
    cdef int axis, index
    cdef npy_intp length, found
    for axis in range(rank):
        found = -1
        for index in range(blocks.inputs):
            length = operands[index].shape[axis]
            if blocks.broadcastable[index] >> axis & 1:
                if length != 1:
                    return fail_shapes(blocks, operands, rank, axis)
            elif found < 0:
                found = length
            elif found != length:
                return fail_shapes(blocks, operands, rank, axis)
        shape[axis] = 1 if found < 0 else found
    return 0


cdef unsigned long long axes_mask(axes, int rank) except? 0:
    cdef unsigned long long mask = 0
    for axis in axes:
        if not 0 <= axis < rank or mask >> <int>axis & 1:
            raise ValueError(f"axes {tuple(axes)} are not distinct axes of {rank} dimensions")
        mask |= <unsigned long long>1 << <int>axis
    return mask


cdef int kept_dimensions(int rank, unsigned long long mask, bint keepdims, const npy_intp* shape, npy_intp* kept_shape,
                         npy_intp* kept, npy_intp* reduced) noexcept nogil:
    """Write the output's shape; multiply ``kept`` and ``reduced`` by the lengths of kept and reduced axes; returns the
    rank of the output."""
    cdef int axis, count = 0
    for axis in range(rank):
        if mask >> axis & 1:
            reduced[0] *= shape[axis]
            if keepdims:
                kept_shape[count] = 1
                count += 1
        else:
            kept[0] *= shape[axis]
            kept_shape[count] = shape[axis]
            count += 1
    return count
