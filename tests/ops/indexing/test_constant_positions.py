"""Elements taken and added at positions that are constants: from the third call of a layout on, by a table."""
import numpy
import pytest
from family_cases import DTYPES, INTEGERS, check_equal, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.indexing.inc_subtensor import inc_subtensor

CALLS = 4                               # the first two find the layout; a table serves the others
ROWS = numpy.random.default_rng(0).integers(-9, 9, 77)


def added(array, rows, value):
    result = array.copy()
    numpy.add.at(result, rows, value)
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stress", [False, True])
def test_dtypes(dtype, stress):
    """Additions to one place keep their order: results have the same bits as those of ``numpy.add.at``."""
    with phintys.config.change_flags(stress=stress):
        x, y, one = (variable_for(values(shape, dtype)) for shape in ((9,), (77,), ()))
        function = phintys.function([x, y, one], [x[ROWS], inc_subtensor(x[ROWS], y), inc_subtensor(x[ROWS], one)])
        for call in range(CALLS):
            array, value = values((9,), dtype, seed=call), values((77,), dtype, seed=call + 9)
            taken, by_each, by_one = function(array, value, value[0])
            check_equal(taken, array[ROWS])
            assert by_each.tobytes() == added(array, ROWS, value).tobytes()
            assert by_one.tobytes() == added(array, ROWS, value[0]).tobytes()


@pytest.mark.parametrize("positions", INTEGERS)
def test_dtypes_of_positions(positions):
    x, y = T.dvectors("x", "y")
    for rows in (ROWS % 9, ROWS[::-2], ROWS[:0], numpy.sort(ROWS), numpy.full(50, 3), numpy.arange(9)):
        rows = (rows if not positions.startswith("u") else abs(rows) % 9).astype(positions)
        function = phintys.function([x, y], [x[T.constant(rows)], inc_subtensor(x[T.constant(rows)], y)])
        for call in range(CALLS):
            array, value = values((9,), seed=call), values((len(rows),), seed=call + 9)
            for result, expected in zip(function(array, value), (array[rows], added(array, rows, value))):
                check_equal(result, expected)


def test_lengths_and_strides_that_change():
    """A table belongs to a layout; positions that no longer fit are found when another one comes."""
    x, y = T.dvectors("x", "y")
    function = phintys.function([x, y], [x[ROWS], inc_subtensor(x[ROWS], y)])
    for length, step in ((9, 1), (200, 1), (12, 1), (9, 3), (9, -1), (9, 1)):
        for call in range(CALLS):
            array = values((length * abs(step),), seed=call)[::step]
            value = values((77 * abs(step),), seed=call + 9)[::step]
            for result, expected in zip(function(array, value), (array[ROWS], added(array, ROWS, value))):
                check_equal(result, expected)
        for _ in range(CALLS):
            with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 8"):
                function(values((8,)), values((77,)))


@pytest.mark.parametrize("linked", ["taken", "added"])
def test_out_of_range_in_each_call(linked):
    x = T.dvector("x")
    part = x[numpy.array([0, 1, 9] * 20)]
    function = phintys.function([x], part if linked == "taken" else inc_subtensor(part, 1.0))
    for _ in range(CALLS):
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
            function(values((9,)))


def test_shared_values():
    """Additions in place, to a value that is replaced between calls by one of the same or another length."""
    table, y = phintys.shared(values((9,)), "table"), T.dvector("y")
    function = phintys.function([y], table[ROWS], updates=[(table, inc_subtensor(table[ROWS], y))])
    expected = values((9,))
    for call, length in enumerate((9, 9, 9, 9, 15, 15, 15, 9, 9, 9)):
        if call > 2:
            expected = values((length,), seed=call)
            table.set_value(expected)
        value = values((77,), seed=call)
        check_equal(function(value), expected[ROWS])
        expected = added(expected, ROWS, value)
        check_equal(table.get_value(), expected)


def test_values_that_are_read_again():
    """What is added to stays as it was where another result needs it."""
    x, y = T.dvectors("x", "y")
    z = T.exp(x)
    function = phintys.function([x, y], [inc_subtensor(z[ROWS], y), z * 2])
    for call in range(CALLS):
        array, value = values((9,), seed=call), values((77,), seed=call + 9)
        result, twice = function(array, value)
        numpy.testing.assert_allclose(result, added(numpy.exp(array), ROWS, value), rtol=1e-12)
        numpy.testing.assert_allclose(twice, 2 * numpy.exp(array), rtol=1e-12)
