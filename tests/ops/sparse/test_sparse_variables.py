"""Variables, shared variables and constants of sparse matrices: pickles, who owns the values, errors."""
import pickle

import numpy
import pytest
import scipy.sparse

import phintys
import phintys.tensor as T
from phintys import sparse

EYE = scipy.sparse.csr_matrix(numpy.eye(3))


def test_shared_matrices_and_updates():
    value = EYE.copy()
    w = phintys.shared(value, name="w")
    value.data[:] = 7
    f = phintys.function([], sparse.sp_sum(w), updates=[(w, w * 2.0)])
    assert [f().item(), f().item()] == [3.0, 6.0] and w.get_value().sum() == 12.0
    with pytest.raises(TypeError, match="expected a sparse matrix"):
        w.set_value("nonsense")
    assert phintys.shared(EYE, format="csc").type == sparse.csc_dmatrix


def test_sparse_updates_of_dense_tables():
    table, positions = phintys.shared(numpy.ones((4, 2))), T.lvector("positions")
    rows = phintys.sparse_grad(table[positions])
    f = phintys.function([positions], rows.sum(), updates=[(table, table - 0.5 * phintys.grad(rows.sum(), table))])
    f([1, 1, 3])
    assert table.get_value().tolist() == [[1, 1], [0, 0], [1, 1], [0.5, 0.5]]


def test_pickles_and_equal_constants():
    x = sparse.csr_matrix("x", "float64")
    f = pickle.loads(pickle.dumps(phintys.function([x], sparse.dot(x * EYE, T.ones((3,))))))
    assert f(EYE).tolist() == [1.0, 1.0, 1.0]
    assert sparse.as_sparse_variable(EYE).equals(sparse.as_sparse_variable(EYE.copy()))
    assert not sparse.as_sparse_variable(EYE).equals(sparse.as_sparse_variable(2 * EYE))


@pytest.mark.parametrize(("build", "message"), [
    (lambda x, d: T.exp(x), "Variable type field must be a TensorType: x has type Sparse"),
    (lambda x, d: sparse.transpose(d), "expected a sparse matrix, got d of type TensorType"),
    (lambda x, d: sparse.add(d, d), "sparse.add takes at least one sparse matrix, but the operands are d"),
    (lambda x, d: sparse.sampling_dot(x, d, x), "expected a dense tensor, got the sparse matrix x"),
    (lambda x, d: sparse.structured_exp(d), "expected a sparse matrix, got d"),
])
def test_operands_of_the_wrong_kind_are_named(build, message):
    with pytest.raises(TypeError, match=message):
        build(sparse.csr_matrix("x", "float64"), T.dmatrix("d"))


def test_shapes_that_do_not_fit():
    x, y = sparse.csr_matrix("x", "float64"), sparse.csr_matrix("y", "float64")
    for output in (x + y, x * y, sparse.dot(x, y), sparse.hstack([x, y.T])):
        with pytest.raises(ValueError, match=r"shape.*\(3, 3\)"):
            phintys.function([x, y], output)(EYE, scipy.sparse.csr_matrix((2, 4)))
    with pytest.raises(NotImplementedError, match="there are no sparse vectors"):
        x[0]
