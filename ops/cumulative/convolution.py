"""The convolution of vectors: the op Convolution, ``convolve`` and ``correlate``, like NumPy's functions."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.cumulative.convolution_kernel import VectorConvolutionKernel
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

DTYPES = ("float32", "float64", "complex64", "complex128", "int64")


class Convolution(Op):
    """All sums of products of two vectors whose positions have the same sum, as long as both vectors together less 1.

    Raises
    ------
    TypeError
        Raised by ``make_node`` unless both are vectors of one of ``DTYPES``.
    ValueError
        At run time, if a vector is empty.

    Examples
    --------
    >>> T.convolve([1.0, 2.0], [1.0, 1.0], mode="full").eval()
    array([1., 3., 2.])
    >>> T.convolve(T.dvector(), T.dvector()).owner.op
    Convolution
    """

    __props__ = ()

    def make_node(self, a, v):
        a, v = as_tensor_variable(a), as_tensor_variable(v)
        if a.type.ndim != 1 or v.type.ndim != 1 or a.type.dtype != v.type.dtype or a.type.dtype not in DTYPES:
            raise TypeError(f"Convolution takes two vectors of one dtype among {', '.join(DTYPES)}, got {a} and {v} of "
                            f"types {a.type} and {v.type}")
        known = None not in (*a.type.shape, *v.type.shape)
        length = a.type.shape[0] + v.type.shape[0] - 1 if known else None
        return Apply(self, [a, v], [TensorType(a.type.dtype, (length == 1,), shape=(length,))()])

    def make_kernel(self, node):
        return VectorConvolutionKernel(node.inputs[0].type.dtype)

    def infer_shape(self, node, input_shapes):
        (n,), (m,) = input_shapes
        return [(n + m - 1,)]

    def grad(self, inputs, output_grads):
        a, v = inputs
        return [_back(output_grads[0], v, a), _back(output_grads[0], a, v)]

    def R_op(self, inputs, eval_points):
        a, v = inputs
        terms = [Convolution()(*pair) for pair in ((eval_points[0], v), (a, eval_points[1])) if None not in pair]
        return [terms[0] + terms[1] if len(terms) == 2 else terms[0] if terms else None]


def _back(gradient, other, x):
    """The gradient with respect to ``x``, which was convolved with ``other``."""
    dtype = upcast(gradient.type.dtype, other.type.dtype)
    other = as_dtype(elementwise.conj(other)[::-1], dtype)
    start = shape_i(other, 0) - 1
    return Convolution()(as_dtype(gradient, dtype), other)[start:start + shape_i(x, 0)]


def _vectors(name, a, v):
    a, v = as_tensor_variable(a), as_tensor_variable(v)
    for operand in (a, v):
        if operand.type.ndim > 1:
            raise ValueError(f"{name}: object too deep for desired array: {operand} is not a vector")
    a, v = [operand if operand.type.ndim else operand.dimshuffle("x") for operand in (a, v)]
    dtype = upcast(a.type.dtype, v.type.dtype)
    work = "int64" if dtype in discrete_dtypes else "float32" if dtype == "float16" else dtype
    return as_dtype(a, work), as_dtype(v, work), dtype


def convolve(a, v, mode="full"):
    """The convolution of two vectors, like ``numpy.convolve``.

    Parameters
    ----------
    a, v : vector
    mode : {"full", "same", "valid"}
        All sums; as many in the middle as the longer vector has elements; or only those for which the vectors overlap
        completely.

    Returns
    -------
    TensorVariable
        A vector of the common dtype.

    Raises
    ------
    ValueError
        For another mode, or operands that are not vectors; at run time, if one is empty.

    Examples
    --------
    >>> T.convolve([1.0, 2.0, 3.0], [0.0, 1.0]).eval().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    a, v, dtype = _vectors("convolve", a, v)
    return as_dtype(_cut("convolve", Convolution()(a, v), shape_i(a, 0), shape_i(v, 0), mode), dtype)


def _cut(name, whole, n, m, mode):
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode must be one of 'valid', 'same', or 'full', got {mode!r}")
    if mode == "full":
        return whole
    longer, shorter = elementwise.maximum(n, m), elementwise.minimum(n, m)
    if mode == "same":
        start = (shorter - 1) // 2
        return whole[start:start + longer]
    return whole[shorter - 1:longer]


def correlate(a, v, mode="valid"):
    """The correlation of two vectors, like ``numpy.correlate``: a convolution with the second one reversed.

    Parameters
    ----------
    a, v : vector
        The second one is conjugated.
    mode : {"valid", "same", "full"}
        See ``convolve``.

    Returns
    -------
    TensorVariable
        A vector of the common dtype.

    Raises
    ------
    ValueError
        See ``convolve``.

    Examples
    --------
    >>> T.correlate([1, 2, 3], [0, 1]).eval()
    array([2, 3])
    """
    a, v, dtype = _vectors("correlate", a, v)
    whole = Convolution()(a, elementwise.conj(v)[::-1])
    n, m = shape_i(a, 0), shape_i(v, 0)
    if mode == "same":
        # NumPy counts from the other end if the second vector is the longer one.
        longer, shorter = elementwise.maximum(n, m), elementwise.minimum(n, m)
        start = elementwise.switch(n >= m, (shorter - 1) // 2, shorter // 2)
        return as_dtype(whole[start:start + longer], dtype)
    return as_dtype(_cut("correlate", whole, n, m, mode), dtype)
