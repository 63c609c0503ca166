"""CUDA sources to modules: compiled once for each source and kind of device, in memory and on disk.

NVRTC compiles where it is installed, else nvcc, through pycuda; ``config.gpu.compiler`` chooses. Where no NVRTC knows
the device, as the device is newer, or where the driver refuses what it made, as the driver is older, the next way is
tried: another version, and then PTX, of which the driver itself makes code. On disk, modules are in the folder of
``config.gpu.cache``, under names that are hashes of the source, the compiler's version and the options, so nothing is
ever out of date.
"""
import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from phintys.gpu.runtime.device import is_open, the_device
from phintys.gpu.runtime.driver import accepts
from phintys.gpu.runtime.nvrtc import Refused, installed
from phintys.graph.config import config

OPTIONS = ("-std=c++17",)
CANNOT_RUN = ("the compiler of CUDA, {nvcc!r}, cannot be run ({error}): pip install nvidia-cuda-nvrtc, or install "
              "nvcc and set config.gpu.nvcc to its path")

_compiled = {}                  # (source, architecture) → the module's bytes
_begun = {}                     # the same → a Future of what is being compiled in a thread
_accepted, _refused = set(), set()  # versions of compilers: the driver has loaded a module, or refused one


def compiled(source):
    """The module of a CUDA source, for the device in use.

    Parameters
    ----------
    source : str
        Kernels with ``extern "C"``.

    Returns
    -------
    bytes

    Raises
    ------
    RuntimeError
        If no device is in use, nvcc cannot be run, or it refuses the source.
    """
    key = source, the_device().architecture
    image = _compiled.get(key)
    if image is None:
        begun = _begun.pop(key, None)
        image = _compiled[key] = begun.result() if begun else _from_disk(*key)
    return image


def begin(source):
    """Let a thread compile what a call will need: NVRTC compiles several sources side by side.

    Parameters
    ----------
    source : str
        As of `compiled`, which raises the errors.
    """
    if not is_open() or config.gpu.compiler == "nvcc" or not installed():
        return
    key = source, the_device().architecture
    if key not in _compiled and key not in _begun:
        _begun[key] = _threads().submit(_from_disk, *key)


@lru_cache(maxsize=1)
def _threads():
    return ThreadPoolExecutor(os.cpu_count() or 1, "phintys-nvrtc")


def _from_disk(source, architecture):
    """The module from the cache, or compiled and put there, by the first compiler of which the driver takes modules."""
    ways = ways_for(architecture)
    for version, compiler in ways:
        if version in _refused and version != ways[-1][0]:
            continue
        image = _by(version, compiler, source, architecture)
        if version in _accepted or version == ways[-1][0] or accepts(image):
            _accepted.add(version)
            return image
        _refused.add(version)


def _by(version, compiler, source, architecture):
    """The module of a compiler, which is asked for it if the cache has none."""
    path = cache_folder() / file_name(source, architecture, version)
    try:
        return path.read_bytes()
    except OSError:
        image = _compile(compiler, source, architecture)
    try:
        _write(path, image)
    except OSError:
        pass                    # a cache that cannot be written is only slower
    return image


def file_name(source, architecture, version):
    """The name in the cache of the module that a version of a compiler makes of a source."""
    return hashlib.sha256("\n".join([source, architecture, *OPTIONS, version]).encode()).hexdigest() + ".cubin"


def ways_for(architecture):
    """The compilers that ``config.gpu.compiler`` names, in the order in which they are tried.

    Returns
    -------
    list of (str, callable)
        What a compiler says that it is, and a function of a source and an architecture. There is at least one.

    Raises
    ------
    RuntimeError
        If none is there, or none knows the architecture.
    """
    wanted = config.gpu.compiler
    libraries = () if wanted == "nvcc" else installed()
    ways = [(library.version, partial(_by_nvrtc, library)) for library in libraries
            if architecture in library.architectures]
    ways += [(f"{library.version}, {library.nearest(architecture)}",
              partial(_by_nvrtc, library, virtual=library.nearest(architecture)))
             for library in libraries if library.nearest(architecture)]
    if not ways and wanted == "nvrtc":
        raise RuntimeError(
            f"{libraries[0].version} compiles for {', '.join(libraries[0].architectures)}, and not for {architecture}: "
            "install another version of it, or nvcc" if libraries else
            "config.gpu.compiler is 'nvrtc', and the library NVRTC is not found: pip install nvidia-cuda-nvrtc")
    return ways or [(_version(config.gpu.nvcc), _by_nvcc)]


def _by_nvrtc(library, source, architecture, virtual=None):
    return library.compile(source, virtual or architecture, OPTIONS)


def cache_folder():
    """Where compiled modules are kept."""
    if config.gpu.cache:
        return Path(config.gpu.cache)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "phintys", "gpu")


def _write(path, image):
    """Write a file that others see either whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(image)
    os.replace(name, path)


def _compile(compiler, source, architecture):
    try:
        return compiler(source, architecture)
    except Refused as error:
        raise RuntimeError(f"a kernel that was generated for {architecture} cannot be compiled; this is an error of "
                           f"phintys:\n{error}\n{source}") from None
    except OSError as error:
        raise RuntimeError(CANNOT_RUN.format(nvcc=config.gpu.nvcc, error=error)) from None


def _by_nvcc(source, architecture):
    from pycuda.compiler import compile_plain
    from pycuda.driver import CompileError
    try:
        return compile_plain(source, [*OPTIONS, "-arch", architecture], False, config.gpu.nvcc, None)
    except CompileError as error:
        raise Refused(str(error)) from None


@lru_cache(maxsize=8)
def _version(nvcc):
    """What a compiler says that it is."""
    from pycuda.compiler import get_nvcc_version
    try:
        return str(get_nvcc_version(nvcc))
    except OSError as error:
        raise RuntimeError(CANNOT_RUN.format(nvcc=nvcc, error=error)) from None
