"""Many calls of a function: ``map`` and ``sweep``, by threads, processes, or the workers of a client."""
from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

from phintys.distributed.task import Task, as_task
from phintys.graph.errors import with_details
from phintys.graph.progress import bar_for
from phintys.vm.callables.callable import Callable

if TYPE_CHECKING:
    from collections.abc import Iterator


def map(f: Any, *sequences: Any, client: Any = None, progress: bool = False) -> list[Any]:
    """Call a function for each element of sequences, all at once.

    Parameters
    ----------
    f : Function, SavedFunction or callable
        A compiled function must have no updates. Other callables are sent as the client sends them.
    *sequences : iterable
        One for each argument, of the same lengths.
    client : optional
        Who makes the calls. None: threads of this process, as many as there are cores, since long kernels run without
        the GIL. A ``dask.distributed.Client``; a cluster such as ``LocalCluster``, or the address of a scheduler, of
        which a client is made for this call; an executor of ``concurrent.futures`` or of ``mpi4py.futures``.
    progress : bool
        Show a bar, by rich if it is installed.

    Returns
    -------
    list
        The results, in the order of the elements.

    Raises
    ------
    Exception
        The first in the order of the elements, with the element's number in its message; what has not begun by then is
        cancelled.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> square = phintys.function([x], x ** 2)
    >>> phintys.distributed.map(square, [1, 2, 3])
    [array(1.), array(4.), array(9.)]
    """
    columns = [list(sequence) for sequence in sequences]
    if len({len(column) for column in columns}) != 1:
        raise ValueError(f"map takes one or more sequences of the same length: they have "
                         f"{', '.join(str(len(column)) for column in columns) or 'none'}")
    task = as_task(f) if isinstance(f, Callable) else f
    with ExitStack() as stack:
        submit = stack.enter_context(_submitter(client))
        tell = stack.enter_context(bar_for(f"map {getattr(task, 'name', None) or task}", len(columns[0]), progress))
        futures, found = [], []
        stack.callback(lambda: [future.cancel() for future in futures if not future.done()])
        for row in zip(*columns):
            futures.append(submit(task, *row))
        for number, future in enumerate(futures):
            found.append(_result(future, number, task))
            tell(number + 1)
        return found


def sweep(f: Any, client: Any = None, progress: bool = False, **values: Any) -> list[tuple[dict[str, Any], Any]]:
    """Call a function for each combination of settings.

    Parameters
    ----------
    f : callable
        Takes the settings by name.
    client, progress : optional
        As for ``map``.
    **values : sequence
        The values of each setting.

    Returns
    -------
    list of (dict, object)
        The settings and the result of each call; the last setting changes fastest.

    Examples
    --------
    >>> phintys.distributed.sweep(lambda rate, steps: rate * steps, rate=[1, 2], steps=[10, 20])[-1]
    ({'rate': 2, 'steps': 20}, 40)
    """
    settings = [dict(zip(values, row)) for row in product(*values.values())]
    return list(zip(settings, map(_Named(f), settings, client=client, progress=progress)))


class _Named:
    """A function that takes its arguments as a dictionary."""

    def __init__(self, function: Any) -> None:
        self.function = as_task(function) if isinstance(function, Callable) else function
        self.name = getattr(function, "__name__", None) or getattr(function, "name", None)

    def __call__(self, settings: Any) -> Any:
        return self.function(**settings)


@contextmanager
def _submitter(client: Any) -> Iterator[Any]:
    """What takes a function and arguments and returns a future, while the block runs."""
    if client is None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            yield pool.submit
    elif isinstance(client, str) or hasattr(client, "scheduler_address") and not hasattr(client, "submit"):
        from dask.distributed import Client

        with Client(client, set_as_default=False) as made:
            yield made.submit
    elif hasattr(client, "submit"):
        yield client.submit
    else:
        raise TypeError("client is None, a dask.distributed.Client, a cluster or its address, or an executor, not "
                        f"{client!r}")


def _result(future, number, task):
    """The result of a call; its error says which it was."""
    try:
        return future.result()
    except Exception as error:
        raise with_details(error, f"This happened in call {number} of map, of "
                                  f"{task if isinstance(task, Task) else repr(task)}.") from error
