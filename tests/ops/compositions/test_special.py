"""`phintys.tensor.special`: SciPy's values, and gradients."""
import numpy
import pytest
import scipy.special

import phintys.tensor as T

X = numpy.array([-3.0, -0.5, 0.0, 0.25, 40.0])
POSITIVE = numpy.array([0.25, 1.0, 3.5])
CALLS = [("softmax", X), ("log_softmax", X), ("log_expit", X), ("expit", X), ("digamma", POSITIVE), ("huber", 0.5, X),
         ("huber", -1.0, X), ("pseudo_huber", 2.0, X), ("pseudo_huber", 0.0, X), ("boxcox", POSITIVE, 0.0),
         ("boxcox", POSITIVE, X[1:4]), ("boxcox1p", POSITIVE, 1e-8), ("inv_boxcox", POSITIVE, 0.5),
         ("inv_boxcox1p", POSITIVE, 0.0), ("kl_div", POSITIVE, 2.0), ("rel_entr", 0.0, POSITIVE),
         ("logsumexp", X), ("softmax", numpy.outer(X, POSITIVE), 0), ("log_softmax", numpy.outer(X, POSITIVE), (0, 1))]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_values(call):
    name, *arguments = call
    found = getattr(T.special, name)(T.as_tensor(arguments[0]), *arguments[1:]).eval()
    numpy.testing.assert_allclose(found, getattr(scipy.special, name)(*arguments), rtol=1e-12, atol=1e-300)


def test_multigammaln():
    numpy.testing.assert_allclose(T.special.multigammaln(T.as_tensor(POSITIVE + 2), 3).eval(),
                                  scipy.special.multigammaln(POSITIVE + 2, 3))
    with pytest.raises(ValueError, match="d must be a positive int, got 0"):
        T.special.multigammaln(1.0, 0)


@pytest.mark.parametrize("name, constants", [
    ("softmax", []), ("log_expit", []), ("boxcox", [0.3]), ("boxcox1p", [0.0]), ("inv_boxcox", [0.3]),
    ("inv_boxcox1p", [0.0]), ("multigammaln", [2])])
def test_gradients(name, constants):
    T.verify_grad(lambda x: getattr(T.special, name)(x, *constants), [POSITIVE + 1], rng=numpy.random)


def test_gradients_of_robust_losses():
    for name in ("huber", "pseudo_huber"):
        T.verify_grad(lambda r, name=name: getattr(T.special, name)(1.0, r), [X + 0.125], rng=numpy.random)


def test_names():
    assert dir(T.special) == sorted(T.special.__all__)
    assert [name for name in T.special.__all__ if not hasattr(scipy.special, name)] == []
