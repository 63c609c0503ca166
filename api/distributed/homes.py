"""Homes: where values of shared variables are that several processes see.

A home has ``locked()``, a context manager that may be entered again inside; ``fetch(version, dtype)``, which returns
the version and an array that is the caller's, or None if the version has not changed; ``store(array)``, which returns
the new version; versions are numbers from 1 on. It can be pickled, to one that has the same value, and ``path``, a
text, is the same for all of these.
"""
from __future__ import annotations

import atexit
from contextlib import contextmanager
from operator import index
from threading import RLock
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "/dev/shm"                 # where files are in memory, on Linux
HOME = ("locked", "fetch", "store", "path")

_attached: WeakValueDictionary[str, Home] = WeakValueDictionary()
_opening = RLock()                  # held where this process looks for a home of a path, or makes it


class Home:
    """A home with a lock, of which a process has one, so that a thread that has its lock can enter it again.

    Parameters
    ----------
    path : str
    *where : object
        With what another process makes it.
    """

    path: str

    def __init__(self, path: str, *where: Any) -> None:
        self.path, self._where = path, where
        self._lock, self._depth = RLock(), 0
        _attached[path] = self

    def __reduce__(self) -> Any:
        return attached, (type(self), self.path, self._where)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No other process, and no other thread, reads or writes the value meanwhile."""
        with self._lock:
            if not self._depth:
                self._acquire()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._release()

    def _acquire(self):
        raise NotImplementedError

    _release = _acquire


class Missing(Home):
    """What another process's home is here if it cannot be reached: an error for whoever uses it.

    Unpickling raises nothing, as a worker of Dask that cannot read a message ends, and then the next one.

    Parameters
    ----------
    path : str
    error : Exception
    reduced : tuple
        What ``__reduce__`` of the home returned.
    """

    def __init__(self, path: str, error: Exception, reduced: tuple[Any, ...]) -> None:
        self.path, self._error, self._reduced = path, error, reduced
        self._lock, self._depth = RLock(), 0

    def __reduce__(self) -> Any:
        return self._reduced

    def _acquire(self):
        raise type(self._error)(*self._error.args) from self._error


def attached(kind: type, path: str, where: tuple[Any, ...]) -> Any:
    """The home of a path in this process; homes are unpickled by it."""
    with _opening:
        try:
            return _attached.get(path) or kind(*where)
        except Exception as error:
            return Missing(path, error, (attached, (kind, path, where)))


class MPIWindow(Home):
    """A place for a value in memory of one process of MPI, which the others read and write (a window).

    MPI serves others only inside of its functions: if process ``root`` computes for long, others wait as long, unless
    the library has a thread for it (``MPICH_ASYNC_PROGRESS=1``).

    Parameters
    ----------
    nbytes : int
        For the largest value. All processes of the communicator make the window at once.
    comm : mpi4py.MPI.Comm, optional
        Default: ``COMM_WORLD``.
    root : int
        Whose memory it is.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm

    Examples
    --------
    >>> place = phintys.distributed.MPIWindow(1000)                     # in each process
    >>> w = phintys.shared(numpy.zeros(2), "w", target=place)           # in one, which sends it to the others
    >>> phintys.function([], [], updates=[(w, w + 1)])()
    []
    >>> w.get_value()
    array([1., 1.])
    """

    HEAD = 34                           # numbers before the value: its version, its rank, its shape

    def __init__(self, nbytes: int, comm: Any = None, root: int = 0) -> None:
        from mpi4py import MPI

        self.comm = comm = MPI.COMM_WORLD if comm is None else comm
        self.nbytes, self.root = nbytes, root = index(nbytes), index(root)  # errors come in all processes, not in one
        length = 8 * self.HEAD + nbytes if comm.rank == root else 0
        try:
            self._window = MPI.Win.Allocate(length, 1, comm=comm)
        except MPI.Exception as error:                      # in all processes
            library = MPI.Get_library_version().split(",")[0].split("\n")[0]
            raise RuntimeError(f"{library} makes no window for these processes ({error}). Open MPI 4 has windows over "
                               "a network without remote memory access only with OMPI_MCA_osc=pt2pt and "
                               "MPI4PY_RC_THREAD_LEVEL=serialized. A DaskActor needs no MPI") from error
        if length:
            numpy.frombuffer(self._window.tomemory(), "u1")[:] = 0
        super().__init__(comm.bcast(f"window {uuid4().hex}", root), None)
        comm.Barrier()
        atexit.register(_freed, self._window)               # by all processes, in the same order

    def __reduce__(self) -> Any:
        return _window_of, (self.path,)

    def _acquire(self):
        self._window.Lock(self.root)

    def _release(self):
        self._window.Unlock(self.root)

    def fetch(self, version: int, dtype: Any) -> tuple[int, Any] | None:
        """Return the version and a copy of the value, or None if its version is that which is given."""
        with self.locked():
            current, rank, *lengths = self._read(numpy.empty(self.HEAD, "i8"), 0).tolist()
            return None if current == version else (
                current, self._read(numpy.empty(lengths[:rank], dtype), 8 * self.HEAD))

    def store(self, value: Any) -> int:
        """Put another value there, and return its version."""
        if value.nbytes > self.nbytes:
            raise ValueError(f"a value of {value.nbytes:,} bytes does not fit into the window, which has "
                             f"{self.nbytes:,}")
        with self.locked():
            head = self._read(numpy.empty(self.HEAD, "i8"), 0)
            head[0] += 1
            head[1], head[2:2 + value.ndim] = value.ndim, value.shape
            content = numpy.ascontiguousarray(value)
            self._window.Put(_bytes(content), self.root, (8 * self.HEAD, content.nbytes))
            self._window.Put(_bytes(head), self.root, (0, head.nbytes))
            self._window.Flush(self.root)
            return int(head[0])

    def _read(self, array, start):
        """The bytes of the window from there on, as an array."""
        self._window.Get(_bytes(array), self.root, (start, array.nbytes))
        self._window.Flush(self.root)
        return array


def _bytes(array):
    return array.reshape(-1).view("u1")


def _freed(window):
    from mpi4py import MPI

    if not MPI.Is_finalized():
        window.Free()


def _window_of(path):
    if path not in _attached:
        error = LookupError(f"{path} is of other processes than this: all processes of its communicator make an "
                            "MPIWindow together, before one of them sends a variable of it")
        return Missing(path, error, (_window_of, (path,)))
    return _attached[path]


class DaskActor(Home):
    """A place for a value with a worker of Dask: an actor, which is there as long as the worker and the client that
    made it.

    Parameters
    ----------
    client : dask.distributed.Client, optional
        By default the present one.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     w = phintys.shared(numpy.zeros(2), "w", target=phintys.distributed.DaskActor(client))
    ...     w.set_value(numpy.ones(2))
    ...     client.submit(lambda w: w.get_value(), w).result()
    array([1., 1.])
    """

    def __init__(self, client: Any = None, actor: Any = None) -> None:
        from distributed import Lock, get_client

        if actor is None:
            actor = (client or get_client()).submit(_Value, actor=True).result()
        super().__init__(str(actor.key), None, actor)
        self._actor, self._leased, self._seen = actor, Lock(f"phintys {actor.key}"), None

    def _acquire(self):
        self._leased.acquire()
        self._seen = None

    def _release(self):
        self._leased.release()

    def fetch(self, version: int, dtype: Any) -> tuple[int, Any] | None:
        """Return the version and a copy of the value, or None if its version is that which is given."""
        with self.locked():
            self._seen, value = self._actor.fetch(version).result()
            return None if value is None else (self._seen, numpy.array(value, dtype))

    def store(self, value: Any) -> int:
        """Put another value there, and return its version.

        Raises
        ------
        RuntimeError
            If another process has stored a value since this one has read it under its lock, which Dask takes away from
            a process that does not answer for a while.
        """
        with self.locked():
            version = self._actor.store(value, self._seen).result()
            if version is None:
                raise RuntimeError("another process has updated the value, since Dask has taken the lock away from "
                                   "this one: nothing is stored. See distributed.scheduler.locks.lease-timeout")
            self._seen = version
            return version


class _Value:
    """The actor."""

    def __init__(self):
        self.version, self.value = 0, None

    def fetch(self, version):
        """The version, and the value if it is another."""
        return self.version, None if version == self.version else self.value

    def store(self, value, seen):
        """The new version, or None: the value is not that which was seen."""
        if seen is not None and seen != self.version:
            return None
        self.version, self.value = self.version + 1, numpy.array(value)
        return self.version
