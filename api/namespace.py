"""The names of ``phintys`` itself, and what must be set up before any of them is used.

``phintys/__init__.py`` takes all of them, unless only ``phintys.runtime`` is imported.
"""
from importlib import import_module as _import_module

import numpy as _numpy

from phintys.function import function
from phintys.graph import hooks as _hooks
from phintys.graph import public_names as _public_names
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags, config
from phintys.graph.errors import InconsistencyError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import Lop, grad, subgraph_grad
from phintys.graph.op import Op
from phintys.graph.traversal import clone_replace as clone
from phintys.graph.type import Generic, Type, generic
from phintys.graph.variable import Constant, Variable
from phintys.interop.thread_limits import register_soon as _register_soon
from phintys.io import In, Out, Param, SymbolicInput, SymbolicOutput
from phintys.making.function_dump import function_dump
from phintys.making.function_maker import Function, FunctionMaker
from phintys.modes import FAST_COMPILE, FAST_RUN, Mode, predefined_modes
from phintys.shared import SharedVariable, shared
from phintys.theano_finder import install as _find_theano_modules
from phintys.updates import OrderedUpdates
from phintys.vm.containers.container import Container
from phintys.vm.loops.loop_kernel import LoopKernel as _LoopKernel

_import_module("phintys.ops.elementwise.scalar_variable")     # gives numbers their operators
_hooks.function = function
_hooks.input = In
_hooks.loop_kernel = _LoopKernel
_hooks.loop_derivatives = lambda name: _import_module(f"phintys.ops.loops.{name}")
_hooks.linear_recurrence = lambda *args, **options: _import_module(
    "phintys.ops.loops.linear_recurrence").linear_recurrence(*args, **options)
_hooks.scan_profile = lambda **values: _import_module("phintys.reports.scan_profile").ScanProfileStats(**values)
_hooks.stand_ins = lambda *args: _import_module("phintys.optimizer.rewrites.logarithms").stand_ins(*args)
_hooks.formulas = lambda: _import_module("phintys.ops.formulas")
_hooks.structured_systems = lambda: _import_module("phintys.ops.compositions.structured")
_hooks.saved_graphs = lambda: _import_module("phintys.making.saved_graphs")
_hooks.sparse = lambda: _import_module("phintys.sparse")
_hooks.linker_class = lambda name: getattr(_import_module("phintys.gof.link"), name)
_hooks.theano_flags_are_set = lambda: _import_module("phintys.theano_flags").warn_if_unread()
_hooks.array_api = lambda: _import_module("phintys.array_api")
_hooks.numpy_protocol = lambda: _import_module("phintys.numpy_protocol")

_hooks.device_opened = lambda: _import_module("phintys.gpu_shared")
_hooks.values_elsewhere = lambda: _import_module("phintys.distributed.elsewhere")


def _use_device(name):
    """Open the device that ``config.device`` names."""
    if name != "cpu":
        _import_module("phintys.gpu").use(name)


_find_theano_modules()
config.on_change("device", _use_device)


def _asarray(a, dtype, order=None):
    """Return ``a`` as an array of ``dtype``, where "floatX" means ``config.floatX``; it is copied only if needed.

    Examples
    --------
    >>> phintys._asarray([1, 2], "float32")
    array([1., 2.], dtype=float32)
    """
    return _numpy.asarray(a, dtype=config.floatX if dtype == "floatX" else dtype, order=order)
