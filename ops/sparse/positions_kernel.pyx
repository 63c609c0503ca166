"""Whether the positions of a sparse matrix make a matrix: one pass over them, without the GIL if they are many.

Ops that hand a user's arrays to SciPy's routines ask this first: these write beside their arrays if an index is out of
bounds. A wrong answer may only be no.
"""
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from numpy cimport npy_intp

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    int NPY_ARRAY_CARRAY_RO
    bint PyArray_CHKFLAGS(cnp.ndarray array, int flags)

cdef enum:
    LONG_POSITIONS = 30000         # take 10 us


ctypedef fused Position:
    int32_t
    int64_t


cdef bint keeps_rules(const Position* indices, const Position* indptr, npy_intp major, npy_intp minor,
                      npy_intp most) noexcept nogil:
    cdef npy_intp place
    cdef bint wrong = indptr[0] != 0 or indptr[major] > most
    for place in range(major):
        wrong |= indptr[place + 1] < indptr[place]
    if wrong:
        return False
    for place in range(indptr[major]):          # negative numbers are large unsigned ones
        if Position is int32_t:
            wrong |= <uint32_t>indices[place] >= <uint64_t>minor
        else:
            wrong |= <uint64_t>indices[place] >= <uint64_t>minor
    return not wrong


cdef inline bint is_vector(cnp.ndarray array, int typenum) noexcept:
    return (cnp.PyArray_TYPE(array) == typenum and cnp.PyArray_NDIM(array) == 1
            and PyArray_CHKFLAGS(array, NPY_ARRAY_CARRAY_RO))


def are_sound(indices, indptr, npy_intp count, npy_intp major, npy_intp minor):
    """Whether arrays of positions make a matrix; False too for arrays that are not looked at: of other dtypes than
    int32 and int64, or with gaps.

    Parameters
    ----------
    indices, indptr : numpy.ndarray
    count : int
        How many numbers the matrix has.
    major, minor : int
        How many rows and columns, for CSR; columns and rows, for CSC.

    Returns
    -------
    bool
    """
    cdef int typenum
    cdef npy_intp most
    cdef const void* at
    cdef const void* lines
    cdef bint found
    if type(indices) is not cnp.ndarray or type(indptr) is not cnp.ndarray or major < 0 or minor < 0:
        return False
    typenum = cnp.PyArray_TYPE(<cnp.ndarray>indptr)
    if not is_vector(indices, typenum) or not is_vector(indptr, typenum) or len(indptr) != major + 1:
        return False
    most = min(count, cnp.PyArray_DIM(<cnp.ndarray>indices, 0))
    if typenum != cnp.NPY_INT32 and typenum != cnp.NPY_INT64:
        return False
    if most + major < LONG_POSITIONS:
        return keep_rules(typenum, cnp.PyArray_DATA(<cnp.ndarray>indices), cnp.PyArray_DATA(<cnp.ndarray>indptr), major,
                          minor, most)
    at, lines = cnp.PyArray_DATA(<cnp.ndarray>indices), cnp.PyArray_DATA(<cnp.ndarray>indptr)
    with nogil:
        found = keep_rules(typenum, at, lines, major, minor, most)
    return found


cdef inline bint keep_rules(int typenum, const void* indices, const void* indptr, npy_intp major, npy_intp minor,
                            npy_intp most) noexcept nogil:
    if typenum == cnp.NPY_INT32:
        return keeps_rules(<const int32_t*>indices, <const int32_t*>indptr, major, minor, most)
    return keeps_rules(<const int64_t*>indices, <const int64_t*>indptr, major, minor, most)
