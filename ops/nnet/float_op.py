"""FloatOp: what ops share whose kernels know float32 and float64; float16 is computed in float32.

The first output says in which dtype a node computes. Nodes of float16 have no kernel: they run as ``perform``, which
converts, runs the kernel for float32 and converts back.
"""
from phintys.graph.op import Op
from phintys.vm.abi import run_kernel


class FloatOp(Op):
    """An op on floats; subclasses define ``kernel_for``."""

    runs_alone = True

    def kernel_for(self, node, dtype):
        """The kernel of a node whose float operands are all of ``dtype``."""
        raise NotImplementedError

    def make_kernel(self, node):
        dtype = node.outputs[0].type.dtype
        return None if dtype == "float16" else self.kernel_for(node, dtype)

    def perform(self, node, inputs, output_storage):
        if node.outputs[0].type.dtype != "float16":
            return Op.perform(self, node, inputs, output_storage)
        wide = [value.astype("float32") if value.dtype == "float16" else value for value in inputs]
        layouts = [output.type.clone(dtype="float32").layout if output.type.dtype == "float16" else output.type.layout
                   for output in node.outputs]
        results = run_kernel(self.kernel_for(node, "float32"), wide, layouts)
        for storage, output, result in zip(output_storage, node.outputs, results):
            storage[0] = result.astype(output.type.dtype)
