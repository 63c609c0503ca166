"""phintys: a compiler and virtual machine for array expressions, used the way Theano is used.

    import phintys
    import phintys.tensor as T

    x = T.dvector()
    f = phintys.function([x], T.exp(-x ** 2).sum())

The names are those of ``namespace.py``. A process that begins with ``import phintys.runtime`` only runs saved programs:
there they are loaded when one is used, or when another module of phintys is imported. Modules that programs rarely need
(``phintys.printing``, ``phintys.gof``, ...) are imported at their first use.
"""
import sys as _sys
from _thread import _local
from contextlib import suppress as _suppress
from importlib import import_module as _import_module
from importlib.machinery import ModuleSpec as _ModuleSpec

__version__ = "0.1.0"           # the only place: pyproject.toml reads it here


class _Alone:
    """While it is entered, the thread imports modules of phintys without loading the names first."""

    _depth = _local()

    def __enter__(self):
        self._depth.value = self.is_entered() + 1

    def __exit__(self, *error):
        self._depth.value -= 1

    def is_entered(self):
        """How often this thread has entered it."""
        return getattr(self._depth, "value", 0)


class _Watcher:
    """The first of ``sys.meta_path`` in a process that began with the runtime: another module loads the names first."""

    def find_spec(self, fullname, path=None, target=None):
        """Return None, so that others find the module, or the module that was loaded with the names."""
        if not fullname.startswith("phintys.") or fullname == "phintys.runtime" or _alone.is_entered():
            return None
        _load()
        return _ModuleSpec(fullname, self) if fullname in _sys.modules else None

    def create_module(self, spec):
        """Return the module that is there already."""
        module = _sys.modules[spec.name]
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """Let it keep its own specification."""
        module.__spec__ = module.__spec__.loader_state


_alone, _watcher = _Alone(), _Watcher()


def _load():
    """Load the names, and set up what must be there before one is used."""
    with _alone:
        names = vars(_import_module("phintys.namespace"))
    globals().update({name: value for name, value in names.items() if not name.startswith("__")})
    names["_public_names"].adopt(globals())
    names["_hooks"].version = __version__
    names["_register_soon"](__version__)
    with _suppress(ValueError):         # it was never there, or another thread has removed it
        _sys.meta_path.remove(_watcher)


def _begins_with_the_runtime():
    """Whether this package is imported because a program imports ``phintys.runtime``, or is started by ``-m``.

    Python imports a package before a module in it, so the answer is in the frames of its import system.
    """
    frame = _sys._getframe(1)
    while frame is not None:
        asks = {"_find_and_load_unlocked": "name", "_get_module_details": "mod_name"}.get(frame.f_code.co_name)
        wanted = frame.f_locals.get(asks, __name__) if asks else __name__
        if wanted != __name__:
            return wanted == f"{__name__}.runtime"
        frame = frame.f_back
    return False


# Name → the module that defines it, or that it is.
_ON_DEMAND = {"tensor": "tensor", "scalar": "scalar", "printing": "printing", "gof": "gof", "gradient": "gradient",
              "ifelse": "ifelse", "compile": "compile", "memory": "memory", "pp": "printing", "pprint": "printing",
              "debugprint": "printing", "get_include": "include_path", "configdefaults": "configdefaults",
              "OpFromGraph": "compile", "as_op": "compile", "numpy_protocol": "numpy_protocol",
              "sparse_grad": "tensor.subtensor", "misc": "misc", "compat": "compat", "raise_op": "raise_op",
              "configparser": "configparser", "scan_module": "scan_module", "scan": "scan_module", "map": "scan_module",
              "reduce": "scan_module", "foldl": "scan_module", "foldr": "scan_module",
              "scan_checkpoints": "scan_module", "ProfileStats": "compile", "sandbox": "sandbox", "random": "random",
              "runtime": "runtime", "save": "runtime", "load": "runtime", "export_onnx": "onnx_export", "gpu": "gpu",
              "gpuarray": "gpuarray", "install_as_theano": "as_theano", "typed_list": "typed_list", "d3viz": "d3viz",
              "sparse": "sparse", "test": "self_test", "theano_logger": "theano_logging",
              "logging_default_handler": "theano_logging", "distributed": "distributed", "vectorize": "transforms",
              "vectorize_graph": "transforms", "value_and_grad": "transforms", "vjp": "transforms",
              "jvp": "transforms", "linearize": "transforms", "why_not": "reports.why_not",
              "array_api": "array_api", "solvers": "solvers"}

__all__ = sorted([
    "Apply", "Constant", "Container", "FAST_COMPILE", "FAST_RUN", "Function", "FunctionGraph", "FunctionMaker",
    "Generic", "In", "InconsistencyError", "Lop", "Mode", "Op", "OrderedUpdates", "Out", "Param", "Rop",
    "SharedVariable", "SymbolicInput", "SymbolicOutput", "Type", "Variable", "change_flags", "clone", "config", "dot",
    "function", "function_dump", "generic", "get_scalar_constant_value", "grad", "predefined_modes", "shared",
    "subgraph_grad", "updates", *_ON_DEMAND])


def __getattr__(name):
    if _watcher in _sys.meta_path:
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        _load()
        return getattr(_sys.modules[__name__], name)
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


def get_scalar_constant_value(v):
    """Return the value of a variable that is a constant number; see ``phintys.tensor.get_scalar_constant_value``.

    Examples
    --------
    >>> phintys.get_scalar_constant_value(T.constant(3.0) * 2)
    array(6., dtype=float32)
    """
    return _import_module("phintys.tensor").get_scalar_constant_value(v)


if _begins_with_the_runtime():
    _sys.meta_path.insert(0, _watcher)
else:
    _load()
