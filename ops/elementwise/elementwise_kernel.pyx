"""The elementwise kernel: runs a list of steps in one pass over operands of any rank.

Results have no gaps, and all have the same order of dimensions: that of the inputs if all inputs have the same order
(as in NumPy), else C order. The work is therefore one flat range of elements, which is divided into blocks that fit in
the L1 cache. First, adjacent dimensions are joined where all operands can be traversed with one stride. If one
dimension is left, every operand is described by a pointer and a stride. If several are left and rows are long, a block
ends where its row ends. If rows are short, or an operand is transposed, operands that are not contiguous along the
range are gathered into a register at the start of each block, so that steps never run on short rows, nor on elements
that are far apart.

The kernel has no per-call state: walks and registers are on the stack of the thread that runs it.
"""
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.ops.elementwise.block_code cimport (
    SIZES, SMALL_OPERANDS, SMALL_REGISTERS, BlockCall, BlockCode, BlockTables, advance, broadcast_shape, nanoseconds,
    run_block, set_operands, set_results, set_sizes)
from phintys.ops.elementwise.register_code cimport (
    PHINTYS_REGISTER_BYTES, RegisterCode, phintys_align_registers, phintys_register_instruction, run_registers)
from phintys.ops.native.joined_dimensions cimport join_axis
from phintys.ops.native.strided_copy cimport copy_strided
from phintys.vm.abi cimport (
    BOUND, Binding, BoundRun, Cell, Context, Kernel, allocate, allocate_in_order, cell_is_contiguous, cell_size,
    parallel)
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
    REGISTER_BYTES = 49152     # of all registers on a thread's stack
    LONGEST_BLOCK = 2048
    SHORT_BLOCK = 192          # a call of each step pays for blocks in the L2 cache up to this length (20 steps)
    SHORT_BLOCK_BYTES = 49152
    LONG_ROW = 112             # elements: shorter rows are gathered; measured with 1 to 6 steps (90 to 250)

cdef enum Loaded:              # whether an input is gathered into a register:
    IN_PLACE                   # no
    EACH_BLOCK                 # at the start of each block
    ONE_ROW                    # the same: its rows are all one, so blocks that begin with a row have the same elements

# Maps the flat range of elements to the inputs. Dimension 0 is the innermost.
cdef struct ElementwiseWalk:
    BlockTables* blocks
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
    code : ScalarCode
        Its results are written to the output operands, which get the full shape in the order of the inputs.
    patterns : sequence of tuple of bool
        Broadcastable pattern of each input, all of the same rank.

    Raises
    ------
    TypeError
        If a loop does not exist for the dtypes.
    ValueError
        If ranks differ. ``prepare`` raises it if lengths differ along a dimension that is not declared broadcastable.
    """

    def __init__(self, code, patterns):
        if not code.outputs:
            raise ValueError("an elementwise kernel needs at least one output")
        self.given_code, self.blocks = code, BlockCode(code, list(patterns))
        full = [index for index, pattern in enumerate(patterns) if len(pattern) > 1 and not any(pattern)]
        self.leader = full[0] if full else -1
        self.examined = ()
        self.private_bytes = max(room_of(&self.blocks.tables), walk_bytes(&self.blocks.tables, self.blocks.rank))
        self.set_scalars(code, list(patterns))

    cdef int set_scalars(self, object code, list patterns) except -1:
        """Make the code for single numbers, if all operands have one element in each call."""
        dtypes = [*code.input_dtypes, *self.blocks.value_dtypes]
        if all([all(pattern) for pattern in patterns]) and all([dtype in NUMBERS for dtype in dtypes]):
            stores = dict(enumerate(self.blocks.code.outputs, len(patterns)))
            self.scalars = RegisterCode(self.blocks.code, range(len(patterns)), stores, {})
            self.private_bytes = max(self.private_bytes, <int>sizeof(Numbers) + len(dtypes) * <int>sizeof(Lane)
                                     + (self.scalars.n_registers + 1) * <int>PHINTYS_REGISTER_BYTES)
        return 0

    @property
    def providers(self):
        """Names of loops, and whose they are, in the order of the steps."""
        return [(loop.name, loop.provider) for loop, _ in self.blocks.calls]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef BlockTables* blocks = &self.blocks.tables
        cdef npy_intp shape[MAX_RANK]
        cdef npy_intp size = 1
        cdef int index, axis, rank = self.blocks.rank
        if rank:
            broadcast_shape(blocks, operands, rank, shape)
        if (self.leader < 0 or operands[self.leader].strides[rank - 1] == blocks.input_sizes[self.leader]
                or not allocate_alike(blocks, context, operands, self.leader, shape)):
            for index in range(blocks.results):
                allocate(context, operands[blocks.inputs + index], shape)
        for axis in range(rank):
            size *= shape[axis]
        return nanoseconds(blocks, size) > LONG_NANOSECONDS

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        cdef BlockTables* blocks = &self.blocks.tables
        cdef ElementwiseWalk* walk
        if not run_small(blocks, operands, context.workers):
            walk = <ElementwiseWalk*>alloca(walk_bytes(blocks, self.blocks.rank))
            plan_walk(walk, blocks, operands, self.blocks.rank)
            run_walk(walk, context, operands)
        return 0

    cdef Binding bind(self, Context* context, Cell** operands, BoundRun* bound_run) noexcept nogil:
        if self.scalars is not None:
            bind_numbers(self, context)
            bound_run[0] = run_numbers
        elif bind_small(&self.blocks.tables, operands, context):
            bound_run[0] = run_bound_step if self.blocks.tables.call_count == 1 else run_bound
        elif not may_overwrite_too_early(&self.blocks.tables, operands):
            plan_walk(<ElementwiseWalk*>context.private_memory, &self.blocks.tables, operands, self.blocks.rank)
            bound_run[0] = run_planned
        return BOUND


# ---- the order of the results ----------------------------------------------------------------------------------------
cdef inline npy_intp distance(const Cell* cell, int axis) noexcept nogil:
    """The distance in bytes between adjacent elements along an axis."""
    return cell.strides[axis] if cell.strides[axis] >= 0 else -cell.strides[axis]


cdef bint sort_axes(const Cell* cell, int* order) noexcept nogil:
    """Sort the dimensions by distance, those of length 1 first, then the largest distances; returns whether the order
    differs from C order."""
    cdef bint changed = False
    cdef int axis, position
    for axis in range(cell.ndim):
        position = axis
        while position > 0 and cell.shape[order[position - 1]] != 1 and (
                cell.shape[axis] == 1 or distance(cell, order[position - 1]) < distance(cell, axis)):
            order[position] = order[position - 1]
            position -= 1
        order[position] = axis
        changed |= position != axis
    return changed


cdef bint choose_order(BlockTables* blocks, Cell** operands, int leader, int* order) noexcept nogil:
    """Compute the leader's order; returns whether it differs from C order and all other inputs fit it."""
    cdef const Cell* cell
    cdef int index, position, rank = operands[leader].ndim, outer
    if not sort_axes(operands[leader], order):
        return False
    for index in range(blocks.inputs):
        cell = operands[index]
        outer = -1
        for position in range(rank):
            if cell.shape[order[position]] == 1:
                continue
            if outer >= 0 and distance(cell, outer) < distance(cell, order[position]):
                return False
            outer = order[position]
    return True


cdef int allocate_in_chosen_order(BlockTables* blocks, Context* context, Cell** operands, int leader,
                                  const npy_intp* shape) except -1 nogil:
    """Allocate the results in the order that the inputs agree on; returns 0 if that is C order."""
    cdef int order[MAX_RANK]
    cdef int index
    if not choose_order(blocks, operands, leader, order):
        return 0
    for index in range(blocks.results):
        allocate_in_order(context, operands[blocks.inputs + index], shape, order)
    return 1


# The call goes through a pointer to keep the compiler from inlining it into the code for C order.
cdef int (*allocate_alike)(BlockTables*, Context*, Cell**, int, const npy_intp*) except -1 nogil
allocate_alike = allocate_in_chosen_order


cdef inline bint is_long(BlockTables* blocks, npy_intp size) noexcept nogil:
    """Whether the work may be worth a second thread: that is so from half a piece on if workers are awake."""
    return nanoseconds(blocks, size) > PIECE_NANOSECONDS / 2


cdef inline bint is_for_workers(BlockTables* blocks, int workers, npy_intp size) noexcept nogil:
    return workers > 1 and is_long(blocks, size)


cdef inline bint is_one_block(BlockTables* blocks, Cell** operands, int workers, npy_intp size, npy_intp most,
                              npy_intp* strides) noexcept nogil:
    """Whether there are at most ``most`` elements, and inputs are contiguous or have one element; sets the inputs'
    strides."""
    cdef int index
    if size > most or size == 0 or is_for_workers(blocks, workers, size):
        return False
    for index in range(blocks.inputs):
        strides[index] = blocks.input_sizes[index]
        if size == 1 or cell_size(operands[index]) == 1:
            strides[index] = 0
        elif cell_size(operands[index]) != size or not cell_is_contiguous(operands[index]):
            return False
    return True


cdef inline bint run_small(BlockTables* blocks, Cell** operands, int workers) noexcept nogil:
    """Run everything in one block if there are few elements and each input is contiguous or has one element; returns
    whether this was possible."""
    cdef char* pointers[SMALL_OPERANDS]
    cdef npy_intp strides[SMALL_OPERANDS]
    cdef char* results[SMALL_OPERANDS]
    cdef char registers[SMALL_REGISTERS + 64]
    cdef npy_intp size = cell_size(operands[blocks.inputs])
    cdef int index
    if (not is_one_block(blocks, operands, workers, size, blocks.small, strides)
            or overwrites_too_early(blocks, operands)):
        return False
    for index in range(blocks.inputs):
        pointers[index] = operands[index].data
    set_operands(blocks, pointers, strides, <char*>((<uintptr_t>registers + 63) & ~<uintptr_t>63),
               (size + 15) & ~<npy_intp>15)
    for index in range(blocks.results):
        results[index] = operands[blocks.inputs + index].data
    set_results(blocks, pointers, strides, results, 0)
    run_block(blocks, pointers, strides, size)
    return True


cdef inline bint is_lost(BlockTables* blocks, Cell** operands, int index) noexcept nogil:
    """Whether a result that has the memory of an input (its donor) is written before the input's last reader runs."""
    cdef unsigned long long later = blocks.read_later[index]
    cdef int result = 0
    while later:
        if later & 1 and operands[index].data == operands[blocks.inputs + result].data:
            return True
        later >>= 1
        result += 1
    return False


cdef inline bint overwrites_too_early(BlockTables* blocks, Cell** operands) noexcept nogil:
    cdef int index
    for index in range(blocks.inputs):
        if is_lost(blocks, operands, index):
            return True
    return False


# ---- bound to a walk -----------------------------------------------------------------------------------------------
# The code of one block with all that does not depend on addresses worked out. After it, in the kernel's room: the
# arguments and strides of all steps' loops, one after the other, then the addresses to fill in.
cdef struct Bound:
    BlockTables* blocks
    npy_intp sizes[SIZES]
    size_t register_bytes
    char** arguments
    npy_intp* strides
    Address* addresses
    int operands               # of the addresses, the first so many are those of operands,
    int all                    # and the others, up to so many, those of registers

cdef struct Address:
    int position               # among the arguments
    int source                 # number of the operand, or offset from the first register


cdef int room_of(BlockTables* blocks) noexcept nogil:
    """The bytes that `bind_small` needs."""
    cdef int index, count = 0
    for index in range(blocks.call_count):
        count += blocks.calls[index].count
    return sizeof(Bound) + count * <int>(sizeof(char*) + sizeof(npy_intp) + sizeof(Address))


cdef bint may_overwrite_too_early(BlockTables* blocks, Cell** operands) noexcept nogil:
    """Whether a result could take an input's memory before the input's last reader runs."""
    cdef int index, result
    for index in range(blocks.inputs):
        for result in range(blocks.results):
            if (result >= 64 or blocks.read_later[index] >> result & 1) and (
                    operands[blocks.inputs + result].donor != NULL):
                return True
    return False


cdef npy_intp most_of_one_block(BlockTables* blocks, Cell** operands) noexcept nogil:
    """The most elements of code that is bound; -1: it has too many operands."""
    cdef npy_intp input_size = 0
    cdef int index
    if blocks.small < 0 or blocks.registers == 0:
        return blocks.small
    for index in range(blocks.inputs):
        if cell_size(operands[index]) != 1:
            input_size += blocks.input_sizes[index]
    return longest_block(blocks, input_size, 0)


cdef bint bind_small(BlockTables* blocks, Cell** operands, Context* context) noexcept nogil:
    """Write down a block's work for `run_bound`; returns whether it is one block whatever the addresses."""
    cdef Bound* bound = <Bound*>context.private_memory
    cdef char* pointers[SMALL_OPERANDS]
    cdef npy_intp strides[SMALL_OPERANDS]
    cdef int index, position, count = 0, first_result = blocks.operand_count - blocks.results
    cdef npy_intp size = cell_size(operands[blocks.inputs])
    if (not is_one_block(blocks, operands, context.workers, size, most_of_one_block(blocks, operands), strides)
            or may_overwrite_too_early(blocks, operands)):
        return False
    set_operands(blocks, pointers, strides, NULL, (size + 15) & ~<npy_intp>15)
    for index in range(blocks.results):
        strides[first_result + index] = blocks.result_sizes[index]
    for index in range(blocks.call_count):
        count += blocks.calls[index].count
    bound.blocks, bound.operands, bound.all = blocks, 0, 0
    bound.register_bytes = blocks.registers * blocks.register_size * ((size + 15) & ~<npy_intp>15)
    set_sizes(blocks, size, bound.sizes)
    bound.arguments = <char**>(bound + 1)
    bound.strides = <npy_intp*>(bound.arguments + count)
    bound.addresses = <Address*>(bound.strides + count)
    for index in range(count):
        position = blocks.operands[index]
        bound.arguments[index], bound.strides[index] = pointers[position], strides[position]
        if position < blocks.inputs or position >= first_result:
            bound.addresses[bound.operands].position = index
            bound.addresses[bound.operands].source = (position if position < blocks.inputs
                                                      else blocks.inputs + position - first_result)
            bound.operands += 1
    bound.all = bound.operands
    for index in range(count):
        position = blocks.operands[index]
        if blocks.inputs + blocks.constants <= position < first_result:
            bound.addresses[bound.all].position = index
            bound.addresses[bound.all].source = <int>(pointers[position] - <char*>NULL)
            bound.all += 1
    return True


cdef int run_bound(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound."""
    cdef Bound* bound = <Bound*>context.private_memory
    cdef char* first = <char*>((<uintptr_t>alloca(bound.register_bytes + 64) + 63) & ~<uintptr_t>63)
    cdef char** arguments = bound.arguments
    cdef npy_intp* strides = bound.strides
    cdef BlockCall* call = bound.blocks.calls
    cdef BlockCall* end = call + bound.blocks.call_count
    cdef int index
    for index in range(bound.operands):
        arguments[bound.addresses[index].position] = operands[bound.addresses[index].source].data
    for index in range(bound.operands, bound.all):
        arguments[bound.addresses[index].position] = first + bound.addresses[index].source
    while call != end:
        call.function(arguments, &bound.sizes[call.size], strides, call.data)
        arguments += call.count
        strides += call.count
        call += 1
    return 0


cdef int run_bound_step(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound, whose code is one call: it needs no registers."""
    cdef Bound* bound = <Bound*>context.private_memory
    cdef BlockCall* call = bound.blocks.calls
    cdef Address* address = bound.addresses
    cdef Address* end = address + bound.operands
    while address != end:
        bound.arguments[address.position] = operands[address.source].data
        address += 1
    call.function(bound.arguments, bound.sizes, bound.strides, call.data)
    return 0


# ---- single numbers --------------------------------------------------------------------------------------------------
# In the kernel's room. After it: a lane for each operand, and the registers, which keep their constants.
cdef struct Numbers:
    const phintys_register_instruction* code
    char* registers
    ScalarSteps steps
    int operands


cdef void bind_numbers(ElementwiseKernel kernel, Context* context) noexcept nogil:
    cdef Numbers* numbers = <Numbers*>context.private_memory
    numbers.code = kernel.scalars.code
    numbers.operands = kernel.blocks.tables.inputs + kernel.blocks.tables.results
    numbers.steps.steps, numbers.steps.lanes = 1, <Lane*>(numbers + 1)
    memset(numbers.steps.lanes, 0, numbers.operands * sizeof(Lane))
    numbers.registers = phintys_align_registers(numbers.steps.lanes + numbers.operands)
    memcpy(numbers.registers, kernel.scalars.registers, kernel.scalars.n_registers * PHINTYS_REGISTER_BYTES)


cdef int run_numbers(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel whose operands have one element each."""
    cdef Numbers* numbers = <Numbers*>context.private_memory
    cdef int index
    for index in range(numbers.operands):
        numbers.steps.lanes[index].data = operands[index].data
    run_registers(numbers.code, numbers.registers, &numbers.steps)
    return 0


# ---- blocks ----------------------------------------------------------------------------------------------------------
cdef int walk_bytes(BlockTables* blocks, int rank) noexcept nogil:
    """Of a walk and its arrays, which follow it."""
    return (sizeof(ElementwiseWalk) + (rank + 1) * (blocks.inputs + 1) * <int>sizeof(npy_intp)
            + (blocks.inputs + blocks.results) * <int>sizeof(char*) + blocks.inputs + 1)


cdef void run_walk(ElementwiseWalk* walk, Context* context, Cell** operands) noexcept nogil:
    """The work of a walk, for the operands' addresses."""
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp grain
    cdef int index
    for index in range(blocks.inputs + blocks.results):
        walk.data[index] = operands[index].data
    if is_long(blocks, walk.size):
        grain = <npy_intp>(walk.size * (PIECE_NANOSECONDS / nanoseconds(blocks, walk.size)))
        parallel(context, run_range, walk, walk.size, (grain + 1023) & ~<npy_intp>1023)
    elif walk.size:
        run_range(walk, 0, 0, walk.size)


cdef int run_planned(Context* context, Cell** operands) noexcept nogil:
    """The bound run of a kernel that is bound, where no result takes the memory of an input too early."""
    run_walk(<ElementwiseWalk*>context.private_memory, context, operands)
    return 0


cdef void plan_walk(ElementwiseWalk* walk, BlockTables* blocks, Cell** operands, int rank) noexcept nogil:
    """Join dimensions and choose the inputs to load."""
    cdef int inputs = blocks.inputs
    cdef const npy_intp* shape = operands[inputs].shape     # of the first result
    cdef int order[MAX_RANK]
    cdef int position, axis, index
    cdef bint reordered = not cell_is_contiguous(operands[inputs]) and sort_axes(operands[inputs], order)
    walk.blocks = blocks
    walk.strides = <npy_intp*>(walk + 1)
    walk.data = <char**>(walk.strides + (rank + 1) * (inputs + 1))
    walk.loaded = <char*>(walk.data + inputs + blocks.results)
    walk.size = 1
    walk.ndim = 0
    walk.shape[0] = 1
    walk.loaded_size = 0
    for index in range(inputs):
        walk.loaded[index] = IN_PLACE
        walk.strides[index] = 0
    for position in range(rank - 1, -1, -1):
        axis = order[position] if reordered else position
        if shape[axis] == 1:
            continue
        walk.size *= shape[axis]
        walk.ndim = join_axis(operands, inputs, axis, shape[axis], True, walk.shape, walk.strides, walk.ndim)
    choose_loads(walk, operands)


cdef bint reads_transposed(ElementwiseWalk* walk) noexcept nogil:
    """Whether the elements of an input are closer to each other across rows than along them: copying it by tiles
    takes a third of the time of reading it by a stride, or less."""
    cdef int index
    cdef npy_intp* across = walk.strides + walk.blocks.inputs
    for index in range(walk.blocks.inputs):
        if 0 < absolute(across[index]) < absolute(walk.strides[index]):
            return True
    return False


cdef inline bint has_one_row(ElementwiseWalk* walk, int index) noexcept nogil:
    """Whether all rows of an input are the same elements."""
    cdef int dimension
    for dimension in range(1, walk.ndim):
        if walk.strides[dimension * walk.blocks.inputs + index]:
            return False
    return True


cdef inline npy_intp absolute(npy_intp stride) noexcept nogil:
    return stride if stride >= 0 else -stride


cdef void choose_loads(ElementwiseWalk* walk, Cell** operands) noexcept nogil:
    """Choose the inputs to load: those that are not contiguous across short rows, and those that a result would
    overwrite before their last reader."""
    cdef BlockTables* blocks = walk.blocks
    cdef int index, dimension
    cdef npy_intp stride
    walk.whole_rows = walk.ndim > 1 and walk.shape[0] >= LONG_ROW and not reads_transposed(walk)
    for index in range(blocks.inputs):
        if walk.ndim > 1 and not walk.whole_rows:
            stride = walk.strides[index]
            for dimension in range(1, walk.ndim):
                stride *= walk.shape[dimension - 1]
                if walk.strides[dimension * blocks.inputs + index] != stride:
                    walk.loaded[index] = ONE_ROW if has_one_row(walk, index) else EACH_BLOCK
                    break
        if is_lost(blocks, operands, index):
            walk.loaded[index] = EACH_BLOCK
        if walk.loaded[index]:
            walk.loaded_size += blocks.input_sizes[index]


cdef npy_intp longest_block(BlockTables* blocks, npy_intp input_size, npy_intp loaded_size) noexcept nogil:
    """The most elements of a block: all operands together fit in BLOCK_BYTES of the L1 cache, or the block is a short
    one; registers fit in REGISTER_BYTES of the stack.

    Parameters
    ----------
    input_size
        Bytes per element in the inputs that are read in position and have more than one element.
    loaded_size
        Bytes per element in the registers of loaded inputs.
    """
    cdef npy_intp register_size = blocks.registers * blocks.register_size + loaded_size
    cdef npy_intp size = blocks.memory_size + register_size + input_size
    cdef npy_intp length
    cdef int index
    for index in range(blocks.inputs):
        size -= blocks.input_sizes[index]
    length = min(max(BLOCK_BYTES // size, min(<npy_intp>SHORT_BLOCK, SHORT_BLOCK_BYTES // size)),
                 <npy_intp>LONGEST_BLOCK)
    if register_size * length > REGISTER_BYTES:
        length = REGISTER_BYTES // register_size
    return max(length & ~<npy_intp>15, <npy_intp>32)


cdef inline npy_intp block_length(ElementwiseWalk* walk) noexcept nogil:
    """Elements per block. A single step without registers needs no blocks. A block of short rows ends where one ends,
    so that all rows are loaded together."""
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp length, input_size = 0
    cdef int index
    if blocks.registers == 0 and walk.loaded_size == 0 and blocks.call_count <= 1:
        return walk.size
    for index in range(blocks.inputs):
        if walk.loaded[index] == IN_PLACE and walk.strides[index]:
            input_size += blocks.input_sizes[index]
    length = longest_block(blocks, input_size, walk.loaded_size)
    if walk.loaded_size and not walk.whole_rows and walk.shape[0] <= length:
        length -= length % walk.shape[0]
    return length if length < walk.size else walk.size


cdef void run_range(void* argument, int worker, npy_intp start, npy_intp stop) noexcept nogil:
    """Compute the elements [start, stop) of the flat range."""
    cdef ElementwiseWalk* walk = <ElementwiseWalk*>argument
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp block = block_length(walk)
    cdef npy_intp padded = (block + 15) & ~<npy_intp>15
    cdef npy_intp bytes = padded * (blocks.registers * blocks.register_size + walk.loaded_size)
    cdef char* registers = <char*>alloca(bytes + 64)
    cdef char** pointers = <char**>alloca((blocks.operand_count + 1) * sizeof(char*))
    cdef npy_intp* strides = <npy_intp*>alloca((blocks.operand_count + 1) * sizeof(npy_intp))
    cdef int index
    registers = <char*>((<uintptr_t>registers + 63) & ~<uintptr_t>63)
    set_operands(blocks, pointers, strides, registers, padded)
    set_results(blocks, pointers, strides, walk.data + blocks.inputs, start)
    registers += padded * blocks.registers * blocks.register_size
    for index in range(blocks.inputs):
        strides[index] = walk.strides[index]
        if walk.loaded[index]:
            pointers[index], strides[index] = registers, blocks.input_sizes[index]
            registers += padded * blocks.input_sizes[index]
    if walk.ndim <= 1 and walk.loaded_size == 0:
        run_line(walk, pointers, strides, start, stop, block)
    else:
        run_rows(walk, pointers, strides, start, stop, block)


cdef void run_line(ElementwiseWalk* walk, char** pointers, npy_intp* strides, npy_intp start, npy_intp stop,
                   npy_intp block) noexcept nogil:
    """Run blocks where every operand has one stride over the whole range."""
    cdef BlockTables* blocks = walk.blocks
    cdef npy_intp n
    cdef int index
    for index in range(blocks.inputs):
        pointers[index] = walk.data[index] + start * strides[index]
    while True:
        n = stop - start if stop - start < block else block
        run_block(blocks, pointers, strides, n)
        start += n
        if start >= stop:
            return
        advance(blocks, pointers, strides, n, True)


cdef inline npy_intp seek(ElementwiseWalk* walk, npy_intp start, npy_intp* position) noexcept nogil:
    """Set the positions of flat element ``start`` in dimensions 1 and up; returns its position in dimension 0."""
    cdef npy_intp rest = start // walk.shape[0]
    cdef int dimension
    for dimension in range(1, walk.ndim):
        position[dimension] = rest % walk.shape[dimension]
        rest //= walk.shape[dimension]
    return start % walk.shape[0]


cdef inline void next_row(ElementwiseWalk* walk, npy_intp* position) noexcept nogil:
    cdef int dimension
    for dimension in range(1, walk.ndim):
        position[dimension] += 1
        if position[dimension] < walk.shape[dimension]:
            return
        position[dimension] = 0


cdef inline char* row_start(ElementwiseWalk* walk, int index, const npy_intp* position) noexcept nogil:
    cdef char* data = walk.data[index]
    cdef int dimension
    for dimension in range(1, walk.ndim):
        data += position[dimension] * walk.strides[dimension * walk.blocks.inputs + index]
    return data


cdef void load(ElementwiseWalk* walk, int index, char* target, npy_intp column, const npy_intp* position,
               npy_intp n) noexcept nogil:
    """Gather ``n`` elements of an input, starting at the given position.

    All rows up to the end of dimension 1 are copied in one call, because a call takes as long as several elements.
    """
    cdef npy_intp itemsize = walk.blocks.input_sizes[index]
    cdef npy_intp local[MAX_RANK]
    cdef npy_intp shape[2]
    cdef npy_intp from_strides[2]
    cdef npy_intp to_strides[2]
    cdef npy_intp length = walk.shape[0], count
    cdef int dimension
    for dimension in range(1, walk.ndim):
        local[dimension] = position[dimension]
    from_strides[0], from_strides[1] = 0, walk.strides[index]
    to_strides[0], to_strides[1] = length * itemsize, itemsize
    if walk.ndim > 1:
        from_strides[0] = walk.strides[walk.blocks.inputs + index]
    while n > 0:
        shape[0], shape[1] = 1, min(length - column, n)
        if walk.ndim > 1 and shape[1] == length:
            shape[0] = min(n // length, walk.shape[1] - local[1])
        copy_strided(2, shape, target, to_strides, row_start(walk, index, local) + column * from_strides[1],
                     from_strides, <int>itemsize)
        count = shape[0] * shape[1]
        target += count * itemsize
        n -= count
        column = 0
        if walk.ndim > 1:
            local[1] += shape[0] - 1
            next_row(walk, local)


cdef void run_rows(ElementwiseWalk* walk, char** pointers, npy_intp* strides, npy_intp start, npy_intp stop,
                   npy_intp block) noexcept nogil:
    """Run blocks over several dimensions: blocks end at the ends of long rows, or span short rows of loaded inputs."""
    cdef BlockTables* blocks = walk.blocks
    cdef bint whole_rows = walk.whole_rows
    cdef npy_intp position[MAX_RANK]
    cdef npy_intp n, column = seek(walk, start, position), filled = 0     # elements of inputs with one row
    cdef int index
    while start < stop:
        n = stop - start if stop - start < block else block
        if whole_rows and n > walk.shape[0] - column:
            n = walk.shape[0] - column
        for index in range(blocks.inputs):
            if walk.loaded[index] == ONE_ROW and column == 0 and n <= filled:
                pass
            elif walk.loaded[index]:
                load(walk, index, pointers[index], column, position, n)
            elif whole_rows:
                pointers[index] = row_start(walk, index, position) + column * strides[index]
            else:
                pointers[index] = walk.data[index] + start * strides[index]
        filled = 0 if column else max(filled, n)
        run_block(blocks, pointers, strides, n)
        advance(blocks, pointers, strides, n, False)
        start += n
        column += n
        if column >= walk.shape[0]:
            if column == walk.shape[0]:
                column = 0
                next_row(walk, position)
            else:
                column = seek(walk, start, position)
    return
