"""Where the user made something: the innermost frame outside phintys.

Looking up a frame's line number searches the line table of its code, which for a long script costs more than building
the node. So a *position* is kept, ``(code, offset)``, and turned into ``(file, line)`` when somebody asks or pickles.
"""
from bisect import bisect_right
from sys import _getframe


def user_position(depth=1):
    """The position of the innermost frame that does not run a module of phintys.

    Parameters
    ----------
    depth : int
        How many frames to skip unseen, this function's own included.

    Returns
    -------
    tuple (code, int) or None
        None when there is no such frame.
    """
    frame = _getframe(depth)
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if module[:7] != "phintys" or module[7:8] not in (".", ""):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def resolve(position):
    """(file name, line number) of a position; of None, None; of a pair that is resolved already, the pair."""
    if position is None or isinstance(position[0], str):
        return position
    code, offset = position
    lines = _last_lines[0]
    if lines.code is not code:
        lines = _last_lines[0] = _Lines(code)
    return lines.at(offset)


class _Lines:
    """The line table of one code object, searched by halves."""

    def __init__(self, code):
        self.code = code
        table = [(start, line) for start, _, line in code.co_lines() if line is not None] or [(0, code.co_firstlineno)]
        self.starts = [start for start, _ in table]
        self.lines = [(code.co_filename, line) for _, line in table]

    def at(self, offset):
        """(file name, line number) of the instruction at an offset."""
        return self.lines[max(bisect_right(self.starts, offset) - 1, 0)]


# The code that was asked about last: when a graph is pickled, most of its nodes were made by the same function.
_last_lines = [_Lines(user_position.__code__)]


def add_tag_trace(thing, user_line=None):
    """Note on a variable or node that the user makes it now; answers it. ``user_line`` is there for Theano's sake."""
    thing._position = user_position(2)
    return thing
