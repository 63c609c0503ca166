#!/bin/bash
# OpenVINO 2026.4.1 on the CPU: what is declared int64 or float64 is computed in int32 and float32 and says so nowhere;
# the identity alone keeps 64 bits. Sums of int8 saturate, running sums wrap. exp(88.7) is inf (3.3e38), softplus(-20)
# below 0, erf(1e-5) 2 % too small, relu and clamp of NaN are 0, maximum keeps a NaN on the right only.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install openvino==2026.4.1 numpy==2.5.5
shows "x of int64 [1099511627783]: [1099511627783]
x + x of int64 [1099511627783]: [14]
x + x of float64 [1.0000000000009095]: [2.0]
sum of int8 [100, 100, 100]: 127
cumulative sum of int8 [100, 100, 100]: [100, -56, 44]
mean of int8 [1, 2, 2]: 1
exp of float32 [88.7]: [inf]
softplus of float32 [-20.0]: [-1.9073486328125e-06]
erf of float32 [1e-05]: [1.1086438462371007e-05]
relu of float32 [nan]: [0.0]
clamp to 0, 1 of float32 [nan]: [0.0]
maximum with 1 of float32 [nan]: [1.0]
maximum of 1 with float32 [nan]: [nan]" <<'PROGRAM'
import numpy
import openvino
from openvino import opset13 as op
core, nan = openvino.Core(), numpy.nan

def show(name, build, dtype, values):
    array = numpy.array(values, dtype)
    variable = op.parameter(list(array.shape), array.dtype)
    model = core.compile_model(openvino.Model([build(variable)], [variable]), "CPU")
    print(f"{name} {dtype} {values}: {model([array])[0].tolist()}")

axis, one = numpy.array([0]), numpy.ones(1, "float32")
show("x of", lambda x: x, "int64", [2 ** 40 + 7])
show("x + x of", lambda x: op.add(x, x), "int64", [2 ** 40 + 7])
show("x + x of", lambda x: op.add(x, x), "float64", [1 + 2. ** -40])
show("sum of", lambda x: op.reduce_sum(x, axis, False), "int8", [100, 100, 100])
show("cumulative sum of", lambda x: op.cumsum(x, numpy.array(0)), "int8", [100, 100, 100])
show("mean of", lambda x: op.reduce_mean(x, axis, False), "int8", [1, 2, 2])
show("exp of", op.exp, "float32", [88.7])
show("softplus of", op.softplus, "float32", [-20.0])
show("erf of", op.erf, "float32", [1e-5])
show("relu of", op.relu, "float32", [nan])
show("clamp to 0, 1 of", lambda x: op.clamp(x, 0.0, 1.0), "float32", [nan])
show("maximum with 1 of", lambda x: op.maximum(x, op.constant(one)), "float32", [nan])
show("maximum of 1 with", lambda x: op.maximum(op.constant(one), x), "float32", [nan])
PROGRAM
