"""Finding inner loops, and built-in loops."""
import itertools

import numpy
import pytest
import scipy.special

from phintys.graph.config import change_flags
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.native.loops import OWN_LOOPS, TYPES, find_loop
from phintys.ops.native.special.vector_math import NO_UFUNCS
from phintys.ops.reduction.reduction_kernel import ReductionKernel
from phintys.vm.abi import run_kernel

REAL_TYPES = TYPES[:12]
INTEGERS = TYPES[1:9]
COMPLEX_TYPES = TYPES[12:]


def apply(loop, dtypes, *operands):
    """One step on arrays of one dimension."""
    code = ScalarCode(dtypes[:-1], [], [(loop, list(range(len(operands))), dtypes)], [len(operands)])
    kernel = ElementwiseKernel(code, [(False,)] * len(operands))
    result, = run_kernel(kernel, [numpy.asarray(x, dtype) for x, dtype in zip(operands, dtypes)],
                         [(numpy.dtype(dtypes[-1]).num, 1)])
    return result


@pytest.mark.parametrize("ufunc, dtypes", [
    (numpy.add, ("float64",) * 3), (numpy.add, ("int64",) * 3), (numpy.add, ("bool",) * 3),
    (numpy.multiply, ("complex64",) * 3), (numpy.exp, ("float32",) * 2), (numpy.tanh, ("float16",) * 2),
    (numpy.less, ("uint8", "uint8", "bool")), (numpy.logical_not, ("float64", "bool")),
    (numpy.ldexp, ("float64", "int64", "float64")), (numpy.isnan, ("float32", "bool")),
    (scipy.special.gammaln, ("float64",) * 2), (scipy.special.erf, ("float32",) * 2),
], ids=str)
def test_ufunc_loops(ufunc, dtypes):
    values = [numpy.array([0, 1, 1, 2, 3]).astype(dtype) for dtype in dtypes[:-1]]
    with change_flags(math="numpy"):
        got = apply(ufunc, dtypes, *values)
    assert got.dtype == dtypes[-1]
    numpy.testing.assert_array_equal(got, ufunc(*values))


def test_long_and_longlong_are_one():
    assert find_loop(numpy.add, ("int64",) * 3) is find_loop(numpy.add, (numpy.dtype("longlong").name,) * 3)


@pytest.mark.parametrize("loop, dtypes, said", [
    (numpy.add, ("float64", "int8", "float64"), "add has no loop for float64, int8 -> float64"),
    (numpy.divmod, ("int8",) * 4, "2 outputs"),
    (numpy.exp, ("int64", "float64"), "exp has no loop"),
    ("cast", ("complex64", "float32"), "complex to real is refused"),
    ("switch", ("int8", "float64", "float64", "float64"), "switch has no loop"),
    ("power", ("float64",) * 3, "power has no loop"),
    ("nothing", ("float64",), "there is no loop 'nothing'"),
    (numpy.add, ("object",) * 3, "'object'"),
    (len, ("float64",) * 2, "a loop is a ufunc or one of"),
])
def test_no_such_loop(loop, dtypes, said):
    with pytest.raises(TypeError, match=said):
        find_loop(loop, dtypes)


@pytest.mark.parametrize("cpu", ["native", "baseline"])
def test_casts_of_half_floats(cpu):
    """Every float16; floats of every magnitude, and those half-way between two float16; many lengths and steps."""
    halves = numpy.arange(65536, dtype="uint16").view("float16")
    generator = numpy.random.default_rng(0)
    with numpy.errstate(all="ignore"):
        middles = (halves[:-1].astype("float64") + halves[1:]).astype("float32") / 2
    floats = numpy.concatenate([generator.integers(0, 2 ** 32, 60_000, dtype="uint32").view("float32"), middles,
                                (10.0 ** generator.uniform(-9, 6, 60_000)).astype("float32"), -middles])
    with change_flags(cpu=cpu):
        widen, narrow = find_loop("cast", ("float16", "float32")), find_loop("cast", ("float32", "float16"))
    for loop, values in ((widen, halves), (narrow, floats)):
        with numpy.errstate(all="ignore"):
            wanted = values.astype(loop.dtypes[1])
        numpy.testing.assert_array_equal(loop(values), wanted)
        numpy.testing.assert_array_equal(numpy.signbit(loop(values)), numpy.signbit(wanted))
        for part in (slice(0, 1), slice(100, 107), slice(3, 1000, 3), slice(700, None, -1), slice(5, 300)):
            numpy.testing.assert_array_equal(loop(values[part]), wanted[part])


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_cast(source, target):
    values = numpy.array([0, 1, 2, 100, 3.75, 0.25], "float64").astype(source)
    if source in COMPLEX_TYPES and target in REAL_TYPES:
        with pytest.raises(TypeError):
            find_loop("cast", (source, target))
        return
    got = apply("cast", (source, target), values)
    numpy.testing.assert_array_equal(got, values.astype(target))
    assert got.dtype == target


def test_cast_truncates_and_wraps():
    numpy.testing.assert_array_equal(apply("cast", ("float64", "int32"), [-1.9, 1.9, -0.5]), [-1, 1, 0])
    numpy.testing.assert_array_equal(apply("cast", ("int64", "int8"), [300, -1, 128]), [44, -1, -128])


def test_half_precision_casts_round_as_numpy_does():
    bits = numpy.arange(65536, dtype="uint16").view("float16")
    numbers = bits[~numpy.isnan(bits)]
    numpy.testing.assert_array_equal(apply("cast", ("float16", "float64"), numbers), numbers.astype("float64"))
    exact = numbers.astype("float64")
    middle = numpy.concatenate([exact * (1 + 2.0 ** -11), exact * (1 - 2.0 ** -12),
                                [1e30, -1e30, 65519.99, 65520, numpy.nan, 5.9e-8, 2.9e-8]])
    with numpy.errstate(over="ignore"):
        expected = middle.astype("float16")
    numpy.testing.assert_array_equal(apply("cast", ("float64", "float16"), middle), expected)


@pytest.mark.parametrize("ufunc", [numpy.multiply, numpy.bitwise_and, numpy.logical_and, numpy.add, numpy.bitwise_or,
                                   numpy.logical_or], ids=lambda ufunc: ufunc.__name__)
def test_truths(ufunc):
    """Of any strides; each byte that is not 0 is true; the loop reduces, too."""
    random = numpy.random.default_rng(1)
    whole = random.integers(0, 2, 202).astype("uint8") * random.integers(1, 256, 202).astype("uint8")
    whole = whole.view(bool)
    layouts = [whole[:101], whole[101:], whole[::2], whole[100::-1], *[numpy.broadcast_to(whole[k], (101,)) for k in
                                                                      (numpy.argmin(whole), numpy.argmax(whole))]]
    for x, y in itertools.product(layouts, repeat=2):
        wanted = ufunc(x.astype("uint8") != 0, y.astype("uint8") != 0)
        numpy.testing.assert_array_equal(apply(ufunc, ("bool",) * 3, x, y).view("uint8"), wanted.view("uint8"))
    kernel = ReductionKernel(ScalarCode(["bool"], outputs=[0]), [(False,)], ufunc, (0,), "bool", "bool")
    for x in (numpy.zeros(9, bool), numpy.ones(9, bool), whole[:9]):
        assert run_kernel(kernel, [x], [(0, 0)])[0] == ufunc.reduce(x.astype("uint8") != 0, dtype=bool)


@pytest.mark.parametrize("dtype", TYPES)
def test_switch_and_copy(dtype):
    yes, no = numpy.arange(5).astype(dtype), numpy.arange(5, 10).astype(dtype)
    condition = numpy.array([True, False, True, True, False])
    numpy.testing.assert_array_equal(apply("switch", ("bool", dtype, dtype, dtype), condition, yes, no),
                                     numpy.where(condition, yes, no))
    numpy.testing.assert_array_equal(apply("copy", (dtype, dtype), no), no)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("condition", [True, False])
def test_switch_by_one_condition(dtype, condition):
    """The condition has a stride of 0; the outcomes have any."""
    whole = numpy.arange(202).astype(dtype)
    outcomes = [whole[:101], whole[::2], whole[100::-1], numpy.broadcast_to(whole[7], (101,))]
    repeated = numpy.broadcast_to(numpy.array(condition), (101,))
    for yes, no in itertools.product(outcomes, repeat=2):
        numpy.testing.assert_array_equal(apply("switch", ("bool", dtype, dtype, dtype), repeated, yes, no),
                                         yes if condition else no)


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if "int" in dtype])
def test_integer_power(dtype):
    base = numpy.array([0, 1, 2, 3, 5], dtype)
    exponent = numpy.array([0, 4, 3, 2, 1], dtype)
    numpy.testing.assert_array_equal(apply(numpy.power, (dtype,) * 3, base, exponent), base ** exponent)
    if dtype.startswith("int"):
        got = apply(numpy.power, (dtype,) * 3, [0, 1, -1, -1, 2, -3], [-1, -3, -2, -3, -1, -2])
        numpy.testing.assert_array_equal(got, [0, 1, 1, -1, 0, 0])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("step", [1, 2])
def test_unless_overflow(dtype, step):
    value = numpy.array([1, numpy.inf, -numpy.inf, numpy.nan, 0] * 9, dtype)[::step]
    other = numpy.arange(45).astype(dtype)[::step]
    got = apply("unless_overflow", (dtype,) * 3, value, other)
    numpy.testing.assert_array_equal(got, numpy.where(numpy.isposinf(value), other, value))


@pytest.mark.parametrize("dtype", [dtype for dtype in REAL_TYPES if dtype not in ("bool", "float16")])
@pytest.mark.parametrize("one_bound", [True, False])
def test_clip(dtype, one_bound):
    """If the lower bound is above the upper one, smaller values become the lower bound."""
    value = numpy.arange(40).astype(dtype)[::1 if one_bound else 2]
    lowest, highest = numpy.array([10], dtype), numpy.array([5], dtype)
    if not one_bound:
        lowest, highest = numpy.arange(20).astype(dtype), numpy.full(20, 12, dtype)
    got = apply("clip", (dtype,) * 4, value, numpy.broadcast_to(lowest, value.shape),
                numpy.broadcast_to(highest, value.shape))
    numpy.testing.assert_array_equal(got, numpy.where(value < lowest, lowest, numpy.minimum(value, highest)))


def test_clip_keeps_nan():
    got = apply("clip", ("float64",) * 4, [numpy.nan, 3.0], [0.0, numpy.nan], [1.0, numpy.nan])
    numpy.testing.assert_array_equal(got, [numpy.nan, 3.0])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("constants", [(False, True), (True, False), (True, True)])
def test_switch_between_constants(dtype, constants):
    """Long enough for vector instructions and a remainder."""
    condition = numpy.resize([True, False, False], 101)
    outcomes = [numpy.broadcast_to(numpy.array(number, dtype), (101,)) if is_constant
                else numpy.arange(101).astype(dtype) for number, is_constant in enumerate(constants)]
    numpy.testing.assert_array_equal(apply("switch", ("bool", dtype, dtype, dtype), condition, *outcomes),
                                     numpy.where(condition, *outcomes))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sign(dtype, step):
    x = numpy.resize(numpy.array([2, -3, 0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40], dtype), 80)[::step]
    got = apply("sign", (dtype, dtype), x)
    numpy.testing.assert_array_equal(got, numpy.sign(x))
    assert not numpy.signbit(got[got == 0]).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_round_half_away_from_zero(dtype):
    got = apply("round_half_away_from_zero", (dtype, dtype), [0.5, 1.5, -0.5, -2.5, 2.4, -2.6])
    numpy.testing.assert_array_equal(got, [1, 2, -1, -3, 2, -3])


def test_integer_division_by_zero_is_zero():
    numpy.testing.assert_array_equal(apply(numpy.floor_divide, ("int64",) * 3, [7, -7], [0, 2]), [0, -4])
    numpy.testing.assert_array_equal(apply(numpy.remainder, ("int32",) * 3, [7, -7], [0, 2]), [0, 1])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_remainders(dtype):
    limits = numpy.iinfo(dtype)
    numbers = numpy.array([limits.min, limits.min + 1, 0, 1, 3, 7, 8, 100, limits.max - 1, limits.max], dtype)
    numbers = numpy.concatenate([numbers, 0 - numbers])
    x, y = [part.ravel() for part in numpy.meshgrid(numbers, numbers)]
    with numpy.errstate(all="ignore"):
        numpy.testing.assert_array_equal(apply(numpy.remainder, (dtype,) * 3, x, y), numpy.remainder(x, y))
        for divisor in numbers:                     # powers of two among them
            f = ElementwiseKernel(ScalarCode([dtype], [numpy.array(divisor)], [(numpy.remainder, [0, 1], [dtype] * 3)],
                                             [2]), [(False,)])
            found, = run_kernel(f, [numbers], [(numbers.dtype.num, 1)])
            numpy.testing.assert_array_equal(found, numpy.remainder(numbers, divisor))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32", "float64"])
def test_magnitudes(dtype):
    x = numpy.array([-3, 0, 5, 100], dtype)
    x = numpy.concatenate([x, [numpy.iinfo(dtype).min] if x.dtype.kind == "i" else [-numpy.inf, numpy.nan, -0.0]])
    x = x.astype(dtype)
    for values in (x, x[::-1][::2]):
        found = apply(numpy.absolute, (dtype, dtype), values)
        assert found.tobytes() == numpy.absolute(values).tobytes()


@pytest.mark.parametrize("part, dtype", [("float32", "complex64"), ("float64", "complex128")])
def test_complex_parts(part, dtype):
    z = numpy.array([1 + 2j, -3j, 4], dtype)
    real, imaginary = apply("real", (dtype, part), z), apply("imag", (dtype, part), z)
    numpy.testing.assert_array_equal(real, z.real)
    numpy.testing.assert_array_equal(imaginary, z.imag)
    numpy.testing.assert_array_equal(apply("complex", (part, part, dtype), real, imaginary), z)


def test_ufuncs_of_objects_are_refused():
    ufunc = numpy.frompyfunc(lambda x: x, 1, 1)
    with pytest.raises(TypeError):
        find_loop(ufunc, ("float64", "float64"))


def test_every_own_loop_is_found():
    signatures = {"cast": ("int8", "float64"), "copy": ("int8", "int8"), "switch": ("bool", "int8", "int8", "int8"),
                  "power": ("int8",) * 3, "round_half_away_from_zero": ("float64",) * 2,
                  "absolute": ("float32",) * 2, "remainder": ("uint8",) * 3,
                  "unless_overflow": ("float64",) * 3, "clip": ("int8",) * 4, "sign": ("float32",) * 2,
                  "ultra_fast_sigmoid": ("float64",) * 2,
                  "real": ("complex64", "float32"), "imag": ("complex64", "float32"),
                  "complex": ("float32", "float32", "complex64"),
                  "gammainc_by_k": ("float64",) * 3, "gammainc_by_k_twice": ("float32",) * 3,
                  "zeta_by_x": ("float32",) * 3, "zeta_by_x_twice": ("float64",) * 3,
                  **{f"betainc_by_{by}": ("float32",) * 4 for by in ("a", "b", "aa", "ab", "bb")},
                  **{f"hyp2f1_by_{by}": ("float64",) * 5 for by in ("a", "c", "aa", "ab", "ac", "cc")}}
    assert signatures.keys() | set(NO_UFUNCS) == OWN_LOOPS.keys()
    for name, dtypes in signatures.items():
        assert find_loop(name, dtypes).dtypes == dtypes
