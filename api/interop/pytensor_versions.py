"""What the versions of PyTensor that are supported call things; none is imported with a wrong one.

The classes of ops are in the table of ``phintys.interop.pytensor.op_table``.
"""
from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OLDEST, NEWEST = (2, 38), (3, 3)                        # both are tested, and those between

# A name → the modules that have had it, the newest first.
HOMES = {
    "Function": ("compile.executor", "compile.function.types"),
    "FunctionMaker": ("compile.maker", "compile.function.types"),
    "ifelse": ("conditional.op", "ifelse"),
    "solve_sylvester": ("tensor.linalg.solvers.linear_control", "tensor._linalg.solve.linear_control"),
    "tridiagonal_lu_factor": ("tensor.linalg.solvers.tridiagonal", "tensor._linalg.solve.tridiagonal"),
    "tridiagonal_lu_solve": ("tensor.linalg.solvers.tridiagonal", "tensor._linalg.solve.tridiagonal"),
    "UnusedInputError": ("compile.rebuild", "compile.function.types"),
}

CLASS_ARGUMENT = {(2, 38): "function_builder", (3, 0): "function_class"}        # FunctionMaker's, for the class to make


def imported(name: str) -> Callable[..., Any] | type:
    """PyTensor's object of this name, from the module that has it in the version installed."""
    for module in HOMES[name]:
        try:
            return getattr(import_module(f"pytensor.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"PyTensor {import_module('pytensor').__version__} has no {name} in any of "
                      f"{', '.join([f'pytensor.{module}' for module in HOMES[name]])}, where other versions have it")


def of_version(choices: Mapping[Any, Any]) -> str | tuple[str, ...]:
    """The choice for the version installed: of the newest version that is not newer than it."""
    found = version_of(import_module("pytensor").__version__)
    return choices[max([version for version in choices if version <= found])]


def check_versions() -> None:
    """Say clearly if PyTensor is missing or of another version.

    Raises
    ------
    ImportError
        If PyTensor is not installed, older than the oldest version tested, or newer by a major version.
    """
    try:
        import pytensor
    except ImportError as error:
        raise ImportError("phintys.interop.pytensor needs PyTensor, which is not installed: "
                          "pip install phintys[pytensor]") from error
    found = version_of(pytensor.__version__)
    supported = f"{text_of(OLDEST)} to {text_of(NEWEST)}"
    if found < OLDEST or found[0] > NEWEST[0]:
        raise ImportError(f"phintys.interop.pytensor supports PyTensor {supported}, not version "
                          f"{pytensor.__version__}, which is installed: pip install phintys[pytensor]")
    if found > NEWEST:
        warnings.warn(f"phintys.interop.pytensor was tested with PyTensor {supported}; version "
                      f"{pytensor.__version__} is installed, and its ops may have changed",
                      stacklevel=3)


def version_of(text: str) -> tuple[int, ...]:
    """``"2.38.3"`` → ``(2, 38)``."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def text_of(version: Sequence[int]) -> str:
    """A version as text, for messages."""
    return ".".join(map(str, version))
