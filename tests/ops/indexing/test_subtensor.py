"""Basic indexing: every kind of index against NumPy, gradients, and setting or adding to parts."""
import numpy
import pytest
from family_cases import DTYPES, LAYOUTS, check_equal, check_gradient, check_values, values, variable_for, zero_strides

import phintys
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.slices import get_canonical_form_slice
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.types.slice_type import NoneConst, make_slice, slicetype
from phintys.ops.types.tensor_type import TensorType

SHAPE = (5, 4, 3)


class Index:
    """``index[1:, 0]`` returns the object between the brackets."""

    def __getitem__(self, entry):
        return entry


index = Index()
INDICES = [
    index[0], index[-1], index[1, 2], index[1, -2, 0], index[...], index[:], index[1:3], index[::2], index[::-1],
    index[::-2], index[3:0:-1], index[-2:], index[:-2], index[10:], index[:10], index[4:1], index[2:2], index[1:, :, 0],
    index[..., 1], index[1, ..., 1], index[..., ::-1], index[None], index[:, None, 1], index[None, ..., None, 0],
    index[:, 1:2], index[-100:100:3], index[numpy.int64(2)], index[100:-100:-1], index[0, 1:, ::2],
]
SYMBOLIC = [
    lambda x, i, j: x[i], lambda x, i, j: x[i:j], lambda x, i, j: x[:, i], lambda x, i, j: x[j:i:-1],
    lambda x, i, j: x[i::j], lambda x, i, j: x[..., i, None], lambda x, i, j: x[j::-i], lambda x, i, j: x[:j, i:],
    lambda x, i, j: x[-j:-i], lambda x, i, j: x[: i + j],
]


@pytest.mark.parametrize("entry", INDICES, ids=str)
def test_constant_indices(entry):
    for layout in LAYOUTS.values():
        check_values(lambda x: x[entry], lambda a: numpy.asarray(a[entry]), [layout(values(SHAPE))])
    if values(SHAPE)[entry].size:
        check_gradient(lambda x: x[entry] * 2, [values(SHAPE)])


@pytest.mark.parametrize("number", range(len(SYMBOLIC)))
def test_symbolic_indices(number):
    build = SYMBOLIC[number]
    for i, j in ((1, 2), (2, 1), (0, 3), (2, 9)):
        for dtype in ("int64", "uint8", "int32"):
            if dtype == "uint8" and number in (6, 8):
                continue                                  # the negative of an unsigned number is none
            operands = [values(SHAPE), numpy.array(i, dtype), numpy.array(j, dtype)]
            if number == 6 and i == 0:
                continue                                  # a step of zero
            check_values(build, lambda a, b, c: numpy.asarray(build(a, int(b), int(c))), operands)


def test_every_dtype():
    for dtype in DTYPES:
        check_values(lambda x: x[::-1, 1], lambda a: a[::-1, 1], [values((4, 3), dtype)])
        check_values(lambda x: set_subtensor(x[1:], x[0]), lambda a: changed(a, index[1:], a[0]),
                     [values((4, 3), dtype)])
        check_values(lambda x: inc_subtensor(x[1:, 0], x[0, 0]), lambda a: changed(a, index[1:, 0], a[1:, 0] + a[0, 0]),
                     [values((4, 3), dtype)])


def changed(array, entry, value):
    copy = array.copy()
    copy[entry] = value
    return copy


def test_other_sources():
    check_values(lambda x: x[1:, ::-1], lambda a: a[1:, ::-1], [zero_strides((4, 3))])
    check_values(lambda x: x[:, 0:0], lambda a: a[:, 0:0], [values((4, 3))])
    check_values(lambda x: x[1:], lambda a: a[1:], [values((0, 3))])
    check_values(lambda x: x[()], lambda a: a, [values(())])
    check_values(lambda x: x[None, ...], lambda a: a[None], [values(())])


CHANGES = {
    "set a slice": (lambda x, y: set_subtensor(x[1:3], y), lambda a, b: changed(a, index[1:3], b), (2, 3)),
    "add to a slice": (lambda x, y: inc_subtensor(x[::-2], y), lambda a, b: changed(a, index[::-2], a[::-2] + b),
                       (2, 3)),
    "a vector repeated": (lambda x, y: inc_subtensor(x[1:], y), lambda a, b: changed(a, index[1:], a[1:] + b), (3,)),
    "a row": (lambda x, y: set_subtensor(x[2], y), lambda a, b: changed(a, 2, b), (3,)),
    "a column": (lambda x, y: inc_subtensor(x[:, 1], y), lambda a, b: changed(a, index[:, 1], a[:, 1] + b), (4,)),
    "an element": (lambda x, y: set_subtensor(x[1, 1], y), lambda a, b: changed(a, index[1, 1], b), ()),
    "everything": (lambda x, y: inc_subtensor(x[...][:], y), lambda a, b: a + b, (4, 3)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_parts(name):
    build, expected, dimensions = CHANGES[name]
    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(values((4, 3))), layout(values(dimensions, seed=1))])
    check_gradient(build, [values((4, 3)), values(dimensions, seed=1)])


def test_changes_at_symbolic_places():
    x, i = variable_for(values((4, 3))), TensorType("int64", ())()
    function = phintys.function([x, i], [set_subtensor(x[i], 0.0), inc_subtensor(x[i:, 1], 1)])
    array = values((4, 3))
    for place in (0, 2, -1):
        first, second = function(array, place)
        check_equal(first, changed(array, place, 0))
        check_equal(second, changed(array, index[place:, 1], array[place:, 1] + 1))
    check_equal(array, values((4, 3)))                       # the argument is not written


def test_two_gradients_into_one_tensor():
    check_gradient(lambda x: x[1:] * x[:-1] + x[0], [values((4, 3))])


def test_types_know_lengths_of_one():
    row = TensorType("float64", (True, False))()
    assert row[:].type.broadcastable == (True, False)
    assert row[0:].type.broadcastable == (True, False)
    assert row[:, 0].type.broadcastable == (True,)
    assert row[1:].type.broadcastable == (False, False)
    assert TensorType("float64", (False, False), shape=(5, 3))()[1::2].type.shape == (2, 3)


def test_equal_ops_are_equal():
    integer = TensorType("int64", ())
    assert Subtensor([slice(1, None), integer]) == Subtensor([slice(1, None), integer])
    assert hash(Subtensor([slice(1, 2)])) == hash(Subtensor([slice(1, 2)]))
    assert Subtensor([slice(1, None)]) != Subtensor([1])
    assert IncSubtensor([0]) != IncSubtensor([0], set_instead_of_inc=True)


def test_other_dtypes_of_values():
    """A value to set is converted if only precision is lost; a value to add must be of the same kind."""
    check_values(lambda x: set_subtensor(x[1:], 2.0), lambda a: changed(a, index[1:], 2), [values((3, 2), "int8")])
    check_values(lambda x, y: set_subtensor(x[[0, 1]], y), lambda a, b: changed(a, [0, 1], b),
                 [values((3, 2), "int32"), values((2,), "int64")])
    check_values(lambda x, y: inc_subtensor(x[1:], y), lambda a, b: changed(a, index[1:], a[1:] + b),
                 [values((3, 2), "float32"), values((2,), seed=1)])


SLICES = [slice(1, 3), slice(None, None, -1), slice(-2, None), slice(3, 0, -2), slice(10, None), slice(None, -5, -1)]


def test_slices_as_variables():
    x, part, start = variable_for(values((4, 3))), slicetype("part"), TensorType("int64", ())()
    function = phintys.function([x, part], [x[part], x[..., part], x[None, part, 1]])
    for entry in SLICES:
        wanted = (index[entry], index[..., entry], index[None, entry, 1])
        for got, where in zip(function(values((4, 3)), entry), wanted):
            check_equal(got, values((4, 3))[where])
    made = phintys.function([x, start], [make_slice(start, None, 2), x[make_slice(start, None, 2), NoneConst],
                                         x[slicetype.make_constant(slice(1, 2))]])
    first, second, third = made(values((4, 3)), 1)
    assert first == slice(1, None, 2)
    check_equal(second, values((4, 3))[1::2, None])
    check_equal(third, values((4, 3))[1:2])
    assert slicetype.make_constant(slice(1, 2)).equals(slicetype.make_constant(slice(1, 2, None)))
    for wrong in (lambda: slicetype.filter(1), lambda: make_slice(0.5), lambda: NoneConst.type.filter(0)):
        with pytest.raises(TypeError):
            wrong()


def test_canonical_form():
    """The same elements with a positive step and without negative numbers."""
    bounds, array = [None, -9, -3, -1, 0, 1, 2, 4, 9], numpy.arange(4)
    for start in bounds:
        for stop in bounds:
            for step in (None, -3, -1, 1, 2):
                canonical, direction = get_canonical_form_slice(slice(start, stop, step), 4)
                assert canonical.start >= 0 and canonical.step > 0
                assert array[canonical][::direction].tolist() == array[start:stop:step].tolist()
    symbols = [TensorType(dtype, ())() for dtype in ("int32", "int64", "int8", "int64")]
    canonical, direction = get_canonical_form_slice(slice(*symbols[:3]), symbols[3])
    function = phintys.function(symbols, [canonical.start, canonical.stop, canonical.step, direction])
    for start, stop, step in ((0, 4, 1), (-2, 9, 2), (3, -9, -2), (-1, 0, -1), (1, 3, -1), (5, 2, -3)):
        first, last, by, order = map(int, function(start, stop, step, 4))
        assert array[first:last:by][::order].tolist() == array[start:stop:step].tolist()
    assert get_canonical_form_slice(-1, 4) == (3, 1)


def test_bad_graphs():
    x = variable_for(values((4, 3)))
    cases = [(lambda: x[1, 2, 3], IndexError), (lambda: x[..., ...], IndexError), (lambda: x[1.5], TypeError),
             (lambda: x["a"], TypeError), (lambda: x[x[0, 0]], TypeError), (lambda: x[True], TypeError),
             (lambda: x[:2 ** 63], IndexError),
             (lambda: Subtensor([0, 0, 0])(x), IndexError), (lambda: Subtensor([1.5]), TypeError),
             (lambda: Subtensor([TensorType("int64", ())])(x), IndexError),
             (lambda: set_subtensor(x, 0), TypeError), (lambda: set_subtensor(x[0], x), TypeError),
             (lambda: IncSubtensor([0])(x, x), ValueError),
             (lambda: inc_subtensor(x.astype("int8")[0], 1.5), TypeError),
             (lambda: set_subtensor(x[0], 1j), TypeError)]
    for build, error in cases:
        with pytest.raises(error):
            build()


def test_bad_runs():
    x, i = variable_for(values((4, 3))), TensorType("int64", ())()
    function = phintys.function([x, i], x[i])
    for place in (4, -5):
        with pytest.raises(IndexError, match="axis 0 with size 4"):
            function(values((4, 3)), place)
    check_equal(function(values((4, 3)), -4), values((4, 3))[0])
    with pytest.raises(ValueError, match="step cannot be zero"):
        phintys.function([x, i], x[::i])(values((4, 3)), 0)
    with pytest.raises(ValueError, match="broadcast"):
        phintys.function([x, i], inc_subtensor(x[i:, 0], x[:, 0]))(values((4, 3)), 1)
