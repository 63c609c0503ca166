"""PooledConvolution: a convolution of images, the elementwise operations that follow it, and pooling in one kernel.

The convolution computes a strip of rows at a time, which is pooled while it is in the cache. So the full result needs
no memory, and is neither written nor read again: 16 images of 256 x 256 with 6 filters of 7 x 7, tanh and windows of 5
x 5 take 6.2 ms instead of 11.4 ms, of which the convolution takes 4 ms.
With many channels, Winograd's method pools squares of results in the first cache, or keeps the results of some images.

Steps that are an increasing function of the convolution's result (``increasing_steps``) are computed after max pooling,
even if they were written before it, because there are fewer elements then.

The optimizer creates it if nothing else reads the result, so not if a gradient does. It has no gradient.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.convolution.fused_convolution import FusedConvolution
from phintys.ops.convolution.increasing_steps import are_increasing
from phintys.ops.pooling.pool import Pool


class PooledConvolution(Op):
    """The pooled result of a convolution: ``(images, filters, other operands ...)``.

    Parameters
    ----------
    convolution : AbstractConv2d or FusedConvolution
        A convolution of images with filters that all positions share, and the operations after it.
    pool : Pool
        Of two dimensions.
    ws, stride, pad : tuple of 2 int
        The windows. Each must have an element of the image.
    steps_last : bool
        Whether the elementwise operations of a ``FusedConvolution`` follow pooling; else they come before.
    """

    runs_alone = True
    __props__ = ("convolution", "pool", "ws", "stride", "pad", "steps_last")

    def __init__(self, convolution, pool, ws, stride, pad, steps_last=False):
        if not can_pool(pool, ws, stride, pad):
            raise ValueError(f"a convolution cannot be pooled by {pool} with ws = {ws}, stride = {stride} and pad = "
                             f"{pad}")
        self.convolution, self.pool, self.steps_last = convolution, pool, steps_last
        self.ws, self.stride, self.pad = tuple(ws), tuple(stride), tuple(pad)

    def make_node(self, images, filters, *others):
        node = self.convolution.make_node(images, filters, *others)
        result, = node.outputs
        if result.type.ndim != 4:
            raise TypeError(f"{self} pools images, got {result.type}")
        return Apply(self, node.inputs, [self.pool.result_type(result)()])

    def make_kernel(self, node):
        node = self.convolution.make_node(*node.inputs)
        dtype = node.outputs[0].type.dtype
        following, steps_last = None, True
        convolution = self.convolution
        if isinstance(convolution, FusedConvolution):
            by_maxima = self.pool.mode == "max"
            *whole, bias, limits, rest = convolution.following(node)
            if self.steps_last and not by_maxima:
                bias, limits, rest = None, None, whole[0]
            steps_last = self.steps_last or rest is None or by_maxima and are_increasing(rest, whole[2])
            following = *whole, bias, limits, rest
            convolution = convolution.convolution
        pooled = self.ws, self.stride, self.pad, self.pool.mode, bool(self.pool.ignore_border), steps_last
        return convolution.kernel_for(node, dtype, following, pooled)

    def infer_shape(self, node, input_shapes):
        result, = self.convolution.infer_shape(node, input_shapes)
        return [tuple(self.pool.pooled_lengths(result, self.ws, self.stride, self.pad))]

    def flops(self, inp, outp):
        """The multiplications and additions of the convolution, for profiles."""
        return self.convolution.flops(inp[:2], outp)

    def part_at_fault(self, node, shapes):
        """The part of the convolution and the operations after it; pooling cannot fail."""
        part = self.convolution.part_at_fault(self.convolution.make_node(*node.inputs), shapes)
        return 0 if part is None else part

    def __str__(self):
        size = "x".join(map(str, self.ws))
        return f"Pool{{{self.pool.mode}, {size}}}({self.convolution})"


def can_pool(pool, ws, stride, pad):
    """Whether these are two-dimensional windows that all have an element, whatever the lengths of images."""
    if type(pool) is not Pool or pool.ndim != 2 or {len(ws), len(stride), len(pad)} != {2}:
        return False
    return all([size >= 1 and step >= 1 and 0 <= padding < size and (pool.ignore_border or padding == 0)
                for size, step, padding in zip(ws, stride, pad)])
