"""Options written for Theano: the environment variable ``THEANO_FLAGS`` and the files ``.theanorc``.

They are read only when phintys is installed as Theano (`phintys.as_theano`). ``PHINTYS_FLAGS`` takes precedence over
both. A program that sets the variable, but is not run as a program of Theano, is told so when it makes its first
function, because it may call ``install_as_theano`` after it has imported phintys.
"""
from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config, split_flags

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Options whose values name what only Theano had: another value is ignored with a warning, as Theano did without a GPU.
OPTIONAL_VALUES = ("device",)

_unread = True                  # nobody has asked for the options, and the user has not been told


def warn_if_unread() -> None:
    """Warn, once in a process, that ``THEANO_FLAGS`` is set, if it was not read."""
    global _unread
    if _unread:
        _unread = False
        warnings.warn(f"THEANO_FLAGS={os.environ['THEANO_FLAGS']} is set, but phintys reads its options from "
                      "PHINTYS_FLAGS only; unset THEANO_FLAGS, or write the options to PHINTYS_FLAGS, or call "
                      "phintys.install_as_theano() first, which reads them.", stacklevel=4)


def read_theano_options(environment: Any = os.environ, given: Sequence[Sequence[str]] = ()) -> None:
    """Set the options that Theano would read, first those of the files, then those of the variable.

    Parameters
    ----------
    environment : dict of str
        ``THEANO_FLAGS`` (``name=value,name=value``), ``THEANORC`` (paths of files; otherwise ``~/.theanorc``).
    given : sequence of (str, str, str)
        Options that come first: name, value, and who gives them.

    Raises
    ------
    ValueError
        If an option cannot have its value, or a file cannot be parsed.

    Warns
    -----
    UserWarning
        Once, with all names that phintys does not know.
    """
    global _unread
    _unread = False
    ours = {name for name, _ in split_flags(environment.get("PHINTYS_FLAGS", ""))}
    found = [*given, *[(name, value, str(path)) for path in files(environment) for name, value in file_options(path)]]
    found += [(name, value, "THEANO_FLAGS") for name, value in split_flags(environment.get("THEANO_FLAGS", ""))]
    ignored = [described(name, value) for name, value, source in found
               if name not in ours and not is_set(name, value, source)]
    if ignored:
        warnings.warn(f"phintys ignores these options of Theano: {', '.join(dict.fromkeys(ignored))}", stacklevel=3)


def described(name: str, value: Any) -> Any:
    """Return an ignored option as the user wrote it; if it is unknown, with the option whose name is nearest."""
    text = name if value is None else f"{name}={value}"
    alike = None if name in config else config.alike(name)
    return text if alike is None else f"{text} (did you mean {alike}?)"


def is_set(name: str, value: str, source: str) -> bool:
    """Set an option; return whether phintys knows it. A name alone is ignored, as by Theano."""
    if value is None or name not in config:
        return False
    try:
        config.set(name, value)
    except (ValueError, RuntimeError) as error:     # the latter: a device that cannot be used
        if name in OPTIONAL_VALUES:
            return False
        raise ValueError(f"{source}: {error}") from None
    return True


def files(environment: Any) -> list[Any]:
    """Return the files of options that exist; later ones win."""
    paths = environment.get("THEANORC")
    paths = paths.split(os.pathsep) if paths else [os.path.join("~", ".theanorc")]
    return [path for path in (Path(path).expanduser() for path in paths) if path.is_file()]


def file_options(path: str) -> Iterator[Any]:
    """Return pairs (name, value) of a file; options outside the section ``global`` have the section's name in front."""
    from configparser import ConfigParser, Error  # which most programs do not need

    parser = ConfigParser(interpolation=None)
    parser.optionxform = str
    try:
        parser.read(path)
    except Error as error:
        raise ValueError(f"{path}: {error}") from None
    for section in parser.sections():
        prefix = "" if section == "global" else section + "."
        for name, value in parser.items(section):
            yield prefix + name, value
