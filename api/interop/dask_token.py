"""The token by which Dask recognizes a compiled function: equal for functions that compute the same.

The token is a digest of the function's pickle, in a form that depends only on what is pickled. An ordinary pickle also
depends on identities: a text or tuple that occurs twice is written once if it is one object, and in full if it is two
equal ones, and loading a pickle makes one object of some of them. So texts, tuples and types are written in full here;
arrays are replaced by their digests, attributes and sets are sorted, and the places where nodes were made are left out.

The values of shared variables and defaults count, because results depend on them. The name and the profile do not.
"""
from __future__ import annotations

import hashlib
import io
import pickle
from importlib import import_module
from operator import itemgetter
from types import FunctionType
from typing import Any

import numpy

from phintys.graph.scratchpad import Scratchpad
from phintys.graph.type import Type
from phintys.shared import container_of
from phintys.vm.containers.container import Container

# Arguments of the maker, and attributes of variables, nodes and tags, that change no result.
NO_RESULTS = frozenset(["name", "function_builder", "on_unused_input"])
NOTES = frozenset(["_position", "trace", "test_value"])

IMMUTABLE = (str, bytes, tuple, Type, numpy.dtype)


def token_of(recipe: Any, trust_input: Any) -> Any:
    """Return the token of the function that a recipe makes.

    Parameters
    ----------
    recipe : Recipe
    trust_input : bool

    Returns
    -------
    tuple
        For ``dask.base.tokenize``. If the function cannot be pickled, Dask decides: it returns a new token each time,
        or raises ``TokenizationError``.
    """
    arguments = {name: value for name, value in recipe.arguments.items() if name not in NO_RESULTS}
    try:
        content = digest_of([arguments, recipe.input_storage, bool(trust_input)])
    except Exception:                           # a user's op or value that cannot be pickled may raise any error
        from dask.base import normalize_token

        content = normalize_token(object())
    return "phintys function", content


def token_apart(recipe: Any, trust_input: Any) -> tuple[str, list[Any]]:
    """Return a token of the function whatever its shared variables hold, and their containers, in a fixed order."""
    arguments = {name: value for name, value in recipe.arguments.items() if name not in NO_RESULTS}
    stream = io.BytesIO()
    pickler = PicklerApart(stream)
    pickler.dump([arguments, recipe.input_storage, bool(trust_input)])
    return hashlib.sha256(stream.getvalue()).hexdigest(), pickler.containers


def token_of_values(containers: Any) -> list[Any]:
    """Return a token of each value."""
    return [token_of_array(container.get(borrow=True)) for container in containers]


def token_of_array(array: Any) -> tuple[Any, ...]:
    """Return what an array, or a number of NumPy, is told by."""
    return "array", array.dtype.str, array.shape, hashlib.sha256(numpy.ascontiguousarray(array)).hexdigest()


def digest_of(thing: Any) -> Any:
    """Return a digest of what is pickled of an object."""
    stream = io.BytesIO()
    CanonicalPickler(stream).dump(thing)
    return hashlib.sha256(stream.getvalue()).hexdigest()


class CanonicalPickler(pickle._Pickler):
    """A pickler whose output does not depend on which equal immutable objects are one object. It is never loaded."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream, protocol=5)

    def memoize(self, thing: Any) -> None:
        """Remember mutable objects only."""
        if not isinstance(thing, IMMUTABLE):
            super().memoize(thing)

    def persistent_id(self, thing: Any) -> Any:
        """Return a description of arrays, sets, and of code that a name does not identify; None for other objects."""
        if isinstance(thing, numpy.ndarray) and not thing.dtype.hasobject:
            return token_of_array(thing)
        if isinstance(thing, (set, frozenset)):
            return "set", sorted(map(digest_of, thing))
        if isinstance(thing, (type, FunctionType)) and not is_found_by_name(thing):
            from dask.base import normalize_token

            return "code", normalize_token(thing)
        return None

    def reducer_override(self, thing: Any) -> Any:
        """Reduce dictionaries, most of which are attributes, in the order of their keys and without notes."""
        if type(thing) is Scratchpad:
            return Scratchpad, (), dict(contents(vars(thing)))
        if type(thing) is dict and all(type(key) is str for key in thing):
            return dict, (), None, None, iter(contents(thing))
        return NotImplemented


class PicklerApart(CanonicalPickler):
    """The same, with numbers in the place of shared variables.

    Attributes
    ----------
    containers : list
        Where their values are, by these numbers.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.containers: list[Any] = []

    def persistent_id(self, thing: Any) -> Any:
        """Return also the number and the type of a shared variable."""
        container = container_of(thing)
        if not isinstance(container, Container):
            return super().persistent_id(thing)
        if container not in self.containers:
            self.containers.append(container)
        return "shared", self.containers.index(container), str(container.type)


def contents(attributes: Any) -> Any:
    """Return the pairs of a dictionary that matter, in order; tags appear when somebody looks at them."""
    return sorted([(name, value) for name, value in attributes.items() if name not in NOTES
                   and not (type(value) is Scratchpad and not contents(vars(value)))], key=itemgetter(0))


def is_found_by_name(thing: Any) -> Any:
    """Return whether the module and name of a class or function will mean the same in another process."""
    if thing.__module__ in (None, "__main__"):
        return False
    found = import_module(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is thing
