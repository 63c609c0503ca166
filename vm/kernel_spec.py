"""Kernels as data: a class and plain arguments, from which an equal kernel is made in any process.

``Kernel.spec`` describes a kernel by what its constructor was given. Plain are numbers, strings, bytes, dtypes, None,
and tuples of such; arrays, ufuncs and other kernels are described by the named tuples below. A spec holds no array and
no list, so it is hashable and nothing that changes later changes it.
"""
import pickle
import sys
from collections import namedtuple
from importlib import import_module

import numpy

# kernel: the class; arguments: of its constructor; named: pairs of those that were given by name.
KernelSpec = namedtuple("KernelSpec", "kernel arguments named", defaults=((),))
ArraySpec = namedtuple("ArraySpec", "dtype shape content")      # content: the elements in C order, as bytes
UfuncSpec = namedtuple("UfuncSpec", "module name")
PickleSpec = namedtuple("PickleSpec", "content")                # of a program, the body of a loop

PLAIN = (bool, int, float, complex, str, bytes, type(None), numpy.generic, numpy.dtype)
UFUNC_MODULES = ("numpy", "scipy.special", "scipy.special._ufuncs")


def spec_of(kernel_class, arguments, named):
    """The spec of a kernel.

    Parameters
    ----------
    kernel_class : type
    arguments : tuple
        What the constructor was given.
    named : dict or None
        What it was given by name.

    Returns
    -------
    KernelSpec

    Raises
    ------
    TypeError
        If an argument is not plain; the message names the class and the argument.
    """
    described = {}
    for name, value in [*enumerate(arguments), *(named or {}).items()]:
        try:
            described[name] = plain(value)
        except TypeError as error:
            raise TypeError(
                f"the kernel class {kernel_class.__module__}.{kernel_class.__qualname__} has no spec: argument "
                f"{name!r} of its constructor is no plain value ({error}). A kernel is rebuilt from its class and the "
                "arguments of its constructor, which may be numbers, strings, dtypes, arrays of numbers, ufuncs, "
                "kernels, and tuples or lists of these") from None
    return KernelSpec(kernel_class, tuple([described[position] for position in range(len(arguments))]),
                      tuple([(name, described[name]) for name in named or ()]))


def kernel_of(spec):
    """The kernel that a ``KernelSpec`` describes, made anew."""
    return spec.kernel(*[given(value) for value in spec.arguments],
                       **{name: given(value) for name, value in spec.named})


def plain(value):
    """A constructor's argument as plain data, or ``TypeError``."""
    if isinstance(value, (tuple, list)):
        return tuple([plain(item) for item in value])
    if isinstance(value, numpy.ndarray):
        return _array_spec(value)
    if isinstance(value, numpy.ufunc):
        return _ufunc_spec(value)
    if isinstance(value, PLAIN):
        return value
    if isinstance(getattr(value, "spec", None), KernelSpec):
        return value.spec
    if getattr(value, "is_program", False):
        return PickleSpec(pickle.dumps(value))
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def given(value):
    """The argument that plain data describes; lists come back as tuples."""
    if isinstance(value, ArraySpec):
        return numpy.frombuffer(value.content, value.dtype).reshape(value.shape)
    if isinstance(value, UfuncSpec):
        return _ufunc_of(value)
    if isinstance(value, PickleSpec):
        return pickle.loads(value.content)
    if isinstance(value, KernelSpec):
        return kernel_of(value)
    return tuple([given(item) for item in value]) if isinstance(value, tuple) else value


def _array_spec(array):
    if array.dtype.hasobject:
        raise TypeError(f"an array of dtype {array.dtype}")
    return ArraySpec(array.dtype.str, array.shape, array.tobytes())


def _ufunc_spec(ufunc):
    """A ufunc by the module that has it under its own name."""
    for module in UFUNC_MODULES:
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return UfuncSpec(module, ufunc.__name__)
    raise TypeError(f"{ufunc!r}, which none of the modules {', '.join(UFUNC_MODULES)} has under this name")


def _ufunc_of(spec):
    return getattr(import_module(spec.module), spec.name)
