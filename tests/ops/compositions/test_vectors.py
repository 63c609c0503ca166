"""Products, norms and ranks of vectors and matrices in stacks; and the array API's forms of them."""
import numpy
import pytest
from family_cases import check_gradient, check_values, values

import phintys
import phintys.tensor as T

A, B, STACK = values((4, 3)), values((3,), seed=1), values((2, 4, 3))
Z = values((4, 3), "complex128")

CASES = {
    "cross": (lambda a, b: T.cross(a, b), lambda a, b: numpy.cross(a, b), (A, B)),
    "cross along axes": (lambda a, b: T.cross(a.T, b, axisa=0, axisc=0), lambda a, b: numpy.cross(a.T, b, axisa=0,
                                                                                                  axisc=0),
                         (A, B)),
    "vecdot": (lambda a, b: T.vecdot(a, b), lambda a, b: numpy.vecdot(a, b), (STACK, A)),
    "matvec": (lambda a, b: T.matvec(a, b), lambda a, b: numpy.matvec(a, b), (STACK, B)),
    "vecmat": (lambda a, b: T.vecmat(b, a), lambda a, b: numpy.vecmat(b, a), (STACK, values(4))),
    "vector_norm": (lambda a: T.linalg.vector_norm(a, axis=(0, 2)), lambda a: numpy.linalg.vector_norm(a, axis=(0, 2)),
                    (STACK,)),
    "vector_norm 3": (lambda a: T.linalg.vector_norm(a, axis=1, ord=3, keepdims=True),
                      lambda a: numpy.linalg.vector_norm(a, axis=1, ord=3, keepdims=True), (STACK,)),
    "matrix_norm": (lambda a: T.linalg.matrix_norm(a, ord="nuc"), lambda a: numpy.linalg.matrix_norm(a, ord="nuc"),
                    (STACK,)),
    "svdvals": (lambda a: T.linalg.svdvals(a), lambda a: numpy.linalg.svdvals(a), (STACK,)),
    "cond": (lambda a: T.linalg.cond(a), lambda a: numpy.linalg.cond(a), (STACK,)),
    "cond 1": (lambda a: T.linalg.cond(a[:, :3], 1), lambda a: numpy.linalg.cond(a[:, :3], 1), (STACK,)),
    "diagonal": (lambda a: T.linalg.diagonal(a, offset=-1), lambda a: numpy.linalg.diagonal(a, offset=-1), (STACK,)),
    "trace": (lambda a: T.linalg.trace(a, offset=1), lambda a: numpy.linalg.trace(a, offset=1), (STACK,)),
    "outer": (lambda a: T.linalg.outer(a[0], a[1]), lambda a: numpy.linalg.outer(a[0], a[1]), (A,)),
    "linalg.cross": (lambda a: T.linalg.cross(a, a[::-1]), lambda a: numpy.linalg.cross(a, a[::-1]), (A,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    if not hasattr(numpy, name.split()[0]) and name in ("vecdot", "matvec", "vecmat"):
        pytest.skip("NumPy has these from 2.2 on")
    ours, theirs, arrays = CASES[name]
    check_values(ours, theirs, arrays)
    check_gradient(ours, arrays)


def test_the_first_operand_is_conjugated():
    check_values(lambda z: T.vecdot(z, z), lambda z: (z.conj() * z).sum(-1), [Z])
    check_values(lambda z: T.vecmat(z[:, 0], z), lambda z: z[:, 0].conj() @ z, [Z])
    check_values(lambda z: T.matvec(z, z[0]), lambda z: z @ z[0], [Z])


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_ranks_of_matrices(rank):
    matrix = values((5, rank)) @ values((rank, 3), seed=1)
    for options in ({}, {"tol": 1e-8}, {"rtol": 1e-8}):
        check_values(lambda a: T.linalg.matrix_rank(a, **options), lambda a: numpy.asarray(numpy.linalg.matrix_rank(a)),
                     [matrix])
    check_values(lambda a: T.linalg.matrix_rank(a @ a.T, hermitian=True), lambda a: numpy.asarray(rank), [matrix])


def test_a_length_that_is_not_3_is_told():
    x = T.dmatrix("x")
    f = phintys.function([x], T.cross(x, B))
    assert f(A).shape == (4, 3)
    with pytest.raises(ValueError, match="3-dimensional vectors"):
        f(A[:, :2])


@pytest.mark.parametrize("build, error, message", [
    (lambda x: T.cross(x, [1.0, 2.0]), ValueError, "but they are None and 2 dimensional"),
    (lambda x: T.vecdot(x, 1.0), ValueError, "at least 1 are needed"),
    (lambda x: T.matvec(x[0], x[0]), ValueError, "at least 2 are needed"),
    (lambda x: T.linalg.cond(x[0]), ValueError, "at least 2 are needed"),
    (lambda x: T.linalg.matrix_rank(x, 1.0, rtol=1.0), ValueError, "can't be both set"),
    (lambda x: T.linalg.outer(x, x), ValueError, "must be one-dimensional"),
    (lambda x: T.linalg.vector_norm(x, axis=2), ValueError, "axis 2 is out of bounds"),
])
def test_mistakes(build, error, message):
    with pytest.raises(error, match=message):
        build(T.dmatrix("x"))
