#!/bin/bash
# NVIDIA Warp 1.19.0 on the CPU: `//` rounds down as in Python and `%` has the sign of the dividend as in C, so that
# (x // y) * y + x % y is not x, for integers too. The sign of 0 and of NaN is 1, max and min ignore NaN, acos clips what
# it is given. The gradient of max(0, x) at 0 is 1 and that of max(x, 0) is 0; that of x ** 0 at 0 is NaN, and that of
# acos at 1 is 0.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install warp-lang==1.19.0 numpy==2.5.5
shows "x // 3 of integer -7: -3.0
x % 3 of integer -7: -1.0
x // 3.0 of -7.0: -3.0
x % 3.0 of -7.0: -1.0 with gradient 1.0
wp.sign(x) of 0.0: 1.0
wp.max(x, 1.0) of nan: 1.0
wp.acos(x) of 2.0: 0.0
wp.acos(x) of 1.0: 0.0 with gradient 0.0
wp.max(0.0, x) of 0.0: 0.0 with gradient 1.0
wp.max(x, 0.0) of 0.0: 0.0 with gradient 0.0
wp.pow(x, 0.0) of 0.0: 1.0 with gradient nan
wp.abs(x) of 0.0: 0.0 with gradient 1.0" <<'PROGRAM'
import contextlib
import importlib
import io
import numpy
rows = [("x // 3", "integer", -7), ("x % 3", "integer", -7), ("x // 3.0", "", -7), ("x % 3.0", "gradient", -7),
        ("wp.sign(x)", "", 0), ("wp.max(x, 1.0)", "", numpy.nan), ("wp.acos(x)", "", 2),
        ("wp.acos(x)", "gradient", 1), ("wp.max(0.0, x)", "gradient", 0), ("wp.max(x, 0.0)", "gradient", 0),
        ("wp.pow(x, 0.0)", "gradient", 0), ("wp.abs(x)", "gradient", 0)]
with open("kernels.py", "w") as file:
    file.write("import warp as wp\n")
    for place, (expression, kind, value) in enumerate(rows):
        read = "int(a[0])" if kind == "integer" else "a[0]"
        file.write(f"@wp.kernel\ndef kernel_{place}(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32)):\n"
                   f"    x = {read}\n    b[0] = float({expression})\n")
lines = []
with contextlib.redirect_stdout(io.StringIO()):
    import warp
    kernels = importlib.import_module("kernels")
    for place, (expression, kind, value) in enumerate(rows):
        operand = warp.array([float(value)], dtype=warp.float32, device="cpu", requires_grad=True)
        result = warp.zeros(1, dtype=warp.float32, device="cpu", requires_grad=True)
        with warp.Tape() as tape:
            warp.launch(getattr(kernels, f"kernel_{place}"), 1, [operand], [result], device="cpu")
        result.grad.fill_(1.0)
        tape.backward()
        shown = f"integer {value}" if kind == "integer" else float(value)
        gradient = f" with gradient {operand.grad.numpy()[0]}" if kind == "gradient" else ""
        lines.append(f"{expression} of {shown}: {result.numpy()[0]}{gradient}")
print("\n".join(lines))
PROGRAM
