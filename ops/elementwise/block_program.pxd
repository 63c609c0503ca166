"""Elementwise steps over blocks: see ``block_program.pyx``."""
from numpy cimport npy_intp

from phintys.ops.native.loops cimport LoopFunction
from phintys.vm.abi cimport Cell
from phintys.vm.thresholds cimport FAR_BYTES, NEAR_BYTES

cdef enum:
    CONSTANT_BYTES = 16        # one complex128
    # A program with at most SMALL_PLACES places, whose registers take at most SMALL_REGISTERS bytes, uses arrays of
    # constant size on the stack (run_small in elementwise_kernel.pyx).
    SMALL_PLACES = 48
    SMALL_REGISTERS = 4096

cdef struct Step:
    LoopFunction function
    void* data
    int first                  # the places of its operands and result, in this order: places[first : first + count]
    int count
    int size                   # how many elements it computes: in vectors of 2**size

# How many elements a step computes: those that are asked for (sizes[0]), or as many as are in whole vectors of 2, 4, 8
# or 16. A register has room for these. A step that works on vectors fills its register up to the end of the last one,
# if it can, and a reader that works on vectors goes as far. So no vector between steps is stored or loaded in part,
# which takes longer than the arithmetic of a short one.
cdef enum:
    SIZES = 5

# The steps after register assignment. Places are numbered inputs, constants, register places, results.
cdef struct Program:
    int inputs
    int constants
    int registers
    int register_places        # a register has one place for each element size that it is used with
    int results
    int place_count
    int step_count
    Step* steps
    int* places
    int* input_sizes           # bytes per element
    int* result_sizes
    char* constant_values      # 16 bytes each
    unsigned long long* broadcastable    # per input, bit d: dimension d is declared to have length 1
    unsigned long long* read_later       # per input, bit r: the input is read after result r has been written
    int* register_numbers      # per register place: the register, and the size of its elements as the stride
    int* register_strides
    int register_size          # bytes per element in a register: the largest element size
    int operand_size           # bytes per element in all inputs, results and registers together
    int memory_size            # bytes per element in all inputs and results
    double cost                # nanoseconds per element that is in a cache
    bint in_vectors            # some steps have another size than 0
    npy_intp small             # the most elements for which SMALL_REGISTERS bytes suffice; -1: more than SMALL_PLACES

cdef class BlockProgram:
    cdef Program program
    cdef readonly list steps             # (Loop, places of its operands and result), for inspection
    cdef readonly list vectors           # for each step: the elements of the vectors that it computes whole, or 1
    cdef readonly list value_dtypes      # the dtype of every result
    cdef int rank
    cdef list memory
    cdef dict parse(self, list dtypes, list values, list steps)
    cdef int build(self, list inputs, list dtypes, list values, dict loops, list results) except -1
    cdef list later_reads(self, int input_count)
    cdef int write_tables(self, list inputs, list constants) except -1

cdef int broadcast_shape(Program* program, Cell** operands, int rank, npy_intp* shape) except -1 nogil

cdef inline double nanoseconds(Program* program, npy_intp size) noexcept nogil:
    """Roughly what the steps take on ``size`` elements; operands that do not fit in a cache are waited for."""
    cdef double memory = <double>size * program.memory_size
    return size * program.cost + (memory / FAR_BYTES if memory > NEAR_BYTES else 0.0)


cdef inline void set_places(Program* program, char** pointers, npy_intp* strides, char* registers,
                            npy_intp block) noexcept nogil:
    """Set pointers and strides of constants and registers; ``registers`` has room for blocks of ``block`` elements."""
    cdef int index, place = program.inputs
    for index in range(program.constants):
        pointers[place], strides[place] = program.constant_values + index * CONSTANT_BYTES, 0
        place += 1
    for index in range(program.register_places):
        pointers[place] = registers + program.register_numbers[index] * block * program.register_size
        strides[place] = program.register_strides[index]
        place += 1


cdef unsigned long long axes_mask(axes, int rank) except? 0
cdef int kept_dimensions(int rank, unsigned long long mask, bint keepdims, const npy_intp* shape, npy_intp* kept_shape,
                         npy_intp* kept, npy_intp* reduced) noexcept nogil

cdef inline void set_sizes(const Program* program, npy_intp n, npy_intp* sizes) noexcept nogil:
    """The numbers of elements that steps compute when ``n`` are asked for."""
    cdef int size
    sizes[0] = n
    if program.in_vectors:
        for size in range(1, SIZES):
            sizes[size] = (n + (1 << size) - 1) & -(<npy_intp>1 << size)


cdef inline void run_steps(Program* program, char** pointers, npy_intp* strides, npy_intp n) noexcept nogil:
    """Run all steps on ``n`` elements; pointers and strides are indexed by place."""
    cdef char* arguments[32]
    cdef npy_intp steps[32]
    cdef npy_intp sizes[SIZES]
    cdef Step* step = program.steps
    cdef Step* end = step + program.step_count
    cdef int* places
    cdef int operand
    set_sizes(program, n, sizes)
    while step != end:
        places = program.places + step.first
        for operand in range(step.count):
            arguments[operand] = pointers[places[operand]]
            steps[operand] = strides[places[operand]]
        step.function(arguments, &sizes[step.size], steps, step.data)
        step += 1
