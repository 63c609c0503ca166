"""Progress bars for loops and compilations that take long; ``config.scan.progress`` and ``compile.progress`` say when.

A bar appears when ``PATIENCE`` seconds have passed, so short work shows none. If the option is "auto", it appears after
``LONG_PATIENCE`` seconds, and only on a terminal. It is drawn by rich if that is installed, and is a line on the
standard error otherwise. A loop inside another shows its bar below that of the other, or its part of the same line,
while it runs.
"""
from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import local
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 0.5                  # seconds before there is a bar
LONG_PATIENCE = 2.0             # the same, where no option asks for a bar
INTERVAL = 0.1                  # seconds between two changes of it


def is_on_terminal() -> bool:
    """Return whether a bar would be drawn on a terminal."""
    try:
        return bool(sys.stderr is not None and sys.stderr.isatty())
    except ValueError:                          # it is closed
        return False


def patience_when_not_asked() -> float:
    """Return ``LONG_PATIENCE``."""
    return LONG_PATIENCE


def patience_of(wanted: str) -> Any:
    """Return after how many seconds there is a bar, for a value of an option; None: there is none."""
    if wanted == "auto":
        return LONG_PATIENCE if is_on_terminal() else None
    return PATIENCE if wanted else None


class Line:
    """A line of text that is written again and again.

    Parameters
    ----------
    name : str
    total : int or None
        How many steps there are, if that is known.
    outer : Line or None
        That of the loop in which this one is.
    """

    def __init__(self, name: str, total: Any, outer: Any) -> None:
        self.name, self.total, self.outer, self.text = name, total, outer, ""

    def show(self, done: Any) -> None:
        """Say how many steps are done."""
        share = f" of {self.total} steps, {100 * done // self.total}%" if self.total else " steps"
        before = "" if self.outer is None else f"{self.outer.text}; "
        longest, self.text = len(self.text), f"{before}{self.name}: {done}{share}"
        print("\r" + self.text.ljust(longest), end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line, or take the part of an inner loop off it."""
        if self.outer is None:
            print(file=sys.stderr)
        else:
            print("\r" + self.outer.text.ljust(len(self.text)), end="", file=sys.stderr, flush=True)


class RichBar:
    """The same by rich."""

    def __init__(self, name: str, total: Any, outer: Any) -> None:
        self.outer = outer
        self.progress = self._display() if outer is None else outer.progress
        self.task = self.progress.add_task(name, total=total)

    @staticmethod
    def _display():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        progress = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                            console=Console(file=sys.stderr), auto_refresh=False)
        progress.start()
        return progress

    def show(self, done: Any) -> None:
        """Say how many steps are done."""
        self.progress.update(self.task, completed=done, refresh=True)

    def close(self) -> None:
        """Leave the bar on the terminal, or remove the bar of an inner loop."""
        if self.outer is None:
            self.progress.stop()
        else:
            self.progress.remove_task(self.task)


def _bar(name, total, outer):
    if isinstance(outer, Line):
        return Line(name, total, outer)
    try:
        return RichBar(name, total, outer)
    except ImportError:
        return Line(name, total, None)


_running = local()              # innermost: the Progress of the innermost loop that runs in a thread


class Progress:
    """Shows how far a loop is, once it has run for a while.

    Parameters
    ----------
    name : str
    total : int or None
        How many steps there are, if that is known.
    patience : float, optional
        Seconds before there is a bar; default: ``PATIENCE``.
    """

    def __init__(self, name: str, total: Any, patience: Any = None) -> None:
        self.name, self.total, self.done = name, total, 0
        self.bar, self.due = None, monotonic() + (PATIENCE if patience is None else patience)
        self.outer = getattr(_running, "innermost", None)
        _running.innermost = self

    def tell(self, done: Any) -> None:
        """Note how many steps are done; show it if the bar is due."""
        self.done = done
        if monotonic() >= self.due:
            self.show()
            self.due = monotonic() + INTERVAL

    def show(self) -> None:
        """Show how many steps are done, of the loops around this one first if they have no bar yet."""
        if self.bar is None:
            if self.outer is not None and self.outer.bar is None:
                self.outer.show()
            self.bar = _bar(self.name, self.total, None if self.outer is None else self.outer.bar)
        self.bar.show(self.done)

    def close(self, done: Any) -> None:
        """End the bar, if there is one, with the number of steps that were done."""
        _running.innermost = self.outer
        if self.bar is not None:
            self.bar.show(done)
            self.bar.close()


def tick() -> None:
    """Show the innermost bar of this thread, if there is one and it is due: for work inside a step."""
    progress = getattr(_running, "innermost", None)
    if progress is not None:
        progress.tell(progress.done)


@contextmanager
def bar_for(name: str, total: int, wanted: str) -> Iterator[Any]:
    """A context with a bar, or without one.

    Parameters
    ----------
    name : str
    total : int
    wanted : bool or "auto"
        The value of an option.

    Yields
    ------
    callable
        To be called with how many steps are done.
    """
    patience = patience_of(wanted)
    if patience is None:
        yield lambda done: None
        return
    progress = Progress(name, total, patience)
    try:
        yield progress.tell
    finally:
        progress.close(progress.done)


def with_progress(steps: Any, name: str, total: Any, patience: Any = None) -> Iterator[Any]:
    """Yield the steps one by one, while a bar shows how far they are.

    Parameters
    ----------
    steps : iterable
    name : str
    total : int or None
    patience : float, optional
        Seconds before there is a bar; default: ``PATIENCE``.
    """
    progress, done = Progress(name, total, patience), 0
    try:
        for done, step in enumerate(steps):
            progress.tell(done)
            yield step
        done += 1
    finally:
        progress.close(done)
