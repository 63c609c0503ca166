"""CUDA sources to modules: compiled once for each source and kind of device, in memory and on disk.

nvcc compiles, through pycuda. On disk, modules are in the folder of ``config.gpu.cache``, under names that are hashes
of the source, the compiler's version and the options, so nothing is ever out of date.
"""
import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path

from phintys.gpu.runtime.device import the_device
from phintys.graph.config import config

OPTIONS = ("-std=c++17",)

_compiled = {}                  # (source, architecture) → the module's bytes


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
    architecture = the_device().architecture
    image = _compiled.get((source, architecture))
    if image is None:
        image = _compiled[source, architecture] = _from_disk(source, architecture)
    return image


def _from_disk(source, architecture):
    """The module from the cache, or compiled and put there."""
    key = hashlib.sha256("\n".join([source, architecture, *OPTIONS, _version(config.gpu.nvcc)]).encode()).hexdigest()
    path = cache_folder() / f"{key}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        image = _compile(source, architecture)
    try:
        _write(path, image)
    except OSError:
        pass                    # a cache that cannot be written is only slower
    return image


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


def _compile(source, architecture):
    from pycuda.compiler import compile_plain
    from pycuda.driver import CompileError
    try:
        return compile_plain(source, [*OPTIONS, "-arch", architecture], False, config.gpu.nvcc, None)
    except CompileError as error:
        raise RuntimeError(f"nvcc cannot compile a kernel that was generated for {architecture}; this is an error of "
                           f"phintys:\n{error}\n{source}") from None
    except OSError as error:
        raise RuntimeError(f"the compiler of CUDA, {config.gpu.nvcc!r}, cannot be run ({error}): install it, or set "
                           "config.gpu.nvcc to its path") from None


@lru_cache(maxsize=8)
def _version(nvcc):
    """What a compiler says that it is."""
    from pycuda.compiler import get_nvcc_version
    try:
        return str(get_nvcc_version(nvcc))
    except OSError as error:
        raise RuntimeError(f"the compiler of CUDA, {nvcc!r}, cannot be run ({error}): install it, or set "
                           "config.gpu.nvcc to its path") from None
