"""Checks whether the nodes of an optimised graph still know where the user made the nodes that they replace."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from phintys.graph.op import PureOp

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function

NOT_FOUND = "Provided op instances/classes are not in the graph or the graph is empty"


def check_stack_trace(f_or_fgraph: Function, ops_to_check: str = "last", bug_print: str = "raise") -> bool:
    """Return whether errors in certain nodes could say where the user made them.

    Parameters
    ----------
    f_or_fgraph : Function or FunctionGraph
    ops_to_check : {"last", "all"}, op, class of ops, sequence of those, or callable
        The nodes that compute outputs; all; those with these ops; those for which the callable is true.
    bug_print : {"raise", "warn", "ignore"}
        What to do when there is no such node.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For an argument of another kind.
    Exception
        If there is no such node and ``bug_print`` says so.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.opt.check_stack_trace(phintys.function([x], T.exp(x)))
    True
    """
    fgraph = f_or_fgraph.maker.fgraph if hasattr(f_or_fgraph, "maker") else f_or_fgraph
    if not hasattr(fgraph, "apply_nodes"):
        raise ValueError(f"The type of f_or_fgraph is not supported: {f_or_fgraph!r}")
    nodes = _nodes_to_check(fgraph, ops_to_check)
    if not nodes:
        if bug_print == "raise":
            raise Exception(NOT_FOUND)
        if bug_print == "warn":
            warnings.warn(NOT_FOUND, stacklevel=2)
        elif bug_print != "ignore":
            raise ValueError(f"bug_print must be 'raise', 'warn' or 'ignore', not {bug_print!r}")
    return all([node._position is not None for node in nodes])


def _nodes_to_check(fgraph, ops_to_check):
    if ops_to_check == "last":
        return [variable.owner for variable in fgraph.outputs if variable.owner is not None]
    if ops_to_check == "all":
        return list(fgraph.apply_nodes)
    if isinstance(ops_to_check, (PureOp, type)):
        ops_to_check = [ops_to_check]
    if isinstance(ops_to_check, (tuple, list)):
        ops = [op for op in ops_to_check if isinstance(op, PureOp)]
        classes = tuple([kind for kind in ops_to_check if isinstance(kind, type)])
        return [node for node in fgraph.apply_nodes if node.op in ops or isinstance(node.op, classes)
                or isinstance(getattr(node.op, "scalar_op", None), classes)]
    if callable(ops_to_check):
        return [node for node in fgraph.apply_nodes if ops_to_check(node)]
    raise ValueError(f"ops_to_check does not have the right type: {ops_to_check!r}")
