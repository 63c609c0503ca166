"""Theano's name ``tensor.fft``: Fourier transforms. Names only.

``rfft`` and ``irfft`` work as in Theano: over all dimensions except the first, with real and imaginary parts in an
additional last dimension. ``complex_rfft``, ``complex_irfft`` and all others work as in NumPy.
"""
from phintys.graph import public_names as _public_names
from phintys.ops.fourier.fourier import IRFFTOp, RFFTOp, irfft_op, rfft_op
from phintys.ops.fourier.functions import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft2,
    irfftn,
    rfft2,
    rfftfreq,
    rfftn,
)
from phintys.ops.fourier.functions import irfft as complex_irfft
from phintys.ops.fourier.functions import rfft as complex_rfft
from phintys.ops.fourier.parts import irfft_pairs as irfft
from phintys.ops.fourier.parts import rfft_pairs as rfft
from phintys.theano_finder import lookup as _lookup

__all__ = ["IRFFTOp", "RFFTOp", "complex_irfft", "complex_rfft", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft",
           "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfft_op", "irfftn", "rfft", "rfft2",
           "rfft_op", "rfftfreq", "rfftn"]
_public_names.adopt(globals())


__getattr__ = _lookup(__name__)
