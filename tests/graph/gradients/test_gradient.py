"""``grad``, ``Lop``, ``Rop`` and their relatives, on the toy algebra."""
import gc
import warnings

import numpy
import pytest
from toy_graph import (
    LENGTH,
    Answers,
    Cast,
    Copy,
    Cut,
    Elementwise,
    Overwrite,
    Pair,
    ToyConstant,
    ToyType,
    Undefined,
    add,
    chain,
    evaluate,
    negate,
    pair,
    scalar,
    vector,
    whole,
)

from phintys.graph.config import change_flags
from phintys.graph.errors import DisconnectedInputError, NullTypeGradError
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import Lop, format_as, grad, subgraph_grad
from phintys.graph.gradients.view_op import (
    ViewOp,
    consider_constant,
    disconnected_grad,
    grad_clip,
    grad_scale,
    undefined_grad,
    zero_grad,
)
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import ancestors
from phintys.graph.valueless_types import (
    DisconnectedType,
    NullType,
    disconnected_type,
    grad_not_implemented,
    grad_undefined,
    null_type,
)


def at(variables, values):
    """The values of variables, as floats."""
    return [float(value) for value in evaluate(variables, values)]


# ---- values ----------------------------------------------------------------------------------------------------------
def test_products_and_sums():
    x, y = scalar("x"), scalar("y")
    cost = x * y + x * x * y
    assert at(grad(cost, [x, y]), {x: 2.0, y: 3.0}) == [15.0, 6.0]


def test_a_variable_in_the_middle():
    x = scalar("x")
    square = x * x
    cost = square * square
    assert at(grad(cost, [square, cost, x]), {x: 2.0}) == [8.0, 1.0, 32.0]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_collected_after_a_gradient_as_before_it(is_enabled):
    seen = []

    class Watching(type(add)):
        def grad(self, inputs, output_grads):
            seen.append(gc.isenabled())
            return super().grad(inputs, output_grads)

    x, before = scalar("x"), gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        grad(Watching()(x, x), x)
        after = gc.isenabled()
        with pytest.raises(DisconnectedInputError):
            grad(add(x, x), scalar("y"))
        assert (seen, after, gc.isenabled()) == ([False], is_enabled, is_enabled)
    finally:
        (gc.enable if before else gc.disable)()


def test_second_derivative():
    x = scalar("x")
    assert at([grad(grad(x * x * x, x), x)], {x: 2.0}) == [12.0]


def test_consider_constant():
    x = scalar("x")
    square = x * x
    cost = square * x
    assert at([grad(cost, x, consider_constant=[square])], {x: 2.0}) == [4.0]
    assert at([grad(cost, square, consider_constant=[square])], {x: 2.0}) == [2.0]
    for wrong in (3, [3], [[square]]):
        with pytest.raises(TypeError):
            grad(cost, x, consider_constant=wrong)


def test_known_grads():
    x, y = scalar("x"), scalar("y")
    square = x * x
    known = {square: ToyConstant(scalar, 5)}
    assert at([grad(None, x, known_grads=known)], {x: 2.0}) == [20.0]
    assert at([grad(square + y * x, x, known_grads=known)], {x: 2.0, y: 1.0}) == [21.0]
    with pytest.raises(AssertionError):
        grad(None, x)
    with pytest.raises(TypeError, match="continuous"):
        grad(None, x, known_grads={square: whole()})
    with pytest.raises(TypeError, match="output grads must be variables"):
        grad(None, x, known_grads={square: 1.0})


def test_the_form_of_the_answer_is_that_of_wrt():
    x = scalar("x")
    assert isinstance(grad(x * x, [x]), list) and isinstance(grad(x * x, (x,)), tuple) and grad(x * x, x).type == scalar
    assert format_as(True, False, 1) == [1] and format_as(False, True, [1]) == (1,)
    assert format_as(False, False, [1]) == format_as(False, False, 1) == 1
    with pytest.raises(AssertionError, match="cannot be simultaneously True"):
        format_as(True, True, [1])
    with pytest.raises(AssertionError):
        format_as(False, False, [1, 2])


def test_names():
    x, cost = scalar("x"), scalar("y") * scalar("z")
    cost = x * cost
    cost.name = "cost"
    assert grad(cost, x).name == "(dcost/dx)" and grad(cost, x, add_names=False).name is None


# ---- dtypes ----------------------------------------------------------------------------------------------------------
def test_gradients_have_the_dtype_of_their_variable():
    x = ToyType("float32")("x")
    cost = Cast("float64")(x * x)
    seen = []
    inner = Answers(lambda op, inputs, output_grads: seen.extend(output_grads) or output_grads)
    middle = inner(x)
    wide = Answers(lambda op, inputs, output_grads: [output_grads[0].astype("float64")])(middle)
    grad(cost + Cast("float64")(wide), x)
    assert [gradient.type.dtype for gradient in seen] == ["float32"]


def test_the_gradient_of_an_integer_cost_is_a_float():
    n = whole("n")
    with change_flags(floatX="float32"):
        assert grad(n, n).type.dtype == "float32"
        assert grad(scalar("x"), n, disconnected_inputs="ignore").type.dtype == "float32"
    assert grad(negate(whole("m")), n, disconnected_inputs="ignore").type.dtype == "float64"


def test_integers_in_between():
    x = scalar("x")
    assert at([grad(Cast("float64")(Cast("int64")(x)) + x, x)], {x: 2.0}) == [1.0]


# ---- connections -----------------------------------------------------------------------------------------------------
def test_connection_pattern():
    x, y = scalar("x"), scalar("y")
    first, second = pair(x, y)
    assert at([grad(first * first, x)], {x: 3.0, y: 0.0}) == [6.0]
    with pytest.raises(DisconnectedInputError, match=r"y \(made at .*test_gradient.py"):
        grad(first, y)
    assert at(grad(first * second, [x, y]), {x: 3.0, y: 5.0}) == [5.0, 3.0]


@pytest.mark.parametrize("pattern, error", [
    (((True, False), (False, True)), TypeError), ([[True, False]], ValueError),
    ([(True, False), [False, True]], TypeError), ([[True], [True]], ValueError)])
def test_wrong_connection_patterns(pattern, error):
    class Wrong(Pair):
        def connection_pattern(self, node):
            return pattern

    x = scalar("x")
    with pytest.raises(error, match="connection_pattern"):
        grad(Wrong()(x, x)[0], x)


def test_disconnected_inputs():
    x, y = scalar("x"), scalar("y")
    with pytest.raises(DisconnectedInputError):
        grad(x * x, y)
    with pytest.warns(UserWarning, match="not part of the computational graph"):
        grad(x * x, y, disconnected_inputs="warn")
    options = dict(disconnected_inputs="ignore")
    assert at(grad(x * x, [y, x], **options), {x: 1.0, y: 1.0}) == [0.0, 2.0]
    assert grad(x * x, y, return_disconnected="None", **options) is None
    assert isinstance(grad(x * x, y, return_disconnected="Disconnected", **options).type, DisconnectedType)
    for wrong in (dict(disconnected_inputs="other"), dict(return_disconnected="other", **options)):
        with pytest.raises(ValueError):
            grad(x * x, y, **wrong)


def test_connection_pattern_and_grad_must_agree():
    x = scalar("x")
    with pytest.warns(UserWarning, match="connection_pattern"):
        assert isinstance(grad(Cut()(x), x, return_disconnected="Disconnected", disconnected_inputs="ignore").type,
                          DisconnectedType)

    class Claims(Cut):
        def connection_pattern(self, node):
            return [[True]]

    with pytest.raises(TypeError, match="does not allow this"):
        grad(Claims()(x), x)

    class Denies(Pair):
        def grad(self, inputs, output_grads):
            return [output_grads[0], output_grads[0]]

    with pytest.raises(TypeError, match="Expected DisconnectedType"):
        grad(Denies()(x, x)[0], x)


def test_only_what_lies_between_is_asked():
    def refuse(op, inputs, output_grads):
        raise AssertionError("asked")

    x, y = scalar("x"), scalar("y")
    aside = Answers(refuse)(y)
    assert at([grad(x * x + aside, x)], {x: 1.0, y: 1.0}) == [2.0]


# ---- undefined gradients ---------------------------------------------------------------------------------------------
def test_null_gradients():
    x, y = scalar("x"), scalar("y")
    cost = Undefined()(x) * y
    with pytest.raises(NullTypeGradError, match="mathematically undefined"):
        grad(cost, x)
    assert isinstance(grad(cost, x, null_gradients="return").type, NullType)
    assert at([grad(cost, y)], {x: 2.0, y: 0.0}) == [2.0]
    with pytest.raises(ValueError):
        grad(cost, x, null_gradients="other")
    with pytest.raises(ValueError, match="NaN cost.*because"):
        grad(NullType("because")(), x)


def test_null_gradients_flow_back():
    x = scalar("x")
    y = x * x
    cost = Undefined()(y) + y * y
    assert isinstance(grad(cost, x, null_gradients="return").type, NullType)
    first, second = pair(x, x)
    assert isinstance(grad(Undefined()(first) * second, x, null_gradients="return").type, NullType)


def test_an_op_without_grad_is_an_error_only_where_needed():
    class Opaque(Elementwise):
        def compute(self, a):
            return a

    x, y = scalar("x"), scalar("y")
    with pytest.raises(NullTypeGradError, match="not implemented"):
        grad(Opaque()(x) * y, x)
    assert grad(Opaque()(x) * y, y).type == scalar
    for made in (grad_undefined(add, 0, x, "comment"), grad_not_implemented(add, 0, x, "comment")):
        assert "input 0 (x) of the Add op" in made.type.why_null and made.type.why_null.endswith("comment")


# ---- what ops must not return ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("answer, error, message", [
    (lambda op, inputs, grads: None, TypeError, "NoneType"),
    (lambda op, inputs, grads: [None], TypeError, "returned None"),
    (lambda op, inputs, grads: [1.0], TypeError, "expected Variable"),
    (lambda op, inputs, grads: [], ValueError, "wrong number"),
    (lambda op, inputs, grads: grads * 2, ValueError, "wrong number"),
    (lambda op, inputs, grads: [whole()], TypeError, "integer-valued"),
    (lambda op, inputs, grads: [vector()], ValueError, "1 dimensions, but 0")])
def test_wrong_results(answer, error, message):
    x = scalar("x")
    with pytest.raises(error, match=message):
        grad(Answers(answer)(x), x)


def test_what_reaches_an_input_through_integers_only_is_zero():
    class Whole(Answers):
        def output_type(self, inputs):
            return whole

    x = scalar("x")
    for value, fails in ((0.0, False), (1.0, True)):
        cost = Cast("float64")(Whole(lambda op, inputs, grads: [ToyConstant(scalar, value)])(x))
        if fails:
            with pytest.raises(ValueError, match="integer-valued outputs"):
                grad(cost, x)
        else:
            assert grad(cost, x).data == 0.0


def test_tuples_are_fine():
    x = scalar("x")
    assert at([grad(Answers(lambda op, inputs, grads: tuple(grads))(x), x)], {x: 0.0}) == [1.0]


def test_inputs_that_are_overwritten_are_copied():
    x = scalar("x")
    gradient = grad(Overwrite()(x), x)
    assert gradient.owner.inputs[1].owner.op == Copy() and gradient.owner.inputs[1].owner.inputs == [x]


def test_shapes_are_checked_on_test_values():
    x = vector("x")
    x.tag.test_value = numpy.zeros(3)
    wrong = vector("wrong")
    wrong.tag.test_value = numpy.zeros(4)
    op = Answers(lambda op, inputs, grads: [wrong])
    type(wrong).shape = property(lambda self: None)
    try:
        with change_flags(compute_test_value="raise"):
            y = op(x)
            with pytest.raises(ValueError, match="shape"):
                grad(None, x, known_grads={y: x})
    finally:
        del type(wrong).shape


# ---- arguments -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cost, wrt", [
    (lambda x: vector(), lambda x: x), (lambda x: 1.0, lambda x: x), (lambda x: x, lambda x: {x}),
    (lambda x: x, lambda x: "x"), (lambda x: x, lambda x: [x, 1])])
def test_wrong_arguments(cost, wrt):
    x = scalar("x")
    with pytest.raises(TypeError):
        grad(cost(x), wrt(x))


# ---- on top of grad --------------------------------------------------------------------------------------------------
def test_lop():
    x, y, u, v = [scalar(name) for name in "xyuv"]
    values = {x: 2.0, y: 3.0, u: 5.0, v: 7.0}
    assert at(Lop([x * y, x * x], [x, y], [u, v]), values) == [43.0, 10.0]
    assert at([Lop(x * y, x, u)], values) == [15.0]
    product = x * y                                 # an output from which another is computed, or that is there twice
    assert at([Lop([product, product * y], x, [u, v]), Lop([product, product], x, [u, v])], values) == [78.0, 36.0]
    assert at([Lop([x, product], x, [u, v])], values) == [26.0]
    with pytest.raises(AssertionError):
        Lop([x, y], x, [u])


def test_rop():
    x, y, u, v = [scalar(name) for name in "xyuv"]
    values = {x: 2.0, y: 3.0, u: 5.0, v: 7.0}
    assert at(Rop([x * y, x * x + y, x], [x, y], [u, v]), values) == [29.0, 27.0, 5.0]
    assert at([Rop(x * y, x, u)], values) == [15.0] and at([Rop(negate(x), x, 2.0)], values) == [-2.0]
    middle = x * x
    assert at([Rop(middle * x, middle, u)], values) == [10.0]
    with pytest.raises(ValueError, match="dimensionality"):
        Rop(x * y, x, vector())
    with pytest.raises(AssertionError):
        Rop(x * y, [x, y], [u])


def test_rop_of_what_is_disconnected():
    x, y, u = scalar("x"), scalar("y"), scalar("u")
    for f in (y, disconnected_grad(x)):
        with pytest.raises(DisconnectedInputError):
            Rop(f, x, u)
        with pytest.warns(UserWarning):
            assert Rop(f, x, u, disconnected_outputs="warn", return_disconnected="None") is None
        assert at([Rop(f, x, u, disconnected_outputs="ignore")], {x: 1.0, y: 1.0}) == [0.0]
        assert isinstance(Rop(f, x, u, disconnected_outputs="ignore", return_disconnected="Disconnected").type,
                          DisconnectedType)
    for wrong in (dict(disconnected_outputs="other"), dict(disconnected_outputs="ignore", return_disconnected="other")):
        with pytest.raises(ValueError):
            Rop(y, x, u, **wrong)


def test_subgraph_grad():
    x, w1, w2 = scalar("x"), scalar("w1"), scalar("w2")
    hidden = w1 * x
    cost = w2 * hidden * hidden
    values = {x: 2.0, w1: 3.0, w2: 5.0}
    last, ends = subgraph_grad([w2], [hidden], cost=cost)
    first, inputs = subgraph_grad([w1], [x], start=dict(zip([hidden], ends)))
    assert at(last + first + inputs, values) == at(grad(cost, [w2, w1, x]), values) == [36.0, 120.0, 180.0]
    both, _, from_start, from_cost = subgraph_grad([w1], [x], start={hidden: ends[0]}, cost=w1 * w1, details=True)
    assert at([both[0], from_start[0], from_cost[0]], values) == [126.0, 120.0, 6.0]
    for wrong in (dict(), dict(cost=cost, end=(hidden,)), dict(cost=cost, wrt=w2)):
        with pytest.raises(AssertionError):
            subgraph_grad(**{"wrt": [w2], "end": [hidden], **wrong})


# ---- ops that are about gradients only -------------------------------------------------------------------------------
@pytest.mark.parametrize("wrap, expected", [
    (lambda x: ViewOp()(x), 12.0), (zero_grad, 0.0), (lambda x: grad_clip(x, -1, 2), 2.0 * 4.0 / 4.0),
    (lambda x: grad_scale(x, 10.0), 120.0)])
def test_view_ops(wrap, expected):
    x = scalar("x")
    y = wrap(x)
    cost = y * y * y
    results = at([cost, grad(cost, x)], {x: 2.0})
    assert results == [8.0, pytest.approx(expected)] and y.owner.op.view_map == {0: [0]}
    assert y.owner.op.infer_shape(y.owner, [()]) == [()]


def test_disconnected_and_undefined_grad():
    x, y = scalar("x"), scalar("y")
    with pytest.raises(DisconnectedInputError):
        grad(disconnected_grad(x) * y, x)
    assert at([grad(disconnected_grad(x) * x, x)], {x: 3.0}) == [3.0]
    with pytest.raises(NullTypeGradError):
        grad(undefined_grad(x), x)
    with pytest.raises(ValueError, match="below the lower bound"):
        grad_clip(x, 1, 0)


def test_view_ops_forward():
    x, u = scalar("x"), scalar("u")
    for wrap, expected in ((ViewOp(), 5.0), (zero_grad, 0.0)):
        assert at([Rop(wrap(x), x, u)], {x: 1.0, u: 5.0}) == [expected]
    y = scalar("y")
    with pytest.raises(NullTypeGradError):
        Rop(undefined_grad(x), x, u)
    assert at([Rop(x * undefined_grad(y), x, u)], {x: 1.0, y: 3.0, u: 5.0}) == [15.0]


def test_consider_constant_is_deprecated():
    x = scalar("x")
    with pytest.warns(UserWarning, match="deprecated"):
        y = consider_constant(x)
    assert at([grad(y * x, x)], {x: 3.0}) == [3.0]


# ---- size ------------------------------------------------------------------------------------------------------------
def test_long_chains():
    x = scalar("x")
    assert len(ancestors([grad(chain(x), x)])) > LENGTH
    u = scalar("u")
    assert len(ancestors([Rop(chain(x), x, u)])) == LENGTH + 1


def test_many_terms_make_a_shallow_sum():
    x = scalar("x")
    gradient = grad(add(*[negate(x) for _ in range(1000)]), x)
    assert at([gradient], {x: 1.0}) == [-1000.0]
    depth = {}
    for node in io_toposort([x], [gradient]):
        depth[node] = 1 + max([depth.get(variable.owner, 0) for variable in node.inputs])
    assert depth[gradient.owner] < 20


def test_nothing_warns_without_reason():
    x = scalar("x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(x * x, x)
    assert isinstance(disconnected_type().type, DisconnectedType) and null_type == NullType()
