"""Shared variables: graph inputs whose value persists between calls and is the same for all functions that use them.

The value is in the variable's ``container``, which every function that reads or updates the variable uses. Cloning a
variable shares the container; no two containers share memory. ``shared`` picks the kind of variable by calling the
registered constructors, the latest first; a constructor refuses a value by raising ``TypeError``.
"""
from __future__ import annotations

import sys
from copy import deepcopy
from typing import TYPE_CHECKING, Any, overload

import numpy

from phintys.graph import hooks
from phintys.graph.errors import made_at
from phintys.graph.scratchpad import copy_tag
from phintys.graph.type import generic
from phintys.graph.variable import Variable
from phintys.ops.operators import TensorOperators
from phintys.ops.random.generator_states import KINDS, WORDS, random_state_of, words_of_random_state
from phintys.ops.random.random_state_type import random_state_type
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.call_stack import user_trace
from phintys.vm.containers.container import Container
from phintys.vm.explaining.runtime_error import filtered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

    from phintys.graph.type import Type

    Constructor = Callable[..., "SharedVariable"]

__all__ = ["ScalarSharedVariable", "SharedVariable", "TensorSharedVariable", "generic_constructor",
           "scalar_constructor", "shared", "shared_constructor", "tensor_constructor"]

SHOWN_LENGTH = 6                # elements of an array that are shown in full
SHOWN_WIDTH = 60                # characters of a value


def described_value(value: Any) -> str:
    """Describe a value in a few words: an array's dtype, shape and first elements; other objects' type and text.

    Parameters
    ----------
    value : object
    """
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        text = " ".join(repr(value).split())
        return f"{type(value).__name__}, {text if len(text) <= SHOWN_WIDTH else text[:SHOWN_WIDTH - 3] + '...'}"
    shape = f" {value.shape}" if value.ndim else ""
    with numpy.printoptions(threshold=SHOWN_LENGTH, edgeitems=2, precision=4, linewidth=10_000):
        text = " ".join(str(value).split()).replace("[ ", "[")
    return f"{value.dtype}{shape}, {text if len(text) <= SHOWN_WIDTH else text[:SHOWN_WIDTH - 3] + '...'}"


class SharedVariable(Variable):
    """A variable with a value.

    Parameters
    ----------
    name : str or None
    type : Type
    value : object
        Must be None if ``container`` is given.
    strict : bool or None
        Refuse values that are not already of the type; None if ``container`` is given.
    allow_downcast : bool or None
        As in `In`.
    container : Container, optional
        An existing one to share.
    borrow : bool
        Use the memory of ``value`` itself, if possible; see ``set_value``.

    Attributes
    ----------
    default_update : Variable
        If set, the new value in every function that uses this variable, unless the function's ``updates`` or
        ``no_default_updates`` say otherwise.

    Examples
    --------
    >>> weights = phintys.shared(numpy.array([1.0, 2.0]), name="weights")
    >>> weights.set_value([3.0, 4.0])
    >>> weights.get_value(), (weights * 2).eval()
    (array([3., 4.]), array([6., 8.]))
    """

    default_update: Variable
    visits: Any = None              # the class of what surrounds calls with variables whose value is elsewhere

    def __init__(self, name: str | None, type: Type, value: Any, strict: bool | None,
                 allow_downcast: bool | None = None, container: Container | None = None,
                 borrow: bool = False) -> None:
        super().__init__(type, None, None, name)
        self._position = user_trace()
        if container is not None:
            if value is not None or strict is not None:
                raise TypeError("value and strict are ignored if you pass a container here")
            self.container = container
            return
        value = type.filter(value, strict=bool(strict), allow_downcast=allow_downcast)
        self.container = Container.__new__(Container, type, name=name, strict=strict, allow_downcast=allow_downcast)
        self.container.set(value, borrow=borrow)

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the value, as the type that the variable was made from.

        Parameters
        ----------
        borrow : bool
            Return the variable's own memory if possible. Do not write to it. Later calls of functions do not change
            the array: an update writes only to memory without other references.
        return_internal_type : bool
            Return the value as it is stored; on the CPU that is the same.

        Returns
        -------
        object
            For tensors a ``numpy.ndarray`` of the variable's dtype; without ``borrow`` it never shares memory with the
            variable. Other objects are deep copies unless ``borrow``.
        """
        return self.container.get(borrow=borrow)

    def get_test_value(self) -> Any:
        """Return the value; ``config.compute_test_value`` uses it."""
        return self.get_value(borrow=True)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value, for all functions that use the variable; this waits for calls that update it.

        Parameters
        ----------
        new_value : object
            It is converted like an argument of a function.
        borrow : bool
            Use the memory of ``new_value`` itself if possible: not if it is read-only, unaligned, in another byte
            order, or held by another shared variable. Updates overwrite it only after you have dropped the array.
            Without ``borrow`` the value is copied: into the variable's own memory if the shape is the same and no other
            reference to that memory exists.

        Raises
        ------
        TypeError
            If the value does not fit the type; the old value stays. Text is also a ``ValueError``.
        """
        container = self.container
        value = filtered(self.type, new_value, container.strict, container.allow_downcast,
                         lambda: f"the shared variable {self}{made_at(self)}")
        container.set(value, borrow=borrow)

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to zero, in place if no other reference to the memory exists.

        Parameters
        ----------
        borrow : bool
            It has no effect: memory that can be overwritten safely is always overwritten.
        """
        value = self.container.get(borrow=True)
        if isinstance(value, numpy.ndarray):
            shape, dtype = value.shape, value.dtype
            del value                               # drop this reference to the memory
            self.container.set(numpy.broadcast_to(numpy.zeros((), dtype), shape))
        else:
            self.set_value(0 * value, borrow=True)

    def clone(self) -> Self:
        """Return a variable of the same class, with the same name, tag and container."""
        twin = type(self)(name=self.name, type=self.type, value=None, strict=None, container=self.container)
        copy_tag(self, twin)
        twin._position = self._position
        return twin

    def __repr__(self):
        """The name, type, shape and a few values, as ``<shared w: float64 (3,), [0. 1. 2.]>``."""
        title = "shared" if self.name is None else f"shared {self.name}"
        return f"<{title}: {described_value(self.container.get(borrow=True))}>"

    def __getitem__(self, *indices):
        raise TypeError(f"The generic 'SharedVariable' object is not subscriptable. {self._content()}")

    if not TYPE_CHECKING:                           # type checkers would accept any name as an attribute
        def __getattr__(self, name):
            """Raise the error for a missing attribute; tensor attributes are missing because of the kind of value."""
            found = getattr(type(self), name, None)
            if isinstance(found, property):             # it exists, and has raised an AttributeError
                return found.fget(self)
            is_tensors = not name.startswith("_") and hasattr(TensorOperators, name)
            hint = f". {self._content()}" if is_tensors and self.type == generic else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    def _content(self):
        """Describe the value, and what was probably intended."""
        value = self.get_value(borrow=True)
        if isinstance(value, numpy.ndarray):
            return (f"This shared variable contains a NumPy array with dtype: '{value.dtype}', which is not a dtype of "
                    "tensors: please cast your data to a numeric type")
        return (f"This shared variable contains an object of type: {type(value)}. Did you forget to cast it into a "
                "NumPy array before calling phintys.shared(), as in phintys.shared(numpy.array(value))?")

    @property
    def value(self) -> Any:
        """The value itself, as ``get_value(borrow=True)`` returns it."""
        raise AttributeError("shared variables have no attribute 'value': use get_value() and set_value()")

    @value.setter
    def value(self, new_value: Any) -> Any:
        raise AttributeError("shared variables have no attribute 'value': use get_value() and set_value()")


def container_of(value: Any) -> Any:
    """The container of a shared variable; any other value itself."""
    return value.container if isinstance(value, SharedVariable) else value


def _refusing(name):
    """Return the method of an operator that generic shared variables do not have."""
    def method(self, *others):
        if self.type != generic:
            if others:
                return NotImplemented
            raise TypeError(f"bad operand type for {name}: {self} of type {self.type}")
        raise TypeError(f"The generic 'SharedVariable' object has no operator {name}. {self._content()}")
    return method


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor".split()
for _operator in [*_OPERATORS, *[f"r{name}" for name in _OPERATORS], "neg", "abs", "invert"]:
    setattr(SharedVariable, f"__{_operator}__", _refusing(_operator))


class TensorSharedVariable(TensorOperators, SharedVariable):
    """A shared array of any rank.

    Examples
    --------
    >>> type(phintys.shared(numpy.zeros(2))).__name__
    'TensorSharedVariable'
    """

    type: TensorType


class ScalarSharedVariable(TensorOperators, SharedVariable):
    """A shared number, stored as a 0-d array.

    Examples
    --------
    >>> type(phintys.scalar.shared(numpy.float64(3.0))).__name__
    'ScalarSharedVariable'
    """

    type: TensorType


class RandomStateSharedVariable(SharedVariable):
    """A shared ``numpy.random.RandomState``.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3), name="state")
    >>> type(state).__name__, state.get_value().uniform() == numpy.random.RandomState(3).uniform()
    ('RandomStateSharedVariable', True)
    """


class RandomVectorSharedVariable(RandomStateSharedVariable):
    """A shared ``numpy.random.RandomState``, stored as a vector from which kernels draw."""

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """A ``numpy.random.RandomState`` that will draw the same numbers; it is a copy.

        Parameters
        ----------
        borrow : bool
            It has no effect.
        return_internal_type : bool
            Return the vector of uint64 instead.
        """
        words = super().get_value(borrow=borrow or not return_internal_type)
        return words if return_internal_type else random_state_of(words)

    def get_test_value(self) -> Any:
        """The vector of uint64, from which the ops draw."""
        return self.get_value(borrow=True, return_internal_type=True)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the state.

        Parameters
        ----------
        new_value : numpy.random.RandomState, or vector of uint64
            A state of MT19937, or a vector that ``get_value`` returned with ``return_internal_type``.
        borrow : bool
            As for other shared variables.

        Raises
        ------
        TypeError
            If it is not such a state; the old state stays.
        ValueError
            If it is the vector of another generator; the old state stays.
        """
        words = new_value
        if not isinstance(new_value, numpy.ndarray) or new_value.dtype != "uint64":
            words = words_of_random_state(new_value)
        elif new_value.shape != (STATE_WORDS,) or new_value[0] != MERSENNE:
            raise ValueError(f"the state of a RandomState is a vector of {STATE_WORDS} numbers, the first of which is "
                             f"{MERSENNE}: this is the state of another generator, {new_value}")
        super().set_value(words, borrow=borrow)


MERSENNE = KINDS.index("MT19937")
STATE_WORDS = WORDS["MT19937"]
CONSTRUCTORS: list[Constructor] = []    # `shared` tries them, the latest first


def shared_constructor(constructor: Constructor, remove: bool = False) -> Constructor:
    """Register (or remove) a constructor that ``shared`` tries; usable as a decorator.

    A constructor takes ``(value, name, strict, allow_downcast)`` and its own keywords, and raises ``TypeError`` for
    values and keywords that it does not support.

    Examples
    --------
    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> @phintys.compile.shared_constructor
    ... def interval_constructor(value, name=None, strict=False, allow_downcast=None, **options):
    ...     if type(value).__name__ != "Interval":
    ...         raise TypeError("not an Interval")
    ...     return phintys.shared(numpy.array([value.low, value.high]), name=name)
    >>> phintys.shared(Interval(1.0, 2.0)).get_value()
    array([1., 2.])
    """
    if remove:
        CONSTRUCTORS.remove(constructor)
    else:
        CONSTRUCTORS.append(constructor)
    return constructor


@overload
def shared(value: numpy.ndarray, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None, *,
           borrow: bool = False, broadcastable: Sequence[bool] | None = None,
           target: str = "cpu") -> TensorSharedVariable: ...
@overload
def shared(value: numpy.number | numpy.bool | complex, name: str | None = None, strict: bool = False,
           allow_downcast: bool | None = None, *, borrow: bool = False,
           target: str = "cpu") -> ScalarSharedVariable: ...
@overload
def shared(value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None,
           **kwargs: Any) -> SharedVariable: ...


def shared(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
           **kwargs: Any) -> SharedVariable:
    """Make a shared variable with a copy of ``value``.

    Parameters
    ----------
    value : object
        An array or number makes a tensor; anything else, including a list of numbers, makes a generic variable, which
        only ops of the user can read, as in Theano.
    name : str, optional
    strict : bool
        Later values must have exactly the type.
    allow_downcast : bool or None
        Convert later values even if that loses precision.
    borrow : bool
        (arrays and numbers) Use the memory of ``value`` itself if possible; see ``SharedVariable.set_value``. Updates
        overwrite it only after you have dropped the array.
    broadcastable : tuple of bool
        (arrays) Axes that always have length 1. Default: none, as the shape may change with the value.
    target : str
        (arrays) Where the value is: "cpu", or a GPU: "cuda". By default `config.device`, for arrays of float32.
        "memory": in memory that other processes share, see `phintys.distributed`.

    Returns
    -------
    SharedVariable

    Raises
    ------
    TypeError
        If the value is symbolic, a masked array or an array of another library, such as a series of pandas, or no
        constructor accepts the keywords.

    Examples
    --------
    >>> w = phintys.shared(1.5, name="w")
    >>> w.set_value(2.5)
    >>> w.get_value()
    array(2.5)
    """
    if isinstance(value, Variable):
        raise TypeError("Shared variable constructor needs numeric values and not symbolic variables, "
                        f"got the variable {value}")
    if _is_masked(value):
        raise TypeError("masked arrays have no counterpart in phintys: fill the masked elements first, "
                        "for instance with value.filled(0)")
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"The name of a shared variable must be a string, got {name!r}.")
    target = kwargs.get("target", "cpu")
    if is_elsewhere(target):
        hooks.values_elsewhere()        # adds the constructor of variables there
    elif target != "cpu":
        hooks.device_opened()
    for constructor in reversed(CONSTRUCTORS):
        try:
            return constructor(value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs)
        except TypeError:
            continue
        except MemoryError as error:
            if "on the device" not in str(error):       # where no memory is borrowed from the host
                error.args += ("you might consider using 'phintys.shared(..., borrow=True)'",)
            raise
    raise TypeError("No suitable SharedVariable constructor could be found. Are you sure all kwargs are supported? "
                    f'We do not support the parameter dtype or type. value="{value}". parameters="{kwargs}"'
                    + _why_not_at(target, value))


def is_elsewhere(target: Any) -> bool:
    """Whether a target is neither the processor nor a device, but where other processes see the value."""
    return target == "memory" or not (target is None or isinstance(target, str))


shared.constructors = CONSTRUCTORS      # type: ignore[attr-defined]


def _why_not_at(target, value):
    """The addition to the message if the requested place cannot have the value, or a shared variable at all."""
    if _is_foreign(value):
        return f". Make an array of the {type(value).__name__} first: numpy.asarray(value)"
    if is_elsewhere(target):
        return f". At the target {target!r} are arrays and numbers, no value of {type(value)}"
    reason = None if target == "cpu" else hooks.device_opened().reason_against(value, target)
    return f". {reason}" if reason else ""


def _is_masked(value):
    """Return whether a value is a masked array; it cannot be one if ``numpy.ma`` was never imported (5 ms)."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(value, masked.MaskedArray)


def _is_foreign(value):
    """Whether a value is no array of NumPy, but says that it can be one, such as a series of pandas."""
    return hasattr(type(value), "__array__") and not isinstance(value, (numpy.ndarray, numpy.generic, type))


@shared_constructor
def generic_constructor(value: str | Sequence[int], name: str | None = None, strict: bool = False,
                        allow_downcast: Any = None) -> SharedVariable:
    """Store any Python object by reference, but none that is an array of another library.

    Examples
    --------
    >>> phintys.shared("any object").type
    Generic
    """
    if _is_foreign(value):
        raise TypeError(f"an array of another library: {type(value)}")
    return SharedVariable(name, generic, value, strict, allow_downcast, borrow=True)


def _refuse_target(target):
    if target != "cpu":
        raise TypeError(f"shared variables live on the CPU; target={target!r} is not available")


@shared_constructor
def tensor_constructor(value: str | Sequence[int] | numpy.ndarray, name: str | None = None, strict: bool = False,
                       allow_downcast: Any = None, borrow: bool = False, broadcastable: Sequence[bool] | None = None,
                       target: str = "cpu") -> TensorSharedVariable:
    """Store an array. Without ``broadcastable`` no axis is broadcastable, since the shape may change with the value.

    Examples
    --------
    >>> phintys.shared(numpy.zeros((1, 3)), broadcastable=(True, False)).type
    TensorType(float64, row)
    """
    _refuse_target(target)
    if not isinstance(value, numpy.ndarray):
        raise TypeError(f"not an array: {type(value)}")
    if broadcastable is None:
        broadcastable = (False,) * value.ndim
    type_ = TensorType(value.dtype, broadcastable)
    return TensorSharedVariable(name, type_, numpy.asarray(value), strict, allow_downcast, borrow=borrow)


@shared_constructor
def scalar_constructor(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
                       borrow: bool = False, target: str = "cpu") -> ScalarSharedVariable:
    """Store a Python or NumPy number as a 0-d array. ``borrow`` has no effect: there is no memory to borrow.

    Examples
    --------
    >>> phintys.shared(numpy.float32(2.5)).type
    TensorType(float32, scalar)
    """
    _refuse_target(target)
    if not isinstance(value, (numpy.number, numpy.bool_, float, int, complex)):
        raise TypeError(f"not a number: {type(value)}")
    value = numpy.asarray(value)
    return ScalarSharedVariable(name, TensorType(value.dtype, ()), value, strict, allow_downcast)


@shared_constructor
def randomstate_constructor(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
                            borrow: bool = False) -> RandomStateSharedVariable:
    """Store a copy of a ``numpy.random.RandomState``, or with ``borrow`` the object itself.

    Examples
    --------
    >>> phintys.shared(numpy.random.RandomState(3)).type
    RandomStateType
    """
    if type(value).__name__ != "RandomState" or not random_state_type.is_valid_value(value):
        raise TypeError(f"not a numpy.random.RandomState: {type(value)}")
    return RandomStateSharedVariable(name, random_state_type, value if borrow else deepcopy(value), strict,
                                     allow_downcast, borrow=True)
