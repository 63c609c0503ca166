"""PyMC's checks of parameters, replaced while the graph is translated.

PyMC's modes include a rewrite that makes a check an impossible value (-inf), or removes it. PyTensor's own machinery
applies them slowly: each replacement visits the whole graph. If a mode asks for no other rewrite, none of PyTensor's is
run, and the checks have the rows of this file.
"""
import sys
from functools import reduce

from pytensor.graph.rewriting.basic import EquilibriumGraphRewriter, SequentialGraphRewriter

from phintys import tensor as T


def rows_instead_of(rewriter):
    """The rows that do what a rewriter of PyTensor does: {class of ops: row}; None if it has other rewrites."""
    if isinstance(rewriter, SequentialGraphRewriter):
        parts = [rows_instead_of(part) for part in rewriter]
        return None if None in parts else {kind: row for part in parts for kind, row in part.items()}
    if type(rewriter) is not EquilibriumGraphRewriter or rewriter.global_rewriters or rewriter.final_rewriters \
            or rewriter.cleanup_rewriters:
        return None
    found, known = set(rewriter.get_node_rewriters()), _rows()
    if len(found) > 1 or not found <= known.keys():
        return None
    return {sys.modules["pymc.logprob.utils"].CheckParameterValue: known[each] for each in found}


def _rows():
    """The rewrites of checks that PyMC has, if it is imported."""
    utils = sys.modules.get("pymc.logprob.utils")
    return {} if utils is None else {utils.local_check_parameter_to_ninf_switch: _impossible_unless_true,
                                     utils.local_remove_check_parameter: _unchecked}


def _impossible_unless_true(op, node, value, *conditions):
    if not op.can_be_replaced_by_ninf:
        return None
    return T.switch(reduce(T.and_, conditions), value, -float("inf")).astype(value.type.dtype)


def _unchecked(op, node, value, *conditions):
    return value
