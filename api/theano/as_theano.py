"""``import theano`` finds phintys: ``phintys.install_as_theano()``, or ``python -m phintys.as_theano program.py``.

A finder on ``sys.meta_path`` finds ``theano`` and all its submodules. ``theano`` itself is a separate module, because
it has Theano's version; each submodule is the module of phintys, under two names in ``sys.modules``. Each counts as a
package. So if ``from theano.module import name`` does not find a name, Python calls the finder, whose error says what
to use instead.
"""
from __future__ import annotations

import os
import runpy
import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import phintys
from phintys.missing_names import reason_for
from phintys.theano_flags import read_theano_options

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["install_as_theano"]

# Theano's last version: programs compare with it.
VERSION = "1.0.5"

# Its only package is ``theano``, for processes that multiprocessing spawns: they get this ``sys.path``.
FOR_CHILDREN = str(Path(__file__).parent / "theano_for_children")

USAGE = "usage: python -m phintys.as_theano program.py [argument ...]\n       python -m phintys.as_theano -m module ..."


class Theano(ModuleType):
    """The module ``theano``: phintys, with Theano's version."""

    __path__ = []

    def __getattr__(self, name):
        return getattr(phintys, name)

    def __dir__(self):
        return [*phintys.__all__, "__version__", "version"]


class Version(ModuleType):
    """The module ``theano.version``."""

    version = short_version = full_version = VERSION
    git_revision = "unknown"
    release = True


# The modules that are made here; all others are modules of phintys.
MADE = {"theano": Theano, "theano.version": Version}


class TheanoFinder(MetaPathFinder, Loader):
    """Finds and loads ``theano`` and its submodules."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Return the specification of Theano's modules; None for others, which other finders look for."""
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] == "theano" else None

    def create_module(self, spec: Any) -> Any:
        """Make the module that is loaded, for the few that are not modules of phintys."""
        kind = MADE.get(spec.name)
        return None if kind is None else kind(spec.name)

    def exec_module(self, module: Any) -> None:
        """Replace the empty module by the module of phintys, and register all modules that were imported with it."""
        name = module.__name__
        if name in MADE:
            if name == "theano":
                module.__version__, module.__doc__ = VERSION, phintys.__doc__
                module.version = import_module("theano.version")
            return
        sys.modules[name] = ours(name)
        add_imported_modules()


class MissingTheanoNames(MetaPathFinder):
    """The last finder: no other has found the module, so that advice for a name never hides a module of this name."""

    def find_spec(self, fullname: Any, path: str | None = None, target: Any = None) -> None:
        """Raise the error of `raise_if_missing` for names of phintys."""
        root, _, rest = fullname.partition(".")
        if root == "phintys":
            raise_if_missing(*rest.rpartition(".")[::2])


def raise_if_missing(module: Any, name: str) -> None:
    """Raise an error for a name that only Theano's module has, if the tables know what to use instead.

    ``from theano.sandbox import cuda`` comes here: as the module has no such attribute, Python tries to import
    ``phintys.sandbox.cuda``. It would ignore an error that has this name.
    """
    reason = reason_for(f"phintys.{module}".rstrip("."), name)
    if reason:
        raise ModuleNotFoundError(f"cannot import {'.'.join(filter(None, ['theano', module, name]))!r}{reason}")


def ours(name: str) -> Any:
    """Return the module of phintys for one of Theano's.

    Raises
    ------
    ModuleNotFoundError
        If there is none; it says what is not implemented yet.
    """
    counterpart = "phintys" + name.removeprefix("theano")
    try:
        return import_module(counterpart)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{counterpart}.".startswith(error.name + "."):
            raise
        raise ModuleNotFoundError(f"No module named {name!r}: phintys has no such module", name=name) from None


def add_imported_modules() -> None:
    """Give Theano's names to all modules of phintys that are imported.

    Otherwise the import system would import them by their new names, and set each as an attribute of its package, where
    it could hide others: for example the function ``scan`` in ``scan_module``. Modules that look names up get an empty
    path, like packages: only then does Python call the finder for names that a program imports from them.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("phintys."):
            sys.modules.setdefault("theano" + name.removeprefix("phintys"), module)
            if "__getattr__" in vars(module):
                vars(module).setdefault("__path__", [])


def install_as_theano() -> Any:
    """Make ``import theano``, and imports of its submodules, find phintys in this process.

    Options in ``THEANO_FLAGS`` and ``.theanorc`` are read, too.

    Returns
    -------
    module
        ``theano``.

    Raises
    ------
    RuntimeError
        If another ``theano`` was imported before.
    ValueError
        If an option cannot have its value.

    Examples
    --------
    >>> theano = phintys.install_as_theano()
    >>> import theano.tensor
    >>> theano.tensor is phintys.tensor
    True
    """
    loaded = sys.modules.get("theano")
    if isinstance(loaded, Theano):
        return loaded
    if loaded is not None:
        where = getattr(loaded, "__file__", None) or "an unknown place"
        raise RuntimeError(f"theano is imported already, from {where}: call install_as_theano() before it")
    read_theano_options(given=[("theano_rules", "True", "install_as_theano")])
    sys.meta_path.insert(0, TheanoFinder())
    sys.meta_path.append(MissingTheanoNames())
    if FOR_CHILDREN not in sys.path:
        sys.path.insert(1, FOR_CHILDREN)            # after the program's own folder, before installed packages
    return import_module("theano")


def main(arguments: Any) -> None:
    """Run a program, or a module after ``-m``, in which ``theano`` is phintys."""
    if not arguments or arguments == ["-m"]:
        raise SystemExit(USAGE)
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    try:
        install_as_theano()
    except ValueError as error:
        raise SystemExit(f"phintys.as_theano: {error}") from None
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = ""
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif os.path.exists(arguments[0]):
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        raise SystemExit(f"phintys.as_theano: there is no file {arguments[0]!r}")


if __name__ == "__main__":
    # The finder is used by imports of the program: they must find this module by its name, not as __main__.
    import_module("phintys.as_theano").main(sys.argv[1:])
