"""Convolutions, Fourier transforms and windows."""
from phintys import tensor as T
from phintys.interop.pytensor.translation import row
from phintys.interop.pytensor.types import number
from phintys.ops.fourier.fourier import fourier, irfft_op, rfft_op
from phintys.ops.graphs.ifelse import ifelse
from phintys.tensor import nnet

FLOATS = ("float32", "float64")


row("tensor.Convolve1d")(lambda op, node, a, b, full:
    _of_mode(full, lambda: T.convolve(a, b, "full"), lambda: T.convolve(a, b, "valid")))


@row("tensor.Convolve2d")
def _image_convolution(op, node, a, b, full):
    if node.outputs[0].type.dtype not in FLOATS:
        return None
    a, b = [T.cast(each, node.outputs[0].type.dtype) for each in (a, b)]
    return _of_mode(full, lambda: _convolved(a, b, "full"), lambda: _choice(
        T.all(T.ge(T.shape(a), T.shape(b))), lambda: _convolved(a, b, "valid"), lambda: _convolved(b, a, "valid")))


def _convolved(image, kernel, border):
    return nnet.conv2d(image[None, None], kernel[None, None], border_mode=border)[0, 0]


def _of_mode(full, whole, inside):
    return _choice(T.neq(full, 0), whole, inside)


def _choice(condition, then, otherwise):
    """One of two expressions, which are made by functions; both are only made if the condition is not known."""
    known = number(condition)
    return ifelse(condition, then(), otherwise()) if known is condition else then() if known else otherwise()


row("tensor.RFFTOp")(lambda op, node, x, lengths: rfft_op(x, lengths))
row("tensor.IRFFTOp")(lambda op, node, x, lengths: irfft_op(x, lengths))
row("tensor.Fourier")(lambda op, node, x, length, axis: fourier(x, length, number(axis)))
row("tensor.Bartlett")(lambda op, node, length: T.bartlett(length))
