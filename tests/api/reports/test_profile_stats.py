"""``profile=``: what is measured, how it adds up, and what is printed."""
import gc
import io
import os
import pickle
import subprocess
import sys
import weakref

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.compile import ProfileStats
from phintys.compile.profiling import print_global_stats, register_profiler_printer
from phintys.ifelse import ifelse
from phintys.reports import profile_stats

x, c = T.dvector("x"), T.iscalar("c")
VALUE = numpy.arange(8.0)


class InPython(phintys.Op):
    """An op without a kernel."""

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


def summary(stats, **options):
    file = io.StringIO()
    with phintys.change_flags(options):
        stats.summary(file)
    return file.getvalue()


def three_nodes(profile=True, **options):
    return phintys.function([x], T.cumsum(InPython()(T.cumsum(x))), profile=profile, **options)


def test_names_are_theanos():
    assert phintys.ProfileStats is phintys.compile.ProfileStats is phintys.compile.profiling.ProfileStats


@pytest.mark.parametrize("profile, message", [(True, "named"), ("a title", "a title")])
def test_a_function_has_a_profile_if_asked(profile, message):
    assert three_nodes(None).profile is None and three_nodes(False).profile is None
    assert three_nodes(profile, name="named").profile.message == message


def test_calls_and_nodes_are_counted():
    f = three_nodes()
    for _ in range(4):
        f(VALUE)
    stats = f.profile
    assert (stats.fct_callcount, stats.nb_nodes) == (4, 3)
    assert set(stats.apply_callcount.values()) == {4}
    assert stats.apply_callcount.keys() == stats.apply_time.keys() == set(f.maker.compiled.apply_nodes)
    assert {type(node.op): native for node, native in stats.apply_cimpl.items()} == {
        T.extra_ops.CumOp: True, InPython: False}
    assert set(stats.apply_bytes.values()) == {4 * VALUE.nbytes}
    assert stats.fct_call_time > stats.vm_call_time > sum(stats.apply_time.values()) > 0


def test_sums_by_op_and_class():
    f = three_nodes()
    f(VALUE)
    stats = f.profile
    assert stats.class_callcount() == stats.class_nodes() == {T.extra_ops.CumOp: 2, InPython: 1}
    assert stats.class_impl() == {T.extra_ops.CumOp: "C ", InPython: "Py"}
    assert stats.class_bytes() == {T.extra_ops.CumOp: 2 * VALUE.nbytes, InPython: VALUE.nbytes}
    for total in (stats.class_time(), stats.op_time()):
        assert sum(total.values()) == pytest.approx(sum(stats.apply_time.values()))
    assert sorted(stats.op_callcount().values()) == sorted(stats.op_nodes().values()) == [1, 2]
    assert sorted(stats.op_impl().values()) == ["C ", "Py"] and sum(stats.op_bytes().values()) == 3 * VALUE.nbytes
    last = f.maker.compiled.outputs[0].owner
    assert stats.compute_total_times()[last] == pytest.approx(sum(stats.apply_time.values()))


def test_nodes_in_branches_that_did_not_run_have_no_times():
    f = phintys.function([c, x], ifelse(c, T.cumsum(x), InPython()(x)), profile=True)
    f(1, VALUE)
    assert InPython not in f.profile.class_time() and T.extra_ops.CumOp in f.profile.class_time()
    assert f.profile.nb_nodes > len(f.profile.apply_time)


@pytest.mark.parametrize("late", [False, True])
def test_updates_are_counted_once(late):
    """In place, an update has two instructions."""
    s = phintys.shared(numpy.zeros(8))
    new = T.inc_subtensor(s[2:4], 1.0) if late else s[::-1] + x
    f = phintys.function([x], [], updates=[(s, new)], profile=True, on_unused_input="ignore")
    assert ("PREPARE" in f.explain("instructions")) == late
    f(VALUE), f(VALUE)
    assert set(f.profile.apply_callcount.values()) == {2}


def test_functions_share_a_profile():
    stats = ProfileStats(atexit_print=False, gpu_checks=False, message="both")
    first, second = three_nodes(stats), phintys.function([x], T.cumsum(x), profile=stats)
    assert first.profile is second.profile is stats
    first(VALUE), second(VALUE), second(VALUE)
    assert stats.fct_callcount == 3 and stats.nb_nodes == 4
    assert stats.class_callcount()[T.extra_ops.CumOp] == 4
    assert "Message: both" in summary(stats) and "Time in 3 calls" in summary(stats)


def test_profiles_are_combined():
    first, second = three_nodes(), three_nodes()
    first(VALUE), second(VALUE), second(VALUE)
    total = first.profile.combine([second.profile], "together")
    assert total.fct_callcount == 3 and total.nb_nodes == 6 and total.message == "together"
    assert total.compile_time == first.profile.compile_time + second.profile.compile_time
    assert first.profile.combine([first.profile]).fct_callcount == 1
    assert first.profile.fct_callcount == 1


def test_compile_times():
    stats = three_nodes().profile
    parts = stats.rebuild_time, stats.optimizer_time, stats.linker_time
    assert min(parts) > 0 and stats.compile_time == pytest.approx(sum(parts))
    seconds, replacements = stats.optimizer_profile["canonicalize"]
    assert 0 < seconds < stats.optimizer_time and replacements == 0
    assert sum([seconds for seconds, _ in stats.optimizer_profile.values()]) < stats.optimizer_time


def test_replacements_are_counted_by_stage():
    f = phintys.function([x], T.log(1 + T.exp(x * 1)), profile=True)
    assert sum([made for _, made in f.profile.optimizer_profile.values()]) > 0


def test_reset_forgets_calls_only():
    f = three_nodes()
    f(VALUE)
    f.profile.reset()
    assert f.profile.fct_callcount == 0 and f.profile.apply_time == {} and f.profile.compile_time > 0
    f(VALUE)
    assert f.profile.fct_callcount == 1


def test_failed_calls_are_counted():
    class Failing(InPython):
        def perform(self, node, inputs, output_storage):
            raise RuntimeError("as it should")

    f = phintys.function([x], T.cumsum(Failing()(T.cumsum(x))), profile=True)
    with pytest.raises(RuntimeError, match="as it should"):
        f(VALUE)
    assert f.profile.fct_callcount == 1
    assert f.profile.class_callcount() == {T.extra_ops.CumOp: 1, Failing: 1}


def test_all_kinds_of_calls_are_counted():
    f = phintys.function([phintys.In(x, value=VALUE)], T.cumsum(x), profile=True)
    f(), f(VALUE), f(x=VALUE), f(VALUE, output_subset=[0])
    assert f.profile.fct_callcount == 4


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode", "NanGuardMode", phintys.Mode(allow_gc="plan")])
def test_all_modes_can_be_measured(mode):
    f = three_nodes(mode=mode)
    numpy.testing.assert_array_equal(f(VALUE), numpy.cumsum(2 * numpy.cumsum(VALUE)))
    assert f.profile.fct_callcount == 1 and "Class" in summary(f.profile)


# ---- configuration ---------------------------------------------------------------------------------------------------
def test_the_configuration_measures_every_function(monkeypatch):
    monkeypatch.setattr(profile_stats, "_at_exit", [None])
    with phintys.change_flags(profile=True):
        assert three_nodes(None).profile is not None and three_nodes(False).profile is None
    with phintys.change_flags(print_global_stats=True):
        assert three_nodes(None).profile is not None
    assert len(profile_stats._at_exit) == 3


def test_only_calls_are_timed_if_asked():
    with phintys.change_flags({"profiling.time_thunks": False}):
        f = three_nodes()
    f(VALUE)
    assert f.profile.fct_callcount == 1 and f.profile.fct_call_time > 0 and f.profile.vm_call_time == 0
    assert "time_thunks" in summary(f.profile)


def test_the_first_call_can_be_left_out():
    with phintys.change_flags({"profiling.ignore_first_call": True}):
        f = three_nodes()
    f(VALUE), f(VALUE), f(VALUE)
    assert f.profile.fct_callcount == 2 and set(f.profile.apply_callcount.values()) == {2}


# ---- text ------------------------------------------------------------------------------------------------------------
def test_a_summary_has_what_theanos_has():
    f = three_nodes(name="my function")
    f(VALUE), f(VALUE)
    text = summary(f.profile)
    for part in ("Function profiling", "Message: my function", "Time in 2 calls to Function.__call__",
                 "Time in Function.fn.__call__", "Time in thunks", "Time outside thunks", "2 instructions RESULT",
                 "Total compile time", "Number of Apply nodes: 3", "Optimizer time", "Linker time", "<Class name>",
                 "<Op name>", "<Apply name>", "<bytes per call>", "remaining 0 Apply instances"):
        assert part in text
    rows = [line.split() for line in text.splitlines() if line.endswith("InPython")]
    assert [row[4:8] for row in rows] == [[str(VALUE.nbytes), "Py", "2", "1"]] * 2         # by class, and by op
    assert "Memory Profile" not in text and "Optimizer Profile" not in text


def test_a_summary_names_the_users_lines():
    f = three_nodes()
    f(VALUE)
    text = summary(f.profile)
    assert text.count(f'File "{__file__}", line') == 3
    assert "in three_nodes: return phintys.function([x], T.cumsum(InPython()(T.cumsum(x)))" in text


def test_tables_are_cut():
    f = phintys.function([x], T.cumsum(InPython()(T.cumsum(x)) ** 3.5), profile=True)
    f(VALUE)
    text = summary(f.profile, **{"profiling.n_apply": 1, "profiling.n_ops": 2})
    assert "remaining 3 Apply instances" in text and "remaining 1 Ops" in text and "remaining 1 Classes" in text
    file = io.StringIO()
    f.profile.summary(file, n_ops_to_print=1, n_apply_to_print=3)
    assert "remaining 1 Apply instances" in file.getvalue() and "remaining 2 Ops" in file.getvalue()


def test_a_summary_goes_to_the_standard_error_output(capsys):
    three_nodes().profile.summary()
    captured = capsys.readouterr()
    assert "Time in 0 calls" in captured.err and not captured.out


def test_memory_and_shapes():
    with phintys.change_flags(profile_memory=True):
        f = three_nodes()
        assert f.profile.variable_shape == {}
        f(VALUE)
        variables = f.maker.compiled.outputs[0].owner.inputs
        assert [f.profile.variable_shape[variable] for variable in variables] == [(8,)]
        assert [f.profile.output_size[variable] for variable in variables] == [64]
        text = summary(f.profile)
    assert "Memory Profile" in text and "allow_gc=True" in text and "output 0: dtype=float64, shape=(8,)" in text
    assert f.profile.variable_shape == {}


def test_memory_of_a_function_all_of_whose_calls_failed():
    y = T.dvector("y")
    with phintys.change_flags(profile_memory=True):
        f = phintys.function([x, y], T.cumsum(x + y), profile=True)
        with pytest.raises(ValueError):
            f(VALUE, VALUE[:3])
        assert "was not called yet" in summary(f.profile)


def test_a_profile_of_functions_cannot_be_pickled():
    stats = pickle.loads(pickle.dumps(ProfileStats(atexit_print=False, message="empty")))
    assert stats.message == "empty" and stats.fct_callcount == 0
    with pytest.raises(TypeError, match="cannot be pickled: print its summary"):
        pickle.dumps(three_nodes(stats).profile)


def test_all_stages_are_listed_if_asked():
    stats = three_nodes().profile
    assert "drop_unused_outputs" in summary(stats, profile_optimizer=True)
    assert "drop_unused_outputs" not in summary(stats).partition("Optimizer Profile")[2]


def test_graphs_are_printed_if_asked():
    f = three_nodes()
    f(VALUE)
    graphs = summary(f.profile, **{"profiling.debugprint": True}).partition("Apply instances")[2]
    assert graphs.count("CumOp") == 2 and graphs.count("InPython") == 1


def test_printers_of_users(monkeypatch):
    monkeypatch.setattr(profile_stats, "_printers", [])

    @register_profiler_printer
    def more(message, compile_time, fct_call_time, apply_time, apply_cimpl, output_size, file):
        print("more about", message, len(apply_time), file=file)

    f = three_nodes(name="it")
    f(VALUE)
    assert "more about it 3" in summary(f.profile)


def test_a_profile_does_not_keep_its_function_alive():
    f = three_nodes(ProfileStats(atexit_print=False))
    f(VALUE)
    stats, gone = f.profile, weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None and stats.fct_callcount == 1 and "InPython" in summary(stats)


def run_to_exit(flags, program):
    program = "import numpy, phintys, phintys.tensor as T\nx = T.dvector('x')\n" + program
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                         env=dict(os.environ, PHINTYS_FLAGS=flags))
    return run.stdout, run.stderr


TWO = "\n".join([f"f = phintys.function([x], {expression}, name='{name}')\nf(numpy.ones(3))"
                 for name, expression in (("first", "T.cumsum(x)"), ("second", "x.sum()"))])


def test_profiles_are_printed_at_exit():
    out, err = run_to_exit("profile=True", TWO)
    assert not out and "Message: first" in err and "Message: second" in err
    assert "Sum of all (2) printed profiles at exit" in err and "Time in 2 calls" in err


def test_profiles_are_printed_where_the_configuration_says(tmp_path):
    target = tmp_path / "profile.txt"
    out, err = run_to_exit(f"profile,profiling.destination={target},print_global_stats", TWO)
    assert not out and not err
    assert "Message: second" in target.read_text() and "Global stats" in target.read_text()


def test_nothing_is_printed_at_exit_otherwise():
    assert run_to_exit("", TWO.replace("name=", "profile=True, name=")) == ("", "")


def test_global_stats(capsys):
    print_global_stats()
    assert "Time spent compiling functions" in capsys.readouterr().err
