"""The graph in ``f.maker.fgraph``: the compiled graph, with the copies that keep results separate from other values.

The graph that the linker receives has no nodes for these copies: whether a result is copied is decided at run time, by
other references to its memory. Theano's graphs have such nodes, so a ``DeepCopyOp`` is shown where a result may be the
value of an argument, of a shared variable without an update, of a constant or of another output. Nodes and variables
are those of the compiled graph; only the variables in ``outputs`` may be new.
"""
from __future__ import annotations

from collections import Counter

from phintys.graph.function_graph import FunctionGraph
from phintys.graph.traversal import view_roots_of
from phintys.graph.variable import Constant
from phintys.ops.identity.deep_copy import deep_copy_op


def shown_graph(fgraph: FunctionGraph, lent: set[int], borrowed: set[int], updated: set[int]) -> FunctionGraph:
    """Return ``fgraph``, or a graph of the same nodes with a DeepCopyOp after each output that is copied.

    Parameters
    ----------
    fgraph : FunctionGraph
    lent : set of int
        Outputs that may share the memory of other values: results that the caller borrows, and new values.
    borrowed : set of int
        Inputs whose memory borrowed outputs may share.
    updated : set of int
        Inputs whose values are replaced in a call.
    """
    roots, _ = view_roots_of(fgraph.data_order(), follow_choices=False)
    sources = [roots.get(variable, variable) for variable in fgraph.outputs]
    position = {variable: number for number, variable in enumerate(fgraph.inputs)}
    later, borrowed_later = Counter(sources), Counter(source for number, source in enumerate(sources) if number in lent)

    outputs = list(fgraph.outputs)
    for number, source in enumerate(sources):
        later[source] -= 1
        borrowed_later[source] -= number in lent
        # A borrowed result may share memory with another borrowed one, but not with one that belongs to the caller.
        shares_output = later[source] > (borrowed_later[source] if number in lent else 0)
        if source in position:
            shares_value = position[source] not in updated and not (number in lent and position[source] in borrowed)
        else:
            shares_value = isinstance(source, Constant) and number not in lent
        if shares_output or shares_value:
            outputs[number] = deep_copy_op(outputs[number])
    if all([shown is compiled for shown, compiled in zip(outputs, fgraph.outputs)]):
        return fgraph
    shown = FunctionGraph(fgraph.inputs, outputs, clone=False)
    shown.features = list(fgraph.features)          # they define the order of nodes that overwrite
    shown.name = fgraph.name
    return shown
