#!/bin/bash
# CasADi 3.8.2: expressions are rewritten by algebra while they are written down, with SX as with MX. So x + 1e20 - 1e20
# is x, which is 1 at 1, where Python gives 0; x / x at 0 is 1, and 0 * x at inf is 0. NaN counts as true in if_else,
# and the larger of NaN and 1 is 1. A spline that is asked beyond its grid is 0 there, without a word; a linear
# interpolant goes on.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install casadi==3.8.2 numpy==2.5.5
shows "x + 1e20 - 1e20 at 1.0: SX 1.0, MX 1.0
x / x at 0.0: SX 1.0, MX 1.0
0 * x at inf: SX 0.0, MX 0.0
if_else(x, 1, 2) at nan: SX 1.0, MX 1.0
fmax(x, 1) at nan: SX 1.0, MX 1.0
beyond the grid of x ** 2, at 4.5: bspline 0.0, linear 19.5" <<'PROGRAM'
import casadi

for text, function, value in (("x + 1e20 - 1e20", lambda x: x + 1e20 - 1e20, 1.0), ("x / x", lambda x: x / x, 0.0),
                              ("0 * x", lambda x: 0 * x, float("inf")),
                              ("if_else(x, 1, 2)", lambda x: casadi.if_else(x, 1, 2), float("nan")),
                              ("fmax(x, 1)", lambda x: casadi.fmax(x, 1), float("nan"))):
    found = []
    for kind in casadi.SX, casadi.MX:
        x = kind.sym("x")
        found.append(f"{kind.__name__} {float(casadi.Function('f', [x], [function(x)])(value))}")
    print(f"{text} at {value}: " + ", ".join(found))
grid = [0.0, 1.0, 2.0, 3.0, 4.0]
found = [f"{kind} {float(casadi.interpolant('f', kind, [grid], [place ** 2 for place in grid])(4.5))}"
         for kind in ("bspline", "linear")]
print("beyond the grid of x ** 2, at 4.5: " + ", ".join(found))
PROGRAM
