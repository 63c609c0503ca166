"""What the op Print does: it shows a value when it is computed, and hands it on."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, grad
from phintys.gradient import Rop
from phintys.printing import Print

A = numpy.array([1.0, 2.0, 3.0])
x, y = T.dvector("x"), T.dvector("y")


def test_print(capsys):
    shown = Print("here", attrs=["shape", "max"])(x)
    value, gradient = function([x, y], [shown * 2, grad((shown ** 2).sum(), x) + Rop(shown, x, y)])(A, A)
    assert capsys.readouterr().out == "here shape = (3,)\nhere max = 3.0\n"
    numpy.testing.assert_allclose(value, 2 * A)
    numpy.testing.assert_allclose(gradient, 3 * A)
    function([x], Print("shape only")(x).shape)(A)
    assert capsys.readouterr().out == ""
    function([], Print("constant")(T.constant(2.5)))()
    assert capsys.readouterr().out == "constant __str__ = 2.5\n"


def test_print_calls_a_function_instead():
    seen = []
    shown = Print("there", global_fn=lambda op, value: seen.append((op.message, value.sum())))(x)
    function([x], shown)(A)
    assert seen == [("there", 6.0)]
    assert Print("a") == Print("a") and Print("a") != Print("b")


def test_a_saved_program_prints(tmp_path, capsys):
    x = T.dvector()
    function([x], Print("loaded")(x) + 1).save(tmp_path / "prints.phx")
    assert (phintys.load(tmp_path / "prints.phx")([1, 2]) == [2, 3]).all()
    assert capsys.readouterr().out == "loaded __str__ = [1. 2.]\n"
    with pytest.raises(TypeError, match="Print.*with a function"):
        function([x], Print("other", global_fn=lambda op, value: None)(x)).save(tmp_path / "other.phx")
