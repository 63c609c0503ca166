"""Memory that phintys keeps for later calls: statistics and release.

Freed memory goes to a pool, whose size ``config.pool_limit`` limits; functions keep memory in their frames as
``allow_gc`` says. ``trim`` returns all this memory to the system.
"""
from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from phintys.vm.callables.callable import free_all
from phintys.vm.linking.plan import Group
from phintys.vm.pool import pool_statistics, reset_peak, trim_pool
from phintys.vm.pool import set_pool_limit as set_limit

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function

__all__ = ["pool", "reset_peak", "set_limit", "statistics", "stats", "trim"]


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


def pool(*functions: Function) -> None:
    """Let functions with ``allow_gc="plan"`` share one arena, as a training and an evaluation step can.

    Each function has an arena for its temporaries, which it keeps for later calls. Functions that share one need that
    of the largest of them instead of the sum, unless threads run several at the same time. The price is that a call
    after a call of another one installs its plan again, which takes about ten microseconds; calls of the same function
    in a row cost nothing. What the others keep besides the arena is given up, too.

    Parameters
    ----------
    functions : Function
        Compiled with ``allow_gc="plan"``. A function that has shared an arena with others leaves them.

    Raises
    ------
    ValueError
        If a function has another ``allow_gc``, and therefore no arena.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> plan = phintys.Mode(allow_gc="plan")
    >>> train, test = [phintys.function([x], T.dot(T.tanh(T.dot(x, x)), x).sum(), mode=plan) for _ in range(2)]
    >>> phintys.memory.pool(train, test)
    """
    for function in functions:
        if function.program.allow_gc != "plan":
            raise ValueError(f"memory.pool: {function.name or 'a function'} has allow_gc={function.program.allow_gc}; "
                             "expected functions with allow_gc='plan', because others have no arena")
    group = Group()
    for function in functions:
        function.free()
        function.share_arena(group)


statistics = stats
