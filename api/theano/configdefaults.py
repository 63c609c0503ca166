"""Widths of integers on this machine, under Theano's names. The options themselves are in ``config``."""
from __future__ import annotations

import struct

__all__ = ["local_bitwidth", "python_int_bitwidth"]


def local_bitwidth() -> int:
    """The width of an address, in bits.

    Examples
    --------
    >>> phintys.configdefaults.local_bitwidth() in (32, 64)
    True
    """
    return 8 * struct.calcsize("P")


def python_int_bitwidth() -> int:
    """The width in bits of the C type ``long``.

    Examples
    --------
    >>> phintys.configdefaults.python_int_bitwidth() in (32, 64)
    True
    """
    return 8 * struct.calcsize("l")
