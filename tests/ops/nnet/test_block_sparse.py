"""Products with blocks of a large matrix against plain loops: dtypes, layouts, derivatives, work in place, errors."""
import importlib
import sys

import numpy
import pytest
from family_cases import LAYOUTS, check_equal, check_gradient, check_r_op, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.nnet.block_sparse import (
    SparseBlockGemv,
    SparseBlockOuter,
    sparse_block_dot,
    sparse_block_gemv,
    sparse_block_outer,
)

FROM, TO = numpy.array([[0, 3, 2], [1, -1, 1]], "int32"), numpy.array([[1, 0], [2, 2]])


def operands(dtype="float64", sizes=(5, 6)):
    """o, W, h for 4 by 3 blocks."""
    return [values(shape, dtype, seed) for seed, shape in enumerate([(2, 2, sizes[1]), (4, 3, *sizes),
                                                                     (2, 3, sizes[0])])]


def product(o, W, h, froms=FROM, tos=TO):
    out = o.copy()
    for b, j, i in numpy.ndindex(*tos.shape, froms.shape[1]):
        out[b, j] += h[b, i] @ W[froms[b, i], tos[b, j]]
    return out


def outer(o, x, y, alpha=1.0, froms=FROM, tos=TO):
    out = o.copy()
    for b, j, i in numpy.ndindex(*tos.shape, froms.shape[1]):
        out[froms[b, i], tos[b, j]] += alpha * numpy.outer(x[b, i], y[b, j])
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(5, 6), (1, 1), (70, 33), (0, 4)], ids=str)
def test_values(sizes, dtype):
    o, W, h = operands(dtype, sizes)
    check_values(lambda o, W, h: sparse_block_gemv(o, W, h, FROM, TO), product, [o, W, h], modes=["FAST_RUN"])
    check_values(lambda W, h, o: sparse_block_outer(W, h, o, FROM, TO), outer, [W, h, o], modes=["FAST_RUN"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    o, W, h = map(LAYOUTS[layout], operands())
    check_values(lambda o, W, h: sparse_block_gemv(o, W, h, FROM, TO), product, [o, W, h], modes=["FAST_RUN"])
    swapped = lambda W: W.transpose(0, 1, 3, 2)  # noqa: E731
    check_values(lambda o, W, h: sparse_block_gemv(o, W.dimshuffle(0, 1, 3, 2), h, FROM, TO),
                 lambda o, W, h: product(o, swapped(W), h), [o, LAYOUTS[layout](swapped(W)), h], modes=["FAST_RUN"])
    check_values(lambda W, h, o: sparse_block_outer(W, h, o, FROM, TO), outer, [W, h, o], modes=["FAST_RUN"])


def test_derivatives():
    o, W, h = operands()
    build = lambda o, W, h: sparse_block_gemv(o, W, h, FROM, TO)  # noqa: E731
    check_gradient(build, [o, W, h])
    check_r_op(build, [o, W, h])
    alpha = numpy.array(1.5)
    build = lambda W, h, o, alpha: sparse_block_outer(W, h, o, FROM, TO, alpha)  # noqa: E731
    check_values(build, outer, [W, h, o, alpha], modes=["FAST_RUN"])
    check_gradient(build, [W, h, o, alpha])
    check_r_op(build, [W, h, o, alpha])
    check_gradient(lambda W, h: phintys.grad((sparse_block_gemv(o, W, h, FROM, TO) ** 2).sum(), W), [W, h])


def test_dot_with_a_bias():
    _, W, h = operands()
    bias = values((3, 6), seed=5)
    check_values(lambda W, h, b: sparse_block_dot(W, h, FROM, b, TO), lambda W, h, b: product(b[TO], W, h),
                 [W, h, bias])
    check_values(lambda W, h, b: sparse_block_dot(W, h, FROM[0], b, TO[0]),
                 lambda W, h, b: product(b[TO[:1]], W, h[None], FROM[:1], TO[:1]), [W, h[0], bias])
    check_gradient(lambda W, h, b: sparse_block_dot(W, h, FROM, b, TO), [W, h, bias])


def test_sums_are_computed_in_place():
    o, W, h = operands()
    symbols = [variable_for(array) for array in (o, W, h)]
    function = phintys.function(symbols, sparse_block_gemv(symbols[0] * 2, symbols[1], symbols[2], FROM, TO))
    node, = [node for node in function.maker.fgraph.toposort() if isinstance(node.op, SparseBlockGemv)]
    assert node.op.inplace and node.op.destroy_map == {0: [0]}
    check_equal(function(o, W, h), product(2 * o, W, h))
    symbols = [variable_for(array) for array in (W, h, o)]
    function = phintys.function(symbols, sparse_block_outer(symbols[0] * 2, symbols[1], symbols[2], FROM, TO))
    node, = [node for node in function.maker.fgraph.toposort() if isinstance(node.op, SparseBlockOuter)]
    assert node.op.inplace
    check_equal(function(W, h, o), outer(2 * W, h, o))


@pytest.mark.parametrize("shapes, froms, error, message", [
    ([(2, 2, 7), (4, 3, 5, 6), (2, 3, 5)], FROM, ValueError, r"input 0 has shape \(2, 2, 7\), .* require \(2, 2, 6\)"),
    ([(2, 2, 6), (4, 3, 4, 6), (2, 3, 5)], FROM, ValueError, r"input 2 has shape \(2, 3, 5\), .* require \(2, 3, 4\)"),
    ([(2, 2, 6), (4, 3, 5, 6), (2, 3, 5)], FROM[:, :2], ValueError, r"input 3 has shape \(2, 2\)"),
    ([(2, 2, 6), (4, 3, 5, 6), (2, 3, 5)], FROM + 2, IndexError, "index 5 is out of bounds for axis 0 with size 4"),
    ([(2, 2, 6), (4, 3, 5, 6), (2, 3, 5)], FROM - 4, IndexError, "index -5 is out of bounds for axis 0 with size 4"),
])
def test_errors_while_running(shapes, froms, error, message):
    symbols = [T.tensor3(), T.tensor4(), T.tensor3()]
    with pytest.raises(error, match=message):
        phintys.function(symbols, sparse_block_gemv(*symbols, froms, TO))(*map(numpy.zeros, shapes))


@pytest.mark.parametrize("build, message", [
    (lambda: sparse_block_gemv(T.matrix(), T.tensor4(), T.tensor3(), FROM, TO), "input 0 must have 3 dimensions"),
    (lambda: sparse_block_gemv(T.itensor3(), T.tensor4(), T.tensor3(), FROM, TO), "takes float32 or float64"),
    (lambda: sparse_block_gemv(T.tensor3(), T.tensor4(), T.tensor3(), T.matrix(), TO), "matrix of integers"),
    (lambda: sparse_block_dot(T.tensor4(), T.tensor3(), FROM[0], T.matrix(), TO), "one dimension less than h"),
])
def test_errors_while_building(build, message):
    with pytest.raises(TypeError, match=message):
        build()


def test_names():
    assert T.nnet.blocksparse.sparse_block_dot is sparse_block_dot
    sys.modules.pop("phintys.sandbox.blocksparse", None)
    with pytest.warns(DeprecationWarning, match="moved to tensor.nnet.blocksparse"):
        assert importlib.import_module("phintys.sandbox.blocksparse").SparseBlockGemv is SparseBlockGemv
