"""``map_variables``: replaces the variables of a graph by a function, also inside loops and ops from graphs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace, graph_inputs
from phintys.graph.variable import Constant
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.loops.loop import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable


def map_variables(replacer: Callable[..., Any], graphs: Sequence[Variable],
                  additional_inputs: Sequence[Any] = ()) -> list[TensorVariable]:
    """Copies of graphs in which variables are replaced.

    Parameters
    ----------
    replacer : callable
        Maps a variable to its replacement, or to itself if it stays.
    graphs : iterable of Variable
    additional_inputs : iterable of Variable
        Accepted as in Theano: leaves that replacements read need not be declared.

    Returns
    -------
    list of Variable

    Raises
    ------
    NotImplementedError
        If a replacement brings a shared variable that has an update into the body of a loop.

    Examples
    --------
    >>> a, b, c = T.dscalars("abc")
    >>> product = a + b
    >>> product.tag.replacement = a * b
    >>> mapped, = phintys.scan_module.scan_utils.map_variables(
    ...     lambda variable: getattr(variable.tag, "replacement", variable), [product + c])
    >>> phintys.pp(mapped)
    '((a * b) + c)'
    """
    return _mapped(replacer, list(graphs), ())


def _mapped(replacer, graphs, fixed):
    """Copies of graphs in which variables are replaced, except for those in ``fixed``."""
    found = {leaf: leaf if leaf in fixed else replacer(leaf) for leaf in graph_inputs(graphs, fixed)}
    found.update(zip(fixed, fixed))
    for node in io_toposort(list(fixed), graphs):
        inputs = [found[variable] for variable in node.inputs]
        if isinstance(node.op, (Scan, OpFromGraph)):
            outputs = _with_mapped_graph(replacer, node, inputs)
        elif inputs == node.inputs:
            outputs = node.outputs
        else:
            outputs = node.clone_with_new_inputs(inputs, strict=False).outputs
        for old, new in zip(node.outputs, outputs):
            replacement = replacer(old)
            found[old] = new if replacement is old else replacement
    return [found[variable] for variable in graphs]


def _with_mapped_graph(replacer, node, inputs):
    """The outputs of a node whose op holds a graph, with variables of that graph replaced."""
    op = node.op
    given = [*op.inputs, *op.shared_inputs]
    known = set(given)

    def checked(variable):
        replacement = replacer(variable)
        if replacement is not variable:
            _check_updates(replacement, op)
        return replacement

    outputs = _mapped(checked, op.outputs, dict.fromkeys(given))
    foreign = [leaf for leaf in graph_inputs(outputs, given) if leaf not in known and not isinstance(leaf, Constant)]
    more = {leaf: leaf.type.make_variable(leaf.name and f"{leaf.name}_copy") for leaf in foreign}
    outputs = clone_replace(outputs, more)
    arguments = [*inputs, *more]
    if isinstance(op, Scan):
        made = Scan([*given, *more.values()], outputs, op.parts, op.kept, op.name, op.options)
    else:
        made = OpFromGraph([*given, *more.values()], outputs, inline=op.is_inline, name=op.name, **op.kwargs)
    return made(*arguments, return_list=True)


def _check_updates(replacement, op):
    """Refuse replacements that would change the updates that the user got with the loop."""
    for leaf in graph_inputs([replacement]):
        if getattr(leaf, "update", None) is not None or getattr(leaf, "default_update", None) is not None:
            raise NotImplementedError(f"Replacement introduces shared variable {leaf} which has an update associated "
                                      f"with it into the inner graph of {op}. This is not currently supported.")
