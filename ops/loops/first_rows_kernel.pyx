"""The kernels of FirstRows and EnoughRows, a view of rows, if there are enough of them; and of StepCount.

The inputs of a loop pass through these. They raise what the loop would raise later, before anything is computed for
it, and copy nothing: the view has the memory of x.
"""
from numpy cimport npy_intp

from phintys.graph.loop_errors import negative_steps
from phintys.ops.native.integers cimport integer_at, shape_of
from phintys.vm.abi cimport BOUND_VIEW, Cell, Context, Kernel, share


cdef class FirstRowsKernel(Kernel):
    """``(x, view)`` or ``(x, count, view)``.

    Parameters
    ----------
    least : int
        How many rows x must have, all of which are in the view; -1: as many as ``count`` says, which are.
    name : str
        Of the sequence, for messages.
    rule : str, optional
        Why x must not have more rows than ``count`` says.
    """
    cdef npy_intp least
    cdef object name, rule
    cdef bint is_exact

    def __init__(self, npy_intp least, name, rule=None):
        self.examined, self.binding = () if least >= 0 else (1,), BOUND_VIEW
        self.least = least
        self.name, self.rule = name, rule
        self.is_exact = rule is not None

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        cdef Cell* x = operands[0]
        cdef Cell* view = operands[1] if self.least >= 0 else operands[2]
        cdef npy_intp least = self.least if self.least >= 0 else integer_at(operands[1], 0)
        cdef int axis
        if x.shape[0] < least or self.is_exact and x.shape[0] != least:
            self.refuse(x, least)
        for axis in range(x.ndim):
            view.shape[axis] = x.shape[axis]
            view.strides[axis] = x.strides[axis]
        if self.least < 0:                          # StepCount refuses a negative number of steps
            view.shape[0] = least if least > 0 else 0
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1] if self.least >= 0 else operands[2], operands[0], operands[0].data)
        return 0

    cdef int refuse(self, Cell* x, npy_intp least) except -1 nogil:
        with gil:
            if self.least >= 0:
                raise ValueError(f"The taps of sequence{self.name} reach over {least + 1} rows, but it has only "
                                 f"{x.shape[0]}; its shape is {shape_of(x)}")
            if self.is_exact:
                raise ValueError(f"Sequence{self.name} has {x.shape[0]} rows, expected {least}: {self.rule}; its shape "
                                 f"is {shape_of(x)}")
            raise ValueError(f"Sequence{self.name} is shorter than the required number of steps: it has {x.shape[0]} "
                             f"rows for {least} steps; its shape is {shape_of(x)}")


cdef class StepCountKernel(Kernel):
    """``(steps, view)``, int64 scalars.

    Parameters
    ----------
    name : str
        Of the loop, for messages.
    """
    cdef object name

    def __init__(self, name):
        self.examined, self.binding = (0,), BOUND_VIEW
        self.name = name

    cdef int prepare(self, Context* context, Cell** operands) except -1 nogil:
        if integer_at(operands[0], 0) < 0:
            with gil:
                raise negative_steps(self.name, integer_at(operands[0], 0))
        return 0

    cdef int run(self, Context* context, Cell** operands) noexcept nogil:
        share(context, operands[1], operands[0], operands[0].data)
        return 0
