"""FusedReduction: a reduction and the preceding elementwise operations in one pass, so that ``sum(f(x))`` allocates no
intermediate array.

The optimizer creates it after gradients have been taken, so it has no gradient.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.scalar_code import CodeBuilder
from phintys.ops.elementwise.step_at_fault import step_at_fault
from phintys.ops.reduction.careduce import positive_axes
from phintys.ops.types.constant import as_tensor_variable


class FusedReduction(Op):
    """An elementwise scalar op (or Composite) and a reduction of its result, in one pass over the inputs.

    Parameters
    ----------
    reduction : CAReduce
        Its axes must not be negative.
    scalar_op : ScalarOp
        Must have one output.
    """

    runs_alone = True
    __props__ = ("reduction", "scalar_op")

    def __init__(self, reduction, scalar_op):
        if scalar_op.nout != 1:
            raise NotImplementedError(f"FusedReduction reduces one output, {scalar_op} has {scalar_op.nout}")
        self.reduction = reduction
        self.scalar_op = scalar_op

    def make_node(self, *inputs):
        inputs = [as_tensor_variable(value) for value in inputs]
        types = [value.type for value in inputs]
        if len({type_.ndim for type_ in types}) != 1:
            raise TypeError(f"FusedReduction: the inputs must have the same rank, got {types}")
        dtype, = self.scalar_op.output_dtypes(tuple([type_.dtype for type_ in types]))
        patterns = list(zip(*[type_.broadcastable for type_ in types]))
        lengths = [next(filter(None, [length for length in column if length != 1]), 1 if all(flags) else None)
                   for flags, column in zip(patterns, zip(*[type_.shape for type_ in types]))]
        flags = [all(flags) for flags in patterns]
        axis = None if self.reduction.axis is None else positive_axes(inputs[0], self.reduction.axis)
        reduction = self.reduction.specialized(axis, dtype)
        op = self if reduction is self.reduction else FusedReduction(reduction, self.scalar_op)
        return Apply(op, inputs, [reduction.output_type(dtype, flags, lengths).make_variable()])

    def make_kernel(self, node):
        dtypes = [value.type.dtype for value in node.inputs]
        builder = CodeBuilder(dtypes)
        outputs = self.scalar_op.emit(builder, self.scalar_op.output_dtypes(tuple(dtypes)), list(range(len(dtypes))))
        return self.reduction.kernel_over(builder.finish(outputs), [variable.type.broadcastable
                                                                    for variable in node.inputs])

    def infer_shape(self, node, input_shapes):
        patterns = zip(*[variable.type.broadcastable for variable in node.inputs])
        whole = [next((length for flag, length in zip(flags, lengths) if not flag), 1)
                 for flags, lengths in zip(patterns, zip(*input_shapes))]
        return self.reduction.infer_shape(node, [tuple(whole)])

    def part_at_fault(self, node, shapes):
        """The step of the scalar op that failed, or the reduction, which is the last part."""
        count = 1 if self.scalar_op.steps is None else len(self.scalar_op.steps)
        step = step_at_fault(self.scalar_op, node, shapes)
        return count if step is None else step

    def __str__(self):
        return f"{self.reduction}({self.scalar_op})"
