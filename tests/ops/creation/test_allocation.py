"""New arrays: alloc, zeros, ones, full, arange, eye, and empty arrays."""
import numpy
import pytest
from family_cases import DTYPES, LAYOUTS, check_equal, check_gradient, check_shape, check_values, values, variable_for

import phintys
import phintys.tensor as T
from phintys.ops.creation.allocation import (
    Alloc,
    AllocEmpty,
    ARange,
    alloc,
    arange,
    bartlett,
    empty,
    eye,
    full,
    full_like,
    identity_like,
    ones,
    tri,
    zeros,
)
from phintys.ops.types.tensor_type import TensorType

ROW = values((1, 3))

# name: how to build it, what NumPy does, operands
CASES = {
    "alloc scalar": (lambda x: alloc(x, 2, 3), lambda a: numpy.full((2, 3), a), [values(())]),
    "alloc vector": (lambda x: alloc(x, 4, 3), lambda a: numpy.broadcast_to(a, (4, 3)), [values(3)]),
    "alloc length 1": (lambda x: alloc(x, 2, 5, 3), lambda a: numpy.broadcast_to(a, (2, 5, 3)), [ROW]),
    "alloc like": (lambda x, y: alloc(x, y.shape[0], 3), lambda a, b: numpy.full((5, 3), a),
                   [values(()), values((5, 2))]),
    "alloc to 1": (lambda x: alloc(x, 1, 3), lambda a: a[None], [values(3)]),
    "alloc nothing": (lambda x: alloc(x, 0, 3), lambda a: numpy.zeros((0, 3)), [values(3)]),
    "alloc 0-d": (alloc, numpy.array, [values(())]),
    "zeros": (lambda x: zeros((x.shape[1], 2)), lambda a: numpy.zeros((3, 2)), [ROW]),
    "zeros of a shape": (lambda x: zeros(x.shape), numpy.zeros_like, [ROW]),
    "ones": (lambda x: ones(x.shape[1], "int8"), lambda a: numpy.ones(3, "int8"), [ROW]),
    "full": (lambda x: full((2, x.shape[1]), x[0, 1]), lambda a: numpy.full((2, 3), a[0, 1]), [ROW]),
    "full_like": (lambda x: full_like(x, 7), lambda a: numpy.full_like(a, 7), [ROW]),
    "arange n": (lambda x: arange(x.shape[1]), lambda a: numpy.arange(3), [ROW]),
    "arange down": (lambda x: arange(x.shape[1], -4, -2), lambda a: numpy.arange(3, -4, -2), [ROW]),
    "arange nothing": (lambda x: arange(x.shape[1], 2), lambda a: numpy.arange(3, 2), [ROW]),
    "eye": (lambda x: eye(x.shape[1]), lambda a: numpy.eye(3), [ROW]),
    "eye above": (lambda x: eye(3, 5, 1, dtype="complex64"), lambda a: numpy.eye(3, 5, 1, dtype="complex64"), [ROW]),
    "eye below": (lambda x: eye(5, 3, -2, dtype="int16"), lambda a: numpy.eye(5, 3, -2, dtype="int16"), [ROW]),
    "eye far away": (lambda x: eye(2, 2, 7), lambda a: numpy.eye(2, 2, 7), [ROW]),
    "identity_like": (identity_like, lambda a: numpy.eye(1, 3), [ROW]),
    "tri": (lambda x: tri(x.shape[1]), lambda a: numpy.tri(3), [ROW]),
    "tri above": (lambda x: tri(3, 5, 1, dtype="complex64"), lambda a: numpy.tri(3, 5, 1, dtype="complex64"), [ROW]),
    "tri below": (lambda x: tri(5, 3, -2, dtype="int16"), lambda a: numpy.tri(5, 3, -2, dtype="int16"), [ROW]),
    "tri everywhere": (lambda x: tri(2, 2, 7), lambda a: numpy.tri(2, 2, 7), [ROW]),
    "tri nowhere": (lambda x: tri(2, 3, -7), lambda a: numpy.tri(2, 3, -7), [ROW]),
    "bartlett": (lambda x: bartlett(x.shape[1] + 2), lambda a: numpy.bartlett(5), [ROW]),
    "bartlett even": (lambda x: bartlett(x.shape[1] + 3), lambda a: numpy.bartlett(6), [ROW]),
    "bartlett one": (lambda x: bartlett(x.shape[0]), lambda a: numpy.bartlett(1), [ROW]),
    "bartlett nothing": (lambda x: bartlett(x.shape[1] - 4), lambda a: numpy.zeros(0), [ROW]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_inferred_shapes(name):
    build, expected, arrays = CASES[name]
    for layout in LAYOUTS.values():
        check_values(build, expected, [layout(array) for array in arrays])


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("alloc")])
def test_gradients(name):
    build, _, arrays = CASES[name]
    check_gradient(lambda *inputs: build(*inputs) * 2, arrays)


def test_gradient_of_a_repeated_row():
    x = TensorType("float64", (True, False))()
    gradient = phintys.grad((alloc(x, 4, 3) ** 2).sum(), x)
    assert gradient.type == x.type
    check_equal(phintys.function([x], gradient)(ROW), 8 * ROW)


@pytest.mark.parametrize("dtype", DTYPES)
def test_alloc_of_every_dtype(dtype):
    check_values(lambda x: alloc(x, 3, 4), lambda a: numpy.broadcast_to(a, (3, 4)), [values(4, dtype)])


ARANGE_DTYPES = [("int8", "int64"), ("uint8", "uint64"), ("int64", "int64"), ("float32", "float32"),
                 ("float16", "float16"), ("float64", "float64")]


@pytest.mark.parametrize("dtype, result", ARANGE_DTYPES)
def test_arange_of_every_dtype(dtype, result):
    numbers = [numpy.array(number, dtype) for number in (2, 17, 3)]
    check_values(arange, lambda *limits: numpy.arange(2, 17, 3).astype(result), numbers)


def test_arange_rounds_as_numpy():
    numbers = [numpy.array(number) for number in (0.1, 2.3, 0.1)]
    check_values(arange, numpy.arange, numbers)
    numbers = [numpy.array(number, "float32") for number in (0.1, 2.3, 0.1)]
    check_values(arange, lambda *limits: numpy.arange(*limits, dtype="float32"), numbers)
    for dtype in ("int8", "uint16", "int32"):
        check_values(lambda x: arange(x, dtype=dtype), lambda a: numpy.arange(a, dtype=dtype), [numpy.array(20)])


def test_lengths_of_ranges_compute_nothing():
    limits = [TensorType(dtype, ())() for dtype in ("float32", "float64", "float16")]
    function = phintys.function(limits, arange(*limits).shape)
    assert ARange not in {type(node.op) for node in function.maker.fgraph.apply_nodes}
    for numbers in ((0.1, 2.3, 0.1), (2, -1, -0.7), (1, 1, 1), (0, -3, 1)):
        numbers = [numpy.array(number, limit.type.dtype) for number, limit in zip(numbers, limits)]
        assert function(*numbers) == len(numpy.arange(*[number.item() for number in numbers]))
    assert arange(3).owner.op is arange(4, dtype="int64").owner.op is not arange(3.0).owner.op


def test_gradient_of_arange():
    check_gradient(lambda start, step: arange(start, start + 10 * step, step)[:8], [values(()), numpy.array(0.7)])


def test_empty_has_the_shape():
    check_shape(lambda x: empty((x.shape[1], 2), "float32"), [ROW])
    x = variable_for(ROW)
    assert phintys.function([x], empty(x.shape, "int8"))(ROW).dtype == "int8"


def test_known_lengths_become_broadcastable():
    x = TensorType("float64", ())()
    assert alloc(x, 1, 3).type.broadcastable == (True, False)
    assert alloc(x, 1, 3).type.shape == (1, 3)
    assert Alloc() == Alloc()
    assert AllocEmpty("int8") == AllocEmpty("int8") != AllocEmpty("int16")


def test_bad_graphs():
    vector = variable_for(values(3))
    for build in (lambda: alloc(vector), lambda: alloc(vector, 2.5), lambda: alloc(vector, vector[0]),
                  lambda: ARange("int64")(vector, 1, 1), lambda: bartlett(2.5), lambda: bartlett([3]),
                  lambda: zeros(TensorType("int64", (False,))())):
        with pytest.raises((TypeError, ValueError)):
            build()


def test_bartlett_is_of_float64_whatever_floatx_is():
    with phintys.config.change_flags(floatX="float32"):
        for letter in "bil":
            number = T.scalar(dtype=numpy.dtype(letter).name)
            result = phintys.function([number], bartlett(number))(5)
            assert result.dtype == bartlett(number).type.dtype == "float64"
            numpy.testing.assert_array_equal(result, numpy.bartlett(5))


def test_bad_runs():
    x, n = variable_for(values(3)), TensorType("int64", ())()
    function = phintys.function([x, n], alloc(x, 2, n))
    with pytest.raises(ValueError, match=r"\(3,\) into \(2, 4\)"):
        function(values(3), 4)
    check_equal(function(values(3), 3), numpy.broadcast_to(values(3), (2, 3)))
    with pytest.raises(ValueError, match="negative"):
        phintys.function([n], zeros(n))(-1)
    with pytest.raises(MemoryError):
        phintys.function([n], zeros((n, n)))(2 ** 40)
    with pytest.raises(ZeroDivisionError):
        phintys.function([n], arange(0, 5, n))(0)


# ---- None at run time ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make, reference", [(eye, numpy.eye), (tri, numpy.tri)])
@pytest.mark.parametrize("letter", "bwil")
def test_none_for_the_columns_means_as_many_as_rows(make, reference, letter):
    n, m, k = [getattr(T, letter + "scalar")(name) for name in "nmk"]
    f = phintys.function([n, m, k], make(n, m, k))
    for arguments in ((3, None, 0), (4, 2, 1), (3, None, -1), (0, None, 0)):
        numpy.testing.assert_array_equal(f(*arguments), reference(*arguments))
    with pytest.raises(ValueError, match="negative"):
        f(3, -1, 0)
    for wrong in ((None, 3, 0), (3, 3, None)):
        with pytest.raises(TypeError, match="name|None"):
            f(*wrong)


def test_none_is_refused_where_something_else_reads_the_argument():
    n, m = T.iscalars("n", "m")
    for outputs in ([eye(n, m), m], eye(n, m) + m, eye(n, m).shape, eye(m, n), eye(n, m * 1 + 1)):
        with pytest.raises(TypeError, match="index 1"):
            phintys.function([n, m], outputs)(3, None)
