"""Arrays of the array API standard that compute each function by a graph of ``phintys.array_api``, at once.

A public test suite of the standard, https://github.com/data-apis/array-api-tests, needs arrays with values. To run it
over our namespace, with this folder and the suite on the path::

    make array-api-tests SUITE=/path/to/array-api-tests

What is expected to fail, and why, is in ``docs/guide/other_libraries.md``.
"""
import sys
from functools import partial
from inspect import signature
from types import ModuleType, SimpleNamespace

import numpy

from phintys import array_api, function
from phintys.graph.variable import Variable
from phintys.tensor import TensorType, as_tensor_variable, set_subtensor

MODE = "FAST_COMPILE"


def _item(x, index):
    return x[index]


def _assigned(x, index, value):
    return set_subtensor(x[index], value)


class Array:
    """A NumPy array that the functions of this module take and return."""

    def __init__(self, value):
        self.value = numpy.asarray(value)

    dtype = property(lambda self: self.value.dtype.name)
    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    device = property(lambda self: "cpu")
    T = property(lambda self: computed(lambda x: x.T, self))
    mT = property(lambda self: computed(lambda x: x.mT, self))
    __hash__ = None

    def to_device(self, device, /, *, stream=None):
        return computed(lambda x: x.to_device(device), self)

    def __array_namespace__(self, *, api_version=None):
        array_api.matching(api_version)
        return sys.modules[__name__]

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return self.value.__dlpack_device__()

    def __getitem__(self, index):
        return computed(_item, self, index)

    def __setitem__(self, index, value):
        value = value if isinstance(value, Array) else Array(numpy.asarray(value, self.dtype))
        self.value = computed(_assigned, self, index, value).value

    def __len__(self):
        return len(self.value)

    def __iter__(self):
        return (self[number] for number in range(len(self)))

    def __repr__(self):
        return f"Array({self.value!r})"


for _name in ("bool", "int", "float", "complex", "index"):
    setattr(Array, f"__{_name}__", lambda self, name=_name: getattr(self.value, f"__{name}__")())


def _operator(name):
    def method(self, *others):
        for other in others:
            if not isinstance(other, (Array, int, float, complex)):
                return NotImplemented
        return computed(EQUALITIES.get(name) or _methods.setdefault(name, partial(_method, name)), self, *others)
    return method


def _method(name, x, *others):
    return getattr(x, name)(*others)


_methods = {}
EQUALITIES = {"__eq__": array_api.equal, "__ne__": array_api.not_equal}     # of variables these compare identities


for _name in ("abs neg pos invert add sub mul truediv floordiv mod pow matmul and or xor lshift rshift "
              "lt le gt ge eq ne").split():
    _plain, _reflected = f"__{_name}__", f"__r{_name}__"
    setattr(Array, _plain, _operator(_plain))
    if _name not in "abs neg pos invert lt le gt ge eq ne".split():
        setattr(Array, _reflected, _operator(_reflected))


_compiled = {}              # call, types and other arguments → the result's structure and the compiled function


def computed(call, *arguments, **options):
    """The result of a function of variables for these arrays."""
    values, variables = [], []

    def described(thing):
        if isinstance(thing, Array):
            return thing.dtype, tuple([length == 1 for length in thing.shape]), "array"
        if isinstance(thing, slice):
            return "slice", described([thing.start, thing.stop, thing.step])
        return tuple(map(described, thing)) if isinstance(thing, (tuple, list)) else (type(thing), repr(thing))

    key = call, described(arguments), tuple([(name, described(value)) for name, value in options.items()])

    def symbolic(thing):
        if isinstance(thing, Array):
            values.append(thing.value)
            variables.append(TensorType(thing.dtype, [length == 1 for length in thing.shape])())
            return variables[-1]
        if isinstance(thing, (tuple, list)):
            return type(thing)(map(symbolic, thing))
        return slice(symbolic(thing.start), symbolic(thing.stop), symbolic(thing.step)) if isinstance(
            thing, slice) else thing

    arguments, options = symbolic(arguments), {name: symbolic(value) for name, value in options.items()}
    if key in _compiled:
        found, compiled = _compiled[key]
        return _evaluated(found, iter(compiled(*values)))
    found = call(*arguments, **options)
    outputs = []

    def collected(thing):
        if isinstance(thing, Variable):
            outputs.append(as_tensor_variable(thing))
        elif isinstance(thing, (tuple, list)):
            [collected(part) for part in thing]
    collected(found)
    if not outputs:
        return found
    compiled = function(variables, outputs, mode=MODE, on_unused_input="ignore")
    if len(_compiled) < 5000:
        _compiled[key] = found, compiled
    return _evaluated(found, iter(compiled(*values)))


def _evaluated(thing, results):
    """A result with arrays for its variables."""
    if isinstance(thing, Variable):
        return Array(next(results))
    if isinstance(thing, (tuple, list)):
        parts = [_evaluated(part, results) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else type(thing)(parts)
    return thing


def _namespace(source, names):
    return {name: _computing(getattr(source, name)) if callable(getattr(source, name)) and not isinstance(
        getattr(source, name), (SimpleNamespace, type, ModuleType)) else getattr(source, name) for name in names}


def _computing(function):
    """A function that computes at once, with the signature of the other."""
    found = partial(computed, function)
    found.__signature__ = signature(function)
    return found


WITHOUT_VALUES = "can_cast result_type isdtype finfo iinfo broadcast_shapes"
globals().update(_namespace(array_api, array_api.__all__))
globals().update({name: getattr(array_api, name) for name in "isdtype broadcast_shapes".split()})
linalg, fft = [SimpleNamespace(**_namespace(part, vars(part))) for part in (array_api.linalg, array_api.fft)]
__array_namespace_info__ = array_api.__array_namespace_info__
__array_api_version__ = array_api.__array_api_version__


def _by_dtype(name):
    def call(*things):
        return getattr(array_api, name)(*[SimpleNamespace(dtype=thing.dtype) if isinstance(thing, Array) else thing
                                          for thing in things])
    call.__signature__ = signature(getattr(array_api, name))
    return call


globals().update({name: _by_dtype(name) for name in ("can_cast", "result_type", "finfo", "iinfo")})


def from_dlpack(x, /, *, device=None, copy=None):
    return Array(numpy.from_dlpack(x))


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if isinstance(obj, Array):
        obj = obj.value

    def plain(thing):
        return [plain(part) for part in thing] if isinstance(thing, (list, tuple)) else (
            thing.value if isinstance(thing, Array) else thing)
    found = computed(lambda: array_api.asarray(numpy.asarray(plain(obj)), dtype=dtype, device=device))
    return found
