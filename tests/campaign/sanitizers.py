"""Test files under the sanitizers of the C compiler, one process each.

A sanitizer ends the process at its first find, and pytest holds what the process wrote: so the reports go to files.
A sanitized build is needed, below ``build/address`` and so on; ``make campaign-sanitizers`` makes them. Files run under
``stress``; for AddressSanitizer again without it: then frames keep memory and repeat calls, as they do for users.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Sanitizer → its run-time library, its options, the tests; suites that only compute need no look at threads. Launchers
# of MPI, which tests/api/distributed starts, are told of the sanitizer, too, and have reports of their own.
SANITIZERS = {
    "address": ("libasan.so", "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16", (
        "tests/vm", "tests/gpu", "tests/ops", "tests/api")),
    "undefined": ("libubsan.so", "UBSAN_OPTIONS=print_stacktrace=1", ("tests/vm", "tests/ops")),
    "thread": ("libtsan.so", "TSAN_OPTIONS=report_signal_unsafe=0:allocator_may_return_null=1:die_after_fork=0:"
               f'suppressions="{HERE / "thread_suppressions.txt"}"', (
                   "tests/vm/machine/test_threads_and_fork.py", "tests/vm/containers",
                   "tests/vm/test_pool_and_workers.py", "tests/vm/callables/test_row_calls.py",
                   "tests/vm/callables/test_c_functions.py", "tests/vm/machine/test_turns.py",
                   "tests/vm/test_free_threads.py", "tests/ops/products/test_blas.py"))}
FILES = [(sanitizer, file.relative_to(ROOT).as_posix(), flags) for sanitizer, (_, _, names) in SANITIZERS.items()
         for flags in (("stress", "") if sanitizer == "address" else ("stress",)) for name in names
         for path in [ROOT / name] for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])
         if "distributed" not in file.parts]


def run_file(number):
    """Run a file of tests; raise what the sanitizer or pytest reports."""
    sanitizer, file, flags = FILES[number]
    library, options, _ = SANITIZERS[sanitizer]
    build = ROOT / "build" / sanitizer / "lib"
    if not (build / "phintys").is_dir():
        raise SystemExit(f"there is no build for the sanitizer in {build}: make campaign-sanitizers makes it")
    name, _, value = options.partition("=")
    # C++ that PyTorch and others load is to be there before: the sanitizers look for its exceptions only once.
    preloaded = " ".join([subprocess.run(["gcc", f"-print-file-name={each}"], capture_output=True, text=True)
                          .stdout.strip() for each in (library, "libstdc++.so.6")])
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PHINTYS_FLAGS": flags, "PYTHONMALLOC": "malloc", "PYTHONPATH": str(build),
                       "LD_PRELOAD": preloaded, name: f"{value}:log_path={folder}/report"}
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", file],
                              env=environment, cwd=ROOT, capture_output=True, text=True)
        reports = [path.read_text() for path in sorted(Path(folder).glob("report*"))]
    assert not reports, f"{sanitizer}, {file}: {reports[0][:1800]}"
    assert done.returncode in (0, 5), f"{sanitizer}, {file}: status {done.returncode}: {done.stdout[-1800:]}"
    return 1
