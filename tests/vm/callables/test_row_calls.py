"""Rows of arrays as the arguments of a C function, one call after the other."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.callables.row_calls import call_rows

x, scale = T.dvector("x"), T.dscalar("scale")


def entry_of(inputs, outputs):
    return phintys.function(inputs, outputs).c_function("general")


@pytest.mark.parametrize("first, stop", [(0, 6), (2, 5), (3, 3)])
def test_rows(first, stop):
    entry = entry_of([x, scale], [x * scale, x.sum(), T.cast(x, "int8")])
    given, factor = np.arange(18.0).reshape(6, 3), np.array(2.0)
    found = [np.full((6, 3), -1.0), np.full(6, -1.0), np.full((6, 3), -1, "int8")]
    assert call_rows(entry.address, [(given, True), (factor, False)], [(array, True) for array in found],
                     first, stop) == stop
    for array, wanted in zip(found, (2 * given, given.sum(1), given)):
        np.testing.assert_array_equal(array[first:stop], wanted[first:stop])
        assert (array[:first] == -1).all() and (array[stop:] == -1).all()


def test_a_state_goes_from_row_to_row():
    entry = entry_of([x, scale], [x + scale, scale + x.sum()])
    given, state, found = np.ones((5, 2)), np.array(1.0), np.empty((5, 2))
    assert call_rows(entry.address, [(given, True), (state, False)], [(found, True), (state, False)], 0, 5) == 5
    np.testing.assert_array_equal(found[:, 0], [2, 4, 6, 8, 10])
    assert state == 11


def test_rows_of_nothing():
    entry = entry_of([x], [x * 2, x.shape[0]])
    found = [np.empty((4, 0)), np.full(4, -1)]
    assert call_rows(entry.address, [(np.empty((4, 0)), True)], [(array, True) for array in found], 0, 4) == 4
    assert (found[1] == 0).all()


def test_the_row_that_fails_or_has_another_length():
    entry = entry_of([x], [x[T.cast(x[0], "int64")], T.arange(x[1])])
    given = np.array([[0.0, 2, 5], [1, 2, 5], [2, 2, 5], [3, 2, 5]])
    found = [np.zeros(4), np.zeros((4, 2))]
    results = [(array, True) for array in found]
    assert call_rows(entry.address, [(given, True)], results, 0, 4) == 3
    np.testing.assert_array_equal(found[0], [0, 2, 5, 0])
    given[2, 1] = 3
    assert call_rows(entry.address, [(given, True)], results, 1, 4) == 2
    assert found[1].shape == (4, 2)


@pytest.mark.parametrize("array, by_row, message", [
    (np.ones((4, 6))[:, ::2], True, "aligned arrays in C order"),
    (np.ones((4, 3), ">f8"), True, "byte order"),
    (np.ones((2, 3)), True, r"shape \(2, 3\) does not have rows 0 to 4"),
    (np.array(1.0), True, r"shape \(\) does not have rows")])
def test_arrays_that_have_no_such_rows(array, by_row, message):
    entry = entry_of([x], [x.sum()])
    with pytest.raises(ValueError, match=message):
        call_rows(entry.address, [(array, by_row)], [(np.empty(4), True)], 0, 4)
