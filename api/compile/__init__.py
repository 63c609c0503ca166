"""Theano's name ``compile`` for what makes functions: names only, everything is defined in its own module."""
from phintys.compile import ops
from phintys.compile.ops import FromFunctionOp, ViewOp, as_op
from phintys.function import function
from phintys.function_maker import Function, FunctionMaker
from phintys.graph.errors import AliasedMemoryError, UnusedInputError
from phintys.io import In, Out, Param, SymbolicInput, SymbolicOutput
from phintys.modes import FAST_COMPILE, FAST_RUN, Mode, get_default_mode, get_mode, predefined_modes, register_mode
from phintys.ops.shape import Rebroadcast, Shape, Shape_i, SpecifyShape
from phintys.rebuild import rebuild
from phintys.shared import SharedVariable, shared, shared_constructor
from phintys.submodules import submodules

_modules = submodules(__name__, {"function_module": "phintys.function_maker", "io": "phintys.io",
                                 "mode": "phintys.modes", "sharedvalue": "phintys.shared"})
globals().update(_modules)

__all__ = ["AliasedMemoryError", "FAST_COMPILE", "FAST_RUN", "FromFunctionOp", "Function", "FunctionMaker", "In",
           "Mode", "Out", "Param", "Rebroadcast", "Shape", "Shape_i", "SharedVariable", "SpecifyShape",
           "SymbolicInput", "SymbolicOutput", "UnusedInputError", "ViewOp", "as_op", "function", "get_default_mode",
           "get_mode", "ops", "predefined_modes", "rebuild", "register_mode", "shared", "shared_constructor",
           *_modules]
