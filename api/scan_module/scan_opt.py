"""Theano's ``scan_opt``: which loops can be merged, asked of the rewrite that merges them."""
from phintys.graph.traversal import is_in_ancestors
from phintys.optimizer.passes.loop_merging import can_merge

__all__ = ["ScanMerge"]


class ScanMerge:
    """The rewrite that makes one loop of several."""

    def belongs_to_set(self, node, set_nodes):
        """Whether a loop can be merged with each of some others.

        Parameters
        ----------
        node : Apply
        set_nodes : list of Apply
            Can be merged with each other.

        Returns
        -------
        bool
        """
        return all([can_merge(node, other) and not is_in_ancestors(node, other) and not is_in_ancestors(other, node)
                    for other in set_nodes])
