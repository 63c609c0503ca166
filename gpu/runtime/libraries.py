"""Where NVIDIA's libraries are: what the system's linker finds, and the packages of the Python package index.

pip installs them without telling the linker, in folders such as ``nvidia/cu13/lib`` and ``nvidia/cublas/lib``.
"""
import importlib.util
import sys
from pathlib import Path

NUMBERS = {"cusolver": (12, 11), "cusparse": (12, 11), "cufft": (12, 11, 10), "cudnn": (9,)}
NUMBERS_OF_CUDA = (13, 12, 11)  # of the libraries whose numbers are CUDA's


def packaged(pattern):
    """The files of NVIDIA's packages whose names match, the newest first.

    Parameters
    ----------
    pattern : str
        As "libcublas.so.*".

    Returns
    -------
    list of pathlib.Path
    """
    spec = sys.modules["nvidia"].__spec__ if "nvidia" in sys.modules else importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec is not None else ()
    found = [path for folder in folders or () for path in Path(folder).glob(f"*/lib/{pattern}")]
    return sorted(found, key=lambda path: path.name, reverse=True)


def names_of(library):
    """What a library may be called, as arguments of ``dlopen``: "cublas" → "libcublas.so.13", ..., full paths.

    Returns
    -------
    list of str
    """
    numbered = [f"lib{library}.so.{number}" for number in NUMBERS.get(library, NUMBERS_OF_CUDA)]
    return [*numbered, f"lib{library}.so", *[str(path) for path in packaged(f"lib{library}.so.*")]]
