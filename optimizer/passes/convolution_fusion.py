"""Convolution fusion: joins a convolution with its only reader.

With an elementwise reader it becomes a `FusedConvolution`, with a pooling reader a `PooledConvolution`, which also
includes an elementwise node before or after the pooling.

It runs after elementwise fusion, so an elementwise reader is a whole group: a bias, an activation, a normalization by
channel.
"""
from phintys.graph.trace import Traces
from phintys.graph.variable import Constant
from phintys.ops.convolution.convolution import FAMILIES
from phintys.ops.convolution.fused_convolution import FusedConvolution, fits
from phintys.ops.convolution.pooled_convolution import PooledConvolution, can_pool
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.composite_assembly import Assembly
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.pooling.pool import Pool

CONVOLUTIONS = frozenset([family[0] for family in FAMILIES])
DTYPES = ("float32", "float64")


def fuse_convolutions(fgraph):
    """Fuse convolutions with their readers in place; return how many nodes were fused with one."""
    made = 0
    for node in fgraph.toposort():
        if type(node.op) not in CONVOLUTIONS or node.op.unshared or node.outputs[0].type.dtype not in DTYPES:
            continue
        parts, steps_last = [node], False
        made += add_elementwise_reader(fgraph, parts) + add_pool(fgraph, parts)
        if [type(part.op) for part in parts[1:]] == [Pool]:
            steps_last = add_elementwise_reader(fgraph, parts)
            made += steps_last
        if len(parts) > 1:
            replace(fgraph, parts, steps_last)
    return made


def only_reader(fgraph, node):
    """The node that reads the only output of ``node``, if it is one and nothing else does."""
    readers = {reader for reader, _ in fgraph.clients[node.outputs[0]]}
    return readers.pop() if len(readers) == 1 else None


def add_elementwise_reader(fgraph, parts):
    """Append the reader of the last part if it is an elementwise node that can become one with it."""
    reader, result = only_reader(fgraph, parts[-1]), parts[-1].outputs[0]
    if type(getattr(reader, "op", None)) is not Elemwise or not can_follow(reader, result):
        return False
    parts.append(reader)
    return True


def can_follow(reader, result):
    """Whether an elementwise node changes only the values of a result."""
    others = [variable for variable in reader.inputs if variable is not result]
    return len(reader.outputs) == 1 and reader.outputs[0].type == result.type \
        and all([fits(other.type, result.type) for other in others])


def add_pool(fgraph, parts):
    """Append the reader of the last part if it pools images by windows that are known."""
    reader = only_reader(fgraph, parts[-1])
    if type(getattr(reader, "op", None)) is not Pool or parts[-1].outputs[0].type.ndim != 4:
        return False
    sizes = reader.inputs[1:]
    if not all([isinstance(size, Constant) for size in sizes]) or not can_pool(reader.op, *windows(reader)):
        return False
    parts.append(reader)
    return True


def windows(node):
    """Sizes, steps and paddings of a node that pools, which are constants."""
    return [tuple(size.data.tolist()) for size in node.inputs[1:]]


def replace(fgraph, parts, steps_last):
    """Replace nodes that follow each other by one."""
    op, inputs, positions = parts[0].op, parts[0].inputs, [parts[0]._position]
    elementwise = [part for part in parts if isinstance(part.op, Elemwise)]
    pools = [part for part in parts if isinstance(part.op, Pool)]
    for part in elementwise:
        result = parts[parts.index(part) - 1].outputs[0]
        assembly = Assembly()
        assembly.add(part)
        scalar_op = Composite.of_steps(*assembly.finish(part.outputs))
        others = list(assembly.inputs)
        operand = others.index(result)
        op, inputs = FusedConvolution(op, scalar_op, operand), [*inputs, *others[:operand], *others[operand + 1:]]
        positions += assembly.positions
    for part in pools:
        op = PooledConvolution(op, part.op, *windows(part), steps_last)
        positions.append(part._position)
    result = op(*inputs)
    result.owner._position = Traces(positions, in_parts=True)
    result.name = parts[-1].outputs[0].name
    fgraph.replace(parts[-1].outputs[0], result, reason="convolution_fusion")
