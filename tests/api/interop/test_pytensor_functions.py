"""Functions of PyTensor in mode PHINTYS: state, memory, threads, processes, pickles, and what goes wrong."""
import copy
import gc
import multiprocessing
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op, _NoPythonOp
from pytensor.graph.type import Type
from pytensor.tensor import nlinalg
from pytensor_reference import pytensor

import phintys
from phintys.graph.garbage import garbage_kept
from phintys.graph.toposort import io_toposort
from phintys.interop import pytensor_versions as checked_versions
from phintys.interop.pytensor import (
    PhintysLinker,
    PyTensorFallbackWarning,
    TranslationError,
    fallback,
    linker,
    translate,
)
from phintys.interop.pytensor.quick_function import Function, FunctionMaker, QuickFunction
from phintys.interop.pytensor_versions import imported, version_of

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]
DATA = np.arange(4.0)
NEW = version_of(pytensor.__version__) >= (3, 0)


def compiled(inputs, outputs, **options):
    return pytensor.function(inputs, outputs, mode="PHINTYS", **options)


# ---- state ---------------------------------------------------------------------------------------------------------
def test_updates_are_stored_in_pytensors_shared_variables():
    n, w = pytensor.shared(0), pytensor.shared(DATA.copy())
    x = pt.vector("x", dtype="float64")
    f = compiled([x], w.sum(), updates={n: n + 1, w: w + x})
    assert [float(f(DATA)), float(f(DATA))] == [6.0, 12.0]
    assert n.get_value() == 2
    np.testing.assert_array_equal(w.get_value(), 3 * DATA)
    w.set_value(np.zeros(4))
    assert f(DATA) == 0.0


def test_shared_variables_can_change_places():
    a, b = pytensor.shared(DATA.copy()), pytensor.shared(2 * DATA)
    f = compiled([], [], updates={a: b, b: a})
    f()
    np.testing.assert_array_equal(a.get_value(), 2 * DATA)
    np.testing.assert_array_equal(b.get_value(), DATA)
    assert not np.shares_memory(a.get_value(borrow=True), b.get_value(borrow=True))


def test_no_update_is_stored_if_the_call_fails():
    n, x = pytensor.shared(0), pt.vector("x", dtype="float64")
    f = compiled([x], x.reshape((2, 2)), updates={n: n + 1})
    with pytest.raises(ValueError):
        f(np.zeros(3))
    assert n.get_value() == 0
    assert f(DATA).shape == (2, 2) and n.get_value() == 1


@pytest.mark.skipif(NEW, reason="PyTensor 3 has no arguments with defaults")
def test_arguments_with_defaults():
    x = pt.vector("x", dtype="float64")
    f = compiled([pytensor.In(x, value=DATA, update=x + 1)], x)
    np.testing.assert_array_equal([f(), f()], [DATA, DATA + 1])
    default = compiled([pytensor.In(x, value=DATA)], x.sum())
    assert [float(default()), float(default(DATA + 1)), float(default())] == [6.0, 10.0, 6.0]


@pytest.mark.skipif(NEW, reason="PyTensor 3 returns no dictionaries, and no part of the results")
def test_dictionaries_and_parts_of_the_results():
    x = pt.vector("x", dtype="float64")
    f = compiled([x], {"total": x.sum(), "first": x[0]})
    assert f(DATA) == {"total": 6.0, "first": 0.0}
    assert compiled([x], [x.sum(), x[1]])(DATA, output_subset=[1]) == [1.0]


@pytest.mark.parametrize("argument, error, words", [
    (np.zeros((4, 4)), TypeError, "Wrong number of dimensions"), (np.zeros(4, "complex128"), TypeError, "complex128"),
    (np.zeros(3), ValueError, r"shape\[0\]"), ("four", ValueError, "four"),
    (None, TypeError, "isnan" if NEW else "None")])
def test_bad_arguments_change_no_state(argument, error, words):
    x, n, w = pt.vector("x", dtype="float64"), pytensor.shared(0), pytensor.shared(DATA.copy())
    f = compiled([x], w + x, updates={n: n + 1, w: 2 * w})
    with pytest.raises(error, match=words):
        f(argument)
    assert n.get_value() == 0
    np.testing.assert_array_equal(w.get_value(), DATA)
    np.testing.assert_array_equal(f(DATA), 2 * DATA)
    assert n.get_value() == 1


def test_pytensor_owns_the_values_of_shared_variables():
    """Values of other shapes, and changes of what was borrowed, are seen by the next call."""
    w = pytensor.shared(DATA.copy())
    f = compiled([], w * 2)
    w.set_value(np.ones(7))
    assert f().shape == (7,)
    own = np.ones(3)
    w.set_value(own, borrow=True)
    own[0] = 5.0
    np.testing.assert_array_equal(f(), [10.0, 2.0, 2.0])
    assert w.get_value(borrow=True) is own and not np.shares_memory(f(), own)


def test_givens_and_updates_of_arguments():
    x, y, w = pt.vector("x", dtype="float64"), pt.vector("y", dtype="float64"), pytensor.shared(DATA)
    np.testing.assert_array_equal(compiled([x], x + y, givens={y: x * 2})(DATA), 3 * DATA)
    np.testing.assert_array_equal(compiled([], w + 1, givens={w: pt.ones(2)})(), [2.0, 2.0])
    with pytest.raises(imported("UnusedInputError"), match="not part of the computational graph"):
        compiled([x, y], x)
    np.testing.assert_array_equal(compiled([x, y], x, on_unused_input="ignore")(DATA, DATA), DATA)


def test_results_do_not_share_memory_with_arguments_or_earlier_results():
    x = pt.vector("x", dtype="float64")
    f = compiled([x], [x, x[::2], x + 1])
    first, second = f(DATA), f(DATA)
    for value in first:
        assert not np.shares_memory(value, DATA)
        assert not any(np.shares_memory(value, other) for other in second)


def test_mutable_and_trusted_inputs():
    x = pt.vector("x", dtype="float64")
    f = compiled([pytensor.In(x, mutable=True)], pytensor.Out(x * 2, borrow=True))
    np.testing.assert_array_equal(f(DATA.copy()), 2 * DATA)
    f.trust_input = True
    np.testing.assert_array_equal(f(DATA), 2 * DATA)


def test_random_numbers_are_those_of_numpys_generator():
    rng = pytensor.shared(np.random.default_rng(5))
    after, draw = pt.random.gamma(2.0, scale=3.0, size=(4,), rng=rng).owner.outputs
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)     # it is meant to be so
        f = compiled([], draw, updates={rng: after})
    same = np.random.default_rng(5)
    for _ in range(2):
        np.testing.assert_array_equal(f(), same.gamma(2.0, 3.0, size=4))


@pytest.mark.parametrize("allow_gc", [True, False])
def test_allow_gc_reaches_the_function(allow_gc):
    x = pt.vector("x", dtype="float64")
    mode = pytensor.compile.mode.get_mode("PHINTYS").clone(link_kwargs={"allow_gc": allow_gc})
    f = pytensor.function([x], pt.exp(x).sum(), mode=mode)
    assert f.vm.jit_fn.maker.mode.linker.allow_gc is allow_gc
    np.testing.assert_allclose(f(DATA), np.exp(DATA).sum())


# ---- quick calls -----------------------------------------------------------------------------------------------------
def without_pytensors_call(monkeypatch):
    """Let PyTensor's own ``__call__`` fail, so that only quick calls succeed."""
    def fail(*args, **kwargs):
        raise RuntimeError("PyTensor's call")
    monkeypatch.setattr(Function, "__call__", fail)


def test_arguments_that_need_no_conversion_skip_pytensors_call(monkeypatch):
    x, fixed, n = pt.vector("x", dtype="float64"), pt.tensor("fixed", dtype="float64", shape=(2, None)), pt.lscalar("n")
    shared = pytensor.shared(1.0)
    f = compiled([x, fixed, n], [x.sum() + shared, fixed * n])
    g = compiled([x], x * shared)
    functions = [f, pickle.loads(pickle.dumps(f)), f.copy()]
    without_pytensors_call(monkeypatch)
    for function in functions:
        total, product = function(DATA, np.ones((2, 3)), np.array(2))
        assert total == 7 and product.tolist() == [[2.0] * 3] * 2
    shared.set_value(3.0)
    assert f(DATA, np.ones((2, 3)), np.array(2))[0] == 9 and g(DATA).tolist() == [0.0, 3.0, 6.0, 9.0]
    for wrong in (list(DATA), DATA.astype("float32"), DATA.reshape(2, 2)):      # PyTensor converts or refuses these
        with pytest.raises(RuntimeError, match="PyTensor's call"):
            g(wrong)
    for arguments in ((DATA, np.ones((3, 2)), np.array(2)), (DATA, np.ones((2, 3)), 2), (DATA,)):
        with pytest.raises(RuntimeError, match="PyTensor's call"):
            f(*arguments)
    g.trust_input = True
    assert g(DATA.astype("float32")).tolist() == [0.0, 3.0, 6.0, 9.0]


def test_other_calls_are_pytensors():
    x, n = pt.vector("x", dtype="float64"), pytensor.shared(0)
    assert compiled([x], x.sum())(x=DATA) == 6 and compiled([x], x.sum())([1, 2]) == 3
    with pytest.raises(TypeError, match="Missing (required )?input"):
        compiled([x], x.sum())()
    with pytest.raises(TypeError, match="Wrong number of dimensions"):
        compiled([x], x.sum())(np.ones((2, 2)))
    counted = compiled([x], x.sum(), updates={n: n + 1})
    assert counted(DATA) == 6 and n.get_value() == 1
    profiled = compiled([x], x.sum(), profile=True)
    assert profiled(DATA) == 6 and profiled.profile.fct_callcount == 1


def test_functions_of_other_modes_keep_pytensors_maker():
    x = pt.vector("x", dtype="float64")
    f = pytensor.function([x], x.sum(), mode=Mode("py", None))
    assert type(f) is Function and type(f.maker) is FunctionMaker
    assert type(compiled([x], x.sum())) is QuickFunction


# ---- copies, threads, processes --------------------------------------------------------------------------------------
def test_pickles_and_copies():
    n, x = pytensor.shared(1.0), pt.vector("x", dtype="float64")
    f = compiled([x], n * x.sum(), updates={n: n + 1})
    again = pickle.loads(pickle.dumps(f))
    assert [float(again(DATA)), float(again(DATA)), float(f(DATA))] == [6.0, 12.0, 6.0]
    copied = f.copy(share_memory=False)
    np.testing.assert_allclose(copied(DATA), 12.0)


def test_copies_with_other_states():
    x, n, other = pt.vector("x", dtype="float64"), pytensor.shared(1.0), pytensor.shared(10.0)
    f = compiled([x], n * x.sum(), updates={n: n + 1})
    swapped, without = f.copy(swap={n: other}), f.copy(delete_updates=True)
    assert [float(swapped(DATA)), float(swapped(DATA)), float(without(DATA)), float(without(DATA))] == [60, 66, 6, 6]
    assert n.get_value() == 1 and other.get_value() == 12
    assert copy.deepcopy(f)(DATA) == 6 and n.get_value() == 1


def test_streams_of_random_numbers():
    """Seeds of a stream set the generators of its functions; a copy that shares memory goes on where they are."""
    stream = pt.random.utils.RandomStream(3)
    f = compiled([], stream.normal(size=3))
    first, second = f(), f()
    stream.seed(3)
    np.testing.assert_array_equal(f(), first)
    np.testing.assert_array_equal(f.copy(share_memory=True)(), second)
    assert (first != second).all()


def test_threads_share_a_function():
    x = pt.vector("x", dtype="float64")
    f = compiled([x], [pt.exp(x).sum(), 2 * x])
    wrong = []

    def run(number):
        for _ in range(200):
            total, double = f(DATA * number)
            if not np.isclose(total, np.exp(DATA * number).sum()) or (double != 2 * DATA * number).any():
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []


def test_threads_have_their_functions():
    x = pt.vector("x", dtype="float64")
    f = compiled([x], pt.exp(x).sum())
    functions = [f.copy() for _ in range(4)]
    found = [None] * 4

    def run(number):
        for _ in range(50):
            found[number] = float(functions[number](DATA * number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    np.testing.assert_allclose(found, [np.exp(DATA * number).sum() for number in range(4)])


def _call(f, queue):
    queue.put(float(f(DATA)))


def test_forked_processes():
    """As PyMC's chains: a function is used by the parent, then by a child."""
    x = pt.vector("x", dtype="float64")
    f = compiled([x], pt.exp(x).sum())
    f(DATA)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_call, args=(f, queue))
    child.start()
    assert queue.get(timeout=60) == pytest.approx(np.exp(DATA).sum())
    child.join(60)


@pytest.mark.parametrize("library", ["pickle", "cloudpickle"])
def test_a_pickle_is_opened_by_a_new_process(tmp_path, library):
    """It needs no import of phintys there."""
    x = pt.vector("x", dtype="float64")
    path = tmp_path / "function"
    path.write_bytes(pytest.importorskip(library).dumps(compiled([x], pt.exp(x).sum())))
    code = ("import pickle, sys, warnings; warnings.simplefilter('ignore'); import numpy; "
            "print(float(pickle.load(open(sys.argv[1], 'rb'))(numpy.arange(4.0))))")
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(np.exp(DATA).sum())


# ---- what goes wrong -------------------------------------------------------------------------------------------------
class Twice(Op):
    """An op that phintys does not know."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


class Dictionary(Type):
    """A type that phintys does not know."""

    def filter(self, value, strict=False, allow_downcast=None):
        return value


class Named(Twice):
    """A vector in a dictionary."""

    def make_node(self, x):
        return Apply(self, [x], [Dictionary()()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = {"x": inputs[0]}


class Item(Twice):
    """The vector in a dictionary."""

    def make_node(self, x):
        return Apply(self, [x], [pt.vector(dtype="float64")])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]["x"]


class WithoutCode(_NoPythonOp):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])



def test_an_op_without_a_row_is_run_by_pytensor_and_named_once():
    x = pt.vector("x", dtype="float64")
    fallback._named.discard("Twice")
    with pytest.warns(PyTensorFallbackWarning, match="Twice"):
        f = compiled([x], Twice()(x) + 1)
    np.testing.assert_array_equal(f(DATA), 2 * DATA + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        compiled([x], Twice()(x) - 1)


@pytest.mark.parametrize("folds", [True, False])
def test_an_op_of_constants_is_run_once_if_it_may_be(folds):
    """As a basis of splines at known points; not before the call if the op says so."""
    calls, x = [], pt.vector("x", dtype="float64")

    class Counted(Twice):
        def perform(self, node, inputs, output_storage):
            calls.append(1)
            super().perform(node, inputs, output_storage)

        def do_constant_folding(self, fgraph, node):
            return folds

    f = compiled([x], Counted()(pt.constant(DATA)) + x)
    calls.clear()
    for _ in range(3):
        np.testing.assert_array_equal(f(DATA), 3 * DATA)
    assert len(calls) == (0 if folds else 3)


def test_values_of_other_types_are_passed_on():
    x = pt.vector("x", dtype="float64")
    np.testing.assert_array_equal(compiled([x], Item()(Named()(x)) * 2)(DATA), 2 * DATA)


def test_a_result_of_another_rank_than_the_node_says_is_refused():
    """As of PyTensor's least squares, whose solution for a vector is one, which the node does not say."""
    a, b = pt.matrix("a", dtype="float64"), pt.vector("b", dtype="float64")
    f = compiled([a, b], nlinalg.lstsq(a, b, -1.0)[0])
    with pytest.raises(TypeError, match="(?s)Wrong number of dimensions: expected 2, got 1.*PyTensor's Lstsq"):
        f(np.eye(4), DATA)


def test_an_op_that_cannot_be_run_is_named_with_its_node():
    x = pt.vector("x", dtype="float64")
    with pytest.raises((TranslationError, NotImplementedError), match="WithoutCode"):
        phintys.interop.pytensor.translate(WithoutCode()(x))


def test_errors_name_what_failed():
    x, y = pt.vector("x", dtype="float64"), pt.vector("y", dtype="float64")
    f = compiled([x, y], x + y)
    with pytest.raises(ValueError, match="add"):
        f(DATA, np.ones(3))
    np.testing.assert_array_equal(f(DATA, DATA), 2 * DATA)


def test_checks_raise_pytensors_exception():
    x = pt.vector("x", dtype="float64")
    f = compiled([x], pytensor.raise_op.Assert("positive")(x, pt.all(x > 0)))
    with pytest.raises(AssertionError, match="positive"):
        f(DATA)
    np.testing.assert_array_equal(f(DATA + 1), DATA + 1)


def test_versions_of_pytensor(monkeypatch):
    for refused in ("2.18.0", "2.37.5", "4.0.0"):
        monkeypatch.setattr(pytensor, "__version__", refused)
        with pytest.raises(ImportError, match=rf"PyTensor 2\.38 to 3\.3, not .*{refused}.*pip install phintys\["):
            checked_versions.check_versions()
    monkeypatch.setattr(pytensor, "__version__", "3.99")
    with pytest.warns(UserWarning, match=r"2\.38 to 3\.3.*3\.99"):
        checked_versions.check_versions()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for supported in ("2.38.0", "2.38.3", "3.0.7", "3.1.1", "3.2.0", "3.3.8"):
            monkeypatch.setattr(pytensor, "__version__", supported)
            checked_versions.check_versions()


def test_equal_nodes_are_translated_once():
    x = pt.dvector("x")
    _, total = translate([x, pt.exp(2.0 * x) + pt.exp(2.0 * x) + pt.exp(-0.0 * x) + pt.exp(0.0 * x)])
    nodes = io_toposort([], [total])
    assert sum([str(node.op).startswith("Elemwise{exp") for node in nodes]) == 3       # -0.0 is not 0.0


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_a_function_is_compiled(monkeypatch, enabled):
    """A full collection takes longer than compiling; afterwards collections are as the program had them."""
    seen, translated, x = [], linker.translated, pt.vector()

    def watched(*arguments):
        seen.append(gc.isenabled())
        return translated(*arguments)

    monkeypatch.setattr(linker, "translated", watched)
    (gc.enable if enabled else gc.disable)()
    try:
        compiled([x], pt.exp(x))
        assert seen == [False] and gc.isenabled() == enabled
    finally:
        gc.enable()


def test_compiling_does_not_begin_a_full_collection_at_its_end():
    """Its objects are counted off by a collection of the youngest, whatever else is due."""
    begun, thresholds = [], gc.get_threshold()

    def watch(phase, info):
        begun.append(info["generation"])

    gc.set_threshold(700, 0, 0)                 # each collection that Python begins is of an older generation
    gc.callbacks.append(watch)
    try:
        gc.collect(0)
        with garbage_kept():
            kept = [[] for _ in range(1000)]
        kept += [[] for _ in range(100)]
    finally:
        gc.callbacks.remove(watch)
        gc.set_threshold(*thresholds)
    assert len(begun) == 4 and set(begun) == {0}     # each is called at the begin and the end of a collection


def test_the_mode_of_all_functions():
    x = pt.vector("x", dtype="float64")
    with pytensor.config.change_flags(mode=pytensor.compile.mode.get_mode("PHINTYS")):
        assert type(pytensor.function([x], x.sum())) is QuickFunction


def test_named_dimensions():
    """An argument, a constant, a shared variable, and results with and without names, by ops of each kind."""
    px = pytest.importorskip("pytensor.xtensor")
    x = px.xtensor("x", dims=("row", "column"), shape=(2, None))
    kept = pytensor.shared(DATA)
    column = px.as_xtensor(kept, dims=("column",))
    places = px.as_xtensor(np.array([1, 0, 1]), dims=("pick",))
    outputs = [x.mean("row"), x.isel(column=slice(1, None)), (x * column).values, x.transpose("column", "row"),
               x + px.as_xtensor(np.arange(2.0), dims=("row",)), x.isel(row=0), x.isel(row=places),
               x.isel(row=places, column=places), px.concat([x, x * 2], dim="row"),
               x.stack({"both": ("row", "column")}),
               x.dot(column), x.cumsum("column"), x.max("column"), x.expand_dims("new"), x.rename(row="line"),
               x.isel(row=[0]).squeeze("row"), x.isel(row=0).inc(5.0), x.isel(column=slice(0, 2)).set(0.0),
               px.math.exp(x) / (1 + x ** 2), x.broadcast_like(x.expand_dims("new"))]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyTensorFallbackWarning)
        f, g = reference.functions([x], outputs)
    value = np.stack([DATA, DATA + 2])
    for found, wanted in zip(f(value), g(value), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_the_linker_can_be_used_by_its_class():
    x = pt.vector("x", dtype="float64")
    mode = pytensor.compile.mode.Mode(PhintysLinker(), "fast_run")
    np.testing.assert_allclose(pytensor.function([x], pt.log1p(pt.exp(x)).sum(), mode=mode)(DATA),
                               np.log1p(np.exp(DATA)).sum())


def test_errors_name_the_line_of_pytensors_graph():
    """Not that of the function that is compiled."""
    x, y = pt.dvectors("x", "y")
    total = pt.dot(x, y)
    line = sys._getframe().f_lineno - 1
    f = pytensor.function([x, y], pt.exp(total), mode="PHINTYS")
    with pytest.raises(ValueError, match=rf"(?s)\(1, 3\) and \(4, 1\).*line {line}, in test_errors_name"):
        f(np.ones(3), np.ones(4))


def test_errors_in_a_loop_name_the_line_of_its_body():
    """Or that of the loop, where PyTensor has forgotten the lines of bodies (3.3.8)."""
    rows, places = pt.dmatrix("rows"), pt.lvector("places")

    def step(place, state, rows):
        return state + rows[place]

    line = sys._getframe().f_lineno - 2
    out = loop_of(step, sequences=places, outputs_info=[pt.zeros(2)], non_sequences=[rows])
    loop_line = sys._getframe().f_lineno - 1
    node = next(each for each in pytensor.graph.traversal.ancestors([out])
                if each.owner and hasattr(each.owner.op, "inner_outputs")).owner
    knows = bool(getattr(node.op.inner_outputs[0].tag, "trace", None))
    expected = rf"line {line}, in step" if knows else rf"line {loop_line}, in test_errors_in"
    function = pytensor.function([rows, places], out[-1], mode="PHINTYS")
    with pytest.raises(IndexError, match=rf"(?s){expected}.*in step 1 of .*line {loop_line}, in test_errors_in"):
        function(np.ones((3, 2)), [0, 7, 1])


def loop_of(step, **arguments):
    """The rows of PyTensor's scan, of any version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return pytensor.scan(step, **arguments)[0]
