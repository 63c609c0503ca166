"""``rearrange`` against reshapes and transpositions of NumPy, and its mistakes."""
import numpy
import pytest
from family_cases import check_gradient

import phintys.tensor as T
from phintys import function

X = numpy.arange(24.0).reshape(2, 3, 4)
CASES = {
    ("a b c -> c a b", ()): X.transpose(2, 0, 1), ("a b c -> (a b) c", ()): X.reshape(6, 4),
    ("a b c->(c a) b", ()): X.transpose(2, 0, 1).reshape(8, 3), ("a b c -> a 1 (b c)", ()): X.reshape(2, 1, 12),
    ("a b (c d) -> (d a) b c", (("d", 2),)): X.reshape(2, 3, 2, 2).transpose(3, 0, 1, 2).reshape(4, 3, 2),
    ("(a b) c d -> b a c d", (("b", 2),)): X.reshape(1, 2, 3, 4).transpose(1, 0, 2, 3),
    ("a (b 1) c -> (a b c)", ()): X.ravel(), ("a b c -> a b c", (("a", 2),)): X,
}


@pytest.mark.parametrize("pattern, lengths", CASES)
def test_values(pattern, lengths):
    x = T.dtensor3("x")
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        f = function([x], T.rearrange(x, pattern, **dict(lengths)), mode=mode)
        numpy.testing.assert_array_equal(f(X), CASES[pattern, lengths])
    check_gradient(lambda x: T.rearrange(x, pattern, **dict(lengths)), [X])


def test_a_dimension_of_length_one_is_dropped_and_lengths_may_be_symbolic():
    x, n = T.TensorType("float64", (True, False, False))("x"), T.lscalar("n")
    f = function([x, n], T.rearrange(x, "1 a (b c) -> (a c) b", c=n))
    numpy.testing.assert_array_equal(f(X[:1], 2), X[0].reshape(3, 2, 2).transpose(0, 2, 1).reshape(6, 2))


MISTAKES = {"a b c": "two sides", "a b -> b a": "has 2 dimensions, but x has 3", "a b c -> a b": "the same names",
            "a a b -> a b": "occurs twice", "a (b d) c -> a b c d": "lengths of b and d are not known",
            "a ((b) c) d -> a b c d": "not nested", "a b ... -> a b": "names, 1 and parentheses"}


@pytest.mark.parametrize("pattern", MISTAKES)
def test_mistakes(pattern):
    with pytest.raises(ValueError, match=MISTAKES[pattern]):
        T.rearrange(T.dtensor3("x"), pattern)
