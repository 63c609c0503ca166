"""Sets, membership, histograms and bins, against NumPy."""
import numpy
import pytest
from family_cases import LAYOUTS, check_gradient, check_values, values

import phintys
import phintys.tensor as T

A = numpy.array([3, 1, 4, 1, 5, 9, 2, 6])
B = numpy.array([[5, 3, 5], [8, 9, 7]])
EMPTY = numpy.zeros(0)

PAIRS = {
    "isin": (T.isin, numpy.isin), "isin, inverted": (lambda a, b: T.isin(a, b, invert=True),
                                                     lambda a, b: numpy.isin(a, b, invert=True)),
    "in1d": (T.in1d, lambda a, b: numpy.isin(a.ravel(), b)), "intersect1d": (T.intersect1d, numpy.intersect1d),
    "union1d": (T.union1d, numpy.union1d), "setdiff1d": (T.setdiff1d, numpy.setdiff1d),
    "setxor1d": (T.setxor1d, numpy.setxor1d),
}


@pytest.mark.parametrize("name", PAIRS)
def test_sets(name):
    build, expected = PAIRS[name]
    check_values(build, expected, [A, B])
    for first in (A, B, A.astype("float32"), EMPTY):
        for second in (B, A[:3], A.astype("int8"), EMPTY):
            for layout in LAYOUTS.values():
                check_values(build, expected, [layout(first), second], modes=("FAST_RUN",))


@pytest.mark.parametrize("dtype", ["int32", "float64", "bool", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (50,), (6, 5), (0, 3), (3, 0), (4, 3, 2)])
def test_distinct_elements_and_slices(dtype, shape):
    for axis in (None, *range(len(shape))):
        array = numpy.asarray(values(shape, "int8") % 3).astype(dtype)
        if axis is None and array.dtype.kind in "fc" and array.size > 5:
            array.reshape(-1)[[0, 3, 4]] = numpy.nan
        for flags in ((False, False, False), (True, False, False), (False, True, False), (True, True, True)):
            x = T.tensor(dtype, (False,) * array.ndim)
            results = T.unique(x, *flags, axis=axis)
            f = phintys.function([x], results)
            assert not any(type(node.op) is T.extra_ops.Unique for node in f.maker.fgraph.toposort())
            wanted = numpy.unique(array, *flags, axis=axis)
            for layout in LAYOUTS.values():
                got = f(layout(array))
                for one, other in zip(got if any(flags) else [got], wanted if any(flags) else [wanted]):
                    numpy.testing.assert_array_equal(one, other if other is wanted or one.ndim > 1 else other.ravel())


def test_nan_is_in_no_set():
    array = numpy.array([numpy.nan, 1.0])
    check_values(T.isin, numpy.isin, [array, array])
    check_values(lambda a, b: T.isin(a, b, invert=True), lambda a, b: numpy.isin(a, b, invert=True), [array, array])


def test_promises_of_distinct_elements():
    distinct, other = numpy.array([4, 1, 3]), numpy.array([3, 4, 7])
    for build, expected in [(T.intersect1d, numpy.intersect1d), (T.setdiff1d, numpy.setdiff1d),
                            (T.setxor1d, numpy.setxor1d)]:
        check_values(lambda a, b: build(a, b, assume_unique=True), lambda a, b: expected(a, b, assume_unique=True),
                     [distinct, other])


BINS = numpy.array([-1.0, 0.0, 0.5, 1.5])


def test_numbers_of_bins():
    array = numpy.concatenate([values(30), BINS, [numpy.inf, -numpy.inf, numpy.nan]]).reshape(37)
    for bins in (BINS, BINS[::-1].copy(), BINS[:1], numpy.ones(3)):
        for right in (False, True):
            for layout in LAYOUTS.values():
                check_values(lambda x, b: T.digitize(x, b, right), lambda a, b: numpy.digitize(a, b, right),
                             [layout(array), layout(bins)], modes=("FAST_RUN",))
    with pytest.raises(ValueError, match="monotonically"):
        T.digitize(array, [1.0, 3.0, 2.0]).eval()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_histograms(dtype):
    array, weights = values((6, 7), dtype), values((6, 7), seed=1)

    def exact(a):
        return a.astype("float64") if a.dtype.kind == "u" else a

    for bins in (1, 4, 10, BINS):
        for given in (None, (-1.0, 1.25)):
            for which in (0, 1):
                check_values(lambda x: T.histogram(x, bins, given)[which],
                             lambda a: numpy.histogram(exact(a), bins, given)[which], [array],
                             modes=("FAST_RUN",))
            check_values(lambda x, w: T.histogram(x, bins, given, weights=w)[0],
                         lambda a, w: numpy.histogram(exact(a), bins, given, weights=w)[0], [array, weights],
                         modes=("FAST_RUN",))
            if dtype != "float32":                          # NumPy's widths of bins are rounded differently
                check_values(lambda x: T.histogram(x, bins, given, density=True)[0],
                             lambda a: numpy.histogram(exact(a), bins, given, density=True)[0], [array],
                             modes=("FAST_RUN",))


def test_histograms_of_nothing_and_of_one_value():
    for array in (EMPTY, numpy.full(3, 2.0)):
        for which in (0, 1):
            check_values(lambda x: T.histogram(x, 4)[which], lambda a: numpy.histogram(a, 4)[which], [array])
    check_gradient(lambda w: T.histogram(values(9), 4, weights=w)[0], [values(9, seed=2)])


@pytest.mark.parametrize("build, error, message", [
    (lambda: T.digitize(values(3, "complex64"), BINS), TypeError, "complex"),
    (lambda: T.digitize(values(3), values((2, 2))), ValueError, "must be a vector"),
    (lambda: T.histogram(values(3, "complex64")), TypeError, "complex"),
    (lambda: T.histogram(values(3), 2.5), TypeError, "integer or a vector"),
    (lambda: T.histogram(values(3), BINS[::-1]).__getitem__(0).eval(), ValueError, "increase monotonically"),
    (lambda: T.histogram(values(3), 3, (2.0, 1.0))[0].eval(), ValueError, "max must be larger"),
    (lambda: T.histogram(numpy.array([1.0, numpy.inf]))[0].eval(), ValueError, "is not finite"),
])
def test_refused(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_distinct_elements_and_their_gradient():
    x = T.dvector()
    found, index, inverse, counts = T.unique(x, True, True, True)
    slope = phintys.grad((found ** 2).sum(), x)
    *results, slopes = phintys.function([x], [found, index, inverse, counts, slope])([2.0, 1.0, 2.0, 5.0])
    for got, wanted in zip(results, numpy.unique([2.0, 1.0, 2.0, 5.0], True, True, True)):
        numpy.testing.assert_array_equal(got, wanted)
    assert slopes.tolist() == [4.0, 2.0, 0.0, 10.0]
