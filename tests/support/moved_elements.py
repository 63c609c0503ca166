"""Stable formulas with operations between them that only move elements, and what they are, exactly.

``PAIRS`` has formulas of one element: the inner function, the outer one, and the value and two derivatives for mpmath;
``ROWS`` those of rows of a matrix, in NumPy's long doubles. ``MOVES`` has operations as users write them, and what they
do to an array of NumPy's. Moved positions say which element of the formula is where in the result, so the derivatives
of a weighted sum of all results are known, too. An element that comes from another tensor has the position -1.
"""
import mpmath
import numpy

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse

POINTS = numpy.array([[0, 1e-3, -1e-3], [5, -5, 40], [-40, 800, -800]])
OTHER = 0.5                    # the elements of other tensors


# ---- formulas of one element -----------------------------------------------------------------------------------------
def logistic(t):
    return 1 / (1 + mpmath.exp(-t))


def softplus(t):
    return mpmath.log1p(mpmath.exp(t))


def curve(t):
    return logistic(t) * logistic(-t)


def bend(t):
    return curve(t) * (logistic(-t) - logistic(t))


def bell(t):
    return 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-t ** 2)


def log_erfc(t):
    return mpmath.log(mpmath.erfc(t))


def slope_of_log_erfc(t):
    return -bell(t) / mpmath.erfc(t)


def bend_of_log_erfc(t):
    return slope_of_log_erfc(t) * (-2 * t - slope_of_log_erfc(t))


def log_of_minus_expm1(t):
    return mpmath.log(-mpmath.expm1(t)) if t > -1 else mpmath.log1p(-mpmath.exp(t))


LOG_SIGMOID = (lambda t: -softplus(-t), lambda t: logistic(-t), lambda t: -curve(t))
LOG_OF_REST = (lambda t: -softplus(t), lambda t: -logistic(t), lambda t: -curve(t))
SOFTPLUS = (softplus, logistic, curve)
REST = (lambda t: logistic(-t), lambda t: -curve(t), lambda t: -bend(t))
LOG_ERFC = (log_erfc, slope_of_log_erfc, bend_of_log_erfc)
LOG1MEXP = (log_of_minus_expm1, lambda t: mpmath.exp(t) / mpmath.expm1(t),
            lambda t: -mpmath.exp(t) / mpmath.expm1(t) ** 2)
LINE = (lambda t: t, lambda t: 1, lambda t: 0)
LOG_CDF = (lambda t: log_erfc(-t / mpmath.sqrt(2)) - mpmath.log(2),
           lambda t: -slope_of_log_erfc(-t / mpmath.sqrt(2)) / mpmath.sqrt(2),
           lambda t: bend_of_log_erfc(-t / mpmath.sqrt(2)) / 2)

# name: (inner, outer, (value, derivative, second derivative), where it is defined)
PAIRS = {
    "log(sigmoid)": (T.nnet.sigmoid, T.log, LOG_SIGMOID, abs),
    "log(1 / (1 + exp(-x)))": (lambda x: 1 / (1 + T.exp(-x)), T.log, LOG_SIGMOID, abs),
    "log(exp(x) / (1 + exp(x)))": (lambda x: T.exp(x) / (1 + T.exp(x)), T.log, LOG_SIGMOID, abs),
    "log(1 - sigmoid)": (T.nnet.sigmoid, lambda s: T.log(1 - s), LOG_OF_REST, abs),
    "log1p(-sigmoid)": (T.nnet.sigmoid, lambda s: T.log1p(-s), LOG_OF_REST, abs),
    "log2(sigmoid)": (T.nnet.sigmoid, lambda s: T.log2(s) * numpy.log(2), LOG_SIGMOID, abs),
    "1 - sigmoid": (T.nnet.sigmoid, lambda s: 1 - s, REST, abs),
    "binary cross-entropy": (T.nnet.sigmoid, lambda s: T.nnet.binary_crossentropy(s, 0.25), (
        lambda t: softplus(t) - t / 4, lambda t: logistic(t) - mpmath.mpf(1) / 4, curve), abs),
    "log(1 + exp)": (T.exp, lambda s: T.log(1 + s), SOFTPLUS, abs),
    "log(of 1 + exp)": (lambda x: 1 + T.exp(x), T.log, SOFTPLUS, abs),
    "log1p(exp)": (T.exp, T.log1p, SOFTPLUS, abs),
    "log(3 + exp)": (T.exp, lambda s: T.log(3 + s), (
        lambda t: mpmath.log(3 + mpmath.exp(t)), lambda t: 1 / (1 + 3 * mpmath.exp(-t)),
        lambda t: 1 / (1 + 3 * mpmath.exp(-t)) / (1 + mpmath.exp(t) / 3)), abs),
    "log(exp)": (T.exp, T.log, LINE, abs),
    "log1p(expm1)": (T.expm1, T.log1p, LINE, abs),
    "exp(-softplus)": (T.nnet.softplus, lambda s: T.exp(-s), REST, abs),
    "1 / (1 + exp)": (T.exp, lambda s: 1 / (1 + s), REST, abs),
    "exp / (1 + exp)": (T.exp, lambda s: s / (1 + s), (logistic, curve, bend), abs),
    "log(erfc)": (T.erfc, T.log, LOG_ERFC, abs),
    "log(1 - erf)": (T.erf, lambda s: T.log(1 - s), LOG_ERFC, abs),
    "log1p(erf)": (T.erf, T.log1p, (lambda t: log_erfc(-t), lambda t: -slope_of_log_erfc(-t),
                                    lambda t: bend_of_log_erfc(-t)), abs),
    "1 - erf": (T.erf, lambda s: 1 - s, (mpmath.erfc, lambda t: -bell(t), lambda t: 2 * t * bell(t)), abs),
    "log of the normal distribution": (lambda x: 0.5 * (1 + T.erf(x / numpy.sqrt(2))), T.log, LOG_CDF, abs),
    "exp - 1": (T.exp, lambda s: s - 1, (mpmath.expm1, mpmath.exp, mpmath.exp), lambda t: t < 100),
    "log(-expm1)": (T.expm1, lambda s: T.log(-s), LOG1MEXP, lambda t: t < 0),
    "log1p(-exp)": (T.exp, lambda s: T.log1p(-s), LOG1MEXP, lambda t: t < 0),
    "log(exp - 1)": (T.exp, lambda s: T.log(s - 1), (
        lambda t: t + mpmath.log(-mpmath.expm1(-t)), lambda t: -1 / mpmath.expm1(-t),
        lambda t: -mpmath.exp(-t) / mpmath.expm1(-t) ** 2), lambda t: t > 0),
}


# ---- formulas of rows ------------------------------------------------------------------------------------------------
def logsumexp(row):
    """The logarithm of the sum of a row's exponentials, with its first and second derivatives."""
    exponentials = numpy.exp(row - row.max())
    shares = exponentials / exponentials.sum()
    return row.max() + numpy.log(exponentials.sum()), shares, numpy.diag(shares) - numpy.outer(shares, shares)


def log_softmax(row):
    value, slope, bend_ = logsumexp(row)
    return row - value, numpy.eye(len(row)) - slope, numpy.array([-bend_] * len(row))


def log_of_others(row):
    """Of 1 - softmax."""
    value, slope, bend_ = logsumexp(row)
    results = []
    for place in range(len(row)):
        other, share, its_bend = logsumexp(numpy.delete(row, place))
        share = numpy.insert(share, place, 0)
        its_bend = numpy.insert(numpy.insert(its_bend, place, 0, axis=0), place, 0, axis=1)
        results.append((other - value, share - slope, its_bend - bend_))
    return tuple([numpy.array(each) for each in zip(*results)])


def one_column(row):
    return tuple([numpy.array(each)[None] for each in logsumexp(row)])


def log_of_mean(row):
    value, *derivatives = logsumexp(row)
    return (value - numpy.log(numpy.longdouble(len(row))), *derivatives)


# name: (inner, outer, value and derivatives of a row)
ROWS = {
    "log(softmax)": (T.nnet.softmax, T.log, log_softmax),
    "log(exp / sum(exp))": (lambda x: T.exp(x) / T.exp(x).sum(axis=1, keepdims=True), T.log, log_softmax),
    "log1p(-softmax)": (T.nnet.softmax, lambda s: T.log1p(-s), log_of_others),
    "log(1 - softmax)": (T.nnet.softmax, lambda s: T.log(1 - s), log_of_others),
    "log(sum(exp))": (lambda x: T.exp(x).sum(axis=1), T.log, logsumexp),
    "log(sum(exp)), kept": (lambda x: T.exp(x).sum(axis=1, keepdims=True), T.log, one_column),
    "log(mean(exp))": (lambda x: T.exp(x).mean(axis=1), T.log, log_of_mean),
}


# ---- operations that move elements -----------------------------------------------------------------------------------
def others(s):
    """Another tensor of this shape, for variables; positions -1 for positions."""
    if isinstance(s, numpy.ndarray):
        return numpy.full(s.shape, -1)
    return T.alloc(numpy.asarray(OTHER, s.dtype), *[s.shape[axis] for axis in range(s.ndim)])


def shapes_of(s):
    return s.shape if isinstance(s, numpy.ndarray) else [s.shape[axis] for axis in range(s.ndim)]


def first_rows(s):
    """A condition that holds for all rows but the first."""
    if isinstance(s, numpy.ndarray):
        return numpy.arange(s.shape[0]).reshape(-1, *[1] * (s.ndim - 1)) > 0
    return T.arange(s.shape[0]).dimshuffle(0, *["x"] * (s.ndim - 1)) > 0


def two_places(s):
    rows = numpy.array([1, 0])
    return s[rows] if s.ndim == 1 else s[rows, numpy.array([0, 0])]


MASK = numpy.array([True, False, True])

# name: the same for variables and for arrays, or one function for each
MOVES = {
    "nothing": lambda s: s,
    "dimshuffle": (lambda s: s.dimshuffle(*range(s.ndim), "x"), lambda s: s[..., None]),
    "new first axis": (lambda s: s.dimshuffle("x", *range(s.ndim)), lambda s: s[None]),
    "T": lambda s: s.T,
    "flatten": (lambda s: s.flatten(), lambda s: s.ravel()),
    "reshape": lambda s: s.reshape((-1, 1)),
    "[::-1]": lambda s: s[::-1],
    "[1]": lambda s: s[1 if s.ndim > 1 else slice(1, 2)],
    "[-1:]": lambda s: s[-1:],
    "[..., 0]": lambda s: s[..., 0] if s.ndim > 1 else s[:2],
    "[vector]": lambda s: s[numpy.array([2, 0, 2])],
    "[matrix]": lambda s: s[numpy.array([[1, 0], [2, 1]])],
    "[vector, vector]": two_places,
    "[mask]": lambda s: s[MASK],
    "take": (lambda s: T.take(s, [0, 0, 2], axis=0), lambda s: numpy.take(s, [0, 0, 2], axis=0)),
    "roll": (lambda s: T.roll(s, 1, axis=0), lambda s: numpy.roll(s, 1, axis=0)),
    "repeat": (lambda s: T.repeat(s, 2, axis=0), lambda s: numpy.repeat(s, 2, axis=0)),
    "tile": (lambda s: T.tile(s, (2,) * s.ndim), lambda s: numpy.tile(s, (2,) * s.ndim)),
    "concatenate": (lambda s: T.concatenate([s, others(s)]), lambda s: numpy.concatenate([s, others(s)])),
    "stack": (lambda s: T.stack([s, s[::-1]]), lambda s: numpy.stack([s, s[::-1]])),
    "split": (lambda s: T.split(s, [1, s.shape[0] - 1], 2, axis=0)[1], lambda s: s[1:]),
    "switch": (lambda s: T.switch(first_rows(s), s, others(s)), lambda s: numpy.where(first_rows(s), s, -1)),
    "where a number": (lambda s: T.switch(first_rows(s), s, numpy.asarray(OTHER, s.dtype)),
                       lambda s: numpy.where(first_rows(s), s, -1)),
    "ifelse": (lambda s: ifelse(T.gt(s.shape[0], 0), s, others(s)), lambda s: s),
    "alloc": (lambda s: T.alloc(s, 2, *shapes_of(s)), lambda s: numpy.broadcast_to(s, (2, *s.shape))),
    "broadcast_to": (lambda s: T.broadcast_to(s, (2, *shapes_of(s))), lambda s: numpy.broadcast_to(s, (2, *s.shape))),
    "moveaxis": (lambda s: T.moveaxis(s, 0, -1), lambda s: numpy.moveaxis(s, 0, -1)),
    "swapaxes": lambda s: s.swapaxes(0, -1),
    "specify_shape": (lambda s: T.specify_shape(s, s.shape), lambda s: s),
    "set_subtensor": (lambda s: T.set_subtensor(others(s)[1:], s[1:]),
                      lambda s: numpy.concatenate([others(s)[:1], s[1:]])),
    "set in it": (lambda s: T.set_subtensor(s[:1], OTHER), lambda s: numpy.concatenate([others(s)[:1], s[1:]])),
    "diagonal": (lambda s: T.diagonal(s) if s.ndim > 1 else s[::2],
                 lambda s: numpy.diagonal(s) if s.ndim > 1 else s[::2]),
    "copy": (lambda s: s.copy(), lambda s: s),
    "Assert": (lambda s: T.opt.Assert("not here")(s, T.ge(s.shape[0], 0)), lambda s: s),
}


def moved(name, s):
    """Apply operations, ``"T, [::-1]"``, to a variable or to positions."""
    for each in name.split(", ") if name not in MOVES else [name]:
        move = MOVES[each]
        s = (move[isinstance(s, numpy.ndarray)] if isinstance(move, tuple) else move)(s)
    return s


def is_possible(formula, moves):
    """Return whether results of the formula have the elements that are moved; some have a single column."""
    shape = numpy.shape([ROWS[formula][2](row)[0] for row in POINTS]) if formula in ROWS else POINTS.shape
    try:
        moved(moves, numpy.zeros(shape, int))
    except IndexError:
        return False
    return True


# ---- cases -----------------------------------------------------------------------------------------------------------
class Case:
    """A formula with moves in it, and what it, its gradient, and its Hessian times a vector should be.

    The cost is the sum of ``weights`` times all results.
    """

    def __init__(self, formula, moves, dtype):
        self.formula, self.moves = formula, moves
        points, values, slopes, bends = (_of_rows if formula in ROWS else _of_elements)(formula, dtype)
        self.points, count = points, points.size
        positions = numpy.asarray(moved(moves, numpy.arange(values.size).reshape(values.shape)))
        random = numpy.random.default_rng(0)
        self.weights, self.vector = random.uniform(0.5, 2, positions.shape), random.normal(size=points.shape)
        self.own = positions >= 0
        self.values = numpy.where(self.own, values.ravel()[positions], numpy.nan)
        weights = numpy.zeros(values.size, numpy.longdouble)
        numpy.add.at(weights, positions[self.own], self.weights[self.own])
        self.gradient = numpy.einsum("k,ki->i", weights, slopes.reshape(-1, count)).reshape(points.shape)
        self.product = numpy.einsum("k,kij,j->i", weights, bends.reshape(-1, count, count),
                                    self.vector.ravel()).reshape(points.shape)

    def variables(self, dtype):
        """Return the inputs x and v, and the formula, the gradient and the product for these."""
        x, v = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, (False, False))("v")
        inner, outer = {**PAIRS, **ROWS}[self.formula][:2]
        result = outer(moved(self.moves, inner(x)))
        slope = T.grad((result * self.weights.astype(dtype)).sum(), x)
        return [x, v], [result, slope, T.grad((slope * v).sum(), x)]


def _of_elements(formula, dtype):
    _, _, functions, defined = PAIRS[formula]
    points = POINTS.ravel()
    points = numpy.resize([t for t in points if defined is abs or defined(t)], 9).astype(dtype)
    with mpmath.workdps(60):
        values, slopes, bends = [numpy.array([float(function(mpmath.mpf(float(t)))) for t in points], numpy.longdouble)
                                 for function in functions]
    shape = POINTS.shape
    return points.reshape(shape), values.reshape(shape), numpy.diag(slopes), _third_order(bends)


def _third_order(bends):
    result = numpy.zeros([len(bends)] * 3, bends.dtype)
    numpy.einsum("iii->i", result)[:] = bends
    return result


def _of_rows(formula, dtype):
    points = POINTS.astype(dtype)
    results = [ROWS[formula][2](row) for row in points.astype(numpy.longdouble)]
    values = numpy.array([value for value, _, _ in results])
    count, width = points.shape
    slopes = numpy.zeros((count, values.size // count, count, width), numpy.longdouble)
    bends = numpy.zeros((count, values.size // count, count, width, count, width), numpy.longdouble)
    for row, (_, slope, bend_) in enumerate(results):
        slopes[row, :, row], bends[row, :, row, :, row] = slope, bend_
    return points, values, slopes, bends


def check(formula, moves, dtype="float64", mode="FAST_RUN", outputs=(0, 1, 2)):
    """Compile a case and compare its results: the value, the gradient and the product."""
    case = Case(formula, moves, dtype)
    inputs, results = case.variables(dtype)
    function = phintys.function(inputs, [results[number] for number in outputs], mode=mode, on_unused_input="ignore")
    # A logarithm near 0 that is a difference, as that of a softmax, has an absolute error of one rounding, and so has
    # 1 - sigmoid(x) where the gradient needs sigmoid(x), too.
    relative, absolute = {"float64": (1e-9, 1e-13), "float32": (2e-4, 2e-5)}[dtype]
    rounds = formula in ROWS or formula == "1 - sigmoid" and 1 in outputs
    smallest = absolute if dtype == "float32" else 2e-15 if rounds else 1e-300
    for number, found in zip(outputs, function(case.points, case.vector.astype(dtype))):
        wanted = (case.values, case.gradient, case.product)[number].astype(dtype)
        found = numpy.where(case.own, found, numpy.nan) if number == 0 else found
        numpy.testing.assert_allclose(found, wanted, rtol=relative, atol=absolute if number else smallest,
                                      err_msg=("value", "gradient", "Hessian times vector")[number])
