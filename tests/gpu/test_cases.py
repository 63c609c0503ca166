"""Each case of the table gives the same on the device as on the host, and does run there; and NVRTC compiles the
kernels that it needs for a real device."""
import hashlib
import re
from pathlib import Path

import cases
import numpy
import pytest
from support_gpu import ARCHITECTURES, assert_close, at_device, in_turn, quick

import phintys
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.runtime import compiler
from phintys.gpu.runtime.nvrtc import find_nvrtc
from phintys.gpu.transfers import GpuConstantValue, GpuFromHost, HostFromGpu
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.shape.shape import Shape_i

TOLERANCES = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-12, "complex64": 1e-4, "complex128": 1e-6}


def compiled(expression, values, target):
    variables = [phintys.shared(value, target=target) for value in values]
    results = expression(*[variable if target == "cpu" else phintys.gpu.host_from_gpu(variable)
                           for variable in variables])
    return phintys.function([], results)


def at_host(function):
    """The nodes that read the elements of arrays on the host although something is on the device."""
    return [node for node in function.maker.fgraph.toposort()
            if not isinstance(node.op, (DeviceOp, GpuFromHost, HostFromGpu, GpuConstantValue, Shape_i, EqualLengths))
            and any([getattr(variable.type, "ndim", 0) for variable in node.inputs])]


EACH_CASE = pytest.mark.parametrize("case", cases.CASES, ids=[case[0] for case in cases.CASES])


@pytest.fixture
def sources(device, monkeypatch):
    """What is compiled for the device in a test, also if other tests have compiled it before."""
    monkeypatch.setattr(compiler, "_compiled", found := {})
    return found


@EACH_CASE
def test_case(device, sources, case):
    check(case, device)
    for source, _ in sources if device.is_stand_in else ():
        compile_for_a_device(source, [in_turn(source)])


@pytest.mark.long
@EACH_CASE
def test_case_for_each_architecture(device, sources, case):
    with at_device():
        compiled(case[1], case[2:], "cuda")()
    for source, _ in sources:
        compile_for_a_device(source, ARCHITECTURES)


KERNEL = re.compile(r'extern "C" __global__ void (?:__\w+__\([^()]*\) )*(\w+)\(')
assembled = set()               # the kernels' names and the architecture of each source that became machine code


def compile_for_a_device(source, architectures):
    """Compile a source by NVRTC for kinds of devices, where it is installed, unless this has been done on this
    machine: to machine code if no source with kernels of the same names was, else to PTX, which takes a third."""
    for architecture in architectures:
        nvrtc = find_nvrtc(architecture=architecture)
        if nvrtc is None or architecture not in nvrtc.architectures:
            continue
        kind = (*KERNEL.findall(source), architecture)
        target = architecture.replace("sm", "compute") if kind in assembled else architecture
        digest = hashlib.sha256(f"{nvrtc.version} {target} {source}".encode()).hexdigest()
        done = Path(phintys.config.gpu.cache, f"{digest}.nvrtc")
        assembled.add(kind)
        if not done.exists():
            assert nvrtc.compile(source, target, quick(nvrtc))
            done.parent.mkdir(parents=True, exist_ok=True)
            done.touch()


def check(case, device):
    """The same at both places, in three calls; and with the threads of a block in each order."""
    _, expression, *values = case
    expected = compiled(expression, values, "cpu")()
    with at_device():
        function = compiled(expression, values, "cuda")
    assert not at_host(function), function.explain()
    try:
        for order in ("shuffled", "descending", *["ascending"] * 3):        # from the third call on, kernels are bound
            device.set_order(order)
            found = function()
            pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
            for mine, theirs in pairs:
                tolerance = TOLERANCES.get(numpy.asarray(theirs).dtype.name, 0)
                assert_close(mine, theirs, rtol=tolerance, atol=tolerance)
    finally:
        device.set_order("ascending")


PRODUCTS = [case for case in cases.CASES if any([word in case[0] for word in ("dot", "gemm", "scaled", "batched")])]


@pytest.mark.parametrize("case", PRODUCTS, ids=[case[0] for case in PRODUCTS])
def test_products_without_cublas(device, case):
    with phintys.change_flags({"gpu.cublas": False}):
        check(case, device)


@pytest.mark.parametrize("graphs", [True, False])
def test_tf32_only_when_asked(device, graphs):
    """Of each product by itself, by the option when it is called; float64 never."""
    if not device.is_stand_in:
        pytest.skip("only the stand-in counts")

    def counts():
        phintys.gpu.wait()
        return device.cublas.stand_in_products(), device.cublas.stand_in_products_in_tf32()

    def counted(function, tf32):
        before = counts()
        with phintys.change_flags({"gpu.tf32": tf32}):
            function()
        return tuple([now - then for now, then in zip(counts(), before)])

    assert phintys.config.gpu.tf32 is False
    with phintys.change_flags({"gpu.graphs": graphs}):
        single, double = [phintys.shared(numpy.eye(40, dtype=dtype), target="cuda")
                          for dtype in ("float32", "float64")]
        functions = [phintys.function([], [], updates=[(w, phintys.tensor.dot(w, w.T))]) for w in (single, double)]
        assert [counted(function, False) for function in functions] == [(1, 0), (1, 0)]
        assert [counted(function, True) for function in functions] == [(1, 1), (1, 0)]
        assert counted(functions[0], False) == (1, 0)
        assert counted(functions[1], False)[1] == 0         # replayed, perhaps


CHECKED = ("switch", "boolean masks", "batch normalization of images", "advanced indices", "add at positions",
           "gradients of pool", "gradients of convolution", "sort", "diagonals", "complex", "set a part")


@pytest.mark.parametrize("case", [case for case in cases.CASES if case[0] in CHECKED], ids=lambda case: case[0])
def test_debug_mode_compares_places(device, case):
    _, expression, *values = case
    with at_device():
        variables = [phintys.shared(value, target="cuda") for value in values]
        results = expression(*[phintys.gpu.host_from_gpu(variable) for variable in variables])
        phintys.function([], results, mode="DebugMode")()
