"""Where the user made an object: a *trace* is the calls outside phintys that led to it, as recorded by `vm.call_stack`.

The ``_position`` of a variable or node is one of the following; `traces_of` reads them all:

* None: not known;
* a raw trace ``(code, offset, code, offset, …)``, innermost frame first, which is cheap to record;
* a resolved trace, a tuple of ``(file, line, function)``, innermost frame first, which can be pickled;
* a ``GradientTrace``: one of these two, and the node of whose gradient this node is a part; * `Traces`: several of
  these, for a node that replaced several nodes.
"""
from __future__ import annotations

import linecache
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.vm.call_stack import is_library, set_gradient_trace, set_limit, user_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable

MOST_TRACES = 16                # traces of one node that are reported
MOST_KNOWN = 1000               # code objects whose line tables are kept

_line_tables = {}               # id of a code object -> _Lines, which keeps the code object alive

config.on_change("traceback.limit", set_limit)


@at_home
class Traces:
    """The traces of several nodes that one node replaced.

    Parameters
    ----------
    parts : iterable
        Positions.
    in_parts : bool
        Whether ``parts[number]`` is where the user made part ``number`` of the node's op (`Op.part_at_fault`).
    stays : bool
        Whether a node keeps this position when it replaces others in a graph; always true if ``in_parts``.
    """

    __slots__ = ("parts", "in_parts", "stays")

    def __init__(self, parts: Sequence[Any], in_parts: bool = False, stays: bool = False) -> None:
        self.parts = tuple(parts)
        self.in_parts = in_parts
        self.stays = in_parts or stays

    def __reduce__(self):
        return Traces, (tuple([resolve(part) for part in self.parts]), self.in_parts, self.stays)


@at_home
class GradientTrace(tuple):
    """The trace of a node that was made as a part of another node's gradient.

    Attributes
    ----------
    source
        The position of the other node; of a gradient's gradient, that of the first node.
    """

    def __new__(cls, trace, source):
        made = tuple.__new__(cls, trace)
        made.source = source.source if type(source) is GradientTrace else source
        return made

    def __eq__(self, other):
        return tuple.__eq__(self, other) and (type(other) is not GradientTrace or self.source == other.source)

    __hash__ = tuple.__hash__

    def __reduce__(self):
        return GradientTrace, (_resolved_frames(self), resolve(self.source))


set_gradient_trace(GradientTrace)


def is_in_parts(position: Any) -> bool:
    """Return whether a position says where each part of a fused node was made."""
    return type(position) is Traces and position.in_parts


def stays(position: Traces | Sequence[Sequence[int | str]] | None) -> bool:
    """Return whether a node keeps its position when it replaces others in a graph."""
    return type(position) is Traces and position.stays


def staying(position: Any) -> Traces:
    """Return a position that stays; None: none is known."""
    return None if position is None else Traces(_flat(position), stays=True)


def noted(position: GradientTrace | Sequence[Any] | None, note: str) -> Traces | None:
    """Return a position that stays, with a note after the function of each user's line; None: none is known."""
    parts = [_with_note(trace, note) for trace in traces_of(position)]
    return Traces(parts, stays=True) if parts else None


def _with_note(trace, note):
    at = users_frame(trace)
    file, line, function = trace[at]
    return (*trace[:at], (file, line, f"{function}, {note}"), *trace[at + 1:])


def joined(positions: Sequence[Any]) -> Any:
    """Return the position of a replacement for several objects; the first one's comes first. None: none is known."""
    if len(positions) == 1 and type(positions[0]) is not Traces:
        return positions[0]
    parts = []
    for position in positions:
        for trace in _flat(position):
            if trace is not None and len(parts) < MOST_TRACES and trace not in parts:
                parts.append(trace)
    return Traces(parts) if len(parts) > 1 else parts[0] if parts else None


def _flat(position):
    """Yield the traces in a position, possibly repeated; Traces are nested at most two deep.

    The last part of a fused node, which computes its result, comes first.
    """
    if type(position) is not Traces:
        return [position]
    parts = reversed(position.parts) if position.in_parts else position.parts
    return [trace for part in parts for trace in (part.parts if type(part) is Traces else (part,))]


def innermost(position: Any) -> Any:
    """Return a hashable value that is equal for positions whose innermost frames, in each part, are at one place."""
    if type(position) is Traces:
        return tuple([innermost(part) for part in position.parts])
    if not position:
        return None
    place = position[0] if type(position[0]) is tuple else (id(position[0]), position[1])
    return (place, innermost(position.source)) if type(position) is GradientTrace else place


def resolve(position: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return a position in a form that can be pickled, without code objects."""
    if type(position) is GradientTrace:
        return GradientTrace(_resolved_frames(position), resolve(position.source))
    if position is None or type(position) is Traces:
        return position
    return _resolved_frames(position)


def _resolved_frames(trace):
    if isinstance(trace[0], tuple):
        return tuple(trace)
    return tuple([_frame(trace[at], trace[at + 1]) for at in range(0, len(trace), 2)])


def traces_of(position: GradientTrace | Sequence[Any] | None) -> list[tuple[Any, ...]]:
    """Return the different resolved traces that a position holds, at most ``MOST_TRACES``.

    Returns
    -------
    list of tuple of (str, int, str)
        Innermost frames first.
    """
    found = {}
    for trace in {id(trace): trace for trace in _flat(position)}.values():
        if trace and len(found) < MOST_TRACES:
            found[_resolved_frames(trace)] = None
    return list(found)


def lines_of(position: Any) -> list[tuple[Any, ...]]:
    """Return the user's lines that a position comes from.

    Returns
    -------
    list of tuple (file, line, bool)
        The bool says whether the node was made as (a part of) the gradient of a node of this line. The line that calls
        ``grad`` is not included.
    """
    found = {}
    for trace in _flat(position):
        if trace:
            is_gradient = type(trace) is GradientTrace
            for made in traces_of(trace.source if is_gradient else trace):
                found[(*made[users_frame(made)][:2], is_gradient)] = None
    return list(found)


def gradient_sources(position: Any) -> list[tuple[Any, ...]]:
    """Return the resolved traces of the nodes whose gradients a node with this position is a part of.

    Returns
    -------
    list of tuple of (str, int, str)
        Different ones, innermost frames first.
    """
    sources = [trace.source for trace in _flat(position) if type(trace) is GradientTrace]
    return list(dict.fromkeys([made for source in sources for made in traces_of(source)]))


def where_of(position: GradientTrace | Sequence[Any] | None) -> tuple[str, int] | None:
    """Return (file, line) of the user's line, or None: the innermost frame outside libraries, if there is one."""
    trace = next(iter(traces_of(position)), None)
    return None if trace is None else trace[users_frame(trace)][:2]


def users_frame(trace: Sequence[Sequence[int | str]]) -> int:
    """Return the index of the frame of a resolved trace that runs the user's line."""
    return next((number for number, frame in enumerate(trace) if not is_library(frame[0])), 0)


def described_frame(trace: Sequence[Sequence[int | str]]) -> str:
    """Describe the user's line of a resolved trace: file, line, function, and the source text if it can be read."""
    file, line, function = trace[users_frame(trace)]
    text = linecache.getline(file, line).strip()
    return f'File "{file}", line {line}, in {function}' + (f": {text}" if text else "")


def backtrace(trace: Sequence[Sequence[int | str]]) -> list[str]:
    """Return the frames of a resolved trace as lines, as Python prints them, from the outermost to the innermost.

    The user's line is marked. The list is empty if there is no other frame than that line.
    """
    users = users_frame(trace)
    outermost = max([number for number, frame in enumerate(trace) if not is_library(frame[0])], default=len(trace) - 1)
    if outermost == 0:
        return []
    lines = ["Backtrace when the node is created (most recent call last):"]
    for number in range(outermost, -1, -1):
        file, line, function = trace[number]
        lines.append(f'  File "{file}", line {line}, in {function}' + ("    <- your line" if number == users else ""))
        text = linecache.getline(file, line).strip()
        if text:
            lines.append(f"    {text}")
    return lines


def theano_traces(position: Sequence[Sequence[int | str]] | None) -> list[list[Any]]:
    """Return ``tag.trace`` as in Theano: a list of traces, lists of (file, line, function, text), innermost last."""
    return [[(file, line, function, linecache.getline(file, line).strip() or None)
             for file, line, function in reversed(trace)] for trace in traces_of(position)]


def given_traces(traces: Sequence[str | Sequence[Any]]) -> Traces | None:
    """Return the position for traces in Theano's format; None for anything else."""
    try:
        return Traces([tuple([(str(frame[0]), int(frame[1]), str(frame[2])) for frame in reversed(trace)])
                       for trace in traces if trace])
    except (TypeError, ValueError, IndexError, KeyError):
        return None


def _frame(code, offset):
    """Return (file, line, function) of a frame."""
    lines = _line_tables.get(id(code))
    if lines is None:
        if len(_line_tables) >= MOST_KNOWN:
            _line_tables.clear()
        lines = _line_tables[id(code)] = _Lines(code)
    return lines.at(offset)


class _Lines:
    """The line table of one code object, with binary search; equal lines are one object, so pickles stay small."""

    def __init__(self, code):
        self.code = code
        table = [(start, line) for start, _, line in code.co_lines() if line is not None] or [(0, code.co_firstlineno)]
        frames = {line: (code.co_filename, line, code.co_name) for _, line in table}
        self.starts = [start for start, _ in table]
        self.frames = [frames[line] for _, line in table]

    def at(self, offset):
        """Return (file, line, function) of the instruction at an offset."""
        return self.frames[max(bisect_right(self.starts, offset) - 1, 0)]


def add_tag_trace(thing: Variable, user_line: Any = None) -> Variable:
    """Record on a variable or node that the user makes it now; return it. ``user_line`` is ignored, for Theano."""
    thing._position = user_trace()
    return thing
