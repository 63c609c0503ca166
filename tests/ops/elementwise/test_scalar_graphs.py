"""Single numbers as a separate level: ``Scalar`` types, graphs of scalar ops on them, and all operations on
such graphs. An op of the table must have the same results for numbers as its Elemwise for tensors of rank 0.
"""
import copy
import pickle
import subprocess
import sys

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, gof, grad, scalar
from phintys.gradient import DisconnectedType, NullType
from phintys.ops.types.dtypes import ALL_DTYPES

MODES = ["FAST_RUN", "FAST_COMPILE", "DebugMode"]
x, y, z = scalar.floats("xyz")
i, j = scalar.ints("ij")
c, = [scalar.complexs("c")]


class Digits(scalar.BinaryScalarOp):
    """10 a + b, in Python."""

    def impl(self, a, b):
        return 10 * a + b

    def grad(self, inputs, output_gradients):
        return [output_gradients[0] * 10, output_gradients[0]]


class Parts(scalar.UnaryScalarOp):
    """Two outputs: whole part and fraction."""

    nout = 2

    def impl(self, a):
        return divmod(a, 1)

    def grad(self, inputs, output_gradients):
        fraction = output_gradients[1]
        return [inputs[0].zeros_like() if isinstance(fraction.type, DisconnectedType) else fraction]


digits = Digits(scalar.upcast_out, name="digits")
parts = Parts(scalar.transfer_type(0, 0), name="parts")


# ---- types -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_types(dtype):
    type_ = getattr(scalar, dtype)
    assert str(type_) == dtype and repr(type_) == f"Scalar({dtype})" and isinstance(type_, scalar.Scalar)
    assert type_ == scalar.Scalar(dtype) and hash(type_) == hash(scalar.Scalar(dtype))
    assert type_ != T.TensorType(dtype, ())
    assert scalar.get_scalar_type(dtype) is type_ is pickle.loads(pickle.dumps(type_)) is copy.deepcopy(type_)
    assert T.TensorType(dtype, (False,)).to_scalar_type() is type_
    variable = type_("v")
    assert isinstance(variable, scalar.ScalarVariable) and variable.dtype == dtype and variable.ndim == type_.ndim == 0
    assert variable.clone().type is type_ and str(type_()) == f"<{dtype}>"
    assert type_.dtype_specs()[0] is numpy.dtype(dtype).type
    assert type_.get_size(type_.get_shape_info(type_.filter(1))) == numpy.dtype(dtype).itemsize


def test_names_of_types():
    assert scalar.Scalar("floatX").dtype == phintys.config.floatX and scalar.int8.upcast(scalar.float32) == "float32"
    with pytest.raises(TypeError, match="Unsupported dtype for Scalar: text"):
        scalar.Scalar("text")
    assert scalar.get_scalar_type.__doc__ and scalar.basic.Scalar is scalar.Scalar


FILTERED = [
    ("int8", 3, {}, 3), ("int8", 3.0, {}, 3), ("int8", numpy.array(3), {"allow_downcast": True}, 3),
    ("int8", 300, {"allow_downcast": True}, 44), ("float64", numpy.float32(1.5), {}, 1.5),
    ("float64", numpy.array(2.0), {}, 2.0), ("float32", numpy.float32(0.1), {"strict": True}, numpy.float32(0.1)),
    ("float64", 0.1, {}, 0.1), ("bool", True, {}, True), ("complex64", 2, {}, 2),
    ("uint64", 2 ** 64 - 1, {}, 2 ** 64 - 1), ("float64", 3, {}, 3), ("float16", 0.5, {}, 0.5),
]
REFUSED = [
    ("int8", 300, {}, "accurately"), ("int64", 1.5, {}, "accurately"), ("float32", 0.1, {}, "accurately"),
    ("float32", numpy.float64(0.1), {}, "accurately"), ("float64", 1j, {}, "complex"), ("float64", "text", {}, "text"),
    ("float64", [1.0, 2.0], {}, "dimensions"), ("float64", None, {}, "expected a number"),
    ("int8", 3, {"strict": True}, "expected"), ("float64", numpy.float32(1), {"strict": True}, "float64"),
    ("int64", 2 ** 70, {}, "int64"), ("float64", x, {}, "Variable"),
    ("uint8", -1, {}, "accurately"), ("float16", 1e9, {}, "accurately"), ("bool", 2, {}, "accurately"),
]


@pytest.mark.parametrize("dtype, value, options, expected", FILTERED)
def test_values_that_fit(dtype, value, options, expected):
    made = scalar.Scalar(dtype).filter(value, **options)
    assert type(made) is numpy.dtype(dtype).type and made == expected
    assert scalar.Scalar(dtype).is_valid_value(made)
    assert scalar.Scalar(dtype).value_validity_msg(made) == "value is valid"


@pytest.mark.parametrize("dtype, value, options, expected", REFUSED)
def test_values_that_do_not_fit(dtype, value, options, expected):
    with pytest.raises(TypeError, match=expected):
        scalar.Scalar(dtype).filter(value, **options)
    assert not scalar.Scalar(dtype).is_valid_value(value)


def test_equality_of_values():
    nan = numpy.float64("nan")
    assert scalar.float64.values_eq(nan, nan) and not scalar.float64.values_eq(numpy.float64(1), numpy.float64(2))
    assert scalar.float64.values_eq_approx(numpy.float64(1), numpy.float64(1 + 1e-9))
    assert not scalar.float64.may_share_memory(nan, nan)


# ---- variables and constants -----------------------------------------------------------------------------------------
def test_constants():
    two, name, half = scalar.constant(2), scalar.constant(2, name="a"), scalar.constant(0.5)
    assert (two.dtype, str(two), name.name, half.dtype) == ("int8", "Constant{2}", "a", "float32")
    assert type(half.data) is numpy.float32 and scalar.constant(2, dtype="float32").dtype == "float32"
    assert isinstance(two, scalar.ScalarConstant) and two.equals(name) and not two.equals(half)
    zeros = [scalar.constant(numpy.float64(value)) for value in (0.0, -0.0)]
    assert not zeros[0].equals(zeros[1]) and pickle.loads(pickle.dumps(two)).equals(two)
    assert scalar.float64.filter_variable(3).data == 3
    for strange in ([1, 2], "text", None):
        with pytest.raises(TypeError, match="single number"):
            scalar.constant(strange)


def test_as_scalar():
    t = T.dscalar("t")
    assert scalar.as_scalar(x) is x and scalar.as_scalar(2).data == 2
    assert scalar.as_scalar((x + y).owner).owner.op is scalar.add
    assert scalar.as_scalar(t).type == scalar.float64 and scalar.as_scalar(t).owner.op == T.scalar_from_tensor
    assert scalar.as_scalar(T.constant(2.5)).data == 2.5
    for strange in (T.dvector(), phintys.generic()):
        with pytest.raises(TypeError, match="single number"):
            scalar.as_scalar(strange)
    with pytest.raises(ValueError):
        scalar.as_scalar(parts(x)[0].owner)


def test_many_variables():
    assert [v.name for v in scalar.floats("ab")] == ["a", "b"] and scalar.ints("n").type == scalar.int64
    assert scalar.complexs64("c").type == scalar.complex64
    assert [v.type for v in scalar.complexs("cd")] == [scalar.complex128] * 2
    first, second = scalar.as_common_dtype(i, x)
    assert first.type == second.type == scalar.float64


# ---- operators -------------------------------------------------------------------------------------------------------
OPERATORS = {          # expression → its inputs, values for them, what Python or NumPy says, the dtype
    "x + y": (x + y, [x, y], [1.5, 2], 3.5, "float64"),
    "2 ** x": (2 ** x, [x], [3], 8, "float64"),
    "x ** 2": (x ** 2, [x], [3], 9, "float64"),
    "x - 1": (x - 1, [x], [3], 2, "float64"),
    "1 - i": (1 - i, [i], [3], -2, "int64"),
    "x / i": (x / i, [x, i], [3, 2], 1.5, "float64"),
    "7 / x": (7 / x, [x], [2], 3.5, "float64"),
    "i // j": (i // j, [i, j], [-7, 2], -4, "int64"),
    "7 // x": (7 // x, [x], [2], 3, "float64"),
    "i % 3": (i % 3, [i], [-7], 2, "int64"),
    "7 % i": (7 % i, [i], [-4], -1, "int64"),
    "-abs(i)": (-abs(i), [i], [-7], -7, "int64"),
    "i & j | 8 ^ ~i": (i & j | 8 ^ ~i, [i, j], [12, 10], 12 & 10 | 8 ^ ~12, "int64"),
    "3 & i": (3 & i, [i], [6], 2, "int64"),
    "x < y": (x < y, [x, y], [1, 2], True, "bool"),
    "x >= y": (x >= y, [x, y], [1, 2], False, "bool"),
    "x <= 1": (x <= 1, [x], [1], True, "bool"),
    "2 > x": (2 > x, [x], [1], True, "bool"),
    "eq": (scalar.eq(i, 3), [i], [3], True, "bool"),
    "astype": (x.astype("int8"), [x], [3.7], 3, "int8"),
    "numpy on the left": (numpy.float32(2) * x, [x], [1.5], 3, "float64"),
    "numpy on the right": (x * numpy.int8(2), [x], [1.5], 3, "float64"),
    "tensor on the right": (x + T.constant(2.0), [x], [1.5], 3.5, "float64"),
    "complex": (c * c, [c], [1j], -1, "complex128"),
    "modulus": (abs(c), [c], [3 + 4j], 5, "float64"),
    "small ints": (scalar.add(i.astype("int8"), 100), [i], [100], -56, "int8"),
    "switch": (scalar.switch(x > 0, x, 0), [x], [-2], 0, "float64"),
    "function": (scalar.exp(x) * scalar.log1p(y), [x, y], [0, 1], numpy.log(2), "float64"),
    "zeros_like": (x.zeros_like() + i.ones_like(dtype="float32"), [x, i], [5, 6], 1, "float64"),
    "constants": (scalar.constant(2) + scalar.constant(3), [], [], 5, "int8"),
    "numbers only": (scalar.add(1, 2.5), [], [], 3.5, "float32"),
    "an argument": (x, [x], [4], 4, "float64"),
    "user": (digits(x, i), [x, i], [2, 3], 23, "float64"),
    "user on constants": (digits(2, 3), [], [], 23, "int8"),
    "composite": (scalar.Composite([x, y], [x * y + 2])(y, 3.0), [y], [2], 8, "float64"),
    "cast": (scalar.cast(2, "float64"), [], [], 2, "float64"),
    "common": (scalar.mod_check(i, 4), [i], [6], 2, "int64"),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("mode", MODES)
def test_operators(name, mode):
    expression, inputs, values, expected, dtype = OPERATORS[name]
    assert expression.type == scalar.Scalar(dtype) and isinstance(expression, scalar.ScalarVariable)
    result = function(inputs, expression, mode=mode)(*values)
    assert type(result) is numpy.dtype(dtype).type and numpy.isclose(result, expected, rtol=1e-14)


def test_nodes():
    node = (x + 1).owner
    assert node.op is scalar.add and isinstance(scalar.add, gof.Op) and str(node) == "add(x, Constant{1})"
    assert scalar.add.make_node(x, T.dscalar("t")).inputs[1].owner.op == T.scalar_from_tensor
    assert scalar.add.output_types([scalar.int8, scalar.float32]) == (scalar.float32,)
    assert isinstance((i // j).owner.op, scalar.IntDiv) and isinstance((i / x).owner.op, scalar.TrueDiv)
    storage = [[None]]
    scalar.add.perform(node, [numpy.float64(1), numpy.int8(2)], storage)
    assert storage == [[3.0]] and type(storage[0][0]) is numpy.float64
    assert node.out.where[0] == __file__


@pytest.mark.parametrize("call, error, message", [
    (lambda: scalar.add(x, T.dvector()), TypeError, "single number"),
    (lambda: x + numpy.arange(3), TypeError, "single number"),
    (lambda: x + "text", TypeError, "single number"), (lambda: scalar.sub(x), TypeError, "expected 2"),
    (lambda: scalar.add(), TypeError, "at least 1"), (lambda: x & 1, TypeError, "and_"),
    (lambda: c % i, scalar.ComplexError, "%"),
    (lambda: c.astype("float32"), TypeError, "ambiguous"), (lambda: numpy.exp(x), TypeError, "ScalarVariable"),
    (lambda: T.TensorType("float64", ()).filter_variable(x), TypeError, "Cannot convert"),
])
def test_refused_operands(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_integer_division_follows_the_configuration():
    with phintys.change_flags(int_division="raise"), pytest.raises(scalar.IntegerDivisionError):
        i / j
    with phintys.change_flags(int_division="floatX"):
        assert (i / j).owner.op is scalar.true_div is scalar.int_or_true_div(True, True)
    with phintys.change_flags(int_division="int"), pytest.warns(DeprecationWarning, match="//"):
        assert (i / j).owner.op is scalar.int_div


# ---- every op of the table -------------------------------------------------------------------------------------------
def operands_of(row, dtype):
    """Numbers between 0.2 and 0.8, where all functions are defined, or small integers."""
    count = row.nin if row.nin > 0 else 3
    values = [0.3, 0.7, 0.8, 0.4] if dtype != "int8" else [1, 2, 3, 1]
    return [numpy.dtype(dtype).type(value) for value in values[:count]]


def on_both_levels(row, dtype):
    """The op on numbers, and on tensors of rank 0: (inputs, output) each; None if it refuses the dtype."""
    count = row.nin if row.nin > 0 else 3
    numbers, tensors = [[type_() for _ in range(count)] for type_ in (scalar.Scalar(dtype), T.TensorType(dtype, ()))]
    try:
        return (numbers, row(*numbers)), (tensors, row(*tensors))
    except TypeError:
        for inputs in (numbers, tensors):
            with pytest.raises(TypeError):
                row(*inputs)
        return None


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("name", scalar.SCALAR_OPS)
def test_an_op_does_the_same_on_both_levels(name, dtype):
    row = scalar.SCALAR_OPS[name]
    if (made := on_both_levels(row, dtype)) is None:
        return
    (numbers, output), (tensors, expected) = made
    assert output.owner.op is row and output.dtype == expected.dtype and expected.owner.op == row.elementwise
    values = operands_of(row, dtype)
    options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    result = function(numbers, output, **options)(*values)
    wanted = function(tensors, expected, **options)(*values)
    assert type(result) is numpy.dtype(output.dtype).type and result.tobytes() == wanted.tobytes()
    assert row.impl(*values).tobytes() == result.tobytes()


@pytest.mark.parametrize("name", [name for name, row in scalar.SCALAR_OPS.items() if row.gradient is not None])
def test_gradients_are_those_of_tensors(name):
    row = scalar.SCALAR_OPS[name]
    if (made := on_both_levels(row, "float64")) is None or made[0][1].dtype == "complex128":
        return
    found = []
    for inputs, output in made:
        terms = grad(output, inputs, disconnected_inputs="ignore", null_gradients="return")
        found.append([None if isinstance(term.type, NullType) else term for term in terms])
    assert [term is None for term in found[0]] == [term is None for term in found[1]]
    values = operands_of(row, "float64")
    options = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    results, wanted = [function(inputs, [term for term in terms if term is not None], **options)(*values)
                       for (inputs, _), terms in zip(made, found)]
    for result, number in zip(results, wanted):
        assert type(result) is number.dtype.type and result.tobytes() == number.tobytes()


# ---- gradients of graphs ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode):
    cost = x ** 2 * y + digits(x, scalar.sin(y))
    by_x, by_y = function([x, y], grad(cost, [x, y]), mode=mode)(3.0, 2.0)
    assert by_x == 2 * 3 * 2 + 10 and by_y == pytest.approx(9 + numpy.cos(2)) and type(by_x) is numpy.float64
    second = function([x], grad(grad(scalar.exp(x * x), x), x), mode=mode)(0.5)
    assert second == pytest.approx((2 + 4 * 0.25) * numpy.exp(0.25))
    whole = function([i], grad(i * 2.5, i), mode=mode)(3)
    assert whole == 2.5 and whole.dtype == phintys.config.floatX
    assert function([x, y], grad(x > y, y), mode=mode, on_unused_input="ignore")(1.0, 2.0) == 0
    assert function([x], grad(parts(x)[1] * 3, x), mode=mode, on_unused_input="ignore")(1.5) == 3


def test_gradients_of_complex_numbers():
    t = T.zscalar()
    numbers = function([c], grad(abs(c * c + 1), c))(1 + 2j)
    assert numbers == pytest.approx(function([t], grad(abs(t * t + 1), t))(1 + 2j).item())


def test_gradients_through_both_levels():
    t = T.dscalar("t")
    assert function([t], grad(T.exp(scalar.as_scalar(t) ** 2), t))(0.5) == pytest.approx(numpy.exp(0.25))
    assert function([x], grad(T.exp(x) * 2, x))(1.0) == pytest.approx(2 * numpy.e)
    assert function([x, y], T.Rop(x * y + digits(x, y), x, y))(2.0, 3.0) == 9 + 30
    with pytest.raises(phintys.gradient.DisconnectedInputError):
        grad(x * 1, y)
    with pytest.raises(NotImplementedError, match="after gradients"):
        grad(scalar.Composite([x], [x * x])(x), x)


# ---- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", MODES)
def test_functions_of_numbers(mode):
    f = function([x, y], [x + y, x * y, x, x + y], mode=mode)
    for first in (1.5, numpy.array(1.5), numpy.float32(1.5)):
        results = f(first, 2)
        assert results == [3.5, 3.0, 1.5, 3.5] and {type(result) for result in results} == {numpy.float64}
    assert f(1, y=2) == [3, 2, 1, 3]
    assert function([phintys.In(x, value=3.0)], x * 2, mode=mode)() == 6
    assert function([y], x + 1, givens={x: y * 2}, mode=mode)(3) == 7
    assert function([x], phintys.Out(x * 2, borrow=True), mode=mode)(2) == 4
    assert (x + y).eval({x: 1, y: 2}) == 3
    assert function([x, y], {"sum": x + y}, mode=mode)(1, 2) == {"sum": 3}


def test_arguments_that_are_refused():
    f = function([x, i], x + i)
    for arguments, message in [(([1.0, 2.0], 1), "Expected float64, got a list"), ((1.0, 1.5), '"i"'),
                               ((1.0, "text"), "text"), ((numpy.zeros(1), 1), "dimensions")]:
        with pytest.raises(TypeError, match=message):
            f(*arguments)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_states_that_are_numbers(mode):
    f = function([x, phintys.In(y, value=1.0, update=y + x, name="y")], y * 2, mode=mode)
    assert [f(2.0), f(3.0)] == [2, 6] and f["y"] == 6 and type(f["y"]) is numpy.float64
    f["y"] = 10
    assert f(0.0) == 20 and f.container["y"].data == 10
    twin = pickle.loads(pickle.dumps(f))
    assert twin(1.0) == 20 and twin["y"] == 11 and f["y"] == 10
    with pytest.raises(TypeError):
        f["y"] = [1.0, 2.0]
    assert f["y"] == 10


@pytest.mark.parametrize("mode", MODES)
def test_shared_numbers(mode):
    state, step = scalar.shared(1.5, "state"), scalar.shared(numpy.int8(2), "step")
    assert state.type == scalar.float64 and step.type == scalar.int8 and str(state) == "state"
    f = function([x], [state * step, x], updates={state: state + x, step: step + 1}, mode=mode)
    assert [f(1.0), f(2.0)] == [[3, 1], [7.5, 2]]
    assert state.get_value() == 4.5 and type(step.get_value()) is numpy.int8 and step.get_value() == 4
    state.set_value(7)
    assert type(state.get_value()) is numpy.float64 and state.get_value(borrow=True) == 7 and f(0.0) == [28, 0]
    twin = pickle.loads(pickle.dumps(state))
    twin.set_value(1)
    assert state.get_value() == 7 and twin.get_value() == 1 and state.clone().get_value() == 7
    for strange in ([1.0], None, "text"):
        with pytest.raises(TypeError):
            state.set_value(strange)
        with pytest.raises(TypeError, match="number"):
            scalar.shared(strange)
    assert state.get_value() == 7
    state.zero()
    assert state.get_value() == 0


class Recorded(gof.Op):
    """Returns its inputs and records them."""

    itypes, otypes = [scalar.float64], [scalar.float64]
    seen = []

    def perform(self, node, inputs, output_storage):
        self.seen.append(type(inputs[0]))
        output_storage[0][0] = inputs[0] + 1


@pytest.mark.parametrize("mode", MODES)
def test_ops_of_users_get_numpy_numbers(mode):
    Recorded.seen.clear()
    assert function([x], Recorded()(x * 2) * 2, mode=mode)(3.0) == 14
    assert set(Recorded.seen) == {numpy.float64}


def test_long_chains():
    total = x
    for _ in range(3000):
        total = total + 1
    assert function([x], total, mode="FAST_COMPILE")(0.0) == 3000


def test_numbers_and_tensors_together():
    v = T.dvector("v")
    for mode in MODES:
        outputs = [v + x, T.exp(x), v[i], T.Elemwise(scalar.mul)(v, x), x + v.sum(), T.stack([x, i]), x - v, x < v]
        results = function([v, x, i], outputs, mode=mode)([1.0, 2.0], 3.0, 1)
        for result, expected in zip(results, [[4, 5], numpy.exp(3), 2, [3, 6], 6, [3, 1], [2, 1], [False, False]]):
            numpy.testing.assert_allclose(result, expected)
        assert type(results[4]) is numpy.float64 and type(results[1]) is numpy.ndarray


def test_graphs_are_optimized():
    f = function([x], scalar.constant(2.0) * 3 + x)
    assert str(f.maker.fgraph.toposort()) == "[add(Constant{6.0}, x)]"
    f = function([x, y], (x + y) * (x + y))
    assert [node.op for node in f.maker.fgraph.toposort()] == [scalar.add, scalar.mul]
    f = function([x], T.tensor_from_scalar(T.scalar_from_tensor(T.tensor_from_scalar(x))))
    assert [str(node.op) for node in f.maker.fgraph.toposort()][:1] == ["TensorFromScalar"]
    f = function([x], [x + numpy.float64(0.0), x + numpy.float64(-0.0), x + 1])
    assert list(numpy.signbit(f(-0.0)[:2])) == [False, True]


@pytest.mark.parametrize("linker", ["DualLinker", "PerformLinker", "CLinker"])
def test_graphs_that_are_linked_by_hand(linker):
    e = scalar.mul(scalar.add(x, y), scalar.div_proxy(x, y))
    graph = gof.FunctionGraph([x, y], [e])
    assert str(graph) == "[mul(add(x, y), true_div(x, y))]"
    assert getattr(gof, linker)().accept(graph).make_function()(1.0, 2.0) == 1.5


# ---- composites ------------------------------------------------------------------------------------------------------
def test_composites_are_graphs_of_numbers():
    op = scalar.Composite([x, y], [x * y + 2, x - y])
    assert str(op(x, y)[0].owner.op) == str(op) and [v.type for v in op(x, y)] == [scalar.float64] * 2
    assert {type(node.op) for node in op.fgraph.toposort()} == {scalar.Mul, scalar.Add, scalar.Sub}
    assert all([v.type == scalar.float64 for v in op.inputs + op.outputs]) and op.inputs_type == (scalar.float64,) * 2
    v, w = T.dvectors("vw")
    for mode in MODES:
        assert function([x, y], op(x, y), mode=mode)(2.0, 3.0) == [8, -1]
        results = function([v, w], T.Elemwise(op)(v, w), mode=mode)([1, 2], [3, 4])
        numpy.testing.assert_array_equal(results, [[5, 10], [-2, -2]])
    assert op(i, x)[0].type == scalar.float64 and op(i, j)[1].type == scalar.int64


@pytest.mark.parametrize("mode", MODES)
def test_composites_of_ops_of_users(mode):
    inner = scalar.Composite([x, i], [digits(scalar.exp(x), i) - 1, i * 3])
    op = scalar.Composite([x, i], [inner(x * 2, i + 1)[0], digits(i, i)])
    assert str(op) == "Composite{(digits(exp((i0 * 2)), t0) - 1), digits(i1, i1), t0=(i1 + 1)}"
    assert op == pickle.loads(pickle.dumps(op)) and op.impl(0.0, 4) == (14, 44)
    results = function([x, i], op(x, i), mode=mode)(0.0, 4)
    assert results == [14, 44] and [type(result) for result in results] == [numpy.float64, numpy.int64]
    v, w = T.dvector(), T.lvector()
    results = function([v, w], [T.exp(result) for result in T.Elemwise(op)(v, w)], mode=mode)([0.0, 0.0], [1, 2])
    numpy.testing.assert_allclose(results, numpy.exp([[11, 12], [11, 22]]))


# ---- text, copies ----------------------------------------------------------------------------------------------------
def test_text():
    assert phintys.pp(x * 2 + scalar.exp(-y)) == "((x * Constant{2}) + exp((-y)))"
    text = phintys.printing.debugprint(x * 2 + y, file="str")
    assert text.split() == "add [id A] '' |mul [id B] '' | |x [id C] | |Constant{2} [id D] |y [id E]".split()
    assert "add" in function([x, y], x + y).explain("instructions")


def test_copies():
    total = x * y + 1
    twin = pickle.loads(pickle.dumps(total))
    inputs = twin.owner.inputs[0].owner.inputs
    assert twin.type is total.type and function(inputs, twin)(2, 3) == 7
    assert pickle.loads(pickle.dumps(function([x, y], total)))(2, 3) == 7
    assert phintys.clone(total, {x: y}).eval({y: 3}) == 10
    inputs, outputs = gof.graph.clone([x, y], [total])
    assert function(inputs, outputs[0])(2, 3) == 7 and outputs[0] is not total
    assert gof.graph.is_same_graph(x * y, x * y) and not gof.graph.is_same_graph(x * y, x + y)


def test_numbers_have_operators_from_the_start():
    program = "import numpy, phintys.tensor; from phintys.ops.elementwise.scalar import exp; exp(numpy.float64(0)) * 2"
    subprocess.run([sys.executable, "-c", program], check=True)
