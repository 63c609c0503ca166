"""``Supervisor``: a feature of function graphs that refuses nodes which overwrite protected variables.

Theano's name and protocol, for programs that build their own graphs. ``function`` does not need it: the rewrites decide
what its graphs may overwrite, and the verifier of the virtual machine checks it.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.errors import InconsistencyError, made_at
from phintys.graph.public_names import at_home

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.function_graph import FunctionGraph
    from phintys.graph.variable import Variable


@at_home
class Supervisor:
    """Protects variables of a graph, and the graph's outputs.

    Parameters
    ----------
    protected : iterable of Variable

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> graph.attach_feature(phintys.compile.Supervisor([x]))
    """

    def __init__(self, protected: Sequence[Variable]) -> None:
        self.protected = list(protected)

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise if a node overwrites the memory of a protected variable, directly or through a view.

        Raises
        ------
        InconsistencyError
        """
        waiting = [*self.protected, *fgraph.outputs]
        seen = set()
        while waiting:
            variable = waiting.pop()
            if variable in seen or variable not in fgraph.clients:
                continue
            seen.add(variable)
            for node, position in fgraph.clients[variable]:
                if isinstance(node, str):
                    continue
                if any(position in destroyed for destroyed in (node.op.destroy_map or {}).values()):
                    raise InconsistencyError(f"Trying to destroy a protected Variable: {node.op}{made_at(node)} "
                                             f"overwrites {variable}{made_at(variable)}")
                waiting.extend(node.outputs[output] for output, viewed in (node.op.view_map or {}).items()
                               if position in viewed)
