"""Pickles of graphs and models: without tags (`StripPickler`), and as zip files of arrays (``dump`` and ``load``).

A zip file written by ``dump`` contains each array as a ``.npy`` file, named after the shared variable whose value it
is, and the rest of the pickle under the name ``pkl``; so ``numpy.load`` can read the values without this package.
"""
from __future__ import annotations

import copyreg
import pickle
import zipfile
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.scratchpad import Scratchpad
from phintys.shared import SharedVariable
from phintys.theano_finder import lookup as _lookup
from phintys.vm.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.shared import TensorSharedVariable

__all__ = ["CompatUnpickler", "PersistentNdarrayID", "PersistentNdarrayLoad", "PersistentSharedVariableID",
           "StripPickler", "dump", "load", "zipadd"]


class StripPickler(pickle.Pickler):
    """Pickles graphs without their test values.

    Parameters
    ----------
    file : file
    protocol : int
    extra_tag_to_remove : list of str, optional
        More attributes of ``tag`` to omit.

    Examples
    --------
    >>> import io, pickle
    >>> file, x = io.BytesIO(), T.dvector("x")
    >>> phintys.misc.pkl_utils.StripPickler(file).dump(T.exp(x))
    >>> pickle.loads(file.getvalue()).owner.op
    Elemwise{exp,no_inplace}
    """

    def __init__(self, file: Any, protocol: int = 0, extra_tag_to_remove: Sequence[str] | None = None) -> None:
        super().__init__(file, protocol)
        self.tag_to_remove = ["trace", "test_value", *(extra_tag_to_remove or ())]

    def reducer_override(self, thing: Any) -> Any:
        """Reduce a tag to the attributes that are kept."""
        if not isinstance(thing, Scratchpad):
            return NotImplemented
        return type(thing), (), {name: value for name, value in vars(thing).items() if name not in self.tag_to_remove}


class CompatUnpickler(pickle.Unpickler):
    """Reads pickles of arrays that Python 2 wrote, and of ops of Theano's that have the same attributes here.

    Shared variables of Theano's cannot be read: save their values instead.

    Parameters
    ----------
    file : file
    encoding : str
        The encoding of strings in the file, as for ``pickle.Unpickler``.

    Examples
    --------
    >>> import io, pickle
    >>> file = io.BytesIO(pickle.dumps([1, 2]))
    >>> phintys.misc.pkl_utils.CompatUnpickler(file).load()
    [1, 2]
    """

    def __init__(self, file: Any, *, encoding: str = "latin1", **options: Any) -> None:
        super().__init__(file, encoding=encoding, **options)

    def find_class(self, module: str, name: str) -> Callable[..., Any] | type:
        """Find a class or a function of the pickle; the function that makes objects of Python 2 refuses containers."""
        return _reconstructor if name == "_reconstructor" else super().find_class(module, name)


def _reconstructor(kind, base, state):
    """``copyreg._reconstructor``, with an error for containers that says what to do."""
    if kind is Container:
        raise pickle.UnpicklingError(
            "the pickle has a shared variable that Theano wrote, whose Container has another form here: save the "
            "values of shared variables, get_value(), as arrays, build the graph anew, and set them")
    return copyreg._reconstructor(kind, base, state)


class PersistentNdarrayID:
    """Stores each array in a zip file; its name in the file is pickled in its place.

    Parameters
    ----------
    zip_file : zipfile.ZipFile

    Examples
    --------
    >>> import io, zipfile
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     phintys.misc.pkl_utils.PersistentNdarrayID(archive)(numpy.arange(3))
    'ndarray.array_0'
    """

    def __init__(self, zip_file: Any) -> None:
        self.zip_file = zip_file
        self._names = {}                            # id of an array → its name, and the array, which keeps the id valid
        self._count = 0

    def __call__(self, thing: Any) -> str | None:
        """Return ``"ndarray.name"`` for an array that is in the file now, None for what is pickled as usual."""
        if type(thing) is not numpy.ndarray or thing.dtype.hasobject:
            return None
        if id(thing) not in self._names:
            name = self._new_name()
            with self.zip_file.open(name, "w", force_zip64=True) as file:
                numpy.lib.format.write_array(file, thing, allow_pickle=False)
            self._names[id(thing)] = name, thing
        return f"ndarray.{self._names[id(thing)][0]}"

    def _new_name(self):
        self._count += 1
        return f"array_{self._count - 1}"


class PersistentSharedVariableID(PersistentNdarrayID):
    """As `PersistentNdarrayID`, but values of shared variables have their names.

    Parameters
    ----------
    zip_file : zipfile.ZipFile
    allow_unnamed, allow_duplicates : bool
        Whether shared variables may have no name, or the same name (the second ``x`` is ``x_2`` in the file).

    Raises
    ------
    ValueError
        When called, for shared variables that are not allowed, and for one called ``pkl``.

    Examples
    --------
    >>> import io, zipfile
    >>> weights = phintys.shared(numpy.arange(3), name="weights")
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     phintys.misc.pkl_utils.PersistentSharedVariableID(archive)(weights.container.value) is None
    False
    """

    def __init__(self, zip_file: Any, allow_unnamed: bool = True, allow_duplicates: bool = True) -> None:
        super().__init__(zip_file)
        self.allow_unnamed, self.allow_duplicates = allow_unnamed, allow_duplicates
        self._names_of_containers, self._seen = {}, {}
        self._used = Counter()
        self._container = None                      # the container whose value is pickled next

    def __call__(self, thing: Any) -> str | None:
        if isinstance(thing, SharedVariable):
            self._check(thing)
            self._names_of_containers[id(thing.container)] = thing.name
        elif isinstance(thing, Container) and id(thing) not in self._seen:
            self._seen[id(thing)] = thing           # a repeated one is in the pickler's memo, and no value follows
            self._container = id(thing)
        return super().__call__(thing)

    def _check(self, variable):
        if variable.name == "pkl":
            raise ValueError(f"a shared variable called 'pkl' cannot be in a zip file: {variable.type}")
        if not variable.name and not self.allow_unnamed:
            raise ValueError(f"unnamed shared variable of type {variable.type}")

    def _new_name(self):
        name, self._container = self._names_of_containers.get(self._container), None
        if not name:
            return super()._new_name()
        self._used[name] += 1
        if self._used[name] > 1 and not self.allow_duplicates:
            raise ValueError(f"multiple shared variables with the name {name!r} found")
        return name if self._used[name] == 1 else f"{name}_{self._used[name]}"


class PersistentNdarrayLoad:
    """Reads the arrays that `PersistentNdarrayID` stored in a zip file.

    Parameters
    ----------
    zip_file : zipfile.ZipFile

    Examples
    --------
    >>> import io, zipfile
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as archive:
    ...     name = phintys.misc.pkl_utils.PersistentNdarrayID(archive)(numpy.arange(3))
    ...     phintys.misc.pkl_utils.PersistentNdarrayLoad(archive)(name)
    array([0, 1, 2])
    """

    def __init__(self, zip_file: Any) -> None:
        self.zip_file = zip_file
        self._arrays = {}

    def __call__(self, persistent_id: str) -> numpy.ndarray:
        """Return the array of that name; the same object each time."""
        _, name = persistent_id.split(".", 1)
        if name not in self._arrays:
            with self.zip_file.open(name) as file:
                self._arrays[name] = numpy.lib.format.read_array(file, allow_pickle=False)
        return self._arrays[name]


class _Pickler(pickle.Pickler):
    """With a function as the method ``persistent_id``: CPython 3.13.0 does not let it be set."""

    def __init__(self, file, protocol, persistent_id):
        super().__init__(file, protocol)
        self._identify = persistent_id

    def persistent_id(self, obj):
        return self._identify(obj)


class _Unpickler(pickle.Unpickler):
    """The same for ``persistent_load``."""

    def __init__(self, file, persistent_load):
        super().__init__(file)
        self._load = persistent_load

    def persistent_load(self, pid):
        return self._load(pid)


def dump(obj: SharedVariable | Mapping[Any, Any] | Sequence[Any], file_handler: Any,
         protocol: int = pickle.DEFAULT_PROTOCOL,
         persistent_id: Callable[..., Any] | type = PersistentSharedVariableID) -> None:
    """Write a zip file with an object: its arrays, and a pickle of the rest.

    Parameters
    ----------
    obj : object
    file_handler : file
        Open for writing bytes.
    protocol : int
    persistent_id : callable
        Maps the zip file to a function like ``pickle.Pickler.persistent_id``.

    Raises
    ------
    ValueError
        See `PersistentSharedVariableID`.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> phintys.misc.pkl_utils.dump(phintys.shared(numpy.arange(3), name="values"), file)
    >>> phintys.misc.pkl_utils.load(file).get_value()
    array([0, 1, 2])
    """
    with zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as zip_file:
        text = BytesIO()
        _Pickler(text, protocol, persistent_id(zip_file)).dump(obj)
        zip_file.writestr("pkl", text.getvalue())


def load(f: Any, persistent_load: type = PersistentNdarrayLoad) -> TensorSharedVariable | dict[Any, Any] | list[Any]:
    """Read a file written by ``dump``. As with every pickle, it can run any code: read only files that you trust.

    Parameters
    ----------
    f : file
        Open for reading bytes.
    persistent_load : callable
        Maps the zip file to a function like ``pickle.Unpickler.persistent_load``.

    Returns
    -------
    object

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> phintys.misc.pkl_utils.dump([numpy.arange(3)], file)
    >>> phintys.misc.pkl_utils.load(file)
    [array([0, 1, 2])]
    """
    with zipfile.ZipFile(f) as zip_file:
        return _Unpickler(BytesIO(zip_file.read("pkl")), persistent_load(zip_file)).load()


def zipadd(func: Callable[..., Any], zip_file: Any, name: str) -> None:
    """Add a file to a zip file: ``func`` is called with a binary file, and writes it.

    Parameters
    ----------
    func : callable
    zip_file : zipfile.ZipFile
    name : str
        In the zip file.

    Examples
    --------
    >>> import io, zipfile
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as zip_file:
    ...     zipadd(lambda file: numpy.save(file, numpy.arange(3)), zip_file, "numbers.npy")
    ...     zip_file.namelist()
    ['numbers.npy']
    """
    with zip_file.open(name, "w", force_zip64=True) as file:
        func(file)


__getattr__ = _lookup(__name__)
