"""The folder where Cython finds the declarations of phintys, for ops with a kernel outside the package."""
from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Return the folder to pass as ``include_path`` to ``cythonize``, so that ``cimport phintys.vm.abi`` resolves.

    Returns
    -------
    str
        The folder that holds the installed package; for an editable install the folder of links made by the build.

    Raises
    ------
    FileNotFoundError
        If the declarations are not installed.

    Examples
    --------
    >>> import os
    >>> os.path.exists(os.path.join(phintys.get_include(), "phintys", "vm", "abi.pxd"))
    True
    """
    package = Path(__file__).resolve().parent
    for root in (package.parent, package.parent / "build" / "cimport"):
        if (root / "phintys" / "vm" / "abi.pxd").exists():
            return str(root)
    raise FileNotFoundError(f"no phintys/vm/abi.pxd beside {package}: install phintys again")
