"""Which nodes overwrite what, and which run after COMMIT; every graph is also checked by a model of memory."""
import pickle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optimized_graphs import FAST_COMPILE, FAST_RUN, UNFUSED, optimized, variable
from overwriting_model import Compiled, check, missed

import phintys.tensor as T
from phintys.graph.apply import Apply
from phintys.graph.destroy_handler import DestroyHandler, handler_of
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.optimizer.engine.database import Query
from phintys.optimizer.passes.inplace import mark_inplace, protect
from phintys.tensor.blas import gemm_inplace
from phintys.tensor.inplace import add_inplace, exp_inplace, sqr_inplace
from phintys.vm.linking.schedule import schedule

NOTHING = Query()
w, v, m, g, x, d = [variable("d2", name) for name in ("w", "v", "m", "g", "x", "d")]
b, y = variable("d1", "b"), variable("d1", "y")
f, n, rate, i = variable("f2", "f"), variable("d0", "n"), variable("d0", "rate"), variable("i1", "i")
SHARED, ARGUMENTS = (w, v, m, b, n), (g, x, d, y, f, rate, i)
BY_DOT = T.dot(x.T, d)


class User(Op):
    """An op of the user's: overwrites its first input."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node, inputs, output_storage):
        inputs[0] += 1
        output_storage[0][0] = inputs[0]


class OneLine(User):
    """An op that can overwrite its first input, by one line, when it is told to."""

    __props__ = ("inplace",)
    can_overwrite = {0: (0,)}

    def __init__(self, inplace=False):
        self.inplace = inplace
        self.destroy_map = {0: [0]} if inplace else {}


user, one_line = User(), OneLine()


def compile_case(results=(), updates=(), mutable=(), query=FAST_RUN):
    return Compiled(ARGUMENTS, list(results), dict(updates), mutable, SHARED, query)


def momentum(step):
    velocity = 0.9 * v - step
    return {v: velocity, w: w + velocity}


def nesterov(step):
    velocity = 0.9 * v - step
    return {v: velocity, w: w + 0.9 * velocity - step}


def by_difference(step):
    new = 0.9 * v + (w - step)
    return {v: new - w, w: new}


def adam(step):
    count = n + 1
    scale = 0.1 * T.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    mean, square = 0.9 * m + 0.1 * step, 0.999 * v + 0.001 * step ** 2
    return {n: count, m: mean, v: square, w: w - scale * mean / (T.sqrt(square) + 1e-8)}


def rmsprop(step):
    square = 0.9 * v + 0.1 * step ** 2
    return {v: square, w: w - 0.1 * step / T.sqrt(square + 1e-6)}


# name: (results, updates, destroyers, how many of them commit)
GRAPHS = {
    "sgd": ([], {w: w - 0.1 * g}, ["Composite(w)"], 1),
    "sgd unscaled": ([], {w: w - g}, ["sub(w)"], 1),
    "sgd by a product": ([], {w: w - 0.1 * BY_DOT}, ["Gemm(w)"], 1),
    "sgd by a scaled product": ([], {w: w + rate * BY_DOT}, ["Gemm(w)"], 1),
    "weight decay": ([], {w: w - rate * (BY_DOT + 0.01 * w)}, ["Gemm(w)"], 1),
    "tied weights": ([], {w: w - 0.1 * (T.dot(x.T, d) + T.dot(g.T, x).T)}, ["Gemm(w)", "Gemm(Gemm)"], 2),
    "matrix times vector": ([], {b: b - 0.1 * T.dot(x.T, y)}, ["Gemv(b)"], 1),
    "outer product": ([], {w: w + 0.1 * T.outer(y, y)}, ["Ger(w)"], 1),
    "sgd with its cost": ([(w ** 2).sum()], {w: w - 0.2 * w}, ["Composite(w)"], 1),
    "elementwise results": ([w ** 2, T.exp(g)], {w: w - T.exp(g)}, ["sub(w)"], 1),
    "momentum": ([], momentum(0.1 * g), ["Composite(v, w)"], 1),
    "momentum by a product": ([], momentum(0.1 * BY_DOT), ["Gemm(v)", "add(w)"], 2),
    "momentum by differences": ([], by_difference(0.1 * g), ["Composite(w, v)"], 1),
    "nesterov": ([], nesterov(0.1 * g), ["Composite(v, w)"], 1),
    "adam": ([], adam(g), ["Composite(v, m, w)"], 1),
    "adam by a product": ([], adam(BY_DOT), ["Composite(v, m, w)"], 1),
    "rmsprop": ([], rmsprop(g), ["Composite(v, w)"], 1),
    "swap": ([], {w: v, v: w}, [], 0),
    "rotation": ([], {w: w + v, v: w - v}, ["Composite(w, v)"], 1),
    "old value as result": ([w], {w: w - g}, ["sub(w)"], 1),
    "view of the old value as result": ([w.T], {w: w - g}, ["sub(w)"], 1),
    "new value as result": ([w - g], {w: w - g}, [], 0),
    "new value for two": ([], {w: w + g, v: w + g}, [], 0),
    "view of itself": ([], {w: w - w.T * g}, [], 0),
    "product with itself": ([], {w: w - T.dot(w, x)}, [], 0),
    "view read elsewhere": ([T.dot(w.T, x)], {w: w - g}, ["sub(w)"], 1),
    "reads itself twice": ([], {w: w * w}, ["sqr(w)"], 1),
    "broadcast over rows": ([], {w: w - b}, ["sub(w)"], 1),
    "too small": ([], {b: T.tanh(T.dot(g, g) + b).diagonal()}, ["Composite(Dot22)"], 0),
    "another dtype": ([], {w: w - f}, ["sub(w)"], 1),
    "numbers stay in their cells": ([], {n: n + 1}, [], 0),
    "parts": ([], {w: T.inc_subtensor(T.set_subtensor(w[1:], x[1:])[:1], d[:1])},
              ["IncSubtensor(w)", "IncSubtensor(IncSubtensor)"], 2),
    "decay and parts": ([], {w: T.inc_subtensor((0.9 * w)[i], x)}, ["mul(w)", "AdvancedIncSubtensor1(mul)"], 2),
    "parts and decay": ([], {w: 0.9 * T.inc_subtensor(w[i], x)},
                        ["AdvancedIncSubtensor1(w)", "mul(AdvancedIncSubtensor1)"], 2),
    "parts that another update reads": ((lambda t: ([], {w: T.inc_subtensor(t[:1], 1.0), v: v + t}))(
        T.inc_subtensor(w[i], x)) + (["AdvancedIncSubtensor1(w)", "add(v)", "IncSubtensor(AdvancedIncSubtensor1)"], 3)),
    "parts that another update is": ((lambda t: ([], {w: T.inc_subtensor(t[:1], 1.0), v: t}))(
        T.inc_subtensor(w[i], x)) + ([], 0)),
    "parts that a result reads": ((lambda t: ([T.dot(t, x)], {w: T.inc_subtensor(t[:1], 1.0)}))(
        T.inc_subtensor(w[i], x)) + (["IncSubtensor(AdvancedIncSubtensor1)"], 0)),
    "parts, with the old value as result": ([T.dot(w, x)], {w: T.inc_subtensor(T.inc_subtensor(w[i], x)[:1], w[i][0])},
                                            ["AdvancedIncSubtensor1(w)", "IncSubtensor(AdvancedIncSubtensor1)"], 2),
    "parts, from a view of the old value": ([], {w: T.inc_subtensor(T.inc_subtensor(w[i], x)[:1], w[1:2])},
                                            ["IncSubtensor(AdvancedIncSubtensor1)"], 0),
    "places that the chain itself says": ((lambda t: ([], {w: T.inc_subtensor(t[T.argmax(t, axis=0)], x)}))(
        T.inc_subtensor(w[i], x)) + (["AdvancedIncSubtensor1(AdvancedIncSubtensor1)"], 0)),
    "two chains that read each other": ([], {w: T.inc_subtensor(T.inc_subtensor(w[i], x)[:1], v.sum()),
                                             v: T.inc_subtensor(T.inc_subtensor(v[i], x)[:1], w.sum())},
                                        ["AdvancedIncSubtensor1(w)", "IncSubtensor(AdvancedIncSubtensor1)",
                                         "AdvancedIncSubtensor1(v)", "IncSubtensor(AdvancedIncSubtensor1)"], 4),
    "two chains in a circle": ([], {w: T.inc_subtensor(T.inc_subtensor(w[i], x)[:1], v[:1]),
                                    v: T.inc_subtensor(T.inc_subtensor(v[i], x)[:1], w[:1])},
                               ["IncSubtensor(AdvancedIncSubtensor1)", "AdvancedIncSubtensor1(w)",
                                "IncSubtensor(AdvancedIncSubtensor1)"], 2),
    "sum of products that would be held": ([], {w: sum([T.dot(T.tanh(x + k).T, T.exp(d + k)) for k in range(3)], w)},
                                           ["Gemm(Gemm)", "Gemm(Gemm)"], 0),
    "chain of values": ([], {w: w + g, v: v * (w + g), m: m - v * (w + g)}, ["Composite(w, v, m)"], 1),
}
UNFUSED_GRAPHS = {
    "momentum": (momentum(g), ["mul(v)", "sub(mul)", "add(w)"], 3),
    "rotation": ({w: w + v, v: w - v}, ["add(w)"], 1),
    "rotation of three": ({w: w + v, v: v + m, m: m + w}, ["add(w)", "add(v)"], 2),
    "chain": ({w: w + v, v: v + m, m: m + g}, ["add(w)", "add(v)", "add(m)"], 3),
    "new values read": ({w: w + g, v: v + (w + g), m: m + (v + (w + g))}, ["add(w)", "add(v)", "add(m)"], 3),
    "old and new value read": ({w: w + g, v: v + (w + g), m: T.add(m, w, v + (w + g))}, ["add(v)", "add(m)"], 2),
    "old value read before": ({w: w + g, v: v + (w + g), m: m + w * v}, ["add(w)", "add(v)", "add(m)"], 3),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_fused(name):
    results, updates, destroyers, commits = GRAPHS[name]
    compiled = compile_case(results, updates)
    check(compiled)
    assert (compiled.destroyers, len(compiled.commits)) == (destroyers, commits)


@pytest.mark.parametrize("name", UNFUSED_GRAPHS)
def test_unfused(name):
    updates, destroyers, commits = UNFUSED_GRAPHS[name]
    compiled = compile_case([], updates, query=UNFUSED)
    check(compiled)
    assert (compiled.destroyers, len(compiled.commits)) == (destroyers, commits)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("query", [UNFUSED, FAST_COMPILE, NOTHING, FAST_RUN.excluding("inplace")],
                         ids=["unfused", "fast_compile", "nothing", "excluded"])
def test_other_modes(name, query):
    results, updates, _, _ = GRAPHS[name]
    compiled = compile_case(results, updates, (g, x), query)
    check(compiled)
    assert not (compiled.destroyers and query in (NOTHING, FAST_RUN.excluding("inplace")))


# What is switched off, and the destroyers that are left.
SWITCHES = {
    "inplace": [], "InplaceBlasOpt": ["sub(v)"], "inplace_elemwise_opt": ["Gemm(w)"], "fusion": ["Gemm(w)", "sub(v)"],
}


@pytest.mark.parametrize("tag", SWITCHES)
def test_switches(tag):
    compiled = compile_case([], {w: w - BY_DOT, v: v - g}, query=FAST_RUN.excluding(tag))
    assert sorted(compiled.destroyers) == SWITCHES[tag]


# name: (results, updates, mutable, destroyers, copies): what the user wrote, in a mode without any rewrites
PROTECTED = {
    "constant": ([user(T.constant([[1.0]]))], {}, (), ["User(DeepCopyOp)"], 1),
    "argument": ([user(g)], {}, (), ["User(DeepCopyOp)"], 1),
    "mutable argument": ([user(g)], {}, (g,), ["User(g)"], 0),
    "view of an argument": ([user(g.T)], {}, (), ["User(DeepCopyOp)"], 1),
    "view of a mutable argument": ([user(g.T)], {}, (g,), ["User(DimShuffle)"], 0),
    "mutable argument that is a result": ([user(g), g], {}, (g,), ["User(DeepCopyOp)"], 1),
    "mutable argument with an earlier reader": ([user(g), T.dot(g, x)], {}, (g,), ["User(g)"], 0),
    "mutable argument with a later reader": ([T.dot(user(g), g)], {}, (g,), ["User(DeepCopyOp)"], 1),
    "mutable argument that an update reads": ([user(g)], {w: w + g}, (g,), ["User(g)"], 0),
    "shared value": ([user(w)], {}, (), ["User(DeepCopyOp)"], 1),
    "shared value with another update": ([user(w)], {w: w + 1}, (), ["User(DeepCopyOp)"], 1),
    "shared value by its update": ([], {w: user(w)}, (), ["User(DeepCopyOp)"], 1),      # it may fail
    "temporary": ([user(T.exp(g))], {}, (), ["User(exp)"], 0),
    "result": ([user(T.exp(g)), T.exp(g) + 0], {}, (), ["User(exp)"], 0),
    "twice": ((lambda t: [user(t), user(t, g)])(T.exp(g)), {}, (), ["User(exp)", "User(DeepCopyOp)"], 1),
    "one after the other": ([user(user(T.exp(g)))], {}, (), ["User(exp)", "User(User)"], 0),
    "also a result": ((lambda t: [user(t), t])(T.exp(g)), {}, (), ["User(DeepCopyOp)"], 1),
    "view is a result": ((lambda t: [user(t), t.T])(T.exp(g)), {}, (), ["User(DeepCopyOp)"], 1),
    "alias": ((lambda t: [user(t, t.T)])(T.exp(g)), {}, (), ["User(DeepCopyOp)"], 1),
    "itself": ((lambda t: [user(t, t)])(T.exp(g)), {}, (), ["User(DeepCopyOp)"], 1),
    "circle": ((lambda s, t: [user(s, t), user(t, s)])(T.exp(g), T.exp(x)), {}, (),
               ["User(DeepCopyOp)", "User(exp)"], 1),
    "elementwise, argument": ([exp_inplace(g)], {}, (), [], 0),
    "elementwise, mutable argument": ([exp_inplace(g)], {}, (g,), ["exp(g)"], 0),
    "elementwise, shared value": ([], {w: add_inplace(w, g)}, (), ["add(w)"], 0),
    "elementwise, itself twice": ([], {w: add_inplace(w, w)}, (), ["add(w)"], 0),
    "elementwise, result": ([sqr_inplace(w)], {w: w * 2}, (), [], 0),
    "gemm, shared value": ([], {w: gemm_inplace(w, 2.0, x, g, 1.0)}, (), ["Gemm(w)"], 0),
    "gemm, argument": ([gemm_inplace(g, 2.0, x, d, 1.0)], {}, (), [], 0),
    "chain of updates": ((), {w: add_inplace(w, g), v: add_inplace(v, add_inplace(w, g))}, (),
                         ["add(v)", "add(w)"], 0),
}


@pytest.mark.parametrize("name", PROTECTED)
def test_what_the_user_wrote(name):
    results, updates, mutable, destroyers, copies = PROTECTED[name]
    compiled = compile_case(results, updates, mutable, NOTHING)
    check(compiled)
    compiled.fgraph.validate()
    assert sorted(compiled.destroyers) == sorted(destroyers)
    assert compiled.copies == copies
    check(compile_case(results, updates, mutable))


def test_one_line_declares_what_an_op_can_overwrite():
    compiled = compile_case([one_line(T.dot(g, g)), one_line(g)])
    check(compiled)
    assert compiled.destroyers == ["OneLine(dot)"] or compiled.destroyers == ["OneLine(Dot22)"]


def test_a_chain_of_temporaries_lives_in_one_memory():
    value = T.dot(g, g)
    for _ in range(5):
        value = T.tanh(T.exp(value).T)
    compiled = compile_case([value], query=UNFUSED)
    check(compiled)
    assert len(compiled.destroyers) == 10 and not missed(compiled)


def test_copies_and_pickles_of_a_graph_keep_their_rules():
    compiled = compile_case([w.T], momentum(0.1 * g))
    for fgraph in (compiled.fgraph.clone(), pickle.loads(pickle.dumps(compiled.fgraph))):
        commits = handler_of(fgraph).commit_nodes(fgraph)
        assert [str(node.op) for node in commits] == [str(node.op) for node in compiled.commits]
        assert commits[0] in fgraph.apply_nodes
        fgraph.validate()


def test_nothing_from_outside_is_overwritten_without_a_handler():
    fgraph = FunctionGraph([g], [T.exp(g), T.exp(T.dot(g, g))])
    mark_inplace(fgraph, FAST_COMPILE)
    assert [node.op.destroy_map for node in schedule(fgraph) if type(node.op) is Elemwise] == [{}, {0: [0]}]


# ---- random graphs ---------------------------------------------------------------------------------------------------
STEPS = {
    "tanh": lambda a, c: T.tanh(a), "add": lambda a, c: a + c, "sub": lambda a, c: a - c, "view": lambda a, c: a.T,
    "dot": T.dot, "gemm": lambda a, c: a + T.dot(c, c), "row": lambda a, c: a * c[0], "user": lambda a, c: user(a),
    "user of two": user, "marked": add_inplace, "part": lambda a, c: T.dot(a[:2].T, a[:2]),
}


@st.composite
def random_graphs(draw):
    """(results, updates, mutable)"""
    values = [w, v, m, g, x]
    pick = st.integers(0, 10 ** 6)
    for name in draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=14)):
        first, second = values[draw(pick) % len(values)], values[-1 - draw(pick) % min(len(values), 4)]
        values.append(STEPS[name](first, second))
    results = [values[-1 - draw(pick) % len(values)] for _ in range(draw(st.integers(0, 2)))]
    updates = {shared: values[-1 - draw(pick) % len(values)] for shared in draw(st.sets(st.sampled_from([w, v, m])))}
    return results, updates, draw(st.sets(st.sampled_from([g, x])))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_graphs(), st.sampled_from([NOTHING, UNFUSED, FAST_COMPILE, FAST_RUN]))
def test_random_graphs(graph, query):
    compiled = compile_case(*graph, query)
    check(compiled)
    compiled.fgraph.check_integrity()
    compiled.fgraph.validate()
    if query in (UNFUSED, FAST_COMPILE):
        assert not missed(compiled)


# ---- large graphs ----------------------------------------------------------------------------------------------------
LONG = 20_000


def test_long_chains():
    """A chain without recursion, and a value with very many readers that its last reader overwrites."""
    value = T.dot(g, g)
    for _ in range(LONG):
        value = T.tanh(value)
    fgraph = FunctionGraph([g], [value], clone=False)
    fgraph.attach_feature(DestroyHandler([g]))
    assert mark_inplace(fgraph, FAST_COMPILE) == LONG
    assert protect(fgraph) == 0


def test_a_long_chain_of_updates():
    """And many shared values that flow into it."""
    inputs, value = [], w
    for number in range(1000):
        inputs.append(variable("d2", f"s{number}"))
        value = T.inc_subtensor((value + inputs[-1])[:1], x[:1])
    fgraph = FunctionGraph([w, x, *inputs], [value, *[T.inc_subtensor((s + x)[:1], 1.0) for s in inputs]], clone=False)
    handler = DestroyHandler([], {shared: place for place, shared in enumerate([w, *inputs])})
    fgraph.attach_feature(handler)
    assert mark_inplace(fgraph, FAST_COMPILE) == 4000
    assert len(handler.commit_nodes(fgraph)) == 4000
    assert protect(fgraph) == 0


def test_many_readers():
    hub = T.exp(g)
    fgraph = FunctionGraph([g], [T.tanh(hub + T.constant(number)) for number in range(LONG // 4)], clone=False)
    assert mark_inplace(fgraph, FAST_COMPILE) == LONG // 4 + 1


def test_the_result_written_last_overwrites():
    """A kernel that overwrites an input before its last reader has to copy it first."""
    value = T.cumsum(y)                        # a temporary
    fgraph = optimized([y, b], [value / 3 * b, value * b, T.sqr(value)])
    fused, = [node for node in fgraph.toposort() if type(node.op) is Elemwise and len(node.outputs) == 3]
    steps = [operands for _, operands in fused.op.scalar_op.steps]
    (output, (position,)), = fused.op.destroy_map.items()
    assert fused.inputs[position].owner is not None
    made_by = fused.op.scalar_op.output_slots[output] - len(fused.inputs) - len(fused.op.scalar_op.constants)
    assert not any(position in operands for operands in steps[made_by + 1:])
