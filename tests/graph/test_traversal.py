"""Walks, orders, copies and comparisons of graphs."""
import pytest
from toy_graph import LENGTH, Cast, Overwrite, ToyConstant, ToyType, add, chain, mul, negate, pair, scalar, vector

from phintys.graph import traversal
from phintys.graph.apply import Apply
from phintys.graph.errors import InconsistencyError
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.toposort import io_toposort


@pytest.fixture
def diamond():
    """x, y, (x + y) * -(x + y) and its parts."""
    x, y = scalar("x"), scalar("y")
    total = add(x, y)
    minus = negate(total)
    return x, y, total, minus, mul(total, minus)


def test_sets_of_variables(diamond):
    x, y, total, minus, z = diamond
    assert traversal.ancestors([z]) == [z, total, x, y, minus]
    assert traversal.ancestors([z], blockers=[total]) == [z, total, minus]
    assert traversal.graph_inputs([z]) == [x, y] and traversal.graph_inputs([z], blockers=[total]) == []
    assert traversal.orphans([x], [z]) == [y] and set(traversal.variables([x], [z])) == set(diamond)
    assert traversal.ops([x, y], [z]) == {total.owner, minus.owner, z.owner}
    assert traversal.is_in_ancestors(z.owner, total.owner) and not traversal.is_in_ancestors(total.owner, z.owner)


def test_unused_outputs_are_variables():
    x, y = scalar("x"), scalar("y")
    first, second = pair(x, y)
    assert second in traversal.variables([x, y], [first])


def test_toposort(diamond):
    x, y, total, minus, z = diamond
    assert io_toposort([x, y], [z]) == [total.owner, minus.owner, z.owner]
    assert io_toposort([total], [z]) == [minus.owner, z.owner] and io_toposort([z], [z]) == []
    assert io_toposort([], [z], known={total.owner}) == [minus.owner, z.owner]
    assert traversal.list_of_nodes([x, y], [z, minus]) == [z.owner, minus.owner, total.owner]


def test_toposort_is_depth_first_from_the_first_output():
    x = scalar("x")
    a, b = negate(x), negate(negate(x))
    assert io_toposort([x], [a, b]) == [a.owner, b.owner.inputs[0].owner, b.owner]
    assert io_toposort([x], [b, a]) == [b.owner.inputs[0].owner, b.owner, a.owner]


def test_orderings_are_obeyed():
    x = scalar("x")
    a, b = negate(x), Overwrite()(x)
    assert io_toposort([x], [b, a], orderings={b.owner: [a.owner]}) == [a.owner, b.owner]
    with pytest.raises(InconsistencyError, match="cycle"):
        io_toposort([x], [b, a], orderings={b.owner: [a.owner], a.owner: [b.owner]})


def test_cycles_are_found():
    x = scalar("x")
    y = negate(negate(x))
    y.owner.inputs[0].owner.inputs[0] = y
    with pytest.raises(InconsistencyError, match="cycle"):
        io_toposort([x], [y])


# ---- copies ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("copy_inputs, copy_orphans, constants", [
    (True, None, False), (False, None, True), (True, False, True), (False, True, False)])
def test_clone(copy_inputs, copy_orphans, constants):
    x, c = scalar("x"), ToyConstant(scalar, 2)
    y = add(x, c)
    (new_x,), (new_y,) = traversal.clone([x], [y], copy_inputs, copy_orphans)
    assert (new_x is x) is not copy_inputs and new_y is not y
    assert new_y.owner.inputs[0] is new_x and (new_y.owner.inputs[1] is c) is constants


def test_clone_cuts_at_computed_inputs(diamond):
    x, y, total, minus, z = diamond
    (new_total,), (new_z,) = traversal.clone([total], [z])
    assert new_total.owner is None and new_total.type == total.type
    assert traversal.graph_inputs([new_z]) == [new_total]


def test_clone_get_equiv_knows_everything(diamond):
    x, y, total, minus, z = diamond
    extra = scalar("extra")
    equiv = traversal.clone_get_equiv([x, y], [z, extra])
    assert set(equiv) == {*diamond, extra, total.owner, minus.owner, z.owner}
    assert equiv[z].owner is equiv[z.owner] and equiv[total].owner.inputs == [equiv[x], equiv[y]]
    memo = {total: total}
    assert traversal.clone_get_equiv([x, y], [z], memo=memo) is memo and memo[z].owner.inputs[0] is total


def test_clone_replace(diamond):
    x, y, total, minus, z = diamond
    new = traversal.clone_replace(z, {total: negate(x), x: y})
    assert traversal.equal_computations([new], [mul(negate(x), negate(negate(x)))])   # what is put in is not searched
    assert traversal.clone_replace([z, x], {x: y})[1] is y
    assert isinstance(traversal.clone_replace((z,)), list) and list(traversal.clone_replace({"a": z})) == ["a"]
    assert traversal.graph_inputs([traversal.clone_replace(z)]) == [x, y]
    assert not set(traversal.graph_inputs([traversal.clone_replace(z, share_inputs=False)])) & {x, y}


def test_clones_of_leaves_include_those_of_replacements(diamond):
    x, y, total, minus, z = diamond
    new, other = scalar("new"), scalar("other")
    copied = traversal.clone_replace(z, {total: add(new, other), y: new}, share_inputs=False)
    leaves = traversal.graph_inputs([copied])
    assert [leaf.name for leaf in leaves] == ["new", "other"] and not {*leaves} & {new, other}
    twice = traversal.clone_replace([add(x, y), new], {x: add(new, y)}, share_inputs=False)
    assert [leaf.name for leaf in traversal.graph_inputs(twice)] == ["new", "y"]       # one clone of each leaf


def test_clone_replace_types(diamond):
    x, y, total, minus, z = diamond
    narrow = ToyType("float32")()
    with pytest.raises(TypeError):
        traversal.clone_replace(z, {x: narrow})
    assert traversal.clone_replace(z, {x: narrow}, strict=False).type == narrow.type
    assert traversal.clone_replace(z, [(x, 2.0)]).owner.inputs[0].owner.inputs[0].data == 2.0
    with pytest.raises(ValueError):
        traversal.clone_replace(z, 3)
    with pytest.raises(TypeError):
        traversal.clone_replace(z, {"x": x})


# ---- comparison ------------------------------------------------------------------------------------------------------
X, Y = scalar("x"), scalar("y")


@pytest.mark.parametrize("first, second, givens, same", [
    (lambda: X, lambda: X, None, True), (lambda: X, lambda: Y, None, False), (lambda: X, lambda: Y, {X: Y}, True),
    (lambda: add(X, Y), lambda: add(X, Y), None, True), (lambda: add(X, Y), lambda: add(Y, X), None, False),
    (lambda: add(X, Y), lambda: add(Y, X), {X: Y}, True), (lambda: add(X, X), lambda: add(X, X, X), None, False),
    (lambda: add(X, Y), lambda: mul(X, Y), None, False), (lambda: add(X, 1), lambda: add(X, 1), None, True),
    (lambda: add(X, 1), lambda: add(X, 2), None, False), (lambda: add(X, 1), lambda: add(X, Y), None, False),
    (lambda: pair(X, Y)[0], lambda: pair(X, Y)[1], None, False),
    (lambda: Cast("float32")(X), lambda: Cast("float64")(X), None, False),
    (lambda: negate(X), lambda: X, None, False)])
def test_is_same_graph(first, second, givens, same):
    assert traversal.is_same_graph(first(), second(), givens) is same
    assert traversal.is_same_graph(second(), first(), givens) is same


def test_equal_computations_with_inputs():
    x, y, v = scalar(), scalar(), vector()
    assert not traversal.equal_computations([negate(x)], [negate(y)])
    assert traversal.equal_computations([negate(x)], [negate(y)], in_xs=[x], in_ys=[y])
    assert not traversal.equal_computations([negate(x)], [negate(v)], in_xs=[x], in_ys=[v])
    assert not traversal.equal_computations([add(x, y)], [add(x, x)], in_xs=[x], in_ys=[y])
    with pytest.raises(ValueError):
        traversal.equal_computations([x], [x, y])


def test_comparison_of_shared_parts_is_linear():
    first = second = X
    for _ in range(1000):
        first, second = add(first, first), add(second, second)
    assert traversal.is_same_graph(first, second)


# ---- connections and views -------------------------------------------------------------------------------------------
def test_io_connection_pattern():
    x, y, z = scalar(), scalar(), scalar()
    first, second = pair(x, y)
    assert traversal.io_connection_pattern([x, y, z], [first, add(first, second), z]) == [
        [True, True, False], [False, True, False], [False, False, True]]


def test_view_roots():
    x = scalar()
    view = ViewOp()(ViewOp()(x))
    computed = negate(view)
    assert traversal.view_roots(view) == [x] and traversal.view_roots(computed) == [computed]


class OneOfTwo(ViewOp):
    view_map = {0: [0, 1]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])


def test_view_roots_of_nodes():
    x, y = scalar(), scalar()
    view = ViewOp()(x)
    choice = OneOfTwo()(view, y)
    last = ViewOp()(choice)
    nodes = [variable.owner for variable in (view, choice, last)]
    assert traversal.view_roots_of(nodes, follow_choices=False) == ({view: x, last: choice}, {choice: [view, y]})
    assert traversal.view_roots_of(nodes, follow_choices=True) == ({view: x, choice: x, last: x}, {choice: [view, y]})


# ---- depth -----------------------------------------------------------------------------------------------------------
def test_long_chains():
    x = scalar("x")
    y = chain(x)
    assert len(traversal.ancestors([y])) == LENGTH + 1 and len(io_toposort([x], [y])) == LENGTH
    (new_x,), (new_y,) = traversal.clone([x], [y])
    assert traversal.graph_inputs([new_y]) == [new_x]
    assert traversal.is_same_graph(y, new_y, {x: new_x}) and traversal.is_in_ancestors(y.owner, new_y.owner) is False
    assert traversal.graph_inputs([traversal.clone_replace(y, {x: new_x})]) == [new_x]
