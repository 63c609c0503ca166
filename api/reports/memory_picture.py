"""``memory_report().svg()``: the layout of a call's memory as an SVG picture that needs no library.

Time goes to the right, in instructions, and offsets go up. Temporaries are where the plan places them. Results, updates
and other memory that is no part of the plan's block are drawn above it.
"""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from phintys.reports.memory_plot import MOST_DRAWN, UNITS, placed

if TYPE_CHECKING:
    from phintys.reports.memory_report import MemoryReport

COLOURS = {"temporary": "#1f77b4", "result": "#ff7f0e", "update": "#2ca02c", "other": "#7f7f7f", "loop": "#9467bd"}
WIDTH, HEIGHT, LEFT, TOP = 960, 480, 80, 40
LETTER, LINE = 6.2, 12          # pixels: the width of a letter and the height of a line of text


def pictured(report: MemoryReport) -> str:
    """Return a report as the text of an SVG picture; see ``MemoryReport.svg``."""
    pieces = report.pieces[:MOST_DRAWN]
    outside = [piece for piece in pieces if piece.cell not in report.offsets]
    above = placed([(piece.first, piece.last, piece.bytes) for piece in outside])
    places = {**report.offsets, **{piece.cell: report.arena + offset for piece, offset in zip(outside, above)}}
    limits = {"alive at once": report.lower_bound, "allow_gc=plan": report.modes["plan"].peak,
              "plan by the greedy walk": report.modes["plan"].peak - report.arena + report.greedy}
    top = max([places[piece.cell] + piece.bytes for piece in pieces] + [*limits.values(), 1])
    across, up = WIDTH / max(len(report.alive()), 1), HEIGHT / top
    parts = [_piece(report, piece, places[piece.cell], across, up) for piece in pieces]
    parts += [_limit(name, size, up, 14 + number * 170) for number, (name, size) in enumerate(limits.items())]
    title = escape(f"{report.name or 'a function'}: {size_text(report.lower_bound)} alive at once")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 20} {HEIGHT + TOP + 50}" '
        'font-family="sans-serif" font-size="11">', f'<text x="{LEFT}" y="24" font-size="14">{title}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>', *parts,
        *_legend([use for use in COLOURS if any([piece.use == use for piece in pieces])]), "</svg>", ""])


def _piece(report, piece, offset, across, up):
    """A rectangle with the names of its values, as far as there is room; a tooltip has all of it."""
    left, width = LEFT + piece.first * across, (piece.last - piece.first + 1) * across
    height = piece.bytes * up
    upper = TOP + HEIGHT - offset * up - height
    title, lines = report.title(piece), report.lines(piece)
    whole = f"{title}: {size_text(piece.bytes)} at {offset}, instructions {piece.first}-{piece.last}"
    text = f"{title} ({lines})" if lines and len(f"{title} ({lines})") * LETTER < width else title
    shown = ""
    if height >= LINE and len(text) * LETTER < width:
        shown = f'<text x="{left + 3:.1f}" y="{upper + height / 2 + 4:.1f}" fill="white">{escape(text)}</text>'
    return (f'<g><title>{escape(f"{whole} # {lines}" if lines else whole)}</title><rect x="{left:.1f}" y="{upper:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" fill="{COLOURS[piece.use]}" stroke="white"/>{shown}</g>')


def _limit(name, size, up, shift):
    """A dashed line at a size, and its name."""
    y = TOP + HEIGHT - size * up
    return (f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="black" stroke-dasharray="6 3"/>'
            f'<text x="{LEFT + shift}" y="{y - 3:.1f}">{escape(name)}: {size_text(size)}</text>')


def _legend(uses):
    """The colours below the picture."""
    for number, use in enumerate(uses):
        x, y = LEFT + number * 110, TOP + HEIGHT + 18
        yield f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[use]}"/><text x="{x + 17}" y="{y + 10}">' \
              f'{use}</text>'


def size_text(size: Any) -> str:
    """Return bytes in the largest unit that fits.

    Parameters
    ----------
    size : int
    """
    unit, name = next((unit for unit in UNITS if size >= unit[0]), UNITS[-1])
    return f"{size / unit:.4g} {name}"
