"""Rewrites of indexing: what is left of graphs, that they compute the same, and that the time stays linear."""
from itertools import product

import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, operations, optimized, variable

import phintys
from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.elementwise.scalar import exp, tanh
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.products.products import dot
from phintys.ops.types.constant import constant
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.rewrites.indexing import _composed

A, B = variable("d2", "A"), variable("d2", "B")
u, v = variable("d1", "u"), variable("d1", "v")
row, number = variable("dr", "row"), variable("d0", "number")
n, positions = variable("l0", "n"), variable("l1", "positions")
known = TensorType("float64", (False, False), shape=(3, 4))("known")
zeros = A.zeros_like()

# name: (output, keys of the nodes of the optimised graph)
CASES = {
    "everything": (A[:, :], []),
    "everything, by the length": (A[0:A.shape[0]], []),
    "everything, by known lengths": (known[:3, 0:9], []),
    "all but the last, by known lengths": (known[:2], ["Subtensor"]),
    "all but the first": (A[1:], ["Subtensor"]),
    "backwards": (A[::-1], ["Subtensor"]),
    "rows in order": (A[arange(A.shape[0])], []),
    "rows of another in order": (A[arange(B.shape[0])], ["ARange", "AdvancedSubtensor1", "Shape_i"]),
    "part of a part": (A[1:, 2][3:5], ["Subtensor"]),
    "element of a part": (u[2:][::3][1], ["Subtensor"]),
    "last of what is turned around": (u[::-1][0], ["Subtensor"]),
    "part of a limited part": (u[:5][2:][::2], ["Subtensor"]),
    "element of a limited part": (u[1:4][2], ["Subtensor"]),
    "element counted from an unknown end": (u[1:4][-1], ["Subtensor", "Subtensor"]),
    "negative ends": (u[1:-2][:-3], ["Subtensor", "Subtensor"]),
    "part of a sum": ((A + B)[1], ["Subtensor", "Subtensor", "add"]),
    "part of a sum that others read": ([(A + B)[1], (A + B) * 2], ["Subtensor", "add", "mul"]),
    "part of what is repeated": ((A + row)[1:, 2], ["Subtensor", "Subtensor", "add"]),
    "part of deep work": (tanh(exp(A) * number)[0, 0], ["Subtensor", "exp", "mul", "tanh"]),
    "part of an alloc": (alloc(u, 5, n)[1:3, 2:], ["Alloc", "Subtensor"]),
    "element of an alloc": (alloc(number, 5)[2], []),
    "element of an alloc of unknown length": (alloc(number, n)[2], ["Check", "ge"]),
    "row of a product": (dot(A, B)[1], ["Dot", "Subtensor"]),
    "block of a product": (dot(A, B)[1:, :2], ["Dot22", "Subtensor", "Subtensor"]),
    "part of a shape": (alloc(number, n, 5)[1:].shape[1:], []),
    "nothing added": (inc_subtensor(A[1:], 0.0), []),
    "everything set": (set_subtensor(known[:], tanh(known)), ["tanh"]),
    "everything set, backwards": (set_subtensor(known[:, ::-1], tanh(known)), ["Subtensor", "tanh"]),
    "zeros set to zero": (set_subtensor(zeros[1:], 0.0), ["second"]),
    "everything set to what may be repeated": (set_subtensor(A[:], B), ["IncSubtensor"]),
    "the part that was set": (set_subtensor(A[1:], tanh(A[1:]))[1:], ["Subtensor", "tanh"]),
    "another part than was set": (set_subtensor(A[1:], 1.0)[2:], ["IncSubtensor", "Subtensor"]),
    "part of a transpose": (tanh(A.T)[2], ["Subtensor", "tanh"]),
    "part of a new dimension": (A[None, 1:][0, :, 2], ["Subtensor"]),
    "added to zeros that were set": (inc_subtensor(set_subtensor(A[[2, 0]], 0.0)[[2, 0]], tanh(A[:2])),
                                     ["AdvancedIncSubtensor1", "Subtensor", "tanh"]),
    "added twice to a zero that was set": (inc_subtensor(set_subtensor(A[[1, 1]], 0.0)[[1, 1]], tanh(A[:2])),
                                           ["AdvancedIncSubtensor1", "AdvancedIncSubtensor1", "Subtensor", "tanh"]),
    "added to what was set": (inc_subtensor(set_subtensor(A[[2, 0]], 1.0)[[2, 0]], tanh(A[:2])),
                              ["AdvancedIncSubtensor1", "AdvancedIncSubtensor1", "Subtensor", "tanh"]),
    "put into zeros": (inc_subtensor(zeros[1], u), ["IncSubtensor", "second"]),
    "two put into zeros": (inc_subtensor(zeros[1], u) + inc_subtensor(zeros[0], v),
                           ["IncSubtensor", "IncSubtensor", "second"]),
    "rows put into zeros, and another": (tanh(A) + inc_subtensor(zeros[positions], u),
                                         ["AdvancedIncSubtensor1", "tanh"]),
    "put into zeros that others read": ([zeros[1:] + 1, inc_subtensor(zeros[1], u) + A], None),
}
INPUTS = [A, B, u, v, row, number, n, positions, known]


@pytest.fixture(autouse=True)
def failing_rewrites_raise():
    with phintys.change_flags(on_opt_error="raise"):
        yield


def outputs_of(name):
    output = CASES[name][0]
    return output if isinstance(output, list) else [output]


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][1] is not None])
def test_nodes_after_optimising(name):
    left = [key for key in operations(optimized(INPUTS, outputs_of(name), UNFUSED))
            if key not in ("Shape_i", "sub", "maximum", "minimum", "add_int") or key in CASES[name][1]]
    assert sorted(left) == sorted(CASES[name][1])


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    square = numpy.random.default_rng(0).uniform(-1, 1, (4, 7, 7))
    values = [square[0], square[1], square[2, 0], square[2, 1], square[3, :1], numpy.array(0.7), numpy.array(7),
              numpy.array([1, 2, 1]), square[0, :3, :4]]
    assert_same_results(INPUTS, outputs_of(name), values=values)


def test_an_index_of_an_alloc_is_checked():
    """The value does not depend on it, but the error does; also if the lengths are constants."""
    for length, index in ((n, 5), (n, -3), (n, n), (n, -n - 1), (2, 2), (2, -3), (2, n)):
        f = phintys.function([u, n], alloc(u, length, u.shape[0])[index], on_unused_input="ignore")
        with pytest.raises(IndexError, match="out of bounds"):
            f([1.0], 2)
    for index in (0, 1, -2, n - 1, -n):
        f = phintys.function([u, n], alloc(u, n, u.shape[0])[index])
        numpy.testing.assert_array_equal(f([1.0], 2), [1.0])


def test_constants_join_the_index():
    x, one = variable("d2", "x"), constant(1, dtype="int64")
    graph = phintys.function([x], [Subtensor([slice(None), TensorType("int64", ())])(x, one),
                                   IncSubtensor([TensorType("int64", ())])(x, 1.0, one)]).maker.fgraph
    for node in graph.toposort():
        assert not any([variable.type.ndim == 0 and variable.type.dtype == "int64" for variable in node.inputs])


def test_overwriting():
    """What is put into fresh zeros, and what updates a shared variable, is put in place."""
    w = phintys.shared(numpy.zeros((50, 3)))
    y, rows = variable("d2", "y"), variable("l1", "rows")
    function = phintys.function([y, rows], [], updates=[(w, inc_subtensor(w[rows], -0.1 * y))])
    node, = [node for node in function.maker.fgraph.toposort() if type(node.op) is AdvancedIncSubtensor1]
    assert node.op.inplace and node.op.destroy_map == {0: [0]}
    expected = w.get_value()
    for seed in range(3):
        values = numpy.random.default_rng(seed).uniform(size=(4, 3))
        function(values, [0, 7, 0, -1])
        numpy.add.at(expected, [0, 7, 0, -1], -0.1 * values)
        numpy.testing.assert_allclose(w.get_value(), expected)
    before = w.get_value()
    with pytest.raises(IndexError):
        function(values, [0, 1, 2, 50])
    numpy.testing.assert_array_equal(w.get_value(), before)
    gradient = phintys.function([A], phintys.grad((A[1:] * A[:-1]).sum() + (A[0] ** 2).sum(), A))
    changes = [node for node in gradient.maker.fgraph.toposort() if type(node.op) is IncSubtensor]
    assert len(changes) == 3 and all([node.op.inplace for node in changes])


def test_a_tensor_and_its_own_part():
    """Setting a part of x to another part of x reads what stood there before."""
    for change, expected in ((lambda x: set_subtensor(x[1:], x[:-1]), [0, 0, 1, 2, 3]),
                             (lambda x: set_subtensor(x[:-1], x[1:]), [1, 2, 3, 4, 4]),
                             (lambda x: inc_subtensor(x[::-1][1:], x[1:]), [4, 4, 4, 4, 4]),
                             (lambda x: set_subtensor(x[[1, 2, 3]], x[2:]), [0, 2, 3, 4, 4])):
        w = phintys.shared(numpy.arange(5.0))
        phintys.function([], [], updates=[(w, change(w))])()
        numpy.testing.assert_array_equal(w.get_value(), expected)


def test_long_chains():
    """Linear time, and no limit on how often a rewrite applies."""
    x = variable("d1", "x")
    deep = x
    for _ in range(2000):
        deep = tanh(deep) + 1
    function = phintys.function([x], deep[3])
    assert function.maker.fgraph.inputs[0].type.ndim == 1
    part = x
    for _ in range(2000):
        part = part[1:]
    function = phintys.function([x], part)
    assert operations(function.maker.fgraph) == ["Subtensor", "DeepCopyOp"]
    total = sum([x[place] ** 2 for place in range(300)])
    gradient = phintys.function([x], phintys.grad(total, x))
    numpy.testing.assert_allclose(gradient(numpy.arange(301.0)), [*2 * numpy.arange(300.0), 0])


def taken(values, entry):
    """What an index entry takes of a list; None if that is an error."""
    try:
        return values[entry]
    except IndexError:
        return None


def test_two_entries_mean_what_their_composition_means():
    parts, steps = (None, -2, 0, 1, 3), (None, -1, 1, 2)
    slices = [slice(*triple) for triple in product(parts, parts, steps)]
    composed = 0
    for inner, outer in product(slices, [*slices, *range(-3, 4)]):
        entry = _composed(inner, outer)
        if entry is not None:
            composed += 1
            for length in range(6):
                values = list(range(length))
                assert taken(values, entry) == taken(values[inner], outer), (inner, outer, entry, length)
    assert composed > 1000
