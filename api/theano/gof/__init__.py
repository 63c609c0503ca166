"""Theano's name ``gof``: graph classes of ``phintys.graph``, and Theano's classes for optimizers."""
from importlib import import_module

from phintys.gof import graph, link, op
from phintys.gof.link import CLinker, DualLinker, Linker, LocalLinker, OpWiseCLinker, PerformLinker, VM_Linker
from phintys.gof.op import PureOp
from phintys.graph import public_names as _public_names
from phintys.graph.apply import Apply
from phintys.graph.destroy_handler import DestroyHandler
from phintys.graph.errors import InconsistencyError, MethodNotDefined, MissingInputError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.traversal import view_roots
from phintys.graph.type import Generic, Type, generic
from phintys.graph.valueless_types import DisconnectedType, NullType
from phintys.graph.variable import Constant, Variable
from phintys.submodules import submodules
from phintys.vm.machine.container import Container

_modules = submodules(__name__, {"destroyhandler": "phintys.graph.destroy_handler",
                                 "fg": "phintys.graph.function_graph", "null_type": "phintys.graph.valueless_types",
                                 "type": "phintys.graph.type", "vm": "phintys.gof.link", "cc": "phintys.gof.link"})
globals().update(_modules)

# Submodule → what this namespace has of it: optimizers by hand, which most programs never import.
_ON_DEMAND = {
    "opt": """EquilibriumOptimizer LocalOptGroup LocalOptimizer MergeOptimizer NavigatorOptimizer OpKeyOptimizer
        OpRemove OpSub Optimizer PatternSub SeqOptimizer TopoOptimizer inplace_optimizer local_optimizer optimizer""",
    "optdb": "DB EquilibriumDB LocalGroupDB ProxyDB Query SequenceDB TopoDB",
    "toolbox": """Bookkeeper Feature History NodeFinder NoOutputFromInplace PreserveVariableAttributes PrintListener
        ReplaceValidate ReplacementDidntRemovedError Validator""",
    "utils": "object2",
    "wrap_linker": "WrapLinker WrapLinkerMany",
}
_home = {name: module for module, names in _ON_DEMAND.items() for name in names.split()}

__all__ = ["Apply", "CLinker", "Constant", "Container", "DestroyHandler", "DisconnectedType", "DualLinker",
           "FunctionGraph", "Generic", "InconsistencyError", "Linker", "LocalLinker", "MethodNotDefined",
           "MissingInputError", "NullType", "Op", "OpWiseCLinker", "PerformLinker", "PureOp", "Type", "VM_Linker",
           "Variable", "generic", "graph", "link", "op", "view_roots", *_modules, *_ON_DEMAND, *_home]

_public_names.adopt(globals())


def __getattr__(name):
    if name not in _ON_DEMAND and name not in _home:
        raise AttributeError(f"module 'phintys.gof' has no attribute {name!r}")
    module = import_module("phintys.gof." + _home.get(name, name))
    globals()[name] = found = getattr(module, name) if name in _home else module
    return found


def __dir__():
    return sorted({*globals(), *__all__})
