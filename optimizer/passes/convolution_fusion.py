"""Convolution fusion: a convolution whose only reader is an elementwise node becomes one `FusedConvolution` with it.

It runs after elementwise fusion, so the reader is a whole group: a bias, an activation, a normalization by channel.
"""
from phintys.graph.trace import Traces
from phintys.ops.convolution.convolution import FAMILIES
from phintys.ops.convolution.fused_convolution import FusedConvolution, fits
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.composite_assembly import Assembly
from phintys.ops.elementwise.elementwise import Elemwise

CONVOLUTIONS = frozenset([family[0] for family in FAMILIES])
DTYPES = ("float32", "float64")


def fuse_convolutions(fgraph):
    """Fuse convolutions with their readers in place; return how many."""
    made = 0
    for node in fgraph.toposort():
        if type(node.op) not in CONVOLUTIONS or node.op.unshared or node.outputs[0].type.dtype not in DTYPES:
            continue
        result, = node.outputs
        readers = {reader for reader, _ in fgraph.clients[result]}
        reader = readers.pop()
        if readers or type(getattr(reader, "op", None)) is not Elemwise or not can_follow(reader, result):
            continue
        assembly = Assembly()
        assembly.add(reader)
        scalar_op = Composite.of_steps(*assembly.finish(reader.outputs))
        inputs = list(assembly.inputs)
        place = inputs.index(result)
        fused = FusedConvolution(node.op, scalar_op, place)(*node.inputs, *inputs[:place], *inputs[place + 1:])
        fused.owner._position = Traces([node._position, *assembly.positions], in_parts=True)
        fused.name = reader.outputs[0].name
        fgraph.replace(reader.outputs[0], fused, reason="convolution_fusion")
        made += 1
    return made


def can_follow(reader, result):
    """Whether an elementwise node changes nothing but the values of a convolution's result."""
    others = [variable for variable in reader.inputs if variable is not result]
    return len(reader.outputs) == 1 and reader.outputs[0].type == result.type \
        and all([fits(other.type, result.type) for other in others])
