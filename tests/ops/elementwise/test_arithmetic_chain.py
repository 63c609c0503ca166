"""Chains, whose values stay in registers, against NumPy and against the same tree run one instruction at a time."""
import numpy
import pytest
from traced_formulas import traced

from phintys.graph.config import change_flags
from phintys.ops.elementwise import arithmetic_tree
from phintys.ops.elementwise.arithmetic_chain import chained, most_read
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.vm.abi import run_kernel

SETS = ["native", "avx2", "baseline"]
DTYPES = ["float32", "float64"]
CONSTANTS = [1.0, -1.0, 2.0, 0.5, -0.3, 1.7]
SHORT = 4                               # elements; fewer than any tile has, so that no chain runs


def polynomial(a, b, c):
    return 1 + a * (2 + a * (0.3 + b * (4 - a * c)))


def powers(a, b):
    return (2 * a + b ** 10) * (a - b ** 3 * a) + (a * b - 1) ** 5 - ((a + b) ** 4 + b)


# Each has instructions between which a value stays in registers or is kept.
FORMULAS = [
    (2, lambda a, b: (a - b) * (a + b) / (1 + a * a) + 3 * a - b / 2 + a * b * (a - 2)),
    (3, polynomial),
    (2, lambda a, b: a * a + b * b + 2 * a * b),
    (2, lambda a, b: a * a + 0.3 * a * b + b * b),
    (2, lambda a, b: a * a + b * b - 0.7 * b * a),
    (2, lambda a, b: a * a + 0.3 * b * a + b * b),
    (2, lambda a, b: (a * a + b * b) - (a * b)),
    (2, lambda a, b: (a - b) * (a - b) + (a + b) * (a + b)),
    (3, lambda a, b, c: (a - c) ** 2 / (2 * b ** 2) + 0.5),
    (3, lambda a, b, c: c / (a + b) - (a - b) / c),
    (1, lambda a: 1 / (1 + a) - 2 / (3 + a)),
    (3, lambda a, b, c: ((a + b) * (b + c)) / ((c + a) * (1 - a * b))),
    (3, lambda a, b, c: (a * a + b * b + 2 * a * b) * c),
    (3, lambda a, b, c: (a * a + 0.3 * a * b + b * b) / c),
    (3, lambda a, b, c: (a * a - b * b) * c - (3 * a - b) * (a * b - c)),
    (3, lambda a, b, c: (2 / a + (a + b) / 3) * c - (a - c) * b * 0.3 * (a + c)),
    (3, lambda a, b, c: (a - b) * c * 0.7 + (a * b * 2 - (a + b) * c * 3) - (b - 2 / (a + c)) / b),
    (3, lambda a, b, c: 0.3 * ((a - b) * c) + (3 * a) * (b + c) - 1 / (a * b - 2 * (a + b))),
]


def random_formula(random):
    """(number of inputs, function): a random tree of ten operations; none is a power above 2, so NumPy is exact."""
    inputs = int(random.integers(1, 5))
    plan = [(int(random.integers(9)), random.random(2), float(random.choice(CONSTANTS))) for _ in range(10)]

    def function(*arrays):
        values = list(arrays)
        for kind, picks, constant in plan:
            x = values.pop(int(picks[0] * len(values))) if len(values) > inputs else values[int(picks[0] * len(values))]
            y = values[int(picks[1] * len(values))] if values else x
            values.append((lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y, lambda: x + constant,
                           lambda: constant * x, lambda: constant - x, lambda: x * x, lambda: -x)[kind]())
        total = values[-1]
        for value in values[-3:-1]:
            total = total + value
        return total

    return inputs, function


def kernel_of(inputs, function, dtype):
    return ElementwiseKernel(traced(function, inputs, dtype), [(False,)] * inputs)


def run(kernel, arrays, **options):
    return run_kernel(kernel, arrays, [(arrays[0].dtype.num, 1)], **options)[0]


def in_short_pieces(kernel, arrays):
    """The result with all instructions run over a few elements at a time."""
    size = len(arrays[0])
    pieces = [run(kernel, [array[start:start + SHORT] for array in arrays]) for start in range(0, size, SHORT)]
    return numpy.concatenate(pieces) if pieces else numpy.empty(0, arrays[0].dtype)


def assert_same_bits(got, expected, message=""):
    """NaN equals NaN: which operand's NaN an operation returns is not defined."""
    numpy.testing.assert_array_equal(got, expected, err_msg=message)
    numbers = ~numpy.isnan(expected)
    numpy.testing.assert_array_equal(numpy.signbit(got[numbers]), numpy.signbit(expected[numbers]), err_msg=message)


@pytest.mark.parametrize("cpu", SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_formulas(dtype, cpu):
    random = numpy.random.default_rng(1)
    for number, (inputs, function) in enumerate(FORMULAS):
        with change_flags(cpu=cpu):
            kernel = kernel_of(inputs, function, dtype)
        assert len(kernel.blocks.calls) <= 5
        arrays = [random.normal(size=1001).astype(dtype) for _ in range(inputs)]
        assert_same_bits(run(kernel, arrays), function(*arrays), f"formula {number}")


def test_the_formulas_use_every_link(monkeypatch):
    used, there = set(), set()

    def recorded(code, number, known):
        links, slots = chained(code, number, known)
        used.update(link[:2] for link in links)
        there.update(known)
        return links, slots

    monkeypatch.setattr(arithmetic_tree, "chained", recorded)
    with change_flags(math="vector"):
        for inputs, function in [*FORMULAS, (2, powers)]:
            kernel_of(inputs, function, "float64")
    random = numpy.random.default_rng(7)
    for _ in range(200):
        kernel_of(*random_formula(random), "float64")
    assert used == there


@pytest.mark.parametrize("cpu", SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_formulas(dtype, cpu):
    random = numpy.random.default_rng([2, SETS.index(cpu), DTYPES.index(dtype)])
    with numpy.errstate(all="ignore"):
        for number in range(60):
            inputs, function = random_formula(random)
            with change_flags(cpu=cpu):
                kernel = kernel_of(inputs, function, dtype)
            arrays = [random.normal(size=300).astype(dtype) for _ in range(inputs)]
            got = run(kernel, arrays)
            assert_same_bits(got, function(*arrays), f"formula {number}")
            assert_same_bits(got, in_short_pieces(kernel, arrays), f"formula {number} in pieces")


@pytest.mark.parametrize("cpu", SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length(dtype, cpu):
    """Also of powers above 2, which are not NumPy's bits, but the same in a chain and out of it."""
    random = numpy.random.default_rng(3)
    with change_flags(cpu=cpu):
        kernel = kernel_of(2, powers, dtype)
    arrays = [random.normal(size=400).astype(dtype) for _ in range(2)]
    expected = in_short_pieces(kernel, arrays)
    for size in range(400):
        assert_same_bits(run(kernel, [array[:size] for array in arrays]), expected[:size], f"{size} elements")
        assert_same_bits(run(kernel, [array[size:] for array in arrays]), expected[size:], f"from element {size}")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(dtype, workers):
    random = numpy.random.default_rng(4)
    kernel = kernel_of(3, polynomial, dtype)
    for size in (70, 1000, 30000):
        whole = random.normal(size=3 * size + 1).astype(dtype)
        layouts = [whole[:size], whole[1:2 * size + 1:2], whole[size::-1][:size], whole[2::3][:size],
                   numpy.broadcast_to(whole[5], (size,))]
        for first in layouts:
            for second in layouts:
                for third in layouts[::2]:
                    arrays = [first, second, third]
                    assert_same_bits(run(kernel, arrays, workers=workers), polynomial(*arrays))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_alignment(dtype):
    """The elements before the first that is aligned do not go through the chain."""
    random = numpy.random.default_rng(8)
    kernel = kernel_of(3, polynomial, dtype)
    arrays = [random.normal(size=1100).astype(dtype) for _ in range(3)]
    expected = polynomial(*arrays)
    for start in range(17):
        for other in (0, start, 5):
            parts = [arrays[0][start:start + 1040], arrays[1][other:other + 1040], arrays[2][start:start + 1040]]
            assert_same_bits(run(kernel, parts), polynomial(*parts), f"{start}, {other}")
    assert_same_bits(run(kernel, arrays), expected)


@pytest.mark.parametrize("cpu", SETS)
def test_in_place(cpu):
    """The result takes an input's memory, which later links of the same tile still read."""
    random = numpy.random.default_rng(5)
    with change_flags(cpu=cpu):
        kernel = kernel_of(3, polynomial, "float64")
    for size in (64, 100, 5000):
        for donor in range(3):
            arrays = [random.normal(size=size) for _ in range(3)]
            assert_same_bits(run(kernel, arrays, donors={0: donor}), polynomial(*arrays))


def test_special_values():
    values = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e308, 5e-324, 1.0, -1.5])
    a, b = (x.ravel() for x in numpy.meshgrid(values, values))
    with numpy.errstate(all="ignore"):
        for number, (inputs, function) in enumerate(FORMULAS):
            arrays = [a, b, a[::-1].copy()][:inputs]
            got, expected = run(kernel_of(inputs, function, "float64"), arrays), function(*arrays)
            numpy.testing.assert_array_equal(got, expected, err_msg=f"formula {number}")


def test_many_inputs_and_slots():
    """A balanced tree keeps one value for each of its levels."""
    def balanced(*arrays):
        while len(arrays) > 1:
            arrays = [x * y + 0.5 for x, y in zip(arrays[::2], arrays[1::2])]
        return arrays[0]

    random = numpy.random.default_rng(6)
    arrays = [random.normal(size=700) for _ in range(16)]
    assert_same_bits(run(kernel_of(16, balanced, "float64"), arrays), balanced(*arrays))


def test_links_of_a_tree():
    known = {("add", "0"), ("scale_add", "1"), ("square", "0")}
    code = [("square", -1, (7,), ()), ("scale_add", -2, (8, -1), (3.0,)), ("add", -3, (9, -2), ())]
    assert chained(code, {7: 0, 8: 1, 9: 2}, known) == (
        [("square", "n", (0,), ()), ("scale_add", "1", (1, 3), (3.0,)), ("add", "0", (3, 2), ()),
         ("store", "0", (3,), ())], 0)


def test_a_value_is_kept_for_links_that_come_later_or_read_it_twice():
    known = {("add", "0"), ("square", "0")}
    code = [("square", -1, (7,), ()), ("square", -2, (8,), ()), ("add", -3, (-1, -2), ()), ("add", -4, (-3, -3), ())]
    assert chained(code, {7: 0, 8: 1}, known) == (
        [("square", "n", (0,), ()), ("keep", "0", (2,), ()), ("square", "n", (1,), ()), ("add", "0", (2, 2), ()),
         ("keep", "0", (2,), ()), ("add", "n", (2, 2), ()), ("store", "0", (3,), ())], 1)


def test_the_input_that_is_read_most_often():
    links = [("square", "n", (1,), ()), ("multiply_add", "2", (1, 0, 2), ()), ("keep", "0", (2,), ()),
             ("add", "0", (0, 2), ()), ("store", "0", (3,), ())]
    assert most_read(links, 2) == 1
    assert most_read(links[2:], 2) == -1
    assert most_read([], 2) == -1
