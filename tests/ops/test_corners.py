"""Corners in which a value was wrong once: what NumPy computes of them, optimized and not.

A row is a text for variables, behind ``<>`` NumPy's where it is another one, and the operand ``a``.
"""
import warnings

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.types.tensor_type import TensorType

NAN, INF = numpy.nan, numpy.inf
BIG = numpy.array([2**62] * 4)
CORNERS = [
    # Not more elements than are taken off: the divisor is 0, not negative.
    *[(f"n.{name}(a, ddof={ddof})", value) for name in ("var", "std", "nanvar") for ddof in (1, 2, 3)
      for value in (numpy.zeros(0), numpy.array([2.0]), numpy.array([1.0, 3.0]))],
    ("n.var(a, axis=0, ddof=2)", numpy.ones((1, 3), "complex64")),
    # An infinity is not left out with the NaN.
    *[(f"n.{name}(a)", numpy.array([1.0, INF, NAN, 2.0])) for name in ("nanvar", "nanstd", "nanmean")],
    ("n.nanvar(a, axis=0)", numpy.array([[INF, 1], [-INF, 2], [NAN, NAN]], "float32")),
    # 64-bit integers are added as the floats that are asked for.
    *[(f"n.{name}(a, dtype={dtype!r})", BIG) for name in ("sum", "mean", "prod")
      for dtype in ("float64", "float32", "complex128") if (name, dtype) != ("prod", "float32")],
    ("n.sum(a, axis=0, dtype='float64')", numpy.full((3, 2), 2**64 - 1, "uint64")),
    # A ufunc computes in the dtype that is asked for.
    *[(f"n.{name}(a, a, dtype={dtype!r})", value) for name in ("add", "multiply", "hypot") for dtype, value in (
        ("float64", numpy.array([True, False])), ("float32", numpy.array([100, 3], "int8")))],
    ("n.subtract(a, a[::-1], dtype='int64')", numpy.array([200, 3], "uint8")),
    ("n.true_divide(a, 3, dtype='float64')", numpy.array([200, 3], "float32")),
    ("n.ldexp(a, 2, dtype='float64')", numpy.array([3e38, 3], "float32")),
    # No axes, and a length of 0.
    ("n.linalg.matrix_rank(a)", numpy.zeros((0, 0))), ("n.linalg.matrix_rank(a)", numpy.zeros((2, 0, 3))),
    ("n.median(a, axis=())", numpy.zeros((0, 3))),
    ("n.quantile(a, 0.5, axis=())", numpy.zeros((2, 0, 3))),
    ("n.take(a, [])", numpy.zeros(3)), ("n.take(a, [], 0)", numpy.zeros((2, 3))),
    # 2 to an infinite real part.
    ("n.exp2(a)", numpy.array([complex(INF, 0), complex(-INF, 0), complex(INF, 1), complex(1, INF), 1 + 2j])),
]
RUN_TIME_MISTAKES = [
    ("T.einsum('ii->i', T.outer(a, a)[k:])", ValueError, (1, 2)),
    ("T.einsum('ii', T.outer(a, a)[:, k:])", ValueError, (1, 2)),
    ("T.insert(a, k, 9.0)", IndexError, (-4, 4)), ("T.insert(a, T.stack([0, k]), 9.0)", IndexError, (-4, 4)),
    ("T.nanmedian(a[k:])", ValueError, (3,)), ("T.nanquantile(a[k:], [0.2, 0.4])", ValueError, (3,)),
]


@pytest.mark.parametrize("text, a", CORNERS, ids=[f"{text} {a.dtype}{a.shape}" for text, a in CORNERS])
def test_corners(text, a):
    ours, _, theirs = text.partition(" <> ")
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = eval(theirs or ours, {"n": numpy, "a": a})
        except ValueError:
            if numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0":
                raise
            pytest.skip("this NumPy refuses it")
    variable = TensorType(a.dtype.name, (False,) * a.ndim)("a")
    result = eval(ours, {"n": numpy, "T": T, "a": variable})
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        found = phintys.function([variable], result, mode=mode, on_unused_input="ignore")(a)
        assert found.shape == numpy.shape(wanted) and found.dtype == wanted.dtype, (mode, found.dtype, wanted.dtype)
        numpy.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype.itemsize < 8 else 1e-14, err_msg=mode)


@pytest.mark.parametrize("text, error, positions", RUN_TIME_MISTAKES)
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_mistakes_that_only_a_call_can_see(text, error, positions, mode):
    a, k = T.dvector("a"), T.lscalar("k")
    f = phintys.function([a, k], eval(text, {"T": T, "a": a, "k": k}), mode=mode)
    f([1.0, 2.0, 3.0], 0)
    for position in positions:
        with pytest.raises(error):
            f([1.0, 2.0, 3.0], position)
