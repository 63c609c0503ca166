"""Kernels that work on rows: lengths at which another variant is used, rows that are not aligned or have gaps, and
numbers that are not finite."""
import numpy
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T
from phintys.gpu.kernels.rows.rows_kernel import variant_of
from phintys.tensor import nnet

LENGTHS = ((300, 1), (9, 2), (5, 5), (70, 10), (9, 33), (5, 64), (5, 65), (7, 128), (3, 161), (3, 1023), (3, 1024),
           (2, 4097), (2, 9000), (1, 17000))
TOLERANCES = {"float32": {"rtol": 2e-5, "atol": 1e-6}, "float64": {"rtol": 1e-12, "atol": 1e-13}}


def softmax(x, logarithm=False):
    with numpy.errstate(all="ignore"):
        below = x.astype("float64") - x.max(1, keepdims=True)
        powers = numpy.exp(below)
        total = powers.sum(1, keepdims=True)
        return below - numpy.log(total) if logarithm else powers / total


def functions(dtype):
    """Of a matrix on the device."""
    with at_device():
        given = phintys.shared(numpy.zeros((1, 1), dtype), target="cuda")
        x = phintys.gpu.host_from_gpu(given)
        return given, [(phintys.function([], expression), of_array) for expression, of_array in (
            (nnet.softmax(x), softmax), (nnet.logsoftmax(x), lambda x: softmax(x, True)),
            (nnet.softmax(x[:, ::-1]), lambda x: softmax(x[:, ::-1])), (nnet.softmax(x[:, 1:]), lambda x: softmax(
                x[:, 1:]) if x.shape[1] > 1 else x[:, 1:]))]


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_rows_of_each_length(device, dtype):
    random = numpy.random.RandomState(1)
    given, compared = functions(dtype)
    device.set_order("shuffled")
    try:
        for shape in LENGTHS:
            value = random.uniform(-5, 5, shape).astype(dtype)
            given.set_value(value)
            for function, of_array in compared:
                numpy.testing.assert_allclose(function(), of_array(value), err_msg=str(shape), **TOLERANCES[dtype])
    finally:
        device.set_order("ascending")


@pytest.mark.parametrize("shape", [(3, 10), (3, 257), (2, 1024), (2, 9000)])
@pytest.mark.parametrize("number", [numpy.inf, -numpy.inf, numpy.nan])
def test_numbers_that_are_not_finite(device, shape, number):
    value = numpy.random.RandomState(1).uniform(-5, 5, shape).astype("float32")
    value[0, 3], value[1] = number, number
    given, compared = functions("float32")
    given.set_value(value)
    for function, of_array in compared:
        numpy.testing.assert_allclose(function(), of_array(value), **TOLERANCES["float32"])
    at_host, labels = T.matrix(), numpy.zeros(shape[0], "int32")
    with at_device():
        x = phintys.gpu.host_from_gpu(given)
        found = phintys.function([], nnet.crossentropy_softmax_argmax_1hot_with_bias(x, T.zeros_like(x[0]), labels))()
    expected = phintys.function([at_host], nnet.crossentropy_softmax_argmax_1hot_with_bias(
        at_host, T.zeros_like(at_host[0]), labels), allow_input_downcast=True)(value)
    for mine, theirs in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(mine, theirs, **TOLERANCES["float32"])


def normalizations(x, g, b, y, axes):
    """Of training, with running values, and the gradients; and for given moments."""
    results = nnet.batch_normalization_train(x, g, b, axes, 1e-3, 0.2, b, g)
    gradients = T.grad((results[0] * y).sum(), [x, g, b])
    return [*results, *gradients, nnet.batch_normalization_test(x, g, b, b, g, axes)]


@pytest.mark.parametrize("shape, axes, dtype", [
    ((3, 4, 5, 6), (0, 2, 3), "float32"), ((2, 3, 12, 20), (0, 2, 3), "float64"),
    ((2, 2, 130, 130), (0, 2, 3), "float32"), ((2, 2, 129, 131), (0, 2, 3), "float32"),
    ((40, 7), (0,), "float32"), ((200, 70), (0,), "float64"),
    ((7, 9, 5), (0, 1), "float32"), ((6, 3, 5, 4), (1, 3), "float32"), ((4, 5), (0, 1), "float32"),
    ((0, 3, 2, 2), (0, 2, 3), "float32")])
def test_batch_normalization(device, shape, axes, dtype):
    random = numpy.random.RandomState(1)
    channels = [1 if axis in axes else length for axis, length in enumerate(shape)]
    values = [random.normal(30, 1, shape), random.uniform(0.5, 2, channels), random.normal(0, 1, channels),
              random.normal(0, 1, shape)]
    found = []
    for target in ("cpu", "cuda"):
        variables = [phintys.shared(value.astype(dtype), target=target) for value in values]
        if target == "cuda":
            variables = [phintys.gpu.host_from_gpu(variable) for variable in variables]
        function = phintys.function([], normalizations(*variables, axes))
        with numpy.errstate(all="ignore"):
            found.append(function())
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    for mine, theirs in zip(*found, strict=True):
        numpy.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * (1 + abs(mine).max(initial=0)))


def test_variants_have_numbers():
    numbers = [number for number in range(2304) if number // 16 % 8 < 7]
    assert len({variant_of(number) for number in numbers}) == len(numbers)
