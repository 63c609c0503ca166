"""Batch normalization: values against NumPy, running values, all axes and ranks, derivatives, stability, errors."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from family_cases import check_gradient, values, variable_for
from phintys.ops.batch_normalization import (
    AbstractBatchNormInference, AbstractBatchNormTrain, AbstractBatchNormTrainGrad, BatchNormalizationOp,
    batch_normalization, batch_normalization_test, batch_normalization_train)

AXES = [("per-activation", (4, 3), (0,)), ("per-activation", (4, 3, 2), (0,)), ("spatial", (4, 3, 2, 5), (0, 2, 3)),
        ((1, 2), (4, 3, 2), (1, 2)), ((0,), (5,), (0,))]
MODES = ("FAST_RUN", "FAST_COMPILE", None)


def compiled(inputs, outputs, mode):
    """A function; with None as mode the ops compute by themselves."""
    if mode is None:
        mode = phintys.Mode(optimizer=None)
    return phintys.function(inputs, outputs, mode=mode)


def wide(value, axes):
    return numpy.expand_dims(value, axes)


def reference(x, gamma, beta, axes, epsilon):
    mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return (x - mean) * wide(gamma, axes) / numpy.sqrt(variance + epsilon) + wide(beta, axes), mean, variance


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named, shape, axes", AXES)
def test_train(named, shape, axes, mode):
    kept = [length for axis, length in enumerate(shape) if axis not in axes]
    x, *parameters = values(shape) + 3, *[numpy.abs(values(kept, seed=seed)) for seed in range(1, 5)]
    inputs = [variable_for(array) for array in (x, *parameters)]
    outputs = batch_normalization_train(*inputs[:3], axes=named, epsilon=1e-3, running_average_factor=0.3,
                                        running_mean=inputs[3], running_var=inputs[4])
    function = compiled(inputs, list(outputs), mode)
    out, mean, inverse, new_mean, new_variance = function(x, *parameters)
    wanted, true_mean, variance = reference(x, *parameters[:2], axes, 1e-3)
    count = x.size / mean.size
    numpy.testing.assert_allclose(out, wanted, rtol=1e-10, atol=1e-12)
    numpy.testing.assert_allclose(mean, true_mean.squeeze(axes), rtol=1e-12)
    numpy.testing.assert_allclose(inverse, 1 / numpy.sqrt(variance + 1e-3).squeeze(axes), rtol=1e-10)
    numpy.testing.assert_allclose(new_mean, 0.7 * parameters[2] + 0.3 * mean, rtol=1e-12)
    numpy.testing.assert_allclose(new_variance, 0.7 * parameters[3] + 0.3 * count / (count - 1)
                                  * variance.squeeze(axes), rtol=1e-10)
    if mode is not None:
        assert not [node for node in function.maker.fgraph.apply_nodes if isinstance(node.op, BatchNormalizationOp)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("named, shape, axes", AXES)
def test_inference(named, shape, axes, mode):
    full = [1 if axis in axes else length for axis, length in enumerate(shape)]
    arrays = [values(shape), *[numpy.abs(values(full, seed=seed)) + 0.1 for seed in range(1, 5)]]
    inputs = [variable_for(array) for array in arrays]
    x, gamma, beta, mean, variance = arrays
    got = compiled(inputs, batch_normalization_test(*inputs, axes=named), mode)(*arrays)
    numpy.testing.assert_allclose(got, (x - mean) * gamma / numpy.sqrt(variance + 1e-4) + beta, rtol=1e-10)


@pytest.mark.parametrize("mode", ["low_mem", "high_mem"])
def test_given_deviation(mode):
    arrays = [values((4, 3)), *[numpy.abs(values((1, 3), seed=seed)) + 0.5 for seed in range(4)]]
    inputs = [variable_for(array, (index > 0, False)) for index, array in enumerate(arrays)]
    x, gamma, beta, mean, deviation = arrays
    got = phintys.function(inputs, batch_normalization(*inputs, mode=mode))(*arrays)
    numpy.testing.assert_allclose(got, (x - mean) * gamma / deviation + beta, rtol=1e-12)
    with pytest.raises(ValueError, match="mode must be either"):
        batch_normalization(*inputs, mode="middling")


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtype_stays(dtype):
    x, gamma, beta = values((6, 3), dtype), values((3,), dtype), values((3,), dtype)
    inputs = [variable_for(array) for array in (x, gamma, beta)]
    outputs = batch_normalization_train(*inputs) + (batch_normalization_test(*inputs, inputs[1], T.sqr(inputs[2])),)
    assert {output.dtype for output in outputs} == {dtype}
    got = phintys.function(inputs, outputs[0])(x, gamma, beta)
    numpy.testing.assert_allclose(got, reference(*[a.astype("float64") for a in (x, gamma, beta)], (0,), 1e-4)[0],
                                  rtol=3e-2 if dtype == "float16" else 1e-4, atol=1e-2 if dtype == "float16" else 1e-5)


def test_variance_of_far_values_does_not_cancel():
    x = 1e8 + values((50, 2))
    got = phintys.function([v := T.dmatrix()], batch_normalization_train(v, numpy.ones(2), numpy.zeros(2))[0])(x)
    numpy.testing.assert_allclose(got.std(axis=0), 1, rtol=1e-3)


BUILDS = {
    "result": (lambda x, g, b: batch_normalization_train(x, g, b)[0], [(4, 3), (3,), (3,)]),
    "mean": (lambda x, g, b: batch_normalization_train(x, g, b)[1], [(4, 3), (3,), (3,)]),
    "inverse deviation": (lambda x, g, b: batch_normalization_train(x, g, b)[2], [(4, 3), (3,), (3,)]),
    "running mean": (lambda x, g, b, m, v: batch_normalization_train(x, g, b, running_mean=m, running_var=v)[3],
                     [(4, 3), (3,), (3,), (3,), (3,)]),
    "running variance": (lambda x, g, b, m, v: batch_normalization_train(x, g, b, running_mean=m, running_var=v)[4],
                         [(4, 3), (3,), (3,), (3,), (3,)]),
    "spatial": (lambda x, g, b: batch_normalization_train(x, g, b, "spatial")[0], [(2, 3, 2, 2), (3,), (3,)]),
    "several outputs": (lambda *inputs: sum([(k + 1) * T.sqr(output).sum() for k, output in enumerate(
        batch_normalization_train(*inputs[:3], running_mean=inputs[3], running_var=inputs[4]))]),
        [(4, 3), (3,), (3,), (3,), (3,)]),
    "several gradients": (lambda *inputs: sum([(k + 1) * T.sqr(output).sum() for k, output in enumerate(
        AbstractBatchNormTrainGrad((0,))(*inputs))]), [(4, 3), (4, 3), (1, 3), (1, 3), (1, 3)]),
    "inference": (batch_normalization_test, [(4, 3), (3,), (3,), (3,), (3,)]),
    "by x": (lambda *inputs: AbstractBatchNormTrainGrad((0,))(*inputs)[0], [(4, 3), (4, 3), (1, 3), (1, 3), (1, 3)]),
    "by scale": (lambda *inputs: AbstractBatchNormTrainGrad((0,))(*inputs)[1],
                 [(4, 3), (4, 3), (1, 3), (1, 3), (1, 3)]),
    "by bias": (lambda *inputs: AbstractBatchNormTrainGrad((0,))(*inputs)[2],
                [(4, 3), (4, 3), (1, 3), (1, 3), (1, 3)]),
}


def arrays_for(name):
    return [numpy.abs(values(shape, seed=seed)) + 0.3 for seed, shape in enumerate(BUILDS[name][1])]


@pytest.mark.parametrize("name", BUILDS)
def test_gradient(name):
    if name.startswith(("mean", "inverse", "running", "by", "several")):
        phintys.gradient.verify_grad(_ignoring(BUILDS[name][0]), arrays_for(name), rng=numpy.random.RandomState(0),
                                     n_tests=1)
    else:
        check_gradient(BUILDS[name][0], arrays_for(name))


def _ignoring(build):
    """With a path from every input, so that none is disconnected."""
    return lambda *inputs: build(*inputs).sum() + sum([0 * value.sum() for value in inputs])


@pytest.mark.parametrize("name", BUILDS)
def test_r_operator(name):
    build, arrays = BUILDS[name][0], arrays_for(name)
    points = [values(array.shape, seed=seed + 9) for seed, array in enumerate(arrays)]
    inputs, directions = [variable_for(array) for array in arrays], [variable_for(array) for array in points]
    derivative = phintys.function(inputs + directions, T.Rop(build(*inputs), inputs, directions),
                                  on_unused_input="ignore")
    function, step = phintys.function(inputs, build(*inputs), on_unused_input="ignore"), 1e-6
    ahead, behind = [function(*[array + sign * step * point for array, point in zip(arrays, points)])
                     for sign in (1, -1)]
    numpy.testing.assert_allclose(derivative(*arrays, *points), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)


def test_training_moves_running_values():
    x = values((20, 3)) * 4 + 7
    mean, variance = phintys.shared(numpy.zeros(3)), phintys.shared(numpy.ones(3))
    v = T.dmatrix()
    out, _, _, new_mean, new_variance = batch_normalization_train(
        v, numpy.ones(3), numpy.zeros(3), running_average_factor=0.5, running_mean=mean, running_var=variance)
    train = phintys.function([v], out, updates=[(mean, new_mean), (variance, new_variance)])
    for _ in range(60):
        train(x)
    numpy.testing.assert_allclose(mean.get_value(), x.mean(axis=0), rtol=1e-10)
    numpy.testing.assert_allclose(variance.get_value(), x.var(axis=0, ddof=1), rtol=1e-10)


x, row, vector, scalar = T.dmatrix(), T.drow(), T.dvector(), T.dscalar()
REFUSED = {
    "axes should be less than ndim": lambda: batch_normalization_train(x, vector, vector, (2,)),
    "invalid axes": lambda: batch_normalization_train(x, vector, vector, "rows"),
    "invalid axes: 0": lambda: batch_normalization_train(x, vector, vector, 0),
    "at least one normalization axis": lambda: batch_normalization_test(x, vector, vector, vector, vector, ()),
    "epsilon must be at least 1e-05": lambda: batch_normalization_train(x, vector, vector, epsilon=1e-6),
    "both be given or both be None": lambda: batch_normalization_train(x, vector, vector, running_mean=vector),
    "beta must have as many dimensions": lambda: batch_normalization_train(x, vector, row),
    "var must have as many dimensions": lambda: batch_normalization_test(x, row, row, row, scalar),
    "input 1 must have 2 dimensions": lambda: AbstractBatchNormTrain((0,))(x, vector, vector),
    "but .3,. given": lambda: AbstractBatchNormInference((3,))(x, x, x, x, x),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refuses(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
