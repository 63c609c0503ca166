"""Checks of each row of the table of ops on dense tensors: values, layouts, derivatives, shapes, errors.

A test file takes them all by ``from dense_checks import *``; they then run on the rows of the folder that the file is
in.
"""
from pathlib import Path

import numpy
import pytest
from compiled_once import compiled
from dense_cases import ROWS, ROWS_OF
from family_cases import DEBUG_MODE, LAYOUTS, check_gradient, check_r_op, check_shape, variable_for

import phintys

__all__ = ["pytest_generate_tests", "test_values", "test_layouts", "test_operands_without_strides", "test_no_elements",
           "test_no_dimensions", "test_shapes", "test_derivatives", "test_second_derivatives", "test_jacobians",
           "test_errors"]
TOLERANCE = {"float32": 1e-4, "complex64": 1e-4}
# Check → which rows it runs on, unless it runs on all.
WHERE = {"test_no_elements": lambda row: row.empty, "test_no_dimensions": lambda row: row.zero_d,
         "test_derivatives": lambda row: row.derivatives, "test_jacobians": lambda row: row.derivatives,
         "test_second_derivatives": lambda row: row.derivatives and row.second}


def pytest_generate_tests(metafunc):
    """Parametrize a check with the rows of the test file's folder."""
    check, rows = metafunc.function.__name__, ROWS_OF[Path(metafunc.module.__file__).parent.name]
    if check == "test_values":
        metafunc.parametrize("name, dtype", [(name, dtype) for name, row in rows.items() for dtype in row.dtypes])
    elif check == "test_errors":
        metafunc.parametrize("name, number", [(name, number) for name, row in rows.items()
                                              for number in range(len(row.errors))])
    elif check in __all__:
        metafunc.parametrize("name", [name for name, row in rows.items() if WHERE.get(check, bool)(row)])


def compare(row, arrays, mode=None):
    variables = [variable_for(array) for array in arrays]
    found = compiled(variables, row.build(*variables), mode)(*arrays)
    with numpy.errstate(all="ignore"):
        wanted = numpy.asarray(row.expected(*arrays))
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    tolerance = TOLERANCE.get(arrays[0].dtype.name, 1e-10)
    numpy.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_values(name, dtype):
    row = ROWS[name]
    arrays = [array.astype(dtype) for array in row.operands]
    compare(row, arrays)
    if dtype == row.dtypes[-1]:
        compare(row, arrays, "FAST_COMPILE")
        compare(row, arrays, DEBUG_MODE)


@pytest.mark.parametrize("layout", [*LAYOUTS])
def test_layouts(name, layout):
    compare(ROWS[name], [LAYOUTS[layout](array) for array in ROWS[name].operands])


def test_operands_without_strides(name):
    """Each line is the first one, at the same place in memory."""
    operands = ROWS[name].operands
    compare(ROWS[name], [numpy.broadcast_to(array[:1], array.shape) if array.ndim > 1 else array for array in operands])


def test_no_elements(name):
    compare(ROWS[name], ROWS[name].empty)


def test_no_dimensions(name):
    compare(ROWS[name], ROWS[name].zero_d)


def test_shapes(name):
    check_shape(ROWS[name].build, ROWS[name].operands)
    if ROWS[name].empty:
        check_shape(ROWS[name].build, ROWS[name].empty)


def test_derivatives(name):
    check_gradient(ROWS[name].build, ROWS[name].operands)
    check_r_op(ROWS[name].build, ROWS[name].operands)


def test_second_derivatives(name):
    row = ROWS[name]
    check_gradient(lambda *x: phintys.grad((row.build(*x) ** 2).sum(), x[0]), row.operands)


def check_jacobian(row):
    """Along a direction, the Jacobian is the derivative that `Rop` computes."""
    arrays = row.operands
    inputs = [variable_for(array) for array in arrays]
    direction = numpy.random.default_rng(1).normal(size=arrays[0].shape)
    output, along = row.build(*inputs).flatten(), variable_for(direction)
    jacobian = phintys.gradient.jacobian(output, inputs[0], disconnected_inputs="ignore")
    found, wanted = phintys.function([*inputs, along], [jacobian, phintys.gradient.Rop(output, inputs[0], along)],
                                     on_unused_input="ignore")(*arrays, direction)
    numpy.testing.assert_allclose(found.reshape(len(wanted), direction.size) @ direction.ravel(), wanted, rtol=1e-8,
                                  atol=1e-10)


def test_jacobians(name):
    check_jacobian(ROWS[name])


def test_errors(name, number):
    run, kind, message = ROWS[name].errors[number]
    with pytest.raises(kind, match=message):
        run()
