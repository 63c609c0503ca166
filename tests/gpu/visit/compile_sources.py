"""Compile sources ahead: ``python -I compile_sources.py SOURCES CUBINS ARCHITECTURE``.

The files have the names by which phintys finds them in ``config.gpu.cache``, so on the device no test waits for the
compiler, if its NVRTC is of the version that is installed here.
"""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from phintys.gpu.runtime.compiler import OPTIONS, file_name
from phintys.gpu.runtime.nvrtc import Refused, find_nvrtc

sources, cubins, architecture = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
nvrtc = find_nvrtc(architecture=architecture)


def compile_one(path):
    """The size of the module; 0 if the source is refused, as those of the tests of errors are."""
    source = path.read_text()
    target = cubins / file_name(source, architecture, nvrtc.version)
    try:
        target.write_bytes(nvrtc.compile(source, architecture, OPTIONS))
    except Refused:
        return 0
    return target.stat().st_size


with ThreadPoolExecutor() as pool:
    sizes = list(pool.map(compile_one, sorted(sources.glob("*.cu"))))
print(f"{nvrtc.version}, {architecture}: {len(sizes)} sources, {sum(sizes) / 1e6:.1f} MB, {sizes.count(0)} refused")
