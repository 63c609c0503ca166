"""Finds the modules that phintys has only because Theano has them: ``phintys.gof``, ``phintys.tensor.extra_ops``, ...

All that concerns Theano is in the folder ``theano``, and nothing else of phintys imports it. Its files have the names
that they would have one folder higher: ``theano/tensor/older.py`` is ``phintys.tensor.older``. In an installed package
they are there, next to the others (``setup.py``); in a source tree this finder finds them. Modules that only have names
of objects that are defined elsewhere are rows of a table, ``theano/theano_modules.py``.

The finder is the last of ``sys.meta_path``: Python asks it only if there is no file with the name of the module.
"""
from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

from phintys.graph.debug_values import level_of_user
from phintys.graph.public_names import HOMES, adopt

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = "phintys."
FOLDER = os.path.join(os.path.dirname(__file__), "theano")


class LastFinder:
    """Finds and loads modules."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Return the specification of a file in the folder or of a row of the table; None if there is neither."""
        if not fullname.startswith(ROOT):
            return None
        name = fullname.removeprefix(ROOT)
        found = PathFinder.find_spec(fullname, [os.path.join(FOLDER, *name.split(".")[:-1])])
        if found is not None and found.loader is not None:
            return found
        # It counts as a package: Python asks finders for names that it lacks, among them `as_theano`, whose errors say
        # what to use instead.
        return ModuleSpec(fullname, self, is_package=True) if row_of(fullname) is not None else None

    def create_module(self, spec: Any) -> Any:
        """Return the module that a row names, or None: a new one is made."""
        row = row_of(spec.name)
        if not isinstance(row, str):
            return None
        module = import_module(ROOT + row)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Give a new module its names; a module with a second name keeps its own specification."""
        own = module.__spec__.loader_state
        if own is not None:
            module.__spec__ = own
        else:
            fill(module)


def row_of(fullname: str) -> str | dict[str, str] | None:
    """Return the row of a module; None if there is none."""
    from phintys.theano_modules import MODULES
    return MODULES.get(fullname.removeprefix(ROOT))


def names_of(fullname: str) -> dict[str, tuple[Any, ...]]:
    """Return, for each name of a module in the table, the module that defines it and its name there."""
    found = {}
    for inner, names in [*HOMES.get(fullname, {}).items(), *row_of(fullname).items()]:
        place = import_module((ROOT + inner).removesuffix("."))
        for name in place.__all__ if names == "*" else names.split():
            name, _, original = name.partition("=")
            found[name] = place, original or name
    return found


def fill(module: Any) -> None:
    """Give a new module its names."""
    from phintys.theano_modules import MODULES, WARNINGS
    fullname = module.__name__
    name = fullname.removeprefix(ROOT)
    places = names_of(fullname)
    vars(module).update({public: getattr(place, original) for public, (place, original) in places.items()})
    module.__doc__ = f"Theano's name ``{name}``. It has only names of objects that are defined elsewhere."
    module.__all__ = sorted([*places, *[other.rpartition(".")[2] for other, row in MODULES.items()
                                        if other.rpartition(".")[0] == name and isinstance(row, dict)]])
    module.__getattr__ = lookup(fullname)
    adopt(vars(module))
    if name in WARNINGS:
        category, text = WARNINGS[name]
        warnings.warn(text, category, stacklevel=level_of_user())


def lookup(module: str) -> Callable[..., Any]:
    """Return the ``__getattr__`` for a module that loads no other names on demand.

    It finds what Theano's module has under a name that phintys has elsewhere; otherwise its error says what to use.
    """
    def find(name):
        if name.startswith("__"):                   # imports look for ``__path__``: nothing is loaded for that
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module))
        from phintys.missing_names import found
        return found(module, name)
    return find


def install() -> None:
    """Let ``import`` find the modules."""
    finder = LastFinder()
    sys.meta_path.append(finder)
    # These are names of functions of ``phintys.tensor``, too. An import would put the module in the place of the
    # function, so both modules exist from the beginning; one gets its names when it is first used.
    variables, sorting = f"{ROOT}tensor.var", f"{ROOT}tensor.sort"
    sys.modules[variables] = import_module(f"{ROOT}ops.operators")
    sys.modules[sorting] = module = ModuleType(sorting)
    module.__spec__, module.__path__ = ModuleSpec(sorting, finder, is_package=True), []

    def find(name):
        fill(module)
        return getattr(module, name)

    module.__getattr__ = find
