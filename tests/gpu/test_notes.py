"""What kernels find wrong while they run is read once, when the call has waited: before anything is stored."""
import threading

import numpy
import pytest
from support_gpu import assert_close, at_device

import phintys
import phintys.tensor as T

memory_is_kept = pytest.mark.skipif(phintys.config.stress, reason="under stress no memory is used again")


@pytest.fixture
def there(device):
    with at_device():
        yield device


def on_device(values, dtype="int64"):
    return phintys.gpu.host_from_gpu(phintys.shared(numpy.asarray(values, dtype), target="cuda"))


def classifier(labels, result):
    """A step of training with labels on the device; its weights and labels, too."""
    w = phintys.shared(numpy.linspace(-1, 1, 12, dtype="float32").reshape(4, 3), name="w")
    x = phintys.shared(numpy.linspace(-1, 1, 20, dtype="float32").reshape(5, 4), name="x")
    y = phintys.shared(numpy.asarray(labels, "int32"), target="cuda")
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, w)), phintys.gpu.host_from_gpu(y)).mean()
    updates = [(w, w - numpy.float32(0.1) * T.grad(cost, w))]
    return phintys.function([], cost if result else [], updates=updates), w, y


@memory_is_kept
@pytest.mark.parametrize("result", [True, False])
def test_a_step_of_a_classifier_is_submitted_once(there, result):
    function, _, _ = classifier([0, 1, 2, 0, 1], result)
    for _ in range(8):
        function()
    before = phintys.gpu.memory_report()
    for _ in range(4):
        function()
    after = phintys.gpu.memory_report()
    assert [after[name] - before[name] for name in ("submitted", "replayed", "captured")] == [4, 4, 0]


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("result", [True, False])
def test_the_first_row_with_a_bad_label_is_named(there, order, result, graphs):
    with phintys.change_flags({"gpu.graphs": graphs}):
        function, w, y = classifier([0, 1, 7, -4, 3], result)
        before = w.get_value()
        for _ in range(3):
            with pytest.raises(ValueError, match="the label of row 2 is 7, but there are 3 classes") as raised:
                function()
            assert "Apply node that caused the error: GpuCrossentropy" in str(raised.value)
            assert "(5, 3)" in str(raised.value) and numpy.array_equal(w.get_value(), before)
        y.set_value(numpy.asarray([0, 1, 2, 2, 0], "int32"))
        function()
        assert not numpy.array_equal(w.get_value(), before)


def test_the_first_kernel_that_tells_is_named(there):
    """The others compute with what it has left."""
    x = phintys.shared(numpy.arange(6, dtype="float32"))
    taken = (x * 2)[on_device([1, 9])]
    matrix = T.outer(taken, taken)                      # singular
    function = phintys.function([], T.nlinalg.matrix_inverse(matrix)[on_device([0, -8])])
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 6"):
        function()


def test_what_is_told_comes_before_later_failures_of_the_host(there):
    x, y = phintys.shared(numpy.arange(6, dtype="float32")), T.fvector()
    function = phintys.function([y], [x[on_device([1, 9])], T.exp(x) * y])
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        function(numpy.ones(5, "float32"))
    with pytest.raises(ValueError, match="mis-match"):
        phintys.function([y], [x[on_device([1, 2])], T.exp(x) * y])(numpy.ones(5, "float32"))


@pytest.mark.parametrize("build, updates", [
    (lambda x, index: [], lambda x, index: T.set_subtensor(x[index], 7)),
    (lambda x, index: x[index], lambda x, index: x + 1)])
def test_positions_beside_a_mask(there, build, updates):
    """A kernel that is a part of another one tells, too: in time, and in the name of the other one's node."""
    x = phintys.shared(numpy.ones((4, 5), "float32"), name="x")
    index = on_device([True, False, True, False], "bool"), on_device([1, 9])
    function = phintys.function([], build(x, index), updates=[(x, updates(x, index))])
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 1 with size 5") as raised:
        function()
    assert "Apply node that caused the error: GpuAdvancedBoolean" in str(raised.value)
    assert x.get_value().tolist() == [[1] * 5] * 4


def test_a_matrix_that_a_library_leaves_to_our_own_kernel(there):
    x = phintys.shared(-numpy.eye(3, dtype="float32"), name="x")
    function = phintys.function([], [], updates=[(x, T.slinalg.cholesky(x) * 2)])
    with pytest.raises(numpy.linalg.LinAlgError) as raised:
        function()
    assert "Apply node that caused the error: GpuCholesky" in str(raised.value)


def test_results_that_stay_on_the_device(there):
    x = phintys.shared(numpy.arange(6, dtype="float32"))
    for number in (2, 9):
        function = phintys.function([], phintys.gpu.gpu_from_host(x[on_device([1, number])]))
        if number == 2:
            assert function().get().tolist() == [1, 2]
        else:
            with pytest.raises(IndexError, match="index 9 is out of bounds"):
                function()


def test_more_kernels_than_notes(there):
    x = phintys.shared(numpy.arange(9, dtype="float32"), name="x")
    last = phintys.shared(numpy.asarray([0, 3]), target="cuda")
    total = sum([x[on_device([number % 9, 1])] for number in range(80)]) + x[phintys.gpu.host_from_gpu(last)]
    function = phintys.function([], total, updates=[(x, x * 1)])
    expected = numpy.asarray([sum([number % 9 for number in range(80)]), 83], "float32")
    assert_close(function(), expected)
    last.set_value(numpy.asarray([0, 30]))
    with pytest.raises(IndexError, match="index 30 is out of bounds"):
        function()
    last.set_value(numpy.asarray([0, 4]))
    assert_close(function(), expected + numpy.asarray([0, 1], "float32"))


def test_in_loops_the_step_is_named(there):
    x, rows = phintys.shared(numpy.ones((4, 3), "float32")), on_device([[0, 1], [3, 2], [4, 0], [9, 9]])
    found, _ = phintys.scan(lambda row, state: T.tanh(x[row].sum(axis=0) + state), sequences=rows,
                            outputs_info=phintys.shared(numpy.zeros(3, "float32")))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4") as raised:
        phintys.function([], found[-1])()
    assert "step 2" in str(raised.value)


def test_notes_of_threads(there):
    """A call is told of its own kernels only."""
    functions = [classifier(labels, True)[0] for labels in ([0, 1, 2, 0, 1], [0, 1, 2, 0, 5])]
    found = [[], []]

    def work(number):
        for _ in range(10):
            try:
                found[number].append(functions[number]() >= 0)
            except ValueError as error:
                found[number].append("label of row 4 is 5" in str(error))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[True] * 10] * 2


# ---- labels that came from the host ----------------------------------------------------------------------------------
def launches_of_a_call(there, function, *arguments):
    """How many kernels have run when a call returns, on a device that works only when it is waited for."""
    for _ in range(3):
        function(*arguments)
    phintys.gpu.wait()
    before = there.counts()["launches"]
    there.library.stand_in_set_lazy(1)
    try:
        function(*arguments)
        return there.counts()["launches"] - before
    finally:
        there.library.stand_in_set_lazy(0)


@memory_is_kept
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_labels_from_the_host_are_not_waited_for(there, dtype):
    if not there.is_stand_in:
        pytest.skip("only the stand-in can be lazy")
    x = phintys.shared(numpy.ones((6, 3), "float32"))
    y = phintys.shared(numpy.asarray([2, 0, 1, 2, 1, 0], dtype), target="cuda")
    i, given = T.lscalar(), T.vector(dtype=dtype)
    for labels, arguments in ((phintys.gpu.host_from_gpu(y)[i:i + 6], [i]), (given, [given])):
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), labels).mean()
        function = phintys.function(arguments, [], updates=[(x, x - T.grad(cost, x))])
        assert launches_of_a_call(there, function, 0 if arguments == [i] else y.get_value()) == 0
    y.set_value(numpy.asarray([2, 0, 1, 2, 3, 0], dtype))
    function = phintys.function([], [], updates=[(x, x - T.grad(T.nnet.categorical_crossentropy(
        T.nnet.softmax(x), phintys.gpu.host_from_gpu(y)).mean(), x))])
    with pytest.raises(ValueError, match="the label of row 4 is 3"):
        function()


def test_labels_that_were_written_since_they_came(there):
    """By an update, in place, by the owner of an array, and by a copy: what was known does not hold any more."""
    x = phintys.shared(numpy.ones((4, 3), "float32"))
    for how in ("update", "argument in place", "array", "copy"):
        y = phintys.shared(numpy.asarray([2, 0, 1, 2], "int32"), target="cuda")
        labels, given = phintys.gpu.host_from_gpu(y), T.ivector()
        used = given + 1 if how == "argument in place" else labels
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(x), used).mean()
        function = phintys.function([given], cost, on_unused_input="ignore")
        fine = numpy.asarray([1, 0, 1, 0], "int32")
        function(fine)
        if how == "update":
            phintys.function([], [], updates=[(y, labels + 1)])()
        elif how == "array":
            y.get_value(borrow=True, return_internal_type=True).fill(5)
        elif how == "copy":
            y.set_value(phintys.gpu.GpuArrayType("int32", (False,)).filter(fine + 4), borrow=False)
        bad = fine + 1 if how == "argument in place" else fine
        with pytest.raises(ValueError, match="but there are 3 classes"):
            function(bad)
