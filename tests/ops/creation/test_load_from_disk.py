"""Arrays that are read from files when a function runs."""
import numpy
import pytest

import phintys
import phintys.tensor as T


@pytest.fixture
def file(tmp_path):
    path = str(tmp_path / "array.npy")
    numpy.save(path, numpy.arange(6, dtype="int32").reshape(1, 6))
    return path


@pytest.mark.parametrize("mmap_mode", [None, "c"])
@pytest.mark.parametrize("mode", [None, "DebugMode"])
def test_load(file, mmap_mode, mode):
    path = phintys.Variable(phintys.generic)
    x = T.load(path, "int32", (True, False), mmap_mode)
    f = phintys.function([path], [x + 1, x], mode=mode)
    more, plain = f(file)
    assert numpy.array_equal(more, [[1, 2, 3, 4, 5, 6]]) and plain.dtype == "int32"
    plain[:] = 0
    assert numpy.array_equal(f(file)[1], [range(6)])


def test_the_file_is_read_each_time(file):
    f = phintys.function([], T.load(file, "int32", (False, False)) * 2)
    assert f().sum() == 30
    numpy.save(file, numpy.ones((2, 2), "int32"))
    assert f().sum() == 8


@pytest.mark.parametrize("size", [5, 100_000])
def test_a_mapped_file_is_neither_read_nor_copied(tmp_path, size):
    path, values = str(tmp_path / "large.npy"), numpy.arange(size)
    numpy.save(path, values)
    x = T.load(path, "int64", (False,), "c")
    mapped = phintys.function([], x)()
    assert type(mapped) is numpy.memmap and not mapped.flags.owndata
    numpy.testing.assert_array_equal(mapped, values)
    part = phintys.function([], x[2:4])
    assert part().tolist() == [2, 3] and type(part()) is numpy.ndarray
    mapped[:] = 0
    f = phintys.function([], [(x + 1) ** 2, x])
    for _ in range(2):
        total, again = f()
        numpy.testing.assert_array_equal(total, (values + 1) ** 2)
        numpy.testing.assert_array_equal(again, values)     # the file is as it was


def test_a_mapped_file_may_be_overwritten_in_memory(tmp_path):
    path = str(tmp_path / "array.npy")
    numpy.save(path, numpy.arange(10_000.0))
    x = T.load(path, "float64", (False,), "c")
    f = phintys.function([], T.set_subtensor(x[0], 7.0))
    for _ in range(2):
        assert f()[:3].tolist() == [7.0, 1.0, 2.0]
    s = phintys.shared(numpy.zeros(1))
    phintys.function([], [], updates=[(s, x)])()
    s.set_value(s.get_value(borrow=True) + 1, borrow=True)
    assert numpy.load(path)[:3].tolist() == [0.0, 1.0, 2.0] and s.get_value()[1] == 2.0


@pytest.mark.parametrize("dtype, broadcastable, error", [
    ("int64", (False, False), TypeError), ("int32", (False,), TypeError), ("int32", (False, True), TypeError)])
def test_other_arrays(file, dtype, broadcastable, error):
    with pytest.raises(error):
        phintys.function([], T.load(file, dtype, broadcastable))()


def test_refused():
    with pytest.raises(ValueError, match="None and 'c', got 'r'"):
        T.load("array.npy", "int32", (), mmap_mode="r")
    with pytest.raises(ValueError, match="Expected a .npy file"):
        phintys.function([], T.load("array.npz", "int32", ()))()


def test_no_gradient_goes_into_a_file():
    x = T.dvector()
    path = phintys.Variable(phintys.generic)
    gradient = phintys.grad((T.load(path, "float64", (False,)) * x).sum(), x)
    assert gradient.owner is not None
    with pytest.raises(phintys.gradient.DisconnectedInputError):
        phintys.grad(T.load(path, "float64", (False,)).sum(), x)
