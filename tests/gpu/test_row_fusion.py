"""Folds along rows and what is computed from them are one kernel; it gives what the host gives."""
import numpy
import pytest
from support_gpu import assert_close, at_device

import phintys
import phintys.tensor as T
from phintys.gpu.row_op import RowOp

random = numpy.random.RandomState(7)
SMALL = numpy.float32(1e-5)


def floats(*shape, dtype="float32"):
    return random.uniform(-2, 2, shape).astype(dtype)


def normalized(x, axis=1):
    return (x - x.mean(axis, keepdims=True)) / T.sqrt(x.var(axis, keepdims=True) + SMALL)


def by_hand(x):
    """Softmax as users write it, in a form that no rewrite knows."""
    e = T.exp(x - x.max(1, keepdims=True))
    return [e / e.sum(1, keepdims=True), e.sum(1)]


def gradients(x, g, b):
    return T.grad(((normalized(x) * g + b) ** 3).sum(), [x, g, b])


def waiting(x, y, w, v):
    a, b = x - x.max(1, keepdims=True), y - y.max(1, keepdims=True)
    return [b * T.dot(a, w) * y.sum(1, keepdims=True), a * T.dot(b, v) * x.sum(1, keepdims=True)]


# name → (expression, how many kernels of rows, operands)
CASES = {
    "layer normalization": (normalized, 1, floats(5, 1024)),
    "with gain and bias": (lambda x, g, b: normalized(x) * g + b, 1, floats(5, 1001), floats(1001), floats(1001)),
    "its gradients": (gradients, 1, floats(5, 257), floats(257), floats(257)),
    "of float64": (lambda x, g, b: normalized(x) * g + b, 1, floats(4, 130, dtype="float64"),
                   floats(130, dtype="float64"), floats(130, dtype="float64")),
    "of float16": (lambda x: x / T.sqrt((T.cast(x, "float32") ** 2).mean(1, keepdims=True)), 1,
                   floats(4, 130, dtype="float16")),
    "root of the mean square": (lambda x, g: x * T.inv(T.sqrt((x ** 2).mean(-1, keepdims=True) + SMALL)) * g, 1,
                                floats(3, 4, 100), floats(100)),
    "over two axes": (lambda x: normalized(x, (2, 3)), 1, floats(2, 3, 8, 9)),
    "over two axes with gaps": (lambda x, g: normalized(x[:, :, ::-1, ::2], (2, 3)) * g.dimshuffle(0, "x", "x"), 1,
                                floats(2, 3, 8, 18), floats(3)),
    "over many axes": (lambda x, g: normalized(x, (1, 2, 3)) * g, 1, floats(3, 2, 8, 9), floats(2, 8, 9)),
    "standardized": (lambda x: (x - x.mean(1).dimshuffle(0, "x")) / x.std(1).dimshuffle(0, "x"), 1, floats(6, 10)),
    "lengths of rows": (lambda x: x / T.sqrt((x * x).sum(1)).dimshuffle(0, "x"), 1, floats(40, 3)),
    "softmax by hand": (by_hand, 1, floats(4, 300)),
    "softmax of what is computed": (lambda x: [T.nnet.softmax(x * 3 + x ** 2), T.nnet.logsoftmax(T.tanh(x)) * 2], 1,
                                    floats(4, 300)),
    "softmax of float16": (T.nnet.softmax, 1, floats(4, 300, dtype="float16")),
    "gradient of softmax": (lambda x, y: T.grad((T.nnet.softmax(x * 2) * y).sum(), x), 1, floats(4, 300),
                            floats(4, 300)),
    "softmax alone": (T.nnet.softmax, 0, floats(4, 300)),
    "several folds": (lambda x: [x.sum(1), x.max(1), x.min(1), (x * x).sum(1), x.prod(1)], 1, floats(7, 65)),
    "of strided rows": (lambda x: normalized(x[::-1, ::-3]), 1, floats(7, 200)),
    "of a transposed matrix": (lambda x: normalized(x.T), 1, floats(70, 9)),
    "of a vector for all rows": (lambda x, v: (x * v - (x * v).sum(1, keepdims=True)) * x.max(1, keepdims=True), 1,
                                 floats(3, 90), floats(90)),
    "of a number": (lambda x, a: x * a - (x * a).mean(1, keepdims=True), 1, floats(3, 9), numpy.asarray(floats())),
    "of integers": (lambda x: [x - x.max(1, keepdims=True), x.sum(1)], 1, random.randint(-9, 9, (5, 70))),
    "of truth values": (lambda x: [T.switch(T.gt(x, 1).any(1, keepdims=True), x, -x), T.gt(x, -1).all(1)], 1,
                        floats(9, 4)),
    "of long rows": (normalized, 1, floats(2, 20001)),
    "of nothing": (lambda x: [normalized(x), x.sum(1)], 1, numpy.zeros((3, 0), "float32")),
    "of long rows with functions": (lambda x: T.round(x * 3) / (1 + abs(T.floor(x)).max(1, keepdims=True)) + T.exp(x),
                                    1, floats(2, 40001)),
    "of no rows": (normalized, 1, numpy.zeros((0, 4), "float32")),
    "a fold alone": (lambda x: T.sqrt(abs(x).sum(1)), 0, floats(5, 9)),
    "a fold of columns": (lambda x: x - x.mean(0), 0, floats(5, 9)),
    "rows and columns": (lambda x: [normalized(x), x - x.mean(0)], 1, floats(5, 9)),
    "folds of other lengths": (lambda x, y: y * x.sum(1, keepdims=True), 0, floats(5, 9), floats(5, 70)),
    # What is computed from the product cannot be in the kernel that the product waits for.
    "around a product": (lambda x, w: [x - x.sum(1, keepdims=True) * T.dot(x - x.max(1, keepdims=True), w)], 1,
                         floats(6, 6), floats(6, 6)),
    "two kernels that could wait for each other": (waiting, 2, floats(6, 4), floats(6, 5), floats(4, 5), floats(5, 4)),
}


def rows_of(function):
    return [node for node in function.maker.fgraph.toposort() if isinstance(node.op, RowOp)]


@pytest.mark.parametrize("name", list(CASES))
def test_one_kernel(device, name):
    expression, count, *values = CASES[name]
    found = []
    for target in ("cpu", "cuda"):
        variables = [phintys.shared(value, target=target) for value in values]
        if target == "cuda":
            variables = [phintys.gpu.host_from_gpu(variable) for variable in variables]
        function = phintys.function([], expression(*variables))
        device.set_order("shuffled")
        try:
            results = function()
        finally:
            device.set_order("ascending")
        found.append(results if isinstance(results, list) else [results])
    assert len(rows_of(function)) == count, function.explain()
    for mine, theirs in zip(found[1], found[0], strict=True):
        kind = theirs.dtype.name
        tolerance = {"float16": 4e-3, "float64": 1e-11}.get(kind, 1e-4)
        assert_close(mine, theirs, rtol=tolerance, atol=tolerance * (1 + abs(theirs).max(initial=0)))


def test_numbers_that_are_not_finite(device):
    value = floats(4, 70)
    value[0, 3], value[1], value[2] = numpy.inf, numpy.nan, 0
    with at_device():
        x = phintys.shared(value)
        function = phintys.function([], [x / x.sum(1, keepdims=True), x.max(1)])
    assert len(rows_of(function)) == 1
    with numpy.errstate(all="ignore"):
        found = function()
        numpy.testing.assert_allclose(found[0], value / value.sum(1, keepdims=True), rtol=1e-4)
        numpy.testing.assert_array_equal(found[1], value.max(1))


def test_shapes_are_checked(device):
    with at_device():
        x, g = phintys.shared(floats(4, 7)), phintys.shared(floats(7))
        function = phintys.function([], normalized(x) * g)
        assert len(rows_of(function)) == 1
        function()
        g.set_value(floats(6))
        with pytest.raises(ValueError, match="Input dimension mis-match"):
            function()
        extremum = phintys.function([], [x - x.max(1, keepdims=True), x.min(1)])
        x.set_value(floats(4, 0))
        with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
            extremum()


def test_debug_mode_compares_places(device):
    with at_device():
        x, g = phintys.shared(floats(4, 7)), phintys.shared(floats(7))
        phintys.function([], normalized(x) * g, mode="DebugMode")()


def test_shapes_of_results(device):
    with at_device():
        x = phintys.shared(floats(4, 7))
        function = phintys.function([], [normalized(x).shape[1], normalized(x)])
    assert function()[0] == 7


def random_results(seed, x, g, c, w):
    """Results of a graph in which folds, products and elementwise work follow each other at random."""
    choose = numpy.random.RandomState(seed).randint
    wide, narrow = [x, x * g], [c.dimshuffle(0, "x")]
    for _ in range(choose(6, 14)):
        a, b, n = wide[choose(len(wide))], wide[choose(len(wide))], narrow[choose(len(narrow))]
        made, values = [(wide, lambda: a + b), (wide, lambda: T.maximum(a, b) * a), (wide, lambda: T.tanh(a)),
                        (wide, lambda: a - n), (wide, lambda: a * T.tanh(n) + c.dimshuffle(0, "x")),
                        (wide, lambda: T.nnet.softmax(a)), (wide, lambda: T.tanh(T.dot(a, w))),
                        (narrow, lambda: a.sum(1, keepdims=True)), (narrow, lambda: a.max(1).dimshuffle(0, "x")),
                        (narrow, lambda: a.mean(1, keepdims=True)), (narrow, lambda: T.sqrt(abs(n)) + n)][choose(11)]
        made.append(values())
    return [wide[-1], narrow[-1], wide[len(wide) // 2], wide[-1].sum(0),
            *T.grad((wide[-1] ** 2).sum(), [x, g], disconnected_inputs="ignore")]


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(device, seed):
    draw = numpy.random.RandomState(seed)
    rows, columns = draw.randint(1, 9), (1, 3, 33, 70)[seed % 4]
    values = [draw.uniform(-1, 1, shape).astype("float32") for shape in ((rows, columns), columns, rows,
                                                                         (columns, columns))]
    found = []
    for target in ("cpu", "cuda"):
        variables = [phintys.shared(value, target=target) for value in values]
        if target == "cuda":
            variables = [phintys.gpu.host_from_gpu(variable) for variable in variables]
        found.append(phintys.function([], random_results(seed, *variables))())
    for mine, theirs in zip(*found, strict=True):
        assert_close(mine, theirs, rtol=1e-3, atol=1e-4 * (1 + abs(theirs).max()))
