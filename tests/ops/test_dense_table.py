"""Each row of the table of ops on dense tensors: values, layouts, derivatives, shapes, errors. No row is missing."""
import numpy
import pytest
from compiled_once import compiled
from dense_cases import DENSE, MATRICES, ROWS, SCALARS
from family_cases import DEBUG_MODE, LAYOUTS, check_gradient, check_r_op, check_shape, variable_for
from matrix_cases import CASES

import phintys
from phintys.ops.elementwise.scalar_op import SCALAR_OPS

TOLERANCE = {"float32": 1e-4, "complex64": 1e-4}
NAMES = [*ROWS]
DERIVED = [name for name in NAMES if ROWS[name].derivatives]
FAILING = [(name, number) for name in NAMES for number in range(len(ROWS[name].errors))]


def compare(row, arrays, mode=None):
    variables = [variable_for(array) for array in arrays]
    found = compiled(variables, row.build(*variables), mode)(*arrays)
    with numpy.errstate(all="ignore"):
        wanted = numpy.asarray(row.expected(*arrays))
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    tolerance = TOLERANCE.get(arrays[0].dtype.name, 1e-10)
    numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name in NAMES for dtype in ROWS[name].dtypes])
def test_values(name, dtype):
    row = ROWS[name]
    arrays = [array.astype(dtype) for array in row.operands]
    compare(row, arrays)
    if dtype == row.dtypes[-1]:
        compare(row, arrays, "FAST_COMPILE")
        compare(row, arrays, DEBUG_MODE)


@pytest.mark.parametrize("layout", [*LAYOUTS])
@pytest.mark.parametrize("name", NAMES)
def test_layouts(name, layout):
    compare(ROWS[name], [LAYOUTS[layout](array) for array in ROWS[name].operands])


@pytest.mark.parametrize("name", NAMES)
def test_operands_without_strides(name):
    """Each line is the first one, at the same place in memory."""
    operands = ROWS[name].operands
    compare(ROWS[name], [numpy.broadcast_to(array[:1], array.shape) if array.ndim > 1 else array for array in operands])


@pytest.mark.parametrize("name", [name for name in NAMES if ROWS[name].empty])
def test_no_elements(name):
    compare(ROWS[name], ROWS[name].empty)


@pytest.mark.parametrize("name", [name for name in NAMES if ROWS[name].zero_d])
def test_no_dimensions(name):
    compare(ROWS[name], ROWS[name].zero_d)


@pytest.mark.parametrize("name", NAMES)
def test_shapes(name):
    check_shape(ROWS[name].build, ROWS[name].operands)
    if ROWS[name].empty:
        check_shape(ROWS[name].build, ROWS[name].empty)


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives(name):
    check_gradient(ROWS[name].build, ROWS[name].operands)
    check_r_op(ROWS[name].build, ROWS[name].operands)


@pytest.mark.parametrize("name", [name for name in DERIVED if ROWS[name].second])
def test_second_derivatives(name):
    row = ROWS[name]
    check_gradient(lambda *x: phintys.grad((row.build(*x) ** 2).sum(), x[0]), row.operands)


@pytest.mark.parametrize("name", DERIVED + [name for name in CASES if CASES[name].derivatives])
def test_jacobians(name):
    """Along a direction, the Jacobian is the derivative that `Rop` computes."""
    row = ROWS.get(name) or CASES[name]
    arrays = row.operands
    inputs = [variable_for(array) for array in arrays]
    direction = numpy.random.default_rng(1).normal(size=arrays[0].shape)
    output, along = row.build(*inputs).flatten(), variable_for(direction)
    jacobian = phintys.gradient.jacobian(output, inputs[0], disconnected_inputs="ignore")
    found, wanted = phintys.function([*inputs, along], [jacobian, phintys.gradient.Rop(output, inputs[0], along)],
                                     on_unused_input="ignore")(*arrays, direction)
    numpy.testing.assert_allclose(found.reshape(len(wanted), direction.size) @ direction.ravel(), wanted, rtol=1e-8,
                                  atol=1e-10)


@pytest.mark.parametrize("name, number", FAILING)
def test_errors(name, number):
    run, kind, message = ROWS[name].errors[number]
    with pytest.raises(kind, match=message):
        run()


def test_every_promised_op_has_a_row():
    for names, table in ((MATRICES, CASES), (DENSE, ROWS), (SCALARS, SCALAR_OPS)):
        for name in names.split():
            assert any([row == name or row.startswith(f"{name},") for row in table]), f"{name} has no row"


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
