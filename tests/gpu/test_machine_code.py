"""What compilers make of kernels for a real device, where that is the point: vectors of 16 bytes, few registers, and no
local memory. Those of folds and walks are in the files about them."""
import re

import numpy
import pytest
from support_gpu import at_device, machine_code, resources
from test_steps import LAYERS

import phintys
from phintys.gpu import device_steps
from phintys.gpu.kernels.lines.sort_source import best_source, block_source, sweep_source, warp_source
from phintys.gpu.kernels.product_source import narrow_source
from phintys.gpu.kernels.rows.rows_source import PACKED, WHOLE, Variant, rows_source
from phintys.gpu.kernels.rows.softmax_source import softmax_gradient_rows, softmax_rows


def vectors(source, kernel):
    """How many loads of 16 bytes a kernel has."""
    body = re.split(rf"\.entry {kernel}\b", machine_code(source))[1].split(".entry")[0]
    return len(re.findall(r"ld\.global\.(?:nc\.|L1\S*\.)*v4\.[fub]32|ld\.global\.(?:nc\.)*v2\.[fub]64", body))


def check(source, most, loads=()):
    """No local memory, at most so many registers in each kernel, and vectors in those that are named."""
    found = {name: taken for name, taken in resources(source).items() if not name.startswith("$")}
    assert found and not [name for name, (_, local) in found.items() if local]
    assert {name: count for name, (count, _) in found.items() if count > most} == {}
    for kernel in loads:
        assert vectors(source, kernel) > 0


@pytest.mark.parametrize("dtype, each, lanes, most", [
    ("float32", 2, 0, 32), ("float32", 8, 0, 96), ("float32", 1, 32, 32), ("float64", 4, 0, 80)])
@pytest.mark.parametrize("reading", [PACKED, WHOLE])
def test_rows(dtype, each, lanes, most, reading):
    """Each element that is kept has a register, or two."""
    variant = Variant(reading, each, lanes, 256, True)
    check(rows_source(softmax_rows(dtype)[0], variant), most, ["rows"])


def test_gradient_of_rows():
    check(rows_source(softmax_gradient_rows("float32"), Variant(WHOLE, 4, 0, 256, True)), 96, ["rows"])


@pytest.mark.parametrize("dtype, columns", [("float32", 10), ("float32", 32), ("float64", 32)])
def test_narrow_products(dtype, columns):
    """128 registers, so that a multiprocessor has two blocks of 256 threads; of doubles one."""
    check(narrow_source(dtype, columns), 128 if dtype == "float32" else 255)


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_sorts(dtype, places):
    """A warp has all of a row in registers; a block of 256 threads leaves room for another one."""
    for registers in (1, 8, 32 if dtype == "float32" else 8):
        check(warp_source(dtype, places, registers), 64 + 2 * registers)
    check(block_source(dtype, places, 16), 128)
    check(sweep_source(dtype, places, 8, False, False), 128)
    check(sweep_source(dtype, places, 16, True, False), 128)
    check(best_source(dtype, "int64"), 64)


@pytest.mark.parametrize("layer, units", [("tanh", 64), ("lstm", 64), ("lstm", 256)])
def test_steps(device, layer, units, monkeypatch):
    """Weights are in registers: of an LSTM of 256 units 64 in each of 512 threads, which have 128."""
    if not device.is_stand_in:
        pytest.skip("compilers need no device")
    monkeypatch.setattr(device_steps, "_kernels", {})
    with at_device():
        x, rows, _ = LAYERS[layer](units)
        phintys.function([x], rows[-1])(numpy.ones((2, 1, 3), "float32"))
    (source, *_), = device_steps._kernels
    check(source, 128 if units == 256 else 192)
