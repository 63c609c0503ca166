"""Arrays of other libraries, and arrays for them: ``__cuda_array_interface__`` and DLPack."""
import ctypes
import gc

import numpy
import pytest
from support_gpu import at_device

import phintys
from phintys.gpu.runtime import dlpack


@pytest.fixture
def there(device):
    with at_device():
        yield device


class Foreign:
    """An array of another library, that has DLPack only."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__(stream=stream)


def internal(value):
    return phintys.shared(value, target="cuda").get_value(return_internal_type=True, borrow=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64",
                                   "complex128"])
def test_dlpack_there_and_back(there, dtype):
    value = numpy.arange(12).reshape(3, 4).astype(dtype)
    array = internal(value)
    assert array.__dlpack_device__() == (2, there_number())
    foreign = Foreign(array)
    v = phintys.shared(foreign, borrow=True)
    assert foreign.streams == [1]
    assert v.get_value(borrow=True, return_internal_type=True).__cuda_array_interface__["data"] == (
        array.__cuda_array_interface__["data"])
    assert numpy.array_equal(v.get_value().get(), value)


def there_number():
    return phintys.gpu.the_device().number


def test_what_a_capsule_says(there):
    array = internal(numpy.arange(24, dtype="float32").reshape(2, 3, 4))
    capsule = array.__dlpack__()
    address = dlpack._python.PyCapsule_GetPointer(capsule, b"dltensor")
    tensor = dlpack._Managed.from_address(address).tensor
    assert tensor.data == array.__cuda_array_interface__["data"][0] and tensor.device_type == dlpack.CUDA
    assert (tensor.ndim, tensor.code, tensor.bits, tensor.lanes) == (3, 2, 32, 1)
    assert tensor.shape[:3] == [2, 3, 4] and tensor.strides[:3] == [12, 4, 1]
    assert ctypes.sizeof(dlpack._Tensor) == 48
    del capsule, tensor
    assert address not in dlpack._kept              # nobody has taken it


def test_the_memory_lives_as_long_as_who_took_it(there):
    phintys.gpu.trim()
    array = internal(numpy.ones(1 << 18, "float32"))
    taken = dlpack.imported(array)
    gc.collect()
    held = phintys.gpu.memory_report()["live_bytes"]
    del array
    gc.collect()
    assert phintys.gpu.memory_report()["live_bytes"] == held
    del taken
    gc.collect()
    assert phintys.gpu.memory_report()["live_bytes"] <= held - (1 << 20)
    assert not dlpack._kept


def test_arguments_and_values(there):
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    f = phintys.function([x], phintys.gpu.host_from_gpu(x) * 2)
    assert f(Foreign(internal(numpy.arange(3, dtype="float32")))).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="cannot store an array on the device of dtype float64"):
        f(Foreign(internal(numpy.arange(3.0))))
    v = phintys.shared(numpy.zeros(3, "float32"))
    v.set_value(Foreign(internal(numpy.arange(3, dtype="float32"))))
    assert v.get_value().tolist() == [0, 1, 2]


def test_what_dlpack_cannot_do(there):
    array = internal(numpy.ones(3, "float32"))
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="where it is"):
        array.__dlpack__(dl_device=(1, 0))


def test_the_interface_names_the_default_stream(there):
    assert internal(numpy.ones(3, "float32")).__cuda_array_interface__["stream"] == 1
    with pytest.raises(TypeError, match="an array by DLPack has a dtype"):
        capsule = internal(numpy.ones(3, "float32")).__dlpack__()
        managed = dlpack._Managed.from_address(dlpack._python.PyCapsule_GetPointer(capsule, b"dltensor"))
        managed.tensor.lanes = 2
        dlpack.ForeignMemory(capsule)


class Elsewhere:
    """What looks like an array on the device, over memory of the host."""

    def __init__(self, value):
        self.value, self.shape = value, value.shape
        self.__cuda_array_interface__ = {**value.__array_interface__, "stream": None}


def test_arrays_of_another_context(there):
    """Their memory is not the device's in use: a clear error, and nothing is changed."""
    foreign = Elsewhere(numpy.ones(3, "float32"))
    v = phintys.shared(numpy.zeros(3, "float32"))
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    f = phintys.function([x], [], updates=[(v, v + x)])
    for attempt in (lambda: v.set_value(foreign, borrow=True), lambda: f(foreign), lambda: phintys.shared(foreign)):
        with pytest.raises(ValueError, match="not in memory of the device and context in use"):
            attempt()
    assert v.get_value().tolist() == [0, 0, 0]
