# Results from accumulators: cast to the output's dtype, and put in C order. Included by reduction_kernel.pyx, which
# calls `hand_out` after the last element. Accumulators without a cast that are in C order are not copied: they are in
# the result's memory already.

cdef void hand_out(ReductionWalk* walk, LoopFunction cast, Cell* result, npy_intp count, unsigned long long reduced,
                   bint keepdims) noexcept nogil:
    """Copy or cast accumulators, in the order of the walk, to results in C order.

    Parameters
    ----------
    cast
        NULL if accumulators and results have the same dtype; then the accumulators are not in C order.
    count
        Of results.
    reduced
        Bit d: axis d is reduced. Its dimension of length 1 is there if ``keepdims``.
    """
    cdef npy_intp strides[MAX_RANK]
    cdef int axis, place = 0
    if walk.in_order:
        cast_line(cast, walk.accumulators, walk.itemsize, result.data, result.itemsize, count)
        return
    for axis in range(walk.rank):
        if keepdims or not reduced >> axis & 1:
            strides[place] = walk.result_strides[axis]
            place += 1
    if cast == NULL:
        copy_strided(result.ndim, result.shape, result.data, result.strides, walk.accumulators, strides,
                     walk.itemsize)
    else:
        cast_strided(walk, cast, result, count, strides)


cdef void cast_strided(ReductionWalk* walk, LoopFunction cast, Cell* result, npy_intp count,
                       const npy_intp* strides) noexcept nogil:
    """Cast a line of results at a time; ``strides`` are those of the accumulators, by dimension of the result."""
    cdef int axis, last = result.ndim - 1
    cdef npy_intp line, length = result.shape[last], position
    cdef char* source
    for line in range(count // length):
        source, position = walk.accumulators, line
        for axis in range(last - 1, -1, -1):
            source += position % result.shape[axis] * strides[axis]
            position //= result.shape[axis]
        cast_line(cast, source, strides[last], result.data + line * length * result.itemsize, result.itemsize, length)


cdef inline void cast_line(LoopFunction cast, char* source, npy_intp stride, char* target, npy_intp itemsize,
                           npy_intp count) noexcept nogil:
    """Cast ``count`` accumulators, ``stride`` bytes apart, to results without gaps."""
    cdef char* arguments[2]
    cdef npy_intp strides[2]
    arguments[0], arguments[1] = source, target
    strides[0], strides[1] = stride, itemsize
    cast(arguments, &count, strides, NULL)
