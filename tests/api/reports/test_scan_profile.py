"""Profiles of loops: what is counted, for kernels and for steps in Python, and where it is printed."""
import io
import os
import pickle
import subprocess
import sys

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.compile import ScanProfileStats
from phintys.reports import profile_stats
from phintys.scan_module import until
from phintys.scan_module.scan_op import Scan

x = T.dmatrix("x")
VALUE = numpy.linspace(0, 1, 15).reshape(5, 3)


def loops_of(function):
    return [node.op for node in function.maker.fgraph.toposort() if isinstance(node.op, Scan)]


def network(profile=True, of_function=None):
    """The states of a loop, and a gradient."""
    w = phintys.shared(numpy.eye(3), "w")
    states, _ = phintys.scan(lambda row, state: T.tanh(row + T.dot(state, w)), x, T.zeros((3,)), profile=profile,
                             name="network")
    return phintys.function([x], [states, T.grad(states.sum(), w)], profile=of_function)


def summary(stats):
    file = io.StringIO()
    stats.summary(file)
    return file.getvalue()


def test_names_are_theanos():
    assert phintys.compile.profiling.ScanProfileStats is ScanProfileStats
    assert issubclass(ScanProfileStats, phintys.ProfileStats)


@pytest.fixture(autouse=True)
def nothing_is_printed_at_the_end(monkeypatch):
    monkeypatch.setattr(profile_stats, "_at_exit", [None])


def test_steps_are_not_measured_unless_asked():
    f = network(False)
    f(VALUE)
    assert [op.step_profile() for op in loops_of(f)] == [None, None] and not any([op.profile for op in loops_of(f)])


def test_the_profile_of_a_function_measures_its_loops():
    plain, f = network(False), network(False, of_function=True)
    f(VALUE), f(VALUE)
    assert [op.step_profile().nbsteps for op in loops_of(f)] == [10, 10]
    text = summary(f.profile)
    rows = text[text.index("Scan overhead"):].splitlines()[2:4]
    assert all(["for{cpu," in row and row.count("%") == 2 for row in rows])
    for part in ("Scan Op profiling ( network )", "Scan Op profiling ( grad_of_network )",
                 "Time in 2 calls of the op (for a total of 10 steps)"):
        assert part in text
    assert [op.step_profile() for op in loops_of(plain)] == [None, None]


@pytest.mark.parametrize("profile, title", [(True, "network sub profile"), ("my title", "my title sub profile")])
def test_a_profile_that_a_loop_asks_for_is_printed_at_the_end(profile, title, capsys):
    f = network(profile)
    f(VALUE)
    network(False, of_function=True)(VALUE)                 # the functions' own are printed by their summaries
    profile_stats._at_exit.remove(None)
    profile_stats.print_at_exit()
    text = capsys.readouterr().err
    assert text.count("Scan Op profiling") == 2 and f"Message: {title}" in text and "Function profiling" not in text


@pytest.mark.parametrize("profile, names", [(True, ["network", "grad_of_network"]), ("title", ["title", "title"])])
def test_runs_steps_and_operations_are_counted(profile, names):
    f = network(profile)
    for rows in (5, 2, 3):
        f(VALUE[:rows])
    found = [op.step_profile() for op in loops_of(f)]
    assert [stats.name for stats in found] == names
    for stats in found:
        assert (stats.callcount, stats.nbsteps, stats.fct_callcount) == (3, 10, 3)
        assert set(stats.apply_callcount.values()) == {10}
        assert stats.call_time >= stats.vm_call_time >= sum(stats.op_time().values()) > 0
        assert f"<ScanProfileStats '{stats.name} sub profile': 3 runs, 10 steps" in repr(stats)
    assert {str(op).split("{")[0]: count for op, count in found[0].op_callcount().items()}["Gemv"] == 10


def test_the_profile_of_a_function_shows_those_of_its_loops():
    f = network(of_function=True)
    f(VALUE)
    text = summary(f.profile)
    rows = text[text.index("Scan overhead"):].splitlines()[2:4]
    assert ["for{cpu,network}" in row or "for{cpu,grad_of_network}" in row for row in rows] == [True, True]
    assert all([row.count("%") == 2 for row in rows])
    assert "Scan overhead" not in summary(phintys.function([x], T.exp(x), profile=True).profile)


def test_a_summary_of_its_own():
    f = network()
    f(VALUE), f(VALUE)
    text = summary(loops_of(f)[0].step_profile())
    for part in ("Scan Op profiling ( network )", "Message: network sub profile",
                 "Time in 2 calls of the op (for a total of 10 steps)", "Total time spent in calling the VM",
                 "Total overhead (computing slices..)", "<Op name>", "in <lambda>: states, _ = phintys.scan("):
        assert part in text
    assert "Function profiling" not in text and "profiler was loaded" not in text
    assert "Scan Op" not in summary(ScanProfileStats(atexit_print=False))


def test_steps_without_instructions(monkeypatch):
    """A body over single numbers may be computed in registers; then its time is that of the runs."""
    k = T.lscalar()
    rows, _ = phintys.scan(lambda state: state + 1, outputs_info=T.constant(0, dtype="float64"), n_steps=k,
                           profile=True, name="counting")
    f = phintys.function([k], rows[-1], profile=True)
    f(100), f(20)
    stats = loops_of(f)[0].step_profile()
    if not stats.in_registers:
        monkeypatch.setattr(ScanProfileStats, "in_registers", True)
    assert (stats.callcount, stats.nbsteps) == (2, 120) and stats.vm_call_time == stats.call_time > 0
    text = summary(stats)
    assert "computed in registers" in text and "(100.000%)" in text and "for a total of 120 steps" in text
    assert "hint" not in text and "Class" not in text and "for{cpu,counting}" in summary(f.profile)


def test_a_profile_can_be_passed():
    stats = ScanProfileStats(atexit_print=False, name="mine")
    f = network(stats)
    f(VALUE)
    assert loops_of(f)[0].step_profile() is stats and (stats.callcount, stats.nbsteps) == (2, 10)


def test_the_configuration_measures_all_loops(monkeypatch):
    monkeypatch.setattr(profile_stats, "_at_exit", [None])
    with phintys.change_flags(profile=True):
        f = network(False)
    f(VALUE)
    assert [op.step_profile().nbsteps for op in loops_of(f)] == [5, 5]
    assert [type(stats) for stats in profile_stats._at_exit[1:]].count(ScanProfileStats) == 2


def test_only_runs_are_timed_if_asked():
    with phintys.change_flags({"profiling.time_thunks": False}):
        f = network()
    f(VALUE)
    stats = loops_of(f)[0].step_profile()
    assert (stats.callcount, stats.nbsteps, stats.vm_call_time) == (1, 5, 0) and stats.call_time > 0


def test_the_first_run_can_be_left_out_and_runs_forgotten():
    with phintys.change_flags({"profiling.ignore_first_call": True}):
        f = network()
    f(VALUE), f(VALUE[:2]), f(VALUE[:3])
    stats = loops_of(f)[0].step_profile()
    assert (stats.callcount, stats.nbsteps) == (2, 5)
    stats.reset()
    assert (stats.callcount, stats.nbsteps, stats.apply_callcount) == (0, 0, {})


def test_steps_in_python():
    values = phintys.shared([1])                    # its values are Python objects: no kernel runs the loop

    @phintys.as_op(itypes=[values.type], otypes=[values.type])
    def longer(value):
        return [[*value, len(value)]]

    _, updates = phintys.scan(lambda: {values: longer(values)}, n_steps=3, profile=True, name="python")
    f = phintys.function([], [], updates=updates, profile=True)
    f(), f()
    op, = loops_of(f)
    stats = op.step_profile()
    assert stats is op.fn.profile and (stats.callcount, stats.nbsteps) == (2, 6)
    assert list(stats.op_callcount().values()) == [6] and stats.call_time >= stats.vm_call_time > 0
    assert "for a total of 6 steps" in summary(stats) and "for{cpu,python}" in summary(f.profile)
    stats.reset()
    assert (stats.callcount, stats.nbsteps, stats.call_time) == (0, 0, 0)


def test_nested_loops_and_conditions():
    def step(row, state):
        inner, _ = phintys.scan(lambda state: T.tanh(state) + 1, outputs_info=state, n_steps=4, profile=True,
                                name="inner")
        return inner[-1] + row, until(state[0] > 1)

    states, _ = phintys.scan(step, x, T.zeros((3,)), profile=True, name="outer")
    f = phintys.function([x], states)
    rows = len(f(VALUE))
    outer, = loops_of(f)
    inner, = [node.op for node in outer.step_profile().by_node() if isinstance(node.op, Scan)]
    assert (outer.step_profile().callcount, outer.step_profile().nbsteps) == (1, rows)
    assert (inner.step_profile().callcount, inner.step_profile().nbsteps) == (rows, 4 * rows)


def test_a_loop_that_fails_is_counted():
    positions = T.lvector()
    rows, _ = phintys.scan(lambda position, row: row[position], positions, non_sequences=x[0] + 0, profile=True)
    rows, _ = phintys.scan(lambda position, state, row: state + T.exp(row)[position], positions,
                           [numpy.float64(0)], x[0] + 0, profile=True)
    f = phintys.function([x, positions], rows)
    f(VALUE, [0, 1])
    with pytest.raises(IndexError, match="in step 2"):
        f(VALUE, [0, 1, 7, 1])
    stats = loops_of(f)[0].step_profile()
    assert (stats.callcount, stats.nbsteps) == (2, 4)


def test_loops_that_are_measured_are_merged_with_their_like_only():
    first, second = [phintys.scan(lambda row, state: T.tanh(row * factor + state), x, T.zeros((3,)), profile=profile)[0]
                     for factor, profile in ((1, True), (2, False))]
    third, _ = phintys.scan(lambda row, state: T.exp(state - row), x, T.zeros((3,)), profile=True)
    assert len(loops_of(phintys.function([x], [first, second, third]))) == 2


def test_pickles_have_no_records():
    f = network()
    f(VALUE)
    again = pickle.loads(pickle.dumps(f))
    again(VALUE)
    assert [op.step_profile().nbsteps for op in loops_of(again)] == [5, 5]


def test_profiles_of_loops_are_printed_at_exit():
    program = """
import numpy, phintys
x = phintys.tensor.dvector("x")
rows, _ = phintys.scan(lambda row, state: row * state + 1, x, x[0], name="loop")
phintys.function([x], rows, name="f")(numpy.ones(7))
"""
    environment = dict(os.environ, PHINTYS_FLAGS="profile=True,profiling.destination=stdout")
    text = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                          check=True).stdout
    assert "Message: f\n" in text and "Scan Op profiling ( loop )" in text and "(for a total of 7 steps)" in text
    assert "Sum of all" not in text                 # the loop's time is a part of the function's
