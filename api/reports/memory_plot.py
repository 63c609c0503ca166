"""``memory_report().plot()``: draws pieces of memory as rectangles over the program, and the bytes alive as steps."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.reports.memory_report import MemoryReport

COLOURS = {"temporary": "tab:blue", "result": "tab:orange", "update": "tab:green", "other": "tab:gray",
           "loop": "tab:purple"}
MOST_DRAWN = 2000               # pieces, the largest
LEAST_HEIGHT = 0.022            # of the picture: a lower rectangle has no text
LETTER = 0.0085                 # the width of a letter, of that of the picture
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))


def plotted(report: MemoryReport, target: Any = None) -> Any:
    """Draw a report; see ``MemoryReport.plot``.

    Parameters
    ----------
    report : MemoryReport
    target : path or matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    if target is None:
        from matplotlib import pyplot

        return _drawn(report, pyplot.figure(figsize=(10, 6), layout="constrained").subplots())
    if hasattr(target, "add_patch"):
        return _drawn(report, target)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = _drawn(report, figure.subplots())
    figure.savefig(target)
    return axes


def _drawn(report, axes):
    """Draw in axes."""
    from matplotlib.patches import Patch, Rectangle

    pieces, alive = report.pieces[:MOST_DRAWN], report.alive()
    offsets = placed([(piece.first, piece.last, piece.bytes) for piece in pieces])
    top = max([offset + piece.bytes for piece, offset in zip(pieces, offsets)] + alive + [1])
    unit, name = next(unit for unit in UNITS if top >= unit[0])
    axes.set_xlim(-0.5, len(alive) - 0.5)
    axes.set_ylim(0, top / unit * 1.04)
    for piece, offset in zip(pieces, offsets):
        width, height = piece.last - piece.first + 1, piece.bytes / unit
        axes.add_patch(Rectangle((piece.first - 0.5, offset / unit), width, height, facecolor=COLOURS[piece.use],
                                 edgecolor="white", linewidth=0.8))
        text = _fitting(report.title(piece), report.lines(piece), width / len(alive))
        if text and height * unit > LEAST_HEIGHT * top:
            axes.text(piece.first - 0.35, offset / unit + height / 2, text, va="center", color="white", fontsize=8,
                      clip_on=True)
    steps = [size / unit for size in alive]
    line, = axes.step(range(len(steps)), steps, where="mid", color="black", linewidth=1.2, label="alive")
    used = [use for use in COLOURS if any([piece.use == use for piece in pieces])]
    axes.legend(handles=[*[Patch(color=COLOURS[use], label=use) for use in used], line], loc="upper left", fontsize=8)
    axes.set_xlabel("instruction")
    axes.set_ylabel(name)
    axes.set_title(f"{report.name or 'a function'}: {max(alive, default=0) / unit:.4g} {name} at once")
    return axes


def _fitting(title, lines, share):
    """Return as much of a rectangle's text as its width has room for."""
    for text in (f"{title} ({lines})" if lines else title, title):
        if len(text) * LETTER <= share:
            return text
    return ""


def placed(pieces: Sequence[Sequence[int] | Sequence[Any]]) -> list[int]:
    """Return places in which pieces of memory that are in use at the same time do not overlap.

    Parameters
    ----------
    pieces : list of (int, int, int)
        First and last instruction, and bytes.

    Returns
    -------
    list of int
        An offset for each: the lowest that is free, in the order of the pieces.
    """
    offsets, done = [], []
    for first, last, size in pieces:
        offset = 0
        for start, end in sorted([(start, end) for start, end, begin, stop in done if begin <= last and first <= stop]):
            if offset + size <= start:
                break
            offset = max(offset, end)
        offsets.append(offset)
        done.append((offset, offset + size, first, last))
    return offsets
