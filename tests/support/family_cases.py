"""What the tests of op families share: arrays of every layout and dtype, and checks of values, shapes and gradients."""
import numpy
from compiled_once import compiled

import phintys
from phintys.debugging.debug_mode import DebugMode
from phintys.ops.types.tensor_type import TensorType

MODES = ("FAST_RUN", "FAST_COMPILE")
DEBUG_MODE = DebugMode(check_isfinite=False, stability_patience=1)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool",) + INTEGERS + FLOATS + COMPLEX
TOLERANCE = {"float16": 1e-2, "float32": 3e-5, "complex64": 3e-5}


def values(shape, dtype="float64", seed=0):
    """Small random numbers; nonzero where that matters little to most."""
    random = numpy.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return random.integers(0 if dtype.startswith("u") else -4, 5, shape).astype(dtype)
    result = random.uniform(-2, 2, shape)
    if dtype in COMPLEX:
        result = result + 1j * random.uniform(-2, 2, shape)
    return numpy.asarray(result).astype(dtype)


def contiguous(array):
    return numpy.array(array, order="C")


def transposed(array):
    return numpy.array(array, order="F")


def strided(array):
    """Every second element of a larger array, in every dimension."""
    larger = numpy.zeros([2 * length + 1 for length in array.shape], array.dtype)
    view = larger[(*[slice(0, 2 * length, 2) for length in array.shape], ...)]
    view[...] = array
    return view


def negative(array):
    """Stored backwards in every dimension."""
    return numpy.flip(numpy.flip(array).copy())


LAYOUTS = {"contiguous": contiguous, "transposed": transposed, "strided": strided, "negative": negative}


def zero_strides(shape, dtype="float64"):
    return numpy.broadcast_to(numpy.asarray(3, dtype), shape)


def variable_for(array, broadcastable=None):
    return TensorType(array.dtype.name, broadcastable or (False,) * array.ndim)()


def check_equal(got, wanted, dtype=None):
    """Same dtype (or ``dtype``), shape and, up to rounding, values."""
    wanted = numpy.asarray(wanted)
    assert isinstance(got, numpy.ndarray)
    assert got.dtype.name == (dtype or wanted.dtype.name)
    assert got.shape == wanted.shape
    if got.dtype.kind in "fc":
        tolerance = TOLERANCE.get(got.dtype.name, 1e-12)
        numpy.testing.assert_allclose(got, wanted.astype(got.dtype), rtol=tolerance, atol=tolerance)
    else:
        numpy.testing.assert_array_equal(got, wanted)


def check_values(build, expected, arrays, dtype=None, modes=MODES):
    """``build`` of variables, compiled, computes what ``expected`` computes of arrays; and infers its shape. DebugMode
    finds nothing wrong with it."""
    inputs = [variable_for(array) for array in arrays]
    outputs = build(*inputs)
    for mode in (*modes, DEBUG_MODE):
        function = compiled(inputs, outputs, mode)
        check_equal(function(*arrays), expected(*arrays), dtype)
    check_shape(build, arrays)


def check_shape(build, arrays):
    """The shape that the optimizer infers is the real one, and so is what the type promises."""
    inputs = [variable_for(array) for array in arrays]
    output = build(*inputs)
    value = compiled(inputs, output, "FAST_COMPILE")(*arrays)
    inferred = compiled(inputs, output.shape, "FAST_RUN")(*arrays)
    assert tuple(inferred) == value.shape
    for flag, static, length in zip(output.type.broadcastable, output.type.shape, value.shape):
        assert length == 1 or not flag
        assert static in (None, length)


def check_gradient(build, arrays):
    phintys.gradient.verify_grad(build, list(arrays), rng=numpy.random.RandomState(0), n_tests=1)


def check_r_op(build, arrays):
    """The directional derivative along random directions is the limit of differences."""
    inputs, directions = [[variable_for(array) for array in arrays] for _ in range(2)]
    steps = [values(array.shape, seed=seed + 10) for seed, array in enumerate(arrays)]
    output = build(*inputs)
    derivative = phintys.gradient.Rop(output, inputs, directions)
    got = phintys.function(inputs + directions, derivative, on_unused_input="ignore")(*arrays, *steps)
    function = phintys.function(inputs, output, on_unused_input="ignore")
    ahead, behind = [function(*[array + sign * 1e-6 * step for array, step in zip(arrays, steps)]) for sign in (1, -1)]
    numpy.testing.assert_allclose(got, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-8)
