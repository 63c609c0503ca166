"""The exceptions of phintys, with the names and base classes that Theano's programs catch.

An exception is defined here if more than one floor raises or catches it. Messages name the object, the value, what was
expected, and where the user made it; ``made_at`` writes that last part.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph import hooks
from phintys.graph.public_names import at_home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


@at_home
class MethodNotDefined(Exception):
    """An op or type lacks a method that was needed; ``args`` are the method's name, the class, and its name."""

    def __str__(self):
        if len(self.args) == 3:
            return f"{self.args[2]} has no method {self.args[0]}, which is needed here"
        return super().__str__()


@at_home
class InconsistencyError(Exception):
    """A graph breaks a rule, for example by a cycle or by a replacement that a feature refuses."""


@at_home
class AlreadyThere(Exception):
    """A feature's methods would hide others: it, or one in conflict with it, is attached to the graph already."""


@at_home
class ReplacementDidntRemovedError(Exception):
    """A replacement left in the graph what it should have removed."""


@at_home
class MissingInputError(Exception):
    """A graph needs a variable that is neither an input, nor a constant, nor computed."""


@at_home
class UnusedInputError(Exception):
    """An input of a function is not needed to compute the function's results."""


@at_home
class AliasedMemoryError(Exception):
    """Two inputs that must not share memory do."""


@at_home
class DisconnectedInputError(ValueError):
    """A gradient was requested with respect to a variable that the cost does not depend on."""


@at_home
class NullTypeGradError(TypeError):
    """A gradient is undefined or not implemented, and was needed."""


@at_home
class GradientError(Exception):
    """A symbolic gradient differs from finite differences by more than the tolerances; ``verify_grad.E_grad``."""

    def __init__(self, arg: int, err_pos: int, shape: Sequence[int], val1: Any, val2: Any, abs_err: Any, rel_err: Any,
                 abs_tol: float, rel_tol: float) -> None:
        Exception.__init__(self)                    # args are left to the caller, who adds details
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2 = val1, val2
        self.abs_err, self.rel_err, self.abs_tol, self.rel_tol = abs_err, rel_err, abs_tol, rel_tol

    def __str__(self):
        details = "\n".join([str(argument) for argument in self.args])
        return (f"numeric gradient and analytic gradient exceed tolerance:\n"
                f"At position {self.err_pos} of argument {self.arg} with shape {self.shape},\n"
                f"    analytic = {self.val1}, numeric = {self.val2}\n"
                f"    abs. error = {self.abs_err}, abs. tolerance = {self.abs_tol}\n"
                f"    rel. error = {self.rel_err}, rel. tolerance = {self.rel_tol}\n{details}")


@at_home
class NotScalarConstantError(Exception):
    """A variable is not known to hold one number that is independent of the inputs."""


@at_home
class EmptyConstantError(NotScalarConstantError):
    """A constant has no elements, so it holds no number."""


def made_at(thing: Any) -> str:
    """Describe where the user made a variable or node, for the end of a message.

    Returns
    -------
    str
        ``" (made at FILE:LINE)"``, or an empty string if that is not known.
    """
    where = thing.where
    return f" (made at {where[0]}:{where[1]})" if where else ""


def shown(variable: Variable) -> Any:
    """Return the text for a variable in a message: its name, or the formula that computes it; other objects as text.

    Returns
    -------
    str
    """
    if getattr(variable, "owner", None) is None or variable.name is not None or hooks.formulas is None:
        return str(variable)
    try:
        return hooks.formulas().written(variable, 2)
    except Exception:                   # of an op that cannot be written: the error that is described matters more
        return str(variable)


def with_details(error: Any, details: str) -> Any:
    """A copy of the error whose message ends with ``details``; the error itself when its type takes no message."""
    try:
        described = type(error)(f"{error}\n{details}")
        described.__cause__ = error.__cause__
    except Exception:
        described = None
    if described is None or type(described) is not type(error):
        if hasattr(error, "add_note"):
            error.add_note(details)
        return error
    return described
