"""Views of the rows that a loop needs: their length, their errors, their derivatives."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.loops.first_rows import EnoughRows, FirstRows, StepCount, first_rows

x, n = T.dmatrix("x"), T.lscalar("n")
VALUE = numpy.arange(8.0).reshape(4, 2)


def test_first_rows():
    y = first_rows(x, n)
    f = phintys.function([x, n], [y, y.shape, phintys.grad((y ** 2).sum(), x), phintys.gradient.Rop(y, x, 3 * x)])
    for count in range(5):
        rows, shape, gradient, direction = f(VALUE, count)
        numpy.testing.assert_array_equal(rows, VALUE[:count])
        assert shape.tolist() == [count, 2]
        numpy.testing.assert_array_equal(gradient, numpy.where(numpy.arange(4)[:, None] < count, 2 * VALUE, 0))
        numpy.testing.assert_array_equal(direction, 3 * VALUE[:count])
    for count in (5, 100):
        with pytest.raises(ValueError, match=f"x.*4.*{count}|x.*{count}.*4"):
            f(VALUE, count)


def test_a_rule_permits_no_other_number():
    f = phintys.function([x, n], FirstRows("all sequences have the same length")(x, n))
    numpy.testing.assert_array_equal(f(VALUE, 4), VALUE)
    for count in (3, 5):
        with pytest.raises(ValueError, match="all sequences have the same length"):
            f(VALUE, count)


def test_enough_rows():
    y = EnoughRows(3)(x)
    f = phintys.function([x], [y, phintys.grad(y.sum(), x)])
    for result, wanted in zip(f(VALUE[:3]), (VALUE[:3], numpy.ones((3, 2)))):
        numpy.testing.assert_array_equal(result, wanted)
    with pytest.raises(ValueError, match="x"):
        f(VALUE[:2])


def test_the_number_of_steps():
    f = phintys.function([n], StepCount("walk")(n))
    assert f(0) == 0 and f(3) == 3
    with pytest.raises(IndexError, match="walk"):
        f(-1)
    with pytest.raises(IndexError, match="walk"):                  # by the call: it is not folded
        phintys.function([], StepCount("walk")(T.constant(numpy.int64(-1))))()
