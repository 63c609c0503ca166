"""Theano's ``misc.cpucount``."""
import os

__all__ = ["cpuCount"]


def cpuCount():
    """Return the number of processors of the machine; -1 if it is not known.

    Examples
    --------
    >>> cpuCount() != 0
    True
    """
    return os.cpu_count() or -1
