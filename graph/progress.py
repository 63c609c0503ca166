"""A progress bar for loops that take long, when ``config.scan.progress`` asks for one.

It appears when a loop has run for ``PATIENCE`` seconds, so short loops show nothing. It is drawn by rich if that is
installed, and is a line on the standard error otherwise.
"""
import sys
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
    """

    def __init__(self, name, total):
        self.name, self.total = name, total

    def show(self, done):
        """Say how many steps are done."""
        share = f" of {self.total} steps, {100 * done // self.total}%" if self.total else " steps"
        print(f"\r{self.name}: {done}{share}", end="", file=sys.stderr, flush=True)

    def close(self):
        """End the line."""
        print(file=sys.stderr)


class RichBar:
    """The same by rich."""

    def __init__(self, name, total):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        self.progress = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                                 TimeRemainingColumn(), console=Console(file=sys.stderr), auto_refresh=False)
        self.task = self.progress.add_task(name, total=total)
        self.progress.start()

    def show(self, done):
        """Say how many steps are done."""
        self.progress.update(self.task, completed=done, refresh=True)

    def close(self):
        """Leave the bar as it is."""
        self.progress.stop()


def _bar(name, total):
    try:
        return RichBar(name, total)
    except ImportError:
        return Line(name, total)


class Progress:
    """Shows how far a loop is, once it has run for a while.

    Parameters
    ----------
    name : str
    total : int or None
        How many steps there are, if that is known.
    """

    def __init__(self, name, total):
        self.name, self.total = name, total
        self.bar, self.due = None, monotonic() + PATIENCE

    def tell(self, done):
        """Note how many steps are done; show it if the bar is due."""
        if monotonic() >= self.due:
            self.bar = _bar(self.name, self.total) if self.bar is None else self.bar
            self.bar.show(done)
            self.due = monotonic() + INTERVAL

    def close(self, done):
        """End the bar, if there is one, with the number of steps that were done."""
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
