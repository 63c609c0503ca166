"""Instructions that a call takes, counted by callgrind: the same on a busy machine as on an idle one.

Skipped without valgrind. Each row is run with two numbers of calls in two processes; the difference is divided, and
what Python's loop takes around a call of a trivial C function is subtracted. Valgrind knows no AVX-512, so kernels take
their AVX2 path.
"""
import functools
import os
import re
import shutil
import subprocess
import sys

SETUP = """
import gc, itertools, numpy
import phintys, phintys.tensor as T
gc.disable()
a = b = None
"""
LOOP = """
def loop(n, f=f, a=a, b=b):
    for _ in itertools.repeat(None, n):
        f({arguments})
loop(50); loop({calls})
"""
EMPTY = "f = callable", "a", 2000
# Twenty small kernels that cannot be fused into one: a product of 8 x 8 by 8, then tanh.
PRODUCTS = """
w = T.dmatrix(); v = h = T.dvector()
for i in range(10): h = T.tanh(T.dot(w, h))
f = phintys.function([w, v], h); a = numpy.eye(8) * 0.5; b = numpy.ones(8)
"""
SLICES = """
x = T.dvector()
f = phintys.function([x], sum([x[i:i + 4] for i in range(10)][1:], x[:4])); a = numpy.ones(20)
"""
ROWS = {        # name: statements that define f and its arguments, the call's arguments, number of calls
    "increment_0d": ("x = T.dscalar(); f = phintys.function([x], x + 1); a = numpy.array(1.0)", "a", 2000),
    "increment_one_element": ("x = T.dvector(); f = phintys.function([x], x + 1); a = numpy.ones(1)", "a", 2000),
    "20_outputs_0d": ("x = T.dscalar(); f = phintys.function([x], [x + i for i in range(20)]); a = numpy.array(1.0)",
                      "a", 500),
    "increment_shared_0d": ("n = phintys.shared(0.0); f = phintys.function([], [], updates={n: n + 1})", "", 2000),
    "10_products_and_10_tanh": (PRODUCTS, "a, b", 500),
    "10_slices_summed": (SLICES, "a", 500),
}


def count(setup, arguments, calls):
    """Return the instructions of a process that makes so many calls."""
    program = SETUP + setup + LOOP.format(arguments=arguments, calls=calls)
    environment = dict(os.environ, PYTHONHASHSEED="0", OPENBLAS_NUM_THREADS="1")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not found:
        raise RuntimeError(run.stderr[-2000:])
    return int(found.group(1))


def instructions_a_call(setup, arguments, calls):
    """Return what one call takes, with Python's loop around it."""
    return (count(setup, arguments, 2 * calls) - count(setup, arguments, calls)) / calls


@functools.cache
def instructions_of_loop():
    """Return what Python's loop takes, once in a process."""
    return instructions_a_call(*EMPTY)


class Instructions:
    """Instructions of a whole call."""

    params = [[*ROWS]]
    param_names = ["program"]
    unit = "instructions"
    timeout = 600

    def setup(self, program):
        if shutil.which("valgrind") is None:
            raise NotImplementedError("valgrind is not installed")       # asv skips the benchmark

    def track_instructions_a_call(self, program):
        return instructions_a_call(*ROWS[program]) - instructions_of_loop()
