#!/bin/bash
# heyoka.py 7.13.2 (NumPy 2.5.5): neq(x, x) of NaN is 0 as eq(x, x) is, so that select(neq(x, x), 0, x) lets NaN pass;
# logical_and takes NaN for true. relu of NaN is 0. 0 x is the number 0 when it is written, also for infinity, while
# x - x stays. sum([x, 1e16, -1e16]) is x, and (x + 1e16) - 1e16 is not: constants of one sum are added when it is made.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install heyoka==7.13.2 numpy==2.5.5
shows "of NaN: neq(x, x) 0.0, eq(x, x) 0.0, logical_and of it and 1 1.0, NaN replaced nan, relu 0.0
of infinity: 0 x 0.0, x - x nan
of 1: sum([x, 1e16, -1e16]) 1.0, (x + 1e16) - 1e16 0.0" <<'PROGRAM'
import heyoka
import numpy

x = heyoka.make_vars("x")


def value(expression, at):
    return heyoka.cfunc([expression], [x])(numpy.array([[at]]))[0, 0]


def line(at, **expressions):
    print(", ".join(f"{name} {value(expression, at)}" for name, expression in expressions.items()))


unequal, equal = heyoka.neq(x, x), heyoka.eq(x, x)
print("of NaN: ", end="")
line(numpy.nan, **{"neq(x, x)": unequal, "eq(x, x)": equal,
                   "logical_and of it and 1": heyoka.logical_and([x, equal + 1.0]),
                   "NaN replaced": heyoka.select(unequal, 0.0, x), "relu": heyoka.relu(x)})
print("of infinity: ", end="")
line(numpy.inf, **{"0 x": 0.0 * x, "x - x": x - x})
print("of 1: ", end="")
line(1.0, **{"sum([x, 1e16, -1e16])": heyoka.sum([x, heyoka.expression(1e16), heyoka.expression(-1e16)]),
             "(x + 1e16) - 1e16": (x + 1e16) - 1e16})
PROGRAM
