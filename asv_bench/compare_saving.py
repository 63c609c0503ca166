"""Compiled functions as files: bytes, milliseconds to write and to read them, and to the first value in a new process.

    python asv_bench/compare_saving.py                  # functions of training, and a model's density
    python asv_bench/compare_saving.py predictions      # a network's predictions, which ONNX Runtime can make, too

Beside phintys: its own pickles (with graphs), PyTensor's pickles of functions, JAX's exported StableHLO and models of
ONNX, where those are installed. Times are milliseconds of the processor, so that other work on the machine counts
little, the least of several; those of new processes count from the start of Python.
"""
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy

RNG = numpy.random.default_rng(0)
N, D, H = 20, 784, 100
X, Y = RNG.standard_normal((N, D)), RNG.integers(0, 10, N)
UNITS, STEPS = 30, 50
SERIES = RNG.standard_normal((STEPS, UNITS))
WEIGHTS = {
    "logistic regression": {"w": RNG.standard_normal((D, 10)) / 30},
    "network": {"w": RNG.standard_normal((D, H)) / 30, "v": RNG.standard_normal((H, 10)) / 10},
    "LSTM": {name: RNG.standard_normal((UNITS, 4 * UNITS)) / 8 for name in "wu"},
}
DATA = {"logistic regression": (X, Y), "network": (X, Y), "LSTM": (SERIES,), "PyMC model": (numpy.zeros(10),),
        "predictions": (X,)}

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
    "ONNX Runtime": """
import onnxruntime
session = onnxruntime.InferenceSession(path)
f = lambda x: session.run(None, {"x": x})
""",
}


def of_children():
    """Seconds that processes which have ended took of the processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def least(action, times=5, clock=time.process_time):
    """The least time of several, in milliseconds."""
    found = []
    for _ in range(times):
        start = clock()
        action()
        found.append(clock() - start)
    return 1e3 * min(found)


# ---- the programs, by the names of three libraries -------------------------------------------------------------------
def cost_of(program, weights, data, tools):
    """A cost; ``tools`` has ``dot``, ``tanh``, ``sigmoid``, ``softmax``, ``log``, ``scan`` of a library."""
    if program == "LSTM":
        def step(row, hidden, cell):
            gates = tools["dot"](row, weights["w"]) + tools["dot"](hidden, weights["u"])
            forget, enter, leave, new = [gates[k * UNITS:(k + 1) * UNITS] for k in range(4)]
            cell = tools["sigmoid"](forget) * cell + tools["sigmoid"](enter) * tools["tanh"](new)
            return tools["sigmoid"](leave) * tools["tanh"](cell), cell

        return (tools["scan"](step, data[0])[-1] ** 2).sum()
    x, y = data
    if "v" in weights:
        x = tools["tanh"](tools["dot"](x, weights["w"]))
    p = tools["softmax"](tools["dot"](x, weights["v" if "v" in weights else "w"]))
    return -tools["log"](p[numpy.arange(N), y]).mean()


def symbolic_step(program, library, T, softmax, scan, shared):
    """A step of training by phintys or PyTensor: a cost, and updates."""
    data = [T.dmatrix("x"), T.lvector("y")][:len(DATA[program])]
    weights = {name: shared(value, name=name) for name, value in WEIGHTS[program].items()}
    tools = {"dot": T.dot, "tanh": T.tanh, "log": T.log, "softmax": softmax,
             "sigmoid": getattr(T, "sigmoid", None) or T.nnet.sigmoid,
             "scan": lambda step, rows: scan(step, sequences=rows, outputs_info=[T.zeros(UNITS)] * 2)[0][0]}
    cost = cost_of(program, weights, data, tools)
    return library.function(data, cost, updates=[(w, w - 0.1 * library.grad(cost, w)) for w in weights.values()])


def model():
    """Eight schools in PyMC."""
    import pymc

    effects = numpy.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    with pymc.Model() as schools:
        mean, spread = pymc.Normal("mean", 0, 5), pymc.HalfCauchy("spread", 5)
        each = pymc.Normal("each", 0, 1, shape=8)
        pymc.Normal("effects", mean + spread * each, [15, 10, 16, 11, 9, 11, 10, 18], observed=effects)
    return schools


# ---- files of each library: its name, the path, what writes, what reads ----------------------------------------------
def of_phintys(program, folder):
    """Files of phintys, and its pickles."""
    import phintys
    import phintys.tensor as T
    from phintys.making import function_copies

    if program == "PyMC model":
        import phintys.interop

        q = T.dvector("q")
        step = phintys.function([q], phintys.interop.logp(model())(q))
    elif program == "predictions":
        step = phintys.function([x := T.dmatrix("x")], prediction(x, {"tanh": T.tanh, "dot": T.dot}), name="f")
    else:
        step = symbolic_step(program, phintys, T, T.nnet.softmax, phintys.scan, phintys.shared)
    path, pickled = folder / "step.phx", folder / "step.pickle"

    def write():
        step.lasting.clear()                            # the second time is free
        pickled.write_bytes(pickle.dumps(step))

    def read():
        function_copies._remade.clear()
        return pickle.loads(pickled.read_bytes())

    yield "phintys", path, lambda: step.save(path), lambda: phintys.load(path)
    yield "phintys, pickle", pickled, write, read
    if program == "predictions":
        import onnxruntime

        other = folder / "step.onnx"
        yield ("ONNX Runtime", other, lambda: phintys.export_onnx(step, other),
               lambda: onnxruntime.InferenceSession(other))


def prediction(x, tools):
    """The network's values before the softmax."""
    weights = WEIGHTS["network"]
    return tools["dot"](tools["tanh"](tools["dot"](x, weights["w"])), weights["v"])


def of_pytensor(program, folder):
    """A pickle of PyTensor."""
    import pytensor
    import pytensor.tensor as pt

    if program == "PyMC model":
        step = model().logp_dlogp_function(ravel_inputs=True)._pytensor_function
    elif program == "predictions":
        step = pytensor.function([x := pt.dmatrix("x")], prediction(x, {"tanh": pt.tanh, "dot": pt.dot}))
    else:
        def scan(*arguments, **options):
            return pytensor.scan(*arguments, return_updates=False, **options), None

        step = symbolic_step(program, pytensor, pt, lambda x: pt.special.softmax(x, axis=-1), scan, pytensor.shared)
    path = folder / "step.pytensor"
    yield ("PyTensor, pickle", path, lambda: path.write_bytes(pickle.dumps(step)),
           lambda: pickle.loads(path.read_bytes()))


def of_jax(program, folder):
    """What JAX exports; its weights are arguments."""
    import jax
    import jax.numpy as jnp
    from jax import export

    jax.config.update("jax_enable_x64", True)
    tools = {"dot": jnp.dot, "tanh": jnp.tanh, "log": jnp.log, "softmax": jax.nn.softmax, "sigmoid": jax.nn.sigmoid,
             "scan": lambda step, rows: jax.lax.scan(lambda state, row: (out := step(row, *state), out[0]),
                                                     (jnp.zeros(UNITS),) * 2, rows)[1]}
    given = DATA[program]
    if program == "PyMC model":
        from pymc.sampling.jax import get_jaxified_logp

        schools = model()
        density, point = get_jaxified_logp(schools), list(schools.initial_point().values())
        jitted, given = jax.jit(jax.value_and_grad(density)), (point,)
    elif program == "predictions":
        jitted = jax.jit(lambda x: prediction(x, tools))
    else:
        def step(weights, *data):
            value, slopes = jax.value_and_grad(lambda weights: cost_of(program, weights, data, tools))(weights)
            return value, {name: weights[name] - 0.1 * slopes[name] for name in weights}

        jitted, given = jax.jit(step), (WEIGHTS[program], *given)
    path = folder / "step.jax"
    yield ("JAX, export", path, lambda: path.write_bytes(export.export(jitted)(*given).serialize()),
           lambda: export.deserialize(bytearray(path.read_bytes())), given)


def new_process(name, path, given, folder):
    """Milliseconds from the start of Python to the first value, and megabytes at most."""
    data = folder / "data"
    data.write_bytes(pickle.dumps(given))
    program = f"""
import pickle, sys
path = {str(path)!r}
given = pickle.load(open({str(data)!r}, "rb"))
{READ[name]}
f(*given)
print([int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""
    memory = []

    def run():
        memory.append(float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                                           check=True).stdout))
    return least(run, 3, of_children), min(memory)


def main(programs):
    """Print a table."""
    print(f"{'':38}{'bytes':>10}{'write, ms':>11}{'read, ms':>10}{'first value of a process, ms':>30}{'MB':>7}")
    for program in programs:
        for library in (of_phintys, of_pytensor, of_jax):
            with tempfile.TemporaryDirectory() as name, suppress(ModuleNotFoundError):
                for title, path, write, read, *given in library(program, Path(name)):
                    written = least(write)
                    given = given[0] if given else DATA[program]
                    first, memory = new_process(title, path, given, Path(name))
                    print(f"{program:20}{title:18}{path.stat().st_size:10,}{written:11.2f}{least(read):10.2f}"
                          f"{first:30.0f}{memory:7.0f}", flush=True)
    start = least(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True), 3, of_children)
    print(f"(Python and NumPy alone: {start:.0f} ms)")


if __name__ == "__main__":
    main(sys.argv[1:] or ["logistic regression", "network", "LSTM", "PyMC model"])
