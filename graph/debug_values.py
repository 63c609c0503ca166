"""Test values: a graph is computed on examples while it is built, if ``config.compute_test_value`` says so.

An op that is called runs on the test values of its inputs and stores those of its outputs in their tags, so that an
error appears at the line that made the node. ``get_debug_values`` returns them to checks in code that builds graphs.
"""
from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.read_only import inputs_for
from phintys.graph.thunks import compute
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


def get_test_value(variable: Variable) -> numpy.ndarray:
    """Return the test value of a variable: a constant's data, a shared variable's value, else ``tag.test_value``.

    Parameters
    ----------
    variable : Variable, or number or array, which is its own test value

    Raises
    ------
    AttributeError
        If there is no test value.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> x.tag.test_value = numpy.array([1.0, 2.0])
    >>> phintys.gof.op.get_test_value(x)
    array([1., 2.])
    """
    return variable.get_test_value() if isinstance(variable, Variable) else numpy.asarray(variable)


def compute_test_values(node: Apply) -> None:
    """Run a new node on the test values of its inputs.

    Raises
    ------
    ValueError
        If an input has no test value and the option is ``raise``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> x.tag.test_value = numpy.array([1.0, 2.0])
    >>> y = 2 * x
    >>> phintys.gof.op.compute_test_values(y.owner)
    >>> y.tag.test_value
    array([2., 4.])
    """
    values = []
    for position, variable in enumerate(node.inputs):
        try:
            values.append(variable.get_test_value())
        except AttributeError:
            _react_to_missing(node, position, variable)
    if len(values) < len(node.inputs):
        return
    for positions in node.op.destroy_map.values():
        for position in positions:
            values[position] = values[position].copy()
    storage = [[None] for _ in node.outputs]
    compute(node.op, node, inputs_for(node.op, values), storage)
    for output, cell in zip(node.outputs, storage):
        output.tag.test_value = cell[0]


def _react_to_missing(node, position, variable):
    message = f"Cannot compute test value: input {position} ({variable}) of Op {node} missing default value." \
              f"{made_at(variable)}"
    action = config.compute_test_value
    if action == "raise":
        raise ValueError(message)
    if action in ("warn", "pdb"):
        level = level_of_user()
        if action == "warn":
            warnings.warn("Warning, " + message, stacklevel=level)
        else:
            from pdb import Pdb
            Pdb().set_trace(sys._getframe(level - 1))


def level_of_user() -> int:
    """Return the position of the first line outside this package and ``importlib``, as a ``stacklevel`` for the caller.

    ``warnings.warn`` does not count the frames of ``importlib._bootstrap``.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _name(frame).split(".")[0] in ("phintys", "importlib"):
        frame = frame.f_back
        level += not _name(frame).startswith("importlib._bootstrap")
    return level


def _name(frame):
    return frame.f_globals.get("__name__", "")


def get_debug_values(*variables: Any) -> list[numpy.ndarray | tuple[numpy.ndarray, ...]]:
    """Return the test values of several variables, for checks while a graph is built.

    Returns
    -------
    list
        Empty if test values are off or one is missing (which may warn or raise, as the option says); otherwise it has
        one element: a tuple of the values, or the value itself if one variable was given.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> x.tag.test_value = numpy.array([1.0, 2.0])
    >>> with phintys.change_flags(compute_test_value="raise"):
    ...     list(phintys.gof.op.get_debug_values(x))
    [array([1., 2.])]
    """
    if config.compute_test_value == "off":
        return []
    values = []
    for position, variable in enumerate(variables):
        try:
            values.append(get_test_value(variable))
        except AttributeError:
            missing_test_message(f"Argument {position} ('{variable}') has no test value{made_at(variable)}")
            return []
    return [values[0] if len(values) == 1 else tuple(values)]


def missing_test_message(message: str) -> None:
    """Report a missing test value: raise ``AttributeError``, warn or do nothing, as the option says.

    Examples
    --------
    >>> with phintys.change_flags(compute_test_value="ignore"):
    ...     phintys.gof.op.missing_test_message("x has no test value")
    """
    if config.compute_test_value == "raise":
        raise AttributeError(message)
    if config.compute_test_value == "warn":
        warnings.warn(message, stacklevel=3)


def debug_error_message(message: str) -> None:
    """Report wrong test values: warn if the option is ``warn``, else raise ``ValueError``.

    Examples
    --------
    >>> with phintys.change_flags(compute_test_value="raise"):
    ...     try:
    ...         phintys.gof.op.debug_error_message("the example fails")
    ...     except ValueError as error:
    ...         print("ValueError")
    ValueError
    """
    _complain(ValueError(message))


def debug_assert(condition: bool, message: str = "debug_assert failed") -> None:
    """Assert a condition on test values; it only warns if the option is ``warn``.

    Examples
    --------
    >>> phintys.gof.op.debug_assert(True)
    """
    if not condition:
        _complain(AssertionError(message))


def _complain(error):
    if config.compute_test_value != "warn":
        raise error
    warnings.warn(str(error), stacklevel=3)
