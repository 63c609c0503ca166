"""PyMC's checks of parameters, replaced while the graph is translated.

PyMC's modes include a rewrite that makes a check an impossible value (-inf), or removes it. PyTensor's own machinery
applies them slowly: each replacement visits the whole graph. If a mode has no other rewrite for the ops of a graph,
none of PyTensor's is run, and the checks have the rows of this file.
"""
from __future__ import annotations

import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

from pytensor.graph.op import HasInnerGraph
from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, SequentialGraphRewriter

from phintys import tensor as T

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.function_graph import FunctionGraph

OF_INNER_GRAPHS = ("ofg_inner_graph", "optimize_inner_graph", "scan_inner_graph")       # rewriters of PyTensor 3.3


def rows_instead_of(rewriter: Any, fgraph: FunctionGraph) -> dict[type, Callable[..., Any]] | None:
    """The rows that do what a rewriter of PyTensor does to a graph: {class of ops: row}; None if it has other rewrites,
    or any for the graphs inside of ops, which have no such rows.
    """
    rewriter = vars(rewriter).get("_rewriter", rewriter)        # PyTensor 3.3 wraps that of a mode
    inner = [op.fgraph for op in {getattr(node.op, "core_op", node.op) for node in fgraph.apply_nodes}
             if isinstance(op, HasInnerGraph)]
    if any([rows_instead_of(rewriter, graph) != {} for graph in inner]):
        return None
    return _rows_of(rewriter, fgraph)


def _rows_of(rewriter, fgraph):
    """As `rows_instead_of`, for the nodes of the graph itself."""
    if getattr(rewriter, "name", None) in OF_INNER_GRAPHS:
        return {}
    if isinstance(rewriter, SequentialGraphRewriter):
        parts = [_rows_of(part, fgraph) for part in rewriter]
        return None if None in parts else {kind: row for part in parts for kind, row in part.items()}
    if type(rewriter) is not EquilibriumGraphRewriter or rewriter.global_rewriters or rewriter.final_rewriters \
            or rewriter.cleanup_rewriters:
        return None
    tracking, known = rewriter.node_tracker.get_trackers, _rows()
    found = {each for op in {node.op for node in fgraph.apply_nodes} for each in tracking(op)}
    if len(found) > 1 or not found <= known.keys():
        return None
    return {sys.modules["pymc.logprob.utils"].CheckParameterValue: known[each] for each in found}


def _rows():
    """The rewrites of checks that PyMC has, if it is imported."""
    utils = sys.modules.get("pymc.logprob.utils")
    return {} if utils is None else {utils.local_check_parameter_to_ninf_switch: _impossible_unless_true,
                                     utils.local_remove_check_parameter: unchecked_value}


def _impossible_unless_true(op, node, value, *conditions):
    if not op.can_be_replaced_by_ninf:
        return None
    return T.switch(reduce(T.and_, conditions), value, -float("inf")).astype(value.type.dtype)


def unchecked_value(op: Any, node: Any, value: Any, *conditions: Any) -> Any:
    """The row of a check that is removed."""
    return value
