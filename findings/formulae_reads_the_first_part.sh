#!/bin/bash
# formulae 0.6.2, which reads the formulas of Bambi 0.21: it reads as far as it can and leaves out the rest, without a
# word. A slope by group without parentheses, "x | g", is x alone, and what is added after it is left out too; so are a
# term behind a forgotten +, behind a bracket too many, and a number's exponent. One expects an error, as for other
# characters. I(n * 2) of int8 wraps around.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install formulae==0.6.2 numpy==2.5.5 pandas==3.1.1 scipy==1.18.1
shows "y ~ (x | g) + z: ['Intercept', 'z'] and ['1|g', 'x|g']
y ~ x | g: ['Intercept', 'x'] and []
y ~ x | g + z: ['Intercept', 'x'] and []
y ~ x z: ['Intercept', 'x'] and []
y ~ x) + z: ['Intercept', 'x'] and []
y ~ x + 1e3 + z: ['Intercept', 'x'] and []
y ~ x & z: ScanError
I(n * 2) of 100: -56" <<'PROGRAM'
import numpy, pandas
from formulae import design_matrices

table = pandas.DataFrame({"y": [1.0, 2.0, 3.0, 4.0], "x": [1.0, 2.0, 3.0, 5.0], "z": [1.0, 0.0, 0.0, 1.0],
                          "g": ["a", "b", "a", "b"], "n": numpy.array([100, 1, 2, 3], "int8")})
for formula in ("y ~ (x | g) + z", "y ~ x | g", "y ~ x | g + z", "y ~ x z", "y ~ x) + z", "y ~ x + 1e3 + z",
                "y ~ x & z"):
    try:
        matrices = design_matrices(formula, table)
        print(f"{formula}: {list(matrices.common.terms)} and {list(matrices.group.terms) if matrices.group else []}")
    except Exception as error:
        print(f"{formula}: {type(error).__name__}")
print("I(n * 2) of 100:", numpy.asarray(design_matrices("y ~ 0 + I(n * 2)", table).common.design_matrix)[0, 0])
PROGRAM
