#!/bin/bash
# tinygrad 0.14.0 on the CPU (it needs clang): the type of a value that is fused away is forgotten. 255 + 1 of uint8 is
# 0, but converted to float it is 256, and half of it is 128: the C code that is generated computes in int. With
# `contiguous()` between, the value has its type. Sorting a NaN drops it and gives another element twice; the largest
# of values with a NaN depends on where it stands, the sign of NaN is 1, and x - x of infinity is
# NaN for a number, 0 for an array of one.
. "$(dirname "$0")/environment" "$(mktemp -d)"
command -v clang >/dev/null || { echo "clang is needed"; exit 1; }
PYTHON=${PYTHON:-python3.12} install tinygrad==0.14.0 numpy==2.5.5
export DEV=CPU
unset PYTHON            # tinygrad takes it for the switch of a device, and fails if it is not a whole number
shows "uint8 255 + 1: 0
uint8 255 + 1, as float: 256.0, contiguous before that: 0.0
uint8 255 + 1, halved: 128, contiguous before that: 0
int8 127 + 1 < 0, as a number: 0, contiguous before that: 1
sum of int8 100 + 100: 200, contiguous before that: -56
minus uint8 1, as float: -1.0, contiguous before that: 255.0
sort of [3, nan, 1, 2]: [1.0, 2.0, 3.0, 3.0] by positions [2, 3, 0, 0]
max of [1, nan, 3]: 3.0, of [nan, 1, 3]: nan
sign of nan: 1.0, x - x of inf: nan, of [inf]: [0.0]" <<'PROGRAM'
import numpy
from tinygrad import Tensor

def tensor(value, dtype="float32"):
    return Tensor(numpy.array(value, dtype))

def both(before, after):
    return f"{after(before()).sum().item()}, contiguous before that: {after(before().contiguous()).sum().item()}"

def more(value, dtype):
    return lambda: tensor([value], dtype) + 1

nan, inf = numpy.nan, numpy.inf
print("uint8 255 + 1:", more(255, "uint8")().item())
print("uint8 255 + 1, as float:", both(more(255, "uint8"), lambda x: x.float()))
print("uint8 255 + 1, halved:", both(more(255, "uint8"), lambda x: x // 2))
print("int8 127 + 1 < 0, as a number:", both(more(127, "int8"), lambda x: x < 0))
print("sum of int8 100 + 100:", both(lambda: tensor([100], "int8") + tensor([100], "int8"), lambda x: x.sum()))
print("minus uint8 1, as float:", both(lambda: -tensor([1], "uint8"), lambda x: x.float()))
values, positions = tensor([3, nan, 1, 2]).sort()
print("sort of [3, nan, 1, 2]:", values.tolist(), "by positions", positions.tolist())
print("max of [1, nan, 3]:", f"{tensor([1, nan, 3]).max().tolist()}, of [nan, 1, 3]:", tensor([nan, 1, 3]).max().tolist())
x, row = tensor(inf), tensor([inf])
print(f"sign of nan: {tensor(nan).sign().tolist()}, x - x of inf: {(x - x).tolist()}, of [inf]: {(row - row).tolist()}")
PROGRAM
