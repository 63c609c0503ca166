"""Theano's classes for optimizers: on graphs at hand, in modes, in databases, and registered for all functions."""
import io

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import gof
from phintys.gof import opt, toolbox
from phintys.gof.optdb import TopoDB
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op
from phintys.optimizer.engine import registered


class Symbol(Op):
    """An op of a name, on scalars; it adds its inputs."""

    __props__ = ("name",)

    def __init__(self, name, destroy_map=None):
        self.name = name
        if destroy_map:
            self.destroy_map = destroy_map

    def make_node(self, *inputs):
        return Apply(self, list(map(T.as_tensor_variable, inputs)), [T.dscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = numpy.asarray(sum(inputs), "float64")

    def __str__(self):
        return self.name


class Other(Symbol):
    """A subclass, to be tracked as one."""


f, g, h = Symbol("f"), Symbol("g"), Other("h")
x, y, z = T.dscalars("x", "y", "z")


def graph(*outputs):
    return FunctionGraph([x, y, z], outputs, clone=False)


def after(optimizer, *outputs):
    """The text of the graph of these outputs when it was optimized."""
    fgraph = graph(*outputs)
    optimizer.optimize(fgraph)
    fgraph.check_integrity()
    return str(fgraph)


def everywhere(local_opt, **options):
    return opt.TopoOptimizer(local_opt, **options)


# ---- local optimizers and patterns -----------------------------------------------------------------------------------
PATTERNS = {
    "swap": ((f, "a", "b"), (g, "b", "a"), f(x, y), "[g(y, x)]"),
    "twice the same": ((f, "a", "a"), (g, "a"), f(x, x), "[g(x)]"),
    "not the same": ((f, "a", "a"), (g, "a"), f(x, y), "[f(x, y)]"),
    "nested": ((f, (g, "a"), "b"), "b", f(g(x), y), "[y]"),
    "nothing nested": ((f, (g, "a"), "b"), "b", f(x, y), "[f(x, y)]"),
    "other count": ((f, "a"), "a", f(x, y), "[f(x, y)]"),
    "number": ((f, "a", 2), (g, "a"), f(x, T.constant(2.0)), "[g(x)]"),
    "other number": ((f, "a", 2), (g, "a"), f(x, T.constant(3.0, name="three")), "[f(x, three)]"),
    "constant": ((f, T.constant(2.0)), (g, 3.5), f(T.constant(2.0)), "[g(TensorConstant{3.5})]"),
    "everywhere inside": ((f, "a"), (g, "a"), f(h(f(f(x)))), "[g(h(g(g(x))))]"),
    "constraint": ((f, {"pattern": "a", "constraint": lambda found: found is y}), (g, "a"), f(h(f(x))), "[f(h(f(x)))]"),
    "constraint met": ({"pattern": (f, {"pattern": "a", "constraint": lambda found: found is y})}, (g, "a"), f(y),
                       "[g(y)]"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name):
    found, put, output, expected = PATTERNS[name]
    assert after(everywhere(opt.PatternSub(found, put), ignore_newtrees=True), output) == expected


def test_inner_expressions_with_other_readers():
    shared = g(x)
    rule = opt.PatternSub((f, (g, "a")), "a")
    assert after(everywhere(rule), f(shared), shared) == "[f(*1 -> g(x)), *1]"
    shared = g(x)
    rule = opt.PatternSub((f, (g, "a")), "a", allow_multiple_clients=True, name="mine")
    assert str(rule) == "mine" and after(everywhere(rule), f(shared), shared) == "[x, g(x)]"


def test_equal_expressions_are_tried():
    skip = opt.PatternSub((f, (g, "a")), "a", skip_identities_fn=lambda found: found.owner.inputs[0]
                          if found.owner and found.owner.op == h else None)
    assert after(everywhere(skip), f(h(g(x)))) == "[x]" and str(skip) == "f(g(a)) -> a"
    with pytest.raises(TypeError, match="start with"):
        opt.PatternSub("a", "b")


@pytest.mark.parametrize("order, expected", [("in_to_out", "[f(y)]"), ("out_to_in", "[f(g(y))]")])
def test_order(order, expected):
    """The inner f(x) becomes g(y) unless the outer pattern has taken its argument away."""
    rules = opt.LocalOptGroup(opt.PatternSub((f, (g, "a")), (f, "a")), opt.PatternSub((h, x), (g, y)))
    fgraph = graph(f(h(x)))
    opt.TopoOptimizer(opt.PatternSub((h, "a"), (g, y)), order=order).optimize(fgraph)
    assert str(fgraph) == "[f(g(y))]" and rules.tracks() == [f, h]
    opt.TopoOptimizer(rules, order=order).optimize(fgraph)
    assert str(fgraph) == "[f(y)]"
    with pytest.raises(ValueError, match="order"):
        opt.TopoOptimizer(rules, order="sideways")


def test_op_for_op_and_no_op():
    output = f(x)
    output.tag.note = "kept"
    fgraph = graph(h(output, y))
    everywhere(opt.OpSub(f, g)).optimize(fgraph)
    assert str(fgraph) == "[h(g(x), y)]" and fgraph.outputs[0].owner.inputs[0].tag.note == "kept"
    assert after(everywhere(opt.OpRemove(f)), h(f(f(x)), y)) == "[h(x, y)]"
    assert str(opt.OpSub(f, g)) == "f -> g" and str(opt.OpRemove(f)) == "f(x) -> x"
    assert after(opt.OpKeyOptimizer(opt.OpSub(f, g)), h(f(f(x)), f(y))) == "[h(g(g(x)), g(y))]"
    with pytest.raises(TypeError, match="op_key"):
        opt.OpKeyOptimizer(opt.LocalOptGroup())


def test_decorated_functions():
    seen = []

    @gof.local_optimizer([Other, g])
    def local_h(node):
        seen.append((node.op.name, node.fgraph))
        return [f(*node.inputs)] if node.op == h else None

    fgraph = graph(f(h(x), g(y)))
    gof.TopoOptimizer(opt.LocalOptGroup(local_h)).optimize(fgraph)
    assert str(fgraph) == "[f(f(x), g(y))]" and str(local_h) == "local_h"
    assert {name for name, _ in seen} == {"h", "g"} and {inside for _, inside in seen} == {fgraph}
    assert not any(["fgraph" in node.__dict__ for node in fgraph.apply_nodes])
    with pytest.raises(ValueError, match="None instead"):
        gof.local_optimizer([])(local_h.fn)
    with pytest.raises(ValueError, match="classes or instances"):
        gof.local_optimizer([int])(local_h.fn)

    @gof.optimizer
    def whole(fgraph):
        fgraph.replace(fgraph.outputs[0], x)
    assert after(whole, f(y)) == "[x]" and str(whole) == "whole"


def test_in_place_optimizers_keep_to_the_rules():
    overwriting = Symbol("f_inplace", {0: [0]})

    @gof.inplace_optimizer
    def overwrite(fgraph):
        for node in fgraph.toposort():
            if node.op == f:
                fgraph.replace_all_validate([(node.out, overwriting(*node.inputs))], reason="overwrite")
    fgraph = graph(f(f(x)))
    overwrite.optimize(fgraph)
    assert str(fgraph) == "[f_inplace(f_inplace(x))]"
    shared = f(x)
    with pytest.raises(gof.InconsistencyError):
        overwrite.optimize(graph(f(shared), f(shared)))


def test_groups():
    rules = [opt.PatternSub((f, "a"), (g, "a")), opt.PatternSub((g, "a"), (h, "a"))]
    assert after(everywhere(opt.LocalOptGroup(*rules), ignore_newtrees=True), f(x)) == "[g(x)]"
    assert after(everywhere(opt.LocalOptGroup(rules, apply_all_opts=True), ignore_newtrees=True), f(x)) == "[h(x)]"
    assert after(opt.in2out(*rules, name="both"), f(x)) == "[h(x)]"
    assert str(opt.out2in(*rules, name="both")) == "both"
    stream = io.StringIO()
    opt.out2in(*rules, name="both").print_summary(stream)
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["TopoOptimizer", "LocalOptGroup",
                                                                            "PatternSub", "PatternSub"]


ANSWERS = {"no list": (lambda node: node.out, TypeError, "wrong type"),
           "count": (lambda node: [x, y], ValueError, "wrong number"),
           "none": (lambda node: [None], ValueError, "is used"),
           "type": (lambda node: [T.dvector()], TypeError, "type")}


@pytest.mark.parametrize("name", ANSWERS)
def test_wrong_answers(name):
    transform, error, message = ANSWERS[name]
    with pytest.raises(error, match=message):
        after(everywhere(gof.local_optimizer([f])(transform)), f(x))


def test_failures_are_reported():
    @gof.local_optimizer([f])
    def failing(node):
        raise ArithmeticError("failing")
    seen = []
    told = everywhere(failing, failure_callback=lambda *arguments: seen.append(arguments))
    assert after(told, f(x)) == "[f(x)]" and type(seen[0][0]) is ArithmeticError and seen[0][3] is failing
    with change_flags(on_opt_error="raise"), pytest.raises(ArithmeticError):
        after(everywhere(failing, failure_callback=opt.NavigatorOptimizer.warn), f(x))
    with change_flags(on_opt_error="ignore"):
        assert after(everywhere(failing, failure_callback=opt.NavigatorOptimizer.warn), f(x)) == "[f(x)]"
        assert after(opt.SeqOptimizer([everywhere(failing), everywhere(opt.OpSub(f, g))],
                                      failure_callback=opt.SeqOptimizer.warn), f(x)) == "[g(x)]"
    with pytest.raises(ArithmeticError):
        after(opt.SeqOptimizer(everywhere(failing)), f(x))


# ---- until nothing changes -------------------------------------------------------------------------------------------
def test_equilibrium():
    rules = [opt.PatternSub((f, "a", "b"), (g, "b")), opt.PatternSub((g, "a"), (h, "a", "a")), gof.MergeOptimizer()]
    both = opt.EquilibriumOptimizer(rules, max_use_ratio=10)
    assert after(both, f(f(x, y), z), f(x, z)) == "[*1 -> h(z, z), *1]"
    assert both.get_local_optimizers() == rules[:2]
    with pytest.raises(AssertionError, match="max_use_ratio"):
        opt.EquilibriumOptimizer(rules)


def test_an_equilibrium_that_is_never_reached_ends():
    rules = [opt.OpSub(f, g), opt.OpSub(g, f)]
    with change_flags(on_opt_error="raise"), pytest.raises(RuntimeError, match="max'ed out"):
        after(opt.EquilibriumOptimizer(rules, max_use_ratio=3), f(g(x)))
    with change_flags(on_opt_error="ignore"):
        assert after(opt.EquilibriumOptimizer(rules, max_use_ratio=3), f(x)) in ("[f(x)]", "[g(x)]")


def test_final_and_cleanup():
    turns = []
    final = opt.FromFunctionOptimizer(lambda fgraph: turns.append("final"))
    clean = opt.FromFunctionOptimizer(lambda fgraph: turns.append("clean"))
    equilibrium = opt.EquilibriumOptimizer([opt.OpSub(f, g)], max_use_ratio=5, final_optimizers=[final],
                                           cleanup_optimizers=[clean])
    assert after(equilibrium, f(x)) == "[g(x)]"
    assert turns[-2:] == ["final", "clean"] and turns.count("final") == 2


# ---- features --------------------------------------------------------------------------------------------------------
def test_history():
    fgraph = graph(f(x))
    fgraph.attach_feature(toolbox.History())
    start = fgraph.checkpoint()
    fgraph.replace(fgraph.outputs[0], g(y))
    middle = fgraph.checkpoint()
    fgraph.replace(fgraph.outputs[0], h(z))
    fgraph.revert(middle)
    assert str(fgraph) == "[g(y)]"
    fgraph.revert(start)
    assert str(fgraph) == "[f(x)]" and fgraph.checkpoint() == start
    fgraph.attach_feature(toolbox.History())
    assert len(fgraph.features) == 1                # it would hide the first one's methods
    fgraph.remove_feature(fgraph.features[0])
    assert not hasattr(fgraph, "checkpoint")


def test_node_finder():
    finder, fgraph = toolbox.NodeFinder(), graph(f(f(g(x))))
    fgraph.attach_feature(finder)
    assert len(fgraph.get_nodes(f)) == 2 and len(fgraph.get_nodes(g)) == 1 and fgraph.get_nodes(h) == []
    fgraph.replace(fgraph.outputs[0], h(g(y)))
    assert fgraph.get_nodes(f) == [] and [str(node) for node in fgraph.get_nodes(h)] == ["h(g.0)"]
    with pytest.raises(ValueError, match="one FunctionGraph"):
        graph(x).attach_feature(finder)


def test_what_should_be_gone():
    inner = f(x)
    fgraph = graph(g(inner))
    fgraph.attach_feature(toolbox.ReplaceValidate())
    assert fgraph.consistent()
    with pytest.warns(UserWarning, match="not applied"), pytest.raises(toolbox.ReplacementDidntRemovedError):
        fgraph.replace_all_validate_remove([(fgraph.outputs[0], h(inner))], remove=[inner.owner], reason="mine")
    assert str(fgraph) == "[g(f(x))]"
    fgraph.replace_all_validate_remove([(fgraph.outputs[0], h(x))], remove=[inner.owner])
    assert str(fgraph) == "[h(x)]"
    with pytest.raises(gof.InconsistencyError, match="reintroduce"):
        fgraph.replace_validate(fgraph.outputs[0], g(inner))


def test_listener_names_and_outputs(capsys):
    fgraph = graph(f(x))
    fgraph.attach_feature(toolbox.PrintListener())
    fgraph.attach_feature(toolbox.PreserveVariableAttributes())
    fgraph.outputs[0].name = "result"
    fgraph.replace(fgraph.outputs[0], g(x), reason="mine")
    words = [line.split()[1].strip(":") for line in capsys.readouterr().out.splitlines()]
    assert words == ["attaching", "importing", "pruning", "changing"] and fgraph.outputs[0].name == "result"
    fgraph.attach_feature(toolbox.NoOutputFromInplace())
    with pytest.raises(gof.InconsistencyError, match="memory of"):
        fgraph.replace_validate(fgraph.outputs[0], Symbol("i", {0: [0]})(x))


# ---- databases -------------------------------------------------------------------------------------------------------
def test_database():
    db = gof.DB()
    one, two = everywhere(opt.OpSub(f, g)), everywhere(opt.OpSub(g, h))
    db.register("one", one, "a", "b")
    db.register("two", two, "b", "c")
    assert db.query("+b") == [one, two] and db.query("+a", "+c", "-c") == [one] and db.query("+b", "&c") == [two]
    assert db["one"] is one and db["a"] is one and "c" in db and "d" not in db
    db.add_tags("one", "d")
    db.remove_tags("two", "c")
    assert db.query(gof.Query(["d", "c"])) == [one]
    for arguments, error in ((("one", two), ValueError), (("b", two), ValueError), (("three", one), ValueError),
                             (("three", "no optimizer"), TypeError),
                             (("three", opt.MergeOptimizer(), "two"), ValueError)):
        with pytest.raises(error):
            db.register(*arguments)
    for tags, error in (("b",), ValueError), ((gof.Query(["a"]), "+b"), TypeError):
        with pytest.raises(error):
            db.query(*tags)
    with pytest.raises(KeyError):
        db["nothing"]
    with pytest.raises(ValueError, match="More than one"):
        db["b"]


def test_sequences_and_what_is_inside():
    inner = gof.EquilibriumDB()
    inner.register("to_g", opt.OpSub(f, g), "basic")
    inner.register("to_h", opt.OpSub(g, h), "further")
    db = gof.SequenceDB()
    db.register("late", everywhere(opt.OpRemove(h)), 3, "basic")
    db.register("inner", inner, 1, "basic")
    db.register("last", gof.MergeOptimizer(), "last", "merging")
    assert [type(part).__name__ for part in db.query("+basic", "+merging")] == ["EquilibriumOptimizer", "TopoOptimizer",
                                                                                "MergeOptimizer"]
    assert after(db.query("+basic"), f(x)) == "[g(x)]"
    assert after(db.query("+basic", inner=gof.Query(["basic", "further"])), f(x)) == "[x]"
    assert len(db.query(gof.Query(["basic"], position_cutoff=2))) == 1
    assert len(db.query("+basic", position_cutoff=2)) == 1
    extra = gof.Query(["basic"], extra_optimizations=[(everywhere(opt.OpSub(g, f)), 2)]).including("merging")
    assert after(db.query(extra), f(x)) == "[f(x)]"
    group = gof.LocalGroupDB(apply_all_opts=True)
    group.register("second", opt.OpSub(g, h), "basic", position=2)
    group.register("first", opt.OpSub(f, g), "basic", position=1)
    assert [part.name for part in group.query("+basic").opts] == ["first", "second"]
    assert after(TopoDB(gof.ProxyDB(group)).query("+basic"), f(x)) == "[h(x)]"


# ---- functions -------------------------------------------------------------------------------------------------------
@gof.local_optimizer([T.tanh])
def local_tanh_is_sinh(node):
    return [T.sinh(node.inputs[0])]


@pytest.mark.parametrize("mode", [
    phintys.Mode("vm", everywhere(local_tanh_is_sinh)), phintys.Mode().register(local_tanh_is_sinh),
    phintys.Mode().register((everywhere(local_tanh_is_sinh), 1.2))], ids=["alone", "local", "at a position"])
def test_modes(mode):
    function = phintys.function([x], T.tanh(x) + 1, mode=mode)
    assert function(2.0) == pytest.approx(numpy.sinh(2.0) + 1)
    assert "sinh" in str(function.maker.fgraph) and "tanh" not in str(function.maker.fgraph)


@pytest.fixture
def nothing_stays_registered(monkeypatch):
    monkeypatch.setattr(registered, "whole", list(registered.whole))
    monkeypatch.setattr(registered, "rewrites", {name: list(rows) for name, rows in registered.rewrites.items()})
    yield
    registered.version += 1


@pytest.mark.parametrize("register", [
    lambda: T.opt.register_specialize(local_tanh_is_sinh, "sinh_tag"),
    lambda: T.opt.register_canonicalize("sinh_tag", name="by tag")(local_tanh_is_sinh),
    lambda: phintys.compile.optdb.register("whole", everywhere(local_tanh_is_sinh), 1.6, "fast_run", "sinh_tag")],
    ids=["specialize", "canonicalize", "whole"])
def test_registered_for_all_functions(register, nothing_stays_registered):
    register()
    assert phintys.function([x], T.tanh(x))(2.0) == pytest.approx(numpy.sinh(2.0))
    without = phintys.compile.get_default_mode().excluding("sinh_tag")
    assert phintys.function([x], T.tanh(x), mode=without)(2.0) == pytest.approx(numpy.tanh(2.0))
    with pytest.raises(ValueError, match="existing"):
        register()


def test_what_cannot_be_registered(nothing_stays_registered):
    optdb = phintys.compile.optdb
    with pytest.raises(TypeError, match="OptDB"):
        optdb.register("mine", 3, 1)
    with pytest.raises(TypeError, match="OptDB"):
        optdb["specialize"].register("mine", gof.MergeOptimizer())
    with pytest.raises(KeyError, match="families are"):
        optdb["no family"]
    assert "specialize" in optdb and "mine" not in optdb


# ---- small things ----------------------------------------------------------------------------------------------------
def test_chains_and_traces():
    output = f(g(x))
    assert opt.check_chain(output, f, g) and opt.check_chain(output.owner, f, Symbol, None)
    assert not opt.check_chain(output, g) and not opt.check_chain(output, f, None)
    made = Symbol("k").make_node(y).out
    made.owner._position = None
    assert opt.copy_stack_trace(output, made) is made and made.where == output.where


def test_rewrites_see_readers_and_the_graph():
    seen = []

    @opt.local_optimizer([f])
    def one_reader(node):
        seen.append(node.fgraph)
        inner = node.inputs[0]
        if inner.owner is not None and inner.owner.op == g and len(inner.clients) == 1:
            assert inner.clients[0] == (node, 0) and inner.owner.fgraph is node.fgraph is inner.fgraph
            return [h(*inner.owner.inputs)]

    first, second = g(x), g(y)
    assert after(everywhere(one_reader), f(first), f(second), second) == "[h(x), f(*1 -> g(y)), *1]"
    assert len(set(map(id, seen))) == 1
    function = phintys.function([x], f(g(x)), mode=phintys.Mode(optimizer="fast_run").register(one_reader))
    assert [str(node.op) for node in function.maker.fgraph.toposort()] == ["h"]
    assert function.maker.fgraph.outputs[0].clients[0] == ("output", 0)
