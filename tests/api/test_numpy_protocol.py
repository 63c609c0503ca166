"""NumPy's functions on symbolic tensors: each has the value that NumPy gives for the arrays."""
import importlib
from operator import attrgetter

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, numpy_names
from phintys.numpy_protocol import FUNCTIONS
from phintys.ops.operators import UFUNCS

A = numpy.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])
B = numpy.array([[1.0, 2.0, -2.0], [1.5, -4.0, 0.5]])
V = numpy.array([1.0, -3.0, 2.0])
STACK = numpy.arange(24.0).reshape(2, 3, 4) - 7.0

UFUNC_CALLS = [
    lambda a, b, v: numpy.exp(a),
    lambda a, b, v: numpy.add(a, b),
    lambda a, b, v: numpy.add(a, b, dtype="float32"),
    lambda a, b, v: numpy.float64(2) * a,
    lambda a, b, v: A - a * V,
    lambda a, b, v: [1.0, 2.0, 3.0] + a,
    lambda a, b, v: abs(a) + numpy.absolute(b) + numpy.fabs(a),
    lambda a, b, v: numpy.maximum(a, 1.0),
    lambda a, b, v: numpy.sign(a),
    lambda a, b, v: numpy.arctan2(a, b),
    lambda a, b, v: a @ v,
    lambda a, b, v: a @ b.T,
    lambda a, b, v: A.T @ b,
    lambda a, b, v: numpy.matmul(a.T, b),
    lambda a, b, v: numpy.logical_and(a, b > 0),
    lambda a, b, v: numpy.logical_or(a > 1, b > 0),
    lambda a, b, v: numpy.logical_xor(a > 1, b > 0),
    lambda a, b, v: numpy.logical_not(a > 1),
    lambda a, b, v: numpy.positive(a),
    lambda a, b, v: numpy.hypot(a, b),
    lambda a, b, v: numpy.isfinite(numpy.where(b > 0, a, numpy.inf)),
    lambda a, b, v: numpy.float_power(a, 2),
    lambda a, b, v: numpy.divmod(a, b)[1],
    lambda a, b, v: numpy.add.reduce(a),
    lambda a, b, v: numpy.multiply.reduce(a, axis=1),
    lambda a, b, v: numpy.maximum.reduce(a, axis=1, keepdims=True),
    lambda a, b, v: numpy.degrees(a),
]
FUNCTION_CALLS = [
    lambda a, b, v: numpy.sum(a),
    lambda a, b, v: numpy.sum(a, 1),
    lambda a, b, v: numpy.sum(a, axis=0, keepdims=True, dtype="float32"),
    lambda a, b, v: numpy.prod(a, axis=1),
    lambda a, b, v: numpy.mean(a, axis=-1),
    lambda a, b, v: numpy.var(a, axis=0),
    lambda a, b, v: numpy.std(a, 0, ddof=1),
    lambda a, b, v: numpy.min(a, axis=0),
    lambda a, b, v: numpy.amax(a),
    lambda a, b, v: numpy.ptp(a, axis=1),
    lambda a, b, v: numpy.any(a > 3, axis=1),
    lambda a, b, v: numpy.all(a > -2, axis=1),
    lambda a, b, v: numpy.argmax(a, axis=1),
    lambda a, b, v: numpy.argmin(a),
    lambda a, b, v: numpy.cumsum(a, axis=1),
    lambda a, b, v: numpy.cumprod(a, 0),
    lambda a, b, v: numpy.diff(v),
    lambda a, b, v: numpy.clip(a, -1, 2),
    lambda a, b, v: numpy.round(a),
    lambda a, b, v: numpy.real(a),
    lambda a, b, v: numpy.isclose(a, b, atol=2.0),
    lambda a, b, v: numpy.zeros_like(a),
    lambda a, b, v: numpy.ones_like(a, dtype="float32"),
    lambda a, b, v: numpy.full_like(a, 3.0),
    lambda a, b, v: numpy.copy(a),
    lambda a, b, v: numpy.reshape(a, (3, 2)),
    lambda a, b, v: numpy.reshape(a, shape=(-1, 2)) if numpy.lib.NumpyVersion(numpy.__version__) >= "2.1.0" else
    numpy.reshape(a, (-1, 2)),
    lambda a, b, v: numpy.ravel(a),
    lambda a, b, v: numpy.transpose(a),
    lambda a, b, v: numpy.transpose(a, axes=(1, 0)),
    lambda a, b, v: numpy.swapaxes(a, 0, 1),
    lambda a, b, v: numpy.moveaxis(a, 0, 1),
    lambda a, b, v: numpy.expand_dims(a, 1),
    lambda a, b, v: numpy.broadcast_arrays(v[0], a)[0],
    lambda a, b, v: numpy.broadcast_to(v, (4, 3)),
    lambda a, b, v: numpy.atleast_2d(v),
    lambda a, b, v: numpy.repeat(a, 2, axis=1),
    lambda a, b, v: numpy.tile(v, (2, 2)),
    lambda a, b, v: numpy.roll(a, 1, axis=1),
    lambda a, b, v: numpy.shape(a),
    lambda a, b, v: numpy.size(a),
    lambda a, b, v: numpy.size(a, 1),
    lambda a, b, v: numpy.concatenate([a, b]),
    lambda a, b, v: numpy.concatenate([a, B], axis=1),
    lambda a, b, v: numpy.stack([a, b], axis=1),
    lambda a, b, v: numpy.vstack([a, v]),
    lambda a, b, v: numpy.hstack([a, b]),
    lambda a, b, v: numpy.hstack([v, v]),
    lambda a, b, v: numpy.append(a, v),
    lambda a, b, v: numpy.flip(a, axis=1),
    lambda a, b, v: numpy.flip(a),
    lambda a, b, v: numpy.where(a > 0, a, b),
    lambda a, b, v: numpy.dot(a, v),
    lambda a, b, v: numpy.dot(A, v),
    lambda a, b, v: numpy.outer(v, v),
    lambda a, b, v: numpy.inner(a, b),
    lambda a, b, v: numpy.inner(v, 2.0),
    lambda a, b, v: numpy.vdot(a, b),
    lambda a, b, v: numpy.tensordot(a, b, axes=[[1], [1]]),
    lambda a, b, v: numpy.kron(a, b),
    lambda a, b, v: numpy.kron(v, v),
    lambda a, b, v: numpy.kron(v, b),
    lambda a, b, v: numpy.bincount([1, 1, 3], v),
    lambda a, b, v: numpy.repeat(v[:0], []),
    lambda a, b, v: numpy.trace(a),
    lambda a, b, v: numpy.trace(a, 1),
    lambda a, b, v: numpy.diag(v),
    lambda a, b, v: numpy.diagonal(a, offset=1),
    lambda a, b, v: numpy.tril(a),
    lambda a, b, v: numpy.triu(a, k=1),
    lambda a, b, v: numpy.take(a, [2, 0], axis=1),
    lambda a, b, v: numpy.nonzero(a > 1)[1],
    lambda a, b, v: numpy.where(a > 1)[0],
    lambda a, b, v: numpy.flatnonzero(v > 0),
    lambda a, b, v: numpy.compress([True, False], a, axis=0),
    lambda a, b, v: numpy.average(a, axis=0),
    lambda a, b, v: numpy.average(a, axis=1, weights=V ** 2),
    lambda a, b, v: numpy.linalg.norm(a),
    lambda a, b, v: numpy.linalg.inv(a.dot(a.T)),
    lambda a, b, v: numpy.linalg.det(a.dot(a.T)),
    lambda a, b, v: numpy.linalg.solve(a.dot(a.T), v[1:]),
    lambda a, b, v: numpy.linalg.cholesky(a.dot(a.T) + 1, upper=True),
    lambda a, b, v: numpy.linalg.eigh(a.dot(a.T), UPLO="U")[0],
    lambda a, b, v: numpy.linalg.eigvalsh(a.dot(a.T)),
    lambda a, b, v: numpy.linalg.svd(a, full_matrices=False)[1],
    lambda a, b, v: numpy.linalg.qr(a, mode="r"),
    lambda a, b, v: numpy.linalg.pinv(a),
    lambda a, b, v: numpy.linalg.matrix_power(a.dot(a.T), 3),
    lambda a, b, v: numpy.linalg.multi_dot([a, a.T, a]),
    lambda a, b, v: numpy.linalg.slogdet(a.dot(a.T))[1],
    lambda a, b, v: numpy.linalg.lstsq(a, v[1:], rcond=None)[0],
    lambda a, b, v: numpy.linalg.norm(v, 1),
    lambda a, b, v: numpy.linalg.norm(v, 0),
    lambda a, b, v: numpy.linalg.norm(v, 3),
    lambda a, b, v: numpy.linalg.norm(v, abs(v[0]) + 1.5),
    lambda a, b, v: numpy.linalg.norm(v, numpy.inf),
    lambda a, b, v: numpy.linalg.norm(a, axis=1, keepdims=True),
    lambda a, b, v: numpy.linalg.norm(a, -numpy.inf, axis=0),
    lambda a, b, v: numpy.linalg.norm(a, "fro"),
    lambda a, b, v: numpy.linalg.norm(a, 1),
    lambda a, b, v: numpy.linalg.norm(a, 2),
    lambda a, b, v: numpy.linalg.norm(a, -2, keepdims=True),
    lambda a, b, v: numpy.linalg.norm(a, "nuc", axis=(1, 0)),
    lambda a, b, v: numpy.linalg.norm(a, -1),
    lambda a, b, v: numpy.linalg.norm(a, numpy.inf, keepdims=True),
    lambda a, b, v: numpy.concatenate([a, b], axis=None),
    lambda a, b, v: numpy.count_nonzero(a > b),
    lambda a, b, v: numpy.count_nonzero(a, axis=1, keepdims=True),
    lambda a, b, v: numpy.split(a, 3, axis=1)[1],
    lambda a, b, v: numpy.split(a, [1, 2], axis=-1)[2],
    lambda a, b, v: numpy.split(v, [1])[1],
    lambda a, b, v: numpy.sort(a),
    lambda a, b, v: numpy.sort(a, axis=None),
    lambda a, b, v: numpy.argsort(a, axis=0, kind="stable"),
    lambda a, b, v: abs(numpy.fft.fft(a, 5, norm="ortho")),
    lambda a, b, v: numpy.fft.rfft(v).imag,
    lambda a, b, v: numpy.fft.irfft(v, n=5),
    lambda a, b, v: numpy.fft.rfftn(a, axes=(1, 0)).real,
    lambda a, b, v: numpy.fft.irfft2(numpy.fft.rfft2(a), a.shape),
    lambda a, b, v: numpy.fft.fftshift(a, axes=1),
    lambda a, b, v: numpy.polyval(v, a),
    lambda a, b, v: numpy.interp(a, V.cumsum() ** 2, v),
    lambda a, b, v: numpy.trapezoid(a, v),
    lambda a, b, v: numpy.gradient(a, axis=1),
    lambda a, b, v: numpy.gradient(a, 0.5, v)[1],
    lambda a, b, v: numpy.convolve(v, v[:2], mode="same"),
    lambda a, b, v: numpy.correlate(v, v[:2], "full"),
    lambda a, b, v: numpy.cov(a, aweights=numpy.arange(1.0, a.shape[1] + 1) if a is A else [1.0, 2.0, 3.0]),
    lambda a, b, v: numpy.corrcoef(a),
    lambda a, b, v: numpy.sinc(a),
    lambda a, b, v: numpy.partition(a, 1, axis=0),
    lambda a, b, v: numpy.argpartition(v, [0, 1, 2]),
    lambda a, b, v: numpy.median(a, axis=1),
    lambda a, b, v: numpy.percentile(a, [25, 60]),
    lambda a, b, v: numpy.quantile(a, 0.3, axis=0, method="hazen", keepdims=True),
    lambda a, b, v: numpy.unique(v),
    lambda a, b, v: numpy.unique(a, return_counts=True, axis=0)[1],
    lambda a, b, v: numpy.isin(a, v, invert=True),
    lambda a, b, v: numpy.intersect1d(v, v[1:]),
    lambda a, b, v: numpy.union1d(a, v),
    lambda a, b, v: numpy.setdiff1d(v, v[:1]),
    lambda a, b, v: numpy.setxor1d(v, v[1:]),
    lambda a, b, v: numpy.digitize(a, [0.0, 1.0, 2.0], right=True),
    lambda a, b, v: numpy.histogram(a, bins=3, weights=b)[0],
    lambda a, b, v: numpy.histogram_bin_edges(a, 4),
    lambda a, b, v: numpy.trace(a, axis1=1, axis2=0),
    lambda a, b, v: numpy.expand_dims(a, (0, -1)),
    lambda a, b, v: numpy.einsum("ij,kj->ik", a, b),
    lambda a, b, v: numpy.linspace(v[0], v[1], 5),
    lambda a, b, v: numpy.linspace(v, 7, 4, endpoint=False),
    lambda a, b, v: numpy.linspace(v, v * 2, num=3, axis=-1),
    lambda a, b, v: numpy.linspace(v, v * 2, num=1, dtype="int32"),
    lambda a, b, v: numpy.linspace(v[0], 2, 7, retstep=True)[1],
]


def compiled(call):
    """The value of a call on variables."""
    a, b, v = T.dmatrix("a"), T.dmatrix("b"), T.dvector("v")
    return function([a, b, v], call(a, b, v), on_unused_input="ignore")(A, B, V)


@pytest.mark.parametrize("call", UFUNC_CALLS + FUNCTION_CALLS)
def test_as_numpy(call):
    expected = call(A, B, V)
    result = compiled(call)
    numpy.testing.assert_allclose(result, expected, rtol=1e-6)
    assert result.shape == numpy.shape(expected)


def test_stacks_of_matrices():
    x, y = T.dtensor3("x"), T.dmatrix("y")
    other = numpy.arange(8.0).reshape(4, 2)
    f = function([x, y], [x @ y, numpy.linalg.norm(x, axis=(0, 2)), numpy.linalg.norm(x)])
    for result, expected in zip(f(STACK, other), [STACK @ other, numpy.linalg.norm(STACK, axis=(0, 2)),
                                                  numpy.linalg.norm(STACK)]):
        numpy.testing.assert_allclose(result, expected)


def test_several_outputs_and_ranks():
    x, y = T.dvector("x"), T.dmatrix("y")
    assert numpy.ndim(x) == 1 and numpy.ndim(y) == 2
    first, second = numpy.atleast_2d(x, y)
    assert first.ndim == second.ndim == 2


def test_shared_variables_and_constants():
    s = phintys.shared(A)
    numpy.testing.assert_array_equal(numpy.sum(s, axis=0).eval(), A.sum(axis=0))
    numpy.testing.assert_array_equal(numpy.concatenate([T.constant(A), s]).eval(), numpy.concatenate([A, A]))


# ---- names of the tensor namespace -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*numpy_names.FUNCTIONS, *numpy_names.UFUNCS, *UFUNCS])
def test_the_tensor_namespace_has_every_name(name):
    module, _, last = f"phintys.tensor.{name}".rpartition(".")
    assert callable(getattr(importlib.import_module(module), last))


def test_a_function_without_a_row():
    with pytest.raises(TypeError, match="numpy.packbits is not supported .* that are about .* bits in bytes"):
        numpy.packbits(T.dvector())


def test_every_row_leads_to_a_function():
    targets = [target for target, _ in FUNCTIONS.values() if isinstance(target, str)]
    assert len(targets) > 70 and all(callable(attrgetter(target)(T)) for target in targets)


NAMES = ("absolute fabs hypot isfinite logical_and logical_not less greater_equal equal subtract multiply divide "
         "degrees amin amax ravel vstack hstack append flip inner vdot trace count_nonzero average linalg.norm sort "
         "argsort positive float_power around").split()


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_the_tensor_namespace_are_numpys(name):
    function_ = T
    reference = numpy
    for part in name.split("."):
        function_, reference = getattr(function_, part), getattr(reference, part)
    arguments = {"vstack": lambda x, y: ([x, y],), "hstack": lambda x, y: ([x, y],),
                 "float_power": lambda x, y: (x, 3)}
    two = isinstance(reference, numpy.ufunc) and reference.nin == 2 or name in ("append", "inner", "vdot")
    made = arguments.get(name, lambda x, y: (x, y) if two else (x,))
    a, b = T.dmatrix("a"), T.dmatrix("b")
    found = phintys.function([a, b], function_(*made(a, b)), on_unused_input="ignore")(A, B)
    numpy.testing.assert_allclose(found, reference(*made(A, B)))


def test_symbolic_numbers_of_a_range():
    first, last, count = T.iscalar(), T.iscalar(), T.lscalar()
    f = phintys.function([first, last, count], [T.linspace(first, last, count), T.linspace(first, last, count, False)])
    for arguments in ((0, 1, 10), (5, -5, 1), (2, 3, 0), (0, 10 ** 9, 7)):
        for found, end in zip(f(*arguments), (True, False)):
            numpy.testing.assert_allclose(found, numpy.linspace(*arguments, endpoint=end), rtol=1e-15)
    assert f(1, 49, 49)[0][-1] == 49.0
    with pytest.raises(ValueError, match="non-negative"):
        T.linspace(0, 1, -1)


REFUSED = [
    (lambda x: numpy.isnat(x), "isnat"),
    (lambda x: numpy.add(x, x, out=numpy.zeros(3)), "add"),
    (lambda x: numpy.add.at(x, 0, 1), "add"),
    (lambda x: numpy.arctan2.accumulate(x, where=True), "arctan2|where"),
    (lambda x: numpy.add(x, 1, where=[True]), "numpy.add .* does not take where="),
    (lambda x: numpy.fft.fft(x, out=numpy.zeros(3)), "does not take out="),
    (lambda x: numpy.place(x, [True], 1), "numpy.place is not supported"),
    (lambda x: numpy.flip(x, 1), "axis 1 is out of bounds"),
    (lambda x: numpy.sum(x, out=numpy.zeros(())), "numpy.sum .* does not take out="),
    (lambda x: numpy.cumsum(x, where=[True]), "where"),
    (lambda x: numpy.argmax(x, 0, numpy.zeros(3)), "does not take out="),
    (lambda x: numpy.std(x, 0, None, numpy.zeros(())), "does not take out="),
    (lambda x: numpy.where(x > 0, x), "numpy.where takes both"),
    (lambda x: numpy.linalg.norm(x.dimshuffle(0, "x"), 3), "ord=3 is not supported"),
    (lambda x: numpy.atleast_1d(x, like=x), "atleast_1d"),
    (lambda x: numpy.array(x), "symbolic"),
    (lambda x: numpy.asarray([x, x]), "symbolic"),
    (lambda x: float(x), "float"),
    (lambda x: bool(x > 0), "no truth value|boolean"),
    (lambda x: len(x), "len"),
    (lambda x: list(x), "iteration"),
]


@pytest.mark.parametrize("call, message", REFUSED, ids=[message for _, message in REFUSED])
def test_refused(call, message):
    with pytest.raises((TypeError, IndexError), match=message):
        call(T.dvector("x"))


def test_arrays_of_objects_hold_variables():
    x, y = T.dvector("x"), T.dvector("y")
    both = numpy.array([x, y], dtype=object)
    assert both.shape == (2,) and both[0] is x and both[1] is y


@pytest.mark.parametrize("fold, expected", [(numpy.prod, 24), (numpy.sum, 10), (lambda a: numpy.array(a)[::-1][0], 4)])
def test_lists_of_symbolic_numbers(fold, expected):
    rows, columns = (x := T.dmatrix("x")).shape
    assert phintys.function([x], fold([rows, 2, 1, 1 * columns]) * 1)(numpy.zeros((3, 4))) == expected
    with pytest.raises(TypeError, match="symbolic"):
        numpy.asarray([rows, 2], dtype="float64")
