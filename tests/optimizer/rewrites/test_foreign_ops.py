"""Ops that users define under names of ours, and scalar ops that compute something else than the table's: no rewrite
takes them for what it knows.
"""
import numpy as np
import pytest
from optimized_graphs import FAST_RUN, optimized

import phintys
import phintys.tensor as T
from phintys.ops.elementwise.first_dtype import in_first_dtype
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.optimizer import pipeline
from phintys.optimizer.engine.lengths import RULES
from phintys.optimizer.passes.constant_folding import OVERWRITING

FAMILIES = [family for families in (pipeline.CANONICALIZE, pipeline.STABILIZE, pipeline.SOFTMAX, pipeline.SPECIALIZE,
                                    pipeline.APPROXIMATIONS, pipeline.BATCH_NORMALIZATION, pipeline.BLAS)
            for family in families]
KEYS = {key for family in FAMILIES for rewrite in family.rewrites for key in rewrite.keys}
NAMES = sorted(KEYS.union(RULES, OVERWRITING, ["Composite", "Elemwise", "Shape_i", "ViewOp"]) - set(SCALAR_OPS))
VALUE = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5], [1.0, 1.5, 0.75]])


def named(name):
    """An op of this file, of a class called ``name``: adds up to three matrices with different factors."""
    def make_node(self, *inputs):
        return phintys.Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = sum(factor * value for factor, value in zip((2.0, 3.0, 5.0), inputs)) + 1

    return type(name, (phintys.Op,), {"__props__": (), "make_node": make_node, "perform": perform,
                                      "__module__": __name__})()


@pytest.mark.parametrize("name", NAMES)
def test_an_op_with_a_name_of_ours(name):
    op, x, c = named(name), T.matrix("x"), T.constant(VALUE)
    outputs = [op(x), op(op(x)), op(x, op(x, x)), op(x, x.T, x), T.exp(op(x)), T.log(op(T.exp(x))), op(T.exp(x)) * 2,
               op(x.T).T, T.dot(op(x), x), op(x).sum(axis=0), op(x)[0], op(x)[::-1][1:], op(x).shape[0] + 0 * op(c),
               T.join(0, op(x), x)[:2], op(x + 0, c), op(x[::-1])]
    unoptimized = phintys.function([x], outputs, mode="FAST_COMPILE")
    with phintys.change_flags(on_opt_error="raise"):
        function = phintys.function([x], outputs)
    for found, expected in zip(function(VALUE), unoptimized(VALUE)):
        np.testing.assert_allclose(found, expected)
    left = [node for node in optimized([x], [op(op(x))], FAST_RUN).apply_nodes if node.op == op]
    assert len(left) == 2


@pytest.mark.parametrize("first, second", [("add", "add"), ("mul", "mul"), ("add", "sub"), ("true_div", "mul")])
def test_sums_and_products_that_keep_the_first_dtype(first, second):
    """They cut off fractions, so they do not obey the laws of sums and products."""
    x = T.lvector("x")
    outer = in_first_dtype(SCALAR_OPS[second]).elementwise(in_first_dtype(SCALAR_OPS[first]).elementwise(x, 0.6), 0.6)
    values = [phintys.function([x], outer, mode=mode)(np.arange(-4, 9)) for mode in ("FAST_COMPILE", "FAST_RUN")]
    np.testing.assert_array_equal(*values)
    assert values[0].dtype == np.int64


def test_casts_of_what_ops_without_names_compute():
    """The key of their nodes is a class, not a name."""
    x = T.fvector("x")
    twice = phintys.OpFromGraph([x], [x * 2])(x)
    with phintys.config.change_flags(on_opt_error="raise"):
        function = phintys.function([x], [T.cast(twice, "int64"), T.cast(T.cast(twice, "float64"), "int64")])
    np.testing.assert_array_equal(function(np.arange(3, dtype="float32")), [[0, 2, 4]] * 2)
