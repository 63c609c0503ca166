"""Theano's name ``compile`` for what makes functions: names only, everything is defined in its own module."""
from importlib import import_module

from phintys import io
from phintys import modes as mode
from phintys.function import function
from phintys.function_maker import Function, FunctionMaker
from phintys.graph.errors import AliasedMemoryError, UnusedInputError
from phintys.io import In, Out, Param, SymbolicInput, SymbolicOutput
from phintys.modes import FAST_COMPILE, FAST_RUN, Mode, get_default_mode, get_mode, predefined_modes, register_mode
from phintys.rebuild import rebuild
from phintys.shared import SharedVariable, shared, shared_constructor

sharedvalue = import_module("phintys.shared")       # the module; as an attribute of phintys that name is the function

__all__ = ["AliasedMemoryError", "FAST_COMPILE", "FAST_RUN", "Function", "FunctionMaker", "In", "Mode", "Out", "Param",
           "SharedVariable", "SymbolicInput", "SymbolicOutput", "UnusedInputError", "function", "get_default_mode",
           "get_mode", "io", "mode", "predefined_modes", "rebuild", "register_mode", "shared", "shared_constructor",
           "sharedvalue"]
