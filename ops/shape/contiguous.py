"""CpuContiguous: an array in C order, without a copy if the input is already in C order."""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.native.shape_kernel import ContiguousKernel
from phintys.ops.types.constant import as_tensor_variable


class CpuContiguous(Op):
    """The input if it is contiguous in C order, else a contiguous copy.

    Examples
    --------
    >>> x = T.as_tensor(numpy.zeros((2, 3))).T
    >>> T.extra_ops.cpu_contiguous(x).eval().flags.c_contiguous
    True
    """

    __props__ = ()
    linear_in = (0,)
    view_map = {0: [0]}
    shape_as = 0

    def make_node(self, x):
        x = as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def make_kernel(self, node):
        return ContiguousKernel()

    def grad(self, inputs, output_grads):
        return list(output_grads)


cpu_contiguous = CpuContiguous()
