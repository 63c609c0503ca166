"""Merging: which nodes and constants are equal, and which are not."""
import numpy
from optimized_graphs import FAST_COMPILE, operations, optimized, variable

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.ops.elementwise.scalar import exp, sub
from phintys.optimizer.passes.merge import merge

x, y = variable("d1", "x"), variable("d1", "y")


def test_equal_computations_become_one():
    assert operations(optimized([x], [exp(x + 1), exp(x + 1), exp(1.0 * x)], FAST_COMPILE)).count("exp") == 2
    fgraph = FunctionGraph([x], [exp(x + 1) * exp(x + 1)])
    assert merge(fgraph) > 0 and operations(fgraph) == ["add", "exp", "mul"]
    assert merge(fgraph) == 0


def test_operands_in_another_order_are_another_computation():
    fgraph = FunctionGraph([x, y], [sub(x, y), sub(y, x)])
    assert merge(fgraph) == 0


def test_results_of_different_types_are_not_equal():
    """An op of a user may choose them by more than its inputs."""
    op = exp(x).owner.op
    outputs = [Apply(op, [x], [variable(kind, None)]).outputs[0] for kind in ("d1", "f1")]
    fgraph = FunctionGraph([x], outputs)
    assert merge(fgraph) == 0 and len(fgraph.apply_nodes) == 2


def test_constants_merge_by_value_and_dtype():
    first, second = numpy.arange(3.0), numpy.arange(3.0)
    fgraph = FunctionGraph([x], [x + first, exp(x + second), x + numpy.arange(3), x + numpy.array([0.0, 1.0, -2.0])])
    merge(fgraph)
    assert operations(fgraph).count("add") == 3


def test_zeros_of_different_sign_do_not_merge():
    fgraph = FunctionGraph([x], [x / numpy.array([0.0, 1.0]), x / numpy.array([-0.0, 1.0])])
    merge(fgraph)
    assert len(fgraph.apply_nodes) == 2
