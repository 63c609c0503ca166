"""Copies between strides of every kind, as reshapes, joins, fills and tiles make them: what moves values and does not
compute."""
import numpy
import pytest
from family_cases import LAYOUTS

import phintys
import phintys.tensor as T
from phintys.ops.types.tensor_type import TensorType

BY_ITEMSIZE = ("int8", "int16", "float32", "float64", "complex128")
# Below, at and beyond the width of a tile and of a short line, of a strip, and shapes that are narrow on either side.
SHAPES = ((1, 1), (3, 5), (8, 8), (16, 16), (17, 31), (33, 64), (2, 600), (600, 2), (3, 1030), (1030, 3), (0, 4),
          (5, 6, 7), (17, 3, 18), (2, 20, 1, 19), (9, 2, 3, 4))


def numbered(shape, dtype):
    size = int(numpy.prod(shape))
    return (numpy.arange(size) % 119).astype(dtype).reshape(shape) + (1j if dtype == "complex128" else 0)


def orders(array):
    """The array in every layout, with its dimensions in several orders, and with some of them repeated."""
    for layout in LAYOUTS.values():
        yield layout(array)
        yield layout(array.T).T
        yield numpy.moveaxis(layout(numpy.moveaxis(array, 0, -1)), -1, 0)
    yield numpy.broadcast_to(array[:1], array.shape)
    yield numpy.broadcast_to(array[..., :1], array.shape)


def functions_of(dtype, rank):
    """Functions that copy an array, and NumPy's results."""
    x = TensorType(dtype, (False,) * rank)()
    lengths = [x.shape[axis] for axis in range(rank)]
    outputs = {
        "flat": (x.flatten(), numpy.ravel),
        "transposed": (x.T.flatten(), lambda a: a.T.ravel()),
        "swapped": (x.swapaxes(0, -1).flatten(), lambda a: a.swapaxes(0, -1).ravel()),
        "joined": (T.join(0, x, x[::-1]), lambda a: numpy.concatenate([a, a[::-1]])),
        "interleaved": (T.stack([x, x], -1), lambda a: numpy.stack([a, a], -1)),
        "repeated": (T.alloc(x, 3, *lengths), lambda a: numpy.broadcast_to(a, (3, *a.shape))),
        "repeated inside": (T.repeat(x, 3, 0), lambda a: numpy.repeat(a, 3, 0)),
        "repeated elements": (T.repeat(x, 2, -1), lambda a: numpy.repeat(a, 2, -1)),
        "tiled": (T.tile(x, [2] * rank), lambda a: numpy.tile(a, [2] * rank)),
    }
    function = phintys.function([x], [output for output, _ in outputs.values()])
    return function, {name: expected for name, (_, expected) in outputs.items()}


@pytest.mark.parametrize("dtype", BY_ITEMSIZE)
def test_every_order_of_every_shape(dtype):
    functions = {rank: functions_of(dtype, rank) for rank in {len(shape) for shape in SHAPES}}
    for shape in SHAPES:
        function, expected = functions[len(shape)]
        for array in orders(numbered(shape, dtype)):
            for (name, wanted), got in zip(expected.items(), function(array)):
                numpy.testing.assert_array_equal(got, wanted(array), f"{name} of {array.shape}, {array.strides}")


def test_triangles_of_ones():
    for dtype in BY_ITEMSIZE:
        n = T.lscalar()
        function = phintys.function([n], T.tri(n, 20, 2, dtype=dtype))
        for rows in (0, 1, 17, 40):
            numpy.testing.assert_array_equal(function(rows), numpy.tri(rows, 20, 2, dtype))
