"""Ops that return their input unchanged and only affect its gradient.

``ViewOp`` is the identity; its subclasses stop, clip or scale the gradients that pass through them. Their outputs are
views of their inputs. The optimizer removes them after gradients have been taken.
"""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.op import IdentityOp
from phintys.graph.valueless_types import disconnected_type, grad_undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable, _TensorLike


class ViewOp(IdentityOp):
    """The identity, as a view of its input.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.compile.view_op(x).type
    TensorType(float64, vector)
    """

    view_map = {0: [0]}


class ZeroGrad(ViewOp):
    """The identity, with a gradient of zero.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.zero_grad_(x), x).eval({x: 3.0})
    array(3.)
    """

    __props__ = ()

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return [gradient.zeros_like() for gradient in output_grads]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Variable | None]:
        return [None if point is None else point.zeros_like() for point in eval_points]


class ConsiderConstant(ZeroGrad):
    """`ZeroGrad` under its old name.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.consider_constant_(x), x).eval({x: 3.0})
    array(3.)
    """

    __props__ = ()


class DisconnectedGrad(ViewOp):
    """The identity, which disconnects the cost from the input.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.disconnected_grad_(x), x).eval({x: 3.0})
    array(3.)
    """

    __props__ = ()

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return [disconnected_type() for _ in output_grads]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Variable | None]:
        return [None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False]]


class UndefinedGrad(ViewOp):
    """The identity, with a gradient that is undefined.

    Examples
    --------
    >>> x, y = T.dscalars("xy")
    >>> phintys.grad(y * phintys.gradient.undefined_grad_(x), y).eval({x: 3.0, y: 2.0})
    array(3.)
    """

    __props__ = ()

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return [grad_undefined(self, position, variable) for position, variable in enumerate(inputs)]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Variable | None]:
        return [None if point is None else grad_undefined(self, position, inputs[position])
                for position, point in enumerate(eval_points)]


class GradClip(ViewOp):
    """The identity, with a gradient clipped to ``[clip_lower_bound, clip_upper_bound]``.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(phintys.gradient.GradClip(-1, 1)(x) ** 2, x).eval({x: 3.0})
    array(1.)
    """

    __props__ = ("clip_lower_bound", "clip_upper_bound")

    def __init__(self, clip_lower_bound: float, clip_upper_bound: float) -> None:
        if not clip_upper_bound >= clip_lower_bound:
            raise ValueError(f"grad_clip: the upper bound {clip_upper_bound} is below the lower bound "
                             f"{clip_lower_bound}")
        self.clip_lower_bound = clip_lower_bound
        self.clip_upper_bound = clip_upper_bound

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return [gradient.clip(self.clip_lower_bound, self.clip_upper_bound) for gradient in output_grads]


class GradScale(ViewOp):
    """The identity, with a gradient times ``multiplier``.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(phintys.gradient.GradScale(0.5)(x) ** 2, x).eval({x: 3.0})
    array(3.)
    """

    __props__ = None

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> list[Variable]:
        return [self.multiplier * gradient for gradient in output_grads]


zero_grad_ = ZeroGrad()
consider_constant_ = ConsiderConstant()
disconnected_grad_ = DisconnectedGrad()
undefined_grad_ = UndefinedGrad()


def zero_grad(x: _TensorLike) -> TensorVariable:
    """Return ``x``; the gradient that passes back through it is zero.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the same type and value.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.zero_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return zero_grad_(x)


def consider_constant(x: _TensorLike) -> TensorVariable:
    """The old name of ``zero_grad``.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.zero_grad(x), x).eval({x: 3.0})       # the same, without the warning
    array(3.)
    """
    warnings.warn("consider_constant() is deprecated, use zero_grad() or disconnected_grad() instead.", stacklevel=2)
    return consider_constant_(x)


def disconnected_grad(x: _TensorLike) -> TensorVariable:
    """Return ``x``; no gradient passes back through it, and the cost counts as independent of it.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the same type and value.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(x * phintys.gradient.disconnected_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return disconnected_grad_(x)


def undefined_grad(x: _TensorLike) -> TensorVariable:
    """Return ``x``; taking a gradient through it is an error.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the same type and value.

    Examples
    --------
    >>> x, y = T.dscalars("xy")
    >>> cost = y * phintys.gradient.undefined_grad(x)
    >>> phintys.grad(cost, y).eval({x: 3.0, y: 2.0})
    array(3.)
    """
    return undefined_grad_(x)


def grad_clip(x: _TensorLike, lower_bound: float, upper_bound: float) -> TensorVariable:
    """Return ``x``; a gradient that passes back through it is clipped elementwise.

    Parameters
    ----------
    x : Variable
    lower_bound, upper_bound : float

    Returns
    -------
    Variable
        Of the same type and value.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(phintys.gradient.grad_clip(x, -1, 1) ** 2, x).eval({x: 3.0})
    array(1.)
    """
    return GradClip(lower_bound, upper_bound)(x)


def grad_scale(x: _TensorLike, multiplier: float) -> TensorVariable:
    """Return ``x``; a gradient that passes back through it is multiplied by ``multiplier``.

    Parameters
    ----------
    x : Variable
    multiplier : float or Variable

    Returns
    -------
    Variable
        Of the same type and value.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.grad(phintys.gradient.grad_scale(x, 0.5) ** 2, x).eval({x: 3.0})
    array(3.)
    """
    return GradScale(multiplier)(x)


view_op = ViewOp()
hooks.view_op = view_op
