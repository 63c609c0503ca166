"""Convolutions as programs for early versions of Theano write them: ``ConvOp``, ``nnet.conv.conv2d`` and
``signal.conv.conv2d``."""
import warnings

from phintys.graph.errors import NotScalarConstantError
from phintys.ops.convolution.convolution import AbstractConv2d
from phintys.ops.convolution.shapes import get_conv_output_shape, get_conv_shape_1axis
from phintys.ops.creation.allocation import zeros
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable


class ConvOp(AbstractConv2d):
    """The convolution of images with filters: ``(images, filters)``; use ``nnet.conv2d`` in new programs.

    Parameters
    ----------
    imshp : sequence of (int or None), optional
        Channels, rows and columns of the images; or rows and columns, for one channel.
    kshp : pair of (int or None), optional
        Rows and columns of the filters.
    nkern, bsize : int, optional
        Numbers of filters and images.
    dx, dy : int
        The steps by which filters move.
    output_mode : {"valid", "full"}
    imshp_logical, kshp_logical : sequence of int, optional
        Lengths to which images and filters are extended by zeros between their elements.
    kshp_logical_top_aligned : bool
        Whether the zeros in filters follow their elements, or precede them.
    unroll_batch, unroll_kern, unroll_patch, verbose, version, direction_hint, openmp
        Ignored, for compatibility.

    Raises
    ------
    ValueError
        For wrong parameters, and at run time for shapes that contradict them.

    Examples
    --------
    >>> images, filters = T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))
    >>> T.nnet.ConvOp(output_mode="valid")(images, filters).eval()[0, 0]
    array([[4., 4.],
           [4., 4.]])
    """

    __props__ = AbstractConv2d.__props__ + ("imshp_logical", "kshp_logical", "kshp_logical_top_aligned")

    def __init__(self, imshp=None, kshp=None, nkern=None, bsize=None, dx=1, dy=1, output_mode="valid",
                 unroll_batch=None, unroll_kern=None, unroll_patch=None, imshp_logical=None, kshp_logical=None,
                 kshp_logical_top_aligned=True, verbose=0, version=-1, direction_hint="forward", openmp=None):
        imshp = (None, None, None) if imshp is None else tuple(imshp)
        kshp = (None, None) if kshp is None else tuple(kshp)
        imshp = (1, *imshp) if len(imshp) == 2 else imshp
        if len(imshp) != 3:
            raise ValueError(f"len(imshp) must be 2 or 3, got {len(imshp)}")
        if len(kshp) != 2:
            raise ValueError(f"len(kshp) must be 2, got {len(kshp)}")
        steps = [1 if step is None else step for step in (dx, dy)]
        for name, step in zip(("dx", "dy"), steps):
            if int(step) != step:
                raise TypeError(f"ConvOp: {name} must be an int, got {step!r}")
        if output_mode not in ("valid", "full"):
            raise ValueError(f"ConvOp: output_mode must be 'valid' or 'full', got {output_mode!r}")
        self.imshp_logical = self._logical(imshp_logical, imshp, "imshp_logical")
        self.kshp_logical = self._logical(kshp_logical, kshp, "kshp_logical")
        self.kshp_logical_top_aligned = bool(kshp_logical_top_aligned)
        self.given = {"imshp": (bsize, *imshp), "kshp": (nkern, imshp[0], *kshp)}
        AbstractConv2d.__init__(self, (bsize, *self.imshp_logical), (nkern, imshp[0], *self.kshp_logical), output_mode,
                                tuple([int(step) for step in steps]))
        self.bsize, self.nkern = bsize, nkern
        self.dx, self.dy = self.subsample
        self.out_mode = output_mode
        self.outshp = get_conv_output_shape(self.imshp, self.kshp, output_mode, self.subsample)[2:]
        self.fulloutshp = get_conv_output_shape(self.imshp, self.kshp, output_mode, (1, 1))[2:]
        if any([length is not None and length <= 0 for length in self.outshp]):
            raise ValueError(f"ConvOp: the result would have {self.outshp} rows and columns: filters of "
                             f"{self.kshp_logical} do not fit into images of {self.imshp_logical}")

    @staticmethod
    def _logical(logical, given, name):
        if logical is None:
            return given
        if len(logical) != len(given):
            raise ValueError(f"len({name}) must be {len(given)}, got {len(logical)}")
        return tuple(logical)

    @staticmethod
    def has_all_shape(imshp, kshp, nkern=1, bsize=1):
        """Whether all lengths are known."""
        return nkern is not None and bsize is not None and None not in (*imshp, *kshp)

    @staticmethod
    def getOutputShape(inshp, kshp, stride=(1, 1), mode="valid"):
        """Rows and columns of the result; ``get_conv_output_shape`` has replaced it."""
        warnings.warn("The method `getOutputShape` is deprecated use `get_conv_output_shape` instead.", stacklevel=2)
        return tuple([get_conv_shape_1axis(*lengths, mode, step) for *lengths, step in zip(inshp, kshp, stride)])

    def make_node(self, inputs, kerns):
        tensors = [as_tensor_variable(inputs), as_tensor_variable(kerns)]
        for tensor, title in zip(tensors, ("input", "kernels")):
            if tensor.type.ndim != 4:
                raise TypeError(f"ConvOp (make_node) requires {title} be a 4D tensor; received {tensor} "
                                f"({tensor.type.ndim} dims)")
        if tensors[0].type.dtype != tensors[1].type.dtype:
            raise NotImplementedError(f"The image and the kernel must have the same type. inputs({tensors[0].dtype}), "
                                      f"kerns({tensors[1].dtype})")
        node = AbstractConv2d.make_node(self, *tensors)
        flags = [length == 1 for length in self.outshp]
        if any(flags):
            output = node.outputs[0]
            output.type = output.type.clone(broadcastable=[*output.type.broadcastable[:2], *flags])
        return node

    def __call__(self, inputs, kerns, **options):
        inputs, kerns = as_tensor_variable(inputs), as_tensor_variable(kerns)
        inputs = _extended(inputs, self.given["imshp"][2:], self.imshp_logical[1:], True)
        kerns = _extended(kerns, self.given["kshp"][2:], self.kshp_logical, self.kshp_logical_top_aligned)
        return AbstractConv2d.__call__(self, inputs, kerns, **options)


ConvOp.family = AbstractConv2d.family


def _extended(x, lengths, logical, first):
    """``x`` with zeros between rows and between columns, so that it has ``logical`` of them.

    With ``first`` an element is followed by its zeros, else preceded.
    """
    if tuple(lengths) == tuple(logical):
        return x
    steps = [-(-wanted // length) for wanted, length in zip(logical, lengths)]
    starts = [0 if first else (wanted - length * step - 1 + step) % step
              for wanted, length, step in zip(logical, lengths, steps)]
    empty = zeros((shape_i(x, 0), shape_i(x, 1), *logical), dtype=x.dtype)
    positions = empty[:, :, starts[0]::steps[0], starts[1]::steps[1]]
    return set_subtensor(positions, x)


def _constant_lengths(lengths, name):
    if lengths is None:
        return None
    found = []
    for length in lengths:
        try:
            value = None if length is None else get_scalar_constant_value(as_tensor_variable(length))
        except NotScalarConstantError:
            raise NotScalarConstantError(f"The convolution need that the shape information are constant values. We got "
                                         f"{length} for the {name} parameter") from None
        if value is not None and value.dtype.kind not in "iu":
            raise ValueError(f"{name} must consist of integers, got {lengths}")
        found.append(None if value is None else int(value))
    return found


def conv2d(input, filters, image_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1), **kargs):
    """Convolve images with filters, by ``ConvOp``; use ``nnet.conv2d`` in new programs.

    Parameters
    ----------
    input : 4-d tensor of floats
        (images, channels, rows, columns).
    filters : 4-d tensor of floats
        (filters, channels, rows, columns).
    image_shape, filter_shape : sequence of (int, Constant or None), optional
    border_mode : {"valid", "full"}
    subsample : pair of int
    **kargs
        For ``ConvOp``.

    Returns
    -------
    4-d tensor
        (images, filters, rows, columns).

    Raises
    ------
    NotScalarConstantError
        For lengths that are not constant.
    ValueError
        For wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> T.nnet.conv2d(T.ones((1, 1, 3, 3)), T.ones((1, 1, 2, 2))).eval()[0, 0]        # what replaces it
    array([[4., 4.],
           [4., 4.]])
    """
    warnings.warn("tensor.nnet.conv.conv2d is deprecated. Use tensor.nnet.conv2d instead.", stacklevel=2)
    image_shape = _constant_lengths(image_shape, "image_shape")
    filter_shape = _constant_lengths(filter_shape, "filter_shape")
    if image_shape and filter_shape and None not in (image_shape[1], filter_shape[1]):
        if image_shape[1] != filter_shape[1]:
            raise AssertionError(f"images have {image_shape[1]} channels and filters {filter_shape[1]}: image_shape "
                                 f"{image_shape}, filter_shape {filter_shape}")
    filters_known = filter_shape or [None] * 4
    images_known = image_shape or [None] * 4
    op = ConvOp(output_mode=border_mode, dx=subsample[0], dy=subsample[1], imshp=images_known[1:],
                kshp=filters_known[2:], nkern=filters_known[0], bsize=images_known[0], **kargs)
    return op(input, filters)


def signal_conv2d(input, filters, image_shape=None, filter_shape=None, border_mode="valid", subsample=(1, 1), **kargs):
    """Convolve each of some images with each of some filters.

    Parameters
    ----------
    input : matrix or 3-d tensor of floats
        One image, or (images, rows, columns).
    filters : matrix or 3-d tensor of floats
        One filter, or (filters, rows, columns).
    image_shape, filter_shape : sequence of int, optional
        The shapes, if they are known.
    border_mode : {"valid", "full"}
    subsample : pair of int
        The steps by which filters move.
    **kargs
        For ``ConvOp``.

    Returns
    -------
    tensor
        (images, filters, rows, columns), without the first if there is one image and without the second if there is
        one filter.

    Raises
    ------
    ValueError
        For other ranks and wrong parameters, and at run time for shapes that contradict each other.

    Examples
    --------
    >>> T.signal.conv.conv2d(T.ones((3, 3)), T.ones((2, 2))).eval()
    array([[4., 4.],
           [4., 4.]])
    """
    input, filters = as_tensor_variable(input), as_tensor_variable(filters)
    for tensor, title in ((input, "input"), (filters, "filters")):
        if tensor.type.ndim not in (2, 3):
            raise AssertionError(f"signal.conv.conv2d: {title} must have 2 or 3 dimensions, got {tensor.type}")
    known = {}
    if image_shape and filter_shape:
        known = {"imshp": (1, *image_shape[-2:]), "bsize": image_shape[0] if input.type.ndim == 3 else 1,
                 "kshp": tuple(filter_shape[-2:]), "nkern": filter_shape[0] if filters.type.ndim == 3 else 1}
    images = dimshuffle(input, 0, "x", 1, 2) if input.type.ndim == 3 else dimshuffle(input, "x", "x", 0, 1)
    several = dimshuffle(filters, 0, "x", 1, 2) if filters.type.ndim == 3 else dimshuffle(filters, "x", "x", 0, 1)
    result = ConvOp(output_mode=border_mode, dx=subsample[0], dy=subsample[1], **known, **kargs)(images, several)
    single = [input.type.ndim == 2, filters.type.ndim == 2]
    flags = [flag or one for flag, one in zip(result.type.broadcastable, [*single, False, False])]
    kept = [axis for axis in range(4) if axis > 1 or not single[axis]]
    return dimshuffle(patternbroadcast(result, flags), *kept)


signal_conv2d.__name__ = signal_conv2d.__qualname__ = "conv2d"
