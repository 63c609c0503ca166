"""``phintys.sparse``: its names, variables and shared variables, and the check of gradients."""
import numpy
import pytest
import scipy.sparse

import phintys
import phintys.tensor as T
from phintys import sparse

VALUE = scipy.sparse.csr_matrix([[1.0, 0], [2, 3]])


def test_all_names_exist():
    assert [name for name in sparse.__all__ if not hasattr(sparse, name)] == []
    with pytest.raises(AttributeError, match="no_such_name"):
        sparse.no_such_name


@pytest.mark.parametrize("letter, dtype", [("", None), ("d", "float64"), ("f", "float32")])
@pytest.mark.parametrize("format", ["csr", "csc", "bsr"])
def test_variables(format, letter, dtype):
    x = getattr(sparse, f"{format}_{letter}matrix")
    x = x("x") if callable(x) else x
    assert x.type.format == format and x.type.dtype == (dtype or phintys.config.floatX) and x.name == "x"
    with phintys.config.change_flags(floatX="float32"):
        assert sparse.matrix(format).type.dtype == "float32"


def test_sets_of_dtypes():
    assert set(sparse.float_dtypes) <= set(sparse.continuous_dtypes) <= set(sparse.all_dtypes)
    assert not set(sparse.integer_dtypes) & set(sparse.continuous_dtypes)
    assert sorted(sparse.all_dtypes) == sorted([*sparse.integer_dtypes, *sparse.continuous_dtypes])


@pytest.mark.parametrize("borrow", [False, True])
def test_shared_matrices(borrow):
    value = VALUE.copy()
    shared = phintys.shared(value, "weights", borrow=borrow)
    assert isinstance(shared, sparse.SparseTensorSharedVariable) and shared.name == "weights"
    assert numpy.shares_memory(shared.get_value(borrow=True).data, value.data) == borrow
    f = phintys.function([], sparse.dense_from_sparse(shared), updates=[(shared, shared * 2.0)])
    numpy.testing.assert_array_equal(f(), VALUE.toarray())
    numpy.testing.assert_array_equal(f(), 2 * VALUE.toarray())
    assert phintys.shared(VALUE, format="csc").type.format == "csc"
    with pytest.raises(TypeError, match="sparse"):
        sparse.shared(numpy.eye(2))


def test_verify_grad_sparse():
    check = {"rng": numpy.random.RandomState(0)}
    sparse.verify_grad_sparse(sparse.sqr, [VALUE], structured=True, **check)
    sparse.verify_grad_sparse(sparse.dot, [VALUE, numpy.eye(2)], **check)

    class Wrong(phintys.Op):
        __props__ = ()

        def make_node(self, x):
            return phintys.Apply(self, [T.as_tensor_variable(x)], [T.dmatrix()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = 2 * inputs[0]

        def grad(self, inputs, gradients):
            return [3 * gradients[0]]

    with pytest.raises(phintys.gradient.verify_grad.E_grad):
        sparse.verify_grad_sparse(lambda x: Wrong()(sparse.dense_from_sparse(x)), [VALUE], structured=True, **check)
