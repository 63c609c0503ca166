"""Theano's ``scan_utils``: functions for programs that look into graphs and loops."""
from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import public_names as _public_names
from phintys.graph.debug_values import get_test_value
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace as clone
from phintys.graph.traversal import equal_computations, graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.allocation import AllocEmpty
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.scan_module.body_results import separated, until
from phintys.scan_module.loop_arguments import is_no_number
from phintys.scan_module.map_variables import map_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.ops.operators import TensorVariable
    from phintys.shared import SharedVariable

__all__ = ["clone", "equal_computations", "expand_empty", "forced_replace", "get_updates_and_outputs",
           "isNaN_or_Inf_or_None", "map_variables", "reconstruct_graph", "safe_new", "traverse", "until"]


def safe_new(x: Variable, tag: str = "", dtype: str | None = None) -> TensorVariable:
    """A new variable of the type of ``x``.

    Parameters
    ----------
    x : Variable or array_like
        A constant is copied with its value.
    tag : str
        Appended to the name.
    dtype : str, optional
        Instead of that of ``x``.

    Returns
    -------
    Variable

    Examples
    --------
    >>> phintys.scan_module.scan_utils.safe_new(T.dvector("x"), "_copy").name
    'x_copy'
    """
    name = x.name + tag if getattr(x, "name", None) else None
    if isinstance(x, Constant):
        copied = x.clone() if dtype is None or x.type.dtype == dtype else cast_op(dtype)(x)
        copied.name = name
        return copied
    variable = x if isinstance(x, Variable) else as_tensor_variable(x)
    if dtype is not None and variable.type.dtype != dtype:
        variable = cast_op(dtype)(variable)
    copied = variable.type.make_variable(name)
    try:
        copied.tag.test_value = get_test_value(variable)
    except (AttributeError, TypeError):             # it has none
        pass
    return copied


def get_updates_and_outputs(ls: Sequence[Variable | Mapping[SharedVariable, Variable]]) -> tuple[Any, ...]:
    """The result of a loop's function, as (condition, list of outputs, dictionary of updates).

    Raises
    ------
    ValueError
        If it is not made of these, or they are in another order.

    Examples
    --------
    >>> x, count = T.dvector("x"), phintys.shared(0)
    >>> condition, outputs, updates = phintys.scan_module.scan_utils.get_updates_and_outputs((x, {count: count + 1}))
    >>> condition, outputs, dict(updates)
    (None, [x], {<shared: int64, 0>: Elemwise{add,no_inplace}.0})
    """
    outputs, updates, condition = separated(ls)
    return condition, outputs, OrderedDict(updates)


def isNaN_or_Inf_or_None(x: float | None) -> bool:
    """Whether a value gives no number of steps: it is None, NaN, infinite or text.

    Examples
    --------
    >>> from phintys.scan_module.scan_utils import isNaN_or_Inf_or_None
    >>> isNaN_or_Inf_or_None(None), isNaN_or_Inf_or_None(numpy.nan), isNaN_or_Inf_or_None(1.0)
    (True, True, False)
    """
    if x is None or isinstance(x, str):
        return True
    return is_no_number(x) if isinstance(x, (Variable, float, int, numpy.number)) else False


def expand_empty(tensor_var: Constant, size: int) -> TensorVariable:
    """A tensor with ``size`` more rows at its end, whose values are not set.

    Parameters
    ----------
    tensor_var : TensorVariable
    size : int or integer scalar

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> phintys.scan_module.scan_utils.expand_empty(T.as_tensor([1.0, 2.0]), 3).eval().shape
    (5,)
    """
    if isinstance(size, int) and size == 0:
        return tensor_var
    lengths = [shape_i(tensor_var, axis) for axis in range(tensor_var.type.ndim)]
    room = AllocEmpty(tensor_var.type.dtype)(lengths[0] + size, *lengths[1:])
    return set_subtensor(room[:lengths[0]], tensor_var)


def forced_replace(out: Variable, x: Variable, y: Variable) -> TensorVariable | None:
    """``out`` with ``x``, and all variables that are computed in the same way as ``x``, replaced by ``y``.

    Parameters
    ----------
    out : Variable or None
    x, y : Variable

    Returns
    -------
    Variable or None

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> phintys.pp(phintys.scan_module.scan_utils.forced_replace(T.exp(x), x, y))
    'exp(y)'
    """
    if out is None:
        return None
    same = [output for node in io_toposort([], [out]) for output in node.outputs if equal_computations([output], [x])]
    return clone(out, dict.fromkeys([*same, x], y), strict=False)


def reconstruct_graph(inputs: Sequence[Variable], outputs: Sequence[Variable],
                      tag: Any = None) -> tuple[list[TensorVariable], ...]:
    """A copy of a graph with new inputs.

    Returns
    -------
    tuple of (list of Variable, list of Variable)
        The new inputs, and the outputs computed from them.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> inputs, outputs = phintys.scan_module.scan_utils.reconstruct_graph([x], [T.exp(x)])
    >>> outputs[0].owner.inputs[0] is inputs[0], inputs[0] is x
    (True, False)
    """
    fresh = [safe_new(variable, tag or "") for variable in inputs]
    replace = dict(zip(inputs, fresh))
    replace.update({leaf: leaf.clone() for leaf in graph_inputs(outputs) if isinstance(leaf, Constant)})
    return fresh, clone(list(outputs), replace)


def traverse(out: Variable, x: Variable, x_copy: Variable, d: Mapping[Any, Any],
             visited: Any = None) -> dict[TensorVariable, TensorVariable]:
    """Add to ``d`` the pair of ``x`` and its copy if ``out`` depends on ``x``.

    Returns
    -------
    dict
        ``d``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.scan_module.scan_utils.traverse(T.exp(x), x, x.clone(), {})
    {x: x}
    """
    if x in graph_inputs([out]):
        d[x] = x_copy
    return d


_public_names.adopt(globals())
