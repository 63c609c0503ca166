"""Theano's ``scan_opt``: tells which loops can be merged, by the rules of the rewrite that merges them."""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.traversal import is_in_ancestors
from phintys.optimizer.passes.loop_merging import can_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply

__all__ = ["ScanMerge"]


class ScanMerge:
    """The rewrite that merges several loops into one.

    Examples
    --------
    >>> zero, n = T.constant(0.0, dtype="float64"), T.lscalar("n")
    >>> sums, _ = phintys.scan(lambda before: before + 1, outputs_info=zero, n_steps=n)
    >>> squares, _ = phintys.scan(lambda before: before ** 2 + 1, outputs_info=zero, n_steps=n)
    >>> graph = phintys.FunctionGraph([n], [sums, squares], clone=False)
    >>> first, second = [node for node in graph.apply_nodes if type(node.op).__name__ == "Scan"]
    >>> phintys.scan_module.scan_opt.ScanMerge().belongs_to_set(first, [second])
    True
    """

    def belongs_to_set(self, node: Apply, set_nodes: Sequence[Apply]) -> bool:
        """Whether a loop can be merged with each of some others.

        Parameters
        ----------
        node : Apply
        set_nodes : list of Apply
            Can be merged with each other.
        """
        return all([can_merge(node, other) and not is_in_ancestors(node, other) and not is_in_ancestors(other, node)
                    for other in set_nodes])
