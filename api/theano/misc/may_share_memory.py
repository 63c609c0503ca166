"""``may_share_memory``: tests whether the values of two variables may share memory."""
from __future__ import annotations

import numpy

__all__ = ["may_share_memory"]


def _parts(value):
    """Return the arrays that a value consists of, or None for a value of another kind."""
    if isinstance(value, numpy.ndarray):
        return [value]
    parts = [getattr(value, name, None) for name in ("data", "indices", "indptr")]      # of a sparse matrix
    return parts if all([isinstance(part, numpy.ndarray) for part in parts]) else None


def may_share_memory(a: numpy.ndarray, b: numpy.ndarray, raise_other_type: bool = True) -> bool:
    """Return whether two arrays, or sparse matrices in CSR or CSC format, may share memory.

    Parameters
    ----------
    a, b : numpy.ndarray or scipy.sparse matrix
    raise_other_type : bool
        Raise for values of other types, instead of returning False.

    Returns
    -------
    bool
        True if the addresses that they span overlap.

    Raises
    ------
    TypeError
        If one is neither an array nor such a matrix.

    Examples
    --------
    >>> x = numpy.arange(3)
    >>> phintys.misc.may_share_memory.may_share_memory(x, x[1:])
    True
    """
    parts = [_parts(a), _parts(b)]
    if None in parts:
        if raise_other_type:
            strange = type(b if parts[1] is None else a).__name__
            raise TypeError(f"may_share_memory compares arrays and sparse matrices in CSR or CSC format, not {strange}")
        return False
    return any([numpy.may_share_memory(left, right) for left in parts[0] for right in parts[1]])
