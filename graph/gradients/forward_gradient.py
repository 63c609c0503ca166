"""Derivatives by forward accumulation: ``Rop``, the Jacobian times a vector.

The nodes that depend on ``wrt`` are visited once each, inputs first; every op's ``R_op`` turns the directional
derivatives of its inputs into those of its outputs. It gets None for an input that does not depend on ``wrt``: a
constant, another leaf, a value computed from those alone, or one that depends on ``wrt`` only through step functions.
An undefined derivative is an error.
"""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

from phintys.graph.errors import DisconnectedInputError, NullTypeGradError, made_at
from phintys.graph.gradients.gradient import format_as
from phintys.graph.gradients.gradient_paths import stable_toposort
from phintys.graph.op import positions_in
from phintys.graph.valueless_types import NullType, disconnected_type
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN_OPS = __name__.partition(".")[0] + "."


def Rop(f: Variable | Sequence[Variable], wrt: Variable | Sequence[Variable],
        eval_points: Variable | Sequence[Variable], disconnected_outputs: Literal["ignore", "warn", "raise"] = "raise",
        return_disconnected: str = "zero") -> Any:
    """Return the Jacobian of ``f`` with respect to ``wrt``, multiplied from the right by ``eval_points``.

    Parameters
    ----------
    f : Variable, or list or tuple of Variable
    wrt : Variable or list of Variable
    eval_points : Variable or list of Variable
        One for each element of ``wrt``, of the same rank.
    disconnected_outputs : {'raise', 'warn', 'ignore'}
        What to do about elements of ``f`` that do not depend on ``wrt`` through differentiable ops.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        The result for such elements.

    Returns
    -------
    Variable, or list or tuple of Variable, as ``f``

    Raises
    ------
    ValueError
        If the ranks of ``wrt`` and ``eval_points`` differ.
    DisconnectedInputError
        See ``disconnected_outputs``.
    NullTypeGradError
        If an undefined or unimplemented derivative is needed, as in ``grad``.

    Examples
    --------
    >>> x, v = T.dvectors("x", "v")
    >>> T.Rop(x ** 2, x, v).eval({x: [1, 2], v: [1, 0]})
    array([2., 0.])
    """
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    points = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    outputs = list(f) if isinstance(f, (list, tuple)) else [f]
    for what, variables in (("f", outputs), ("wrt", wanted)):
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(f"Rop: {what} must be a variable or a list of these, got {variable!r}")
    if len(wanted) != len(points):
        raise AssertionError(f"Rop: {len(wanted)} variables in wrt but {len(points)} eval_points")
    derivatives = {variable: _checked_point(position, variable, point)
                   for position, (variable, point) in enumerate(zip(wanted, points))}
    for node in stable_toposort(wanted, outputs, {*wanted, *outputs}):
        if not any([variable in derivatives for variable in node.inputs]):
            continue
        found = [None] * len(node.outputs)
        positions = positions_in(node.op.depends_on, len(node.inputs))
        if any([derivatives.get(node.inputs[position]) is not None for position in positions]):
            found = node.op.R_op(node.inputs, _arguments(node, derivatives))
        for output, derivative in zip(node.outputs, found):
            derivatives.setdefault(output, derivative)      # an undefined one raises where it is used
    results = [_presented(output, _defined(_result(output, derivatives)), disconnected_outputs, return_disconnected)
               for output in outputs]
    return format_as(isinstance(f, list), isinstance(f, tuple), results)


def _checked_point(position, variable, point):
    if not isinstance(point, Variable):
        point = variable.type.filter_variable(point)
    wanted, given = getattr(variable.type, "ndim", None), getattr(point.type, "ndim", None)
    if wanted != given:
        raise ValueError(f"Element {position} of wrt/eval_point have mismatched dimensionality: "
                         f"{wanted} versus {given}")
    return point


def _arguments(node, derivatives):
    """Return the derivatives of a node's inputs, of the inputs' types; None for inputs that do not depend on ``wrt``.

    An ``R_op`` of a user may have been written for Theano, where such inputs have zeros as derivatives.
    """
    fill = not str(getattr(type(node.op).R_op, "__module__", "")).startswith(OWN_OPS)
    return [_typed(variable, _zeros(variable) if fill and variable not in derivatives else derivatives.get(variable))
            for variable in node.inputs]


def _zeros(variable):
    """Return zeros like a variable; None if its values have none."""
    zeros_like = getattr(variable, "zeros_like", None)
    return None if zeros_like is None else zeros_like()


def _typed(variable, derivative):
    if _defined(derivative) is None:
        return None
    if getattr(variable.type, "dtype", None) != getattr(derivative.type, "dtype", None):
        derivative = derivative.astype(variable.type.dtype)
    return variable.type.filter_variable(derivative)


def _defined(derivative):
    if derivative is not None and isinstance(derivative.type, NullType):
        raise NullTypeGradError(f"Rop needs a derivative that has no value. {derivative.type.why_null}")
    return derivative


def _result(output, derivatives):
    """Return the derivative of an element of ``f``; zeros if it is computed, but not from ``wrt``, as in Theano."""
    if output not in derivatives and output.owner is not None:
        return _zeros(output)
    return derivatives.get(output)


def _presented(output, derivative, disconnected_outputs, return_disconnected):
    if derivative is not None:
        return derivative
    message = (f"Rop method was asked to compute the gradient with respect to a variable that is not part of the "
               f"computational graph of variables in wrt, or is used only by a non-differentiable operator: {output}"
               f"{made_at(output)}")
    if disconnected_outputs == "raise":
        raise DisconnectedInputError(message)
    if disconnected_outputs == "warn":
        warnings.warn(message, stacklevel=3)
    elif disconnected_outputs != "ignore":
        raise ValueError("Invalid value for keyword 'disconnected_outputs', valid values are 'ignore', 'warn' and "
                         "'raise'.")
    answers = {"zero": lambda: output.zeros_like(), "none": lambda: None, "disconnected": disconnected_type}
    if return_disconnected.lower() not in answers:
        raise ValueError("Invalid value for keyword 'return_disconnected', valid values are 'zero', 'None' and "
                         "'Disconnected'.")
    return answers[return_disconnected.lower()]()
