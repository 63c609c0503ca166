#!/bin/bash
# Apache TVM 0.27.0.post1, relax operators compiled for the CPU: means and variances of integers are integers, made of
# sums in the operand's own type: the mean of three int8 of 100 is 14 and their standard deviation 86. A sum of bools is
# a bool. max ignores NaN and maximum keeps a NaN on the right only. tanh and atanh of 1e-5 are 0.14 % too large, and
# softplus(-20) is 0 (2.06e-9). A cast of float32 300 to uint8 is 44 in an array of two, and 255 in one of seven.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install apache-tvm==0.27.0.post1 numpy==2.5.5
shows "mean of int8 [100, 100, 100]: 14 int64
std of int8 [100, 100, 100]: 86.0 float32
mean of int32 [1, 2, 2]: 1 int64
sum of bool [True, True, False]: True bool
max of float32 [1.0, nan, 3.0]: 3.0 float32
maximum of float32 [1.0, nan, 3.0]: [2.0, 2.0, 3.0] float32
maximum of float32 [2.0, 2.0, 2.0]: [2.0, nan, 3.0] float32
tanh of float32 [1e-05]: [1.0013680e-05] float32
atanh of float32 [1e-05]: [1.0013580e-05] float32
softplus of float32 [-20.0]: [0.0000000e+00] float32
uint8 of float32 [300.0, -300.0]: [44, 212] uint8
uint8 of float32 [300.0, -300.0, 0, 0, 0, 0, 0]: [255, 0, 0, 0, 0, 0, 0] uint8" <<'PROGRAM'
import numpy
import tvm
from tvm import relax
nan, device = numpy.nan, tvm.cpu()

def show(name, build, dtype, *operands):
    arrays = [numpy.array(operand, dtype) for operand in operands]
    variables = [relax.Var(f"x{place}", relax.TensorType(array.shape, dtype)) for place, array in enumerate(arrays)]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            result = builder.emit_output(build(*variables))
        builder.emit_func_output(result)
    machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), device)
    found = machine["main"](*[tvm.runtime.tensor(array, device) for array in arrays]).numpy()
    shown = [f"{found[0]:.7e}"] if found.shape == (1,) else found.tolist()
    print(f"{name} of {dtype} {operands[0]}: {shown}".replace("'", ""), found.dtype)

op = relax.op
show("mean", op.mean, "int8", [100, 100, 100])
show("std", op.std, "int8", [100, 100, 100])
show("mean", op.mean, "int32", [1, 2, 2])
show("sum", op.sum, "bool", [True, True, False])
show("max", op.max, "float32", [1.0, nan, 3.0])
show("maximum", op.maximum, "float32", [1.0, nan, 3.0], [2.0, 2.0, 2.0])
show("maximum", op.maximum, "float32", [2.0, 2.0, 2.0], [1.0, nan, 3.0])
show("tanh", op.tanh, "float32", [1e-5])
show("atanh", op.atanh, "float32", [1e-5])
show("softplus", op.nn.softplus, "float32", [-20.0])
show("uint8", lambda x: op.astype(x, "uint8"), "float32", [300.0, -300.0])
show("uint8", lambda x: op.astype(x, "uint8"), "float32", [300.0, -300.0, 0, 0, 0, 0, 0])
PROGRAM
