"""Variables and constants: the values of a graph.

A variable has a type, the Apply node that computes it (``owner`` and ``index``; None for leaves) and a record of where
the user made it. Only a FunctionGraph knows its readers; ``clients`` asks it (``membership.py``). Equality is identity.
Pickling and copying, for chains of any length, is in ``serialization.py``.
"""
from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from phintys.graph import hooks
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.membership import InGraph
from phintys.graph.nodes import copy_slots, know_classes, slots_of
from phintys.graph.scratchpad import LazyTag, copy_tag, made, position_of
from phintys.graph.serialization import GraphVariable
from phintys.graph.trace import resolve, where_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from phintys.graph.apply import Apply
    from phintys.graph.type import Type


class Variable(GraphVariable):
    """A value of a graph.

    Parameters
    ----------
    type : Type
    owner : Apply, optional
        The node that computes it.
    index : int, optional
        The index of the output of ``owner``.
    name : str, optional
        For printing and for arguments by keyword.

    Attributes
    ----------
    tag : Scratchpad
        An object with free attributes; ``config.compute_test_value`` reads ``tag.test_value``.

    Raises
    ------
    TypeError
        If the name is not a string.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> isinstance(x, phintys.Variable), x.name, x.owner
    (True, 'x', None)
    >>> (x + 1).owner.inputs[0] is x
    True
    """

    __count__ = count(0)
    _number: int | None = None          # once somebody asked for it
    tag = LazyTag()
    fgraph = InGraph(lambda fgraph: fgraph.clients, lambda fgraph, variable: fgraph, "The FunctionGraph it is in.")
    clients = InGraph(lambda fgraph: fgraph.clients, lambda fgraph, variable: fgraph.clients[variable],
                      "Its readers in the FunctionGraph it is in: pairs (node, input position).")

    type: Type
    owner: Apply | None
    index: int | None
    name: str | None

    if TYPE_CHECKING:                   # as `ValueSlots` has it
        def __init__(self, type: Type, owner: Apply | None = None, index: int | None = None,
                     name: str | None = None) -> None: ...

    @property
    def auto_name(self) -> str:
        """A name that is unique in this process."""
        if self._number is None:
            self._number = next(self.__count__)
        return f"auto_{self._number}"

    @property
    def where(self) -> tuple[str, int] | None:
        """(file, line) where the user made it, or None if that is not known."""
        return where_of(position_of(self))

    def get_parents(self) -> list[Apply]:
        """Return the owner in a list, or an empty list."""
        return [] if self.owner is None else [self.owner]

    def clone(self) -> Self:
        """Return a new variable without owner, with the same type, name, tag and origin."""
        copied = self.__class__(self.type, None, None, self.name)
        copy_tag(self, copied)
        copied._position = made(self)._position
        return copied

    # ---- values ------------------------------------------------------------------------------------------------------
    def eval(self, inputs_to_values: Mapping[Any, Any] | None = None) -> Any:
        """Compute the value, by a function that is compiled in the first call and stored.

        Parameters
        ----------
        inputs_to_values : dict, optional
            Variable → value, for every input that the value depends on.

        Returns
        -------
        numpy.ndarray or another value of the type
        """
        values = {} if inputs_to_values is None else inputs_to_values
        if not isinstance(values, Mapping) or not all([isinstance(variable, Variable) for variable in values]):
            raise TypeError(f"eval takes a dictionary from variables to values, such as {{x: 1.0}}, got {values!r}")
        inputs = tuple(sorted(values, key=id))
        functions = self.__dict__.setdefault("_fn_cache", {})
        if inputs not in functions:
            functions[inputs] = hooks.function(list(inputs), self)
        return functions[inputs](*[values[variable] for variable in inputs])

    def get_test_value(self) -> Any:
        """Return ``tag.test_value`` as a value of the type.

        Raises
        ------
        AttributeError
            If there is no test value.
        TypeError
            If it is not a value of the type.
        """
        tag: Any = self._tag
        if not hasattr(tag, "test_value"):
            raise AttributeError(f"{self} has no test value{made_at(self)}")
        try:
            return self.type.filter(tag.test_value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"For compute_test_value, one input test value does not have the requested type: that of "
                              f"{self}{made_at(self)} is not a value of {self.type}.\nThe error when converting the "
                              f"test value to that variable type:\n{error}") from error

    # ---- text --------------------------------------------------------------------------------------------------------
    def __str__(self):
        if self.name is not None:
            return self.name
        if self.owner is None:
            return f"<{self.type}>"
        output = "out" if self.index == self.owner.op.default_output else self.index
        return f"{self.owner.op}.{output}"

    def __repr__(self):
        if not config.print_test_value or not hasattr(self.tag, "test_value"):
            return str(self)
        try:
            return f"{self}\n{self.get_test_value()!r}"
        except (TypeError, ValueError):             # of no value of the type: a text must not fail
            return f"{self}\n{self.tag.test_value!r}"

    # ---- comparison is left to subclasses ----------------------------------------------------------------------------
    def __lt__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __lt__: {type(self).__name__}")

    def __le__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __le__: {type(self).__name__}")

    def __gt__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __gt__: {type(self).__name__}")

    def __ge__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __ge__: {type(self).__name__}")

    # ---- state -------------------------------------------------------------------------------------------------------
    def __getstate__(self):
        state = {**self.__dict__, **slots_of(self)}
        state.pop("_fn_cache", None)
        state.pop("_number", None)                  # numbers are unique in a process; a copy gets another one
        if "_position" in state:
            state["_position"] = resolve(state["_position"])
        if not config.pickle_test_value and hasattr(state.get("tag"), "test_value"):
            state["tag"] = pad = type(state["tag"])()
            pad.__update__(self.tag)
            del pad.test_value
        return state

    def __copy__(self):
        copied = self.__class__.__new__(self.__class__)
        copy_slots(self, copied)
        copied.__dict__.update(self.__dict__)
        for own in ("_fn_cache", "_number"):
            copied.__dict__.pop(own, None)
        return copied


class Constant(Variable):
    """A variable whose value is fixed.

    Parameters
    ----------
    type : Type
    data
        A value that ``type.filter`` accepts; it is stored as ``data`` and must not be changed.
    name : str, optional

    Examples
    --------
    >>> phintys.Constant(T.dscalar, numpy.array(3.0)).data
    array(3.)
    """

    def __init__(self, type: Type, data: Any, name: str | None = None) -> None:
        Variable.__init__(self, type, None, None, name)
        self.data = type.filter(data)

    value = property(lambda self: self.data, doc="The same as ``data``, to read only.")

    def signature(self) -> Any:
        """Return a value that equal constants have in common: a pair of the type and an object that compares by
        value."""
        return self.type, self.data

    def merge_signature(self) -> Any:
        """Return the signature by which the optimizer finds equal constants."""
        return self.signature()

    def equals(self, other: object) -> bool:
        """Return whether ``other`` is a constant of equal type and value."""
        return isinstance(other, Constant) and self.signature() == other.signature()

    def clone(self) -> Self:
        """Return a new constant with the same data, which is not copied."""
        copied = self.__copy__()
        copied._tag = None
        copy_tag(self, copied)
        return copied

    def get_test_value(self) -> Any:
        """The data."""
        return self.data

    def __str__(self):
        if self.name is not None:
            return self.name
        text = str(self.data)
        if len(text) > 20:
            text = f"{text[:10]}...{text[-10:]}"
        return f"{type(self).__name__}{{{text}}}"


know_classes(Variable, Constant)
