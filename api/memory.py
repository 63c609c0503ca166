"""Memory that phintys keeps for calls to come, as users see it.

Freed memory goes to a pool, ``config.pool_limit`` bounds how much of it stays there; functions keep what their
``allow_gc`` says in their frames. ``trim`` gives all of it back to the system.
"""
import gc

from phintys.vm.machine.callable import free_all
from phintys.vm.pool import pool_statistics, reset_peak, trim_pool
from phintys.vm.pool import set_pool_limit as set_limit

__all__ = ["reset_peak", "set_limit", "statistics", "stats", "trim"]


def stats():
    """What is kept and handed out.

    Returns
    -------
    dict
        ``kept_bytes`` in the pool for the next request, at most ``limit_bytes``; ``live_buffers`` handed out, with
        ``live_bytes``, and ``peak_bytes``, the most of them since ``reset_peak``; ``requests`` to the pool so far, of
        which ``misses`` went to the operating system.
    """
    return pool_statistics()


def trim():
    """Give all memory that idle functions and the pool keep back to the system. The next calls take it again.

    Arrays and functions that only cycles of references keep alive are collected first; what lies free in the heap of
    the C library is given back, too.
    """
    gc.collect()
    free_all()
    trim_pool()


statistics = stats
