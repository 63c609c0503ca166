"""The cache of programs: a folder with a file for each function that was compiled, found by its key in later processes.

``entry_for`` is asked once for each function maker. What has no key is compiled as ever, and ``maker.cached`` says why.
A file holds a saved program, which is verified when it is read; no code of it runs. Files are written beside their
place and renamed, so that other processes see all of one or nothing; they are readable by their user only. A folder
that others may write to is refused, as whoever writes a file decides what a function computes. Files that are damaged
are replaced; the oldest ones go when all together are too large. Nothing that fails here lets a compilation fail.
"""
from __future__ import annotations

import os
import stat
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from phintys.graph.config import change_flags, config
from phintys.making.cached_program import Found, dumped
from phintys.making.graph_key import key_of
from phintys.vm.files.values import FileError, Unsaved
from phintys.vm.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from phintys.making.function_maker import FunctionMaker

SUFFIX = ".program"
ABANDONED = 3600                        # seconds after which nobody writes a file any more
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_folders: dict[str, str] = {}           # config.program_cache → the folder, "" if it cannot be used
_closed: set[str] = set()               # folders into which nothing could be written; what they have is read
_warned: set[str] = set()
_thread = threading.local()             # compiles: whether a function with a place in the cache is compiled


class Entry:
    """The place of one function in the cache.

    Parameters
    ----------
    maker : FunctionMaker
        Whose graph is not optimised yet.

    Attributes
    ----------
    state : str
        What became of it, as ``maker.cached`` says it.
    argument_types : list of Type or None
        None: the program is not in the cache.
    """

    def __init__(self, maker: FunctionMaker) -> None:
        self.state, self.argument_types = "", None
        self._maker, self._path, self._found = maker, None, None
        folder = folder_in_use()
        if not folder:
            self.state = "not used: the folder cannot be used"
            return
        try:
            self._key, self._constants, self._options = key_of(maker)
        except Unsaved as error:
            self.state = f"not used: {error}"
            return
        except RecursionError:
            self.state = "not used: ops are too deep in each other"
            return
        self._path = os.path.join(folder, self._key + SUFFIX)
        self._look()

    def _look(self):
        """Read the file, if there is one."""
        try:
            with open(self._path, "rb") as file:
                if _is_of_others(os.fstat(file.fileno())):
                    raise FileError("others may write to the file")
                data = file.read()
            self._found = Found(data, self._key, self._constants)
            self.argument_types, self.state = self._found.argument_types, "found"
        except FileNotFoundError:
            return
        except (OSError, FileError) as error:
            self._give_up(error)
            return
        with suppress(OSError):
            os.utime(self._path)                    # the oldest are those that nobody has read for the longest time

    def _give_up(self, error):
        """A file that cannot be read is replaced."""
        self._found = self.argument_types = None
        warn_once(f"a file of the cache of programs is not used: {error}")

    def program_on(self, containers: Sequence[Any]) -> Any:
        """The program from the cache on containers; None: it must be compiled."""
        if self._found is None or not are_different(containers):
            return None
        maker = self._maker
        try:
            return self._found.program(containers, maker.name, lambda: self._made(containers), maker.unoptimized.inputs)
        except FileError as error:
            self._give_up(error)
            return None

    def _made(self, containers):
        """The program with its graph, compiled under the options that the key has."""
        changed = {name: value for name, value in self._options.items() if config.get(name) != value}
        with change_flags(changed):
            return self._maker.program_on(containers)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While the block runs, functions that this thread makes are parts of this one."""
        before, _thread.compiles = getattr(_thread, "compiles", False), True
        try:
            yield
        finally:
            _thread.compiles = before

    def keep(self, program: Program, argument_types: Any, containers: Sequence[Any]) -> None:
        """Write a program that was compiled, unless its file is there."""
        if self._path is None or self._found is not None or self.state == "stored" or not are_different(containers):
            return
        if type(program) is not Program:
            self.state = "not used: what was linked is no program"
            return
        folder = os.path.dirname(self._path)
        if folder in _closed:
            self.state = "not stored: the folder cannot be written to"
            return
        try:
            write(self._path, dumped(self._key, program, argument_types, containers, self._constants))
            self.state = "stored"
        except (TypeError, RecursionError) as error:            # of an op, a kernel or a value that no file holds
            self.state = f"not stored: {error}"
            self._path = None
        except OSError as error:
            self.state = f"not stored: {error}"
            _closed.add(folder)                                 # a full disk is not tried again
            warn_once(f"programs are not stored: {error}")


def entry_for(maker: FunctionMaker) -> Entry | None:
    """The place of a function in the cache; None for one that is a part of another."""
    return None if getattr(_thread, "compiles", False) else Entry(maker)


def are_different(containers: Sequence[Any]) -> bool:
    """Whether no two inputs share a container; programs differ where they do."""
    return len(set(map(id, containers))) == len(containers)


def folder_in_use() -> str:
    """The folder of ``config.program_cache``, made if it is not there; an empty text if it cannot be used."""
    name = config.program_cache
    if name not in _folders:
        folder = os.path.abspath(os.path.expanduser(name))
        _folders[name] = folder
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if _is_of_others(os.stat(folder)):
                warn_once(f"the cache of programs is not used: others may write to {folder}")
                _folders[name] = ""
        except OSError as error:
            warn_once(f"the cache of programs is not used: {error}")
            _folders[name] = ""
    return _folders[name]


def _is_of_others(state):
    """Whether another user, who is not root, may write to a file or folder."""
    if not hasattr(os, "geteuid"):
        return False
    return bool(state.st_mode & WRITABLE_BY_OTHERS) or state.st_uid not in (os.geteuid(), 0)


def write(path: str, parts: Sequence[Any]) -> None:
    """Write a file of the cache, and remove the oldest ones if they are too large together."""
    from tempfile import mkstemp  # which makes files that only their user reads

    number, other = mkstemp(dir=os.path.dirname(path), prefix="new-")
    try:
        with open(number, "wb") as file:
            for part in parts:
                file.write(part)
        os.replace(other, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(other)
        raise
    shrink(os.path.dirname(path), config.program_cache_limit << 20)


def shrink(folder: str, limit: int) -> None:
    """Remove the files of a folder that were not used for the longest time until the others are within a limit.

    A file that another process writes is left alone; one that a process has left when it ended goes after an hour.
    """
    files, begun = [], 10 ** 9 * (time.time() - ABANDONED)
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):                 # another process removed it
                state = entry.stat()
                if entry.name.endswith(SUFFIX) or entry.name.startswith("new-") and state.st_mtime_ns < begun:
                    files.append((state.st_mtime_ns, state.st_size, entry.path))
    total = sum([size for _, size, _ in files])
    for _, size, path in sorted(files):
        if total <= limit:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= size


def warn_once(message: str) -> None:
    """Warn, once in a process for each text."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(f"{message}. Functions are compiled as without it.", stacklevel=2)
