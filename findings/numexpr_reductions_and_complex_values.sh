#!/bin/bash
# NumExpr 2.14.2: the sum of no elements is an array of no elements, in place of 0; max and min leave NaN out, although
# maximum and minimum keep it. The root of -1 - 0j is on the other side of the cut than NumPy's, and arcsin of 2 too;
# a quotient of equal complex numbers near 1e200 is NaN, their absolute value inf. Integers of uint64 are added as
# int64, so that 2**63 + 1 is negative.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numexpr==2.14.2 numpy==2.5.5
shows "sum(a) of nothing: NumExpr [], NumPy 0.0
max(a) of [1, nan, 3]: NumExpr 3.0, NumPy nan
maximum(a, 0) of [1, nan, 3]: NumExpr [1.0, nan, 3.0], NumPy [1.0, nan, 3.0]
sqrt(a) of -1 - 0j: NumExpr 1j, NumPy -1j
arcsin(a) of 2: NumExpr (1.571-1.317j), NumPy (1.571+1.317j)
a / a of 1e200j: NumExpr (nan+0j), NumPy (1+0j)
a + 1 of 2**63: NumExpr -9223372036854775807, NumPy 9223372036854775809" <<'PROGRAM'
import numexpr, numpy
numpy.seterr(all="ignore")

def show(value):
    value = numpy.asarray(value)
    value = value.round(3) + 0 if value.dtype.kind == "c" else value
    return value.tolist()

for text, name, array, expected in (
        ("sum(a)", "nothing", numpy.zeros(0), numpy.sum),
        ("max(a)", "[1, nan, 3]", numpy.array([1, numpy.nan, 3]), numpy.max),
        ("maximum(a, 0)", "[1, nan, 3]", numpy.array([1, numpy.nan, 3]), lambda a: numpy.maximum(a, 0)),
        ("sqrt(a)", "-1 - 0j", numpy.array(complex(-1, -0.0)), numpy.sqrt),
        ("arcsin(a)", "2", numpy.array(2 + 0j), numpy.arcsin),
        ("a / a", "1e200j", numpy.array(1e200j), lambda a: a / a),
        ("a + 1", "2**63", numpy.array(2 ** 63, "uint64"), lambda a: a + numpy.uint64(1))):
    print(f"{text} of {name}: NumExpr {show(numexpr.evaluate(text, local_dict={'a': array}))}, "
          f"NumPy {show(expected(array))}")
PROGRAM
