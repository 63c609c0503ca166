#!/bin/bash
# Halide 21.0.0, compiled for the CPU by its Python package: exp of NaN is 0, log of NaN 89.13, log of infinity 88.72,
# and pow(0, -1) is 0; sin and tanh of NaN are NaN. x - x, x * 0 and x == x are taken for 0, 0 and true for every x, NaN
# and infinity too. Integers divided by 0 are 0, and quotients are those whose remainders are not negative: 7 / -3 is -2
# and 7 % -3 is 1. A cast of 2.0 to a bool is False.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install halide==21.0.0 numpy==2.5.5
shows "exp(nan): 0.0
log(nan): 89.12831
log(inf): 88.72284
sin(nan): nan
pow(0.0, -1.0): 0.0
inf - inf: 0.0
nan * 0.0: 0.0
nan == nan: True
7 / -3, 7 % -3: -2, 1
-7 / -3, -7 % -3: 3, 2
7 / 0, 7 % 0: 0, 0
bool of 2.0: False" <<'PROGRAM'
import halide
import numpy
place = halide.Var("place")
nan, inf = numpy.nan, numpy.inf

def value(build, dtype, *operands):
    buffers = [halide.Buffer(numpy.array([operand], dtype)) for operand in operands]
    function = halide.Func("f")
    function[place] = build(*[buffer[place] for buffer in buffers])
    return numpy.array(function.realize([1]))[0]

for name, number in [("exp", nan), ("log", nan), ("log", inf), ("sin", nan)]:
    print(f"{name}({number}):", value(getattr(halide, name), "float32", number))
print("pow(0.0, -1.0):", value(halide.pow, "float32", 0, -1))
print("inf - inf:", value(lambda x: x - x, "float32", inf))
print("nan * 0.0:", value(lambda x: x * 0.0, "float32", nan))
print("nan == nan:", bool(value(lambda x: x == x, "float32", nan)))
for x, y in (7, -3), (-7, -3), (7, 0):
    quotient, remainder = [value(build, "int32", x, y) for build in (lambda x, y: x / y, lambda x, y: x % y)]
    print(f"{x} / {y}, {x} % {y}: {quotient}, {remainder}")
print("bool of 2.0:", bool(value(lambda x: halide.cast(halide.UInt(1), x), "float32", 2)))
PROGRAM
