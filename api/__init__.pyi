"""Written by docs/write_stubs.py."""
from phintys import (
    array_api as array_api, compat as compat, compile as compile, configdefaults as configdefaults,
    configparser as configparser, d3viz as d3viz, distributed as distributed, gof as gof, gpu as gpu,
    gpuarray as gpuarray, gradient as gradient, ifelse as ifelse, memory as memory, misc as misc,
    numpy_protocol as numpy_protocol, printing as printing, raise_op as raise_op, random as random, runtime as runtime,
    sandbox as sandbox, scalar as scalar, scan_module as scan_module, solvers as solvers, sparse as sparse,
    tensor as tensor, typed_list as typed_list, updates as updates,
)
from phintys.as_theano import install_as_theano as install_as_theano
from phintys.function import function as function
from phintys.graph.apply import Apply as Apply
from phintys.graph.config import change_flags as change_flags
from phintys.graph.errors import InconsistencyError as InconsistencyError
from phintys.graph.function_graph import FunctionGraph as FunctionGraph
from phintys.graph.gradients.forward_gradient import Rop as Rop
from phintys.graph.gradients.gradient import Lop as Lop, grad as grad, subgraph_grad as subgraph_grad
from phintys.graph.op import Op as Op
from phintys.graph.traversal import clone_replace
from phintys.graph.type import Generic as Generic, Type as Type
from phintys.graph.variable import Constant as Constant, Variable as Variable
from phintys.include_path import get_include as get_include
from phintys.io import In as In, Param as Param, SymbolicInput as SymbolicInput, SymbolicOutput as SymbolicOutput
from phintys.making.compiled_function import Function as Function
from phintys.making.function_dump import function_dump as function_dump
from phintys.making.function_maker import FunctionMaker as FunctionMaker
from phintys.modes import Mode as Mode
from phintys.onnx_export import export_onnx as export_onnx
from phintys.ops.graphs.op_from_graph import OpFromGraph as OpFromGraph
from phintys.ops.operators import TensorVariable
from phintys.printing import debugprint as debugprint
from phintys.reports.profile_stats import ProfileStats as ProfileStats
from phintys.reports.why_not import why_not as why_not
from phintys.runtime import load as load
from phintys.scan_module.scan import scan as scan
from phintys.scan_module.scan_checkpoints import scan_checkpoints as scan_checkpoints
from phintys.scan_module.scan_views import foldl as foldl, foldr as foldr, map as map, reduce as reduce
from phintys.self_test import test as test
from phintys.shared import SharedVariable as SharedVariable, shared as shared
from phintys.transforms import jvp as jvp, linearize as linearize, value_and_grad as value_and_grad, vjp as vjp
from phintys.updates import OrderedUpdates as OrderedUpdates
from phintys.vm.containers.container import Container as Container
from typing import Any as _Any

_any: _Any
FAST_COMPILE = FAST_RUN = config = logging_default_handler = pp = pprint = predefined_modes = theano_logger = _any
Out = SymbolicOutput
def as_op(itypes: _Any, otypes: _Any, infer_shape: _Any = None) -> _Any: ...
clone = clone_replace
def dot(l: _Any, r: _Any) -> TensorVariable: ...
generic: Generic
def get_scalar_constant_value(v: _Any) -> _Any: ...
def save(path: _Any, functions: _Any, key: _Any = None, include_graph: bool = False) -> None: ...
def sparse_grad(var: _Any) -> _Any: ...
def vectorize(function: _Any, in_axes: int | Variable = 0, out_axes: int | Variable = 0) -> _Any: ...
def vectorize_graph(outputs: _Any, replace: _Any) -> _Any: ...
