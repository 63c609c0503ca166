"""The stand-in itself: real pycuda runs on it, and it reports what a device would do wrong in silence."""
import numpy
import pytest

SOURCE = """
extern "C" {
__constant__ float factors[4];
__device__ int counter;

__global__ void scale(long long n, const float* x, float factor, float* y) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor + factors[i % 4];
}
__global__ void total(int n, const float* x, float* y) {
    __shared__ float part[64];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += x[i];
    part[threadIdx.x] = sum;
    for (int half = 32; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *y = part[0];
}
__global__ void total_without_barrier(const float* x, float* y) {
    __shared__ float part[64];
    part[threadIdx.x] = x[threadIdx.x];
    for (int half = 32; half; half /= 2) {
        if (half == 16) __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *y = part[0];
}
__global__ void divergent(float* y) {
    if (threadIdx.x < 3) __syncthreads();
    y[threadIdx.x] = 1;
}
__global__ void out_of_bounds(int n, float* y) { y[n + threadIdx.x] = 1; }
__global__ void shared_unset(float* y) {
    __shared__ float part[32];
    y[threadIdx.x] = part[threadIdx.x];
}
__global__ void warp(const float* x, float* y) {
    float sum = x[threadIdx.x];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    y[threadIdx.x] = sum;
}
}
"""


@pytest.fixture(scope="module")
def module(device):
    if not device.is_stand_in:
        pytest.skip("there is a GPU")
    import pycuda.driver as driver
    from pycuda.compiler import SourceModule
    driver.init()
    context = driver.Device(0).retain_primary_context()
    context.push()
    yield SourceModule(SOURCE, no_extern_c=True, arch="sm_90", cache_dir=False)
    context.pop()


def test_pycuda_runs(module, order):
    import pycuda.driver as driver
    import pycuda.gpuarray as gpuarray
    address, size = module.get_global("factors")
    assert size == 16
    driver.memcpy_htod(address, numpy.array([1, 2, 3, 4], "float32"))
    x = gpuarray.to_gpu(numpy.arange(100, dtype="float32"))
    y = gpuarray.empty_like(x)
    module.get_function("scale")(numpy.int64(100), x, numpy.float32(2), y, block=(32, 1, 1), grid=(4, 1))
    assert y.get().tolist() == [2 * i + i % 4 + 1 for i in range(100)]


def test_barriers_and_shuffles(module, order):
    import pycuda.gpuarray as gpuarray
    x, y = gpuarray.to_gpu(numpy.arange(200, dtype="float32")), gpuarray.zeros(32, "float32")
    module.get_function("total")(numpy.int32(200), x, y, block=(64, 1, 1), grid=(1, 1))
    assert y.get()[0] == 199 * 100
    module.get_function("warp")(x, y, block=(32, 1, 1), grid=(1, 1))
    assert y.get().tolist() == [31 * 16] * 32


def test_a_missing_barrier_shows_in_one_of_the_orders(module, device):
    import pycuda.gpuarray as gpuarray
    x, y = gpuarray.to_gpu(numpy.arange(64, dtype="float32")), gpuarray.zeros(1, "float32")
    totals = []
    for order in ("ascending", "descending", "shuffled"):
        device.set_order(order)
        module.get_function("total_without_barrier")(x, y, block=(64, 1, 1), grid=(1, 1))
        totals.append(y.get()[0] == 63 * 32)
    device.set_order("ascending")
    assert not all(totals)


@pytest.mark.parametrize("name, arguments, complaint", [
    ("divergent", (), "divergent barrier in block (0, 0, 0): of 32 threads 3 wait"),
    ("out_of_bounds", (numpy.int32(20),), "out_of_bounds wrote out of the bounds of an array of 128 bytes"),
])
def test_mistakes_are_reported(module, device, name, arguments, complaint):
    import pycuda.driver as driver
    import pycuda.gpuarray as gpuarray
    y = gpuarray.zeros(32, "float32")
    with pytest.raises(driver.Error):
        module.get_function(name)(*arguments, y, block=(32, 1, 1), grid=(1, 1))
    assert complaint in device.library.stand_in_complaint().decode()
    if name == "out_of_bounds":                     # mend the guard
        driver.memset_d8(int(y.gpudata), 0, 128)
        y.gpudata.free()


def test_an_address_of_the_host_is_no_argument(module, device):
    import pycuda.driver as driver
    x = numpy.zeros(32, "float32")
    with pytest.raises(driver.LogicError):
        module.get_function("shared_unset")(numpy.intp(x.ctypes.data), block=(32, 1, 1), grid=(1, 1))
    assert "no device memory" in device.library.stand_in_complaint().decode()


def test_shared_memory_is_poisoned(module):
    import pycuda.gpuarray as gpuarray
    y = gpuarray.zeros(32, "float32")
    module.get_function("shared_unset")(y, block=(32, 1, 1), grid=(1, 1))
    assert set(y.get().view("uint32").tolist()) == {0xE7E7E7E7}
