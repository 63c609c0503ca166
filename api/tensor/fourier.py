"""Theano's name ``tensor.fourier`` for the complex Fourier transform ``fft(a, n, axis)``: names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.ops.fourier.fourier import Fourier
from phintys.ops.fourier.fourier import fourier as fft

__all__ = ["Fourier", "fft"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
