"""Losses, attention and normalizations against NumPy's formulas, in both tails, and their derivatives."""
import numpy
import pytest
import scipy.special
from family_cases import check_gradient, check_values, values

import phintys.tensor as T

N = T.nnet
X, Y = values((4, 3)), values((4, 3), seed=1)
LABELS, WEIGHTS = numpy.array([0, 2, 1, 2]), numpy.array([1.0, 2.0, 0.5])
Q, K, V = [values((2, 3, 4), seed=seed) for seed in (0, 1, 2)]
MASK = values((3, 3), seed=3) > 0
MASK[:, 0] = [True, True, False]
MASK[2] = False


def nll(logits, weights=numpy.ones(3), smoothing=0.0):
    """As it is defined: a distribution of labels for each row."""
    logs = logits - scipy.special.logsumexp(logits, axis=1, keepdims=True)
    wanted = (1 - smoothing) * numpy.eye(3)[LABELS] + smoothing / 3
    return -(wanted * logs * weights).sum() / weights[LABELS].sum()


def attention(q, k, v, reads=None, added=0.0, scale=0.5):
    scores = q @ k.swapaxes(-1, -2) * scale + added
    shares = numpy.exp(scores - scores.max(axis=-1, keepdims=True)) * (1 if reads is None else reads)
    total = shares.sum(axis=-1, keepdims=True)
    return shares / numpy.where(total == 0, 1, total) @ v


def standard(x, axis):
    return (x - x.mean(axis, keepdims=True)) / numpy.sqrt(x.var(axis, keepdims=True) + 1e-5)


def entropies(x):
    return x - scipy.special.logsumexp(x, axis=-1, keepdims=True)


def focal(x, y, alpha=0.25, gamma=2.0):
    p = scipy.special.expit(x)
    return -(alpha * y * (1 - p) ** gamma * numpy.log(p) + (1 - alpha) * (1 - y) * p ** gamma * numpy.log1p(-p))


def lstm(x, h, c, w, u, b):
    enter, forget, new, out = numpy.split(x @ w + h @ u + b, 4, axis=-1)
    sigmoid = scipy.special.expit
    c = sigmoid(forget) * c + sigmoid(enter) * numpy.tanh(new)
    return numpy.concatenate([sigmoid(out) * numpy.tanh(c), c], axis=-1)


def gru(x, h, w, u, b, r):
    first, second = [numpy.split(part, 3, axis=-1) for part in (x @ w + b, h @ u + r)]
    reset, update = [scipy.special.expit(first[number] + second[number]) for number in (0, 1)]
    return (1 - update) * numpy.tanh(first[2] + reset * second[2]) + update * h


LABELS_OF_ONE = (X > 0) * 1.0
POSITIVE, OTHERS = abs(X) + 0.1, abs(Y) + 0.2
LSTM = [values((5, 3)), *[values((5, 2), seed=seed) for seed in (1, 2)], values((3, 8)), values((2, 8)), values((8,))]
GRU = [values((5, 3)), values((5, 2), seed=1), values((3, 6)), values((2, 6)), values((6,)), values((6,), seed=2)]
IMAGES, GAMMA = values((2, 4, 3, 2)), values((4,), seed=5)
CASES = {
    "huber": (N.huber_loss, lambda x, y: scipy.special.huber(1, x - y), [X, Y]),
    "huber of another edge": (lambda x, y: N.huber_loss(x, y, 0.3),
                              lambda x, y: scipy.special.huber(0.3, x - y), [X, Y]),
    "nll": (lambda x: N.nll_loss(x, LABELS), nll, [X]),
    "nll by weights": (lambda x: N.nll_loss(x, LABELS, WEIGHTS), lambda x: nll(x, WEIGHTS), [X]),
    "nll smoothed": (lambda x: N.nll_loss(x, LABELS, WEIGHTS, 0.1), lambda x: nll(x, WEIGHTS, 0.1), [X]),
    "huber of a variable edge": (lambda x, y: N.huber_loss(x, y, T.constant(0.3) * 1),
                                 lambda x, y: scipy.special.huber(0.3, x - y), [X, Y]),
    "nll smoothed by a variable": (lambda x: N.nll_loss(x, LABELS, WEIGHTS, T.constant(0.1) * 1),
                                   lambda x: nll(x, WEIGHTS, 0.1), [X]),
    "attention": (N.scaled_dot_product_attention, attention, [Q, K, V]),
    "causal": (lambda q, k, v: N.scaled_dot_product_attention(q, k, v, is_causal=True),
               lambda q, k, v: attention(q, k, v, numpy.tri(3)), [Q, K, V]),
    "masked": (lambda q, k, v: N.scaled_dot_product_attention(q, k, v, MASK, scale=0.7),
               lambda q, k, v: attention(q, k, v, MASK, scale=0.7), [Q, K, V]),
    "biased": (lambda q, k, v: N.scaled_dot_product_attention(q, k, v, X[:3]),
               lambda q, k, v: attention(q, k, v, added=X[:3]), [Q, K, V]),
    "layer norm": (lambda x, g: N.layer_norm(x, g, 0.5), lambda x, g: standard(x, -1) * g + 0.5, [X, WEIGHTS]),
    "layer norm over two": (lambda x: N.layer_norm(x, axis=(0, 1)), lambda x: standard(x, (0, 1)), [X]),
    "group norm": (lambda x, g: N.group_norm(x, 2, g, g),
                   lambda x, g: standard(x.reshape(2, 2, -1), 2).reshape(x.shape) * g[:, None, None] + g[:, None, None],
                   [IMAGES, GAMMA]),
    "instance norm": (lambda x: N.group_norm(x, 4), lambda x: standard(x, (2, 3)), [IMAGES]),
    "focal": (lambda x: N.focal_loss(x, LABELS_OF_ONE), lambda x: focal(x, LABELS_OF_ONE), [X]),
    "focal by another power": (lambda x: N.focal_loss(x, LABELS_OF_ONE, None, 3.5),
                               lambda x: 2 * focal(x, LABELS_OF_ONE, 0.5, 3.5), [X]),
    "rel_entr": (N.rel_entr, scipy.special.rel_entr, [POSITIVE, OTHERS]),
    "kl_div": (N.kl_div, scipy.special.kl_div, [POSITIVE, OTHERS]),
    "kl_categorical": (N.kl_categorical, lambda x, y: scipy.special.rel_entr(
        numpy.exp(entropies(x)), numpy.exp(entropies(y))).sum(-1), [X, Y]),
    "kl_normal": (N.kl_normal, lambda m, s, n, t: numpy.log(t / s) + (s ** 2 + (m - n) ** 2) / (2 * t ** 2) - 0.5,
                  [X, POSITIVE, Y, OTHERS]),
    "lstm_cell": (lambda *parts: T.concatenate(N.lstm_cell(*parts), axis=-1), lstm, LSTM),
    "gru_cell": (N.gru_cell, gru, GRU),
    "log_ndtr": (N.log_ndtr, scipy.special.log_ndtr, [numpy.array([-30.0, -3.0, -1.2, -0.9, 0.0, 2.0, 6.0])]),
    "ndtri": (N.ndtri, scipy.special.ndtri, [numpy.array([1e-9, 0.1, 0.5, 0.9])]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name):
    build, reference, arguments = CASES[name]
    check_values(build, reference, arguments)
    if name != "ndtri":                                 # differences are too coarse so near 0
        check_gradient(build, arguments)


def test_tails():
    x = numpy.array([-1e5, -40.0, 40.0, numpy.inf, -numpy.inf])
    numpy.testing.assert_allclose(N.log_ndtr(x).eval(), scipy.special.log_ndtr(x), rtol=1e-14)
    p = numpy.array([0.0, 1e-300, 1.0])
    numpy.testing.assert_allclose(N.ndtri(p).eval(), scipy.special.ndtri(p), rtol=1e-10)


def test_relative_entropies_at_the_ends_are_those_of_scipy():
    x, y = [part.ravel() for part in numpy.meshgrid(*[[-1.0, 0.0, 1e-300, 2.0, numpy.inf, numpy.nan]] * 2)]
    numpy.testing.assert_allclose(N.rel_entr(x, y).eval(), scipy.special.rel_entr(x, y))


def test_large_scores_and_errors_stay_finite():
    x = T.as_tensor(X * 1e6)
    assert numpy.isfinite(N.nll_loss(x, LABELS).eval())
    assert numpy.isfinite(N.scaled_dot_product_attention(Q * 1e200, K, V, MASK).eval()).all()
    assert N.huber_loss(numpy.array([1e300]), 0.0).eval() == 1e300


def test_mistakes():
    with pytest.raises(ValueError, match="labels must have one dimension less than logits"):
        N.nll_loss(X, X)
    with pytest.raises(ValueError, match="label_smoothing must be between 0 and 1, got 2"):
        N.nll_loss(X, LABELS, label_smoothing=2)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("ndtri", "log_ndtr")])
def test_second_derivatives(name):
    """The gradient of the first operand's gradient, against differences of the latter."""
    build, _, arguments = CASES[name]

    def slope(*operands):
        return T.grad(T.sum(T.sqr(build(*operands))), operands[0])
    T.verify_grad(slope, arguments, rng=numpy.random.RandomState(0), abs_tol=1e-3, rel_tol=1e-3)
