#!/bin/bash
# Numba 0.68.0: a generator in compiled code draws NumPy's numbers from NumPy's states, but not all: whole numbers below
# 10**18 differ from NumPy's after a few draws, and the two generators part, although those below 2**62 and below
# 3 * 2**40 agree. PyTensor's default mode is Numba, so the same seed gives other numbers there than in its Python mode.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numba==0.68.0 numpy==2.4.6
shows "below 2**62: the first 800 of 800 numbers are the same, same state True
below 3 * 2**40: the first 800 of 800 numbers are the same, same state True
below 10**18: the first 25 of 800 numbers are the same, same state False
below 2**62 + 1: the first 1 of 800 numbers are the same, same state False" <<'PROGRAM'
import numba, numpy

@numba.njit
def draw(generator, limit):
    return generator.integers(0, limit, size=800)

for name, limit in (("2**62", 2**62), ("3 * 2**40", 3 * 2**40), ("10**18", 10**18), ("2**62 + 1", 2**62 + 1)):
    first, second = numpy.random.default_rng(7), numpy.random.default_rng(7)
    same = first.integers(0, limit, size=800) == draw(second, limit)
    print(f"below {name}: the first {800 if same.all() else same.argmin()} of 800 numbers are the same, "
          f"same state {first.bit_generator.state == second.bit_generator.state}")
PROGRAM
