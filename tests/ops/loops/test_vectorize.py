"""``vectorize``: for each kind of op the results of all rows at once are those of the rows one by one."""
import warnings

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.loops.vectorize import NAMED_ONCE

RANDOM = numpy.random.RandomState(0)


def normal(*shape):
    return numpy.asarray(RANDOM.randn(*shape))


MATRICES = normal(3, 4, 4)
POSITIVE = MATRICES @ MATRICES.transpose(0, 2, 1) + numpy.eye(4)
PLACES = RANDOM.randint(0, 4, (3, 6))
ORDERS = numpy.array([RANDOM.permutation(4) for _ in range(3)])


def recurrent(x, h, w):
    return phintys.scan(lambda x, h, w: T.tanh(x + T.dot(h, w)), sequences=x, outputs_info=h, non_sequences=w)[0]


def two_taps(x):
    return phintys.scan(lambda s, a, b: a * 0.5 + b * s, sequences=T.arange(4.0, dtype="float64"),
                        outputs_info={"initial": x, "taps": [-1, -2]})[0]


def running_total(x):
    return phintys.scan(lambda a, s: s + a ** 2, sequences=x, outputs_info=T.constant(0.0, dtype="float64"))[0][-1]


def squares(x):
    inner = T.dvector("inner")
    return phintys.OpFromGraph([inner], [inner ** 2, inner.sum()])(x)


# Name → function, arguments, and which of them have rows.
CASES = {
    "elementwise": (lambda x, y: T.exp(x) * y, [normal(3, 4), normal(4)], (0, None)),
    "special functions": (lambda x: T.gammaln(abs(x)).sum(), [normal(3, 4)], None),
    "cholesky": (T.linalg.cholesky, [POSITIVE], None),
    "solve": (T.linalg.solve, [POSITIVE, normal(3, 4, 2)], None),
    "solve vectors": (T.linalg.solve, [POSITIVE, normal(3, 4)], None),
    "solve by one matrix": (T.linalg.solve, [POSITIVE[0], normal(3, 4)], (None, 0)),
    "solve one": (T.linalg.solve, [POSITIVE, normal(4, 2)], (0, None)),
    "determinants": (lambda x: [T.linalg.det(x), T.linalg.slogdet(x)[1]], [POSITIVE], None),
    "eigh": (lambda x: T.linalg.eigh(x)[0], [POSITIVE], None),
    "cumsum": (lambda x: [T.cumsum(x, axis=1), T.cumsum(x), T.diff(x)], [normal(3, 2, 5)], None),
    "sort": (lambda x: [T.sort(x, axis=0), T.argsort(x), T.sort(x, axis=None)], [normal(3, 2, 5)], None),
    "extrema": (lambda x: [T.argmax(x, axis=0), T.argmin(x), T.max_and_argmax(x, axis=1)[0]], [normal(3, 2, 5)], None),
    "quantiles": (lambda x: [T.median(x), T.quantile(x, 0.3, axis=1)], [normal(3, 2, 5)], None),
    "diagonals": (lambda x: [T.diagonal(x), T.diag(x[0]), T.tril(x)], [normal(3, 5, 4)], None),
    "lengths": (lambda x: [x.shape, x.sum() / x.shape[1], T.mean(x, axis=0)], [normal(3, 5, 4)], None),
    "part": (lambda x: x[:, numpy.array([0, 2, 2])], [normal(3, 5, 4)], None),
    "parts": (lambda x, i: [x[i], x[i, i], x[1:, i]], [normal(3, 4, 4), PLACES], None),
    "parts of one": (lambda x, i: x[:, i], [normal(5, 4), PLACES], (None, 0)),
    "parts apart": (lambda x, i: [x[i, :, i], x[:, i, 0], x[1:, i, numpy.array([0])]], [normal(3, 4, 4, 4), PLACES],
                    None),
    "the same parts apart": (lambda x: x[numpy.array([0, 1]), :, numpy.array([1, 0])], [normal(3, 4, 2, 4)], None),
    "elements": (lambda x, j, k: [x[j], x[:, j], x[j, k], x[j, 1:]], [normal(3, 4, 4), PLACES[:, 0], PLACES[:, 1]],
                 None),
    "elements of one": (lambda x, j: x[:, j, 1:], [normal(5, 4, 3), PLACES[:, 0]], (None, 0)),
    "set": (lambda x, i, y: T.set_subtensor(x[:, i], y), [normal(3, 5, 4), ORDERS, normal(3, 5, 4)], None),
    "increase": (lambda x, i, y: T.inc_subtensor(x[i], y), [normal(3, 5, 4), PLACES[:, :2], normal(4)], (0, 0, None)),
    "increase one": (lambda x, i, y: T.inc_subtensor(x[:, i], y), [normal(5, 4), PLACES[:, :2], normal(3, 2)], (None,
                                                                                                                0, 0)),
    "set elements": (lambda x, j, y: T.set_subtensor(x[:, j], y), [normal(3, 5, 4), PLACES[:, 0], normal(3, 5)], None),
    "take along": (lambda x, i: T.take_along_axis(x, i, 1), [normal(3, 4, 4), RANDOM.randint(0, 4, (3, 4, 2))], None),
    "softmax": (T.nnet.softmax, [normal(3, 2, 5)], None),
    "one filter": (T.nnet.conv2d, [normal(3, 1, 2, 6, 6), normal(2, 2, 3, 3)], (0, None)),
    "filters": (T.nnet.conv2d, [normal(3, 1, 2, 6, 6), normal(3, 2, 2, 3, 3)], None),
    "pooling": (lambda x: T.signal.pool.pool_2d(x, (2, 2), ignore_border=True), [normal(3, 2, 6, 6)], None),
    "gradient of pooling": (lambda x: T.grad(T.signal.pool.pool_2d(x, (2, 2), ignore_border=True).prod(), x),
                            [normal(3, 2, 4, 4)], None),
    "ifelse": (lambda c, x, y: phintys.ifelse.ifelse(c > 0, x, y), [normal(3), normal(3, 4), normal(3, 4)], None),
    "one ifelse": (lambda c, x, y: phintys.ifelse.ifelse(c > 0, x, y), [normal(), normal(3, 4), normal(4)], (None, 0,
                                                                                                             None)),
    "products": (lambda x, y: [T.batched_dot(x, y), T.matmul(x, y[0])], [normal(3, 2, 4, 5), normal(3, 2, 5, 6)], None),
    "scan": (recurrent, [normal(3, 7, 4), normal(3, 4), normal(4, 4)], (0, 0, None)),
    "scan from rows": (recurrent, [normal(7, 4), normal(3, 4), normal(4, 4)], (None, 0, None)),
    "scan with matrices": (recurrent, [normal(7, 4), normal(4), normal(3, 4, 4)], (None, None, 0)),
    "scan over rows": (recurrent, [normal(3, 7, 4), normal(4), normal(4, 4)], (0, None, None)),
    "scan with two taps": (two_taps, [normal(3, 2)], None),
    "scan with a sum": (running_total, [normal(3, 7)], None),
    "map": (lambda x: phintys.scan(lambda a: [a ** 2, T.constant(1.0, dtype="float64")], sequences=x)[0], [normal(3,
                                                                                                                  7)],
            None),
    "gradients": (lambda x, w: T.grad(T.tanh(T.dot(x, w)).sum(), w), [normal(3, 4), normal(4, 5)], (0, None)),
    "gradients of scans": (lambda x, h, w: T.grad(recurrent(x, h, w).sum(), [x, w]),
                           [normal(3, 7, 4), normal(3, 4), normal(4, 4)], (0, 0, None)),
    "Jacobian": (lambda x: T.jacobian(T.tanh(T.dot(x, MATRICES[0])), x), [normal(3, 4)], None),
    "op from graph": (squares, [normal(3, 4)], None),
    "what is the same for all": (lambda x: [x * 2, T.as_tensor(numpy.arange(3.0))], [normal(3)], None),
    "Fourier transform": (lambda x: abs(T.fft.fft(x)), [normal(3, 8)], None),
    "search": (lambda x, v: T.searchsorted(T.sort(x), v), [normal(3, 4), normal(3, 5)], None),
    "repeat": (lambda x: T.repeat(x, 2), [normal(3, 4)], None),
    "NumPy's": (lambda x: [T.pad(x, 1, "reflect"), T.nanmean(x), T.unwrap(x), T.roll(x, 1)], [normal(3, 5)], None),
}
# Cases in which an op runs in a loop, row by row.
IN_LOOPS = {"filters", "search"}


@pytest.mark.filterwarnings("ignore:vectorize")
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_single_calls(name):
    function, arrays, axes = CASES[name]
    axes = axes or (0,) * len(arrays)
    inputs = [T.TensorType(array.dtype, (False,) * array.ndim)() for array in arrays]
    singles = [T.TensorType(x.type.dtype, (False,) * (x.type.ndim - (axis == 0)))() for x, axis in zip(inputs, axes)]
    NAMED_ONCE.clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outputs = phintys.vectorize(function, axes)(*inputs)
    assert bool([1 for warning in said if "vectorize" in str(warning.message)]) == (name in IN_LOOPS)
    single = phintys.function(singles, flat(function(*singles)), on_unused_input="ignore")
    wanted = [single(*[array[row] if axis == 0 else array for array, axis in zip(arrays, axes)]) for row in range(3)]
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        found = phintys.function(inputs, flat(outputs), mode=mode, on_unused_input="ignore")(*arrays)
        for number, got in enumerate(found):
            numpy.testing.assert_allclose(got, numpy.stack([row[number] for row in wanted]), rtol=1e-10, atol=1e-12)


def flat(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def test_a_loop_stays_one_loop():
    x, h, w = T.dtensor3(), T.dmatrix(), T.dmatrix()
    f = phintys.function([x, h, w], phintys.vectorize(recurrent, (0, 0, None))(x, h, w))
    assert [type(node.op).__name__ for node in f.maker.fgraph.toposort()].count("Scan") == 1


def test_axes_of_arguments_and_results():
    x = T.dtensor3("x")
    f = phintys.function([x], phintys.vectorize(lambda m: (m.sum(axis=0), m * 2), 2, (1, -1))(x))
    array = normal(2, 3, 4)
    totals, doubled = f(array)
    numpy.testing.assert_allclose(totals, array.sum(axis=0))
    numpy.testing.assert_allclose(doubled, array * 2)


def test_results_keep_their_structure():
    x = T.dmatrix("x")
    for build, kind in ((lambda v: {"total": v.sum(), "twice": v * 2}, dict), (lambda v: [v, v], list),
                        (lambda v: (v,), tuple)):
        assert type(phintys.vectorize(build)(x)) is kind
    assert phintys.vectorize(lambda v: {"total": v.sum()})(x)["total"].eval({x: [[1.0, 2.0]]}).tolist() == [3]


def test_nested_and_through_gradients():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    pairs = phintys.vectorize(phintys.vectorize(lambda a, b: T.tanh(a * b).sum(), (None, 0)), (0, None))(x, y)
    a, b = normal(3, 4), normal(5, 4)
    numpy.testing.assert_allclose(pairs.eval({x: a, y: b}), numpy.tanh(a[:, None] * b).sum(-1))
    phintys.gradient.verify_grad(phintys.vectorize(lambda v, m: T.linalg.solve(m, v)),
                                 [normal(3, 4), POSITIVE], rng=numpy.random.RandomState(0))
    phintys.gradient.verify_grad(phintys.vectorize(recurrent, (0, 0, None)),
                                 [normal(2, 3, 4), normal(2, 4), normal(4, 4)], rng=numpy.random.RandomState(0))


def test_no_row_and_one_row():
    x = T.dmatrix("x")
    f = phintys.function([x], phintys.vectorize(lambda v: (T.sort(v), v.sum(), T.cumsum(v)))(x))
    assert [part.shape for part in f(numpy.zeros((0, 3)))] == [(0, 3), (0,), (0, 3)]
    assert [part.tolist() for part in f([[2.0, 1.0]])] == [[[1, 2]], [3], [[2, 3]]]


def test_graphs():
    x, rows, factor = T.dvector("x"), T.dmatrix("rows"), T.dscalar("factor")
    output = (x * factor).sum()
    new = phintys.vectorize_graph([output, factor * 2], {x: rows, factor: T.constant(3.0, dtype="float64")})
    assert [part.tolist() for part in phintys.function([rows], new)([[1.0, 2.0], [3.0, 4.0]])] == [[9, 21], [6, 6]]


@pytest.mark.filterwarnings("ignore:vectorize")
@pytest.mark.parametrize("call, error, message", [
    (lambda x: phintys.vectorize(T.exp, (0, 0))(x), TypeError, "in_axes has 2 entries, but 1 arguments"),
    (lambda x: phintys.vectorize(T.exp, None)(x), ValueError, "at least one argument"),
    (lambda x: phintys.vectorize(T.exp, 2)(x), ValueError, "axis 2 is out of bounds"),
    (lambda x: phintys.vectorize(T.exp, 0, (0, 1))(x), TypeError, "out_axes has 2 entries, but there are 1 results"),
    (lambda x: phintys.vectorize_graph(x, {x: x}), ValueError, "no replacement has a dimension of rows"),
    (lambda x: phintys.vectorize_graph(x, {x: T.dtensor4()}), TypeError, "its rows have one more"),
    (lambda x: phintys.vectorize(lambda v: phintys.scan(lambda s: (s * 2, phintys.scan_module.until(s > 9)),
                                                        outputs_info=v[0], n_steps=5)[0])(x), ValueError,
     "what ends .* differs by row"),
    (lambda x: phintys.vectorize(lambda v, n: phintys.scan(lambda s: s * 2, outputs_info=v[0], n_steps=n)[0])(
        x, T.lvector()), ValueError, "number of steps .* differs by row"),
])
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call(T.dmatrix("x"))
