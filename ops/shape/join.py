"""Joining tensors: Join, MakeVector (for scalars), and ``join``, ``concatenate``, ``stack`` and similar functions.

A join copies each input once and casts it in the same pass. Inputs must have equal lengths in all dimensions except the
axis. No dimension is broadcast: if one input declares a dimension broadcastable, all inputs have length 1 there. The
inverse operation is in ``split.py``.
"""
import warnings

import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.graph.variable import Variable
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.complex_derivatives import real_like
from phintys.ops.shape.dimshuffle import shape_padaxis
from phintys.ops.shape.join_kernel import JoinKernel, MakeVectorKernel
from phintys.ops.shape.shape import patternbroadcast, shape, shape_i
from phintys.ops.types.axes import one_axis, sequence_of
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes, upcast
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.numpy_arguments import as_numpy, with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType


class MakeVector(Op):
    """A vector of 0-d inputs.

    Parameters
    ----------
    dtype : str
        The dtype of the vector; inputs are cast to it, which must be possible without loss.

    Examples
    --------
    >>> T.MakeVector("int64")(1, 2, 3).eval()
    array([1, 2, 3])
    """

    __props__ = ("dtype",)
    moves_elements = True
    linear_in = slice(None)

    def __init__(self, dtype="int64"):
        self.dtype = dtype

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(value) for value in inputs]
        for value in inputs:
            if value.type.ndim != 0:
                raise TypeError(f"MakeVector takes scalars only, got {value} of type {value.type}")
            if upcast(self.dtype, value.type.dtype) != self.dtype:
                raise TypeError(f"MakeVector.make_node expected inputs upcastable to {self.dtype}. got "
                                f"{value.type.dtype}")
        inputs = [value if value.type.dtype == self.dtype else value.astype(self.dtype) for value in inputs]
        return Apply(self, inputs, [TensorType(self.dtype, (False,), shape=(len(inputs),)).make_variable()])

    def make_kernel(self, node):
        return MakeVectorKernel(len(node.inputs))

    def infer_shape(self, node, input_shapes):
        return [(len(input_shapes),)]

    def grad(self, inputs, output_grads):
        if self.dtype in discrete_dtypes:
            return [value.zeros_like(dtype=config.floatX) for value in inputs]
        return [output_grads[0][position] for position in range(len(inputs))]


make_vector = MakeVector()


class Join(Op):
    """Joins tensors along an axis. The inputs are the axis and the tensors.

    Parameters
    ----------
    view : int
        The number of the tensor that is returned without a copy if all others are empty along the axis; -1 means that
        the result is always a copy.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if tensors have different ranks or no dimensions, or the axis is not an integer.
    ValueError
        Raised by ``make_node`` if there are no tensors or the axis does not exist; at run time, if shapes do not match.
    IndexError
        For an axis below ``-ndim``.

    Examples
    --------
    >>> T.Join()(0, T.as_tensor([1, 2]), T.as_tensor([3])).eval()
    array([1, 2, 3])
    """

    Split = None        # the inverse op, set by split.py
    runs_alone = True
    __props__ = ("view",)
    moves_elements = True
    linear_in = slice(1, None)

    def __init__(self, view=-1):
        self.view = view
        if view != -1:
            self.view_map = {0: [1 + view]}

    def make_node(self, axis, *tensors):
        if not tensors:
            raise ValueError("Cannot join an empty list of tensors")
        tensors = [as_tensor_variable(tensor) for tensor in tensors]
        types = [tensor.type for tensor in tensors]
        if not all([type_.ndim for type_ in types]):
            raise TypeError("Join cannot handle arguments of dimension 0. For joining scalar values, see stack")
        if len({type_.ndim for type_ in types}) > 1:
            raise TypeError(f"Join() can only join tensors with the same number of dimensions, got {types}")
        axis = _axis_variable(axis)
        if axis.type.ndim or axis.type.dtype not in integer_dtypes:
            raise TypeError(f"Join: the axis could not be cast to an integer type: {axis} has type {axis.type}")
        dtype = upcast(*[type_.dtype for type_ in types])
        known = known_integer(axis)
        known = None if known is None else one_axis("Join", tensors[0], known)
        return Apply(self, [axis, *tensors], [_joined_type(dtype, known, types).make_variable()])

    def make_kernel(self, node):
        dtypes = [tensor.type.dtype for tensor in node.inputs[1:]]
        return JoinKernel(dtypes, node.outputs[0].type.dtype, self.view)

    def infer_shape(self, node, input_shapes):
        shapes = input_shapes[1:]
        rank = len(shapes[0])
        axis = known_integer(node.inputs[0])
        sums = [scalar.add(*lengths) if len(lengths) > 1 else lengths[0] for lengths in zip(*shapes)]
        if axis is not None:
            return [tuple([sums[dimension] if dimension == axis % rank else _common_length(node, shapes, dimension)
                           for dimension in range(rank)])]
        axis = scalar.switch(scalar.ge(node.inputs[0], 0), node.inputs[0], node.inputs[0] + rank)
        return [tuple([scalar.switch(scalar.eq(axis, dimension), sums[dimension], shapes[0][dimension])
                       for dimension in range(rank)])]

    def grad(self, inputs, output_grads):
        axis, *tensors = inputs
        gz, = output_grads
        no_gradient = grad_undefined(self, 0, axis)
        if upcast(*[tensor.type.dtype for tensor in tensors]) in discrete_dtypes:
            return [no_gradient] + [tensor.zeros_like(dtype=config.floatX) for tensor in tensors]
        known = known_integer(axis)
        lengths = [shape(tensor)[axis] if known is None else shape_i(tensor, known % tensor.type.ndim)
                   for tensor in tensors]
        parts = self.Split(len(tensors))(gz, axis, stack(lengths), return_list=True)
        return [no_gradient] + [patternbroadcast(real_like(tensor, part), tensor.type.broadcastable)
                                for part, tensor in zip(parts, tensors)]

    def __str__(self):
        return "Join" if self.view == -1 else f"Join{{view={self.view}}}"


def _joined_type(dtype, axis, types):
    """The type of a join; each length is known if it is known for any of the inputs."""
    rank = types[0].ndim
    if len(types) == 1:
        return TensorType(dtype, types[0].broadcastable, shape=types[0].shape)
    if axis is None:
        return TensorType(dtype, (False,) * rank)
    flags, lengths = [], []
    for dimension in range(rank):
        known = [type_.shape[dimension] for type_ in types]
        if dimension == axis:
            flags.append(False)
            lengths.append(None if None in known else sum(known))
        else:
            flags.append(any([type_.broadcastable[dimension] for type_ in types]))
            lengths.append(1 if flags[-1] else next((length for length in known if length is not None), None))
    return TensorType(dtype, flags, shape=lengths)


def _common_length(node, shapes, dimension):
    """The common length of all inputs; a length that is known at compile time is preferred."""
    for tensor, lengths in zip(node.inputs[1:], shapes):
        if tensor.type.shape[dimension] is not None:
            return lengths[dimension]
    return shapes[0][dimension]


join_ = Join()


def _axis_variable(axis):
    """The axis of a join as a variable."""
    if isinstance(axis, (str, list, tuple)):
        raise TypeError(f"Join: the axis must be an integer, got {axis!r}; it comes before the tensors: "
                        "T.join(axis, x, y), but T.concatenate([x, y], axis).")
    return as_tensor_variable(axis)


def join(axis, *tensors_list):
    """Join tensors along an axis.

    Parameters
    ----------
    axis : int or symbolic integer
        A negative axis counts from the last dimension.
    *tensors_list : tensor-like
        Tensors of equal rank, which is at least 1, and of equal lengths in all other dimensions.

    Returns
    -------
    TensorVariable
        Of the common dtype; a single tensor is returned unchanged.

    Raises
    ------
    TypeError
        For scalars (use ``stack`` for these) and for different ranks.
    ValueError, IndexError
        For an invalid axis; ValueError at run time if shapes do not match.

    Examples
    --------
    >>> T.join(0, T.as_tensor([1, 2]), T.as_tensor([3])).eval()
    array([1, 2, 3])
    """
    if len(tensors_list) != 1:
        return join_(axis, *tensors_list)
    _axis_variable(axis)
    return tensors_list[0]


@with_numpy_arguments
def concatenate(tensor_list, axis=0):
    """`join` with NumPy's signature; raises ``TypeError`` if ``tensor_list`` is not a list or tuple.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.concatenate([x, 10 * x], axis=1).eval({x: [[1, 2]]})
    array([[ 1.,  2., 10., 20.]])
    """
    if not isinstance(tensor_list, (tuple, list)):
        raise TypeError("The 'tensors' argument must be either a tuple or a list, make sure you did not forget () or "
                        f"[] around arguments of concatenate: got {tensor_list!r}.")
    if axis is None:
        return concatenate(tensor_list, axis=None, casting="same_kind")     # NumPy's, of flat tensors
    return join(axis, *tensor_list)


@as_numpy("stack", ("tensors", "axis"))
def stack(*tensors, **kwargs):
    """Join tensors of one shape along a new axis: ``stack(tensors, axis=0)``.

    Parameters
    ----------
    tensors : sequence of tensor-likes
        ``stack(a, b)`` without a list is Theano's deprecated form and issues a warning.
    axis : int
        The position of the new axis in the result; a negative position counts from the last dimension.

    Returns
    -------
    TensorVariable
        Of the common dtype.

    Raises
    ------
    IndexError
        For an axis that the result does not have.
    ValueError
        If there are no tensors; at run time, if shapes differ.

    Examples
    --------
    >>> T.stack([T.as_tensor([1, 2]), T.as_tensor([3, 4])], axis=1).eval()
    array([[1, 3],
           [2, 4]])
    """
    tensors, axis = _stack_arguments(tensors, kwargs)
    if not len(tensors := sequence_of("stack", "tensors", tensors)):
        raise ValueError("stack: the list of tensors is empty; give at least one")
    tensors = [as_tensor_variable(tensor) for tensor in tensors]
    if any([tensor.type.ndim for tensor in tensors]):
        return join(axis, *[shape_padaxis(tensor, axis) for tensor in tensors])
    one_axis("stack", tensors[0], axis, more=1)
    return MakeVector(upcast(*[tensor.type.dtype for tensor in tensors]))(*tensors)


TensorType.stack = staticmethod(stack)


def _stack_arguments(tensors, kwargs):
    """The tensors and the axis, from either form of arguments of ``stack``."""
    if "tensors" in kwargs:
        return kwargs["tensors"], kwargs.get("axis", *tensors or (0,))
    if not tensors:
        raise ValueError("stack(tensors, axis) must have at least one parameter")
    if not kwargs and not isinstance(tensors[0], (list, tuple, numpy.ndarray)) \
            and (len(tensors) != 1 or not _is_iterable_variable(tensors[0])):
        warnings.warn("stack(*tensors) interface is deprecated, use stack(tensors, axis=0) instead.",
                      DeprecationWarning, stacklevel=3)
        return tensors, 0
    return tensors[0], tensors[1] if len(tensors) > 1 else kwargs.get("axis", 0)


def _is_iterable_variable(tensors):
    """Whether the argument is a symbolic vector of known length, which is treated as the sequence of its entries."""
    return isinstance(tensors, Variable) and tensors.type.ndim > 0 and tensors.type.shape[0] is not None


def stacklists(arg):
    """Stack nested lists of tensors to one tensor, with an axis for each level of nesting.

    Parameters
    ----------
    arg : tensor-like or (nested) list or tuple of them

    Examples
    --------
    >>> T.stacklists([[T.constant(1), T.constant(2)], [T.constant(3), T.constant(4)]]).eval()
    array([[1, 2],
           [3, 4]], dtype=int8)
    """
    return stack([stacklists(entry) for entry in arg]) if isinstance(arg, (tuple, list)) else arg


def _matrices(name, tensors):
    tensors = [as_tensor_variable(tensor) for tensor in tensors]
    if len(tensors) < 2:
        raise AssertionError(f"{name} takes at least two matrices, got {len(tensors)}")
    for tensor in tensors:
        if tensor.type.ndim != 2:
            raise AssertionError(f"{name} takes matrices, got {tensor} of type {tensor.type}")
    return tensors


def horizontal_stack(*args):
    """Join matrices along columns; they have equal numbers of rows. Raises ``AssertionError`` for other tensors.

    Examples
    --------
    >>> T.horizontal_stack(T.as_tensor([[1], [2]]), T.as_tensor([[3], [4]])).eval()
    array([[1, 3],
           [2, 4]])
    """
    return concatenate(_matrices("horizontal_stack", args), axis=1)


def vertical_stack(*args):
    """Join matrices along rows; they have equal numbers of columns. Raises ``AssertionError`` for other tensors.

    Examples
    --------
    >>> T.vertical_stack(T.as_tensor([[1, 2]]), T.as_tensor([[3, 4]])).eval()
    array([[1, 2],
           [3, 4]])
    """
    return concatenate(_matrices("vertical_stack", args), axis=0)
