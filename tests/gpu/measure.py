"""All figures of the GPU in one run, on a machine with one: ``python -I tests/gpu/measure.py [--only NAME ...]``.

Prints a table in Markdown for each figure, with what JAX and PyTorch need for the same where they are installed, and a
line of JSON with all numbers at the end. Times are minima over rounds in which the libraries take turns; all work is
waited for. Kernels are compiled anew, in a folder that is empty, so first calls have all that they cost; and once more
with the modules that are then on disk. ``--small`` runs everything once with tiny shapes, to see that it runs: on the
stand-in of the tests (``--stand-in``), where no number means anything.
"""
import argparse
import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
FLOAT = numpy.float32


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(FIGURES), default=list(FIGURES))
    return parser.parse_args()


def library(name):
    """A peer, or None if it is not installed or sees no GPU. Products are in float32 where nothing asks for TF32."""
    try:
        if name == "jax":
            import jax
            jax.config.update("jax_default_matmul_precision", "float32")
            return jax if jax.default_backend() == "gpu" else None
        import torch
        torch.backends.cuda.matmul.allow_tf32 = False
        return torch if torch.cuda.is_available() else None
    except Exception:
        return None


class Runs:
    """What is measured in turns: name → a function that does one step, and one that waits for the device."""

    def __init__(self, small):
        self.small, self.found = small, {}

    def minima(self, competitors, seconds=1.0):
        """The least time of a step of each, in seconds; the first call of each is in ``self.first``."""
        rounds, best, self.first = (1 if self.small else 7), {}, {}
        counts = {}
        for name, (step, wait) in competitors.items():
            start = perf_counter()
            step()
            wait()
            self.first[name] = perf_counter() - start
            for _ in range(1 if self.small else 20):
                step()
            wait()
            start = perf_counter()
            step()
            wait()
            one = max(perf_counter() - start, 1e-6)
            counts[name] = 1 if self.small else max(3, min(2000, int(seconds / rounds / one)))
        for _ in range(rounds):
            for name, (step, wait) in competitors.items():
                start = perf_counter()
                for _ in range(counts[name]):
                    step()
                wait()
                best[name] = min(best.get(name, 1e9), (perf_counter() - start) / counts[name])
        return best

    def note(self, figure, row, **numbers):
        self.found.setdefault(figure, {})[row] = numbers
        print(f"| {figure} | {row} | " + " | ".join([f"{name} {value:.6g}" for name, value in numbers.items()]) + " |",
              flush=True)


# ---- the figures -----------------------------------------------------------------------------------------------------
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
                           **by_torch(values, tf32)}
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


def by_torch(values, tf32):
    torch = library("torch")
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
        torch, both = library("torch"), {}
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


def launches(runs, phintys, T):
    """A program of 20 kernels on few elements: what a kernel costs the host, one by one and replayed."""
    mode = phintys.compile.get_default_mode().excluding("fusion")
    x = phintys.shared(numpy.zeros(10, FLOAT), target="cuda")
    value = x
    for number in range(20):
        value = T.tanh(value) if number % 2 else T.sin(value)
    step = phintys.function([], [], updates=[(x, value)], mode=mode)
    for name, graphs in (("one by one", False), ("replayed", True)):
        with phintys.change_flags({"gpu.graphs": graphs}):
            best = runs.minima({"phintys": (step, phintys.gpu.wait)})
            count = 1 if runs.small else 200
            phintys.gpu.wait()
            start = perf_counter()
            for _ in range(count):
                step()
            host = (perf_counter() - start) / count
            phintys.gpu.wait()
        runs.note("20 kernels, us a call", name, call=best["phintys"] * 1e6, host=host * 1e6,
                  host_a_kernel=host / 20 * 1e6)
    jax = library("jax")
    if jax is not None:
        def chain(value):
            for number in range(20):
                value = jax.lax.optimization_barrier(jax.numpy.tanh(value) if number % 2 else jax.numpy.sin(value))
            return value
        compiled, state = jax.jit(chain), [jax.numpy.zeros(10, FLOAT)]
        best = runs.minima({"jax": (lambda: state.__setitem__(0, compiled(state[0])),
                                    lambda: state[0].block_until_ready())})
        runs.note("20 kernels, us a call", "JAX", call=best["jax"] * 1e6)


SIZES = {"logreg": (784, 10), "mlp": (784, 500, 10)}


def classifiers(runs, phintys, T):
    """Steps of training of logistic regression and of a layer of tanh before it."""
    for name, sizes in SIZES.items():
        for rows in (4,) if runs.small else (32, 600):
            random = numpy.random.RandomState(0)
            x, y = random.uniform(-1, 1, (rows, sizes[0])).astype(FLOAT), random.randint(0, 10, rows)
            weights = [random.uniform(-0.05, 0.05, shape).astype(FLOAT) for shape in zip(sizes, sizes[1:])]
            makers = {"phintys": lambda *a: phintys_classifier(phintys, T, *a), "jax": jax_classifier,
                      "torch": torch_classifier}
            compare(runs, f"{name}, batch {rows}", makers, x, y, weights)


def compare(runs, row, makers, *arguments):
    made, making = {}, {}
    for name, maker in makers.items():
        if name == "phintys" or library(name):
            start = perf_counter()
            made[name] = maker(*arguments)
            making[name] = perf_counter() - start
    best = runs.minima(made)
    first = dict(runs.first)
    making["phintys, kernels on disk"] = 0.0
    first["phintys, kernels on disk"] = from_disk(makers["phintys"], arguments)
    runs.note("training, steps a second", row, **{name: 1 / seconds for name, seconds in best.items()})
    runs.note("compiling and the first call, s", row,
              **{name: making[name] + seconds for name, seconds in first.items()})


def from_disk(maker, arguments):
    """What compiling and the first call take where another process has compiled the kernels."""
    from phintys.gpu.runtime import compiler
    compiler._compiled.clear()
    start = perf_counter()
    step, wait = maker(*arguments)
    step()
    wait()
    return perf_counter() - start


def phintys_classifier(phintys, T, x, y, weights):
    w = [phintys.shared(value, target="cuda") for value in weights]
    data = phintys.shared(x, target="cuda")
    labels = phintys.shared(y.astype("int32"), target="cuda")
    value = data
    for each in w[:-1]:
        value = T.tanh(T.dot(value, each))
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(value, w[-1])), labels.flatten()).mean()
    step = phintys.function([], [], updates=[(each, each - FLOAT(0.1) * gradient)
                                             for each, gradient in zip(w, T.grad(cost, w))])
    return step, phintys.gpu.wait


def jax_classifier(x, y, weights):
    jax = library("jax")

    def cost(w, x, y):
        for each in w[:-1]:
            x = jax.numpy.tanh(x @ each)
        return -jax.nn.log_softmax(x @ w[-1])[jax.numpy.arange(len(y)), y].mean()
    train = jax.jit(lambda w, x, y: [each - FLOAT(0.1) * g for each, g in zip(w, jax.grad(cost)(w, x, y))])
    state, x, y = [list(map(jax.numpy.asarray, weights))], jax.numpy.asarray(x), jax.numpy.asarray(y)
    return lambda: state.__setitem__(0, train(state[0], x, y)), lambda: jax.block_until_ready(state[0])


def torch_classifier(x, y, weights):
    torch = library("torch")
    w = [torch.tensor(value, device="cuda", requires_grad=True) for value in weights]
    x, y = torch.tensor(x, device="cuda"), torch.tensor(y, device="cuda")

    def step():
        value = x
        for each in w[:-1]:
            value = torch.tanh(value @ each)
        gradients = torch.autograd.grad(torch.nn.functional.cross_entropy(value @ w[-1], y), w)
        with torch.no_grad():
            for each, gradient in zip(w, gradients):
                each -= 0.1 * gradient
    return step, torch.cuda.synchronize


def recurrent(runs, phintys, T):
    """Steps of training of a recurrent layer over 100 steps."""
    for hidden in (8,) if runs.small else (64, 256, 1024):
        for rows in (2,) if runs.small else (1, 32):
            random = numpy.random.RandomState(0)
            x = random.uniform(-1, 1, (3 if runs.small else 100, rows, hidden)).astype(FLOAT)
            weights = [random.uniform(-0.1, 0.1, (hidden, hidden)).astype(FLOAT) / hidden ** 0.5 for _ in range(2)]
            makers = {"phintys": lambda *a: phintys_recurrent(phintys, T, *a), "jax": jax_recurrent,
                      "torch": torch_recurrent}
            compare(runs, f"RNN, hidden {hidden}, batch {rows}", makers, x, weights)


def phintys_recurrent(phintys, T, x, weights):
    w = [phintys.shared(value, target="cuda") for value in weights]
    data = phintys.shared(x, target="cuda")
    rows, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w[0]) + T.dot(state, w[1])),
                           sequences=phintys.gpu.host_from_gpu(data),
                           outputs_info=T.zeros((x.shape[1], x.shape[2]), "float32"))
    cost = (rows[-1] ** 2).sum()
    step = phintys.function([], [], updates=[(each, each - FLOAT(0.01) * gradient)
                                             for each, gradient in zip(w, T.grad(cost, w))])
    return step, phintys.gpu.wait


def jax_recurrent(x, weights):
    jax = library("jax")

    def cost(w, x):
        def step(state, row):
            return jax.numpy.tanh(row @ w[0] + state @ w[1]), None
        return (jax.lax.scan(step, jax.numpy.zeros(x.shape[1:], FLOAT), x)[0] ** 2).sum()
    train = jax.jit(lambda w, x: [each - FLOAT(0.01) * g for each, g in zip(w, jax.grad(cost)(w, x))])
    state, x = [list(map(jax.numpy.asarray, weights))], jax.numpy.asarray(x)
    return lambda: state.__setitem__(0, train(state[0], x)), lambda: jax.block_until_ready(state[0])


def torch_recurrent(x, weights):
    torch = library("torch")
    w = [torch.tensor(value, device="cuda", requires_grad=True) for value in weights]
    x = torch.tensor(x, device="cuda")

    def step():
        state = torch.zeros(x.shape[1:], device="cuda")
        for row in x:
            state = torch.tanh(row @ w[0] + state @ w[1])
        gradients = torch.autograd.grad((state ** 2).sum(), w)
        with torch.no_grad():
            for each, gradient in zip(w, gradients):
                each -= 0.01 * gradient
    return step, torch.cuda.synchronize


FIGURES = {"bandwidth": bandwidth, "transfers": transfers, "products": products, "launches": launches,
           "classifiers": classifiers, "recurrent": recurrent}


def main():
    options = parsed()
    if options.stand_in:
        sys.path.insert(0, str(Path(__file__).parent))
        from conftest import find_device
        find_device()
    import phintys
    import phintys.tensor as T
    if not options.stand_in:
        phintys.config.gpu.cache = tempfile.mkdtemp()
    device = phintys.gpu.use(move_shared_to_gpu=False)
    print(f"{device}, cuBLAS: {device.has_cublas}; peers: "
          f"{', '.join([name for name in ('jax', 'torch') if library(name)]) or 'none'}")
    runs = Runs(options.small)
    for name in options.only:
        FIGURES[name](runs, phintys, T)
    print(json.dumps({"device": repr(device), "figures": runs.found}))


if __name__ == "__main__":
    main()
