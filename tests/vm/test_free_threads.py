"""What threads share has something that protects it where Python has no GIL; see vm/free_threads.h.

All of it runs with a GIL, too. Under a CPython built with ``--disable-gil`` (``.ci/free_threaded``) threads really run
at the same time, and the first test says that the GIL stays away.
"""
import queue
import re
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.callables.c_threads import call_in_threads

ROOT = Path(__file__).parents[2]
WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
THREADS = 8


def at_once(work, count=THREADS):
    """Let threads do ``work(number)`` at the same time; their results, in order."""
    results, errors, start = [None] * count, [], threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not errors, errors
    assert not any([thread.is_alive() for thread in threads])
    return results


@pytest.mark.skipif(not WITHOUT_GIL, reason="this Python has a GIL")
def test_importing_phintys_leaves_the_gil_off():
    program = ("import sys, phintys, phintys.tensor as T; x = T.vector(); "
               "phintys.function([x], T.dot(x, T.exp(x)))([1.0]); print(sys._is_gil_enabled())")
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


# What each file changes that belongs to no object, and why threads may: "turn", "lock" and "latch" are said in
# vm/free_threads.h; "option" is what only the configuration and tests set; "same": all threads find the same.
SHARED = {
    "ops/native/sets.pyx": "option", "ops/products/blas_library.pyx": "lock",
    "ops/random/generator_objects.pyx": "same",
    "ops/random/orders_kernel.pyx": "same", "vm/call_stack.pyx": "option", "vm/callables/callable.pyx": "option",
    "vm/containers/claims.pyx": "turn", "vm/containers/container.pyx": "turn", "vm/conversion.pyx": "option",
    "vm/loops/blocks.pyx": "option", "vm/loops/loop_kernel.pyx": "option", "vm/machine/interpreter.pyx": "option",
    "vm/pool.pyx": "lock"}


def sources():
    return [path for folder in ("ops", "vm") for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".pyx", ".pxd", ".pxi", ".h")]


def test_each_file_with_changing_globals_is_known():
    changing = {str(path.relative_to(ROOT)) for path in sources()
                if re.search(r"^ +global \w", path.read_text(), re.MULTILINE)}
    assert changing == set(SHARED)


def test_reference_counts_are_asked_for_in_one_place():
    """``Py_REFCNT`` is not the truth without a GIL: other threads count in another number."""
    asking = {str(path.relative_to(ROOT)) for path in sources()
              if re.search(r"Py_REFCNT|\.ob_refcnt", path.read_text())}
    assert asking == {"vm/free_threads.h"}


def test_threads_in_one_function():
    x = T.matrix()
    f = phintys.function([x], [T.exp(x) + x, x.sum(), T.dot(x, x.T)[0, 0]])

    def work(number):
        for size in (1, 3, 40, 200):
            value = np.random.RandomState(number).rand(size, size)
            kept = [f(value) for _ in range(20)]
            for first, total, corner in kept:       # none of them is written to again
                np.testing.assert_allclose(first, np.exp(value) + value)
                np.testing.assert_allclose([total, corner], [value.sum(), (value[0] ** 2).sum()])

    at_once(work)
    assert f.kept_bytes() >= 0


def test_threads_in_functions_of_their_own():
    x = T.vector()
    functions = [phintys.function([x], T.exp(x) * number + (x ** 2).sum()) for number in range(THREADS)]

    def work(number):
        for size in (2, 500, 30000):
            value = np.linspace(0, 1, size)
            for _ in range(20):
                np.testing.assert_allclose(functions[number](value), np.exp(value) * number + (value ** 2).sum())

    at_once(work)


def test_threads_compile_and_call():
    def work(number):
        for power in range(2, 5):
            x = T.vector(f"x{number}")
            f = phintys.function([x], [(x ** power).sum(), T.grad((x ** power).sum(), x)])
            total, gradient = f([1.0, 2.0])
            np.testing.assert_allclose(total, 1 + 2.0 ** power)
            np.testing.assert_allclose(gradient, [power, power * 2.0 ** (power - 1)])

    at_once(work)


@pytest.mark.parametrize("size", [1, 50, 50000])
def test_no_update_is_lost(size):
    counter, total = phintys.shared(np.zeros(size)), phintys.shared(0.0)
    step = phintys.function([], total + counter.sum(), updates=[(counter, counter + 1), (total, total + 1)])
    read = phintys.function([], [counter * 1, total])

    def work(number):
        for _ in range(50):
            if number % 2:
                step()
            else:
                values, count = read()
                assert (values == count).all()      # of one moment, and whole
                assert (counter.get_value() == counter.get_value()[0]).all() or size > 1

    at_once(work)
    assert total.get_value() == 50 * THREADS / 2 and (counter.get_value() == total.get_value()).all()


def test_containers_come_and_go_while_others_are_updated():
    kept = phintys.shared(np.zeros(3))
    step = phintys.function([], updates=[(kept, kept + 1)])

    def work(number):
        for _ in range(50):
            other = phintys.shared(np.ones(3) * number)
            other.set_value(np.zeros(4), borrow=True)
            step()
            assert other.get_value(borrow=True).shape == (4,)

    at_once(work)
    np.testing.assert_array_equal(kept.get_value(), np.full(3, 50.0 * THREADS))


@pytest.mark.parametrize("size", [1, 100, 5000])
def test_what_another_thread_holds_is_not_written_to(size):
    """A result goes to a thread that looks at it long after its maker has forgotten it."""
    x = T.vector()
    f = phintys.function([x], x * 2 + 1)
    passed = [queue.Queue() for _ in range(THREADS // 2)]

    def work(number):
        pair = passed[number // 2]
        if number % 2:
            kept = [pair.get(timeout=60) for _ in range(100)]
            for value, result in kept:
                assert (result == value * 2 + 1).all()
        else:
            for value in range(100):
                pair.put((value, f(np.full(size, float(value)))))

    at_once(work)


def test_an_argument_that_another_thread_holds_may_be_overwritten_only_if_given():
    x = T.vector()
    f = phintys.function([phintys.In(x, mutable=True)], T.exp(x))

    def work(number):
        for _ in range(50):
            value = np.full(1000, float(number))
            np.testing.assert_allclose(f(value), np.exp(number))

    at_once(work)


def test_frames_are_given_up_and_counted_while_others_call():
    x = T.matrix()
    steps = phintys.scan(lambda row, before: T.tanh(row + before), [x], [T.zeros(4)])[0]
    f = phintys.function([x], [steps[-1], (x * 2).sum()])
    value = np.linspace(-1, 1, 400).reshape(100, 4)
    expected = f(value)[0].copy()

    def work(number):
        for turn in range(50):
            if number == 0:
                f.free()
            elif number == 1:
                assert f.kept_bytes() >= 0
            else:
                np.testing.assert_array_equal(f(value)[0], expected)

    at_once(work)


def test_random_numbers_of_one_stream_are_drawn_once():
    draw = phintys.function([], T.shared_randomstreams.RandomStreams(seed=3).uniform(size=(4,)))
    drawn = at_once(lambda number: [draw() for _ in range(25)])
    numbers = np.concatenate([value for values in drawn for value in values])
    assert len(np.unique(numbers)) == len(numbers) == 100 * THREADS


def test_calls_of_c_functions_from_threads_of_c():
    x, scale = T.vector(), phintys.shared(2.0)
    f = phintys.function([x], T.exp(x) * scale).c_function("expand", {0: (10,)})
    points = [np.full(10, 0.1 * number) for number in range(THREADS)]
    for (status, result, _), point in zip(call_in_threads(f.address, points, 10, 50), points):
        assert status == 0
        np.testing.assert_allclose(result, np.exp(point) * 2)
