"""``help(T.exp)``: each elementwise function says its operands, shape and dtype, with an example that is true."""
import pydoc

import pytest

import phintys
import phintys.tensor as T
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.help_text import example_operands, operand_names
from phintys.ops.elementwise.scalar_op import SCALAR_OPS, LoopedScalarOp, upcast_out

PUBLIC = {name: op for name, op in SCALAR_OPS.items() if getattr(T, name, None) is op.elementwise}


@pytest.mark.parametrize("name", PUBLIC)
def test_help(name):
    text = PUBLIC[name].elementwise.__doc__
    assert text.startswith(f"{name}({', '.join(operand_names(PUBLIC[name]))})\n\n{PUBLIC[name].summary}\n")
    assert all(part in text for part in ("Parameters\n------", "    Shape: that of ", "    Dtype: ", "\n>>> T."))
    assert max(map(len, text.splitlines())) <= 120


def test_an_example_shows_the_type_and_values():
    assert T.switch.__doc__.endswith("""
>>> T.switch(T.dmatrix(), T.dmatrix(), T.dmatrix()).type
TensorType(float64, matrix)
>>> T.switch([True, False], [1.5, 2.5], 0.0).eval()
array([1.5, 0. ])""")
    assert ">>> T.isnan([1.0, numpy.nan, numpy.inf]).eval()\narray([False,  True, False])" in T.isnan.__doc__
    assert ">>> T.nnet.softsign([" in T.nnet.softsign.__doc__


def test_operands_of_examples_come_from_the_domain():
    assert SCALAR_OPS["betainc"].example is None
    a, b, x = example_operands(SCALAR_OPS["betainc"])
    assert all(0.2 < value < 3.1 for value in a + b) and all(0.1 < value < 0.9 for value in x) and a != b


def test_rows_are_walked():
    assert len(PUBLIC) > 70


def test_pydoc_shows_it():
    text = pydoc.render_doc(T.exp, renderer=pydoc.plaintext)
    assert "exp(x)" in text and "Dtype: the common dtype" in text and ">>> T.exp(T.dmatrix()).type" in text


def test_help_of_scalar_ops():
    assert phintys.scalar.hypot.__doc__ == """Elementwise sqrt(x ** 2 + y ** 2) without overflow.

Examples
--------
>>> x = phintys.scalar.float64("x")
>>> phintys.scalar.hypot(x, x).type
Scalar(float64)"""
    assert phintys.scalar.Hypot.__doc__ == phintys.scalar.hypot.__doc__
    assert LoopedScalarOp.__doc__.startswith("One elementwise operation with inner loops.")
    assert LoopedScalarOp("mine", 1, upcast_out, "exp").__doc__ == LoopedScalarOp.__doc__


def test_documentation_of_the_class_and_of_users_instances():
    assert Elemwise.__doc__.startswith("Apply a scalar op to tensors.")
    assert Elemwise(SCALAR_OPS["exp"], doc="Mine.").__doc__ == "Mine."


def test_dot():
    text = pydoc.render_doc(T.dot, renderer=pydoc.plaintext)
    assert "dot(a, b)" in text and "(n, k) and (k, m) give (n, m)" in text and "common dtype" in text
    example = [line.strip().removeprefix(">>> ") for line in text.splitlines() if line.strip().startswith(">>> ")]
    names = {"T": T}
    exec(example[0], names)
    assert repr(eval(example[1], names)) in text
