"""Rewrites of indexing: what is left of graphs, that they compute the same, and that the time stays linear."""
from itertools import product

import numpy
import pytest
from optimized_graphs import UNFUSED, assert_same_results, operations, optimized, variable
from rewrite_claims import broken_claims

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
stacked = TensorType("float64", (False, False, False))("stacked")
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
    "negative ends": (u[1:-2][:-3], ["Subtensor"]),
    "negative end of a limited part": (u[:5][:-1], ["Subtensor", "Subtensor"]),
    "part of what is turned around": (u[::-1][1:-2:2], ["Subtensor"]),
    "part from an unknown length of what is turned around": (u[::-1][n - 6:], ["Subtensor", "Subtensor"]),
    "turned around twice": (tanh(A[::-1, ::-1])[::-1, ::-1], ["tanh"]),
    "last of the rest": (u[1:][-1], ["Subtensor", "Subtensor"]),
    "element of the last": (u[-3:][-2], ["Subtensor"]),
    "rows of constants in order": (known[[0, 1, 2]], []),
    "some rows of constants": (known[[0, 1]], ["AdvancedSubtensor1"]),
    "rows of constants in another order": (known[[0, 2, 1]], ["AdvancedSubtensor1"]),
    "rows of constants of unknown length": (A[[0, 1, 2]], ["AdvancedSubtensor1"]),
    "row of a sum": (exp(A).sum(axis=1)[2], ["Subtensor", "Sum", "exp"]),
    "rows of a sum of three": (stacked.sum(axis=(0, 2))[1:3], ["Subtensor", "Sum"]),
    "block of an extremum": (stacked.max(axis=1)[0, 2:], ["Max", "Subtensor"]),
    "row of a sum that others read": ([A.sum(axis=1)[2], A.sum(axis=1) * 2], ["Subtensor", "Sum", "mul"]),
    "sum turned around": (A.sum(axis=1)[::-1], ["Subtensor", "Sum"]),
    "rows of a product with a vector": (dot(A, u)[2:4], ["Dot", "Subtensor"]),
    "column of a product with a vector": (dot(u, A)[3], ["Dot", "Subtensor"]),
    "every other column of a product with a vector": (dot(u, A)[::2], ["Dot", "Subtensor"]),
    "every other row of a product with a vector": (tanh(dot(A, u)[::2]), ["Subtensor", "Dot", "tanh"]),
    "product turned around": (dot(A, u)[::-1], ["Dot", "Subtensor"]),
    "product that others read": ([dot(A, u)[1], dot(A, u) * 2], ["Dot", "Subtensor", "mul"]),
    "constant zeros set to zero": (set_subtensor(constant(numpy.zeros((4, 7)))[1:], A[1:4].zeros_like()), []),
    "zeros set to constant zeros": (set_subtensor(zeros[1:], numpy.zeros(7)), ["second"]),
    "zeros set to numbers": (set_subtensor(zeros[1:], numpy.arange(7.0)), ["IncSubtensor", "second"]),
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
INPUTS = [A, B, u, v, row, number, n, positions, known, stacked]
VALUES = numpy.random.default_rng(0).uniform(-1, 1, (4, 7, 7))


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


LIFTED = ["row of a sum", "rows of a sum of three", "block of an extremum", "rows of a product with a vector",
          "column of a product with a vector", "every other row of a product with a vector"]
HELD_BACK = ["row of a sum that others read", "sum turned around", "product turned around",
             "product that others read", "every other column of a product with a vector"]


@pytest.mark.parametrize("name", [*LIFTED, *HELD_BACK])
def test_parts_are_taken_first(name):
    order = operations(optimized(INPUTS, outputs_of(name), UNFUSED))
    work = next(place for place, operation in enumerate(order) if operation in ("Sum", "Max", "Dot"))
    assert (order.index("Subtensor") < work) == (name in LIFTED)


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    assert_same_results(INPUTS, outputs_of(name), values=values_of_inputs())


def values_of_inputs():
    square = VALUES.copy()
    return [square[0], square[1], square[2, 0], square[2, 1], square[3, :1], numpy.array(0.7), numpy.array(7),
            numpy.array([1, 2, 1]), VALUES[0, :3, :4].copy(), square.copy()]


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    read = [x for x in INPUTS if x.type.dtype == "float64"]
    cost = sum([phintys.tensor.sqr(output).sum() for output in outputs_of(name)])
    gradients = phintys.grad(cost, read, disconnected_inputs="ignore")
    assert_same_results(INPUTS, gradients, (UNFUSED,), values=values_of_inputs())


def test_errors_of_what_is_not_computed_remain():
    """Indices of sums and products, and lengths that must agree."""
    for output, error in ((A.sum(axis=1)[7], IndexError), (dot(A, u)[-8], IndexError), (dot(u, A)[7], IndexError),
                          (stacked.max(axis=1)[0, 7], IndexError), (u[1:][-7], IndexError), (u[::-1][7], IndexError),
                          (dot(A, u[1:])[0], ValueError)):
        with pytest.raises(error):
            phintys.function(INPUTS, output, on_unused_input="ignore")(*values_of_inputs())


def test_rows_change_what_they_say():
    values = values_of_inputs()
    for value in values:
        if value.dtype == "float64" and value.size > 4:
            value.flat[1], value.flat[4] = numpy.inf, numpy.nan
    fired = set()
    for name in CASES:
        broken, names = broken_claims(INPUTS, outputs_of(name), values, UNFUSED)
        assert not broken
        fired |= names
    assert fired >= {"local_subtensor_of_reduce", "local_subtensor_of_dot", "local_subtensor_merge"}


def test_strict_rules_keep_the_errors_of_useless_changes():
    """An index out of range, and a tensor that does not fit, are errors of the graph as it is written."""
    for output, error, left in ((inc_subtensor(A[7], 0.0), IndexError, []),
                                (set_subtensor(zeros[1:], numpy.zeros(6)), ValueError, ["second"]),
                                (set_subtensor(A[7], tanh(A[0]))[7], IndexError, ["Subtensor", "tanh"]),
                                (inc_subtensor(A[[7]], 0.0), IndexError, [])):
        with phintys.change_flags(math_rules="strict"), pytest.raises(error):
            phintys.function(INPUTS, output, on_unused_input="ignore")(*values_of_inputs())
        if left:
            assert operations(optimized(INPUTS, [output], UNFUSED)) == left
    with phintys.change_flags(math_rules="strict"):
        f = phintys.function([A, positions], [inc_subtensor(positions[7:], 0),
                                              set_subtensor(A[:2], tanh(A[:2]))[:2]])
    assert not [node for node in f.maker.fgraph.toposort() if type(node.op) is IncSubtensor]


def test_strict_rules_keep_the_signs_of_zeros():
    with phintys.change_flags(math_rules="strict"):
        f = phintys.function([u], [inc_subtensor(u[1:], 0.0), set_subtensor(u.zeros_like()[1:], -0.0)])
    assert [numpy.signbit(value).tolist() for value in f([-0.0, -0.0])] == [[True, False], [False, True]]


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
    parts, steps = (None, -3, -1, 0, 1, 3), (None, -1, 1, 2)
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
