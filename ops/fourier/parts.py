"""Complex numbers as pairs of real ones in a last dimension: ComplexParts, and Theano's ``rfft`` and ``irfft``.

Theano has no complex gradients, so its transforms return real and imaginary parts side by side. A complex array has
this layout in memory, and ComplexParts is a view of it.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise import scalar
from phintys.ops.fourier.functions import factor_of, transform_axes
from phintys.ops.fourier.parts_kernel import ComplexPartsKernel
from phintys.ops.fourier.transform import REAL_OF
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

NORMS = (None, "ortho", "no_norm")


class ComplexParts(Op):
    """The real and imaginary parts of a complex array, in a new last dimension of length 2; a view.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if the array is not complex.
    """

    __props__ = ()
    view_map = {0: [0]}
    linear_in = (0,)

    def make_node(self, x):
        x = as_tensor_variable(x)
        if x.type.dtype not in REAL_OF:
            raise TypeError(f"ComplexParts takes a complex array, got {x} of type {x.type}")
        return Apply(self, [x], [TensorType(REAL_OF[x.type.dtype], (*x.type.broadcastable, False),
                                            shape=(*x.type.shape, 2))()])

    def make_kernel(self, node):
        return ComplexPartsKernel()

    def infer_shape(self, node, input_shapes):
        return [(*input_shapes[0], 2)]

    def grad(self, inputs, output_grads):
        return [joined_parts(output_grads[0])]


def joined_parts(pairs):
    """The complex numbers whose parts are in the last dimension."""
    return scalar.complex.elementwise(getitem(pairs, (..., 0)), getitem(pairs, (..., 1)))


def _checked(name, inp, least_rank, norm):
    inp = as_tensor_variable(inp)
    if norm not in NORMS:
        raise ValueError(f"{name}: Invalid value {norm} for norm, must be None, 'ortho' or 'no_norm'")
    if inp.type.ndim < least_rank:
        raise TypeError(f"{name}: input must have dimension >= {least_rank}, with first dimension batches"
                        + (" and last real/imag parts" if least_rank == 3 else "")
                        + f"; it is {inp} of type {inp.type}")
    if inp.type.dtype not in ("float32", "float64"):
        if inp.type.dtype not in (*discrete_dtypes, "float16"):
            raise TypeError(f"{name}: the input must be real, got {inp} of type {inp.type}")
        inp = scalar.as_dtype(inp, "float32" if inp.type.dtype == "float16" else "float64")
    return inp


def rfft_pairs(inp, norm=None):
    """The Fourier transforms of real tensors, along all dimensions but the first, with parts in a last dimension.

    Parameters
    ----------
    inp : tensor-like of real numbers, shape (m, ..., n)
        m tensors.
    norm : {None, "ortho", "no_norm"}
        Whether to divide: by default only the inverse transform is divided, by the number of elements; "ortho" divides
        both by its square root, "no_norm" none.

    Returns
    -------
    TensorVariable
        Of shape (m, ..., n // 2 + 1, 2) and the dtype of ``inp``: half of the spectrum, as real and imaginary parts.

    Raises
    ------
    TypeError
        If ``inp`` has fewer than two dimensions, or is complex.
    ValueError
        For another norm.

    Examples
    --------
    >>> T.fft.rfft(numpy.ones((1, 4))).eval()[0, 0].tolist()
    [4.0, 0.0]
    """
    inp = _checked("rfft", inp, 2, norm)
    axes = list(range(1, inp.type.ndim))
    lengths = [shape_i(inp, axis) for axis in axes]
    return ComplexParts()(transform_axes(inp, "real", lengths, axes, factor_of(norm, False, lengths)))


def irfft_pairs(inp, norm=None, is_odd=False):
    """The inverse of Theano's ``rfft``: real tensors from half of their spectra, with parts in the last dimension.

    Parameters
    ----------
    inp : tensor-like, shape (m, ..., n // 2 + 1, 2)
        m spectra.
    norm : {None, "ortho", "no_norm"}
        See ``rfft``.
    is_odd : bool
        Whether the last dimension of the result has an odd length, 2 k + 1 for a spectrum of length k + 1; else 2 k.

    Returns
    -------
    TensorVariable
        Of shape (m, ..., n) and the dtype of ``inp``.

    Raises
    ------
    TypeError
        If ``inp`` has fewer than three dimensions, or is complex.
    ValueError
        For another norm, or if ``is_odd`` is not a bool.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> T.fft.irfft(T.fft.rfft(x)).eval()
    array([[1., 2., 3., 4.]])
    """
    if is_odd not in (True, False):
        raise ValueError(f"irfft: Invalid value {is_odd} for is_odd, must be True or False")
    inp = _checked("irfft", inp, 3, norm)
    axes = list(range(1, inp.type.ndim - 1))
    lengths = [shape_i(inp, axis) for axis in axes]
    lengths[-1] = (lengths[-1] - 1) * 2 + int(is_odd)
    return transform_axes(joined_parts(inp), "hermitian", lengths, axes, factor_of(norm, True, lengths))
