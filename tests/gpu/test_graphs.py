"""Work of the device is collected, and replayed as a graph of CUDA when it repeats."""
import io
import threading

import numpy
import pytest
from support_gpu import assert_close, at_device, on_both

import phintys
import phintys.tensor as T

memory_is_kept = pytest.mark.skipif(phintys.config.stress, reason="under stress no memory is used again")


@pytest.fixture
def there(device):
    with at_device():
        yield device


def counts():
    report = phintys.gpu.memory_report()
    return numpy.array([report["submitted"], report["captured"], report["replayed"]])


def changes():
    return phintys.gpu.memory_report()["changed"]


def network():
    """A step of training, and its variables."""
    random = numpy.random.RandomState(1)
    w = [phintys.shared(random.uniform(-1, 1, shape).astype("float32")) for shape in ((5, 7), (7, 3))]
    x, y = T.fmatrix(), T.lvector()
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(T.tanh(T.dot(x, w[0])), w[1])), y).mean()
    updates = [(each, each - numpy.float32(0.1) * gradient) for each, gradient in zip(w, T.grad(cost, w))]
    return phintys.function([x, y], cost, updates=updates), w


def batch(rows, seed=0):
    random = numpy.random.RandomState(seed)
    return random.uniform(-1, 1, (rows, 5)).astype("float32"), random.randint(0, 3, rows)


@memory_is_kept
def test_a_program_that_repeats_is_replayed(there):
    (at_host, host_weights), (function, weights) = on_both(network)
    for step in range(16):                          # the weights' memory alternates: two lists for each part of a call
        assert_close(function(*batch(4, step)), at_host(*batch(4, step)))
    before = counts()
    for step in range(12):
        assert_close(function(*batch(4, step)), at_host(*batch(4, step)))
    submitted, captured, replayed = counts() - before
    assert replayed >= submitted / 2 and captured <= 2
    for mine, theirs in zip(weights, host_weights):
        assert_close(mine.get_value(), theirs.get_value())


def minibatches(count=8):
    """A step of training by the number of a slice and a learning rate, and its variables."""
    random = numpy.random.RandomState(2)
    data = phintys.shared(random.uniform(-1, 1, (count * 4, 5)).astype("float32"))
    labels = phintys.shared(random.randint(0, 3, count * 4), target="cuda" if phintys.config.device != "cpu" else "cpu")
    if phintys.config.device != "cpu":
        labels = phintys.gpu.host_from_gpu(labels)
    w = [phintys.shared(random.uniform(-1, 1, shape).astype("float32")) for shape in ((5, 7), (7, 3))]
    i, rate = T.lscalar(), T.fscalar()
    rows = slice(i * 4, (i + 1) * 4)
    value = T.nnet.softmax(T.dot(T.tanh(T.dot(data[rows], w[0])), w[1]))
    cost = T.nnet.categorical_crossentropy(value, labels[rows]).mean()
    updates = [(each, each - rate * gradient) for each, gradient in zip(w, T.grad(cost, w))]
    return phintys.function([i, rate], cost, updates=updates), w


def run_minibatches(count=8, epochs=3):
    """Compare with the host; what the last epoch submitted, captured, replayed, and replayed with other arguments."""
    (at_host, host_weights), (function, weights) = on_both(minibatches)
    for epoch in range(epochs):
        before, changed = counts(), changes()
        for number in range(count):
            rate = numpy.float32(0.1 / (1 + epoch + number))
            assert_close(function(number, rate), at_host(number, rate), rtol=1e-4)
    for mine, theirs in zip(weights, host_weights):
        assert_close(mine.get_value(), theirs.get_value(), rtol=1e-4)
    return [*counts() - before, changes() - changed]


@memory_is_kept
def test_minibatches_by_index_are_replayed(there):
    """Each slice has another address, and each step another learning rate."""
    submitted, captured, replayed, changed = run_minibatches()
    assert replayed == submitted and captured == 0 and changed >= 8


@memory_is_kept
def test_a_driver_that_does_not_change_graphs(there):
    """Equal lists are replayed, and all others done piece by piece."""
    if not there.is_stand_in:
        pytest.skip("only the stand-in refuses changes")
    there.library.stand_in_refuse_changes(1)
    try:
        submitted, captured, replayed, changed = run_minibatches(epochs=2)
    finally:
        there.library.stand_in_refuse_changes(0)
    assert changed == 0 and replayed < submitted


@memory_is_kept
@pytest.mark.parametrize("attributes", [True, False])
def test_products_by_a_library_at_other_addresses(there, attributes):
    """A call of a library that is a single kernel is a node; if its attributes cannot be copied, a child graph."""
    if not there.is_stand_in:
        pytest.skip("only the stand-in refuses attributes, and counts products")

    def build():
        data = phintys.shared(numpy.random.RandomState(1).uniform(-1, 1, (160, 40)).astype("float32"))
        w = phintys.shared(numpy.random.RandomState(2).uniform(-1, 1, (40, 50)).astype("float32"))
        i = T.lscalar()
        return phintys.function([i], T.tanh(T.dot(data[i * 20:(i + 1) * 20], w)).sum(), updates=[(w, w * 0.5)])
    at_host, function = on_both(build)
    there.library.stand_in_refuse_attributes(not attributes)
    try:
        with phintys.change_flags({"gpu.graphs": False}):               # gives up all graphs
            function(0), at_host(0)
        for number in range(32):
            assert_close(function(number % 8), at_host(number % 8), rtol=1e-4, atol=1e-4)
        before, changed, products = counts(), changes(), there.cublas.stand_in_products()
        for number in range(8):
            assert_close(function(number), at_host(number), rtol=1e-4, atol=1e-4)
    finally:
        there.library.stand_in_refuse_attributes(0)
    assert (counts() - before).tolist() == [8, 0, 8] and changes() > changed
    assert there.cublas.stand_in_products() == products                 # what was captured is set again


@memory_is_kept
def test_alternating_memory_changes_nothing(there):
    """Two sets of addresses have a graph each."""
    function, _ = network()
    for step in range(8):
        function(*batch(4, step))
    phintys.gpu.wait()
    v = phintys.shared(numpy.ones(5, "float32"))
    function = phintys.function([], [], updates=[(v, T.tanh(v) + v.sum())])
    for _ in range(8):
        function()
    before, changed = counts(), changes()
    for _ in range(8):
        function()
    assert (counts() - before).tolist() == [8, 0, 8] and changes() == changed


@memory_is_kept
def test_grids_of_other_sizes_are_replayed(there):
    def build():
        v = phintys.shared(numpy.arange(6, dtype="float32"))
        x = T.fmatrix()
        return phintys.function([x], T.exp(x * v).sum(axis=0))
    at_host, function = on_both(build)
    x = numpy.random.RandomState(3).uniform(-1, 1, (3000, 6)).astype("float32")
    for rows in (5, 3000, 17, 1, 900, 0, 33):
        assert_close(function(x[:rows]), at_host(x[:rows]), rtol=1e-4)
    before, changed = counts(), changes()
    for rows in range(100, 3000, 500):
        assert_close(function(x[:rows]), at_host(x[:rows]), rtol=1e-4)
    submitted, captured, replayed = counts() - before
    assert replayed >= submitted - 2 and changes() > changed          # a large device has other kernels for some sizes


def test_other_shapes_are_another_list(there):
    (at_host, _), (function, _) = on_both(network)
    for rows in (4, 4, 4, 6, 4, 6, 6, 6, 4, 1, 0, 4):
        if rows:
            assert_close(function(*batch(rows)), at_host(*batch(rows)))
    before = counts()
    function(*batch(4))
    assert (counts() - before)[0] >= 1


def test_values_are_read_anew(there):
    """Numbers that are passed by value, and arrays that are copied to the same place."""
    def build():
        v = phintys.shared(numpy.arange(6, dtype="float32"))
        x, a = T.fvector(), T.fscalar()
        return phintys.function([x, a], [(v * x + a).sum(), T.exp(v * a) + x, T.maximum(v, x)])
    at_host, function = on_both(build)
    for step in range(8):
        x, a = numpy.full(6, step, "float32"), numpy.float32(step % 3)
        for mine, theirs in zip(function(x, a), at_host(x, a)):
            assert_close(mine, theirs)


def test_the_option(there):
    function, _ = network()
    with phintys.change_flags({"gpu.graphs": False}):
        before = counts()
        for step in range(4):
            function(*batch(4, step))
        submitted, captured, replayed = counts() - before
        assert submitted > 20 and not captured and not replayed


def test_threads(there):
    """Lists of several threads mix; each value is right."""
    def build():
        v = phintys.shared(numpy.arange(40, dtype="float32").reshape(4, 10))
        x = T.fmatrix()
        return phintys.function([x], T.tanh(T.dot(v, x) + 1).sum(0) * T.exp(-x).sum())
    at_host, function = on_both(build)
    values = [numpy.random.RandomState(seed).uniform(-1, 1, (10, 3)).astype("float32") for seed in range(4)]
    expected, wrong = [at_host(value) for value in values], []

    def work(number):
        for _ in range(25):
            found = function(values[number])
            if not numpy.allclose(found, expected[number], rtol=1e-4, atol=1e-5):
                wrong.append((number, found))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("graphs", [True, False])
def test_threads_with_functions_of_their_own(there, order, graphs):
    """Both use the memory that the other gives back, and update what the other reads."""
    def build():
        v, w = [phintys.shared(numpy.full((4, 4), number, "float32")) for number in (1, 2)]
        x = T.fmatrix()
        step = T.tanh(T.dot(v, x)) + T.exp(-x).sum()
        return (phintys.function([x], (step * 2).sum(axis=0), updates=[(v, v + 1)]),
                phintys.function([x], T.dot(x, w).max() + x, updates=[(w, T.tanh(w))])), (v, w)

    def calls(function, number):
        random = numpy.random.RandomState(number)
        return [function(random.uniform(-1, 1, (4, 4)).astype("float32")) for _ in range(12)]

    with phintys.change_flags({"gpu.graphs": graphs}):
        (at_host, host_variables), (functions, variables) = on_both(build)
        expected = [calls(function, number) for number, function in enumerate(at_host)]
        found = [None, None]

        def work(number):
            found[number] = calls(functions[number], number)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for mine, theirs in zip(found, expected, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert_close(one, other, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(variables, host_variables):
        assert_close(mine.get_value(), theirs.get_value())


def test_a_value_shown_to_python_is_computed(there):
    v = phintys.shared(numpy.ones(5, "float32"))
    function = phintys.function([], phintys.Out(phintys.gpu.gpu_from_host(T.exp(v) * 2), borrow=True),
                                updates=[(v, v + 1)])
    borrowed = v.get_value(borrow=True, return_internal_type=True)
    for step in range(5):
        assert_close(function().get(), 2 * numpy.exp(numpy.full(5, 1 + step, "float32")))
        assert_close(v.get_value(return_internal_type=True).get(), numpy.full(5, 2 + step, "float32"))
    assert borrowed.shape == (5,)


@pytest.fixture
def lazy(there):
    """A device that works only when it is waited for."""
    if not there.is_stand_in:
        pytest.skip("only the stand-in can be lazy")
    there.library.stand_in_set_lazy(1)
    yield
    there.library.stand_in_set_lazy(0)


def test_a_device_that_works_late(lazy):
    """Arguments may be changed at once, although the device reads them later; what is shown is done."""
    (at_host, host_weights), (function, weights) = on_both(network)
    x, y = batch(4)
    for step in range(20):
        x[:], y[:] = batch(4, step)
        expected = at_host(x, y)
        found = function(x, y)
        x[:] = numpy.nan
        assert_close(found, expected)
    for mine, theirs in zip(weights, host_weights):
        assert_close(mine.get_value(), theirs.get_value())


@memory_is_kept
def test_copies_to_the_device_are_not_waited_for(lazy, device):
    """More than there is pinned memory for: each piece of it is filled again when its copy is done."""
    v = phintys.shared(numpy.zeros(3 << 20, "float32"))
    w = phintys.shared(numpy.zeros(3, "float32"))
    function = phintys.function([], [], updates=[(w, w + v[::1 << 20])])
    phintys.gpu.wait()
    before = device.counts()["to_device"]
    for number in range(3):
        v.set_value(numpy.full(3 << 20, number, "float32") + numpy.arange(3 << 20, dtype="float32") / (1 << 20))
        function()
    assert device.counts()["to_device"] < before + 36       # the last ones wait
    assert w.get_value().tolist() == [3, 6, 9]


@memory_is_kept
def test_loops_are_replayed(there):
    v, u = phintys.shared(numpy.ones((3, 4), "float32")), phintys.shared(numpy.eye(4, dtype="float32") / 2)
    rows, _ = phintys.scan(lambda state: T.tanh(T.dot(state, u)), outputs_info=v, n_steps=30)
    function = phintys.function([], rows[-1].sum())
    expected = function()
    for _ in range(8):
        function()
    before = counts()
    assert_close(function(), expected)
    submitted, captured, replayed = counts() - before
    assert replayed >= 1 and submitted <= 4 and not captured


@memory_is_kept
def test_profiles_wait_for_each_instruction(lazy, device):
    """So an instruction has the time that its work takes on the device."""
    v = phintys.shared(numpy.ones((30, 30), "float32"))
    done = []
    for profile in (False, True):
        function = phintys.function([], [], updates=[(v, T.tanh(T.dot(v, v)).T)], profile=profile)
        function()
        phintys.gpu.wait()
        before = device.counts()["launches"]
        function()
        done.append(device.counts()["launches"] - before)
    assert done[0] == 0 < done[1]
    text = io.StringIO()
    function.profile.summary(text)
    assert "Gpu" in text.getvalue()


def test_profiles_have_the_time_at_the_device(there):
    """By events before and after the work of each instruction; this stand-in's clock counts kernels as milliseconds."""
    if not there.is_stand_in:
        pytest.skip("only the stand-in has such a clock")
    v = phintys.shared(numpy.ones((30, 30), "float32"))
    x = T.fmatrix()
    function = phintys.function([x], v.sum(axis=0), updates=[(v, T.tanh(v + x))], profile=True)
    phintys.gpu.wait()
    there.library.stand_in_count_as_clock(1)
    launches = there.counts()["launches"]
    try:
        for _ in range(4):
            function(numpy.ones((30, 30), "float32"))
    finally:
        there.library.stand_in_count_as_clock(0)
    launches = there.counts()["launches"] - launches
    times = {str(node.op): seconds for node, seconds in function.profile.apply_device_time.items()}
    assert len(times) == 4 and all(["Gpu" in name for name in times])      # small copies are kernels, too
    assert sum(times.values()) == pytest.approx(1e-3 * launches) and min(times.values()) >= 4e-3
    text = io.StringIO()
    function.profile.summary(text)
    assert "<on the GPU, per call>" in text.getvalue() and "1.00e-03s" in text.getvalue()
    assert "at device" in function.explain()
    x = T.fvector()
    host = phintys.function([x], x + 1, profile=True)
    host([1])
    host.profile.summary(text := io.StringIO())
    assert not host.profile.apply_device_time and "on the GPU" not in text.getvalue() + host.explain()


def test_errors_of_measured_programs(there):
    if not there.is_stand_in:
        pytest.skip("only the stand-in fails when it is asked to")
    v = phintys.shared(numpy.ones((3, 3), "float32"))
    function = phintys.function([], [], updates=[(v, T.tanh(v) + 1)], profile=True)
    phintys.gpu.wait()
    there.library.stand_in_fail_launch(1)
    with pytest.raises(RuntimeError, match="a kernel failed"):
        function()
    assert v.get_value().tolist() == [[1] * 3] * 3
