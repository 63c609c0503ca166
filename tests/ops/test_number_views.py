"""Conversions between single numbers and tensors of rank 0: views that cost nothing."""
import numpy
import pytest
from family_cases import DTYPES, check_gradient, check_values, values

import phintys
import phintys.tensor as T


@pytest.mark.parametrize("op", [T.tensor_from_scalar, T.scalar_from_tensor])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(op, dtype):
    check_values(op, lambda a: a, [values((), dtype)])


@pytest.mark.parametrize("op", [T.tensor_from_scalar, T.scalar_from_tensor])
def test_gradients_and_graphs(op):
    check_gradient(op, [values(())])
    x, k = T.dscalar("x"), T.iscalar("k")
    made = op(x)
    assert made.owner.op is op and made.type == x.type and isinstance(op, T.TensorFromScalar | T.ScalarFromTensor)
    f = phintys.function([x, k], [T.exp(made), phintys.grad(op(k), k)], on_unused_input="ignore")
    assert op not in [node.op for node in f.maker.fgraph.toposort()]
    assert [result.item() for result in f(0.0, 3)] == [1, 0] and f(0.0, 3)[1].dtype == phintys.config.floatX
    rows = phintys.function([v := T.dvector("v")], T.jacobian(op(v.sum()) * v, v))
    numpy.testing.assert_allclose(rows([1.0, 2.0]), [[4, 1], [2, 5]])
    with pytest.raises(TypeError, match="rank 0"):
        op(T.dvector())
