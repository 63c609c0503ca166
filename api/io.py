"""Specifications of a function's inputs and outputs: ``In`` and ``Out``.

They say how a value is passed to a call (its name, default and conversion, and how its memory may be used) and how a
result is returned. They hold no values of a call and do nothing themselves; ``function`` reads them.
"""
from __future__ import annotations

import warnings
from typing import Any

import numpy

from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.making.argument_container import ArgumentContainer
from phintys.shared import SharedVariable
from phintys.vm.containers.container import Container

__all__ = ["In", "Out", "Param", "SymbolicInput", "SymbolicOutput"]

STORED = (Container, ArgumentContainer, SharedVariable)     # values that an input shares with other functions


def _check_symbolic(thing):
    if not isinstance(thing, Variable):
        raise TypeError(f"inputs, updates and outputs of functions are symbolic variables, got {thing!r}")


def check_truths(**given: Any) -> None:
    """Refuse arguments that are neither truth values nor None: a text such as "no" would count as true."""
    for name, value in given.items():
        if not isinstance(value, (bool, int, numpy.bool, type(None))):
            raise TypeError(f"{name} must be True, False or None, got {value!r}")


@at_home
class SymbolicInput:
    """One input of a function.

    Parameters
    ----------
    variable : Variable
        The input in the graph. If it is computed from other variables, the graph is cut there.
    name : str, optional
        The keyword of the argument; by default the variable's name.
    update : Variable, optional
        The input's value after each call; must have the variable's type.
    mutable : bool, optional
        Whether the function may overwrite the argument's memory. Default: only if there is an update.
    strict : bool
        Refuse values that are not already of the variable's type.
    allow_downcast : bool or None
        Convert values even where that loses precision. None: only Python floats to ``config.floatX``.
    autoname : bool
        Take the variable's name when ``name`` is None.
    implicit : bool
        The caller cannot pass a value.

    Raises
    ------
    TypeError
        If a value is not a variable, the name is not a string, ``strict`` or ``allow_downcast`` is not a truth value,
        or the update has another type than the variable.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([phintys.SymbolicInput(x, name="width")], x * 2)(width=3)
    array(6.)
    """

    def __init__(self, variable: Variable, name: str | None = None, update: Variable | None = None,
                 mutable: bool | None = None, strict: bool = False, allow_downcast: bool | None = None,
                 autoname: bool = True, implicit: bool = False) -> None:
        for part in (variable,) if update is None else (variable, update):
            _check_symbolic(part)
        if name is None and autoname:
            name = variable.name
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of an input must be a string, got {name!r}")
        check_truths(strict=strict, allow_downcast=allow_downcast)
        if update is not None and update.type != variable.type:
            raise TypeError(f"Variable '{variable}' has type {variable.type} but an update of type {update.type}. The "
                            "type of the update should be the same as the type of the variable")
        self.variable = variable
        self.name = name
        self.update = update
        self.mutable = update is not None if mutable is None else mutable
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.implicit = implicit

    def __repr__(self):
        if self.update is not None:
            return f"In({self.variable} -> {self.update})"
        return f"In({self.variable})"


@at_home
class In(SymbolicInput):
    """One input of a function, with a default value or a state.

    Parameters
    ----------
    variable, name, update, mutable, strict, allow_downcast, autoname
        See `SymbolicInput`.
    value : object, optional
        Without an update: the default of the argument. With an update: the first value of the state; without one, each
        call must pass it. A container or shared variable: the input reads, and updates, its value.
    implicit : bool or None
        The caller cannot pass a value. None: true if ``value`` is a container or a shared variable.
    borrow : bool, optional
        Whether results may share the argument's memory. Default: as ``mutable``.
    shared : bool
        The value is stored in a container that other functions use too.

    Raises
    ------
    AssertionError
        If ``mutable`` is true and ``borrow`` false: the memory of an argument that is overwritten cannot stay separate.
    TypeError
        If an implicit input has no value.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> f = phintys.function([phintys.In(x, value=3.0, name="width")], x * 2)
    >>> f(), f(width=5)
    (array(6.), array(10.))
    """

    def __init__(self, variable: Variable, name: str | None = None, value: Any = None, update: Variable | None = None,
                 mutable: bool | None = None, strict: bool = False, allow_downcast: bool | None = None,
                 autoname: bool = True, implicit: bool | None = None, borrow: bool | None = None,
                 shared: bool = False) -> None:
        borrow = mutable if borrow is None else borrow
        if mutable and not borrow:
            raise AssertionError(f"Symbolic input for variable {variable} (name={name}) has flags mutable=True, "
                                 "borrow=False. This combination is incompatible since mutable=True implies that the "
                                 "input variable may be both aliased (borrow=True) and overwritten.")
        if implicit is None:
            implicit = isinstance(value, STORED)
        super().__init__(variable, name=name, update=update, mutable=mutable, strict=strict,
                         allow_downcast=allow_downcast, autoname=autoname, implicit=implicit)
        if implicit and value is None:
            raise TypeError("An implicit input must be given a default value")
        self.value = value
        self.borrow = borrow
        self.shared = shared

    @property
    def required(self) -> bool:
        """Whether each call must pass a value."""
        return self.value is None

    @property
    def is_state(self) -> bool:
        """Whether the value is stored in a container between calls."""
        return self.implicit or self.update is not None or isinstance(self.value, STORED)


@at_home
class Param(In):
    """Theano's older name for `In`, with ``default`` instead of ``value``; it warns.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.function([phintys.In(x, value=3.0)], x * 2)()                    # instead of Param(x, default=3.0)
    array(6.)
    """

    def __init__(self, variable: Variable, default: Any = None, name: str | None = None, mutable: bool = False,
                 strict: bool = False, allow_downcast: bool | None = None, implicit: bool | None = None,
                 borrow: bool | None = None) -> None:
        warnings.warn("The Param class is deprecated. Replace Param(default=N) by phintys.In(value=N)", stacklevel=2)
        super().__init__(variable, name=name, value=default, mutable=mutable, strict=strict,
                         allow_downcast=allow_downcast, implicit=implicit, borrow=borrow)


@at_home
class SymbolicOutput:
    """One output of a function.

    Parameters
    ----------
    variable : Variable
    borrow : bool
        The result may be memory that the function writes again in later calls.
    return_internal_type : bool
        Return the value as it is stored; on the CPU that is the same.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> f = phintys.function([x], phintys.Out(x * 2, borrow=True))
    >>> f([1, 2])
    array([2., 4.])
    """

    def __init__(self, variable: Variable, borrow: bool = False, return_internal_type: bool = False) -> None:
        _check_symbolic(variable)
        self.variable = variable
        self.borrow = borrow
        self.return_internal_type = return_internal_type

    def __repr__(self):
        return f"Out({self.variable},{self.borrow})"


Out = SymbolicOutput
