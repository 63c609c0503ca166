"""Kernels of forged programs: arguments, dtypes, ranks and numbers of operands that are wrong, at random.

What the rules of operands accept must run, or raise an error: it is run here, on values of all kinds. A crash ends the
process, so tests start one:

    python -I tests/support/forged_kernels.py SEED COUNT
"""
import os
import resource
import sys
import warnings
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).parent))
from kernel_cases import CASES, kernel_classes

from phintys.vm.abi import run_kernel
from phintys.vm.files import kernel_operands  # noqa: F401  (enters the rules)
from phintys.vm.files.operands import NAMES, OperandError, accepted, check_operands, described

MOST_SECONDS, MOST_BYTES = 300, 4 << 30
CLASSES = kernel_classes()
DTYPES = sorted(NAMES.values())
NUMBERS = (-(1 << 40), -7, -2, -1, 0, 1, 2, 3, 5, 16, 40, 1 << 40)
TEXTS = ("float64", "float32", "int64", "bool", "complex128", "add", "max", "C", "x", "")


def changed(value, rng):
    """A constructor's argument with one change somewhere in it."""
    if isinstance(value, (list, tuple)) and len(value) and rng.integers(8):
        at = int(rng.integers(len(value)))
        kind = rng.integers(10)
        if kind == 0:
            return type(value)([*value[:at], *value[at + 1:]])
        if kind == 1:
            return type(value)([*value, value[at]])
        return type(value)([*value[:at], changed(value[at], rng), *value[at + 1:]])
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + int(rng.choice((-1, 1))) if rng.integers(2) else int(rng.choice(NUMBERS))
    if isinstance(value, str):
        return str(rng.choice(TEXTS))
    if isinstance(value, numpy.ndarray):
        return (value.astype(str(rng.choice(DTYPES))), numpy.repeat(value, 40), value[None])[rng.integers(3)]
    return (None, 0, 1, -1, "x", (), (1,), ("operand", int(rng.choice(NUMBERS))))[rng.integers(8)]


def array_like(value, dtype, rank, rng):
    """An array of a dtype and rank, with elements of another, or random ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if value is not None and rng.integers(3):
            value = numpy.asarray(value).astype(dtype)
            while value.ndim > rank:
                value = value[0] if len(value) else numpy.zeros(value.shape[1:], dtype)
            return numpy.ascontiguousarray(value.reshape((1,) * (rank - value.ndim) + value.shape))
        shape = tuple(rng.integers(0, 4, rank).tolist())
        numbers = rng.choice(numpy.array([-3, -2, -1, 0, 1, 2, 3, 5, 1e3, 1e18, numpy.nan, numpy.inf]
                                         if rng.integers(4) == 0 else [-2.0, -1, 0, 1, 2, 3]), shape)
        return numpy.asarray(numbers).astype(dtype)


def forged(rng):
    """A class, arguments, and inputs and layouts of outputs, of which something is wrong."""
    name, arguments, inputs, outputs = CASES[rng.integers(len(CASES))]
    inputs = [numpy.asarray(value) for value in inputs]
    layouts = [(value.dtype.name, value.ndim) for value in inputs], [(dtype, rank) for rank, dtype in outputs]
    values = list(inputs)
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(8)
        side = layouts[rng.integers(2)]
        if kind <= 2 and arguments:
            at = int(rng.integers(len(arguments)))
            arguments = (*arguments[:at], changed(arguments[at], rng), *arguments[at + 1:])
        elif kind == 3 and side:
            at = int(rng.integers(len(side)))
            side[at] = (str(rng.choice(DTYPES)), side[at][1])
        elif kind == 4 and side:
            at = int(rng.integers(len(side)))
            side[at] = (side[at][0], max(side[at][1] + int(rng.choice((-2, -1, 1, 2))), 0))
        elif kind == 5 and side:
            del side[rng.integers(len(side))]
        elif kind == 6 and side:
            side.append(side[rng.integers(len(side))])
        elif layouts[0]:                                    # other values of the right types
            values[rng.integers(len(values))] = None
    values += [None] * len(layouts[0])
    return CLASSES[name], arguments, [array_like(value, dtype, rank, rng)
                                               for value, (dtype, rank) in zip(values, layouts[0])], layouts[1]


def main(seed, count):
    rng = numpy.random.default_rng(int(seed))
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):       # AddressSanitizer maps terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")
    ran = refused = 0
    verbose = len(sys.argv) > 3
    for number in range(int(count)):
        kind, arguments, inputs, outputs = forged(rng)
        if verbose:
            print(number, kind.__name__, arguments, [(x.dtype.name, x.shape) for x in inputs], outputs, flush=True)
        outputs = [(numpy.dtype(dtype).num, rank) for dtype, rank in outputs]
        try:
            described(kind, arguments, {})
            kernel = kind(*arguments)
            check_operands(kind.__name__, [(value.dtype.num, value.ndim) for value in inputs], outputs,
                           accepted(kernel))
        except (OperandError, TypeError, ValueError, OverflowError, KeyError):
            refused += 1
            continue
        ran += 1
        try:
            run_kernel(kernel, inputs, outputs)
        except Exception:
            pass
    print(f"{ran > 0} {refused > 0}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
