"""Composite: values, dtypes, text and identity of fused scalar ops."""
import pickle

import numpy
import pytest
from test_elementwise_table import compute

import phintys.ops.operators  # noqa: F401  tensor variables
from phintys.ops import scalar
from phintys.ops.composite import Composite
from phintys.ops.elementwise import Elemwise
from phintys.ops.tensor_type import TensorType


def sigmoid_times_three():
    """i0 -> 3 * sigmoid(i0), sigmoid(i0) > i1"""
    three = numpy.array(3, "float32")
    return Composite(["float32", "float64"], [(scalar.sigmoid, [0]), (scalar.mul, [2, 3]), (scalar.gt, [3, 1])], [4, 5],
                     [three])


def test_values_and_dtypes_of_several_outputs():
    op = Elemwise(sigmoid_times_three())
    x, y = TensorType("float32", (False,))(), TensorType("float64", ())()
    outputs = op(x, y)
    assert [output.dtype for output in outputs] == ["float32", "bool"]
    values = [numpy.array([-1, 0, 2], "float32"), numpy.array(0.5)]
    product, above = compute(outputs, [x, y], values)
    numpy.testing.assert_allclose(product, 3 / (1 + numpy.exp(-values[0])), rtol=1e-6)
    numpy.testing.assert_array_equal(above, [False, False, True])


def test_outputs_may_be_inputs_constants_or_the_same_slot():
    op = Elemwise(Composite(["float64"], [(scalar.exp, [0])], [0, 1, 2, 2], [numpy.array(7, "int8")]))
    x = TensorType("float64", (False,))()
    outputs = compute(op(x), [x], [numpy.array([0.0, 1.0])])
    for got, wanted in zip(outputs, ([0, 1], [7, 7], [1, numpy.e], [1, numpy.e])):
        numpy.testing.assert_allclose(got, wanted)


def test_long_chains_are_flat():
    length = 3000
    steps = [(scalar.add, [0, 1])] + [(scalar.add, [2 + number, 1]) for number in range(length - 1)]
    op = Composite(["float64"], steps, [length + 1], [numpy.array(1.0)])
    x = TensorType("float64", (False,))()
    value, = compute([Elemwise(op)(x)], [x], [numpy.zeros(5)])
    numpy.testing.assert_array_equal(value, numpy.full(5, length))
    assert len(str(op)) < 40 * length


def test_text_names_what_is_used_twice():
    op = Composite(["float64", "float64"], [(scalar.add, [0, 1]), (scalar.mul, [2, 2]), (scalar.tanh, [3])], [4])
    assert str(op) == "Composite{tanh((t0 * t0)), t0=(i0 + i1)}"
    assert str(Elemwise(op)) == "Elemwise{Composite{tanh((t0 * t0)), t0=(i0 + i1)}}"


def test_equality_is_by_steps_and_constants():
    assert sigmoid_times_three() == sigmoid_times_three() and hash(sigmoid_times_three()) == hash(sigmoid_times_three())
    other = Composite(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(1.0)])
    assert other != Composite(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(2.0)])
    assert other != Composite(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(1, "int8")])
    assert pickle.loads(pickle.dumps(other)) == other


def test_errors():
    with pytest.raises(ValueError, match="only 1"):
        Composite(["float64"], [(scalar.add, [0, 1])], [1])
    with pytest.raises(ValueError, match="outputs"):
        Composite(["float64"], [], [1])
    with pytest.raises(TypeError, match="and_"):
        Composite(["float64"], [(scalar.and_, [0, 0])], [1])
    with pytest.raises(TypeError, match="dtypes"):
        Elemwise(sigmoid_times_three())(TensorType("float64", ())(), TensorType("float64", ())())
    x = TensorType("float64", ())()
    output = Elemwise(Composite(["float64"], [(scalar.exp, [0])], [1]))(x)
    with pytest.raises(NotImplementedError, match="after gradients"):
        output.owner.op.L_op([x], [output], [output])
