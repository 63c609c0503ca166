"""Ops written by users in Theano's documented ways: classes with the methods that an op may have."""

import numpy
import pytest

import phintys.tensor as T
from phintys import Apply, Op, function, grad
from phintys.gof import generic
from phintys.gradient import DisconnectedType, Rop, grad_undefined, verify_grad
from phintys.graph.errors import DisconnectedInputError, MethodNotDefined, NullTypeGradError

A = numpy.array([1.0, 2.0, 3.0])
x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")


def nodes_of(f, kind):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, kind)]


# ---- classes ---------------------------------------------------------------------------------------------------------
class AXPB(Op):
    """a * x + b, with every method that an op can define."""

    __props__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.a * inputs[0] + self.b

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def grad(self, inputs, output_grads):
        return [self.a * output_grads[0]]

    def R_op(self, inputs, eval_points):
        return [None if eval_points[0] is None else self.a * eval_points[0]]


def test_a_class_with_everything():
    op = AXPB(3.0, 1.0)
    assert op == AXPB(3.0, 1.0) and hash(op) == hash(AXPB(3.0, 1.0)) and op != AXPB(3.0, 2.0)
    assert str(op) == "AXPB{a=3.0, b=1.0}"
    f = function([x, y], [op(x), grad((op(x) ** 2).sum(), x), Rop(op(x), x, y), op(x) * op(x)])
    value, gradient, direction, square = f(A, A)
    numpy.testing.assert_allclose(value, 3 * A + 1)
    numpy.testing.assert_allclose(gradient, 6 * (3 * A + 1))
    numpy.testing.assert_allclose(direction, 3 * A)
    numpy.testing.assert_allclose(square, value ** 2)
    assert len(nodes_of(f, AXPB)) == 1                     # equal ops on equal inputs are computed once
    shape = function([x], op(x).shape)
    assert list(shape(A)) == [3] and not nodes_of(shape, AXPB)
    verify_grad(op, [A], rng=numpy.random.RandomState(0))


class Divided(Op):
    """Quotient and remainder, declared by types; the gradient uses the outputs and is undefined for the remainder."""

    __props__ = ()
    itypes, otypes = [T.dvector, T.dvector], [T.dvector, T.dvector]

    def perform(self, node, inputs, output_storage):
        for storage, value in zip(output_storage, numpy.divmod(*inputs)):
            storage[0] = value

    def L_op(self, inputs, outputs, output_grads):
        quotient, _ = outputs
        by_first = output_grads[1]
        if isinstance(by_first.type, DisconnectedType):
            return [grad_undefined(self, position, variable) for position, variable in enumerate(inputs)]
        return [by_first, -quotient * by_first]


def test_itypes_and_otypes():
    op = Divided()
    quotient, remainder = op(x, y)
    results = function([x, y], [quotient, remainder, *grad(remainder.sum(), [x, y])])(A + 4, A)
    for result, expected in zip(results, [(A + 4) // A, (A + 4) % A, numpy.ones(3), -((A + 4) // A)]):
        numpy.testing.assert_allclose(result, expected)
    with pytest.raises(NullTypeGradError, match="undefined"):
        grad(quotient.sum(), x)
    with pytest.raises(ValueError, match="expected 2 inputs but got 1"):
        op(x)
    with pytest.raises(TypeError):
        op(x, m)
    f = function([x, y], op(x, y)[0].shape)                # no shape rule: it is computed, and nothing complains
    assert list(f(A, A)) == [3]


class Selected(Op):
    """The second output depends only on the second input."""

    __props__ = ()

    def make_node(self, first, second):
        return Apply(self, [first, second], [first.type(), second.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0], output_storage[1][0] = inputs[0].copy(), inputs[1].copy()

    def connection_pattern(self, node):
        return [[True, False], [False, True]]

    def grad(self, inputs, output_grads):
        return output_grads


def test_connection_pattern():
    _, second = Selected()(x, y)
    numpy.testing.assert_allclose(function([x, y], grad((second ** 2).sum(), y), on_unused_input="ignore")(A, A), 2 * A)
    with pytest.raises(DisconnectedInputError):
        grad(second.sum(), x)


class Scaled(Op):
    """A factor that ``perform`` gets as Theano's params."""

    __props__ = ("factor",)
    params_type = generic
    itypes, otypes = [T.dvector], [T.dvector]

    def __init__(self, factor):
        self.factor = factor

    def get_params(self, node):
        return self.factor

    def perform(self, node, inputs, output_storage, params):
        output_storage[0][0] = inputs[0] * params


class Doubled(Scaled):
    """A subclass that overrides perform."""

    __props__ = ()

    def __init__(self):
        self.factor = 2

    def perform(self, node, inputs, output_storage, params):
        output_storage[0][0] = inputs[0] * params + 1


def test_params():
    scaled, doubled = function([x], [Scaled(5)(x), Doubled()(x)])(A)
    numpy.testing.assert_allclose(scaled, 5 * A)
    numpy.testing.assert_allclose(doubled, 2 * A + 1)

    class Nameless(Scaled):
        get_params = Op.get_params

    with pytest.raises(MethodNotDefined, match="get_params"):
        function([x], Nameless(5)(x))(A)


class Halted(Op):
    """Defines only ``make_node``, neither ``perform`` nor a gradient."""

    __props__ = ()
    itypes, otypes = [T.dvector], [T.dvector]


def test_error_names_the_missing_method():
    with pytest.raises(MethodNotDefined, match="perform"):
        function([x], Halted()(x))(A)
    with pytest.raises(NullTypeGradError, match="not implemented"):
        grad(Halted()(x).sum(), x)
    with pytest.raises(NotImplementedError, match="R_op"):
        Rop(Halted()(x), x, y)
    with pytest.raises(NotImplementedError, match="itypes and otypes"):
        Op()(x)


# ---- ops that say in which inputs they are linear -------------------------------------------------------------------
class Mixture(Op):
    """x * k + y * k, and x * k: linear in x and y together."""

    __props__ = ()
    linear_in = (0, 2)

    def make_node(self, x, k, y):
        return Apply(self, [x, k, y], [x.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        x, k, y = inputs
        output_storage[0][0], output_storage[1][0] = x * k + y * k, x * k


def test_the_direction_of_a_linear_op_is_the_op_itself():
    x, k, y, u, v = T.dvectors("x", "k", "y", "u", "v")
    both, first = Mixture()(x, k, y)
    at = {x: [1.0, 2.0], k: [3.0, 4.0], y: [5.0, 6.0], u: [0.5, 1.0], v: [2.0, 0.0]}
    f = function([x, k, y, u, v], Rop([both, first], [x, y], [u, v]), on_unused_input="ignore")
    found = f(*[at[variable] for variable in (x, k, y, u, v)])
    numpy.testing.assert_allclose(found, [[7.5, 4.0], [1.5, 4.0]])
    assert Mixture().R_op([x, k, y], [None, u, None]) == [None, None]
