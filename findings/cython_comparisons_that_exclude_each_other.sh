#!/bin/bash
# Cython 3.3.1: `mode == 0 and mode == 1` of a C integer or enum is true for 0 and for 1: two comparisons that are joined
# by `and` become the cases of one C switch, as those joined by `or` do. Python objects are compared as written, and so
# are C integers with the directive optimize.use_switch=False.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install cython==3.3.1 setuptools
shows "C integers [True, True, False], without a switch [False, False, False], objects [False, False, False]" <<'PROGRAM'
import pathlib, subprocess, sys, tempfile
folder = tempfile.mkdtemp()
pathlib.Path(folder, "compared.pyx").write_text("""
cimport cython
def of_integer(int mode): return mode == 0 and mode == 1
@cython.optimize.use_switch(False)
def without_switch(int mode): return mode == 0 and mode == 1
def of_object(mode): return mode == 0 and mode == 1
""")
subprocess.run([sys.executable, "-m", "Cython.Build.Cythonize", "-q", "-i", "-3", "compared.pyx"], cwd=folder, check=True,
               capture_output=True)
sys.path.insert(0, folder)
import compared
integers, plain, objects = [[function(mode) for mode in range(3)] for function in (
    compared.of_integer, compared.without_switch, compared.of_object)]
print(f"C integers {integers}, without a switch {plain}, objects {objects}")
PROGRAM
