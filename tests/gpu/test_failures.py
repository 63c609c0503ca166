"""Calls that fail on the device: what is raised, and that nothing is lost."""
import numpy
import pytest
from support_gpu import at_device
from test_device import run

import phintys
import phintys.tensor as T
from phintys.gpu.device_op import DeviceOp
from phintys.ops.random.multinomial import ChoiceFromUniform, MultinomialFromUniform
from phintys.tensor import nnet


@pytest.fixture
def there(device):
    with at_device():
        yield device


@pytest.fixture
def stand_in(there):
    if not there.is_stand_in:
        pytest.skip("only the stand-in fails when it is asked to")
    yield there.library
    there.library.stand_in_fail_launch(0)
    there.library.stand_in_set_memory(8 << 30)


def training():
    """A function with two updates, its variables, and how many kernels it launches."""
    v, w = phintys.shared(numpy.ones(3, "float32"), name="v"), phintys.shared(numpy.ones((3, 3), "float32"), name="w")
    f = phintys.function([], (v * 2).sum(), updates=[(v, T.dot(w, v)), (w, T.exp(w).T)])
    return f, v, w


@pytest.mark.parametrize("graphs", [True, False])
def test_a_launch_that_fails_changes_nothing(stand_in, graphs):
    with phintys.change_flags({"gpu.graphs": graphs}):
        check_launches(stand_in, "set config.gpu.graphs to False" if graphs else
                       "Apply node that caused the error: ")


def check_launches(stand_in, message):
    f, v, w = training()
    f()
    before = v.get_value(), w.get_value()
    launch = 1
    while True:
        stand_in.stand_in_fail_launch(launch)
        try:
            f()
        except RuntimeError as error:
            assert "a kernel failed (error 719 of CUDA's driver)" in str(error)
            assert message in str(error)
        else:
            break
        assert all([numpy.array_equal(one.get_value(), old) for one, old in zip((v, w), before)])
        launch += 1
    assert launch > 3


def test_no_memory(stand_in):
    f, v, w = training()
    f()
    large = phintys.shared(numpy.ones((300, 300), "float32"))
    outer = phintys.function([], (T.outer(large.flatten(), large.flatten())).sum(), updates=[(v, v + 1)])
    before = v.get_value()
    stand_in.stand_in_set_memory(phintys.gpu.memory_report()["live_bytes"] + (1 << 20))
    with pytest.raises(MemoryError, match="no memory on the device for an array of shape"):
        outer()
    with pytest.raises(MemoryError, match="no memory on the device [^']*$"):
        phintys.shared(numpy.ones(1 << 20, "float32"))
    with pytest.raises(MemoryError, match="no memory on the device"):
        large.set_value(numpy.ones((3000, 300), "float32"))
    assert numpy.array_equal(v.get_value(), before) and large.get_value().shape == (300, 300)
    f()


def test_memory_that_is_kept_is_returned_when_it_is_needed(stand_in):
    phintys.gpu.trim()
    variable = phintys.shared(numpy.ones(1 << 20, "float32"))
    del variable
    report = phintys.gpu.memory_report()
    assert report["kept_bytes"] >= 4 << 20
    stand_in.stand_in_set_memory(report["live_bytes"] + report["kept_bytes"] + (1 << 20))
    variable = phintys.shared(numpy.ones(3 << 18, "float32"))       # of another size class
    assert phintys.gpu.memory_report()["kept_bytes"] == 0
    del variable


def test_work_that_fails_while_memory_is_returned(stand_in):
    """What was collected is submitted before: that this fails is told before anything is stored."""
    v, z = phintys.shared(numpy.ones(3, "float32")), phintys.shared(numpy.ones((1, 1), "float32"))
    x, n = phintys.shared(numpy.ones(1024, "float32")), T.iscalar()
    f = phintys.function([n], [], updates=[(v, v * 2), (z, T.outer(T.exp(v)[0] * x[:n], T.sin(x[:n])))])
    f(1024), f(512)
    report = phintys.gpu.memory_report()
    assert report["kept_bytes"] >= 4 << 20
    stand_in.stand_in_set_memory(report["live_bytes"] + report["kept_bytes"] + (1 << 18))
    phintys.gpu.wait()
    stand_in.stand_in_fail_launch(1)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        f(700)
    assert v.get_value().tolist() == [4] * 3 and z.get_value().shape == (512, 512)
    f(700)
    assert v.get_value().tolist() == [8] * 3 and z.get_value().shape == (700, 700)


def test_trim_returns_what_is_kept(there):
    variable = phintys.shared(numpy.ones(1 << 20, "float32"))
    held = phintys.gpu.memory_report()["live_bytes"]
    del variable
    assert phintys.gpu.memory_report()["live_bytes"] <= held - (4 << 20)
    phintys.gpu.trim()
    assert phintys.gpu.memory_report()["kept_bytes"] == 0


LOST = """
    import ctypes
    import numpy, phintys
    import pycuda.driver as cuda
    phintys.gpu.use()
    x = phintys.shared(numpy.ones(1000, "float32"))
    f, g = phintys.function([], x * 2), phintys.function([], phintys.gpu.gpu_from_host(x[:123] * 3))
    f(), g()
    if hasattr(ctypes.CDLL(None), "stand_in_break"):
        ctypes.CDLL(None).stand_in_break(700)
    else:
        from phintys.gpu.runtime.compiler import compiled
        image = compiled('extern "C" __global__ void bad(float* x) { x[(size_t)1 << 40] = 1; }')
        cuda.module_from_buffer(image).get_function("bad")(numpy.intp(0), block=(1, 1, 1), grid=(1, 1))
    for attempt in (f, phintys.gpu.wait, lambda: phintys.shared(numpy.ones(123456, "float32")),
                    phintys.function([], phintys.gpu.gpu_from_host(x.repeat(77)))):
        try:
            attempt()
        except RuntimeError as error:
            print(str(error).splitlines()[0].partition(". It was collected")[0])
"""


def test_after_an_error_that_ends_all_work(there):
    """Each later failure says what it is due to, those of memory, too."""
    printed = run(LOST).splitlines()
    what, since = printed[0].split(": ", 1)
    reason = "a kernel used an address that is not its own (error 700 of CUDA's driver). The device is unusable in "
    assert since == reason + "this process from now on" and len(printed) == 4
    for line in printed[1:]:
        assert line.endswith(f": {reason}this process since this failed: {what}"), line


def test_without_graphs_an_error_is_told_where_it_was_made(stand_in):
    """A lazy device fails when it is waited for: that is done after each launch."""
    x = phintys.shared(numpy.ones(3, "float32"), name="x")
    f = phintys.function([], T.exp(x[::2].sum() + T.nnet.softmax(x.dimshuffle("x", 0))))
    with phintys.change_flags({"gpu.graphs": False}):
        f()
        for launch, node in ((1, "GpuSoftmax"), (2, "GpuSum"), (3, "Gpu.*exp")):
            phintys.gpu.wait()
            stand_in.stand_in_set_lazy(1)
            stand_in.stand_in_fail_launch(launch)
            try:
                with pytest.raises(RuntimeError, match=f"Apply node that caused the error: {node}"):
                    f()
            finally:
                stand_in.stand_in_set_lazy(0)


@pytest.mark.parametrize("build, kind, message", [
    (lambda x, y: x + y, ValueError, "Input dimension mis-match. \\(input\\[0\\].shape\\[1\\] = 3, input\\[1\\].shape"),
    (lambda x, y: T.dot(x, y), ValueError, "Shape mismatch: shapes \\(2, 3\\) and \\(2, 4\\) are not aligned"),
    (lambda x, y: (x * y).sum(0), ValueError, "Input dimension mis-match"),
    (lambda x, y: x[:, :0].max(), ValueError, "zero-size array to reduction operation maximum"),
    (lambda x, y: x.reshape((4, 4)), ValueError, "Cannot reshape input of shape \\(2, 3\\) to shape \\(4, 4\\)"),
    (lambda x, y: T.concatenate([x, y]), ValueError, "Join: all lengths must be equal but those along axis 0"),
    (lambda x, y: x[5], IndexError, "out of bounds"),
    (lambda x, y: nnet.softmax(x + y[0]), ValueError, "does not match x.shape\\[1\\]|Input dimension mis-match"),
])
def test_bad_operands(there, build, kind, message):
    x = phintys.shared(numpy.ones((2, 3), "float32"), name="x")
    y = phintys.shared(numpy.ones((2, 4), "float32"), name="y")
    f = phintys.function([], build(x, y), updates=[(x, x + 1)])
    with pytest.raises(kind, match=message) as raised:
        f()
    shapes, = [line for line in str(raised.value).splitlines() if line.startswith("Inputs shapes")]
    assert "(2, " in shapes and "None" not in shapes
    assert x.get_value().tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("label", [-1, 3, 100])
def test_labels_that_are_no_class(there, label):
    x = phintys.shared(numpy.ones((4, 3), "float32"), name="x")
    y = T.ivector("y")
    cost = nnet.categorical_crossentropy(nnet.softmax(x), y).mean()
    f = phintys.function([y], cost, updates=[(x, x - T.grad(cost, x))])
    with pytest.raises(ValueError, match=f"the label of row 2 is {label}, but there are 3 classes"):
        f(numpy.asarray([0, 1, label, 2], "int32"))
    assert x.get_value().tolist() == [[1] * 3] * 4
    f(numpy.asarray([0, 1, 1, 2], "int32"))


@pytest.mark.parametrize("position, axis, size", [(8, 0, 8), (-9, 0, 8), (5, 1, 5)])
def test_positions_out_of_bounds(there, position, axis, size):
    x, y = phintys.shared(numpy.ones((8, 5), "float32"), name="x"), phintys.shared(numpy.ones((4, 5), "float32"))
    i = phintys.shared(numpy.asarray([0, 1, position, 2], "int32"), target="cuda")
    part = x[phintys.gpu.host_from_gpu(i)] if axis == 0 else x[:, phintys.gpu.host_from_gpu(i)]
    message = f"index {position} is out of bounds for axis {axis} with size {size}"
    with pytest.raises(IndexError, match=message):
        phintys.function([], part)()
    f = phintys.function([], [], updates=[(x, T.inc_subtensor(part, y if axis == 0 else 1))])
    with pytest.raises(IndexError, match=message):
        f()
    assert x.get_value().tolist() == [[1] * 5] * 8
    i.set_value(numpy.asarray([0, 1, 1, 2], "int32"))
    f()
    assert x.get_value()[1, 1] == 3


def test_the_compiler_cannot_be_run(there, tmp_path):
    config = phintys.config
    x = phintys.shared(numpy.ones(3, "float32"))
    with phintys.change_flags({"gpu.compiler": "nvcc", "gpu.nvcc": str(tmp_path / "nvcc"),
                               "gpu.cache": str(tmp_path)}):
        f = phintys.function([], T.tanh(x * numpy.float32(0.123456)))       # linking begins to compile
        with pytest.raises(RuntimeError, match="the compiler of CUDA, .*nvcc', cannot be run"):
            f()
    assert config.gpu.nvcc == "nvcc"
    numpy.testing.assert_allclose(f(), numpy.tanh(0.123456 * numpy.ones(3)), rtol=1e-6)


def test_matrices_that_are_refused_at_the_device(device, order):
    S = T.slinalg
    singular, indefinite = numpy.ones((2, 2), "float32"), -numpy.eye(3, dtype="float32")
    nan = numpy.full((2, 2), numpy.nan, "float32")
    for function, value, error, message in (
            (S.cholesky, indefinite, numpy.linalg.LinAlgError, "1-th leading minor of the array is not positive def"),
            (S.cholesky, nan, ValueError, "cholesky: array must not contain infs or NaNs"),
            (T.nlinalg.matrix_inverse, singular, numpy.linalg.LinAlgError, "matrix_inverse: Singular matrix"),
            (lambda x: S.solve(x, x), singular, numpy.linalg.LinAlgError, "solve: Matrix is singular"),
            (lambda x: S.solve(x, x), nan, ValueError, "solve: array must not contain infs or NaNs"),
            (lambda x: S.solve_triangular(x - 1, x), singular, numpy.linalg.LinAlgError, "singular"),
            (lambda x: S.cholesky(x), numpy.ones((2, 3), "float32"), numpy.linalg.LinAlgError, "must be square")):
        with at_device():
            x = phintys.shared(value, target="cuda")
            f = phintys.function([], function(x), updates=[(x, x + 1)])
        with pytest.raises(error, match=message):
            f()
        numpy.testing.assert_array_equal(x.get_value(), value)


def test_what_is_refused_while_it_is_computed_at_the_device(device, order):
    p = numpy.asarray([[0.5, 0.5], [0.5, 0.4]], "float32")
    nan, two = numpy.full((3, 2), numpy.nan, "float32"), numpy.ones((3, 2), "float32")
    whole = numpy.asarray([3, -1, 7], "int64")
    for function, value, error, message in (
            (lambda x: T.unravel_index(x, (2, 4)), whole, ValueError, "index -1 is out of bounds for array with"),
            (lambda x: T.unravel_index(abs(x), (2, 3)), whole, ValueError, "index 7 is out of bounds for array wit"),
            (lambda x: T.ravel_multi_index((abs(x), x), (9, 9)), whole, ValueError,
             "invalid entry in coordinates array: -1, dimension 1 has length 9"),
            (T.bincount, whole, ValueError, "bincount: an element is negative"),
            (T.bincount, whole.astype("uint64"), ValueError, "bincount: an element does not fit into 63 bits"),
            (lambda x: MultinomialFromUniform("auto")(x, x[0], 1), p, ValueError, "row 1 has no probabilities"),
            (lambda x: ChoiceFromUniform("auto")(x, x[0], 1), -p, ValueError, "row [01] has no probabilities"),
            (T.linalg.svd, nan, numpy.linalg.LinAlgError, "svd: SVD did not converge: the array contains infs"),
            (lambda x: T.linalg.eigh(x[:2]), nan, numpy.linalg.LinAlgError, "eigh: Array must not contain infs"),
            (T.linalg.eigh, two, numpy.linalg.LinAlgError, "must be square"),
            (lambda x: T.linalg.lstsq(x, x * numpy.float32(numpy.inf)), two, numpy.linalg.LinAlgError,
             "lstsq: SVD did not converge in Linear Least Squares: an array contains"),
            (lambda x: T.linalg.lstsq(x, x[:2]), two, numpy.linalg.LinAlgError, "lstsq: Incompatible dimensions")):
        x = phintys.gpu.host_from_gpu(phintys.shared(value, target="cuda"))
        f = phintys.function([], function(x))
        assert any([isinstance(node.op, DeviceOp) for node in f.maker.fgraph.apply_nodes])
        for _ in range(2):
            with pytest.raises(error, match=message):
                f()


HALF = numpy.float32(0.5)
NOTHING = {
    "no columns": (lambda x, i: x[i][:, :0], (3, 4)), "an empty slice": (lambda x, i: x[i, 0:0], (3, 4)),
    "an empty slice before": (lambda x, i: x[0:0, i], (2, 3)), "an empty array": (lambda x, i: x[i], (3, 0)),
    "take": (lambda x, i: T.take(x, i, axis=0), (3, 0)), "add": (lambda x, i: T.inc_subtensor(x[i], x[:2] + 1), (3, 0)),
    "set": (lambda x, i: T.set_subtensor(x[i], HALF), (3, 0)),
    "add to an empty part": (lambda x, i: T.inc_subtensor(x[i, 1:1], HALF), (3, 4)),
    "two": (lambda x, i: x[i[:, None], i * 0], (3, 2, 0)), "positions of nothing": (lambda x, i: x[i, i[:0]], (3, 4)),
    "positions beside nothing": (lambda x, i: x[i[:, None], i[:0]], (3, 4)),
    "add at no positions": (lambda x, i: T.inc_subtensor(x[i[:1], i[:0]], HALF), (3, 4))}


@pytest.mark.parametrize("name", NOTHING)
def test_positions_of_nothing_are_checked(device, name):
    """Where the result has no elements, as NumPy does: unless the positions select nothing."""
    expression, shape = NOTHING[name]
    told = []
    for target in ("cpu", "cuda"):
        x = phintys.shared(numpy.ones(shape, "float32"), target=target)
        i = phintys.shared(numpy.array([1, 0]), target=target)
        if target == "cuda":
            x, i = phintys.gpu.host_from_gpu(x), phintys.gpu.host_from_gpu(i)
        function = phintys.function([], expression(x, i))
        told.append([])
        for positions in ([1, 0], [2, -3], [1, 5], [-4, 1], [2, 0]):
            (i.owner.inputs[0] if target == "cuda" else i).set_value(numpy.array(positions))
            try:
                told[-1].append(numpy.asarray(function()).tolist())
            except IndexError as error:
                told[-1].append(str(error).split("\n")[0])
    assert told[1] == told[0]


def blocks(w, h, rows, b, columns):
    return nnet.blocksparse.sparse_block_dot(w, h, rows, b, columns)


def ones(*shape):
    return numpy.ones(shape, "float32")


FEW, BAD = numpy.full((2, 3), 1), numpy.full((2, 3), 9)
OF_NOTHING = {
    "flat positions": (lambda i, j: T.ravel_multi_index((i[:, None], j), (3, 4)), [[9, 1], numpy.zeros(0, int)]),
    "no flat positions": (lambda i, j: T.ravel_multi_index((i[:, None], j), (3, 4)), [[2, 1], numpy.zeros(0, int)]),
    "rows of blocks": (blocks, [ones(4, 5, 3, 0), ones(2, 3, 3), BAD, ones(5, 0), FEW]),
    "columns of blocks": (blocks, [ones(4, 5, 3, 0), ones(2, 3, 3), FEW, ones(5, 0), BAD]),
    "empty blocks": (blocks, [ones(4, 5, 3, 0), ones(2, 3, 3), FEW, ones(5, 0), FEW]),
    "gradient of blocks": (lambda *all: T.grad(blocks(*all).sum(), all[0]), [
        ones(4, 5, 0, 3), ones(2, 3, 0), BAD, ones(5, 3), FEW]),
    "labels without classes": (lambda x, y: T.grad(nnet.categorical_crossentropy(nnet.softmax(x), y).sum(), x),
                               [ones(2, 0), [1, 0]]),
    "no labels": (lambda x, y: T.grad(nnet.categorical_crossentropy(nnet.softmax(x), y).sum(), x),
                  [ones(0, 0), numpy.zeros(0, int)])}


@pytest.mark.parametrize("name", OF_NOTHING)
def test_what_selects_nothing_is_checked(device, name):
    """Positions and labels that are out of bounds, for results without elements."""
    expression, values = OF_NOTHING[name]
    told = []
    for target in ("cpu", "cuda"):
        variables = [phintys.shared(numpy.asarray(value), target=target) for value in values]
        if target == "cuda":
            variables = [phintys.gpu.host_from_gpu(variable) for variable in variables]
        function = phintys.function([], expression(*variables))
        for _ in range(2):
            try:
                told.append(numpy.asarray(function()).shape)
            except (IndexError, ValueError) as error:
                told.append(str(error).split("\n")[0])
    assert told[2:] == told[:2]


def advice(x, y):
    """A length of 1 that NumPy would repeat."""
    return x[:, :1] + y


SAME_ERRORS = {
    "advice": (advice, ones(2, 3), ones(2, 4)),
    "advice of a sum": (lambda x, y: advice(x, y).sum(1), ones(2, 3), ones(2, 4)),
    "declared": (lambda x, y: T.exp(T.addbroadcast(x, 0) + y), ones(2, 3), ones(2, 3)),
    "join": (lambda x, y: T.concatenate([x, y, x], 1), ones(2, 3), ones(4, 3)),
    "stack": (lambda x, y: T.stack([x, y]), ones(2, 3), ones(4, 3)), "dot": (T.dot, ones(2, 3), ones(4, 5)),
    "batched dot": (T.batched_dot, ones(2, 3, 4), ones(3, 4, 5)), "reshape": (lambda x: x.reshape((4, -1)), ones(2, 3)),
    "set": (lambda x, y: T.set_subtensor(x[:2], y), ones(4, 3), ones(3, 3)),
    "set at positions": (lambda x, y, i: T.set_subtensor(x[i], y), ones(4, 3), ones(3, 3), numpy.arange(2)),
    "positions": (lambda x, i, j: x[i, j], ones(4, 3), numpy.arange(3), numpy.arange(2)),
    "convolution": (nnet.conv2d, ones(2, 3, 5, 5), ones(4, 2, 3, 3)),
    "large filters": (nnet.conv2d, ones(2, 3, 5, 5), ones(4, 3, 7, 7)),
    "choose": (lambda i, x: T.choose(i, [x, x]), numpy.array([0, 5]), ones(2)),
    "gemv": (lambda x, y, z: z + T.dot(x, y), ones(2, 3), ones(3), ones(3)),
    "gemm": (lambda x, y, z: z - HALF * T.dot(x, y), ones(2, 3), ones(3, 4), ones(3, 4)),
    "repeat": (lambda x, n: T.repeat(x, n), ones(3), numpy.arange(2)),
    "scan": (lambda x, y: phintys.scan(lambda a, s: s + a, sequences=x, outputs_info=y)[0], ones(3, 2), ones(4)),
    "labels": (lambda x, y: nnet.categorical_crossentropy(nnet.softmax(x), y), ones(3, 2), numpy.arange(2))}


@pytest.mark.parametrize("name", SAME_ERRORS)
def test_the_device_says_what_the_host_says(device, name):
    expression, *values = SAME_ERRORS[name]
    told = []
    for target in ("cpu", "cuda"):
        variables = [phintys.shared(value, target=target) for value in values]
        if target == "cuda":
            variables = [phintys.gpu.host_from_gpu(variable) for variable in variables]
        with pytest.raises((IndexError, ValueError)) as raised:
            phintys.function([], expression(*variables))()
        told.append((raised.type, str(raised.value).split("\n")[0]))
    assert told[1] == told[0]
