"""Convolutions of images and volumes and their gradients, as Theano's ops ``AbstractConv...`` and ``CorrMM...``.

A convolution is bilinear in images and filters. So are its two gradients, each of which is a sum over the same pairs of
elements. So these three are closed under differentiation: the gradient of each by one operand is another one of them
with the same parameters. ``BaseAbstractConv`` has their common code, ``AbstractConv`` and its two gradients the
differences; the other classes only set the number of dimensions and have Theano's names. ``CorrMM`` does not flip
filters; ``AbstractConv2d`` may flip them, and may know lengths. Both have the same kernel.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from phintys.graph.apply import Apply
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.convolution.convolution_kernel import ConvolutionKernel
from phintys.ops.convolution.parameters import border_pairs, checked_border, checked_lengths, checked_steps, is_integer
from phintys.ops.convolution.shapes import (
    assert_shape,
    get_conv_gradinputs_shape,
    get_conv_gradweights_shape,
    get_conv_output_shape,
)
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.shape.join import MakeVector, make_vector, stack
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import float_dtypes, integer_dtypes, upcast
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from typing import Any

    from phintys.ops.operators import TensorVariable


class BaseAbstractConv(FloatOp):
    """The base class of convolutions and their gradients.

    Parameters
    ----------
    convdim : {2, 3}
        How many dimensions filters move in.
    imshp, kshp : sequence of (int or None), optional
        Lengths of the images and filters, as far as they are known. They are checked when a function runs.
    border_mode : {"valid", "half", "full"}, int, or tuple of (int or pair of int)
        Zeros before and after each dimension of an image: none, half the length of a filter, its length less one, or
        numbers of them.
    subsample : tuple of int, optional
        The step by which filters move in each dimension.
    filter_flip : bool
        Whether filters are read backwards, as in a convolution of signals; else it is a correlation.
    filter_dilation : tuple of int, optional
        The distance between the image elements that neighbouring filter elements are multiplied by.
    num_groups : int
        Channels and filters are divided into this number of groups, which are convolved separately.
    unshared : bool
        Whether each position of the result has different filters; only for ``convdim`` 2.

    Raises
    ------
    ValueError
        For parameters that are wrong or do not match ``convdim``.
    NotImplementedError
        For ``unshared`` with three dimensions.

    Examples
    --------
    >>> issubclass(T.nnet.abstract_conv.AbstractConv2d, T.nnet.abstract_conv.BaseAbstractConv)
    True
    """

    if TYPE_CHECKING:
        def __call__(self, *inputs: Any, **options: Any) -> TensorVariable: ...  # type: ignore[override]

    check_broadcast = False
    __props__ = ("convdim", "border_mode", "subsample", "filter_flip", "imshp", "kshp", "filter_dilation", "num_groups",
                 "unshared")
    role = None                 # of the kernel
    family = ()                 # the classes of the convolution, its gradient by filters and that by images
    titles = ()                 # of the two tensors that are its inputs, for messages

    def __init__(self, convdim, imshp=None, kshp=None, border_mode="valid", subsample=None, filter_flip=True,
                 filter_dilation=None, num_groups=1, unshared=False):
        if convdim not in (2, 3):
            raise ValueError(f"convolution dimension {convdim} is not supported: only 2 and 3 are")
        if not is_integer(num_groups) or num_groups < 1:
            raise ValueError(f"num_groups must be an integer greater than zero, got {num_groups!r}")
        if unshared and convdim != 2:
            raise NotImplementedError(f"Unshared convolution not implemented for {convdim}D")
        self.convdim, self.unshared, self.filter_flip = convdim, bool(unshared), bool(filter_flip)
        self.border_mode = checked_border(border_mode, convdim)
        self.subsample = checked_steps(subsample, convdim, "subsample")
        self.filter_dilation = checked_steps(filter_dilation, convdim, "filter_dilation")
        self.num_groups = int(num_groups)
        self.imshp = checked_lengths(imshp, 2 + convdim, "imshp", "input_shape")
        self.kshp = checked_lengths(kshp, self._filter_rank(), "kshp", "filter_shape")
        self._check_groups(self.imshp[1], self.kshp[0], self.kshp[-convdim - 1])

    def _filter_rank(self):
        return 2 + self.convdim * (1 + self.unshared)

    def _check_groups(self, channels, filters, of_filter):
        """Refuse known numbers of channels and filters that contradict each other."""
        groups = self.num_groups
        for count, title in ((channels, "channels of the input"), (filters, "filters")):
            if count is not None and count % groups:
                raise ValueError(f"{self}: the {count} {title} cannot be divided into num_groups={groups} groups")
        if channels is not None and of_filter is not None and channels != of_filter * groups:
            raise ValueError(f"{self}: the input has {channels} channels, but filters for {of_filter} channels in each "
                             f"of num_groups={groups} groups were given")

    def __str__(self):
        usual = (("border_mode", "valid"), ("subsample", (1,) * self.convdim), ("imshp", (None,) * (2 + self.convdim)),
                 ("kshp", (None,) * self._filter_rank()), ("filter_dilation", (1,) * self.convdim), ("num_groups", 1),
                 ("unshared", False))
        others = [name for name, value in usual if getattr(self, name, value) != value]
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in others])
        return f"{type(self).__name__}{{{shown}}}" if shown else type(self).__name__

    def relative(self, position, imshp=None, kshp=None, **parameters):
        """The op of the family with the same parameters: 0 the convolution, 1 and 2 its gradients by filters and by
        images."""
        op = object.__new__(self.family[position])
        names = ("convdim", "border_mode", "subsample", "filter_flip", "filter_dilation", "num_groups", "unshared")
        kept = {name: getattr(self, name) for name in names}
        BaseAbstractConv.__init__(op, **{**kept, "imshp": imshp, "kshp": kshp, **parameters})
        return op

    def same(self, position):
        """The same with the same known lengths."""
        return self.relative(position, self.imshp, self.kshp)

    # ---- nodes ----
    def _tensors(self, first, second, ranks):
        """Two inputs as tensors of one float dtype."""
        tensors = [as_tensor_variable(first), as_tensor_variable(second)]
        for tensor, title, rank in zip(tensors, self.titles, ranks):
            if tensor.type.ndim != rank:
                unshared = " for unshared convolution" if title == "kern" and self.unshared else ""
                raise TypeError(f"{title} must be {rank}D tensor{unshared}, got {tensor} of type {tensor.type}")
        dtype = upcast(*[tensor.type.dtype for tensor in tensors])
        if dtype not in float_dtypes:
            raise TypeError(f"{type(self).__name__} takes tensors of floats, got {tensors[0].type} and "
                            f"{tensors[1].type}; cast one of them")
        return [as_dtype(tensor, dtype) for tensor in tensors]

    def _lengths(self, shape):
        """The vector of the result's last lengths."""
        if isinstance(shape, (list, tuple)):
            known = all(map(is_integer, shape))
            shape = numpy.array(shape, "int64") if known else make_vector(*shape)
        shape = as_tensor_variable(shape)
        if shape.type.ndim != 1 or shape.type.dtype not in integer_dtypes:
            raise TypeError(f"{type(self).__name__}: the lengths of the result are a vector of integers, not {shape} "
                            f"of type {shape.type}")
        return as_dtype(shape, "int64")

    def _known(self, shape):
        """The elements of such a vector, as far as they are known."""
        if isinstance(shape, Constant):
            known = [int(length) for length in shape.data]
        elif shape.owner is not None and isinstance(shape.owner.op, MakeVector):
            known = [known_integer(length) for length in shape.owner.inputs]
        else:
            known = [None] * self.convdim
        if len(known) != self.convdim:
            raise ValueError(f"{type(self).__name__}: the result has {self.convdim} lengths, but {len(known)} are "
                             "given")
        return known

    def _agreed(self, known, tensor, title, parameter):
        """Lengths that an op knows and those of a tensor's type, together.

        Raises
        ------
        ValueError
            If they contradict each other.
        """
        given = tensor.type.shape
        if any([a is not None and b is not None and a != b for a, b in zip(known, given)]):
            raise ValueError(f"{type(self).__name__}: {parameter} is {known}, but {title} {tensor} has the shape "
                             f"{given}")
        return [b if a is None else a for a, b in zip(known, given)]

    def _output(self, dtype, flags, lengths):
        lengths = [1 if flag else length for flag, length in zip(flags, lengths)]
        lengths = [length if length is None or length >= 0 else None for length in lengths]
        return TensorType(dtype, flags, shape=lengths)()

    # ---- computation ----
    def kernel_for(self, node, dtype, following=None, pooled=None):
        return ConvolutionKernel(dtype, self.role, self.convdim, border_pairs(self.border_mode, self.convdim),
                                 self.subsample, self.filter_dilation, self.filter_flip, self.num_groups, self.unshared,
                                 self.imshp, self.kshp, following, pooled)

    def flops(self, inp, outp):
        """Multiplications and additions for shapes of inputs and outputs, for profiles."""
        images, filters, result = self._forward_shapes(list(inp), outp[0])
        count = 2 * images[0] * filters[0] * images[1] // self.num_groups
        for axis in range(self.convdim):
            count *= filters[-self.convdim + axis] * result[axis + 2]
        return count

    # ---- derivatives ----
    def R_op(self, inputs, eval_points):
        lengths = inputs[2:]
        terms = []
        if eval_points[0] is not None:
            terms.append(self(eval_points[0], inputs[1], *lengths))
        if eval_points[1] is not None:
            terms.append(self(inputs[0], eval_points[1], *lengths))
        return [sum(terms[1:], terms[0]) if terms else None]

    def _like(self, gradient, operand):
        """A gradient with the pattern and dtype of the operand."""
        return patternbroadcast(as_dtype(gradient, operand.type.dtype), operand.type.broadcastable)

    def _last_lengths(self, tensor):
        """The lengths of the dimensions that filters move in, as a vector."""
        rank = tensor.type.ndim
        return stack([shape_i(tensor, axis) for axis in range(rank - self.convdim, rank)])


class AbstractConv(BaseAbstractConv):
    """The convolution of images with filters: ``(images, filters)``.

    See ``BaseAbstractConv`` for the parameters.

    Examples
    --------
    >>> images, filters = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.abstract_conv.AbstractConv(convdim=2)(images, filters).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """

    role = "forward"
    titles = ("img", "kern")

    def make_node(self, img, kern):
        rank = self.convdim
        img, kern = self._tensors(img, kern, (2 + rank, self._filter_rank()))
        image = self._agreed(self.imshp, img, "the input", "input_shape")
        filters = self._agreed(self.kshp, kern, "the tensor of filters", "filter_shape")
        self._check_groups(image[1], filters[0], filters[-rank - 1])
        img = assert_shape(img, self.imshp, "AbstractConv shape mismatch: shape of image does not match given imshp.")
        kern = assert_shape(kern, self.kshp, "AbstractConv shape mismatch: shape of filters does not match given kshp.")
        flags = [img.type.broadcastable[0], kern.type.broadcastable[0]] + [False] * rank
        lengths = get_conv_output_shape(image, filters, self.border_mode, self.subsample, self.filter_dilation)
        return Apply(self, [img, kern], [self._output(img.type.dtype, flags, lengths)])

    def infer_shape(self, node, input_shapes):
        image, filters = [[given if known is None else known for given, known in zip(shape, lengths)]
                          for shape, lengths in zip(input_shapes, (self.imshp, self.kshp))]
        return [get_conv_output_shape(image, filters, self.border_mode, self.subsample, self.filter_dilation)]

    def _forward_shapes(self, inputs, output):
        return inputs[0], inputs[1], output

    def L_op(self, inputs, outputs, output_gradients):
        images, filters = inputs
        gradient, = output_gradients
        by_images = self.same(2)(filters, gradient, self._last_lengths(images), add_assert_shape=False)
        by_filters = self.same(1)(images, gradient, self._last_lengths(filters), add_assert_shape=False)
        return [self._like(by_images, images), self._like(by_filters, filters)]


class GradientOp(BaseAbstractConv):
    """The base class of both gradients: the third input is a vector of lengths that shapes do not determine."""

    first_examined = 2
    depends_on = (0, 1)


class AbstractConv_gradWeights(GradientOp):
    """The gradient of a convolution by its filters: ``(images, gradient of the result, lengths of filters)``.

    See ``BaseAbstractConv`` for the parameters.

    Examples
    --------
    >>> images, gradient = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.abstract_conv.AbstractConv_gradWeights(convdim=2)(images, gradient, (2, 2)).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """

    role = "by filters"
    titles = ("img", "topgrad")

    def make_node(self, img, topgrad, shape, add_assert_shape=True):
        rank = self.convdim
        img, topgrad = self._tensors(img, topgrad, (2 + rank, 2 + rank))
        image = self._agreed(self.imshp, img, "the input", "input_shape")
        if add_assert_shape:
            img = assert_shape(img, self.imshp, "AbstractConv_gradWeights shape mismatch: shape of image does not "
                                                "match given imshp.")
        shape = self._lengths(shape)
        positions = [False] * (rank * self.unshared)
        flags = [topgrad.type.broadcastable[1], *positions,
                 img.type.broadcastable[1] and self.num_groups == 1, *[False] * rank]
        lengths = self._lengths_of_filters(image, topgrad.type.shape, self._known(shape))
        return Apply(self, [img, topgrad, shape], [self._output(img.type.dtype, flags, lengths)])

    def _lengths_of_filters(self, image, result, last):
        channels = None if image[1] is None else image[1] // self.num_groups
        found = [result[1], *(result[2:] if self.unshared else ()), channels, *last]
        return [found[axis] if known is None else known for axis, known in enumerate(self.kshp)]

    def infer_shape(self, node, input_shapes):
        image, result = input_shapes[:2]
        last = [node.inputs[2][axis] for axis in range(self.convdim)]
        found = [result[1], *(result[2:] if self.unshared else ()), image[1] // self.num_groups, *last]
        return [[found[axis] if known is None else known for axis, known in enumerate(self.kshp)]]

    def _forward_shapes(self, inputs, output):
        return inputs[0], output, inputs[1]

    def L_op(self, inputs, outputs, output_gradients):
        images, result, _ = inputs
        filters, = output_gradients
        by_images = self.same(2)(filters, result, self._last_lengths(images))
        return [self._like(by_images, images), self._like(self.same(0)(images, filters), result), disconnected_type()]


class AbstractConv_gradInputs(GradientOp):
    """The gradient of a convolution by its input: ``(filters, gradient of the result, lengths of images)``.

    See ``BaseAbstractConv`` for the parameters.

    Examples
    --------
    >>> filters, gradient = T.ones((1, 1, 2, 2)), T.ones((1, 1, 2, 2))
    >>> T.nnet.abstract_conv.AbstractConv_gradInputs(convdim=2)(filters, gradient, (3, 3)).eval()[0, 0]
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """

    role = "by images"
    titles = ("kern", "topgrad")

    def make_node(self, kern, topgrad, shape, add_assert_shape=True):
        rank = self.convdim
        kern, topgrad = self._tensors(kern, topgrad, (self._filter_rank(), 2 + rank))
        filters = self._agreed(self.kshp, kern, "the tensor of filters", "filter_shape")
        self._check_groups(self.imshp[1], filters[0], filters[-rank - 1])
        if add_assert_shape:
            kern = assert_shape(kern, self.kshp, "AbstractConv_gradInputs shape mismatch: shape of filters does not "
                                                 "match given kshp.")
        shape = self._lengths(shape)
        flags = [topgrad.type.broadcastable[0],
                 kern.type.broadcastable[-rank - 1] and self.num_groups == 1, *[False] * rank]
        channels = None if filters[-rank - 1] is None else filters[-rank - 1] * self.num_groups
        found = [topgrad.type.shape[0], channels, *self._known(shape)]
        lengths = [found[axis] if known is None else known for axis, known in enumerate(self.imshp)]
        return Apply(self, [kern, topgrad, shape], [self._output(kern.type.dtype, flags, lengths)])

    def infer_shape(self, node, input_shapes):
        filters, result = input_shapes[:2]
        last = [node.inputs[2][axis] for axis in range(self.convdim)]
        channels = filters[-self.convdim - 1]
        found = [result[0], channels if self.num_groups == 1 else channels * self.num_groups, *last]
        return [[found[axis] if known is None else known for axis, known in enumerate(self.imshp)]]

    def _forward_shapes(self, inputs, output):
        return output, inputs[0], inputs[1]

    def L_op(self, inputs, outputs, output_gradients):
        filters, result, _ = inputs
        images, = output_gradients
        by_filters = self.same(1)(images, result, self._last_lengths(filters))
        return [self._like(by_filters, filters), self._like(self.same(0)(images, filters), result), disconnected_type()]


# ---- Theano's names ------------------------------------------------------------------------------------------------
class Correlation:
    """The parameters of the ops ``CorrMM...`` and ``Corr3dMM...``, which differ from those of ``AbstractConv``.

    Examples
    --------
    >>> T.nnet.corr.CorrMM(border_mode=(1, 2)).pad
    ((1, 1), (2, 2))
    >>> T.nnet.corr3d.Corr3dMM(border_mode="half").pad
    ((-1, -1), (-1, -1), (-1, -1))
    """

    _rank = 2

    def __init__(self, border_mode="valid", subsample=None, filter_dilation=None, num_groups=1, unshared=False,
                 openmp=None):
        BaseAbstractConv.__init__(self, self._rank, None, None, border_mode, subsample, False, filter_dilation,
                                  num_groups, unshared)

    @property
    def pad(self):
        """Zeros before and after each dimension; -1 and -2 mean the borders ``"half"`` and ``"full"``."""
        pairs = border_pairs(self.border_mode, self.convdim)
        return {"half": ((-1, -1),) * self.convdim, "full": ((-2, -2),) * self.convdim}.get(pairs, pairs)


class _CorrelationGradient(Correlation):
    """Both gradients of a correlation: the lengths may be left out if the operands determine them."""

    def make_node(self, first, topgrad, shape=None, **options):
        if shape is None:
            first, topgrad = as_tensor_variable(first), as_tensor_variable(topgrad)
            shape = self._derived_lengths(first, topgrad)
            if None in shape:
                half = ' or border_mode == "half"' if self.role == "by filters" else ""
                raise ValueError(f"shape must be given if subsample != {(1,) * self.convdim}{half}")
        return super().make_node(first, topgrad, shape, **options)


class CorrMM(Correlation, AbstractConv):
    """The correlation of images with filters, which are not flipped: ``(images, filters)``.

    Parameters
    ----------
    border_mode, subsample, filter_dilation, num_groups, unshared
        As for ``AbstractConv2d``.
    openmp : bool, optional
        Ignored, for compatibility.

    Examples
    --------
    >>> images, filters = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.corr.CorrMM()(images, filters).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """


class CorrMM_gradWeights(_CorrelationGradient, AbstractConv_gradWeights):
    """The gradient of ``CorrMM`` by its filters: ``(images, gradient of the result, lengths of filters)``.

    The lengths may be left out if filters move by single steps and the border is not ``"half"``.

    Examples
    --------
    >>> images, gradient = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.corr.CorrMM_gradWeights()(images, gradient, (2, 2)).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """

    def _derived_lengths(self, image, result):
        shapes = [[shape_i(tensor, axis) for axis in range(tensor.type.ndim)] for tensor in (image, result)]
        return get_conv_gradweights_shape(*shapes, self.border_mode, self.subsample,
                                          self.filter_dilation)[-self.convdim:]


class CorrMM_gradInputs(_CorrelationGradient, AbstractConv_gradInputs):
    """The gradient of ``CorrMM`` by its images: ``(filters, gradient of the result, lengths of images)``.

    The lengths may be left out if filters move by single steps.

    Examples
    --------
    >>> filters, gradient = T.ones((1, 1, 2, 2)), T.ones((1, 1, 2, 2))
    >>> T.nnet.corr.CorrMM_gradInputs()(filters, gradient, (3, 3)).eval()[0, 0]
    array([[1., 2., 1.],
           [2., 4., 2.],
           [1., 2., 1.]])
    """

    def _derived_lengths(self, filters, result):
        shapes = [[shape_i(tensor, axis) for axis in range(tensor.type.ndim)] for tensor in (filters, result)]
        return get_conv_gradinputs_shape(*shapes, self.border_mode, self.subsample,
                                         self.filter_dilation)[-self.convdim:]


# ---- of two and of three dimensions ----------------------------------------------------------------------------------
def _init_corr3d(self, border_mode="valid", subsample=None, filter_dilation=None, num_groups=1, openmp=None):
    Correlation.__init__(self, border_mode, subsample, filter_dilation, num_groups)


def _init_2d(self, imshp=None, kshp=None, border_mode="valid", subsample=(1, 1), filter_flip=True,
             filter_dilation=(1, 1), num_groups=1, unshared=False):
    BaseAbstractConv.__init__(self, 2, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups,
                              unshared)


def _init_3d(self, imshp=None, kshp=None, border_mode="valid", subsample=(1, 1, 1), filter_flip=True,
             filter_dilation=(1, 1, 1), num_groups=1):
    BaseAbstractConv.__init__(self, 3, imshp, kshp, border_mode, subsample, filter_flip, filter_dilation, num_groups)


TEXT = """{summary}

    Examples
    --------
    >>> {first}, {second} = T.ones({first_shape}), T.ones({second_shape})
    >>> T.nnet.{module}.{name}()({first}, {second}{lengths}).eval(){shown}
    """
# A convolution, its gradient by filters, and that by images: the end of the name, what it is, its first two operands,
# the lengths of the result, and what the example shows of images of three rows and filters of two.
ROLES = [
    ("", "The {what} of {images} with filters: ``({images}, filters)``. Parameters are those of ``{like}``.",
     ("images", "filters"), None, "[[4., 4.],\n           [4., 4.]]"),
    ("_gradWeights", "The gradient of ``{family}`` by its filters: ``({images}, gradient of the result, lengths of "
     "filters)``.", ("images", "gradient"), 2, "[[4., 4.],\n           [4., 4.]]"),
    ("_gradInputs", "The gradient of ``{family}`` by its {images}: ``(filters, gradient of the result, lengths of "
     "{images})``.", ("filters", "gradient"), 3, "[[1., 2., 1.],\n           [2., 4., 2.],\n           [1., 2., 1.]]"),
]


def _family(family, bases, rank, init, module, what="convolution", like="BaseAbstractConv"):
    """Make the classes of a convolution of one rank: itself, its gradient by filters, and that by images."""
    images = ("images", "volumes")[rank - 2]
    for base, (ending, summary, operands, length, elements) in zip(bases, ROLES):
        shapes = [(1, 1) + (3 if operand == "images" else 2,) * rank for operand in operands]
        text = TEXT.format(
            summary=summary.format(what=what, like=like, family=family, images=images), module=module,
            name=family + ending, first=operands[0], second=operands[1], first_shape=shapes[0], second_shape=shapes[1],
            lengths=f", {(length,) * rank}" if length else "",
            shown=(f"[0, 0]\n    array({elements})" if rank == 2 else f".shape\n    {(1, 1) + (length or 2,) * rank}"))
        yield type(family + ending, (base,), {"__module__": __name__, "__doc__": text, "__init__": init, "_rank": rank})


FAMILIES = [(AbstractConv, AbstractConv_gradWeights, AbstractConv_gradInputs),
            (CorrMM, CorrMM_gradWeights, CorrMM_gradInputs)]
for _name, _base, *_row in (
        ("Corr3dMM", 1, 3, _init_corr3d, "corr3d", "correlation", "CorrMM"),
        ("AbstractConv2d", 1, 2, _init_2d, "abstract_conv"),
        ("AbstractConv3d", 2, 3, _init_3d, "abstract_conv")):   # programs of Theano ask for Corr3dMM after optimizing
    FAMILIES.append(tuple(_family(_name, FAMILIES[_base], *_row)))
Corr3dMM, Corr3dMM_gradWeights, Corr3dMM_gradInputs = FAMILIES[2]
AbstractConv2d, AbstractConv2d_gradWeights, AbstractConv2d_gradInputs = FAMILIES[3]
AbstractConv3d, AbstractConv3d_gradWeights, AbstractConv3d_gradInputs = FAMILIES[4]
for _classes in FAMILIES:
    for _op in _classes:
        _op.family = _classes
