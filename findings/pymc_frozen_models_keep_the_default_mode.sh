#!/bin/bash
# PyMC 6.4.0 with PyTensor 3.3.8: a frozen model keeps compiled functions by the mode that was asked for. If none was, a
# later change of pytensor.config.mode has no effect on it: it returns the function of the old default mode.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install pymc==6.4.0 pytensor==3.3.8 numpy==2.4.6 scipy==1.18.1
shows "model: ['PerformLinker', 'NumbaLinker']
frozen model: ['PerformLinker', 'PerformLinker']" <<'PROGRAM'
import os
os.environ["PYTENSOR_FLAGS"] = "base_compiledir=" + os.getcwd()
import pymc, pytensor
from pymc.model.transform.optimization import freeze_model
from pytensor.compile.mode import Mode, get_mode

with pymc.Model() as model:
    pymc.Normal("x")
for name, found in ("model", model), ("frozen model", freeze_model(model)):
    linkers = []
    for mode in Mode("py", "minimum_compile"), get_mode("NUMBA"):
        with pytensor.config.change_flags(mode=mode):
            linkers.append(type(found.compile_logp().f.maker.linker).__name__)
    print(f"{name}: {linkers}")
PROGRAM
