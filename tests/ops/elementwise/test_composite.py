"""Composite: values, dtypes, text and identity of fused scalar ops."""
import pickle

import numpy
import pytest
from one_op import compute

import phintys
import phintys.scalar
import phintys.tensor
from phintys.graph.config import change_flags
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.types.tensor_type import TensorType


def sigmoid_times_three():
    """i0 -> 3 * sigmoid(i0), sigmoid(i0) > i1"""
    three = numpy.array(3, "float32")
    steps = [(scalar.sigmoid, [0]), (scalar.mul, [2, 3]), (scalar.gt, [3, 1])]
    return Composite.of_steps(["float32", "float64"], steps, [4, 5], [three])


def test_values_and_dtypes_of_several_outputs():
    op = Elemwise(sigmoid_times_three())
    x, y = TensorType("float32", (False,))(), TensorType("float64", ())()
    outputs = op(x, y)
    assert [output.dtype for output in outputs] == ["float32", "bool"]
    values = [numpy.array([-1, 0, 2], "float32"), numpy.array(0.5)]
    product, above = compute(outputs, [x, y], values)
    numpy.testing.assert_allclose(product, 3 / (1 + numpy.exp(-values[0])), rtol=1e-6)
    numpy.testing.assert_array_equal(above, [False, False, True])


def test_equal_lists_are_one_object_in_a_process():
    assert sigmoid_times_three() is sigmoid_times_three()
    one, other = [Composite.of_steps(["float64"], [(scalar.mul, [0, 1])], [2], [numpy.array(value)])
                  for value in (0.0, -0.0)]
    assert one is not other and one != other                # constants are compared by their bytes


def test_a_composite_is_made_for_the_options_that_dtypes_depend_on():
    def dtype_of_quotient(**options):
        with change_flags(**options):
            return Composite.of_steps(["int16", "int16"], [(scalar.true_div, [0, 1])], [2]).slot_dtypes[2]
    assert [dtype_of_quotient(floatX=name) for name in ("float64", "float32", "float64")] == [
        "float64", "float32", "float64"]


def test_outputs_may_be_inputs_constants_or_the_same_slot():
    op = Elemwise(Composite.of_steps(["float64"], [(scalar.exp, [0])], [0, 1, 2, 2], [numpy.array(7, "int8")]))
    x = TensorType("float64", (False,))()
    outputs = compute(op(x), [x], [numpy.array([0.0, 1.0])])
    for got, wanted in zip(outputs, ([0, 1], [7, 7], [1, numpy.e], [1, numpy.e])):
        numpy.testing.assert_allclose(got, wanted)


def test_long_chains_are_flat():
    length = 3000
    steps = [(scalar.add, [0, 1])] + [(scalar.add, [2 + number, 1]) for number in range(length - 1)]
    op = Composite.of_steps(["float64"], steps, [length + 1], [numpy.array(1.0)])
    x = TensorType("float64", (False,))()
    value, = compute([Elemwise(op)(x)], [x], [numpy.zeros(5)])
    numpy.testing.assert_array_equal(value, numpy.full(5, length))
    assert len(str(op)) < 40 * length


def test_text_names_parts_that_are_used_twice():
    steps = [(scalar.add, [0, 1]), (scalar.mul, [2, 2]), (scalar.tanh, [3])]
    op = Composite.of_steps(["float64", "float64"], steps, [4])
    assert str(op) == "Composite{tanh((t0 * t0)), t0=(i0 + i1)}"
    assert str(Elemwise(op)) == "Elemwise{Composite{tanh((t0 * t0)), t0=(i0 + i1)}}"


def test_equality_is_by_steps_and_constants():
    assert sigmoid_times_three() == sigmoid_times_three() and hash(sigmoid_times_three()) == hash(sigmoid_times_three())
    other = Composite.of_steps(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(1.0)])
    assert other != Composite.of_steps(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(2.0)])
    assert other != Composite.of_steps(["float64"], [(scalar.add, [0, 1])], [2], [numpy.array(1, "int8")])
    assert pickle.loads(pickle.dumps(other)) == other


def test_errors():
    with pytest.raises(ValueError, match="only 1"):
        Composite.of_steps(["float64"], [(scalar.add, [0, 1])], [1])
    with pytest.raises(ValueError, match="outputs"):
        Composite.of_steps(["float64"], [], [1])
    with pytest.raises(TypeError, match="and_"):
        Composite.of_steps(["float64"], [(scalar.and_, [0, 0])], [1])
    with pytest.raises(TypeError, match="dtypes"):
        Elemwise(sigmoid_times_three())(TensorType("float64", ())(), TensorType("float64", ())())
    x = TensorType("float64", ())()
    output = Elemwise(Composite.of_steps(["float64"], [(scalar.exp, [0])], [1]))(x)
    with pytest.raises(NotImplementedError, match="after gradients"):
        output.owner.op.L_op([x], [output], [output])


# ---- from a graph on single numbers ----------------------------------------------------------------------------------
def numbers():
    return phintys.scalar.float64("x"), phintys.scalar.float32("y"), phintys.scalar.int8("k")


def test_a_graph_becomes_steps():
    x, y, k = numbers()
    op = Composite([k, x, y], [(x + y) * 0.5, x])
    assert op.input_dtypes == ("int8", "float64", "float32") and (op.nin, op.nout) == (3, 2)
    assert str(op) == "Composite{((i1 + i2) * 0.5), i1}"
    assert [v.dtype for v in op.inputs] == ["int8", "float64", "float32"] and op.outputs[0].dtype == "float64"
    assert op.inputs_type[2].dtype == "float32" and op.outputs_type[0].dtype == "float64"
    assert op.impl(3, 2.0, 4.0) == (3.0, 2.0)
    assert Composite(op.inputs, op.outputs) == op and pickle.loads(pickle.dumps(op)) == op


def test_composites_in_the_graph_are_replaced_by_their_steps():
    x, y, _ = numbers()
    inner = Composite([x, y], [x - y, x * y])
    first, second = inner(x * 2, y)
    outer = Composite([x, y], [first / second])
    assert [str(step) for step, _ in outer.steps] == ["mul", "sub", "mul", "true_div"]
    assert outer.impl(3.0, 2.0) == pytest.approx(4 / 12)


def test_a_hand_written_composite_runs_in_one_kernel():
    x, y, _ = numbers()
    op = Composite([x, y], [phintys.scalar.exp(x) + y])
    m, v = phintys.tensor.dmatrix(), phintys.tensor.fvector()
    f = phintys.function([m, v], phintys.tensor.tanh(Elemwise(op)(m, v)))
    assert [type(node.op).__name__ for node in f.maker.fgraph.toposort()] == ["DimShuffle", "Elemwise"]
    a, b = numpy.ones((2, 3)), numpy.arange(3, dtype="float32")
    numpy.testing.assert_allclose(f(a, b), numpy.tanh(numpy.exp(a) + b))


def test_numbers_are_arguments_of_functions():
    x, y, k = numbers()
    op = Composite([x, y], [x * y + 1])
    node = op.make_node(x, y)
    assert str(node.op) == str(op) and node.out.type.ndim == 0
    f = phintys.function([x, y, k], [node.out, phintys.scalar.add(k, 1)])
    product, following = f(2.0, 3.0, 7)
    assert product == 7 and following == 8 and following.dtype == "int8"


def test_operands_of_other_dtypes_get_another_composite():
    x, y, k = numbers()
    op = Composite([k, y], [k / y])
    assert op.make_node(k * y, y).out.dtype == "float32" and op.make_node(x, y).out.dtype == "float64"
    with pytest.raises(TypeError, match="expected 2"):
        op.make_node(x)


def test_without_half_precision():
    h = phintys.scalar.float16("h")
    inner = phintys.scalar.cast(h + numpy.float16(0.5), "float32")
    op = Composite([h], [phintys.scalar.cast(inner * 2, "float16")])
    wide = op.clone_float32()
    assert wide.input_dtypes == ("float32",) and "float16" not in wide.slot_dtypes
    assert wide.impl(numpy.float32(1.5)) == 4 and wide.impl(numpy.float32(1.5)).dtype == "float32"


def test_graphs_that_are_refused():
    x, y, k = numbers()
    with pytest.raises(ValueError, match="leaves.*y"):
        Composite([x], [x + y])
    with pytest.raises(ValueError, match="ScalarOp.*TensorFromScalar"):
        Composite([x], [phintys.tensor.tensor_from_scalar(x)])
    with pytest.raises(TypeError, match="single number"):
        Composite([phintys.tensor.dvector()], [x])
    with pytest.raises(TypeError, match="Input 1.*different from other inputs"):
        Composite([x, x], [x])


def test_impl_keeps_the_dtypes_of_python_numbers():
    assert scalar.add.impl(100, 100) == 200
    assert scalar.true_div.impl(1, 4) == 0.25 and scalar.gt.impl(2.0, 1) is numpy.True_
    with pytest.raises(TypeError, match="expected 2"):
        scalar.sub.impl(1)


# ---- ranges ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ends", [(True, True), (False, False), (True, False), (False, True)])
def test_in_range(ends):
    op = scalar.InRange(*ends)
    assert op is scalar.InRange(*ends) and isinstance(op, scalar.InRange) and pickle.loads(pickle.dumps(op)) is op
    expected = [False, not ends[0], True, not ends[1], False]
    assert [bool(op.impl(x, 1, 5)) for x in (0, 1, 2, 5, 7)] == expected
    x, low, high = phintys.tensor.fscalars("x", "low", "high")
    slopes = phintys.function([x, low, high], phintys.grad(op(x, low, high), [x, low, high]), on_unused_input="ignore")
    assert slopes(2, 1, 5) == [0, 0, 0]
    with pytest.raises(TypeError, match="no order"):
        op(phintys.scalar.complex64(), low, high)
