"""``f.explain(html=True)``: a page with a program beside its source, its memory, its graph, and all rewrites
applied."""
from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

from phintys.pages.document import page
from phintys.pages.rewrite_story import story_of
from phintys.reports.memory_plot import placed
from phintys.vm.callables.explanation import rows_of
from phintys.vm.explaining.program_text import main_file_of, size_text, summary_of, time_text
from phintys.vm.explaining.rows import line_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.making.compiled_function import Function
    from phintys.pages.document import Page

MOST_LINES = 2000               # of a source file; of a longer one only what is near the lines that are used
MARGIN = 30                     # lines around those
MOST_PIECES = 2000              # of memory that are drawn, the largest


def program_page(function: Function, reasons_of: Callable[..., Any]) -> Page:
    """Return the page of a function.

    Parameters
    ----------
    function : Function
    reasons_of : callable
        Maps a function to why its values are not computed in place; see ``Listing``.
    """
    listing = rows_of(function, reasons_of)
    rows = list(_rows(listing, 0, main_file_of(listing.texts), ()))
    story = story_of(function)
    data = {"summary": summary_of(listing), "rows": rows, "files": _files(rows), "memory": _memory(function),
            "graphs": {"as you wrote it": story.before, "compiled": story.after}, "story": story.chapters}
    return page(f"{function.name or 'function'} - phintys", data)


def _rows(listing, depth, main_file, around):
    """Yield the rows of a program, with those of the bodies of its loops, as data."""
    waiting = [(iter([*listing.leaves, *listing.rows]), depth, around)]
    while waiting:
        rows, depth, around = waiting[-1]
        row = next(rows, None)
        if row is None:
            waiting.pop()
            continue
        if isinstance(row, str):                                        # the title of a body, whose rows follow
            yield {"key": None, "position": None, "depth": depth - 1, "formulas": [f"{row}:"], "remarks": [],
                   "notes": [], "lines": [], "bytes": None, "seconds": None, "size": "", "time": ""}
            continue
        key = "-".join(map(str, [*around, row.position])) if row.position is not None else None
        remarks = [text for text in (line_texts(row.lines, main_file), *row.remarks) if text]
        yield {"key": key, "position": row.position, "depth": depth + row.depth, "formulas": list(row.formulas),
               "remarks": remarks, "notes": list(row.notes), "lines": [list(line) for line in row.lines],
               "bytes": row.bytes, "seconds": row.seconds,
               "size": "" if row.bytes is None else size_text(row.bytes),
               "time": "" if row.seconds is None else time_text(row.seconds)}
        for number, (title, body) in reversed(list(enumerate(row.bodies))):
            inside = (*around, row.position) if number == len(row.bodies) - 1 else (*around, row.position, "ahead")
            waiting.append((iter([title, *body.leaves, *body.rows]), depth + row.depth + 2, inside))


def _files(rows):
    """Return the source of the files that the rows' lines are in: {name, first line, texts}, the main file first."""
    used = {}
    for row in rows:
        for file, line, _ in row["lines"]:
            used.setdefault(file, []).append(line)
    found = []
    for file, numbers in sorted(used.items(), key=lambda item: -len(item[1])):
        texts = [text.rstrip("\n") for text in linecache.getlines(file)]
        first = 1
        if len(texts) > MOST_LINES:
            first = max(min(numbers) - MARGIN, 1)
            texts = texts[first - 1:min(max(numbers) + MARGIN, first + MOST_LINES)]
        found.append({"name": file, "first": first, "texts": texts})
    return found


def _memory(function):
    """Return rectangles: when each piece of memory is in use, and where it could be; None before the first call."""
    try:
        report = function.memory_report()
    except ValueError:
        return None
    pieces = report.pieces[:MOST_PIECES]
    offsets = placed([(piece.first, piece.last, piece.bytes) for piece in pieces])
    return {"alive": report.alive(), "text": str(report),
            "pieces": [{"title": report.title(piece), "use": piece.use, "first": piece.first, "last": piece.last,
                        "bytes": piece.bytes, "size": size_text(piece.bytes), "offset": offset,
                        "lines": report.lines(piece)} for piece, offset in zip(pieces, offsets)]}
