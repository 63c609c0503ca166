"""PlainArguments: which arguments are passed on as they are."""
import numpy as np
import pytest

from phintys.vm.callables.plain_arguments import PlainArguments

PLAIN = PlainArguments(["x", "n"], [("float64", (None, 2)), ("int64", ())])
X, N = np.ones((3, 2)), np.array(4)


class Derived(np.ndarray):
    """An array of a class of its own."""


@pytest.mark.parametrize("x", [X, X[::-1], X[:0], np.asfortranarray(X)])
def test_accepted(x):
    assert PLAIN.accepts((x, N))


@pytest.mark.parametrize("x", [X.astype("float32"), X.astype(">f8"), X[:, :1], X[0], X.tolist(), X.view(Derived), None,
                               X.astype("int64")])
def test_not_accepted(x):
    assert not PLAIN.accepts((x, N))


def test_other_numbers_of_arguments_and_no_plain_values():
    assert not PLAIN.accepts((X,)) and not PLAIN.accepts((X, N, N)) and not PLAIN.accepts((X, 4))
    assert not PlainArguments(["x"], [None]).accepts((X,))
    assert PlainArguments([], []).accepts(())


def test_arguments_by_name():
    found = PLAIN.in_order({"n": N, "x": X})
    assert found[0] is X and found[1] is N
    assert PLAIN.in_order({"x": X}) is None and PLAIN.in_order({"x": X, "m": N}) is None
    assert PLAIN.in_order({"x": X, "n": N, "m": N}) is None
    assert PlainArguments(["x", "x"], [None, None]).in_order({"x": X, "n": N}) is None
    assert PlainArguments(["x", None], [None, None]).in_order({"x": X, None: N}) is None
