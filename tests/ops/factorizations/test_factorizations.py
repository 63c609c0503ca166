"""Each row of the table of linear algebra: values, shapes, derivatives, errors."""
from types import SimpleNamespace

import numpy
import pytest
import scipy.linalg
from dense_checks import check_jacobian
from family_cases import LAYOUTS, check_gradient, check_r_op, check_shape, variable_for
from matrix_cases import CASES

import phintys
import phintys.tensor as T
from phintys import function, grad
from phintys.ops.factorizations import eigen, functions, inverse, orthogonal
from phintys.ops.factorizations.cholesky import Cholesky, cholesky
from phintys.ops.factorizations.least_squares import least_squares
from phintys.ops.factorizations.solve import LUSolve, Solve, solve, solve_triangular

TOLERANCE = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-9, "complex128": 1e-9}
NAMES = [*CASES]
DERIVED = [name for name in NAMES if CASES[name].derivatives]
FAILING = [(name, number) for name in NAMES for number in range(len(CASES[name].errors))]


def operands(case, dtype):
    """The operands in another dtype; Hermitian ones become complex Hermitian ones."""
    if not dtype.startswith("complex"):
        return [x.astype(dtype) for x in case.operands]
    turned = []
    for seed, x in enumerate(case.operands):
        phases = numpy.exp(1j * numpy.random.default_rng(seed).uniform(0, 3, x.shape[0]))
        square = x.ndim == 2 and x.shape[0] == x.shape[1]
        turned.append((x * phases[:, None] * phases.conj() if square else (x.T * phases).T).astype(dtype))
    return turned


def stacked(arrays):
    """Two matrices instead of one; the second one has twice the elements."""
    return [numpy.stack([x, 2 * x]) for x in arrays]


def compare(case, arrays, mode=None):
    variables = [variable_for(x) for x in arrays]
    got = phintys.function(variables, case.build(*variables), mode=mode)(*arrays)
    wanted = numpy.asarray(case.expected(*arrays))
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    tolerance = TOLERANCE.get(arrays[0].dtype.name)
    numpy.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [*TOLERANCE])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype):
    case = CASES[name]
    if dtype.startswith("complex") and not case.complexes:
        pytest.skip("the phase of complex vectors is not determined")
    arrays = operands(case, dtype)
    compare(case, arrays)
    if case.stacked:
        compare(case, stacked(arrays))


@pytest.mark.parametrize("layout", [*LAYOUTS])
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name, layout):
    case = CASES[name]
    compare(case, [LAYOUTS[layout](x) for x in (stacked(case.operands) if case.stacked else case.operands)])


@pytest.mark.parametrize("name", [name for name in NAMES if CASES[name].empty])
def test_empty_operands(name):
    case = CASES[name]
    compare(case, [x[:0, :0] if x.ndim == 2 else x[:0] for x in case.operands])
    if case.stacked:
        compare(case, [x[None][:0] for x in case.operands])


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_other_modes(name):
    case = CASES[name]
    check_shape(case.build, case.operands)
    compare(case, case.operands, "FAST_COMPILE")
    compare(case, case.operands, phintys.compile.DebugMode(check_isfinite=False, stability_patience=1))


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives(name):
    case = CASES[name]
    for arrays in [case.operands, stacked(case.operands)][:1 + case.stacked]:
        check_gradient(case.build, arrays)
        check_r_op(case.build, arrays)


@pytest.mark.parametrize("name", DERIVED)
def test_second_derivatives(name):
    case = CASES[name]
    if "pinv" not in name and "sign" not in name:
        check_gradient(lambda *x: phintys.grad((case.build(*x) ** 2).sum(), x[0]), case.operands)


@pytest.mark.parametrize("name, number", FAILING)
def test_errors(name, number):
    array, kind, message = CASES[name].errors[number]
    x = T.dmatrix("x")
    f = phintys.function([x], CASES[name].build(x))
    with pytest.raises(kind, match=message) as caught:
        f(array)
    assert "test_factorizations" in str(caught.value) or "matrix_cases" in str(caught.value)


# ---- what the table does not say -------------------------------------------------------------------------------------
def test_vectors_of_other_libraries():
    """Signs, and vectors of equal values, are those of SciPy's eigh and of NumPy's svd; also of transposed stacks."""
    generator = numpy.random.default_rng(3)
    for dtype, rtol in (("float64", 1e-12), ("float32", 1e-5)):
        values = generator.normal(size=(2, 7, 7))
        values = numpy.stack([*(values @ values.mT), numpy.eye(7) + 1, numpy.ones((7, 7)), numpy.zeros((7, 7))])
        values = values.astype(dtype)
        x = T.TensorType(dtype, (False,) * 3)()
        for lower in (True, False):
            given = numpy.tril(values) if lower else numpy.triu(values)
            found = phintys.function([x], eigen.Eigh("UL"[lower], "evr")(x))(given)
            for item, weights, vectors in zip(given, *found):
                wanted = scipy.linalg.eigh(item, lower=lower, driver="evr")
                numpy.testing.assert_allclose(weights, wanted[0], rtol=rtol, atol=rtol * 30)
                if (wanted[0][1:] - wanted[0][:-1]).min() > 1e-3:
                    numpy.testing.assert_allclose(vectors, wanted[1], rtol=rtol, atol=rtol * 30)
        for full in (True, False):
            f = phintys.function([x], orthogonal.SVD(full, by_numpy=True)(x.dimshuffle(0, 2, 1)[:, :4]))
            for place, found in enumerate(zip(*f(values))):
                for ours, wanted in zip(found, numpy.linalg.svd(values[place].T[:4].astype("float64"), full)):
                    numpy.testing.assert_array_equal(ours, wanted)
    with pytest.raises(numpy.linalg.LinAlgError, match="infs or NaNs"):
        f(numpy.full((1, 7, 7), numpy.nan, "float32"))


def test_vectors_of_an_older_numpy(monkeypatch):
    """Which has ufuncs for each of two lengths with the same loop, under other names."""
    module = numpy.linalg._umath_linalg
    loops = {f"svd_m_{kind}": getattr(module, f"svd_{kind}", getattr(module, f"svd_m_{kind}", None)) for kind in "fs"}
    monkeypatch.setattr(numpy.linalg, "_umath_linalg", SimpleNamespace(**loops))
    x, given = T.dmatrix(), numpy.random.default_rng(3).normal(size=(5, 4))
    for value in (given, given.T):
        for full in (True, False):
            for ours, wanted in zip(phintys.function([x], orthogonal.SVD(full, by_numpy=True)(x))(value),
                                    numpy.linalg.svd(value, full)):
                numpy.testing.assert_array_equal(ours, wanted)


def test_infinite_values_have_no_eigenvalues():
    with pytest.raises(numpy.linalg.LinAlgError, match="infs or NaNs"):
        eigen.Eigh(driver="evr")(numpy.full((3, 3), numpy.inf))[0].eval()


def test_refused_operands():
    for build, kind, message in [
            (lambda: cholesky(T.dvector()), numpy.linalg.LinAlgError, "needs a matrix"),
            (lambda: Solve("round"), ValueError, "Invalid matrix structure"),
            (lambda: Cholesky(on_error="ignore"), ValueError, "on_error must be one of"),
            (lambda: solve_triangular(T.dmatrix(), T.dvector(), trans=3), ValueError, "trans must be one of"),
            (lambda: eigen.eigh(T.dmatrix(), "X"), ValueError, "UPLO argument"),
            (lambda: eigen.Eigh(driver="ev"), ValueError, "driver argument"),
            (lambda: orthogonal.qr(T.dmatrix(), "full"), ValueError, "Unrecognized mode"),
            (lambda: functions.matrix_power(T.dmatrix(), 1.5), TypeError, "exponent must be an integer"),
            (lambda: functions.block_diag(), TypeError, "at least one"),
            (lambda: functions.tensorinv(T.dtensor3(), 0), ValueError, "positive number")]:
        with pytest.raises(kind, match=message):
            build()


@pytest.mark.parametrize("b, message", [(numpy.ones(3), "incompatible dimensions"),
                                        (numpy.array([1, numpy.inf]), "infs or NaNs")])
@pytest.mark.parametrize("op", [solve, solve_triangular])
def test_right_hand_sides(op, b, message):
    A, x = T.dmatrix(), T.dvector()
    f = phintys.function([A, x], op(A, x))
    with pytest.raises(ValueError, match=message):
        f(numpy.eye(2), b)


def test_sylvester_of_small_matrices():
    """LAPACK's scale divides: SciPy multiplies by it."""
    a, q = numpy.array([[1e-290]]), numpy.array([[1e10]])
    numpy.testing.assert_allclose(T.slinalg.solve_sylvester(a, a, q).eval(), [[5e299]], rtol=1e-12)


def test_refused_schur_forms():
    for build, message in [(lambda x: T.slinalg.schur(x, "both"), "output must be 'real' or 'complex', got 'both'"),
                           (lambda x: T.slinalg.schur(x, sort="up"), "sort must be None or one of 'lhp'.*got 'up'"),
                           (lambda x: T.slinalg.ordqz(x, x, abs), "functions are not supported"),
                           (lambda x: T.slinalg.ordqz(x, x, None), "qz does not sort"),
                           (lambda x: T.slinalg.qr(x, "q"), "mode must be one of 'full'.*got 'q'")]:
        with pytest.raises(ValueError, match=message):
            build(T.dmatrix())
    x, y = T.dmatrices("xy")
    for build, message in [(T.slinalg.qz, "must be square and agree.*\\(2, 2\\) and \\(3, 3\\)"),
                           (lambda x, y: T.slinalg.solve_sylvester(x, y, x), r"q must be \(2, 3\); it is \(2, 2\)")]:
        with pytest.raises(ValueError, match=message):
            phintys.function([x, y], build(x, y))(numpy.eye(2), numpy.eye(3))


def test_singular_systems():
    A, x = T.dmatrix(), T.dvector()
    with pytest.raises(numpy.linalg.LinAlgError, match="singular"):
        phintys.function([A, x], solve(A, x))(numpy.ones((2, 2)), numpy.ones(2))
    with pytest.raises(numpy.linalg.LinAlgError, match="resolution failed at diagonal 1"):
        phintys.function([A, x], solve_triangular(A, x))(numpy.diag([1.0, 0.0]), numpy.ones(2))


def test_a_failing_call_changes_no_shared_variable():
    shared = phintys.shared(numpy.stack([numpy.eye(2), -numpy.eye(2)]))
    f = phintys.function([], [], updates=[(shared, cholesky(shared))])
    with pytest.raises(numpy.linalg.LinAlgError):
        f()
    numpy.testing.assert_array_equal(shared.get_value(), [numpy.eye(2), -numpy.eye(2)])


def test_a_factor_of_nan():
    x = T.dmatrix()
    factor = Cholesky(on_error="nan")(x)
    f = phintys.function([x], [factor, phintys.grad(factor.sum(), x)])
    for value in (-numpy.eye(2), numpy.full((2, 2), numpy.nan)):
        assert all(numpy.isnan(found).all() for found in f(value))


def test_broadcast_stacks():
    A, b = T.dmatrix(), T.dtensor3()
    matrix, sides = CASES["solve"].operands[0], numpy.random.default_rng(0).normal(size=(3, 4, 2))
    f = phintys.function([A, b], solve(A, b))
    numpy.testing.assert_allclose(f(matrix, sides), numpy.linalg.solve(matrix, sides))
    vector = T.dvector()
    g = phintys.function([b, vector], solve(b, vector))
    stack = numpy.stack([matrix, 2 * matrix])
    numpy.testing.assert_allclose(g(stack, sides[0, :, 0]), numpy.linalg.solve(stack, sides[0, :, :1])[..., 0])
    check_gradient(solve, [matrix, sides])
    with pytest.raises(ValueError, match="different lengths"):
        phintys.function([b, x := T.dtensor3()], solve(b, x))(stack, sides)


def test_complex_eigenvalues_of_a_real_matrix():
    x = T.dmatrix()
    with pytest.warns(numpy.exceptions.ComplexWarning, match="imaginary parts"):
        assert phintys.function([x], eigen.eig(x)[0])([[0.0, 1.0], [-1.0, 0.0]]).dtype == "float64"


def test_only_some_eigenvalues_of_a_stack_are_complex():
    x = T.dtensor3()
    value = numpy.array([[[2.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [-1.0, 0.0]], [[0.0, -2.0], [3.0, 0.0]]])
    with pytest.warns(numpy.exceptions.ComplexWarning, match="imaginary parts") as caught:
        values, vectors = phintys.function([x], eigen.eig(x))(value)
    assert len(caught) == 1
    wanted, directions = numpy.linalg.eig(value)
    numpy.testing.assert_allclose(values, wanted.real, atol=1e-15)
    numpy.testing.assert_allclose(abs(vectors), abs(directions.real), atol=1e-15)


@pytest.mark.parametrize("dtype", [*TOLERANCE])
@pytest.mark.parametrize("size", [1e-3, 0.1, 0.5, 1.5, 4, 30])
def test_exponentials_of_any_size(dtype, size):
    """Each size is that of another approximant, or needs squarings."""
    import scipy.linalg
    random = numpy.random.default_rng(0)
    for order in (1, 2, 6):
        x = random.normal(size=(order, order)) + 1j * random.normal(size=(order, order)) * dtype.startswith("complex")
        x = (x * size / abs(x).sum(axis=0).max()).astype(dtype) if dtype.startswith("complex") else (
            x.real * size / abs(x).sum(axis=0).max()).astype(dtype)
        found = exponential(x)
        wanted = scipy.linalg.expm(x.astype("complex128" if x.dtype.kind == "c" else "float64"))
        assert found.dtype == dtype
        tolerance = 1e-12 if dtype in ("float64", "complex128") else 2e-5
        numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * abs(wanted).max())


def exponential(x):
    variable = variable_for(x)
    f = phintys.function([variable], T.slinalg.expm(variable))
    assert "KERNEL" in str(f.explain("instructions"))
    return f(x)


def test_exponentials_that_are_not_finite():
    assert numpy.isnan(exponential(numpy.array([[numpy.nan, 1.0], [0.0, 1.0]]))).all()
    assert numpy.isnan(exponential(numpy.array([[1.0, numpy.inf], [0.0, 1.0]]))).all()
    assert exponential(numpy.array([[710.0]])).item() == numpy.inf


def test_pseudo_inverses_are_written_with_singular_values():
    x = T.dmatrix()
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        f = phintys.function([x], inverse.pinv(x), mode=mode)
        names = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
        assert "SVD" in names and "MatrixPinv" not in names
        numpy.testing.assert_allclose(f(numpy.ones((3, 2))), numpy.full((2, 3), 1 / 6))
    f = phintys.function([x], inverse.MatrixPinv(rcond=0.5)(x))
    numpy.testing.assert_allclose(f(numpy.diag([4.0, 3.0, 1.0])), numpy.diag([1 / 4, 1 / 3, 0]), atol=1e-15)


@pytest.mark.parametrize("options", [(0.4,), (0,), {"rcond": T.constant(0.4)}, {"hermitian": True}, {"rtol": 0.4},
                                     {"rtol": None}, {"rcond": 0.1, "hermitian": True}], ids=str)
def test_options_of_pseudo_inverses(options):
    values = numpy.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1e-15]])
    x = T.dmatrix()
    more, named = ((), options) if isinstance(options, dict) else (options, {})
    wanted = numpy.linalg.pinv(values, *more, **{name: getattr(value, "data", value) for name, value in named.items()})
    for build in (T.linalg.pinv, numpy.linalg.pinv):
        found = phintys.function([x], build(x, *more, **named))(values)
        numpy.testing.assert_allclose(found, wanted, 1e-12, 1e-14)
    with pytest.raises(ValueError, match="can't be both set"):
        T.linalg.pinv(x, rcond=0.1, rtol=0.1)


@pytest.mark.parametrize("name", ["cholesky", "eigh", "svd", "matrix_inverse", "expm"])
def test_workers_share_a_stack(name):
    """So long that several workers have a part, with the results of one; the first matrix that fails is reported."""
    build = {"cholesky": T.slinalg.cholesky, "eigh": lambda x: T.nlinalg.eigh(x)[0],
             "svd": lambda x: T.nlinalg.svd(x, compute_uv=False), "matrix_inverse": T.nlinalg.matrix_inverse,
             "expm": T.slinalg.expm}[name]
    random = numpy.random.default_rng(0)
    stack = random.normal(size=(4, 150, 12, 12))
    stack = stack @ stack.swapaxes(-1, -2) / 12 + numpy.eye(12)
    x = T.tensor4(dtype="float64")
    results = []
    for workers in (1, 4):
        with phintys.change_flags(workers=workers):
            results.append(phintys.function([x], build(x))(stack))
    numpy.testing.assert_array_equal(*results)


def test_the_first_failure_of_a_stack_is_reported():
    stack = numpy.repeat(numpy.eye(12)[None], 2000, axis=0)
    stack[700, 5, 5], stack[1500, 3, 3] = -1, -1
    x = T.dtensor3()
    with phintys.change_flags(workers=4):
        f = phintys.function([x], T.slinalg.cholesky(x))
    for _ in range(3):
        with pytest.raises(numpy.linalg.LinAlgError, match="6-th leading minor"):
            f(stack)


def test_vectors_have_the_signs_of_numpy():
    x = T.dmatrix()
    value = CASES["svd, all"].operands[0]
    for full in (False, True):
        for got, wanted in zip(phintys.function([x], orthogonal.svd(x, full))(value), numpy.linalg.svd(value, full)):
            numpy.testing.assert_allclose(got, wanted)


def test_other_dtypes_become_floats():
    x = T.imatrix()
    assert inverse.det(T.matrix(dtype="float16")).type.dtype == "float32"
    numpy.testing.assert_allclose(phintys.function([x], inverse.matrix_inverse(x))([[2, 0], [0, 4]]),
                                  [[0.5, 0], [0, 0.25]])


def test_singular_values_of_full_decompositions_have_gradients():
    x = T.dmatrix()
    check_gradient(lambda x: orthogonal.svd(x)[1], CASES["svd, all"].operands)
    check_r_op(lambda x: orthogonal.svd(x)[1], CASES["svd, all"].operands)
    with pytest.raises(phintys.gradient.NullTypeGradError, match="full_matrices=False"):
        phintys.Rop(orthogonal.svd(x)[0], x, x)
    with pytest.raises(phintys.gradient.NullTypeGradError, match="full_matrices=False"):
        phintys.grad(orthogonal.svd(x)[0].sum(), x)


def test_least_squares_of_less_than_full_rank():
    A, b = T.dtensor3(), T.dtensor3()
    f = phintys.function([A, b], T.linalg.lstsq(A, b))
    assert "CALL" not in str(f.explain("instructions"))
    random = numpy.random.default_rng(0)
    systems, sides = random.normal(size=(2, 4, 3)), random.normal(size=(2, 4, 2))
    assert f(systems, sides)[1].shape == (2, 2)
    systems[1, :, 2] = systems[1, :, 1]
    solution, sums, rank, values = f(systems, sides)
    assert sums.shape == (2, 0) and rank.tolist() == [3, 2]
    for item in (0, 1):
        wanted = numpy.linalg.lstsq(systems[item], sides[item], rcond=None)
        numpy.testing.assert_allclose(solution[item], wanted[0])
        numpy.testing.assert_allclose(values[item], wanted[3], atol=1e-14)


@pytest.mark.parametrize("dtype", [*TOLERANCE])
def test_least_squares_without_right_hand_sides(dtype):
    """LAPACK refuses to solve for none."""
    A, b = T.tensor3(dtype=dtype), T.tensor3(dtype=dtype)
    f = phintys.function([A, b], T.linalg.lstsq(A, b))
    for system in (numpy.ones((2, 3, 2), dtype), numpy.arange(12).reshape(2, 2, 3).astype(dtype)):
        solution, sums, rank, values = f(system, numpy.ones((2, system.shape[1], 0), dtype))
        assert solution.shape == (2, system.shape[2], 0) and sums.shape == (2, 0)
        for item in (0, 1):
            assert rank[item] == numpy.linalg.matrix_rank(system[item])
            numpy.testing.assert_allclose(values[item], numpy.linalg.svd(system[item], compute_uv=False), atol=1e-5)


def test_least_squares_with_a_symbolic_ratio_have_a_gradient():
    """Along changes that keep the rank."""
    A, b, ratio = T.dmatrix(), T.dmatrix(), T.dscalar()
    random = numpy.random.default_rng(0)
    left, right, side = random.normal(size=(5, 2)), random.normal(size=(2, 3)), random.normal(size=(5, 2))
    check_gradient(lambda x, y: least_squares(functions.matrix_dot(x, y), side, 1e-6)[0], [left, right])
    solution = least_squares(A, b, ratio)[0]
    f = phintys.function([A, b, ratio], [solution, *phintys.grad(solution.sum(), [A, b])])
    for number in (1e-6, 0.9):
        numpy.testing.assert_allclose(f(left @ right, side, number)[0],
                                      numpy.linalg.lstsq(left @ right, side, rcond=number)[0])
    with pytest.raises(phintys.gradient.DisconnectedInputError):
        phintys.grad(solution.sum(), ratio)


@pytest.mark.parametrize("a, b, message", [
    (numpy.ones((3, 2)), numpy.ones(2), "Incompatible dimensions: a has 3 rows, and b 2"),
    (numpy.full((2, 2), numpy.nan), numpy.ones(2), "infs or NaNs"),
    (numpy.ones((2, 2)), numpy.array([1, numpy.inf]), "infs or NaNs")])
def test_least_squares_that_do_not_exist(a, b, message):
    A, x = T.dmatrix(), T.dvector()
    f = phintys.function([A, x], T.linalg.lstsq(A, x))
    with pytest.raises(numpy.linalg.LinAlgError, match=message) as caught:
        f(a, b)
    assert "lstsq" in str(caught.value) and "test_factorizations.py" in str(caught.value)


def test_least_squares_of_what_is_not_a_matrix():
    """As in Theano, this is an error at run time."""
    x, ratio = T.dvector(), T.dvector()
    with pytest.raises(numpy.linalg.LinAlgError, match="needs a matrix"):
        phintys.function([x, ratio], T.nlinalg.lstsq()(x, x, ratio))([1.0], [1.0])


@pytest.mark.parametrize("dtype", [*TOLERANCE])
@pytest.mark.parametrize("order", [63, 64, 65, 97])
def test_factors_of_large_matrices(order, dtype):
    """Large matrices are factored in the other triangle; what is in it does not matter."""
    random = numpy.random.default_rng(0)
    root = random.normal(size=(order, order))
    root = root + 1j * random.normal(size=(order, order)) if dtype.startswith("complex") else root
    matrix = (root @ root.conj().T + order * numpy.eye(order)).astype(dtype)
    x = variable_for(matrix)
    for lower, triangle in ((True, numpy.tril), (False, numpy.triu)):
        f = phintys.function([x], Cholesky(lower=lower)(x))
        wanted = numpy.linalg.cholesky(matrix.astype("complex128" if dtype.startswith("complex") else "float64"))
        wanted = wanted if lower else wanted.conj().T
        for value in (matrix, triangle(matrix), numpy.asfortranarray(triangle(matrix))):
            numpy.testing.assert_allclose(f(value), wanted, rtol=1e-4, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_eigenvalues_in_single_precision_are_as_precise_as_those_of_numpy(dtype):
    random = numpy.random.default_rng(0)
    for _ in range(20):
        x = random.uniform(size=(5, 5)) + 1j * random.uniform(size=(5, 5)) * dtype.startswith("complex")
        x = (x @ x.conj().T).astype(dtype) if dtype.startswith("complex") else (x.real @ x.real.T).astype(dtype)
        variable = variable_for(x)
        values, vectors = phintys.function([variable], eigen.eigh(variable))(x)
        wanted, directions = numpy.linalg.eigh(x)
        numpy.testing.assert_array_equal(values, wanted)
        numpy.testing.assert_allclose(vectors, directions, rtol=1e-5, atol=1e-6)


def test_gradients_of_eigenvectors_in_single_precision():
    x32, x64 = T.fmatrix(), T.dmatrix()
    value = numpy.random.RandomState(2).rand(5, 5).astype("float32")
    weights = numpy.random.RandomState(3).normal(size=(5, 5)).astype("float32")
    found, wanted = [phintys.function([x], phintys.grad((eigen.eigh(x.dot(x.T))[1] * weights).sum(), x))(
        value.astype(x.dtype)) for x in (x32, x64)]
    numpy.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * abs(wanted).max())


def cofactors(x):
    """The signed determinants of the matrix without a row and a column."""
    order = range(len(x))
    return numpy.array([[(-1) ** (i + j) * numpy.linalg.det(numpy.delete(numpy.delete(x, i, 0), j, 1)) for j in order]
                        for i in order])


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_gradient_of_a_determinant_exists_where_it_is_zero(order, dtype):
    random = numpy.random.default_rng(order)
    x = T.matrix("x", dtype=dtype)
    determinant = T.linalg.det(x)
    f = function([x], grad(T.real(determinant), x))
    of_stacks = T.tensor3("stack", dtype=dtype)
    g = function([of_stacks], grad(T.real(T.linalg.det(of_stacks)).sum(), of_stacks))
    matrices = []
    for rank in range(order + 1):
        matrix = (random.integers(-2, 3, (order, rank)) @ random.integers(-2, 3, (rank, order))).astype(dtype)
        matrices.append(matrix * (1 + 1j if dtype.startswith("complex") else 1))
        wanted = cofactors(matrices[-1].astype("complex128")).conj()
        tolerance = 1e-9 if dtype in ("float64", "complex128") else 1e-3
        numpy.testing.assert_allclose(f(matrices[-1]), wanted, tolerance, tolerance * max(1, abs(wanted).max()))
    stacked = numpy.stack(matrices)
    numpy.testing.assert_array_equal(g(stacked), [f(matrix) for matrix in stacked])
    assert f([[0, 1], [0, 0]]).tolist() == [[0, 0], [-1, 0]]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_second_derivatives_of_a_determinant_exist_where_it_is_zero(order, dtype):
    """By both modes of differentiation; the gradient is a polynomial, so difference quotients have all its digits."""
    random = numpy.random.default_rng(order)
    x, direction = T.matrix("x", dtype=dtype), T.matrix("direction", dtype=dtype)
    slope = grad(T.real(T.linalg.det(x)), x)
    f = function([x, direction], [grad(T.real((T.conj(direction) * slope).sum()), x),
                                  phintys.Rop(slope, x, direction)])
    for rank in range(order + 1):
        matrix, moved = [random.normal(size=(order, count)) @ random.normal(size=(count, order))
                         * (1 + 1j if dtype == "complex128" else 1) for count in (rank, order)]
        wanted = (cofactors(matrix + 1e-5 * moved) - cofactors(matrix - 1e-5 * moved)).conj() / 2e-5
        for found in f(matrix, moved):
            numpy.testing.assert_allclose(found, wanted, 1e-6, 1e-7 * max(1, abs(wanted).max()))


def test_the_gradient_of_a_logarithm_of_a_determinant_is_an_inverse():
    x = T.dmatrix("x")
    for cost in (T.log(T.linalg.det(x)), -0.5 * T.log(6.28 * T.linalg.det(x)), T.sqrt(T.linalg.det(x)),
                 1 / T.linalg.det(x), T.linalg.det(x) ** -0.5):
        nodes = function([x], grad(cost, x)).maker.fgraph.toposort()
        assert not any([type(node.op).__name__ == "Adjugate" for node in nodes])
    with pytest.raises(numpy.linalg.LinAlgError, match="[Ss]ingular"):
        function([x], grad(T.log(T.linalg.det(x)), x))([[1, 2], [2, 4]])


@pytest.mark.parametrize("name", DERIVED)
def test_jacobians(name):
    check_jacobian(CASES[name])


@pytest.mark.parametrize("number", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("name", [*CASES])
def test_not_finite(name, number):
    """Every factorization ends, with an error or a result; after an error, nothing has changed."""
    arrays = [array.copy() for array in CASES[name].operands]
    arrays[0][0, 0] = number
    inputs = [variable_for(array) for array in arrays]
    kept = phintys.shared(numpy.zeros(()))
    output = CASES[name].build(*inputs)
    f = phintys.function(inputs, output, updates=[(kept, kept + abs(output).sum().real.astype("float64"))])
    try:
        with numpy.errstate(all="ignore"):
            f(*arrays)
    except (numpy.linalg.LinAlgError, ValueError):
        assert kept.get_value() == 0, "a failed call changes nothing"


def test_pivots_that_are_no_rows_are_refused():
    pivots, b, matrix = T.ivector("pivots"), T.dvector("b"), T.dmatrix("matrix")
    factor = [[2.0, 0.0], [1.0, 3.0]]
    solved = function([matrix, pivots, b], LUSolve()(matrix, pivots, b))
    assert solved(factor, [1, 2], [2.0, 7.0]).shape == (2,)
    for wrong in ([1, 3], [0, 2], [-5, 1], [2 ** 31 - 1, 1]):
        with pytest.raises(ValueError, match="lu_solve: pivots must be numbers of rows, from 1 on"):
            solved(factor, wrong, [2.0, 7.0])
    as_nan = function([matrix, pivots, b], LUSolve(on_error="nan")(matrix, pivots, b))
    assert numpy.isnan(as_nan(factor, [9, 9], [2.0, 7.0])).all()
    determinant = function([matrix, pivots], inverse.FactoredDeterminant()(matrix, pivots))
    assert determinant(factor, [1, 2]) == 6 and determinant(factor, [2, 2]) == -6
    with pytest.raises(ValueError, match="determinant: 2 pivots are expected, got 1"):
        determinant(factor, [1])
