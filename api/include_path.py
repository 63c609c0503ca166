"""Where Cython finds the declarations of phintys: what an op with a kernel of its own is built against."""
from pathlib import Path


def get_include():
    """The folder to give as ``include_path`` to ``cythonize``, so that ``cimport phintys.vm.abi`` resolves.

    Returns
    -------
    str
        The folder that holds the installed package; for an editable install the folder of links that the build made.

    Raises
    ------
    FileNotFoundError
        If the declarations are not installed.
    """
    package = Path(__file__).resolve().parent
    for root in (package.parent, package.parent / "build" / "cimport"):
        if (root / "phintys" / "vm" / "abi.pxd").exists():
            return str(root)
    raise FileNotFoundError(f"no phintys/vm/abi.pxd beside {package}: install phintys again")
