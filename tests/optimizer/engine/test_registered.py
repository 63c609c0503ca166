"""Rewrites that users register: what they return is checked, and what is wrong is told by name."""
import logging

import numpy
import pytest

import phintys
from phintys import gof
from phintys import tensor as T
from phintys.graph.config import change_flags

x = T.dvector("x")
strange = T.dvector("strange")
deep = T.exp(x)
for _ in range(8):
    deep = T.sinh(deep * 0.5)
VALUE = numpy.array([0.5, -1.0])

# What a rewrite does wrong: the op it is for, what it returns, a formula, the error.
WRONG = {
    "another dtype": (T.sinh, lambda node: [T.cast(node.inputs[0], "float32")], T.sinh(x),
                      (TypeError, r"float32, vector\) instead of TensorType\(float64, vector")),
    "integers": (T.sinh, lambda node: [T.cast(node.inputs[0], "int8")], T.sinh(x), (TypeError, "int8, vector")),
    "another rank": (T.sinh, lambda node: [node.inputs[0].sum()], T.sinh(x), (TypeError, "float64, scalar")),
    "a column": (T.sinh, lambda node: [node.inputs[0].dimshuffle(0, "x")], T.sinh(x), (TypeError, "float64, col")),
    "too many": (T.sinh, lambda node: list(node.inputs) * 2, T.sinh(x), (ValueError, "2 replacements for 1 outputs")),
    "a lost output": (T.max_and_argmax(x)[0].owner.op, lambda node: [node.inputs[0].max()],
                      T.max_and_argmax(x)[0] + T.max_and_argmax(x)[1], (ValueError, "1 replacements for 2 outputs")),
    "a text": (T.sinh, lambda node: ["x"], T.sinh(x), (TypeError, "'x', which is no variable")),
    "a number": (T.sinh, lambda node: 3.0, T.sinh(x), (TypeError, "3.0, which is no variable")),
    "its own reader": (T.exp, lambda node: [next(iter(node.fgraph.clients[node.outputs[0]]))[0].outputs[0]],
                       T.sinh(T.exp(x)) + 1, (ValueError, "read their own results")),
    "a late reader": (T.exp, lambda node: [T.tanh(node.fgraph.outputs[0])], deep, (ValueError, "own results")),
    "a stranger": (T.sinh, lambda node: [strange], T.sinh(x), (ValueError, "Undeclared input: strange")),
    "no end": (T.sinh, lambda node: [T.sinh(2 * node.inputs[0])], None, (RuntimeError, "after 100 rewrites in a row")),
}


def compiled(op, returned, formula):
    """A function that is compiled with a rewrite."""
    def wrong(node):
        return returned(node)

    rewrite = gof.local_optimizer([op])(wrong)
    return phintys.function([x], formula, mode=phintys.Mode(optimizer="fast_compile").register(rewrite))


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_raised_or_skipped_by_name(what, caplog):
    op, returned, formula, (error, text) = WRONG[what]
    formula = T.sinh(x) if formula is None else formula
    with change_flags(on_opt_error="raise"), pytest.raises(Exception, match=text) as found:
        compiled(op, returned, formula)
    assert isinstance(found.value, error) or error is ValueError and "Missing" in type(found.value).__name__
    assert "wrong" in str(found.value) + "".join(getattr(found.value, "__notes__", ["wrong"]))
    with change_flags(on_opt_error="warn"), caplog.at_level(logging.ERROR):
        f = compiled(op, returned, formula)
    assert "The rewrite wrong failed on" in caplog.text
    if what != "no end":
        plain = phintys.function([x], formula, mode=phintys.Mode(optimizer=None))
        numpy.testing.assert_allclose(f(VALUE), plain(VALUE))


def test_what_is_right_is_taken():
    parts = T.max_and_argmax(x)
    for op, returned, formula, expected in (
            (T.sinh, lambda node: [T.tanh(node.inputs[0])], T.sinh(x), numpy.tanh(VALUE)),
            (T.sinh, lambda node: T.tanh(node.inputs[0]), T.sinh(x), numpy.tanh(VALUE)),
            (T.sinh, lambda node: [T.tanh(node.outputs[0])], T.sinh(x), numpy.tanh(numpy.sinh(VALUE))),
            (T.sinh, lambda node: False, T.sinh(x), numpy.sinh(VALUE)),
            (parts[0].owner.op, lambda node: [None, T.zeros((), "int64")], parts[0] + parts[1] + 1, 1.5)):
        with change_flags(on_opt_error="raise"):
            numpy.testing.assert_allclose(compiled(op, returned, formula)(VALUE), expected)
