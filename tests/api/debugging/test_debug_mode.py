"""DebugMode finds what is wrong, names it, and finds nothing where nothing is wrong."""
import copy
import pickle
import threading
import types

import numpy as np
import pytest

import phintys
import phintys.debugging.debug_node
import phintys.graph.op
import phintys.tensor as T
from phintys import In, Out, function
from phintys.compile.debugmode import (
    BadDestroyMap,
    BadExamined,
    BadOptimization,
    BadProgram,
    BadShape,
    BadThunkOutput,
    BadViewMap,
    DebugMode,
    DebugModeError,
    InvalidValueError,
    NondeterministicOp,
    StochasticOrder,
    UnwrittenOutput,
)
from phintys.graph.apply import Apply
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.op import Op
from phintys.optimizer.engine.database import Rewrite

VALUE = np.array([3.0, -1.0, 4.0, 1.5])


class Suspect(Op):
    """An op of vectors whose parts are given: ``perform`` from arrays to the results, and attributes."""

    def __init__(self, perform=None, n_outputs=1, **attributes):
        self.compute = perform
        self.n_outputs = n_outputs
        self.calls = 0
        vars(self).update(attributes)

    def make_node(self, *inputs):
        inputs = [T.as_tensor_variable(value) for value in inputs]
        return Apply(self, inputs, [inputs[0].type() for _ in range(self.n_outputs)])

    def perform(self, node, inputs, output_storage):
        self.calls += 1
        results = self.compute(self, *inputs)
        for storage, value in zip(output_storage, results if self.n_outputs > 1 else [results]):
            storage[0] = value

    def __str__(self):
        return "Suspect"


def overwritten(op, x):
    x *= 2
    return x


def spoilt_second(op, x, y):
    y[0] += 1
    return x * 2


def kept(op, x):
    op.__dict__.setdefault("memory", np.zeros(len(x)))[:] = x * 2
    return op.memory


def halves(op, x):
    both = np.concatenate([x, x])
    return both[:len(x)], both[1:len(x) + 1]


# name, op, number of inputs, exception or None, words of the message
BROKEN = {
    "right": (Suspect(lambda op, x: x * 2), 1, None, ""),
    "undeclared view": (Suspect(lambda op, x: x), 1, BadViewMap, "shares memory with input 0"),
    "undeclared part": (Suspect(lambda op, x, y: y[1:3]), 2, BadViewMap, "shares memory with input 1"),
    "view of the wrong input": (Suspect(lambda op, x, y: y, view_map={0: [0]}), 2, BadViewMap,
                                r"input 1.*\{0: \[0\]\}"),
    "declared view": (Suspect(lambda op, x, y: y[::-1], view_map={0: [1]}), 2, None, ""),
    "declared, not used": (Suspect(lambda op, x: x * 2, view_map={0: [0]}), 1, None, ""),
    "two declared views": (Suspect(lambda op, x: (x, x[1:]), 2, view_map={0: [0], 1: [0]}), 1, None, ""),
    "outputs share memory": (Suspect(halves, 2), 1, BadViewMap, "output 1 of Suspect shares memory with output 0"),
    "memory of the op": (Suspect(kept), 1, BadViewMap, "what the op returned before"),
    "undeclared destroy": (Suspect(overwritten, view_map={0: [0]}), 1, BadDestroyMap, "changed input 0.*{}"),
    "other input destroyed": (Suspect(spoilt_second, destroy_map={0: [0]}), 2, BadDestroyMap, "changed input 1"),
    "declared destroy": (Suspect(overwritten, destroy_map={0: [0]}), 1, None, ""),
    "counting": (Suspect(lambda op, x: x + op.calls), 1, NondeterministicOp, "again"),
    "wrong dtype": (Suspect(lambda op, x: x.astype("float32")), 1, InvalidValueError, "float32"),
    "wrong rank": (Suspect(lambda op, x: x[None] * 1), 1, InvalidValueError, "dimensions"),
    "no array": (Suspect(lambda op, x: [1.0, 2.0]), 1, InvalidValueError, "list"),
    "nothing": (Suspect(lambda op, x: None), 1, InvalidValueError, "NoneType"),
    "not finite": (Suspect(lambda op, x: x * np.inf), 1, InvalidValueError, "not finite"),
    "shape": (Suspect(lambda op, x: x[1:] * 2, infer_shape=lambda node, shapes: shapes), 1, BadShape,
              r"\(4,\).*\(3,\)"),
    "shape of another rank": (Suspect(lambda op, x: x * 2, infer_shape=lambda node, shapes: [(*shapes[0], 1)]), 1,
                              BadShape, "1 dimensions"),
    "shape rule that fails": (Suspect(lambda op, x: x * 2, infer_shape=lambda node, shapes: [(shapes[0][0] // T.zeros(
        (2, 3)).sum(axis=1)[5].astype("int64"),)]), 1, BadShape, "IndexError"),
    "right shape": (Suspect(lambda op, x: x[1:] * 2, infer_shape=lambda node, shapes: [(shapes[0][0] - 1,)]), 1, None,
                    ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_perform_does(name):
    op, n_inputs, exception, words = BROKEN[name]
    inputs = [T.dvector(f"x{position}") for position in range(n_inputs)]
    outputs = copy.copy(op)(*[value + 1.0 for value in inputs], return_list=True)
    outputs = [output * 2 for output in outputs]
    f = function(inputs, outputs, mode=DebugMode(optimizer=None), accept_inplace=True)
    if exception is None:
        expected = function(inputs, outputs, accept_inplace=True)(*[VALUE] * n_inputs)
        for got, wanted in zip(f(*[VALUE] * n_inputs), expected):
            np.testing.assert_array_equal(got, wanted)
        return
    with pytest.raises(exception, match=f"(?s){words}") as caught:
        f(*[VALUE] * n_inputs)
    message = str(caught.value)
    assert "Suspect" in message and f"{__file__}:" in message
    assert isinstance(caught.value, DebugModeError)


# ---- kernels ---------------------------------------------------------------------------------------------------------
class PretendedKernel:
    """A kernel in Python: from inputs and uninitialised memory to results, whatever ``run_kernel`` is asked for."""

    def __init__(self, compute, examined=None, bound=None):
        self.compute = compute
        self.calls = 0
        self.examined, self.bound = examined, bound or compute


def run_pretended(kernel, inputs, layouts, workers=1, poison=None, donors=None, views=False, bound_by=None):
    inputs = list(inputs)
    memory = np.empty(inputs[0].shape, inputs[0].dtype)
    memory.view("uint8")[...] = 0 if poison is None else poison
    for output, position in (donors or {}).items():
        inputs[position] = memory = inputs[position].copy()
    kernel.calls += 1
    result = (kernel.compute if bound_by is None else kernel.bound)(kernel, memory, *inputs)
    return [result if views else result.copy()]


@pytest.fixture
def pretended(monkeypatch):
    for module in (phintys.debugging.debug_node, phintys.graph.op):
        monkeypatch.setattr(module, "run_kernel", run_pretended)


class WithKernel(Op):
    """An op of vectors with a pretended kernel."""

    def __init__(self, compute, **attributes):
        self.kernel = PretendedKernel(compute)
        vars(self).update(attributes)

    make_node = Suspect.make_node
    n_outputs = 1

    def make_kernel(self, node):
        return self.kernel

    def lower(self, emitter, node):
        emitter.call(node)

    def __str__(self):
        return "WithKernel"


class WithKernelAndPerform(WithKernel):
    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


def doubled(kernel, memory, x, *others):
    memory[...] = x * 2
    return memory


def in_two_steps(kernel, memory, x):
    memory[0] = x[0] * 2
    memory[1:] = x[1:] + x[1:] if memory is not x else x[1:] + x[0] - x[0] / 2
    return memory


def contiguous_only(kernel, memory, x):
    flat = np.lib.stride_tricks.as_strided(x, x.shape, (x.itemsize,))
    memory[...] = flat * 2
    return memory


def half_written(kernel, memory, x):
    memory[:2] = x[:2] * 2
    return memory


def added_to_garbage(kernel, memory, x):
    memory += x
    return memory


def counted(kernel, memory, x):
    memory[...] = x + kernel.calls
    return memory


def input_spoilt(kernel, memory, x):
    x[0] += 1
    return doubled(kernel, memory, x)


KERNELS = {
    "right": (WithKernel(doubled), None, ""),
    "right in place": (WithKernel(doubled, destroy_map={0: [0]}), None, ""),
    "as perform": (WithKernelAndPerform(doubled), None, ""),
    "not as perform": (WithKernelAndPerform(lambda kernel, memory, x: x * 2 + 0.5), BadThunkOutput,
                       "the kernel.*perform.*4 of 4 elements differ, by at most 0.5"),
    "half written": (WithKernel(half_written), UnwrittenOutput, "2 of 4 elements differ"),
    "added to garbage": (WithKernel(added_to_garbage), UnwrittenOutput, "4 of 4"),
    "counting": (WithKernel(counted), NondeterministicOp, "again"),
    "only contiguous inputs": (WithKernel(contiguous_only), BadThunkOutput, "inputs strided"),
    "wrong in place": (WithKernel(in_two_steps, destroy_map={0: [0]}), BadThunkOutput, "in the memory of input 0"),
    "undeclared view": (WithKernel(lambda kernel, memory, x: x), BadViewMap, "shares memory with input 0"),
    "input changed": (WithKernel(input_spoilt), BadDestroyMap, "changed input 0"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_what_kernels_do(name, pretended):
    op, exception, words = KERNELS[name]
    x = T.dvector("x")
    f = function([x], ViewOp()(op(x)), mode=DebugMode(optimizer=None), accept_inplace=True)
    if exception is None:
        np.testing.assert_array_equal(f(VALUE), VALUE * 2)
        return
    with pytest.raises(exception, match=f"(?s){words}") as caught:
        f(VALUE)
    assert "WithKernel" in str(caught.value) and f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize("in_place", [False, True])
def test_kernels_that_are_bound_compute_the_same(pretended, in_place):
    op = WithKernel(doubled, **({"destroy_map": {0: [0]}} if in_place else {}))
    op.kernel.bound = lambda kernel, memory, x: doubled(kernel, memory, x) + (memory is x or not in_place)
    x = T.dvector("x")
    f = function([x], ViewOp()(op(x)), mode=DebugMode(optimizer=None), accept_inplace=True)
    with pytest.raises(BadThunkOutput, match="bound, output 0 in the memory" if in_place else "bound, inputs c_cont"):
        f(VALUE)


def depends_on_a_value(kernel, inputs, layouts):
    if np.isnan(inputs[1][0]):
        raise ValueError("not a length")
    return 0, [((4,), (8 if inputs[0].any() else 16,))]


@pytest.mark.parametrize("examined, found", [((), "16"), ((0,), "not a length"), ((1,), "16"), ((0, 1), None),
                                             (None, None)])
def test_values_that_kernels_examine(pretended, monkeypatch, examined, found):
    monkeypatch.setattr(phintys.debugging.debug_claims, "prepare_kernel", depends_on_a_value)
    op = WithKernel(doubled)
    op.kernel.examined = examined
    x, y = T.dvectors("x", "y")
    f = function([x, y], ViewOp()(op(x, y)), mode=DebugMode(optimizer=None))
    if found is None:
        np.testing.assert_array_equal(f(VALUE, VALUE), VALUE * 2)
        return
    with pytest.raises(BadExamined, match=f"(?s)examines the inputs.*WithKernel.*{found}"):
        f(VALUE, VALUE)


def test_which_ways_are_run(pretended):
    x = T.dvector("x")
    op = KERNELS["not as perform"][0]
    for options, wanted in (({"check_c_code": False}, VALUE * 2), ({"check_py_code": False}, VALUE * 2 + 0.5)):
        assert function([x], op(x).sum(), mode=DebugMode(optimizer=None, **options)).maker.mode is not None
    with pytest.raises(BadThunkOutput):
        function([x], op(x), mode=DebugMode(optimizer=None))(VALUE)
    only_perform = function([x], op(x), mode=DebugMode(optimizer=None, check_c_code=False))
    np.testing.assert_array_equal(only_perform(VALUE), VALUE * 2)


def test_memory_that_may_hold_anything():
    n = T.lscalar("n")
    empty = phintys.ops.creation.allocation.AllocEmpty("float64")(n, 3)
    for mode in ("DebugMode", "NanGuardMode"):
        assert function([n], [empty, T.zeros_like(empty)], mode=mode)(2)[0].shape == (2, 3)


def test_an_op_without_kernel_and_perform_is_refused():
    class Nothing(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    x = T.dvector("x")
    with pytest.raises(phintys.gof.MethodNotDefined, match=r"Nothing.*write perform\(self"):
        function([x], Nothing()(x), mode=DebugMode())


def test_perform_may_find_memory_in_its_storage():
    def reusing(self, node, inputs, output_storage):
        if output_storage[0][0] is None:
            output_storage[0][0] = np.zeros_like(inputs[0])
        output_storage[0][0] += inputs[0]

    op = Suspect()
    op.perform = types.MethodType(reusing, op)
    x = T.dvector("x")
    np.testing.assert_array_equal(function([x], op(x), mode=DebugMode(optimizer=None))(VALUE), VALUE)
    with pytest.raises(BadThunkOutput, match="storage strided"):
        function([x], op(x), mode=DebugMode(optimizer=None, check_preallocated_output=["strided"]))(VALUE)


# ---- rewrites --------------------------------------------------------------------------------------------------------
half_too_much = Suspect(lambda op, x, y: x + y + 0.5)
right_sum = Suspect(lambda op, x, y: x + y)
failing_sum = Suspect(lambda op, x, y: x + np.concatenate([y, y]))


def rewriting(op, name="my_rewrite"):
    """A mode whose only rewrite puts ``op`` in the place of sums."""
    return DebugMode(optimizer=None, stability_patience=1).register(
        Rewrite(name, ("add",), lambda fgraph, node: op(*node.inputs)))


def test_a_rewrite_that_keeps_values_passes():
    x, y = T.dvectors("x", "y")
    f = function([x, y], T.exp(x + y), mode=rewriting(right_sum))
    assert any(node.op is right_sum for node in f.maker.fgraph.apply_nodes)
    np.testing.assert_allclose(f(VALUE, VALUE), np.exp(2 * VALUE))


def test_a_factor_that_cancels_may_be_taken_out_of_a_softmax():
    """Exponentials, their sums and products of both change, what is computed of them does not."""
    x = T.dmatrix()
    softmax = T.exp(x) / T.exp(x).sum(1, keepdims=True)
    gradient = T.grad((softmax * T.cos(T.arange(4.0))).sum(), x)
    f = function([x], gradient, mode=DebugMode())
    value = np.random.default_rng(0).uniform(-3, 3, (3, 4))
    np.testing.assert_allclose(f(value), function([x], gradient, mode="FAST_COMPILE")(value))


def test_a_rewrite_that_changes_values_is_named():
    x, y = T.dvectors("x", "y")
    f = function([x, y], T.exp(T.exp(x + y)), mode=rewriting(half_too_much))
    with pytest.raises(BadOptimization, match="(?s)my_rewrite changes a value.*by at most 0.5 .*Suspect") as caught:
        f(VALUE / 4, VALUE / 4)
    error = caught.value
    assert error.reason == "my_rewrite" and error.new_r.owner.op is half_too_much
    assert error.old_r.owner.op == T.add and str(error).count(f"{__file__}:") >= 2


def test_a_rewrite_whose_node_fails_is_named():
    x, y = T.dvectors("x", "y")
    f = function([x, y], T.exp(x + y), mode=rewriting(failing_sum))
    with pytest.raises(ValueError, match="(?s)broadcast.*Suspect.*my_rewrite"):
        f(VALUE, VALUE)


def test_a_rewrite_may_make_values_finite_but_not_the_reverse():
    x = T.dvector("x")
    mode = DebugMode(check_isfinite=False)
    np.testing.assert_allclose(function([x], T.log(1 + T.exp(x)), mode=mode)([1000.0, -1000.0]), [1000, 0])
    np.testing.assert_allclose(function([x], T.log(T.exp(x)) > 5, mode=mode)([1000.0]), [True])
    infinite = DebugMode(optimizer=None, check_isfinite=False).register(
        Rewrite("worse", ("neg",), lambda fgraph, node: -node.inputs[0] + np.inf if node.inputs[0].owner is None
                else None))
    with pytest.raises(BadOptimization, match="worse"):
        function([x], T.exp(-x), mode=infinite)(VALUE)


def test_a_node_that_changes_without_a_word_is_found_by_the_graph_as_written():
    x, y = T.dvectors("x", "y")

    def swap_op(fgraph, node):
        if node.op is right_sum:
            node.op = half_too_much

    mode = DebugMode(optimizer=None, stability_patience=1).register(Rewrite("silent", (), swap_op))
    with pytest.raises(BadOptimization, match="all rewrites together"):
        function([x, y], right_sum(x, y), mode=mode)(VALUE, VALUE)


def test_an_order_that_changes_is_found():
    x = T.dvector("x")
    choices = iter([T.sqr, T.exp, T.sqr])
    mode = DebugMode(optimizer=None).register(
        Rewrite("dice", ("cosh",), lambda fgraph, node: next(choices)(node.inputs[0])))
    with pytest.raises(StochasticOrder, match="(?s)dice.*exp"):
        function([x], T.cosh(x), mode=mode)
    assert function([x], T.cosh(x), mode=DebugMode(stability_patience=3))([0.0]) == [1.0]


# ---- the program beside ----------------------------------------------------------------------------------------------
def test_the_linked_program_is_compared():
    x, y = T.dvectors("x", "y")
    op = Suspect(lambda op, x, y: x + y)

    def lower(emitter, node):
        wrong = Apply.__new__(Apply)
        wrong.op, wrong.inputs, wrong.outputs = half_too_much, node.inputs, node.outputs
        emitter.call(wrong)

    op.lower = lower
    with pytest.raises(BadProgram, match="a result of the linked program"):
        function([x, y], op(x, y), mode=DebugMode(optimizer=None))(VALUE, VALUE)


# ---- as any other function -------------------------------------------------------------------------------------------
@pytest.fixture(params=["DebugMode", "DEBUG_MODE", DebugMode(), DebugMode("fast_compile", check_isfinite=False),
                        DebugMode(check_preallocated_output=["ALL"])], ids=str)
def mode(request):
    return request.param


def test_arguments_defaults_updates_and_keys(mode):
    x, y = T.dvectors("x", "y")
    n = phintys.shared(np.zeros(4), name="n")
    f = function([x, In(y, value=VALUE)], {"sum": x + y, "old": n, "same": x}, updates=[(n, n + x * y)], mode=mode)
    for call in range(3):
        results = f(x=VALUE)
        assert sorted(results) == ["old", "same", "sum"]
        np.testing.assert_array_equal(results["sum"], 2 * VALUE)
        np.testing.assert_allclose(results["old"], call * VALUE ** 2)
        np.testing.assert_array_equal(results["same"], VALUE)
    np.testing.assert_allclose(n.get_value(), 3 * VALUE ** 2)
    with pytest.raises(TypeError, match="Missing required input"):
        f()
    with pytest.raises(TypeError, match="x"):
        f("text")


def test_sgd_and_swap(mode):
    w, v = phintys.shared(np.eye(3), name="w"), phintys.shared(np.ones((3, 3)), name="v")
    x = T.dmatrix("x")
    step = function([x], T.sqr(T.dot(x, w)).sum(), mode=mode,
                    updates=[(w, w - 0.1 * phintys.grad(T.sqr(T.dot(x, w)).sum(), w)), (v, w)])
    data = np.arange(6.0).reshape(2, 3) / 10
    assert step(data) == pytest.approx((data ** 2).sum())
    np.testing.assert_array_equal(v.get_value(), np.eye(3))
    np.testing.assert_allclose(w.get_value(), np.eye(3) - 0.2 * data.T @ data)


def test_a_failing_call_changes_nothing(mode):
    x = T.dvector("x")
    n = phintys.shared(np.zeros(4), name="n")
    f = function([x], Suspect(lambda op, x: x)(x + 1), updates=[(n, n + x)], mode=mode)
    argument = VALUE.copy()
    for _ in range(2):
        with pytest.raises(BadViewMap):
            f(argument)
    np.testing.assert_array_equal(n.get_value(), np.zeros(4))
    np.testing.assert_array_equal(argument, VALUE)


def test_errors_of_ops_keep_their_type_and_name_the_node(mode):
    x, y = T.dvectors("x", "y")
    with pytest.raises(ValueError, match="(?s)mis-match.*Apply node that caused the error.*Made at") as caught:
        function([x, y], x + y, mode=mode)(VALUE, VALUE[:3])
    assert "Stepwise" not in str(caught.value)


def test_not_finite():
    x = T.dvector("x")
    f = function([x], T.sqrt(x), mode=DebugMode())
    for value, words in ((np.nan, "input of the graph"), (np.inf, "input of the graph"), (-1.0, "not finite")):
        with pytest.raises(InvalidValueError, match=words):
            f([value])
    f.maker.mode.check_isfinite = False
    assert np.isnan(f([-1.0]))


def test_objects_pass_through():
    x = phintys.graph.type.generic("x")

    class Appended(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = [*inputs[0], 1]

    class Appending(Appended):
        def perform(self, node, inputs, output_storage):
            inputs[0].append(1)
            output_storage[0][0] = list(inputs[0])

    argument = [5]
    assert function([x], Appended()(x), mode="DebugMode")(argument) == [5, 1]
    with pytest.raises(BadDestroyMap):
        function([x], Appending()(x), mode="DebugMode")(argument)
    assert argument == [5]


def test_borrowed_and_mutable_arguments():
    x, y = T.dvectors("x", "y")
    f = function([In(x, mutable=True), In(y, borrow=True)], [Out(x * 2, borrow=True), y], mode="DebugMode")
    first, second = f(VALUE.copy(), VALUE.copy())
    np.testing.assert_array_equal(first, 2 * VALUE)
    np.testing.assert_array_equal(second, VALUE)


def test_threads_share_a_function():
    n = phintys.shared(0, name="n")
    f = function([], n, updates=[(n, n + 1)], mode=DebugMode())
    threads = [threading.Thread(target=lambda: [f() for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert n.get_value() == 40


def test_long_graphs():
    x = T.dvector("x")
    y = x
    for _ in range(500):
        y = T.tanh(y) + x
    value = function([x], y, mode=DebugMode(optimizer=None, stability_patience=1))(VALUE)
    np.testing.assert_allclose(value, function([x], y)(VALUE))


# ---- the mode --------------------------------------------------------------------------------------------------------
def test_mode_keeps_its_options():
    mode = DebugMode("fast_compile", 3, check_isfinite=False, require_matching_strides=1)
    derived = mode.including("fusion")
    for other in (derived, pickle.loads(pickle.dumps(derived)), copy.copy(derived)):
        assert type(other) is DebugMode and other.stability_patience == 3 and other.check_isfinite is False
        assert other.require_matching_strides == 1 and "fusion" in other.query.include
    assert str(mode) == "DebugMode(optimizer = fast_compile)"


def test_mode_follows_the_flags():
    with phintys.change_flags({"DebugMode.patience": 4, "DebugMode.check_finite": False, "mode": "DebugMode"}):
        mode = phintys.compile.get_default_mode()
        assert isinstance(mode, DebugMode) and mode.stability_patience == 4 and mode.check_isfinite is False
    assert DebugMode().stability_patience == 2


@pytest.mark.parametrize("options, words", [
    ({"check_c_code": False, "check_py_code": False}, "at least one"), ({"linker": "cvm"}, "linker"),
    ({"check_preallocated_output": ["diagonal"]}, "diagonal")])
def test_mode_refuses(options, words):
    with pytest.raises(ValueError, match=words):
        DebugMode(**options)


def test_pickled_function_checks_itself():
    x = T.dvector("x")
    f = pickle.loads(pickle.dumps(function([x], T.sqrt(x), mode=DebugMode())))
    assert f([4.0]) == [2.0]
    with pytest.raises(InvalidValueError):
        f([-1.0])


def test_errors_can_be_pickled():
    error = BadShape(None, 0, (2,), (3,))
    assert pickle.loads(pickle.dumps(error)).inferred == (2,)


def test_rewrites_that_meet_cached_constants_are_in_order():
    cube, vector = T.dtensor3("cube"), T.dvector("vector")
    cost = T.dot(cube, vector).sum()
    function = phintys.function([cube, vector], T.grad(cost, [cube, vector]), mode="DebugMode")
    by_cube, by_vector = function(np.ones((2, 3, 4)), np.arange(4.0))
    assert (by_cube == np.arange(4.0)).all() and (by_vector == 6).all()
