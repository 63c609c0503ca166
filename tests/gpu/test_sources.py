"""Sources of kernels are CUDA for real devices: NVRTC compiles them, with no device at hand; nvcc one of them."""
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy
import pytest
from support_gpu import ARCHITECTURES, in_turn, quick

import phintys
from phintys.gpu.kernels.elementwise_source import elementwise_walk
from phintys.gpu.kernels.product_source import narrow_source, product_source, with_sums
from phintys.gpu.kernels.reduction_source import KERNELS, arg_source, reduction_source, vector_product_source
from phintys.gpu.kernels.rows.rows_source import PACKED, Variant, rows_source
from phintys.gpu.kernels.rows.softmax_source import softmax_rows
from phintys.gpu.kernels.scalar_source import NAMES, NoSource, step_text
from phintys.gpu.runtime import compiler
from phintys.gpu.runtime import nvrtc as nvrtc_module
from phintys.gpu.runtime.compiler import OPTIONS, ways_for
from phintys.gpu.runtime.copies import DTYPES, copy_walk
from phintys.gpu.runtime.nvrtc import Refused, find_nvrtc
from phintys.ops.elementwise.scalar_code import ScalarCode


def real_nvcc():
    """nvcc of a toolkit; the stand-in, which is in a folder of the cache, is none."""
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if "stand_in" not in folder]
    return shutil.which("nvcc", path=os.pathsep.join(folders))


def every_loop():
    """Steps with each loop that has text for float32 and for int32."""
    steps, outputs = [], []
    for dtype, slot in (("float32", 0), ("int32", 1)):
        for name in NAMES:
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
    return elementwise_walk(ScalarCode(["float32", "int32"], [], steps, outputs), [(False,)] * 2, [False, False]).rows()


def sources():
    product = ScalarCode(["float32", "float16"], [], [("cast", (1,), ("float16", "float32")),
                                                      (numpy.multiply, (0, 2), ("float32",) * 3)], [3])
    yield "every loop", every_loop()
    walk = elementwise_walk(product, [(False, False), (True, False)], [False, True])
    yield from zip(("elementwise", "elementwise, counted", "elementwise, tiles"), walk.sources(), strict=True)
    zero = numpy.zeros((), "float32")
    for name, loop, identity in (("sum", numpy.add, zero), ("maximum", numpy.maximum, None)):
        source = reduction_source(product, [(False, False)] * 2, (1,), loop, zero.dtype, zero.dtype, [False, False],
                                  identity, True)
        yield from [(f"{name}, {kernel}", source.text(kernel)) for kernel in KERNELS]
    for dtype in ("float32", "float64", "int64"):
        yield f"product of {dtype}", product_source(dtype)
        yield f"matrix by vector of {dtype}", vector_product_source(dtype).text("columns")
    for dtype, columns in (("float32", 1), ("float32", 10), ("float64", 32)):
        yield f"narrow product of {dtype}, {columns} columns", narrow_source(dtype, columns)
    for dtype, label in (("float32", "int32"), ("float64", "uint8")):
        yield f"gradient of a classifier of {dtype}", narrow_source(dtype, 10, None, label)
    yield "narrow product with sums", narrow_source("float32", 10, with_sums(product, 0, [False, True]))
    yield "softmax", rows_source(softmax_rows("float32", label="uint8")[0], Variant(PACKED, 2, 0, 256, True))
    yield from [(f"argmax, {kernel}", arg_source("float32", 3, "argmax").text(kernel)) for kernel in KERNELS]
    for dtype in DTYPES:
        yield from zip((f"copies of {dtype}", f"copies of {dtype}, counted", f"copies of {dtype}, tiles"),
                       copy_walk(dtype).sources(), strict=True)


@pytest.fixture(scope="module")
def nvrtc():
    """NVRTC, of the package or a toolkit; it needs no GPU."""
    found = find_nvrtc()
    if found is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    return found


SOURCES = dict(sources())


@pytest.mark.parametrize("name", SOURCES)
def test_nvrtc_compiles(nvrtc, name):
    compile_for(in_turn(SOURCES[name]), SOURCES[name], quick)


@pytest.mark.long
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", SOURCES)
def test_nvrtc_compiles_for_each(nvrtc, name, architecture):
    compile_for(architecture, SOURCES[name])


def compile_for(architecture, source, options=lambda library: OPTIONS):
    library = find_nvrtc(architecture=architecture)
    if architecture not in library.architectures:
        pytest.skip(f"{library.version} does not know {architecture}: pip install nvidia-cuda-nvrtc-cu12")
    assert library.compile(source, architecture, options(library)).startswith(b"\177ELF")


def test_the_library_that_knows_the_device_is_chosen(nvrtc, monkeypatch):
    new = SimpleNamespace(version="new", architectures=("sm_75", "sm_90", "sm_120"))
    old = SimpleNamespace(version="old", architectures=("sm_50", "sm_70", "sm_90"))
    monkeypatch.setattr(nvrtc_module, "installed", lambda path="": (new, old))
    chosen = [find_nvrtc(architecture=name) for name in ("sm_120", "sm_90", "sm_70", "sm_20", None)]
    assert chosen == [new, new, old, new, new]
    monkeypatch.setattr(nvrtc_module, "installed", lambda path="": ())
    assert find_nvrtc() is None and find_nvrtc(architecture="sm_90") is None


def test_what_nvrtc_refuses(nvrtc):
    with pytest.raises(Refused, match='identifier "y" is undefined'):
        nvrtc.compile("__global__ void f(float* x) { *x = y; }", "sm_90")
    with pytest.raises(Refused, match="gpu-architecture"):
        nvrtc.compile("__global__ void f() {}", "sm_12")


def test_which_compilers_are_tried(nvrtc, monkeypatch):
    with phintys.change_flags({"gpu.compiler": "auto"}):
        assert ways_for("sm_90")[0][0] == nvrtc.version
    new = SimpleNamespace(version="new", architectures=("sm_75", "sm_90", "sm_120"))
    old = SimpleNamespace(version="old", architectures=("sm_50", "sm_70", "sm_90"))
    for library in (new, old):
        library.nearest = partial(type(nvrtc).nearest, library)
    monkeypatch.setattr(compiler, "installed", lambda: (new, old))
    with phintys.change_flags({"gpu.compiler": "nvrtc"}):
        assert [[version for version, _ in ways_for(name)] for name in ("sm_90", "sm_70", "sm_103", "sm_130")] == [
            ["new", "old", "new, compute_90", "old, compute_90"], ["old", "old, compute_70"],
            ["new, compute_90", "old, compute_90"], ["new, compute_120", "old, compute_90"]]
        with pytest.raises(RuntimeError, match="compiles for sm_.*, and not for sm_20: install another version"):
            ways_for("sm_20")
        monkeypatch.setattr(compiler, "installed", lambda: ())
        with pytest.raises(RuntimeError, match="NVRTC is not found: pip install nvidia-cuda-nvrtc"):
            ways_for("sm_90")


def test_ptx_for_devices_that_nvrtc_does_not_know(nvrtc):
    """The driver makes code of it; here only the text can be looked at."""
    version, compile_it = ways_for_nvrtc("sm_999")[0]
    text = compile_it('extern "C" __global__ void half(float* x) { x[threadIdx.x] /= 2; }', "sm_999")
    newest = nvrtc.architectures[-1].removeprefix("sm_")
    assert version == f"{nvrtc.version}, compute_{newest}"
    assert f".target sm_{newest}".encode() in text and b".entry half" in text and text.endswith(b"\0")


def ways_for_nvrtc(architecture):
    with phintys.change_flags({"gpu.compiler": "nvrtc"}):
        return ways_for(architecture)


def test_the_next_way_is_tried_when_the_driver_refuses_a_module(device, monkeypatch, tmp_path):
    """What a version made that the driver has refused once is not asked for again; the last way is taken in any case,
    and what it makes fails where it is loaded."""
    phintys.gpu.use(move_shared_to_gpu=False)
    asked = []

    def made(version, image):
        def compile_it(source, architecture):
            asked.append(version)
            return image(source, architecture)
        return version, compile_it
    (_, real), *_ = ways_for(phintys.gpu.the_device().architecture)
    ways = [made("broken", lambda *_: b"no module"), made("good", real), made("never", real)]
    monkeypatch.setattr(compiler, "ways_for", lambda architecture: ways)
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(compiler, "_accepted", set())
    monkeypatch.setattr(compiler, "_refused", set())
    text = 'extern "C" __global__ void {}(float* x) {{ x[threadIdx.x] /= 2; }}'
    with phintys.change_flags({"gpu.cache": str(tmp_path)}):
        for name in ("one", "two"):
            assert compiler.accepts(compiler.compiled(text.format(name)))
        assert asked == ["broken", "good", "good"]
        ways[:] = ways[:1]
        assert compiler.compiled(text.format("three")) == b"no module"


def test_a_source_is_compiled_once_and_kept_on_disk(nvrtc, tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "the_device", lambda: SimpleNamespace(architecture="sm_90"))
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(compiler, "accepts", lambda image: True)
    source = 'extern "C" __global__ void half(float* x) { x[threadIdx.x] /= 2; }'
    with phintys.change_flags({"gpu.compiler": "nvrtc", "gpu.cache": str(tmp_path)}):
        image = compiler.compiled(source)
        file, = tmp_path.iterdir()
        assert file.read_bytes() == image and compiler.compiled(source) is image
        compiler._compiled.clear()
        monkeypatch.setattr(type(nvrtc), "compile", None)       # another process: it reads the file
        assert compiler.compiled(source) == image


@pytest.mark.skipif(real_nvcc() is None, reason="there is no nvcc")
def test_nvcc_compiles(tmp_path):
    name, source = next(pair for pair in sources() if pair[0] == "elementwise")
    (tmp_path / "kernel.cu").write_text(source)
    done = subprocess.run([real_nvcc(), "-std=c++17", "--cubin", "-arch", "sm_90", "kernel.cu"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert Path(tmp_path, "kernel.cubin").stat().st_size


def test_what_a_call_will_need_is_compiled_in_threads(device, monkeypatch):
    """Once for each source; errors are raised where the module is needed."""
    phintys.gpu.use(move_shared_to_gpu=False)
    asked = []

    def made(source, architecture):
        asked.append(source)
        if source == "bad":
            raise RuntimeError("refused")
        return source.encode()
    monkeypatch.setattr(compiler, "_from_disk", made)
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(compiler, "_begun", {})
    monkeypatch.setattr(compiler, "installed", lambda: ("a library",))
    with phintys.change_flags({"gpu.compiler": "auto"}):
        for source in ("one", "two", "one", "bad"):
            compiler.begin(source)
    assert compiler.compiled("two") == b"two" and compiler.compiled("one") == b"one" and compiler.compiled("one")
    with pytest.raises(RuntimeError, match="refused"):
        compiler.compiled("bad")
    assert sorted(asked) == ["bad", "one", "two"]
