"""The kernel of loops: a virtual machine inside an instruction."""
import pickle
import signal
import threading

import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.vm.files.programs import dumps, loads
from phintys.vm.loops.loop_kernel import LoopKernel
from phintys.vm.pool import fail_allocation

GC_MODES = [True, False, "plan"]


def kernels_of(function):
    return [kernel for kernel in function.program.kernels if isinstance(kernel, LoopKernel)]


def powers():
    """A function of a vector and a number of steps: its powers."""
    x, n = T.dvector("x"), T.lscalar("n")
    rows, _ = phintys.scan(lambda before, x: before * x, outputs_info=[T.ones_like(x)], non_sequences=[x], n_steps=n)
    return phintys.function([x, n], rows)


def test_a_scan_is_one_kernel():
    function = powers()
    assert len(kernels_of(function)) == 1
    assert "Python calls" in function.explain("instructions") and " 0 Python calls" in function.explain("instructions")


def test_programs_without_results_are_no_bodies():
    """Of a forged file: the first result was looked for beside the program's instructions, and overwritten there."""
    x = T.dvector()
    body, nothing = [phintys.function([x], outputs, on_unused_input="ignore").program for outputs in ([x * 2], [])]
    for program, ahead in ((nothing, None), (body, nothing)):
        with pytest.raises(ValueError, match="programs that have results"):
            LoopKernel(program, 1, (), 0, 0, False, (), (), "a loop", ahead=ahead)


@pytest.mark.parametrize("allow_gc", GC_MODES)
def test_shapes_that_change_from_call_to_call(allow_gc):
    with phintys.change_flags(allow_gc=allow_gc):
        function = powers()
    for length, steps in [(3, 4), (3, 4), (3, 2), (1, 5), (40, 3), (40, 300), (0, 2), (3, 0), (3, 1), (3, 4)]:
        x = numpy.linspace(0.9, 1.1, length)
        numpy.testing.assert_allclose(function(x, steps), x ** numpy.arange(1, steps + 1)[:, None])


@pytest.mark.parametrize("allow_gc", GC_MODES)
def test_carried_values_change_places(allow_gc):
    """Fibonacci's numbers by sums of two states, and values that are exchanged: results that are arguments."""
    n = T.lscalar()
    with phintys.change_flags(allow_gc=allow_gc):
        (a, b), _ = phintys.scan(lambda a, b: [b, a], outputs_info=[T.arange(4.0), T.arange(4.0) + 10], n_steps=n)
        function = phintys.function([n], [a[-1], b[-1]])
    for steps in (1, 2, 7, 8):
        first, second = function(steps)
        wanted = numpy.arange(4.0), numpy.arange(4.0) + 10
        numpy.testing.assert_array_equal([first, second], wanted[::-1] if steps % 2 else wanted)


def test_sums_are_added_in_place():
    x = T.dmatrix("x")
    rows, _ = phintys.scan(lambda row, w: T.tanh(T.dot(w, row)), sequences=[x], non_sequences=[w := T.dmatrix("w")])
    function = phintys.function([x, w], phintys.grad((rows ** 2).sum(), w))
    values, weights = numpy.random.RandomState(0).randn(9, 4), numpy.random.RandomState(1).randn(4, 4)
    hidden = numpy.tanh(values.dot(weights.T))
    wanted = (2 * hidden * (1 - hidden ** 2)).T.dot(values)
    for _ in range(3):
        numpy.testing.assert_allclose(function(values, weights), wanted)


def test_an_error_names_the_step_and_leaves_the_function_usable():
    x, positions, total = T.dvector("x"), T.lvector("positions"), phintys.shared(0.0)
    rows, _ = phintys.scan(lambda position, before, x: x[position] + 0 * before, sequences=[positions],
                           outputs_info=[numpy.float64(0)], non_sequences=[x])
    function = phintys.function([x, positions], rows, updates={total: total + rows.sum()})
    with pytest.raises(IndexError, match="in step 2 of"):
        function(numpy.arange(3.0), [0, 1, 7, 2])
    assert total.get_value() == 0
    numpy.testing.assert_array_equal(function(numpy.arange(3.0), [0, 2]), [0, 2])
    assert total.get_value() == 2


def test_rows_of_other_shapes_are_refused():
    lengths = T.lvector("lengths")
    rows, _ = phintys.scan(lambda length: T.arange(length), sequences=[lengths])
    function = phintys.function([lengths], rows)
    with pytest.raises(ValueError, match=r"has the shape \(3,\), and had the shape \(2,\) before"):
        function([2, 3])
    numpy.testing.assert_array_equal(function([3, 3]), [[0, 1, 2]] * 2)


def test_a_while_loop_grows_and_shrinks():
    limit = T.dscalar("limit")
    values, _ = phintys.scan(lambda x: (x * 1.01, phintys.scan_module.until(x > limit)),
                             outputs_info=[numpy.float64(1)], n_steps=100000)
    function = phintys.function([limit], values)
    for bound in (1.5, 1e5, 2.0, 1e9):
        got, wanted, x = function(bound), [], 1.0
        while True:
            wanted.append(x * 1.01)
            if x > bound:
                break
            x *= 1.01
        numpy.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("start", [0.0, [0.0, 0.0]], ids=["in registers", "replayed"])
def test_signals_stop_long_loops(start):
    n = T.lscalar()
    values, _ = phintys.scan(lambda x: x * 0.5 + 1, outputs_info=[numpy.array(start)], n_steps=n)
    function = phintys.function([n], values[-1].sum() / numpy.size(start))

    def stop(number, frame):
        raise InterruptedError("enough")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InterruptedError):
            function(10 ** 10)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert function(2) == 1.5


def test_two_threads_in_one_loop():
    function, results = powers(), {}

    def work(number):
        x = numpy.linspace(0.5, 1, number + 2)
        results[number] = [function(x, 50) for _ in range(20)], x

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, x in results.values():
        for row in rows:
            numpy.testing.assert_allclose(row, x ** numpy.arange(1, 51)[:, None])


def test_programs_with_loops_are_saved():
    function = powers()
    kernel, = kernels_of(function)
    again = pickle.loads(pickle.dumps(kernel))
    assert again.spec == kernel.spec
    loaded, = loads(dumps([function.program]))
    x = numpy.array([1.0, 2.0])
    numpy.testing.assert_array_equal(callable_of(loaded, single=True)(x, numpy.asarray(3)), function(x, 3))


def test_memory_that_runs_out_anywhere_in_a_loop():
    """An allocation that fails anywhere leaves a function that works."""
    x = T.dmatrix("x")
    rows, _ = phintys.scan(lambda row, before: T.tanh(row + before), sequences=[x], outputs_info=[T.zeros_like(x[0])])
    function = phintys.function([x], rows)
    value = numpy.random.RandomState(0).randn(5, 300)
    wanted = function(value)
    for position in range(1, 40):
        phintys.memory.trim()
        fail_allocation(position)
        try:
            function(value)
        except MemoryError:
            pass
        finally:
            fail_allocation(0)
        numpy.testing.assert_array_equal(function(value), wanted)


@pytest.mark.parametrize("options", [{}, {"inline": True}, {"mode": "FAST_RUN"}])
def test_a_graph_as_an_op_in_a_body_is_called_by_no_step(options):
    x, y = T.dvectors("xy")
    op = phintys.OpFromGraph([x, y], [T.tanh(x) * y], **options)
    start = T.dvector()
    rows, _ = phintys.scan(lambda before, y: op(before, y) + 1, outputs_info=start, non_sequences=[y], n_steps=4)
    function = phintys.function([start, y], [rows, *phintys.grad(rows.sum(), [start, y])])
    assert kernels_of(function) and "CALL" not in function.explain("instructions")
    at, factor = numpy.array([0.3, -0.2]), numpy.array([0.5, 2.0])
    rows, by_start, by_factor = function(at, factor)
    for row in rows:
        at = numpy.tanh(at) * factor + 1
        numpy.testing.assert_allclose(row, at)
    assert by_start.shape == by_factor.shape == (2,)
