"""PROFILE: what calls of a measured program note, instruction by instruction."""
import threading

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.vm.callables.callable import Callable

x, c = T.dvector("x"), T.iscalar("c")
VALUE = numpy.arange(6.0)


def measured(function):
    """The same program, measured."""
    return Callable(function.program, function.argument_types, function.argument_names,
                    [False] * len(function.argument_types), [None] * len(function.argument_types), single=True,
                    measured="instructions")


def records(function, name):
    """(calls, bytes) of the instructions with a name."""
    return [(calls, size) for (calls, _, size), instruction in zip(
        function.measurements().records(), function.program.symbolic()) if instruction.name == name]


def test_functions_are_not_measured_unless_asked():
    assert phintys.function([x], x * 2).measurements() is None


@pytest.mark.parametrize("allow_gc", [True, False, "plan"])
def test_each_instruction_is_counted_and_timed(allow_gc):
    s = phintys.shared(numpy.zeros(6))
    plain = phintys.function([x], T.cumsum(T.cumsum(x)) + s, updates=[(s, s + x)], mode=phintys.Mode(allow_gc=allow_gc))
    f = measured(plain)
    for _ in range(5):
        f(VALUE)
    numpy.testing.assert_array_equal(s.get_value(), 5 * VALUE)
    profile = f.measurements()
    assert profile.calls == 5 and profile.seconds > 0
    assert [calls for calls, _, _ in profile.records()] == [5] * profile.count
    assert all(seconds > 0 for _, seconds, _ in profile.records())
    assert profile.seconds > sum([seconds for _, seconds, _ in profile.records()])
    assert set(records(f, "KERNEL")) == {(5, 5 * VALUE.nbytes)}


def test_branches_that_do_not_run_are_not_counted():
    f = measured(phintys.function([c, x], ifelse(c, T.cumsum(x), T.cumsum(x[::-1])), mode="FAST_COMPILE"))
    for chosen in (1, 1, 0):
        f(chosen, VALUE)
    assert sorted([calls for calls, _ in records(f, "KERNEL")])[-1] == 2
    assert records(f, "HALT") == [(3, 0.0)] and records(f, "RESULT") == [(3, 0.0)]


def test_a_failing_call_counts_up_to_where_it_failed():
    f = measured(phintys.function([x], T.cumsum(T.cumsum(x))))
    f(VALUE)
    position = [instruction.name for instruction in f.program.symbolic()].index("RESULT")
    f.fail_at(position)
    with pytest.raises(RuntimeError, match="asked to fail"):
        f(VALUE)
    f.fail_at(None)
    f(VALUE)
    assert f.measurements().calls == 3
    assert records(f, "KERNEL") == [(3, 3 * VALUE.nbytes)] * 2 and records(f, "RESULT") == [(2, 0.0)]


def test_kernels_that_fail_are_counted_too():
    y = T.dvector("y")
    f = measured(phintys.function([x, y], x + y))
    with pytest.raises(ValueError):
        f(VALUE, VALUE[:3])
    assert [calls for calls, _ in records(f, "KERNEL")] == [1]
    numpy.testing.assert_array_equal(f(VALUE, VALUE), 2 * VALUE)


def test_groups_run_one_after_the_other_so_that_each_kernel_has_its_time():
    rows = T.dmatrix("rows")
    with phintys.change_flags(workers=2):
        plain = phintys.function([rows], [T.join(0, rows, rows[::number]) for number in range(1, 4)])
        f = measured(plain)
        assert "TOGETHER" in plain.explain("instructions")
        f(numpy.ones((3, 3)))
    assert all([calls == 1 for calls, _ in records(f, "KERNEL")]) and records(f, "TOGETHER") == [(0, 0.0)]


def test_threads_lose_no_counts():
    f = measured(phintys.function([x], T.cumsum(T.cumsum(x))))
    large = numpy.zeros(200_000)                    # these kernels leave the GIL

    def work():
        for _ in range(20):
            f(large)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.measurements().calls == 80 and [calls for calls, _ in records(f, "KERNEL")] == [80, 80]


def test_a_function_that_calls_itself():
    again = []

    class Twice(phintys.Op):
        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = again[0](inputs[0] - 1) + 1 if inputs[0][0] > 0 else inputs[0] * 0

    f = measured(phintys.function([x], T.cumsum(Twice()(x))))
    again.append(f)
    f(numpy.array([3.0]))
    assert f.measurements().calls == 4 and records(f, "CALL") == [(4, 4 * 8.0)]


def test_reset_and_the_first_call():
    f = measured(phintys.function([x], T.cumsum(x)))
    profile = f.measurements()
    profile.skips_first = True
    for _ in range(3):
        f(VALUE)
    assert profile.calls == 2 and [calls for calls, _ in records(f, "KERNEL")] == [2]
    profile.reset()
    assert profile.calls == 0 and profile.seconds == 0 and profile.records() == [(0, 0.0, 0.0)] * profile.count
