"""The kernels of Assert and Check, and of EqualLengths: return a view of a value if conditions are true.

``prepare`` checks the conditions, because it may raise errors. Conditions are of bool or integer dtype, so that a value
is true if one of its bytes is not 0; ``perform`` handles other dtypes.
"""
from libc.stdlib cimport free, malloc
from numpy cimport npy_intp

from numpy.linalg import LinAlgError

from phintys.ops.native.integers cimport integer_at
from phintys.vm.abi cimport BOUND_VIEW, Cell, Context, Kernel, share

ERRORS = {error.__name__: error for error in (AssertionError, IndexError, TypeError, ValueError, LinAlgError)}


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
        cdef int number
        for number in range(1, 1 + self.n_conditions):
            if not is_true(operands[number]):
                with gil:
                    raise self.error(self.message)
        view_whole(operands[0], operands[1 + self.n_conditions])
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


cdef struct Length:
    int group
    int operand                # -1: `axis` is the length
    npy_intp axis              # -1: the operand's value is the length

cdef struct Guard:
    int group
    int operand                # a condition
    bint wanted                # what it is if the lengths of the group have to be equal


cdef class EqualLengthsKernel(Kernel):
    """``(value, operands..., out)``. No value is read if all lengths are those of operands, so it is bound.

    Parameters
    ----------
    n_inputs : int
    groups : tuple of tuples of (int, int, str)
        See ``equal_lengths.py``.
    guards : tuple of tuples of (int, bool)
        For each group, as above.
    values : tuple of int
        Operands that hold a length or a condition.
    """
    cdef Length* lengths
    cdef Guard* guards
    cdef int n_inputs, n_lengths, n_guards
    cdef tuple groups

    def __cinit__(self, int n_inputs, groups, guards, values):
        self.examined, self.binding = values, BOUND_VIEW
        self.n_inputs, self.groups = n_inputs, groups
        lengths = [(number, *entry) for number, group in enumerate(groups) for entry in group]
        conditions = [(number, *guard) for number, own in enumerate(guards) for guard in own]
        self.n_lengths, self.n_guards = len(lengths), len(conditions)
        self.lengths = <Length*>malloc(max(self.n_lengths, 1) * sizeof(Length))
        self.guards = <Guard*>malloc(max(self.n_guards, 1) * sizeof(Guard))
        if self.lengths == NULL or self.guards == NULL:
            raise MemoryError()
        for position, (number, operand, axis, _) in enumerate(lengths):
            self.lengths[position] = Length(number, operand, axis)
        for position, (number, operand, wanted) in enumerate(conditions):
            self.guards[position] = Guard(number, operand, wanted)

    def __dealloc__(self):
        free(self.lengths)
        free(self.guards)

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef int position
        for position in range(1, self.n_lengths):
            if self.lengths[position].group == self.lengths[position - 1].group \
                    and length_of(self.lengths[position], operands) != length_of(self.lengths[position - 1], operands) \
                    and self.is_needed(self.lengths[position].group, operands):
                with gil:
                    raise ValueError(self.mismatch(position, operands))
        view_whole(operands[0], operands[self.n_inputs])
        return 0

    cdef bint is_needed(self, int group, Cell** operands) noexcept nogil:
        cdef int position
        for position in range(self.n_guards):
            if self.guards[position].group == group \
                    and is_true(operands[self.guards[position].operand]) != self.guards[position].wanted:
                return False
        return True

    cdef str mismatch(self, int position, Cell** operands):
        """The message for two neighbours that differ."""
        names = [name for group in self.groups for _, _, name in group]
        found = [length_of(self.lengths[position - 1], operands), length_of(self.lengths[position], operands)]
        return mismatch_text(found, names[position - 1:position + 1])

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[self.n_inputs], operands[0], operands[0].data)
        return 0


def mismatch_text(lengths, names):
    """The message for lengths that differ."""
    texts = [f"{name} = {length}" if name else f"expected {length}" for name, length in zip(names, lengths)]
    return f"Input dimension mis-match. ({', '.join(texts)})"


cdef npy_intp length_of(Length length, Cell** operands) noexcept nogil:
    if length.operand < 0:
        return length.axis
    if length.axis < 0:
        return integer_at(operands[length.operand], 0)
    return operands[length.operand].shape[length.axis]


cdef void view_whole(const Cell* source, Cell* view) noexcept nogil:
    """Give a view the shape and the strides of its source."""
    cdef int axis
    for axis in range(source.ndim):
        view.shape[axis], view.strides[axis] = source.shape[axis], source.strides[axis]
