"""FusedConvolution: a convolution and the elementwise operations after it, such as a bias and an activation, in one
kernel.

A bias and limits are applied to sums in registers, other operations to each plane of results in the cache.

With 32 images of 32 x 32 and 3 channels, and 8 filters of 3 x 3, a bias and relu take 61% of the convolution's time as
a separate node, and 8% in registers. The time of tanh is that of its arithmetic, so only the time of the bias is saved.

The optimizer creates it after gradients have been taken, so it has no gradient.
"""
import math
from types import SimpleNamespace

import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.scalar_code import CodeBuilder, numbered
from phintys.ops.elementwise.step_at_fault import step_at_fault
from phintys.ops.types.constant import as_tensor_variable


class FusedConvolution(Op):
    """The result of a scalar op (or Composite) of a convolution: ``(images, filters, others of its operands ...)``.

    Parameters
    ----------
    convolution : AbstractConv
        With filters that all positions of the result share.
    scalar_op : ScalarOp
        Must have one output, of the convolution's dtype.
    position : int
        Which operand of ``scalar_op`` is the convolution's result. The others have one element in all dimensions but
        the second, where they may have one for each filter.
    """

    runs_alone = True
    __props__ = ("convolution", "scalar_op", "position")

    def __init__(self, convolution, scalar_op, position=0):
        if scalar_op.nout != 1:
            raise NotImplementedError(f"FusedConvolution has one output, {scalar_op} has {scalar_op.nout}")
        self.convolution, self.scalar_op, self.position = convolution, scalar_op, position

    def make_node(self, images, filters, *others):
        node = self.convolution.make_node(images, filters)
        others = [as_tensor_variable(other) for other in others]
        result = node.outputs[0].type
        for other in others:
            if not fits(other.type, result):
                raise TypeError(f"{self}: an operand must be constant in all dimensions but the second, got {other} of "
                                f"type {other.type}")
        dtype, = self.scalar_op.output_dtypes(tuple([type_.dtype for type_ in self._types(result, others)]))
        if dtype != result.dtype:
            raise TypeError(f"{self} would convert the result from {result.dtype} to {dtype}")
        return Apply(self, [*node.inputs, *others], [result()])

    def _types(self, result, others):
        """The types of the operands of the scalar op."""
        types = [other.type for other in others]
        types.insert(self.position, result)
        return types

    def make_kernel(self, node):
        return self.convolution.kernel_for(node, node.outputs[0].type.dtype, self.following(node))

    def following(self, node):
        """The operations after the convolution, in the form that its kernel takes."""
        types = self._types(node.outputs[0].type, node.inputs[2:])
        dtypes = [type_.dtype for type_ in types]
        builder = CodeBuilder(dtypes)
        outputs = self.scalar_op.emit(builder, self.scalar_op.output_dtypes(tuple(dtypes)), list(range(len(dtypes))))
        code = builder.finish(outputs)
        return (code, [type_.broadcastable for type_ in types], self.position,
                *in_registers(code, self.position, node.outputs[0].type.dtype))

    def infer_shape(self, node, input_shapes):
        return self.convolution.infer_shape(node, input_shapes[:2])

    def flops(self, inp, outp):
        """The multiplications and additions of the convolution, for profiles."""
        return self.convolution.flops(inp[:2], outp)

    def part_at_fault(self, node, shapes):
        """The convolution, which is the first part, or the step of the scalar op that failed."""
        (result,), (images, filters, *others) = self.convolution.infer_shape(node, shapes[:2]), shapes
        if images[1] != filters[1] * self.convolution.num_groups:
            return 0
        others.insert(self.position, result)
        types = self._types(node.outputs[0].type, node.inputs[2:])
        step = step_at_fault(self.scalar_op, SimpleNamespace(inputs=[SimpleNamespace(type=type_) for type_ in types]),
                             others)
        return 0 if step is None else 1 + step

    def __str__(self):
        return f"{self.convolution}({self.scalar_op})"


def fits(type_, result):
    """Whether an operand of ``type_`` is constant in all dimensions but the second of a convolution's result."""
    flags = type_.broadcastable
    return len(flags) == result.ndim and all([flag for axis, flag in enumerate(flags) if axis != 1]) \
        and (flags[1] or not result.broadcastable[1])


def in_registers(code, position, dtype):
    """The part of the steps after a convolution that is applied to its sums in registers.

    Returns
    -------
    bias : int or None
        The input that is added first.
    limits : pair of float or None
        What results are then limited to.
    rest : ScalarCode or None
        The steps that are left.
    """
    bias, limits = None, None
    for slot, (loop, operands, dtypes) in enumerate(code.steps, code.first_step):
        others = [operand for operand in operands if operand != position]
        if loop is numpy.add and len(others) == 1 and others[0] < len(code.input_dtypes) and set(dtypes) == {dtype} \
                and code.readers(position) == [slot] and position not in code.outputs:
            bias = others[0]
            code = without(code, slot, position)
            break
    if len(code.steps) == 1 and set(code.steps[0][2]) == {dtype}:
        limits = limits_of(code, position)
    return bias, limits, None if limits is not None or not code.steps else code


def without(code, removed, position):
    """The code without step ``removed``: its readers read ``position``."""
    def read(slots):
        return [position if slot == removed else slot for slot in slots]

    constants, steps = code.by_slot()
    del steps[removed]
    steps = {slot: (loop, read(operands), dtypes) for slot, (loop, operands, dtypes) in steps.items()}
    return numbered(code.input_dtypes, constants, steps, read(code.outputs))


def limits_of(code, position):
    """The limits that the only step sets to slot ``position``, or None if it does something else."""
    loop, operands, _ = code.steps[0]
    others = [code.constant(operand) for operand in operands if operand != position]
    if None in [None if other is None else True for other in others] or operands.count(position) != 1:
        return None
    if loop == "clip" and operands[0] == position:
        limits = tuple(map(float, others))
    elif loop is numpy.maximum:
        limits = float(others[0]), math.inf
    else:
        return None
    return limits if limits[0] <= limits[1] else None
