"""The elementwise kernel against NumPy: layouts, broadcasting, programs, errors."""
import copy
import itertools
import pickle

import numpy
import pytest
from traced_formulas import traced

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.vm.abi import run_kernel

D = "float64"
DOUBLE = numpy.dtype(D).num
SHAPES = [(), (1,), (7,), (0,), (3, 4), (100, 70), (1000, 3), (3, 1000), (4, 5, 6), (1, 7, 1), (30, 1, 40), (0, 4),
          (2, 1, 3, 2, 5), (11, 50, 3), (40, 30, 5, 3), (70000,)]
LAYOUTS = {
    "C": lambda random, shape: random.random(shape),
    "Fortran": lambda random, shape: random.random(shape[::-1]).T,
    "reversed": lambda random, shape: random.random(shape)[tuple(slice(None, None, -1) for _ in shape)],
    "every second": lambda random, shape: random.random([2 * n for n in shape])[(slice(None, None, 2),) * len(shape)],
    "one value": lambda random, shape: numpy.broadcast_to(random.random(()), shape),
    "first row": lambda random, shape: random.random((1,) * min(1, len(shape)) + shape[1:]),
    "last column": lambda random, shape: random.random(shape[:-1] + (1,) * min(1, len(shape))),
}


def pattern(array):
    return tuple(length == 1 for length in numpy.shape(array))


def build(arrays, constants, steps, outputs):
    """Steps are (ufunc or name, operands) on float64, or with dtypes."""
    steps = [step if len(step) == 3 else step + ([D] * (len(step[1]) + 1),) for step in steps]
    code = ScalarCode([array.dtype.name for array in arrays], [numpy.asarray(constant) for constant in constants],
                      steps, outputs)
    return ElementwiseKernel(code, [pattern(array) for array in arrays])


def run(arrays, constants, steps, outputs, dtypes=None, workers=1):
    arrays = [numpy.asarray(array) for array in arrays]
    layouts = [(numpy.dtype(dtype).num, arrays[0].ndim) for dtype in dtypes or [D] * len(outputs)]
    return run_kernel(build(arrays, constants, steps, outputs), arrays, layouts, workers)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(shape, workers):
    """A program with registers, a cast to bool and two outputs, on every pair of layouts."""
    random = numpy.random.default_rng(1)
    steps = [(numpy.exp, [0]), (numpy.tanh, [1]), (numpy.multiply, [3, 4]), (numpy.log1p, [3]),
             (numpy.multiply, [6, 2]), (numpy.add, [5, 7]), (numpy.greater, [8, 4], [D, D, "bool"]),
             ("switch", [9, 8, 0], ["bool", D, D, D])]
    for first, second in itertools.product(LAYOUTS.values(), repeat=2):
        a, b = first(random, shape), second(random, shape)
        x, y = numpy.broadcast_arrays(a, b)
        total = numpy.exp(x) * numpy.tanh(y) + numpy.log1p(numpy.exp(x)) * 3.0
        got = run([a, b], [3.0], steps, [10, 8], workers=workers)
        numpy.testing.assert_allclose(got[1], total, rtol=1e-15)
        numpy.testing.assert_allclose(got[0], numpy.where(total > numpy.tanh(y), total, x), rtol=1e-15)
        assert all(result.shape == x.shape and (result.flags.c_contiguous or result.flags.f_contiguous)
                   for result in got)


@pytest.mark.parametrize("shape", [(700, 3), (900, 7), (40, 47), (3, 300, 5), (2, 1500)], ids=str)
def test_a_bound_kernel_reads_the_operands_of_each_call(shape):
    """Short rows are gathered for blocks of whole rows, one that repeats only once; all in what the kernel has noted of
    the layouts. Other calls have other values elsewhere."""
    random = numpy.random.default_rng(2)
    full = (False,) * len(shape)
    types = [T.TensorType(D, pattern) for pattern in (
        full, (True,) * (len(shape) - 1) + full[:1], full[1:] + (True,), (True,) * len(shape))]
    x, row, column, one = [type_() for type_ in types]
    f = phintys.function([x, row, column, one], [T.exp(x - row) * column + one / row, (x + column) * (row - one) ** 2])
    for _ in range(4):
        a = random.random(shape)
        b, c = random.random((1,) * (len(shape) - 1) + shape[-1:]), random.random(shape[:-1] + (1,))
        d = random.random((1,) * len(shape))
        first, second = f(a, b, c, d)
        numpy.testing.assert_allclose(first, numpy.exp(a - b) * c + d / b, rtol=1e-14)
        numpy.testing.assert_allclose(second, (a + c) * (b - d) ** 2, rtol=1e-14)


@pytest.mark.parametrize("shape", [(7,), (5000,), (40, 3), (6, 50, 3), (3, 1000)], ids=str)
def test_an_input_is_read_after_a_result_has_taken_its_memory(shape):
    """Blocks of the input are copied first, whatever the number of dimensions that are left after joining."""
    random = numpy.random.default_rng(1)
    x, row = random.random(shape), random.random((1,) * (len(shape) - 1) + shape[-1:])
    kernel = build([x, row], [], [(numpy.add, [0, 1]), (numpy.multiply, [2, 0])], [2, 3])
    total, product = run_kernel(kernel, [x, row], [(DOUBLE, len(shape))] * 2, donors={0: 0})
    numpy.testing.assert_array_equal(total, x + row)
    numpy.testing.assert_array_equal(product, (x + row) * x)


# The order of the axes in memory of two operands, and of the sum; None: the operand has one element along this axis.
ORDERS = {
    "C": ((0, 1, 2), (0, 1, 2), (0, 1, 2)),
    "Fortran": ((2, 1, 0), (2, 1, 0), (2, 1, 0)),
    "turned": ((1, 2, 0), (1, 2, 0), (1, 2, 0)),
    "innermost axis in its place": ((1, 0, 2), (1, 0, 2), (0, 1, 2)),
    "no common order": ((2, 1, 0), (0, 1, 2), (0, 1, 2)),
    "no common order, C first": ((0, 1, 2), (2, 1, 0), (0, 1, 2)),
    "broadcast along one axis": ((2, 1, 0), (None, 2, 1), (2, 1, 0)),
    "broadcast, in another order": ((2, 1, 0), (None, 1, 2), (0, 1, 2)),
    "broadcast along two axes": ((1, 2, 0), (None, None, 2), (1, 2, 0)),
}


def ordered(axes, shape, random):
    """An array whose axes are in memory in this order, the outermost first."""
    shape = [1 if axes[place] is None else length for place, length in enumerate(shape)]
    axes = [axis for axis in axes if axis is not None]
    axes = [axis for axis in range(len(shape)) if axis not in axes] + axes
    return random.random([shape[axis] for axis in axes]).transpose(numpy.argsort(axes))


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", [(8, 9, 10), (60, 70, 50), (3, 400, 5)], ids=str)
def test_results_have_the_common_order_of_the_operands(name, workers, shape):
    first, second, result = ORDERS[name]
    random = numpy.random.default_rng(2)
    a, b = ordered(first, shape, random), ordered(second, shape, random)
    (got,) = run([a, b], [], [(numpy.add, [0, 1])], [2], workers=workers)
    numpy.testing.assert_array_equal(got, a + b)
    assert got.strides == ordered(result, shape, random).strides


def test_reversed_operands_agree_on_an_order():
    a = numpy.random.default_rng(3).random((40, 50)).T[::-1, ::-1]
    for got in run([a, a.copy(order="F")], [], [(numpy.sqrt, [0]), (numpy.add, [1, 2])], [3, 2]):
        assert got.flags.f_contiguous
    numpy.testing.assert_array_equal(got, numpy.sqrt(a))


def test_lengths_that_differ_are_found_in_any_order():
    with pytest.raises(ValueError, match="mis-match"):
        run([numpy.ones((3, 40)).T, numpy.ones((40, 2))], [], [(numpy.add, [0, 1])], [2])


@pytest.mark.parametrize("shape", [(64,) * 3, (1,) * 64, (2,) + (1,) * 62 + (3,)], ids=["3", "64 ones", "64"])
def test_rank(shape):
    a = numpy.arange(numpy.prod(shape), dtype=D).reshape(shape)
    numpy.testing.assert_array_equal(run([a], [], [(numpy.sqrt, [0])], [1])[0], numpy.sqrt(a))


def test_outputs_may_be_inputs_constants_and_twice_the_same():
    a = numpy.arange(5.0)
    steps = [(numpy.sqrt, [0]), (numpy.floor, [2])]
    got = run([a], [7.0], steps, [0, 1, 2, 2, 3])
    for result, expected in zip(got, [a, numpy.full(5, 7.0), numpy.sqrt(a), numpy.sqrt(a), numpy.floor(numpy.sqrt(a))]):
        numpy.testing.assert_array_equal(result, expected)


def test_constants_are_computed_once_and_dead_steps_dropped():
    kernel = build([numpy.ones(3)], [2.0], [(numpy.sqrt, [1]), (numpy.sin, [0]), (numpy.maximum, [0, 2])], [4])
    assert [loop.name for loop, places in kernel.blocks.calls] == ["maximum"]
    got, = run_kernel(kernel, [numpy.ones(3)], [(DOUBLE, 1)])
    numpy.testing.assert_array_equal(got, numpy.full(3, numpy.sqrt(2.0)))


def test_many_operands_and_registers():
    arrays = [numpy.full(1000, float(k)) for k in range(60)]
    steps = [(numpy.sqrt, [k]) for k in range(60)]
    steps += [(numpy.maximum, [60, 61])] + [(numpy.maximum, [120 + k, 62 + k]) for k in range(58)]
    numpy.testing.assert_array_equal(run(arrays, [], steps, [60 + 60 + 58])[0], numpy.sqrt(arrays[59]))


def test_long_chain():
    steps = []
    x = numpy.linspace(-1, 1, 300)
    expected, slot = x, 0
    for k in range(2000):
        if k % 50 == 49:
            steps.append((numpy.sin, [slot]))
            expected = numpy.sin(expected)
        else:
            steps.append((numpy.add, [slot, 0]))
            expected = expected + x
        slot = 1 + k
    with change_flags(math="numpy"):
        numpy.testing.assert_array_equal(run([x], [], steps, [slot])[0], expected)


def arithmetic_cases():
    """Formulae of pure arithmetic: (name, number of inputs, function, exact)."""
    return [
        ("2a+3b", 2, lambda a, b: 2 * a + 3 * b, True),
        ("a-3b", 2, lambda a, b: a - 3 * b, True),
        ("3a-b", 2, lambda a, b: 3 * a - b, True),
        ("a+b", 2, lambda a, b: a + b, True),
        ("a-b", 2, lambda a, b: a - b, True),
        ("squares", 2, lambda a, b: a ** 2 + b ** 2 + 2 * a * b, True),
        ("difference of squares", 2, lambda a, b: a * a - b * b, True),
        ("product minus", 2, lambda a, b: a - a * b, True),
        ("products", 2, lambda a, b: (3 * a) * b - (0.7 * b) * a, True),
        ("scaled product", 2, lambda a, b: 0.3 * (a * b) + 1, True),
        ("product scaled", 2, lambda a, b: (a * b) * 0.3 - 0.1, True),
        ("scaled twice", 1, lambda a: 0.3 * (0.7 * a), True),
        ("halved", 2, lambda a, b: 0.5 * (a * b) - 0.25, True),
        ("negative", 2, lambda a, b: -(a * b) + -a, True),
        ("1-a", 1, lambda a: 1 - a, True),
        ("a-1", 1, lambda a: a - 1, True),
        ("reciprocal", 1, lambda a: 1 / (1 + a), True),
        ("quotients", 2, lambda a, b: (a / b) / 3 - 2 / b, True),
        ("shared", 2, lambda a, b: (a - b) * (a - b) + (a + b) / (a + b), True),
        ("powers", 2, lambda a, b: 2 * a + b ** 10, False),
        ("cube", 1, lambda a: a ** 3 + a ** 7, False),
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, inputs, function, exact", arithmetic_cases(), ids=lambda value: str(value)[:30])
def test_arithmetic_is_merged_and_equals_numpy(name, inputs, function, exact, dtype):
    random = numpy.random.default_rng(3)
    for size, stride in [(0, 1), (1, 1), (5, 1), (7, -3), (16, 3), (16, 0), (17, 3), (17, 0), (1000, 1), (1000, 3),
                         (3000, 0)]:
        arrays = [(random.random(size * max(1, abs(stride))) + 0.5).astype(dtype)[::stride or 1] for _ in range(inputs)]
        if stride == 0:
            arrays[-1] = numpy.broadcast_to(arrays[-1][:1], (size,))
        with change_flags(math="vector"):
            kernel = ElementwiseKernel(traced(function, inputs, dtype), [(False,)] * inputs)
        assert len(kernel.blocks.calls) <= (3 if name == "shared" else 1)
        got, = run_kernel(kernel, arrays, [(numpy.dtype(dtype).num, 1)])
        expected = function(*arrays)
        if exact:
            numpy.testing.assert_array_equal(got, expected)
        else:
            numpy.testing.assert_allclose(got, expected, rtol=16 * numpy.finfo(dtype).eps)


@pytest.mark.parametrize("cpu", ["avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_instruction_set_gives_the_same_bits(dtype, cpu):
    random = numpy.random.default_rng(4)
    for name, inputs, function, _ in arithmetic_cases():
        arguments = traced(function, inputs, dtype), [(False,)] * inputs
        with change_flags(cpu=cpu):
            kernel = ElementwiseKernel(*arguments)
        for size in (1, 70, 1000):
            arrays = [random.normal(size=size).astype(dtype) for _ in range(inputs)]
            got, wanted = (run_kernel(made, arrays, [(numpy.dtype(dtype).num, 1)])[0]
                           for made in (kernel, ElementwiseKernel(*arguments)))
            numpy.testing.assert_array_equal(got, wanted, err_msg=name)


def test_special_values_in_arithmetic():
    values = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e308, 5e-324])
    a, b = (x.ravel() for x in numpy.meshgrid(values, values))
    with numpy.errstate(all="ignore"):
        for name, inputs, function, exact in arithmetic_cases():
            kernel = ElementwiseKernel(traced(function, inputs, D), [(False,)] * inputs)
            got, = run_kernel(kernel, [a, b][:inputs], [(DOUBLE, 1)])
            expected = function(*[a, b][:inputs])
            numpy.testing.assert_array_equal(got, expected, err_msg=name)
            zero = expected == 0
            numpy.testing.assert_array_equal(numpy.signbit(got[zero]), numpy.signbit(expected[zero]), err_msg=name)


def test_a_wide_sum_is_split():
    arrays = [numpy.arange(50.0) * k for k in range(100)]
    steps = [(numpy.add, [0, 1])] + [(numpy.add, [100 + k, 2 + k]) for k in range(98)]
    numpy.testing.assert_array_equal(run(arrays, [], steps, [198])[0], sum(arrays))
    few = [array[:3] for array in arrays]
    numpy.testing.assert_array_equal(run(few, [], steps, [198])[0], sum(few))


@pytest.mark.parametrize("shapes, patterns, said", [
    (((3,), (4,)), ((False,), (False,)),
     r"Input dimension mis-match. \(input\[0\].shape\[0\] = 3, input\[1\].shape\[0\] = 4\)"),
    (((3,), (1,)), ((False,), (False,)), r"input\[0\].shape\[0\] = 3, input\[1\].shape\[0\] = 1"),
    (((2, 3), (2, 2)), ((False, True), (False, False)), r"input\[0\].shape\[1\] = 3, but it is declared broadcastable"),
])
def test_shapes_that_differ(shapes, patterns, said):
    kernel = ElementwiseKernel(ScalarCode([D, D], [], [(numpy.add, [0, 1], [D] * 3)], [2]), patterns)
    with pytest.raises(ValueError, match=said):
        run_kernel(kernel, [numpy.ones(shapes[0]), numpy.ones(shapes[1])], [(DOUBLE, len(shapes[0]))])


@pytest.mark.parametrize("arguments, error, said", [
    (([()], [(numpy.exp, [0], ["float32", "float32"])], [1]), TypeError, "requires float32, but slot 0 is"),
    (([()], [(numpy.exp, [1], [D, D])], [1]), ValueError, "slot 1"),
    (([()], [(numpy.exp, [0], [D, D])], [2]), ValueError, "slot 2 does not exist"),
    (([(), (False,)], [], [0]), ValueError, "1 dimensions"),
    (([(False,) * 65], [], [0]), ValueError, "at most 64"),
    (([()], [(numpy.add, [0], [D, D, D])], [1]), TypeError, "takes 2 operands"),
    (([()], [], []), ValueError, "at least one output"),
])
def test_bad_programs(arguments, error, said):
    with pytest.raises(error, match=said):
        patterns, steps, outputs = arguments
        ElementwiseKernel(ScalarCode([D] * len(patterns), [], steps, outputs), patterns)


def test_pickle_and_copy():
    a = numpy.arange(4.0)
    kernel = build([a], [2.0], [(numpy.multiply, [0, 1]), (numpy.sqrt, [2])], [3])
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        numpy.testing.assert_array_equal(run_kernel(other, [a], [(DOUBLE, 1)])[0], numpy.sqrt(2 * a))
