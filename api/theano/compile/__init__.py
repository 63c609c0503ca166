"""Theano's name ``compile`` for the parts that make functions. Names only: each is defined in its own module."""
from typing import TYPE_CHECKING

from phintys.compile import builders, function_module, ops, profiling
from phintys.compile.builders import OpFromGraph
from phintys.compile.function_module import Supervisor, convert_function_input, orig_function
from phintys.compile.ops import FromFunctionOp, ViewOp, as_op, view_op
from phintys.compile.pfunc import pfunc, rebuild_collect_shared
from phintys.debugging.debug_mode import DebugMode
from phintys.debugging.monitor_mode import MonitorMode
from phintys.debugging.nan_guard_mode import NanGuardMode
from phintys.function import function
from phintys.gof.whole_optimizers import AddFeatureOptimizer
from phintys.graph import public_names as _public_names
from phintys.graph.errors import AliasedMemoryError, UnusedInputError
from phintys.io import In, Out, Param, SymbolicInput, SymbolicOutput
from phintys.making.function_dump import function_dump
from phintys.making.function_maker import Function, FunctionMaker
from phintys.making.rebuild import rebuild
from phintys.missing_names import lookup
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
from phintys.ops.identity.deep_copy import DeepCopyOp, deep_copy_op
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, SpecifyShape, shape, shape_i, specify_shape
from phintys.reports.profile_stats import ProfileStats
from phintys.reports.scan_profile import ScanProfileStats
from phintys.rewrite_database import optdb
from phintys.shared import SharedVariable, shared, shared_constructor
from phintys.submodules import submodules
from phintys.updates import OrderedUpdates

_modules = submodules(__name__, {
    "debugmode": "phintys.debugging.debug_mode", "io": "phintys.io", "mode": "phintys.modes",
    "monitormode": "phintys.debugging.monitor_mode", "nanguardmode": "phintys.debugging.nan_guard_mode",
    "sharedvalue": "phintys.shared"})
globals().update(_modules)
submodules(__name__, {"function": "phintys.function"})      # importable; the name here is the function's

__all__ = ["AddFeatureOptimizer", "AliasedMemoryError", "DebugMode", "DeepCopyOp", "FAST_COMPILE", "FAST_RUN",
           "FromFunctionOp", "Function", "FunctionMaker", "In", "Mode", "MonitorMode", "NanGuardMode", "OpFromGraph",
           "OrderedUpdates", "Out", "Param", "ProfileStats", "Rebroadcast", "ScanProfileStats", "Shape", "Shape_i",
           "SharedVariable", "SpecifyShape", "Supervisor", "SymbolicInput", "SymbolicOutput", "UnusedInputError",
           "ViewOp", "as_op", "builders", "convert_function_input", "deep_copy_op", "function", "function_dump",
           "function_module", "get_default_mode", "get_mode", "ops", "optdb", "orig_function", "pfunc",
           "predefined_linkers", "predefined_modes", "predefined_optimizers", "profiling", "rebuild",
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
