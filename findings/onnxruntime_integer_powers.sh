#!/bin/bash
# ONNX Runtime 1.32.0: Pow of int64 is computed in double precision and rounded to an integer: 3 ** 39 is 11 too small,
# (2**31 + 1) ** 2 is even. The operator's specification names no rounding; Mul of the same numbers is exact, and so
# is NumPy.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
shows "3 ** 39: ONNX Runtime is off by -11, NumPy by 0
7 ** 22: ONNX Runtime is off by 239, NumPy by 0
2147483649 ** 2: ONNX Runtime is off by -1, NumPy by 0
2147483649 * 2147483649: ONNX Runtime is off by 0" <<'PROGRAM'
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper

def run(operation, x, y):
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operation, ["x", "y"], ["result"])], "graph", inputs,
                              [helper.make_tensor_value_info("result", TensorProto.INT64, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return int(session.run(None, {"x": numpy.array(x), "y": numpy.array(y)})[0])

for x, y in (3, 39), (7, 22), (2 ** 31 + 1, 2):
    print(f"{x} ** {y}: ONNX Runtime is off by {run('Pow', x, y) - x ** y}, NumPy by "
          f"{int(numpy.int64(x) ** numpy.int64(y)) - x ** y}")
large = 2 ** 31 + 1
print(f"{large} * {large}: ONNX Runtime is off by {run('Mul', large, large) - large ** 2}")
PROGRAM
