"""Arrays of other libraries, and arrays for them: ``__cuda_array_interface__`` and DLPack."""
import ctypes
import gc
import threading
import warnings
import weakref

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
    for dl_device in ((1, 1), (2, there_number() + 1), (10, 0)):
        with pytest.raises(BufferError, match="is not exported to"):
            array.__dlpack__(dl_device=dl_device)
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)


def part_of(value):
    """Every other row and every third column, as a view on the device."""
    v = phintys.shared(value, target="cuda")
    return phintys.function([], phintys.Out(phintys.gpu.gpu_from_host(v[::2, ::3]), borrow=True))()


@pytest.mark.parametrize("max_version, name", [(None, b"dltensor"), ((0, 8), b"dltensor"),
                                               ((1, 0), b"dltensor_versioned"), ((2, 1), b"dltensor_versioned")])
def test_versions_of_the_protocol(there, max_version, name):
    array = internal(numpy.arange(6, dtype="float32").reshape(2, 3))
    gc.collect()
    before = len(dlpack._kept)
    capsule = array.__dlpack__(max_version=max_version)
    assert dlpack._python.PyCapsule_IsValid(capsule, name)
    if name == dlpack.VERSIONED:
        managed = dlpack._Versioned.from_address(dlpack._python.PyCapsule_GetPointer(capsule, name))
        assert (managed.major, managed.minor, managed.flags) == (1, 0, 0) and managed.tensor.shape[:2] == [2, 3]
        assert ctypes.sizeof(dlpack._Versioned) == 80
    taken = dlpack.ForeignMemory(capsule)
    assert dlpack._python.PyCapsule_IsValid(capsule, b"used_" + name) and len(dlpack._kept) == before + 1
    assert taken.__cuda_array_interface__["data"] == (array.ptr, False)
    address_of_name = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    kept = ctypes.cast(ctypes.c_char_p(dlpack.TAKEN[name]), ctypes.c_void_p)
    assert address_of_name(capsule) == kept.value       # a capsule does not keep its name: what it was given must live
    del taken, capsule
    gc.collect()
    assert len(dlpack._kept) == before


def test_a_copy_is_exported(there):
    array = part_of(numpy.arange(24, dtype="float32").reshape(4, 6))
    capsule = array.__dlpack__(copy=True, max_version=(1, 0))
    managed = dlpack._Versioned.from_address(dlpack._python.PyCapsule_GetPointer(capsule, dlpack.VERSIONED))
    assert managed.flags == dlpack.IS_COPIED and managed.tensor.strides[:2] == [2, 1]
    assert managed.tensor.data != array.ptr
    assert phintys.shared(dlpack.ForeignMemory(capsule)).get_value().get().tolist() == [[0, 3], [12, 15]]


def test_the_host_gets_a_copy(there):
    array = internal(numpy.arange(24, dtype="float32").reshape(4, 6))

    class AtHost:
        def __init__(self, array):
            self.array = array

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            return self.array.__dlpack__(dl_device=(1, 0), **options)
    assert numpy.array_equal(numpy.from_dlpack(AtHost(array)), array.get())
    assert numpy.from_dlpack(AtHost(part_of(array))).tolist() == [[0, 3], [12, 15]]


class ReadOnly:
    """An array of another library that nobody may write to."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None):
        return dlpack.exported(self.array, there_number(), max_version[0] >= 1, dlpack.READ_ONLY)


def test_what_is_read_only_stays_so(there):
    array = internal(numpy.arange(4, dtype="float32"))
    v = phintys.shared(ReadOnly(array), borrow=True)
    phintys.function([], [], updates=[(v, v * 2)])()
    w = phintys.shared(ReadOnly(array), borrow=True)
    seen = w.get_value(borrow=True, return_internal_type=True)
    with pytest.raises(BufferError, match="only exported by version 1"):
        seen.__dlpack__()
    capsule = seen.__dlpack__(max_version=(1, 1))
    managed = dlpack._Versioned.from_address(dlpack._python.PyCapsule_GetPointer(capsule, dlpack.VERSIONED))
    assert managed.flags == dlpack.READ_ONLY and managed.tensor.data == array.ptr
    w.set_value(numpy.ones(4, "float32"))
    assert array.get().tolist() == [0, 1, 2, 3] and v.get_value().get().tolist() == [0, 2, 4, 6]


def test_an_unknown_version_is_refused(there):
    capsule = internal(numpy.ones(3, "float32")).__dlpack__(max_version=(1, 0))
    dlpack._Versioned.from_address(dlpack._python.PyCapsule_GetPointer(capsule, dlpack.VERSIONED)).major = 2
    with pytest.raises(BufferError, match="is of version 2, and 1 was asked for"):
        dlpack.ForeignMemory(capsule)


class Other:
    """An array of another library, with both protocols, and memory of its own."""

    def __init__(self, value, stream=None):
        from pycuda import gpuarray
        self.array = gpuarray.to_gpu(value)
        self.stream, self.shape, self.exports = stream, value.shape, 0

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "version": 3, "stream": self.stream,
                "data": (self.array.ptr, False), "strides": self.array.strides}


class Both(Other):
    def __dlpack_device__(self):
        return 2, there_number()

    def __dlpack__(self, *, stream=None):
        self.exports += 1
        return dlpack.exported(self.array, there_number())


def test_dlpack_comes_first_and_what_was_given_is_seen(there):
    given = Both(numpy.arange(3, dtype="float32"))
    v = phintys.shared(given, borrow=True)
    assert given.exports and v.get_value(borrow=True) is given
    assert type(v.get_value()).__name__ == "GPUArray" and v.get_value().get().tolist() == [0, 1, 2]
    assert phintys.function([], v * 2)().tolist() == [0, 2, 4]


@pytest.mark.parametrize("place, refused", [((0, True), False), ((0, False), False), ((1, True), True),
                                            ((1, False), True)])
def test_memory_of_any_allocator(there, place, refused):
    """What belongs to no context (virtual memory, pools of streams) is used if it is the device's."""
    if not there.is_stand_in:
        pytest.skip("only the stand-in moves memory")
    given = Other(numpy.arange(3, dtype="float32"))
    there.library.stand_in_move(ctypes.c_size_t(given.array.ptr), *place)
    if refused:
        with pytest.raises(ValueError, match="not in memory of the device and context in use"):
            phintys.shared(given, borrow=True)
    else:
        assert phintys.function([], phintys.shared(given, borrow=True) * 2)().tolist() == [0, 2, 4]


def test_pinned_memory_is_not_the_devices(there):
    import pycuda.driver as cuda
    given = Elsewhere(cuda.pagelocked_zeros(3, "float32"))
    with pytest.raises(ValueError, match="not in memory of the device and context in use"):
        phintys.shared(given, borrow=True)


@pytest.fixture
def lazy(there):
    """The stand-in does work only when somebody waits for it; a real device is as quick as it is."""
    if not there.is_stand_in:
        yield lambda value: None
        return
    phintys.gpu.wait()
    yield there.library.stand_in_set_lazy
    there.library.stand_in_set_lazy(0)


def test_memory_of_others_is_held_until_it_was_read(there, lazy):
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    v = phintys.shared(numpy.zeros(3, "float32"))
    f = phintys.function([x], [], updates=[(v, v + x * 2)])
    f(Other(numpy.ones(3, "float32")))
    given = Other(numpy.arange(3, dtype="float32"))
    alive = weakref.ref(given)
    phintys.gpu.wait()
    lazy(1)
    f(given)
    del given
    gc.collect()
    assert alive() is not None or not there.is_stand_in
    phintys.gpu.wait()
    assert alive() is None and v.get_value().tolist() == [2, 4, 6]


def test_memory_of_others_is_given_up_by_the_next_call(there, lazy):
    """Without anybody who waits: as soon as a call finds that it was read."""
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    v = phintys.shared(numpy.zeros(3, "float32"))
    f = phintys.function([x], [], updates=[(v, v + x * 2)])
    total = phintys.function([x], phintys.gpu.host_from_gpu(x).sum())
    given = [Other(numpy.arange(3, dtype="float32")) for _ in range(3)]
    alive = [weakref.ref(each) for each in given]
    lazy(1)
    f(given.pop())
    for _ in range(2):
        assert total(given.pop()) == 3              # its result has been waited for
    assert [each() for each in alive[1:]] == [None] * 2


def test_arrays_of_pycuda_are_freed_by_any_thread(there, lazy):
    """pycuda frees memory only where its context is on the thread's stack; else it warns, and keeps it."""
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    v = phintys.shared(numpy.zeros(3, "float32"))
    f = phintys.function([x], [], updates=[(v, v + x)])
    given = Other(numpy.ones(3, "float32"))
    alive = weakref.ref(given)
    f(given)
    phintys.gpu.wait()
    before = there.counts()["blocks"] if there.is_stand_in else 1
    lazy(1)
    f(given)
    del given
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        thread = threading.Thread(target=phintys.gpu.wait)
        thread.start()
        thread.join()
    assert alive() is None and not warned
    assert not there.is_stand_in or there.counts()["blocks"] == before - 1


def test_memory_of_others_is_given_up_where_memory_is_needed(there, lazy):
    if not there.is_stand_in:
        pytest.skip("only the stand-in is as small as a test wants")
    given = Other(numpy.ones(1 << 20, "float32"))
    v = phintys.shared(given)
    alive = weakref.ref(given)
    lazy(1)
    v.set_value(given)
    del given
    gc.collect()
    phintys.gpu.trim()
    there.library.stand_in_set_memory(there.counts()["bytes"] + (3 << 20))
    try:
        w = phintys.shared(numpy.ones(1 << 20, "float32"))
    finally:
        there.library.stand_in_set_memory(8 << 30)
    assert alive() is None and w.get_value()[-1] == 1


@pytest.mark.parametrize("stream", [None, 1, 0, -1, "handle"])
def test_the_streams_of_readers(there, lazy, stream):
    """A reader's stream waits for what was computed before; for -1 nobody waits."""
    import pycuda.driver as cuda
    v = phintys.shared(numpy.arange(3, dtype="float32"))
    f = phintys.function([], [], updates=[(v, v * 2 + 1)])
    f()
    array = v.get_value(borrow=True, return_internal_type=True)
    value = v.get_value()
    mine = cuda.Stream(1)                           # CU_STREAM_NON_BLOCKING: CUDA keeps no order for it
    found = numpy.zeros(3, "float32")
    lazy(1)
    f()
    array = v.get_value(borrow=True, return_internal_type=True)
    capsule = array.__dlpack__(stream=mine.handle if stream == "handle" else stream)
    if stream == "handle":
        cuda.memcpy_dtoh_async(found, array.ptr, mine)
        mine.synchronize()
    elif stream in (None, 1):
        cuda.memcpy_dtoh(found, array.ptr)
    elif stream == -1:
        phintys.gpu.wait()
    if stream in (0, -1):
        lazy(0)
        cuda.memcpy_dtoh(found, array.ptr)
    assert found.tolist() == (value * 2 + 1).tolist() and capsule


@pytest.mark.parametrize("what", ["argument", "value", "copied to the host"])
def test_the_stream_of_a_lender_is_waited_for(there, lazy, what):
    """By the device; the host does not wait."""
    import pycuda.driver as cuda
    mine = cuda.Stream(1)
    given = Other(numpy.zeros(3, "float32"), mine.handle)
    ones = cuda.pagelocked_zeros(3, "float32")
    ones[:] = 1
    x = phintys.gpu.GpuArrayType("float32", (False,))("x")
    f = phintys.function([x], phintys.gpu.host_from_gpu(x) + 1 if what == "argument" else phintys.gpu.host_from_gpu(x))
    f(Other(numpy.zeros(3, "float32")))
    lazy(2)
    cuda.memcpy_htod_async(given.array.gpudata, ones, mine)
    found = phintys.shared(given).get_value().get() if what == "value" else f(given)
    assert found.tolist() == [2 if what == "argument" else 1] * 3


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
