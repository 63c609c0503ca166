#!/bin/bash
# Blosc2 4.14.1's lazy expressions: a remainder has the sign of the dividend, as in C, if the operand is an array of
# Blosc2 with two elements or more, and that of the divisor if it has one element, or is an array of NumPy. So has
# round(-2.5), which is -3 or -2. A bool of Blosc2 divided by 2 is an integer. An operand called i8 is taken for a type.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install blosc2==4.14.1 numpy==2.5.5
shows "a % 3 of int64 -7: Blosc2's array -1, of one element 2, NumPy's array 2
a % 3 of float32 -7: Blosc2's array -1.0, of one element 2.0, NumPy's array 2.0
a % 3 of float64 -7: Blosc2's array -1.0, of one element 2.0, NumPy's array 2.0
round(a) of float32 -2.5: Blosc2's array -3.0, of one element -2.0, NumPy's array -2.0
a / 2 of bool True: Blosc2's array 0, of one element 0, NumPy's array 0.5
operand a: 2.0
operand i8: NameError" <<'PROGRAM'
import blosc2
import numpy
numpy.seterr(all="ignore")

def row(expression, dtype, value):
    two = numpy.array([value, value], dtype)
    found = [blosc2.lazyexpr(expression, operands={"a": operand}).compute()[:].tolist()[0]
             for operand in (blosc2.asarray(two), blosc2.asarray(two[:1]), two)]
    print(f"{expression} of {dtype} {value}:", "Blosc2's array {}, of one element {}, NumPy's array {}".format(*found))

row("a % 3", "int64", -7)
row("a % 3", "float32", -7)
row("a % 3", "float64", -7)
row("round(a)", "float32", -2.5)
row("a / 2", "bool", True)
for name in "a", "i8":
    try:
        print(f"operand {name}:", blosc2.lazyexpr(f"{name} + 1", {name: blosc2.asarray(numpy.ones(2))}).compute()[:][0])
    except NameError:
        print(f"operand {name}: NameError")
PROGRAM
