"""The program that measures the GPU runs; its numbers mean nothing here."""
import json
import subprocess
import sys
from pathlib import Path

import pytest


def test_all_figures(device):
    if not device.is_stand_in:
        pytest.skip("run it by hand: python -I tests/gpu/measure.py")
    script = Path(__file__).with_name("measure.py")
    done = subprocess.run([sys.executable, "-I", str(script), "--small", "--stand-in"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])["figures"]
    assert set(found) == {"elementwise, GB/s", "transfers, GB/s", "gemm, TFLOPS", "20 kernels, us a call",
                          "training, steps a second", "compiling and the first call, s"}
    assert len(found["training, steps a second"]) == 3
    assert [sorted(row) for row in found["gemm, TFLOPS"].values()] == [["cublas", "phintys"]] * 2
    assert [name.split()[0] for name in found["transfers, GB/s"]] == ["upload", "download"]
