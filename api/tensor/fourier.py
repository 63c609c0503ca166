"""Theano's name ``tensor.fourier`` for the complex Fourier transform ``fft(a, n, axis)``: names only."""
from phintys.ops.fourier.functions import fft

__all__ = ["fft"]
