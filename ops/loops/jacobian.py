"""Derivative matrices: ``jacobian``, ``hessian``, and the product of a Hessian and a vector.

In reverse mode a Jacobian consists of the gradients of weighted sums of the expression's elements, where the weights
are the rows of the identity matrix; in forward mode, of the derivatives along the rows of the identity matrix.
``map_rows`` computes them for all rows at once by matrix operations, or row by row.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy

from phintys.graph.debug_values import get_debug_values
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import format_as, grad
from phintys.graph.gradients.view_op import disconnected_grad
from phintys.graph.variable import Variable
from phintys.ops.creation.allocation import eye
from phintys.ops.graphs.inner_graph import gradient_type
from phintys.ops.rearranging.rearranging import moveaxis
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import patternbroadcast, shape, shape_i

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.ops.operators import TensorVariable

    Reaction = Literal["ignore", "warn", "raise"]
    Direction = Literal["reverse", "forward"]


@overload
def jacobian(expression: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = None,
             disconnected_inputs: Reaction = "raise", mode: Direction = "reverse") -> TensorVariable: ...
@overload
def jacobian(expression: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
             disconnected_inputs: Reaction = "raise", mode: Direction = "reverse") -> list[TensorVariable]: ...


def jacobian(expression: Variable, wrt: Variable | Sequence[Variable],
             consider_constant: Iterable[Variable] | None = None, disconnected_inputs: Reaction = "raise",
             mode: Direction = "reverse") -> Any:
    """The derivatives of all elements of a tensor.

    Parameters
    ----------
    expression : TensorVariable
        Of any rank; for a scalar, the result is its gradient.
    wrt : Variable, or list or tuple of Variable
    consider_constant : list of Variable, optional
        Variables through which no gradient is propagated.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        How to treat elements of ``wrt`` on which the expression does not depend; their Jacobian is 0.
    mode : {'reverse', 'forward'}
        Whether to compute a gradient for each element of the expression, or a derivative along each element of
        ``wrt``; the latter is faster if ``wrt`` has fewer elements.

    Returns
    -------
    TensorVariable, or list or tuple of TensorVariable, as ``wrt``
        The dimensions of the expression, then those of the element of ``wrt``: entry i is the gradient of
        ``expression[i]``.

    Raises
    ------
    TypeError
        If the expression is not a variable.
    ValueError
        For another mode, or ``consider_constant`` in forward mode.
    DisconnectedInputError
        See ``disconnected_inputs``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.jacobian(x ** 2, x).eval({x: [1, 2]})
    array([[2., 0.],
           [0., 4.]])
    """
    if not isinstance(expression, Variable):
        raise TypeError(f"tensor.jacobian expects a Variable as `expression`, got {expression!r}")
    _check_mode("jacobian", mode, consider_constant)
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    options = dict(consider_constant=consider_constant, disconnected_inputs=disconnected_inputs)
    if mode == "forward":
        results = [_columns(expression, variable, disconnected_inputs) for variable in wanted]
    elif expression.type.ndim == 0:
        results = grad(expression, wanted, **options)
    elif expression.type.ndim == 1:
        results = _rows_of_gradients(expression, wanted, options)
    else:
        rows = _rows_of_gradients(flatten(expression), wanted, options)
        results = [_split(row, 0, expression) for row in rows]
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), results)


def _check_mode(name, mode, consider_constant):
    if mode not in ("reverse", "forward"):
        raise ValueError(f"tensor.{name}: mode must be 'reverse' or 'forward', got {mode!r}")
    if mode == "forward" and consider_constant:
        raise ValueError(f"tensor.{name}: consider_constant is not supported in forward mode; use disconnected_grad")


def _split(x, axis, like):
    """``x`` with one dimension split into those of ``like``."""
    lengths = [shape_i(x, number) for number in range(x.type.ndim)]
    lengths[axis:axis + 1] = [shape_i(like, number) for number in range(like.type.ndim)]
    flags = list(x.type.broadcastable)
    flags[axis:axis + 1] = like.type.broadcastable
    return patternbroadcast(reshape(x, lengths, ndim=len(lengths)), flags)


def _columns(expression, variable, disconnected_inputs):
    """The Jacobian by one variable in forward mode."""
    from phintys.ops.loops.building import dependents  # seldom needed: it imports all about loops
    if expression not in dependents([variable], [expression]):
        return jacobian(expression, variable, disconnected_inputs=disconnected_inputs)          # zeros, or an error
    direction = variable.type.make_variable()
    for value in get_debug_values(variable):
        direction.tag.test_value = numpy.zeros_like(value)
    derivative = Rop(expression, variable, direction, disconnected_inputs)
    count = shape(variable).prod() if variable.type.ndim else 1
    identity = _split(eye(count, dtype=direction.type.dtype), 1, variable)
    from phintys.ops.loops.row_map import map_rows
    columns, = map_rows([derivative], [(direction, identity)], name="jacobian")
    return _split(moveaxis(columns, 0, -1), expression.type.ndim, variable)


def _rows_of_gradients(expression, wanted, options):
    """The gradients of each element of a vector, stacked."""
    weights = gradient_type(expression.type).make_variable()
    for value in get_debug_values(expression):
        weights.tag.test_value = numpy.zeros(value.shape, weights.type.dtype)
    gradients = grad(None, wanted, known_grads={expression: weights}, **options)
    identity = patternbroadcast(eye(shape_i(expression, 0), dtype=weights.type.dtype),
                                expression.type.broadcastable * 2)
    from phintys.ops.loops.row_map import map_rows
    return map_rows(gradients, [(weights, identity)], name="jacobian")


@overload
def hessian(cost: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = None,
            disconnected_inputs: Reaction = "raise", mode: Direction = "reverse",
            mixed: bool = False) -> TensorVariable: ...
@overload
def hessian(cost: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
            disconnected_inputs: Reaction = "raise", mode: Direction = "reverse",
            mixed: bool = False) -> list[TensorVariable]: ...


def hessian(cost: Variable, wrt: Variable | Sequence[Variable],
            consider_constant: Iterable[Variable] | None = None, disconnected_inputs: Reaction = "raise",
            mode: Direction = "reverse", mixed: bool = False) -> Any:
    """The second derivatives of a scalar with respect to each variable, or to each pair of them.

    Parameters
    ----------
    cost : TensorVariable
        A scalar.
    wrt : Variable, or list or tuple of Variable
        Of any rank.
    consider_constant, disconnected_inputs
        See ``jacobian``.
    mode : {'reverse', 'forward'}
        How the gradient is differentiated; see ``jacobian``.
    mixed : bool
        Whether to return the derivatives by each pair of ``wrt`` instead of those by each element alone.

    Returns
    -------
    TensorVariable, or list or tuple of TensorVariable, as ``wrt``
        Each has the dimensions of its variable twice. With ``mixed``, a list or tuple of such lists or tuples: entry
        i, j has the dimensions of ``wrt[i]``, then those of ``wrt[j]``.

    Raises
    ------
    TypeError
        If the cost is not a scalar, or an element of ``wrt`` is not a variable.
    ValueError
        See ``jacobian``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.hessian((x ** 3).sum(), x).eval({x: [1, 2]})
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    if not isinstance(cost, Variable):
        raise TypeError(f"tensor.hessian expects a Variable as `cost`, got {cost!r}")
    if cost.type.ndim != 0:
        raise TypeError(f"tensor.hessian expects a 0 dimensional variable as `cost`, {cost} has {cost.type.ndim}")
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    for variable in wanted:
        if not isinstance(variable, Variable):
            raise TypeError(f"tensor.hessian expects a (list of) Variable as `wrt`, got {variable!r}")
    gradients = grad(cost, wanted, consider_constant=consider_constant, disconnected_inputs=disconnected_inputs)
    results = []
    for gradient, variable in zip(gradients, wanted):
        # A gradient that does not depend on the variable is not an error: the cost is linear in the variable.
        rows = jacobian(gradient, wanted if mixed else [variable], consider_constant, "ignore", mode)
        results += [format_as(isinstance(wrt, list), isinstance(wrt, tuple), rows)] if mixed else rows
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), results)


@overload
def hessian_vector_product(cost: Variable, wrt: Variable, p: Variable, **grad_options: Any) -> TensorVariable: ...
@overload
def hessian_vector_product(cost: Variable, wrt: Sequence[Variable], p: Sequence[Variable],
                           **grad_options: Any) -> list[TensorVariable]: ...


def hessian_vector_product(cost: Variable, wrt: Variable | Sequence[Variable], p: Variable | Sequence[Variable],
                           **grad_options: Any) -> Any:
    """The Hessian of a scalar times a vector, at the cost of two gradients.

    Parameters
    ----------
    cost : TensorVariable
        A scalar.
    wrt : Variable, or list or tuple of Variable
        Of any rank.
    p : Variable, or list or tuple of Variable
        The vector: one variable for each element of ``wrt``, of the same shape.
    **grad_options
        Options of ``grad``.

    Returns
    -------
    Variable, or list or tuple of Variable, as ``wrt``

    Raises
    ------
    ValueError
        If ``p`` and ``wrt`` have different numbers of elements.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> product, = T.hessian_vector_product((x ** 3).sum(), [x], [T.as_tensor([1.0, 10.0])])
    >>> product.eval({x: [1.0, 2.0]})
    array([  6., 120.])
    """
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    vector = list(p) if isinstance(p, (list, tuple)) else [p]
    if len(wanted) != len(vector):
        raise ValueError(f"hessian_vector_product: {len(wanted)} variables in wrt but {len(vector)} in p")
    gradients = grad(cost, wanted, **grad_options)
    products = [(gradient * disconnected_grad(part)).sum() for gradient, part in zip(gradients, vector)]
    total = products[0]
    for product in products[1:]:
        total = total + product
    results = grad(total, wanted, **grad_options)
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), results)
