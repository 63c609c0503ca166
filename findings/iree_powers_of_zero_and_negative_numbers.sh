#!/bin/bash
# IREE 3.13.0, StableHLO on its llvm-cpu target with its default options: a power in float32 is NaN for each negative
# base and for 0, also -2 to the 2 and 0 to the 0 (whole numbers as int32 are right). The sine of 1e5 is 0.03954 for
# 0.03575, that of 1e7 0.5403 for 0.4205. atan2 of signed zeros and of two infinities is NaN, exp(-88) and the logarithm
# of 1e-40 are 0 and minus infinity. A function of float64 is compiled for float32; a line on stderr says so.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 numpy==2.5.5
shows "power of -2, -2, 0, 2 to the 3, 2, 0, 3: [nan, nan, nan, 8.0]
atan2 of 0, inf by -0, inf: [nan, nan]
sine of 1e5, 1e7: [0.03954, 0.5403], NumPy [0.03575, 0.4205]
exponential of -88: [0.0], NumPy [6.055e-39]
log of 1e-40: [-inf], NumPy [-92.1]
what sine of float64 takes: INVALID_ARGUMENT; input0 element type mismatch; expected f32 but have f64" <<'PROGRAM'
import re

import iree.compiler
import iree.runtime
import numpy


def applied(operation, *operands, dtype="f32"):
    """`operation` of StableHLO of lists of numbers, compiled for them."""
    types = f"tensor<{len(operands[0])}x{dtype}>"
    names = ["%" + letter for letter in "ab"[:len(operands)]]
    arguments = ", ".join(f"{name}: {types}" for name in names)
    text = (f"func.func @f({arguments}) -> {types} {{\n%0 = stablehlo.{operation} {', '.join(names)} : {types}\n"
            f"return %0 : {types} }}")
    compiled = iree.compiler.compile_str(text, target_backends=["llvm-cpu"], input_type="auto")
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-task"))
    context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, compiled))
    kind = {"f32": "float32", "f64": "float64"}[dtype]
    found = context.modules.module["f"](*(numpy.array(operand, kind) for operand in operands))
    return [float(f"{value:.4g}") for value in numpy.asarray(found)]


def by_numpy(function, values):
    return [float(f"{value:.4g}") for value in function(numpy.array(values, "float32"))]


print("power of -2, -2, 0, 2 to the 3, 2, 0, 3:", applied("power", [-2, -2, 0, 2], [3, 2, 0, 3]))
print("atan2 of 0, inf by -0, inf:", applied("atan2", [0, numpy.inf], [-0.0, numpy.inf]))
print(f"sine of 1e5, 1e7: {applied('sine', [1e5, 1e7])}, NumPy {by_numpy(numpy.sin, [1e5, 1e7])}")
print(f"exponential of -88: {applied('exponential', [-88])}, NumPy {by_numpy(numpy.exp, [-88])}")
print(f"log of 1e-40: {applied('log', [1e-40])}, NumPy {by_numpy(numpy.log, [1e-40])}")
try:
    print(applied("sine", [1.0], dtype="f64"))
except ValueError as error:
    said = re.sub(r" \(\d+\)", "", str(error)).split(": ", 2)[-1]
    print("what sine of float64 takes:", said.split("; while")[0])
PROGRAM
