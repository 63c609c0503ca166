"""Functions of matrices and further factors: values against SciPy's, derivatives of both orders against differences."""
import numpy
import pytest
import scipy.linalg
from family_cases import check_gradient, check_r_op, values

import phintys
import phintys.tensor as T

L = T.linalg
X = values((3, 3))
POSITIVE = X @ X.T + numpy.eye(3)
GENERAL = scipy.linalg.expm(0.5 * X)
DEFECTIVE = numpy.array([[2.0, 1, 0], [0, 2, 1], [0, 0, 2]])
MATRICES = {"positive": POSITIVE, "general": GENERAL, "defective": DEFECTIVE, "complex": POSITIVE + 1j * X,
            "float32": POSITIVE.astype("float32"), "identity": numpy.eye(3)}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("function", ["sqrtm", "logm"])
def test_values_are_those_of_scipy(function, name):
    matrix = MATRICES[name]
    x = T.TensorType(matrix.dtype.name, (False, False))("x")
    stack = T.TensorType(matrix.dtype.name, (False,) * 3)("stack")
    for mode in ("FAST_RUN", "FAST_COMPILE")[:1 + (name == "positive")]:
        f = phintys.function([x, stack], [getattr(L, function)(x), getattr(L, function)(stack)], mode=mode)
        found, of_stack = f(matrix, numpy.stack([matrix, matrix * 2]))
        assert found.dtype == of_stack.dtype == matrix.dtype
        tolerance = 1e-4 if name == "float32" else 1e-12
        for got, given in ((found, matrix), (of_stack[0], matrix), (of_stack[1], matrix * 2)):
            wanted = getattr(scipy.linalg, function)(given * numpy.float64(1))          # not in float32
            numpy.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_what_is_not_real_is_nan_and_zero_has_a_root():
    assert numpy.isnan(L.sqrtm(numpy.diag([-1.0, 4.0])).eval()).all()
    numpy.testing.assert_allclose(L.sqrtm(numpy.diag([-1.0 + 0j, 4.0])).eval(), numpy.diag([1j, 2]), atol=1e-15)
    assert L.sqrtm(numpy.zeros((2, 2))).eval().tolist() == [[0, 0], [0, 0]]
    assert L.sqrtm(numpy.zeros((0, 0))).eval().shape == L.logm(numpy.zeros((0, 0))).eval().shape == (0, 0)


SMOOTH = {
    "sqrtm": (L.sqrtm, POSITIVE), "root of a general one": (L.sqrtm, GENERAL), "logm": (L.logm, GENERAL),
    "log of a defective one": (L.logm, DEFECTIVE), "frechet": (lambda x: L.expm_frechet(x, x.T)[1], X),
    "polar": (lambda x: T.concatenate(L.polar(x)), X + 2 * numpy.eye(3)),
    "left polar": (lambda x: T.concatenate(L.polar(x, "left")[::-1]), X.T + 2 * numpy.eye(3)),
    "polar of tall ones": (lambda x: L.polar(x)[0], values((4, 2))),
    "polar of equal singular values": (lambda x: T.concatenate(L.polar(x)), numpy.eye(2)),
    "cholesky_update": (lambda x: L.cholesky_update(T.tril(x), x[0] / 4) + L.cholesky_update(T.tril(x), x[1] / 9, -1),
                        numpy.linalg.cholesky(POSITIVE) + numpy.eye(3)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_both_orders(name):
    build, matrix = SMOOTH[name]
    check_gradient(build, [matrix])
    check_r_op(build, [matrix])
    if name in ("sqrtm", "logm", "polar of tall ones"):                 # the others would take long and use the same
        check_gradient(lambda x: phintys.grad((build(x) ** 2).sum(), x), [matrix])


def test_factors():
    tall = values((5, 3))
    for side, matrix in (("right", tall), ("left", tall), ("right", X + 1j * X.T), ("left", tall.T)):
        for got, want in zip(L.polar(matrix, side), scipy.linalg.polar(matrix, side)):
            numpy.testing.assert_allclose(got.eval(), want, atol=1e-13)
    numpy.testing.assert_allclose(L.expm_frechet(X, X.T)[1].eval(), scipy.linalg.expm_frechet(X, X.T)[1], atol=1e-12)
    for matrix in (values((4, 2)) @ values((2, 5)), X, numpy.zeros((2, 3)), numpy.ones((1, 3)) * (1 + 2j)):
        for name in ("orth", "null_space"):
            got, want = getattr(L, name)(matrix).eval(), getattr(scipy.linalg, name)(matrix)
            assert got.shape == want.shape
            numpy.testing.assert_allclose(got @ got.conj().T, want @ want.conj().T, atol=1e-13)


def test_cholesky_update():
    lower, x = numpy.linalg.cholesky(POSITIVE), values((3,)) / 4
    for sign in (1, -1):
        numpy.testing.assert_allclose(L.cholesky_update(lower, x, sign).eval(),
                                      numpy.linalg.cholesky(POSITIVE + sign * numpy.outer(x, x)), rtol=1e-12)
    assert numpy.isnan(L.cholesky_update([[1.0]], [2.0], -1).eval())


@pytest.mark.parametrize("call, message", [
    (lambda: L.polar(X, "up"), "side must be 'right' or 'left', got 'up'"),
    (lambda: L.orth(values((2, 2, 2))), "orth: a matrix is needed"),
    (lambda: L.cholesky_update(X, X), "a real matrix and a vector are needed"),
    (lambda: L.cholesky_update(X, X[0], 2), "sign must be 1 or -1, got 2")])
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_results_of_which_one_is_computed_from_the_other_have_both_gradients():
    """Also in vjp: a known gradient must not hide what comes from the other result."""
    x = T.dvector("x")

    def both(x):
        square = x ** 2
        return [square, square * 3]
    product, = phintys.vjp(both, x)[1]([T.ones_like(x), T.ones_like(x)])
    assert phintys.function([x], product)([1.0, 2.0]).tolist() == [8, 16]
