"""Compiled functions as files: bytes, milliseconds to write and to read them, and to the first value in a new process.

    python asv_bench/compare_saving.py

Beside phintys: its own pickles (with graphs), PyTensor's pickles of functions and JAX's exported StableHLO, where those
are installed. Times are of one thread, the least of several; those of new processes count from the start of Python.
"""
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

RNG = numpy.random.default_rng(0)
N, D, H = 20, 784, 100
X, Y = RNG.standard_normal((N, D)), RNG.integers(0, 10, N)
W = {"w": RNG.standard_normal((D, H)) / 30, "v": RNG.standard_normal((H, 10)) / 10}

READ = {
    "phintys": """
import phintys.runtime
f = phintys.runtime.load(path)
""",
    "phintys, pickle": """
import pickle, phintys
f = pickle.load(open(path, "rb"))
""",
    "PyTensor, pickle": """
import pickle, pytensor
f = pickle.load(open(path, "rb"))
""",
    "JAX, export": """
import jax
jax.config.update("jax_enable_x64", True)
from jax import export
f = export.deserialize(bytearray(open(path, "rb").read())).call
""",
}


def least(action, times=5):
    """The least time of several, in milliseconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def symbolic_step(library, T, nnet, shared):
    """A step of training: a network with one hidden layer, its cost, and updates."""
    x, y = T.dmatrix("x"), T.lvector("y")
    w, v = [shared(W[name], name) for name in "wv"]
    p = nnet.softmax(T.dot(T.tanh(T.dot(x, w)), v))
    cost = -T.log(p[T.arange(y.shape[0]), y]).mean()
    return library.function([x, y], cost, updates=[(z, z - 0.1 * library.grad(cost, z)) for z in (w, v)])


def of_phintys(folder):
    """Files of phintys."""
    import phintys
    import phintys.tensor as T

    step = symbolic_step(phintys, T, T.nnet, phintys.shared)
    path = folder / "step.phx"
    yield "phintys", path, lambda: step.save(path), lambda: phintys.load(path)
    pickled = folder / "step.pickle"
    yield ("phintys, pickle", pickled, lambda: pickled.write_bytes(pickle.dumps(step)),
           lambda: pickle.loads(pickled.read_bytes()))


def of_pytensor(folder):
    """A pickle of PyTensor."""
    import pytensor
    import pytensor.tensor as pt

    step = symbolic_step(pytensor, pt, pt.special, lambda value, name: pytensor.shared(value, name=name))
    path = folder / "step.pytensor"
    yield ("PyTensor, pickle", path, lambda: path.write_bytes(pickle.dumps(step)),
           lambda: pickle.loads(path.read_bytes()))


def of_jax(folder):
    """What JAX exports; its weights are arguments."""
    import jax
    import jax.numpy as jnp
    from jax import export

    jax.config.update("jax_enable_x64", True)

    def cost(weights, x, y):
        p = jax.nn.softmax(jnp.tanh(x @ weights["w"]) @ weights["v"])
        return -jnp.log(p[jnp.arange(y.shape[0]), y]).mean()

    def step(weights, x, y):
        value, slopes = jax.value_and_grad(cost)(weights, x, y)
        return value, {name: weights[name] - 0.1 * slopes[name] for name in weights}

    path = folder / "step.jax"
    jitted = jax.jit(step)
    yield ("JAX, export", path, lambda: path.write_bytes(export.export(jitted)(W, X, Y).serialize()),
           lambda: export.deserialize(bytearray(path.read_bytes())))


def new_process(name, path, data):
    """Milliseconds from the start of Python to the first value, and megabytes at most."""
    call = "f(W, X, Y)" if name.startswith("JAX") else "f(X, Y)"
    program = f"""
import pickle, sys
path = {str(path)!r}
W, X, Y = pickle.load(open({str(data)!r}, "rb"))
{READ[name]}
{call}
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    memory = []

    def run():
        memory.append(float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                           check=True).stdout))
    return least(run, 3), min(memory)


def main():
    """Print a table."""
    print(f"{'':18}{'bytes':>10}{'write, ms':>11}{'read, ms':>10}{'first value of a process, ms':>30}{'MB':>7}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").write_bytes(pickle.dumps((W, X, Y)))
        for library in (of_phintys, of_pytensor, of_jax):
            try:
                for title, path, write, read in library(folder):
                    written = least(write)
                    first, memory = new_process(title, path, folder / "data")
                    print(f"{title:18}{path.stat().st_size:10,}{written:11.2f}{least(read):10.2f}{first:30.0f}"
                          f"{memory:7.0f}")
            except ImportError as error:
                print(f"{library.__name__}: {error}")
        start = least(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True), 3)
        print(f"(Python and NumPy alone: {start:.0f} ms; weights take {8 * (D * H + H * 10):,} bytes)")


if __name__ == "__main__":
    main()
