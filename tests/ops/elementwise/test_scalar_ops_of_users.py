"""Scalar ops that users write, as classes with ``impl``: one table of them, and what each must be able to do."""
import math
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, grad, scalar
from phintys.gof import MethodNotDefined
from phintys.gradient import DisconnectedType, Rop, disconnected_type, jacobian, verify_grad
from phintys.graph.errors import NullTypeGradError
from phintys.tensor.elemwise import CAReduce, Elemwise


class Cube(scalar.UnaryScalarOp):
    """x ** 3 by the usual recipe; the C code is for Theano."""

    def impl(self, x):
        return x ** 3

    def grad(self, inputs, output_gradients):
        (x,), (gz,) = inputs, output_gradients
        if x.type in scalar.complex_types:
            raise NotImplementedError()
        if self(x).type in scalar.discrete_types:
            return [x.zeros_like(dtype=phintys.config.floatX)]
        return [gz * 3 * x * x]

    def c_code(self, node, name, inputs, outputs, sub):
        return f"{outputs[0]} = {inputs[0]} * {inputs[0]} * {inputs[0]};"


class Softer(scalar.UnaryScalarOp):
    """log(1 + exp(x)), whose gradient needs the output."""

    def impl(self, x):
        return math.log1p(math.exp(x))

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] * (1 - scalar.exp(-outputs[0]))]


class Weighted(scalar.BinaryScalarOp):
    """weight * x + y, with a NumPy function given by name, and with parameters."""

    __props__ = ("weight",)

    def __init__(self, weight):
        self.weight = weight

    def output_types(self, types):
        return scalar.upgrade_to_float(*types)

    def impl(self, x, y):
        return self.weight * x + y

    def grad(self, inputs, output_gradients):
        return [output_gradients[0] * self.weight, output_gradients[0]]


class Largest(scalar.ScalarOp):
    """The largest of any number; its gradient is made of comparisons and switches."""

    def impl(self, *values):
        return max(values)

    def grad(self, inputs, output_gradients):
        largest = self(*inputs)
        return [scalar.switch(scalar.eq(x, largest), output_gradients[0], 0.0) for x in inputs]


class SlowTanh(scalar.UnaryScalarOp):
    """Another implementation of an op, with that op's gradient."""

    def impl(self, x):
        return math.tanh(x)

    def grad(self, inputs, output_gradients):
        return scalar.tanh.grad(inputs, output_gradients)


class Hypot(scalar.BinaryScalarOp):
    """Uses a NumPy function instead of impl."""

    nfunc_spec = ("hypot", 2, 1)

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0] * x / outputs[0] for x in inputs]


class Polar(scalar.BinaryScalarOp):
    """Two outputs: radius and angle."""

    nout = 2

    def output_types_preference(self, *types):
        return [scalar.float64, scalar.float64]

    def impl(self, x, y):
        return math.hypot(x, y), math.atan2(y, x)

    def grad(self, inputs, output_gradients):
        (x, y), (by_radius, by_angle) = inputs, output_gradients
        terms = [(x, y, by_radius, scalar.sqrt(x * x + y * y)), (-y, x, by_angle, x * x + y * y)]
        terms = [term for term in terms if not isinstance(term[2].type, DisconnectedType)]
        return [sum([term[which] * term[2] / term[3] for term in terms]) for which in range(2)]


class Halves(scalar.UnaryScalarOp):
    """The result is an integer that is piecewise constant, so no gradient is requested."""

    def impl(self, x):
        return 2 * x // 1


cube, softer, largest = Cube(scalar.upgrade_to_float, name="cube"), Softer(scalar.upgrade_to_float), \
    Largest(scalar.upcast_out, name="largest")
hypot, polar, halves = Hypot(scalar.upgrade_to_float), Polar(name="polar"), Halves(scalar.int_out)

# op, what NumPy computes, number of inputs, has a gradient
CASES = {
    "cube": (cube, lambda x: x ** 3, 1, True),
    "softer": (softer, lambda x: numpy.log1p(numpy.exp(x)), 1, True),
    "weighted": (Weighted(2.5), lambda x, y: 2.5 * x + y, 2, True),
    "largest": (largest, lambda x, y, z: numpy.maximum(numpy.maximum(x, y), z), 3, True),
    "tanh": (SlowTanh(scalar.upgrade_to_float), numpy.tanh, 1, True),
    "hypot": (hypot, numpy.hypot, 2, True),
    "polar": (polar, lambda x, y: (numpy.hypot(x, y), numpy.arctan2(y, x)), 2, True),
    "halves": (halves, lambda x: numpy.floor(2 * x).astype("int64"), 1, False),
}
SHAPES = [(4,), (2, 1, 4), (3, 1)]          # of the operands: they broadcast, and lower ranks are padded
v = T.dvector("v")


def operands(count, seed=0):
    random = numpy.random.RandomState(seed)
    values = [random.uniform(0.5, 2, shape) for shape in SHAPES[:count]]
    return values, [T.TensorType("float64", [length == 1 for length in value.shape])() for value in values]


def close(actual, expected):
    numpy.testing.assert_allclose(actual, expected, rtol=1e-12)
    assert actual.dtype == numpy.asarray(expected).dtype and actual.shape == numpy.shape(expected)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
def test_values(name, mode):
    op, reference, count, _ = CASES[name]
    values, variables = operands(count)
    outputs = Elemwise(op)(*variables, return_list=True)
    f = function(variables, outputs + [T.exp(out) * 2 + 1 for out in outputs], mode=mode)
    expected = reference(*values)
    expected = list(expected) if op.nout > 1 else [expected]
    for actual, value in zip(f(*values), expected + [numpy.exp(value) * 2 + 1 for value in expected]):
        close(actual, value)
    empty = [value[..., :0] if value.shape[-1] != 1 else value for value in values]
    assert f(*empty)[0].shape == numpy.broadcast_shapes(*[value.shape for value in empty])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_gradients_and_directions(name):
    op, reference, count, _ = CASES[name]
    values, variables = operands(count)
    for index in range(op.nout):
        def one(*inputs):
            return Elemwise(op)(*inputs, return_list=True)[index]

        verify_grad(one, values, rng=numpy.random.RandomState(1))
        out = one(*variables)
        directions = [variable.type() for variable in variables]
        step = [numpy.random.RandomState(2).uniform(-1, 1, value.shape) for value in values]
        moved = function(variables + directions, Rop(out, variables, directions))(*values, *step)
        ends = [reference(*[value + sign * 1e-6 * move for value, move in zip(values, step)]) for sign in (1, -1)]
        ends = [end[index] if op.nout > 1 else end for end in ends]
        numpy.testing.assert_allclose(moved, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_pickles_and_equality(name):
    op, reference, count, _ = CASES[name]
    values, variables = operands(count)
    elementwise = Elemwise(op)
    assert pickle.loads(pickle.dumps(op)) == op and Elemwise(op) == elementwise
    assert pickle.loads(pickle.dumps(elementwise)) == elementwise and isinstance(elementwise, T.Elemwise)
    expected = reference(*values)
    f = pickle.loads(pickle.dumps(function(variables, elementwise(*variables))))
    actual = f(*values)
    close(actual[0] if op.nout > 1 else actual, expected[0] if op.nout > 1 else expected)


def test_an_op_in_fused_graphs():
    x = T.dmatrix("x")
    cost = (cube(T.tanh(x) * 2 + 1) * T.exp(x) - 1).sum()
    f = function([x], [cost, grad(cost, x)])
    assert len([node for node in f.maker.fgraph.toposort() if getattr(node.op, "scalar_op", None) == cube]) == 1
    value = numpy.linspace(-1, 1, 6).reshape(2, 3)
    inner, outer = numpy.tanh(value) * 2 + 1, numpy.exp(value)
    numpy.testing.assert_allclose(f(value)[0], (inner ** 3 * outer - 1).sum())
    slope = 3 * inner ** 2 * 2 * (1 - numpy.tanh(value) ** 2) * outer + inner ** 3 * outer
    numpy.testing.assert_allclose(f(value)[1], slope)
    rows = function([v], jacobian(cube(v) * v, v))
    numpy.testing.assert_allclose(rows([1.0, 2.0]), numpy.diag([4.0, 32.0]))


def test_shapes_without_values():
    f = function([v], Elemwise(cube)(v).shape)
    assert list(f([1.0, 2.0])) == [2]
    assert not [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Elemwise)]


def test_an_op_on_constants_is_folded():
    f = function([], cube(T.constant([1.0, 2.0])))
    assert list(f()) == [1, 8] and not [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Elemwise)]


def test_overwriting():
    op = Elemwise(cube, {0: 0})
    state = phintys.shared(numpy.array([1.0, 2.0]))
    f = function([], [], updates=[(state, op(state))], accept_inplace=True)
    f()
    assert list(state.get_value()) == [1, 8]
    g = function([v], [op(v), v + 1], accept_inplace=True)
    lent = numpy.array([1.0, 2.0])
    assert [list(value) for value in g(lent)] == [[1, 8], [2, 3]] and list(lent) == [1, 8]
    with pytest.raises(TypeError, match="incompatible data types"):
        op(T.ivector())


def test_discrete_results_have_zero_gradients():
    numpy.testing.assert_array_equal(function([v], grad((halves(v) * v).sum(), v))([1.3, 2.0]), [2, 4])
    assert function([v], Rop(halves(v) * v, v, v))([1.3])[0] == pytest.approx(2.6)


# a preference, types, the result (None: TypeError)
PREFERENCES = [
    (scalar.upcast_out, ("int8", "float32"), ("float32",)), (scalar.upcast_out_nobool, ("bool", "bool"), None),
    (scalar.upcast_out_nobool, ("bool", "int8"), ("int8",)), (scalar.upcast_out_min8, ("bool",), ("int8",)),
    (scalar.upcast_out_no_complex, ("complex64", "int8"), None), (scalar.upgrade_to_float, ("int16",), ("float32",)),
    (scalar.upgrade_to_float, ("int16", "int32"), ("float64",)), (scalar.same_out, ("uint8",), ("uint8",)),
    (scalar.upgrade_to_float_no_complex, ("complex64",), None), (scalar.same_out_nobool, ("bool",), None),
    (scalar.upgrade_to_float64, ("int8",), ("float64",)), (scalar.same_out_min8, ("bool",), ("int8",)),
    (scalar.same_out_nocomplex, ("complex64",), None), (scalar.same_out_nocomplex, ("int8",), ("int8",)),
    (scalar.same_out_float_only, ("int8",), None), (scalar.real_out, ("complex64",), ("float32",)),
    (scalar.int_out, ("float32",), ("int64",)), (scalar.int_out_nocomplex, ("complex64",), None),
    (scalar.float_out, ("int8",), ("float64",)), (scalar.float_out_nocomplex, ("complex64",), None),
    (scalar.transfer_type(1, None, "int8"), ("int32", "float32"), ("float32", "float64", "int8")),
    (scalar.specific_out(scalar.int8, scalar.bool), ("float32",), ("int8", "bool")),
    (scalar.unary_out_lookup({scalar.int8: scalar.int32}), ("int8",), ("int32",)),
    (scalar.unary_out_lookup({scalar.int8: scalar.int32}), ("int16",), None),
]


@pytest.mark.parametrize("preference, dtypes, expected", PREFERENCES)
def test_preferences(preference, dtypes, expected):
    types = [scalar.Scalar(dtype) for dtype in dtypes]
    assert pickle.loads(pickle.dumps(preference)) == preference
    if expected is None:
        pytest.raises(TypeError, preference, *types)
    else:
        assert [type_.dtype for type_ in preference(*types)] == list(expected)


class Bare(scalar.UnaryScalarOp):
    pass


class Returns(scalar.UnaryScalarOp):
    """x, with the gradient that was passed in."""

    def __init__(self, gradient):
        super().__init__(scalar.same_out)
        self.gradient_of = gradient

    def impl(self, x):
        return x

    def grad(self, inputs, output_gradients):
        return self.gradient_of(inputs, output_gradients)


def test_partial_gradients():
    constant_slope = Returns(lambda inputs, gradients: [1.0])
    assert list(function([v], grad(constant_slope(v).sum(), v))([1.0, 2.0])) == [1, 1]
    with pytest.raises(NullTypeGradError):
        grad(Returns(lambda inputs, gradients: [None])(v).sum(), v)
    nowhere = Returns(lambda inputs, gradients: [disconnected_type()])
    assert list(function([v], Rop(nowhere(v) + v, v, v))([1.0, 2.0])) == [1, 2]


def test_errors():
    with pytest.raises(TypeError, match="output_types_preference"):
        Bare("float64")
    with pytest.raises(NotImplementedError, match="Cannot calculate the output types for Bare"):
        Elemwise(Bare())(v)
    with pytest.raises(TypeError, match="list or a tuple of types"):
        Elemwise(Bare(lambda type_: type_))(v)
    with pytest.raises(TypeError, match="expected 1, got 2"):
        Elemwise(Bare(lambda type_: (type_, type_)))(v)
    with pytest.raises(TypeError, match="got 2, expected 1"):
        cube(v, v)
    bare = Elemwise(Bare(scalar.same_out))
    with pytest.raises(MethodNotDefined, match="impl"):
        function([v], bare(v))([1.0])
    with pytest.raises(MethodNotDefined, match="grad"):
        grad(bare(v).sum(), v)
    with pytest.raises(TypeError, match="must return a list of 1 gradients"):
        grad(Returns(lambda inputs, gradients: gradients[0])(v).sum(), v)
    with pytest.raises(NotImplementedError, match="single numbers"):
        grad(Returns(lambda inputs, gradients: [T.stack([gradients[0]])[0]])(v).sum(), v)
    with pytest.raises(NullTypeGradError, match="not implemented"):
        Rop(Returns(lambda inputs, gradients: [None])(v), v, v)
    with pytest.raises(ValueError, match=r"mis-match. \(input\[0\].shape\[0\] = 1, input\[1\].shape\[0\] = 2\)"):
        function([v], hypot(v[:1], v))([1.0, 2.0])
    number = scalar.float64()
    with pytest.raises(ValueError, match="of one output"):
        scalar.Composite([number], [polar(number, number)[0]])
    with pytest.raises(NotImplementedError, match="after gradients"):
        grad(Elemwise(scalar.Composite([number], [cube(number)]))(v).sum(), v)
    with pytest.raises(TypeError, match="Exp cannot be instantiated"):
        scalar.Exp(scalar.upgrade_to_float, name="mine")
    with pytest.raises(NotImplementedError, match="CAReduce only supports"):
        CAReduce(Largest(scalar.upcast_out, name="maximum"))
