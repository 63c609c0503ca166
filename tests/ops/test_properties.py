"""Random expressions, reductions and products against NumPy, compiled, in both modes.

The case tables of the families test one op at a time; here ops meet each other, whatever the optimizer makes of them,
on operands of random dtype, rank, layout and broadcasting. Hypothesis is derandomized: every run tests the same.
"""
import numpy
import pytest
from family_cases import COMPLEX, DEBUG_MODE, DTYPES, FLOATS, INTEGERS, LAYOUTS, MODES, TOLERANCE, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as T
from phintys.ops.types.tensor_type import TensorType

RANDOM = settings(derandomize=True, deadline=None, database=None, max_examples=400,
                  suppress_health_check=list(HealthCheck))

lengths = st.integers(0, 4)
shapes = st.lists(lengths, min_size=0, max_size=4).map(tuple)


@st.composite
def operands(draw, shape, dtypes=DTYPES):
    """An array that broadcasts to ``shape``, and a variable for it with that broadcastable pattern."""
    shape = tuple(1 if draw(st.integers(0, 4)) == 0 else length for length in shape)
    array = values(shape, draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))
    if draw(st.booleans()):
        array = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](array)
    return array, TensorType(array.dtype.name, [length == 1 for length in shape])()


def agrees(got, wanted, exact):
    """Assert equal shapes and dtypes, and equal values up to rounding in the least precise intermediate dtype."""
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    scale = numpy.abs(wanted.astype("complex128")).max(initial=1.0)
    tolerance = 0 if exact and wanted.dtype.kind in "biu" else max(
        TOLERANCE.get(dtype, 1e-11) for dtype in DTYPES_ON_THE_WAY | {wanted.dtype.name})
    numpy.testing.assert_allclose(got.astype("complex128"), wanted.astype("complex128"), rtol=tolerance,
                                  atol=tolerance * scale)


DTYPES_ON_THE_WAY = set()

# name, symbolic, NumPy's, number of operands, dtypes (kinds) an operand may have; all values stay small
STEPS = [
    ("add", T.add, numpy.add, 2, "biufc"), ("sub", T.sub, numpy.subtract, 2, "iufc"),
    ("mul", T.mul, numpy.multiply, 2, "biufc"), ("neg", T.neg, numpy.negative, 1, "iufc"),
    ("maximum", T.maximum, numpy.maximum, 2, "biuf"), ("minimum", T.minimum, numpy.minimum, 2, "biuf"),
    ("sqr", T.sqr, numpy.square, 1, "iufc"), ("abs", T.abs_, numpy.abs, 1, "iufc"),
    ("tanh", T.tanh, numpy.tanh, 1, "f"), ("sin", T.sin, numpy.sin, 1, "f"), ("cos", T.cos, numpy.cos, 1, "f"),
    ("sigmoid", T.nnet.sigmoid, lambda x: 1 / (1 + numpy.exp(-x)), 1, "f"), ("arctan", T.arctan, numpy.arctan, 1, "f"),
    ("and", T.and_, numpy.bitwise_and, 2, "iu"), ("or", T.or_, numpy.bitwise_or, 2, "iu"),
    ("xor", T.xor, numpy.bitwise_xor, 2, "iu"), ("invert", T.invert, numpy.invert, 1, "biu"),
    ("lt", T.lt, numpy.less, 2, "biu"), ("ge", T.ge, numpy.greater_equal, 2, "biu"),
    ("eq", T.eq, numpy.equal, 2, "biu"),
    ("int_div", T.int_div, numpy.floor_divide, 2, "iu"), ("mod", T.mod, numpy.remainder, 2, "iu"),
    ("exp(tanh)", lambda x: T.exp(T.tanh(x)), lambda x: numpy.exp(numpy.tanh(x)), 1, "f"),
    ("x - x", lambda x: x - x, lambda x: x - x, 1, "iufc"), ("x * 0", lambda x: x * 0, lambda x: x * 0, 1, "i"),
    ("2 * x - 1", lambda x: 2 * x - 1, lambda x: 2 * x - 1, 1, "ifc"),
    ("conj", T.conj, numpy.conj, 1, "c"), ("real", T.real, numpy.real, 1, "c"), ("imag", T.imag, numpy.imag, 1, "c"),
    ("switch", lambda c, a, b: T.switch(T.neq(c, 0), a, b), lambda c, a, b: numpy.where(c != 0, a, b), 3, "biu"),
]
BOOLEAN = {"lt", "ge", "eq"}


def reference(function, symbolic, arguments, boolean):
    """NumPy's result in the dtype that the graph declares; the tests of the families check which dtype that is."""
    dtype = symbolic.type.dtype
    work = numpy.result_type(*[array.dtype for array in arguments]) if boolean else numpy.dtype(dtype)
    if any(array.dtype.kind == "c" for array in arguments) and work.kind != "c":
        work = numpy.result_type(work, "complex64")                 # abs, real, imag
    with numpy.errstate(all="ignore"):
        result = function(*[array.astype(work) for array in arguments])
    return numpy.asarray(result).astype(dtype)


@st.composite
def expressions(draw):
    """(arrays, variables, one output a step, NumPy's values of the outputs)."""
    shape = draw(shapes)
    pool = [(variable, array) for array, variable in
            draw(st.lists(operands(shape), min_size=1, max_size=4))]
    leaves = list(pool)
    for _ in range(draw(st.integers(1, 8))):
        name, symbolic, function, count, kinds = draw(st.sampled_from(STEPS))
        fitting = [entry for entry in pool if entry[1].dtype.kind in kinds]
        if not fitting:
            continue
        chosen = [draw(st.sampled_from(fitting)) for _ in range(count)]
        if kinds == "iu" and numpy.result_type(*[array.dtype for _, array in chosen]).kind == "f":
            continue                                                # uint64 with a signed dtype
        output = symbolic(*[variable for variable, _ in chosen])
        value = reference(function, output, [array for _, array in chosen], name in BOOLEAN)
        if numpy.abs(value.astype("complex128")).max(initial=0) < 1e4:
            pool.append((output, value))
    return leaves, pool[len(leaves):]


@pytest.mark.parametrize("mode", (*MODES, DEBUG_MODE), ids=str)
@RANDOM
@given(expressions())
def test_elementwise_expressions(mode, drawn):
    leaves, steps = drawn
    outputs = steps[-1:] + steps[:1]
    DTYPES_ON_THE_WAY.clear()
    DTYPES_ON_THE_WAY.update(array.dtype.name for _, array in leaves + steps)
    f = phintys.function([variable for variable, _ in leaves], [output for output, _ in outputs], mode=mode,
                         on_unused_input="ignore")
    arguments = [array for _, array in leaves]
    before = [array.copy() for array in arguments]
    for _ in range(2):
        for got, (_, wanted) in zip(f(*arguments), outputs):
            agrees(got, wanted, exact=True)
            got[...] = 0                                            # no other reference to the memory exists
    for array, original in zip(arguments, before):
        numpy.testing.assert_array_equal(array, original)


# name, NumPy's function, kinds of dtypes, whether it takes empty ranges
REDUCTIONS = [("sum", numpy.sum, "biufc", True), ("prod", numpy.prod, "biufc", True),
              ("mean", numpy.mean, "biufc", False),
              ("var", numpy.var, "iuf", False), ("std", numpy.std, "iuf", False), ("max", numpy.max, "biuf", False),
              ("min", numpy.min, "biuf", False), ("any", numpy.any, "biuf", True), ("all", numpy.all, "biuf", True),
              ("argmax", numpy.argmax, "biuf", False), ("argmin", numpy.argmin, "biuf", False)]


@st.composite
def reductions(draw):
    """(name, keywords, whether an elementwise op precedes it, array, variable, NumPy's value)."""
    name, function, kinds, takes_empty = draw(st.sampled_from(REDUCTIONS))
    shape = draw(shapes) if takes_empty else draw(st.lists(st.integers(1, 4), max_size=4).map(tuple))
    if draw(st.integers(0, 9)) == 0:
        shape = tuple(7 * length for length in shape)
    array, variable = draw(operands(shape, [dtype for dtype in DTYPES if numpy.dtype(dtype).kind in kinds]))
    axis = None
    if array.ndim and draw(st.booleans()):
        axis = draw(st.lists(st.integers(0, array.ndim - 1), unique=True, max_size=array.ndim).map(tuple))
        axis = tuple(position - array.ndim if draw(st.booleans()) else position for position in axis)
        if not axis or name.startswith("arg"):
            axis = draw(st.integers(-array.ndim, array.ndim - 1))
    keepdims, producer = draw(st.booleans()), array.dtype.kind != "b" and draw(st.booleans())
    operand = array * array if producer else array
    precise = {"f": "float64", "c": "complex128"}.get(array.dtype.kind)
    if precise and not name.startswith(("max", "min")):
        operand = operand.astype(precise)
    wanted = numpy.asarray(function(operand, axis=axis, keepdims=keepdims))
    return name, {"axis": axis, "keepdims": keepdims}, producer, array, variable, wanted


@pytest.mark.parametrize("mode", (*MODES, DEBUG_MODE), ids=str)
@RANDOM
@given(reductions())
def test_reductions(mode, drawn):
    name, keywords, producer, array, variable, wanted = drawn
    output = getattr(T, name)(variable * variable if producer else variable, **keywords)
    got = phintys.function([variable], output, mode=mode)(array)
    DTYPES_ON_THE_WAY.clear()
    DTYPES_ON_THE_WAY.update({array.dtype.name})
    if name in ("sum", "prod") and array.dtype.kind in "biu":
        wanted = wanted.astype(got.dtype)
    assert output.type.dtype == got.dtype.name and output.type.ndim == got.ndim
    assert all(length == 1 for length, flag in zip(got.shape, output.type.broadcastable) if flag)
    agrees(got, wanted.astype(got.dtype), exact=True)


@st.composite
def products(draw):
    """(two arrays, two variables) for ``dot``, in every combination of ranks and dtypes."""
    rows, inner, columns = draw(lengths), draw(lengths), draw(lengths)
    left = draw(st.sampled_from([(), (inner,), (rows, inner)]))
    right = draw(st.sampled_from([(), (inner,), (inner, columns)]))
    pair = []
    for shape in (left, right):
        array = values(shape, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99)))
        pair.append(LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))](array))
    return pair, [TensorType(array.dtype.name, (False,) * array.ndim)() for array in pair]


@pytest.mark.parametrize("mode", (*MODES, DEBUG_MODE), ids=str)
@RANDOM
@given(products(), st.booleans())
def test_products(mode, drawn, scaled):
    (a, b), (left, right) = drawn
    dtype = numpy.result_type(a.dtype, b.dtype)
    output = T.dot(left, right)
    wanted = numpy.dot(a.astype(dtype), b.astype(dtype)).astype(dtype)
    if scaled and dtype.kind in "fc":
        output, wanted = output * 2 + output.sum(), wanted * 2 + wanted.sum()
    got = phintys.function([left, right], output, mode=mode)(a, b)
    DTYPES_ON_THE_WAY.clear()
    DTYPES_ON_THE_WAY.update({a.dtype.name, b.dtype.name})
    agrees(got, numpy.asarray(wanted).astype(got.dtype), exact=True)
    if not scaled:
        assert got.dtype == dtype


# name, what to do with a variable or an array: the same expression for both
VIEWS = [
    ("reverse", lambda x: x[::-1]), ("rest", lambda x: x[1:]), ("even", lambda x: x[::2]),
    ("negative step", lambda x: x[3:0:-2]),
    ("transpose", lambda x: x.T), ("row", lambda x: x.reshape((1, -1))), ("flat", lambda x: x.flatten()),
    ("new axis", lambda x: x[None]), ("last", lambda x: x[..., :1]),
    ("plus", lambda x: x + x), ("times", lambda x: x * x),
]


@pytest.mark.parametrize("mode", (*MODES, DEBUG_MODE), ids=str)
@RANDOM
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple), st.lists(st.sampled_from(VIEWS), max_size=6),
       st.sampled_from(INTEGERS + FLOATS[1:] + COMPLEX), st.sampled_from(sorted(LAYOUTS)))
def test_views_of_views(mode, shape, steps, dtype, layout):
    array = LAYOUTS[layout](values(shape, dtype))
    variable = x = TensorType(dtype, (False,) * len(shape))()
    wanted = array
    for _, step in steps:
        if wanted.ndim < 5:
            variable, wanted = step(variable), step(wanted)
    shared = phintys.shared(array)
    f = phintys.function([x], [variable, variable, variable.sum(), shared], mode=mode,
                         updates={shared: x}, givens=None)
    got, again, total, old = f(array)
    numpy.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert got.dtype == wanted.dtype
    got[...] = 0
    numpy.testing.assert_allclose(again, wanted, rtol=1e-6)
    numpy.testing.assert_allclose(total, wanted.sum(dtype=total.dtype), rtol=1e-5, atol=1e-5)
    numpy.testing.assert_array_equal(old, array)
    numpy.testing.assert_array_equal(shared.get_value(), array)
