"""Functions as models of ONNX; `phintys.export_onnx` makes them."""
