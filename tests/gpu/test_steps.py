"""Loops on the device that are one kernel: elementwise bodies, and recurrent ones; and which are done step by step."""
import numpy
import pytest
from support_gpu import assert_close, at_device, on_both, quick

import phintys
import phintys.tensor as T
from phintys.gpu import device_steps
from phintys.gpu.runtime.nvrtc import find_nvrtc
from phintys.vm.loops.loop_kernel import loops_in


@pytest.fixture
def there(device):
    with at_device():
        yield device


def floats(*shape, seed=0, dtype="float32"):
    return numpy.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype(dtype)


def shared(*shape, seed=0, dtype="float32"):
    return phintys.shared(floats(*shape, seed=seed, dtype=dtype), **({} if dtype == "float32" else moved()))


def moved():
    """Other dtypes than float32 go to the device if they are asked for."""
    return {"target": "cuda"} if phintys.config.device == "cuda" else {}


def on_one_kernel(function):
    """For each loop of a function that has run, whether one kernel did its steps."""
    return [all([found is not None for found in loop.steps_at_device.values()]) and bool(loop.steps_at_device)
            for loop in loops_in(function.program)]


def compare(build, arguments=((),), one_kernel=True, rtol=2e-5, atol=1e-6):
    """The loop of the device gives what the host's loop gives, for all arguments, and in one kernel or not."""
    at_host, function = on_both(build)
    for given in arguments:
        for mine, theirs in zip(function(*given), at_host(*given), strict=True):
            assert_close(mine, theirs, rtol, atol)
    found = on_one_kernel(function)
    assert found and found == [one_kernel] * len(found)
    return function


# ---- elementwise bodies ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(1,), (33,), (1000,), (3, 5), (2, 1, 4)])
def test_a_state(there, dtype, shape):
    def build():
        v = shared(*shape, dtype=dtype)
        half = numpy.array(0.5, dtype)
        rows, _ = phintys.scan(lambda state: state * half + numpy.array(1, dtype), outputs_info=v, n_steps=n)
        return phintys.function([n], [rows, rows[-1], rows[-3:]])
    n = T.lscalar()
    compare(build, [(3,), (4,), (17,), (100,)], rtol=2e-3 if dtype == "float16" else 2e-5)


def test_special_numbers(there):
    special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1, -1e38, 1e-45], "float32")

    def build():
        v = phintys.shared(special)
        rows, _ = phintys.scan(lambda state: -state * state / numpy.float32(2) - state, outputs_info=v, n_steps=6)
        return phintys.function([], [rows, numpy.float32(1) / rows])
    with numpy.errstate(all="ignore"):
        compare(build)


def several():
    """Taps, sequences that are broadcast or run backwards, wholes, stacked rows, numbers by value, and rings."""
    v, start, row = shared(4, 6), shared(5, 4, 6, seed=1), shared(6, seed=2)
    x, column = shared(40, 4, 6, seed=3), shared(40, 4, seed=4)
    scale, n_steps = T.fscalar(), T.lscalar()

    def step(now, beside, third, last, other):
        new = T.sin(third + now) * last + row * beside.dimshuffle(0, "x")
        return new, other * scale + last, T.exp(new) - other
    (new, other, stacked), _ = phintys.scan(
        step, sequences=[x[::-1], column[::1]], outputs_info=[{"initial": start, "taps": [-5, -1]}, v, None],
        n_steps=n_steps)
    return phintys.function([scale, n_steps], [new, new[-2:], other[-1], stacked, stacked[-1]])


def test_several_states(there, order):
    compare(several, [(numpy.float32(0.5 - n), n) for n in (1, 2, 5, 8, 9, 40)], rtol=1e-4)


def test_numbers_and_whole_numbers(there):
    def build():
        v = phintys.shared(numpy.arange(-5, 6, dtype="int32"), **moved())
        flags = phintys.shared(numpy.arange(9 * 11).reshape(9, 11) % 3 == 0, **moved())
        rows, _ = phintys.scan(lambda flag, state: T.cast(T.switch(flag, state * 3, state - 1), "int32"),
                               sequences=flags, outputs_info=v)
        return phintys.function([], [rows, rows[-1]])
    compare(build)


def test_rows_that_swap(there):
    def build():
        v = shared(7)
        (a, b), _ = phintys.scan(lambda a, b: (b, a + b), outputs_info=[v, v * 2], n_steps=11)
        return phintys.function([], [a, b, a[-1], b[-1]])
    compare(build)


def test_a_long_loop_is_a_launch(there):
    if not there.is_stand_in:
        pytest.skip("only the stand-in counts")
    v = shared(10)
    rows, _ = phintys.scan(lambda state: state * numpy.float32(0.5) + numpy.float32(1), outputs_info=v, n_steps=5000)
    f = phintys.function([], [], updates=[(v, rows[-1])])
    f()
    before = there.counts()["launches"]
    f()
    phintys.gpu.wait()
    assert there.counts()["launches"] - before < 5
    assert_close(v.get_value(), numpy.full(10, 2, "float32"))


def test_explain_says_so(there):
    v = shared(10)
    rows, _ = phintys.scan(lambda state: T.tanh(state), outputs_info=v, n_steps=20)
    f = phintys.function([], rows)
    assert "in one kernel of the device" not in str(f.explain("instructions"))
    f()
    assert "in one kernel of the device" in str(f.explain("instructions"))


# ---- recurrent bodies ------------------------------------------------------------------------------------------------
def zeros(x, units, dtype="float32"):
    """The state before the first step, of any number of rows and columns."""
    return T.unbroadcast(T.zeros((x.shape[1], units), dtype), 0, 1)


def tanh_layer(units, dtype="float32", transposed=False, backwards=False):
    w, b = shared(3, units, dtype=dtype), shared(units, seed=2, dtype=dtype)
    u = shared(units, units, seed=1, dtype=dtype)
    x = T.TensorType(dtype, (False,) * 3)()

    def step(row, state):
        return T.tanh(T.dot(row, w) + T.dot(state, u.T if transposed else u) + b)
    rows, _ = phintys.scan(step, sequences=x, outputs_info=zeros(x, units, dtype), go_backwards=backwards)
    return x, rows, [w, u, b]


def lstm(units):
    w, u, b = shared(3, 4 * units), shared(units, 4 * units, seed=1), shared(4 * units, seed=2)
    x = T.ftensor3()

    def step(row, state, memory):
        gates = T.dot(row, w) + T.dot(state, u) + b
        enter, keep, leave, new = [gates[:, gate * units:(gate + 1) * units] for gate in range(4)]
        memory = T.nnet.sigmoid(keep) * memory + T.nnet.sigmoid(enter) * T.tanh(new)
        return T.nnet.sigmoid(leave) * T.tanh(memory), memory
    (rows, _), _ = phintys.scan(step, sequences=x, outputs_info=[zeros(x, units)] * 2)
    return x, rows, [w, u, b]


def gru(units):
    weights = [shared(*shape, seed=seed) for seed, shape in enumerate(
        [(3, 2 * units), (units, 2 * units), (3, units), (units, units)])]
    x = T.ftensor3()

    def step(row, state):
        gates = T.nnet.sigmoid(T.dot(row, weights[0]) + T.dot(state, weights[1]))
        keep, reset = gates[:, :units], gates[:, units:]
        new = T.tanh(T.dot(row, weights[2]) + T.dot(reset * state, weights[3]))
        return keep * state + (1 - keep) * new
    rows, _ = phintys.scan(step, sequences=x, outputs_info=zeros(x, units))
    return x, rows, weights


LAYERS = {"tanh": tanh_layer, "lstm": lstm, "gru": gru}


def clusters(there):
    return there.is_stand_in or int(phintys.gpu.the_device().architecture.removeprefix("sm_")) >= 90


def forward(layer, *arguments, **options):
    x, rows, _ = layer(*arguments, **options)
    return phintys.function([x], [rows, rows[-1]])


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("units", [1, 5, 31, 32, 33])
def test_layers(there, layer, units):
    compare(lambda: forward(LAYERS[layer], units), [(floats(length, rows, 3),) for length, rows in
                                                   ((1, 1), (2, 3), (5, 3), (9, 2))], rtol=1e-4)


@pytest.mark.parametrize("layer", LAYERS)
def test_last_states_of_a_layer(there, order, layer):
    """Rows are computed ahead, for a block of steps at a time."""
    def build():
        x, rows, _ = LAYERS[layer](6)
        return phintys.function([x], [rows[-1]])
    compare(build, [(floats(length, 2, 3),) for length in (1, 7, 70)], rtol=1e-4)


@pytest.mark.parametrize("layer", LAYERS)
def test_training(there, order, layer):
    def build():
        x, rows, weights = LAYERS[layer](5)
        cost = (rows[-1] ** 2).sum() + rows.mean()
        return phintys.function([x], [cost, *T.grad(cost, weights)])
    compare(build, [(floats(length, 3, 3),) for length in (4, 9, 1)], rtol=2e-4)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("blocks", [4, 8])
def test_a_cluster_has_a_row(there, order, layer, blocks, monkeypatch):
    """Of blocks with all threads that they may have, and with too many blocks for the units."""
    if not clusters(there):
        pytest.skip("the device has no clusters")
    monkeypatch.setattr(device_steps, "BLOCKS", (blocks,))

    def build():
        x, rows, weights = LAYERS[layer](11)
        return phintys.function([x], [rows, *T.grad((rows[-1] ** 2).sum() + rows.mean(), weights)])
    compare(build, [(floats(length, 2, 3),) for length in (1, 6)], rtol=2e-4)


@pytest.mark.parametrize("layer", LAYERS)
def test_many_blocks_have_a_row(there, order, layer, monkeypatch):
    """They exchange tagged numbers. The stand-in has two multiprocessors."""
    monkeypatch.setattr(device_steps, "BLOCKS", ())
    monkeypatch.setattr(device_steps, "SHARES", (1,))
    if there.is_stand_in:
        monkeypatch.setattr(device_steps.the_device(), "multiprocessors", 22)

    def build():
        x, rows, weights = LAYERS[layer](11)
        return phintys.function([x], [rows, *T.grad((rows[-1] ** 2).sum() + rows.mean(), weights)])
    compare(build, [(floats(length, 2, 3),) for length in (1, 6)], rtol=2e-4)


@pytest.mark.parametrize("options", [{"dtype": "float64"}, {"transposed": True}, {"backwards": True}])
def test_forms_of_a_layer(there, options):
    dtype = options.get("dtype", "float32")
    compare(lambda: forward(tanh_layer, 6, **options), [(floats(7, 3, 3, dtype=dtype),)], rtol=1e-4)


def test_vectors(there):
    def build():
        w, u, v = shared(3, 7), shared(7, 7, seed=1), shared(7, seed=2)
        x = T.fmatrix()
        rows, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w) + T.dot(state, u)), sequences=x,
                               outputs_info=v)
        return phintys.function([x], [rows, rows[-1]])
    compare(build, [(floats(length, 3),) for length in (1, 6)], rtol=1e-4)


def test_a_part_of_a_state_is_multiplied(there, order):
    def build():
        x, u, v = T.ftensor3(), shared(5, 5), shared(10, 5, seed=1)

        def step(row, pair, single):
            first = T.tanh(row + T.dot(pair[:, :5], u) + T.dot(pair, v)) + single / 2
            return T.set_subtensor(pair[:, 5:], first), first
        (pairs, singles), _ = phintys.scan(step, sequences=x, outputs_info=[zeros(x, 10), zeros(x, 5)])
        return phintys.function([x], [pairs, singles])
    compare(build, [(floats(5, 2, 5),)], rtol=1e-4)


def test_masks(there):
    def build():
        x, mask, u = T.ftensor3(), T.fmatrix(), shared(6, 6)

        def step(row, keep, state):
            keep = keep.dimshuffle(0, "x")
            return keep * T.tanh(row + T.dot(state, u)) + (1 - keep) * state
        rows, _ = phintys.scan(step, sequences=[x, mask], outputs_info=zeros(x, 6))
        return phintys.function([x, mask], [rows])
    compare(build, [(floats(8, 3, 6), (floats(8, 3, seed=1) > 0).astype("float32"))], rtol=1e-4)


def test_other_shapes_in_later_calls(there):
    function = compare(lambda: forward(tanh_layer, 4), [(floats(3, 2, 3),), (floats(9, 5, 3),), (floats(3, 2, 3),)],
                       rtol=1e-4)
    loop, = loops_in(function.program)
    assert len(loop.steps_at_device) == 2 and len({found[0] for found in loop.steps_at_device.values()}) == 1


# ---- gradients -------------------------------------------------------------------------------------------------------
EXTREMA = {"maximum": lambda a: T.maximum(a, 0.0), "minimum": lambda a: T.minimum(a, 0.0), "max": lambda a: a.max(1),
           "min": lambda a: a.min(1), "pooling": lambda a: T.signal.pool.pool_2d(a, (2, 2), ignore_border=True)}


def test_gradients_of_a_layer_of_relus(there):
    """The loop keeps the maxima; for its gradient the products are computed again, in another order of additions."""
    def build():
        x, start, w = shared(7, 3, 12), shared(3, 12, seed=1), shared(12, 12, seed=2)
        rows, _ = phintys.scan(lambda row, state, w: T.maximum(T.dot(state, w) + row, numpy.float32(0)), sequences=x,
                               outputs_info=start, non_sequences=w)
        return phintys.function([], T.grad((rows ** 2).sum(), [x, start, w]))
    at_host, function = on_both(build)
    for mine, theirs in zip(function(), at_host(), strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("name", EXTREMA)
def test_gradients_of_extrema_do_not_compare_kept_results(name):
    """They are the same for a result that was rounded in another way."""
    x = T.dmatrix("x")
    node, found = EXTREMA[name](x).owner, []
    for scale in (1, 1 + 1e-12):
        result = node.outputs[0] * scale
        found.append(phintys.function([x], node.op.L_op(node.inputs, [result], [T.ones_like(result)])[0])(
            floats(4, 6, dtype="float64")))
    assert found[0].any()
    numpy.testing.assert_array_equal(*found)


# ---- step by step ----------------------------------------------------------------------------------------------------
def test_wide_layers_are_done_step_by_step(there, monkeypatch):
    monkeypatch.setattr(device_steps, "MOST_WEIGHTS", 3)
    monkeypatch.setattr(device_steps, "BLOCKS", (1,))
    monkeypatch.setattr(device_steps, "SHARES", ())
    compare(lambda: forward(tanh_layer, 20), [(floats(4, 2, 3),)], one_kernel=False, rtol=1e-4)


def test_many_rows_are_done_step_by_step(there, monkeypatch):
    monkeypatch.setattr(device_steps, "MOST_AT_ONCE", 0)
    compare(lambda: forward(tanh_layer, 5), [(floats(4, 2, 3),)], one_kernel=False, rtol=1e-4)


def test_bodies_that_are_done_step_by_step(there):
    def odd_parts():
        x, u = T.ftensor3(), shared(6, 9)

        def step(row, state):
            gates = T.dot(state, u)
            return T.tanh(row + gates[:, 1:7]) + gates[:, 3:9]
        rows, _ = phintys.scan(step, sequences=x, outputs_info=zeros(x, 6))
        return phintys.function([x], [rows])

    def sums():
        x = T.ftensor3()
        rows, _ = phintys.scan(lambda row, state: row + state / state.sum(), sequences=x,
                               outputs_info=zeros(x, 6) + shared(6))
        return phintys.function([x], [rows])
    for build in (odd_parts, sums):
        compare(build, [(floats(5, 2, 6),)], one_kernel=False, rtol=1e-3)


def test_errors_name_the_step(there):
    x, u = T.ftensor3(), shared(6, 7)
    rows, _ = phintys.scan(lambda row, state: row + T.dot(state, u), sequences=x,
                           outputs_info=zeros(x, 6))
    f = phintys.function([x], rows)
    with pytest.raises(ValueError, match="(?s)step 0 of"):
        f(floats(4, 2, 7))


# ---- sources ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("architecture, blocks", [("sm_70", 1), ("sm_90", 1), ("sm_90", 4)])
def test_nvrtc_compiles(there, architecture, blocks, monkeypatch):
    library = find_nvrtc(architecture=architecture)
    if library is None or architecture not in library.architectures:
        pytest.skip("there is no NVRTC for it")
    monkeypatch.setattr(device_steps, "_kernels", {})
    monkeypatch.setattr(device_steps, "BLOCKS", (blocks,))
    for layer in LAYERS.values():
        x, rows, weights = layer(8)
        phintys.function([x], [rows, *T.grad((rows[-1] ** 2).sum(), weights)])(floats(3, 2, 3))
    several()(numpy.float32(1), 3)
    assert len(device_steps._kernels) > 6
    for source, *_ in device_steps._kernels:
        assert library.compile(source, architecture, quick(library)).startswith(b"\177ELF")
