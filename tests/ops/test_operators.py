"""Python's operators and NumPy's methods on tensor variables, and the functions that combine elementwise ops."""
import copy
import operator
import pickle

import numpy
import pytest
from one_op import compute

import phintys.ops.operators  # noqa: F401  tensor variables
from phintys.graph.config import change_flags
from phintys.graph.type import generic
from phintys.ops.elementwise import elementwise_functions as functions
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar import ComplexError, IntegerDivisionError
from phintys.ops.types.scalar_type import get_scalar_type
from phintys.ops.types.tensor_type import TensorType

VECTOR = TensorType("float64", (False,))
INTEGERS = TensorType("int64", (False,))
A, B = numpy.array([2.5, -1.5, 3.0]), numpy.array([1.5, 2.0, 2.0])
I, J = numpy.array([7, -7, 6]), numpy.array([2, 2, 3])


def value_of(output, inputs, values):
    return compute([output], inputs, values)[0]


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
          operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.parametrize("function", BINARY + BITS)
def test_binary_operators_with_every_kind_of_operand(function):
    left, right = (I, J) if function in BITS else (A, B)
    type_ = INTEGERS if function in BITS else VECTOR
    x, y = type_(), type_()
    with numpy.errstate(invalid="ignore"):
        for outputs, wanted in [
            (function(x, y), function(left, right)), (function(x, right), function(left, right)),
            (function(left, y), function(left, right)), (function(x, right[1].item()), function(left, right[1])),
            (function(left[0].item(), y), function(left[0], right)), (function(left[0], y), function(left[0], right)),
            (function(x, list(right)), function(left, right)),
        ]:
            numpy.testing.assert_array_equal(value_of(outputs, [x, y], [left, right]), wanted)


@pytest.mark.parametrize("function, values", [(operator.neg, A), (operator.abs, A), (operator.pos, A),
                                              (operator.invert, I)])
def test_unary_operators(function, values):
    x = TensorType(values.dtype, (False,))()
    numpy.testing.assert_array_equal(value_of(function(x), [x], [values]), function(values))


def test_python_numbers_beside_uint64_are_uint64():
    x, number = TensorType("uint64", (False,))("x"), get_scalar_type("uint64")("number")
    values = numpy.arange(4, dtype="uint64")
    for function in (lambda x: x << 2, lambda x: x >> 1, lambda x: x & 6, lambda x: 3 | x, lambda x: x ^ 5,
                     lambda x: 2 << x, lambda x: 1000 >> x):
        found = value_of(function(x), [x], [values])
        assert found.dtype == "uint64" and found.tolist() == function(values).tolist()
        assert function(number).type.dtype == "uint64"
    for wrong in (lambda: x << -1, lambda: x & numpy.int8(1), lambda: x | INTEGERS("y")):
        with pytest.raises(TypeError, match="unsupported operand|no integer dtype"):
            wrong()


def test_divmod():
    x, y = VECTOR(), VECTOR()
    quotient, remainder = divmod(x, y)
    numpy.testing.assert_array_equal(value_of(quotient, [x, y], [A, B]), A // B)
    numpy.testing.assert_array_equal(value_of(remainder, [x, y], [A, B]), A % B)
    assert len(divmod(3, y)) == 2


def test_division_of_integers_gives_floatx():
    x, y = INTEGERS(), INTEGERS()
    numpy.testing.assert_array_equal(value_of(x / y, [x, y], [I, J]), I / J)
    with change_flags(floatX="float32"):
        assert (x / y).dtype == "float32"


def test_div_proxy_follows_the_configuration():
    x = INTEGERS()
    with change_flags(int_division="floatX"):
        assert functions.div_proxy(x, 2).owner.op == functions.true_div
    with change_flags(int_division="int"), pytest.warns(DeprecationWarning, match="x // y"):
        assert functions.div_proxy(x, 2).owner.op == functions.int_div
    with change_flags(int_division="raise"), pytest.raises(IntegerDivisionError, match="forbidden"):
        functions.div_proxy(x, 2)


def test_equality_is_identity():
    x, y = VECTOR(), VECTOR()
    assert x == x and x != y and hash(x) != hash(y) and {x: 1}[x] == 1


def test_truth_values():
    x, y = VECTOR(), VECTOR()
    assert bool(x) and bool(x + y)
    for result in (x < y, x <= y, x > y, x >= y):
        with pytest.raises(TypeError, match="do not support boolean operations"):
            bool(result)
    with pytest.raises(TypeError, match="boolean"):
        0 < x < 1


@pytest.mark.parametrize("function", [operator.floordiv, operator.mod, divmod])
def test_complex_numbers_have_no_floor(function):
    z = TensorType("complex128", (False,))()
    for operands in [(z, 2), (2, z)]:
        with pytest.raises(ComplexError, match="complex"):
            function(*operands)


def test_operands_that_cannot_become_tensors_are_type_errors():
    x = VECTOR()
    for function in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
        with pytest.raises(TypeError, match="unsupported operand"):
            function(x, object())
        with pytest.raises(TypeError, match="unsupported operand"):
            function(generic(), x)


def test_other_classes_handle_the_operator():
    class Sparse:
        def __radd__(self, other):
            return "theirs"
    assert VECTOR() + Sparse() == "theirs"


def test_dtypes_of_numbers_follow_autocasting():
    x = TensorType("float32", (False,))()
    assert [(x + 1).dtype, (x * 0.5).dtype, (x * 0.1).dtype, (x * numpy.float64(0.5)).dtype] == [
        "float32", "float32", "float64", "float64"]
    with change_flags(floatX="float32"):
        assert (x * 0.1).dtype == "float32"


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "floor", "absolute", "negative", "degrees",
                                  "radians"])
def test_numpys_functions_make_nodes(name):
    x = VECTOR()
    ufunc = getattr(numpy, name)
    with numpy.errstate(invalid="ignore"):
        numpy.testing.assert_allclose(value_of(ufunc(x), [x], [A]), ufunc(A))


def test_numpys_binary_functions_make_nodes():
    x = VECTOR()
    numpy.testing.assert_array_equal(value_of(numpy.maximum(A, x), [x], [B]), numpy.maximum(A, B))
    with pytest.raises(TypeError):
        numpy.isnat(x)


@pytest.mark.parametrize("name",
                         "arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh deg2rad exp exp2 expm1 floor log "
                                 "log10 log1p log2 rad2deg sin sinh sqrt tan tanh trunc conj conjugate".split())
def test_methods_that_are_elementwise_functions(name):
    x = VECTOR()
    assert getattr(x, name)().owner.op == getattr(functions, name.replace("conjugate", "conj"))


def test_methods_with_arguments():
    x, z = VECTOR(), TensorType("complex64", (False,))()
    assert x.astype("float64") is x and x.astype("int8").dtype == "int8"
    assert x.clip(0, 1).owner.op == functions.clip and x.round().owner.op == functions.round_half_to_even
    assert x.clip(0, None).owner.op == functions.maximum and x.clip(None, 1).owner.op == functions.minimum
    assert x.round("half_away_from_zero").owner.op == functions.round_half_away_from_zero
    assert z.real.dtype == z.imag.dtype == "float32"
    assert x.zeros_like("int8").dtype == "int8" and x.ones_like().dtype == "float64" and x.fill(3).dtype == "int8"
    copied = x.copy(name="copied")
    assert copied.name == "copied" and copied.owner.op == functions.tensor_copy
    with pytest.raises(TypeError, match="ambiguous"):
        z.astype("float32")
    with pytest.raises(ValueError, match="round mode"):
        x.round("up")


def test_attributes_of_the_type():
    x = TensorType("int8", (True, False))("x")
    assert (x.dtype, x.ndim, x.broadcastable) == ("int8", 2, (True, False))


def test_shape_methods():
    x = TensorType("float64", (False, True, False))("x")
    assert x.T.broadcastable == (False, True, False) and x.dimshuffle(0, 2).ndim == 2
    assert x.dimshuffle(["x", 0, 2]).broadcastable == (True, False, False)
    for turned in (x.transpose(1, 0, 2), x.transpose((1, 0, 2)), x.swapaxes(0, 1)):
        assert turned.broadcastable == (True, False, False)
    assert x.flatten(2).ndim == 2 and x.ravel().ndim == 1 and x.reshape((2, 3)).ndim == 2
    assert x.shape.dtype == "int64" and x.size.ndim == 0
    with pytest.raises(ValueError, match="integer"):
        x.reshape((2, 3), ndim="2")


@pytest.mark.parametrize("name", "any all sum prod mean var std min max argmin argmax".split())
def test_reductions(name):
    values = numpy.array([[2.5, -1.5, 3.0], [0.0, 1.0, 2.0]])
    x = TensorType("float64", (False, False))()
    for axis, keepdims in [(None, False), (0, False), (1, True)]:
        output = getattr(x, name)(axis=axis, keepdims=keepdims)
        wanted = getattr(numpy, name)(values, axis=axis, keepdims=keepdims)
        numpy.testing.assert_allclose(value_of(output, [x], [values]), wanted)


def test_norm():
    x = VECTOR()
    numpy.testing.assert_allclose(value_of(x.norm(2), [x], [A]), numpy.linalg.norm(A))
    with pytest.raises(NotImplementedError, match="L=inf"):
        x.norm(numpy.inf)


def test_no_len_and_no_iteration_over_unknown_lengths():
    x = VECTOR()
    with pytest.raises(TypeError, match=r"shape\[0\]"):
        len(x)
    with pytest.raises(TypeError, match="does not support iteration"):
        list(x)
    with pytest.raises(TypeError, match="does not support iteration"):
        sum(x)


# ---- functions that combine -----------------------------------------------------------------------------------------
def test_rounding_functions():
    x = VECTOR()
    numpy.testing.assert_array_equal(value_of(functions.iround(x), [x], [A]), [2, -2, 3])


def test_ceil_intdiv():
    x, y = INTEGERS(), INTEGERS()
    output = functions.ceil_intdiv(x, y)
    assert output.dtype == "int64"
    numpy.testing.assert_array_equal(value_of(output, [x, y], [I, J]), [4, -3, 2])


@pytest.mark.parametrize("equal_nan", [True, False])
def test_isclose(equal_nan):
    x, y = VECTOR(), VECTOR()
    left = numpy.array([1.0, 1.0, numpy.nan, numpy.inf, numpy.inf, 1e300])
    right = numpy.array([1.0 + 1e-9, 1.1, numpy.nan, numpy.inf, -numpy.inf, numpy.inf])
    output = functions.isclose(x, y, equal_nan=equal_nan)
    wanted = numpy.isclose(left, right, equal_nan=equal_nan)
    numpy.testing.assert_array_equal(value_of(output, [x, y], [left, right]), wanted)
    assert not value_of(functions.allclose(x, y), [x, y], [left, right])
    assert value_of(functions.allclose(x, y), [x, y], [left[:1], right[:1]])


def test_smallest_and_largest():
    x, y = VECTOR(), VECTOR()
    numpy.testing.assert_array_equal(value_of(functions.largest(x, y, 2), [x, y], [A, B]),
                                     numpy.maximum(numpy.maximum(A, B), 2))
    numpy.testing.assert_array_equal(value_of(functions.smallest(x, y), [x, y], [A, B]), numpy.minimum(A, B))
    with pytest.raises(TypeError, match="largest"):
        functions.largest()


def test_cast():
    x = VECTOR()
    assert functions.cast(x, "float64") is x and functions.cast(x, "floatX") is x
    assert str(functions.cast(x, "int8").owner.op.scalar_op) == "Cast{int8}"
    with pytest.raises(TypeError, match="Unsupported dtype"):
        functions.cast(x, "object")


def test_zeros_like_as_constant():
    x = TensorType("float64", ())()
    assert functions.zeros_like(x, opt=True).data == 0 and functions.ones_like(x).owner.op == functions.fill


# ---- the ops themselves ---------------------------------------------------------------------------------------------
def test_names_and_docstrings():
    assert str(functions.add) == "Elemwise{add,no_inplace}"
    assert str(Elemwise(functions.add.scalar_op)) == "Elemwise{add}"
    assert "sum" in functions.add.__doc__


def test_ops_compare_by_scalar_op():
    assert (VECTOR() + 1).owner.op is functions.add
    assert Elemwise(functions.add.scalar_op) == functions.add != functions.mul
    for copied in (copy.deepcopy(functions.exp), pickle.loads(pickle.dumps(functions.exp))):
        assert copied is functions.exp
    inplace = Elemwise(functions.add.scalar_op, {0: 1})
    assert pickle.loads(pickle.dumps(inplace)) == inplace
    with pytest.raises(TypeError, match="ScalarOp"):
        Elemwise("add")


def test_numbers_of_higher_rank_operands_are_padded():
    x = TensorType("float64", (False, False))()
    node = (x + 1).owner
    assert node.inputs[1].broadcastable == (True, True) and node.outputs[0].broadcastable == (False, False)
    assert node.inputs[1] is (x * 1).owner.inputs[1]
    y = VECTOR()
    assert (x + y).owner.inputs[1].owner.inputs == [y]


def test_static_shapes_are_passed_on():
    x = TensorType("float64", (False, False), shape=(None, 3))()
    assert (x + VECTOR()).type.shape == (None, 3) and (x + [1.0, 2.0, 3.0]).type.shape == (None, 3)
    assert (x + TensorType("float64", (False, True))()).type.shape == (None, 3)
