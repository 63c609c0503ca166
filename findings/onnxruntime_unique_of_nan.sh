#!/bin/bash
# ONNX Runtime 1.32.0: Unique drops NaN. The values are [1, 2], each NaN is counted as a 1, and the positions that rebuild
# the array turn it into 1. ONNX's own reference evaluator keeps NaN as a value, as NumPy does. The mean of no elements
# is 0 in ONNX Runtime, NaN in both others.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install onnx==1.23.2 onnxruntime==1.32.0 numpy==2.5.5
shows "ONNX Runtime: values [1.0, 2.0], counts [3, 1], rebuilt [2.0, 1.0, 1.0, 1.0]
reference: values [1.0, 2.0, nan], counts [1, 1, 2], rebuilt [2.0, 1.0, nan, nan]
NumPy: values [1.0, 2.0, nan], counts [1, 1, 2], rebuilt [2.0, 1.0, nan, nan]
mean of nothing: ONNX Runtime 0.0, reference nan, NumPy nan" <<'PROGRAM'
import numpy, onnx, onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

def run(operation, array, results, *more):
    inputs = [helper.make_tensor_value_info(name, kind, [len(value)])
              for name, kind, value in (("x", TensorProto.FLOAT, array), ("axes", TensorProto.INT64, [0]))]
    node = helper.make_node(operation, ["x", *more], results)
    graph = helper.make_graph([node], "graph", inputs[:1 + len(more)],
                              [onnx.ValueInfoProto(name=name) for name in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    given = {"x": array, "axes": numpy.array([0])} if more else {"x": array}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given), ReferenceEvaluator(model).run(None, given)

array = numpy.array([2, 1, numpy.nan, numpy.nan], "float32")
found = run("Unique", array, ["values", "first", "inverse", "counts"])
for name, (values, _, inverse, counts) in (*zip(("ONNX Runtime", "reference"), found),
                                           ("NumPy", numpy.unique(array, True, True, True))):
    print(f"{name}: values {values.tolist()}, counts {counts.tolist()}, rebuilt {values[inverse].tolist()}")
runtime, reference = [float(result[0].squeeze()) for result in run("ReduceMean", array[:0], ["result"], "axes")]
print(f"mean of nothing: ONNX Runtime {runtime}, reference {reference}, NumPy {array[:0].mean()}")
PROGRAM
