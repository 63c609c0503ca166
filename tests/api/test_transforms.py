"""Functions of functions: values and derivatives as JAX's, and mistakes."""
import numpy
import pytest

import phintys
import phintys.tensor as T

A, B = numpy.array([1.0, 2.0, -0.5]), numpy.array([0.5, -1.0, 2.0])


def test_values_and_gradients():
    x, y = T.dvector("x"), T.dvector("y")
    f = phintys.function([x, y], [phintys.value_and_grad(lambda a, b: (a ** 2 * b).sum())(x, y)[1],
                                  *phintys.value_and_grad(lambda a, b: (a ** 2 * b).sum(), (1, 0))(x, y)[1]])
    for got, wanted in zip(f(A, B), (2 * A * B, A ** 2, 2 * A * B)):
        numpy.testing.assert_allclose(got, wanted)
    (value, more), slope = phintys.value_and_grad(lambda a: ((a ** 2).sum(), a * 3), has_aux=True)(x)
    assert [part.eval({x: A}).tolist() for part in (value, more, slope)] == [
        (A ** 2).sum().tolist(), (A * 3).tolist(), (A * 2).tolist()]


@pytest.mark.parametrize("kind", [list, tuple])
def test_products_with_the_jacobian_from_both_sides(kind):
    x, y = T.dvector("x"), T.dvector("y")

    def build(a, b):
        return kind([a * b, T.sin(a).sum()])

    value, back = phintys.vjp(build, x, y)
    assert type(value) is kind
    f = phintys.function([x, y], back(kind([T.as_tensor(B), T.as_tensor(2.0)])))
    numpy.testing.assert_allclose(f(A, B)[0], B * B + 2 * numpy.cos(A))
    numpy.testing.assert_allclose(f(A, B)[1], A * B)
    value, forward = phintys.jvp(build, (x, y), (B, A))
    assert type(forward) is type(value) is kind
    f = phintys.function([x, y], list(forward))
    numpy.testing.assert_allclose(f(A, B)[0], B * B + A * A)
    numpy.testing.assert_allclose(f(A, B)[1], (numpy.cos(A) * B).sum())


def test_what_does_not_depend_on_an_argument():
    x, y = T.dvector("x"), T.dvector("y")
    _, back = phintys.vjp(lambda a, b: a * 2, x, y)
    assert phintys.function([x, y], back(T.as_tensor(A))[1], on_unused_input="ignore")(A, B).tolist() == [0, 0, 0]
    _, forward = phintys.linearize(lambda a: T.as_tensor(A) * 2 + 0 * a, x)
    assert forward(B).eval({x: A}).tolist() == [0, 0, 0]


@pytest.mark.parametrize("call, error, message", [
    (lambda x: phintys.value_and_grad(lambda a: a)(x), TypeError, "must return a scalar"),
    (lambda x: phintys.jvp(T.exp, (x,), (x, x)), ValueError, "1 arguments, but 2 directions"),
    (lambda x: phintys.linearize(T.exp, x)[1](x, x), ValueError, "1 arguments, but 2 directions"),
])
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call(T.dvector("x"))
