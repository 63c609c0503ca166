"""Theano's ``misc.cpucount``."""
import os

__all__ = ["cpuCount"]


def cpuCount():
    """Return the number of processors of the machine; -1 if it is not known."""
    return os.cpu_count() or -1
