"""How BLAS can see the operands of a product, and how much scratch memory copies of those take that it cannot see."""
from libc.limits cimport INT_MAX
from numpy cimport npy_intp

# How a matrix is in memory, for BLAS: elements of a row are neighbours, or those of a column, or neither.
cdef enum StorageOrder:
    ROWS = 0
    COLUMNS = 1
    COPY = 2                       # BLAS cannot take it: it is copied to scratch memory


cdef inline StorageOrder find_order(npy_intp rows, npy_intp columns, npy_intp stride0, npy_intp stride1, int itemsize,
                               int* leading) noexcept nogil:
    """How BLAS can see a matrix of ``rows`` x ``columns``, with strides in bytes.

    BLAS takes matrices in column order. One in row order is its own transpose in column order, which BLAS multiplies
    as well. The leading dimension, the distance of rows or columns in elements, is written to ``leading``, except for
    a copy. BLAS wants at least the length of a row or column there; a stride of a dimension of length 1 is ignored.
    """
    cdef npy_intp step
    if stride1 == itemsize or columns == 1:
        step = stride0 if rows != 1 else columns * itemsize
        if step >= columns * itemsize and step % itemsize == 0 and step // itemsize <= INT_MAX:
            leading[0] = <int>(step // itemsize)
            return ROWS
    if stride0 == itemsize or rows == 1:
        step = stride1 if columns != 1 else rows * itemsize
        if step >= rows * itemsize and step % itemsize == 0 and step // itemsize <= INT_MAX:
            leading[0] = <int>(step // itemsize)
            return COLUMNS
    return COPY


cdef inline size_t rounded(size_t size) noexcept nogil:
    """Bytes of whole cache lines, so that each copy in scratch memory begins at one."""
    return (size + 63) & ~<size_t>63


cdef inline size_t copy_size(npy_intp rows, npy_intp columns, npy_intp stride0, npy_intp stride1,
                             int itemsize) noexcept nogil:
    """Bytes of scratch memory for a copy of an operand; 0: BLAS takes it as it is."""
    cdef int leading
    if find_order(rows, columns, stride0, stride1, itemsize, &leading) != COPY:
        return 0
    return rounded(rows * columns * itemsize)
