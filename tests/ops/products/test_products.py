"""Products of any rank: values against NumPy for every dtype and layout, derivatives, shapes, errors."""
import numpy
import pytest
from family_cases import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    check_equal,
    check_gradient,
    check_shape,
    check_values,
    values,
    variable_for,
)

import phintys
import phintys.tensor as T
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.products import (
    batched_dot,
    batched_tensordot,
    dot,
    kron,
    kron_of_any_ranks,
    matmul,
    outer,
    tensordot,
)


def batched_reference(x, y):
    return numpy.stack([numpy.dot(a, b) for a, b in zip(x, y)])


# name → (build, NumPy's, shapes)
CASES = {
    "dot 3 2": (dot, numpy.dot, [(2, 3, 4), (4, 5)]),
    "dot 2 3": (dot, numpy.dot, [(2, 4), (3, 4, 5)]),
    "dot 3 1": (dot, numpy.dot, [(2, 3, 4), (4,)]),
    "dot 1 3": (dot, numpy.dot, [(4,), (3, 4, 5)]),
    "dot 4 3": (dot, numpy.dot, [(2, 3, 2, 4), (3, 4, 5)]),
    "dot 0 3": (dot, numpy.dot, [(), (3, 4, 5)]),
    "matmul 2 2": (matmul, numpy.matmul, [(3, 4), (4, 5)]),
    "matmul 3 3": (matmul, numpy.matmul, [(2, 3, 4), (2, 4, 5)]),
    "matmul 3 2": (matmul, numpy.matmul, [(2, 3, 4), (4, 5)]),
    "matmul 2 3": (matmul, numpy.matmul, [(3, 4), (2, 4, 5)]),
    "matmul 1 3": (matmul, numpy.matmul, [(4,), (2, 4, 5)]),
    "matmul 3 1": (matmul, numpy.matmul, [(2, 3, 4), (4,)]),
    "matmul 4 4": (matmul, numpy.matmul, [(2, 3, 2, 4), (2, 3, 4, 5)]),
    "matmul 4 3": (lambda a, b: matmul(a, b.dimshuffle("x", 0, 1, 2)), numpy.matmul, [(2, 3, 2, 4), (3, 4, 5)]),
    "matmul repeats both": (lambda a, b: matmul(a.dimshuffle(0, "x", 1, 2), b.dimshuffle("x", 0, 1, 2)),
                            lambda a, b: numpy.matmul(a[:, None], b[None]), [(2, 3, 4), (3, 4, 5)]),
    "batched 3 3": (batched_dot, batched_reference, [(3, 2, 4), (3, 4, 5)]),
    "batched 2 3": (batched_dot, batched_reference, [(3, 4), (3, 4, 5)]),
    "batched 3 2": (batched_dot, batched_reference, [(3, 2, 4), (3, 4)]),
    "batched 2 2": (batched_dot, batched_reference, [(3, 4), (3, 4)]),
    "batched 1 3": (batched_dot, lambda x, y: x[:, None, None] * y, [(3,), (3, 4, 5)]),
    "batched 3 1": (batched_dot, lambda x, y: x * y[:, None, None], [(3, 4, 5), (3,)]),
    "batched 4 3": (batched_dot, batched_reference, [(3, 2, 6, 4), (3, 4, 5)]),
    "batched 3 4": (batched_dot, batched_reference, [(3, 2, 4), (3, 2, 4, 5)]),
    "tensordot 0": (lambda a, b: tensordot(a, b, 0), lambda a, b: numpy.tensordot(a, b, 0), [(2, 3), (4,)]),
    "tensordot 1": (lambda a, b: tensordot(a, b, 1), lambda a, b: numpy.tensordot(a, b, 1), [(2, 3, 4), (4, 5)]),
    "tensordot 2": (tensordot, numpy.tensordot, [(2, 3, 4), (3, 4, 5)]),
    "tensordot all": (tensordot, numpy.tensordot, [(3, 4), (3, 4)]),
    "tensordot pairs": (lambda a, b: tensordot(a, b, [[1, 2], [2, 0]]),
                        lambda a, b: numpy.tensordot(a, b, [[1, 2], [2, 0]]), [(2, 3, 4), (4, 5, 3)]),
    "tensordot negative": (lambda a, b: tensordot(a, b, (-1, 0)), lambda a, b: numpy.tensordot(a, b, (-1, 0)),
                           [(2, 3, 4), (4, 5)]),
    "batched tensordot": (lambda a, b: batched_tensordot(a, b, [[1, 3], [2, 1]]),
                          lambda a, b: numpy.einsum("biaj,bjic->bac", a, b), [(2, 3, 5, 4), (2, 4, 3, 6)]),
    "batched tensordot 2": (batched_tensordot, lambda a, b: numpy.einsum("baij,bij->ba", a, b),
                            [(2, 5, 3, 4), (2, 3, 4)]),
    "outer": (outer, numpy.outer, [(2, 3), (4,)]),
    "kron 2 2": (kron, numpy.kron, [(2, 3), (4, 2)]), "kron 1 1": (kron, numpy.kron, [(3,), (2,)]),
    "kron 0 0": (kron, numpy.kron, [(), ()]), "kron 0 1": (kron, numpy.kron, [(), (3,)]),
    "kron 2 0": (kron, numpy.kron, [(2, 3), ()]),
    **{f"kron as NumPy {left} {right}": (kron_of_any_ranks, numpy.kron, [(2, 3, 4)[3 - left:], (3, 2, 2)[3 - right:]])
       for left in range(4) for right in range(4)},
    "kron 1 2": (kron, lambda a, b: numpy.einsum("i,jk->jik", a, b).reshape(-1), [(3,), (2, 4)]),
}


def arrays_for(name, dtype="float64", layout="contiguous"):
    return [LAYOUTS[layout](values(shape, dtype, seed)) for seed, shape in enumerate(CASES[name][2])]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_value(name, layout):
    build, expected, _ = CASES[name]
    check_values(build, expected, arrays_for(name, layout=layout))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS[:2] + COMPLEX)
@pytest.mark.parametrize("name", ["dot 3 2", "matmul 3 3", "batched 2 3", "tensordot 2"])
def test_dtypes(name, dtype):
    build, expected, _ = CASES[name]
    check_values(build, expected, arrays_for(name, dtype), modes=["FAST_RUN"])


def test_mixed_dtypes_have_the_common_one():
    x, y = values((2, 3, 4), "float32"), values((2, 4, 5), "int64")
    check_values(batched_dot, numpy.matmul, [x, y], dtype="float64")


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    check_gradient(CASES[name][0], arrays_for(name))


@pytest.mark.parametrize("name", CASES)
def test_r_operator(name):
    """Bilinear: the derivative is the sum of two products."""
    build, expected, shapes = CASES[name]
    (x, y), (dx, dy) = arrays_for(name), [values(shape, seed=seed + 5) for seed, shape in enumerate(shapes)]
    inputs = [variable_for(array) for array in (x, y, dx, dy)]
    derivative = phintys.function(inputs, T.Rop(build(*inputs[:2]), inputs[:2], inputs[2:]), on_unused_input="ignore")
    check_equal(derivative(x, y, dx, dy), expected(dx, y) + expected(x, dy))


SIZES = [(0, 2, 3, 4), (3, 0, 2, 4), (3, 2, 0, 4), (3, 2, 4, 0), (1, 1, 1, 1), (2, 40, 30, 50), (500, 6, 7, 8)]


@pytest.mark.parametrize("count, m, k, n", SIZES)
def test_batched_sizes(count, m, k, n):
    """No items, one element, items large enough for BLAS, enough items for workers."""
    x, y = values((count, m, k)), values((count, k, n), seed=1)
    check_values(batched_dot, numpy.matmul, [x, y], modes=["FAST_RUN"])
    transposed = numpy.ascontiguousarray(y.transpose(2, 1, 0)).transpose(2, 1, 0)
    check_values(batched_dot, numpy.matmul, [x[:, ::-1], transposed], modes=["FAST_RUN"])


@pytest.mark.parametrize("which", [0, 1])
def test_one_item_for_all(which):
    arrays = [values((3, 2, 4)), values((3, 4, 5), seed=1)]
    arrays[which] = arrays[which][:1]
    inputs = [variable_for(array, (array.shape[0] == 1, False, False)) for array in arrays]
    output = BatchedDot()(*inputs)
    assert output.broadcastable == (False, False, False)
    function = phintys.function(inputs, [output, *T.grad(output.sum(), inputs)])
    product, *slopes = function(*arrays)
    check_equal(product, numpy.matmul(*arrays))
    assert [slope.shape for slope in slopes] == [array.shape for array in arrays]
    ones = numpy.ones((3, 2, 5))
    check_equal(slopes[0], numpy.matmul(ones, arrays[1].transpose(0, 2, 1)).sum(0, keepdims=True) if which == 0
                else numpy.matmul(ones, arrays[1].transpose(0, 2, 1)))


def test_operator_is_matmul():
    x, y = values((2, 3, 4)), values((2, 4, 5))
    check_values(lambda x, y: x @ y, numpy.matmul, [x, y])
    check_values(numpy.matmul, numpy.matmul, [x, y])


def test_shapes_are_inferred_and_known_ones_kept():
    for name in CASES:
        check_shape(CASES[name][0], arrays_for(name))
    x = T.TensorType("float64", (False, True, False))()
    assert batched_dot(x, T.tensor3()).broadcastable == (False, True, False)
    assert tensordot(x, T.matrix(), 1).broadcastable == (False, True, False)


WRONG_AXES = [(3, "larger than the dimension of b"), ([[0, 1], [0]], "same length"),
              ([[0], [5]], "contains dimension 5"), ([[0]], "list/tuple of len 2"),
              ([[0, 0], [0, 1]], "names a dimension twice")]


@pytest.mark.parametrize("axes, message", WRONG_AXES)
def test_wrong_axes(axes, message):
    with pytest.raises(ValueError, match=message):
        tensordot(T.tensor3(), T.dmatrix(), axes)


def test_refusals_while_building():
    for axes in (2, [[0, 1], [0, 1]]):
        with pytest.raises(ValueError, match="batch axis"):
            batched_tensordot(T.dmatrix(), T.dmatrix(), axes)
    with pytest.raises(TypeError, match="a must have at least one"):
        batched_dot(T.dscalar(), T.dmatrix())
    with pytest.raises(TypeError, match="ndim of 2 or 3, 1 given"):
        BatchedDot()(T.dvector(), T.dmatrix())
    with pytest.raises(ValueError, match="at least one dimension"):
        matmul(T.dscalar(), T.dmatrix())


WRONG_SHAPES = [(batched_dot, (3, 2, 4), (2, 4, 5), "batch sizes unequal"),
                (batched_dot, (3, 2, 4), (3, 5, 4), "summation axis sizes unequal"),
                (lambda a, b: tensordot(a, b, 1), (3, 2, 4), (3, 5, 4), "not aligned")]


@pytest.mark.parametrize("build, left, right, message", WRONG_SHAPES)
def test_wrong_shapes(build, left, right, message):
    x, y = values(left), values(right)
    inputs = [variable_for(array) for array in (x, y)]
    with pytest.raises(ValueError, match=message):
        phintys.function(inputs, build(*inputs))(x, y)
