"""The tree of regions: where nodes stand, which blocks there are, in which order everything comes."""
import sys

import pytest

import phintys
import phintys.tensor as T
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.lazy_regions import EXCLUSIVE, LazyRegions, Region, ancestor_at, common_region, in_turn, lazy_regions
from phintys.ifelse import ifelse


class Named(phintys.Op):
    """A node with a name."""

    __props__ = ("name",)

    def __init__(self, name):
        self.name = name

    def make_node(self, *inputs):
        return phintys.Apply(self, list(inputs), [inputs[0].type()])

    def __str__(self):
        return self.name


x, y = T.vectors("x", "y")
a, b, c = T.iscalars("a", "b", "c")


def named(name, *inputs):
    return Named(name)(*inputs)


def regions_of(*outputs):
    """(the graph's regions, name → node), every `Named` by its name and lazy nodes by theirs."""
    fgraph = FunctionGraph([a, b, c, x, y], list(outputs))
    order = fgraph.toposort()
    regions = lazy_regions(fgraph, order)
    return regions, {node.op.name: node for node in order}


def title(region):
    """A region in words: root, the lazy node's name with the branch, or block."""
    if region.parent is None:
        return "root"
    return "block" if region.is_block else f"{region.node.op.name}{region.branch}"


def steps(region):
    return ["need" if isinstance(step, Region) else step.op.name for step in region.steps]


def test_nothing_is_lazy():
    assert lazy_regions(FunctionGraph([x], [x + 1]), []) is None


def test_what_one_arm_needs_stands_in_it():
    inner = named("inner", x)
    regions, node = regions_of(ifelse(named("condition", a, x), named("then", inner), named("else", y), name="if"))
    assert {name: title(regions.of[node[name]]) for name in node} == {
        "condition": "root", "inner": "if0", "then": "if0", "else": "if1", "if": "root"}
    assert steps(regions.root) == ["condition", "if"]
    assert [steps(arm) for arm in regions.arms[node["if"]]] == [["inner", "then"], ["else"]]


def test_what_both_arms_need_comes_before():
    shared = named("shared", x)
    regions, node = regions_of(ifelse(a, named("then", shared), ifelse(b, shared, named("else", shared)), name="if"))
    assert title(regions.of[node["shared"]]) == "root"
    assert regions.blocks == []


def test_a_value_that_is_an_arm_itself_and_is_needed_outside():
    shared = named("shared", x)
    regions, node = regions_of(ifelse(a, shared, y, name="if"), named("outside", shared))
    assert title(regions.of[node["shared"]]) == "root"


def test_a_condition_inside_an_arm():
    inner = ifelse(named("condition", b, x), named("deep", x), y, name="inner")
    regions, node = regions_of(ifelse(a, inner, y, name="outer"))
    assert [title(regions.of[node[name]]) for name in ("condition", "deep", "inner", "outer")] == \
        ["outer0", "inner0", "outer0", "root"]


def test_unrelated_arms_share_a_block():
    deep = named("deep", x)
    shared = named("shared", deep)
    regions, node = regions_of(ifelse(a, named("one", shared), x, name="first"),
                               ifelse(b, named("two", shared), x, name="second"))
    block, = regions.blocks
    assert regions.of[node["shared"]] is regions.of[node["deep"]] is block
    assert title(block.parent) == "root"
    assert steps(block) == ["deep", "shared"]
    assert [steps(regions.arms[node[name]][0]) for name in ("first", "second")] == [["need", "one"], ["need", "two"]]


def test_what_the_same_arms_need_shares_a_block():
    one, two = named("one", x), named("two", x)
    regions, _ = regions_of(ifelse(a, named("p", one, two), x), ifelse(b, named("q", two, one), x))
    assert len(regions.blocks) == 1


def test_a_block_needs_a_block():
    inner = named("inner", x)
    outer = named("outer", inner)
    regions, node = regions_of(ifelse(a, named("p", outer), x), ifelse(b, named("q", outer), x),
                               ifelse(c, named("r", inner), x))
    first, second = regions.blocks
    assert (steps(first), steps(second)) == (["need", "outer"], ["inner"])
    assert regions.of[node["inner"]] is second


def test_both_arms_need_a_block_that_others_need_too():
    shared = named("shared", x)
    regions, node = regions_of(ifelse(a, ifelse(b, named("p", shared), named("q", shared), name="inner"), x,
                                      name="outer"), ifelse(c, named("r", shared), x, name="other"))
    assert regions.of[node["shared"]].is_block
    assert steps(regions.arms[node["outer"]][0]) == ["need", "inner"]
    assert [steps(arm) for arm in regions.arms[node["inner"]]] == [["p"], ["q"]]


def test_how_accesses_lie_to_each_other():
    value = named("value", x)
    shared = named("shared", value)
    outputs = [ifelse(a, named("then", value), named("else", value), name="if"), named("outside", value),
               ifelse(b, named("p", shared), x, name="one"), ifelse(c, named("q", shared), x, name="two")]
    regions, node = regions_of(*outputs)

    def relation(first, second):
        return regions.relation(node[first], 0, node[second], 0)

    assert relation("then", "else") is EXCLUSIVE
    assert relation("then", "outside") == (node["if"], node["outside"])
    assert relation("outside", "else") == (node["outside"], node["if"])
    assert relation("p", "then") == (node["one"], node["if"])
    assert relation("shared", "then") is None and relation("outside", "shared") is None
    assert relation("shared", "shared") == (node["shared"], node["shared"])
    assert regions.relation(node["if"], 1, node["else"], 0) is EXCLUSIVE
    assert regions.relation(node["if"], 2, node["else"], 0) == (node["if"], node["else"])


def test_the_order_of_all_nodes():
    shared = named("shared", x)
    regions, node = regions_of(ifelse(a, named("p", shared), named("q", y), name="one"),
                               ifelse(b, named("r", shared), y, name="two"))
    order = [step.op.name for step in regions.flattened()]
    assert sorted(order) == sorted(node)
    assert order.index("shared") < order.index("p") < order.index("one")
    for first, second in (("q", "one"), ("r", "two")):
        assert order.index(first) < order.index(second)


@pytest.mark.parametrize("conditions, expected", [
    ((1, 1), ["shared", "p", "one", "r", "two"]), ((1, 0), ["shared", "p", "one", "two"]),
    ((0, 1), ["q", "one", "shared", "r", "two"]), ((0, 0), ["q", "one", "two"])])
def test_what_a_call_runs(conditions, expected):
    shared = named("shared", x)
    regions, node = regions_of(ifelse(a, named("p", shared), named("q", y), name="one"),
                               ifelse(b, named("r", shared), y, name="two"))
    true = dict(zip("ab", conditions))
    runs = [step.op.name for step in in_turn([], regions, lambda lazy: true[str(lazy.inputs[0])])]
    assert sorted(runs) == sorted(expected)
    assert runs.index("one") > max([runs.index(name) for name in ("p", "q") if name in runs])


def test_ancestors_of_deep_regions():
    chain = [Region()]
    for number in range(1, 3000):
        chain.append(Region(chain[-1], None, None, number))
    twig = chain[1234]
    for number in range(5):
        twig = Region(twig, None, None, number)
    for depth in (0, 1, 2, 63, 64, 1000, 2999):
        assert ancestor_at(chain[-1], depth) is chain[depth]
    assert common_region(chain[-1], twig) is chain[1234]
    assert common_region(chain[100], twig) is chain[100]


def test_thousands_of_branches_in_each_other_do_not_recur():
    value, shared = x, named("shared", x)
    for number in range(3000):
        value = ifelse(a, named(f"n{number}", shared), value + 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        regions, _ = regions_of(value)
    finally:
        sys.setrecursionlimit(limit)
    assert isinstance(regions, LazyRegions)
    assert len(regions.blocks) == 1
    assert max([region.depth for region in regions.of.values()]) == 3000
