"""The lengths of a loop's stacked rows if the loop does no step, for the kernel of loops and for loops that run in
Python; ``ops/loops/row_lengths.py`` finds out what they depend on."""
from __future__ import annotations

from typing import Any


def lengths_of_rows(entries: Any, shapes: Any, compute: Any) -> Any:
    """The lengths of the rows of each stacked output.

    Parameters
    ----------
    entries : tuple of tuple
        For each output and each dimension of its rows a length; or the number of an argument of the loop's body and of
        its dimension, which is as long; or None: it is the next number that ``compute`` returns.
    shapes : list of tuple
        Those of the body's arguments.
    compute : callable
        Returns numbers. If it raises an error, or the loop would, these lengths are 0.

    Returns
    -------
    list of list of int
    """
    computed = []
    if any([entry is None for row in entries for entry in row]):
        try:
            computed = compute()
        except Exception:                           # nothing was asked for that needs them
            pass
    computed = iter(computed)

    def length_of(entry):
        if entry is None:
            return max(int(next(computed, 0)), 0)
        return entry if isinstance(entry, int) else shapes[entry[0]][entry[1]]

    return [[length_of(entry) for entry in row] for row in entries]
