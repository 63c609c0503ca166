"""Sources of kernels are CUDA for real devices: nvcc compiles them, where there is one."""
import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest

from phintys.gpu.kernels.elementwise_source import elementwise_source
from phintys.gpu.kernels.product_source import product_source
from phintys.gpu.kernels.reduction_source import reduction_source
from phintys.gpu.kernels.scalar_source import EXPRESSIONS, NoSource, step_text
from phintys.gpu.kernels.softmax_source import softmax_source

ARCHITECTURES = ("sm_75", "sm_90")


def real_nvcc():
    """nvcc of a toolkit; the stand-in, which is in a folder of the cache, is none."""
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if "stand_in" not in folder]
    return shutil.which("nvcc", path=os.pathsep.join(folders))


def every_loop():
    """Steps with each loop that has text for float32 and for int32."""
    steps, outputs = [], []
    for dtype, slot in (("float32", 0), ("int32", 1)):
        for name in EXPRESSIONS:
            for count in (1, 2, 3):
                operands, dtypes = (slot,) * count, (dtype,) * (count + 1)
                try:
                    text = step_text(name, [f"s{slot}"] * count, dtypes)
                except (NoSource, IndexError):
                    continue
                if f"s{slot}" in text and name not in ("switch",):
                    steps.append((name, operands, dtypes))
                    outputs.append(1 + len(steps))
                    break
    return elementwise_source([("float32", (False,)), ("int32", (False,))], [], steps, outputs, [False, False])


def sources():
    pair = [("float32", (False, False)), ("float16", (True, False))]
    product = [("cast", (1,), ("float16", "float32")), (numpy.multiply, (0, 2), ("float32",) * 3)]
    yield "every loop", every_loop()
    yield "elementwise", elementwise_source(pair, [], product, [3], [False, True])
    zero = numpy.zeros((), "float32")
    for name, loop, identity in (("sum", numpy.add, zero), ("maximum", numpy.maximum, None)):
        yield name, reduction_source(pair, [], product, 3, loop, zero.dtype, zero.dtype, [False, False], identity, True)
    for dtype in ("float32", "float64", "int64"):
        yield f"product of {dtype}", product_source(dtype)
    yield "softmax", softmax_source("float32", "uint8")


@pytest.mark.skipif(real_nvcc() is None, reason="there is no nvcc")
@pytest.mark.parametrize("name, source", list(sources()), ids=[name for name, _ in sources()])
def test_nvcc_compiles(tmp_path, name, source):
    (tmp_path / "kernel.cu").write_text(source)
    for architecture in ARCHITECTURES:
        done = subprocess.run([real_nvcc(), "-std=c++17", "--cubin", "-arch", architecture, "kernel.cu"], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        assert Path(tmp_path, "kernel.cubin").stat().st_size


@pytest.mark.skipif(real_nvcc() is None, reason="there is no nvcc")
def test_nvcc_compiles_copies(device, tmp_path):
    from phintys.gpu.runtime.copies import source
    (tmp_path / "kernel.cu").write_text(source())
    subprocess.run([real_nvcc(), "--cubin", "-arch", ARCHITECTURES[-1], "kernel.cu"], cwd=tmp_path, check=True)
