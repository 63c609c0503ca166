"""Memory and large products: copies, transfers, cuBLAS."""
import ctypes

import numpy
from runs import FLOAT


def bandwidth(runs, phintys, T):
    """Elementwise work at 1e8 float32, against copies on the device."""
    import pycuda.driver as cuda
    size = 1000 if runs.small else 10 ** 8
    x = phintys.shared(numpy.ones(size, FLOAT), target="cuda")
    y = phintys.shared(numpy.ones(size, FLOAT), target="cuda")
    step = phintys.function([], [], updates=[(y, T.tanh(x * FLOAT(0.5)) + FLOAT(1))])
    source, target = cuda.mem_alloc(4 * size), cuda.mem_alloc(4 * size)
    competitors = {"phintys": (step, phintys.gpu.wait),
                   "copy": (lambda: cuda.memcpy_dtod_async(target, source, 4 * size), cuda.Context.synchronize)}
    best = runs.minima(competitors)
    rates = {name: 8 * size / seconds / 1e9 for name, seconds in best.items()}
    runs.note("elementwise, GB/s", f"{size} float32", **rates, share=rates["phintys"] / rates["copy"])


def products(runs, phintys, T):
    """Products of square matrices, in float32 and in TF32: by phintys, by cuBLAS itself, and by PyTorch."""
    for length in (8,) if runs.small else (256, 1024, 4096, 8192):
        values = numpy.random.RandomState(0).uniform(-1, 1, (2, length, length)).astype(FLOAT)
        x, y = [phintys.shared(value, target="cuda") for value in values]
        z = phintys.shared(numpy.zeros((length, length), FLOAT), target="cuda")
        step = phintys.function([], [], updates=[(z, T.dot(x, y))])
        for name, tf32 in (("float32", False), ("TF32", True)):
            competitors = {"phintys": (step, phintys.gpu.wait), **by_cublas(phintys, x, y, tf32),
                           **by_torch(runs, values, tf32)}
            with phintys.change_flags({"gpu.tf32": tf32}):
                best = runs.minima(competitors)
            runs.note("gemm, TFLOPS", f"{length} x {length}, {name}",
                      **{name: 2 * length ** 3 / seconds / 1e12 for name, seconds in best.items()})


def by_cublas(phintys, x, y, tf32):
    """The product by a handle of cuBLAS of this program's own."""
    import pycuda.driver as cuda

    from phintys.gpu.runtime.libraries import names_of
    for name in names_of("cublas") if phintys.gpu.the_device().has_cublas else ():
        try:
            cublas = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        return {}
    left, right = [value.get_value(return_internal_type=True) for value in (x, y)]
    handle, length = ctypes.c_void_p(), left.shape[0]
    out = phintys.shared(numpy.zeros(left.shape, FLOAT), target="cuda").get_value(return_internal_type=True)
    if cublas.cublasCreate_v2(ctypes.byref(handle)) or cublas.cublasSetMathMode(handle, 3 if tf32 else 0):
        return {}
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    b, a, c = [ctypes.c_void_p(int(value.gpudata)) for value in (left, right, out)]

    def step(kept=(left, right, out)):
        error = cublas.cublasSgemm_v2(handle, 0, 0, length, length, length, ctypes.byref(one), a, length, b, length,
                                      ctypes.byref(zero), c, length)
        assert error == 0, error
    return {"cublas": (step, cuda.Context.synchronize)}


def by_torch(runs, values, tf32):
    torch = runs.peer("torch")
    if torch is None:
        return {}
    a, b = [torch.from_numpy(value).cuda() for value in values]
    out = torch.empty_like(a)

    def step():
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.matmul(a, b, out=out)
    return {"torch": (step, torch.cuda.synchronize)}


def transfers(runs, phintys, T):
    """Arguments to the device and results to the host, against copies from and to pinned memory."""
    import pycuda.driver as cuda
    for size in (1000,) if runs.small else (10 ** 4, 10 ** 6, 10 ** 8):
        host, x = numpy.ones(size, FLOAT), T.fvector()
        there = phintys.shared(host, target="cuda")
        pinned, memory = cuda.pagelocked_empty(size, FLOAT), cuda.mem_alloc(4 * size)
        given = phintys.function([phintys.In(x, borrow=True)], [], updates=[(there, x)])
        taken = phintys.function([], there * FLOAT(1.5))
        torch, both = runs.peer("torch"), {}
        if torch is not None:
            here, device = torch.from_numpy(host), torch.ones(size, device="cuda")
            both = {"upload": (lambda: here.cuda(), torch.cuda.synchronize),
                    "download": (lambda: (device * 1.5).cpu(), torch.cuda.synchronize)}
        for name, step, copy in (
                ("upload", lambda: given(host), lambda: cuda.memcpy_htod_async(memory, pinned)),
                ("download", taken, lambda: cuda.memcpy_dtoh_async(pinned, memory))):
            best = runs.minima({"phintys": (step, phintys.gpu.wait), "pinned": (copy, cuda.Context.synchronize),
                                **({"torch": both[name]} if both else {})})
            runs.note("transfers, GB/s", f"{name} of {size} float32",
                      **{who: 4 * size / seconds / 1e9 for who, seconds in best.items()})
