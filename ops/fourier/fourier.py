"""Theano's Fourier transforms as ops: Fourier, whose axis may be symbolic, RFFTOp and IRFFTOp.

If the axis is known, Fourier makes a `FourierTransform`. The others make graphs of this op.
"""
import numpy
from numpy.exceptions import AxisError

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import eq, switch
from phintys.ops.fourier.functions import transform_axes
from phintys.ops.fourier.parts import ComplexParts, joined_parts
from phintys.ops.fourier.transform import FourierTransform
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType

ONE = constant(1.0, dtype="float64")


def _integer(name, what, value):
    value = as_tensor_variable(value)
    if value.type.dtype not in integer_dtypes:
        raise TypeError(f"{name}: {what} of the transformed axis must be of type integer, got {value} of type "
                        f"{value.type}")
    return value


class Fourier(Op):
    """The transform of ``numpy.fft.fft`` along one axis, as complex128, called as ``Fourier()(a, n, axis)``.

    The parameters are those of `__call__`: the tensor, the length to which it is padded or cut (None: that of the
    axis), and the number of the axis (None: the last one); both numbers may be symbolic.

    Raises
    ------
    TypeError
        For a tensor of rank 0, numbers that are not integers, a length below 1 or an axis that does not exist.
    NotImplementedError
        Raised by ``grad`` if the axis is symbolic.

    Examples
    --------
    >>> T.fourier.fft(T.as_tensor([1.0, 1.0])).eval()
    array([2.+0.j, 0.+0.j])
    """

    __props__ = ()
    depends_on = (0,)

    def __call__(self, a, n=None, axis=None, **options):
        node = self.make_node(a, n, axis)
        if not isinstance(node.inputs[2], Constant):
            return node.outputs[0]
        a, n, axis = node.inputs
        return FourierAlong("forward", int(axis.data))(scalar.as_dtype(a, "complex128"), n, ONE)

    def make_node(self, a, n=None, axis=None):
        name, a = type(self).__name__, as_tensor_variable(a)
        rank = a.type.ndim
        if not rank:
            raise TypeError(f"{name}: input must be an array, not a scalar; got {a}")
        axis = constant(rank - 1, dtype="int64") if axis is None else _integer(name, "index", axis)
        if axis.type.ndim or isinstance(axis, Constant) and not 0 <= axis.data < rank:
            raise TypeError(f"{name}: index of the transformed axis must be a scalar not smaller than 0 and smaller "
                            f"than dimension of array, {rank}; got {axis}")
        if n is None:
            n = self._of_axis([shape_i(a, number) for number in range(rank)], axis)
        n = _integer(name, "length", n)
        if n.type.ndim or isinstance(n, Constant) and n.data < 1:
            raise TypeError(f"{name}: length of the transformed axis must be a strictly positive scalar, got {n}")
        return Apply(self, [a, n, axis], [TensorType("complex128", (False,) * rank)()])

    def _of_axis(self, lengths, axis):
        """The length of the axis with this number."""
        if isinstance(axis, Constant):
            return lengths[int(axis.data)]
        found = lengths[0]
        for number, length in enumerate(lengths[1:], 1):
            found = switch(eq(axis, number), length, found)
        return found

    def perform(self, node, inputs, output_storage):
        a, n, axis = inputs
        if not 0 <= axis < a.ndim:
            raise AxisError(f"Fourier: axis {axis} is out of bounds for {a.ndim} dimensions")
        output_storage[0][0] = numpy.fft.fft(a, int(n), int(axis)).astype("complex128", copy=False)

    def infer_shape(self, node, input_shapes):
        _, n, axis = node.inputs
        return [tuple([switch(eq(axis, number), n, length) for number, length in enumerate(input_shapes[0])])]

    def grad(self, inputs, output_grads):
        if not isinstance(inputs[2], Constant):
            raise NotImplementedError("Fourier: the gradient needs an axis that is a constant number, not "
                                      f"{inputs[2]}")
        a, n, axis = inputs
        whole = FourierTransform("forward", int(axis.data))
        node = whole.make_node(scalar.as_dtype(a, "complex128"), n, ONE)
        gradient = whole.grad(node.inputs, output_grads)[0]
        return [gradient if a.type.dtype.startswith("complex") else scalar.real(gradient), disconnected_type(),
                disconnected_type()]


class FourierAlong(FourierTransform, Fourier):
    """The op that `Fourier` makes for an axis that is known."""

    __call__ = Op.__call__


def _lengths(name, s, count):
    """The lengths of a vector of them."""
    s = as_tensor_variable(s)
    if s.type.dtype not in integer_dtypes:
        raise TypeError(f"{name}: length of the transformed axis must be of type integer, got {s} of type {s.type}")
    return [getitem(s, number) for number in range(count)]


class RFFTOp(Op):
    """Fourier transforms of real tensors along all dimensions but the first, with real and imaginary parts in a last
    dimension; ``RFFTOp()(a, s=None)`` with the lengths ``s``. A graph of other ops.

    Raises
    ------
    TypeError
        If the tensor has fewer than two dimensions, or lengths are not integers.

    Examples
    --------
    >>> T.fft.rfft_op(T.as_tensor([[1.0, 1.0]]), T.as_tensor([2])).eval()
    array([[[2., 0.],
            [0., 0.]]])
    """

    __props__ = ()

    def __call__(self, a, s=None, **options):
        a = as_tensor_variable(a)
        if a.type.ndim < 2:
            raise TypeError(f"RFFTOp: input must have dimension >= 2, with first dimension batches; got {a} of type "
                            f"{a.type}")
        axes = list(range(1, a.type.ndim))
        lengths = [shape_i(a, axis) for axis in axes] if s is None else _lengths("RFFTOp", s, len(axes))
        return ComplexParts()(transform_axes(a, "real", lengths, axes, ONE))


class IRFFTOp(Op):
    """The inverse of `RFFTOp`, multiplied by the number of elements: real tensors from half of their spectra;
    ``IRFFTOp()(a, s=None)`` with the lengths ``s`` of the results. A graph of other ops.

    Raises
    ------
    TypeError
        If the tensor has fewer than three dimensions, or lengths are not integers.

    Examples
    --------
    >>> x = T.as_tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> T.fft.irfft_op(T.fft.rfft_op(x, T.as_tensor([4])), T.as_tensor([4])).eval() / 4
    array([[1., 2., 3., 4.]])
    """

    __props__ = ()

    def __call__(self, a, s=None, **options):
        a = as_tensor_variable(a)
        if a.type.ndim < 3:
            raise TypeError("IRFFTOp: input must have dimension >= 3, with first dimension batches and last real/imag "
                            f"parts; got {a} of type {a.type}")
        axes = list(range(1, a.type.ndim - 1))
        if s is None:
            lengths = [shape_i(a, axis) for axis in axes]
            lengths[-1] = (lengths[-1] - 1) * 2
        else:
            lengths = _lengths("IRFFTOp", s, len(axes))
        return transform_axes(joined_parts(a), "hermitian", lengths, axes, ONE)


fourier, rfft_op, irfft_op = Fourier(), RFFTOp(), IRFFTOp()
