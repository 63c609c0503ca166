"""New arrays: AllocEmpty, ARange, Eye, Tri, Bartlett, and the functions that make them (``Alloc`` is in ``alloc.py``).

Lengths are 0-d integer inputs, constant or computed; a length that is known to be 1 makes a broadcastable dimension.
Functions whose result has the shape of another tensor (``zeros_like``, ``fill``) are elementwise and are defined in
``elementwise_functions.py``.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.graph.variable import Variable
from phintys.ops.creation.alloc import Alloc, lengths_of
from phintys.ops.creation.allocation_kernel import (
    AllocEmptyKernel,
    ARangeKernel,
    EyeKernel,
    TriKernel,
)
from phintys.ops.elementwise import scalar
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import (
    canonical_dtype,
    complex_dtypes,
    discrete_dtypes,
    in_bounds,
    int_dtypes,
    integer_dtypes,
    uint_dtypes,
    upcast,
)
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.tensor_type import TensorType, values_eq_approx_always_true

__all__ = ["ARange", "Alloc", "AllocEmpty", "Bartlett", "Eye", "Tri", "alloc", "arange", "bartlett", "empty", "eye",
           "full", "full_like", "identity_like", "ones", "tri", "zeros"]

WITHOUT_RANGE_LOOP = complex_dtypes | {"float16"}     # ranges of these dtypes are computed by NumPy


class AllocEmpty(Op):
    """A new array with unspecified content. The inputs are the lengths.

    Parameters
    ----------
    dtype : str

    Examples
    --------
    >>> T.AllocEmpty("float64")(2, 3).eval().shape
    (2, 3)
    """

    __props__ = ("dtype",)
    depends_on = ()
    is_foldable = False

    def __init__(self, dtype):
        self.dtype = canonical_dtype(dtype)

    def make_node(self, *shape):
        lengths, known = lengths_of(shape)
        output = TensorType(self.dtype, [length == 1 for length in known], shape=known)()
        output.tag.values_eq_approx = values_eq_approx_always_true
        output.tag.nan_guard_mode_check = False
        return Apply(self, lengths, [output])

    def make_kernel(self, node):
        return AllocEmptyKernel(len(node.inputs))

    def infer_shape(self, node, input_shapes):
        return [tuple(node.inputs)]

    def R_op(self, inputs, eval_points):
        return [zeros(inputs, self.dtype)]


class ARange(Op):
    """The numbers ``start + i * step`` below ``stop``, for three 0-d inputs.

    Parameters
    ----------
    dtype : str

    Examples
    --------
    >>> T.arange(T.lscalar("n")).owner.op
    ARange{dtype='int64'}
    """

    __props__ = ("dtype",)
    depends_on = (0, 2)

    def __init__(self, dtype):
        self.dtype = canonical_dtype(dtype)

    def make_node(self, start, stop, step):
        inputs = [as_tensor_variable(value) for value in (start, stop, step)]
        for value in inputs:
            if value.type.ndim:
                raise TypeError(f"ARange takes scalars, got {value} of type {value.type}")
        kind = TensorType(self.dtype, (False,), shape=(self._static_length(inputs),))
        return Apply(self, inputs, [kind.make_variable()])

    def _static_length(self, inputs):
        known = [known_integer(value) for value in inputs]
        return None if None in known or known[2] == 0 else len(range(*known))

    def make_kernel(self, node):
        dtypes = [value.type.dtype for value in node.inputs]
        if WITHOUT_RANGE_LOOP.intersection([*dtypes, self.dtype]) or self.dtype == "bool":
            return None
        return ARangeKernel(all([dtype in discrete_dtypes for dtype in dtypes]))

    def perform(self, node, inputs, output_storage):
        if self.make_kernel(node) is not None:
            return Op.perform(self, node, inputs, output_storage)
        output_storage[0][0] = numpy.arange(*[value.item() for value in inputs], dtype=self.dtype)

    def infer_shape(self, node, input_shapes):
        start, stop, step = node.inputs
        if not all([value.type.dtype in discrete_dtypes for value in node.inputs]):
            if complex_dtypes.intersection([value.type.dtype for value in node.inputs]):
                return [(shape_i(node.outputs[0], 0),)]
            start, stop, step = [value.astype("float64") for value in node.inputs]
            steps = scalar.ceil(scalar.true_div(stop - start, step)).astype("int64")
            return [(scalar.maximum(steps, 0),)]
        start, stop = [value if value.type.dtype == "int64" else value.astype("int64") for value in (start, stop)]
        distance = stop if known_integer(start) == 0 else stop - start
        if known_integer(step) == 1:
            return [(scalar.maximum(distance, 0),)]
        steps = scalar.ceil(distance.astype("float64") / step).astype("int64")
        return [(scalar.maximum(steps, 0),)]

    def L_op(self, inputs, outputs, output_grads):
        start, _, step = inputs
        gz, = output_grads
        if self.dtype in discrete_dtypes:
            return [start.zeros_like(dtype=config.floatX), disconnected_type(), step.zeros_like(dtype=config.floatX)]
        positions = arange(shape_i(outputs[0], 0)).astype(gz.type.dtype)
        total = Sum(None, dtype=gz.type.dtype)
        return [total(gz), disconnected_type(), total(gz * positions)]

    def R_op(self, inputs, eval_points):
        by_start, _, by_step = eval_points
        output = self(*inputs)
        if self.dtype in discrete_dtypes or by_start is None and by_step is None:
            return [None]
        moved = output.zeros_like() if by_start is None else scalar.second(output, by_start.astype(self.dtype))
        if by_step is not None:
            moved = moved + arange(shape_i(output, 0)).astype(self.dtype) * by_step.astype(self.dtype)
        return [moved]


class Eye(Op):
    """Ones on a diagonal, zeros elsewhere. The inputs are the numbers of rows and columns and the diagonal (0 is the
    main diagonal).

    A function may be called with None for the columns, which means as many as rows, as in Theano.

    Parameters
    ----------
    dtype : str, optional
        By default floatX.

    Examples
    --------
    >>> T.Eye("int64")(2, 3, 1).eval()
    array([[0, 1, 0],
           [0, 0, 1]])
    """

    runs_alone = True
    takes_none = (1,)
    __props__ = ("dtype",)
    depends_on = ()

    def __init__(self, dtype=None):
        self.dtype = canonical_dtype(dtype or config.floatX)

    def make_node(self, n, m, k):
        lengths, _ = lengths_of((n, m, k))
        return Apply(self, lengths, [TensorType(self.dtype, (False, False)).make_variable()])

    def make_kernel(self, node):
        return EyeKernel(numpy.ones((), self.dtype))

    def infer_shape(self, node, input_shapes):
        return [tuple(node.inputs[:2])]

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, position, value) for position, value in enumerate(inputs)]


class Tri(Eye):
    """Ones on and below a diagonal, zeros above. The inputs are the numbers of rows and columns and the diagonal (0 is
    the main diagonal).

    Parameters
    ----------
    dtype : str, optional
        By default floatX.

    Examples
    --------
    >>> T.Tri("int64")(2, 3, 0).eval()
    array([[1, 0, 0],
           [1, 1, 0]])
    """

    def make_kernel(self, node):
        return TriKernel(numpy.ones((), self.dtype))


@at_home
class Bartlett:
    """`bartlett`, as an object like Theano's op of this name.

    Examples
    --------
    >>> T.Bartlett()(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """

    def __call__(self, M):
        return bartlett(M)


_alloc = Alloc()
_ranges = {}                # dtype → ARange


def alloc(value, *shape):
    """A new array filled with ``value``.

    Parameters
    ----------
    value : tensor-like
        Broadcast to the shape.
    *shape : int or symbolic integer

    Returns
    -------
    TensorVariable
        Of the dtype of ``value``; broadcastable where a length is known to be 1.

    Examples
    --------
    >>> T.alloc(7, 2, 3).eval()
    array([[7, 7, 7],
           [7, 7, 7]], dtype=int8)
    """
    return _alloc(value, *shape)


def as_lengths(shape):
    """The list of lengths of a shape, which is a length, a sequence, or a vector whose length is known."""
    if isinstance(shape, (list, tuple)):
        return list(shape)
    if isinstance(shape, numpy.ndarray) and shape.ndim == 1:
        return [int(length) for length in shape]
    if isinstance(shape, Variable) and shape.type.ndim == 1:
        if shape.type.shape[0] is None:
            raise TypeError(f"the number of lengths in {shape} is not known; give a list of lengths")
        return [shape[position] for position in range(shape.type.shape[0])]
    return [shape]


def full(shape, value, dtype=None):
    """A new array of ``shape`` filled with ``value``; the default dtype is that of ``value``.

    Examples
    --------
    >>> T.full((2, 3), 7.0).eval()
    array([[7., 7., 7.],
           [7., 7., 7.]], dtype=float32)
    """
    value = as_tensor_variable(value)
    if dtype is not None and value.type.dtype != dtype:
        value = value.astype(dtype)
    return _alloc(value, *as_lengths(shape))


def full_like(model, value, dtype=None):
    """An array of the shape of ``model`` filled with ``value``; the default dtype is that of ``model``.

    Examples
    --------
    >>> T.full_like(T.as_tensor([1, 2, 3]), 9).eval()
    array([9, 9, 9])
    """
    model = as_tensor_variable(model)
    dtype = dtype or model.type.dtype
    return scalar.second(model, as_tensor_variable(in_bounds(value, str(dtype))).astype(dtype))


def zeros(shape, dtype=None):
    """A new array of zeros.

    Parameters
    ----------
    shape : int, symbolic integer, sequence of them, or vector of integers of known length
    dtype : str, optional
        By default floatX.

    Examples
    --------
    >>> T.zeros((2, 3), dtype="int8").eval()
    array([[0, 0, 0],
           [0, 0, 0]], dtype=int8)
    """
    return _alloc(constant(0, dtype=dtype or config.floatX), *as_lengths(shape))


def ones(shape, dtype=None):
    """A new array of ones; the parameters are those of `zeros`.

    Examples
    --------
    >>> T.ones((2, 3), dtype="int8").eval()
    array([[1, 1, 1],
           [1, 1, 1]], dtype=int8)
    """
    return _alloc(constant(1, dtype=dtype or config.floatX), *as_lengths(shape))


def empty(shape, dtype=None):
    """A new array of unspecified content; the parameters are those of `zeros`.

    Examples
    --------
    >>> T.empty((2, 3)).eval().shape
    (2, 3)
    """
    return AllocEmpty(dtype or config.floatX)(*as_lengths(shape))


def arange(start, stop=None, step=1, dtype=None):
    """Numbers from ``start`` to ``stop``, excluding ``stop``.

    Parameters
    ----------
    start, stop, step : scalar
        A single argument is ``stop``, and ``start`` is then 0.
    dtype : str, optional
        The default is the common dtype of the three numbers, but int64 or uint64 for integers.

    Raises
    ------
    ZeroDivisionError
        At run time, if the step is zero.

    Examples
    --------
    >>> n = T.lscalar("n")
    >>> T.arange(1, n, 2).eval({n: 7})
    array([1, 3, 5])
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = [as_tensor_variable(value) for value in (start, stop, step)]
    if dtype is None:
        dtype = upcast(start.type.dtype, stop.type.dtype, step.type.dtype)
        dtype = "int64" if dtype in int_dtypes or dtype == "bool" else "uint64" if dtype in uint_dtypes else dtype
    dtype = canonical_dtype(dtype)
    if dtype not in _ranges:
        _ranges[dtype] = ARange(dtype)
    return _ranges[dtype](start, stop, step)


def eye(n, m=None, k=0, dtype=None):
    """A matrix of ``n`` rows and ``m`` columns (default ``n``) with ones on diagonal ``k``; the default dtype is
    floatX.

    Examples
    --------
    >>> T.eye(2, 3, 1, dtype="int8").eval()
    array([[0, 1, 0],
           [0, 0, 1]], dtype=int8)
    """
    return Eye(dtype)(n, n if m is None else m, k)


def tri(N, M=None, k=0, dtype=None):
    """A matrix of ``N`` rows and ``M`` columns (default ``N``) with ones on and below diagonal ``k``; the default dtype
    is floatX.

    Examples
    --------
    >>> T.tri(3, dtype="int64").eval()
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return Tri(dtype)(N, N if M is None else M, k)


def bartlett(M):
    """The triangular window of ``M`` points, from 0 up to 1 and back to 0: a vector of float64, empty for ``M < 1``.

    Raises
    ------
    TypeError
        If ``M`` is not an integer scalar.

    Examples
    --------
    >>> T.bartlett(5).eval()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    M = as_tensor_variable(M)
    if M.type.ndim:
        raise TypeError(f"Bartlett only works on scalar input, got {M} of type {M.type}")
    if M.type.dtype not in integer_dtypes:
        raise TypeError(f"Bartlett only works on integer input, got {M} of type {M.type}")
    last = scalar.as_dtype(M, "int64") - 1
    distance = abs(2 * arange(last + 1) - last)                     # twice the distance from the middle
    return 1 - distance / scalar.as_dtype(scalar.maximum(last, 1), "float64")           # a single point is the middle


bartlett_ = bartlett


def identity_like(x):
    """A matrix of the shape and dtype of ``x`` with ones on its main diagonal.

    Examples
    --------
    >>> T.identity_like(T.as_tensor([[1.5, 2.0], [3.0, 4.0]])).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    x = as_tensor_variable(x)
    return eye(shape_i(x, 0), shape_i(x, 1), dtype=x.type.dtype)
