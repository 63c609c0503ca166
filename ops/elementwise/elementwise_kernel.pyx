"""The elementwise kernel: runs a list of steps in one pass over operands of any rank.

Results have no gaps, and all have the same order of dimensions: that of the inputs if all inputs have the same order
(as in NumPy), else C order. The work is therefore one flat range of elements, which is divided into blocks that fit in
the L1 cache. First, adjacent dimensions are joined where all operands can be traversed with one stride. If one
dimension is left, every operand is described by a pointer and a stride. If several are left and rows are long, a block
ends where its row ends. If rows are short, or an operand is transposed, operands that are not contiguous along the
range are gathered into a register at the start of each block, so that steps never run on short rows, nor on elements
that are far apart.

The kernel has no per-call state: layouts and registers are on the stack of the thread that runs it.
"""
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.elementwise.block_program cimport (
    SIZES, SMALL_PLACES, SMALL_REGISTERS, BlockProgram, Program, Step as BlockStep, broadcast_shape, nanoseconds,
    run_steps, set_places, set_sizes)
from phintys.ops.elementwise.scalar_code cimport (
    PHINTYS_REGISTER_BYTES, code_of_program, phintys_align_registers, phintys_scalar_instruction, run_scalars)
from phintys.ops.native.loops cimport copy_function
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport (
    BOUND, Binding, Cell, Context, Kernel, Step, allocate, allocate_in_order, cell_is_contiguous, cell_size, parallel)
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.scalar_steps cimport Lane, ScalarSteps
from phintys.vm.thresholds cimport LONG_NANOSECONDS, PIECE_NANOSECONDS

cdef extern from "alloca.h" nogil:
    void* alloca(size_t)

# What fits in a register of the machine for single numbers.
NUMBERS = frozenset([f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)]) | {
    "bool", "complex64", "complex128"}

cdef enum:
    BLOCK_BYTES = 24576        # of all operands of a block: three quarters of the smallest L1 cache
    REGISTER_BYTES = 24576     # of all registers on a thread's stack
    LONGEST_BLOCK = 2048
    LONG_ROW = 112             # elements: shorter rows are gathered; measured with 1 to 6 steps (90 to 250)

cdef enum Loaded:              # whether an input is gathered into a register:
    IN_PLACE                   # no
    EACH_BLOCK                 # at the start of each block
    ONE_ROW                    # the same: its rows are all one, so blocks that begin with a row have the same elements

# Maps the flat range of elements to the inputs. Dimension 0 is the innermost.
cdef struct Layout:
    Program* program
    int ndim
    bint whole_rows            # there are several rows, and a block ends where its row ends
    int loaded_size            # bytes per element in the registers of loaded inputs
    npy_intp size
    npy_intp shape[MAX_RANK]
    npy_intp* strides          # strides[dimension * inputs + input], in bytes
    char* loaded               # per input: a Loaded
    char** data                # memory of the inputs, then of the results


cdef class ElementwiseKernel(Kernel):
    """Apply steps to operands with broadcasting.

    Parameters
    ----------
    inputs : list of (str, tuple of bool)
        dtype and broadcastable pattern of each input, all of the same rank.
    constants : list of numpy.ndarray
        0-d arrays; their slots follow the inputs' slots.
    steps : list of (numpy.ufunc or str, sequence of int, sequence of str)
        The loop, the slots of its operands, and the dtypes of the operands and the result. The result of step ``k`` is
        slot ``len(inputs) + len(constants) + k``.
    outputs : list of int
        The slots written to the output operands, which get the full shape in the order of the inputs.

    Raises
    ------
    TypeError
        If a loop does not exist for the dtypes, or an operand does not have the dtype given in its step.
    ValueError
        If ranks differ or a slot does not exist. ``prepare`` raises it if lengths differ along a dimension that is
        not declared broadcastable.
    """

    def __init__(self, inputs, constants, steps, outputs):
        if not outputs:
            raise ValueError("an elementwise kernel needs at least one output")
        self.program = BlockProgram(list(inputs), list(constants), list(steps), list(outputs))
        full = [index for index, (_, pattern) in enumerate(inputs) if len(pattern) > 1 and not any(pattern)]
        self.leader = full[0] if full else -1
        self.examined = ()
        self.room = max(room_of(&self.program.program), layout_bytes(&self.program.program, self.program.rank))
        self.set_scalars(list(inputs))

    cdef int set_scalars(self, list inputs) except -1:
        """Make the code for single numbers, if all operands have one element in each call."""
        dtypes = [dtype for dtype, _ in inputs] + self.program.value_dtypes
        if all([all(pattern) for _, pattern in inputs]) and all([dtype in NUMBERS for dtype in dtypes]):
            self.scalars = code_of_program(self.program, dtypes)
            self.room = max(self.room, sizeof(Numbers) + len(dtypes) * <int>sizeof(Lane)
                            + (self.scalars.n_registers + 1) * <int>PHINTYS_REGISTER_BYTES)
        return 0

    @property
    def providers(self):
        """Names of loops, and whose they are, in the order of the steps."""
        return [(loop.name, loop.provider) for loop, _ in self.program.steps]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Program* program = &self.program.program
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = 1
        cdef int index, axis, rank = self.program.rank
        if rank:
            broadcast_shape(program, operands, rank, shape)
        if (self.leader < 0 or operands[self.leader].strides[rank - 1] == program.input_sizes[self.leader]
                or not allocate_alike(program, context, operands, self.leader, shape)):
            for index in range(program.results):
                allocate(context, operands[program.inputs + index], shape)
        for axis in range(rank):
            size *= shape[axis]
        return nanoseconds(program, size) > LONG_NANOSECONDS

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef Program* program = &self.program.program
        cdef Layout* layout
        if not run_small(program, operands, context.workers):
            layout = <Layout*>alloca(layout_bytes(program, self.program.rank))
            lay_out(layout, program, operands, self.program.rank)
            run_layout(layout, context, operands)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, Step* step) noexcept nogil:
        if self.scalars is not None:
            bind_numbers(self, context)
            step[0] = run_numbers
        elif bind_small(&self.program.program, operands, context):
            step[0] = run_bound_step if self.program.program.step_count == 1 else run_bound
        elif not may_overwrite_too_early(&self.program.program, operands):
            lay_out(<Layout*>context.room, &self.program.program, operands, self.program.rank)
            step[0] = run_laid_out
        return BOUND


# ---- the order of the results ----------------------------------------------------------------------------------------
cdef inline npy_intp distance(const Cell* cell, int axis) noexcept nogil:
    """The distance in bytes between adjacent elements along an axis."""
    return cell.strides[axis] if cell.strides[axis] >= 0 else -cell.strides[axis]


cdef bint sort_axes(const Cell* cell, int* order) noexcept nogil:
    """Sort the dimensions by distance, those of length 1 first, then the largest distances; returns whether the order
    differs from C order."""
    cdef bint changed = False
    cdef int axis, place
    for axis in range(cell.ndim):
        place = axis
        while place > 0 and cell.shape[order[place - 1]] != 1 and (
                cell.shape[axis] == 1 or distance(cell, order[place - 1]) < distance(cell, axis)):
            order[place] = order[place - 1]
            place -= 1
        order[place] = axis
        changed |= place != axis
    return changed


cdef bint choose_order(Program* program, Cell** operands, int leader, int* order) noexcept nogil:
    """Compute the leader's order; returns whether it differs from C order and all other inputs fit it."""
    cdef const Cell* cell
    cdef int index, place, rank = operands[leader].ndim, outer
    if not sort_axes(operands[leader], order):
        return False
    for index in range(program.inputs):
        cell = operands[index]
        outer = -1
        for place in range(rank):
            if cell.shape[order[place]] == 1:
                continue
            if outer >= 0 and distance(cell, outer) < distance(cell, order[place]):
                return False
            outer = order[place]
    return True


cdef int allocate_in_chosen_order(Program* program, Context* context, Cell** operands, int leader,
                                  const npy_intp* shape) except -1 nogil:
    """Allocate the results in the order that the inputs agree on; returns 0 if that is C order."""
    cdef int order[MAX_RANK]
    cdef int index
    if not choose_order(program, operands, leader, order):
        return 0
    for index in range(program.results):
        allocate_in_order(context, operands[program.inputs + index], shape, order)
    return 1


# The call goes through a pointer to keep the compiler from inlining it into the code for C order.
cdef int (*allocate_alike)(Program*, Context*, Cell**, int, const npy_intp*) except -1 nogil
allocate_alike = allocate_in_chosen_order


cdef inline bint is_long(Program* program, npy_intp size) noexcept nogil:
    """Whether the work may be worth a second thread: that is so from half a piece on if workers are awake."""
    return nanoseconds(program, size) > PIECE_NANOSECONDS / 2


cdef inline bint is_for_workers(Program* program, int workers, npy_intp size) noexcept nogil:
    return workers > 1 and is_long(program, size)


cdef inline bint is_one_block(Program* program, Cell** operands, int workers, npy_intp size, npy_intp most,
                              npy_intp* strides) noexcept nogil:
    """Whether there are at most ``most`` elements, and inputs are contiguous or have one element; sets the inputs'
    strides."""
    cdef int index
    if size > most or size == 0 or is_for_workers(program, workers, size):
        return False
    for index in range(program.inputs):
        strides[index] = program.input_sizes[index]
        if size == 1 or cell_size(operands[index]) == 1:
            strides[index] = 0
        elif cell_size(operands[index]) != size or not cell_is_contiguous(operands[index]):
            return False
    return True


cdef inline bint run_small(Program* program, Cell** operands, int workers) noexcept nogil:
    """Run everything in one block if there are few elements and each input is contiguous or has one element; returns
    whether this was possible."""
    cdef char* pointers[SMALL_PLACES]
    cdef npy_intp strides[SMALL_PLACES]
    cdef char registers[SMALL_REGISTERS + 64]
    cdef npy_intp size = cell_size(operands[program.inputs])
    cdef int index, place
    if (not is_one_block(program, operands, workers, size, program.small, strides)
            or overwrites_too_early(program, operands)):
        return False
    for index in range(program.inputs):
        pointers[index] = operands[index].data
    set_places(program, pointers, strides, <char*>((<uintptr_t>registers + 63) & ~<uintptr_t>63),
               (size + 15) & ~<npy_intp>15)
    place = program.place_count - program.results
    for index in range(program.results):
        pointers[place + index] = operands[program.inputs + index].data
        strides[place + index] = program.result_sizes[index]
    run_steps(program, pointers, strides, size)
    return True


cdef inline bint is_lost(Program* program, Cell** operands, int index) noexcept nogil:
    """Whether a result that has the memory of an input (its donor) is written before the input's last reader runs."""
    cdef unsigned long long later = program.read_later[index]
    cdef int result = 0
    while later:
        if later & 1 and operands[index].data == operands[program.inputs + result].data:
            return True
        later >>= 1
        result += 1
    return False


cdef inline bint overwrites_too_early(Program* program, Cell** operands) noexcept nogil:
    cdef int index
    for index in range(program.inputs):
        if is_lost(program, operands, index):
            return True
    return False


# ---- bound to a layout -----------------------------------------------------------------------------------------------
# A program of one block with all that does not depend on addresses worked out. After it, in the kernel's room: the
# arguments and strides of all steps' loops, one after the other, then the addresses to fill in.
cdef struct Bound:
    Program* program
    npy_intp sizes[SIZES]
    size_t register_bytes
    char** arguments
    npy_intp* strides
    Address* addresses
    int operands               # of the addresses, the first so many are those of operands,
    int all                    # and the others, up to so many, those of registers

cdef struct Address:
    int place                  # among the arguments
    int source                 # number of the operand, or offset from the first register


cdef int room_of(Program* program) noexcept nogil:
    """The bytes that `bind_small` needs."""
    cdef int index, count = 0
    for index in range(program.step_count):
        count += program.steps[index].count
    return sizeof(Bound) + count * <int>(sizeof(char*) + sizeof(npy_intp) + sizeof(Address))


cdef bint may_overwrite_too_early(Program* program, Cell** operands) noexcept nogil:
    """Whether a result could take an input's memory before the input's last reader runs."""
    cdef int index, result
    for index in range(program.inputs):
        for result in range(program.results):
            if (result >= 64 or program.read_later[index] >> result & 1) and (
                    operands[program.inputs + result].donor != NULL):
                return True
    return False


cdef npy_intp most_of_one_block(Program* program, Cell** operands) noexcept nogil:
    """The most elements of a program that is bound; -1: it has too many places."""
    cdef npy_intp input_size = 0
    cdef int index
    if program.small < 0 or program.registers == 0:
        return program.small
    for index in range(program.inputs):
        if cell_size(operands[index]) != 1:
            input_size += program.input_sizes[index]
    return longest_block(program, input_size, 0)


cdef bint bind_small(Program* program, Cell** operands, Context* context) noexcept nogil:
    """Write down a block's work for `run_bound`; returns whether it is one block whatever the addresses."""
    cdef Bound* bound = <Bound*>context.room
    cdef char* pointers[SMALL_PLACES]
    cdef npy_intp strides[SMALL_PLACES]
    cdef int index, place, count = 0, first_result = program.place_count - program.results
    cdef npy_intp size = cell_size(operands[program.inputs])
    if (not is_one_block(program, operands, context.workers, size, most_of_one_block(program, operands), strides)
            or may_overwrite_too_early(program, operands)):
        return False
    set_places(program, pointers, strides, NULL, (size + 15) & ~<npy_intp>15)
    for index in range(program.results):
        strides[first_result + index] = program.result_sizes[index]
    for index in range(program.step_count):
        count += program.steps[index].count
    bound.program, bound.operands, bound.all = program, 0, 0
    bound.register_bytes = program.registers * program.register_size * ((size + 15) & ~<npy_intp>15)
    set_sizes(program, size, bound.sizes)
    bound.arguments = <char**>(bound + 1)
    bound.strides = <npy_intp*>(bound.arguments + count)
    bound.addresses = <Address*>(bound.strides + count)
    for index in range(count):
        place = program.places[index]
        bound.arguments[index], bound.strides[index] = pointers[place], strides[place]
        if place < program.inputs or place >= first_result:
            bound.addresses[bound.operands].place = index
            bound.addresses[bound.operands].source = (place if place < program.inputs
                                                      else program.inputs + place - first_result)
            bound.operands += 1
    bound.all = bound.operands
    for index in range(count):
        place = program.places[index]
        if program.inputs + program.constants <= place < first_result:
            bound.addresses[bound.all].place = index
            bound.addresses[bound.all].source = <int>(pointers[place] - <char*>NULL)
            bound.all += 1
    return True


cdef int run_bound(Context* context, Cell** operands) noexcept nogil:
    """The step of a kernel that is bound."""
    cdef Bound* bound = <Bound*>context.room
    cdef char* first = <char*>((<uintptr_t>alloca(bound.register_bytes + 64) + 63) & ~<uintptr_t>63)
    cdef char** arguments = bound.arguments
    cdef npy_intp* strides = bound.strides
    cdef BlockStep* step = bound.program.steps
    cdef BlockStep* end = step + bound.program.step_count
    cdef int index
    for index in range(bound.operands):
        arguments[bound.addresses[index].place] = operands[bound.addresses[index].source].data
    for index in range(bound.operands, bound.all):
        arguments[bound.addresses[index].place] = first + bound.addresses[index].source
    while step != end:
        step.function(arguments, &bound.sizes[step.size], strides, step.data)
        arguments += step.count
        strides += step.count
        step += 1
    return 0


cdef int run_bound_step(Context* context, Cell** operands) noexcept nogil:
    """The step of a kernel that is bound, whose program has one step: it needs no registers."""
    cdef Bound* bound = <Bound*>context.room
    cdef BlockStep* step = bound.program.steps
    cdef Address* address = bound.addresses
    cdef Address* end = address + bound.operands
    while address != end:
        bound.arguments[address.place] = operands[address.source].data
        address += 1
    step.function(bound.arguments, bound.sizes, bound.strides, step.data)
    return 0


# ---- single numbers --------------------------------------------------------------------------------------------------
# In the kernel's room. After it: a lane for each operand, and the registers, which keep their constants.
cdef struct Numbers:
    const phintys_scalar_instruction* code
    char* registers
    ScalarSteps steps
    int operands


cdef void bind_numbers(ElementwiseKernel kernel, Context* context) noexcept nogil:
    cdef Numbers* numbers = <Numbers*>context.room
    numbers.code = kernel.scalars.code
    numbers.operands = kernel.program.program.inputs + kernel.program.program.results
    numbers.steps.steps, numbers.steps.lanes = 1, <Lane*>(numbers + 1)
    memset(numbers.steps.lanes, 0, numbers.operands * sizeof(Lane))
    numbers.registers = phintys_align_registers(numbers.steps.lanes + numbers.operands)
    memcpy(numbers.registers, kernel.scalars.registers, kernel.scalars.n_registers * PHINTYS_REGISTER_BYTES)


cdef int run_numbers(Context* context, Cell** operands) noexcept nogil:
    """The step of a kernel whose operands have one element each."""
    cdef Numbers* numbers = <Numbers*>context.room
    cdef int index
    for index in range(numbers.operands):
        numbers.steps.lanes[index].data = operands[index].data
    run_scalars(numbers.code, numbers.registers, &numbers.steps)
    return 0


# ---- blocks ----------------------------------------------------------------------------------------------------------
cdef int layout_bytes(Program* program, int rank) noexcept nogil:
    """Of a layout and its arrays, which follow it."""
    return (sizeof(Layout) + (rank + 1) * (program.inputs + 1) * <int>sizeof(npy_intp)
            + (program.inputs + program.results) * <int>sizeof(char*) + program.inputs + 1)


cdef void run_layout(Layout* layout, Context* context, Cell** operands) noexcept nogil:
    """The work of a layout, for the operands' addresses."""
    cdef Program* program = layout.program
    cdef npy_intp grain
    cdef int index
    for index in range(program.inputs + program.results):
        layout.data[index] = operands[index].data
    if is_long(program, layout.size):
        grain = <npy_intp>(layout.size * (PIECE_NANOSECONDS / nanoseconds(program, layout.size)))
        parallel(context, run_range, layout, layout.size, (grain + 1023) & ~<npy_intp>1023)
    elif layout.size:
        run_range(layout, 0, 0, layout.size)


cdef int run_laid_out(Context* context, Cell** operands) noexcept nogil:
    """The step of a kernel that is bound, where no result takes the memory of an input too early."""
    run_layout(<Layout*>context.room, context, operands)
    return 0


cdef void lay_out(Layout* layout, Program* program, Cell** operands, int rank) noexcept nogil:
    """Join dimensions and choose the inputs to load."""
    cdef int inputs = program.inputs
    cdef const npy_intp* shape = operands[inputs].shape     # of the first result
    cdef npy_intp* strides
    cdef npy_intp stride
    cdef int order[MAX_RANK]
    cdef int place, axis, index, dimension = -1
    cdef bint joins, reordered = not cell_is_contiguous(operands[inputs]) and sort_axes(operands[inputs], order)
    layout.program = program
    layout.strides = <npy_intp*>(layout + 1)
    layout.data = <char**>(layout.strides + (rank + 1) * (inputs + 1))
    layout.loaded = <char*>(layout.data + inputs + program.results)
    layout.size = 1
    layout.shape[0] = 1
    layout.loaded_size = 0
    for index in range(inputs):
        layout.loaded[index] = IN_PLACE
        layout.strides[index] = 0
    for place in range(rank - 1, -1, -1):
        axis = order[place] if reordered else place
        if shape[axis] == 1:
            continue
        layout.size *= shape[axis]
        joins = dimension >= 0
        strides = layout.strides + dimension * inputs
        if joins:
            for index in range(inputs):
                stride = operands[index].strides[axis] if operands[index].shape[axis] != 1 else 0
                if stride != strides[index] * layout.shape[dimension]:
                    joins = False
                    break
        if joins:
            layout.shape[dimension] *= shape[axis]
            continue
        dimension += 1
        layout.shape[dimension] = shape[axis]
        strides = layout.strides + dimension * inputs
        for index in range(inputs):
            strides[index] = operands[index].strides[axis] if operands[index].shape[axis] != 1 else 0
    layout.ndim = dimension + 1
    choose_loads(layout, operands)


cdef bint reads_transposed(Layout* layout) noexcept nogil:
    """Whether the elements of an input are closer to each other across rows than along them: copying it by tiles
    takes a third of the time of reading it by a stride, or less."""
    cdef int index
    cdef npy_intp* across = layout.strides + layout.program.inputs
    for index in range(layout.program.inputs):
        if 0 < absolute(across[index]) < absolute(layout.strides[index]):
            return True
    return False


cdef inline bint has_one_row(Layout* layout, int index) noexcept nogil:
    """Whether all rows of an input are the same elements."""
    cdef int dimension
    for dimension in range(1, layout.ndim):
        if layout.strides[dimension * layout.program.inputs + index]:
            return False
    return True


cdef inline npy_intp absolute(npy_intp stride) noexcept nogil:
    return stride if stride >= 0 else -stride


cdef void choose_loads(Layout* layout, Cell** operands) noexcept nogil:
    """Choose the inputs to load: those that are not contiguous across short rows, and those that a result would
    overwrite before their last reader."""
    cdef Program* program = layout.program
    cdef int index, dimension
    cdef npy_intp stride
    layout.whole_rows = layout.ndim > 1 and layout.shape[0] >= LONG_ROW and not reads_transposed(layout)
    for index in range(program.inputs):
        if layout.ndim > 1 and not layout.whole_rows:
            stride = layout.strides[index]
            for dimension in range(1, layout.ndim):
                stride *= layout.shape[dimension - 1]
                if layout.strides[dimension * program.inputs + index] != stride:
                    layout.loaded[index] = ONE_ROW if has_one_row(layout, index) else EACH_BLOCK
                    break
        if is_lost(program, operands, index):
            layout.loaded[index] = EACH_BLOCK
        if layout.loaded[index]:
            layout.loaded_size += program.input_sizes[index]


cdef npy_intp longest_block(Program* program, npy_intp input_size, npy_intp loaded_size) noexcept nogil:
    """The most elements of a block: all operands together fit in BLOCK_BYTES of the L1 cache, registers in
    REGISTER_BYTES of the stack.

    Parameters
    ----------
    input_size
        Bytes per element in the inputs that are read in place and have more than one element.
    loaded_size
        Bytes per element in the registers of loaded inputs.
    """
    cdef npy_intp register_size = program.registers * program.register_size + loaded_size
    cdef npy_intp size = program.memory_size + register_size + input_size
    cdef npy_intp length
    cdef int index
    for index in range(program.inputs):
        size -= program.input_sizes[index]
    length = BLOCK_BYTES // size
    if length > LONGEST_BLOCK:
        length = LONGEST_BLOCK
    if register_size * length > REGISTER_BYTES:
        length = REGISTER_BYTES // register_size
    return max(length & ~<npy_intp>15, <npy_intp>32)


cdef inline npy_intp block_length(Layout* layout) noexcept nogil:
    """Elements per block. A single step without registers needs no blocks. A block of short rows ends where one ends,
    so that all rows are loaded together."""
    cdef Program* program = layout.program
    cdef npy_intp length, input_size = 0
    cdef int index
    if program.registers == 0 and layout.loaded_size == 0 and program.step_count <= 1:
        return layout.size
    for index in range(program.inputs):
        if layout.loaded[index] == IN_PLACE and layout.strides[index]:
            input_size += program.input_sizes[index]
    length = longest_block(program, input_size, layout.loaded_size)
    if layout.loaded_size and not layout.whole_rows and layout.shape[0] <= length:
        length -= length % layout.shape[0]
    return length if length < layout.size else layout.size


cdef void run_range(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute the elements [start, stop) of the flat range."""
    cdef Layout* layout = <Layout*>argument
    cdef Program* program = layout.program
    cdef npy_intp block = block_length(layout)
    cdef npy_intp padded = (block + 15) & ~<npy_intp>15
    cdef npy_intp bytes = padded * (program.registers * program.register_size + layout.loaded_size)
    cdef char* registers = <char*>alloca(bytes + 64)
    cdef char** pointers = <char**>alloca((program.place_count + 1) * sizeof(char*))
    cdef npy_intp* strides = <npy_intp*>alloca((program.place_count + 1) * sizeof(npy_intp))
    cdef int index, place
    registers = <char*>((<uintptr_t>registers + 63) & ~<uintptr_t>63)
    set_places(program, pointers, strides, registers, padded)
    place = program.place_count - program.results
    for index in range(program.results):
        strides[place + index] = program.result_sizes[index]
        pointers[place + index] = layout.data[program.inputs + index] + start * program.result_sizes[index]
    registers += padded * program.registers * program.register_size
    for index in range(program.inputs):
        strides[index] = layout.strides[index]
        if layout.loaded[index]:
            pointers[index], strides[index] = registers, program.input_sizes[index]
            registers += padded * program.input_sizes[index]
    if layout.ndim <= 1 and layout.loaded_size == 0:
        run_line(layout, pointers, strides, start, stop, block)
    else:
        run_rows(layout, pointers, strides, start, stop, block)


cdef inline void advance_results(Program* program, char** pointers, npy_intp* strides, npy_intp n) noexcept nogil:
    cdef int place
    for place in range(program.place_count - program.results, program.place_count):
        pointers[place] += n * strides[place]


cdef void run_line(Layout* layout, char** pointers, npy_intp* strides, npy_intp start, npy_intp stop,
                   npy_intp block) noexcept nogil:
    """Run blocks where every operand has one stride over the whole range."""
    cdef Program* program = layout.program
    cdef npy_intp n
    cdef int index
    for index in range(program.inputs):
        pointers[index] = layout.data[index] + start * strides[index]
    while True:
        n = stop - start if stop - start < block else block
        run_steps(program, pointers, strides, n)
        start += n
        if start >= stop:
            return
        for index in range(program.inputs):
            pointers[index] += n * strides[index]
        advance_results(program, pointers, strides, n)


cdef inline npy_intp seek(Layout* layout, npy_intp start, npy_intp* position) noexcept nogil:
    """Set the positions of flat element ``start`` in dimensions 1 and up; returns its position in dimension 0."""
    cdef npy_intp rest = start // layout.shape[0]
    cdef int dimension
    for dimension in range(1, layout.ndim):
        position[dimension] = rest % layout.shape[dimension]
        rest //= layout.shape[dimension]
    return start % layout.shape[0]


cdef inline void next_row(Layout* layout, npy_intp* position) noexcept nogil:
    cdef int dimension
    for dimension in range(1, layout.ndim):
        position[dimension] += 1
        if position[dimension] < layout.shape[dimension]:
            return
        position[dimension] = 0


cdef inline char* row_start(Layout* layout, int index, const npy_intp* position) noexcept nogil:
    cdef char* data = layout.data[index]
    cdef int dimension
    for dimension in range(1, layout.ndim):
        data += position[dimension] * layout.strides[dimension * layout.program.inputs + index]
    return data


cdef void load(Layout* layout, int index, char* target, npy_intp column, const npy_intp* position,
               npy_intp n) noexcept nogil:
    """Gather ``n`` elements of an input, starting at the given position.

    All rows up to the end of dimension 1 are copied in one call, because a call takes as long as several elements.
    """
    cdef npy_intp itemsize = layout.program.input_sizes[index]
    cdef npy_intp local[MAX_RANK]
    cdef npy_intp shape[2]
    cdef npy_intp from_strides[2]
    cdef npy_intp to_strides[2]
    cdef npy_intp length = layout.shape[0], count
    cdef int dimension
    for dimension in range(1, layout.ndim):
        local[dimension] = position[dimension]
    from_strides[0], from_strides[1] = 0, layout.strides[index]
    to_strides[0], to_strides[1] = length * itemsize, itemsize
    if layout.ndim > 1:
        from_strides[0] = layout.strides[layout.program.inputs + index]
    while n > 0:
        shape[0], shape[1] = 1, min(length - column, n)
        if layout.ndim > 1 and shape[1] == length:
            shape[0] = min(n // length, layout.shape[1] - local[1])
        copy_strided(2, shape, target, to_strides, row_start(layout, index, local) + column * from_strides[1],
                     from_strides, <int>itemsize)
        count = shape[0] * shape[1]
        target += count * itemsize
        n -= count
        column = 0
        if layout.ndim > 1:
            local[1] += shape[0] - 1
            next_row(layout, local)


cdef void run_rows(Layout* layout, char** pointers, npy_intp* strides, npy_intp start, npy_intp stop,
                   npy_intp block) noexcept nogil:
    """Run blocks over several dimensions: blocks end at the ends of long rows, or span short rows of loaded inputs."""
    cdef Program* program = layout.program
    cdef bint whole_rows = layout.whole_rows
    cdef npy_intp position[MAX_RANK]
    cdef npy_intp n, column = seek(layout, start, position), filled = 0     # elements of inputs with one row
    cdef int index
    while start < stop:
        n = stop - start if stop - start < block else block
        if whole_rows and n > layout.shape[0] - column:
            n = layout.shape[0] - column
        for index in range(program.inputs):
            if layout.loaded[index] == ONE_ROW and column == 0 and n <= filled:
                pass
            elif layout.loaded[index]:
                load(layout, index, pointers[index], column, position, n)
            elif whole_rows:
                pointers[index] = row_start(layout, index, position) + column * strides[index]
            else:
                pointers[index] = layout.data[index] + start * strides[index]
        filled = 0 if column else max(filled, n)
        run_steps(program, pointers, strides, n)
        advance_results(program, pointers, strides, n)
        start += n
        column += n
        if column >= layout.shape[0]:
            if column == layout.shape[0]:
                column = 0
                next_row(layout, position)
            else:
                column = seek(layout, start, position)
    return
