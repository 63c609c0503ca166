"""The program that measures the GPU runs; its numbers mean nothing here."""
import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_all_figures(device, tmp_path):
    if not device.is_stand_in:
        pytest.skip("run it by hand: python -I tests/gpu/measure.py")
    script = Path(__file__).with_name("measure.py")
    command = [sys.executable, "-I", str(script), "--small", "--stand-in", "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["failed"] == {}, found["failed"]
    counts = {figure: len(rows) for figure, rows in found["figures"].items()}
    assert counts.pop("kernels") >= 53
    assert counts == {"elementwise, GB/s": 1, "transfers, GB/s": 2, "gemm, TFLOPS": 2, "20 kernels, us a call": 2,
                      "latency of a call, us": 5, "training, steps a second": 4, "minibatches by index": 2,
                      "compiling and the first call, s": 4, "loops, us a step": 3}
    assert [sorted(row) for row in found["figures"]["gemm, TFLOPS"].values()] == [["cublas", "phintys"]] * 2
