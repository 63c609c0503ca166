"""Every scalar op: value, dtype, shape and gradient, from its row.

The row's domain says from which interval operands are drawn, its loop which function of NumPy or SciPy computes the
same; ``FORMULAS`` has the others. Gradients are compared with finite differences.
"""
import numpy
import pytest
from elementwise_cases import DIFFERENTIABLE, FORMULAS, VARIADIC, count_of, drawn, formula, natural_dtype
from family_cases import DEBUG_MODE
from one_op import compute

import phintys
from phintys.graph.valueless_types import DisconnectedType, NullType
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_code import loop_signature
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.dtypes import ALL_DTYPES, complex_dtypes, continuous_dtypes, discrete_dtypes, float_dtypes
from phintys.ops.types.tensor_type import TensorType


def tensor(value):
    """A variable whose type includes ``value``."""
    return TensorType(value.dtype, [length == 1 for length in value.shape])()


def apply(name, values):
    """(value, node) of the op on arrays."""
    inputs = [tensor(value) for value in values]
    output = SCALAR_OPS[name](*inputs)
    value, = compute([output], inputs, values)
    return value, output.owner


def test_bits_of_dtypes_without_a_common_integer():
    with pytest.raises(TypeError, match="cast one operand first"):
        scalar.and_(TensorType("uint64", ())(), TensorType("int8", ())())


def expected(name, values, dtype):
    """What NumPy says, computed in the widest dtype of the kind, as ``dtype``."""
    function = formula(name)
    with numpy.errstate(all="ignore"):
        if name in VARIADIC:
            result = function(function(values[0], values[1]), values[2])
        else:
            result = function(*values)
        return numpy.asarray(result).astype(dtype)


def widened(values):
    """Operands in double precision where they are floats."""
    wide = {"float16": "float64", "float32": "float64", "complex64": "complex128"}
    return [value.astype(wide.get(value.dtype.name, value.dtype)) for value in values]


TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5}


def check(got, wanted, dtype=None):
    dtype = dtype or got.dtype.name
    assert got.shape == wanted.shape
    tolerance = TOLERANCE.get(dtype, 1e-12)
    if got.dtype.kind in "fc":
        numpy.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    else:
        numpy.testing.assert_array_equal(got, wanted)


CPUS = ["native", "avx2", "baseline"]


@pytest.fixture(params=CPUS)
def cpu(request):
    """The loops that processors with other instruction sets run."""
    with phintys.change_flags(cpu=request.param):
        yield request.param


def test_what_emits_several_loops_has_a_formula():
    """A row whose loop is a function of NumPy or SciPy needs none."""
    emitted = {name for name, row in SCALAR_OPS.items() if type(row.loop) is not str}
    assert emitted <= set(FORMULAS) <= set(SCALAR_OPS)


def test_numpys_logaddexp_is_the_op():
    x = TensorType("float64", (False,))()
    assert numpy.logaddexp(x, x).owner.op == scalar.logaddexp.elementwise


def test_float16_is_computed_in_float32_where_it_has_no_loop():
    assert loop_signature("scipy.special:erf", ("float16",)) == ("float32", "float32")
    assert loop_signature("scipy.special:erf", ("int32",)) == ("float64", "float64")


LAYOUTS = {
    "random": lambda v: v,
    "empty": lambda v: v[:0],
    "0-d": lambda v: v[1, 2].copy().reshape(()),
    "strided": lambda v: v[::2, ::3],
    "negative": lambda v: v[::-1, ::-2],
    "transposed": lambda v: v.T,
}


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_value_for_every_layout(name, cpu):
    for layout in LAYOUTS.values():
        values = [layout(value) for value in drawn(name, (6, 9), natural_dtype(name))]
        value, node = apply(name, values)
        assert value.dtype.name == node.outputs[0].type.dtype
        check(value, expected(name, values, value.dtype))


# Their references take 20 to 100 us an element.
SLOW = ("betainc_by", "hyp2f1_by", "zeta_by")


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_large(name):
    """Several blocks of elements."""
    values = drawn(name, (5000 if name.startswith(SLOW) else 50000,), natural_dtype(name))
    value, _ = apply(name, values)
    check(value, expected(name, values, value.dtype))


@pytest.mark.parametrize("name", [name for name in SCALAR_OPS if count_of(name) > 1])
def test_broadcast(name):
    values = drawn(name, (4, 5), natural_dtype(name))
    for cut in (lambda v: v[:1], lambda v: v[:, :1], lambda v: v[0], lambda v: v[0, 0].reshape(()),
                lambda v: v[:1, :1]):
        for position in range(len(values)):
            mixed = [cut(value) if index == position else value for index, value in enumerate(values)]
            value, node = apply(name, mixed)
            check(value, expected(name, [numpy.broadcast_to(v, (4, 5)) for v in mixed], value.dtype))
            lengths = [[f"{index}.{axis}" for axis in range(2)] for index in range(len(node.inputs))]
            inferred, = node.op.infer_shape(node, lengths)
            for axis, length in enumerate(inferred):
                index, same_axis = length.split(".")
                assert int(same_axis) == axis and not node.inputs[int(index)].type.broadcastable[axis]


@pytest.mark.parametrize("dtype, cpu", [(dtype, cpu) for dtype in ALL_DTYPES for cpu in CPUS
                                        if cpu == "native" or dtype in float_dtypes], indirect=["cpu"])
@pytest.mark.parametrize("name", SCALAR_OPS)
def test_every_dtype(name, dtype, cpu):
    """What the dtype rule accepts is computed; what it refuses is a TypeError when the node is made."""
    row = SCALAR_OPS[name]
    try:
        wanted_dtype, = row.output_dtypes((dtype,) * count_of(name))
    except TypeError as error:
        with pytest.raises(TypeError, match=row.name):
            row(*[TensorType(dtype, (False,))() for _ in range(count_of(name))])
        assert name.rstrip("_") in str(error)
        return
    values = drawn(name, (11,), dtype)
    if name == "pow" and dtype in discrete_dtypes:
        values[0] = numpy.minimum(values[0], 2).astype(dtype)
    value, node = apply(name, values)
    assert node.outputs[0].type.dtype == value.dtype.name == wanted_dtype
    operands = widened(values)
    if dtype in discrete_dtypes and wanted_dtype in continuous_dtypes:
        operands = [operand.astype(numpy.promote_types(wanted_dtype, "float64")) for operand in operands]
    if dtype == "bool" and wanted_dtype == "bool" and name in ("int_div", "mod", "sqr"):
        operands = [operand.astype("int8") for operand in operands]
    check(value, expected(name, operands, wanted_dtype), dtype if dtype in float_dtypes else None)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", DEBUG_MODE], ids=str)
@pytest.mark.parametrize("name", SCALAR_OPS)
def test_compiled(name, mode):
    """In a function, between other elementwise ops, with a gradient where there is one."""
    first, *others = drawn(name, (5, 3), natural_dtype(name))
    values = [first, *[value[:1] for value in others]]
    inputs = [tensor(value) for value in values]
    output = SCALAR_OPS[name](*inputs)
    around = scalar.add(output, output)
    outputs = [around]
    if name in DIFFERENTIABLE:
        smooth = [x for x, flags in zip(inputs, output.owner.op.connection_pattern(output.owner)) if flags[0]]
        gradients = phintys.grad(output.sum(), smooth, null_gradients="return")
        outputs += [gradient for gradient in gradients if not isinstance(gradient.type, NullType)]
    results = phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values)
    for got, wanted in zip(results, compute(outputs, inputs, values)):
        check(got, wanted)


# Theano's rules, for pairs of dtypes.
@pytest.mark.parametrize("name, dtypes, result", [
    ("add", ("int8", "int8"), "int8"), ("add", ("int8", "uint8"), "int16"), ("add", ("int64", "uint64"), "float64"),
    ("add", ("int32", "float32"), "float64"), ("add", ("int16", "float32"), "float32"),
    ("add", ("bool", "bool"), "bool"),
    ("mul", ("float32", "complex64"), "complex64"), ("mul", ("float64", "complex64"), "complex128"),
    ("true_div", ("int8", "int64"), "float64"), ("true_div", ("float32", "int8"), "float32"),
    ("int_div", ("int8", "int64"), "int64"), ("pow", ("bool", "bool"), "int8"), ("exp", ("int8",), "float32"),
    ("exp", ("int32",), "float64"), ("exp", ("uint16",), "float32"), ("exp", ("float16",), "float16"),
    ("arctan2", ("int8", "float64"), "float64"), ("chi2sf", ("float32", "float32"), "float64"),
    ("lt", ("int8", "float64"), "bool"), ("switch", ("int64", "int8", "float32"), "float32"),
    ("clip", ("int8", "int16", "int8"), "int16"), ("second", ("float64", "int8"), "int8"),
    ("abs_", ("complex64",), "float32"),
    ("real", ("complex128",), "float64"), ("angle", ("complex64",), "float64"),
    ("complex", ("float32", "float32"), "complex64"),
    ("complex", ("int32", "float32"), "complex128"), ("conj", ("bool",), "int8"), ("invert", ("bool",), "bool"),
    ("and_", ("int8", "uint16"), "int32"), ("round_half_to_even", ("float16",), "float16"),
])
def test_output_dtype(name, dtypes, result):
    assert SCALAR_OPS[name].output_dtypes(dtypes) == (result,)


@pytest.mark.parametrize("name, dtypes", [
    ("sub", ("bool", "bool")), ("neg", ("bool",)), ("sgn", ("complex64",)), ("and_", ("float64", "int8")),
    ("and_", ("bool", "int8")), ("invert", ("float32",)), ("ceil", ("complex64",)), ("clip", ("complex64",) * 3),
    ("complex", ("complex64", "float32")), ("round_half_to_even", ("int64",)), ("add", ()),
    ("exp", ("float64", "float64")),
])
def test_refused_dtypes(name, dtypes):
    with pytest.raises(TypeError, match=name):
        SCALAR_OPS[name](*[TensorType(dtype, (False,))() for dtype in dtypes])


@pytest.mark.parametrize("shapes", [[(3, 4)] * 3, [(3, 1), (3, 4), (1, 4)], [(3, 4), (1, 1), (3, 4)]],
                         ids=["same", "columns", "single"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name, shapes):
    """Each gradient, of a random weighted sum, against central differences."""
    values = [value[tuple(slice(length) for length in shape)]
              for value, shape in zip(drawn(name, (3, 4), "float64", seed=1), shapes * 2)]
    inputs = [tensor(value) for value in values]
    output = SCALAR_OPS[name](*inputs)
    weight_value = numpy.random.default_rng(2).uniform(0.5, 1.5, numpy.broadcast_shapes(*[v.shape for v in values]))
    weight = TensorType("float64", output.type.broadcastable)()
    pattern = output.owner.op.connection_pattern(output.owner)
    gradients = output.owner.op.L_op(inputs, [output], [weight])
    step = 1e-6
    for position, gradient in enumerate(gradients):
        if isinstance(gradient.type, NullType):
            continue
        if isinstance(gradient.type, DisconnectedType):
            assert pattern[position] == [False]
            continue
        got, = compute([gradient], [*inputs, weight], [*values, weight_value])
        assert got.shape == values[position].shape
        wanted = numpy.zeros_like(values[position])
        for index in numpy.ndindex(*wanted.shape):
            sums = []
            for sign in (1, -1):
                moved = [value.copy() for value in values]
                moved[position][index] += sign * step
                sums.append((expected(name, moved, "float64") * weight_value).sum())
            wanted[index] = (sums[0] - sums[1]) / (2 * step)
        numpy.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", sorted({*DIFFERENTIABLE, "convert_to_float32"} - {"chi2sf", "angle"}))
def test_gradient_keeps_float32(name):
    """No gradient formula widens float32."""
    inputs = [TensorType("float32", (False,))() for _ in range(count_of(name))]
    output = SCALAR_OPS[name](*inputs)
    gradients = output.owner.op.L_op(inputs, [output], [TensorType("float32", (False,))()])
    assert {g.type.dtype for g in gradients if isinstance(g.type, TensorType)} <= {"float32"}


@pytest.mark.parametrize("name", [name for name, row in SCALAR_OPS.items()
                                  if row.output_dtypes((natural_dtype(name),) * count_of(name))[0] in discrete_dtypes])
def test_discrete_outputs_have_zero_gradients(name):
    values = drawn(name, (3,), natural_dtype(name))
    inputs = [tensor(value) for value in values]
    output = SCALAR_OPS[name](*inputs)
    for gradient in output.owner.op.L_op(inputs, [output], [output]):
        assert gradient.type.dtype in float_dtypes
        value, = compute([gradient], inputs, values)
        numpy.testing.assert_array_equal(value, numpy.zeros(3))


@pytest.mark.parametrize("name", ["mul", "add", "sub", "neg", "conj", "abs_", "second", "real", "imag"])
def test_complex_gradient(name):
    """The gradient g of a real cost is dcost/dx.real + 1j * dcost/dx.imag."""
    values = drawn(name, (3,), "complex128")
    inputs = [tensor(value) for value in values]
    output = SCALAR_OPS[name](*inputs)
    weight_value = numpy.array([0.5, 1.5, -1.0]) * (1 + 0.5j if output.type.dtype in complex_dtypes else 1)
    weight = tensor(weight_value)
    step = 1e-6
    for position, gradient in enumerate(output.owner.op.L_op(inputs, [output], [weight])):
        if isinstance(gradient.type, DisconnectedType):
            continue
        got, = compute([gradient], [*inputs, weight], [*values, weight_value])
        wanted = numpy.zeros(3, complex)
        for index in range(3):
            for unit in (1, 1j):
                sums = []
                for sign in (1, -1):
                    moved = [value.copy() for value in values]
                    moved[position][index] += sign * step * unit
                    result = expected(name, moved, output.type.dtype)
                    sums.append((result.real * weight_value.real + result.imag * weight_value.imag).sum())
                wanted[index] += unit * (sums[0] - sums[1]) / (2 * step)
        numpy.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


def test_complex_gradient_without_formula_is_refused():
    x = TensorType("complex128", (False,))()
    output = scalar.arccosh(x)
    with pytest.raises(NotImplementedError, match="arccosh"):
        output.owner.op.L_op([x], [output], [output])


EDGES = [
    ("int_div", ([7, -7, 7], [0, 2, -2]), [0, -4, -4]), ("mod", ([7, -7, 7], [0, 2, -2]), [0, 1, -1]),
    ("pow", ([2, 1, -1, 0], [-1, -1, -1, -1]), [0, 1, -1, 0]),
    ("softplus", ([-1000.0, -40.0, 0.0, 40.0, 1000.0],), [0, numpy.exp(-40), numpy.log(2), 40, 1000]),
    ("log1mexp", ([-numpy.inf, -1000.0, -50.0, -1e-300, 0.0, 1.0],),
     [0, 0, -1.9287498479639178e-22, numpy.log(1e-300), -numpy.inf, numpy.nan]),
    ("log_erfc", ([-numpy.inf, -30.0, 1e-300, 30.0, 1e200, numpy.inf],),
     [numpy.log(2), numpy.log(2), -1.1283791670955126e-300, -903.9741171106439, -numpy.inf, -numpy.inf]),
    ("sigmoid", ([-1000.0, -40.0, 1000.0, numpy.inf, -numpy.inf],), [0, 1 / (1 + numpy.exp(40)), 1, 1, 0]),
    ("round_half_away_from_zero", ([0.5, -0.5, 1.5, -2.5, numpy.inf, 0.49999999999999994],),
     [1, -1, 2, -3, numpy.inf, 0]),
    ("round_half_to_even", ([0.5, 1.5, -2.5],), [0, 2, -2]),
    ("maximum", ([numpy.nan, 1.0], [1.0, numpy.nan]), [numpy.nan] * 2),
    ("clip", ([numpy.nan, 5.0], [0.0, 0.0], [1.0, 1.0]), [numpy.nan, 1.0]),
    ("isnan", ([numpy.nan, 1.0],), [True, False]),
    ("hypot", ([3e200, 5e-300, numpy.inf], [4e200, 12e-300, numpy.nan]), [5e200, 13e-300, numpy.inf]),
    ("isfinite", ([numpy.inf, numpy.nan, 1.0],), [False, False, True]), ("isfinite", ([1, 2],), [True, True]),
    ("isinf", ([numpy.inf, -numpy.inf, 1.0],), [True, True, False]), ("isnan", ([1, 2],), [False, False]),
    ("logaddexp", ([1000.0, -1000.0], [1000.0, -numpy.inf]), [1000 + numpy.log(2), -1000]),
    ("logaddexp", ([numpy.inf, -numpy.inf, numpy.inf, -numpy.inf, numpy.nan, 3.0, 0.0, -1e300],
                   [numpy.inf, -numpy.inf, -numpy.inf, 3.0, numpy.inf, numpy.nan, -40.0, 1e300]),
     [numpy.inf, -numpy.inf, numpy.inf, 3.0, numpy.nan, numpy.nan, numpy.exp(-40), 1e300]),
    ("imag", ([complex(numpy.inf, 2)],), [2.0]), ("real", ([complex(1, numpy.inf)],), [1.0]),
    ("switch", ([0.5, 0.0, numpy.nan], [1, 1, 1], [2, 2, 2]), [1, 2, 1]),
]


@pytest.mark.parametrize("name, operands, wanted", EDGES,
                         ids=[f"{row[0]}-{number}" for number, row in enumerate(EDGES)])
def test_edges(name, operands, wanted, cpu):
    value, _ = apply(name, [numpy.array(operand) for operand in operands])
    numpy.testing.assert_allclose(value, wanted, rtol=1e-14)


def test_gradient_of_pow_at_zero():
    """x ** y has finite gradients at x = 0 and at y = 0."""
    x, y = TensorType("float64", (False,))(), TensorType("float64", (False,))()
    output = x ** y
    gradients = output.owner.op.L_op([x, y], [output], [x.ones_like()])
    values = [numpy.array([0.0, 0.0, 2.0]), numpy.array([2.0, 0.0, 0.0])]
    by_x, by_y = compute(gradients, [x, y], values)
    numpy.testing.assert_allclose(by_x, [0, 0, 0])
    numpy.testing.assert_allclose(by_y, [0, 0, numpy.log(2)])


def test_r_op_is_the_product_with_the_jacobian():
    x, y, u, v = [TensorType("float64", (False,))() for _ in range(4)]
    values = [numpy.array([0.5, 1.5]), numpy.array([2.0, 0.3]), numpy.array([1.0, -2.0]), numpy.array([0.25, 3.0])]
    direction, = (x * y).owner.op.R_op([x, y], [u, v])
    got, = compute([direction], [x, y, u, v], values)
    numpy.testing.assert_allclose(got, values[2] * values[1] + values[0] * values[3])
    assert (x * y).owner.op.R_op([x, y], [None, None]) == [None]


def test_equal_nodes_share_a_kernel():
    x, y = TensorType("float32", (False,))(), TensorType("float32", (False,))()
    first, second = scalar.tanh(x).owner, scalar.tanh(y).owner
    assert first.op.make_kernel(first) is second.op.make_kernel(second)


def test_mismatched_lengths_are_an_error_that_names_them():
    x = TensorType("float64", (False, False))()
    node = (x + TensorType("float64", (False, False))()).owner
    with pytest.raises(ValueError,
                       match=r"Input dimension mis-match. \(input\[0\].shape\[0\] = 3, input\[1\].shape\[0\] = 1\)"):
        node.op.perform(node, [numpy.ones((3, 2)), numpy.ones((1, 2))], [[None]])


def test_inplace_needs_the_full_shape_and_the_same_dtype():
    row, matrix = TensorType("float64", (True, False))(), TensorType("float64", (False, False))()
    assert Elemwise(scalar.add, {0: 0}).destroy_map == {0: [0]}
    assert Elemwise(scalar.add, {0: 0}) == Elemwise(scalar.add, {0: 0}) != Elemwise(scalar.add)
    with pytest.raises(ValueError, match="inplace"):
        Elemwise(scalar.add, {0: 0})(row, matrix)
    with pytest.raises(TypeError, match="inplace"):
        Elemwise(scalar.add, {0: 0})(TensorType("int8", (False, False))(), matrix)
