"""Sparse matrices of PyTensor: a row for each op, values and gradients as PyTensor's own Python code has them."""
import warnings

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor_reference").pytensor

import pytensor.tensor as pt  # noqa: E402
import scipy.sparse  # noqa: E402
from pytensor import sparse  # noqa: E402
from pytensor.compile.mode import Mode  # noqa: E402
from pytensor.sparse import basic, math  # noqa: E402

import phintys.interop.pytensor  # noqa: E402
from phintys.interop.pytensor import PyTensorFallbackWarning, translation  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
RNG = np.random.default_rng(3)
SQUARE = np.where(RNG.uniform(size=(4, 4)) < 0.5, RNG.uniform(0.2, 0.9, (4, 4)), 0.0)
DENSE, VECTOR = RNG.normal(size=(4, 4)), RNG.normal(size=4)

# Functions of a sparse matrix x, a dense matrix d and a vector v.
CASES = {
    "properties": lambda x, d, v: sparse.csm_properties(x), "dense": lambda x, d, v: sparse.dense_from_sparse(x),
    "from dense": lambda x, d, v: [sparse.csr_from_dense(d), sparse.csc_from_dense(d)],
    "cast": lambda x, d, v: sparse.cast(x, "float32"), "transpose": lambda x, d, v: x.T, "neg": lambda x, d, v: -x,
    "csm": lambda x, d, v: sparse.CSM(x.format)(v, [0, 1, 2, 3], [0, 1, 2, 3, 4], (4, 4)),
    "sums": lambda x, d, v: [x + x.T.T, x - d, x + d], "products": lambda x, d, v: [x * x, x * d, x * 2.0],
    "data": lambda x, d, v: math.add_s_s_data(x, x), "add vector": lambda x, d, v: math.structured_add_s_v(x, v),
    "mul vector": lambda x, d, v: math.mul_s_v(x, v), "scales": lambda x, d, v: [sparse.row_scale(x, v),
                                                                                 sparse.col_scale(x, v)],
    "sp_sum": lambda x, d, v: [sparse.sp_sum(x), sparse.sp_sum(x, 0), sparse.sp_sum(x, 1, sparse_grad=True)],
    "diagonals": lambda x, d, v: sparse.diag(x), "clean": lambda x, d, v: sparse.clean(x * 0.0 + x),
    "stacks": lambda x, d, v: [sparse.hstack([x, x]), sparse.vstack([x, x], format="csr")],
    "structured": lambda x, d, v: [sparse.structured_exp(x), sparse.structured_sigmoid(x), sparse.sqrt(x)],
    "dots": lambda x, d, v: [sparse.dot(x, d), sparse.dot(d, x), sparse.structured_dot(x, d),
                             sparse.structured_dot(x, x), sparse.true_dot(x, x), sparse.true_dot(x, d)],
    "sampling": lambda x, d, v: sparse.sampling_dot(d, d, x),
    "usmm": lambda x, d, v: sparse.usmm(pt.constant(2.0), x, d, d),
    "items": lambda x, d, v: [x[1, 2], x[1:3, :2], x[[0, 2]], x[[0, 2], [1, 3]]],
    "comparisons": lambda x, d, v: [sparse.eq(x, x), sparse.neq(x, d), sparse.lt(x, x), sparse.gt(x, d),
                                    sparse.le(x, d), sparse.ge(x, x)],
    "from rows": lambda x, d, v: sparse.construct_sparse_from_list(d, d[:2], [3, 0]),
    "shape": lambda x, d, v: [x.shape[0], pt.shape(x)],
    "gradients": lambda x, d, v: pytensor.grad(
        (pt.exp(sparse.structured_dot(x, d)) ** 2).sum() + sparse.sp_sum(sparse.sqr(x))
        + sparse.dot(x, d).sum() + sparse.sp_sum(sparse.row_scale(x, v), sparse_grad=True), [x, d, v]),
}


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("name", CASES)
def test_values(name, format):
    x, d, v = sparse.matrix(format, "x", "float64"), pt.dmatrix("d"), pt.dvector("v")
    outputs = CASES[name](x, d, v)
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    values = [scipy.sparse.csr_matrix(SQUARE).asformat(format), DENSE, VECTOR]
    wanted = pytensor.function([x, d, v], outputs, mode=Mode("py", None), on_unused_input="ignore")(*values)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        f = pytensor.function([x, d, v], outputs, mode="PHINTYS", on_unused_input="ignore")
    for got, other, output in zip(f(*values), wanted, outputs):
        assert scipy.sparse.issparse(got) == scipy.sparse.issparse(other)
        assert not scipy.sparse.issparse(got) or got.format == output.type.format
        assert got.dtype == output.type.dtype
        np.testing.assert_allclose(*[each.toarray() if scipy.sparse.issparse(each) else each for each in (got, other)],
                                   rtol=1e-6)


def test_every_op_has_a_row():
    """All ops of PyTensor's two modules but abstract ones."""
    from phintys.interop.pytensor import sparse_rows  # noqa: F401
    abstract = {"Stack", "_SparseBinaryOp"}
    kinds = [kind for module in (basic, math) for name, kind in vars(module).items()
             if isinstance(kind, type) and issubclass(kind, pytensor.graph.op.Op) and kind.__module__ == module.__name__
             and name not in abstract and "Comparison" not in name]
    assert len(kinds) > 45
    assert [kind.__name__ for kind in kinds if f"sparse.{kind.__name__}" not in translation.ROWS] == []


def test_shared_constant_and_translated_matrices():
    kept = pytensor.shared(scipy.sparse.csr_matrix(SQUARE))
    constant = sparse.as_sparse_variable(scipy.sparse.csc_matrix(SQUARE))
    v = pt.dvector("v")
    outputs = [sparse.dot(kept, v), sparse.dot(constant, v)]
    f = pytensor.function([v], outputs, mode="PHINTYS")
    for got in f(VECTOR):
        np.testing.assert_allclose(got, SQUARE @ VECTOR)
    kept.set_value(scipy.sparse.csr_matrix(2 * SQUARE))
    np.testing.assert_allclose(f(VECTOR)[0], 2 * SQUARE @ VECTOR)
    new, product = phintys.interop.pytensor.translate([v, outputs[0]])
    gradient = phintys.function([new], phintys.grad(product.sum(), new))(VECTOR)
    np.testing.assert_allclose(gradient, 2 * SQUARE.sum(0))
