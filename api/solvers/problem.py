"""What the solvers take: the graph of a Python function of some unknowns, and the outer variables that it reads."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from phintys import tensor as T
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace, graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.ops.identity.assertion import Assert
from phintys.ops.loops.building import dependents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Problem(NamedTuple):
    """Inner variables, outer ones in the same order, and what the function computes from the inner ones.

    Attributes
    ----------
    unknowns : list of Variable
    parameters : list of Variable
        Inside; the function reads them besides the unknowns.
    outer : list of Variable
        The values of the parameters.
    value : Variable
    """

    unknowns: list
    parameters: list
    outer: list
    value: Variable


def problem_of(name: str, function: Callable[..., Any], unknowns: Sequence[Variable], args: Sequence[Any]) -> Problem:
    """The problem of a function that takes the unknowns, then ``args``; it may also read other variables.

    Raises
    ------
    TypeError
        If it does not return what can be a tensor of real numbers.
    """
    value = T.as_tensor_variable(function(*unknowns, *args))
    if value.type.dtype in T.complex_dtypes:
        raise TypeError(f"{name}: the function must return real numbers, got {value} of type {value.type}")
    value = T.cast(value, "float64")
    outer = [leaf for leaf in leaves_of(value) if leaf not in unknowns]
    inner = [leaf.type() for leaf in outer]
    return Problem(list(unknowns), inner, outer, clone_replace(value, dict(zip(outer, inner))))


def with_numbers(problem: Problem) -> Problem:
    """The problem with numbers that do not depend on the unknowns, such as one of a vector, as parameters: each is
    computed once, and what reads single numbers only can be computed in registers.
    """
    depending = dependents(problem.unknowns, [problem.value])
    numbers = {variable: variable.type() for node in io_toposort(problem.unknowns + problem.parameters, [problem.value])
               if not depending.isdisjoint(node.outputs) for variable in node.inputs
               if variable not in depending and not isinstance(variable, Constant) and variable.type.ndim == 0}
    value = clone_replace(problem.value, numbers)
    outer = dict(zip(problem.parameters, problem.outer))
    left = [leaf for leaf in graph_inputs([value]) if leaf in outer]
    return Problem(problem.unknowns, [*left, *numbers.values()],
                   [*[outer[leaf] for leaf in left], *clone_replace([*numbers], outer)], value)


def start_of(name: str, x: Any) -> Variable:
    """A start as a variable of float64, with which all methods compute.

    Raises
    ------
    TypeError
        For complex numbers.
    """
    x = T.as_tensor_variable(x)
    if x.type.dtype in T.complex_dtypes:
        raise TypeError(f"{name}: complex numbers are not supported, got {x} of type {x.type}")
    # What is a solution of the first step need not have the lengths of 1 that the start's type knows.
    return T.unbroadcast(T.cast(x, "float64"), *range(x.type.ndim))


def bounds_of(bounds: Any, start: Variable) -> list[Variable]:
    """The least and the largest values of unknowns, in the shape of the start.

    Raises
    ------
    ValueError
        For what is neither pairs nor an object with ``lb`` and ``ub``, and for bounds that cross.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        limits = bounds.lb, bounds.ub
    else:
        try:
            lows, highs = zip(*[(low, high) for low, high in bounds])
        except (TypeError, ValueError) as error:
            raise ValueError(f"minimize: bounds must be pairs of a least and largest value, got {bounds!r}") from error
        limits = [[none if value is None else value for value in values]
                  for values, none in ((lows, -numpy.inf), (highs, numpy.inf))]
    low, high = [T.cast(T.as_tensor_variable(limit), "float64") for limit in limits]
    if max(low.type.ndim, high.type.ndim) > start.type.ndim:
        raise ValueError(f"minimize: bounds of {max(low.type.ndim, high.type.ndim)} dimensions for {start.type.ndim} "
                         "of x0")
    known = [limit.eval() for limit in (low, high) if not leaves_of(limit)]
    message = "minimize: an upper bound is less than the lower one"
    if len(known) == 2 and not numpy.all(known[0] <= known[1]):
        raise ValueError(message)
    if len(known) < 2:
        low = Assert(message)(low, T.all(T.le(low, high)))
    return [T.unbroadcast(T.zeros_like(start) + limit, *range(start.type.ndim)) for limit in (low, high)]


def leaves_of(value: Variable) -> list[Variable]:
    """The variables without owners that a value is computed from."""
    return [leaf for leaf in graph_inputs([value]) if not isinstance(leaf, Constant)]


def replaced(outputs: Any, old: Sequence[Variable], new: Sequence[Variable]) -> Any:
    """The outputs with other variables for some of an inner graph."""
    return clone_replace(outputs, dict(zip(old, new)))
