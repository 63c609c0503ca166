"""map_variables: replacing variables, inside loops and ops from graphs, too."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.scan_module.scan_utils import map_variables


def replacement(variable):
    return getattr(variable.tag, "replacement", variable)


def test_leaves_and_results_are_replaced():
    a, b, c = T.scalars("abc")
    product = a + b
    product.tag.replacement = a * b
    mapped, = map_variables(replacement, [product + c])
    assert phintys.function([a, b, c], mapped)(2, 3, 4) == 10


def test_a_whole_of_a_loop_is_replaced():
    x, y, z = T.vector("x"), T.scalar("y"), T.scalar("z")
    y.tag.replacement = z
    rows, _ = phintys.scan(lambda x: x * y, sequences=x)
    mapped, = map_variables(replacement, [rows])
    found = phintys.function([x, y, z], [rows, mapped])([1, 2, 3], 1, 2)
    numpy.testing.assert_array_equal(found, [[1, 2, 3], [2, 4, 6]])


def test_a_replacement_in_a_body_may_read_new_variables():
    x, outer, shared = T.vector("x"), T.scalar("outer"), phintys.shared(1.)
    z = outer * (shared + T.constant(1))

    def step(x, a):
        result = a + x
        result.tag.replacement = z * (a - x)
        return result

    rows, _ = phintys.scan(step, sequences=x, outputs_info=[numpy.array(0.)])
    mapped, = map_variables(replacement, [z * rows])
    found = phintys.function([x, outer], mapped)([1, 2, 3], .5)
    numpy.testing.assert_array_equal(found, [-1, -3, -6])


@pytest.mark.parametrize("reads_already", [False, True])
def test_a_shared_variable_with_an_update_is_refused(reads_already):
    counter = phintys.shared(0.)
    counter.update = counter + 1             # as Theano's older programs write it
    passive = counter * 1

    def step(x, a):
        result = a + x
        result.tag.replacement = counter * (a - x)
        return result + passive if reads_already else result

    rows, _ = phintys.scan(step, sequences=T.vector(), outputs_info=[numpy.array(0.)])
    with pytest.raises(NotImplementedError, match="introduces shared variable"):
        map_variables(replacement, [rows])
