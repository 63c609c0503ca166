"""Theano's name ``gof.graph`` for nodes and the walks over them: names only."""
from phintys.graph.apply import Apply
from phintys.graph.formula import as_string
from phintys.graph.op import Op
from phintys.graph.toposort import general_toposort, io_toposort
from phintys.graph.traversal import (
    ancestors, clone, clone_get_equiv, equal_computations, io_connection_pattern, is_in_ancestors, is_same_graph,
    list_of_nodes, ops, orphans, variables, variables_and_orphans, view_roots)
from phintys.graph.traversal import graph_inputs as inputs
from phintys.graph.variable import Constant, Variable

__all__ = ["Apply", "Constant", "Op", "Variable", "ancestors", "as_string", "clone", "clone_get_equiv",
           "equal_computations", "general_toposort", "inputs", "io_connection_pattern", "io_toposort",
           "is_in_ancestors", "is_same_graph", "list_of_nodes", "ops", "orphans", "variables",
           "variables_and_orphans", "view_roots"]
