"""Functions of functions, as JAX has them: ``vectorize``, ``value_and_grad``, ``vjp``, ``jvp``, ``linearize``.

Each takes a Python function that makes a graph of tensor variables, and works while graphs are made.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph import public_names as _public_names
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import Lop, grad
from phintys.graph.variable import Variable
from phintys.ops.loops.vectorize import check_function, vectorize, vectorize_graph
from phintys.ops.types.constant import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["jvp", "linearize", "value_and_grad", "vectorize", "vectorize_graph", "vjp"]
_public_names.adopt(globals())


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
                   ) -> Callable[..., Any]:
    """Return a function of the value and the gradient of a function.

    Parameters
    ----------
    function : callable
        Takes tensor variables and returns a scalar; with ``has_aux`` a pair of a scalar and anything else.
    argnums : int or sequence of int
        The arguments whose gradients are wanted.
    has_aux : bool

    Returns
    -------
    callable
        Takes the same arguments and returns the value, or the pair, and the gradient, or a tuple of them.

    Raises
    ------
    TypeError
        When it is called, if the value is not a scalar.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> value, slope = phintys.value_and_grad(lambda x: (x ** 2).sum())(x)
    >>> slope.eval({x: [1.0, 2.0]})
    array([2., 4.])
    """
    check_function("value_and_grad", function)

    def with_gradient(*arguments: Any) -> Any:
        variables = [as_tensor_variable(argument) for argument in arguments]
        found = function(*variables)
        value = found[0] if has_aux else found
        if not isinstance(value, Variable) or value.type.ndim:
            raise TypeError(f"value_and_grad: the function must return a scalar, got {value}")
        if isinstance(argnums, int):
            return found, grad(value, variables[argnums])
        return found, tuple(grad(value, [variables[number] for number in argnums]))
    return with_gradient


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of a function and the product of a vector and its Jacobian, as a function of the vector.

    Parameters
    ----------
    function : callable
        Takes tensor variables, and returns a variable, or a list or tuple of them.
    *primals : tensor-like

    Returns
    -------
    (value, callable)
        The callable takes what the derivatives of the results are multiplied by, in the structure of the value, and
        returns a tuple with one product for each of ``primals``.

    Examples
    --------
    >>> x = T.as_tensor([1.0, 2.0])
    >>> value, product = phintys.vjp(lambda x: x ** 2, x)
    >>> product(T.as_tensor([1.0, 10.0]))[0].eval()
    array([ 2., 40.])
    """
    check_function("vjp", function)
    variables = [as_tensor_variable(primal) for primal in primals]
    value = function(*variables)

    def product(cotangents: Any) -> Any:
        outputs, given = [list(part) if isinstance(part, (list, tuple)) else [part] for part in (value, cotangents)]
        return tuple(Lop(list(map(as_tensor_variable, outputs)), variables, given, disconnected_inputs="ignore"))
    return value, product


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the value of a function and its derivative along a direction.

    Parameters
    ----------
    function : callable
        Takes tensor variables, and returns a variable, or a list or tuple of them.
    primals, tangents : sequence of tensor-like
        The arguments, and the direction.

    Returns
    -------
    (value, derivative)
        Both as the function returns them.

    Raises
    ------
    ValueError
        If the numbers of arguments and directions differ.

    Examples
    --------
    >>> x = T.as_tensor([1.0, 2.0])
    >>> phintys.jvp(lambda x: x ** 2, (x,), (T.as_tensor([1.0, 10.0]),))[1].eval()
    array([ 2., 40.])
    """
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} arguments, but {len(tangents)} directions")
    value, forward = linearize(function, *primals)
    return value, forward(*tangents)


def linearize(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of a function and its derivative along a direction, as a function of the direction.

    Parameters
    ----------
    function : callable
        Takes tensor variables, and returns a variable, or a list or tuple of them.
    *primals : tensor-like

    Returns
    -------
    (value, callable)

    Examples
    --------
    >>> x = T.as_tensor([1.0, 2.0])
    >>> value, forward = phintys.linearize(lambda x: x ** 2, x)
    >>> forward(T.as_tensor([1.0, 10.0])).eval()
    array([ 2., 40.])
    """
    check_function("linearize", function)
    variables = [as_tensor_variable(primal) for primal in primals]
    value = function(*variables)

    def forward(*tangents: Any) -> Any:
        if len(tangents) != len(variables):
            raise ValueError(f"linearize: {len(variables)} arguments, but {len(tangents)} directions")
        directions = [as_tensor_variable(tangent) for tangent in tangents]
        outputs = list(value) if isinstance(value, (list, tuple)) else [value]
        found = Rop(outputs, variables, directions, disconnected_outputs="ignore", return_disconnected="zero")
        return type(value)(found) if isinstance(value, (list, tuple)) else found[0]
    return value, forward
