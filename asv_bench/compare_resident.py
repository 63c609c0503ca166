"""Resident memory of the process while phintys, PyTensor, JAX and PyTorch compute the gradient of 20 wide layers.

    python asv_bench/compare_resident.py [--backends phintys,unpooled,pytensor,jax,torch]

MiB above the resident memory before the first call, of the gradients of ``sum(x ** 2)`` after ``x = tanh(x @ w)`` 20
times, with 1000 x 1000 matrices of float64. Before the first call each library has multiplied two such matrices, so its
BLAS is loaded and has touched its buffers, and the C heap has given back what is free, as it does at the end. Four
calls; the results of each are dropped before the next one. 22 matrices (167.8 MiB) have to exist at once: 20
activations and gradients, and both products of a layer; 20 (152.6 MiB) are results. ``unpooled`` is phintys with
``pool_limit=0``. ``PEERS_PYTHON`` is the interpreter that has PyTensor and JAX, and ``TORCH_PYTHON`` (``PEERS_PYTHON``
if it is not set) that with PyTorch; phintys is imported by this one. One thread; Linux with glibc only.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys
import time

import numpy

LAYERS, WIDTH = 20, 1000
COLUMNS = "first call", "four calls", "results held", "results dropped", "after trim", "CPU s"


# ---- back ends: -> (gradients of a list of values, product of two, value of an array, trim or None) ------------------
def of_theano_like(package):
    tensor = __import__(package.__name__ + ".tensor", fromlist=["tensor"])
    x, *weights = [tensor.matrix(dtype="float64") for _ in range(LAYERS + 1)]
    hidden = x
    for weight in weights:
        hidden = tensor.tanh(tensor.dot(hidden, weight))
    gradients = package.function([x, *weights], package.grad((hidden ** 2).sum(), weights))
    product = package.function([x, weights[0]], tensor.dot(x, weights[0]))
    gradients(*[numpy.eye(4)] * (LAYERS + 1))           # Numba compiles at the first call
    return lambda values: gradients(*values), product, numpy.array


def of_phintys():
    import phintys
    return *of_theano_like(phintys), phintys.memory.trim


def of_pytensor():
    import pytensor
    return *of_theano_like(pytensor), None


def of_jax():
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)

    def cost(weights, x):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return (x ** 2).sum()

    shape = jax.ShapeDtypeStruct((WIDTH, WIDTH), "float64")
    compiled = jax.jit(jax.grad(cost)).lower([shape] * LAYERS, shape).compile()
    product = jax.jit(jnp.matmul)
    return (lambda values: jax.block_until_ready(compiled(values[1:], values[0])),
            lambda *two: product(*two).block_until_ready(), jnp.array, None)


def of_torch():
    import torch

    def gradients(values):
        x, *weights = values
        for weight in weights:
            x = torch.tanh(x @ weight.requires_grad_())
        return torch.autograd.grad((x ** 2).sum(), weights)

    return gradients, torch.matmul, torch.tensor, None


BACK_ENDS = {"phintys": of_phintys, "unpooled": of_phintys, "pytensor": of_pytensor, "jax": of_jax, "torch": of_torch}


# ---- measuring -------------------------------------------------------------------------------------------------------
def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def give_back(trim):
    if trim is not None:
        trim()
    ctypes.CDLL(None).malloc_trim(0)


def work(back_end):
    """What a process of a back end does: one line of JSON with its figures."""
    gradients, product, convert, trim = BACK_ENDS[back_end]()
    chance = numpy.random.default_rng(1)
    values = [convert(chance.standard_normal((WIDTH, WIDTH)) / WIDTH ** 0.5) for _ in range(LAYERS + 1)]
    product(*values[:2])
    give_back(trim)
    base = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as references:
        references.write("5")                   # the peak starts again
    peaks, seconds = [], []
    for _ in range(4):
        begin = time.process_time()
        found = gradients(values)
        seconds.append(time.process_time() - begin)
        peaks.append(status("VmHWM"))
        held = status("VmRSS")
        del found
    dropped = status("VmRSS")
    give_back(trim)
    after = [peaks[0], peaks[-1], held, dropped, status("VmRSS")]
    probe = float(abs(gradients(values)[0]).sum())
    print(json.dumps([[size - base for size in after] + [min(seconds[1:])], probe]))


def run(back_end):
    """The figures of a back end in the order of COLUMNS, and a number to compare."""
    peers = os.environ.get("PEERS_PYTHON", sys.executable)
    interpreter = {"pytensor": peers, "jax": peers, "torch": os.environ.get("TORCH_PYTHON", peers)}
    threads = {name + "_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    flags = {"PHINTYS_FLAGS": "pool_limit=0"} if back_end == "unpooled" else {}
    done = subprocess.run([interpreter.get(back_end, sys.executable), __file__, "--worker", back_end],
                          env={**os.environ, "JAX_PLATFORMS": "cpu", **threads, **flags}, capture_output=True,
                          text=True, preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}))
    if done.returncode:
        print(f"{back_end}: {(done.stderr.strip().splitlines() or ['failed'])[-1][:200]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default=",".join(BACK_ENDS))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker)
    print(f"| MiB | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    probes = []
    for back_end in options.backends.split(","):
        figures, probe = run(back_end) or (None, None)
        if figures is not None:
            print(f"| {back_end} | {' | '.join([f'{size:.1f}' for size in figures[:-1]])} | {figures[-1]:.2f} |")
            probes.append(probe)
    if probes and max(probes) - min(probes) > 1e-6 * max(probes):
        print(f"results differ: {probes}", file=sys.stderr)


if __name__ == "__main__":
    main()
