#!/bin/bash
# numdifftools 0.11.2, by which gradients are checked: it says how far off a derivative may be, but not always truly. Its
# steps have one size whatever x is: x**2 at 1e20 has the derivative 0, off by at most 0, and log at 1e-10 NaN. sin(10000 x)
# has 2.7, off by at most 0.16, where -9522 is right. By complex steps, the derivative of abs at 2 is 0.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numdifftools==0.11.2 numpy==2.5.5 scipy==1.18.1
shows "x**2 at 1e20: 0, error at most 0; right is 2e+20
log at 1e-10: nan, error at most nan; right is 1e+10
sin(10000 x) at 1: 2.696, error at most 0.16; right is -9522
abs at 2, complex steps: 0, error at most 2.8e-14; right is 1
abs at 2: 1, error at most 2.4e-15; right is 1" <<'PROGRAM'
import numdifftools
import numpy
numpy.seterr(all="ignore")

def row(text, function, x, expected, **options):
    found = numdifftools.Derivative(function, full_output=True, **options)(x)
    print(f"{text}: {float(found.estimate):.4g}, error at most {float(found.error_estimate):.2g}; right is {expected:.4g}")

row("x**2 at 1e20", lambda x: x ** 2, 1e20, 2e20)
row("log at 1e-10", numpy.log, 1e-10, 1e10)
row("sin(10000 x) at 1", lambda x: numpy.sin(10000 * x), 1.0, 10000 * numpy.cos(10000))
row("abs at 2, complex steps", numpy.abs, 2.0, 1, method="complex")
row("abs at 2", numpy.abs, 2.0, 1)
PROGRAM
