"""Theano's ``misc.cpucount``."""
from __future__ import annotations

import os

__all__ = ["cpuCount"]


def cpuCount() -> int:
    """Return the number of processors of the machine; -1 if it is not known.

    Examples
    --------
    >>> cpuCount() != 0
    True
    """
    return os.cpu_count() or -1
