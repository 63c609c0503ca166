"""Products of the device, and sums of columns beside them, become one kernel.

A layer's gradients are ``x.T.d`` and the sums of d's columns, and both are subtracted from parameters. With as few
columns as there are classes each of the three kernels takes as long as its launch. So after placement a sum of columns,
and the elementwise kernel that reads nothing but it, vectors and numbers, join a product of which d is the right
factor.
"""
from phintys.gpu.device_op import DeviceOp, kernel_of
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.kernels.product_kernel import GpuProductKernel, GpuProductSumsKernel
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.row_op import REDUCTION, NodesOp
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.products.blas_kernel import ProductKernel
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.places import WORK_AT_DEVICE

WORK_AT_DEVICE.add(GpuProductSumsKernel)
RIGHT = {2: 1, 3: 1, 5: 3}      # how many operands a product has → which of them is the right factor
MOST_INPUTS = 16                # of what is computed from the sums


class ProductSumsOp(NodesOp):
    """A product, sums of the columns of its right factor, and what is computed from each.

    Parameters
    ----------
    product, total, after : Apply
        The nodes on the device.

    Raises
    ------
    NoSource
    """

    __props__ = ("key",)

    def __init__(self, product, total, after):
        code = of_host(after)[0].arguments[0]
        operands = read_by(after)
        place = operands.index(total.outputs[0])
        inputs = [*read_by(product), *operands[:place], *operands[place + 1:]]
        if len(set(inputs)) < len(inputs) or len(operands) > MOST_INPUTS or len(code.outputs) != 1:
            raise NoSource("a sum of columns")
        values = tuple([not isinstance(variable.type, GpuArrayType) for variable in operands])
        twins = [node.op.make_kernel(node) for node in (product, total, after)]
        if type(twins[0]) is not GpuProductKernel:
            raise NoSource("a product that is none of two matrices")
        self.kernel_arguments = (*twins, code, place, values)
        self.key, self.given = (product.op, total.op, after.op, place, values), inputs
        super().__init__([product, total, after], inputs, [product.outputs[0], after.outputs[0]])
        self.make_kernel(None)

    def make_kernel(self, node):
        return GpuProductSumsKernel(*self.kernel_arguments)

    def __str__(self):
        return f"GpuProductSums({', '.join([str(node.op)[3:] for node in self.nodes])})"


def of_host(node):
    """The processor's kernel of a node on the device, and the positions of the inputs that it reads; or None."""
    return kernel_of(node.op.host_node(node)) if type(node.op) is DeviceOp else None


def read_by(node):
    """The inputs that the kernel of a node reads, in its order."""
    return [node.inputs[position] for position in of_host(node)[1]]


def fuse_products(fgraph):
    """Replace all such nodes; return how many there were."""
    return sum([_fuse(fgraph, node) for node in fgraph.toposort() if _is_sum_of_columns(node)])


def _is_sum_of_columns(node):
    found = of_host(node)
    if found is None or type(found[0]) is not ReductionKernel:
        return False
    fold = dict(zip(REDUCTION, found[0].arguments)) | (found[0].named_arguments or {})
    return (fold["loop"].__name__ == "add" and tuple(fold["axes"]) == (0,) and not fold.get("keepdims")
            and fold["patterns"] in ([(False, False)], ((False, False),)) and not fold["code"].steps
            and fold["code"].input_dtypes == (fold["output_dtype"],))


def _fuse(fgraph, total):
    """Replace a sum of columns and what it belongs to; return whether that is possible."""
    readers = fgraph.clients[total.outputs[0]]
    if len(readers) != 1 or readers[0][0] == "output":
        return 0
    after = readers[0][0]
    found = of_host(after)
    if found is None or type(found[0]) is not ElementwiseKernel or len(found[0].arguments[1][0]) != 1:
        return 0
    for product, _ in fgraph.clients[total.inputs[0]]:
        if product != "output" and _is_product_of(product, total.inputs[0]) and not (
                _depends(product, after) or _depends(after, product)):
            try:
                op = ProductSumsOp(product, total, after)
            except NoSource:
                continue
            node = op.make_node(*op.given)
            node._position = product._position
            for old, new in zip((product.outputs[0], after.outputs[0]), node.outputs):
                new.name = old.name
                fgraph.replace(old, new, reason="product fusion")
            return 1
    return 0


def _is_product_of(node, right):
    """Whether a node is a product of matrices with this right factor."""
    found = of_host(node)
    if found is None or type(found[0]) is not ProductKernel:
        return False
    operands = read_by(node)
    return operands[RIGHT[len(operands)]] is right and tuple(found[0].arguments[1:3]) == (2, 2)


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
