"""Memory that phintys keeps for later calls: statistics and release.

Freed memory goes to a pool, whose size ``config.pool_limit`` limits; functions keep memory in their frames as
``allow_gc`` says. ``trim`` returns all this memory to the system.
"""
from __future__ import annotations

import gc

from phintys.vm.callables.callable import free_all
from phintys.vm.pool import pool_statistics, reset_peak, trim_pool
from phintys.vm.pool import set_pool_limit as set_limit

__all__ = ["reset_peak", "set_limit", "statistics", "stats", "trim"]


def stats() -> dict[str, int]:
    """Return how much memory is kept and how much is in use.

    Returns
    -------
    dict
        ``kept_bytes`` in the pool for the next request, at most ``limit_bytes``; ``live_buffers`` in use, with
        ``live_bytes``, and ``peak_bytes``, their maximum since ``reset_peak``; ``requests`` to the pool so far, of
        which the operating system served ``misses``.

    Examples
    --------
    >>> sorted(phintys.memory.stats())
    ['kept_bytes', 'limit_bytes', 'live_buffers', 'live_bytes', 'misses', 'peak_bytes', 'requests']
    """
    return pool_statistics()


def trim() -> None:
    """Return all memory that idle functions and the pool keep to the system. The next calls allocate it again.

    Arrays and functions that only reference cycles keep alive are collected first; free memory in the heap of the C
    library is returned, too.

    Examples
    --------
    >>> before = phintys.memory.stats()["kept_bytes"]
    >>> phintys.memory.trim()
    >>> phintys.memory.stats()["kept_bytes"] <= before
    True
    """
    gc.collect()
    free_all()
    trim_pool()


statistics = stats
