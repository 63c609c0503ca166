"""Graphs in files of programs: what is written and read again, and what is refused."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import OpFromGraph, sparse
from phintys.graph import hooks
from phintys.ifelse import ifelse
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.vm.files.functions import dumps, loads
from phintys.vm.files.programs import loaded
from phintys.vm.files.values import FileError

x, m = T.dvector("x"), T.dmatrix("m")
SQUARE = OpFromGraph([x], [x ** 2])
VALUE = numpy.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5], [1.0, 1.5, -2.0]])


def rows():
    return phintys.scan(lambda row, state: T.tanh(row * state), sequences=m, outputs_info=T.ones(3))[0]


GRAPHS = {
    "elementwise and reductions": lambda: (T.exp(m) * 2).sum(0) / (1 + m.max()),
    "a gradient": lambda: T.grad(T.nnet.softmax(m)[:, 0].sum(), m),
    "indices": lambda: T.set_subtensor(m[1:, ::-1][0], 7.0)[[1, 0, 1]],
    "products and factorizations": lambda: T.dot(m, T.nlinalg.matrix_inverse(m)) + T.nlinalg.svd(m)[1],
    "a loop": rows,
    "a gradient of a loop": lambda: T.grad(rows()[-1].sum(), m),
    "a graph as an op": lambda: SQUARE(m[0]),
    "a choice": lambda: ifelse(m.sum() > 0, m[0], m[1] * 2),
    "sorts and joins": lambda: T.concatenate([T.sort(m), T.cast(T.argsort(m, 0), "float64")]),
    "parts of sparse matrices": lambda: sparse.csr_from_dense(m)[:2, 1:].toarray() + sparse.csr_from_dense(m)[0, 1],
    "a list": lambda: phintys.typed_list.make_list([m, m * 2])[1],
    "sparse": lambda: sparse.dense_from_sparse(sparse.csr_from_dense(m) * 2.0),
}


def graph_again(function, **options):
    return loads(dumps(function, include_graph=True), **options).graph()


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_computes_the_same(name):
    function = phintys.function([m], GRAPHS[name]())
    graph = graph_again(function)
    assert [variable.name for variable in graph.inputs] == ["m"] and graph.updates == []
    again = phintys.function(graph.inputs, graph.outputs)
    numpy.testing.assert_array_equal(again(VALUE)[0], function(VALUE))


def test_numbers_that_are_no_tensors():
    number = phintys.scalar.float64("number")
    function = phintys.function([number], [number * 2, T.tensor_from_scalar(number + 1)])
    f = loads(dumps(function, include_graph=True))
    graph = f.graph()
    assert f(3.0) == function(3.0) == phintys.function(graph.inputs, graph.outputs)(3.0) == [6.0, 4.0]


def test_gradients_and_shared_values_of_a_loaded_function():
    w = phintys.shared(numpy.ones(3), "w")
    cost = ((m * w).sum(1) ** 2).mean()
    train = phintys.function([m], cost, updates=[(w, w - 0.1 * T.grad(cost, w))])
    f = loads(dumps({"train": train, "cost": phintys.function([m], cost)}, include_graph=True))
    f["train"](VALUE)
    train(VALUE)
    (v, new), = f["train"].graph().updates
    graph = f["cost"].graph()
    slope = phintys.function(graph.inputs, T.grad(graph.outputs[0], v))      # one variable in both graphs
    assert slope(VALUE).tolist() == phintys.function([m], T.grad(cost, w))(VALUE).tolist()
    v.set_value(numpy.zeros(3))
    assert f["cost"](VALUE) == 0.0 and f["cost"]["w"].tolist() == [0.0] * 3 and w.get_value().any()
    assert new.type == w.type


def test_givens_and_draws_are_in_the_graph():
    streams = RandomStreams(7)
    function = phintys.function([m], x + streams.normal((3,)), givens=[(x, m[0])])
    f = loads(dumps(function, include_graph=True))
    graph = f.graph()
    again = phintys.function(graph.inputs, graph.outputs, updates=graph.updates)
    assert again(VALUE)[0].tolist() == function(VALUE).tolist()
    assert f(VALUE).tolist() == function(VALUE).tolist()                     # the state moved for both


def test_a_graph_of_any_depth_is_written_again():
    total = x
    for number in range(1000):
        total = total * 0.5 + number
    f = loads(dumps(phintys.function([x], total), include_graph=True))
    graph = graph_again(f)                                                   # a loaded function writes its own
    assert phintys.function(graph.inputs, graph.outputs)([1.0])[0].tolist() == f([1.0]).tolist()


def test_functions_without_a_graph_say_so():
    f = loads(dumps(phintys.function([x], x * 2)))
    for wanted in (f.graph, lambda: dumps(f, include_graph=True)):
        with pytest.raises(TypeError, match="has no graph: save it by save"):
            wanted()


def test_the_runtime_alone_has_no_graphs(monkeypatch):
    f = loads(dumps(phintys.function([x], x * 2), include_graph=True))
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "saved_graphs", None)
        with pytest.raises(RuntimeError, match="import phintys.tensor, too"):
            f.graph()
    assert f.graph().inputs[0].name == "x"


def test_functions_of_python_are_refused():
    op = OpFromGraph([x], [x * 2], grad_overrides=lambda inputs, gradients: [gradients[0]])
    with pytest.raises(TypeError, match="holds a function: <function"):
        dumps(phintys.function([x], op(x)), include_graph=True)


def changed(content, change):
    """The unread graphs of a file, after a change of their JSON."""
    _, unread = loaded(content)
    change(unread.graphs)
    return unread


@pytest.mark.parametrize(("change", "message"), [
    (lambda graphs: graphs[0].pop(), "whose graphs are not such that this version can read them: ValueError"),
    (lambda graphs: graphs[0][1].append({"shared": ["phintys.io:In", None, None, None]}), "no class of shared"),
    (lambda graphs: graphs[0][1].append({"rebuilt": ["eval", "1"]}), "eval is no function that makes types or ops"),
    (lambda graphs: graphs[0][1].append({"parts": ["os:stat_result", 1]}), "imported only if you say so"),
    (lambda graphs: graphs[0][1].append({"apply": [1, [], []]}), "a node without an op"),
    (lambda graphs: graphs[0][1].append({"input": ["float64", "x"]}), "AttributeError"),
])
def test_forged_graphs_are_refused(change, message):
    content = dumps(phintys.function([x], x * 2), include_graph=True)
    assert changed(content, lambda graphs: None)(0).inputs[0].name == "x"
    with pytest.raises(FileError, match=message):
        changed(content, change)(0)
