"""Threads of C programs, watched by ThreadSanitizer: it knows the order that C promises, not that of x86."""
import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def run_watched(program, folder, *arguments):
    """Build a program below ``tests`` with the headers of ``vm`` and ``ops`` in ``folder``, and return what it prints;
    fail if two of its threads use the same memory in no order."""
    headers, built = TESTS.parent / "vm", folder / "program"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None or not (headers / "worker_threads.h").exists():
        pytest.skip("needs a C compiler and the source tree")
    build = [compiler[0], "-O1", "-g", "-fsanitize=thread", "-w", f"-I{headers}", f"-I{TESTS.parent / 'ops'}",
             str(TESTS / program), "-o", str(built), "-pthread", "-rdynamic", "-ldl"]
    if subprocess.run(build, capture_output=True).returncode:
        pytest.skip("the compiler has no ThreadSanitizer")
    # It wants its addresses free, so without random ones where that can be had.
    fixed = ["setarch", "-R"] if shutil.which("setarch") else []
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}      # of another sanitizer
    done = subprocess.run([*fixed, str(built), *map(str, arguments)], capture_output=True, text=True, env=kept)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not run here")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
