"""FloatOp: the base class of ops whose kernels support float32 and float64; float16 is computed in float32.

The dtype of the first output is the one in which a node computes. Nodes of float16 have no kernel: they run
``perform``, which converts the inputs, runs the kernel for float32 and converts the results back.
"""
from phintys.graph.op import Op
from phintys.vm.abi import run_kernel


class FloatOp(Op):
    """The base class of ops on floats; subclasses define ``kernel_for``."""

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
