"""Sampling: the base class of ops that draw from a state; and the ``size`` of their samples.

The inputs are the state, the size and the parameters of a distribution, the outputs the new state and the sample. A
size is a vector of integers, whose entries may be constants or computed."""
from phintys.graph.errors import made_at
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.shape.reshape import as_shape_vector
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType


class Sampling(Op):
    """The base class.

    Attributes
    ----------
    depends : bool
        Whether the sample depends on the parameters; then it has no derivatives by them.
    """

    depends = True
    is_foldable = False

    def as_state(self, state):
        """The state as a variable, a vector of uint64."""
        state = as_tensor_variable(state)
        if state.type != TensorType("uint64", (False,)):
            raise TypeError(f"{self} draws from a state that is a vector of uint64, got {state} of type {state.type}")
        return state

    def connection_pattern(self, node):
        return [[True, True], [False, False], *[[False, self.depends] for _ in node.inputs[2:]]]

    def grad(self, inputs, output_grads):
        state, _, *parameters = inputs
        by_parameters = [grad_undefined(self, position, value) if self.depends else disconnected_type()
                         for position, value in enumerate(parameters, start=2)]
        return [grad_undefined(self, 0, state), disconnected_type(), *by_parameters]

    def R_op(self, inputs, eval_points):
        if not self.depends or all([point is None for point in eval_points[2:]]):
            return [None, None]
        return [None, grad_undefined(self, 2, inputs[2])]


def size_vector(size):
    """A size as a vector of integers, and its entries as far as they are known.

    Parameters
    ----------
    size : Variable, int, or sequence of int and Variable

    Returns
    -------
    tuple (Variable, list of (int or None) or None)
        The list is None if not even the number of entries is known.

    Raises
    ------
    TypeError
        If it is not a vector of integers.
    """
    vector, known = as_shape_vector(size)
    if known == [] and vector.type.dtype not in integer_dtypes:
        vector = cast(vector, "int64")
    if vector.type.ndim != 1 or vector.type.dtype not in integer_dtypes:
        raise TypeError(f"size must be a vector of integers, got {vector} of type {vector.type}")
    return vector, known


def rank_of(size, known):
    """The number of entries of a size, or ``ValueError`` if it is not known."""
    if known is None:
        raise ValueError(f"the number of dimensions is not known: pass ndim, because the length of the size "
                         f"{size}{made_at(size)} depends on inputs")
    return len(known)


def sample_type(dtype, ndim, known):
    """The type of samples of ``ndim`` dimensions, given what is known of the size."""
    if known is not None and len(known) != ndim:
        raise ValueError(f"size has {len(known)} entries, but the samples have {ndim} dimensions")
    lengths = [None if length is None or length < 0 else length for length in known or [None] * ndim]
    return TensorType(dtype, [length == 1 for length in lengths], shape=lengths)


def sample_shape(size, ndim):
    """The symbolic shape of samples."""
    return tuple([size[axis] for axis in range(ndim)])
