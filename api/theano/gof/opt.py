"""Theano's ``gof.opt``: hand-written optimizers, and functions that inspect optimised graphs; see the modules named
here."""
from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.debugging.stack_trace import check_stack_trace
from phintys.gof.equilibrium import EquilibriumOptimizer
from phintys.gof.local_optimizers import (
    FromFunctionLocalOptimizer,
    LocalOptGroup,
    LocalOptimizer,
    OpRemove,
    OpSub,
    local_optimizer,
)
from phintys.gof.navigators import NavigatorOptimizer, OpKeyOptimizer, TopoOptimizer, Updater, in2out, out2in
from phintys.gof.pattern_sub import PatternSub
from phintys.gof.whole_optimizers import (
    FromFunctionOptimizer,
    MergeOptimizer,
    Optimizer,
    SeqOptimizer,
    inplace_optimizer,
    optimizer,
)
from phintys.graph.apply import Apply
from phintys.graph.op import PureOp
from phintys.graph.traversal import is_same_graph as is_same_graph_with_merge

if TYPE_CHECKING:
    from phintys.graph.variable import Variable

__all__ = ["EquilibriumOptimizer", "FromFunctionLocalOptimizer", "FromFunctionOptimizer", "LocalOptGroup",
           "LocalOptimizer", "MergeOptimizer", "NavigatorOptimizer", "OpKeyOptimizer", "OpRemove", "OpSub", "Optimizer",
           "PatternSub", "SeqOptimizer", "TopoOptimizer", "Updater", "check_chain", "check_stack_trace",
           "copy_stack_trace", "in2out", "inherit_stack_trace", "inplace_optimizer", "is_same_graph_with_merge",
           "local_optimizer", "optimizer", "out2in"]


def check_chain(r: Any, *chain: Any) -> Any:
    """Whether a variable is computed by a chain of ops through their first inputs.

    Parameters
    ----------
    r : Variable or Apply
    *chain : Op, class of ops, or None
        Starting at the variable; None means a leaf.

    Returns
    -------
    bool

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.opt.check_chain(T.exp(T.sin(x)), T.exp, T.sin)
    True
    """
    variable = r.outputs[0] if isinstance(r, Apply) else r
    for position, wanted in enumerate(chain):
        if position:
            variable = variable.owner.inputs[0] if variable.owner is not None else None
        node = None if variable is None else variable.owner
        if wanted is None:
            if variable is None or node is not None:
                return False
        elif node is None or not _is_op(node.op, wanted):
            return False
    return variable is not None


def _is_op(op: Any, wanted: Any) -> Any:
    return isinstance(op, wanted) if isinstance(wanted, type) and issubclass(wanted, PureOp) else op == wanted


def copy_stack_trace(from_var: Any, to_var: Any) -> Any:
    """Copy, from variables to their replacements, the record of where the user made them.

    Parameters
    ----------
    from_var, to_var : Variable or list of Variable

    Returns
    -------
    Variable or list of Variable
        ``to_var``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> old, new = T.sin(x), T.cos(x)
    >>> T.opt.copy_stack_trace(old, new) is new
    True
    """
    sources = from_var if isinstance(from_var, list) else [from_var]
    origin = next((thing._position for thing in map(_made, sources) if thing._position is not None), None)
    for variable in to_var if isinstance(to_var, list) else [to_var]:
        if _made(variable)._position is None:
            _made(variable)._position = origin
    return to_var


def _made(variable: Variable) -> Any:
    """The object that stores where a variable was made: its owner, if it has one."""
    return variable if variable.owner is None else variable.owner


@contextmanager
def inherit_stack_trace(from_var: Any) -> Any:
    """Theano's way to let nodes made inside the block know their origin; a graph here tells them when they come in.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> with phintys.gof.opt.inherit_stack_trace(T.sin(x)):
    ...     y = T.cos(x)
    """
    yield
