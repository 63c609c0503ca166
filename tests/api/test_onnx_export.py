"""Models of ONNX compute what the functions do, by onnxruntime; what has no equal there is refused with its reason."""
import warnings
from contextlib import suppress

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.onnx_export import ExportError
from phintys.tensor.shared_randomstreams import RandomStreams

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx.reference import ReferenceEvaluator  # noqa: E402  (both packages may be missing)
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_  # noqa: E402

RANDOM = numpy.random.default_rng(0)
SPECIAL = numpy.array([numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1e-9, -1e-9, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 40.0])
WHOLE = numpy.array([-7, -3, -2, -1, 0, 1, 2, 3, 7, 11])


def computed(function, *values):
    """The results of the model; by ONNX's reference where this version of onnxruntime has no loop for the dtype.

    onnxruntime 1.23 fuses products of float64 to nodes that it cannot compute: it is asked again not to.
    """
    options, model = onnxruntime.SessionOptions(), phintys.export_onnx(function)
    options.log_severity_level = 4
    given = {graph_input.name: numpy.asarray(value) for graph_input, value in zip(model.graph.input, values)}
    for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        with suppress(NotImplemented_):
            session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            return session.run(None, given)
    return ReferenceEvaluator(model).run(None, given)


def check(inputs, outputs, *values, rtol=1e-12):
    """Compare the function and its model: values, dtypes and shapes."""
    function = phintys.function(inputs, outputs if isinstance(outputs, list) else [outputs], on_unused_input="ignore")
    values = [numpy.asarray(value, variable.type.dtype) for value, variable in zip(values, inputs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(*values)
    results = computed(function, *values)
    for result, wanted in zip(results, expected, strict=True):
        wanted = numpy.asarray(wanted)
        assert result.dtype == wanted.dtype and result.shape == wanted.shape
        exact = wanted.dtype.kind not in "f"
        numpy.testing.assert_allclose(result, wanted, rtol=0 if exact else max(rtol, 40 * numpy.finfo(
            wanted.dtype).eps), atol=0 if exact else 1e-300)


UNARY = ["exp", "log", "log1p", "expm1", "log2", "log10", "exp2", "sqrt", "sqr", "inv", "neg", "abs_", "sgn", "ceil",
         "floor", "trunc", "round_half_to_even", "sin", "cos", "tan", "arctan", "arcsin", "arccos", "arcsinh",
         "arccosh", "arctanh", "sinh", "cosh", "tanh", "sigmoid", "softplus", "isnan", "isinf", "deg2rad", "rad2deg"]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_one_number(name, dtype):
    x = T.vector("x", dtype=dtype)
    function = getattr(T, name, None) or getattr(T.nnet, name)
    if name in ("arctan", "arcsin", "arccos") and dtype == "float64":       # onnxruntime has them for float32 only
        onnx.checker.check_model(phintys.export_onnx(phintys.function([x], function(x))))
        return
    values = numpy.concatenate([SPECIAL, RANDOM.normal(size=40), RANDOM.uniform(-1, 1, 20), RANDOM.uniform(0, 9, 20)])
    if name in ("sin", "cos", "tan"):
        values = values[numpy.isfinite(values)]
    check([x], function(x), values, rtol=1e-12)


BINARY = {"add": T.add, "sub": T.sub, "mul": T.mul, "true_div": T.true_div, "int_div": T.int_div, "mod": T.mod,
          "maximum": T.maximum, "minimum": T.minimum, "eq": T.eq, "neq": T.neq, "lt": T.lt, "le": T.le, "gt": T.gt,
          "ge": T.ge, "pow": T.pow}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint8"])
def test_functions_of_two_numbers(name, dtype):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    whole = "int" in dtype
    if name == "pow" and whole:
        with pytest.raises(ExportError, match="powers of integers, which runtimes of ONNX compute in floating point"):
            phintys.export_onnx(phintys.function([x, y], x ** y))
        return
    values = numpy.abs(WHOLE) if dtype == "uint8" else WHOLE if whole else SPECIAL
    first, second = [each.ravel() for each in numpy.meshgrid(values, values)]
    if name == "pow":
        first, second = numpy.abs(first), numpy.where(numpy.isfinite(second), second, 2)
    check([x, y], BINARY[name](x, y), first, second, rtol=1e-12)


@pytest.mark.parametrize("source", ["float64", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("target", ["float64", "float32", "int64", "int32", "int8", "bool"])
def test_casts(source, target):
    x = T.vector("x", dtype=source)
    values = [0, 1, 5, 100] if source in ("uint8", "bool") else [-100, -1, 0, 1, 2, 100]
    check([x], T.cast(x, target) if target != "bool" or source == "bool" else T.neq(x, 0), values)


def test_choices_limits_and_logic():
    x, y, c = T.dvector("x"), T.dvector("y"), T.bvector("c")
    values = SPECIAL[:10], SPECIAL[::-1][:10], numpy.arange(10) % 3
    check([x, y, c], [T.switch(c, x, y), T.clip(x, -1, 1), T.clip(x, 2, 1), T.clip(x, y, 0.5), T.invert(c),
                      T.and_(T.gt(x, 0), c > 0), T.nnet.relu(x), T.xor(T.isnan(x), T.isinf(y))], *values)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
def test_reductions(axis):
    x, n = T.dtensor3("x"), T.btensor3("n")
    value = RANDOM.normal(size=(3, 4, 5))
    value[1, 2, 3] = numpy.nan
    whole = RANDOM.integers(-9, 9, (3, 4, 5))
    single = axis if not isinstance(axis, tuple) else 0
    check([x, n], [x.sum(axis), x.max(axis), x.min(axis), x.mean(axis), n.sum(axis), n.max(axis), n.prod(axis),
                   T.all(n, axis), T.any(n, axis), n.mean(axis), T.argmax(x, single), T.argmin(x, single),
                   T.argmax(n, single), T.argmin(n, single), T.nnet.softmax(x[0]), T.logsumexp(x[0], axis=0)],
          value, whole)


def test_sums_of_floats_are_accumulated_as_here():
    x = T.fvector("x")
    check([x], [x.sum(), x.mean(), (x * x).sum()], numpy.full(100_000, 0.1), rtol=1e-7)


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (0, 0, 0)])
def test_means_of_nothing(shape):
    x, n = T.ftensor3("x"), T.btensor3("n")
    means = [T.mean(y, axis, op=op) for y in (x, n) for axis in (None, 0, (0, 1), -1) for op in (True, False)]
    check([x, n], means, numpy.zeros(shape), numpy.zeros(shape))


def test_shapes_and_products():
    x, y, v, n = T.dmatrix("x"), T.dmatrix("y"), T.dvector("v"), T.lscalar("n")
    a, b, c = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 2)), RANDOM.normal(size=4)
    check([x, y, v, n], [
        T.dot(x, y), T.dot(x, v), T.dot(v, y), T.dot(v, v), x.T, x.dimshuffle(1, "x", 0), x.reshape((2, 6)),
        x.reshape((n, -1)), x.flatten(), T.concatenate([x, y.T], axis=0), T.stack([v, v]), x.shape, x.shape[0] * 2,
        T.alloc(v, 3, 4), T.alloc(1.5, n, 2), T.batched_dot(T.stack([x, x]), T.stack([y, y])), x + v,
        x * T.addbroadcast(x[:, :1], 1), T.zeros_like(x), T.ones_like(v) * n, T.fill(x, 2.0)], a, b, c, 2, rtol=1e-11)


def test_indices():
    x, v, n, at = T.dmatrix("x"), T.dvector("v"), T.lscalar("n"), T.lvector("at")
    value, line = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=7)
    check([x, v, n, at], [x[1], x[-1, 2], x[:, n], x[n:], x[:n], x[::-1], x[4:1:-2, ::2], v[::-2], v[n:-1], v[-n],
                          v[10:], x[at], v[at], x[n, ::-1], v[:-9:-1], x[1:3, -1]], value, line, 2, [0, -1, 3])


@pytest.mark.parametrize("border", ["valid", "half", "full", (1, 2)])
@pytest.mark.parametrize("flip", [True, False])
def test_convolutions(border, flip):
    image = T.tensor4("image", dtype="float32")
    filters = phintys.shared(RANDOM.normal(size=(4, 3, 3, 3)).astype("float32"), "filters")
    out = T.nnet.conv2d(image, filters, border_mode=border, filter_flip=flip, subsample=(1, 2),
                        filter_shape=(4, 3, 3, 3))
    check([image], T.nnet.relu(out + 0.5), RANDOM.normal(size=(2, 3, 8, 9)), rtol=1e-3)


def test_a_network_with_its_weights():
    x = T.dmatrix("x")
    w, b = phintys.shared(RANDOM.normal(size=(4, 3)), "w"), phintys.shared(numpy.zeros(3), "b")
    predict = phintys.function([x], T.nnet.softmax(T.tanh(T.dot(x, w) + b)), name="network")
    model = phintys.export_onnx(predict)
    assert model.graph.name == "network" and [each.name for each in model.graph.input] == ["x"]
    w.set_value(w.get_value() * 0)                      # the model keeps the values that there were
    result, = computed(predict, numpy.ones((2, 4)))
    assert result.tolist() == numpy.full((2, 3), 1 / 3).tolist()


def test_branches_and_gradients():
    c, x = T.bscalar("c"), T.dvector("x")
    check([c, x], [phintys.ifelse.ifelse(c, x * 2, x - 1), T.grad((T.exp(x) * T.tanh(x)).sum(), x)], 1, SPECIAL[5:9])
    check([c, x], phintys.ifelse.ifelse(c, x * 2, x - 1), 0, [1.0, 2.0])


M, W, N = T.dmatrix("m"), T.dmatrix("w"), T.iscalar("n")
ROWS, WEIGHTS = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(3, 3))
ZERO = T.constant(0.0, dtype="float64")


def loop(*arguments, **options):
    return phintys.scan(*arguments, **options)[0]


def recurrent():
    return loop(lambda row, state, w: T.tanh(T.dot(state, w) + row), sequences=M, outputs_info=T.zeros(3),
                non_sequences=W)


LOOPS = {
    "a state": (recurrent, [M, W], [ROWS, WEIGHTS]),
    "the last row": (lambda: recurrent()[-1], [M, W], [ROWS, WEIGHTS]),
    "no steps": (recurrent, [M, W], [ROWS[:0], WEIGHTS]),
    "a gradient": (lambda: T.grad((recurrent() ** 2).sum(), [M, W]), [M, W], [ROWS, WEIGHTS]),
    "two taps": (lambda: loop(lambda row, a, b: a + 0.5 * b + row, sequences=M,
                              outputs_info={"initial": T.ones((2, 3)), "taps": [-1, -2]}), [M], [ROWS]),
    "a number of steps": (lambda: loop(lambda row, a: a * 0.5 + row, sequences=M, outputs_info=T.zeros(3), n_steps=N),
                          [M, N], [ROWS, 2]),
    "a condition": (lambda: loop(lambda a: (a * 2 + 1, phintys.scan_module.until(a > 20)), outputs_info=ZERO,
                                 n_steps=N), [N], [30]),
    "a loop in a loop": (lambda: loop(lambda row: loop(lambda x, s: s * 0.5 + T.exp(x), sequences=row,
                                                       outputs_info=ZERO), sequences=M), [M], [ROWS]),
    "states and rows": (lambda: loop(lambda row, a, c: [a + row, c * 2, row.sum()], sequences=M, outputs_info=[
        T.zeros(3), T.constant(1, dtype="int64"), None]), [M], [ROWS]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    outputs, inputs, values = LOOPS[name]
    check(inputs, outputs(), *values)


def test_graphs_as_ops():
    inner = phintys.OpFromGraph([W], [T.exp(W) * 2, W.sum()])
    check([M], [inner(M)[0], inner(M)[1]], ROWS)


@pytest.mark.parametrize("mode", ["max", "sum", "average_inc_pad", "average_exc_pad"])
@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_pooling(mode, rank):
    images = RANDOM.random((2, 2, 3, 6, 5)[5 - rank:]).astype("float32")
    images[(0,) * (rank - 2) + (1, 1)] = numpy.nan
    x = T.TensorType("float32", [False] * rank)("x")
    check([x], T.signal.pool.pool_2d(x, (2, 3), ignore_border=True, stride=(1, 2), pad=(1, 1), mode=mode), images,
          rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "bool"])
def test_cumulative_sums_triangles_and_positions(dtype):
    x, v, k = T.matrix("x", dtype=dtype), T.vector("v", dtype=dtype), T.bscalar("k")
    value = RANDOM.integers(0, 3, (4, 5)).astype(dtype)
    given = [x, v, k], [T.cumsum(x), T.cumsum(x, axis=0), T.cumsum(x, axis=-1), T.cumsum(v), *x.nonzero(), *v.nonzero(),
                        T.tril(x), T.triu(x, 1), T.tril(x, k), T.triu(x, k - 2)]
    check(*given, value, value[0], 1)


def test_ranges():
    n, k = T.lscalar("n"), T.bscalar("k")
    outputs = [T.arange(n), T.arange(k, n), T.arange(n, k, -2), T.arange(n, dtype="int8"), T.arange(n) * 0.5]
    check([n, k], outputs, 7, -3)
    check([n, k], outputs, 0, 5)


def test_a_file(tmp_path):
    x = T.dvector("x")
    phintys.export_onnx(phintys.function([x], x * 2), tmp_path / "model.onnx", name="double")
    assert onnx.load(tmp_path / "model.onnx").graph.name == "double"


def refusals():
    x, n, z, w = T.dvector("x"), T.lvector("n"), T.zvector("z"), phintys.shared(numpy.ones(2), "w")
    h = T.vector("h", dtype="float16")
    pooled = T.signal.pool.pool_2d(T.fmatrix("q"), (2, 2), ignore_border=False)
    sorted_rows = loop(lambda a, b: T.sort(a + b), outputs_info=x, sequences=T.outer(x, x))
    draw = RandomStreams(1).normal(size=(3,))
    return {"sort in a loop": ([x], sorted_rows, None, "no translation of this op"),
            "complex": ([z], z * 2, None, "real numbers"),
            "update": ([x], x, [(w, w + x)], "keeps no values between calls.*updates w"),
            "draw": ([], draw, None, "ONNX has no equal of|keeps no values"),
            "gamma": ([x], T.gamma(x), None, "the function gamma"),
            "sort": ([x], T.sort(x), None, "no translation of this op"),
            "products": ([x], T.cumprod(x), None, "cumulative products"),
            "half sums": ([h], T.cumsum(h), None, "cumulative sums of float16"),
            "half triangle": ([h], T.tril(T.outer(h, h)), None, "triangles of float16"),
            "range": ([x], T.arange(x[0]), None, "ranges of floats"),
            "set": ([x], T.set_subtensor(x[:1], 0), None, "no translation of this op"),
            "border": ([pooled.owner.inputs[0]], pooled, None, "reach beyond the images"),
            "step": ([x, n], x[::n[0]], None, "a step that is computed")}


@pytest.mark.parametrize("name", refusals())
def test_what_has_no_equal_is_refused(name):
    inputs, outputs, updates, message = refusals()[name]
    with pytest.raises(ExportError, match=message):
        phintys.export_onnx(phintys.function(inputs, outputs, updates=updates))


def test_only_functions_are_exported():
    with pytest.raises(TypeError, match="takes what phintys.function has made"):
        phintys.export_onnx(len)
