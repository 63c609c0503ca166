"""The functions of ``numpy.fft`` on tensors: transforms of complex and real numbers in one or several dimensions.

Each is one transform, or several along one axis after the other. The factor of the norm belongs to the first one.
"""
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise_functions import conj
from phintys.ops.fourier.transform import COMPLEX_OF, FourierTransform, is_complex
from phintys.ops.rearranging.rearranging import roll
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes

# The power of 1 / n in a transform's factor: for the forward transforms, and for the backward ones.
POWERS = {None: (0, 1), "backward": (0, 1), "ortho": (0.5, 0.5), "forward": (1, 0), "no_norm": (0, 0)}


def _factor(name, norm, backward, lengths):
    if norm not in POWERS or norm == "no_norm":
        raise ValueError(f'{name}: Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return factor_of(norm, backward, lengths)


def factor_of(norm, backward, lengths):
    """The factor of the norm, a float64 number."""
    power = POWERS[norm][backward]
    if not power:
        return constant(1.0, dtype="float64")
    size = constant(1, dtype="int64")
    for length in lengths:
        size = size * length
    size = scalar.as_dtype(size, "float64")
    return 1.0 / (size if power == 1 else scalar.sqrt.elementwise(size))


def _operand(name, a, real):
    """A tensor of a dtype that transforms take."""
    a = as_tensor_variable(a)
    if real and is_complex(a):
        raise TypeError(f"{name}: the input must be real, got {a} of type {a.type}")
    if a.type.dtype in discrete_dtypes:
        a = scalar.as_dtype(a, "float64")
    elif a.type.dtype == "float16":
        a = scalar.as_dtype(a, "float32")
    return a if real or is_complex(a) else scalar.as_dtype(a, COMPLEX_OF[a.type.dtype])


def _length(name, n):
    n = as_tensor_variable(n)
    if n.type.ndim or n.type.dtype not in discrete_dtypes:
        raise TypeError(f"{name}: the length must be an integer, got {n} of type {n.type}")
    return scalar.as_dtype(n, "int64")


def _transform(name, kind, a, n, axis, norm):
    a = _operand(name, a, kind == "real")
    axis = one_axis(name, a, axis)
    if n is None:
        n = shape_i(a, axis)
        n = (n - 1) * 2 if kind == "hermitian" else n
    n = _length(name, n)
    return FourierTransform(kind, axis)(a, n, _factor(name, norm, kind in ("backward", "hermitian"), [n]))


def _plan(name, a, s, axes, kind):
    """Lengths and axes of a transform in several dimensions."""
    rank = a.type.ndim
    if axes is None:
        axes = range(rank) if s is None else range(rank - len(s), rank)
    axes = [one_axis(name, a, axis) for axis in axes]
    if s is None:
        lengths = [shape_i(a, axis) for axis in axes]
        if kind == "hermitian" and axes:
            lengths[-1] = (shape_i(a, axes[-1]) - 1) * 2
    else:
        lengths = [_length(name, length) for length in s]
    if len(lengths) != len(axes):
        raise ValueError(f"{name}: Shape and axes have different lengths.")
    if not axes and kind in ("real", "hermitian"):
        raise ValueError(f"{name}: at least one axis must be transformed")
    return [_length(name, length) for length in lengths], axes


def transform_axes(a, kind, lengths, axes, factor):
    """Transform along several axes: real numbers along the last one first, halves of spectra along it at the end.

    Parameters
    ----------
    a : TensorVariable
    kind : {"forward", "backward", "real", "hermitian"}
    lengths, axes : list
        Of equal length.
    factor : 0-d variable
    """
    steps = list(zip(axes, lengths))[::-1]
    first = steps[:1] if kind == "real" else []
    last = steps[:1] if kind == "hermitian" else []
    between = "backward" if kind in ("backward", "hermitian") else "forward"
    plan = [(kind, step) for step in first]
    plan += [(between, step) for step in (steps[1:] if first or last else steps)]
    plan += [(kind, step) for step in last]
    for each, (axis, length) in plan:
        a = FourierTransform(each, axis)(a, length, factor)
        factor = constant(1.0, dtype="float64")
    return a


def _transform_axes(name, kind, a, s, axes, norm):
    a = _operand(name, a, kind == "real")
    lengths, axes = _plan(name, a, s, axes, kind)
    return transform_axes(a, kind, lengths, axes, _factor(name, norm, kind in ("backward", "hermitian"), lengths))


# ---- one dimension ---------------------------------------------------------------------------------------------------
def fft(a, n=None, axis=-1, norm=None):
    """The discrete Fourier transform along an axis, like ``numpy.fft.fft``.

    Parameters
    ----------
    a : tensor-like
    n : int or symbolic integer, optional
        The length of the result; the input is padded with zeros or cut. By default the length of the axis.
    axis : int
    norm : {None, "backward", "ortho", "forward"}
        Which transform is divided by n: by default the inverse one; "ortho" divides both by its square root.

    Returns
    -------
    TensorVariable
        Of dtype complex64 for float16, float32 and complex64, else complex128.

    Raises
    ------
    ValueError
        For another norm, or an axis that does not exist; at run time, if n is not positive.
    TypeError
        If ``n`` is not an integer.

    Examples
    --------
    >>> T.fft.fft([1.0, 0.0, 0.0, 0.0]).eval().real.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return _transform("fft", "forward", a, n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of ``fft``; see there.

    Examples
    --------
    >>> T.fft.ifft(T.as_tensor([4.0 + 0j, 0j, 0j, 0j])).eval()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _transform("ifft", "backward", a, n, axis, norm)


def rfft(a, n=None, axis=-1, norm=None):
    """The first n // 2 + 1 elements of the Fourier transform of real numbers; the others are their conjugates.

    Parameters
    ----------
    a : tensor-like of real numbers
    n, axis, norm
        See ``fft``.

    Returns
    -------
    TensorVariable
        Complex.

    Raises
    ------
    TypeError
        If ``a`` is complex.
    ValueError
        See ``fft``.

    Examples
    --------
    >>> T.fft.complex_rfft(T.as_tensor([1.0, 2.0, 3.0, 4.0])).eval()
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _transform("rfft", "real", a, n, axis, norm)


def irfft(a, n=None, axis=-1, norm=None):
    """The inverse of ``rfft``: real numbers from the first half of their spectrum.

    Parameters
    ----------
    a : tensor-like
    n : int or symbolic integer, optional
        The length of the result; by default 2 (m - 1) for an axis of length m.
    axis, norm
        See ``fft``.

    Returns
    -------
    TensorVariable
        Real.

    Raises
    ------
    ValueError, TypeError
        See ``fft``.

    Examples
    --------
    >>> T.fft.complex_irfft(T.as_tensor([10.0, -2.0 + 2.0j, -2.0])).eval()
    array([1., 2., 3., 4.])
    """
    return _transform("irfft", "hermitian", a, n, axis, norm)


SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def hfft(a, n=None, axis=-1, norm=None):
    """The Fourier transform of numbers with Hermitian symmetry, of which the first half is given; it is real.

    Parameters
    ----------
    a, n, axis, norm
        See ``irfft``.

    Returns
    -------
    TensorVariable
        Real.

    Examples
    --------
    >>> T.fft.hfft(T.as_tensor([10.0, -2.0 + 2.0j, -2.0])).eval()
    array([ 4., 16., 12.,  8.])
    """
    return irfft(conj(_operand("hfft", a, False)), n, axis, SWAPPED.get(norm, norm))


def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of ``hfft``; see there.

    Examples
    --------
    >>> T.fft.hfft(T.fft.ihfft(T.as_tensor([1.0, 2.0, 3.0, 4.0]))).eval()
    array([1., 2., 3., 4.])
    """
    return conj(rfft(a, n, axis, SWAPPED.get(norm, norm)))


# ---- several dimensions ----------------------------------------------------------------------------------------------
def fftn(a, s=None, axes=None, norm=None):
    """The discrete Fourier transform along several axes, like ``numpy.fft.fftn``.

    Parameters
    ----------
    a : tensor-like
    s : sequence of int or symbolic integers, optional
        The lengths of the result along the axes.
    axes : sequence of int, optional
        By default the last ``len(s)`` axes, or all.
    norm : {None, "backward", "ortho", "forward"}
        See ``fft``; n is the product of all lengths.

    Returns
    -------
    TensorVariable
        Complex.

    Raises
    ------
    ValueError
        For another norm, an axis that does not exist, or if there are not as many lengths as axes.

    Examples
    --------
    >>> T.fft.fftn(T.as_tensor([[1.0, 0.0], [0.0, 0.0]])).eval()
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _transform_axes("fftn", "forward", a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of ``fftn``; see there.

    Examples
    --------
    >>> T.fft.ifftn(T.as_tensor([[4.0 + 0j, 0j], [0j, 0j]])).eval()
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _transform_axes("ifftn", "backward", a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """The Fourier transform of real numbers along several axes, halved along the last of them.

    Parameters
    ----------
    a : tensor-like of real numbers
    s, axes, norm
        See ``fftn``.

    Returns
    -------
    TensorVariable
        Complex.

    Raises
    ------
    TypeError
        If ``a`` is complex.
    ValueError
        See ``fftn``.

    Examples
    --------
    >>> T.fft.rfftn(T.ones((2, 4), dtype="float64")).eval()
    array([[8.+0.j, 0.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j, 0.+0.j]])
    """
    return _transform_axes("rfftn", "real", a, s, axes, norm)


def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of ``rfftn``: real numbers from half of their spectrum; see ``irfft`` and ``fftn``.

    Examples
    --------
    >>> T.fft.irfftn(T.as_tensor([[8.0 + 0j, 0j, 0j], [0j, 0j, 0j]])).eval()
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return _transform_axes("irfftn", "hermitian", a, s, axes, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """The Fourier transform along two axes, by default the last ones; see ``fftn``.

    Examples
    --------
    >>> T.fft.fft2(T.ones((2, 2), dtype="float64")).eval()
    array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]])
    """
    return fftn(a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of ``fft2``; see there.

    Examples
    --------
    >>> T.fft.ifft2(T.as_tensor([[4.0 + 0j, 0j], [0j, 0j]])).eval()
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(a, s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """The Fourier transform of real numbers along two axes, halved along the second; see ``rfftn``.

    Examples
    --------
    >>> T.fft.rfft2(T.ones((2, 4), dtype="float64")).eval()
    array([[8.+0.j, 0.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j, 0.+0.j]])
    """
    return rfftn(a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """The inverse of ``rfft2``; see there.

    Examples
    --------
    >>> T.fft.irfft2(T.as_tensor([[8.0 + 0j, 0j, 0j], [0j, 0j, 0j]])).eval()
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return irfftn(a, s, axes, norm)


# ---- frequencies and their order -------------------------------------------------------------------------------------
def fftfreq(n, d=1.0):
    """The frequencies of the elements of ``fft``, in cycles per unit of the spacing of samples.

    Parameters
    ----------
    n : int or symbolic integer
        The length of the transform.
    d : float or 0-d variable
        The distance between samples.

    Returns
    -------
    TensorVariable
        A float64 vector: 0, 1, ..., then the negative frequencies, divided by d n.

    Examples
    --------
    >>> T.fft.fftfreq(4).eval()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    n = _length("fftfreq", n)
    positive = (n - 1) // 2 + 1
    numbers = concatenate([arange(positive), arange(-(n // 2), 0)])
    return scalar.as_dtype(numbers, "float64") / (n * as_tensor_variable(d))


def rfftfreq(n, d=1.0):
    """The frequencies of the elements of ``rfft``; parameters as of ``fftfreq``.

    Examples
    --------
    >>> T.fft.rfftfreq(4, d=0.5).eval()
    array([0. , 0.5, 1. ])
    """
    n = _length("rfftfreq", n)
    return scalar.as_dtype(arange(n // 2 + 1), "float64") / (n * as_tensor_variable(d))


def _shifted(name, x, axes, backward):
    x = as_tensor_variable(x)
    for axis in range(x.type.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,):
        axis = one_axis(name, x, axis)
        half = shape_i(x, axis) // 2
        x = roll(x, -half if backward else half, axis=axis)
    return x


def fftshift(x, axes=None):
    """Move the element for frequency 0 to the middle, along the given axes or all.

    Examples
    --------
    >>> T.fft.fftshift(T.fft.fftfreq(4)).eval()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted("fftshift", x, axes, False)


def ifftshift(x, axes=None):
    """The inverse of ``fftshift``; see there.

    Examples
    --------
    >>> T.fft.ifftshift(T.fft.fftshift(T.fft.fftfreq(4))).eval()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _shifted("ifftshift", x, axes, True)
