"""Rows that a loop computes ahead, for a block of steps at a time.

A product of all rows of a sequence is computed faster than one in each step, but takes memory for all steps. A program
that computes it from some rows is therefore run again whenever the steps have read what it has computed. A block has
as many steps as rows fit into ``BLOCK_BYTES``, and no fewer than ``FEWEST_STEPS``. How large a row is shows in the
first block, which is small; later runs of the loop begin with what has been found out.
"""
from phintys.vm.abi cimport cell_size, drop
from phintys.vm.limits cimport MAX_RANK
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport (
    IN_BODY, bytes_kept_by, empty_frame, give_up_larger, idle_frame, take_layout, taken_from)
from phintys.vm.machine.interpreter cimport execute
from phintys.vm.pool cimport HOST, SMALL_CLASSES

include "opcodes.pxi"

cdef enum:
    BLOCK_BYTES = 1 << 19           # of the rows of a block: they stay in the second level of the cache. Last states of
                                    # 1000 steps of tanh(x W + h U + b), batch 32, us a step, with products in each
                                    # step, of all rows, and of blocks of 128 KiB, 512 KiB, 4 MiB: hidden 64: 19.7,
                                    # 25.3, 19.2, 21.1, 24.8; hidden 256: 152, 161, 167, 143, 179; hidden 8: 0.66, 0.47,
                                    # 0.47, 0.49
    FEWEST_STEPS = 16               # of a block: products of fewer rows take longer
    TIMES_AT_DEVICE = 32            # so much larger are blocks of a device: its cache has some 50 MB, and each block
                                    # costs several launches

cdef npy_intp block_bytes = BLOCK_BYTES


cdef class Blocks:
    """A program and its idle frames.

    Parameters
    ----------
    program : Program
        Its arguments: some rows of each sequence of the loop, then the loop's wholes; its results: as many rows of what
        is computed ahead.
    """

    def __init__(self, program):
        self.program, self.idle = program, []
        self.code = Code(program)
        keep_results(self.code)
        self.n_results = next(len(instruction.cells) for instruction in program.symbolic()
                              if instruction.name == "RESULT")
        self.times = TIMES_AT_DEVICE if any([cell.place != HOST for cell in program.cells]) else 1

    cdef Frame begin(self, Context* context):
        """A frame for one run of the loop."""
        cdef Frame frame = idle_frame(self.idle, self.code)
        frame.machine.context.workers = context.workers
        frame.machine.context.poison = context.poison
        frame.machine.context.flags |= IN_BODY
        return frame

    cdef int end(self, Frame frame, bint keeps) except -1:
        """Take a frame back."""
        drop_large(frame)
        if not keeps:
            give_up_larger(frame)
        self.idle.append(frame)
        return 0

    cdef int compute(self, Frame frame, Cell** sequences, int n_sequences, Cell** wholes, int n_wholes, npy_intp step,
                     npy_intp count) except -1:
        """Compute the rows of ``count`` steps, from ``step`` on; the results are in their cells."""
        cdef npy_intp shape[MAX_RANK]
        cdef Cell rows
        cdef int index, axis
        for index in range(n_sequences):
            rows = sequences[index][0]
            for axis in range(rows.ndim):
                shape[axis] = rows.shape[axis]
            shape[0], rows.shape, rows.data = count, shape, rows.data + step * rows.strides[0]
            refer(frame, &frame.cells[index], &rows)
        for index in range(n_wholes):
            refer(frame, &frame.cells[n_sequences + index], wholes[index])
        for index in range(self.n_results):             # views of values that are computed again
            drop(&frame.machine.context, frame.machine.operands[self.code.first_result + index])
        if execute(&frame.machine) < 0:
            raise_pending()
        return 0

    cdef npy_intp learn(self, Frame frame) except -1:
        """How many steps a block should have, after one was computed."""
        cdef npy_intp bytes = 0
        cdef Cell* result
        cdef int index
        for index in range(self.n_results):
            result = frame.machine.operands[self.code.first_result + index]
            bytes += cell_size(result) * result.itemsize // max(result.shape[0], 1)
        self.length = length_of_blocks(bytes // self.times)
        return self.length

    cdef int free(self) except -1:
        """Give up all memory that idle frames keep between calls."""
        return empty_idle(self.idle)

    def kept_bytes(self):
        """The memory that idle frames keep between calls, in bytes."""
        return kept_by_idle(self.idle)


cpdef npy_intp length_of_blocks(npy_intp bytes):
    """How many steps a block has of which the rows for one have so many bytes."""
    return max(block_bytes // max(bytes, <npy_intp>1), <npy_intp>FEWEST_STEPS)


cdef int empty_idle(list idle) except -1:
    """Empty idle frames."""
    cdef Frame frame
    cdef list taken = taken_from(idle)
    for frame in taken:
        empty_frame(frame)
    idle.extend(taken)
    return 0


cdef object kept_by_idle(list idle):
    """The memory that idle frames keep, in bytes."""
    cdef Frame frame
    cdef list taken = taken_from(idle)
    size = sum([bytes_kept_by(frame) for frame in taken])
    idle.extend(taken)
    return size


cdef int keep_results(Code code) except -1:
    """Let the results of a program stay in their cells: RESULT and the DROPs after it do nothing."""
    cdef Instruction* at = code.instructions
    while at.op != OP_RESULT:
        if at.op == OP_HALT:
            raise ValueError("a loop runs programs that have results, not this one")
        at += 1
    code.ops[at - code.instructions] = at.op = OP_DROP
    while at.op != OP_HALT:
        if at.op == OP_DROP:
            at.c = 0
        at += 1
    return 0


cdef int drop_large(Frame frame) except -1:
    """Let the cells of an idle frame keep small blocks only; larger ones go back, or are kept for the next steps."""
    cdef Cell* cell
    cdef int index
    for index in range(frame.code.n_cells):
        cell = &frame.cells[index]
        if cell.buffer != NULL and not 0 < cell.buffer.size_class <= SMALL_CLASSES:
            drop(&frame.machine.context, cell)
    return 0


cdef void refer(Frame frame, Cell* argument, const Cell* source) noexcept:
    """Let an argument refer to a value of another program, which keeps it alive."""
    argument.data = source.data
    frame.machine.epoch += take_layout(argument, source.shape, source.strides)


cdef int raise_pending() except -1:
    """Raise the exception that C code has set."""
    return -1


def set_block_bytes(npy_intp bytes=BLOCK_BYTES):
    """Set how many bytes the rows of a block have; for tests."""
    global block_bytes
    block_bytes = bytes
