"""The number of threads that a call may use."""
import os

from phintys.graph.config import config


def usable_workers():
    """Return ``config.workers``, or the number of usable cores, limited by ``OMP_NUM_THREADS``.

    Returns
    -------
    int
    """
    if config.workers > 0:
        return config.workers
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
