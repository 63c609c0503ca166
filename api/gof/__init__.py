"""Theano's name ``gof`` for the graph classes: names only, everything is defined in ``phintys.graph``."""
from phintys.gof import graph, link, op, opt
from phintys.gof.link import CLinker, DualLinker, Linker, LocalLinker, OpWiseCLinker, PerformLinker, VM_Linker
from phintys.graph.apply import Apply
from phintys.graph.errors import InconsistencyError, MethodNotDefined, MissingInputError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.type import Generic, Type, generic
from phintys.graph.valueless_types import DisconnectedType, NullType
from phintys.graph.variable import Constant, Variable
from phintys.optimizer.database import Query
from phintys.rewrite_database import optdb
from phintys.submodules import submodules
from phintys.vm.container import Container

_modules = submodules(__name__, {"fg": "phintys.graph.function_graph", "null_type": "phintys.graph.valueless_types",
                                 "type": "phintys.graph.type", "utils": "phintys.graph.errors",
                                 "vm": "phintys.gof.link", "cc": "phintys.gof.link"})
globals().update(_modules)

__all__ = ["Apply", "CLinker", "Constant", "Container", "DisconnectedType", "DualLinker", "FunctionGraph", "Generic",
           "InconsistencyError", "Linker", "LocalLinker", "MethodNotDefined", "MissingInputError", "NullType", "Op",
           "OpWiseCLinker", "PerformLinker", "Query", "Type", "VM_Linker", "Variable", "generic", "graph", "link", "op",
           "opt", "optdb", *_modules]
