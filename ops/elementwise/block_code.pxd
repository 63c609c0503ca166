"""Elementwise steps over blocks: see ``block_code.pyx``."""
from numpy cimport npy_intp

from phintys.ops.native.loops cimport LoopFunction
from phintys.vm.abi cimport Cell
from phintys.vm.thresholds cimport FAR_BYTES, NEAR_BYTES

cdef enum:
    CONSTANT_BYTES = 16        # one complex128
    # Code with at most SMALL_OPERANDS operands, whose registers take at most SMALL_REGISTERS bytes, uses arrays of
    # constant size on the stack (run_small in elementwise_kernel.pyx).
    SMALL_OPERANDS = 48
    SMALL_REGISTERS = 4096

# One call of an inner loop for each block.
cdef struct BlockCall:
    LoopFunction function
    void* data
    int first                  # its operands and its result, in this order: operands[first : first + count]
    int count
    int size                   # how many elements it computes: in vectors of 2**size

# How many elements a step computes: those that are asked for (sizes[0]), or as many as are in whole vectors of 2, 4, 8
# or 16. A register has room for these. A step that works on vectors fills its register up to the end of the last one,
# if it can, and a reader that works on vectors goes as far. So no vector between steps is stored or loaded in part,
# which takes longer than the arithmetic of a short one.
cdef enum:
    SIZES = 5

# The calls after register assignment. Operands are numbered inputs, constants, registers, results.
cdef struct BlockTables:
    int inputs
    int constants
    int registers
    int register_operands      # a register is an operand for each element size that it is used with
    int results
    int operand_count
    int call_count
    BlockCall* calls
    int* operands              # of all calls
    int* input_sizes           # bytes per element
    int* result_sizes
    char* constant_values      # 16 bytes each
    unsigned long long* broadcastable    # per input, bit d: dimension d is declared to have length 1
    unsigned long long* read_later       # per input, bit r: the input is read after result r has been written
    int* register_numbers      # per operand that is a register: its number, and the size of its elements as the stride
    int* register_strides
    int register_size          # bytes per element in a register: the largest element size
    int operand_size           # bytes per element in all inputs, results and registers together
    int memory_size            # bytes per element in all inputs and results
    double cost                # nanoseconds per element that is in a cache
    bint in_vectors            # some steps have another size than 0
    npy_intp small             # the most elements for which SMALL_REGISTERS bytes suffice; -1: more than SMALL_OPERANDS

cdef class BlockCode:
    cdef BlockTables tables
    cdef readonly object code            # the ScalarCode that the calls carry out: its loops are InnerLoops
    cdef readonly list calls             # (InnerLoop, numbers of its operands and result), for inspection
    cdef readonly list vectors           # for each call: the elements of the vectors that it computes whole, or 1
    cdef readonly list value_dtypes      # the dtype of every result
    cdef int rank
    cdef list memory
    cdef int number_operands(self) except -1
    cdef int write_tables(self, list patterns) except -1

cdef int broadcast_shape(BlockTables* blocks, Cell** operands, int rank, npy_intp* shape) except -1 nogil

cdef inline double nanoseconds(BlockTables* blocks, npy_intp size) noexcept nogil:
    """Roughly what the steps take on ``size`` elements; operands that do not fit in a cache are waited for."""
    cdef double memory = <double>size * blocks.memory_size
    return size * blocks.cost + (memory / FAR_BYTES if memory > NEAR_BYTES else 0.0)


cdef inline void set_operands(BlockTables* blocks, char** pointers, npy_intp* strides, char* registers,
                            npy_intp block) noexcept nogil:
    """Set pointers and strides of constants and registers; ``registers`` has room for blocks of ``block`` elements."""
    cdef int index, operand = blocks.inputs
    for index in range(blocks.constants):
        pointers[operand], strides[operand] = blocks.constant_values + index * CONSTANT_BYTES, 0
        operand += 1
    for index in range(blocks.register_operands):
        pointers[operand] = registers + blocks.register_numbers[index] * block * blocks.register_size
        strides[operand] = blocks.register_strides[index]
        operand += 1


cdef inline void set_results(BlockTables* blocks, char** pointers, npy_intp* strides, char** data,
                             npy_intp start) noexcept nogil:
    """Set pointers and strides of the results, whose memory is at ``data``, for a block that begins at ``start``."""
    cdef int index, first = blocks.operand_count - blocks.results
    for index in range(blocks.results):
        strides[first + index] = blocks.result_sizes[index]
        pointers[first + index] = data[index] + start * blocks.result_sizes[index]


cdef inline void advance(BlockTables* blocks, char** pointers, npy_intp* strides, npy_intp n,
                         bint inputs) noexcept nogil:
    """Go on by ``n`` elements of all results, and of all inputs if they are walked as one range."""
    cdef int operand
    if inputs:
        for operand in range(blocks.inputs):
            pointers[operand] += n * strides[operand]
    for operand in range(blocks.operand_count - blocks.results, blocks.operand_count):
        pointers[operand] += n * strides[operand]


cdef unsigned long long axes_mask(axes, int rank) except? 0
cdef int kept_dimensions(int rank, unsigned long long mask, bint keepdims, const npy_intp* shape, npy_intp* kept_shape,
                         npy_intp* kept, npy_intp* reduced) noexcept nogil

cdef inline void set_sizes(const BlockTables* blocks, npy_intp n, npy_intp* sizes) noexcept nogil:
    """The numbers of elements that steps compute when ``n`` are asked for."""
    cdef int size
    sizes[0] = n
    if blocks.in_vectors:
        for size in range(1, SIZES):
            sizes[size] = (n + (1 << size) - 1) & -(<npy_intp>1 << size)


cdef inline void run_block(BlockTables* blocks, char** pointers, npy_intp* strides, npy_intp n) noexcept nogil:
    """Do all calls on ``n`` elements; pointers and strides are indexed by operand."""
    cdef char* arguments[32]
    cdef npy_intp steps[32]
    cdef npy_intp sizes[SIZES]
    cdef BlockCall* call = blocks.calls
    cdef BlockCall* end = call + blocks.call_count
    cdef int* operands
    cdef int index
    set_sizes(blocks, n, sizes)
    while call != end:
        operands = blocks.operands + call.first
        for index in range(call.count):
            arguments[index] = pointers[operands[index]]
            steps[index] = strides[operands[index]]
        call.function(arguments, &sizes[call.size], steps, call.data)
        call += 1
