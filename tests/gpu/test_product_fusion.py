"""Products with the sums of columns beside them: one kernel where the product is narrow, else three in turn."""
import pickle

import numpy
import pytest
from support_gpu import assert_close, at_device, on_both

import phintys
import phintys.tensor as T
from phintys.gpu.product_fusion import ClassifierOp, ProductSumsOp

NARROW_AND_LARGE = [(33, 10), (40, 40), (5, 70), (16, 3), (2, 2), (300, 33), (32, 500), (1, 4), (20000, 3)]


@pytest.fixture
def there(device):
    with at_device():
        yield device


def floats(*shape, seed=0, dtype="float32"):
    return numpy.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype(dtype)


def moved():
    return {"target": "cuda"} if phintys.config.device == "cuda" else {}


def fused(function, op=ProductSumsOp):
    return [node for node in function.maker.fgraph.apply_nodes if isinstance(node.op, op)]


def layer(columns, dtype="float32", **options):
    """A layer's gradients, subtracted from its weights and its bias."""
    w, b = [phintys.shared(floats(*shape, seed=seed, dtype=dtype), **moved())
            for seed, shape in enumerate([(12, columns), (columns,)])]
    x, d = T.matrix(dtype=dtype), T.matrix(dtype=dtype)
    rate = T.scalar(dtype=dtype)
    updates = [(w, w - numpy.array(0.1, dtype) * T.dot(x.T, T.tanh(d))), (b, b - rate * T.tanh(d).sum(0))]
    return phintys.function([x, d, rate], [], updates=updates, **options), w, b


def compare(at_host, function, rows, columns, dtype="float32"):
    arguments = [floats(rows, length, seed=length, dtype=dtype) for length in (12, columns)]
    for made, *_ in (at_host, function):
        made(*arguments, numpy.array(0.3, dtype))
    for mine, theirs in zip(function[1:], at_host[1:]):
        assert_close(mine.get_value(), theirs.get_value(), rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5)


@pytest.mark.parametrize("rows, columns", NARROW_AND_LARGE)
def test_gradients_of_a_layer(there, rows, columns):
    at_host, function = on_both(lambda: layer(columns))
    assert len(fused(function[0])) == 1
    for _ in range(3):                              # prepared, prepared again, bound
        compare(at_host, function, rows, columns)


def test_orders_of_threads(there, order):
    for rows, columns in ((33, 10), (40, 40), (9, 40)):
        compare(*on_both(lambda: layer(columns)), rows, columns)


def test_float64(there):
    at_host, function = on_both(lambda: layer(10, "float64"))
    assert len(fused(function[0])) == 1
    compare(at_host, function, 33, 10, "float64")


def test_layouts_of_one_function_in_turn(there):
    at_host, function = on_both(lambda: layer(40))
    for rows in (9, 9, 50, 50, 9, 50, 32, 33):
        compare(at_host, function, rows, 40)


def test_sums_that_are_read_otherwise_stay(there):
    def build():
        x, d = T.fmatrix(), phintys.shared(floats(20, 10, seed=1))
        total = T.tanh(d).sum(0)
        return phintys.function([x], [total, total * 2, T.dot(x.T, T.tanh(d))])
    at_host, function = on_both(build)
    assert not fused(function)
    for mine, theirs in zip(function(floats(20, 12)), at_host(floats(20, 12))):
        assert_close(mine, theirs, rtol=1e-4)


def test_a_sum_that_depends_on_the_product_stays(there):
    def build():
        b = phintys.shared(floats(10))
        x, d = T.fmatrix(), phintys.shared(floats(20, 10, seed=1))
        product = T.dot(x.T, T.tanh(d))
        return phintys.function([x], [product, b - T.tanh(d).sum(0) * product[0]])
    at_host, function = on_both(build)
    assert not fused(function)
    for mine, theirs in zip(function(floats(20, 12)), at_host(floats(20, 12))):
        assert_close(mine, theirs, rtol=1e-4)


def test_bad_shapes_change_nothing(there):
    function, w, b = layer(10)
    before = w.get_value(), b.get_value()
    for x, d in ((floats(20, 12), floats(21, 10)), (floats(20, 12), floats(20, 9)), (floats(20, 11), floats(20, 10))):
        with pytest.raises(ValueError):
            function(x, d, numpy.float32(1))
        assert numpy.array_equal(w.get_value(), before[0]) and numpy.array_equal(b.get_value(), before[1])


def test_debug_mode_and_pickles(there):
    function, w, b = layer(10, mode="DebugMode")
    function(floats(20, 12), floats(20, 10), numpy.float32(0.5))
    plain, *_ = layer(10)
    again = pickle.loads(pickle.dumps(plain))
    again(floats(20, 12), floats(20, 10), numpy.float32(0.5))


def classifier(classes, dtype="float32", **options):
    """Training of a last layer."""
    w, b = [phintys.shared(floats(*shape, seed=seed, dtype=dtype), **moved())
            for seed, shape in enumerate([(40, classes), (classes,)])]
    x, labels = T.matrix(dtype=dtype), T.ivector()
    probabilities = T.nnet.softmax(T.dot(x, w) + b)
    cost = -T.mean(T.log(probabilities)[T.arange(labels.shape[0]), labels])
    updates = [(each, each - numpy.array(0.5, dtype) * gradient)
               for each, gradient in zip((w, b), T.grad(cost, [w, b]))]
    return phintys.function([x, labels], [], updates=updates, **options), w, b


def train(made, rows, classes, dtype="float32"):
    labels = numpy.random.RandomState(rows).randint(0, classes, rows).astype("int32")
    made[0](floats(rows, 40, seed=rows, dtype=dtype), labels)
    return [each.get_value() for each in made[1:]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows, classes", [(33, 10), (2, 2), (100, 32), (20, 33), (1, 5), (1000, 3)])
def test_a_classifier(there, rows, classes, dtype):
    at_host, function = on_both(lambda: classifier(classes, dtype))
    assert len(fused(function[0], ClassifierOp)) == len(fused(function[0])) == 1
    for _ in range(3):
        for mine, theirs in zip(train(function, rows, classes, dtype), train(at_host, rows, classes, dtype)):
            assert_close(mine, theirs, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-5)


def test_orders_of_threads_of_a_classifier(there, order):
    at_host, function = on_both(lambda: classifier(10))
    for rows in (17, 17, 40, 1, 17):
        for mine, theirs in zip(train(function, rows, 10), train(at_host, rows, 10)):
            assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("classes", [10, 40])
def test_bad_labels_and_shapes(there, classes):
    made = classifier(classes)
    before = train(made, 20, classes)
    labels = numpy.zeros(20, "int32")
    labels[7] = classes
    for x, given in ((floats(20, 40), labels), (floats(20, 41), labels * 0), (floats(19, 40), labels * 0)):
        with pytest.raises((ValueError, IndexError)):
            made[0](x, given)
        for each, value in zip(made[1:], before):
            assert numpy.array_equal(each.get_value(), value)


def test_special_numbers_in_a_classifier(there):
    def run(made):
        made[1].set_value(numpy.where(floats(40, 10, seed=5) > 0.4, numpy.float32(3e38), floats(40, 10, seed=6)))
        return train(made, 20, 10)
    at_host, function = on_both(lambda: classifier(10))
    with numpy.errstate(all="ignore"):
        for mine, theirs in zip(run(function), run(at_host)):
            assert_close(mine, theirs, rtol=1e-4)


def test_a_classifier_in_debug_mode(there):
    train(classifier(10, mode="DebugMode"), 20, 10)
