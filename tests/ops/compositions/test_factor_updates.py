"""Updates of QR factors: the product is the changed matrix, Q is orthogonal, R triangular; and derivatives."""
import numpy
import pytest

import phintys
import phintys.tensor as T

SHAPES = [(4, 4), (5, 3), (3, 5), (2, 2), (1, 1)]


def factors(shape, seed=0):
    matrix = numpy.random.RandomState(seed).normal(size=shape)
    return matrix, *numpy.linalg.qr(matrix, mode="complete")


def check(found, wanted):
    Q, R = phintys.function([], found)()
    numpy.testing.assert_allclose(Q @ R, wanted, atol=1e-12)
    numpy.testing.assert_allclose(Q.T @ Q, numpy.eye(len(Q)), atol=1e-12)
    numpy.testing.assert_allclose(numpy.tril(R, -1), 0, atol=1e-12)
    assert Q.shape == (wanted.shape[0],) * 2


@pytest.mark.parametrize("shape", SHAPES)
def test_qr_update(shape):
    matrix, Q, R = factors(shape)
    u, v = numpy.arange(1.0, shape[0] + 1), numpy.arange(2.0, shape[1] + 2)
    check(T.linalg.qr_update(Q, R, u, v), matrix + numpy.outer(u, v))
    check(T.linalg.qr_update(Q, R, u * 0, v), matrix)


@pytest.mark.parametrize("shape", SHAPES)
def test_qr_insert(shape):
    matrix, Q, R = factors(shape)
    for axis, which in enumerate(("row", "col")):
        u = numpy.arange(1.0, shape[1 - axis] + 1)
        for k in {0, shape[axis] // 2, shape[axis], -1}:
            check(T.linalg.qr_insert(Q, R, u, k, which), numpy.insert(matrix, k, u, axis=axis))
            check(T.linalg.qr_insert(Q, R, u, T.as_tensor(k), which), numpy.insert(matrix, k, u, axis=axis))


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_qr_delete(shape):
    matrix, Q, R = factors(shape)
    for axis, which in enumerate(("row", "col")):
        for k in {0, shape[axis] // 2, shape[axis] - 1}:
            check(T.linalg.qr_delete(Q, R, k, which), numpy.delete(matrix, k, axis=axis))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_numbers_whose_squares_are_none(scale):
    matrix, Q, R = factors((4, 3))
    u, v = numpy.arange(1.0, 5), numpy.arange(2.0, 5)
    Q, R = phintys.function([], T.linalg.qr_update(Q, R * scale, u, v * scale))()
    numpy.testing.assert_allclose(Q @ R / scale, matrix + numpy.outer(u, v), atol=1e-12)
    numpy.testing.assert_allclose(numpy.tril(R / scale, -1), 0, atol=1e-12)


def test_derivatives():
    _, Q, R = factors((4, 3), seed=1)
    u, v = numpy.array([0.5, -1.0, 2.0, 1.5]), numpy.array([1.0, 2.0, -0.5])
    T.verify_grad(lambda *given: T.concatenate([T.sqr(part).flatten() for part in T.linalg.qr_update(*given)]),
                  [Q, R, u, v], rng=numpy.random.RandomState(0))
    T.verify_grad(lambda u: T.sqr(T.linalg.qr_insert(Q, R, u, 1)[1]), [v], rng=numpy.random.RandomState(0))
    T.verify_grad(lambda u: T.sqr(T.linalg.qr_insert(Q, R, u, 1, "col")[1]), [u], rng=numpy.random.RandomState(0))
    T.verify_grad(lambda R: T.sqr(T.linalg.qr_delete(Q, R, 1, "col")[1]), [R], rng=numpy.random.RandomState(0))


def test_mistakes():
    _, Q, R = factors((3, 3))
    with pytest.raises(ValueError, match="which must be 'row' or 'col', got 'rows'"):
        T.linalg.qr_delete(Q, R, 0, "rows")
    with pytest.raises(ValueError, match="qr_update: real matrices are needed"):
        T.linalg.qr_update(Q * 1j, R, Q[0], Q[0])
    with pytest.raises(ValueError, match="qr_insert: a vector is needed"):
        T.linalg.qr_insert(Q, R, Q, 0)


@pytest.mark.parametrize("call, shape", [
    ("T.linalg.qr_insert(Q, R, u, 0)", (1, 3)), ("T.linalg.qr_insert(Q, R, u[:0], 1, which='col')", (0, 4)),
    ("T.linalg.qr_delete(Q, R, 0, which='col')", (0, 2)), ("T.linalg.qr_update(Q, R, u[:0], u)", (0, 3))])
def test_matrices_without_rows(call, shape):
    Q, R, u = T.dmatrix("Q"), T.dmatrix("R"), T.dvector("u")
    parts = eval(call, {"T": T}, {"Q": Q, "R": R, "u": u})           # a row of the table above
    f = phintys.function([Q, R, u], parts, on_unused_input="ignore")
    found = f(numpy.zeros((0, 0)), numpy.zeros((0, 3)), numpy.ones(3))
    assert [part.shape for part in found] == [(shape[0], shape[0]), shape]
    numpy.testing.assert_allclose(found[0] @ found[1], numpy.ones(shape))
