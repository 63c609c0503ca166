"""``as_op``: an op from a function of Python."""
import pickle

import numpy
import pytest

import phintys.tensor as T
from phintys import Op, as_op, function, grad
from phintys.graph.errors import NullTypeGradError

A = numpy.array([1.0, 2.0, 3.0])
x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")


def product_shape(node, shapes):
    (rows, _), (_, columns) = shapes
    return [(rows, columns)]


@as_op(itypes=[T.dmatrix, T.dmatrix], otypes=[T.dmatrix], infer_shape=product_shape)
def numpy_dot(a, b):
    """The docstring of the function."""
    return numpy.dot(a, b)


@as_op([T.dvector], [T.dvector, T.dscalar])
def parts(value):
    return value * 2, value.sum()


def test_as_op():
    f = function([m], numpy_dot(m, m.T))
    value = numpy.arange(6.0).reshape(2, 3)
    numpy.testing.assert_allclose(f(value), value @ value.T)
    assert numpy_dot.__doc__ == "The docstring of the function." and "numpy_dot" in str(numpy_dot)
    shape = function([m], numpy_dot(m, m.T).shape)
    assert list(shape(value)) == [2, 2]
    assert type(numpy_dot) not in [type(node.op) for node in shape.maker.fgraph.toposort()]
    assert pickle.loads(pickle.dumps(numpy_dot)) is numpy_dot
    twice, total = function([x], parts(x))(A)
    numpy.testing.assert_allclose(twice, 2 * A)
    assert total == 6.0
    with pytest.raises(NullTypeGradError, match="not implemented"):
        grad(numpy_dot(m, m).sum(), m)


def test_make_node_has_to_return_a_node():
    class Thoughtless(Op):
        def make_node(self, value):
            return [value]

    with pytest.raises(TypeError, match="make_node of Thoughtless has to return an Apply node, got .x."):
        Thoughtless()(x)


def test_as_op_refuses_objects_that_are_not_types():
    for arguments in (("dvector", T.dvector), (T.dvector, [T.dvector, 3])):
        with pytest.raises(TypeError, match="list of phintys types"):
            as_op(*arguments)
    with pytest.raises(TypeError, match="infer_shape needs to be a callable, got 3"):
        as_op(T.dvector, T.dvector, 3)
    with pytest.raises(ValueError, match="expected 1 inputs"):
        parts(x, x)
    wrong = as_op(T.dvector, [T.dvector, T.dvector])(lambda value: value)
    with pytest.raises(ValueError, match="returned 1 values, 2 were declared"):
        function([x], wrong(x))(A)
