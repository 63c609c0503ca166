"""tril and triu: every diagonal of every layout and dtype, in place and not; derivatives and errors."""
import numpy
import pytest
from family_cases import DTYPES, LAYOUTS, check_gradient, check_r_op, values

import phintys
import phintys.tensor as T
from phintys.ops.linalg.triangle import Triangle

BOTH = [(T.tril, numpy.tril), (T.triu, numpy.triu)]


@pytest.mark.parametrize("function, wanted", BOTH)
def test_every_diagonal(function, wanted):
    """Of tall, wide and empty matrices, and of stacks; outside of the triangle, NaN becomes zero, too."""
    stack, k = T.tensor3(dtype="float64"), T.lscalar()
    f = phintys.function([stack, k], function(stack, k))
    overwriting = phintys.function([phintys.In(stack, mutable=True), k], function(stack, k))
    for shape in ((1, 3, 5), (2, 5, 3), (2, 1, 1), (2, 0, 3), (3, 2, 0)):
        array = values(shape)
        array[array > 1.5] = numpy.nan
        for number in range(-6, 7):
            for layout in LAYOUTS.values():
                numpy.testing.assert_array_equal(f(layout(array), number), wanted(array, number))
            numpy.testing.assert_array_equal(overwriting(array.copy(), number), wanted(array, number))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function, wanted", BOTH)
def test_dtypes(function, wanted, dtype):
    array = values((4, 3), dtype)
    result = function(T.constant(array), 1).eval()
    assert result.dtype == dtype
    numpy.testing.assert_array_equal(result, wanted(array, 1))


@pytest.mark.parametrize("function", [T.tril, T.triu])
@pytest.mark.parametrize("k", [-1, 0, 2])
def test_derivatives(function, k):
    check_gradient(lambda x: function(x, k), [values((3, 4))])
    check_r_op(lambda x: function(x, k), [values((3, 4))])


def test_works_in_place_and_infers_its_shape():
    x = T.dmatrix("x")
    node, = [node for node in phintys.function([x], T.tril(T.exp(x))).maker.fgraph.toposort()
             if isinstance(node.op, Triangle)]
    assert node.op.inplace and node.op.destroy_map == {0: [0]}
    shape = phintys.function([x], T.triu(x).shape)
    assert not any(isinstance(node.op, Triangle) for node in shape.maker.fgraph.toposort())
    assert shape(numpy.zeros((2, 7))).tolist() == [2, 7]


def test_errors():
    with pytest.raises(ValueError, match="needs a matrix"):
        T.tril(T.dscalar())
    with pytest.raises(TypeError, match="integer"):
        T.triu(T.dmatrix(), T.dscalar())
