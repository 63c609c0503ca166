"""Reduction fusion: a reduction of an elementwise value without other readers becomes one `FusedReduction`.

It runs after elementwise fusion, so the producer is a whole group. The reduced value is never stored.
"""
from phintys.graph.trace import Traces
from phintys.ops.cumulative.product import Prod
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.composite_assembly import Assembly
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.reduction.careduce import All, Any, CAReduce, CAReduceDtype, Max, MaxOrLowest, Min, Sum
from phintys.ops.reduction.fused_reduction import FusedReduction
from phintys.optimizer.passes.fusion import OPERANDS

FUSABLE = frozenset([Sum, Prod, Max, MaxOrLowest, Min, All, Any, CAReduce, CAReduceDtype])


def fuse_reductions(fgraph):
    """Fuse reductions with their producers in place; return how many."""
    made = 0
    for node in fgraph.toposort():
        if type(node.op) not in FUSABLE:
            continue
        value = node.inputs[0]
        producer = value.owner
        if producer is None or type(producer.op) is not Elemwise or len(producer.outputs) != 1 \
                or len(fgraph.clients[value]) != 1 or len(producer.inputs) > OPERANDS:
            continue
        assembly = Assembly()
        assembly.add(producer)
        scalar_op = producer.op.scalar_op
        if scalar_op.steps is not None or assembly.constants or len(assembly.inputs) != len(producer.inputs):
            scalar_op = Composite.of_steps(*assembly.finish(producer.outputs))
        if not assembly.inputs:
            continue
        fused = FusedReduction(node.op, scalar_op)(*assembly.inputs)
        if fused.type == node.outputs[0].type:
            fused.owner._position = Traces([*assembly.positions, node._position], in_parts=True)
            fused.name = node.outputs[0].name
            fgraph.replace(node.outputs[0], fused, reason="reduction_fusion")
            made += 1
    return made
