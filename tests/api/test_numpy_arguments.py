"""NumPy's functions on variables have NumPy's values, dtypes and shapes, for the arguments that NumPy's users give."""
import numpy
import numpy_calls
import pytest

import phintys.tensor as T
from phintys import function, grad

SMALL = ("bool", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
HALF = ("float16",)
FLOAT = ("float64",)
# Calls that were wrong, or refused, and dtypes that showed it.
CALLS = {
    "cumsum(a, 1)": SMALL, "cumprod(a)": SMALL, "cumsum(a, axis=0, dtype='float64')": ("int8",),
    "sum(a, axis=0, dtype='int64')": FLOAT, "add.reduce(a, axis=None)": FLOAT,
    "dot(a, 2)": SMALL, "append(a, 5)": SMALL,
    "var(a)": COMPLEX, "var(a, axis=0, ddof=1)": COMPLEX + HALF, "std(a, 1, keepdims=True)": COMPLEX,
    "var(a, dtype='float64')": HALF, "ptp(a, axis=1, keepdims=True)": FLOAT,
    "average(a, axis=-1, weights=[1.0, 2, 3], keepdims=True)": ("float32", "int8"),
    "average(a, axis=0, returned=True)": FLOAT, "trace(a, dtype='float64')": ("int8",),
    "cov(v)": ("float64", "int8"), "cov(v, w)": FLOAT + COMPLEX, "cov(a, v)": ("float32",), "cov(a)": COMPLEX,
    "cov(v, fweights=[1, 2, 3])": FLOAT, "cov(a, dtype='float32')": FLOAT, "cov(a, ddof=3)": FLOAT, "cov(s)": FLOAT,
    "corrcoef(v)": FLOAT, "corrcoef(v, w)": FLOAT, "corrcoef(a, v)": FLOAT, "corrcoef(a)": COMPLEX,
    "clip(a, 0, None)": ("float64", "uint8"), "clip(v, None, w)": FLOAT, "clip(a, min=0)": FLOAT,
    "clip(a, v, 2)": ("uint8",), "clip(a, 1, 0)": FLOAT, "clip(a, -1, b)": ("uint8",), "clip(a, 0, 1)": ("bool",),
    "round(v, 1)": ("float64", "float32", "complex128"), "round(a, decimals=-1)": ("float64", "int8"),
    "diff(v, prepend=0)": ("float64", "uint8"), "diff(a, axis=0, prepend=b, append=b)": FLOAT,
    "diff(a, append=[[7], [8]])": FLOAT, "ravel(a, order='F')": FLOAT, "reshape(a, (3, 2), order='F')": FLOAT,
    "copy(a, order='F')": FLOAT, "angle(a, deg=True)": ("complex64",), "concatenate([a, b], dtype='complex64')": HALF,
    "unique(a, return_inverse=True)": ("int8",), "unique(a, True, True, True)": FLOAT, "sort(a, stable=True)": FLOAT,
    "median(a)": COMPLEX, "median(a, axis=0, keepdims=True)": COMPLEX, "quantile(a, [0.1, 0.5])": HALF,
    "percentile(a, 30, method='lower')": SMALL, "quantile(a, 0.4, method='hazen')": HALF,
    "isclose(a, b, 0.5)": SMALL, "allclose(a, b)": SMALL, "where(a > 0, a, 0)": ("uint8",), "where(a > 0, 1, 0)": FLOAT,
    "fabs(a)": ("int64",), "sinc(a)": ("int8",), "i0(a)": ("uint8",), "float_power(a, 2)": COMPLEX,
    "linalg.norm(a)": SMALL, "linalg.norm(a, 3, axis=1)": ("int8", "float32"), "linalg.norm(a, 1)": SMALL,
    "linalg.norm(a, -1, axis=0)": ("int8",), "trapezoid(a, x=v)": ("float32", "bool"), "trapezoid(a)": ("bool",),
    "nansum(a, axis=0)": FLOAT + COMPLEX, "nanprod(a)": SMALL, "nanmean(a, axis=1, keepdims=True)": HALF + COMPLEX,
    "nanvar(a, ddof=1)": FLOAT + COMPLEX, "nanquantile(a, [0.1, 0.5], axis=0)": ("float32",), "nancumsum(a)": SMALL,
    "nanquantile(a, 0.3, method='higher')": ("int64",), "unwrap(a, axis=0)": ("uint8",),
    "sort_complex(a)": ("float32",),
    "cumulative_prod(a, axis=1, include_initial=True)": ("int8",), "vander(v, 3)": ("float32",),
    "polymul(v, w)": ("int64",), "polyint(v)": ("float32", "complex64"), "select([a > 0], [a])": SMALL,
    "pad(a, (2, 3), 'linear_ramp', end_values=(5, 4))": ("int8", "complex128"), "pad(a, 2, 'mean')": ("bool", "int8"),
    "pad(a, (7, 5), 'symmetric', reflect_type='odd')": FLOAT, "pad(v, 7, 'reflect', reflect_type='odd')": FLOAT,
    "vecdot(a, b)": COMPLEX, "vecmat(v, a.T)": COMPLEX, "frexp(a)": FLOAT, "modf(a)": FLOAT, "signbit(a)": ("uint8",),
    "std(a, 0, None, None, 1)": FLOAT, "sum(a, 0, 'float64', None, True)": ("int8",), "argmax(a, 0, None)": FLOAT,
    "sum(a, 0, None, None, True, 3, b > 0)": FLOAT, "take(a, [7], 1, None, 'clip')": FLOAT,
    "quantile(a, 0.5, 0, None, False, 'lower', True)": FLOAT, "median(a, 0, None, False, True)": FLOAT,
    "sum(a, where=b > 0, initial=2)": ("int8", "bool", "complex64"),
    "prod(a, 1, where=v > 0)": ("uint8", "float16"),
    "max(a, axis=0, initial=1, where=s > 9)": ("uint8", "float64"), "min(e, initial=3)": ("int64", "float32"),
    "max(a, initial=1, axis=())": FLOAT, "nanmin(a, initial=0, where=b > 0)": ("int8", "float32"),
    "maximum.reduce(a, initial=7)": ("float32",), "sum(a, out=None)": FLOAT, "mean(a, where=b > 0)": SMALL + HALF,
    "mean(e, where=e > 0, axis=0)": FLOAT, "nanmean(a, dtype='float64', where=b > 0)": ("float32", "int8"),
    "all(a, where=b > 0, axis=0)": ("int8",), "var(a, where=b > 0, ddof=1, axis=1)": FLOAT + COMPLEX + HALF,
    "std(a, mean=[[1], [2]], axis=1)": ("float32", "complex64"), "nanstd(a, correction=1, where=v > 0)": ("float64",
    "int8"),
    "var(a, correction=5, where=b > 0)": FLOAT, "histogram2d(v, w, 3, [[0, 1], None], density=True)": ("float32",
    "int8"),
    "histogramdd([v, w, v], bins=(2, 3, 4), weights=w)": FLOAT, "histogram2d(v, w, [0.0, 1, 2])": ("uint8",),
    # Ends of axes, and numbers.
    "sum(s, axis=-1)": FLOAT, "cumsum(s, axis=0)": ("int8",),
    "argsort(s)": FLOAT, "take(s, [0, 0], axis=0)": FLOAT, "repeat(s, 3, axis=-1)": FLOAT, "squeeze(s, axis=0)": FLOAT,
    "cumulative_sum(s, include_initial=True)": ("int8",), "flatnonzero(s)": FLOAT, "size(a, axis=(0, 1))": FLOAT,
    "roll(a, (1, 2), axis=1)": FLOAT, "transpose(v, 0)": FLOAT, "tril(v)": FLOAT + SMALL, "triu(v, 1)": COMPLEX,
    "squeeze(a[:1], axis=0)": FLOAT, "squeeze(a[:1, :1], axis=(0, -1))": FLOAT, "trim_zeros(a * (b > 0))": ("int8",),
    "trim_zeros(a * (v > 0), 'b', axis=1)": FLOAT, "flip(a, axis=(0, -1))": FLOAT,
    # Arguments that were not taken.
    "ones_like(a, shape=(3, 2))": SMALL, "full_like(a, 2, shape=4, order='F')": ("int8", "complex64"),
    "zeros_like(a, 'int8', 'F', True, (2,))": FLOAT, "zeros((2, 2), like=a)": FLOAT, "arange(1, 7, 2, like=a)": FLOAT,
    "full(3, 1.5, like=a)": FLOAT, "eye(2, 3, 1, like=a)": FLOAT, "identity(2, like=a)": FLOAT,
    "stack([a, b], dtype='complex128')": ("float32",), "vstack([a, v], casting='no')": FLOAT,
    "hstack([v, w], dtype='int8', casting='unsafe')": FLOAT, "copy(a, subok=True)": FLOAT,
    "broadcast_to(v, (2, 3), subok=True)": FLOAT, "linspace(v, 2, 3, device='cpu')": FLOAT,
    "intersect1d(v, [1, 2.5], return_indices=True)": FLOAT,
    "unravel_index(numpy.astype(v * 0 + 4, 'int64'), (2, 3), order='F')": FLOAT,
    "bincount([0, 1, 1], weights=v)": ("int8", "float32"), "einsum(a, [0, 1], v, [1], [0])": FLOAT,
    "einsum(a, [..., 0], v, [0])": FLOAT, "linalg.pinv(a, 0.4)": ("float32", "complex64"),
    "linalg.pinv(a @ a.T, hermitian=True)": FLOAT, "linalg.pinv(a, rtol=None)": FLOAT,
    "linalg.svd(a @ a.T, compute_uv=False, hermitian=True)": FLOAT,
    "polyfit([1.0, 2, 4, 7], [1.0, 5, 2, 7] + v[0], 1, cov=True)": FLOAT,
    "quantile(a, [0.2, 0.7], axis=1, method='inverted_cdf', weights=abs(v) + 1)": ("float64", "int8"),
    "percentile(a, 40, method='inverted_cdf', weights=abs(b) + 1)": FLOAT,
    "quantile(v, [0.0, 0.5, 1.0], method='averaged_inverted_cdf')": ("float64", "float32", "int8"),
    "quantile(a, 0.5, method='closest_observation')": ("float64", "int8"),
    "nanquantile(a, 0.5, 0, method='inverted_cdf')": ("float32",), "median(a, overwrite_input=True)": FLOAT,
    "maximum.accumulate(a)": FLOAT + SMALL, "logaddexp.accumulate(a, axis=-1)": ("float32",),
    "add.accumulate(a, 1)": ("float32", "int64"), "multiply.outer(a, v)": ("int8",), "subtract.outer(v, 2)": FLOAT,
    # Dtypes in which NumPy computes.
    "log(v, dtype='complex128')": FLOAT, "divmod(a, b, dtype='float64')": ("float32",), "add(a, 1.5)": ("float32",
    "float16", "int64"), "maximum(a, 0.1)": ("float32", "int8"), "multiply(True, a)": ("int8", "float32"),
    "add(a, [1, 2, 3])": ("int8", "float32"), "logaddexp(a, 2)": ("float32", "int8"), "power(a, 2)": ("uint8",),
    "mean(a, dtype='int64')": FLOAT,
    "nansum(a, dtype='int8')": FLOAT, "trace(a, dtype='int8')": FLOAT, "linalg.trace(a, dtype=int)": FLOAT,
    "std(a, dtype='complex64')": ("float32",), "var(a, ddof=9)": FLOAT, "std(v[:1], ddof=1)": FLOAT,
    "sum(a, where=False)": FLOAT, "max(a, initial=True)": ("int8",), "nanmax(e, initial=2)": FLOAT,
    "where(True, v, w)": ("int8",), "outer(v, [-0.0, 0.0])": FLOAT,
    "var(a, mean=0.5)": ("int8", "float32"), "std(a, mean=0.5, axis=0)": ("bool",),
    "ceil(a)": SMALL, "trunc(a)": ("int8", "int64"), "floor(a)": ("int8", "float32"),
    "linspace(v, w, 3)": ("complex64",),
    "polyadd(v, 2)": ("int8",),
    "polymul(v, 2)": ("int8", "float32"), "polyval([1, 2], a)": ("int8",), "setxor1d(v, 1)": ("int8",),
    "select([v > 0], [1], default=v)": ("int8",),
    "average(numpy.stack([a, b]), axis=(2, 1), weights=[[1, 2], [3, 4], [5, 6]])": ("float64", "int8"),
    "insert(a, slice(0, 2), 7)": FLOAT,
    "insert(a, slice(None, None, 2), [[7], [8]], axis=1)": ("int8",), "geomspace(v * 1j + 1, 1j, 5)": FLOAT,
    "geomspace(1, 256 + 0 * s, 9, dtype=int)": FLOAT, "geomspace(-1, -4 - abs(v), 3, axis=1)": FLOAT,
    "sign(a)": COMPLEX + SMALL[1:], "choose([[0], [1]], [v, b])": ("float64", "int8"),
    "choose([2, 1, 0], [v, 5, a])": ("uint8", "float32"), "linalg.lstsq(a.T, w)": FLOAT,
    # Python's integers that the operands' dtype does not have
    "greater(a, -1)": ("uint8", "int8", "bool"), "greater_equal(-1, a)": ("uint8",), "less(a, 300)": ("int8", "uint8"),
    "equal(300, a)": ("uint8",), "not_equal(a, -1)": ("uint8",), "less_equal(a, 2**63)": ("int64",),
    "logical_and(a, 256)": ("uint8",), "clip(a, -5, 300)": ("int8", "uint8"), "left_shift(a, 9)": ("uint8",),
    "reciprocal(a + a + 1)": ("int8", "int64"), "reciprocal(a + 9)": FLOAT + HALF,
    "round(a, 0)": ("bool",), "round(a)": ("bool",), "corrcoef(v * 0)": FLOAT, "corrcoef(a * 0 + 1, a)": ("int8",),
}


@pytest.mark.parametrize("call, dtype", [(call, dtype) for call, dtypes in CALLS.items() for dtype in dtypes])
def test_as_numpy(call, dtype):
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        found = numpy_calls.difference(call, dtype, mode)
        if found and found.startswith("NumPy raises") and numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0":
            pytest.skip("this NumPy refuses it")
        assert found is None


REFUSED = {
    "quantile(a, 0.5)": ("complex128", TypeError, "complex numbers have no quantiles"),
    "percentile(a, 50)": ("complex64", TypeError, "complex numbers have no quantiles"),
    "histogram_bin_edges(a)": ("complex128", TypeError, "may not be complex"),
    "interp(v, [0.0, 1.0], [0.0, 1.0])": ("complex128", TypeError, "complex positions"),
    "fabs(a)": ("complex128", TypeError, "complex arguments are not supported"),
    "searchsorted(a, 1.0)": ("float64", ValueError, "must be a vector, got a of type"),
    "clip(a, 0, min=1)": ("float64", ValueError, "two names"),
    "cov(a[None])": ("float64", ValueError, "one or two dimensions"),
    "max(a, where=b > 0)": ("float64", ValueError, "needs initial="),
    "sum(v, where=a > 0)": ("float64", ValueError, "does not broadcast to v"),
    "sum(a[:1], where=v[None] > [[0], [1]])": ("float64", ValueError, "A length of 1 is repeated only"),
    "var(a, ddof=1, correction=1)": ("float64", ValueError, "can't be provided simultaneously"),
    "mean(a, dtype='float64', where=b.real > 0)": ("complex128", TypeError, "would lose the imaginary part"),
    "sum(a, out=b)": ("float64", TypeError, "does not take out="),
    "histogramdd(a)": ("float64", TypeError, "the number of columns of a must be known"),
    "histogramdd([v, w], [1, 2, 3])": ("float64", ValueError, "bins has 3 entries, but the sample has 2"),
    "gradient(v)": ("bool", TypeError, "bools have no differences"),
    "round(v, 1)": ("bool", TypeError, "bool, which has no decimals"),
    "ravel(a, order='Q')": ("float64", ValueError, "order must be"),
    "copy(a, subok=3)": ("float64", ValueError, "subok must be one of True, False, got 3"),
    "concatenate([a, b], dtype='int8')": ("float64", TypeError, "according to the rule 'same_kind'"),
    "unique(a, equal_nan=False)": ("float64", TypeError, "equal_nan must be True"),
    "var(a, dtype='int8')": ("float64", TypeError, "dtype must be a float or complex dtype, got int8"),
    "quantile(a, 0.5, weights=b)": ("float64", ValueError, "only the method 'inverted_cdf' takes weights"),
    "squeeze(a, axis=0)": ("float64", ValueError, "was supposed to be 1"),
    "add(a, 1.5, dtype='int8')": ("float64", TypeError, "Cannot cast ufunc"),
    "linalg.pinv(a, 0.1, rtol=0.1)": ("float64", ValueError, "can't be both set"),
    "digitize(a, [1, 0, 2])": ("float64", ValueError, "monotonically"),
    "flip(a, axis=(0, 0))": ("float64", ValueError, "repeated axis"),
    "linalg.matrix_power(a, 0)": ("float64", numpy.linalg.LinAlgError, "must be square"),
    "linalg.matrix_power(a, 1)": ("float64", numpy.linalg.LinAlgError, "must be square"),
    "median(e)": ("float64", ValueError, "median: there are no elements"),
    "quantile(e, 0.5)": ("float64", ValueError, "quantile: there are no elements"),
    "quantile(v, w)": ("float64", ValueError, r"Quantiles must be in the range \[0, 1\]"),
    "cumsum(a, axis=s)": ("int64", TypeError, "an axis is an integer, got s .it must be known when"),
    "add(a, 300)": ("uint8", OverflowError, "300 out of bounds for uint8"),
    "maximum(-1, a)": ("uint8", OverflowError, "-1 out of bounds for uint8"),
    "where(a > 0, 200, a)": ("int8", OverflowError, "200 out of bounds for int8"),
    "full_like(a, -1)": ("uint8", OverflowError, "-1 out of bounds for uint8"),
    "insert(a, 0, 300)": ("uint8", OverflowError, "300 out of bounds for uint8"),
    "max(a, initial=-1)": ("uint8", OverflowError, "-1 out of bounds for uint8"),
    "power(a, -1)": ("int64", ValueError, "Integers to negative integer powers"),
    "percentile(v, s * numpy.nan)": ("float64", ValueError, r"Percentiles must be in the range \[0, 100\]"),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("call", REFUSED)
def test_refused(call, mode):
    dtype, error, message = REFUSED[call]
    with pytest.raises(error, match=message):
        numpy_calls.on_variables(call, dtype, mode)


# Calls with an axis that the operands do not have.
NO_AXIS = """sum(a,axis={}) prod(a,axis={}) mean(a,axis={}) var(a,{}) max(a,{}) argmax(a,{}) all(a,{}) cumsum(a,{})
    diff(a,axis={}) median(a,{}) quantile(a,.5,{}) sort(a,{}) argsort(a,{}) partition(a,1,{}) take(a,[0],{})
    repeat(a,2,{}) roll(a,1,{}) flip(a,{}) concatenate([a,b],{}) stack([a,b],{}) append(a,b,{}) expand_dims(a,{})
    squeeze(a,{}) split(a,1,{}) swapaxes(a,0,{}) moveaxis(a,0,{}) rollaxis(a,{}) transpose(a,(0,{}))
    unique(a,axis={}) insert(a,0,1,{}) delete(a,0,{}) linspace(a,b,3,axis={}) trace(a,0,{}) diagonal(a,0,{})
    linalg.norm(a,axis={}) linalg.vector_norm(a,axis={}) fft.fft(a,axis={}) nansum(a,{}) nanmax(a,{})
    nanquantile(a,.5,{}) count_nonzero(a,{}) average(a,{}) average(a,{},weights=v) trapezoid(a,axis={})
    gradient(a,axis={}) tensordot(a,b,([{}],[0])) cumulative_sum(a,axis={}) take_along_axis(a,b>0,{})
    unwrap(a,axis={}) size(a,{}) lexsort((v,w),{}) logspace(a,b,3,axis={}) trim_zeros(a,axis={})
    maximum.accumulate(a,{}) vecdot(a,b,axis={}) cross(a,b,axis={}) fft.fftshift(a,{}) rot90(a,1,(0,{}))
    pad(a,{{{}:1}})""".split()


@pytest.mark.parametrize("call", NO_AXIS)
def test_axes_that_do_not_exist(call):
    for axis in (7, -9):
        with pytest.raises(ValueError) as refused:
            numpy_calls.on_variables(call.format(axis), "float64", "FAST_COMPILE")
        if not call.startswith(("rot90", "tensordot")):              # NumPy's own are plain errors there
            assert isinstance(refused.value, numpy.exceptions.AxisError)


def test_static_lengths_are_checked_when_the_graph_is_made():
    with pytest.raises(numpy.linalg.LinAlgError, match="must be square"):
        T.linalg.matrix_power(numpy.zeros((2, 3)), 0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_the_least_integer_is_not_close_to_zero(dtype):
    x = T.TensorType(dtype, (False,))("x")
    least = numpy.iinfo(dtype).min
    f = function([x], [T.isclose(x, 0), T.allclose(x, 0), T.isclose(0, x), numpy.fabs(x)])
    assert [numpy.all(part) for part in f(numpy.array([least], dtype))] == [False, False, False, True]
    assert f(numpy.array([least], dtype))[3] == -float(least)


def test_float16_beyond_its_range():
    """Squares and sums of float16 are computed in float32; only the result must have a float16."""
    x = T.TensorType("float16", (False,))("x")
    values = numpy.full(70000, 400, "float16")
    values[::2] = -400
    results = [T.std(x), T.var(x), T.mean(x + numpy.float16(400)), numpy.std(x, ddof=1), numpy.linalg.norm(x[:4]),
               numpy.median(x), numpy.quantile(x * numpy.float16(150), 0.5), numpy.quantile(x, 0.75)]
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        found = function([x], results, mode=mode)(values)
        assert [part.dtype.name for part in found] == ["float16"] * len(results)
        assert [float(part) for part in found] == [400, numpy.inf, 400, 400, 800, 0, 0, 400]


@pytest.mark.parametrize("ord", [1, 2, numpy.inf, "fro", "nuc"])
def test_norms_of_nothing(ord):
    """As NumPy 2.5; older ones refuse some of them."""
    m, v = T.dmatrix("m"), T.dvector("v")
    norms = function([m], T.linalg.norm(m, ord))
    assert norms(numpy.zeros((0, 3))) == norms(numpy.zeros((3, 0))) == 0
    if not isinstance(ord, str):
        assert function([v], T.linalg.norm(v, ord))([]) == 0


def test_logsumexp_of_nothing_and_of_integers():
    m, i = T.dmatrix("m"), T.bvector("i")
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        value = T.logsumexp(m, axis=0)
        f = function([m], [value, grad(value.sum(), m)], mode=mode)
        assert f(numpy.zeros((0, 2)))[0].tolist() == [-numpy.inf, -numpy.inf]
        assert f([[0.0], [0.0]])[1].tolist() == [[0.5], [0.5]]
        assert function([i], T.logsumexp(i), mode=mode)(numpy.array([-128, 127], "int8")) == 127


def test_variances_of_complex_numbers_have_gradients():
    z = T.zvector("z")
    f = function([z], grad(T.var(z), z))
    values = numpy.array([1 + 2j, 3 - 1j, 0.5j])
    numpy.testing.assert_allclose(f(values), 2 / 3 * (values - values.mean()))


def test_the_method_clip_takes_none():
    x = T.dvector("x")
    f = function([x], [x.clip(0, None), x.clip(None, 1), x.clip(0, 1)])
    assert [part.tolist() for part in f([-2.0, 0.5, 3.0])] == [[0, 0.5, 3], [-2, 0.5, 1], [0, 0.5, 1]]
    assert x.clip(None, None) is x


def test_methods_and_names_of_results():
    x = T.lvector("x")
    f = function([x], [x.cumsum(0, "int16"), x.cumprod(dtype="float32"), x.flat[::2], T.unique_all(x).counts,
                       numpy.unique_inverse(x).inverse_indices])
    values = numpy.array([3, 1, 3])
    wanted = [values.cumsum(0, "int16"), values.cumprod(dtype="float32"), values.flat[::2],
              numpy.unique_all(values).counts, numpy.unique_inverse(values).inverse_indices]
    assert [part.dtype for part in f(values)] == [part.dtype for part in wanted]
    assert [part.tolist() for part in f(values)] == [part.tolist() for part in wanted]
    for refused in (x.item, x.tolist, x.tobytes):
        with pytest.raises(TypeError, match="x is symbolic and has no value yet"):
            refused()


def test_numbers_of_python_keep_their_precision():
    x = T.dvector("x")
    f = function([x], [T.linspace(2.0, 3.0, 7), T.gradient(x, 3.0, edge_order=2), T.trapezoid(x, dx=0.1)])
    values = numpy.array([1.0, 2, 4, 9])
    for found, wanted in zip(f(values), [numpy.linspace(2.0, 3.0, 7), numpy.gradient(values, 3.0, edge_order=2),
                                         numpy.trapezoid(values, dx=0.1)]):
        assert found.dtype == wanted.dtype
        numpy.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert T.linspace(T.fscalar(), 3.0, 7).dtype == "float32"


# What the generator finds and is meant: results that NumPy refuses, or computes in small integers.
MEANT = ("NumPy raises", "dtype float32, not float16", "dtype float64, not float16")
OURS = ("shape(", "bincount(", "histogram(", "trapezoid(", "gradient(", "linspace(", "fft.",
        "percentile(a, 50, axis=0)", "nanvar(v, dtype=", "nanstd(v, dtype=", "quantile(a, 0.5, axis=0)",
        "quantile(a, 0.3, 0)", "cov(a, ddof=3)", "cov(e)", "corrcoef(e)")
# The few functions whose results differ; and Python's numbers beside small dtypes, which have Theano's dtypes.
BESIDE_NUMBERS = ("left_shift(a, b & 3)", "right_shift(a, b & 3)", "spacing(", "ldexp(a, b)", "logspace(",
                  "nanmedian(v * numpy.float16('nan'))")
NO_NUMBERS = ("not defined", "is ambiguous", "not supported", "may not be complex", "no elements", "is bool",
              "bool output not supported", "no quantiles", "bool input", "input to a BitOp", "All-NaN", "does not take",
              "must be a float or complex dtype", "would lose the imaginary part")


@pytest.mark.long
@pytest.mark.parametrize("dtype", numpy_calls.DTYPES)
def test_every_function_with_common_arguments(dtype):
    wrong = []
    for call in numpy_calls.every_call():
        try:
            found = numpy_calls.difference(call, dtype)
        except (TypeError, ValueError) as error:
            found = None if any(part in str(error) for part in NO_NUMBERS) else f"{type(error).__name__}: {error}"
        if found and not found.startswith(MEANT) and not call.startswith((*OURS, *BESIDE_NUMBERS)):
            wrong.append(f"{call}: {found}")
    assert wrong == []
