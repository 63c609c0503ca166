"""Theano's ``sandbox.fourier``: transforms of the rows or columns of a matrix, and cosine transforms, with gradients.

``tensor.fft`` has all of NumPy's transforms."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy

from phintys.ops.identity.assertion import Assert
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes
from phintys.tensor import cast, eq, get_scalar_constant_value, mod
from phintys.tensor import fft as transforms
from phintys.theano_finder import lookup as _lookup

if TYPE_CHECKING:
    from phintys.graph.variable import Constant
    from phintys.ops.operators import TensorVariable

warnings.warn("phintys.sandbox.fourier has the names of Theano's module; phintys.tensor.fft has all transforms",
              DeprecationWarning, stacklevel=2)

__all__ = ["FFT", "dct_matrix", "fft", "half_fft", "half_ifft", "ifft"]


class FFT:
    """The transform of the rows (axis 1) or columns (axis 0) of a matrix, as complex128.

    Parameters
    ----------
    half : bool
        Whether to return only the first half, of real operands; their length must be even.
    inverse : bool

    Examples
    --------
    >>> frames = T.as_tensor([[1.0, 0.0, 0.0, 0.0]])
    >>> phintys.sandbox.fourier.fft(frames, 4, 1).eval()
    array([[1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j]])
    >>> phintys.sandbox.fourier.half_fft(frames, 4, 1).eval()
    array([[1.+0.j, 1.+0.j]])
    """

    def __init__(self, half: bool = False, inverse: bool = False) -> None:
        self.half, self.inverse = bool(half), bool(inverse)

    def __call__(self, frames: Constant, n: int, axis: int) -> TensorVariable:
        """Transform ``n`` numbers along an axis, which must be constant.

        Raises
        ------
        TypeError
            If half of a transform of complex numbers is requested.
        AssertionError
            At run time, if half of an odd number is requested.
        """
        frames, n = as_tensor_variable(frames, ndim=2), as_tensor_variable(n, ndim=0)
        axis = int(get_scalar_constant_value(as_tensor_variable(axis)))
        if self.half and frames.type.dtype in complex_dtypes:
            raise TypeError(f"Argument to HalfFFT must not be complex, got {frames} of dtype {frames.type.dtype}")
        if self.half:
            n = Assert("halfFFT on odd-length vectors is undefined")(n, eq(mod(n, 2), 0))
        transform = transforms.ifft if self.inverse else transforms.fft
        spectrum = cast(transform(frames, n, axis), "complex128")
        if not self.half:
            return spectrum
        return spectrum[:n // 2] if axis in (0, -2) else spectrum[:, :n // 2]


fft, half_fft = FFT(), FFT(half=True)
ifft, half_ifft = FFT(inverse=True), FFT(half=True, inverse=True)


def dct_matrix(rows: int, cols: int, unitary: bool = True) -> numpy.ndarray:
    """Return the matrix, an array, of a discrete cosine transform (type 2).

    Parameters
    ----------
    rows, cols : int
        The numbers of coefficients and of samples.
    unitary : bool
        Whether the first row is scaled like all others, so that the rows are orthonormal.

    Examples
    --------
    >>> dct_matrix(2, 2).round(3)
    array([[ 0.707,  0.707],
           [ 0.707, -0.707]])
    """
    angles = numpy.arange(rows)[:, None] * (2 * numpy.arange(cols) + 1) / (2.0 * cols) * numpy.pi
    matrix = numpy.cos(angles) * numpy.sqrt(2.0 / cols)
    if unitary:
        matrix[0] *= numpy.sqrt(0.5)
    return matrix


__getattr__ = _lookup(__name__)
