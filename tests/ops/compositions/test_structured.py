"""Matrices of few numbers, and their systems, against SciPy's."""
import numpy
import pytest
import scipy.linalg
from family_cases import check_gradient, check_values, values

import phintys.tensor as T

L = T.linalg
C, R, B = values((4,)) + 2, values((3,), seed=1), values((4, 2), seed=2)
MADE = {"toeplitz": [(C,), (C, R), (C + 1j * B[:, 0],), (C[:0], R)], "hankel": [(C,), (C, R)],
        "circulant": [(C,), (C[:0],)], "companion": [(C,), (C[:2],)]}


@pytest.mark.parametrize("name", MADE)
def test_matrices(name):
    for arguments in MADE[name]:
        if len(arguments[0]):
            check_values(getattr(L, name), getattr(scipy.linalg, name), list(arguments))
        else:
            assert 0 in getattr(L, name)(*arguments).eval().shape
    check_gradient(lambda x: getattr(L, name)(x) ** 2, [C])


BANDS = values((4, 6)) + numpy.array([[0], [0], [6.0], [0]])
HALF = numpy.array([[0.0, 1, 2, 1], [9, 8, 7, 6]])
SYSTEMS = {
    "toeplitz": (lambda c, b: L.solve_toeplitz(c, b), scipy.linalg.solve_toeplitz, [C + [9, 0, 0, 0], B]),
    "two sides": (lambda c, r, b: L.solve_toeplitz((c, r), b), lambda c, r, b: scipy.linalg.solve_toeplitz((c, r), b),
                  [C + [9, 0, 0, 0], C[::-1].copy(), B[:, 0].copy()]),
    "circulant": (L.solve_circulant, scipy.linalg.solve_circulant, [C + [9, 0, 0, 0], B]),
    "a vector": (L.solve_circulant, scipy.linalg.solve_circulant, [C + [9, 0, 0, 0], B[:, 0].copy()]),
    "banded": (lambda ab, b: L.solve_banded((1, 2), ab, b), lambda ab, b: scipy.linalg.solve_banded((1, 2), ab, b),
               [BANDS, values((6,))]),
    "upper": (lambda ab, b: L.solveh_banded(T.specify_shape(ab, (2, 4)), b), scipy.linalg.solveh_banded, [HALF, B]),
    "lower": (lambda ab, b: L.solveh_banded(T.specify_shape(ab, (2, 4)), b, lower=True),
              lambda ab, b: scipy.linalg.solveh_banded(ab, b, lower=True), [HALF[::-1].copy(), B]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name):
    build, reference, arguments = SYSTEMS[name]
    check_values(build, reference, arguments)
    check_gradient(build, arguments)


def test_mistakes():
    with pytest.raises(ValueError, match="toeplitz: vectors are needed"):
        L.toeplitz(B)
    with pytest.raises(ValueError, match="the bands must be a matrix"):
        L.solve_banded((0, 0), C, C)
    with pytest.raises(TypeError, match="the number of rows of ab must be known"):
        L.solveh_banded(T.dmatrix("ab"), C)
