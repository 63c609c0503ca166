"""A progress bar for loops that take long, when ``config.scan.progress`` asks for one.

It appears when a loop has run for ``PATIENCE`` seconds, so short loops show nothing. It is drawn by rich if that is
installed, and is a line on the standard error otherwise. A loop inside another shows its bar below that of the other,
or its part of the same line, while it runs.
"""
import sys
from threading import local
from time import monotonic

PATIENCE = 0.5                  # seconds before there is a bar
INTERVAL = 0.1                  # seconds between two changes of it


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

    def __init__(self, name, total, outer):
        self.name, self.total, self.outer, self.text = name, total, outer, ""

    def show(self, done):
        """Say how many steps are done."""
        share = f" of {self.total} steps, {100 * done // self.total}%" if self.total else " steps"
        before = "" if self.outer is None else f"{self.outer.text}; "
        longest, self.text = len(self.text), f"{before}{self.name}: {done}{share}"
        print("\r" + self.text.ljust(longest), end="", file=sys.stderr, flush=True)

    def close(self):
        """End the line, or take the part of an inner loop off it."""
        if self.outer is None:
            print(file=sys.stderr)
        else:
            print("\r" + self.outer.text.ljust(len(self.text)), end="", file=sys.stderr, flush=True)


class RichBar:
    """The same by rich."""

    def __init__(self, name, total, outer):
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

    def show(self, done):
        """Say how many steps are done."""
        self.progress.update(self.task, completed=done, refresh=True)

    def close(self):
        """Leave the bar as it is, or remove that of an inner loop."""
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
    """

    def __init__(self, name, total):
        self.name, self.total, self.done = name, total, 0
        self.bar, self.due = None, monotonic() + PATIENCE
        self.outer = getattr(_running, "innermost", None)
        _running.innermost = self

    def tell(self, done):
        """Note how many steps are done; show it if the bar is due."""
        self.done = done
        if monotonic() >= self.due:
            self.show()
            self.due = monotonic() + INTERVAL

    def show(self):
        """Show how many steps are done, of the loops around this one first if they have no bar yet."""
        if self.bar is None:
            if self.outer is not None and self.outer.bar is None:
                self.outer.show()
            self.bar = _bar(self.name, self.total, None if self.outer is None else self.outer.bar)
        self.bar.show(self.done)

    def close(self, done):
        """End the bar, if there is one, with the number of steps that were done."""
        _running.innermost = self.outer
        if self.bar is not None:
            self.bar.show(done)
            self.bar.close()


def with_progress(steps, name, total):
    """Yield the steps one by one, while a bar shows how far they are.

    Parameters
    ----------
    steps : iterable
    name : str
    total : int or None
    """
    progress, done = Progress(name, total), 0
    try:
        for done, step in enumerate(steps):
            progress.tell(done)
            yield step
        done += 1
    finally:
        progress.close(done)
