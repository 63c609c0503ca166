"""C functions: a compiled function called from C, by several signatures and from several threads at once."""
import ctypes

import numpy as np

import phintys
import phintys.tensor as T

DOUBLES = ctypes.POINTER(ctypes.c_double)
x, y = T.dvectors("x", "y")
a, b = T.dscalars("a", "b")


def doubles(array):
    return array.ctypes.data_as(DOUBLES)


def log_density(entry, point, user_data=None):
    """The status, the value and the gradient."""
    point = np.asarray(point, dtype="float64")
    gradient, value = np.full(point.size, np.nan), ctypes.c_double(np.nan)
    status = entry.ctypes(point.size, doubles(point), doubles(gradient), ctypes.byref(value), user_data)
    return status, value.value, gradient


def expand(entry, point, expanded, user_data=None):
    """The status and the results."""
    point = np.asarray(point, dtype="float64")
    out = np.full(expanded, np.nan)
    return entry.ctypes(point.size, expanded, doubles(point), doubles(out), user_data), out


def normal_density():
    """A function of a vector of any length, with its value and gradient."""
    value = -0.5 * (x ** 2).sum() + T.log1p(x[0] ** 2)
    return phintys.function([x], [value, phintys.grad(value, x)])


def test_log_density():
    function = normal_density()
    entry = function.c_function("log_density")
    for length in (3, 3, 3, 1, 500, 3):                     # other lengths between calls of the same
        point = np.linspace(-1, 2, length)
        status, value, gradient = log_density(entry, point)
        expected_value, expected_gradient = function(point)
        assert status == 0 and value == expected_value
        np.testing.assert_array_equal(gradient, expected_gradient)


def test_expand():
    matrix = T.dmatrix("matrix")
    function = phintys.function([a, matrix, x], [matrix.T * a, x > 0, x.argmax(), T.cast(x, "float32")])
    entry = function.c_function("expand", shapes={"matrix": (2, 3)})
    point = np.random.default_rng(0).normal(size=12)
    status, out = expand(entry, point, 6 + 5 + 1 + 5)
    results = [np.asarray(result, dtype="float64").ravel()
               for result in function(point[0], point[1:7].reshape(2, 3), point[7:])]
    assert status == 0
    np.testing.assert_array_equal(out, np.concatenate(results))


def test_a_number_that_is_not_finite():
    function = phintys.function([x], [T.log(x).sum(), x / x[0]])
    entry = function.c_function("log_density")
    assert log_density(entry, [1.0, 2.0])[0] == 0
    assert log_density(entry, [1.0, 0.0])[:2] == (4, -np.inf)
    assert log_density(entry, [0.0, 1.0])[0] == 3
    assert entry.error is None
