"""The forms in which the function of a step returns outputs, updates and a condition; parts of shared variables."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.scan_module import until

s, t, many = phintys.shared(1.0, "s"), phintys.shared(2.0, "t"), phintys.shared(numpy.arange(6.0).reshape(2, 3), "many")
start, v, w, i = T.dscalar("start"), T.dscalar("v"), T.dvector("w"), T.lscalar("i")
ONE, TWO = (s, s + 1), (t, t * 2)


@pytest.fixture(autouse=True)
def values():
    s.set_value(1.0)
    t.set_value(2.0)
    many.set_value(numpy.arange(6.0).reshape(2, 3))


# name → what a step returns for a state and another number; whether both are outputs, and both shared variables change.
FORMS = {
    "one output": (lambda a, b: a, False, 0), "one in a list": (lambda a, b: [a], False, 0),
    "two in a list": (lambda a, b: [a, b], True, 0), "two in a tuple": (lambda a, b: (a, b), True, 0),
    "only a list in a tuple": (lambda a, b: ([a, b],), True, 0),
    "one and one": (lambda a, b: (a, [ONE]), False, 1), "lists of one and one": (lambda a, b: ([a], [ONE]), False, 1),
    "two lists of two": (lambda a, b: ([a, b], [ONE, TWO]), True, 2),
    "a tuple and a list": (lambda a, b: ((a, b), [ONE, TWO]), True, 2),
    "a list of both": (lambda a, b: [[a, b], [ONE, TWO]], True, 2),
    "updates in a tuple": (lambda a, b: ([a, b], (ONE, TWO)), True, 2),
    "pairs that are lists": (lambda a, b: ([a, b], [list(ONE), list(TWO)]), True, 2),
    "updates first": (lambda a, b: ([ONE, TWO], [a, b]), True, 2),
    "a dictionary": (lambda a, b: ([a, b], dict([ONE, TWO])), True, 2),
    "a dictionary first": (lambda a, b: (dict([ONE, TWO]), [a, b]), True, 2),
    "with a condition": (lambda a, b: ([a, b], [ONE, TWO], until(a > 1e9)), True, 2),
    "two and one": (lambda a, b: ([a, b], [ONE]), True, 1), "one and two": (lambda a, b: ([a], [ONE, TWO]), False, 2),
    "no updates": (lambda a, b: ([a, b], []), True, 0), "no updates by name": (lambda a, b: ([a, b], {}), True, 0),
}


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("name", FORMS)
def test_forms(name, steps):
    form, both, changed = FORMS[name]
    outputs, updates = phintys.scan(lambda state: form(state * 2, state + 1), outputs_info=[start, None][:1 + both],
                                    n_steps=steps, return_list=True)
    found = phintys.function([start], outputs, updates=updates)(1.0)
    states = 2.0 ** numpy.arange(1, steps + 1)
    for one, wanted in zip(found, [states, states / 2 + 1], strict=False):
        numpy.testing.assert_array_equal(one, wanted)
    assert len(found) == 1 + both
    assert s.get_value() == (1 + steps if changed else 1) and t.get_value() == (2 * 2 ** steps if changed == 2 else 2)


@pytest.mark.parametrize("form", [
    lambda a, b: (a, b, [ONE]), lambda a, b: (a, ONE), lambda a, b: ([a, b], ONE), lambda a, b: (a, b, until(a > 1)),
    lambda a, b: ([a, b], [ONE], [TWO]), lambda a, b: ([a, b], [a, b], [ONE]), lambda a, b: (until(a > 1), [a, b]),
    lambda a, b: ([a, b], [[ONE]]), lambda a, b: ([a, b], {s: "1"}), lambda a, b: None])
def test_other_forms_are_refused(form):
    with pytest.raises(ValueError, match="(?s)(return value of your|may only be made of).*Returned by the function"):
        phintys.scan(lambda state: form(state * 2, state + 1), outputs_info=[start, None], n_steps=3)


# name → (updates, what `many` becomes for v = 9, w = (7, 8, 9) and i = 1)
PARTS = {
    "an element": ([(many[1, 2], v)], [[0, 1, 2], [3, 4, 9]]),
    "a row, by name": ({many[0]: w}, [[7, 8, 9], [3, 4, 5]]),
    "a number for a row": ([(many[0], 0)], [[0, 0, 0], [3, 4, 5]]),
    "rows exchanged": ([(many[0], many[1]), (many[1], many[0])], [[3, 4, 5], [0, 1, 2]]),
    "a part of a part": ([(many[i:][0, :2], v)], [[0, 1, 2], [9, 9, 5]]),
    "columns": ([(many[:, [0, 2]], v)], [[9, 1, 9], [9, 4, 9]]),
    "where it is large": ([(many[many > 2], v)], [[0, 1, 2], [9, 9, 9]]),
    "rows by positions": ([(many[[1, 1]], v)], [[0, 1, 2], [9, 9, 9]]),
    "a row of the transpose": ([(many.T[0], w[:2])], [[7, 1, 2], [8, 4, 5]]),
    "the transpose": ([(many.T, (many + 1).T)], [[1, 2, 3], [4, 5, 6]]),
    "a new axis": ([(many[None, 1], v)], [[0, 1, 2], [9, 9, 9]]),
    "backwards": ([(many[::-1][0], v)], [[0, 1, 2], [9, 9, 9]]),
    "the later one counts": ([(many[0], v), (many[0, 1], -v)], [[9, -9, 9], [3, 4, 5]]),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_shared_variables_are_updated(name, mode):
    updates, wanted = PARTS[name]
    before = phintys.function([v, w, i], many + 0, updates=updates, on_unused_input="ignore", mode=mode)(
        9, [7, 8, 9], 1)
    numpy.testing.assert_array_equal(before, numpy.arange(6.0).reshape(2, 3))
    numpy.testing.assert_array_equal(many.get_value(), wanted)


def test_parts_are_updated_in_each_step():
    _, updates = phintys.scan(lambda k: [(many[0], many[1] + k), (many[1], many[0])], T.arange(3))
    phintys.function([], [], updates=updates)()
    numpy.testing.assert_array_equal(many.get_value(), [[5, 6, 7], [1, 2, 3]])


@pytest.mark.parametrize("updates, error, words", [
    ([(many * 2, v)], TypeError, r"no part of one \(s\[1\]\) either"), ([(v, v)], TypeError, "no part of one"),
    ([(many, many), (many[0], v)], ValueError, "already has an update expression"),
    ([(many[0], v), (many, many)], ValueError, "already has an update expression"),
    ([(many[0], T.dmatrix())], TypeError, "2-dimensional")])
def test_targets_that_are_refused(updates, error, words):
    with pytest.raises(error, match=words):
        phintys.function([v], [], updates=updates, on_unused_input="ignore")


def test_a_part_that_does_not_exist_changes_nothing():
    f = phintys.function([i, v], [], updates=[(many[i], v), (s, v)])
    with pytest.raises(IndexError):
        f(2, 9)
    assert s.get_value() == 1 and many.get_value()[1, 2] == 5
