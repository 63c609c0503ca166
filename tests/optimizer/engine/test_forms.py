"""Products, sums and linear forms as rewrites read them from graphs."""
import pytest

import phintys.tensor as T
from phintys.optimizer.engine.forms import linear_form, product_of, sum_of

x, y, v = T.dmatrix("x"), T.dmatrix("y"), T.dscalar("v")


def once(variable):
    return 1


@pytest.mark.parametrize("product, coefficient, powers", [
    (-x * y, -1, {x: 1, y: 1}), (T.sqr(-x) * y, 1, {x: 2, y: 1}), ((-x) ** 3 * y, -1, {x: 3, y: 1}),
    (2 * x / (4 * y), 0.5, {x: 1, y: -1}), (y / T.sqr(-x), 1, {y: 1, x: -2}), (x * T.inv(-y), -1, {x: 1, y: -1}),
    (T.sqr(T.constant([[3.0]])) * x, 9, {x: 1}), (y / T.sqr(T.constant([[2.0]])), 0.25, {y: 1}),
    (T.pow(x, 1) * T.pow(y, -1), 1, {x: 1, y: -1}), (T.pow(x, 0.5) * x, 1, None),
    (T.pow(x, 1.5) * x, 1, None), (T.pow(x, 2000) * x, 1, None)])
def test_products(product, coefficient, powers):
    found = product_of(product, once)
    assert found.coefficient == coefficient
    assert found.powers == powers if powers else len(found.powers) == 2


def test_sums():
    found = sum_of(x - (y - 3 + -x) + 1, once)
    assert (found.constant, found.terms, found.constants) == (4, [(1, x), (-1, y), (1, x)], 2)
    assert len(found.leaves) == 5 and {x, y} < set(found.leaves)


def test_signs_of_integers_pass_where_they_wrap_around():
    small, other, large = T.bmatrix(), T.bmatrix(), T.lmatrix()
    assert sum_of(small - -other, once).terms == [(1, small), (1, other)]
    unsigned = -T.matrix(dtype="uint8")
    assert sum_of(small - unsigned, once).terms == [(1, small), (-1, unsigned)]
    found = sum_of(large - -other, once)
    assert [sign for sign, _ in found.terms] == [1, -1] and found.terms[0][1] is large


@pytest.mark.parametrize("formula, form", [
    (2 * x - 3 * y + 1, {x: 2, y: -3, None: 1}), (-(x + 3), {x: -1, None: -3}), (x * 2 - (x + y) * 2, {y: -2}),
    (-2 * (0.5 - y * 4), {y: 8, None: -1})])
def test_linear_forms(formula, form):
    assert linear_form(formula) == form


def test_a_linear_form_keeps_products_that_have_more_dimensions_than_their_factor():
    product = T.constant([[2.0, 2.0]]) * v.dimshuffle("x", "x")
    assert linear_form(product) == {product: 1}
