"""Ops written by users in Theano's documented ways: classes, ``as_op``; and what the ops Print and Assert do."""
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import Apply, Op, as_op, function, grad
from phintys.gof import generic
from phintys.gradient import DisconnectedType, Rop, grad_undefined, verify_grad
from phintys.graph.errors import DisconnectedInputError, MethodNotDefined, NullTypeGradError
from phintys.printing import Print
from phintys.tensor.opt import Assert, assert_

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


# ---- functions -------------------------------------------------------------------------------------------------------
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
    assert list(shape(value)) == [2, 2] and not nodes_of(shape, type(numpy_dot))
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


# ---- Print -----------------------------------------------------------------------------------------------------------
def test_print(capsys):
    shown = Print("here", attrs=["shape", "max"])(x)
    value, gradient = function([x, y], [shown * 2, grad((shown ** 2).sum(), x) + Rop(shown, x, y)])(A, A)
    assert capsys.readouterr().out == "here shape = (3,)\nhere max = 3.0\n"
    numpy.testing.assert_allclose(value, 2 * A)
    numpy.testing.assert_allclose(gradient, 3 * A)
    function([x], Print("shape only")(x).shape)(A)
    assert capsys.readouterr().out == ""
    function([], Print("constant")(T.constant(2.5)))()
    assert capsys.readouterr().out == "constant __str__ = 2.5\n"


def test_print_calls_a_function_instead():
    seen = []
    shown = Print("there", global_fn=lambda op, value: seen.append((op.message, value.sum())))(x)
    function([x], shown)(A)
    assert seen == [("there", 6.0)]
    assert Print("a") == Print("a") and Print("a") != Print("b")


# ---- Assert ----------------------------------------------------------------------------------------------------------
def test_assert():
    checked = Assert("too large")(x, T.lt(x.sum(), 10), T.ge(x.min(), 0))
    f = function([x, y], [checked, grad((checked ** 2).sum(), x), Rop(checked, x, y)])
    for result, expected in zip(f(A, A), [A, 2 * A, A]):
        numpy.testing.assert_allclose(result, expected)
    for wrong in (A + 10, -A):
        with pytest.raises(AssertionError, match="too large"):
            f(wrong, A)
    with pytest.raises(AssertionError, match="scalars"):
        assert_(x, x > 0)
    assert list(function([x], checked.shape)(A + 10)) == [3]
    assert Assert("a") == Assert("a") and Assert("a") != Assert("b")


def test_an_assertion_that_is_never_true_fails_the_call_and_not_the_compilation():
    f = function([x], assert_(x, T.constant(1) > 2))
    with pytest.raises(AssertionError):
        f(A)


def test_asserted_things_need_not_be_tensors():
    thing = generic("thing")
    assert function([thing, x], [Assert()(thing, x.sum() > 0)])("any", A) == ["any"]


def test_a_failing_assertion_changes_no_shared_variable():
    s = phintys.shared(A)
    f = function([x], updates=[(s, assert_(s + x, x.sum() > 0))])
    f(A)
    with pytest.raises(AssertionError):
        f(-A)
    numpy.testing.assert_allclose(s.get_value(), 2 * A)


def test_redundant_conditions_are_dropped():
    condition = x.sum() > 0
    f = function([x], assert_(x, T.constant(1) > 0, T.constant(True)), mode="FAST_RUN")
    assert not nodes_of(f, Assert) and f(-A).sum() == -6.0
    f = function([x], assert_(x, condition, T.constant(2), condition), mode="FAST_RUN")
    node, = nodes_of(f, Assert)
    assert len(node.inputs) == 2
    unsafe = phintys.Mode(optimizer="fast_run").including("local_remove_all_assert")
    assert not nodes_of(function([x], assert_(x, condition), mode=unsafe), Assert)


@pytest.mark.parametrize("condition", [T.bscalar(), T.lscalar(), T.dscalar(), T.fscalar()])
def test_conditions_of_every_dtype(condition):
    f = function([x, condition], assert_(x, condition))
    for true in (1, -1) + ((0.5,) if condition.dtype.startswith("float") else ()):
        numpy.testing.assert_array_equal(f(A, true), A)
    with pytest.raises(AssertionError):
        f(A, 0)


def test_the_result_of_an_assertion_is_a_view():
    f = function([x, y], assert_(x[::-2], y.sum() > 0) * y[:2])
    numpy.testing.assert_allclose(f(A, A), A[::-2] * A[:2])
    scalar = T.dscalar("scalar")
    assert function([scalar], assert_(T.exp(scalar), scalar > 0) * 2)(1.0) == pytest.approx(2 * numpy.e)


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
