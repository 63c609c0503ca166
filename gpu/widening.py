"""float16 on the device: products, convolutions and other ops that compute in float32 get their operands as such.

Products are left to cuBLAS as they are, where it is used; convolutions are computed from float16, too, with the kernels
for float32 and operands of float16. For all else the processor has no kernels in float16, so
there are none to have twins: it converts the elements and calls the kernels of float32. Here the conversions become
nodes of the graph before it is fused and placed, if it has a value on the device. What is computed is the same: sums in
float32, and each result rounded once.
"""
from phintys.gpu.kernels.half_product_kernel import GpuHalfProductKernel
from phintys.gpu.libraries.cublas import multiplies_halves
from phintys.gpu.placement import uses_device
from phintys.gpu.twins import WITHOUT_HOST, own_kernel, register_own
from phintys.ops.convolution.convolution import BaseAbstractConv
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.nnet.float_op import FloatOp
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.dot import Dot

WIDENED = (Dot, BatchedDot, FloatOp)
HALF, WIDE = "float16", "float32"


def half_product(node):
    """The kernel of a product of float16 by cuBLAS, or None."""
    if node.outputs[0].type.dtype != HALF or not multiplies_halves():
        return None
    lead = int(isinstance(node.op, BatchedDot))
    return GpuHalfProductKernel(lead, *[variable.type.ndim - lead for variable in node.inputs])


def half_convolution(node):
    """The kernel of float32, to which operands of float16 are given on the device."""
    return node.op.kernel_for(node, WIDE) if node.outputs[0].type.dtype == HALF else None


register_own(GpuHalfProductKernel)
WITHOUT_HOST.update({Dot: half_product, BatchedDot: half_product, BaseAbstractConv: half_convolution})


def widen(fgraph):
    """Compute the float16 of such ops in float32; return how many there are."""
    if not uses_device(fgraph):
        return 0
    found = [node for node in fgraph.toposort()
             if isinstance(node.op, WIDENED) and node.outputs[0].type.dtype == HALF
             and own_kernel(node) is None]
    wide = {}                       # variable of float16 → itself in float32, for all its readers
    return sum([_widen(fgraph, node, wide) for node in found])


def _widen(fgraph, node, wide):
    for variable in node.inputs:
        if getattr(variable.type, "dtype", None) == HALF and variable not in wide:
            wide[variable] = cast(variable, WIDE)
    inputs = [wide.get(variable, variable) for variable in node.inputs]
    made = node.op.make_node(*inputs)
    if [variable.type.ndim for variable in made.outputs] != [variable.type.ndim for variable in node.outputs]:
        return 0
    made._position = node._position
    for old, new in zip(node.outputs, made.outputs):
        fgraph.replace(old, old.type.filter_variable(cast(new, old.type.dtype)), reason="widening")
    return 1
