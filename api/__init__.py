"""phintys: a compiler and virtual machine for array expressions, used the way Theano is used.

    import phintys
    import phintys.tensor as T

    x = T.dvector()
    f = phintys.function([x], T.exp(-x ** 2).sum())

Modules that programs rarely need (``phintys.printing``, ``phintys.gof``, ...) are imported at their first use.
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
from phintys.ops.loops.linear_recurrence import linear_recurrence as _linear_recurrence
from phintys.shared import SharedVariable, shared
from phintys.theano_finder import install as _find_theano_modules
from phintys.updates import OrderedUpdates
from phintys.vm.containers.container import Container
from phintys.vm.loops.loop_kernel import LoopKernel as _LoopKernel

_hooks.function = function
_hooks.input = In
_hooks.loop_kernel = _LoopKernel
_hooks.linear_recurrence = _linear_recurrence
_hooks.scan_profile = lambda **values: _import_module("phintys.reports.scan_profile").ScanProfileStats(**values)
_hooks.stand_ins = lambda *args: _import_module("phintys.optimizer.rewrites.logarithms").stand_ins(*args)
_hooks.formulas = lambda: _import_module("phintys.ops.formulas")
_hooks.sparse = lambda: _import_module("phintys.sparse")
_hooks.linker_class = lambda name: getattr(_import_module("phintys.gof.link"), name)
_hooks.theano_flags_are_set = lambda: _import_module("phintys.theano_flags").warn_if_unread()
_hooks.numpy_protocol = lambda: _import_module("phintys.numpy_protocol")

_hooks.device_opened = lambda: _import_module("phintys.gpu_shared")


def _use_device(name):
    """Open the device that ``config.device`` names."""
    if name != "cpu":
        _import_module("phintys.gpu").use(name)


_find_theano_modules()
config.on_change("device", _use_device)
_public_names.adopt(globals())

__version__ = "0.1.0"           # the only place: pyproject.toml reads it here
_register_soon(__version__)

# Name → the module that defines it, or that it is.
_ON_DEMAND = {"tensor": "tensor", "scalar": "scalar", "printing": "printing", "gof": "gof", "gradient": "gradient",
              "ifelse": "ifelse", "compile": "compile", "memory": "memory", "pp": "printing", "pprint": "printing",
              "debugprint": "printing", "get_include": "include_path", "configdefaults": "configdefaults",
              "OpFromGraph": "compile", "as_op": "compile", "numpy_protocol": "numpy_protocol",
              "sparse_grad": "tensor.subtensor", "misc": "misc", "compat": "compat", "raise_op": "raise_op",
              "configparser": "configparser", "scan_module": "scan_module", "scan": "scan_module",
              "map": "scan_module", "reduce": "scan_module", "foldl": "scan_module", "foldr": "scan_module",
              "scan_checkpoints": "scan_module", "ProfileStats": "compile", "sandbox": "sandbox",
              "random": "random", "gpu": "gpu", "gpuarray": "gpuarray", "install_as_theano": "as_theano",
              "typed_list": "typed_list", "d3viz": "d3viz", "sparse": "sparse", "test": "self_test",
              "theano_logger": "theano_logging", "logging_default_handler": "theano_logging"}

__all__ = sorted([
    "Apply", "Constant", "Container", "FAST_COMPILE", "FAST_RUN", "Function", "FunctionGraph", "FunctionMaker",
    "Generic", "In", "InconsistencyError", "Lop", "Mode", "Op", "OrderedUpdates", "Out", "Param", "Rop",
    "SharedVariable", "SymbolicInput", "SymbolicOutput", "Type", "Variable", "change_flags", "clone", "config", "dot",
    "function", "function_dump", "generic", "get_scalar_constant_value", "grad", "predefined_modes", "shared",
    "subgraph_grad", "updates", *_ON_DEMAND])


def __getattr__(name):
    if name not in _ON_DEMAND:
        raise _import_module("phintys.missing_names").unknown(__name__, name)
    module = _import_module("phintys." + _ON_DEMAND[name])
    value = module if name == _ON_DEMAND[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return __all__


def dot(l, r):
    """The product of two symbolic arrays of any kind that implement ``__dot__`` or ``__rdot__``.

    Raises
    ------
    NotImplementedError
        If neither operand supports the other.

    Examples
    --------
    >>> phintys.dot(T.as_tensor([1.0, 2.0]), T.as_tensor([3.0, 4.0])).eval()
    array(11.)
    """
    reasons = []
    for left, right, method in ((l, r, "__dot__"), (r, l, "__rdot__")):
        try:
            product = getattr(left, method)(right)
        except (AttributeError, TypeError) as error:
            reasons.append(error)
            continue
        if product is not NotImplemented:
            return product
    raise NotImplementedError(f"Dot failed for the following reasons: {'; '.join(map(str, reasons))}")


def _asarray(a, dtype, order=None):
    """Return ``a`` as an array of ``dtype``, where "floatX" means ``config.floatX``; it is copied only if needed.

    Examples
    --------
    >>> phintys._asarray([1, 2], "float32")
    array([1., 2.], dtype=float32)
    """
    return _numpy.asarray(a, dtype=config.floatX if dtype == "floatX" else dtype, order=order)


def get_scalar_constant_value(v):
    """Return the value of a variable that is a constant number; see ``phintys.tensor.get_scalar_constant_value``.

    Examples
    --------
    >>> phintys.get_scalar_constant_value(T.constant(3.0) * 2)
    array(6., dtype=float32)
    """
    return _import_module("phintys.tensor").get_scalar_constant_value(v)
