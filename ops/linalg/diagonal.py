"""Diagonals: views of diagonals (ExtractDiag), arrays made from them (AllocDiag), and arrays in which one is set.

A diagonal with ``offset`` k consists of the elements ``x[i, i + k]``. Other dimensions are kept and come first.
"""
from numpy.exceptions import AxisError

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.ops.creation.alloc import gradient_of_broadcast
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.scalar import as_dtype, eq, maximum, minimum, switch
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.indexing.subtensor import fitting_value, zero_gradients
from phintys.ops.linalg.diagonal_kernel import AllocDiagKernel, ExtractDiagKernel, SetDiagonalKernel
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_axis, one_integer
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes, upcast
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.numpy_arguments import with_numpy_arguments
from phintys.ops.types.tensor_type import TensorType


class Diagonal(Op):
    """The base class of ops on the diagonals of the matrices in a tensor.

    Parameters
    ----------
    offset : int
    axis1, axis2 : int
        The dimensions of the matrices' rows and columns; not negative.
    """

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset=0, axis1=0, axis2=1):
        name = type(self).__name__
        self.offset = one_integer(name, "offset", offset)
        self.axis1, self.axis2 = one_integer(name, "axis1", axis1), one_integer(name, "axis2", axis2)
        if self.axis1 == self.axis2 or min(self.axis1, self.axis2) < 0:
            raise ValueError(f"{name}: axis1 and axis2 must be different and not negative, got {axis1} "
                             f"and {axis2}")

    def _check_rank(self, rank, x):
        if rank < 2:
            raise ValueError(f"{type(self).__name__} needs an input with 2 or more dimensions, {x} has {rank}")
        if max(self.axis1, self.axis2) >= rank:
            raise AxisError(f"{type(self).__name__}: axes {self.axis1} and {self.axis2} are out of bounds for {rank} "
                            "dimensions")

    def _without_matrix(self, per_dimension):
        """The items for the dimensions other than those of the matrices."""
        return [each for axis, each in enumerate(per_dimension) if axis not in (self.axis1, self.axis2)]


class ExtractDiag(Diagonal):
    """The diagonals of the matrices along two dimensions, as a view. The dimension along the diagonals is the last one.

    Parameters
    ----------
    offset, axis1, axis2 : int
    view : bool
        Accepted for compatibility with Theano and ignored; the result is a view whenever this is safe.

    Examples
    --------
    >>> T.ExtractDiag()(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([1, 4])
    """

    __props__ = ("offset", "axis1", "axis2", "view")
    moves_elements = True
    linear_in = (0,)
    view_map = {0: [0]}

    def __init__(self, offset=0, axis1=0, axis2=1, view=False):
        Diagonal.__init__(self, offset, axis1, axis2)
        self.view = bool(view)

    def make_node(self, x):
        x = as_tensor_variable(x)
        self._check_rank(x.type.ndim, x)
        rows, columns = x.type.shape[self.axis1], x.type.shape[self.axis2]
        length = None if rows is None or columns is None else _length(rows, columns, self.offset, min, max)
        return Apply(self, [x], [TensorType(x.type.dtype, [*self._without_matrix(x.type.broadcastable), False],
                                            shape=[*self._without_matrix(x.type.shape), length])()])

    def make_kernel(self, node):
        return ExtractDiagKernel(self.offset, self.axis1, self.axis2)

    def infer_shape(self, node, input_shapes):
        shape, = input_shapes
        return [(*self._without_matrix(shape),
                 _length(shape[self.axis1], shape[self.axis2], self.offset, minimum, maximum))]

    def grad(self, inputs, output_grads):
        x, = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        return [SetDiagonal(self.offset, self.axis1, self.axis2)(x.zeros_like(), output_grads[0])]


def _length(rows, columns, offset, minimum, maximum):
    """The length of a diagonal."""
    if offset == 0:
        return minimum(rows, columns)
    return maximum(minimum(rows, columns - offset) if offset > 0 else minimum(rows + offset, columns), 0)


class SetDiagonal(Diagonal):
    """A copy of x in which the diagonals that `ExtractDiag` returns are set to y. The inputs are x and y; y is
    broadcast.

    Parameters
    ----------
    offset, axis1, axis2 : int
    inplace : bool
        Whether the result may overwrite x.
    """

    runs_alone = True
    __props__ = ("offset", "axis1", "axis2", "inplace")
    shape_as = 0
    linear_in = (0, 1)
    can_overwrite = {0: (0,)}
    cannot_fail = changes_part = True

    def __init__(self, offset=0, axis1=0, axis2=1, inplace=False):
        Diagonal.__init__(self, offset, axis1, axis2)
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x, y):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        self._check_rank(x.type.ndim, x)
        if y.type.ndim >= x.type.ndim:
            raise ValueError(f"SetDiagonal: the diagonals of {x} have {x.type.ndim - 1} dimensions, the value {y} has "
                             f"{y.type.ndim}")
        return Apply(self, [x, fitting_value(x, y)], [x.type()])

    def make_kernel(self, node):
        return SetDiagonalKernel(self.offset, self.axis1, self.axis2)

    def grad(self, inputs, output_grads):
        x, y = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return zero_gradients(x, y)
        taken = ExtractDiag(self.offset, self.axis1, self.axis2)(gz)
        return [self.overwriting({})(gz, constant(0, dtype=gz.type.dtype)), gradient_of_broadcast(taken, y)]


class AllocDiag(Diagonal):
    """Square matrices of zeros with the given diagonals; the last dimension of the input is the one along the
    diagonals.

    Parameters
    ----------
    offset : int
    axis1, axis2 : int
        The positions of the dimensions of the matrices in the result.

    Examples
    --------
    >>> T.AllocDiag(offset=1)(T.as_tensor([1, 2])).eval()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """

    linear_in = (0,)

    runs_alone = True

    def make_node(self, diag):
        diag = as_tensor_variable(diag)
        if diag.type.ndim < 1:
            raise ValueError(f"AllocDiag needs an input with 1 or more dimensions, {diag} has none")
        self._check_rank(diag.type.ndim + 1, diag)
        length = diag.type.shape[-1]
        length = None if length is None else length + abs(self.offset)
        lengths = self._with_matrix(diag.type.shape[:-1], length)
        flags = self._with_matrix(diag.type.broadcastable[:-1], False)
        return Apply(self, [diag], [TensorType(diag.type.dtype, flags, shape=lengths)()])

    def _with_matrix(self, others, matrix):
        """The items for each dimension of the result."""
        others = iter(others)
        low, high = sorted([self.axis1, self.axis2])
        front = [next(others) for _ in range(low)] + [matrix]
        return front + [next(others) for _ in range(high - low - 1)] + [matrix, *others]

    def make_kernel(self, node):
        return AllocDiagKernel(self.offset, *sorted([self.axis1, self.axis2]))

    def infer_shape(self, node, input_shapes):
        *others, length = input_shapes[0]
        return [tuple(self._with_matrix(others, length + abs(self.offset)))]

    def grad(self, inputs, output_grads):
        x, = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX)]
        return [ExtractDiag(self.offset, *sorted([self.axis1, self.axis2]))(output_grads[0])]


extract_diag = ExtractDiag()


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonals of the matrices along two dimensions of ``a``: a view whose last dimension is along the diagonals.

    Parameters
    ----------
    a : tensor-like
        Must have at least two dimensions.
    offset : int
        0 is the main diagonal; positive offsets are above it.
    axis1, axis2 : int

    Raises
    ------
    ValueError
        If ``a`` has fewer than two dimensions, or the axes are equal or do not exist.

    Examples
    --------
    >>> T.diagonal(T.as_tensor([[1, 2], [3, 4]])).eval()
    array([1, 4])
    """
    a = as_tensor_variable(a)
    if a.type.ndim > 1:
        axis1, axis2 = [one_axis("diagonal", a, axis) for axis in (axis1, axis2)]
    return ExtractDiag(offset, axis1, axis2)(a)


def diag(v, k=0):
    """A square matrix with the vector ``v`` on diagonal ``k``; if ``v`` has more dimensions, its diagonals ``k``.

    Raises
    ------
    ValueError
        If ``v`` is a scalar.

    Examples
    --------
    >>> T.diag(T.as_tensor([1, 2])).eval()
    array([[1, 0],
           [0, 2]])
    """
    v = as_tensor_variable(v)
    if v.type.ndim == 0:
        raise ValueError("Input must has v.ndim >= 1.")
    return AllocDiag(k)(v) if v.type.ndim == 1 else diagonal(v, offset=k)


def alloc_diag(x):
    """A square matrix with the vector ``x`` on its diagonal and zeros elsewhere.

    Raises
    ------
    TypeError
        If ``x`` is not a vector.

    Examples
    --------
    >>> T.nlinalg.alloc_diag(T.as_tensor([1.0, 2.0])).eval()
    array([[1., 0.],
           [0., 2.]])
    """
    x = as_tensor_variable(x)
    if x.type.ndim != 1:
        raise TypeError(f"alloc_diag only works on vectors, got {x} of type {x.type}")
    return AllocDiag()(x)


@with_numpy_arguments
def trace(a, offset=0, axis1=0, axis2=1):
    """The sums of the diagonals of the matrices along two dimensions of ``a``, like ``numpy.trace``.

    Parameters
    ----------
    a, offset, axis1, axis2
        See ``diagonal``.

    Raises
    ------
    ValueError
        See ``diagonal``.

    Examples
    --------
    >>> T.trace(T.as_tensor([[1, 2], [3, 4]])).eval()
    array(5)
    """
    diagonals = diagonal(a, offset, axis1, axis2)
    return Sum(axis=diagonals.type.ndim - 1)(diagonals)


# ---- filling one diagonal with a number ------------------------------------------------------------------------------
@at_home
class FillDiagonal:
    """`fill_diagonal`, as an object like Theano's op of this name.

    Examples
    --------
    >>> T.FillDiagonal()(T.as_tensor([[1, 2], [3, 4]]), 9).eval()
    array([[9, 2],
           [3, 9]])
    """

    def __call__(self, a, val):
        return fill_diagonal(a, val)


@at_home
class FillDiagonalOffset:
    """`fill_diagonal_offset`, as an object like Theano's op of this name.

    Examples
    --------
    >>> T.FillDiagonalOffset()(T.as_tensor([[1, 2], [3, 4]]), 9, 1).eval()
    array([[1, 9],
           [3, 4]])
    """

    def __call__(self, a, val, offset):
        return fill_diagonal_offset(a, val, offset)


def _filling(name, a, value):
    """The number to fill with, converted to the dtype of ``a``."""
    value = as_tensor_variable(value)
    if value.type.ndim != 0:
        raise TypeError(f"{name}: second parameter must be a scalar")
    if upcast(a.type.dtype, value.type.dtype) != a.type.dtype:
        raise TypeError(f"{name}: type of second parameter must be the same as the first's: "
                        f"{value.type.dtype} does not fit into {a.type.dtype}")
    return as_dtype(value, a.type.dtype)


def fill_diagonal(a, val):
    """A copy of ``a`` in which the main diagonal is set to the number ``val``.

    Parameters
    ----------
    a : tensor-like
        A matrix of any shape, or a tensor with more dimensions of equal length.
    val : scalar
        Its dtype must be convertible to that of ``a`` without loss.

    Raises
    ------
    TypeError
        If ``a`` has fewer than two dimensions, or ``val`` is not a scalar or has a wider dtype.
    ValueError
        At run time, if there are more than two dimensions and their lengths differ.

    Examples
    --------
    >>> T.fill_diagonal(T.as_tensor([[1, 2], [3, 4]]), 9).eval()
    array([[9, 2],
           [3, 9]])
    """
    a = as_tensor_variable(a)
    rank = a.type.ndim
    if rank < 2:
        raise TypeError("fill_diagonal: first parameter must have at least two dimensions")
    value = _filling("fill_diagonal", a, val)
    if rank == 2:
        return SetDiagonal()(a, value)
    lengths = [shape_i(a, axis) for axis in range(rank)]
    length = Check("All dimensions of input must be of equal length")(
        lengths[0], *[eq(length, lengths[0]) for length in lengths[1:]])
    return set_subtensor(a[(arange(length),) * rank], value)


def fill_diagonal_offset(a, val, offset):
    """A copy of the matrix ``a`` in which diagonal ``offset``, a symbolic integer, is set to the number ``val``.

    Raises
    ------
    TypeError
        If ``a`` is not a matrix, ``val`` is not a scalar or has a wider dtype, or ``offset`` is not an integer.

    Examples
    --------
    >>> T.fill_diagonal_offset(T.as_tensor([[1, 2], [3, 4]]), 9, 1).eval()
    array([[1, 9],
           [3, 4]])
    """
    a, offset = as_tensor_variable(a), as_tensor_variable(offset)
    if a.type.ndim != 2:
        raise TypeError("fill_diagonal_offset: first parameter must have exactly two dimensions")
    if offset.type.ndim != 0:
        raise TypeError("fill_diagonal_offset: third parameter must be a scalar")
    if offset.type.dtype not in integer_dtypes:
        raise TypeError("fill_diagonal_offset: type of third parameter must be as integer use "
                        "tensor.cast( input, 'int32/int64')")
    value, known = _filling("fill_diagonal_offset", a, val), known_integer(offset)
    if known is not None:
        return SetDiagonal(known)(a, value)
    rows, columns = dimshuffle(arange(shape_i(a, 0)), [0, "x"]), arange(shape_i(a, 1))
    return switch(eq(rows + offset, columns), value, a)


fill_diagonal_, fill_diagonal_offset_ = fill_diagonal, fill_diagonal_offset
