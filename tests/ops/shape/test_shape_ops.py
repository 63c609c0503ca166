"""Shapes, views, reshapes: dimshuffle and its relatives, reshape, flatten, rebroadcast, specify_shape, stack."""
import numpy
import pytest
from family_cases import (
    DTYPES,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
import phintys.tensor as T
from phintys.ops.shape.dimshuffle import (
    DimShuffle,
    dimshuffle,
    shape_padaxis,
    shape_padleft,
    shape_padright,
    swapaxes,
    transpose,
)
from phintys.ops.shape.join import MakeVector, stack
from phintys.ops.shape.reshape import Reshape, flatten, is_flat, is_never_negative, reshape
from phintys.ops.shape.shape import Shape_i, addbroadcast, patternbroadcast, shape, shape_i, specify_shape, unbroadcast
from phintys.ops.types.tensor_type import TensorType

A, B = (2, 3, 4), (1, 3)

# name: how to build it, what NumPy does, shape of the operand
VIEWS = {
    "permute": (lambda x: dimshuffle(x, 2, 0, 1), lambda a: a.transpose(2, 0, 1), A),
    "add": (lambda x: dimshuffle(x, 0, "x", 1, "x", 2), lambda a: a[:, None, :, None, :], A),
    "transpose": (transpose, numpy.transpose, A),
    "transpose axes": (lambda x: transpose(x, [1, 0, 2]), lambda a: a.transpose(1, 0, 2), A),
    "swapaxes": (lambda x: swapaxes(x, 0, -1), lambda a: a.swapaxes(0, -1), A),
    "padleft": (lambda x: shape_padleft(x, 2), lambda a: a[None, None], A),
    "padright": (shape_padright, lambda a: a[..., None], A),
    "padaxis": (lambda x: shape_padaxis(x, -2), lambda a: a[:, :, None], A),
    "drop": (lambda x: dimshuffle(addbroadcast(x, 0), 1), lambda a: a[0], B),
    "scalar": (lambda x: dimshuffle(x, "x", "x"), lambda a: a.reshape(1, 1), ()),
    "reshape": (lambda x: reshape(x, (4, 6)), lambda a: a.reshape(4, 6), A),
    "reshape -1": (lambda x: reshape(x, [3, -1, 2]), lambda a: a.reshape(3, -1, 2), A),
    "reshape ones": (lambda x: reshape(x, [1, 2, 3, 1, 4]), lambda a: a.reshape(1, 2, 3, 1, 4), A),
    "reshape symbolic": (lambda x: reshape(x, [x.shape[2], -1]), lambda a: a.reshape(4, -1), A),
    "reshape by a vector": (lambda x: reshape(x, x.shape[::-1], ndim=3), lambda a: a.reshape(4, 3, 2), A),
    "reshape scalar": (lambda x: reshape(x, [1, 1]), lambda a: a.reshape(1, 1), ()),
    "reshape to scalar": (lambda x: reshape(x, []), lambda a: a.reshape(()), (1, 1)),
    "flatten": (flatten, numpy.ravel, A),
    "flatten 2": (lambda x: flatten(x, 2), lambda a: a.reshape(2, 12), A),
    "flatten 3": (lambda x: x.flatten(3), lambda a: a, A),
    "specify_shape": (lambda x: specify_shape(x, [2, 3, 4]), lambda a: a, A),
    "specify_shape symbolic": (lambda x: specify_shape(x, [x.shape[0], 3, 4]), lambda a: a, A),
    "unbroadcast": (lambda x: unbroadcast(addbroadcast(x, 0), 0), lambda a: a, B),
    "patternbroadcast": (lambda x: patternbroadcast(x, (True, False)), lambda a: a, B),
}


@pytest.mark.parametrize("name", VIEWS)
def test_values_and_inferred_shapes(name):
    build, expected, dimensions = VIEWS[name]
    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(values(dimensions))])
    check_values(build, expected, [zero_strides(dimensions)], modes=MODES[:1])


@pytest.mark.parametrize("name", VIEWS)
def test_gradients(name):
    build, _, dimensions = VIEWS[name]
    check_gradient(build, [values(dimensions)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    for name in ("permute", "reshape", "flatten"):
        build, expected, dimensions = VIEWS[name]
        check_values(build, expected, [transposed_values(dimensions, dtype)], modes=MODES[:1])


def transposed_values(dimensions, dtype):
    return values(dimensions[::-1], dtype).T


def test_large_transposed_copies():
    for dtype in ("int8", "int16", "float32", "float64", "complex128"):
        array = values((301, 203), dtype)
        check_values(flatten, numpy.ravel, [array.T], modes=MODES[:1])


def test_empty_arrays():
    check_values(lambda x: reshape(x, [0, 5]), lambda a: a.reshape(0, 5), [values((3, 0, 2))])
    check_values(flatten, numpy.ravel, [values((3, 0))])
    check_values(lambda x: flatten(x, 2), lambda a: a.reshape(0, 6), [values((0, 3, 2))])
    check_values(lambda x: flatten(x, 2), lambda a: a.reshape(3, 0), [values((3, 0, 2))])
    check_values(lambda x: dimshuffle(x, 1, "x", 0), lambda a: a.T[:, None], [values((3, 0))])
    check_values(lambda x: reshape(x, [-1, 4]), lambda a: a.reshape(-1, 4), [values((0, 2))])


def test_shape_and_its_elements():
    array = values((2, 3, 4))
    check_values(shape, lambda a: numpy.array(a.shape), [array])
    for axis in range(-3, 3):
        check_values(lambda x: x.shape[axis], lambda a: numpy.array(a.shape[axis]), [array])
    check_values(lambda x: shape_i(x, 1), lambda a: numpy.array(3), [array])
    check_values(lambda x: x.shape, lambda a: numpy.zeros(0, "int64"), [values(())])
    assert Shape_i(1) == Shape_i(1) != Shape_i(0)


def test_scalars_become_a_vector():
    x, y = values(()), values((), seed=1)
    check_values(lambda a, b: stack([a, b, 3]), lambda a, b: numpy.array([a, b, 3]), [x, y])
    check_gradient(lambda a, b: stack([a, b * b]), [x, y])
    assert stack([variable_for(values((), "int8")), variable_for(values((), "float32"))]).type.dtype == "float32"


def test_results_that_are_views_share_no_memory_with_arguments():
    x = variable_for(values((2, 3)))
    array = values((2, 3))
    result = phintys.function([x], dimshuffle(x, 1, 0))(array)
    assert not numpy.shares_memory(result, array)


def test_static_shapes():
    x = TensorType("float64", (False, False), shape=(3, 4))()
    assert transpose(x).type.shape == (4, 3)
    assert reshape(x, [-1, 6]).type.shape == (2, 6)
    assert dimshuffle(x, "x", 1, 0).type.shape == (1, 4, 3)
    assert shape(x).type.shape == (2,)


def test_equal_ops_are_equal():
    assert DimShuffle((False, False), (1, 0)) == DimShuffle([False, False], [1, 0])
    assert hash(DimShuffle((False,), (0, "x"))) == hash(DimShuffle((False,), (0, "x")))
    assert DimShuffle((False, False), (1, 0)) != DimShuffle((False, False), (0, 1))
    assert Reshape(2) == Reshape(2) != Reshape(3)


def vector():
    return variable_for(values(3))


BAD_GRAPHS = {
    "dimension twice": (lambda: dimshuffle(vector(), 0, 0), ValueError),
    "no such dimension": (lambda: dimshuffle(vector(), 1), ValueError),
    "dropping any length": (lambda: dimshuffle(vector(), "x"), ValueError),
    "no int": (lambda: dimshuffle(vector(), 0.5), TypeError),
    "not in place": (lambda: DimShuffle((False,), (0,), inplace=False), ValueError),
    "wrong rank": (lambda: DimShuffle((False, False), (1, 0))(vector()), TypeError),
    "wrong pattern": (lambda: DimShuffle((True,), ())(vector()), TypeError),
    "padaxis": (lambda: shape_padaxis(vector(), 3), IndexError),
    "flatten to 0": (lambda: flatten(vector(), 0), ValueError),
    "flatten to 2": (lambda: flatten(vector(), 2), ValueError),
    "flatten twice named": (lambda: flatten(vector(), 1, outdim=1), ValueError),
    "rank unknown": (lambda: reshape(vector(), TensorType("int64", (False,))()), ValueError),
    "float shape": (lambda: reshape(vector(), [1.5, 2]), TypeError),
    "float variable": (lambda: reshape(vector(), [TensorType("float64", ())(), 2]), TypeError),
    "rebroadcast": (lambda: addbroadcast(vector(), 1), ValueError),
    "negative rank": (lambda: Reshape(-1), ValueError),
    "shape_i": (lambda: shape_i(vector(), 1), TypeError),
    "specify_shape length": (lambda: specify_shape(vector(), [3, 3]), ValueError),
    "vector of matrices": (lambda: MakeVector("float64")(vector()), TypeError),
    "vector that loses": (lambda: MakeVector("float32")(TensorType("float64", ())()), TypeError),
    "nothing to stack": (lambda: stack([]), ValueError),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build()


def test_flatten_takes_an_order():
    x = values((2, 3))
    variable = variable_for(x)
    assert flatten(variable, "F").eval({variable: x}).tolist() == x.ravel("F").tolist()
    with pytest.raises(ValueError, match="order must be one of 'C', 'F', 'A', 'K', got 'Q'"):
        flatten(variable, "Q")


def test_swapaxes_names_the_axis():
    for axes in ((0, 1), (-2, 0)):
        with pytest.raises(IndexError, match="swapaxes: axis (1|-2) is out of bounds .* with 1 dimensions"):
            swapaxes(vector(), *axes)


def test_rebroadcasts_of_rebroadcasts_are_one():
    x, row = variable_for(values((2, 3))), TensorType("float64", (True, False))()
    assert unbroadcast(x, 0, 1) is x and addbroadcast(row, 0) is row
    assert unbroadcast(addbroadcast(x, 0), 0) is x and addbroadcast(unbroadcast(row, 0), 0) is row
    assert addbroadcast(addbroadcast(x, 0), 1).owner.inputs[0] is x


def test_reshapes_to_the_own_shape_disappear():
    x = variable_for(values((2, 3)))
    outputs = [reshape(x * 2, x.shape), reshape(x * 3, (x.shape[0], -1)), reshape(x * 4, [x.shape[0], x.shape[1]])]
    function = phintys.function([x], outputs)
    assert Reshape not in {type(node.op) for node in function.maker.fgraph.apply_nodes}
    for number, got in enumerate(function(values((2, 3)))):
        check_equal(got, (2 + number) * values((2, 3)))
    swapped = phintys.function([x], reshape(x * 2, (x.shape[1], x.shape[0])))
    check_equal(swapped(values((2, 3))), (2 * values((2, 3))).reshape(3, 2))


def test_the_shape_of_a_scalar_computes_nothing():
    x = variable_for(values(()))
    assert [str(node) for node in phintys.function([x], (x * 2).shape).maker.fgraph.apply_nodes] == [
        "DeepCopyOp(TensorConstant{[]})"]


def test_is_flat():
    x = variable_for(values((2, 3)))
    assert is_flat(flatten(x)) and is_flat(x, 2) and not is_flat(x)
    with pytest.raises(ValueError, match="only specify ndim"):
        is_flat(x, 2, outdim=2)


def test_outdim_is_the_old_name():
    with pytest.warns(UserWarning, match="outdim"):
        assert flatten(variable_for(values((2, 3, 4))), outdim=2).type.ndim == 2


BAD_RUNS = {
    "reshape size": (lambda x: reshape(x, [5]), ValueError, r"\(2, 3\) to shape \(5,\)"),
    "reshape unknown": (lambda x: reshape(x, [-1, 4]), ValueError, "Cannot reshape"),
    "two unknown": (lambda x: reshape(x, [-1, -1]), ValueError, "Cannot reshape"),
    "wrong length": (lambda x: reshape(x, specify_length(x), ndim=3), ValueError, "length 2, should be 3"),
    "rebroadcast": (lambda x: addbroadcast(x, 0), ValueError, "supposed to be 1"),
    "specify_shape": (lambda x: specify_shape(x, [2, 4]), AssertionError, r"\(2, 3\), expected \(2, 4\)"),
}


def specify_length(x):
    """A vector whose length the compiler does not know."""
    return reshape(x.astype("int64"), [-1])[:2]


@pytest.mark.parametrize("name", BAD_RUNS)
def test_bad_runs(name):
    build, error, message = BAD_RUNS[name]
    x = variable_for(values((2, 3)))
    function = phintys.function([x], build(x))
    for _ in range(2):                               # the function can be called again
        with pytest.raises(error, match=message):
            function(values((2, 3)))


def test_directional_derivatives():
    x, direction = variable_for(values((2, 3))), variable_for(values((2, 3)))
    for build in (transpose, flatten, lambda v: specify_shape(v, [2, 3])):
        derivative = phintys.gradient.Rop(build(x), x, direction)
        array = values((2, 3), seed=1)
        got = phintys.function([x, direction], derivative, on_unused_input="ignore")(values((2, 3)), array)
        check_equal(got, phintys.function([x], build(x))(array))


def test_lengths_of_a_reshape_are_its_entries_where_none_can_be_negative():
    x, n, shape = T.dmatrix("x"), T.lscalar("n"), T.lvector("shape")
    rows, columns = T.shape_i(x, 0), T.shape_i(x, 1)
    for entry in (rows, x.shape[0], rows * columns, T.maximum(n - rows, 0), T.minimum(rows, 3) + x.shape[::-1][1]):
        assert is_never_negative(entry)
        node = Reshape(2)(x, [entry, columns]).owner
        assert node.op.infer_shape(node, [(rows, columns), (2,)]) == [(entry, columns)]
    for entry in (n, shape[0], rows - 1, T.maximum(n, -1), T.minimum(n, rows)):
        assert not is_never_negative(entry)
    node = Reshape(2)(x, shape).owner
    lengths, = node.op.infer_shape(node, [(rows, columns), (2,)])
    value = numpy.ones((4, 6))
    assert [int(length) for length in phintys.function([x, shape], list(lengths))(value, [-1, 3])] == [8, 3]


def test_lengths_of_a_reshape_by_a_shape_are_those_of_the_tensor():
    x, y = T.dmatrix("x"), T.dtensor3("y")
    node = Reshape(3)(x, T.shape(y)).owner
    lengths, = node.op.infer_shape(node, [(T.shape_i(x, 0), T.shape_i(x, 1)), (3,)])
    assert [(length.owner.op, length.owner.inputs) for length in lengths] == [(Shape_i(axis), [y]) for axis in range(3)]
