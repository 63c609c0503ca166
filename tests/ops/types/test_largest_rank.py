"""Arrays have at most as many dimensions as NumPy's: kernels have a place for each of them, and types refuse more."""
import numpy
import pytest

import phintys
import phintys.tensor as T

MOST = T.TensorType("float64", (False,) * 64)
TOO_MANY = {
    "a type": lambda x: T.TensorType("float64", (False,) * 65),
    "a new dimension": lambda x: x.dimshuffle("x", *range(64)),
    "an index": lambda x: x[None],
    "an index array": lambda x: x[T.lmatrix()],
    "a stack": lambda x: T.stack([x, x]),
    "a product": lambda x: T.tensordot(x, x, axes=0),
    "a reshape": lambda x: x.reshape(T.lvector(), ndim=65),
    "zeros": lambda x: T.zeros((1,) * 65),
    "padding": lambda x: T.shape_padleft(x),
}
BACKWARDS = tuple(range(64))[::-1]
SWAPPED = (63, *range(1, 63), 0)
ROWS = numpy.array([1, 0])
COLUMNS = numpy.array([0, 0])

# Each kernel that walks dimensions: what is built, and what NumPy computes.
KERNELS = {
    "elementwise": (lambda x: x + x.dimshuffle(*SWAPPED), lambda x: x + x.transpose(SWAPPED)),
    "choice": (lambda x: T.switch(x > 3, x, 0), lambda x: numpy.where(x > 3, x, 0)),
    "reshape": (lambda x: x.dimshuffle(*BACKWARDS).flatten(), lambda x: x.transpose().ravel()),
    "sum": (lambda x: x.sum(axis=(0, 63)), lambda x: x.sum(axis=(0, 63))),
    "fused sum": (lambda x: T.exp(x).sum(axis=1), lambda x: numpy.exp(x).sum(axis=1)),
    "max": (lambda x: x.max(axis=63), lambda x: x.max(axis=63)),
    "argmax": (lambda x: T.argmax(x, axis=0), lambda x: x.argmax(axis=0)),
    "join": (lambda x: T.concatenate([x, x], axis=0), lambda x: numpy.concatenate([x, x], axis=0)),
    "slices": (lambda x: x[::-1, 1:], lambda x: x[::-1, 1:]),
    "rows": (lambda x: x[ROWS], lambda x: x[ROWS]),
    "index arrays": (lambda x: x[ROWS, :, 0, COLUMNS], lambda x: x[ROWS, :, 0, COLUMNS]),
    "every dimension": (lambda x: x[(0,) * 64], lambda x: x[(0,) * 64]),
    "assignment": (lambda x: T.set_subtensor(x[0], 1.0), lambda x: numpy.concatenate([0 * x[:1] + 1, x[1:]])),
    "cumsum": (lambda x: T.cumsum(x, axis=0), lambda x: x.cumsum(axis=0)),
    "repeat": (lambda x: T.repeat(x, 2, axis=1), lambda x: x.repeat(2, axis=1)),
    "nonzero": (lambda x: T.stack(x.nonzero()), lambda x: numpy.stack(x.nonzero())),
    "fill": (lambda x: T.alloc(x, *(x.shape[axis] for axis in range(64))), lambda x: x),
    "transpose": (lambda x: x.T.copy(), lambda x: x.T),
}


def values():
    """An array of rank 64 that is not contiguous."""
    return numpy.arange(24.0).reshape((2, 3, *(1,) * 60, 2, 2)).transpose(SWAPPED)


@pytest.mark.parametrize("name", TOO_MANY)
def test_more_are_refused_where_they_arise(name):
    with pytest.raises(ValueError, match=r"cannot have (65|128) dimensions: at most 64 are supported, as in NumPy"):
        TOO_MANY[name](MOST("x"))


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_has_a_place_for_each(name):
    build, expected = KERNELS[name]
    x = MOST("x")
    numpy.testing.assert_allclose(phintys.function([x], build(x))(values()), expected(values()))


def test_a_shared_variable_has_a_place_for_each():
    shared = phintys.shared(values())
    phintys.function([], updates={shared: shared + 1})()
    numpy.testing.assert_array_equal(shared.get_value(), values() + 1)
