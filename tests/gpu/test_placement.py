"""Where nodes run, and which values are transferred."""
import re

import numpy
import pytest
import scipy.linalg
from support_gpu import assert_close, at_device, on_both

import phintys
import phintys.tensor as T
from phintys.gpu.transfers import GpuFromHost, HostFromGpu


@pytest.fixture
def there(device):
    with at_device():
        yield device


def shared(*shape):
    return phintys.shared(numpy.random.RandomState(0).rand(*shape).astype("float32"))


def transfers(function):
    """How many transfers to the device, and to the host."""
    ops = [type(node.op) for node in function.maker.fgraph.toposort()]
    return ops.count(GpuFromHost), ops.count(HostFromGpu)


def names(function):
    return [str(node.op) for node in function.maker.fgraph.toposort()]


def test_only_arguments_and_results_travel(there):
    w, x = shared(4, 3), T.fmatrix("x")
    hidden = T.tanh(T.dot(x, w))
    f = phintys.function([x], [hidden, (hidden ** 2).sum()], updates=[(w, w - T.grad((hidden ** 2).sum(), w))])
    assert transfers(f) == (1, 2)


def test_a_function_of_updates_alone_transfers_nothing(there):
    w, v = shared(4, 3), shared(3)
    f = phintys.function([], updates=[(w, w * v), (v, v + 1)])
    assert transfers(f) == (0, 0)


def test_a_value_is_transferred_once(there):
    w, x = shared(3), T.fvector("x")
    f = phintys.function([x], [w * x, T.exp(w - x), (x + w).sum(), T.dot(x, w)])
    assert transfers(f)[0] == 1


def test_what_is_computed_for_the_device_alone_is_computed_there(there):
    w, x = shared(3), T.fvector("x")
    f = phintys.function([x], updates=[(w, T.exp(x))])
    assert transfers(f) == (1, 0) and "GpuElemwise{exp}[(0, 0)]" in names(f)
    f(numpy.zeros(3, "float32"))
    assert w.get_value().tolist() == [1, 1, 1]


def test_numbers_stay_at_the_host(there):
    w, rate, steps = shared(3), T.fscalar("rate"), T.wscalar("steps")
    f = phintys.function([rate, steps], updates=[(w, w - rate / steps * w)])
    assert transfers(f) == (0, 0)
    before = w.get_value()
    f(0.5, 2)
    assert_close(w.get_value(), before * numpy.float32(0.75))


def test_indices_and_shapes_stay_at_the_host(there):
    w, i = shared(4, 5), T.iscalar("i")
    f = phintys.function([i], (w[i:] * 2).reshape((-1, i)).sum() + w.shape[0])
    assert transfers(f) == (0, 1)
    assert_close(f(2), numpy.float64((w.get_value()[2:] * 2).sum()) + 4, rtol=1e-5)


def test_a_program_without_values_at_the_device_is_left_alone(there):
    x = T.fvector("x")
    f = phintys.function([x], T.exp(x) * 2)
    assert not any(name.startswith("Gpu") for name in names(f))


def schur(x):
    """What only the host computes."""
    return T.slinalg.schur(x)[0]


def test_an_op_without_a_kernel_for_the_device_runs_at_the_host(there):
    w = shared(4, 4)
    w.name = "w"
    power = schur(w)
    with pytest.warns(UserWarning) as warned:
        with phintys.change_flags({"gpu.warn_host_ops": "warn"}):
            f = phintys.function([], power * 2, updates=[(w, power + 1)])
    message, = [str(warning.message) for warning in warned]
    head, *lines = message.splitlines()
    assert head.startswith("the device has no kernels for some ops, which run on the host (config.gpu.warn_host_ops = ")
    assert len(lines) == 1 and lines[0].startswith("  Schur{") and lines[0].endswith(": transfers w to the host")
    with phintys.change_flags({"gpu.warn_host_ops": "raise"}):
        with pytest.raises(Exception, match="the device has no kernels for some ops"):
            phintys.function([], power * 2)
    with phintys.change_flags({"gpu.warn_host_ops": "ignore"}):
        phintys.function([], power * 2)
    value = w.get_value()
    assert_close(f(), scipy.linalg.schur(value)[0] * 2, rtol=1e-3)
    assert_close(w.get_value(), scipy.linalg.schur(value)[0] + 1, rtol=1e-3)


def test_what_the_host_computes_for_the_device_is_named(there):
    x, w = T.fmatrix("x"), shared(4, 4)
    with phintys.change_flags({"gpu.warn_host_ops": "raise"}):
        with pytest.raises(Exception, match="\n  Schur{.*}: transfers Schur{.*}.0 to the device"):
            phintys.function([x], T.dot(schur(x), w))
        phintys.function([x], T.dot(T.exp(x), w))


def test_a_function_tells_of_all_ops_at_once_with_bytes(there, monkeypatch):
    w, v = shared(4, 4), phintys.shared(numpy.ones((2, 4, 4), "float32"))
    w.name, v.name = "w", "v"
    fixed = T.specify_shape(w, (4, 4))
    result = schur(fixed) + T.dot(schur(v[0]), schur(v[0])) + w
    stopped = []
    monkeypatch.setattr("pdb.set_trace", lambda: stopped.append(True))
    with phintys.change_flags({"gpu.warn_host_ops": "pdb"}), pytest.warns(UserWarning) as warned:
        phintys.function([], result)
    message, = [str(warning.message) for warning in warned]
    assert stopped == [True] and len(message.splitlines()) == 3
    assert re.search(r" \(64 bytes\) to the host, Schur{.*}.0 \(64 bytes\) to the device", message)


def test_a_length_at_the_host_is_not_computed_from_a_transferred_array(there):
    w = shared(4, 6)
    rows = T.arange(w.T.shape[0], dtype="float32")              # which stays on the host, and reads the length of w
    f = phintys.function([], T.dot(w, T.exp(w.T * rows.dimshuffle(0, "x"))))
    assert transfers(f)[1] == 1, f.explain()                    # the result
    value = w.get_value()
    assert_close(f(), value @ numpy.exp(value.T * numpy.arange(6, dtype="float32")[:, None]), rtol=1e-3)


def test_transfer(there):
    x = T.fvector("x")
    f = phintys.function([x], (x.transfer("cuda") * 2).transfer("cpu"))
    assert "GpuElemwise{mul}[(0, 0)]" in names(f) and transfers(f) == (1, 1)
    assert f([1, 2]).tolist() == [2, 4]
    there_and_back = phintys.function([x], x.transfer("cuda").transfer("cpu"))
    assert transfers(there_and_back) == (0, 0)
    with pytest.raises(ValueError, match="Can't transfer to target cuda7: "):
        x.transfer("cuda7")


def test_constants_are_copied_to_the_device_once(there):
    w = shared(3)
    f = phintys.function([], w * numpy.arange(3, dtype="float32"))
    for _ in range(4):
        assert_close(f(), w.get_value() * numpy.arange(3, dtype="float32"))
    if there.is_stand_in:
        before = there.counts()["to_device"]
        f()
        assert there.counts()["to_device"] == before


def test_loops_and_branches_run_with_values_at_the_device(there):
    w, flag = shared(3), T.iscalar("flag")
    chosen = phintys.ifelse.ifelse(T.gt(flag, 0), T.exp(w), w * 2)
    f = phintys.function([flag], chosen)
    assert_close(f(1), numpy.exp(w.get_value()))
    assert_close(f(0), w.get_value() * 2)
    rows, _ = phintys.scan(lambda before: before * w, outputs_info=[T.ones_like(w)], n_steps=3)
    assert_close(phintys.function([], rows[-1])(), w.get_value() ** 3)


def test_givens_and_modes(there):
    w, x = shared(3), T.fvector("x")
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", phintys.Mode(allow_gc=False), phintys.Mode(allow_gc="plan")):
        f = phintys.function([], x * 2 + 1, givens=[(x, w)], mode=mode)
        for _ in range(3):
            assert_close(f(), w.get_value() * 2 + 1)


def test_explain_says_what_runs_where(there):
    w, x = shared(3), T.fvector("x")
    text = phintys.function([x], T.exp(w * x)).explain("instructions")
    assert text.partition("device\n")[2].splitlines()[:3] == [
        "  C2    transferred to the device: C0", "  C3    GpuElementwiseKernel",
        "  C4    transferred to the host, waited for at the end: C3"]
    host = phintys.function([x], T.exp(x)).explain("instructions")
    assert "device" not in host


def test_explain_has_the_bytes_of_each_transfer(there):
    w, x = shared(3), T.fvector("x")
    f = phintys.function([x], T.exp(w * x))
    f(numpy.ones(3, "float32"))
    lines = f.explain().splitlines()
    sizes = [re.search(r"(\d+) B \w+: \S+ = (GpuFromHost|HostFromGpu)", line) for line in lines]
    assert [size.groups() for size in sizes if size] == [("12", "GpuFromHost"), ("12", "HostFromGpu")]
    assert any([line.endswith(" wait for the device") for line in lines])


def test_what_complex_numbers_cannot_do_at_the_device(there):
    value = (numpy.arange(12) % 5 + 1j * (numpy.arange(12) % 3)).reshape(3, 4).astype("complex64")
    z = phintys.shared(value, target="cuda")
    x = phintys.gpu.host_from_gpu(z)
    found = phintys.function([], [T.sort(x), T.cumsum(x), (x * 2).sum(), T.fill_diagonal(x, x[0, 0])])()
    filled = value.copy()
    numpy.fill_diagonal(filled, value[0, 0])
    for mine, theirs in zip(found, [numpy.sort(value), value.cumsum(), (value * 2).sum(), filled], strict=True):
        assert_close(mine, theirs)


def test_sums_at_positions_are_deterministic_by_option(device):
    values = numpy.random.RandomState(3).uniform(-1, 1, (400, 3)).astype("float32")
    positions = numpy.random.RandomState(3).randint(0, 5, 400)

    def build():
        x, i = phintys.shared(numpy.zeros((5, 3), "float32")), T.lvector()
        y = phintys.shared(values)
        return phintys.function([i], T.inc_subtensor(x[i], y))
    for option, atomic in (("default", True), ("more", False)):
        with phintys.change_flags({"deterministic": option}):
            at_host, function = on_both(build)
            kernel, = [kernel for kernel in function.program.kernels if type(kernel).__name__ == "GpuGeneralKernel"]
        assert ("atomicAdd(" in kernel.source) == atomic
        assert_close(function(positions), at_host(positions))


def test_what_is_made_for_the_device_is_made_there(there):
    x, n = shared(6, 6), T.lscalar()
    f = phintys.function([n], x * T.arange(n) + T.eye(6, dtype="float32"))
    value = f(6)
    numpy.testing.assert_allclose(value, x.get_value() * numpy.arange(6) + numpy.eye(6), rtol=1e-6)
    assert transfers(f)[0] == 0 and "GpuARange" in " ".join(names(f))


def test_positions_on_the_device_are_not_looked_at_one_by_one_on_the_host(device):
    """A zero stands for all of them there: to look at each of 1e11 would take minutes."""
    if not device.is_stand_in:
        pytest.skip("only the stand-in lends memory that is not there")
    x = T.fmatrix("x")
    device.library.stand_in_only_look(1)
    try:
        device.library.stand_in_set_memory(1 << 46)
        there = phintys.gpu.gpu_from_host(T.AllocEmpty("int64")(10 ** 11))
        part = phintys.gpu.gpu_from_host(x)[phintys.gpu.host_from_gpu(there)]
        f = phintys.function([x], phintys.gpu.gpu_from_host(T.inc_subtensor(part, 1)))
        assert f(numpy.ones((3, 2), "float32")).shape == (3, 2)
    finally:
        phintys.gpu.trim()
        device.library.stand_in_only_look(0)
        device.library.stand_in_set_memory(8 << 30)


def test_lengths_are_checked_where_the_arrays_are(device):
    """What a dropped node required is checked on a result that is on the device, without a transfer."""
    with at_device():
        x, y = [phintys.shared(numpy.ones((3, 4), "float32")) for _ in range(2)]
    there = [phintys.gpu.host_from_gpu(each) for each in (x, y)]
    gradient = T.grad((T.nnet.softmax(there[0]) * there[1]).sum(), there[0])
    f = phintys.function([], phintys.gpu.gpu_from_host(gradient))
    names = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
    assert "EqualLengths" in names and "HostFromGpu" not in names, names
    f()
    y.set_value(numpy.ones((3, 5), "float32"))
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        f()


@pytest.mark.parametrize("build", [
    lambda x, y: dict(outputs=(x - y) * 0), lambda x, y: dict(outputs=T.grad((x - y).sum(), x)),
    lambda x, y: dict(outputs=phintys.scan(lambda row: [row * 2, row - y], sequences=x)[0][0]),
    lambda x, y: dict(outputs=[], updates=[(x, x - T.grad((x - y).sum(), x))])],
    ids=["zeros", "gradient", "unused rows of a loop", "update"])
def test_lengths_of_arrays_that_nothing_reads_any_more(device, build):
    """They are compared where the arrays are: shared variables on the device."""
    with at_device():
        x, y = phintys.shared(numpy.ones((3, 4), "float32")), phintys.shared(numpy.ones(4, "float32"))
    f = phintys.function([], **build(x, y))
    f()
    x.set_value(numpy.ones((3, 4), "float32"))
    y.set_value(numpy.ones(5, "float32"))
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        f()
    numpy.testing.assert_array_equal(x.get_value(), 1)


def test_lengths_of_results_at_the_host_are_checked_without_further_transfers(device):
    """A check that reads a shared variable of the device, and passes on a result of the host."""
    with at_device():
        x, y = [phintys.shared(numpy.ones((3, 4), "float32")) for _ in range(2)]
    there = [phintys.gpu.host_from_gpu(each) for each in (x, y)]
    f = phintys.function([], [T.tanh(there[0]).sum(0), T.grad((there[0] - there[1]).sum(), there[0])])
    transfers = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, HostFromGpu)]
    assert transfers and all([node.inputs[0].owner is not None for node in transfers]), f.explain()
    f()
    y.set_value(numpy.ones((3, 5), "float32"))
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        f()
