"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys import array_api as array_api
from phintys import compat as compat
from phintys import compile as compile
from phintys import configdefaults as configdefaults
from phintys import configparser as configparser
from phintys import d3viz as d3viz
from phintys import distributed as distributed
from phintys import gof as gof
from phintys import gpu as gpu
from phintys import gpuarray as gpuarray
from phintys import gradient as gradient
from phintys import ifelse as ifelse
from phintys import memory as memory
from phintys import misc as misc
from phintys import numpy_protocol as numpy_protocol
from phintys import printing as printing
from phintys import raise_op as raise_op
from phintys import random as random
from phintys import runtime as runtime
from phintys import sandbox as sandbox
from phintys import scalar as scalar
from phintys import scan_module as scan_module
from phintys import solvers as solvers
from phintys import sparse as sparse
from phintys import tensor as tensor
from phintys import typed_list as typed_list
from phintys import updates as updates
from phintys.as_theano import install_as_theano as install_as_theano
from phintys.function import function as function
from phintys.graph.apply import Apply as Apply
from phintys.graph.config import change_flags as change_flags
from phintys.graph.errors import InconsistencyError as InconsistencyError
from phintys.graph.function_graph import FunctionGraph as FunctionGraph
from phintys.graph.gradients.forward_gradient import Rop as Rop
from phintys.graph.gradients.gradient import Lop as Lop
from phintys.graph.gradients.gradient import grad as grad
from phintys.graph.gradients.gradient import subgraph_grad as subgraph_grad
from phintys.graph.op import Op as Op
from phintys.graph.traversal import clone_replace as clone
from phintys.graph.type import Generic as Generic
from phintys.graph.type import Type as Type
from phintys.graph.variable import Constant as Constant
from phintys.graph.variable import Variable as Variable
from phintys.include_path import get_include as get_include
from phintys.io import In as In
from phintys.io import Param as Param
from phintys.io import SymbolicInput as SymbolicInput
from phintys.io import SymbolicOutput as Out
from phintys.io import SymbolicOutput as SymbolicOutput
from phintys.making.compiled_function import Function as Function
from phintys.making.function_dump import function_dump as function_dump
from phintys.making.function_maker import FunctionMaker as FunctionMaker
from phintys.modes import Mode as Mode
from phintys.onnx_export import export_onnx as export_onnx
from phintys.ops.graphs.op_from_graph import OpFromGraph as OpFromGraph
from phintys.printing import debugprint as debugprint
from phintys.reports.profile_stats import ProfileStats as ProfileStats
from phintys.reports.why_not import why_not as why_not
from phintys.runtime import load as load
from phintys.scan_module.scan import scan as scan
from phintys.scan_module.scan_checkpoints import scan_checkpoints as scan_checkpoints
from phintys.scan_module.scan_views import foldl as foldl
from phintys.scan_module.scan_views import foldr as foldr
from phintys.scan_module.scan_views import map as map
from phintys.scan_module.scan_views import reduce as reduce
from phintys.self_test import test as test
from phintys.shared import SharedVariable as SharedVariable
from phintys.shared import shared as shared
from phintys.transforms import jvp as jvp
from phintys.transforms import linearize as linearize
from phintys.transforms import value_and_grad as value_and_grad
from phintys.transforms import vjp as vjp
from phintys.updates import OrderedUpdates as OrderedUpdates
from phintys.vm.containers.container import Container as Container
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.types.tensor_type import TensorType
from phintys.ops.operators import TensorVariable
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "Apply",
    "Constant",
    "Container",
    "FAST_COMPILE",
    "FAST_RUN",
    "Function",
    "FunctionGraph",
    "FunctionMaker",
    "Generic",
    "In",
    "InconsistencyError",
    "Lop",
    "Mode",
    "Op",
    "OpFromGraph",
    "OrderedUpdates",
    "Out",
    "Param",
    "ProfileStats",
    "Rop",
    "SharedVariable",
    "SymbolicInput",
    "SymbolicOutput",
    "Type",
    "Variable",
    "array_api",
    "as_op",
    "change_flags",
    "clone",
    "compat",
    "compile",
    "config",
    "configdefaults",
    "configparser",
    "d3viz",
    "debugprint",
    "distributed",
    "dot",
    "export_onnx",
    "foldl",
    "foldr",
    "function",
    "function_dump",
    "generic",
    "get_include",
    "get_scalar_constant_value",
    "gof",
    "gpu",
    "gpuarray",
    "grad",
    "gradient",
    "ifelse",
    "install_as_theano",
    "jvp",
    "linearize",
    "load",
    "logging_default_handler",
    "map",
    "memory",
    "misc",
    "numpy_protocol",
    "pp",
    "pprint",
    "predefined_modes",
    "printing",
    "raise_op",
    "random",
    "reduce",
    "runtime",
    "sandbox",
    "save",
    "scalar",
    "scan",
    "scan_checkpoints",
    "scan_module",
    "shared",
    "solvers",
    "sparse",
    "sparse_grad",
    "subgraph_grad",
    "tensor",
    "test",
    "theano_logger",
    "typed_list",
    "updates",
    "value_and_grad",
    "vectorize",
    "vectorize_graph",
    "vjp",
    "why_not",
]

FAST_COMPILE: _Any
FAST_RUN: _Any
def as_op(itypes: _Any, otypes: _Any, infer_shape: _Any = None) -> _Any: ...
config: _Any
def dot(l: _Any, r: _Any) -> TensorVariable: ...
generic: Generic
def get_scalar_constant_value(v: _Any) -> _Any: ...
logging_default_handler: _Any
pp: _Any
pprint: _Any
predefined_modes: _Any
def save(path: _Any, functions: _Any, key: _Any = None, include_graph: bool = False) -> TensorVariable: ...
def sparse_grad(var: _Any) -> _Any: ...
theano_logger: _Any
def vectorize(function: _Any, in_axes: int | Variable = 0, out_axes: int | Variable = 0) -> TensorVariable: ...
def vectorize_graph(outputs: _Any, replace: _Any) -> TensorVariable: ...
