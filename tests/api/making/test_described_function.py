"""``inspect.signature(f)`` and the docstring of a compiled function."""
import inspect
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In

x, y, rate = T.dmatrix("x"), T.ivector("y"), T.dscalar("rate")
unnamed = T.dvector()


@pytest.mark.parametrize("inputs, expected", [
    ([x, y], "(x, y)"),
    ([x, In(rate, value=0.5)], "(x, rate=0.5)"),
    ([In(rate, value=0.5), x], "(rate=0.5, *, x)"),
    ([unnamed, x], "(input_0, /, x)"),
    ([x, unnamed], "(x, input_1, /)"),
    ([], "()"),
    ([T.dscalar("a b"), T.dscalar("two"), T.dscalar("two")], "(input_0, input_1, input_2, /)")])
def test_signatures(inputs, expected):
    f = phintys.function(inputs, [], on_unused_input="ignore")
    assert str(inspect.signature(f)) == expected


def test_states_may_be_given_and_shared_variables_may_not():
    state, w = T.dscalar("state"), phintys.shared(1.0, "w")
    f = phintys.function([In(state, value=2.0, update=state + rate), rate], state * w, updates=[(w, w + 1)])
    assert list(inspect.signature(f).parameters) == ["state", "rate"]
    bound = inspect.signature(f).bind(rate=3.0)
    assert f(*bound.args, **bound.kwargs) == 2.0


def test_the_docstring_says_what_goes_in_and_comes_out():
    w = phintys.shared(np.zeros(3), "w")
    f = phintys.function([x, In(rate, value=0.1)], [x.sum(), w], updates=[(w, w * rate)], name="train")
    text = inspect.getdoc(f)
    assert text.startswith("train(x, rate=0.1)\n")
    for part in ("x : TensorType(float64, matrix)", "rate : TensorType(float64, scalar), optional",
                 "Returns\n-------\nTensorType(float64, scalar)\nw : ", "Updates\n-------\nw : "):
        assert part in text


def test_the_class_keeps_its_own():
    assert inspect.getdoc(phintys.Function).startswith("A compiled function; made by ``phintys.function``.")
    assert list(inspect.signature(phintys.Function).parameters) == ["maker", "program", "input_storage", "model"]
    assert pickle.loads(pickle.dumps(phintys.function([x], x)))(np.ones((1, 1))) == 1
