"""The terms of one node: only those that something reads are made."""
import numpy
import pytest

import phintys
import phintys.tensor as T


class Noting(phintys.Op):
    """The product of two vectors, whose gradients note what is wanted."""

    __props__ = ()

    def make_node(self, x, y):
        return phintys.Apply(self, [x, y], [x.type()])

    def L_op(self, inputs, outputs, output_grads, wanted=None):
        Noting.wanted = wanted
        x, y = inputs
        return [output_grads[0] * y, None if wanted else output_grads[0] * x]

    L_op.takes_wanted = True


def test_terms_that_nothing_reads_are_not_asked_for():
    x, y = T.dvectors("xy")
    product = Noting()(x, y).sum()
    gradient = phintys.grad(product, x)
    assert Noting.wanted == [True, False]
    assert phintys.function([x, y], gradient, on_unused_input="ignore")([1, 2], [3, 4]).tolist() == [3, 4]
    phintys.grad(product, [x, y])
    assert Noting.wanted is None


@pytest.mark.parametrize("build", [lambda x, y: x * y, lambda x, y: T.mul(x, y, x), lambda x, y: x - y,
                                   lambda x, y: x / y, lambda x, y: x ** y, T.dot, lambda x, y: T.dot(x, y.T),
                                   lambda x, y: T.dot(x[:, 0], y), lambda x, y: T.dot(x, y[0])])
def test_terms_of_built_in_ops_are_made_one_by_one(build):
    x, y = T.dmatrices("xy")
    inputs, out = (node := build(x, y).owner).inputs, node.outputs[0]
    both = node.op.L_op(inputs, [out], [out])
    for position in range(len(inputs)):
        wanted = [position == other for other in range(len(inputs))]
        terms = node.op.L_op(inputs, [out], [out], wanted=wanted)
        assert [term is None for term in terms] == [not flag for flag in wanted]
        values = phintys.function([x, y], [terms[position], both[position]], on_unused_input="ignore")(
            *numpy.random.RandomState(0).uniform(0.5, 2, (2, 3, 3)))
        numpy.testing.assert_array_equal(*values)
