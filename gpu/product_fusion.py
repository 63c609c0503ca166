"""Products of the device, and sums of columns beside them, become one kernel.

A layer's gradients are ``x.T.d`` and the sums of d's columns, and both are subtracted from parameters. With as few
columns as there are classes each of the three kernels takes as long as its launch. So after placement a sum of columns,
and the elementwise kernel that reads nothing but it, vectors and numbers, join a product of which d is the right
factor.

So does the gradient of a classifier: a product, softmax with a bias, the gradient of cross-entropies with labels.
Whether a product is narrow shows in a call; where it is not, the kernels of the nodes run in turn.
"""
from phintys.gpu.device_op import DeviceOp, kernel_of
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.kernels.classifier_kernel import GpuClassifierKernel
from phintys.gpu.kernels.product_kernel import GpuProductKernel, GpuProductSumsKernel
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.row_op import REDUCTION, NodesOp
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.nnet.crossentropy_kernel import CrossentropyGradKernel
from phintys.ops.nnet.softmax_kernel import SoftmaxKernel
from phintys.ops.products.blas_kernel import ProductKernel
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.places import WORK_AT_DEVICE

WORK_AT_DEVICE.update([GpuProductSumsKernel, GpuClassifierKernel])
RIGHT = {2: 1, 3: 1, 5: 3}      # how many operands a product has → which of them is the right factor
MOST_INPUTS = 16                # of what is computed from the sums


class ProductsOp(NodesOp):
    """Nodes of which the first is a product; ``make_kernel`` makes the kernel from ``kernel_arguments``."""

    __props__ = ("key",)

    def __init__(self, nodes, inputs, outputs, more):
        if len(set(inputs)) < len(inputs):
            raise NoSource("an operand that is read twice")
        twins = [node.op.make_kernel(node) for node in nodes]
        if type(twins[0]) is not GpuProductKernel:
            raise NoSource("a product that is none of two matrices")
        self.kernel_arguments, self.given, self.replaced = (*twins, *more), inputs, outputs
        self.key = (*[node.op for node in nodes], *more[1:])
        super().__init__(nodes, inputs, outputs)
        self.make_kernel(None)

    def replace_in(self, fgraph):
        """Put a node of this op in place of the nodes."""
        node = self.make_node(*self.given)
        node._position = self.replaced[0].owner._position
        for old, new in zip(self.replaced, node.outputs):
            new.name = old.name
            fgraph.replace(old, new, reason="product fusion")
        return 1


class ProductSumsOp(ProductsOp):
    """A product, sums of the columns of its right factor, and what is computed from each.

    Parameters
    ----------
    product, total, after : Apply
        The nodes on the device.

    Raises
    ------
    NoSource
    """

    def __init__(self, product, total, after):
        code, operands = of_host(after)[0].arguments[0], read_by(after)
        place = operands.index(total.outputs[0])
        if len(operands) > MOST_INPUTS or len(code.outputs) != 1:
            raise NoSource("a sum of columns")
        values = tuple([not isinstance(variable.type, GpuArrayType) for variable in operands])
        super().__init__([product, total, after], [*read_by(product), *operands[:place], *operands[place + 1:]],
                         [product.outputs[0], after.outputs[0]], (code, place, values))

    def make_kernel(self, node):
        return GpuProductSumsKernel(*self.kernel_arguments)

    def __str__(self):
        return f"GpuProductSums({', '.join([str(node.op)[3:] for node in self.nodes])})"


class ClassifierOp(ProductsOp):
    """A product, softmax with a bias, and the gradient of cross-entropies with labels.

    Parameters
    ----------
    product, softmax, gradient : Apply
        The nodes on the device.

    Raises
    ------
    NoSource
    """

    def __init__(self, product, softmax, gradient):
        kernel, (dy, _, labels) = of_host(gradient)[0], read_by(gradient)
        given = dict(zip(("rank", "as_index", "leading"), kernel.arguments)) | (kernel.named_arguments or {})
        dtype = product.outputs[0].type.dtype
        if dy.type.dtype != dtype:
            raise NoSource("a factor of another dtype")
        super().__init__([product, softmax, gradient], [*read_by(product), read_by(softmax)[1], dy, labels],
                         gradient.outputs[:1], (None, dtype, labels.type.dtype, given.get("as_index", False),
                                                given.get("leading", False), given["rank"]))

    def make_kernel(self, node):
        product, softmax, gradient, _, *more = self.kernel_arguments
        return GpuClassifierKernel(product, softmax, gradient, *more)

    def __str__(self):
        return f"GpuClassifier({', '.join([str(node.op)[3:] for node in self.nodes])})"


def of_host(node):
    """The processor's kernel of a node on the device, and the positions of the inputs that it reads; or None."""
    return kernel_of(node.op.host_node(node)) if type(node.op) is DeviceOp else None


def read_by(node):
    """The inputs that the kernel of a node reads, in its order."""
    return [node.inputs[position] for position in of_host(node)[1]]


def fuse_products(fgraph):
    """Replace all such nodes; return how many there were."""
    found = 0
    for node in fgraph.toposort():
        kind = kind_of(node)
        if kind is ReductionKernel and _is_sum_of_columns(node):
            found += _fuse_sums(fgraph, node)
        elif kind is CrossentropyGradKernel:
            found += _fuse_classifier(fgraph, node)
    return found


def kind_of(node):
    """The class of the processor's kernel of a node on the device, or None."""
    found = of_host(node)
    return found and type(found[0])


def _only_reader(fgraph, variable):
    """The node that alone reads a variable, or None."""
    readers = fgraph.clients[variable]
    return readers[0][0] if len(readers) == 1 and readers[0][0] != "output" else None


def _fuse_classifier(fgraph, gradient):
    """Replace a gradient of cross-entropies, softmax and the product before it; return whether that is possible."""
    softmax = read_by(gradient)[1].owner
    if softmax is None or kind_of(softmax) is not SoftmaxKernel or len(read_by(softmax)) != 2:
        return 0
    product = read_by(softmax)[0].owner
    if product is None or kind_of(product) is not ProductKernel or len(read_by(product)) != 2 or (
            _only_reader(fgraph, softmax.outputs[0]) is not gradient
            or _only_reader(fgraph, product.outputs[0]) is not softmax or _is_logarithm(of_host(softmax)[0])):
        return 0
    try:
        return ClassifierOp(product, softmax, gradient).replace_in(fgraph)
    except NoSource:
        return 0


def _is_logarithm(kernel):
    """Whether a kernel of softmax computes its logarithm."""
    return dict(zip(("dtype", "logarithm"), kernel.arguments), **(kernel.named_arguments or {})).get("logarithm", False)


def _is_sum_of_columns(node):
    found = of_host(node)
    fold = dict(zip(REDUCTION, found[0].arguments)) | (found[0].named_arguments or {})
    return (fold["loop"].__name__ == "add" and tuple(fold["axes"]) == (0,) and not fold.get("keepdims")
            and fold["patterns"] in ([(False, False)], ((False, False),)) and not fold["code"].steps
            and fold["code"].input_dtypes == (fold["output_dtype"],))


def _fuse_sums(fgraph, total):
    """Replace a sum of columns and what it belongs to; return whether that is possible."""
    after = _only_reader(fgraph, total.outputs[0])
    if after is None or kind_of(after) is not ElementwiseKernel or len(of_host(after)[0].arguments[1][0]) != 1:
        return 0
    for product, _ in fgraph.clients[total.inputs[0]]:
        if product != "output" and _is_product_of(product, total.inputs[0]) and not (
                _depends(product, after) or _depends(after, product)):
            try:
                return ProductSumsOp(product, total, after).replace_in(fgraph)
            except NoSource:
                continue
    return 0


def _is_product_of(node, right):
    """Whether a node is a product of matrices with this right factor."""
    if kind_of(node) is not ProductKernel:
        return False
    operands = read_by(node)
    return operands[RIGHT[len(operands)]] is right and tuple(of_host(node)[0].arguments[1:3]) == (2, 2)


def _depends(node, other):
    """Whether a node reads, directly or not, what another one computes."""
    seen, pending = set(), [node]
    while pending:
        for variable in pending.pop().inputs:
            owner = variable.owner
            if owner is other:
                return True
            if owner is not None and owner not in seen:
                seen.add(owner)
                pending.append(owner)
    return False
