"""Uniform numbers of NumPy's generators on the device: NumPy's bits, in numbers and states."""
import numpy
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.runtime.nvrtc import find_nvrtc
from phintys.ops.random.generator_states import bit_generator_of, words_of

COUNTED = ("PCG64", "PCG64DXSM", "Philox")


def seeded(kind, seed=5):
    return getattr(numpy.random, kind)(seed)


def drawing(kind, shape, dtype, start=None):
    """A function that draws where an array on the device is waited for, its generator, and whether it draws there."""
    with at_device():
        there = phintys.shared(numpy.ones(shape, dtype), target="cuda")
        generator = phintys.random.Generator(seeded(kind) if start is None else start)
        numbers = generator.random(shape, ndim=len(shape), dtype=dtype)
        f = phintys.function([], numbers * there)
    nodes = [node for node in f.maker.fgraph.toposort() if "Draw" in str(node.op)]
    return f, all([isinstance(node.op, DeviceOp) for node in nodes])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", COUNTED)
def test_numbers_and_states_are_those_of_numpy(device, order, kind, dtype):
    """In several calls: those of an odd length leave halves of words and of blocks."""
    for shape in ((3, 5), (2,), (0, 4), (1031,), (7, 300)):
        f, there = drawing(kind, shape, dtype)
        assert there, f.explain()
        expected = numpy.random.Generator(seeded(kind))
        for _ in range(5):
            found = f()
            assert found.dtype == dtype and numpy.array_equal(found, expected.random(shape, dtype=dtype))
        state, = [variable for variable in f.get_shared() if variable.type.dtype == "uint64" and variable.ndim == 1]
        assert numpy.array_equal(state.get_value(), words_of(expected.bit_generator))


def test_counters_that_overflow(device):
    start = seeded("Philox")
    state = start.state
    state["state"]["counter"][:] = [2 ** 64 - 3, 2 ** 64 - 1, 2 ** 64 - 1, 7]
    start.state = state
    f, _ = drawing("Philox", (40,), "float64", start)
    expected = numpy.random.Generator(bit_generator_of(words_of(start)))
    for _ in range(3):
        assert numpy.array_equal(f(), expected.random(40))


def test_what_draws_at_the_host(device):
    """Generators whose words cannot be counted; samples that nothing on the device reads."""
    for kind in ("SFC64", "MT19937"):
        f, there = drawing(kind, (3, 5), "float32")
        assert not there
        assert numpy.array_equal(f(), numpy.random.Generator(seeded(kind)).random((3, 5), dtype="float32"))
    with at_device():
        f = phintys.function([], phintys.random.default_rng(5).random(4))
    assert not any([isinstance(node.op, DeviceOp) for node in f.maker.fgraph.toposort()])


def test_dropout_is_replayed(device):
    """The launches of each call are the same, as the state is copied to the device."""
    with at_device():
        layer, total = [phintys.shared(numpy.ones(shape, "float32")) for shape in ((20, 30), 30)]
        kept = phintys.random.default_rng(5).random(layer.shape, ndim=2, dtype="float32") < 0.5
        f = phintys.function([], [], updates=[(layer, T.switch(kept, layer, layer * 2)),
                                               (total, T.tanh(total + layer.sum(0)))])
    expected, values = numpy.random.default_rng(5), numpy.ones((20, 30), "float32")
    before = phintys.gpu.memory_report()["replayed"]
    for _ in range(8):
        f()
        values = numpy.where(expected.random((20, 30), dtype="float32") < 0.5, values, values * 2)
    assert numpy.array_equal(layer.get_value(), values)
    assert phintys.gpu.memory_report()["replayed"] > before


def test_debug_mode_and_failures(device):
    with at_device():
        there = phintys.shared(numpy.ones(6, "float32"))
        draws = phintys.random.default_rng(5).random(6, dtype="float32")
        f = phintys.function([], draws * there, mode="DebugMode")
        size = T.lvector("size")
        g = phintys.function([size], phintys.random.default_rng(5).random(size, ndim=1, dtype="float32") * there)
    assert numpy.array_equal(f(), numpy.random.default_rng(5).random(6, dtype="float32"))
    with pytest.raises(ValueError, match="size must have length 1 \\(not 2\\)|length of dimension 0 is negative"):
        g([-6])
    assert numpy.array_equal(g([6]), numpy.random.default_rng(5).random(6, dtype="float32"))


@pytest.mark.parametrize("architecture", ["sm_70", "sm_90"])
def test_real_devices_compile_it(architecture):
    from phintys.gpu.kernels.described.random import draw_source
    from phintys.gpu.runtime.compiler import OPTIONS
    nvrtc = find_nvrtc(architecture=architecture)
    if nvrtc is None or architecture not in nvrtc.architectures:
        pytest.skip(f"no NVRTC for {architecture}")
    for kind in COUNTED:
        for dtype in ("float64", "float32"):
            assert nvrtc.compile(draw_source(kind, dtype), architecture, OPTIONS)
