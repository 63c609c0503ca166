"""FourierTransform: the discrete Fourier transform along one axis, of complex or real numbers, multiplied by a factor.

The four kinds are each other's gradients. With w = exp(-2 pi i / n), for j, k = 0 ... n - 1:

* forward: y[k] = sum of x[j] w^jk;
* backward: y[j] = sum of x[k] w^-jk;
* real: the first n // 2 + 1 elements of the forward transform of real numbers; the others are their conjugates;
* hermitian: the real numbers that a backward transform makes from such a half.

The input is padded with zeros or cut to the length n, or n // 2 + 1 for the hermitian kind.
"""
import numpy
from numpy.exceptions import AxisError

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import scalar
from phintys.ops.fourier.transform_kernel import TransformKernel, has_loops
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

KINDS = ("forward", "backward", "real", "hermitian")
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}
REAL_OF = {"complex64": "float32", "complex128": "float64"}
NUMPYS = {"forward": numpy.fft.fft, "backward": numpy.fft.ifft, "real": numpy.fft.rfft, "hermitian": numpy.fft.irfft}


class FourierTransform(Op):
    """A Fourier transform along an axis. The inputs are an array, a length n, and a real factor.

    Parameters
    ----------
    kind : {"forward", "backward", "real", "hermitian"}
    axis : int
        Not negative.

    Raises
    ------
    ValueError
        For another kind; raised by ``make_node`` for an axis that does not exist; at run time, if n is not positive.
    TypeError
        Raised by ``make_node`` if the array has no dtype that the kind takes, or n is not a 0-d integer.
    """

    __props__ = ("kind", "axis", "inplace")
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, kind, axis, inplace=False):
        if kind not in KINDS:
            raise ValueError(f"FourierTransform: kind must be one of {KINDS}, got {kind!r}")
        self.kind, self.axis, self.inplace = kind, axis, inplace
        if kind in ("forward", "backward"):
            self.can_overwrite = {0: (0,)}
        self.destroy_map = {0: [0]} if inplace else {}

    def make_node(self, x, length, factor):
        x, length, factor = [as_tensor_variable(operand) for operand in (x, length, factor)]
        takes = COMPLEX_OF if self.kind == "real" else REAL_OF
        if x.type.dtype not in takes:
            raise TypeError(f"FourierTransform: the kind {self.kind!r} takes {' or '.join(takes)}, got {x} of type "
                            f"{x.type}")
        if not 0 <= self.axis < x.type.ndim:
            raise AxisError(f"FourierTransform: axis {self.axis} is out of bounds for {x.type.ndim} dimensions")
        if length.type.ndim or length.type.dtype not in discrete_dtypes:
            raise TypeError(f"FourierTransform: the length must be a 0-d integer, got {length} of type {length.type}")
        real = x.type.dtype if self.kind == "real" else REAL_OF[x.type.dtype]
        dtype = real if self.kind == "hermitian" else COMPLEX_OF[real]
        known = int(length.data) if isinstance(length, Constant) else None
        if known is not None and self.kind == "real":
            known = known // 2 + 1
        lengths = [known if axis == self.axis else other for axis, other in enumerate(x.type.shape)]
        flags = [flag and axis != self.axis or lengths[axis] == 1 for axis, flag in enumerate(x.type.broadcastable)]
        return Apply(self, [x, length, scalar.as_dtype(factor, real)], [TensorType(dtype, flags, shape=lengths)()])

    def make_kernel(self, node):
        return TransformKernel(self.kind, node.inputs[0].type.dtype, self.axis) if has_loops() else None

    def perform(self, node, inputs, output_storage):
        if has_loops():
            Op.perform(self, node, inputs, output_storage)       # of a subclass with another base, too
            return
        x, length, factor = inputs
        norm = "forward" if self.kind in ("backward", "hermitian") else "backward"          # not divided by n
        found = NUMPYS[self.kind](x, int(length), self.axis, norm) * factor
        output_storage[0][0] = found.astype(node.outputs[0].type.dtype)

    def infer_shape(self, node, input_shapes):
        shape, length = list(input_shapes[0]), scalar.as_dtype(node.inputs[1], "int64")
        shape[self.axis] = length // 2 + 1 if self.kind == "real" else length
        return [tuple(shape)]

    def grad(self, inputs, output_grads):
        x, length, factor = inputs
        found = getattr(self, "_back_from_" + self.kind)(output_grads[0], length, factor)
        return [_fitted(found, x, self.axis), disconnected_type(), disconnected_type()]

    def _back_from_forward(self, gradient, length, factor):
        return FourierTransform("backward", self.axis)(gradient, length, factor)

    def _back_from_backward(self, gradient, length, factor):
        return FourierTransform("forward", self.axis)(gradient, length, factor)

    def _back_from_real(self, gradient, length, factor):
        halved = _inner_scaled(gradient, length, self.axis, 0.5)
        return FourierTransform("hermitian", self.axis)(halved, length, factor)

    def _back_from_hermitian(self, gradient, length, factor):
        found = FourierTransform("real", self.axis)(gradient, length, factor)
        return _inner_scaled(found, length, self.axis, 2.0)


def _inner_scaled(half, length, axis, scale):
    """Half of a spectrum, with those elements scaled that are in the other half, too: all but the first and, for an
    even length, the last."""
    real = REAL_OF[half.type.dtype]
    length = scalar.as_dtype(length, "int64")
    number = arange(length // 2 + 1)
    inner = scalar.and_(scalar.gt(number, 0), scalar.lt(number * 2, length))
    weights = scalar.switch(inner, numpy.asarray(scale, real), numpy.asarray(1, real))
    return half * dimshuffle(weights, *[0 if number == axis else "x" for number in range(half.type.ndim)])


def _fitted(gradient, x, axis):
    """The gradient of padding with zeros or cutting along an axis: as long as ``x``."""
    if None is not x.type.shape[axis] == gradient.type.shape[axis]:
        return gradient
    before = (slice(None),) * axis
    room = x.zeros_like(dtype=gradient.type.dtype)
    length, given = shape_i(x, axis), shape_i(gradient, axis)
    common = scalar.minimum.elementwise(length, given)
    return set_subtensor(getitem(room, (*before, slice(0, common))), getitem(gradient, (*before, slice(0, common))))


def is_complex(x):
    """Whether a variable is complex."""
    return x.type.dtype in complex_dtypes
