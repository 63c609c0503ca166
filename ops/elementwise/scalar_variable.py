"""Operators on single numbers, and the classes of variables and constants of a ``Scalar`` type.

Every method is one call of a row of the table in ``scalar.py``. If the other operand is a tensor of rank 0, it is
converted to a number. If it is a tensor with dimensions, and wherever else a tensor is expected, the number is
converted to a tensor (``tensor_from_scalar``). This file gives ``Scalar`` its ``Variable`` and ``Constant``.
"""
import warnings

from phintys.graph.config import config
from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import ComplexError, IntegerDivisionError
from phintys.ops.types.as_scalar import as_scalar
from phintys.ops.types.constant import constant as tensor_constant
from phintys.ops.types.dtypes import canonical_dtype, complex_dtypes, discrete_dtypes
from phintys.ops.types.number_views import tensor_from_scalar
from phintys.ops.types.scalar_type import Scalar, get_scalar_type
from phintys.ops.types.tensor_type import TensorType


def _as_operand(x):
    """A variable of any type unchanged; a value as a constant number."""
    return x if isinstance(x, Variable) else as_scalar(x)


def cast(x, dtype):
    """Convert ``x`` to ``dtype``; returns ``x`` itself if it already has that dtype.

    Parameters
    ----------
    x : Variable or number
        A tensor remains a tensor.
    dtype : str
        ``"floatX"`` means ``config.floatX``.

    Raises
    ------
    TypeError
        If ``x`` is complex and ``dtype`` is real: use ``real``, ``imag``, ``angle`` or ``abs`` instead.

    Examples
    --------
    >>> phintys.scalar.cast(phintys.scalar.float64("x"), "int32").type
    Scalar(int32)
    """
    x, dtype = _as_operand(x), canonical_dtype(dtype)
    if x.type.dtype == dtype:
        return x
    if x.type.dtype in complex_dtypes and dtype not in complex_dtypes:
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    return scalar.cast_op(dtype)(x)


def int_or_true_div(x_discrete, y_discrete):
    """The scalar op that ``/`` applies to discrete or other operands, according to ``config.int_division``.

    Parameters
    ----------
    x_discrete, y_discrete : bool

    Returns
    -------
    ScalarOp
        ``int_div`` or ``true_div``.

    Raises
    ------
    IntegerDivisionError
        For two discrete operands while ``config.int_division`` is ``"raise"``.

    Examples
    --------
    >>> phintys.scalar.int_or_true_div(x_discrete=False, y_discrete=True)
    true_div
    """
    if not (x_discrete and y_discrete) or config.int_division == "floatX":
        return scalar.true_div
    if config.int_division == "raise":
        raise IntegerDivisionError(
            "With `config.int_division` set to 'raise', dividing two integer types with '/' is forbidden to avoid "
            "confusion between integer and floating point divisions. Please use // for integer division, or if you "
            "want a float result either cast one of the arguments to a float or directly call `x.__truediv__(y)`.")
    warnings.warn("Division of two integer types with x / y is deprecated, please use x // y for an integer division.",
                  DeprecationWarning, stacklevel=4)
    return scalar.int_div


def div_proxy(x, y):
    """``x / y``; see ``int_or_true_div``.

    Examples
    --------
    >>> phintys.scalar.div_proxy(phintys.scalar.float64("x"), 2).type
    Scalar(float64)
    """
    x, y = _as_operand(x), _as_operand(y)
    return int_or_true_div(x.type.dtype in discrete_dtypes, y.type.dtype in discrete_dtypes)(x, y)


def mod_check(x, y):
    """``x % y``.

    Raises
    ------
    ComplexError
        If one of the operands is complex.

    Examples
    --------
    >>> phintys.scalar.mod_check(phintys.scalar.int64("x"), 2).type
    Scalar(int64)
    """
    x, y = _as_operand(x), _as_operand(y)
    for variable in (x, y):
        if variable.type.dtype in complex_dtypes:
            raise ComplexError(f"phintys does not support the mod operator (%) on complex numbers, since numpy "
                               f"deprecated it: {variable} is {variable.type.dtype}")
    return scalar.mod(x, y)


def _is_array(x):
    """Whether an operand is a tensor with dimensions, whose own operator then handles the operation."""
    return isinstance(x, Variable) and isinstance(x.type, TensorType) and x.type.ndim > 0


def operator(function):
    """Make the method of a binary operator."""
    return lambda self, other: NotImplemented if _is_array(other) else function(self, other)


def reflected(function):
    """Make the method of a reflected binary operator, where ``self`` is the right operand."""
    return lambda self, other: NotImplemented if _is_array(other) else function(other, self)


class ScalarOperators:
    """Python's operators for variables of a ``Scalar`` type."""

    __array_ufunc__ = None          # makes NumPy's scalars and arrays on the left defer to this class
    ndim = 0
    dtype = property(lambda self: self.type.dtype, doc="The name of the dtype.")

    __add__, __radd__ = operator(scalar.add), reflected(scalar.add)
    __sub__, __rsub__ = operator(scalar.sub), reflected(scalar.sub)
    __mul__, __rmul__ = operator(scalar.mul), reflected(scalar.mul)
    __truediv__, __rtruediv__ = operator(div_proxy), reflected(div_proxy)
    __floordiv__, __rfloordiv__ = operator(scalar.int_div), reflected(scalar.int_div)
    __mod__, __rmod__ = operator(mod_check), reflected(mod_check)
    __pow__, __rpow__ = operator(scalar.pow), reflected(scalar.pow)
    __and__, __rand__ = operator(scalar.and_), reflected(scalar.and_)
    __or__, __ror__ = operator(scalar.or_), reflected(scalar.or_)
    __xor__, __rxor__ = operator(scalar.xor), reflected(scalar.xor)
    __lshift__, __rlshift__ = operator(scalar.left_shift), reflected(scalar.left_shift)
    __rshift__, __rrshift__ = operator(scalar.right_shift), reflected(scalar.right_shift)
    __lt__, __le__ = operator(scalar.lt), operator(scalar.le)
    __gt__, __ge__ = operator(scalar.gt), operator(scalar.ge)

    def __neg__(self):
        return scalar.neg(self)

    def __abs__(self):
        return scalar.abs_(self)

    def __invert__(self):
        return scalar.invert(self)

    def astype(self, dtype):
        """The value converted to ``dtype``; see ``cast``."""
        return cast(self, dtype)

    def zeros_like(self, dtype=None):
        """Zero, in the dtype of this number or in ``dtype``."""
        return self._like(0, dtype)

    def ones_like(self, dtype=None):
        """One, in the dtype of this number or in ``dtype``."""
        return self._like(1, dtype)

    def _like(self, value, dtype):
        # `second` keeps the operand in the graph, so that an Elemwise of it gets the shape of its operands.
        return scalar.second(self, get_scalar_type(dtype or self.type.dtype).make_constant(value))

    def _as_TensorVariable(self):
        """The number as a tensor; called by ``as_tensor_variable``."""
        return tensor_from_scalar(self)


class ScalarVariable(ScalarOperators, Variable):
    """A variable of a ``Scalar`` type.

    Examples
    --------
    >>> x = phintys.scalar.float64("x")
    >>> type(x).__name__, (x + 1).type
    ('ScalarVariable', Scalar(float64))
    """


class ScalarConstant(ScalarOperators, Constant):
    """A constant number.

    Examples
    --------
    >>> phintys.scalar.ScalarConstant(phintys.scalar.float64, 2.5).data
    np.float64(2.5)
    """

    def signature(self):
        """A key that is equal for constants of equal type and value: NaN equals NaN, and 0.0 differs from -0.0."""
        return self.type, self.data.tobytes()

    def _as_TensorVariable(self):
        return tensor_constant(self.data, name=self.name)

    def __str__(self):
        return self.name if self.name is not None else f"Constant{{{self.data}}}"


Scalar.Variable, Scalar.Constant = ScalarVariable, ScalarConstant
