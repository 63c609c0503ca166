"""Theano's local optimizers by their names: rows of the tables, applied to one node or to the nodes of a graph."""
import pytest

import phintys
import phintys.tensor as T
from phintys.gof import FunctionGraph, LocalOptGroup, TopoOptimizer
from phintys.optimizer.pipeline import all_rewrites

x, y = T.dmatrix("x"), T.dmatrix("y")


def rewritten(optimizer, output):
    graph = FunctionGraph([x, y], [output], clone=False)
    optimizer.optimize(graph)
    return phintys.pp(graph.outputs[0])


@pytest.mark.parametrize("name, output, expected", [
    ("local_dimshuffle_lift", x.T.T, "x"),
    ("local_useless_dimshuffle", x.T, "x.T"),
    ("local_useless_alloc", T.alloc(x, T.opt.Shape_i(0)(x), T.opt.Shape_i(1)(x)), "x"),
    ("local_greedy_distributor", (x / y + 1) * y, "(x + y)"),
    ("local_lift_transpose_through_dot", T.dot(x, y).T, "(y.T \\dot x.T)"),
])
def test_navigators_apply_them(name, output, expected):
    assert rewritten(T.opt.out2in(getattr(T.opt, name)), output) == expected


def test_a_node_needs_no_graph():
    assert T.opt.local_dimshuffle_lift.transform(T.DimShuffle((False, False), (0, 1))(x).owner) == [x]
    assert T.opt.local_add_specialize.transform(T.add(x).owner) == [x]
    assert not T.opt.local_dimshuffle_lift.transform(x.T.owner)
    assert not T.opt.local_dimshuffle_lift.transform(T.exp(x).owner)        # of another op than those of its rows


def test_replacements_have_the_type_of_what_they_replace():
    found, = T.opt.local_add_canonizer.transform((T.lvector() + 0.0).owner)
    assert found.type == T.dvector


def test_groups_take_them():
    group = LocalOptGroup(T.opt.local_dimshuffle_lift, T.opt.local_useless_elemwise)
    assert rewritten(TopoOptimizer(group, order="out_to_in"), T.add(x.T.T)) == "x"


def test_canonizers_visit_all_nodes():
    assert rewritten(T.opt.mul_canonizer, T.exp((x / y) / (2 * x))) == "exp((TensorConstant{0.5} / y))"
    assert rewritten(T.opt.add_canonizer, T.exp((x + y) - (x + 1))) == "exp((y + TensorConstant{-1.0}))"


def test_every_row_has_its_name_here():
    names = {row.name for _, row in all_rewrites() if getattr(row, "name", "").startswith("local_")}
    assert all([getattr(T.opt, name).name == name for name in names]) and len(names) > 150
    assert not hasattr(T.opt, "local_nonsense")


def test_the_feature_compares_shapes_and_lengths():
    v, w = T.dvectors("vw")
    feature = T.opt.ShapeFeature()
    total = v + w
    FunctionGraph([v, w], [total], clone=False).attach_feature(feature)
    assert feature.same_shape(v, total) and feature.same_shape(v, total, 0, 0)
    assert not feature.same_shape(w, total) and not feature.same_shape(w, total, 0, 0)
    with pytest.raises(IndexError):
        feature.same_shape(v, total, 1, 0)
