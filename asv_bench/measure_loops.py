"""Measures the loops that ``ops/native/providers.py`` chooses from, and writes ``ops/native/measured.py``.

    python -I asv_bench/measure_loops.py [--seconds 0.002] [--only exp,tanh]

Prints the table, and writes it unless ``--only`` is given. For each function and dtype: nanoseconds an element (the
minimum of interleaved repetitions on operands in the L1 cache), and the largest error in ulp on values of every
magnitude. NumPy's loops are measured a second time in a process that keeps NumPy to AVX2. Columns that this machine
cannot measure keep the numbers that were recorded. Afterwards run ``docs/write_mathematics.py``.
"""
import argparse
import ctypes
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy
import scipy.special

from phintys.ops.native.loops import built_in_loop, provided_loop, ufunc_loop
from phintys.ops.native.measured import COLUMNS, MEASURED
from phintys.ops.native.providers import TITLES, numpy_column
from phintys.ops.native.special.vector_math import BINARY, FUNCTIONS, NO_UFUNCS

PAGE = Path(__file__).resolve().parent.parent / "ops" / "native" / "measured.py"
ONLY_AVX2 = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL "
             "AVX512_SPR"}
ELEMENTS = 1024
REPETITIONS = 25
# Operands whose speed is measured; what is not named takes values between -3 and 3.
DOMAINS = {"arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "arccosh": (1, 10), "log": (0, 10),
           "log2": (0, 10), "log10": (0, 10), "log1p": (-0.9, 10), "power": (0, 4), "gammaln": (0.1, 20),
           "psi": (0.1, 20), "erfinv": (-1, 1)}
LONG_DOUBLE = {"erf": "erfl", "erfc": "erfcl"}
# Compared with mpmath, on positive operands: below zero, their zeros and poles make a relative error meaningless.
PRECISE = ("gammaln", "psi", "erfinv")

HEAD = '''\
"""Times and errors of loops: written by ``asv_bench/measure_loops.py``, read by ``providers.py``.

(ufunc, dtype): (nanoseconds an element, largest error in ulp), each in the order of COLUMNS; None where a provider has
no such loop, or it was not measured.
"""
COLUMNS = {columns}
# Where each column was measured.
MACHINES = {named}
MEASURED = {{
'''


def ufunc_of(name):
    if name in NO_UFUNCS:
        return lambda x: numpy.logaddexp(numpy.zeros((), x.dtype), x)
    return getattr(numpy, name, None) or getattr(scipy.special, name)


def loops_of(name, dtype):
    """Column → loop, of those that this process has."""
    if name in NO_UFUNCS:
        loops = {provider: built_in_loop(name, (dtype, dtype), provider) for provider in TITLES}
        return {column: loop for column, loop in loops.items() if loop is not None}
    ufunc = ufunc_of(name)
    signature = (dtype,) * (ufunc.nin + 1)
    if not any(numpy.dtype(character).name == dtype for types in ufunc.types for character in types[0]
               if character in "efd"):
        return {}
    loops = {provider: provided_loop(ufunc, signature, provider) for provider in TITLES}
    loops[numpy_column()] = ufunc_loop(ufunc, signature)
    return {column: loop for column, loop in loops.items() if loop is not None}


# ---- speed -----------------------------------------------------------------------------------------------------------
def speeds(name, dtype, loops, seconds):
    """Column → nanoseconds an element."""
    low, high = DOMAINS.get(name, (-3, 3))
    generator = numpy.random.default_rng(0)
    operands = [generator.uniform(low, high, ELEMENTS).astype(dtype) for _ in range(2 if name in BINARY else 1)]
    times = {}
    for column, loop in loops.items():
        start = time.perf_counter()
        loop(*operands, times=10)
        times[column] = max(1, int(seconds / ((time.perf_counter() - start) / 10)))
    best = dict.fromkeys(loops, float("inf"))
    for _ in range(REPETITIONS):
        for column, loop in loops.items():
            start = time.perf_counter()
            loop(*operands, times=times[column])
            best[column] = min(best[column], (time.perf_counter() - start) / times[column] / ELEMENTS)
    return {column: round(seconds * 1e9, 2) for column, seconds in best.items()}


# ---- errors ----------------------------------------------------------------------------------------------------------
def samples(name, dtype, count, seed=0):
    """Lists of operands of every kind: any bits, ordinary numbers, all magnitudes, near 1, near overflow."""
    generator = numpy.random.default_rng(seed)
    size = numpy.dtype(dtype).itemsize
    edge = {2: 12, 4: 110, 8: 800}[size]
    digits = {2: 4, 4: 20, 8: 20}[size]
    kinds = [
        lambda: generator.integers(0, 2 ** (8 * size), count, dtype=f"uint{8 * size}").view(dtype),
        lambda: generator.standard_normal(count) * 3,
        lambda: generator.uniform(-edge, edge, count),
        lambda: generator.uniform(-1, 1, count),
        lambda: 10.0 ** generator.uniform(-digits, digits, count) * generator.choice([-1, 1], count),
        lambda: 1 + generator.uniform(-1, 1, count) * 10.0 ** generator.uniform(-16, 0, count),
    ]
    for kind in kinds:
        with numpy.errstate(all="ignore"):
            operands = [kind().astype(dtype) for _ in range(2 if name in BINARY else 1)]
        if name == "power" or name in PRECISE:
            operands[0] = numpy.abs(operands[0])
        yield operands


def exact(name, operands):
    """The values in a wider type: of float64 in C's long double."""
    if operands[0].dtype != "float64":
        return ufunc_of(name)(*[operand.astype("float64") for operand in operands]).astype("longdouble")
    if name in PRECISE:
        return numpy.array([precise(name, value) for value in operands[0].tolist()], "longdouble")
    if name not in LONG_DOUBLE:
        return ufunc_of(name)(*[operand.astype("longdouble") for operand in operands])
    function = getattr(ctypes.CDLL("libm.so.6"), LONG_DOUBLE[name])
    function.argtypes, function.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    # ctypes passes long doubles on as float64, so the error is that of the rounded value and half an ulp more.
    return numpy.array([function(value) for value in operands[0].tolist()], "longdouble")


def precise(name, value):
    """The value with 40 digits, rounded to 80 bits."""
    import mpmath
    with mpmath.workdps(40):
        if not numpy.isfinite(value) or value == 0 or (name == "erfinv" and value >= 1):
            return numpy.nan
        x = mpmath.mpf(value)
        if name == "erfinv":
            found = mpmath.mpf(float(scipy.special.erfinv(value)))
            for _ in range(4):
                found -= (mpmath.erf(found) - x) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(found ** 2)
        else:
            found = (mpmath.loggamma if name == "gammaln" else mpmath.digamma)(x)
        high = float(found)
        return numpy.longdouble(high) + (numpy.longdouble(float(found - high)) if numpy.isfinite(high) else 0)


def ulps(got, wanted):
    """Errors in units in the last place of the exact value; 0 where that is no finite number of the dtype."""
    with numpy.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        unit = numpy.spacing(numpy.maximum(numpy.abs(rounded), numpy.finfo(got.dtype).tiny))
        return numpy.where(numpy.isfinite(rounded), numpy.abs(got.astype("longdouble") - wanted) / unit, 0)


def errors(name, dtype, loops, count):
    """Column → largest error in ulp."""
    worst = dict.fromkeys(loops, 0.0)
    if dtype == "float64":
        count = min(count, 20_000 if name in LONG_DOUBLE else 500 if name in PRECISE else count)
    for operands in samples(name, dtype, count):
        with numpy.errstate(all="ignore"):
            wanted = exact(name, operands)
            for column, loop in loops.items():
                worst[column] = max(worst[column], float(ulps(loop(*operands), wanted).max()))
    return {column: math.ceil(error * 100) / 100 for column, error in worst.items()}


# ---- the table -------------------------------------------------------------------------------------------------------
def measure(names, seconds):
    """"function dtype" → (speeds, errors) by column."""
    table = {}
    for name in names:
        for dtype in ("float64", "float32", "float16"):
            loops = loops_of(name, dtype)
            if loops:
                table[f"{name} {dtype}"] = (speeds(name, dtype, loops, seconds), errors(name, dtype, loops, 200_000))
    return table


def machine():
    model = "an unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), model)
    return (f"{model}, {' '.join(platform.libc_ver())}, NumPy {numpy.__version__}, SciPy {scipy.__version__}")


def merged(key, tables):
    """The row of a function and dtype: measured now, or else recorded."""
    name, dtype = key.split()
    row = []
    for kind in range(2):
        old = dict(zip(COLUMNS, MEASURED.get((name, dtype), ((None,) * len(COLUMNS),) * 2)[kind]))
        for table in tables:
            old.update(table.get(key, ({}, {}))[kind])
        row.append(tuple([old[column] for column in COLUMNS]))
    return name, dtype, tuple(row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.002, help="of one repetition")
    parser.add_argument("--only", default="", help="functions, separated by commas; nothing is written")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(FUNCTIONS)
    table = measure(names, options.seconds)
    if options.worker:
        print(json.dumps(table))
        return
    tables = [table]
    if numpy_column() != "numpy avx2":
        command = [sys.executable, "-I", __file__, "--worker", "--seconds", str(options.seconds), "--only",
                   ",".join(names)]
        other = subprocess.run(command, env=dict(os.environ, **ONLY_AVX2), check=True, capture_output=True, text=True)
        only_avx2 = json.loads(other.stdout)
        tables.append({key: tuple([{"numpy avx2": part.get("numpy avx2")} for part in row])
                       for key, row in only_avx2.items()})
    rows = [merged(key, tables) for key in table]
    measured = {column for part in tables for row in part.values() for column in row[0]}
    where = {column: machine() if column in measured else "not measured" for column in COLUMNS}
    text = HEAD.format(columns=COLUMNS, named=json.dumps(where, indent=4).replace("\n}", ",\n}"))
    text += "".join([f'    ("{name}", "{dtype}"): ({row[0]},\n        {row[1]}),\n' for name, dtype, row in rows])
    text += "}\n"
    print(text)
    if not options.only:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
