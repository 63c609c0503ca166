"""The namespaces: every promised name is there and works."""
import re
from pathlib import Path

import numpy
import pytest

import phintys
import phintys.scalar
import phintys.tensor as T
from phintys import function

RANKS = {"scalar": (), "vector": (False,), "matrix": (False, False), "row": (True, False), "col": (False, True),
         "tensor3": (False,) * 3, "tensor4": (False,) * 4, "tensor5": (False,) * 5}
LETTERS = {"": "float64", "b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64",
           "c": "complex64", "z": "complex128"}
PLURALS = {"scalars": "scalar", "vectors": "vector", "matrices": "matrix", "rows": "row", "cols": "col",
           "tensor3s": "tensor3", "tensor4s": "tensor4", "tensor5s": "tensor5"}
ALL_DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128"]


# ---- constructors ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("letter", LETTERS)
def test_constructors(letter, rank):
    construct = getattr(T, letter + rank)
    for variable in (construct("name"), construct(name="name")):
        assert variable.name == "name" and variable.dtype == LETTERS[letter]
        assert variable.broadcastable == RANKS[rank]
    assert construct().name is None


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_constructors_with_dtype(rank, dtype):
    assert getattr(T, rank)("x", dtype=dtype).dtype == dtype


@pytest.mark.parametrize("plural", PLURALS)
@pytest.mark.parametrize("letter", ["", "f", "d", "i", "l"])
def test_plurals(letter, plural):
    several = getattr(T, letter + plural)
    a, b = several("a", "b")
    assert (a.name, b.name) == ("a", "b") and a.type == b.type == getattr(T, letter + PLURALS[plural])().type
    assert [variable.name for variable in several(3)] == [None, None, None]
    assert [variable.name for variable in several("xy")] == ["x", "y"] and several("x").name == "x"


def test_tensor():
    x = T.tensor("int16", (False, True), name="x")
    assert x.type == T.TensorType("int16", (False, True)) and x.name == "x"
    assert T.tensor(dtype="float32", broadcastable=[True]).broadcastable == (True,)


def test_where_a_variable_was_made():
    assert T.dmatrix("x").where[0] == __file__ and T.matrix("x").where[0] == __file__
    assert T.dmatrices("x", "y")[1].where[0] == __file__


# ---- functions -------------------------------------------------------------------------------------------------------
x, y = numpy.array([0.3, 0.6, 0.9]), numpy.array([1.5, 0.5, 2.0])
small, n = numpy.array([0.1, 0.4, 0.8]), numpy.array([6, 3, 0])
truth = numpy.array([True, False, True])
square = numpy.array([[1.0, 2.0], [3.0, 4.0]])
z = numpy.array([1 + 2j, -1j])

# (expression over T, arguments by name, the same in NumPy)
EXPRESSIONS = [
    # arithmetic
    ("T.add(a, b, a)", (x, y), lambda a, b: a + b + a),
    ("T.sub(a, b)", (x, y), numpy.subtract),
    ("T.mul(a, b)", (x, y), numpy.multiply),
    ("T.true_div(a, b)", (x, y), numpy.true_divide),
    ("T.int_div(a, b)", (x, y), numpy.floor_divide),
    ("T.floor_div(a, b)", (x, y), numpy.floor_divide),
    ("T.mod(a, b)", (x, y), numpy.mod),
    ("T.pow(a, b)", (x, y), numpy.power),
    ("T.neg(a)", (x,), numpy.negative),
    ("T.inv(a)", (x,), numpy.reciprocal),
    ("T.sqr(a)", (x,), numpy.square),
    ("T.sqrt(a)", (x,), numpy.sqrt),
    ("T.abs_(-a)", (x,), lambda a: a),
    ("abs(-a)", (x,), lambda a: a),
    ("T.sgn(a - b)", (x, y), lambda a, b: numpy.sign(a - b)),
    ("a + b - a * b / (a ** b)", (x, y), lambda a, b: a + b - a * b / a ** b),
    ("a // b + a % b", (x, y), lambda a, b: a // b + a % b),
    ("T.minimum(a, b)", (x, y), numpy.minimum),
    ("T.maximum(a, b)", (x, y), numpy.maximum),
    ("T.clip(a, 0.4, 0.7)", (x,), lambda a: a.clip(0.4, 0.7)),
    ("T.ceil_intdiv(a, 2)", (n,), lambda a: -(-a // 2)),
    # comparison, logic, bits
    ("T.lt(a, b)", (x, y), numpy.less),
    ("T.gt(a, b)", (x, y), numpy.greater),
    ("T.le(a, b)", (x, y), numpy.less_equal),
    ("T.ge(a, b)", (x, y), numpy.greater_equal),
    ("T.eq(a, a)", (x,), lambda a: a == a),
    ("T.neq(a, b)", (x, y), numpy.not_equal),
    ("(a < b) | (a > b)", (x, y), lambda a, b: (a < b) | (a > b)),
    ("T.and_(a, ~a)", (truth,), lambda a: a & ~a),
    ("T.or_(a, ~a)", (truth,), lambda a: a | ~a),
    ("T.xor(a, a)", (truth,), lambda a: a ^ a),
    ("T.invert(a)", (n,), numpy.invert),
    ("T.bitwise_and(a, 2)", (n,), lambda a: a & 2),
    ("T.bitwise_or(a, 1)", (n,), lambda a: a | 1),
    ("T.bitwise_xor(a, 5)", (n,), lambda a: a ^ 5),
    ("T.bitwise_not(a)", (n,), numpy.invert),
    ("T.switch(c, a, b)", (x, y, truth), lambda a, b, c: numpy.where(c, a, b)),
    ("T.where(c, a, b)", (x, y, truth), lambda a, b, c: numpy.where(c, a, b)),
    ("T.isnan(a)", (x,), numpy.isnan),
    ("T.isinf(a)", (x,), numpy.isinf),
    ("T.isclose(a, b)", (x, y), numpy.isclose),
    ("T.allclose(a, a)", (x,), lambda a: True),
    # rounding
    ("T.ceil(a)", (y,), numpy.ceil),
    ("T.floor(a)", (y,), numpy.floor),
    ("T.trunc(a)", (y,), numpy.trunc),
    ("T.round(a, mode='half_to_even')", (y,), numpy.round),
    ("T.iround(a, mode='half_to_even')", (y,), numpy.round),
    ("T.round_half_to_even(a)", (y,), numpy.round),
    ("T.round_half_away_from_zero(a)", (y,), lambda a: numpy.floor(a + 0.5)),
    # exponentials, trigonometry
    *[(f"T.{name}(a)", (x,), getattr(numpy, name)) for name in
      ("exp exp2 expm1 log log2 log10 log1p deg2rad rad2deg cos sin tan arccos arcsin arctan cosh sinh tanh arcsinh "
       "arctanh").split()],
    ("T.arccosh(a + 1)", (x,), lambda a: numpy.arccosh(a + 1)),
    ("T.arctan2(a, b)", (x, y), numpy.arctan2),
    ("T.nnet.sigmoid(a)", (x,), lambda a: 1 / (1 + numpy.exp(-a))),
    ("T.nnet.softplus(a)", (x,), lambda a: numpy.log1p(numpy.exp(a))),
    ("T.nnet.relu(a - b)", (x, y), lambda a, b: numpy.maximum(a - b, 0)),
    ("T.nnet.relu(a - b, 0.1)", (x, y), lambda a, b: numpy.where(a > b, a - b, 0.1 * (a - b))),
    ("T.nnet.hard_sigmoid(a * 4)", (x,), lambda a: numpy.clip(a * 0.8 + 0.5, 0, 1)),
    # casts, complex numbers
    ("T.cast(a, 'int32')", (y,), lambda a: a.astype("int32")),
    ("a.astype('float32')", (x,), lambda a: a.astype("float32")),
    ("T.real(a)", (z,), numpy.real),
    ("T.imag(a)", (z,), numpy.imag),
    ("T.conj(a)", (z,), numpy.conj),
    ("T.angle(a)", (z,), numpy.angle),
    ("T.complex(a, b)", (x, y), lambda a, b: a + 1j * b),
    ("abs(a)", (z,), numpy.abs),
    ("T.complex_from_polar(a, b)", (x, y), lambda a, b: a * numpy.exp(1j * b)),
    # reductions
    *[(f"T.{name}(a, axis={axis}, keepdims={keep})", (square,), lambda a, name=name, axis=axis, keep=keep:
       getattr(numpy, name)(a, axis=axis, keepdims=keep))
      for name in "sum prod mean var std max min any all".split()
      for axis in (None, 0, 1, (0, 1)) for keep in (False, True)],
    *[(f"T.{name}(a, axis={axis})", (square,), lambda a, name=name, axis=axis: getattr(numpy, name)(a, axis=axis))
      for name in ("argmax", "argmin") for axis in (None, 0, 1)],
    ("a.sum(axis=0) + a.mean(axis=1) + a.max(axis=-1)", (square,), lambda a: a.sum(0) + a.mean(1) + a.max(-1)),
    ("T.max_and_argmax(a, axis=1)[1]", (square,), lambda a: a.argmax(1)),
    ("T.ptp(a, axis=0)", (square,), lambda a: numpy.ptp(a, axis=0)),
    # products
    ("T.dot(a, b)", (x, y), numpy.dot),
    ("T.dot(a, b)", (square, x[:2]), numpy.dot),
    ("T.dot(a, b)", (x[:2], square), numpy.dot),
    ("T.dot(a, b)", (square, square.T), numpy.dot),
    ("T.dot(a, 2.0)", (square,), lambda a: a * 2),
    ("a.dot(a)", (square,), lambda a: a @ a),
    ("a @ a", (square,), lambda a: a @ a),
    ("phintys.dot(a, b)", (square, x[:2]), numpy.dot),
    # shapes
    ("a.T", (square,), lambda a: a.T),
    ("a.dimshuffle(1, 'x', 0)", (square,), lambda a: a.T[:, None, :]),
    ("T.transpose(a)", (square,), numpy.transpose),
    ("a.reshape((4,))", (square,), lambda a: a.reshape(4)),
    ("T.reshape(a, (-1, 1))", (square,), lambda a: a.reshape(-1, 1)),
    ("a.flatten()", (square,), numpy.ravel),
    ("T.flatten(a, 1)", (square,), numpy.ravel),
    ("a.shape", (square,), lambda a: numpy.array(a.shape)),
    ("a.shape[1] + a.size", (square,), lambda a: a.shape[1] + a.size),
    ("T.swapaxes(a, 0, 1)", (square,), lambda a: a.T),
    ("T.shape_padleft(a)", (square,), lambda a: a[None]),
    ("T.shape_padright(a)", (square,), lambda a: a[..., None]),
    ("T.alloc(a[0], 2, 3)", (x,), lambda a: numpy.full((2, 3), a[0])),
    ("T.fill(a, 7.0)", (square,), lambda a: numpy.full_like(a, 7)),
    ("T.zeros_like(a)", (square,), numpy.zeros_like),
    ("T.ones_like(a)", (square,), numpy.ones_like),
    ("T.zeros((2, a.shape[0]))", (x,), lambda a: numpy.zeros((2, 3))),
    ("T.ones((3,))", (), lambda: numpy.ones(3)),
    ("T.arange(5)", (), lambda: numpy.arange(5)),
    ("T.arange(a.shape[0])", (x,), lambda a: numpy.arange(3)),
    ("T.arange(1, 7, 2)", (), lambda: numpy.arange(1, 7, 2)),
    ("T.constant([1, 2])", (), lambda: numpy.array([1, 2])),
    ("T.as_tensor_variable([[1.0, 2.0]])", (), lambda: numpy.array([[1.0, 2.0]])),
    ("T.addbroadcast(a, 0)", (x[:1],), lambda a: a),
    ("T.unbroadcast(T.addbroadcast(a, 0), 0)", (x[:1],), lambda a: a),
    ("T.patternbroadcast(a, (True,))", (x[:1],), lambda a: a),
    ("T.specify_shape(a, (3,))", (x,), lambda a: a),
]

SPECIAL = "erf erfc erfcx gamma gammaln psi j0 j1 i0 i1".split()


def build(expression, arguments):
    """Variables for the arguments and the expression over them."""
    variables = [T.tensor(str(argument.dtype), (False,) * argument.ndim, name=name)
                 for argument, name in zip(arguments, "abc")]
    names = dict(zip("abc", variables))
    return variables, eval(expression, {"T": T, "phintys": phintys, **names})


@pytest.mark.parametrize("expression, arguments, reference", EXPRESSIONS,
                         ids=[f"{number}: {row[0]}" for number, row in enumerate(EXPRESSIONS)])
def test_expression(expression, arguments, reference):
    variables, result = build(expression, arguments)
    found = function(variables, result, on_unused_input="ignore")(*arguments)
    expected = numpy.asarray(reference(*arguments))
    assert found.shape == expected.shape
    assert found.dtype == result.dtype
    numpy.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    import scipy.special
    variables, result = build(f"T.{name}(a)", (x,))
    numpy.testing.assert_allclose(function(variables, result)(x), getattr(scipy.special, name)(x), rtol=1e-12)


@pytest.mark.parametrize("name, inverse", [("erfinv", "erf"), ("erfcinv", "erfc")])
def test_inverse_error_functions(name, inverse):
    variables, result = build(f"T.{inverse}(T.{name}(a))", (small,))
    numpy.testing.assert_allclose(function(variables, result)(small), small, rtol=1e-9)


def test_gradients_can_be_checked():
    T.verify_grad(lambda a, b: T.tanh(a * b).sum(axis=0), [square, square + 1], rng=numpy.random.RandomState(0))
    with pytest.raises(Exception, match="(?i)grad"):
        class Wrong(phintys.Op):
            __props__ = ()

            def make_node(self, a):
                return phintys.Apply(self, [a], [a.type()])

            def perform(self, node, inputs, storage):
                storage[0][0] = inputs[0] ** 2

            def grad(self, inputs, gradients):
                return [gradients[0] * inputs[0]]
        T.verify_grad(Wrong(), [square], rng=numpy.random.RandomState(0))


def test_grad_is_the_same_everywhere():
    assert T.grad is phintys.grad is phintys.gradient.grad
    a = T.dscalar()
    assert function([a], T.grad(a ** 3, a))(2.0) == 12.0


# ---- names -----------------------------------------------------------------------------------------------------------
TOP_LEVEL = """function shared In Out Param grad Rop Lop config change_flags Mode FAST_RUN FAST_COMPILE pp pprint
    debugprint printing clone Variable Op Apply Constant Type Generic generic FunctionGraph Container gof gradient
    compile scalar tensor OrderedUpdates dot get_include SymbolicInput SymbolicOutput FunctionMaker predefined_modes
    InconsistencyError subgraph_grad memory updates""".split()


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_top_level_name(name):
    assert getattr(phintys, name) is not None and name in dir(phintys)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        phintys.no_such_name


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'$"):
        T.nnet.no_such_name


@pytest.mark.parametrize("module", ["gof", "gradient", "compile", "printing", "memory"])
def test_all_of_the_namespaces_exists(module):
    namespace = getattr(phintys, module)
    assert [name for name in namespace.__all__ if not hasattr(namespace, name)] == []


def test_scalar_namespace():
    S = phintys.scalar
    assert S.upcast("int8", "float32") == "float32" and isinstance(S.add, S.Add) and isinstance(T.exp.scalar_op, S.Exp)
    assert [name for name in S.__all__ if not hasattr(S, name)] == []
    a, b = S.floats("a", "b")
    assert function([a, b], S.add(a, b))(1.0, 2.0) == 3.0 and S.float32("f").dtype == "float32"


def test_op_classes():
    assert T.exp(T.dvector()).owner.op == T.exp and isinstance(T.exp, T.Elemwise) and T.elemwise.Elemwise is T.Elemwise
    assert isinstance(T.dvector().sum().owner.op, T.Sum) and isinstance(T.dmatrix().T.owner.op, T.DimShuffle)
    assert isinstance(T.constant(1.0), T.TensorConstant) and isinstance(T.dvector(), T.TensorVariable)


def test_one_version():
    """`pyproject.toml` reads it from the package, and nothing else names it."""
    root = Path(__file__).resolve().parents[2]
    assert 'version = {attr = "phintys.__version__"}' in (root / "pyproject.toml").read_text()
    found = re.findall(r'^__version__ = "(.+?)"', (root / "api/__init__.py").read_text(), re.MULTILINE)
    assert found == [phintys.__version__]


def test_declarations_for_cython_are_found():
    assert (Path(phintys.get_include()) / "phintys" / "vm" / "abi.pxd").exists()


def test_clone():
    a, b = T.dscalars("a", "b")
    assert function([b], phintys.clone(a * 2, replace={a: b + 1}))(3.0) == 8.0


def test_memory():
    before = phintys.memory.statistics()
    phintys.memory.trim()
    assert phintys.memory.statistics()["kept_bytes"] == 0 and before["limit_bytes"] > 0


def test_names_of_numpy_and_scipy_beside_those_of_theano():
    x = T.dmatrix("x")
    f = phintys.function([x], [T.array([x[0, 0], 2.0]), T.asarray(1.5), x[:, T.newaxis], T.linalg.block_diag(x, T.pi),
                               T.linalg.solve_triangular(x, [1.0, 2.0], lower=True)])
    values = numpy.array([[2.0, 0], [1, 4]])
    found = f(values)
    assert found[0].tolist() == [2.0, 2.0] and found[1] == 1.5 and found[1].dtype == "float64"
    assert found[2].shape == (2, 1, 2) and found[3][2, 2] == numpy.pi and found[3].shape == (3, 3)
    numpy.testing.assert_allclose(values @ found[4], [1.0, 2.0])
    assert T.linalg.schur is T.slinalg.schur and not {"array", "e", "inf"} & {*T.__all__}
