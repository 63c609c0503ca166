#!/bin/bash
# The tests of the GPU on a machine that has one, and no network: `on_a_device.sh WHEELS`.
#
# WHEELS is a folder with wheels of pycuda and what it imports, for the machine's Python. phintys is built in a
# virtual environment that sees the machine's packages (NumPy, SciPy, Cython, pytest, hypothesis). NVRTC or nvcc must
# be found. Without further arguments (for pytest), the figures of measure.py follow.
set -euo pipefail
wheels=$(cd "${1:?the folder of the wheels}" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
environment=${VENV:-build/on_a_device}
[ -x "$environment/bin/python" ] || "${PYTHON:-python3}" -m venv --system-site-packages "$environment"
python=$environment/bin/python
"$python" -m pip install --quiet --no-index --no-deps --no-compile "$wheels"/*.whl
"$python" -m pip install --quiet --no-build-isolation --no-deps .
[ $# -gt 1 ] || trap '"$python" -I tests/gpu/measure.py' EXIT       # all figures, whether or not tests fail
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
PHINTYS_TEST_GPU=1 "$python" -I -m pytest -n 0 -p no:cacheprovider tests/gpu "${@:2}"
