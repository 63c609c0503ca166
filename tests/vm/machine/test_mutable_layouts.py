"""Mutable arguments in all layouts: what is set or added to is written into their memory, whatever its strides are."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out

SHAPE = 6, 8


def base(dtype):
    return (np.arange(4 * SHAPE[0] * SHAPE[1]) % 100).astype(dtype)


LAYOUTS = {
    "C": lambda dtype: base(dtype)[:48].reshape(SHAPE).copy(),
    "F": lambda dtype: np.asfortranarray(base(dtype)[:48].reshape(SHAPE)),
    "rows apart": lambda dtype: base(dtype)[:96].reshape(12, 8)[::2],
    "columns apart": lambda dtype: base(dtype)[:96].reshape(6, 16)[:, 1::2],
    "reversed": lambda dtype: base(dtype)[:48].reshape(SHAPE)[::-1, ::-1],
    "transposed and apart": lambda dtype: base(dtype).reshape(16, 12)[::2, ::2].T,
}
rows, mask = T.lvector("rows"), T.bmatrix("mask")
EXPRESSIONS = {
    "a row": lambda x: T.set_subtensor(x[2], 7),
    "a row by value": lambda x: T.inc_subtensor(x[rows[0]], x[3] * 2),
    "a column": lambda x: T.inc_subtensor(x[:, 1], 1),
    "a step": lambda x: T.set_subtensor(x[::-2, 1::3], x[:1, :1] * 2),
    "all": lambda x: T.inc_subtensor(x[:], x[0] * 2),
    "nothing": lambda x: T.set_subtensor(x[3:3], 5),
    "rows": lambda x: T.inc_subtensor(x[rows], 1),
    "rows set": lambda x: T.set_subtensor(x[rows], x[:1] * 2),
    "elements": lambda x: T.inc_subtensor(x[rows, rows], 3),
    "columns": lambda x: T.set_subtensor(x[:, rows], 4),
    "masked": lambda x: T.set_subtensor(x[mask], 6),
    "masked, added": lambda x: T.inc_subtensor(x[mask.nonzero()], 6),
    "two": lambda x: T.inc_subtensor(T.set_subtensor(x[1], 5)[rows], 2),
}
ROWS, MASK = [1, 3, 1, 0], np.eye(*SHAPE, dtype="int8")


def values(expression, dtype):
    """(a function that may overwrite its argument, and one that may not) of the expression."""
    x = T.TensorType(dtype, (False, False))("x")
    mode = phintys.Mode(optimizer="fast_run")
    return [phintys.function([In(x, mutable=mutable), rows, mask], Out(EXPRESSIONS[expression](x), borrow=mutable),
                             mode=mode, on_unused_input="ignore") for mutable in (True, False)]


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_parts_are_written_in_any_layout(expression, dtype):
    overwriting, careful = values(expression, dtype)
    for layout, make in LAYOUTS.items():
        given = make(dtype)
        expected = careful(given, ROWS, MASK)
        np.testing.assert_array_equal(given, make(dtype))
        surroundings = given if given.base is None else given.base
        outside = surroundings.copy()
        found = overwriting(given, ROWS, MASK)
        np.testing.assert_array_equal(found, expected)
        assert np.shares_memory(found, given) and found.strides == given.strides, layout
        given[...] = make(dtype)
        np.testing.assert_array_equal(surroundings, outside)        # what lies between the elements is as it was


def test_what_reads_the_overwritten_argument_sees_its_layout():
    x = T.dmatrix("x")
    y = T.set_subtensor(x[0], 1)
    function = phintys.function([In(x, mutable=True)], [T.exp(y), y.sum(axis=0), T.dot(y, y.T), y])
    for make in LAYOUTS.values():
        given = make("float64") / 100
        expected = given.copy()
        expected[0] = 1
        exponential, total, product, found = function(given)
        np.testing.assert_allclose(exponential, np.exp(expected))
        np.testing.assert_allclose(total, expected.sum(axis=0))
        np.testing.assert_allclose(product, expected @ expected.T)
        np.testing.assert_array_equal(found, expected)


def test_a_shared_value_made_of_it_is_a_copy_in_c_order():
    x, s = T.dmatrix("x"), phintys.shared(np.zeros(SHAPE))
    function = phintys.function([In(x, mutable=True)], updates=[(s, T.set_subtensor(x[0], 1))])
    for make in LAYOUTS.values():
        given = make("float64")
        function(given)
        value = s.get_value(borrow=True)
        assert value.flags.c_contiguous and not np.shares_memory(value, given)
        assert (value[0] == 1).all() and (value[1:] == given[1:]).all()


def test_memory_in_which_elements_share_a_place_is_copied():
    x = T.dmatrix("x")
    function = phintys.function([In(x, mutable=True)], T.inc_subtensor(x[0], 1))
    memory = np.zeros(10)
    given = np.lib.stride_tricks.as_strided(memory, (3, 4), (8, 16))
    assert function(given).sum() == 4
    assert not memory.any()
