"""Conversions between single numbers and tensors of rank 0: views that cost nothing, and undo each other."""
import numpy
import pytest
from family_cases import DTYPES, check_gradient, check_values, values

import phintys
import phintys.scalar
import phintys.tensor as T


def there_and_back(x):
    return T.tensor_from_scalar(T.scalar_from_tensor(x))


def computed_as_number(x):
    return T.tensor_from_scalar(phintys.scalar.identity(T.scalar_from_tensor(x)))


@pytest.mark.parametrize("build", [there_and_back, computed_as_number])
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(build, dtype):
    check_values(build, lambda a: a, [values((), dtype)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype):
    number, tensor = phintys.scalar.Scalar(dtype)("number"), T.TensorType(dtype, ())("tensor")
    assert T.scalar_from_tensor(tensor).type == number.type and T.tensor_from_scalar(number).type == tensor.type
    made = phintys.function([tensor], T.scalar_from_tensor(tensor))(values((), dtype))
    assert type(made) is number.type.dtype_specs()[0]
    made = phintys.function([number], T.tensor_from_scalar(number))(values((), dtype))
    assert type(made) is numpy.ndarray and made.dtype == dtype and made.shape == ()


def test_gradients_and_graphs():
    check_gradient(computed_as_number, [values(())])
    x, k = T.dscalar("x"), T.iscalar("k")
    made = there_and_back(x)
    assert isinstance(made.owner.op, T.TensorFromScalar)
    assert isinstance(made.owner.inputs[0].owner.op, T.ScalarFromTensor)
    f = phintys.function([x, k], [T.exp(made), phintys.grad(there_and_back(k), k)], on_unused_input="ignore")
    assert not [node for node in f.maker.fgraph.toposort() if isinstance(node.op, T.TensorFromScalar)]
    assert [result.item() for result in f(0.0, 3)] == [1, 0] and f(0.0, 3)[1].dtype == phintys.config.floatX


def test_numbers_inside_jacobians_and_directions():
    v, step = T.dvector("v"), T.dvector("step")
    number = T.scalar_from_tensor(v.sum())
    y = (number * number + 1) * v
    value, total = numpy.array([1.0, 2.0]), 3.0
    expected = 2 * total * value[:, None] * numpy.ones(2) + (total ** 2 + 1) * numpy.eye(2)
    numpy.testing.assert_allclose(phintys.function([v], T.jacobian(y, v))(value), expected)
    moved = phintys.function([v, step], T.Rop(y, v, step))
    numpy.testing.assert_allclose(moved(value, [0.5, -1.0]), expected @ [0.5, -1.0])


@pytest.mark.parametrize("op, value, expected", [
    (T.tensor_from_scalar, T.dscalar(), "Scalar type"), (T.tensor_from_scalar, 3, "Scalar type"),
    (T.scalar_from_tensor, T.dvector(), "rank 0"), (T.scalar_from_tensor, phintys.scalar.float64(), "rank 0")])
def test_refused(op, value, expected):
    with pytest.raises(TypeError, match=expected):
        op(value)
