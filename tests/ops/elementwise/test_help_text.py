"""``help(T.exp)``: each elementwise function says its operands, shape and dtype, with an example that is true."""
import pydoc

import pytest

import phintys.tensor as T
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.help_text import operand_names
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

PUBLIC = {name: op for name, op in SCALAR_OPS.items() if getattr(T, name, None) is op.elementwise}


@pytest.mark.parametrize("name", PUBLIC)
def test_help(name):
    text = PUBLIC[name].elementwise.__doc__
    assert text.startswith(f"{name}({', '.join(operand_names(PUBLIC[name]))})\n\n{PUBLIC[name].__doc__}\n")
    assert all(part in text for part in ("Parameters\n------", "    Shape: that of ", "    Dtype: ", "\n>>> T."))
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", PUBLIC)
def test_example(name):
    example, result = PUBLIC[name].elementwise.__doc__.splitlines()[-2:]
    assert str(eval(example.removeprefix(">>> "), {"T": T})) == result


def test_rows_are_walked():
    assert len(PUBLIC) > 70


def test_pydoc_shows_it():
    text = pydoc.render_doc(T.exp, renderer=pydoc.plaintext)
    assert "exp(x)" in text and "Dtype: the common dtype" in text and ">>> T.exp(T.dmatrix()).type" in text


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
