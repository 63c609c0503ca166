#!/bin/bash
# ONNX Runtime 1.32.0: the largest of values with a NaN depends on its place and on the operation: ReduceMax of
# [1, NaN, 3] is 3, of [NaN, 1, 3] is NaN; ArgMax follows it in both; Max of two tensors keeps a NaN wherever it is.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
shows "ReduceMax: NaN first [nan], in the middle [3.0]
ReduceMin: NaN first [nan], in the middle [1.0]
ArgMax: NaN first [0], in the middle [2]
Max of two: [2.0, nan, 3.0]" <<'PROGRAM'
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper

def run(operation, **values):
    inputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [3]) for name in values]
    kind = TensorProto.INT64 if operation == "ArgMax" else TensorProto.DOUBLE
    node = helper.make_node(operation, list(values), ["result"])
    graph = helper.make_graph([node], "graph", inputs, [helper.make_tensor_value_info("result", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: numpy.array(value) for name, value in values.items()})[0].ravel().tolist()

first, middle = [numpy.nan, 1.0, 3.0], [1.0, numpy.nan, 3.0]
for operation in "ReduceMax", "ReduceMin", "ArgMax":
    print(f"{operation}: NaN first {run(operation, x=first)}, in the middle {run(operation, x=middle)}")
print("Max of two:", run("Max", x=middle, y=[2.0, 2.0, 2.0]))
PROGRAM
