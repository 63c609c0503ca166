"""Attention in blocks of keys: the values and gradients of one formula, without memory for all products."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.pool import pool_statistics, reset_peak

attention = T.nnet.scaled_dot_product_attention
RANDOM = numpy.random.RandomState(0)
Q, K, V = [RANDOM.normal(size=shape) for shape in ((2, 5, 4), (2, 7, 4), (2, 7, 3))]
MASK = RANDOM.normal(size=(5, 7)) > 0
MASK[2] = False
ADDED = RANDOM.normal(size=(2, 5, 7))
VARIANTS = {"plain": {}, "causal": {"is_causal": True}, "masked": {"mask": MASK}, "added": {"mask": ADDED},
            "all": {"mask": MASK, "is_causal": True, "scale": 0.3}, "of keys": {"mask": MASK[:1]}}


def compiled(dtype, block, **options):
    variables = [T.TensorType(dtype, (False,) * 3)() for _ in range(3)]
    result = attention(*variables, block=block, **options)
    weights = numpy.cos(numpy.arange(30.0)).reshape(2, 5, 3).astype(dtype)
    return phintys.function(variables, [result, *phintys.grad(T.sum(result * weights), variables)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_values_and_gradients_are_those_of_one_formula(name, block, dtype):
    given = [part.astype(dtype) for part in (Q, K, V)]
    options = {key: value.astype(dtype) if hasattr(value, "dtype") and value.dtype == float else value
               for key, value in VARIANTS[name].items()}
    tolerance = 1e-12 if dtype == "float64" else 2e-5
    for found, wanted in zip(compiled(dtype, block, **options)(*given), compiled(dtype, None, **options)(*given)):
        assert found.dtype == dtype
        numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_the_gradient_of_what_is_added():
    mask = T.dtensor3()
    slopes = [phintys.grad(T.sum(T.sqr(attention(Q, K, V, mask, block=block))), mask).eval({mask: ADDED})
              for block in (3, None)]
    numpy.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-12)
    row = T.TensorType("float64", (True, True, False))()
    slopes = [phintys.grad(T.sum(T.sqr(attention(Q, K, V, row, block=block))), row).eval({row: ADDED[:1, :1]})
              for block in (3, None)]
    numpy.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-12)


def test_large_scores_and_no_keys():
    found = attention(Q * 1e200, K, V, MASK, block=2).eval()
    numpy.testing.assert_allclose(found, attention(Q * 1e200, K, V, MASK).eval(), atol=1e-12)
    assert (found[:, 2] == 0).all()
    without = numpy.where(MASK, 0, -numpy.inf)
    for block in (2, None):
        nothing = attention(T.as_tensor(Q), K[:, :0], V[:, :0], block=block).eval()
        assert nothing.tolist() == numpy.zeros((2, 5, 3)).tolist()
        numpy.testing.assert_allclose(attention(Q, K, V, without, block=block).eval(),
                                      attention(Q, K, V, MASK).eval(), atol=1e-15)


@pytest.mark.parametrize("options", [{"is_causal": True}, {"mask": MASK[:1]}, {"mask": MASK[:1], "is_causal": True}])
def test_one_query(options):
    """Its length is known: a matrix with a row, as decoders have it; the mask's is not."""
    q, options = T.row(), dict(options)
    more = {"mask": T.bmatrix()} if "mask" in options else {}
    results = [attention(q, K[0], V[0], block=block, **options | {name: T.neq(x, 0) for name, x in more.items()})
               for block in (3, None)]
    f = phintys.function([q, *more.values()], results + [phintys.grad(T.sum(T.sqr(x)), q) for x in results])
    found = f(Q[0, :1], *[options[name].astype("int8") for name in more])
    numpy.testing.assert_allclose(found[0], found[1], atol=1e-12)
    numpy.testing.assert_allclose(found[2], found[3], atol=1e-12)


def peak(block):
    """The most bytes of temporaries at one time of the values and gradients."""
    q, k, v = T.dmatrices("q", "k", "v")
    result = attention(q, k, v, block=block)
    f = phintys.function([q, k, v], [result, *phintys.grad(T.sum(result), [q, k, v])])
    values = RANDOM.normal(size=(3, 1024, 4))
    f(*values)
    reset_peak()
    before = pool_statistics()["live_bytes"]
    f(*values)
    return pool_statistics()["peak_bytes"] - before


def test_memory():
    square = 1024 * 1024 * 8
    assert peak(None) >= square > 4 * peak(32)


def test_mistakes():
    with pytest.raises(ValueError, match="block must be a positive int, got 0"):
        attention(Q, K, V, block=0)
    with pytest.raises(ValueError, match="read in blocks must have one rank"):
        attention(Q, K[0], V, block=2)
