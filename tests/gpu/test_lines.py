"""Sorts, cumulative sums and selections on the device: what the table of cases does not show."""
import numpy
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.kernels.lines.sort_kernel import set_limits


def on_device(expression, *values):
    with at_device():
        variables = [phintys.shared(value, target="cuda") for value in values]
        return phintys.function([], expression(*[phintys.gpu.host_from_gpu(variable) for variable in variables]))


@pytest.mark.parametrize("limits", [(1, 2 ** 30), (1, 4097)])
def test_lines_of_many_tiles(device, order, limits):
    """They are counted before they are moved, from 2**30 elements on in words of 64 bits."""
    x = numpy.random.RandomState(3).randint(-500, 500, (2, 9000)).astype("int16")
    before = set_limits(*limits)
    try:
        sorted_, places = on_device(lambda x: [T.sort(x, 1), T.argsort(x, 1, kind="stable")], x)()
    finally:
        assert set_limits(*before) == limits
    assert numpy.array_equal(sorted_, numpy.sort(x, 1))
    assert numpy.array_equal(places, numpy.argsort(x, 1, kind="stable"))


@pytest.mark.parametrize("shape, axis", [((20000,), 0), ((3, 6000), 1), ((700, 3), 1), ((5000, 2), 0)])
def test_sums_are_added_in_one_order(device, shape, axis):
    """In each order of threads, and so in each call."""
    f = on_device(lambda x: T.cumsum(x, axis), numpy.random.RandomState(3).normal(size=shape).astype("float32"))
    found = []
    for order in ("ascending", "descending", "shuffled"):
        device.set_order(order)
        found.append(f())
    device.set_order("ascending")
    assert numpy.array_equal(found[0], found[1]) and numpy.array_equal(found[0], found[2])


def test_the_number_of_true_elements_changes_from_call_to_call(device):
    with at_device():
        values = phintys.shared(numpy.arange(12, dtype="float32").reshape(3, 4), target="cuda")
        least = T.scalar("least", dtype="float32")
        f = phintys.function([least], [values[values > least] * 2, T.gt(values, least).nonzero()[1]])
    assert all([isinstance(node.op, DeviceOp) for node in f.maker.fgraph.toposort() if "Boolean" in str(node.op)])
    for bound in (3, 3, 10, 20, -1, 3):
        found, columns = f(numpy.float32(bound))
        assert numpy.array_equal(found, numpy.arange(max(bound + 1, 0), 12, dtype="float32") * 2)
        assert numpy.array_equal(columns, numpy.arange(max(bound + 1, 0), 12) % 4)


def test_errors_of_masks_and_counts(device):
    with at_device():
        values = phintys.shared(numpy.ones((3, 4), "float32"), target="cuda")
        mask, counts = T.vector("mask", dtype="bool"), T.lvector("counts")
        masked = phintys.function([mask], values[mask] + 1)
        repeated = phintys.function([counts], T.repeat(values, counts, axis=0) + 1)
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 0"):
        masked([True, False])
    assert masked([True, False, True]).shape == (2, 4)
    with pytest.raises(ValueError, match="a number of repetitions is negative"):
        repeated([1, -1, 2])
    with pytest.raises(ValueError, match="there are 3 slices to repeat, but 2 repetition counts"):
        repeated([1, 2])
    assert repeated([0, 3, 1]).shape == (4, 4)


WORK = {
    "cumsum": lambda x, m, n: T.cumsum(x), "cumsum beside": lambda x, m, n: T.cumsum(x.reshape((5000, 4)), 0),
    "sort": lambda x, m, n: T.sort(x[:4200]), "argsort": lambda x, m, n: T.argsort(x[4200::-1], kind="stable"),
    "topk": lambda x, m, n: T.topk(x[:900].reshape((3, 300)).T, 3, axis=0), "unique rows": lambda x, m, n: T.unique(
        x[:600].reshape((200, 3)), axis=0),
    "mask": lambda x, m, n: x[::-1][m], "rows": lambda x, m, n: x.reshape((10000, 2))[m[::2]],
    "repeat": lambda x, m, n: T.repeat(x[::-1], n)}


@pytest.mark.parametrize("work", WORK)
def test_what_fails_gives_its_memory_back(device, work):
    """Without memory, at each allocation, and with each launch that fails; the next call is right."""
    if not device.is_stand_in:
        pytest.skip("only the stand-in fails when it is asked to")
    library, numbers = device.library, numpy.random.RandomState(3)
    values = numbers.randint(0, 50, 20000).astype("float32"), numbers.rand(20000) > 0.5, numbers.randint(0, 3, 20000)
    with phintys.change_flags({"gpu.graphs": False}):
        f = on_device(WORK[work], *values)
        expected = f()
        phintys.gpu.trim()
        live, failures = phintys.gpu.memory_report()["live_bytes"], 0
        try:
            for step in range(200):
                library.stand_in_set_memory(live + 4096 * step)
                phintys.gpu.trim()
                try:
                    found = f()
                except MemoryError:
                    failures += 1
                    assert phintys.gpu.memory_report()["live_bytes"] <= live
                else:
                    break
            assert failures and numpy.array_equal(found, expected)
            library.stand_in_set_memory(8 << 30)
            for launch in range(1, 100):
                library.stand_in_fail_launch(launch)
                try:
                    found = f()
                except RuntimeError:
                    assert phintys.gpu.memory_report()["live_bytes"] <= live
                else:
                    break
            assert launch > 1 and numpy.array_equal(found, expected)
        finally:
            library.stand_in_fail_launch(0)
            library.stand_in_set_memory(8 << 30)
