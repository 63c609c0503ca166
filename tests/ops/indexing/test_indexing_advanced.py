"""Advanced indexing against NumPy: arrays of integers and masks, alone and among slices; elements taken, set, added to.
"""
import pickle

import numpy
import pytest
from directions import check_directions
from family_cases import DTYPES, INTEGERS, LAYOUTS, check_equal, check_gradient, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.graph.type import Type
from phintys.ops.indexing.advanced_subtensor import (
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
)
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.rearranging.repeat import repeat
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.abi import run_kernel

SHAPE = (5, 4, 3)
ROWS = numpy.array([0, 4, -1, 0])
COLUMNS = numpy.array([1, -4, 3, 1])
GRID = numpy.array([[0, 1, -2], [2, 0, 1]])
MASK = numpy.array([True, False, True, True, False])
MASK_2 = values((5, 4), seed=3) > 0
MASK_3 = values(SHAPE, seed=4) > 0


class Index:
    """``index[1:, 0]`` returns the object between the brackets."""

    def __getitem__(self, entry):
        return entry


index = Index()
INDICES = [
    # arrays alone
    index[ROWS], index[GRID], index[[1, 2]], index[ROWS, COLUMNS], index[ROWS, COLUMNS, ROWS % 3], index[GRID, GRID],
    index[ROWS[:, None], COLUMNS], index[GRID[None], GRID[:, None]], index[ROWS, [2]], index[[[0]], COLUMNS],
    # with slices, in every place
    index[:, COLUMNS], index[:, :, [2, 0]], index[1:, COLUMNS], index[::-2, COLUMNS, 1:], index[ROWS, 1:],
    index[ROWS, ::-1],
    index[..., [0, 2]], index[ROWS, ..., 1], index[..., COLUMNS, :], index[ROWS, :, ROWS % 3], index[:, GRID],
    index[1:3, GRID, ::2], index[ROWS, :, GRID[:, :1]], index[:, COLUMNS, [1]], index[3:1, COLUMNS], index[:, [1, 0]],
    # with integers and new dimensions
    index[ROWS, 1], index[1, COLUMNS], index[1, :, [0, 2]], index[-1, COLUMNS, 1:], index[None, ROWS],
    index[ROWS, None],
    index[ROWS, None, COLUMNS], index[None, :, None, COLUMNS], index[0, None, COLUMNS], index[..., None, [1, 2]],
    index[:, None, COLUMNS, 0],
    # an ellipsis that covers no dimension still separates arrays
    index[:, COLUMNS, ..., [1]], index[:, 0, ..., [0, 2]], index[1:, COLUMNS, ..., 1], index[:, COLUMNS, 1, ...],
    index[None, :, COLUMNS, ..., 0], index[ROWS, ..., COLUMNS, 1], index[None, MASK_2, ..., [1]],
    index[:, ..., COLUMNS, [2]], index[1:, 2, ..., 1],
    # masks
    index[MASK], index[MASK_2], index[MASK_3], index[MASK, 1:], index[:, MASK_2[0]], index[MASK, :, 1],
    index[MASK_2, 1:],
    index[MASK, [1]], index[MASK, COLUMNS[:3]], index[1, MASK_2[1]], index[None, MASK], index[MASK, ..., None],
    index[MASK, :, MASK_2[0, :3]], index[..., MASK[:3]], index[MASK & False], index[numpy.array(True)],
    index[numpy.array(False), 1:], index[MASK, [[0], [1]]], index[MASK_2[:, :1][:, 0]], index[:, MASK_3[0]],
    # nothing
    index[[]], index[ROWS[:0]], index[:, numpy.zeros((0, 2), int)], index[ROWS[:0], 0],
]


def varied(entry):
    """An index with variables in place of its arrays, and the arrays."""
    arrays = []

    def replace(part):
        if isinstance(part, numpy.ndarray):
            arrays.append(part)
            return variable_for(part)
        return part
    parts = tuple([replace(part) for part in entry]) if isinstance(entry, tuple) else replace(entry)
    variables = [part for part in (parts if isinstance(parts, tuple) else (parts,)) if hasattr(part, "owner")]
    return parts, variables, arrays


def changed(array, entry, value, adds):
    copy = array.copy()
    if adds:
        numpy.add.at(copy, entry, value)
    else:
        copy[entry] = value
    return copy


@pytest.mark.parametrize("entry", INDICES, ids=str)
def test_indices(entry):
    array = values(SHAPE)
    wanted = array[entry]
    for layout in LAYOUTS.values():
        check_values(lambda x: x[entry], lambda a: a[entry], [layout(array)], modes=["FAST_COMPILE"])
    parts, variables, arrays = varied(entry)
    x = variable_for(array)
    taken = x[parts]
    value = values(wanted.shape, seed=1)
    y = variable_for(value)
    outputs = [taken, set_subtensor(taken, y), inc_subtensor(taken, y), inc_subtensor(taken, 2.0), taken.shape]
    for mode in ("FAST_RUN", "FAST_COMPILE"):
        results = phintys.function([x, y, *variables], outputs, mode=mode)(array, value, *arrays)
        check_equal(results[0], wanted)
        check_equal(results[1], changed(array, entry, value, False))
        check_equal(results[2], changed(array, entry, value, True))
        check_equal(results[3], changed(array, entry, 2.0, True))
        assert tuple(results[4]) == wanted.shape
    shape = phintys.function([x, *variables], taken.shape, on_unused_input="ignore")
    assert tuple(shape(array, *arrays)) == wanted.shape
    assert not [node for node in shape.maker.fgraph.toposort() if isinstance(node.op, AdvancedSubtensor)]


GRADIENTS = [index[ROWS], index[GRID, 1:], index[ROWS, COLUMNS], index[:, COLUMNS], index[ROWS, :, [0]], index[MASK],
             index[MASK_2, ::2], index[None, MASK_3], index[2, COLUMNS]]


@pytest.mark.parametrize("entry", GRADIENTS, ids=str)
def test_gradients(entry):
    array = values(SHAPE)
    value = values(array[entry].shape, seed=1)
    check_gradient(lambda x: x[entry] ** 2, [array])
    check_gradient(lambda x, y: inc_subtensor(x[entry], y) ** 2, [array, value])
    check_gradient(lambda x, y: inc_subtensor(x[entry], y) ** 2, [array, value[..., :1] if value.ndim else value])
    check_directions(lambda x, y: inc_subtensor(x[entry], y) * x[entry].sum(), [array, value])


def test_gradients_of_set_subtensor():
    once = [index[numpy.array([3, 1])], index[[0, 1], [2, 0]], index[:, [2, 0], 1:], index[MASK], index[MASK_2, 1]]
    for entry in once:
        array = values(SHAPE)
        value = values(array[entry].shape, seed=1)
        check_gradient(lambda x, y: set_subtensor(x[entry], y) ** 2, [array, value])
        check_gradient(lambda x, y: set_subtensor(x[entry], y) ** 2, [array, value[0]])
        check_gradient(lambda x, y: set_subtensor(x[entry], y) ** 2, [array, value[:1]])


def test_every_dtype():
    for dtype in DTYPES:
        array, value = values((4, 3), dtype), values((3, 3), dtype, seed=1)
        rows, elements = numpy.array([0, 2, 0]), (numpy.array([0, 2, 0]), numpy.array([1, 1, 1]))
        check_values(lambda x: x[rows], lambda a: a[rows], [array])
        check_values(lambda x: x[elements], lambda a: a[elements], [array])
        for adds, change in ((True, inc_subtensor), (False, set_subtensor)):
            check_values(lambda x, y: change(x[rows], y), lambda a, b: changed(a, rows, b, adds), [array, value])
            check_values(lambda x, y: change(x[elements], y[0]), lambda a, b: changed(a, elements, b[0], adds),
                         [array, value])


def test_every_dtype_of_positions():
    for dtype in INTEGERS:
        positions = numpy.array([[1, 0, 3], [2, 2, 0]], dtype)
        if not dtype.startswith("u"):
            positions[0, 0] = -2
        for layout in LAYOUTS.values():
            check_values(lambda x, i: x[i], lambda a, i: a[i], [values((4, 3)), layout(positions)])
            check_values(lambda x, i: x[:, i[1], 0], lambda a, i: a[:, i[1], 0], [values((4, 4, 2)), layout(positions)])


def test_layouts_of_changed_arrays():
    for name, layout in LAYOUTS.items():
        for other in LAYOUTS.values():
            array, value = layout(values((4, 3, 5))), other(values((4, 2, 5), seed=1))
            check_values(lambda x, y: inc_subtensor(x[:, [2, 2]], y),
                         lambda a, b: changed(a, (slice(None), [2, 2]), b, True), [array, value])
    check_values(lambda x: inc_subtensor(x[[0, 0]], numpy.broadcast_to(1.5, (2, 3))),
                 lambda a: changed(a, [0, 0], 1.5, True), [numpy.broadcast_to(2.0, (4, 3))])


def test_long_arrays():
    """More positions than fit into a block, and masks with long runs of either kind."""
    array = values((3000, 2))
    rows = numpy.random.default_rng(0).integers(-3000, 3000, 5000)
    mask = numpy.arange(3000) % 1000 < 600
    for layout in (numpy.ascontiguousarray, LAYOUTS["strided"]):
        check_values(lambda x, i: x[i], lambda a, i: a[i], [layout(array), layout(rows)])
        check_values(lambda x, i: x[i, 1], lambda a, i: a[i, 1], [layout(array), layout(rows)])
        check_values(lambda x, m: x[m], lambda a, m: a[m], [layout(array), layout(mask)])
        check_values(lambda x, m: x[:, 1][m, None], lambda a, m: a[:, 1][m, None], [layout(array), layout(mask)])
    wide = values((2, 3000))
    check_values(lambda x, m: x[[[0], [1]], m], lambda a, m: a[[[0], [1]], m], [wide, mask])
    check_values(lambda x, i: inc_subtensor(x[i], 1.0), lambda a, i: changed(a, i, 1.0, True), [array, rows])


def test_lines_with_equal_offsets():
    """Separate positions for each dimension, as from ``numpy.ix_``: all lines have equal offsets."""
    array, random = values((7, 6000)), numpy.random.default_rng(0)
    for count in (3, 5000):
        rows, columns = random.integers(-7, 7, (4, 1)), random.integers(-6000, 6000, count)
        mask = numpy.arange(7) % 2 == 0
        for layout in (numpy.ascontiguousarray, LAYOUTS["strided"]):
            check_values(lambda x, i, j: x[i, j], lambda a, i, j: a[i, j], [layout(array), rows, layout(columns)],
                         modes=["FAST_RUN"])
        check_values(lambda x, i, j: inc_subtensor(x[i, j], 1.0), lambda a, i, j: changed(a, (i, j), 1.0, True),
                     [array, rows, columns], modes=["FAST_RUN"])
        check_values(lambda x, m, j: x[m, j[:4, None]], lambda a, m, j: a[m, j[:4, None]],
                     [array.T[:7, :7], mask, columns % 7], modes=["FAST_RUN"])


ROW_SHAPES = ((), (1,), (2,), (4,), (3,), (2, 3), (0,))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_size(dtype):
    """A vector of positions has a separate kernel, with loops for short rows."""
    for shape in ROW_SHAPES:
        array = values((9, *shape), dtype)
        for layout in LAYOUTS.values():
            for rows in (numpy.arange(-9, 9) * 5 % 9, numpy.array([8, -1, 0]), numpy.array([], int)):
                x, i = variable_for(array), variable_for(rows)
                function = phintys.function([x, i], x[i])
                check_equal(function(layout(array), layout(rows)), array[rows])


def test_rows_of_any_number_of_bytes():
    """Rows are copied in pieces: completely, at any address, and without writing outside the row."""
    x, y = TensorType("int8", (False, False))(), TensorType("int8", (False, False))()
    i, m = TensorType("int64", (False,))(), TensorType("bool", (False,))()
    function = phintys.function([x, y, i, m], [x[i], x[m], set_subtensor(x[i], y), set_subtensor(x[m], y),
                                               repeat(x[:4], i, 0)])
    rows, mask = numpy.array([5, 0, 3, 2]), numpy.array([1, 0, 1, 1, 0, 0, 1], bool)
    for length in (*range(1, 70), 127, 128, 129, 160, 1023, 1024, 1025, 1152, 1185):
        for start in (0, 5):
            array = values((start + 7 * length,), "int8")[start:].reshape(7, length)
            value = values((start + 4 * length,), "int8", seed=1)[start:].reshape(4, length)
            expected = (array[rows], array[mask], changed(array, rows, value, False),
                        changed(array, mask, value, False), numpy.repeat(array[:4], rows, 0))
            for result, right in zip(function(array, value, rows, mask), expected):
                check_equal(result, right)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_added_at_positions(dtype):
    """One array of positions has separate loops, which add once for each time an element is selected."""
    array, value = values((11,), dtype), values((9,), dtype, seed=1)
    for positions in INTEGERS:
        rows = (numpy.arange(9) % 4 * 3).astype(positions)
        if not positions.startswith("u"):
            rows[4:6] = -1, -11
        x, y, one, i = (variable_for(example) for example in (array, value, value[0], rows))
        function = phintys.function([x, y, one, i], [inc_subtensor(x[i], y), inc_subtensor(x[i], one)])
        for layout in LAYOUTS.values():
            arguments = [layout(array), layout(value), value[0], layout(rows)]
            for result, added in zip(function(*arguments), (value, value[0])):
                check_equal(result, changed(array, rows, added, True))


@pytest.mark.parametrize("positions", INTEGERS)
@pytest.mark.parametrize("workers", [1, 3])
def test_rows_out_of_range(positions, workers):
    """The error reports the first position that is out of range, wherever it is."""
    for shape, layout in (((9,), "contiguous"), ((9,), "strided"), ((9, 300), "contiguous"), ((9, 300), "transposed"),
                          ((9, 0), "contiguous")):
        array = LAYOUTS[layout](values(shape))
        for count, place in ((1, 0), (7, 2), (7, 6), (40_000 if len(shape) == 1 else 2000, 1234)):
            rows = numpy.arange(count).astype(positions) % 9
            rows[place], rows[-1] = 9, 9 if place == count - 1 else 10
            node = variable_for(array)[variable_for(rows)].owner
            with pytest.raises(IndexError, match="^index 9 is out of bounds for axis 0 with size 9$"):
                run_kernel(node.op.make_kernel(node), [array, rows], [node.outputs[0].type.layout], workers=workers)


def test_a_failing_call_changes_no_shared_variable():
    """Elements are copied while positions are checked; a call that fails leaves shared values unchanged."""
    x, i = variable_for(values((4,))), variable_for(ROWS)
    shared = phintys.shared(values((3,)))
    function = phintys.function([x, i], shared, updates=[(shared, x[i])])
    before = shared.get_value()
    with pytest.raises(IndexError, match="index 4 is out of bounds(.|\n)*AdvancedSubtensor1"):
        function(values((4,)), numpy.array([0, 1, 4]))
    check_equal(shared.get_value(), before)
    function(values((4,)), numpy.array([0, 1, 3]))
    check_equal(shared.get_value(), values((4,))[[0, 1, 3]])


def test_long_masks():
    """Random, sparse and dense masks, at every offset from the start of a word; any byte but 0 is true."""
    random = numpy.random.default_rng(0)
    array = values((5000,))
    for share in (0.0, 0.01, 0.5, 0.99, 1.0):
        for start in (0, 3):
            mask = random.random(5000) < share
            x, m = variable_for(array), variable_for(mask)
            function = phintys.function([x, m], [x[m], m.nonzero()[0], set_subtensor(x[m], 0.0)])
            for view in (mask[start:], mask[:5000 - start][::-1], mask[start::2]):
                part = array[:len(view)]
                for got, wanted in zip(function(part, view), (part[view], view.nonzero()[0],
                                                              numpy.where(view, 0.0, part))):
                    check_equal(got, wanted)
            odd = (mask * random.integers(1, 256, 5000)).astype("uint8").view(bool)
            check_equal(function(array, odd)[0], array[mask])


def test_empty_masks():
    for shape, entry in (((0, 3), index[numpy.zeros(0, bool)]), ((0, 3), index[numpy.zeros((0, 3), bool)]),
                         ((3, 0), index[:, numpy.zeros(0, bool)]), ((0, 3), index[numpy.zeros(0, bool), 1:]),
                         ((3, 0), index[numpy.zeros((3, 0), bool)]), ((3, 0), index[numpy.ones(3, bool)]),
                         ((2, 0, 3), index[..., numpy.zeros((0, 3), bool)]), ((2, 0), index[[0, 1, 1]]),
                         ((0, 2), index[:, [1, 1]]), ((0,), index[numpy.array(True)])):
        parts, variables, arrays = varied(entry)
        array = numpy.zeros(shape)
        taken = variable_for(array)[parts]
        x = taken.owner.inputs[0]
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            function = phintys.function([x, *variables], [taken, set_subtensor(taken, 1.0), inc_subtensor(taken, 1.0),
                                                          phintys.grad(taken.sum(), x)], mode=mode)
            results = function(array, *arrays)
            check_equal(results[0], array[entry])
            for result, adds in zip(results[1:], (False, True, True)):
                check_equal(result, changed(array, entry, 1.0, adds))


def test_simultaneous_kernels():
    """Kernels of one thread share the workers with others."""
    random = numpy.random.default_rng(0)
    arrays = [values((40_000,)), values((40_000,), seed=1), random.integers(-40_000, 40_000, 40_000)]
    x, y, i = [variable_for(array) for array in arrays]
    mask = x > 0
    outputs = [inc_subtensor(x[i], y), set_subtensor(x[::-1], y), x[mask], mask.nonzero()[0], y[i, None],
               phintys.tensor.repeat(x, i % 3), phintys.tensor.choose(i % 2, [x, y])]
    with phintys.config.change_flags(workers=2):
        function = phintys.function([x, y, i], outputs)
    alone = phintys.function([x, y, i], outputs, mode="FAST_COMPILE")
    assert "TOGETHER" in str(function.explain("instructions"))
    for got, wanted in zip(function(*arrays), alone(*arrays)):
        check_equal(got, wanted)


def test_workers():
    """Several threads give the same results as one."""
    array, rows = values((2000, 40)), numpy.random.default_rng(0).integers(-2000, 2000, (300, 7))
    for entry in (index[rows], index[:, rows[0, :3] % 40], index[rows[:, 0], rows[:, :1] % 40]):
        parts, variables, arrays = varied(entry)
        node = variable_for(array)[parts].owner
        layouts = [output.type.layout for output in node.outputs]
        result, = run_kernel(node.op.make_kernel(node), [array, *arrays], layouts, workers=3)
        check_equal(result, array[entry])


def test_pickles():
    x = variable_for(values(SHAPE))
    for entry in (index[ROWS], index[1:, ROWS, None], index[MASK]):
        op = x[entry].owner.op
        assert pickle.loads(pickle.dumps(op)) == op


def test_boolean_expressions_and_computed_positions():
    array = values((6, 4))
    check_values(lambda x: x[x > 0], lambda a: a[a > 0], [array])
    check_values(lambda x: x[x.argmax(axis=0), [0, 1, 2, 3]], lambda a: a.max(axis=0), [array])
    check_gradient(lambda x: x[(x > 0).nonzero()] ** 2, [array])


def test_parts_of_parts():
    array = values(SHAPE)
    check_values(lambda x: inc_subtensor(x[:, None, [0, 1]], 1.0), lambda a: changed(a, index[:, [0, 1]], 1.0, True),
                 [array])
    check_values(lambda x: set_subtensor(x[GRID].reshape((6, 4, 3)), 1.0), lambda a: changed(a, GRID, 1.0, False),
                 [array])
    check_values(lambda x: set_subtensor(x[1:].dimshuffle(2, 0, 1), values((3, 1, 4))),
                 lambda a: changed(a, index[1:], values((3, 1, 4)).transpose(1, 2, 0), False).transpose(2, 0, 1),
                 [array])
    check_values(lambda x: inc_subtensor(x[ROWS], 1.0, ignore_duplicates=True),
                 lambda a: changed(a, ROWS, a[ROWS] + 1, False), [array])


def test_which_op_is_made():
    x = variable_for(values(SHAPE))
    for entry, op in ((index[ROWS], AdvancedSubtensor1), (index[[1, 2], ...], AdvancedSubtensor1),
                      (index[:, ROWS], AdvancedSubtensor), (index[GRID], AdvancedSubtensor),
                      (index[MASK], AdvancedBooleanSubtensor), (index[...], Subtensor), (index[:], Subtensor)):
        assert type(x[entry].owner.op) is op
        assert x[entry].owner.op == x[entry].owner.op and hash(x[entry].owner.op) == hash(x[entry].owner.op)
    assert x[:, ROWS].owner.op != x[1:, ROWS].owner.op
    assert x[:, ROWS, ..., 0].owner.op != x[:, ROWS, 0].owner.op == x[:, ROWS, 0, ...].owner.op
    assert x[ROWS, ..., ROWS, 0].owner.op == x[ROWS, ROWS, 0].owner.op
    assert str(x[:, ROWS, ..., 0].owner.op) == "AdvancedSubtensor{:, int64 1D, ..., 0}"
    assert AdvancedSubtensor()(x, ROWS, slice(1, None), None).owner.op == x[ROWS, 1:, None].owner.op
    assert AdvancedIncSubtensor(idx_list=[None, 1]) != AdvancedIncSubtensor(idx_list=[None, 1], set_instead_of_inc=True)
    assert AdvancedIncSubtensor1(True).destroy_map == {0: [0]} == AdvancedIncSubtensor(True).destroy_map
    assert not any([isinstance(part, Type) for part in x[[0, 1]].owner.inputs])


def test_rows_with_a_sparse_gradient():
    x = variable_for(values((5, 3)))
    rows = phintys.sparse_grad(x[ROWS])
    numpy.testing.assert_array_equal(phintys.function([x], rows)(values((5, 3))), values((5, 3))[ROWS])
    gradient = phintys.function([x], phintys.grad((rows * 2).sum(), x))(values((5, 3)))
    dense = phintys.function([x], phintys.grad((x[ROWS] * 2).sum(), x))(values((5, 3)))
    numpy.testing.assert_array_equal(gradient.toarray(), dense)
    assert gradient.format == "csc" and gradient.nnz == 3 * len(set(numpy.arange(5)[ROWS]))
    cube = T.dtensor3()
    with pytest.raises(TypeError, match="a sparse matrix has 2 dimensions, but x = .* has 3"):
        phintys.grad(phintys.sparse_grad(cube[ROWS]).sum(), cube)
    with pytest.raises(AssertionError, match="sparse_grad takes"):
        phintys.sparse_grad(variable_for(values((5, 3)))[1:])


def test_types_know_lengths():
    row = TensorType("float64", (True, False))()
    assert row[:, [0, 1]].type.broadcastable == (True, False)
    assert row[:, [0, 1]].type.shape == (1, 2)
    assert row[[0]].type.broadcastable == (True, False)
    assert row[:, [[0, 1]]].type.broadcastable == (True, True, False)
    assert row[0, None, [0, 1]].type.broadcastable == (False, True)
    assert row[:, MASK].type.shape == (1, 3)
    assert row[:, variable_for(MASK)].type.broadcastable == (True, False)


def test_bad_graphs():
    x, vector = variable_for(values((4, 3))), TensorType("int64", (False,))()
    cases = [(lambda: x[[0], [0], [0]], IndexError), (lambda: x[[0.5]], TypeError), (lambda: x[x[0]], TypeError),
             (lambda: x[True], TypeError), (lambda: x[[True, False]], TypeError),
             (lambda: x[[0], [0, False]], TypeError),
             (lambda: x[numpy.bool_(True)], TypeError), (lambda: x[MASK_3], IndexError), (lambda: x[..., [0], ...],
                                                                                          IndexError),
             (lambda: AdvancedSubtensor1()(x, x), TypeError),
             (lambda: AdvancedSubtensor1()(x[0, 0], vector), TypeError),
             (lambda: AdvancedSubtensor1()(x, variable_for(GRID)), TypeError),
             (lambda: AdvancedSubtensor()(x, MASK), TypeError),
             (lambda: AdvancedSubtensor()(x, ROWS, Ellipsis, ROWS), TypeError),
             (lambda: AdvancedIncSubtensor1()(x, x[None], vector), TypeError),
             (lambda: AdvancedSubtensor([vector.type])(x), IndexError), (lambda: AdvancedSubtensor([0.5]), TypeError),
             (lambda: AdvancedSubtensor([vector.type])(x, variable_for(GRID)), TypeError),
             (lambda: set_subtensor(x + 1, 0.0), TypeError), (lambda: inc_subtensor(x[vector], x[None]), TypeError),
             (lambda: inc_subtensor(x.astype("int32")[vector], 0.5), TypeError)]
    for build, error in cases:
        with pytest.raises(error):
            build()


def test_bad_runs():
    """Errors name the index, the axis, its length and the op; nothing is written."""
    x, i, j = variable_for(values((4, 3))), variable_for(ROWS), variable_for(ROWS)
    array, zero = values((4, 3)), numpy.array([0])
    shared = phintys.shared(array.copy())
    cases = [(x[i], [4], [0], "index 4 is out of bounds for axis 0 with size 4(.|\n)*AdvancedSubtensor1"),
             (x[i], [0, -5], [0], "index -5 is out of bounds for axis 0 with size 4"),
             (x[:, i], [0, 1, 3], [0], "index 3 is out of bounds for axis 1 with size 3"),
             (x[i, j], [0, 1], [0, -4], "index -4 is out of bounds for axis 1 with size 3"),
             (x[i, j], [0, 1], [0, 1, 2], r"could not be broadcast together with shapes \(2,\) \(3,\)"),
             (inc_subtensor(x[i], 1.0), [0, 1, 9], [0], "index 9 is out of bounds(.|\n)*AdvancedIncSubtensor1"),
             (set_subtensor(x[1:, i], 1.0), [-4], [0], "index -4 is out of bounds"),
             (x[i.astype("uint64")], [-1], [0], "index 18446744073709551615 is out of bounds"),
             (x[i[0] > 5, :, j], [9], [7], "index 7 is out of bounds for axis 1 with size 3")]
    for output, first, second, message in cases:
        function = phintys.function([x, i, j], output, updates=[(shared, shared * 2)], on_unused_input="ignore")
        argument = array.copy()
        with pytest.raises(IndexError, match=message):
            function(argument, numpy.array(first), numpy.array(second))
        check_equal(argument, array)
        check_equal(shared.get_value(), array)
    mask = variable_for(MASK)
    for output in (x[mask], x[:, mask], inc_subtensor(x[mask], 1.0), x[mask, zero]):
        function = phintys.function([x, mask], output)
        with pytest.raises(IndexError, match="boolean index did not match indexed array along axis [01]; size of axis"):
            function(array, numpy.ones(5 if output.type.ndim else 2, bool))
    with pytest.raises(ValueError, match=r"value array of shape \(4, 3\) could not be broadcast to"):
        phintys.function([x, i], inc_subtensor(x[i], x))(array, numpy.array([0, 1]))
