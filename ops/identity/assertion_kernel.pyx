"""The kernel of Assert and Check: returns a view of a value if conditions are true.

``prepare`` checks the conditions, because it may raise errors. Conditions are of bool or integer dtype, so that a value
is true if one of its bytes is not 0; ``perform`` handles other dtypes.
"""
from numpy.linalg import LinAlgError

from phintys.vm.abi cimport BOUND_VIEW, Cell, Context, Kernel, share

ERRORS = {error.__name__: error for error in (AssertionError, IndexError, ValueError, LinAlgError)}


cdef class AssertKernel(Kernel):
    """``(value, conditions..., out)``.

    Parameters
    ----------
    n_conditions : int
    message : str
    error : str
        The name of the error's class, a key of ``ERRORS``.
    """
    cdef int n_conditions
    cdef object message, error

    def __init__(self, int n_conditions, message, error="AssertionError"):
        self.examined, self.binding = tuple(range(1, 1 + n_conditions)), BOUND_VIEW
        self.n_conditions = n_conditions
        self.message, self.error = message, ERRORS[error]

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* value = operands[0]
        cdef Cell* view = operands[1 + self.n_conditions]
        cdef int number, axis
        for number in range(1, 1 + self.n_conditions):
            if not is_true(operands[number]):
                with gil:
                    raise self.error(self.message)
        for axis in range(value.ndim):
            view.shape[axis] = value.shape[axis]
            view.strides[axis] = value.strides[axis]
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1 + self.n_conditions], operands[0], operands[0].data)
        return 0


cdef bint is_true(const Cell* condition) noexcept nogil:
    cdef int position
    for position in range(condition.itemsize):
        if condition.data[position]:
            return True
    return False
