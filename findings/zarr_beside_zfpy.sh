#!/bin/bash
# Zarr 3.4.2 cannot be imported where zfpy 1.0.1.post0 is installed: numcodecs 0.17.1, which it imports, makes integers
# of the parts of zfpy's version, and "post0" is none. Nothing of Zarr's needs zfpy; without it the import works.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install zarr==3.4.2 numcodecs==0.17.1 zfpy==1.0.1.post0 numpy==2.5.5
shows "import zarr: ValueError: invalid literal for int() with base 10: 'post0'
without zfpy: 3.4.2" <<'PROGRAM'
import subprocess
import sys

def tried():
    found = subprocess.run([sys.executable, "-c", "import zarr; print(zarr.__version__)"], text=True,
                           capture_output=True)
    return (found.stdout or found.stderr.splitlines()[-1]).strip()

print("import zarr:", tried())
subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", "zfpy"], check=True)
print("without zfpy:", tried())
PROGRAM
