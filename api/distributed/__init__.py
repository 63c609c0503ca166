"""Functions on many machines: ``phintys.distributed``.

    from phintys import distributed

    y = distributed.map_blocks(f, x)                      # arrays of Dask, block by block
    results = distributed.map(f, xs, client=client)       # threads, processes, or the workers of a client
    replica = distributed.replicate(updates, gradients)   # one training in many processes of MPI
    w = phintys.shared(value, target="memory")            # a value that other processes see

Importing it loads neither Dask nor mpi4py; what needs one of them imports it.
"""
from importlib import import_module as _import_module

_HOMES = {"map_blocks": "blocks", "reduce_blocks": "blocks", "map": "tasks", "sweep": "tasks", "as_task": "task",
          "Task": "task", "replicate": "replica", "Replica": "replica", "ProcessError": "exchange",
          "DaskActor": "homes", "MPIWindow": "homes", "SharedMemory": "shared_memory"}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = found = getattr(_import_module(f"phintys.distributed.{_HOMES[name]}"), name)
    return found


def __dir__():
    return __all__
