"""Steps on whole vectors: what is in registers after the last element is computed too, and never seen.

A step of a vector function fills its register up to the end of the last vector, and arithmetic and vector functions
that read only such registers compute as far (``Filled`` of block_code.pyx).
"""
import numpy
import pytest

import phintys
from phintys.graph.config import change_flags
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode
from phintys.ops.native.sets import usable_sets
from phintys.ops.native.special.vector_math import vector_sets
from phintys.vm.abi import run_kernel

D, F = "float64", "float32"


def like(dtype, *steps):
    return [(loop, operands, [dtype] * (len(operands) + 1)) for loop, operands in steps]


def chain(dtype):
    """tanh and arithmetic in turns, on one input (0) and the constant 0.1 (1)."""
    return like(dtype, (numpy.tanh, [0]), (numpy.add, [2, 1]), (numpy.tanh, [3]), (numpy.add, [4, 1]),
                (numpy.tanh, [5]))


# name: (dtypes of inputs, constants, steps, outputs)
PROGRAMS = {
    "a chain": ([D], [0.1], chain(D), [6]),
    "a chain of float32": ([F], [numpy.float32(0.1)], chain(F), [6]),
    "a result that is read again": ([D], [0.1], chain(D), [3, 6]),
    "an input that is read again": (
        [D], [0.1], like(D, (numpy.tanh, [0]), (numpy.add, [2, 0]), (numpy.tanh, [3]), (numpy.add, [4, 1])), [5]),
    "two functions": (
        [D, D], [], like(D, (numpy.tanh, [0]), (numpy.log1p, [1]), (numpy.multiply, [2, 3]), (numpy.tanh, [4]),
                         (numpy.add, [5, 2])), [6]),
    "a loop of NumPy's between": (
        [D], [0.1], like(D, (numpy.tanh, [0]), (numpy.floor, [2]), (numpy.add, [3, 1]), (numpy.tanh, [4])), [5]),
    "other element sizes": (
        [F], [], [(numpy.tanh, [0], [F, F]), ("cast", [1], [F, D]), (numpy.tanh, [2], [D, D]), ("cast", [3], [D, F]),
                  (numpy.add, [1, 4], [F, F, F]), (numpy.tanh, [5], [F, F])], [6]),
    "powers": (
        [D], [1.5], like(D, (numpy.tanh, [0]), (numpy.power, [2, 1]), (numpy.tanh, [3]), (numpy.square, [4]),
                         (numpy.tanh, [5])), [6]),
}


def build(name):
    dtypes, constants, steps, outputs = PROGRAMS[name]
    code = ScalarCode(dtypes, [numpy.asarray(constant) for constant in constants], steps, outputs)
    return ElementwiseKernel(code, [(False,)] * len(dtypes))


def run(name, arrays):
    results = [numpy.dtype(dtype).num for dtype in build(name).blocks.value_dtypes]
    layouts = [(number, 1) for number in results]
    got = run_kernel(build(name), arrays, layouts)
    bound = run_kernel(build(name), arrays, layouts, bound_by=[numpy.ones_like(array) for array in arrays])
    for result, again in zip(got, bound):
        assert result.tobytes() == again.tobytes()
    return got


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_length_gives_the_bits_of_single_elements(name, cpu):
    random = numpy.random.default_rng(1)
    with change_flags(cpu=cpu):
        for length in [*range(1, 35), 63, 64, 65, 1000]:
            arrays = [random.random(length).astype(dtype) for dtype in PROGRAMS[name][0]]
            got = run(name, arrays)
            single = [run(name, [array[k:k + 1].copy() for array in arrays]) for k in range(min(length, 34))]
            for number, result in enumerate(got):
                expected = numpy.concatenate([one[number] for one in single])
                assert result[:34].tobytes() == expected.tobytes(), (length, number)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
def test_nothing_is_written_after_a_result(cpu):
    """A result has no room for whole vectors: here it overwrites the first elements of a longer array."""
    x = phintys.tensor.dvector()
    with change_flags(cpu=cpu):
        tanh = phintys.tensor.tanh
        f = phintys.function([phintys.In(x, mutable=True)], phintys.Out(tanh(tanh(x) + 0.5), borrow=True))
    for length in [*range(1, 20), 63, 64, 65]:
        for _ in range(4):                              # from the third call on, the kernel is bound
            memory = numpy.full(80, 0.5)
            got = f(memory[:length])
            assert numpy.shares_memory(got, memory) and memory[0] != 0.5
            assert (memory[length:] == 0.5).all()


def test_steps_work_on_whole_vectors():
    """The first step is asked for the elements of the input, and fills its register; the last one writes a result."""
    for cpu in ("native", "avx2", "baseline"):
        with change_flags(cpu=cpu):
            if cpu == "avx2" and not usable_sets():
                continue
            width = {"avx512": 8, "avx2": 4, "neon": 2}[vector_sets()[-1]] if vector_sets() else 1
            assert build("a chain").blocks.vectors == [1, width, width, width, 1]
            assert build("an input that is read again").blocks.vectors[1:2] == [1]     # no room after the input
            assert build("a loop of NumPy's between").blocks.vectors == [1, 1, 1, 1]
