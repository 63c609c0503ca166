"""Launches of kernels that do the same to each element of arrays of one shape; ``walk_source.py`` writes them.

Dimensions are ordered by the strides of the first result, turned so that these are positive, and joined where all
arrays permit it. Then one of three kernels is chosen, by lengths and strides alone:

* ``tiles`` if neighbours of an input are along another dimension, and both dimensions have ``LEAST_SIDE`` elements;
* ``counted`` for short rows that are no multiple of a thread's elements, if no result has gaps;
* ``rows`` else.

A launch has less than 2**31 items, so that quotients are products; more work is divided among several launches.
"""
from numpy cimport npy_intp

from phintys.gpu.runtime cimport driver
from phintys.gpu.runtime.driver cimport Arguments, put, put_address, put_integer, put_value, set_failure
from phintys.gpu.runtime.kernel cimport THREADS, DeviceKernel, loaded, piece
from phintys.gpu.runtime.walk cimport put_divider
from phintys.vm.abi cimport Cell
from phintys.vm.limits cimport MAX_RANK

from phintys.gpu.kernels.walk_source import ARRAY, SINGLE, VALUE

cdef enum:
    IS_VALUE, IS_SINGLE, IS_ARRAY
    LEAST_SIDE = 16
    FEW_THREADS = 64                # of a block where blocks of THREADS would leave multiprocessors without work
    APART = 31                      # a bit of ``marks`` of tiles, as in ``walk_source.py``
    SHORT_ROW = 16                  # vectors: in longer rows the elements before and behind them do not matter
    MOST_TURNED = 2                 # as in ``walk_source.py``

cdef enum:
    ROWS, COUNTED, TILES

cdef struct Work:                   # of one launch
    int which
    npy_intp items                  # vectors, elements, or tiles
    npy_intp lengths[MAX_RANK]      # what the number of an item is divided by
    unsigned marks, vectors         # as in the struct ``Walk`` of ``walk_source.py``

cdef npy_intp most_items = (<npy_intp>1 << 31) - 4096
KINDS = {VALUE: IS_VALUE, SINGLE: IS_SINGLE, ARRAY: IS_ARRAY}


def set_most_items(npy_intp number):
    """Divide work among launches of so many items, for tests; returns the number before."""
    global most_items
    before, most_items = most_items, number
    return before


cdef class WalkKernel(DeviceKernel):
    """Inputs, then results, on the device; inputs may be values on the host."""

    cdef int adopt(self, walk) except -1:
        cdef int index
        sources, kinds = walk.sources(), [*walk.kinds, *[ARRAY] * len(walk.results)]
        self.source, self.names = sources[0], ("rows",)
        if len(sources) > 1:
            self.counted, self.tiles = piece(sources[1], ("counted",)), piece(sources[2], ("tiles",))
        self.operands, self.results, self.arrays = len(kinds), len(walk.results), len(walk.arrays)
        self.pointers = self.arrays + self.results
        self.most_rank, self.count, self.side = max(1, walk.rank), walk.count, walk.side
        for index, kind in enumerate(kinds):
            self.kinds[index] = KINDS[kind]
        return 0

    cdef int walk(self, Cell** operands, int rank, const npy_intp* shape) noexcept nogil:
        cdef Cell* cells[MOST_POINTERS]
        cdef Plan plan
        cdef int index, pointers = 0
        if loaded(self) < 0:
            return -1
        for index in range(self.operands):
            if self.kinds[index] == IS_ARRAY:
                cells[pointers] = operands[index]
                plan.data[pointers], plan.sizes[pointers] = operands[index].data, operands[index].itemsize
                pointers += 1
        if not join(&plan, cells, pointers, self.arrays, rank, shape, self.most_rank):
            return set_failure(1, b"an array of too many dimensions")
        return self.launch(&plan, operands)

    cdef int launch(self, Plan* plan, Cell** operands) noexcept nogil:
        cdef Arguments arguments
        cdef Work work
        cdef npy_intp threads = THREADS
        choose(self, plan, &work)
        if work.items > most_items or plan.lengths[0] > most_items or (
                work.which == TILES and plan.lengths[1] > most_items):
            return halves(self, plan, operands)
        pack(self, plan, &work, operands, &arguments)
        if work.which == TILES:
            return self.tiles.start(0, work.items, THREADS, &arguments) if loaded(self.tiles) == 0 else -1
        if work.items <= driver.multiprocessors * threads:
            threads = FEW_THREADS
        if work.which == ROWS:
            return self.start(0, (work.items + threads - 1) // threads, threads, &arguments)
        threads *= self.count
        return self.counted.start(0, (work.items + threads - 1) // threads, threads // self.count,
                                  &arguments) if loaded(self.counted) == 0 else -1


# ---- dimensions ------------------------------------------------------------------------------------------------------
cdef inline npy_intp along(const Cell* cell, int axis) noexcept nogil:
    """The stride of an operand along an axis; 0 where it is repeated."""
    return cell.strides[axis] if cell.shape[axis] != 1 else 0


cdef bint join(Plan* plan, Cell** cells, int pointers, int result, int rank, const npy_intp* shape,
               int most_rank) noexcept nogil:
    """Order and join the dimensions; False if too many are left."""
    cdef int order[MAX_RANK]
    cdef npy_intp strides[MOST_POINTERS]
    cdef int axis, index, place, found = 0
    for axis in range(rank - 1, -1, -1):
        if shape[axis] == 1:
            continue
        place = found
        while place and distance(cells[result], order[place - 1]) > distance(cells[result], axis):
            order[place] = order[place - 1]
            place -= 1
        order[place] = axis
        found += 1
    plan.rank = 0
    for place in range(found):
        axis = order[place]
        for index in range(pointers):
            strides[index] = along(cells[index], axis)
        if strides[result] < 0:
            for index in range(pointers):
                plan.data[index] += (shape[axis] - 1) * strides[index]
                strides[index] = -strides[index]
        if not (plan.rank and joins(plan, strides, pointers)):
            if plan.rank == most_rank:
                return False
            plan.lengths[plan.rank] = 1
            for index in range(pointers):
                plan.strides[plan.rank * pointers + index] = strides[index]
            plan.rank += 1
        plan.lengths[plan.rank - 1] *= shape[axis]
    if plan.rank == 0:
        plan.rank, plan.lengths[0] = 1, 1
        for index in range(pointers):
            plan.strides[index] = 0
    return True


cdef inline npy_intp distance(const Cell* cell, int axis) noexcept nogil:
    return -cell.strides[axis] if cell.strides[axis] < 0 else cell.strides[axis]


cdef inline bint joins(Plan* plan, const npy_intp* strides, int pointers) noexcept nogil:
    """Whether each array's stride is what its last dimension spans."""
    cdef int index, last = plan.rank - 1
    for index in range(pointers):
        if strides[index] != plan.strides[last * pointers + index] * plan.lengths[last]:
            return False
    return True


# ---- the choice of a kernel ------------------------------------------------------------------------------------------
cdef void choose(WalkKernel walk, Plan* plan, Work* work) noexcept nogil:
    cdef int axis
    work.which, work.marks, work.items = ROWS, 0, 1
    if walk.tiles is not None and plan.rank > 1:
        work.which, work.marks = TILES, turned(plan, walk.pointers, walk.arrays)
        if not work.marks:
            work.which, work.marks = COUNTED, without_gaps(plan, walk.pointers, walk.arrays, walk.count)
        if not work.marks:
            work.which = ROWS
    if work.which == ROWS:
        work.marks = is_shifted(plan, walk.pointers, walk.arrays, walk.count)
    work.vectors = with_vectors(walk, plan, work)
    if work.which == TILES and ~work.vectors >> walk.arrays & (((<unsigned>1 << (walk.results - 1)) << 1) - 1):
        work.vectors &= work.marks                  # the rows of a result are not aligned
        work.marks |= <unsigned>1 << APART
    for axis in range(plan.rank):
        work.lengths[axis] = plan.lengths[axis]
        if work.which == TILES and axis < 2:
            work.lengths[axis] = (plan.lengths[axis] + walk.side - 1) // walk.side
        if work.which == ROWS and axis == 0:
            work.lengths[axis] = slots(plan, walk.arrays, walk.count, work.marks)
        work.items *= work.lengths[axis]


cdef unsigned turned(Plan* plan, int pointers, int arrays) noexcept nogil:
    """The inputs whose neighbours are along another dimension, which becomes dimension 1; no bits if there is none."""
    cdef unsigned marks = 0
    cdef int axis, index, count = 0
    if plan.lengths[0] < LEAST_SIDE or plan.strides[arrays] != plan.sizes[arrays]:
        return 0
    for index in range(arrays):
        if plan.strides[index] == 0 or plan.strides[index] == plan.sizes[index]:
            continue
        for axis in range(1, plan.rank if not marks else 2):
            if plan.strides[axis * pointers + index] == plan.sizes[index] and plan.lengths[axis] >= LEAST_SIDE:
                exchange(plan, 1, axis, pointers)
                if count < MOST_TURNED:
                    marks |= <unsigned>1 << index
                count += 1
                break
    return marks


cdef void exchange(Plan* plan, int one, int other, int pointers) noexcept nogil:
    cdef int index
    cdef npy_intp* a = plan.strides + one * pointers
    cdef npy_intp* b = plan.strides + other * pointers
    plan.lengths[one], plan.lengths[other] = plan.lengths[other], plan.lengths[one]
    for index in range(pointers):
        a[index], b[index] = b[index], a[index]


cdef unsigned without_gaps(Plan* plan, int pointers, int arrays, int count) noexcept nogil:
    """The arrays without gaps, if rows are short, and all results are among these; else no bits."""
    cdef unsigned marks = 0
    cdef int index, axis
    cdef npy_intp stride
    if plan.lengths[0] % count == 0 or plan.lengths[0] >= SHORT_ROW * count:
        return 0
    for index in range(pointers):
        stride = plan.sizes[index]
        for axis in range(plan.rank):
            if plan.strides[axis * pointers + index] != stride:
                break
            stride *= plan.lengths[axis]
        else:
            marks |= <unsigned>1 << index
            continue
        if index >= arrays:
            return 0
    return marks


cdef bint is_shifted(Plan* plan, int pointers, int arrays, int count) noexcept nogil:
    """Whether the first result has vectors, and rows that do not begin with one."""
    cdef npy_intp size = count * plan.sizes[arrays]
    cdef int axis
    if plan.strides[arrays] != plan.sizes[arrays]:
        return False
    for axis in range(1, plan.rank):
        if plan.strides[axis * pointers + arrays] % size:
            return True
    return <size_t>plan.data[arrays] % size != 0


cdef unsigned with_vectors(WalkKernel walk, Plan* plan, Work* work) noexcept nogil:
    """The arrays whose vectors are all aligned, where those of the first result are."""
    cdef unsigned vectors = 0
    cdef int index
    for index in range(walk.pointers):
        if work.which == COUNTED:
            if work.marks >> index & 1 and <size_t>plan.data[index] % (walk.count * plan.sizes[index]) == 0:
                vectors |= <unsigned>1 << index
        elif is_aligned(plan, walk.pointers, index, work.which == TILES and work.marks >> index & 1,
                        walk.arrays if work.which == ROWS and work.marks else -1, walk.count):
            vectors |= <unsigned>1 << index
    return vectors


cdef bint is_aligned(Plan* plan, int pointers, int array, int along, int other, int count) noexcept nogil:
    """Whether vectors along a dimension are aligned; if there is another array, where those of that one are."""
    cdef npy_intp size = plan.sizes[array]
    cdef npy_intp start = <npy_intp>plan.data[array]
    cdef int axis
    if plan.strides[along * pointers + array] != size or not is_multiple(
            start, size, <npy_intp>plan.data[other] // plan.sizes[other] if other >= 0 else 0, count):
        return False
    for axis in range(plan.rank):
        if axis != along and not is_multiple(
                plan.strides[axis * pointers + array], size,
                plan.strides[axis * pointers + other] // plan.sizes[other] if other >= 0 else 0, count):
            return False
    return True


cdef inline bint is_multiple(npy_intp bytes, npy_intp size, npy_intp elements, int count) noexcept nogil:
    """Whether bytes are whole elements, and as many as others but for a multiple of a power of two."""
    return bytes % size == 0 and (bytes // size - elements) & (count - 1) == 0


cdef npy_intp slots(Plan* plan, int arrays, int count, bint shifted) noexcept nogil:
    """How many vectors a row has, with those that are not whole."""
    cdef npy_intp before = 0
    if shifted:
        before = count - 1 if plan.rank > 1 else <npy_intp>(<size_t>plan.data[arrays] // plan.sizes[arrays] % count)
    return (plan.lengths[0] + before + count - 1) // count


# ---- the launch ------------------------------------------------------------------------------------------------------
cdef void pack(WalkKernel walk, Plan* plan, Work* work, Cell** operands, Arguments* arguments) noexcept nogil:
    """The struct ``Walk`` of ``walk_source.py``, and the operands."""
    cdef int index, axis, pointer = 0
    cdef unsigned words[6]
    arguments.size, arguments.full = 0, False
    for index in range(walk.pointers):
        for axis in range(walk.most_rank):
            put_integer(arguments, plan.strides[axis * walk.pointers + index] if axis < plan.rank else 0)
    for axis in range(walk.most_rank):
        put_divider(arguments, work.lengths[axis] if axis < plan.rank else 1)
    words[:] = [<unsigned>plan.lengths[0], <unsigned>plan.lengths[1] if plan.rank > 1 else 1, <unsigned>work.items,
                <unsigned>plan.rank, work.vectors, work.marks]
    for index in range(6):
        put(arguments, <const char*>&words[index], 4)
    for index in range(walk.operands):
        if walk.kinds[index] == IS_VALUE:
            put_value(arguments, operands[index])
        elif walk.kinds[index] == IS_SINGLE:
            put_address(arguments, operands[index])
        else:
            put(arguments, <const char*>&plan.data[pointer], 8)
            pointer += 1


cdef int halves(WalkKernel walk, Plan* plan, Cell** operands) noexcept nogil:
    """Two launches, each with half of the longest dimension."""
    cdef Plan half = plan[0]
    cdef int index, longest = 0
    cdef npy_intp length
    for index in range(plan.rank):
        if plan.lengths[index] > plan.lengths[longest]:
            longest = index
    length = plan.lengths[longest] // 2
    if longest == 0 and length > walk.count:
        length -= length % walk.count
    half.lengths[longest] = length
    if walk.launch(&half, operands) < 0:
        return -1
    half = plan[0]
    half.lengths[longest] -= length
    for index in range(walk.pointers):
        half.data[index] += length * plan.strides[longest * walk.pointers + index]
    return walk.launch(&half, operands)
