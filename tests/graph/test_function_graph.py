"""FunctionGraph: clients, replacement, pruning, features."""
import pickle
import random

import pytest
from toy_graph import LENGTH, Cast, Copy, Overwrite, ToyConstant, ToyType, add, chain, mul, negate, pair, scalar, vector

from phintys.graph.errors import InconsistencyError, MissingInputError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.traversal import is_same_graph
from phintys.graph.valueless_types import NullType


def graph(inputs, outputs, **options):
    fgraph = FunctionGraph(inputs, outputs, **options)
    fgraph.check_integrity()
    return fgraph


@pytest.fixture
def small():
    """The graph of (x + y) * -(x + y), not copied, and its variables."""
    x, y = scalar("x"), scalar("y")
    total = add(x, y)
    minus = negate(total)
    z = mul(total, minus)
    return graph([x, y], [z], clone=False), x, y, total, minus, z


def test_contents(small):
    fgraph, x, y, total, minus, z = small
    assert fgraph.apply_nodes == {total.owner, minus.owner, z.owner} and fgraph.variables == {x, y, total, minus, z}
    assert fgraph.toposort() == [total.owner, minus.owner, z.owner]
    assert list(fgraph.clients[total]) == [(minus.owner, 0), (z.owner, 0)] or \
        list(fgraph.clients[total]) == [(z.owner, 0), (minus.owner, 0)]
    assert list(fgraph.clients[z]) == [("output", 0)] and fgraph.clients(z) is fgraph.clients[z]


def test_clients_are_a_list_to_look_at(small):
    fgraph, x, y, total, minus, z = small
    readers = fgraph.clients[total]
    assert len(readers) == 2 and readers[0] != readers[1] == readers[-1] and readers[:1] == [readers[0]]
    assert readers[0] in readers and repr(readers) == repr(list(readers))
    with pytest.raises(IndexError):
        readers[2]


def test_by_default_the_users_graph_is_copied(small):
    _, x, y, total, minus, z = small
    c = ToyConstant(scalar, 2)
    fgraph = graph([x], [add(x, c)])
    assert fgraph.inputs[0] is not x and fgraph.outputs[0].owner.inputs[1] is c
    fgraph.replace(fgraph.outputs[0], negate(fgraph.inputs[0]))
    assert z.owner.inputs == [total, minus]


def test_outputs_may_be_inputs_constants_and_repeated():
    x, c = scalar("x"), ToyConstant(scalar, 1)
    fgraph = graph([x], [x, c, x, negate(x)])
    assert len(fgraph.clients[fgraph.inputs[0]]) == 3 and fgraph.outputs[0] is fgraph.outputs[2]


def test_unused_inputs_stay():
    x, y = scalar("x"), scalar("y")
    fgraph = graph([x, y], [negate(x)])
    assert not fgraph.clients[fgraph.inputs[1]]
    fgraph.add_input(scalar("z"))
    fgraph.check_integrity()


# ---- errors ----------------------------------------------------------------------------------------------------------
def test_missing_inputs_are_named():
    x, y = scalar("x"), scalar("forgotten")
    with pytest.raises(MissingInputError, match="forgotten .*made at .*test_function_graph.*input 1 of Add.*made at"):
        FunctionGraph([x], [negate(add(x, y))])
    with pytest.raises(MissingInputError, match="forgotten .*output"):
        FunctionGraph([x], [y])
    with pytest.raises(TypeError, match="NaN: because"):
        FunctionGraph([x], [add(x, NullType("because")())])
    with pytest.raises(ValueError, match="output of an already existing node"):
        FunctionGraph([negate(x)], [x], clone=False)


def test_a_failing_replacement_changes_nothing(small):
    fgraph, x, y, total, minus, z = small
    with pytest.raises(MissingInputError):
        fgraph.replace(total, add(negate(x), scalar("forgotten")))
    with pytest.raises(TypeError, match="who: the type of the replacement"):
        fgraph.replace(total, vector("v"), reason="who")
    with pytest.raises(TypeError):
        fgraph.change_input(z.owner, 0, vector("v"))
    with pytest.raises(InconsistencyError, match="does not belong"):
        fgraph.change_input(negate(x).owner, 0, y)
    fgraph.check_integrity()
    assert fgraph.toposort() == [total.owner, minus.owner, z.owner]


# ---- changes ---------------------------------------------------------------------------------------------------------
def test_replace_prunes(small):
    fgraph, x, y, total, minus, z = small
    fgraph.replace(minus, x)
    fgraph.check_integrity()
    assert minus.owner not in fgraph.apply_nodes and z.owner.inputs == [total, x]
    fgraph.replace(z, y)
    fgraph.check_integrity()
    assert fgraph.outputs == [y] and not fgraph.apply_nodes and fgraph.variables == {x, y}
    fgraph.replace(z, x)                                 # not in the graph any more
    assert fgraph.outputs == [y]


def test_replace_imports(small):
    fgraph, x, y, total, minus, z = small
    new = mul(negate(x), ToyConstant(scalar, 3))
    fgraph.replace(total, new)
    fgraph.check_integrity()
    assert {new.owner, new.owner.inputs[0].owner} < fgraph.apply_nodes and total.owner not in fgraph.apply_nodes


def test_replacement_may_contain_what_it_replaces(small):
    fgraph, x, y, total, minus, z = small
    fgraph.replace(total, negate(total))
    fgraph.check_integrity()
    assert len(fgraph.apply_nodes) == 4 and len(fgraph.clients[total]) == 1


def test_new_nodes_take_the_place_where_the_old_ones_were_made(small):
    fgraph, x, y, total, minus, z = small
    new = negate(x)
    assert new.where != total.where
    fgraph.replace(total, new)
    assert new.where == total.where


def test_replacement_is_converted():
    class Wide(ToyType):
        def convert_variable(self, variable):
            return Cast(self.dtype)(variable) if variable.type.dtype == "float32" else None

        def __eq__(self, other):
            return (self.dtype, self.ndim) == (other.dtype, other.ndim)

        __hash__ = ToyType.__hash__

    x, narrow = Wide()("x"), ToyType("float32")("narrow")
    fgraph = graph([x, narrow], [negate(x)], clone=False)
    fgraph.replace(x, narrow)
    fgraph.check_integrity()
    assert fgraph.outputs[0].owner.inputs[0].owner.op == Cast("float64")


def test_outputs_of_one_node_go_together():
    x, y = scalar("x"), scalar("y")
    first, second = pair(x, y)
    fgraph = graph([x, y], [first, second], clone=False)
    fgraph.replace(first, x)
    fgraph.check_integrity()
    assert first.owner in fgraph.apply_nodes and first in fgraph.variables
    fgraph.replace(second, y)
    fgraph.check_integrity()
    assert not fgraph.apply_nodes and first not in fgraph.variables


def test_toposort_follows_changes(small):
    fgraph, x, y, total, minus, z = small
    before = fgraph.toposort()
    before.clear()                                       # the caller's own list
    fgraph.replace(minus, total)
    assert fgraph.toposort() == [total.owner, z.owner]


def test_verbose(small, capsys):
    fgraph, x, y, total, minus, z = small
    fgraph.replace(minus, x, reason="why", verbose=True)
    assert capsys.readouterr().out == "why Negate.0 x\n"


def test_random_changes_keep_the_graph_consistent():
    choose = random.Random(1)
    x, y = scalar("x"), scalar("y")
    known = [x, y]
    for _ in range(60):
        op = choose.choice([add, mul, negate, pair])
        made = op(choose.choice(known), *([] if op is negate else [choose.choice(known)]), return_list=True)
        known.extend(made)
    fgraph = graph([x, y], choose.sample(known, 4), clone=False)
    for _ in range(100):
        order = [variable for node in fgraph.toposort() for variable in node.inputs + node.outputs]
        if not order:
            break
        position = choose.randrange(len(order))
        new = choose.choice([x, y] + order[:position])   # what stands before cannot depend on it
        fgraph.replace(order[position], choose.choice([new, negate(new), ToyConstant(scalar, 1)]))
        fgraph.check_integrity()


# ---- transactions and features ---------------------------------------------------------------------------------------
class Recorder:
    def __init__(self, refuse=()):
        self.seen, self.refuse = [], refuse

    def on_attach(self, fgraph):
        self.seen.append("attach")

    def on_detach(self, fgraph):
        self.seen.append("detach")

    def on_import(self, fgraph, node, reason):
        self.seen.append(("import", node.op, reason))

    def on_prune(self, fgraph, node, reason):
        self.seen.append(("prune", node.op, reason))

    def on_change_input(self, fgraph, node, position, old, new, reason):
        self.seen.append(("change", position, old, new, reason))

    def validate(self, fgraph):
        if any(node.op in self.refuse for node in fgraph.apply_nodes):
            raise InconsistencyError("refused")


def test_features_are_told(small):
    fgraph, x, y, total, minus, z = small
    recorder = Recorder()
    fgraph.attach_feature(recorder)
    fgraph.attach_feature(recorder)                      # once is enough
    new = Copy()(x)
    fgraph.replace(minus, new, reason="why")
    fgraph.remove_feature(recorder)
    fgraph.replace(new, x)
    assert recorder.seen == ["attach", ("import", Copy(), "why"), ("prune", negate, "why"),
                             ("change", 1, minus, new, "why"), "detach"]


def test_validation_reverts(small):
    fgraph, x, y, total, minus, z = small
    fgraph.attach_feature(Recorder(refuse=[Overwrite()]))
    wheres = [node.where for node in fgraph.toposort()]
    with pytest.raises(InconsistencyError, match="refused"):
        fgraph.replace_all_validate([(minus, x), (total, Overwrite()(y))], reason="why")
    fgraph.check_integrity()
    assert fgraph.toposort() == [total.owner, minus.owner, z.owner] and z.owner.inputs == [total, minus]
    assert [node.where for node in fgraph.toposort()] == wheres and len(fgraph.features) == 1
    fgraph.replace_validate(minus, x)
    assert z.owner.inputs == [total, x]


def test_a_transaction_that_fails_half_way_reverts(small):
    fgraph, x, y, total, minus, z = small
    with pytest.raises(TypeError):
        fgraph.replace_all_validate([(minus, x), (total, vector())])
    fgraph.check_integrity()
    assert z.owner.inputs == [total, minus]


def test_orderings():
    x = scalar("x")
    a, b = negate(x), Copy()(x)
    fgraph = graph([x], [a, b], clone=False)

    class Order:
        def orderings(self, fgraph):
            return {a.owner: [b.owner]}

    assert fgraph.toposort() == [a.owner, b.owner]
    fgraph.attach_feature(Order())
    assert fgraph.toposort() == [b.owner, a.owner]


def test_cycles_are_found_by_toposort(small):
    fgraph, x, y, total, minus, z = small
    fgraph.change_input(total.owner, 0, z)
    with pytest.raises(InconsistencyError, match="cycle"):
        fgraph.toposort()


# ---- integrity -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("damage", [
    lambda f: f.apply_nodes.pop(), lambda f: f.apply_nodes.add(negate(scalar()).owner),
    lambda f: f.clients.pop(f.outputs[0]), lambda f: f.clients[f.outputs[0]].clear(),
    lambda f: f.clients.setdefault(scalar(), {}), lambda f: f.outputs.append(f.inputs[0])])
def test_check_integrity_finds_damage(small, damage):
    damage(small[0])
    with pytest.raises(InconsistencyError):
        small[0].check_integrity()


# ---- copies ----------------------------------------------------------------------------------------------------------
def test_clone(small):
    fgraph, x, y, total, minus, z = small
    recorder = Recorder()
    fgraph.attach_feature(recorder)
    copied, equiv = fgraph.clone_get_equiv()
    copied.check_integrity()
    assert equiv[z] is copied.outputs[0] and equiv[x] is copied.inputs[0] and copied.features == [recorder]
    assert is_same_graph(z, copied.outputs[0], {x: equiv[x], y: equiv[y]}) and not fgraph.variables & copied.variables


def test_pickle(small):
    fgraph = small[0]
    restored = pickle.loads(pickle.dumps(fgraph))
    restored.check_integrity()
    assert [node.op for node in restored.toposort()] == [node.op for node in fgraph.toposort()]


# ---- size ------------------------------------------------------------------------------------------------------------
def test_long_chains():
    x = scalar("x")
    fgraph = graph([x], [chain(x)])
    assert len(fgraph.toposort()) == LENGTH
    fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])  # prunes all of it
    assert not fgraph.apply_nodes and fgraph.variables == {fgraph.inputs[0]}


@pytest.mark.parametrize("order", [1, -1])
def test_a_variable_with_many_readers_loses_them_one_by_one(order):
    x = scalar("x")
    fgraph = graph([x], [negate(x) for _ in range(LENGTH // 5)])
    for position in range(len(fgraph.outputs))[::order]:
        fgraph.change_input("output", position, fgraph.inputs[0])
    fgraph.check_integrity()
    assert not fgraph.apply_nodes and len(fgraph.clients[fgraph.inputs[0]]) == LENGTH // 5


def test_readers_in_another_form_are_refused(small):
    """What the compiled code takes for `Clients` is looked at: the memory of a list is another."""
    fgraph, x, *_, z = small
    fgraph.clients[x] = list(fgraph.clients[x])
    for change in (lambda: fgraph.replace(z, x), lambda: fgraph.import_node(negate(x).owner)):
        with pytest.raises(TypeError, match="Clients"):
            change()
