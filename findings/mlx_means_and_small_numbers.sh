#!/bin/bash
# MLX 0.32.4 on the CPU: the mean of integers is a float, but is computed from their sum in 32 bits, so that the mean of
# four times 2**30 is 0, and that of two times 2**31 - 1 is -1. exp is inf from 88.4 on, where float32 goes on to 88.7,
# and 0 below -87.7; erf of 1e-8 is 0, and wrong by 6 % at 1e-6. The Cholesky factor of -1 is -1, without an error, and
# eigenvalues of a matrix with a NaN are numbers. sign of NaN is 0.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.5.5 scipy==1.18.1
shows "mean of int32 [2**30] * 4: 0.0, NumPy 1073741824.0
mean of int32 [2**31 - 1] * 2: -1.0, NumPy 2147483647.0
exp of 88.6: inf, NumPy 3.009473e+38
exp of -88: 0.0, NumPy 6.0546e-39
erf of 1e-8: 0.0, SciPy 1.128e-08
erf of 1e-6: 1.192e-06, SciPy 1.128e-06
cholesky of [[-1]]: [[-1.0]]
eigvalsh of [[nan, 1], [1, 1]]: [-1.414, 1.414]
sign of nan: 0.0" <<'PROGRAM'
import mlx.core as mx
import numpy
import scipy.special
mx.set_default_device(mx.cpu)

def array(value, dtype="float32"):
    return mx.array(numpy.array(value, dtype))

for text, value in ("[2**30] * 4", [2 ** 30] * 4), ("[2**31 - 1] * 2", [2 ** 31 - 1] * 2):
    print(f"mean of int32 {text}: {mx.mean(array(value, 'int32')).item()}, NumPy {numpy.mean(value)}")
print(f"exp of 88.6: {mx.exp(array(88.6)).item()}, NumPy {numpy.exp(numpy.float32(88.6)):.6e}")
print(f"exp of -88: {mx.exp(array(-88)).item()}, NumPy {numpy.exp(numpy.float32(-88)):.4e}")
print(f"erf of 1e-8: {mx.erf(array(1e-8)).item()}, SciPy {scipy.special.erf(1e-8):.3e}")
print(f"erf of 1e-6: {mx.erf(array(1e-6)).item():.3e}, SciPy {scipy.special.erf(1e-6):.3e}")
print("cholesky of [[-1]]:", mx.linalg.cholesky(array([[-1]]), stream=mx.cpu).tolist())
values = mx.linalg.eigvalsh(array([[numpy.nan, 1], [1, 1]]), stream=mx.cpu)
print("eigvalsh of [[nan, 1], [1, 1]]:", numpy.array(values).astype(float).round(3).tolist())
print("sign of nan:", mx.sign(array(numpy.nan)).item())
PROGRAM
