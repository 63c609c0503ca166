"""``f.explain()``: a program as text, as a compiler prints it: formulas in the order in which they are computed.

Lines have at most 120 columns. After a call, shapes and bytes are those of the call; a function that is profiled has
times, too. What a reader of bytecode needs (cells, opcodes) is in ``listing.py``.
"""
import os
from collections import Counter
from textwrap import wrap

from phintys.vm.explaining.rows import line_texts

WIDTH = 120
REMARKS = 64                    # the column of remarks
NUMBER = 6                      # columns of instruction numbers
INDENT = "    "


def program_text(listing):
    """Return a program as text.

    Parameters
    ----------
    listing : Listing

    Returns
    -------
    str
    """
    main_file = main_file_of(listing.texts)
    columns = [(title, shown) for title, shown, is_known in _COLUMNS if is_known(listing.measured)]
    lines = [*_header(listing), *([f"lines of {main_file}"] if main_file else [])]
    if columns:
        lines.append(" " * (NUMBER - 1) + "".join([f"{title:>10}" for title, _ in columns]))
    lines += _lines(listing, columns, main_file, 0)
    return "\n".join([line.rstrip() for line in lines]) + "\n"


def summary_of(listing):
    """Return in one line what a program does.

    Parameters
    ----------
    listing : Listing

    Returns
    -------
    str
    """
    program, counts = listing.program, listing.counts()
    arguments = listing.names.of(range(program.n_arguments))
    updates = [listing.names.of_container(number) for number in listing.updated]
    text = f"{os.path.basename(program.name or 'function')}({arguments}): {_counted(program.n_results, 'result')}"
    text += f", updates of {', '.join(updates)}" if updates else ""
    return (f"{text}; {_counted(counts['KERNEL'] + counts['RUN'], 'kernel')}, "
            f"{_counted(counts['CALL'], 'Python call')}, {_counted(len(listing.instructions), 'instruction')}, "
            f"allow_gc={program.allow_gc}")


def main_file_of(texts):
    """Return the file with most of the user's lines, or None.

    Parameters
    ----------
    texts : list of InstructionText
    """
    counts = Counter([file for text in texts for file, _, _ in text.lines])
    return counts.most_common(1)[0][0] if counts else None


def time_text(seconds):
    """Return a time with its unit, in at most nine characters."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns" if seconds else ""


def size_text(count):
    """Return a number of bytes with its unit."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B" if count else ""


_COLUMNS = (
    ("time", lambda row: "" if row.seconds is None else time_text(row.seconds),
     lambda measured: measured.seconds is not None),
    ("at device", lambda row: "" if row.at_device is None else time_text(row.at_device),
     lambda measured: measured.at_device is not None),
    ("bytes", lambda row: "" if row.bytes is None else size_text(row.bytes),
     lambda measured: measured.shapes is not None),
)


def _counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _header(listing):
    measured = listing.measured
    known = [] if measured.shapes is None else ["shapes and bytes are those of the last call"]
    if measured.seconds is not None:
        known.append("times are means of the calls that were measured")
    elif known:
        known.append("profile=True adds times")
    lines = wrap(summary_of(listing), WIDTH, subsequent_indent=INDENT, break_on_hyphens=False)
    return lines + (["; ".join(known)] if known else [])


def _lines(listing, columns, main_file, depth):
    """Yield the lines of a listing, and those of the bodies of its loops."""
    waiting, depths = [iter([*listing.leaves, *listing.rows])], [depth]
    while waiting:
        row, depth = next(waiting[-1], None), depths[-1]
        if row is None:
            waiting.pop()
            depths.pop()
        elif isinstance(row, str):                                      # the title of a body, whose rows follow
            yield " " * NUMBER + _blank(columns) + INDENT * (depth - 1) + f"{row}:"
        else:
            yield from _row_lines(row, columns, main_file, depth)
            for title, body in reversed(row.bodies):
                waiting.append(iter([title, *body.leaves, *body.rows]))
                depths.append(depth + row.depth + 2)


def _blank(columns):
    return " " * (10 * len(columns)) + (" " if columns else "")


def _row_lines(row, columns, main_file, depth):
    """Yield the lines of a row: formulas, with remarks beside the last one, and notes."""
    number = "" if row.position is None else str(row.position)
    measured = "".join([f"{shown(row):>10}" for _, shown in columns]) + (" " if columns else "")
    start = f"{number:>{NUMBER - 1}} {measured}"
    indent = INDENT * (depth + row.depth)
    room = max(WIDTH - len(start) - len(indent), 40)
    pieces = [piece for formula in row.formulas
              for piece in wrap(formula, room, subsequent_indent=INDENT * 2, break_on_hyphens=False)]
    lines = [(start if position == 0 else " " * len(start)) + indent + piece for position, piece in enumerate(pieces)]
    remarks = "; ".join([text for text in (line_texts(row.lines, main_file), *row.remarks) if text])
    below = " " * len(start) + indent + INDENT + "# "
    if remarks:
        beside = lines[-1].ljust(REMARKS) + "  # " + remarks
        if len(beside) <= WIDTH:
            lines[-1] = beside
        else:
            lines += _comment(remarks, below)
    yield from lines
    for note in row.notes:
        yield from _comment(note, below)


def _comment(text, start):
    return wrap(text, WIDTH, initial_indent=start, subsequent_indent=start + "  ", break_on_hyphens=False)
