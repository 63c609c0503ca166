"""Batch normalization: values against NumPy, running values, all axes and ranks, derivatives, stability, errors."""
import numpy
import pytest
from family_cases import LAYOUTS, check_gradient, check_shape, values, variable_for

import phintys
import phintys.tensor as T
from phintys.debugging.debug_mode import DebugMode
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.nnet.batch_normalization import (
    AbstractBatchNormInference,
    AbstractBatchNormTrain,
    AbstractBatchNormTrainGrad,
    BNComposite,
    batch_normalization,
    batch_normalization_test,
    batch_normalization_train,
)

# Axes that make every kind of layout: runs, columns, merged columns, batches of them; short and long ones.
LAYOUT_CASES = [((40, 30), (0,)), ((200, 600), (0,)), ((3, 4, 70), (0, 2)), ((20, 5, 6), (0, 2)), ((5000,), (0,)),
                ((30, 9000), (1,)), ((6, 4, 8), (1,)), ((5, 18, 4), (1,)), ((20, 3, 2, 3, 4), (0, 2, 4)),
                ((3, 18, 2, 3), (1, 3)), ((2, 3, 4), (0, 1, 2)), ((4, 1, 5), (1,)), ((1, 6), (0,)),
                ((17, 700, 2), (0, 2)), ((300, 3), (0,))]

AXES = [("per-activation", (4, 3), (0,)), ("per-activation", (4, 3, 2), (0,)), ("spatial", (4, 3, 2, 5), (0, 2, 3)),
        ((1, 2), (4, 3, 2), (1, 2)), ((0,), (5,), (0,))]
MODES = ("FAST_RUN", "FAST_COMPILE", None)


def compiled(inputs, outputs, mode):
    """A function; a mode of None means no optimizer, so that the ops run unchanged."""
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
        names = [type(node.op).__name__ for node in function.maker.fgraph.apply_nodes]
        assert "BatchNormTrain" in names and not [name for name in names if name.startswith("Abstract")]


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_composite(dtype):
    """The function that has Theano's name for this computation as one scalar op."""
    arrays = [values((4, 3)).astype(dtype), *[(numpy.abs(values((1, 3), seed=seed)) + 0.5).astype(dtype)
                                              for seed in range(4)]]
    op = Elemwise(BNComposite(dtype))
    assert op == Elemwise(BNComposite(dtype))
    inputs = [variable_for(array, (index > 0, False)) for index, array in enumerate(arrays)]
    x, mean, deviation, gamma, beta = arrays
    numpy.testing.assert_allclose(phintys.function(inputs, op(*inputs))(*arrays),
                                  (x - mean) / deviation * gamma + beta, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtype_stays(dtype):
    x, gamma, beta = values((6, 3), dtype), values((3,), dtype), values((3,), dtype)
    inputs = [variable_for(array) for array in (x, gamma, beta)]
    outputs = batch_normalization_train(*inputs) + (batch_normalization_test(*inputs, inputs[1], T.sqr(inputs[2])),)
    assert {output.dtype for output in outputs} == {dtype}
    got = phintys.function(inputs, outputs[0])(x, gamma, beta)
    numpy.testing.assert_allclose(got, reference(*[a.astype("float64") for a in (x, gamma, beta)], (0,), 1e-4)[0],
                                  rtol=3e-2 if dtype == "float16" else 1e-4, atol=1e-2 if dtype == "float16" else 1e-5)


def exact(x, dy, scale, bias, mean, variance, axes):
    """The results of the three ops in extended precision: training, inference, and the gradients."""
    x, dy, scale, bias, mean, variance = [array.astype(numpy.longdouble)
                                          for array in (x, dy, scale, bias, mean, variance)]
    own, spread = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    inverse, count = 1 / numpy.sqrt(spread + numpy.longdouble(1e-3)), x.size / scale.size
    with numpy.errstate(divide="ignore", invalid="ignore"):
        corrected = count / numpy.float64(count - 1) * spread
    train = [(x - own) * inverse * scale + bias, own, inverse, 0.75 * mean + 0.25 * own,
             0.75 * variance + 0.25 * corrected]
    far = x - mean
    centred = dy * variance - far * (dy * far).mean(axis=axes, keepdims=True) * variance ** 3
    grad = [scale * (centred - centred.mean(axis=axes, keepdims=True)),
            (dy * variance * far).sum(axis=axes, keepdims=True), dy.sum(axis=axes, keepdims=True)]
    return train, [far * scale / numpy.sqrt(variance + numpy.longdouble(1e-3)) + bias], grad


def kernel_case(shape, axes, dtype, layout, offset=0):
    narrow = [1 if axis in axes else length for axis, length in enumerate(shape)]
    arrays = [LAYOUTS[layout](array.astype(dtype)) for array in (
        values(shape) + offset, values(shape, seed=1), *[numpy.abs(values(narrow, seed=seed)) + 0.5
                                                         for seed in range(2, 6)])]
    broadcastable = tuple([axis in axes for axis in range(len(shape))])
    inputs = [variable_for(array, broadcastable if position > 1 else None) for position, array in enumerate(arrays)]
    x, dy, scale, bias, mean, variance = inputs
    outputs = [AbstractBatchNormTrain(axes)(x, scale, bias, 1e-3, 0.25, mean, variance),
               [AbstractBatchNormInference(axes)(x, scale, bias, mean, variance, 1e-3)],
               AbstractBatchNormTrainGrad(axes)(x, dy, scale, mean, variance, 1e-3)]
    return inputs, arrays, outputs


def check_close(got, wanted, dtype, scale=1):
    size = max([scale, numpy.nanmax(numpy.abs(wanted).astype(float), initial=0)])
    tolerance = 4e-6 if dtype == "float32" else 2e-14
    numpy.testing.assert_allclose(got, wanted.astype(dtype), rtol=0, atol=size * tolerance)
    assert got.dtype == dtype


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, axes", LAYOUT_CASES)
def test_kernels(shape, axes, dtype, layout):
    inputs, arrays, outputs = kernel_case(shape, axes, dtype, layout)
    for group, wanted in zip(outputs, exact(*arrays, axes)):
        got = phintys.function(inputs, group, on_unused_input="ignore")(*arrays)
        for position, (one, other) in enumerate(zip(got, wanted)):
            sums = numpy.prod([shape[axis] for axis in axes]) if len(group) == 3 and position else 1
            check_close(one, other, dtype, 8 * sums)


@pytest.mark.parametrize("shape, axes", LAYOUT_CASES)
def test_workers_share(shape, axes):
    shape = [3 * length for length in shape]
    inputs, arrays, outputs = kernel_case(shape, axes, "float32", "contiguous")
    flat, results = sum(outputs, []), []
    for workers in (1, 3):
        with phintys.config.change_flags(workers=workers):
            results.append(phintys.function(inputs, flat)(*arrays))
    for one, three in zip(*results):
        numpy.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("shape, axes", LAYOUT_CASES[2:6])
def test_debug_mode_finds_nothing(shape, axes):
    inputs, arrays, outputs = kernel_case(shape, axes, "float64", "contiguous")
    phintys.function(inputs, sum(outputs, []), mode=DebugMode(stability_patience=1))(*arrays)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_shapes_need_no_values(position):
    inputs, arrays, outputs = kernel_case((4, 3, 5), (0, 2), "float64", "contiguous")
    for number in range(len(outputs[position])):
        def build(*variables):
            groups = kernel_outputs(variables, (0, 2))
            return groups[position][number]
        check_shape(build, arrays)
    function = phintys.function(inputs, [output.shape for output in outputs[position]], on_unused_input="ignore")
    assert not [node for node in function.maker.fgraph.apply_nodes if "BatchNorm" in type(node.op).__name__]


def kernel_outputs(variables, axes):
    x, dy, *rest = variables
    scale, bias, mean, variance = [T.addbroadcast(value, *axes) for value in rest]
    return [AbstractBatchNormTrain(axes)(x, scale, bias, 1e-3, 0.25, mean, variance),
            [AbstractBatchNormInference(axes)(x, scale, bias, mean, variance, 1e-3)],
            AbstractBatchNormTrainGrad(axes)(x, dy, scale, mean, variance, 1e-3)]


@pytest.mark.parametrize("shape, axes", LAYOUT_CASES)
@pytest.mark.parametrize("dtype, offset", [("float32", 1e4), ("float64", 1e9)])
def test_far_values_cost_no_accuracy(shape, axes, dtype, offset):
    """The mean is 5 digits larger than the deviation (9 in float64): this many digits are lost, not twice as many."""
    inputs, arrays, outputs = kernel_case(shape, axes, dtype, "contiguous", offset)
    got = phintys.function(inputs, outputs[0], on_unused_input="ignore")(*arrays)
    wanted = exact(*arrays, axes)[0]
    count = numpy.prod([shape[axis] for axis in axes])
    for position in (0, 2) if count > 8 else ():
        numpy.testing.assert_allclose(got[position], wanted[position].astype(float), rtol=0,
                                      atol=1e-4 if dtype == "float32" else 3e-6)


@pytest.mark.parametrize("shape, axes", [((3, 5000), (1,)), ((3000, 3), (0,)), ((300, 3, 10), (0, 2))])
@pytest.mark.parametrize("far", [1e6, -1e6])
@pytest.mark.parametrize("place", [0, 1234, -1])
def test_one_far_value_does_not_spoil_the_others(shape, axes, far, place):
    """A pivot may be an outlier itself."""
    x = values(shape).astype("float32")
    moved = numpy.moveaxis(x, [axis for axis in range(len(shape)) if axis not in axes], [0])
    moved[0].flat[place] = far
    narrow = numpy.ones([1 if axis in axes else length for axis, length in enumerate(shape)], "float32")
    inputs = [variable_for(x), variable_for(narrow), variable_for(narrow)]
    _, mean, inverse = phintys.function(inputs, list(batch_normalization_train(*inputs, axes=axes)))(x, narrow, narrow)
    wide_x = x.astype("float64")
    numpy.testing.assert_allclose(mean, wide_x.mean(axis=axes, keepdims=True), rtol=1e-6, atol=1e-7)
    numpy.testing.assert_allclose(inverse, 1 / numpy.sqrt(wide_x.var(axis=axes, keepdims=True) + 1e-4), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, axes", [((70, 3), (0,)), ((3, 300), (1,)), ((20, 3, 5), (0, 2))])
def test_nan_stays_in_its_channel(shape, axes, dtype):
    """Means are infinite or NaN where NumPy's are; variances of infinite values are NaN."""
    for number in (numpy.inf, -numpy.inf, numpy.nan):
        for place in (0, -1):
            x = values(shape).astype(dtype)
            numpy.moveaxis(x, [axis for axis in range(len(shape)) if axis not in axes], [0])[1].flat[place] = number
            v = variable_for(x)
            one = numpy.ones(3, dtype)
            out, mean, inverse = phintys.function([v], list(batch_normalization_train(v, one, one, axes=axes)))(x)
            with numpy.errstate(invalid="ignore"):
                numpy.testing.assert_allclose(mean, x.mean(axis=axes, dtype="float64"), rtol=1e-4, atol=1e-6)
            numpy.testing.assert_array_equal(numpy.isnan(inverse), [False, True, False])
            spoilt = numpy.moveaxis(numpy.isnan(out), [axis for axis in range(len(shape)) if axis not in axes], [0])
            assert spoilt[1].all() and not spoilt[[0, 2]].any()


def test_squares_that_overflow():
    x = numpy.array([[1e30, 1.0], [-1e30, 2], [0, 3]], "float32")
    v = variable_for(x)
    one = numpy.ones(2, "float32")
    out, mean, inverse = phintys.function([v], list(batch_normalization_train(v, one, one)))(x)
    numpy.testing.assert_array_equal(inverse[0], 0)
    numpy.testing.assert_array_equal(out[:, 0], 1)
    numpy.testing.assert_allclose(out[:, 1], [1 - 1.5 ** 0.5, 1, 1 + 1.5 ** 0.5], rtol=1e-3)


@pytest.mark.parametrize("shape, axes", [((0, 3), (0,)), ((0, 3, 4), (0, 2)), ((3, 0), (1,)), ((2, 0), (0,)),
                                         ((2, 3, 0), (0,)), ((0,), (0,)), ((0, 3, 10 ** 9, 20), (0, 2))])
def test_empty_batches(shape, axes):
    """The mean of no elements is NaN and their sum is 0; without channels there are no means."""
    inputs, arrays, outputs = kernel_case(shape, axes, "float64", "contiguous")
    kept = arrays[2].shape
    train, inference, grad = [phintys.function(inputs, group, on_unused_input="ignore")(*arrays) for group in outputs]
    assert train[0].shape == inference[0].shape == grad[0].shape == shape
    for result in train[1:]:
        numpy.testing.assert_array_equal(result, numpy.full(kept, numpy.nan))
    for result in grad[1:]:
        numpy.testing.assert_array_equal(result, numpy.zeros(kept))


@pytest.mark.parametrize("wanted, names", [
    ([0], {"BatchNormTrain{axes=(0,), whole=True, inplace=None}"}),
    ([1, 2], {"BatchNormTrain{axes=(0,), whole=False, inplace=None}"}),
    ([3, 4], {"BatchNormTrain{axes=(0,), whole=False, inplace=None}"})])
@pytest.mark.parametrize("mode", MODES[:2])
def test_unread_outputs_are_not_computed(wanted, names, mode):
    """Without a reader of the result only sums are computed; running values are inputs only where new ones are read."""
    arrays = [values((6, 3)), *[numpy.abs(values((3,), seed=seed)) for seed in range(1, 5)]]
    inputs = [variable_for(array) for array in arrays]
    outputs = batch_normalization_train(*inputs[:3], running_mean=inputs[3], running_var=inputs[4])
    function, every = [phintys.function(inputs, chosen, mode=mode, on_unused_input="ignore")
                       for chosen in ([outputs[number] for number in wanted], list(outputs))]
    node, = [node for node in function.maker.fgraph.apply_nodes if "BatchNorm" in str(node.op)]
    assert {str(node.op)} == names
    assert len(node.inputs) == (7 if 3 in wanted else 5)
    for got, number in zip(function(*arrays), wanted):
        numpy.testing.assert_array_equal(got, every(*arrays)[number])


def test_gradients_by_parameters_need_no_gradient_by_x():
    x, scale, bias = values((6, 3)), numpy.ones(3), numpy.zeros(3)
    inputs = [variable_for(array) for array in (x, scale, bias)]
    cost = T.sqr(batch_normalization_train(*inputs)[0] - 1).sum()
    some = phintys.function(inputs, T.grad(cost, inputs[1:]))
    every = phintys.function(inputs, T.grad(cost, inputs))
    assert "whole=False" in str([node.op for node in some.maker.fgraph.apply_nodes])
    for one, other in zip(some(x, scale, bias), every(x, scale, bias)[1:]):
        numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape, axes", LAYOUT_CASES[:9])
def test_in_place(shape, axes):
    """The result takes the memory of x, that of the gradient the memory of dy or x; values are the same."""
    inputs, arrays, outputs = kernel_case(shape, axes, "float64", "contiguous")
    x, dy = T.exp(inputs[0]), T.exp(inputs[1])
    scale, bias, mean, variance = inputs[2:]
    for built, place in ((AbstractBatchNormTrain(axes)(x, scale, bias)[0], 0),
                         (AbstractBatchNormInference(axes)(x, scale, bias, mean, variance), 0),
                         (AbstractBatchNormTrainGrad(axes)(x, dy, scale, mean, variance)[0], 1)):
        function, plain = [phintys.function(inputs, built, on_unused_input="ignore", mode=mode)
                           for mode in (None, phintys.compile.get_mode("FAST_RUN").excluding("inplace"))]
        node, = [node for node in function.maker.fgraph.apply_nodes if "BatchNorm" in str(node.op)]
        assert node.op.destroy_map == {0: [place]}
        numpy.testing.assert_array_equal(function(*arrays), plain(*arrays))


def trained(mode, allow_gc):
    """Costs of a few steps on batches of two sizes, and all parameters after them."""
    x = T.dtensor4()
    shared = gamma, beta, mean, variance = [phintys.shared(numpy.full(3, number)) for number in (1.0, 0.0, 0.0, 1.0)]
    out, _, _, new_mean, new_variance = batch_normalization_train(
        T.tanh(x), gamma, beta, "spatial", running_mean=mean, running_var=variance)
    cost = T.sqr(T.nnet.relu(out) - 1).mean()
    slopes = T.grad(cost, [gamma, beta, x])
    with phintys.config.change_flags(allow_gc=allow_gc):
        train = phintys.function([x], [cost, slopes[2]], mode=mode, updates=[
            (gamma, gamma - 0.5 * slopes[0]), (beta, beta - 0.5 * slopes[1]), (mean, new_mean),
            (variance, new_variance)])
    results = [train(values((3 + seed % 2, 3, 5, 2), seed=seed)) for seed in range(6)]
    return [array for pair in results for array in pair] + [variable.get_value() for variable in shared]


@pytest.mark.parametrize("allow_gc", [False, True, "plan"])
def test_training_with_every_way_to_keep_memory(allow_gc):
    """A step in place is the step that computes node by node."""
    for got, wanted in zip(trained("FAST_RUN", allow_gc), trained(phintys.Mode(optimizer=None), True)):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3)])
def test_one_parameter_for_all_channels(shape):
    """One scale for all channels: the mean still has an element for each, and the gradient is a sum."""
    x, gamma, beta = values((6, 3)), values(shape, seed=1), values((1, 3), seed=2)
    pattern = tuple([length == 1 for length in shape])
    v, g, b = variable_for(x), variable_for(gamma, pattern), variable_for(beta, (True, False))
    out, mean, _ = batch_normalization_train(v, g, b)
    got = phintys.function([v, g, b], [out, mean, T.grad(T.sqr(out).sum(), g)])(x, gamma, beta)
    wanted, true_mean, variance = reference(x, gamma[0], beta[0], (0,), 1e-4)
    numpy.testing.assert_allclose(got[0], wanted, rtol=1e-10)
    numpy.testing.assert_allclose(got[1], true_mean, rtol=1e-10)
    slope = (2 * wanted * (x - true_mean) / numpy.sqrt(variance + 1e-4)).sum(axis=0, keepdims=True)
    numpy.testing.assert_allclose(got[2], slope if shape[1] > 1 else slope.sum(axis=1, keepdims=True), rtol=1e-9)


def test_integers_are_averaged_as_floats():
    v = T.imatrix()
    outputs = AbstractBatchNormTrain((0,))(v, T.ones((1, 2), dtype="int8"), T.zeros((1, 2), dtype="int8"))
    assert {output.dtype for output in outputs} == {phintys.config.floatX}
    numpy.testing.assert_allclose(phintys.function([v], outputs[1])([[1, 2], [4, 4]]), [[2.5, 3]])


@pytest.mark.parametrize("name, shapes", [
    ("scale", [(4, 3), (2,), (3,), (3,), (3,)]), ("bias", [(4, 3), (3,), (1,), (3,), (3,)]),
    ("running_mean", [(4, 3), (3,), (3,), (4,), (3,)]), ("running_var", [(4, 3), (3,), (3,), (3,), (0,)])])
def test_shapes_that_do_not_fit(name, shapes):
    inputs = [variable_for(numpy.zeros(shape)) for shape in shapes]
    outputs = batch_normalization_train(*inputs[:3], running_mean=inputs[3], running_var=inputs[4])
    with pytest.raises(ValueError, match=rf"{name} has shape .*, expected \(1, 3\)[\s\S]*BatchNormTrain"):
        phintys.function(inputs, list(outputs))(*[numpy.ones(shape) for shape in shapes])


def test_gradient_of_another_shape_does_not_fit():
    inputs, arrays, outputs = kernel_case((4, 3), (0,), "float64", "contiguous")
    arrays[1] = arrays[1][:3]
    with pytest.raises(ValueError, match=r"dy has shape \(3, 3\), expected \(4, 3\)"):
        phintys.function(inputs, outputs[2], on_unused_input="ignore")(*arrays)


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
    "input 3 must have 0 dimensions": lambda: AbstractBatchNormTrain((0,))(x, row, row, vector),
    "but .3,. given": lambda: AbstractBatchNormInference((3,))(x, x, x, x, x),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refuses(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()


def test_refuses_complex_numbers():
    with pytest.raises(TypeError, match="needs real numbers, got complex128"):
        batch_normalization_train(T.zmatrix(), vector, vector)
