"""Calls of a C function for one row of its arguments after the other, without Python between them.

The loops over PyMC's draws (``api/interop``) call this. Addresses move on only after a row has succeeded, so a caller
can go on with the row that failed, by other means.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

cnp.import_array()

ctypedef int64_t (*General)(const void**, const int64_t**, void**, int64_t**, void*) noexcept nogil

cdef enum:
    MOST_AXES = 64

cdef struct Operand:
    char* data
    cnp.npy_intp step               # to the next row, in bytes; 0: all rows have the same
    int64_t lengths[MOST_AXES]      # of a row


def call_rows(size_t address, list arguments, list results, Py_ssize_t first, Py_ssize_t stop):
    """Call a C function of the signature ``general`` for the rows from ``first`` up to ``stop``.

    Parameters
    ----------
    address : int
    arguments, results : list of (numpy.ndarray, bool)
        C-contiguous arrays of the right dtypes, and whether each row has an item of theirs. Otherwise all rows share
        the array; if it is an argument and a result, each row begins with what the last one has left there.

    Returns
    -------
    int
        The row that failed, or has results of other lengths; ``stop`` if there is none.
    """
    cdef Py_ssize_t n_arguments = len(arguments), n_results = len(results), row = first, index
    cdef Operand* operands = <Operand*>calloc(n_arguments + n_results + 1, sizeof(Operand))
    cdef void** addresses = <void**>calloc(n_arguments + n_results + 1, sizeof(void*))
    cdef int64_t** lengths = <int64_t**>calloc(n_arguments + n_results + 1, sizeof(int64_t*))
    try:
        if operands == NULL or addresses == NULL or lengths == NULL:
            raise MemoryError("no memory for the addresses of rows")
        for index, (array, by_row) in enumerate(arguments + results):
            describe(&operands[index], array, by_row, first, stop)
            addresses[index], lengths[index] = operands[index].data, operands[index].lengths
        with nogil:
            while row < stop and (<General>address)(<const void**>addresses, <const int64_t**>lengths,
                                                    addresses + n_arguments, lengths + n_arguments, NULL) == 0:
                for index in range(n_arguments + n_results):
                    addresses[index] = <char*>addresses[index] + operands[index].step
                row += 1
        return row
    finally:
        free(operands)
        free(addresses)
        free(lengths)


cdef int describe(Operand* operand, cnp.ndarray array, bint by_row, Py_ssize_t first, Py_ssize_t stop) except -1:
    cdef int axis, skipped = 1 if by_row else 0
    if not cnp.PyArray_ISBEHAVED_RO(array) or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        raise ValueError("rows are called with aligned arrays in C order of the machine's byte order")
    if by_row and (array.ndim == 0 or not 0 <= first <= stop <= array.shape[0]):
        raise ValueError(f"an array of shape {(<object>array).shape} does not have rows {first} to {stop}")
    operand.data = <char*>cnp.PyArray_DATA(array)
    if by_row:
        operand.step = array.nbytes // array.shape[0] if array.shape[0] else 0
        operand.data += first * operand.step
    for axis in range(skipped, array.ndim):
        operand.lengths[axis - skipped] = array.shape[axis]
    return 0
