"""Derivative matrices: ``jacobian``, ``hessian``, and the product of a Hessian and a vector.

A Jacobian consists of the gradients of weighted sums of the expression's elements, where the weights are the rows of
the identity matrix. ``map_rows`` computes them for all rows at once by matrix operations, or row by row.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy

from phintys.graph.debug_values import get_debug_values
from phintys.graph.gradients.gradient import format_as, grad
from phintys.graph.gradients.view_op import disconnected_grad
from phintys.graph.variable import Variable
from phintys.ops.creation.allocation import eye
from phintys.ops.graphs.inner_graph import gradient_type
from phintys.ops.loops.row_map import map_rows
from phintys.ops.shape.shape import patternbroadcast, shape_i

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.ops.operators import TensorVariable

    Reaction = Literal["ignore", "warn", "raise"]


@overload
def jacobian(expression: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = None,
             disconnected_inputs: Reaction = "raise") -> TensorVariable: ...
@overload
def jacobian(expression: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
             disconnected_inputs: Reaction = "raise") -> list[TensorVariable]: ...


def jacobian(expression: Variable, wrt: Variable | Sequence[Variable],
             consider_constant: Iterable[Variable] | None = None, disconnected_inputs: Reaction = "raise") -> Any:
    """The derivatives of all elements of a vector.

    Parameters
    ----------
    expression : TensorVariable
        A vector; for a scalar, the result is its gradient.
    wrt : Variable, or list or tuple of Variable
    consider_constant : list of Variable, optional
        Variables through which no gradient is propagated.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        How to treat elements of ``wrt`` on which the expression does not depend; their Jacobian is 0.

    Returns
    -------
    TensorVariable, or list or tuple of TensorVariable, as ``wrt``
        Each has one dimension more than the element of ``wrt``: entry i is the gradient of ``expression[i]``.

    Raises
    ------
    TypeError
        If the expression is not a variable or has more than one dimension.
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
    if expression.type.ndim > 1:
        raise TypeError("tensor.jacobian expects a 1 dimensional variable as `expression`. If not use flatten to "
                             f"make it a vector; {expression} has {expression.type.ndim} dimensions")
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    options = dict(consider_constant=consider_constant, disconnected_inputs=disconnected_inputs)
    if expression.type.ndim == 0:
        results = grad(expression, wanted, **options)
    else:
        results = _rows_of_gradients(expression, wanted, options)
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), results)


def _rows_of_gradients(expression, wanted, options):
    """The gradients of each element of a vector, stacked."""
    weights = gradient_type(expression.type).make_variable()
    for value in get_debug_values(expression):
        weights.tag.test_value = numpy.zeros(value.shape, weights.type.dtype)
    gradients = grad(None, wanted, known_grads={expression: weights}, **options)
    identity = patternbroadcast(eye(shape_i(expression, 0), dtype=weights.type.dtype),
                                expression.type.broadcastable * 2)
    return map_rows(gradients, [(weights, identity)], name="jacobian")


@overload
def hessian(cost: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = None,
            disconnected_inputs: Reaction = "raise") -> TensorVariable: ...
@overload
def hessian(cost: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
            disconnected_inputs: Reaction = "raise") -> list[TensorVariable]: ...


def hessian(cost: Variable, wrt: Variable | Sequence[Variable],
            consider_constant: Iterable[Variable] | None = None, disconnected_inputs: Reaction = "raise") -> Any:
    """The second derivatives of a scalar with respect to each vector separately.

    Parameters
    ----------
    cost : TensorVariable
        A scalar.
    wrt : vector, or list or tuple of vectors
    consider_constant, disconnected_inputs
        See ``jacobian``.

    Returns
    -------
    TensorVariable, or list or tuple of TensorVariable, as ``wrt``
        Matrices.

    Raises
    ------
    TypeError
        If the cost is not a scalar, or an element of ``wrt`` is not a vector.

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
        if variable.type.ndim != 1:
            raise TypeError("tensor.hessian expects a (list of) 1 dimensional variable as `wrt`, "
                                 f"{variable} has {variable.type.ndim}")
    results = []
    for variable in wanted:
        gradient = grad(cost, variable, consider_constant=consider_constant, disconnected_inputs=disconnected_inputs)
        # A gradient that does not depend on the variable is not an error: the cost is linear in the variable.
        options = dict(consider_constant=consider_constant, disconnected_inputs="ignore")
        results += _rows_of_gradients(gradient, [variable], options)
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
