"""Derivatives with complex numbers: the R-operator against finite differences, the gradient against the R-operator.

A gradient g by a complex z is dcost/dz.real + 1j * dcost/dz.imag, so a direction p moves the cost by real(conj(g) p).
"""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.types.tensor_type import TensorType

RANDOM = numpy.random.default_rng(7)


def real(*shape):
    return RANDOM.uniform(0.5, 1.2, shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


Z, W, X, M, V = complex_(2, 3), complex_(2, 3), real(2, 3), complex_(3, 2), complex_(3)
UNARY = """exp exp2 log log2 log10 log1p expm1 sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh erf gamma
    sqr sqrt inv neg abs_ real imag angle conj tensor_copy""".split()
CHOICES = numpy.array([[0, 1, 0], [1, 0, 1]])

# name: how to build it, operands
CASES = {
    **{name: (getattr(T, name), [Z]) for name in UNARY},
    "add": (T.add, [Z, X]), "sub": (T.sub, [X, Z]), "mul": (T.mul, [Z, W]), "mul by real": (T.mul, [Z, X]),
    "mul of four": (lambda z, w: T.mul(z, w, z, w), [Z, W]), "sum of four": (lambda z, x: T.add(z, x, x, z), [Z, X]),
    "true_div": (T.true_div, [Z, W]), "true_div of real": (T.true_div, [X, W]), "pow": (T.pow, [Z, W]),
    "pow of real": (T.pow, [X, W]), "square": (lambda z: z ** 2, [Z]), "cube": (lambda z: z ** 3, [Z]),
    "broadcast": (T.mul, [Z, V]), "second": (T.second, [X, Z]), "complex": (T.complex, [X, X + 1]),
    "complex_from_polar": (T.complex_from_polar, [X, X + 1]), "cast": (lambda x: T.cast(x, "complex128"), [X]),
    "switch": (lambda z, w: T.switch(T.gt(T.real(z), 0.8), z, w), [Z, W]),
    "modulus by parts": (lambda z: T.sqr(T.real(z)) + T.sqr(T.imag(z)), [Z]), "norm": (lambda z: z.norm(2), [Z]),
    "sum": (lambda z: z.sum(0), [Z]), "mean": (lambda z: z.mean(1), [Z]), "prod": (lambda z: z.prod(1), [Z]),
    "prod without zeros": (lambda z: T.prod(z, axis=1, no_zeros_in_input=True), [Z]),
    "sum of reals": (lambda x: T.sum(x, axis=0, dtype="complex128"), [X]),
    "prod of reals": (lambda x: T.prod(x, axis=0, dtype="complex128"), [X]),
    "cumsum": (lambda z: T.cumsum(z, 1), [Z]), "cumprod": (lambda z: T.cumprod(z, 1), [Z]), "diff": (T.diff, [Z]),
    "dot": (T.dot, [Z, M]), "dot with real": (T.dot, [X, M]), "outer": (T.outer, [V, V + 1]),
    "batched_dot": (T.batched_dot, [complex_(2, 2, 3), complex_(2, 3, 2)]),
    "element": (lambda z: z[0], [Z]), "rows": (lambda z: z[[0, 1, 1]], [Z]),
    "set_subtensor": (lambda z, v: T.set_subtensor(z[0], v), [Z, V]),
    "inc_subtensor": (lambda z, w: T.inc_subtensor(z[[0, 0]], w), [Z, W]),
    "join": (lambda z, w: T.join(0, z, w), [Z, X]), "stack": (lambda v: T.stack([v[0], v[1] * 2]), [V]),
    "repeat": (lambda z: T.repeat(z, 2, 0), [Z]), "fill_diagonal": (lambda z, v: T.fill_diagonal(z, v[0]), [Z, V]),
    "choose": (lambda z, w: T.choose(CHOICES, [z, w]), [Z, W]),
    "a layer": (lambda z, m: T.tanh(T.dot(T.exp(z * 1j), m)), [Z, M]),
}


def variables(arrays):
    return [TensorType(array.dtype.name, (False,) * array.ndim)() for array in arrays]


@pytest.mark.parametrize("name", CASES)
def test_directions_and_gradients(name):
    build, arrays = CASES[name]
    points = [complex_(*array.shape) if numpy.iscomplexobj(array) else real(*array.shape) for array in arrays]
    inputs, directions = variables(arrays), variables(points)
    output = build(*inputs)
    value = phintys.function(inputs, output)
    step = 1e-6
    moved = [value(*[array + sign * step * point for array, point in zip(arrays, points)]) for sign in (1, -1)]
    slope = (moved[0] - moved[1]) / (2 * step)
    along = phintys.Rop(output, inputs, directions)
    assert along.type.dtype == output.type.dtype
    got = phintys.function(inputs + directions, along, on_unused_input="ignore")(*arrays, *points)
    numpy.testing.assert_allclose(got, slope, rtol=1e-6, atol=1e-7)
    weight_value = complex_(*got.shape) if numpy.iscomplexobj(got) else real(*got.shape)
    weight, = variables([weight_value])
    gradients = phintys.Lop(output, inputs, weight, disconnected_inputs="ignore")
    assert [gradient.dtype for gradient in gradients] == [array.dtype.name for array in arrays]
    found = phintys.function([*inputs, weight], gradients, on_unused_input="ignore")(*arrays, weight_value)
    inner = sum([(numpy.conj(gradient) * point).real.sum() for gradient, point in zip(found, points)])
    numpy.testing.assert_allclose(inner, (numpy.conj(weight_value) * got).real.sum(), rtol=1e-9)


def test_second_derivatives():
    """The gradient of a product's squared modulus, differentiated once more."""
    z, p = variables([V, V])
    gradient = phintys.grad(T.sqr(T.abs_(z.prod())), z)
    got = phintys.function([z, p], phintys.Rop(gradient, z, p))
    value, step, point = phintys.function([z], gradient), 1e-6, complex_(3)
    slope = (value(V + step * point) - value(V - step * point)) / (2 * step)
    numpy.testing.assert_allclose(got(V, point), slope, rtol=1e-6)


def test_ops_without_complex_formula_are_refused():
    z, = variables([V])
    for function in (T.arccosh, T.psi):                 # branch cuts, and a derivative that SciPy has for reals only
        with pytest.raises(NotImplementedError, match="complex operands"):
            phintys.Rop(function(z), z, z)
        with pytest.raises(NotImplementedError, match="complex operands"):
            phintys.Lop(function(z), z, z)
