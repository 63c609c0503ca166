"""``map_rows``: applies a graph on single rows to each row of some tensors, and stacks its results.

Values that do not depend on a row are computed once, even if there is no row: most of them are outside already. If all
ops have rules for all rows at once (``row_batching.py``, ``rare_row_rules.py``), no loop is needed; otherwise the
result is a loop without states.
"""
from phintys.graph.toposort import io_toposort
from phintys.ops.graphs.rare_row_rules import rare_batch_of_node
from phintys.ops.graphs.row_batching import batched, repeated
from phintys.ops.loops.building import Body, dependents, make_loop
from phintys.ops.shape.shape import shape_i


def map_rows(outputs, rows, name=None):
    """The results of a graph for each row, stacked.

    Parameters
    ----------
    outputs : list of TensorVariable
        For one row.
    rows : list of (Variable, Variable)
        The row in the graph, and the tensor with the rows as its first dimension. All have one length.
    name : str, optional

    Returns
    -------
    list of TensorVariable
    """
    count = shape_i(rows[0][1], 0)
    depending = dependents([row for row, _ in rows], outputs)
    chosen = [output for output in outputs if output in depending]
    stacked = batched(chosen, dict(rows), rare_batch_of_node) if chosen else []
    if stacked is None:
        read = {variable for node in io_toposort([row for row, _ in rows], chosen) for variable in node.inputs}
        stacked = make_loop(count, Body(rows, stacked=chosen, outside=read - depending), name).stacked
    stacked = iter(stacked)
    return [next(stacked) if output in depending else repeated(output, count) for output in outputs]
