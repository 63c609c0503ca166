"""Types of gradients that have no value: ``NullType`` for undefined ones, ``DisconnectedType`` if there is no path.

``gradient.py`` uses variables of these types instead of gradients; they say why there is no gradient. They never reach
a function: they have no values, and a FunctionGraph refuses them.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.errors import made_at
from phintys.graph.type import SingletonType, Type

if TYPE_CHECKING:
    from phintys.graph.op import PureOp
    from phintys.graph.variable import Variable


class NullType(Type):
    """The type of a gradient that is undefined or not implemented.

    Parameters
    ----------
    why_null : str
        Why there is no gradient, for error messages. All null types are equal.

    Examples
    --------
    >>> phintys.gradient.null_type("no value").type
    NullType
    """

    def __init__(self, why_null: str = "(no explanation given)") -> None:
        self.why_null = why_null

    def filter(self, value: int, strict: bool = False, allow_downcast: Any = None) -> Any:
        raise ValueError("No values may be assigned to a NullType: " + self.why_null)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        raise ValueError("No values may be assigned to a NullType: " + self.why_null)

    def values_eq(self, a: Any, b: Any) -> Any:
        raise ValueError("NullType has no values to compare")

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return "NullType"

    __repr__ = __str__


class DisconnectedType(SingletonType):
    """The type of a gradient with respect to a variable that the cost does not depend on: a zero that says why.

    Examples
    --------
    >>> x, y = T.dscalars("xy")
    >>> phintys.grad(x * 2, y, disconnected_inputs="ignore", return_disconnected="Disconnected").type
    DisconnectedType
    """

    _refusal = "DisconnectedType is a symbolic placeholder; nothing can be assigned to it or compared with it."

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> Any:
        raise AssertionError(self._refusal)

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Any:
        raise AssertionError(self._refusal)

    def values_eq(self, a: Any, b: Any) -> Any:
        raise AssertionError(self._refusal)


null_type = NullType()
disconnected_type = DisconnectedType()


def grad_undefined(op: PureOp, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return the gradient of an op with respect to an input for which it is mathematically undefined.

    Parameters
    ----------
    op : Op
    x_pos : int
        The number of the input.
    x : Variable
        The input.
    comment : str

    Returns
    -------
    Variable
        A variable of a NullType that says why.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gradient.grad_undefined(T.exp, 0, x, "for the sake of an example").type
    NullType
    """
    return NullType(f"This variable is Null because the grad method for input {x_pos} ({x}) of the {op} op "
                    f"is mathematically undefined{made_at(x)}. {comment}")()


def grad_not_implemented(op: PureOp, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return the gradient of an op with respect to an input for which it is not implemented; see ``grad_undefined``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gradient.grad_not_implemented(T.exp, 0, x).type
    NullType
    """
    return NullType(f"This variable is Null because the grad method for input {x_pos} ({x}) of the {op} op "
                    f"is not implemented{made_at(x)}. {comment}")()
