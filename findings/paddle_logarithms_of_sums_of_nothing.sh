#!/bin/bash
# Paddle 3.3.1 (its CPU package): logsumexp of infinities is NaN, of minus infinities (a row that is masked) as of plus
# infinity, and logcumsumexp gives -3.4e38 for it. hypot and the norm overflow where the result is a float64. softplus
# of -50 is 0, erfinv of 2 infinity. A sum of int8 is int8 and wraps, its cumsum is int64, its mean is refused; 1 / 3
# of int64 is float32. argmax passes NaN over while max gives it, and a comparison of NaN by sort puts it last.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install paddlepaddle==3.3.1 numpy==2.5.5
shows "logsumexp of -inf, -inf: nan, of inf, 1: nan, of 0, -inf: 0.0
logcumsumexp of -inf, 0: [-3.4028234663852886e+38, 0.0]
hypot of 1e200, 1e200: [inf], norm: inf
softplus of -50: [0.0], NumPy 1.9287498479639178e-22
erfinv of 1, 2: [inf, inf]
100 + 100 + 100 in int8: sum 44 (int8), cumsum [100, 200, 300] (int64)
1 / 3 of int64: float32
of 1, nan, 3, 2: max nan, argmax 2" <<'PROGRAM'
import numpy
import paddle

nan, inf = float("nan"), float("inf")


def tensor(values, dtype="float64"):
    return paddle.to_tensor(numpy.array(values, dtype))


sums = [paddle.logsumexp(tensor(values)).item() for values in ([-inf, -inf], [inf, 1], [0, -inf])]
print("logsumexp of -inf, -inf: {}, of inf, 1: {}, of 0, -inf: {}".format(*sums))
print("logcumsumexp of -inf, 0:", paddle.logcumsumexp(tensor([-inf, 0], "float32")).tolist())
large = tensor([1e200])
print(f"hypot of 1e200, 1e200: {paddle.hypot(large, large).tolist()},",
      f"norm: {paddle.linalg.norm(tensor([1e200, 1e200])).item()}")
softplus = paddle.nn.functional.softplus(tensor([-50])).tolist()
print(f"softplus of -50: {softplus}, NumPy {numpy.log1p(numpy.exp(-50.0))}")
print("erfinv of 1, 2:", paddle.erfinv(tensor([1, 2])).tolist())
small = tensor([100, 100, 100], "int8")
total, running = paddle.sum(small), paddle.cumsum(small)
print(f"100 + 100 + 100 in int8: sum {total.item()} ({total.dtype.name.lower()}),",
      f"cumsum {running.tolist()} ({running.dtype.name.lower()})")
print("1 / 3 of int64:", (tensor([1], "int64") / tensor([3], "int64")).dtype.name.lower())
unknown = tensor([1, nan, 3, 2])
print(f"of 1, nan, 3, 2: max {paddle.max(unknown).item()}, argmax {paddle.argmax(unknown).item()}")
PROGRAM
