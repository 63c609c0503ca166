"""Functions of ``scipy.linalg`` by SciPy's names and arguments: the same values, or what differs is named here."""
import numpy
import pytest
import scipy.linalg

import phintys.tensor as T
from phintys import function
from phintys.graph.variable import Variable

random = numpy.random.RandomState(5)
VALUES = {"a": random.normal(size=(3, 3)), "b": random.normal(size=(3, 2)), "v": random.normal(size=3),
          "w": random.normal(size=3), "r": random.normal(size=(4, 3)), "k": random.normal(size=(2, 3)),
          "z": random.normal(size=(3, 3)) + 1j * random.normal(size=(3, 3)), "v4": random.normal(size=4),
          "ab": random.normal(size=(3, 3)) + [[0], [4], [0]]}
VALUES["q"] = random.normal(size=(4, 4)) + 3 * numpy.eye(4)
VALUES["s"] = VALUES["a"] @ VALUES["a"].T + numpy.eye(3)
VALUES["l"] = numpy.tril(VALUES["a"]) + 2 * numpy.eye(3)
VALUES["sb"] = numpy.array([[0.0, 0.2, 0.1], [3.0, 4.0, 5.0]])

CALLS = """cho_solve((l, True), v)|cho_solve((l.T, False), b)|solve(a, v)|solve(a, b)|solve_triangular(l, v, lower=True)
    solve_triangular(l, b, lower=True, trans='T')|solve_triangular(l, v, trans=0, lower=True, unit_diagonal=True)
    solve_banded((1, 1), ab, v)|solve_toeplitz(v, w)|solve_toeplitz((v + 4, w), b)|solve_circulant(v, w)|lu(a)|inv(a)
    lu(a, permute_l=True)|det(a)|det(z)|norm(a)|norm(a, 1)|norm(a, 'nuc')|norm(v, 3)|norm(a, axis=0)|pinv(r)|svdvals(r)
    svd(r, compute_uv=False)|qr(a)|qr(r)|qr(r, mode='economic')|qr(r, mode='r')|eigvalsh(s)|expm(a)|polar(r)
    eigvalsh(s, lower=False)|sqrtm(s)|logm(s)|polar(a)|schur(s)|solve_sylvester(a, s, b @ k)|orth(r)|lu_factor(a)
    solve_continuous_lyapunov(a, s)|solve_discrete_lyapunov(a / 4, s)|toeplitz(v)|toeplitz(v, w)|hankel(v)|hankel(v, w)
    circulant(v)|companion(v)|block_diag(a, b)|block_diag(v, a)|null_space(k)|expm_frechet(a, s)
    null_space(k, rcond=0.1)|solve(a, v, transposed=True)|solve(a, b, assume_a='gen', transposed=True)
    solve(s, v, assume_a='pos')|solve(s, b, assume_a='positive definite', lower=True, check_finite=False)
    solve(a, v, assume_a='sym')|solve(a, b, assume_a='symmetric', lower=True)|solve(z, v, assume_a='her')
    solve(z, b, assume_a='hermitian', lower=True)|solve(z, v, assume_a='sym')|solve(a, v, assume_a='banded')
    solve(a, b, assume_a='upper triangular')|solve(a, v, assume_a='lower triangular', transposed=True)
    solve(a, v, assume_a='diagonal')|solve(q, v4, assume_a='tridiagonal', transposed=True, overwrite_a=False)"""
# A call → the one of SciPy that it is, because the function is Theano's.
CONVENTIONS = {"cholesky(s)": "cholesky(s, lower=True)", "eigh(s)[0]": "eigvalsh(s)", "lstsq(r, v4)[0]": "pinv(r) @ v4",
               "abs(eigh(s)[1])": "eigh(s)[1] * numpy.sign(eigh(s)[1])", "eigvals(s)": "eigvals(s).real"}
# What is not there, or has fewer arguments.
REFUSED = {
    "cholesky(s, lower=True)": (TypeError, "lower"),
    "solve(s, v, assume_a='square')": (ValueError, "assume_a must be one of"),
    "solve(z, v, transposed=True)": (NotImplementedError, "real matrices"),
    "solveh_banded(sb, v)": (TypeError, "must be known"),
    "lu(r)": (numpy.linalg.LinAlgError, "must be square"),
    **{f"{name}(a)": (AttributeError, name) for name in """cholesky_banded fractional_matrix_power funm cosm signm sinm
       tanm hessenberg ldl cdf2rdf subspace_angles orthogonal_procrustes khatri_rao""".split()}}


def flat(found):
    return [part for item in found for part in flat(item)] if isinstance(found, (tuple, list)) else [found]


def found_by(call):
    """The results of a function of the tensor namespace."""
    name = call.removeprefix("abs(").partition("(")[0]
    module = T.slinalg if hasattr(T.slinalg, name) else T.linalg
    variables = {name: T.TensorType(value.dtype.name, (False,) * value.ndim)(name) for name, value in VALUES.items()}
    found = flat(eval(call, {"abs": abs}, {**variables, name: getattr(module, name)}))
    return function([*variables.values()], [part for part in found if isinstance(part, Variable)],
                    on_unused_input="ignore", mode="FAST_COMPILE")(*VALUES.values())


@pytest.mark.parametrize("call", [*[call.strip() for call in CALLS.replace("\n", "|").split("|")], *CONVENTIONS])
def test_as_scipy(call):
    functions = {name: getattr(scipy.linalg, name) for name in scipy.linalg.__all__}
    wanted = flat(eval(CONVENTIONS.get(call, call), {**functions, "numpy": numpy}, dict(VALUES)))
    for got, want in zip(found_by(call), wanted, strict=True):
        assert numpy.shape(got) == numpy.shape(want)
        numpy.testing.assert_allclose(got, want, 1e-8, 1e-9)


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call):
    error, message = REFUSED[call]
    with pytest.raises(error, match=message):
        found_by(call)
