"""Small results: a call reuses the array of an earlier one after the user has dropped it, which cannot be noticed."""
import sys
import weakref

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import Out, function


def strides(array):
    array.strides = (8, 8)


def shape(array):
    array.shape = (3, 1)


def dtype(array):
    array.dtype = "int64"


def metadata(array):
    array.dtype = np.dtype("float64", metadata={"unit": "m"})


def byte_order(array):
    array.dtype = array.dtype.newbyteorder()


def read_only(array):
    array.flags.writeable = False


def resized(array):
    array.resize((2, 3), refcheck=False)


def values(array):
    array[...] = -1


def nothing(array):
    pass


TRACES = [strides, shape, dtype, metadata, byte_order, read_only, resized, values, nothing]


def looks(array):
    return (type(array), array.shape, array.strides, array.dtype, array.dtype.metadata, str(array.flags),
            array.base is None, array.tolist())


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.__name__)
def test_what_was_done_to_an_array_does_not_show_in_the_next(trace, lent):
    x = T.TensorType("float64", (True, False))("x")
    value = np.ones((1, 3))
    made = function([x], Out(x * 2, borrow=lent))
    expected = looks(made(value))
    for _ in range(2):
        trace(made(value))
        assert looks(made(value)) == expected


@pytest.mark.skipif(phintys.config.stress, reason="under stress nothing is taken again")
def test_an_array_that_was_only_read_is_taken_again():
    x = T.dmatrix("x")
    made = function([x], x * 2)
    for value in (np.ones((1, 3)), np.ones((3, 1)), np.ones((2, 3))):
        first = id(made(value))
        assert id(made(value)) == first


def test_what_the_frame_keeps_is_said_in_the_guide():
    """A small result has one reference more, and ends with the next call; a large one is in memory of the pool."""
    x = T.dvector("x")
    made = function([x], x * 2)
    result = made(np.ones(3))
    with pytest.raises(ValueError, match="refcheck"):
        result.resize(5)
    result.resize(5, refcheck=False)
    ended = []
    reference = weakref.ref(result, ended.append)
    del result
    assert ended == []
    made(np.ones(3))
    assert ended == [reference]
    large = made(np.ones(600))
    assert sys.getrefcount(large) == 2
    with pytest.raises(ValueError, match="does not own its data"):
        large.resize(5, refcheck=False)
    large.copy().resize(5)
