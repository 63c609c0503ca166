"""How many threads a call may use."""
import os

from phintys.graph.config import config


def usable_workers():
    """``config.workers``, or what the process may run on and ``OMP_NUM_THREADS`` allows.

    Returns
    -------
    int
    """
    if config.workers > 0:
        return config.workers
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
