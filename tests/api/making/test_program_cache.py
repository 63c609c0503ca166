"""The cache of programs: what is found, what has no key, what each part of a key changes, files and folders."""
import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.graph.config import ACCEPTED, OPTIONS
from phintys.making import cached_program, function_maker, graph_key, program_cache
from phintys.vm.program import Program

SUPPORT = Path(__file__).parents[2] / "support"
x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")
VALUE = numpy.array([0.5, -1.0, 2.0])
kept = T.dvector("x")
kept.tag.indestructible = True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is the cache, with what the process notes of folders forgotten."""
    monkeypatch.setattr(program_cache, "_folders", {})
    monkeypatch.setattr(program_cache, "_warned", set())
    tmp_path = tmp_path / "cache"
    with phintys.change_flags(program_cache=str(tmp_path)):
        yield tmp_path


@pytest.fixture
def runs(monkeypatch):
    """The graphs that are optimised."""
    seen = []

    def counted(fgraph, *rest):
        seen.append(fgraph)
        return optimize(fgraph, *rest)

    optimize = function_maker.optimize
    monkeypatch.setattr(function_maker, "optimize", counted)
    return seen


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def made(**options):
    return phintys.function([x, y], T.exp(x) * 2 + y, **options)


def key(inputs, outputs, **options):
    """The key of a function, or why it has none."""
    function = phintys.function(inputs, outputs, **options)
    return function.maker._entry._key if function.maker.cached in ("found", "stored") else function.maker.cached


# ---- processes -------------------------------------------------------------------------------------------------------
def process(folder, *more):
    run = subprocess.run([sys.executable, "cached_programs.py", folder, *more], stdout=subprocess.PIPE, text=True,
                         check=True, cwd=SUPPORT)
    return json.loads(run.stdout)


def test_a_later_process_finds_programs_that_compute_the_same_bits(tmp_path):
    place = str(tmp_path / "cache")
    without, first, second = process(""), process(place), process(place)
    stored = {name for name, answer in first.items() if answer["state"] == "stored"}
    assert len(stored) > 70 and {"drawn", "sparse", "lists", "loop", "streams", "states", "seed 0"} <= stored
    assert {answer["state"] for name, answer in first.items() if name not in stored} == {
        answer["state"] for answer in first.values() if answer["state"].startswith("not used: a ")}
    for name, answer in without.items():
        assert answer["bits"] == first[name]["bits"] == second[name]["bits"], name
        if name in stored:
            assert second[name]["state"] == "found"
            assert second[name]["runs"] == (1 if answer["error"] else 0), name
    for name, line in (("failing", "the line of the error"), ("failing in a loop", "the line of the loop")):
        assert second[name]["error"] == without[name]["error"] and line in second[name]["error"]


def test_processes_may_write_and_read_at_once(tmp_path):
    text = ("import sys; sys.path[:0] = ['.']; import phintys, phintys.tensor as T; x = T.dvector('x')\n"
            "phintys.config.program_cache = sys.argv[1]\n"
            "for n in range(30):\n"
            "    f = phintys.function([x], T.exp(x) * n)\n"
            "    assert f([0.0]) == n and f.maker.cached in ('stored', 'found'), f.maker.cached\n")
    place = tmp_path / "cache"
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", text, str(place)], cwd=SUPPORT)
               for _ in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    assert len(files(place)) == 30 and not [name for name in files(place) if name.startswith("new-")]


# ---- in one process --------------------------------------------------------------------------------------------------
def test_what_is_found_is_not_optimised(folder, runs):
    first = made()
    assert first.maker.cached == "stored" and len(runs) == 1 and len(files(folder)) == 1
    second = made()
    assert second.maker.cached == "found" and len(runs) == 1
    numpy.testing.assert_array_equal(second(VALUE, VALUE), first(VALUE, VALUE))
    assert len(runs) == 1
    assert "program cache: found" in second.explain()
    assert second.explain().replace("found", "stored") == first.explain().replace("found", "stored")
    assert len(runs) == 2 and second.program.nodes is not None
    assert [type(node.op) for node in second.maker.fgraph.toposort()] == [
        type(node.op) for node in first.maker.fgraph.toposort()]
    assert len(runs) == 2


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert phintys.config.program_cache == "" and made().maker.cached == "" and not files(tmp_path)
    assert "program cache" not in made().explain()


def test_values_of_shared_variables_are_of_this_process(folder):
    for value in (1.0, 2.0):
        w, total = phintys.shared(VALUE * value, "w"), phintys.shared(0.0, "total")
        f = phintys.function([x], (w * x).sum(), updates=[(total, total + 1), (w, w * 2)])
        assert f(VALUE) == value * (VALUE ** 2).sum()
        numpy.testing.assert_array_equal(w.get_value(), VALUE * value * 2)
        assert total.get_value() == 1.0 and f[w].tolist() == w.get_value().tolist()
    assert f.maker.cached == "found" and len(files(folder)) == 1


def test_large_constants_are_in_the_key_but_not_in_the_file(folder):
    for number, state in ((0.0, "stored"), (1.0, "stored"), (0.0, "found")):
        content = numpy.full((200, 200), 2.0)
        content[-1, -1] = number
        f = phintys.function([m], T.dot(m, T.constant(content)))
        assert f.maker.cached == state and f(numpy.ones((1, 200)))[0, -1] == 398 + number
    assert all(os.path.getsize(folder / name) < 20_000 for name in files(folder))


def test_several_functions_of_a_maker(folder, runs):
    made()
    maker = phintys.FunctionMaker([x, y], T.exp(x) * 2 + y)
    functions = [maker.create(), maker.create()]
    assert maker.cached == "found" and len(runs) == 1
    for function in functions:
        assert function(VALUE, VALUE).tolist() == (numpy.exp(VALUE) * 2 + VALUE).tolist()


def test_a_container_of_two_inputs_is_compiled(folder, runs):
    a = T.dvector("a")
    for _ in range(2):
        w = phintys.shared(VALUE, "w")
        f = phintys.function([In(a, value=w, update=a * 2)], a + w)
        assert f().tolist() == (VALUE * 2).tolist() and f().tolist() == (VALUE * 4).tolist()
    assert len(runs) == 2 and not files(folder)


@pytest.mark.parametrize("again", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy, lambda f: f.copy(),
                                   lambda f: f.copy(delete_updates=True)])
def test_copies_of_what_was_found(folder, again):
    for state in ("stored", "found"):
        w = phintys.shared(VALUE.copy(), "w")
        f = phintys.function([x], [T.exp(x) + w], updates=[(w, w + 1)])
        assert f.maker.cached == state
        twin = again(f)
        assert twin(VALUE)[0].tolist() == (numpy.exp(VALUE) + VALUE).tolist()
        with pytest.raises(ValueError, match=r"test_program_cache.py(:|\", line )\d+"):
            twin([1.0])


def test_a_copy_is_not_optimised(folder, runs):
    made()
    twin = made().copy(name="twin")
    assert len(runs) == 1 and twin.name == "twin" and twin(VALUE, VALUE)[0].shape == (3,)


def test_what_is_found_can_be_saved(folder, tmp_path):
    for _ in range(2):
        f = made()
        f.save(tmp_path / "f", include_graph=True)
        loaded = phintys.load(tmp_path / "f")
        assert loaded(VALUE, VALUE).tolist() == f(VALUE, VALUE).tolist() and len(loaded.graph().inputs) == 2
        assert "test_program_cache.py" in loaded.explain()
    assert f.maker.cached == "found"


def test_what_another_option_makes_of_a_program_is_not_believed(folder, monkeypatch):
    """A program that is not the same has no nodes and lines to offer; results stay what they are."""
    made()
    found = made()
    monkeypatch.setattr(cached_program, "is_same", lambda one, other: False)
    assert found.program.nodes is None and found(VALUE, VALUE).shape == (3,)
    with pytest.raises(ValueError, match="mis-match") as failure:
        found(VALUE, VALUE[:2])
    assert "at instruction" in str(failure.value) and "line" not in str(failure.value)


def test_programs_with_other_code_are_not_the_same():
    one, other = made().program, phintys.function([x, y], T.exp(x) * y).program
    assert cached_program.is_same(one, made().program) and not cached_program.is_same(one, other.without_graph())


def test_options_of_the_key_hold_while_the_graph_is_made(folder):
    with phintys.change_flags(math_rules="strict"):
        for _ in range(2):
            found = phintys.function([x], T.log(T.exp(x).sum()))
        listed = found.program.kernels
    assert found.maker.cached == "found" and found.program.nodes is not None and found.program.kernels == listed


def test_errors_of_arguments_name_them(folder):
    for _ in range(2):
        f = made()
        with pytest.raises(TypeError, match=r'name "y".*index 1.*Declared at: File ".*test_program_cache.py"'):
            f(VALUE, "text")
    assert f.maker.cached == "found"


def test_two_threads_ask_for_the_graph(folder, runs):
    made()
    found, answers = made(), []
    threads = [threading.Thread(target=lambda: answers.append(found.program.nodes)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 2 and len(answers) == 4 and None not in answers


# ---- keys ------------------------------------------------------------------------------------------------------------
def plain(**changed):
    options = {"inputs": [x, y], "outputs": T.exp(x) * 2 + y} | changed
    return key(options.pop("inputs"), options.pop("outputs"), **options)


def of_scan(body, **options):
    return key([m], phintys.scan(body, sequences=m, outputs_info=T.zeros(3), **options)[0])


w, v = phintys.shared(VALUE, "w"), phintys.shared(VALUE, "v")
long, column = T.constant(numpy.arange(100.0)), T.dcol("m")
single, other = T.fvector("x"), T.dvector("other")
STATIC = T.TensorType("float64", (False,), shape=(3,))("x")
SQUARE = phintys.OpFromGraph([x], [x ** 2])

# What is changed → two functions that return keys, which must differ.
CHANGES = {
    "an op": (plain, lambda: plain(outputs=T.exp2(x) * 2 + y)),
    "order of operands": (lambda: plain(outputs=x - y), lambda: plain(outputs=y - x)),
    "which variable": (lambda: plain(outputs=x * x + y), lambda: plain(outputs=x * y + x)),
    "a small constant": (plain, lambda: plain(outputs=T.exp(x) * 3 + y)),
    "sign of zero": (lambda: plain(outputs=x * y * 0.0), lambda: plain(outputs=x * y * -0.0)),
    "dtype of a constant": (lambda: plain(outputs=x * y + T.constant(2, dtype="int8")),
                            lambda: plain(outputs=x * y + T.constant(2, dtype="int16"))),
    "a large constant": (lambda: plain(outputs=x + y + long),
                         lambda: plain(outputs=x + y + T.constant(numpy.arange(100.0) + 1))),
    "layout of a constant": (lambda: key([m], m + T.constant(numpy.ones((20, 30)))),
                             lambda: key([m], m + T.constant(numpy.ones((20, 30), order="F")))),
    "dtype": (lambda: key([x], T.exp(x)), lambda: key([single], T.exp(single))),
    "rank": (lambda: key([x], T.exp(x)), lambda: key([m], T.exp(m))),
    "broadcasting": (lambda: key([m], T.exp(m)), lambda: key([column], T.exp(column))),
    "known lengths": (lambda: key([x], T.exp(x)), lambda: key([STATIC], T.exp(STATIC))),
    "a name of an input": (lambda: key([x], T.exp(x)), lambda: key([other], T.exp(other))),
    "a property": (lambda: key([m], m.sum(axis=0)), lambda: key([m], m.sum(axis=1))),
    "an index": (lambda: key([x], x[1:]), lambda: key([x], x[2:])),
    "a text in an op": (lambda: key([x], T.opt.Assert("one")(x, x.sum() > 0)),
                        lambda: key([x], T.opt.Assert("two")(x, x.sum() > 0))),
    "an output": (lambda: plain(outputs=[x + y]), lambda: plain(outputs=[x + y, x])),
    "order of outputs": (lambda: plain(outputs=[x + y, x]), lambda: plain(outputs=[x, x + y])),
    "order of inputs": (plain, lambda: plain(inputs=[y, x])),
    "an argument or shared": (lambda: key([x, y], x + y), lambda: key([x], x + w)),
    "one shared or two": (lambda: key([], w + w), lambda: key([], w + v)),
    "an update": (lambda: key([x], x + w), lambda: key([x], x + w, updates=[(w, w + 1)])),
    "what is updated": (lambda: key([x], x + w + v, updates=[(w, w + 1)]),
                        lambda: key([x], x + w + v, updates=[(v, w + 1)])),
    "givens": (lambda: key([x], T.exp(x) * w), lambda: key([x], T.exp(x) * w, givens={w: v + 1})),
    "an argument that is not to be overwritten": (lambda: plain(inputs=[In(x, mutable=True), y]), lambda: (
        key([In(kept, mutable=True), y], T.exp(kept) * 2 + y))),
    "mutable": (plain, lambda: plain(inputs=[In(x, mutable=True), y])),
    "borrowed input": (plain, lambda: plain(inputs=[In(x, borrow=True), y])),
    "borrowed output": (plain, lambda: plain(outputs=Out(T.exp(x) * 2 + y, borrow=True))),
    "a state": (lambda: plain(inputs=[x, In(y, value=VALUE)]), lambda: plain(inputs=[x, In(y, value=VALUE, update=y)])),
    "mode": (plain, lambda: plain(mode="FAST_COMPILE")),
    "a family left out": (plain, lambda: plain(mode=phintys.FAST_RUN.excluding("fusion"))),
    "a family that is required": (plain, lambda: plain(mode=phintys.FAST_RUN.requiring("stable"))),
    "allow_gc": (plain, lambda: plain(mode=phintys.Mode(allow_gc=False))),
    "a plan": (plain, lambda: plain(mode=phintys.Mode(allow_gc="plan"))),
    "the body of a loop": (lambda: of_scan(lambda row, s: row + s), lambda: of_scan(lambda row, s: row - s)),
    "the direction of a loop": (lambda: of_scan(lambda row, s: row + s),
                                lambda: of_scan(lambda row, s: row + s, go_backwards=True)),
    "a graph as an op": (lambda: key([x], SQUARE(x)),
                         lambda: key([x], phintys.OpFromGraph([x], [x ** 3])(x))),
    "inline": (lambda: key([x], SQUARE(x)), lambda: key([x], phintys.OpFromGraph([x], [x ** 2], inline=True)(x))),
    "a format of sparse matrices": (lambda: key([m], phintys.sparse.csr_from_dense(m) * 2.0),
                                    lambda: key([m], phintys.sparse.csc_from_dense(m) * 2.0)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_part_changes_the_key(folder, what):
    first, second = CHANGES[what]
    assert {len(first()), len(second())} == {64} and first() == first() and second() == second()
    assert first() != second()


OTHER_VALUES = {"floatX": "float32", "cast_policy": "numpy+floatX", "int_division": "floatX", "math_rules": "strict",
                "allow_gc": False, "math": "numpy", "cpu": "baseline", "guards": "after", "on_opt_error": "ignore",
                "optdb.max_use_ratio": 3.0, "optdb.position_cutoff": 2.0, "compute_test_value": "ignore",
                "ctc.root": "elsewhere", "deterministic": "more", "warn_float64": "warn", "device": "cuda"}


@pytest.mark.parametrize("name", graph_key.KEY_OPTIONS)
def test_each_option_changes_the_key(folder, name):
    if name == "device":
        pytest.skip("needs a device")
    before = phintys.config.get(name)
    other = OTHER_VALUES[name] if not isinstance(before, bool) or name in OTHER_VALUES else not before
    assert other != before
    first = plain()
    with warnings.catch_warnings(), phintys.change_flags({name: other}):
        warnings.simplefilter("ignore")
        assert plain() != first
    assert plain() == first


def test_every_option_is_in_the_key_or_named_as_one_that_is_not():
    without = {name for names, *_ in ACCEPTED for name in names.split()}
    for name, *_ in OPTIONS:
        section = name.partition(".")[0] + "."
        assert (name in graph_key.KEY_OPTIONS) + (name in without) + (
            name in graph_key.NOT_IN_KEY or section in graph_key.NOT_IN_KEY) >= 1, name
    known = {name for name, *_ in OPTIONS} | {name.partition(".")[0] + "." for name, *_ in OPTIONS}
    assert graph_key.NOT_IN_KEY <= known


@pytest.mark.parametrize("change", [
    lambda patch: patch.setattr(graph_key.hooks, "version", "99"),
    lambda patch: patch.setattr(graph_key.numpy, "__version__", "99"),
    lambda patch: patch.setattr(graph_key.sys, "version", "99"),
    lambda patch: patch.setattr(graph_key, "BYTECODE", "99"),
    lambda patch: patch.setattr(graph_key, "sets_of_processor", lambda: ("other",)),
    lambda patch: patch.setattr(graph_key, "find_spec", lambda name: None),
    lambda patch: patch.setattr(graph_key, "usable_workers", lambda: 99),
    lambda patch: patch.setenv("OPENBLAS_CORETYPE", "Other"),
    lambda patch: patch.setattr(graph_key, "_files_of_phintys", lambda: [("vm/program.py", 1, 2)]),
])
def test_what_is_installed_changes_the_key(folder, monkeypatch, change):
    first = plain()
    with monkeypatch.context() as patch:
        change(patch)
        graph_key.installed.cache_clear()
        assert plain() != first
    graph_key.installed.cache_clear()
    assert plain() == first


def test_files_of_the_package_are_in_the_key():
    names = {os.path.basename(path) for path, _, _ in graph_key._files_of_phintys()}
    assert {"function_maker.py", "pipeline.py", "scan.py" if "scan.py" in names else "loop.py"} <= names
    assert [name for name in names if name.startswith("interpreter.") and name.endswith((".so", ".pyd"))]


def test_keys_do_not_depend_on_what_was_compiled_before(folder):
    def graph():
        rows, _ = phintys.scan(lambda row, s: T.tanh(row * s), sequences=m, outputs_info=T.ones(3))
        return T.grad(rows.sum() + SQUARE(m[0]).sum(), m)

    built = graph()
    first = key([m], built)
    T.grad(built.sum(), m)
    assert key([m], built) == first == key([m], graph())


def test_arrays_in_ops_are_a_part_of_the_text():
    texts = [repr(graph_key.GraphText().write(["a", {"b": numpy.full(99, number)}])) for number in (1.0, 1.0, 2.0)]
    assert texts[0] == texts[1] != texts[2]


@phintys.compile.as_op([T.dvector], [T.dvector])
def twice(value):
    return value * 2


class Mine(phintys.Op):
    """An op of a user."""

    __props__ = ()

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 1


@phintys.gof.local_optimizer([T.exp])
def my_rewrite(node):
    return None


@pytest.mark.parametrize(("make", "why"), [
    (lambda: phintys.function([x], twice(x)), "twice"),
    (lambda: phintys.function([x], Mine()(x)), "a Mine of .*test_program_cache, which is no part of phintys"),
    (lambda: phintys.function([m], phintys.scan(lambda row: Mine()(row), sequences=m)[0]), "a Mine"),
    (lambda: phintys.function([x], x + 1, mode="DebugMode"), "the mode DebugMode"),
    (lambda: phintys.function([x], x + 1, profile=True), "a profile"),
    (lambda: phintys.function([x], x + 1, mode=phintys.Mode(linker=phintys.gof.PerformLinker())), "the mode"),
    (lambda: phintys.function([x], x + 1, mode=phintys.Mode().register(my_rewrite)), "rewrites of users"),
])
def test_what_has_no_key_is_compiled_and_says_why(folder, make, why):
    import re

    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = make()
        assert re.search(f"^not used: .*{why}", f.maker.cached), f.maker.cached
    assert not files(folder)


def test_a_limit_of_memory_has_no_key(folder):
    with phintys.change_flags(memory_limit=10 ** 9):
        assert made().maker.cached == "not used: a limit of memory"


# ---- files -----------------------------------------------------------------------------------------------------------
def test_damaged_files_are_replaced(folder):
    content = None
    for place in (None, 0, 20, 50, 90, 400, -1, "short", "empty", "text"):
        if content is not None:
            path = folder / files(folder)[0]
            data = bytearray(content)
            if place == "short":
                data = data[:-70]
            elif place == "empty":
                data = b""
            elif place == "text":
                data = b"no program"
            else:
                data[place] ^= 255
            path.write_bytes(data)
            with pytest.warns(UserWarning, match="cache of programs"):
                f = made()
            program_cache._warned.clear()
        else:
            f = made()
        assert f.maker.cached == "stored" and f(VALUE, VALUE).tolist() == (numpy.exp(VALUE) * 2 + VALUE).tolist()
        assert len(files(folder)) == 1
        content = content or (folder / files(folder)[0]).read_bytes()
        assert made().maker.cached == "found"


def test_a_file_under_another_name_is_not_believed(folder):
    made()
    other = phintys.function([x, y], x - y)
    first, second = sorted(folder.iterdir())
    first.write_bytes(second.read_bytes())
    with pytest.warns(UserWarning, match="of another program"):
        assert made()(VALUE, VALUE).tolist() == (numpy.exp(VALUE) * 2 + VALUE).tolist()
        assert phintys.function([x, y], x - y)(VALUE, VALUE).tolist() == [0, 0, 0] == other(VALUE, VALUE).tolist()


def test_forged_parts_are_refused(folder, monkeypatch):
    """A file whose digests are right, with a kernel that does not fit its operands, is not run."""
    from phintys.vm.files.archive import pack, unpack

    made()
    path = folder / files(folder)[0]
    content, arrays = unpack(path.read_bytes())
    cells = content["program"]["known"][1]["program"]["cells"]
    for cell in cells:
        cell["record"][3] = 12 if cell["record"][3] is None else cell["record"][3]
    content["program"]["known"][1]["program"]["code"] = {"bytes": ""}
    path.write_bytes(b"".join(pack(content, arrays)))
    with pytest.warns(UserWarning, match="in the cache, is not one that this version can run|breaks a rule"):
        assert made()(VALUE, VALUE).tolist() == (numpy.exp(VALUE) * 2 + VALUE).tolist()


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
def test_only_the_user_reads_and_writes(folder):
    made()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / files(folder)[0]).stat().st_mode & 0o777 == 0o600
    (folder / files(folder)[0]).chmod(0o620)
    with pytest.warns(UserWarning, match="others may write to the file"):
        assert made().maker.cached == "stored"
    assert (folder / files(folder)[0]).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="permissions of files")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(UserWarning, match="others may write to") as caught:
        assert [made().maker.cached, made().maker.cached] == ["not used: the folder cannot be used"] * 2
    assert len(caught) == 1 and not files(folder)


def test_a_folder_that_cannot_be_made(folder):
    folder.write_text("a file")
    with pytest.warns(UserWarning, match="cache of programs is not used") as caught:
        assert [made().maker.cached, made().maker.cached] == ["not used: the folder cannot be used"] * 2
    assert len(caught) == 1


def test_a_full_disk_costs_a_warning(folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program_cache, "write", full)
    with pytest.warns(UserWarning, match="programs are not stored: .*No space") as caught:
        assert made().maker.cached.startswith("not stored: ") and made().maker.cached.startswith("not stored")
    assert len(caught) == 1


def test_what_is_stored_is_read_where_nothing_can_be_written(folder, monkeypatch):
    made()

    def read_only(*arguments, **options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", read_only)
    monkeypatch.setattr(program_cache.os, "utime", read_only)
    with pytest.warns(UserWarning, match="programs are not stored: .*Read-only") as caught:
        assert phintys.function([x], x - 1).maker.cached.startswith("not stored: ")
        assert phintys.function([x], x - 2).maker.cached == "not stored: the folder cannot be written to"
    assert made().maker.cached == "found" and len(caught) == 1


def test_a_file_that_cannot_be_written_whole_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(program_cache.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("refused")))
    with pytest.warns(UserWarning, match="refused"):
        made()
    assert not files(folder)


def test_the_oldest_files_go(folder):
    with phintys.change_flags(program_cache_limit=0):
        made()
    assert not files(folder)
    for number in range(4):
        phintys.function([x], x * number)
    names = sorted(folder.iterdir())
    for age, path in enumerate(names):
        os.utime(path, ns=(age * 10 ** 9, age * 10 ** 9))
    sizes = [path.stat().st_size for path in names]
    program_cache.shrink(str(folder), sum(sizes[2:]))
    assert sorted(folder.iterdir()) == names[2:]


def test_a_file_that_another_process_writes_is_left_alone(folder):
    made()
    for name in ("new-begun", "new-left"):
        (folder / name).write_bytes(b"half a program")
    os.utime(folder / "new-left", ns=(10 ** 9, 10 ** 9))
    program_cache.shrink(str(folder), 0)
    assert files(folder) == ["new-begun"]


def test_reading_a_file_makes_it_young(folder):
    made()
    path = folder / files(folder)[0]
    os.utime(path, ns=(10 ** 9, 10 ** 9))
    assert made().maker.cached == "found" and path.stat().st_mtime_ns > 10 ** 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_uses_the_cache(folder):
    made()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # Python warns of threads
        child = os.fork()
    if child == 0:
        try:
            state = made().maker.cached
        finally:
            os._exit(0 if state == "found" else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("what", ["graph", "maker"])
def test_a_fork_while_another_thread_makes_what_has_waited(folder, what):
    """The child makes such a thing itself; it would wait for a thread that it does not have."""
    made()
    begun = threading.Event()

    def slowly():
        begun.set()
        time.sleep(0.2)
        return {"inputs": [x], "outputs": x + 1}

    if what == "graph":
        first, second = made().program, made().program
        first.source = slowly
        begin, ask = first.complete, lambda: second.nodes
    else:
        first, second = map(phintys.FunctionMaker.waiting, (slowly, lambda: {"inputs": [x], "outputs": x * 2}))
        begin, ask = lambda: first.fgraph, lambda: second.fgraph
    thread = threading.Thread(target=begin)
    thread.start()
    begun.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # Python warns of threads
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if ask() is not None else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_a_found_program_is_a_program(folder):
    made()
    found = made().program
    assert isinstance(found, Program) and found.known_nodes is None and pickle.loads(pickle.dumps(found)).code
