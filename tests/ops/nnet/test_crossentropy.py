"""Cross-entropies: values against NumPy, both label forms, labels that are not classes, derivatives, extreme values."""
import numpy
import pytest
import scipy.special
from family_cases import INTEGERS, LAYOUTS, check_equal, check_gradient, check_shape, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.nnet.crossentropy import (
    CrossentropyCategorical1Hot,
    CrossentropySoftmax1HotWithBiasDx,
    CrossentropySoftmaxArgmax1HotWithBias,
    binary_crossentropy,
    categorical_crossentropy,
    crossentropy_categorical_1hot,
    crossentropy_categorical_1hot_grad,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias_dx,
    crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot,
    sigmoid_binary_crossentropy,
)


def one_hot(labels, classes, dtype="float64"):
    return (labels[:, None] == numpy.arange(classes)).astype(dtype)


def losses_of(x, labels):
    return -scipy.special.log_softmax(x.astype("float64"), axis=1)[numpy.arange(len(labels)), labels].astype(x.dtype)


def labels_for(rows, classes, dtype="int64"):
    return numpy.random.default_rng(rows).integers(0, classes, rows).astype(dtype)


def probabilities(shape, seed=0):
    return scipy.special.softmax(values(shape, seed=seed), axis=1)


# ---- softmax and loss in one ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (60, 10), (300, 3), (2, 9000), (0, 4)])
def test_losses_softmax_and_argmax(shape, dtype):
    x, b, y = values(shape, dtype, 1), values(shape[1:], dtype, 2), labels_for(*shape)
    inputs = [variable_for(array) for array in (x, b, y)]
    got = phintys.function(inputs, crossentropy_softmax_argmax_1hot_with_bias(*inputs))(x, b, y)
    check_equal(got[0], losses_of(x + b, y), dtype)
    check_equal(got[1], scipy.special.softmax((x + b).astype("float64"), axis=1), dtype)
    if shape[0] and dtype != "float16":
        check_equal(got[2], (x + b).argmax(axis=1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    arrays = [LAYOUTS[layout](array) for array in (values((5, 11)), values((11,)), labels_for(5, 11))]
    check_values(lambda x, b, y: crossentropy_softmax_argmax_1hot_with_bias(x, b, y)[0],
                 lambda x, b, y: losses_of(x + b, y), arrays)
    check_values(lambda x, y: crossentropy_categorical_1hot(x, y),
                 lambda x, y: -numpy.log(x[numpy.arange(5), y]),
                 [LAYOUTS[layout](probabilities((5, 11))), arrays[2]])
    check_values(lambda g, x, y: crossentropy_softmax_1hot_with_bias_dx(g, x, y),
                 lambda g, x, y: g[:, None] * (x - one_hot(y, 11)),
                 [LAYOUTS[layout](values((5,))), *arrays[::2]])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_labels_of_every_integer_dtype(dtype):
    x, y = values((6, 5)), labels_for(6, 5, dtype)
    inputs = [variable_for(array) for array in (x, y)]
    losses, softmax, largest, place = phintys.function(inputs, list(crossentropy_softmax_max_and_argmax_1hot(*inputs)))(
        x, y)
    check_equal(losses, losses_of(x, y))
    check_equal(largest, softmax.max(axis=1))
    check_equal(place, x.argmax(axis=1))


def test_argmax_of_equal_elements_is_the_first_and_of_nan_the_nan():
    x, y = T.dmatrix(), T.lvector()
    outputs = crossentropy_softmax_argmax_1hot_with_bias(x, numpy.zeros(3), y)
    place = phintys.function([x, y], outputs[2])([[1, 2, 2], [0, numpy.nan, 5], [3, 3, 3]], [0, 0, 0])
    assert place.tolist() == [1, 1, 0]


def test_extreme_values():
    x = numpy.array([[1e4, 0, -1e4], [-1e308, 0, 1e308], [0, 0, 0]])
    v, y = T.dmatrix(), T.lvector()
    loss = crossentropy_softmax_1hot(v, y)[0]
    got, slope = phintys.function([v, y], [loss, T.grad(loss.sum(), v)])(x, [2, 2, 1])
    numpy.testing.assert_allclose(got, [2e4, 0, numpy.log(3)])
    numpy.testing.assert_allclose(slope, [[1, 0, -1], [0, 0, 0], [1 / 3, -2 / 3, 1 / 3]])


def test_gradient_of_one_number_for_all_rows():
    sm, y = probabilities((4, 3)), labels_for(4, 3)
    for gradient, wanted in ((numpy.array(2.0), 2), (numpy.array([2.0]), 2)):
        check_values(crossentropy_softmax_1hot_with_bias_dx, lambda g, sm, y: wanted * (sm - one_hot(y, 3)),
                     [gradient, sm, y])


# ---- loss of given probabilities ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_categorical_crossentropy(dtype):
    p, y = probabilities((6, 5)).astype(dtype), labels_for(6, 5)
    check_values(categorical_crossentropy, lambda p, y: -numpy.log(p[numpy.arange(6), y]), [p, y])
    check_values(categorical_crossentropy, lambda p, t: -(t * numpy.log(p)).sum(axis=1), [p, one_hot(y, 5, dtype)])


def test_categorical_crossentropy_of_tensors():
    p, t = probabilities((2, 3)).reshape(1, 2, 3), probabilities((2, 3), 1).reshape(1, 2, 3)
    check_values(categorical_crossentropy, lambda p, t: -(t * numpy.log(p)).sum(axis=2), [p, t])


def test_binary_crossentropies():
    x, t = values((3, 4)) * 3, probabilities((3, 4))
    def expected(x, t):
        o = scipy.special.expit(x)
        return -(t * numpy.log(o) + (1 - t) * numpy.log(1 - o))
    check_values(lambda x, t: binary_crossentropy(T.nnet.sigmoid(x), t), expected, [x, t])
    check_values(sigmoid_binary_crossentropy, expected, [x, t])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_sigmoid_binary_crossentropy_of_extreme_values(mode):
    x, t = T.dvector(), T.dvector()
    loss = sigmoid_binary_crossentropy(x, t)
    got, slope = phintys.function([x, t], [loss, T.grad(loss.sum(), x)], mode=mode)(
        [1e4, 1e4, -1e4, -1e4, 0, 50], [0, 1, 0, 1, 0.25, 1])
    numpy.testing.assert_allclose(got, [1e4, 0, 0, 1e4, numpy.log(2), numpy.exp(-50)], rtol=1e-12)
    numpy.testing.assert_allclose(slope, [1, 0, 0, -1, 0.25, 0], atol=1e-15)


# ---- derivatives ----------------------------------------------------------------------------------------------------
LABELS = labels_for(3, 4)
BUILDS = {
    "losses": (lambda x, b: crossentropy_softmax_argmax_1hot_with_bias(x, b, LABELS)[0], [(3, 4), (4,)]),
    "softmax": (lambda x, b: crossentropy_softmax_argmax_1hot_with_bias(x, b, LABELS)[1], [(3, 4), (4,)]),
    "without bias": (lambda x: crossentropy_softmax_1hot(x, LABELS)[0], [(3, 4)]),
    "gradient op": (lambda g, sm: crossentropy_softmax_1hot_with_bias_dx(g, sm, LABELS), [(3,), (3, 4)]),
    "gradient op of a number": (lambda g, sm: crossentropy_softmax_1hot_with_bias_dx(g, sm, LABELS), [(), (3, 4)]),
    "labels": (lambda p: categorical_crossentropy(p, LABELS), [(3, 4)]),
    "distributions": (categorical_crossentropy, [(3, 4), (3, 4)]),
    "binary": (sigmoid_binary_crossentropy, [(3, 4), (3, 4)]),
}


@pytest.mark.parametrize("name", BUILDS)
def test_gradient(name):
    build, shapes = BUILDS[name]
    check_gradient(build, [numpy.abs(values(shape, seed=seed)) + 0.1 for seed, shape in enumerate(shapes)])


def test_gradient_of_the_gradient_by_probabilities():
    check_gradient(lambda g, p: crossentropy_categorical_1hot_grad(g, p, LABELS), [values((3,)), probabilities((3, 4))])


@pytest.mark.parametrize("name", BUILDS)
def test_r_operator(name):
    build, shapes = BUILDS[name]
    arrays = [numpy.abs(values(shape, seed=seed)) + 0.2 for seed, shape in enumerate(shapes)]
    points = [values(shape, seed=seed + 10) for seed, shape in enumerate(shapes)]
    inputs, directions = [variable_for(array) for array in arrays], [variable_for(array) for array in points]
    derivative = phintys.function(inputs + directions, T.Rop(build(*inputs), inputs, directions),
                                  on_unused_input="ignore")
    function, step = phintys.function(inputs, build(*inputs)), 1e-6
    ahead, behind = [function(*[array + sign * step * point for array, point in zip(arrays, points)])
                     for sign in (1, -1)]
    numpy.testing.assert_allclose(derivative(*arrays, *points), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("output", [0, 1, 2])
def test_inferred_shapes(output):
    arrays = [values((3, 4)), values((4,)), LABELS]
    check_shape(lambda x, b, y: crossentropy_softmax_argmax_1hot_with_bias(x, b, y)[output], arrays)


# ---- errors ---------------------------------------------------------------------------------------------------------
LABELLED = {
    "joint": lambda p, y: crossentropy_softmax_1hot(p, y)[0],
    "joint gradient": lambda p, y: crossentropy_softmax_1hot_with_bias_dx(p[:, 0], p, y),
    "probabilities": categorical_crossentropy,
    "their gradient": lambda p, y: crossentropy_categorical_1hot_grad(p[:, 0], p, y),
    "softmax": lambda p, y: categorical_crossentropy(T.nnet.softmax(p), y),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", LABELLED)
def test_labels_that_are_not_classes(name, mode):
    p, y = T.dmatrix("p"), T.lvector("y")
    function = phintys.function([p, y], LABELLED[name](p, y), mode=mode)
    for wrong in (-1, 4, 2 ** 40):
        with pytest.raises(ValueError, match=f"label of row 1 is {wrong}, but there are 4 classes"):
            function(probabilities((3, 4)), [0, wrong, 2])
    with pytest.raises(ValueError, match="does not match length of y .2.|y_idx.shape.0. .2."):
        function(probabilities((3, 4)), [0, 1])


def test_an_unsigned_label_counts_from_the_start_only():
    p, y = T.dmatrix("p"), T.vector("y", dtype="uint64")
    loss = T.nnet.multiclass_hinge_loss(p, y)
    for output in (loss, T.grad(loss.sum(), p)):
        function = phintys.function([p, y], output)
        with pytest.raises(IndexError, match="out of bounds for axis 1 with size 4"):
            function(probabilities((3, 4)), numpy.array([0, 2 ** 64 - 1, 2], "uint64"))


def test_a_wrong_label_changes_no_shared_variable():
    w, y = phintys.shared(values((3, 4))), T.lvector()
    before = w.get_value()
    loss = crossentropy_softmax_1hot(w, y)[0].sum()
    train = phintys.function([y], loss, updates=[(w, w - T.grad(loss, w))])
    with pytest.raises(ValueError, match="out of bounds"):
        train([0, 1, 7])
    numpy.testing.assert_array_equal(w.get_value(), before)


def test_refuses_other_types():
    x, b, y = T.dmatrix(), T.dvector(), T.lvector()
    for arguments, message in (((b, b, y), "x must be 2-d"), ((x, x, y), "b must be 1-d"),
                               ((x, b, b), "y_idx must be 1-d tensor of .u.ints")):
        with pytest.raises(ValueError, match=message):
            CrossentropySoftmaxArgmax1HotWithBias()(*arguments)
    for arguments, message in (((x, x, y), "dy must be 0/1-d"), ((b, b, y), "sm must be 2-d"),
                               ((b, x, b), "y_idx must be 1-d")):
        with pytest.raises(ValueError, match=message):
            CrossentropySoftmax1HotWithBiasDx()(*arguments)
    for arguments in ((b, y), (x, b), (x, T.lmatrix())):
        with pytest.raises(TypeError, match="required for argument"):
            CrossentropyCategorical1Hot()(*arguments)
    with pytest.raises(TypeError, match="rank mismatch"):
        categorical_crossentropy(T.tensor3(), b)
