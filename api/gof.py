"""Theano's name ``gof`` for the graph classes: names only, everything is defined in ``phintys.graph``."""
from phintys.graph.apply import Apply
from phintys.graph.errors import InconsistencyError, MethodNotDefined, MissingInputError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.type import Generic, Type, generic
from phintys.graph.variable import Constant, Variable
from phintys.optimizer.database import Query
from phintys.vm.container import Container

__all__ = ["Apply", "Constant", "Container", "FunctionGraph", "Generic", "InconsistencyError", "MethodNotDefined",
           "MissingInputError", "Op", "Query", "Type", "Variable", "generic"]
