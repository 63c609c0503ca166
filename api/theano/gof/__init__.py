"""Theano's name ``gof``: graph classes of ``phintys.graph``, and Theano's classes for optimizers."""
from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from phintys.gof import graph, link
from phintys.gof.link import CLinker, DualLinker, Linker, LocalLinker, OpWiseCLinker, PerformLinker, VM_Linker
from phintys.graph import public_names as _public_names
from phintys.graph.apply import Apply
from phintys.graph.destroy_handler import DestroyHandler
from phintys.graph.errors import InconsistencyError, MethodNotDefined, MissingInputError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.op import Op, PureOp
from phintys.graph.traversal import view_roots
from phintys.graph.type import Generic, Type, generic
from phintys.graph.valueless_types import DisconnectedType, NullType
from phintys.graph.variable import Constant, Variable
from phintys.vm.containers.container import Container

# Rows of the table of modules.
_modules = ("cc", "destroyhandler", "fg", "null_type", "op", "type", "vm")
# Submodule → names in this namespace that it defines: hand-written optimizers, which most programs never import.
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
           "Variable", "generic", "graph", "link", "view_roots", *_modules, *_ON_DEMAND, *_home]

if TYPE_CHECKING:                   # the names above that are found when they are asked for
    from phintys.gof import link as cc
    from phintys.gof import link as vm
    from phintys.gof import opt, optdb, toolbox, utils, wrap_linker
    from phintys.gof.opt import (
        EquilibriumOptimizer,
        LocalOptGroup,
        LocalOptimizer,
        MergeOptimizer,
        NavigatorOptimizer,
        OpKeyOptimizer,
        OpRemove,
        OpSub,
        Optimizer,
        PatternSub,
        SeqOptimizer,
        TopoOptimizer,
        inplace_optimizer,
        local_optimizer,
        optimizer,
    )
    from phintys.gof.optdb import DB, EquilibriumDB, LocalGroupDB, ProxyDB, Query, SequenceDB, TopoDB
    from phintys.gof.toolbox import (
        Bookkeeper,
        Feature,
        History,
        NodeFinder,
        NoOutputFromInplace,
        PreserveVariableAttributes,
        PrintListener,
        ReplacementDidntRemovedError,
        ReplaceValidate,
        Validator,
    )
    from phintys.gof.utils import object2
    from phintys.gof.wrap_linker import WrapLinker, WrapLinkerMany
    from phintys.graph import destroy_handler as destroyhandler
    from phintys.graph import function_graph as fg
    from phintys.graph import type as type
    from phintys.graph import valueless_types as null_type
    __all__ += ["Bookkeeper", "DB", "EquilibriumDB", "EquilibriumOptimizer", "Feature", "History", "LocalGroupDB",
                "LocalOptGroup", "LocalOptimizer", "MergeOptimizer", "NavigatorOptimizer", "NoOutputFromInplace",
                "NodeFinder", "OpKeyOptimizer", "OpRemove", "OpSub", "Optimizer", "PatternSub",
                "PreserveVariableAttributes", "PrintListener", "ProxyDB", "Query", "ReplaceValidate",
                "ReplacementDidntRemovedError", "SeqOptimizer", "SequenceDB", "TopoDB", "TopoOptimizer", "Validator",
                "WrapLinker", "WrapLinkerMany", "cc", "destroyhandler", "fg", "inplace_optimizer", "local_optimizer",
                "null_type", "object2", "opt", "optdb", "optimizer", "toolbox", "type", "utils", "vm", "wrap_linker"]

_public_names.adopt(globals())


def _found(name: str) -> _Any:
    if name not in _ON_DEMAND and name not in _home and name not in _modules:
        raise AttributeError(f"module 'phintys.gof' has no attribute {name!r}")
    module = import_module("phintys.gof." + _home.get(name, name))
    globals()[name] = found = getattr(module, name) if name in _home else module
    return found


if not TYPE_CHECKING:               # a checker would take any name then
    __getattr__ = _found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
