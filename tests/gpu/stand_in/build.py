"""Builds a CUDA for machines without a GPU, in which pycuda runs as it is: a driver, a compiler, pycuda itself.

``ready`` makes two folders, from the sources beside this file and from downloads of the package index: one with
``libcuda.so.1`` (``driver.cpp``), small versions of NVIDIA's libraries, and ``bin/nvcc`` with the headers that it
needs; and one for ``sys.path`` with pycuda and what it imports. It takes 45 seconds of processor time, nearly all
of it for pycuda. Both are kept in the tree's folder ``build``, or in the folder that ``PHINTYS_STAND_IN`` names.
``python tests/gpu/stand_in/build.py`` prints their names.

CUDA's headers come from the toolkit whose nvcc is found, else from the wheel ``nvidia-cuda-runtime``.
"""
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYCUDA = "pycuda==2026.1"
HEADERS = "nvidia-cuda-runtime==13.0.96"
# What pycuda imports; not NumPy, which is there.
IMPORTED = ["pytools", "platformdirs", "mako", "markupsafe", "siphash24", "typing-extensions"]
LIBRARIES = {"cublas": 13, "cublasLt": 13, "cusolver": 12, "cudnn": 9, "cufft": 12}     # with their versions' numbers
DRIVER_SOURCES = ["build.py", "driver.cpp", "library.h", "nvcc", "emulator.h", "cuda_fp16.h",
                  *[f"{name}.cpp" for name in LIBRARIES]]
ENTRY = re.compile(r"\bCUresult\s+CUDAAPI\s+(\w+)\s*\(")
RENAMED = re.compile(r"^\s*#\s*define\s+cu\w+\s+(?:__CUDA_API_PT[SD]Z\()?(cu\w+)\)?\s*$", re.MULTILINE)
NOT_SUPPORTED = 801
SITE_CONFIGURATION = """\
CUDA_ROOT = {root!r}
CUDA_INC_DIR = {include!r}
CUDA_ENABLE_CURAND = False
CUDADRV_LIB_DIR = {libraries!r}
CUDART_LIB_DIR = []
CUDART_LIBNAME = []
CXXFLAGS = ["-g0", "-w", "-O0"]
LDFLAGS = ["-s"]
"""
# setup.py, with the files of an extension compiled side by side, as the workers of the tests wait for this, and those
# of Boost.Python as one: 28 files take 1.3 seconds of processor time each, nearly all for the same headers, and the one
# takes 5.
SIDE_BY_SIDE = """\
import os, runpy, setuptools, sys
from concurrent.futures import ThreadPoolExecutor
from distutils.ccompiler import CCompiler

def compile(self, sources, output_dir=None, macros=None, include_dirs=None, debug=False, extra_preargs=None,
            extra_postargs=None, depends=None):
    parts = [source for source in sources if "/libs/python/src/" in source]
    if parts:
        with open("boost_python.cpp", "w") as file:
            file.writelines([f'#include "{os.path.abspath(part)}"\\n' for part in parts])
        sources = ["boost_python.cpp", *[source for source in sources if source not in parts]]
    macros, objects, postargs, options, build = self._setup_compile(output_dir, macros, include_dirs, sources, depends,
                                                                    extra_postargs)
    arguments = self._get_cc_args(options, debug, extra_preargs)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: self._compile(name, *build[name], arguments, postargs, options), build))
    return objects

CCompiler.compile = compile
sys.argv[0] = "setup.py"
runpy.run_path("setup.py", run_name="__main__")
"""


class CannotBuild(Exception):
    """Why there is no stand-in: no compiler, no package index."""


def cache_folder(name, files, *more):
    """Where a part is kept that is made from these files by this Python; another version is another folder."""
    digest = hashlib.sha256(repr((more, sysconfig.get_config_var("EXT_SUFFIX"), sys.prefix)).encode())
    for file in files:
        digest.update((HERE / file).read_bytes())
    base = os.environ.get("PHINTYS_STAND_IN") or HERE.parents[2] / "build" / "stand_in"
    return Path(base, f"{name}-{digest.hexdigest()[:16]}")


def ready():
    """Return the folder of the stand-in and that of pycuda, built if they have not been.

    Raises
    ------
    CannotBuild
    """
    driver = cache_folder("stand_in", DRIVER_SOURCES, HEADERS)
    once(driver, build_driver)
    site = cache_folder("pycuda", ("cudaProfiler.h",), PYCUDA)
    once(site, lambda folder: build_pycuda(folder, driver))
    return driver, site


def once(folder, build):
    """Build a folder, unless it is complete; other processes wait for the one that builds."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "complete").exists():
            return
        failure, run = Path(f"{folder}.failed"), os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
        if run and failure.exists() and failure.read_text().startswith(run):
            raise CannotBuild(failure.read_text().partition("\n")[2])       # another worker of these tests has tried
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            build(folder)
        except CannotBuild as error:
            failure.write_text(f"{run}\n{error}")
            raise
        shutil.rmtree(folder / "build", ignore_errors=True)
        (folder / "complete").touch()


def build_driver(folder):
    """The driver, the compiler and the folder of CUDA's headers, by the name ``include``."""
    include = headers(folder)
    if include != folder / "include":
        (folder / "include").symlink_to(include)
    compile_driver(folder, include)
    install_compiler(folder)


def headers(folder):
    """Return the folder with cuda.h."""
    for nvcc in (shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        found = nvcc and Path(nvcc).resolve().parent.parent / "include"
        if found and (found / "cuda.h").exists():
            return found
    if Path("/usr/local/cuda/include/cuda.h").exists():
        return Path("/usr/local/cuda/include")
    download(folder / "build", HEADERS, "--only-binary=:all:")
    wheel, = (folder / "build").glob("nvidia_cuda_runtime*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "build" / "headers")
    found = next((folder / "build" / "headers").rglob("cuda.h")).parent
    return Path(shutil.move(found, folder / "include"))


def compile_driver(folder, include):
    """The library, with a weak entry for each function of cuda.h that ``driver.cpp`` does not have."""
    text = (include / "cuda.h").read_text()
    names = sorted({*ENTRY.findall(text), *RENAMED.findall(text)})
    stubs = folder / "build" / "stubs.c"
    stubs.parent.mkdir(exist_ok=True)
    stubs.write_text("".join([f"__attribute__((weak)) int {name}(void) {{ return {NOT_SUPPORTED}; }}\n"
                              for name in names]))
    run(["gcc", "-O1", "-w", "-fPIC", "-c", str(stubs), "-o", f"{stubs}.o"])
    run(["g++", "-std=c++17", "-O2", "-Wall", "-shared", "-fPIC", f"-I{include}", str(HERE / "driver.cpp"),
         f"{stubs}.o", "-Wl,-soname,libcuda.so.1", "-ldl", "-o", str(folder / "libcuda.so.1")])
    (folder / "libcuda.so").symlink_to("libcuda.so.1")
    for name, number in LIBRARIES.items():
        run(["g++", "-std=c++17", "-O2", "-Wall", "-shared", "-fPIC", str(HERE / f"{name}.cpp"),
             f"-Wl,-soname,lib{name}.so.{number}", "-o", str(folder / f"lib{name}.so.{number}")])


def install_compiler(folder):
    """bin/nvcc, with the headers beside it, one of them precompiled."""
    (folder / "bin").mkdir()
    for name in ("nvcc", "emulator.h", "cuda_fp16.h"):
        shutil.copy(HERE / name, folder / "bin" / name)
    text = (folder / "bin" / "nvcc").read_text()
    # The first line may have no space in the interpreter's name: for the shell it is a command, for Python a string.
    begin = f"""#!/bin/sh\n'''exec' "{sys.executable}" -IS "$0" "$@"\n' '''"""
    (folder / "bin" / "nvcc").write_text(text.replace("#!/usr/bin/env python3", begin, 1))
    (folder / "bin" / "nvcc").chmod(0o755)
    run([str(folder / "bin" / "nvcc"), "--precompile"])


def build_pycuda(folder, driver):
    """pycuda from its source distribution, and what it imports: a folder for ``sys.path``."""
    work = folder / "build"
    work.mkdir()
    download(work, PYCUDA, "--no-binary", "pycuda", "--no-build-isolation")
    archive, = work.glob("pycuda-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(work, filter="data")
    tree, = [path for path in work.glob("pycuda-*") if path.is_dir()]
    (work / "include").mkdir(exist_ok=True)
    shutil.copy(HERE / "cudaProfiler.h", work / "include")
    (tree / "siteconf.py").write_text(SITE_CONFIGURATION.format(
        root=str(driver), include=[str(driver / "include"), str(work / "include")], libraries=[str(driver)]))
    run([sys.executable, "-c", SIDE_BY_SIDE, "-q", "build", "--build-lib", str(folder)], cwd=tree)
    pip("install", "--no-deps", "--target", str(folder), *IMPORTED)


def download(folder, requirement, *options):
    """Download one package, without what it requires."""
    pip("download", "--no-deps", "--dest", str(folder), *options, requirement)


def pip(command, *arguments):
    """Run pip of this interpreter."""
    run([sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments])


def run(command, cwd=None):
    """Run a command; what it prints is in the error if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)
    if done.returncode:
        raise CannotBuild(f"{' '.join(command[:6])} … failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    print(*ready())
