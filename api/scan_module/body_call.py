"""Calls the function that describes a step; errors about its arguments or results name its line."""
from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import with_details
from phintys.scan_module.body_results import separated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable


def called(fn: Any, rows: Sequence[Variable], states: Sequence[Variable],
           others: Sequence[Variable]) -> tuple[Any, ...]:
    """The outputs, updates and condition of a step.

    Parameters
    ----------
    fn : callable
    rows, states, others : list of Variable
        Its arguments: rows of sequences, rows of earlier steps, and values that are the same in each step.

    Raises
    ------
    TypeError
        If the function takes another number of arguments.
    ValueError
        If it returns something that a step cannot compute.
    """
    _check_arguments(fn, rows, states, others)
    return result_of(fn, [*rows, *states, *others])


def result_of(fn: Any, arguments: Sequence[Variable]) -> tuple[Any, ...]:
    """What a function that can be called with these arguments returns, as `called` returns it."""
    returned = fn(*arguments)
    try:
        return separated(returned)
    except ValueError as error:
        raise with_details(error, f"Returned by {described(fn)}.") from None


def described(fn: Callable[..., Any]) -> Any:
    """A function by its name and line."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    name = getattr(fn, "__name__", type(fn).__name__)
    return f"the function {name}" + (f", File \"{code.co_filename}\", line {code.co_firstlineno}" if code else "")


def _check_arguments(fn, rows, states, others):
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):                 # a function written in C
        return
    try:
        signature.bind(*rows, *states, *others)
    except TypeError as error:
        raise TypeError(f"{described(fn)} cannot be called with the arguments of scan: {error}. It gets {len(rows)} "
                        f"rows of sequences {_names(rows)}, {len(states)} rows of earlier steps {_names(states)} and "
                        f"{len(others)} non_sequences {_names(others)}. An output that is fed back needs an initial "
                        "state in outputs_info.") from None


def _names(variables):
    return f"({', '.join([variable.name or str(variable.type) for variable in variables])})"
