"""CpuContiguous: an array in C order, without a copy if the input is already in C order."""
from phintys.graph.op import IdentityOp, Op
from phintys.ops.native.shape_kernel import ContiguousKernel
from phintys.ops.types.constant import as_tensor_variable


class CpuContiguous(IdentityOp):
    """The input if it is contiguous in C order, else a contiguous copy.

    Examples
    --------
    >>> x = T.as_tensor(numpy.zeros((2, 3))).T
    >>> T.extra_ops.cpu_contiguous(x).eval().flags.c_contiguous
    True
    """

    view_map = {0: [0]}
    perform = Op.perform                        # runs the kernel

    def make_node(self, x):
        return super().make_node(as_tensor_variable(x))

    def make_kernel(self, node):
        return ContiguousKernel()


cpu_contiguous = CpuContiguous()
