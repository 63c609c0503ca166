"""All sparse ops: values as SciPy has them, in both formats, two dtypes and three modes; gradients, also of gradients;
shapes; derivatives along directions."""
import numpy
import pytest
import scipy.sparse
from sparse_cases import CASES, NONE, dense, operands_of, variables_for, verify_grad_sparse

import phintys
import phintys.tensor as T
from phintys import sparse

FORMATS = ["csr", "csc"]
DIFFERENTIABLE = [name for name, case in CASES.items() if case[3] is not NONE]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", CASES)
def test_values(name, format, mode):
    function, expected, *_ = CASES[name]
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
        values = operands_of(name, format, dtype)
        before = [value.copy() for value in values]
        variables = variables_for(values)
        output = function(*variables)
        got = phintys.function(variables, output, mode=mode)(*values)
        numpy.testing.assert_allclose(dense(got), dense(expected(*values)), rtol=tolerance, atol=tolerance)
        assert output.type.is_valid_value(got)
        for value, old in zip(values, before):
            assert (value != old).sum() == 0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name, format):
    function, _, _, structured = CASES[name]
    verify_grad_sparse(function, operands_of(name, format), structured=structured, rng=numpy.random.RandomState(3))


@pytest.mark.parametrize("name", CASES)
def test_shapes_need_no_values(name):
    function, expected, *_ = CASES[name]
    values = operands_of(name, "csr")
    variables = variables_for(values)
    output = function(*variables)
    rank = output.type.ndim
    lengths = [output.shape[axis] for axis in range(rank)]
    found = phintys.function(variables, lengths, on_unused_input="ignore")(*values)
    assert found == list(dense(expected(*values)).shape)


LINEAR = ["dense_from_sparse", "transpose", "neg", "add dense", "mul dense", "mul sparse", "col_scale", "sp_sum 1",
          "diag", "dot dense", "true_dot", "structured_dot", "hstack", "slices", "rows", "elements", "element",
          "csm_data"]


@pytest.mark.parametrize("name", LINEAR)
def test_derivatives_along_a_direction(name):
    """The difference over a small step is that along the direction."""
    function, *_ = CASES[name]
    values = operands_of(name, "csr")
    variables = variables_for(values)
    output = function(*variables)
    along = phintys.Rop(output, variables, variables)
    f, g = phintys.function(variables, output), phintys.function(variables, along)
    step = 1e-6
    difference = (dense(f(*[value * (1 + step) for value in values])) - dense(f(*values))) / step
    numpy.testing.assert_allclose(dense(g(*values)), difference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_second_derivatives(format):
    """A Hessian times a vector, of a function of the data, against differences of the gradient."""
    matrix = operands_of("neg", format)[0]
    data, along = T.dvector("data"), T.dvector("along")
    x = sparse.CSM(format)(data, matrix.indices, matrix.indptr, matrix.shape)
    weights = numpy.linspace(0, 1, 12).reshape(6, 2)
    cost = (T.exp(sparse.structured_dot(sparse.sqr(x), T.constant(weights))) ** 2).sum() + sparse.sp_sum(x * x * x)
    gradient = phintys.grad(cost, data)
    product = phintys.function([data, along], phintys.grad((gradient * along).sum(), data))
    slope = phintys.function([data], gradient)
    direction, step = numpy.linspace(-1, 1, len(matrix.data)), 1e-5
    expected = (slope(matrix.data + step * direction) - slope(matrix.data - step * direction)) / (2 * step)
    numpy.testing.assert_allclose(product(matrix.data, direction), expected, rtol=1e-6)


def test_unsorted_positions_and_repeated_ones():
    """Positions may be in any order, and repeated ones are added."""
    data = T.dvector("data")
    x = sparse.CSR(data, [2, 0, 2], [0, 3, 3], (2, 3))
    weights = numpy.arange(6.0).reshape(2, 3)
    f = phintys.function([data], [x.toarray(), phintys.grad((sparse.dot(x, T.constant(weights.T))).sum(), data),
                                  sparse.clean(x).toarray()])
    got, gradient, cleaned = f([1.0, 10.0, 100.0])
    assert got.tolist() == cleaned.tolist() == [[10.0, 0.0, 101.0], [0.0, 0.0, 0.0]]
    assert gradient.tolist() == [7.0, 3.0, 7.0]


@pytest.mark.parametrize("format", FORMATS)
def test_matrices_without_elements(format):
    x = sparse.matrix(format, dtype="float64")
    outputs = [sparse.sqr(x), x.T, x + x, sparse.hstack([x, x]), x[1:], sparse.structured_dot(x, x.T),
               phintys.grad(sparse.sp_sum(sparse.sqr(x)), x)]
    f = phintys.function([x], outputs + [sparse.sp_sum(x), sparse.dot(x, T.ones((3, 2)))])
    for value in f(scipy.sparse.csr_matrix((2, 3)).asformat(format))[:-2]:
        assert dense(value).sum() == 0
    assert f(scipy.sparse.csr_matrix((0, 3)).asformat(format))[-1].shape == (0, 2)


def test_dtypes_are_those_of_both_operands():
    x, y = sparse.csr_matrix(dtype="float32"), sparse.csc_matrix(dtype="int64")
    assert (x + y).type == sparse.SparseType("csr", "float64") == (x * y).type
    assert sparse.structured_dot(y, x).type == sparse.SparseType("csc", "float64")
    assert sparse.mul(x, numpy.float64(2)).dtype == "float64"
    f = phintys.function([x, y], [x + y, x * y])
    value = scipy.sparse.csr_matrix(numpy.eye(2, dtype="float32"))
    assert [each.dtype for each in f(value, value.tocsc().astype("int64"))] == ["float64", "float64"]
