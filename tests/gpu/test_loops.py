"""Every loop that has text for the device, in each dtype, gives what the processor's loop gives: also for zeros of both
signs, infinities and NaN."""
import numpy
import pytest

import phintys
from phintys.gpu.kernels.scalar_source import NAMES, NoSource, step_text
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.scalar_code import ScalarCode, ufunc_named
from phintys.ops.native.loops import OWN_LOOPS, find_loop
from phintys.vm.abi import run_kernel
from phintys.vm.places import DEVICE

SCIPY = {"erf", "erfc", "expit", "log_expit", "gammaln", "xlogy", "xlog1py"}
FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "bool", "int8", "uint8", "int32", "int64", "uint64")
TOLERANCES = {"float16": 2e-3, "float32": 3e-6, "float64": 1e-13}
# What C or CUDA's functions leave open, and other differences: (loop, dtype).
SKIPPED = {("power", "float16")}


def loop_of(name):
    return name if name in OWN_LOOPS else ufunc_named(f"scipy.special:{name}" if name in SCIPY else name)


def steps_for(dtype):
    """Steps over three inputs of a dtype (the last is bool), one for each loop that both sides have."""
    found = []
    for name in NAMES:
        if (name, dtype) in SKIPPED or name == "cast":
            continue
        for operands in ((0,), (0, 1), (0, 1, 0), (2, 0, 1)):
            dtypes = tuple([("bool" if slot == 2 else dtype) for slot in operands])
            for result in dict.fromkeys([dtype, "bool"]):
                try:
                    find_loop(loop_of(name), (*dtypes, result))
                    step_text(name, [f"s{slot}" for slot in operands], (*dtypes, result))
                except (TypeError, NoSource, IndexError, AttributeError):
                    continue
                found.append((loop_of(name), operands, (*dtypes, result)))
    return found


def casts_from(dtype):
    return [("cast", (0,), (dtype, other)) for other in DTYPES if other != dtype]


def operands_of(dtype):
    """Pairs of numbers, special ones in all combinations, and a condition."""
    random = numpy.random.RandomState(3)
    if dtype in FLOATS:
        special = numpy.array([0.0, -0.0, 1, -1, 2, 0.5, -2.5, 7.5, numpy.inf, -numpy.inf, numpy.nan], dtype)
        more = random.uniform(-3, 3, 40).astype(dtype)
    elif dtype == "bool":
        special = more = numpy.array([True, False])
    else:
        limits = numpy.iinfo(dtype)
        special = numpy.array([0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1], dtype)
        more = random.randint(max(limits.min, -100), min(limits.max, 100), 40).astype(dtype)
    x, y = [part.ravel() for part in numpy.meshgrid(special, special)]
    x, y = numpy.concatenate([x, more]), numpy.concatenate([y, more[::-1]])
    return x, y, numpy.arange(len(x)) % 3 == 0


def compare(dtypes, steps, values):
    from phintys.gpu.kernels.elementwise_kernel import GpuElementwiseKernel
    for first in range(0, len(steps), 20):
        chosen = steps[first:first + 20]
        outputs = [len(dtypes) + number for number in range(len(chosen))]
        arguments = ScalarCode(dtypes, [], chosen, outputs), [(False,)] * len(dtypes)
        layouts = [(numpy.dtype(signature[-1]).num, 1) for _, _, signature in chosen]
        with numpy.errstate(all="ignore"):
            expected = run_kernel(ElementwiseKernel(*arguments), values, layouts)
        found = run_kernel(GpuElementwiseKernel(*arguments, [False] * len(dtypes)),
                           [at_device(value) for value in values], [(*layout, DEVICE) for layout in layouts])
        for (loop, _, signature), mine, theirs in zip(chosen, found, expected, strict=True):
            tolerance = TOLERANCES.get(signature[-1], 0)
            numpy.testing.assert_allclose(mine.get(), theirs, rtol=tolerance, atol=tolerance,
                                          err_msg=f"{loop} {signature}")


def at_device(value):
    import pycuda.gpuarray
    return pycuda.gpuarray.to_gpu(value)


@pytest.fixture
def there(device):
    phintys.gpu.use(move_shared_to_gpu=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_loops(there, dtype):
    values = operands_of(dtype)
    steps = steps_for(dtype)
    assert len(steps) > 15
    compare([dtype, dtype, "bool"], steps, values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts(there, dtype):
    """Of numbers that the other dtype has: C leaves the others open."""
    value = numpy.array([0, 1, 2, 3, 77, 100]).astype(dtype)
    if dtype in FLOATS:
        value = value + numpy.array(0.25, dtype)
    compare([dtype], casts_from(dtype), [value])
