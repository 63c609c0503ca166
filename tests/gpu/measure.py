"""All figures of the GPU in one run, on a machine with one: ``python -I tests/gpu/measure.py [--only NAME ...]``.

Prints a table in Markdown for each figure, with what JAX and PyTorch need for the same where they are installed, and a
line of JSON with all numbers at the end. Times are minima over rounds in which the libraries take turns; all work is
waited for. ``--small`` runs everything once with tiny shapes, to see that it runs: on the stand-in of the tests
(``--stand-in``), where no number means anything.
"""
import argparse
import json
import os
import sys
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
    """A peer, or None if it is not installed or sees no GPU."""
    try:
        if name == "jax":
            import jax
            return jax if jax.default_backend() == "gpu" else None
        import torch
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
    """Elementwise work at 1e8 float32, against copies at the device."""
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
    """Products of square matrices, by phintys and by PyTorch, which calls cuBLAS."""
    torch = library("torch")
    for length in (8,) if runs.small else (256, 1024, 4096, 8192):
        values = numpy.random.RandomState(0).uniform(-1, 1, (2, length, length)).astype(FLOAT)
        x, y = [phintys.shared(value, target="cuda") for value in values]
        z = phintys.shared(numpy.zeros((length, length), FLOAT), target="cuda")
        competitors = {"phintys": (phintys.function([], [], updates=[(z, T.dot(x, y))]), phintys.gpu.wait)}
        if torch is not None:
            torch.backends.cuda.matmul.allow_tf32 = False
            a, b = [torch.from_numpy(value).cuda() for value in values]
            out = torch.empty_like(a)
            competitors["torch"] = (lambda a=a, b=b, out=out: torch.matmul(a, b, out=out), torch.cuda.synchronize)
        best = runs.minima(competitors)
        runs.note("gemm float32, TFLOPS", f"{length} x {length}",
                  **{name: 2 * length ** 3 / seconds / 1e12 for name, seconds in best.items()})


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
    runs.note("training, steps a second", row, **{name: 1 / seconds for name, seconds in best.items()})
    runs.note("compiling and the first call, s", row,
              **{name: making[name] + seconds for name, seconds in runs.first.items()})


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


FIGURES = {"bandwidth": bandwidth, "products": products, "launches": launches, "classifiers": classifiers,
           "recurrent": recurrent}


def main():
    options = parsed()
    if options.stand_in:
        sys.path.insert(0, str(Path(__file__).parent))
        from conftest import find_device
        find_device()
    import phintys
    import phintys.tensor as T
    device = phintys.gpu.use(move_shared_to_gpu=False)
    print(f"{device}, cuBLAS: {device.has_cublas}; peers: "
          f"{', '.join([name for name in ('jax', 'torch') if library(name)]) or 'none'}")
    runs = Runs(options.small)
    for name in options.only:
        FIGURES[name](runs, phintys, T)
    print(json.dumps({"device": repr(device), "figures": runs.found}))


if __name__ == "__main__":
    main()
