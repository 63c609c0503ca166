"""Constants and ``as_tensor_variable``: which dtype values get, what is shared, what is refused."""
import copy
import pickle

import numpy
import pytest

import phintys.ops.operators  # noqa: F401  tensor variables
from phintys.graph.config import change_flags
from phintys.graph.type import generic
from phintys.ops.types.constant import AsTensorError, as_tensor_variable, autocast_float_as, constant, constant_number
from phintys.ops.types.tensor_type import TensorType

AUTOCAST = [
    (1, "int8"), (-128, "int8"), (128, "int16"), (-40000, "int32"), (2**31, "int64"), (2**63, "uint64"),
    (0.5, "float32"),
    (0.1, "float64"), (float("inf"), "float32"), (1e300, "float64"), (1j, "complex128"),
    (numpy.float64(0.5), "float64"),
    (numpy.int64(1), "int64"), (numpy.bool_(True), "bool"), (numpy.array(True), "bool"), ([1, 2], "int64"),
    ([0.5, 1], "float64"), ([], "float64"), (numpy.zeros(2, "float16"), "float16"), (numpy.zeros(2, ">i4"), "int32"),
    (numpy.zeros(2, "longlong"), "int64"),
]


@pytest.mark.parametrize("value, dtype", AUTOCAST, ids=range(len(AUTOCAST)))
def test_dtype_of_constants(value, dtype):
    made = constant(value)
    assert made.type.dtype == made.data.dtype.name == dtype and made.data.dtype.isnative
    numpy.testing.assert_array_equal(made.data, value)


@pytest.mark.parametrize("policy, floatx, value, dtype", [
    ("custom", "float32", 0.1, "float32"), ("custom", "float16", 0.1, "float16"), ("custom", "float32", 1, "int8"),
    ("numpy+floatX", "float32", 0.1, "float32"), ("numpy+floatX", "float64", 0.5, "float64"),
    ("numpy+floatX", "float32", 1, "int64"),
    ("custom", "float32", [], "float32"), ("custom", "float32", numpy.float64(1), "float64"),
])
def test_dtype_follows_the_configuration(policy, floatx, value, dtype):
    with change_flags(cast_policy=policy, floatX=floatx):
        assert constant(value).type.dtype == dtype


def test_autocast_float_as():
    with autocast_float_as("float32"):
        assert constant(1.1).type.dtype == "float32"
    assert constant(1.1).type.dtype == "float64"
    with change_flags(cast_policy="numpy+floatX"), pytest.raises(ValueError, match="custom"):
        autocast_float_as("float32")


def test_constants_are_copies_and_read_only():
    value = numpy.arange(3.0)
    made = constant(value)
    value[0] = 7
    assert made.data[0] == 0 and not made.data.flags.writeable


def test_pattern_and_static_shape():
    made = constant(numpy.zeros((1, 3)))
    assert made.type.broadcastable == (True, False) and made.type.shape == (1, 3)
    assert constant([1, 2], ndim=3).type.broadcastable == (True, True, False)
    assert constant(1.5, dtype="int8").data == 1
    with pytest.raises(ValueError, match="2 dimensions"):
        constant(numpy.zeros((1, 1, 1)), ndim=2)


def test_small_numbers_are_shared():
    assert constant(3) is constant(3) and constant(0.5) is constant(0.5)
    assert constant(3) is not constant(3, name="x") and constant(3) is not constant(3.0)
    assert numpy.signbit(constant(-0.0).data) and not numpy.signbit(constant(0.0).data)


def test_signature_compares_type_and_value():
    assert constant(2).signature() == constant(numpy.int8(2)).signature()
    assert constant(2).signature() != constant(2.0).signature() != constant(numpy.array([2.0], "float32")).signature()
    assert constant(numpy.nan).signature() == constant(numpy.nan).signature()
    assert constant(0.0).signature() != constant(-0.0).signature()
    large = numpy.arange(100.0)
    assert constant(large).signature() == constant(large.copy()).signature() != constant(large + 1).signature()
    assert hash(constant(large).signature()) == hash(constant(large.copy()).signature())
    assert constant(numpy.zeros((2, 3))).signature() != constant(numpy.zeros((3, 2))).signature()
    assert constant(2).equals(2) and constant([1.0, 2.0]).equals(numpy.array([1.0, 2.0])) and not constant(2).equals(3)


@pytest.mark.parametrize("value, text", [
    (2, "TensorConstant{2}"), (0.5, "TensorConstant{0.5}"), (numpy.full((2, 2), 0.5), "TensorConstant{(2, 2) of 0.5}"),
    ([1, 2], "TensorConstant{[1 2]}"), (numpy.arange(30), "TensorConstant{[ 0  1  2 .. 27 28 29]}"),
])
def test_text(value, text):
    assert str(constant(value)) == text


def test_unique_value():
    assert constant(numpy.full(3, 2.5)).unique_value == 2.5 and constant([1, 2]).unique_value is None
    assert constant([]).unique_value is None
    assert constant_number(constant(numpy.full((1, 1), 3))) == 3 and constant_number(2) == 2
    assert constant_number(constant([1, 2])) is None and constant_number(TensorType("float64", ())()) is None


def test_copies_and_pickles():
    made = constant(numpy.arange(20.0), name="weights")
    made.signature()
    for copied in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied.equals(made) and copied.name == "weights" and type(copied) is type(made)


# ---- as_tensor_variable -------------------------------------------------------------------------------------------
def test_variables_pass_and_values_become_constants():
    x = TensorType("float64", (False,))()
    assert as_tensor_variable(x) is x and as_tensor_variable((x + 1).owner).owner.op is (x + 1).owner.op
    assert as_tensor_variable(3, name="three").name == "three"


def test_objects_may_define_their_conversion_to_tensors():
    x = TensorType("float64", (False,))()

    class Holder:
        def _as_TensorVariable(self):
            return x
    assert as_tensor_variable(Holder()) is x


def test_rank():
    x = TensorType("float64", (True, False))()
    assert as_tensor_variable(x, ndim=3).type.broadcastable == (True, True, False)
    assert as_tensor_variable(x, ndim=1).type.broadcastable == (False,)
    assert as_tensor_variable([1, 2], ndim=2).type.broadcastable == (True, False)
    with pytest.raises(ValueError, match="0 dimensions"):
        as_tensor_variable(x, ndim=0)


def test_lists_of_variables_are_stacked():
    x, y = TensorType("float64", ())("x"), TensorType("int8", ())("y")
    stacked = as_tensor_variable([x, y, 3])
    assert stacked.type.dtype == "float64" and stacked.type.ndim == 1


@pytest.mark.parametrize("value", [True, False, "text", None, object(), {1: 2}, [[1], [1, 2]], generic(),
                                   numpy.array(["a"]), numpy.ma.array([1.0], mask=[True]), numpy.array([None])])
def test_refused(value):
    with pytest.raises(AsTensorError):
        as_tensor_variable(value)


def test_true_and_false_hint_at_eq():
    with pytest.raises(AsTensorError, match=r"eq\(v, w\)"):
        as_tensor_variable(TensorType("float64", ())() == 1)
