"""Theano's name ``compile`` for the parts that make functions. Names only: each is defined in its own module."""
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from phintys.compile import function_module
from phintys.compile.function_module import Supervisor, convert_function_input, orig_function
from phintys.compile.pfunc import pfunc, rebuild_collect_shared
from phintys.debugging.debug_mode import DebugMode
from phintys.debugging.monitor_mode import MonitorMode
from phintys.debugging.nan_guard_mode import NanGuardMode
from phintys.function import function
from phintys.gof.whole_optimizers import AddFeatureOptimizer
from phintys.graph import public_names as _public_names
from phintys.graph.errors import AliasedMemoryError, UnusedInputError
from phintys.graph.gradients.view_op import ViewOp, view_op
from phintys.io import In, Out, Param, SymbolicInput, SymbolicOutput
from phintys.making.function_dump import function_dump
from phintys.making.function_maker import Function, FunctionMaker
from phintys.making.rebuild import rebuild
from phintys.modes import (
    FAST_COMPILE,
    FAST_RUN,
    Mode,
    get_default_mode,
    get_mode,
    predefined_linkers,
    predefined_modes,
    predefined_optimizers,
    register_linker,
    register_mode,
    register_optimizer,
)
from phintys.ops.graphs.as_op import FromFunctionOp, as_op
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.ops.identity.deep_copy import DeepCopyOp, deep_copy_op
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, SpecifyShape, shape, shape_i, specify_shape
from phintys.reports.profile_stats import ProfileStats
from phintys.reports.scan_profile import ScanProfileStats
from phintys.rewrite_database import optdb
from phintys.shared import SharedVariable, shared, shared_constructor
from phintys.theano_finder import lookup
from phintys.updates import OrderedUpdates

# Rows of the table of modules. `function` is importable, too: the name here is the function's.
_modules = ("builders", "debugmode", "io", "mode", "monitormode", "nanguardmode", "ops", "profiling", "sharedvalue")
sys.modules[f"{__name__}.function"] = import_module("phintys.function")

__all__ = ["AddFeatureOptimizer", "AliasedMemoryError", "DebugMode", "DeepCopyOp", "FAST_COMPILE", "FAST_RUN",
           "FromFunctionOp", "Function", "FunctionMaker", "In", "Mode", "MonitorMode", "NanGuardMode", "OpFromGraph",
           "OrderedUpdates", "Out", "Param", "ProfileStats", "Rebroadcast", "ScanProfileStats", "Shape", "Shape_i",
           "SharedVariable", "SpecifyShape", "Supervisor", "SymbolicInput", "SymbolicOutput", "UnusedInputError",
           "ViewOp", "as_op", "convert_function_input", "deep_copy_op", "function", "function_dump",
           "function_module", "get_default_mode", "get_mode", "optdb", "orig_function", "pfunc",
           "predefined_linkers", "predefined_modes", "predefined_optimizers", "rebuild",
           "rebuild_collect_shared", "register_linker", "register_mode", "register_optimizer", "shape", "shape_i",
           "shared", "shared_constructor", "specify_shape", "view_op", *_modules]
if TYPE_CHECKING:                   # the names of _modules
    from phintys import io
    from phintys import modes as mode
    from phintys import shared as sharedvalue
    from phintys.debugging import debug_mode as debugmode
    from phintys.debugging import monitor_mode as monitormode
    from phintys.debugging import nan_guard_mode as nanguardmode
    __all__ += ["debugmode", "io", "mode", "monitormode", "nanguardmode", "sharedvalue"]

_public_names.adopt(globals())
if not TYPE_CHECKING:               # a checker would take any name then
    __getattr__ = lookup(__name__)
