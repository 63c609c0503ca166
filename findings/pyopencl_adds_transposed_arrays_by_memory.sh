#!/bin/bash
# PyOpenCL 2026.1.4 on PoCL 3.0 (NumPy 2.5.5): an operation on two arrays goes along both memories. x + x.T is 2 x.T of
# the array that is read first, without an error, where NumPy adds transposed elements. A difference of two arrays of
# unsigned integers raises OverflowError, since it is a sum with the factor -1. A sum and a product of int8 are int8,
# and cumsum of int8 is refused. A comparison's result is int8, so that a sum of two of them is 2.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pyopencl==2026.1.4 pocl-binary-distribution==3.0 mako==1.3.10 numpy==2.5.5
shows "x.T + x: [[2.0, 6.0], [4.0, 8.0]], NumPy [[2.0, 5.0], [5.0, 8.0]]
x.T * x: [[1.0, 9.0], [4.0, 16.0]], NumPy [[1.0, 6.0], [6.0, 16.0]]
1 - 2 in uint8: OverflowError: Python integer -1 out of bounds for uint8
sum of three 100 in int8: 44
(x == x) + (x == x): [[2, 2], [2, 2]]" <<'PROGRAM'
import numpy
import pyopencl
import pyopencl.array

queue = pyopencl.CommandQueue(pyopencl.Context(pyopencl.get_platforms()[0].get_devices()[:1]))


def there(values, dtype):
    return pyopencl.array.to_device(queue, numpy.array(values, dtype))


host = numpy.array([[1.0, 2.0], [3.0, 4.0]])
device = there(host, "float64")
print(f"x.T + x: {(device.T + device).get().tolist()}, NumPy {(host.T + host).tolist()}")
print(f"x.T * x: {(device.T * device).get().tolist()}, NumPy {(host.T * host).tolist()}")
try:
    print(there([1], "uint8") - there([2], "uint8"))
except OverflowError as error:
    print(f"1 - 2 in uint8: OverflowError: {error}")
print("sum of three 100 in int8:", pyopencl.array.sum(there([100] * 3, "int8")).get())
print("(x == x) + (x == x):", ((device == device) + (device == device)).get().tolist())
PROGRAM
