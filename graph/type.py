"""Types: the values that a variable may have, and how other values are converted to them.

A type is immutable and may be shared by any number of variables. ``TensorType`` is defined in ``ops``; this file has
the base class and ``Generic``, the type of any Python object.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.errors import MethodNotDefined
from phintys.graph.properties import Properties
from phintys.graph.variable import Constant, Variable
from phintys.vm.call_stack import user_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Constant as AnyConstant  # in the class, the plain names are its attributes
    from phintys.graph.variable import Variable as AnyVariable


class Type(Properties):
    """Base of all types.

    Attributes
    ----------
    Variable, Constant : class
        The classes of variables and constants of this type.
    layout : tuple (NumPy type number, rank, place) or None
        Set if the values are arrays that native kernels can read; the place is a number of ``vm/places.py``.
    shape : tuple or None
        Lengths that are known before a call; not part of equality.
    is_number : bool
        Values are single NumPy numbers; programs hold them as arrays of rank 0, so ``layout`` has the rank 0.

    Examples
    --------
    >>> isinstance(T.dvector, phintys.Type), T.dvector.filter([1, 2])
    (True, array([1., 2.]))
    """

    Variable: Any = Variable
    Constant: Any = Constant
    layout: Any = None
    shape: Any = None
    is_number = False

    # ---- values ------------------------------------------------------------------------------------------------------
    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value``, or its conversion, as a value of this type.

        Parameters
        ----------
        value : object
        strict : bool
            Convert nothing.
        allow_downcast : bool or None
            Whether a conversion may lose precision. None: the type decides.

        Raises
        ------
        TypeError
            If it cannot be converted.
        """
        raise MethodNotDefined("filter", type(self), type(self).__name__)

    def lossless_types(self) -> Any:
        """Return which conversions `filter` makes without loss, so that arguments of calls can be converted without
        calling it.

        Returns
        -------
        list of int or None
            None: only ``filter`` can decide. Otherwise it follows the rules of ``TensorType.filter``, and these are
            NumPy's numbers of the dtypes whose arrays it converts, whatever their values.
        """
        return None

    def is_valid_value(self, value: Any) -> bool:
        """Return whether ``value`` is of this type without conversion."""
        try:
            self.filter(value, strict=True)
        except (TypeError, ValueError):
            return False
        return True

    def value_validity_msg(self, value: Any) -> Any:
        """Return why ``value`` is not a value of this type."""
        return "none"

    def unread_value(self) -> Any:
        """Return a value of this type for places where none is read; None: there is none that is easily made."""
        return None

    def values_eq(self, a: Any, b: Any) -> Any:
        """Return whether two values are equal."""
        return a == b

    def values_eq_approx(self, a: Any, b: Any) -> Any:
        """Return whether two values are equal up to rounding; by default, whether they are equal."""
        return self.values_eq(a, b)

    # ---- variables ---------------------------------------------------------------------------------------------------
    def make_variable(self, name: str | None = None) -> AnyVariable:
        """Return a new variable of this type, without looking for the user's line: ops make their outputs with it."""
        return self.Variable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> AnyConstant:
        """Return a constant of this type."""
        return self.Constant(self, value, name=name)

    def __call__(self, name: str | None = None) -> AnyVariable:
        """Return a new variable of this type that records where the user made it."""
        variable = self.make_variable(name)
        variable._position = user_trace()
        return variable

    def filter_variable(self, other: Any, allow_convert: bool = True) -> AnyVariable:
        """Return ``other`` as a variable of this type; a value becomes a constant.

        Raises
        ------
        TypeError
            If its type is different and ``convert_variable`` cannot convert it.
        """
        if not isinstance(other, Variable):
            other = self.make_constant(other)
        if other.type == self:
            return other
        converted = self.convert_variable(other) if allow_convert else None
        if converted is None:
            raise TypeError(f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}. "
                            f"You can try to manually convert {other} into a {self}.")
        return converted

    def convert_variable(self, variable: Variable) -> Any:
        """Return ``variable`` converted to this type if all its values are values of this type, else None."""
        return None

    # ---- types are immutable, so copies of a graph share them --------------------------------------------------------
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class SingletonType(Type):
    """A type without parameters, which has only one instance."""

    _instance = None

    def __new__(cls):
        if cls.__dict__.get("_instance") is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return type(self).__name__

    __repr__ = __str__


class Generic(SingletonType):
    """Any Python object.

    Examples
    --------
    >>> anything = phintys.generic("anything")
    >>> phintys.function([anything], anything)({"any": "object"})
    {'any': 'object'}
    """

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> Any:
        return value

    def is_valid_value(self, value: Sequence[int] | None) -> bool:
        return True


generic = Generic()
