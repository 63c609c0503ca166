"""Saved programs, run without what compiled them: neither graphs nor ops nor optimizer are loaded.

    import phintys.runtime

    predict = phintys.runtime.load("predict.phx")
    predict([1.0, 2.0])

or, from a shell, on the arrays of a file that ``numpy.savez`` wrote, by the arguments' names or ``arr_0``, ``arr_1``:

    python -m phintys.runtime run predict.phx inputs.npz outputs.npz
    python -m phintys.runtime show predict.phx

``phintys.save`` and the method ``save`` of functions write such files.
"""
from __future__ import annotations

from typing import Any

from phintys import __version__, _alone

with _alone:
    from phintys.graph import hooks
    from phintys.graph.public_names import adopt
    from phintys.vm.files import functions as _functions
    from phintys.vm.files.functions import SavedFunction, save
    from phintys.vm.files.values import FileError

__all__ = ["FileError", "SavedFunction", "load", "save"]


def load(path: str, modules: Any = (), mapped: bool = False, key: Any = None) -> Any:
    """As ``phintys.load``, whose text this function gets below."""
    with _alone:
        return _functions.load(path, modules, mapped, key)


load.__doc__ = _functions.load.__doc__
hooks.version = __version__
adopt(globals())


def main(arguments: Any = None) -> None:
    """Run or show the function of a file, as the command line says."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m phintys.runtime", description="Run saved programs.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="call the function of a file")
    run.add_argument("program")
    run.add_argument("inputs", nargs="?", help="a file of numpy.savez; its arrays are arguments by name, or in order")
    run.add_argument("outputs", nargs="?", help="the file for the results; without it they are printed")
    show = commands.add_parser("show", help="print the program of a file, and its shared variables")
    show.add_argument("program")
    for command in (run, show):
        command.add_argument("--name", help="which function, if the file has several")
        command.add_argument("--module", action="append", default=[], help="a module that the file may name")
    given = parser.parse_args(arguments)
    try:
        function = _chosen(load(given.program, given.module), given.name)
        if given.command == "show":
            print(function.explain())
        else:
            _run(function, given)
    except (OSError, ValueError, TypeError) as error:
        parser.exit(1, f"{given.program}: {error}\n")


def _chosen(loaded, name):
    """The function of a file that has one, or the one of a name."""
    if isinstance(loaded, SavedFunction):
        return loaded
    known = loaded if isinstance(loaded, dict) else {str(number): one for number, one in enumerate(loaded)}
    if name not in known:
        raise ValueError(f"the file has several functions: choose by --name {' or '.join(map(str, known))}")
    return known[name]


def _run(function, given):
    import numpy

    positional, named = [], {}
    if given.inputs:
        with numpy.load(given.inputs, allow_pickle=False) as arrays:
            for key in arrays.files:
                if key.startswith("arr_") and key not in function.argument_names:
                    positional.append(arrays[key])
                else:
                    named[key] = arrays[key]
    results = function(*positional, **named)
    if not isinstance(results, dict):
        results = results if isinstance(results, list) else [] if results is None else [results]
        results = {f"arr_{number}": value for number, value in enumerate(results)}
    if given.outputs:
        numpy.savez(given.outputs, **results)
    else:
        for key, value in results.items():
            print(f"{key} = {value!r}")


if __name__ == "__main__":
    main()
