"""Cumulative sums and products, differences, linear recurrences."""
import numpy
import pytest
from family_cases import (
    DTYPES,
    FLOATS,
    LAYOUTS,
    MODES,
    check_equal,
    check_gradient,
    check_r_op,
    check_values,
    values,
    variable_for,
    zero_strides,
)

import phintys
from phintys.ops.cumulative.cumulative import CumOp, cumprod, cumsum, diff, product_before
from phintys.ops.cumulative.product import product_of_others
from phintys.ops.loops.linear_recurrence import linear_recurrence
from phintys.ops.loops.loop import Scan
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.loops.loop_kernel import loops_in

SHAPE = (3, 4, 5)
FUNCTIONS = {"cumsum": (cumsum, numpy.cumsum), "cumprod": (cumprod, numpy.cumprod)}
DIFFERENCES = [(1, -1), (1, 0), (2, 1), (0, 0), (3, -2), (4, 1), (5, 1), (9, 0)]


def over(name, axis):
    symbolic, numeric = FUNCTIONS[name]
    return (lambda x: symbolic(x, axis=axis)), (lambda a: numeric(a, axis=axis, dtype=a.dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_over_every_axis(name):
    for axis in (None, 0, 1, 2, -1, -3):
        for layout in LAYOUTS.values():
            check_values(*over(name, axis), [layout(values(SHAPE))], modes=MODES[:1])
        check_values(*over(name, axis), [zero_strides(SHAPE)], modes=MODES[1:])
    check_values(*over(name, None), [numpy.array(3.0)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_keep_the_dtype(name, dtype):
    for shape in ((6, 37), (37, 6)):                          # long and short rows take different ways
        for axis in (0, 1):
            check_values(*over(name, axis), [values(shape, dtype)], modes=MODES[:1])


@pytest.mark.parametrize("shape", [(1100000,), (550000, 2)])
def test_lines_of_more_elements_than_a_loop_takes_at_once(shape):
    """After some of them it is asked whether the call is to end; the sum goes on where it was."""
    check_values(*over("cumsum", 0), [numpy.ones(shape)], modes=MODES[:1])


def test_integers_wrap():
    array = numpy.full(5, 100, "int8")
    check_values(*over("cumsum", 0), [array])
    check_values(*over("cumprod", 0), [array])


def test_empty_arrays():
    for name in FUNCTIONS:
        for axis in (None, 0, 1):
            check_values(*over(name, axis), [values((0, 3))])
    check_values(diff, numpy.diff, [values((2, 0))], modes=MODES[:1])


@pytest.mark.parametrize("n, axis", DIFFERENCES)
def test_differences(n, axis):
    for layout in LAYOUTS.values():
        check_values(lambda x: diff(x, n, axis), lambda a: numpy.diff(a, n, axis), [layout(values(SHAPE))])
    if n < 5:
        check_gradient(lambda x: diff(x, n, axis), [values((6, 6, 7))])
    check_r_op(lambda x: diff(x, n, axis), [values(SHAPE)])


def test_gradients_of_differences_of_too_few():
    for shape in ((0,), (1,), (2,), (3,)):
        x = variable_for(values(shape))
        for known in (x, phintys.tensor.specify_shape(x, shape)):
            gradient = phintys.grad(diff(known, 2).sum(), x)
            check_equal(phintys.function([x], gradient)(values(shape)), numpy.array([1.0, -2, 1]) if shape == (3,)
                        else numpy.zeros(shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_differences_of_every_dtype(dtype):
    check_values(lambda x: diff(x, 2, 0), lambda a: numpy.diff(a, 2, 0), [values((5, 20), dtype)], modes=MODES[:1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    array = values((2, 3, 2))
    array[0, 1] = 0
    for axis in (None, 0, 1, -1):
        build = over(name, axis)[0]
        check_gradient(build, [array])
        check_r_op(build, [array])
        check_gradient(lambda x: phintys.grad((build(x) ** 2).sum(), x), [array])      # zeros, and again


def test_gradients_in_other_dtypes():
    for dtype in FLOATS:
        x = variable_for(values(3, dtype))
        gradient = phintys.grad(cumprod(x).sum(), x)
        assert gradient.type.dtype in (dtype, "float32")
        got = phintys.function([x], gradient)(numpy.array([2, 3, 4], dtype))
        numpy.testing.assert_allclose(got, [1 + 3 + 12, 2 + 8, 6])
    integers = variable_for(values(3, "int32"))
    gradient = phintys.grad(cumsum(integers).sum() * 1.0, integers)
    check_equal(phintys.function([integers], gradient, on_unused_input="ignore")([1, 2, 3]), numpy.zeros(3))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_linear_recurrences(own, backwards):
    def expected(factors, terms):
        factors, terms = [numpy.flip(part, 1) if backwards else part for part in (factors, terms)]
        result = terms.copy()
        for place in range(1, result.shape[1]):
            result[:, place] += factors[:, place if own else place - 1] * result[:, place - 1]
        return numpy.flip(result, 1) if backwards else result

    def build(factors, terms):
        return linear_recurrence(factors, terms, 1, backwards, own)

    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(values((3, 5, 2))), layout(values((3, 5, 2), seed=1))])
    for dtype in ("float32", "complex64", "complex128"):
        check_values(build, expected, [values((2, 4), dtype), values((2, 4), dtype, seed=1)], modes=MODES[:1])
    check_values(build, expected, [values((2, 0)), values((2, 0))])
    arrays = [values((2, 4)), values((2, 4), seed=1)]
    check_gradient(build, arrays)
    check_gradient(lambda a, b: phintys.grad((build(a, b) ** 2).sum(), a), arrays)
    check_r_op(build, arrays)


def test_products_without_one_element():
    array = values((2, 3, 4))
    array[0, 1, 2] = 0
    numeric = numpy.array([[[numpy.prod(numpy.delete(array[i].ravel(), 4 * j + k)) for k in range(4)] for j in range(3)]
                           for i in range(2)])
    check_values(lambda x: product_of_others(x, (1, 2)), lambda a: numeric, [array])
    check_values(lambda x: product_of_others(x, ()), numpy.ones_like, [array])
    check_values(lambda x: product_before(x, 1), lambda a: numpy.cumprod(
        numpy.concatenate([numpy.ones((2, 1, 4)), a[:, :-1]], 1), 1), [array])


def test_types():
    known = TensorType("float32", (True, False), shape=(1, 4))()
    assert cumsum(known).type.shape == (4,)
    assert cumsum(known, 1).type == known.type
    assert diff(known).type.shape == (1, 3)
    assert diff(known, 1, 0).type.broadcastable == (False, False)
    assert CumOp(1) == CumOp(1, "add") != CumOp(1, "mul")
    assert str(CumOp(1, "mul")) == "CumOp{1, mul}"


def test_shapes_compute_nothing():
    x = variable_for(values((2, 3)))
    function = phintys.function([x], [cumsum(x).shape, cumprod(x, 1).shape, diff(x, 2).shape])
    assert {output.type.dtype for node in function.maker.fgraph.apply_nodes for output in node.outputs} == {"int64"}
    for got, wanted in zip(function(values((2, 3))), ([6], [2, 3], [2, 1])):
        check_equal(got, numpy.array(wanted))


BAD_GRAPHS = {
    "mode": (lambda x: CumOp(0, "max"), ValueError),
    "axis": (lambda x: cumsum(x, 2), ValueError),
    "negative axis": (lambda x: cumprod(x, -3), ValueError),
    "difference axis": (lambda x: diff(x, 1, 2), ValueError),
    "negative times": (lambda x: diff(x, -1), ValueError),
}


@pytest.mark.parametrize("name", BAD_GRAPHS)
def test_bad_graphs(name):
    build, error = BAD_GRAPHS[name]
    with pytest.raises(error):
        build(variable_for(values((2, 3))))


def test_recurrences_are_loops_in_c():
    """Derivatives of any order of a cumulative product are loops that `scan` could have made; equal bodies are one."""
    x = variable_for(values((4, 3)))
    first = phintys.grad((cumprod(x, 0) ** 2).sum(), x)
    f = phintys.function([x], [first, phintys.grad((first ** 2).sum(), x)])
    found = [node.op for node in f.maker.fgraph.apply_nodes if isinstance(node.op, Scan)]
    assert len(found) > 2 and len({id(op._kernels) for op in found}) == 1
    assert {kernel.scalar_body.steps_are_done for kernel in loops_in(f.program)} == {"as a linear recurrence"}
