"""Reshape and flatten: the same elements in C order with another shape.

A reshape is a view if strides permit, else a copy. Its shape is a vector that may be computed, with at most one entry
-1; ``MakeVector`` converts a tuple of symbolic lengths to such a vector.
"""
import warnings

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar import add, eq, maximum, minimum, mul, switch
from phintys.ops.native.shape_kernel import ReshapeKernel
from phintys.ops.shape.dimshuffle import declare_ones
from phintys.ops.shape.join import MakeVector, stack
from phintys.ops.shape.shape import Shape, Shape_i, patternbroadcast, shape, shape_i
from phintys.ops.types.axes import one_integer
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.numpy_arguments import as_numpy, with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType

SEEN_DEPTH = 4                  # nodes that `is_never_negative` looks through


def as_shape_vector(lengths):
    """A shape as a vector of integers, and its entries as far as they are known.

    Parameters
    ----------
    lengths : vector, integer, or sequence of ints and symbolic integers

    Returns
    -------
    (TensorVariable, list of int or None) or (TensorVariable, None)
        The lengths, with None for unknown ones; or None if the number of lengths is unknown.
    """
    if isinstance(lengths, Variable) and lengths.type.ndim == 1:
        return lengths, _known_entries(lengths)
    entries = list(lengths) if isinstance(lengths, (list, tuple)) or getattr(lengths, "ndim", 0) == 1 else [lengths]
    known = [known_integer(entry) for entry in entries]
    if any([isinstance(entry, Variable) for entry in entries]):
        entries = [entry if isinstance(entry, Variable) else constant(entry, dtype="int64") for entry in entries]
        for entry in entries:
            if entry.type.dtype not in integer_dtypes:
                raise TypeError(f"Shape must be integers, got {entry} of dtype {entry.type.dtype}")
        return stack(entries), known
    if entries and None in known:
        raise TypeError(f"Shape must be integers, got {lengths!r}")
    return constant(numpy.array(known, dtype="int64")), known


def _known_entries(vector):
    """The entries of a shape vector, or None if their number is not known."""
    if isinstance(vector, Constant):
        return [int(length) for length in vector.data]
    if vector.owner is not None and isinstance(vector.owner.op, MakeVector):
        return [known_integer(entry) for entry in vector.owner.inputs]
    length = vector.type.shape[0]
    return None if length is None else [None] * length


class Reshape(Op):
    """The same elements in C order with another shape.

    Parameters
    ----------
    ndim : int
        The rank of the result, which is the length of the shape.

    Examples
    --------
    >>> T.Reshape(2)(T.as_tensor([1, 2, 3, 4]), (2, 2)).eval()
    array([[1, 2],
           [3, 4]])
    """

    __props__ = ("ndim",)
    moves_elements = True
    linear_in = (0,)
    view_map = {0: [0]}
    depends_on = (0,)

    def __init__(self, ndim):
        self.ndim = int(ndim)
        if self.ndim < 0:
            raise ValueError("The output dimensions after reshape must be 0 or greater")

    def make_node(self, x, shp):
        x = as_tensor_variable(x)
        vector, known = as_shape_vector(shp)
        if vector.type.ndim != 1 or (vector.type.dtype not in integer_dtypes and known != []):
            raise TypeError(f"Shape must be integers, got {vector} of type {vector.type}")
        if known is not None and len(known) != self.ndim:
            raise ValueError(f"shape argument to Reshape has length {len(known)}, should be {self.ndim}")
        lengths = _static_lengths(x.type.shape, [None] * self.ndim if known is None else known)
        pattern = [length == 1 for length in known or [None] * self.ndim]
        lengths = [1 if flag else length for flag, length in zip(pattern, lengths)]
        return Apply(self, [x, vector], [TensorType(x.type.dtype, pattern, shape=lengths).make_variable()])

    def make_kernel(self, node):
        return ReshapeKernel()

    def __str__(self):
        return f"Reshape{{{self.ndim}}}"

    def infer_shape(self, node, input_shapes):
        vector = node.inputs[1]
        wanted = entries_of(vector, self.ndim)
        if -1 in [entry for entry in wanted if isinstance(entry, int)]:
            rest = _product([entry for entry in wanted if not isinstance(entry, int) or entry != -1])
            missing = _quotient(_product(list(input_shapes[0])), rest)
            return [tuple([missing if isinstance(entry, int) and entry == -1 else entry for entry in wanted])]
        if all([isinstance(entry, int) or is_never_negative(entry) for entry in wanted]):
            return [tuple(wanted)]
        size = _product(list(input_shapes[0]))
        missing = size // maximum(-_product(wanted), 1)
        return [tuple([entry if isinstance(entry, int) or is_never_negative(entry) else
                       switch(eq(entry, -1), missing, entry) for entry in wanted])]

    def grad(self, inputs, output_grads):
        x, _ = inputs
        gradient = reshape(output_grads[0], shape(x), ndim=x.type.ndim)
        return [patternbroadcast(gradient, x.type.broadcastable), disconnected_type()]


def entries_of(vector, ndim):
    """The entries of a shape vector, as ints if known, else as variables."""
    if isinstance(vector, Constant):
        return [int(length) for length in vector.data]
    if vector.owner is not None and isinstance(vector.owner.op, MakeVector):
        known = [known_integer(entry) for entry in vector.owner.inputs]
        return [entry if number is None else number for number, entry in zip(known, vector.owner.inputs)]
    if vector.owner is not None and isinstance(vector.owner.op, Shape):
        return [shape_i(vector.owner.inputs[0], position) for position in range(ndim)]
    return [vector[position] for position in range(ndim)]


def is_never_negative(variable, depth=SEEN_DEPTH):
    """Whether integers are lengths, or are computed from lengths in a way that makes no negative ones: as entries of a
    shape none is -1, and no formula for it must be made."""
    node = variable.owner
    if node is None:
        return isinstance(variable, Constant) and bool((variable.data >= 0).all())
    op = node.op
    if isinstance(op, (Shape, Shape_i)):
        return True
    if not depth:
        return False
    if type(op) is Elemwise and op.scalar_op in (add, mul, minimum):
        return all([is_never_negative(operand, depth - 1) for operand in node.inputs])
    if type(op) is Elemwise and op.scalar_op is maximum:
        return any([is_never_negative(operand, depth - 1) for operand in node.inputs])
    # elements of a shape; a user's view may show other numbers
    return (op.view_map.get(variable.index) == [0] and type(op).__module__.startswith("phintys.")
            and is_never_negative(node.inputs[0], depth - 1))


def _product(factors):
    """The product of ints and symbolic integers."""
    result = 1
    for factor in factors:
        result = result * factor
    return result


def _quotient(size, rest):
    """``size // rest``, where a ``rest`` of 0 counts as 1."""
    if isinstance(rest, int):
        return size // (rest or 1)
    return size // maximum(rest, 1)


def _static_lengths(shape, wanted):
    """Known lengths of the result: the requested ones, and that for -1 if the input's lengths are known."""
    lengths = [length if length is not None and length >= 0 else None for length in wanted]
    if wanted.count(-1) == 1 and None not in shape and wanted.count(None) == 0:
        rest = -_product(wanted)
        if rest > 0:
            lengths[wanted.index(-1)] = _product(shape) // rest
    return lengths


@with_numpy_arguments
def reshape(x, newshape, ndim=None):
    """The elements of ``x`` in C order with another shape.

    Parameters
    ----------
    x : tensor-like
    newshape : sequence of ints and symbolic integers, or vector of integers
        At most one entry may be -1; it is computed from the others.
    ndim : int, optional
        The length of ``newshape``, if it cannot be determined.

    Returns
    -------
    TensorVariable
        Of the dtype of ``x``; a view if possible.

    Raises
    ------
    TypeError
        If the shape contains anything but integers.
    ValueError
        If its length is unknown and ``ndim`` is not given; at run time, if the sizes differ.

    Examples
    --------
    >>> T.reshape(T.arange(4), (2, -1)).eval()
    array([[0, 1],
           [2, 3]])
    """
    if isinstance(ndim, str):
        return reshape(x, newshape, order=ndim)      # NumPy's argument
    vector, known = as_shape_vector(newshape)
    if vector.type.ndim != 1:
        raise TypeError("New shape in reshape must be a vector or a list/tuple of scalar. Got "
                        f"{vector} after conversion to a vector.")
    if ndim is None:
        if known is None:
            raise ValueError(f"The length of the provided shape ({vector}) cannot be automatically determined. You can "
                             "provide the 'ndim' keyword argument to 'reshape' to avoid this problem.")
        ndim = len(known)
    return Reshape(ndim)(x, vector)


def is_flat(var, ndim=None, outdim=None):
    """Whether ``var`` has ``ndim`` dimensions (1 by default); ``outdim`` is the older name of ``ndim``.

    Examples
    --------
    >>> T.is_flat(T.dvector()), T.is_flat(T.dmatrix())
    (True, False)
    """
    return as_tensor_variable(var).type.ndim == _wanted_rank(ndim, outdim)


def _wanted_rank(ndim, outdim):
    """The rank requested by either of the two parameters."""
    if outdim is None:
        return 1 if ndim is None else ndim
    if ndim is not None:
        raise ValueError("You should only specify ndim")
    warnings.warn("flatten outdim parameter is deprecated, use ndim instead.", stacklevel=3)
    return outdim


@as_numpy("ravel")
def flatten(x, ndim=None, outdim=None):
    """``x`` with trailing dimensions joined, so that ``ndim`` dimensions remain (1 by default).

    Parameters
    ----------
    x : tensor-like
    ndim : int
        Or an order of NumPy's, "C" or "F": all dimensions are joined.
    outdim : int
        Theano's older name of ``ndim``.

    Raises
    ------
    ValueError
        If ``x`` has fewer dimensions, or both ``ndim`` and ``outdim`` are given.

    Examples
    --------
    >>> T.flatten(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([1, 2, 3, 4])
    """
    x = as_tensor_variable(x)
    ndim = _wanted_rank(ndim, outdim)
    if isinstance(ndim, str):
        return flatten(x, order=ndim)                # NumPy's argument
    ndim = one_integer("flatten", "ndim", ndim)
    if ndim < 1 or (ndim > 1 and ndim > x.type.ndim):
        raise ValueError(f"ndim {ndim} out of bound [1, {x.type.ndim + 1})")
    lengths = shape(x)
    if ndim == 1:
        result = reshape(x, [-1])
    else:                                            # -1 would be undefined if another length is 0
        result = reshape(x, [*[lengths[axis] for axis in range(ndim - 1)],
                             _product([lengths[axis] for axis in range(ndim - 1, x.type.ndim)])])
    pattern = [*x.type.broadcastable[:ndim - 1], all(x.type.broadcastable[ndim - 1:])]
    return declare_ones(result, [axis for axis, flag in enumerate(pattern) if flag])
