"""Conversion of Python values to constants: the dtype of a number, and ``as_tensor_variable``.

Python numbers have no dtype, so one is chosen ("autocast"): for an int, the smallest integer dtype that holds it; for a
float, floatX, or with floatX=float64 the smaller of float32 and float64 that represents it exactly. NumPy values keep
their dtype. The data of a constant is a private, read-only copy in native byte order. Constants for scalars between -10
and 10 are made once and shared.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.graph.variable import Constant, Variable
from phintys.ops.types.dtypes import DTYPE_NAMES, FLOAT_DTYPES, INT_DTYPES, NUMPY_DTYPES, canonical_dtype
from phintys.ops.types.tensor_type import TensorType, known_type

SHARED_RANGE = 10            # constants up to this magnitude are shared
MOST_SHARED = 10000

_shared_numbers = {}         # (Python type, value, dtype, floatX, policy) → constant


@at_home
class AsTensorError(TypeError):
    """Raised if a value cannot be converted to a tensor variable."""


class autocast_float_as:
    """Context manager that sets the dtypes that Python floats may get, smallest first (``cast_policy="custom"`` only).

    Parameters
    ----------
    *dtypes : str

    Examples
    --------
    >>> with phintys.scalar.autocast_float_as("float32"):
    ...     product = T.fvector("x") * 1.1
    >>> product.dtype
    'float32'
    """

    candidates = FLOAT_DTYPES

    def __init__(self, *dtypes):
        self.dtypes = dtypes
        if config.cast_policy != "custom":
            raise ValueError(f"autocast_float_as needs config.cast_policy='custom', not {config.cast_policy!r}.")

    def __enter__(self):
        self.old = autocast_float_as.candidates
        autocast_float_as.candidates = self.dtypes
        _shared_numbers.clear()
        return self

    def __exit__(self, *error):
        autocast_float_as.candidates = self.old
        _shared_numbers.clear()


def autocast_int(value):
    """A Python int as a 0-d array of the smallest signed dtype, or uint64 beyond int64 (``numpy+floatX``: int64)."""
    candidates = INT_DTYPES if config.cast_policy == "custom" else ("int64",)
    for dtype in candidates:
        limits = numpy.iinfo(dtype)
        if limits.min <= value <= limits.max:
            return numpy.array(value, dtype)
    if not 0 <= value < 1 << 64:
        raise OverflowError("it does not fit in 64 bits (a whole number from -2**63 to 2**64 - 1)")
    return numpy.array(value, "uint64")


def autocast_float(value):
    """A Python float as a 0-d array.

    Examples
    --------
    >>> phintys.scalar.autocast_float(1.5).dtype
    dtype('float32')
    """
    if config.cast_policy != "custom":
        return numpy.array(value, config.floatX)
    candidates = autocast_float_as.candidates
    if config.floatX != "float64" and config.floatX in candidates:
        return numpy.array(value, config.floatX)
    for dtype in candidates:
        if dtype == "float16" and candidates is FLOAT_DTYPES:
            continue                            # half precision is never chosen implicitly
        with numpy.errstate(over="ignore"):
            array = numpy.array(value, dtype)
        if array.item() == value:              # `array == value` would round the Python float first
            break
    return array


def convert(value, dtype=None):
    """A new array with the data of ``value``, of ``dtype`` or the dtype that autocasting chooses.

    Parameters
    ----------
    value : array_like
    dtype : str, optional

    Returns
    -------
    numpy.ndarray
        In native byte order.

    Raises
    ------
    TypeError
        If ``value`` is not numeric.
    OverflowError
        If no dtype can hold an int.
    """
    if dtype is not None:
        wanted = NUMPY_DTYPES[canonical_dtype(dtype)]
        with numpy.errstate(all="ignore"):
            return numpy.array(_array(value), dtype=wanted)
    if type(value) is int:
        return autocast_int(value)
    if type(value) is float:
        return autocast_float(value)
    array = _array(value)
    if array.size == 0 and not hasattr(value, "dtype"):
        return numpy.array(array, dtype=config.floatX)
    return numpy.array(array, dtype=NUMPY_DTYPES[DTYPE_NAMES[array.dtype.num]])


def _array(value):
    if isinstance(value, numpy.ndarray) and hasattr(value, "mask") and hasattr(value, "filled"):
        raise TypeError("a masked array cannot become a constant: its mask would be lost; fill it first")
    try:
        array = numpy.asarray(value)
    except ValueError as error:                 # nested lists of different lengths
        raise TypeError(str(error)) from None
    if array.dtype.num not in DTYPE_NAMES:
        raise TypeError(_why_not_numeric(value, array))
    return array


def _why_not_numeric(value, array):
    """The error message for a value whose elements are not numbers."""
    elements = f"its elements, of dtype {array.dtype}, are" if array.ndim else "it is"
    if array.dtype.kind in "US":
        return f"{elements} text, not numeric"
    if value is None:
        return "None is not numeric (was an argument left out, or a return statement forgotten?)"
    if array.dtype == object:
        classes = dict.fromkeys([type(item) for item in array.flat if not isinstance(item, (int, float, complex))])
        if not classes:
            return "a whole number in it does not fit in 64 bits"
        names = ["None" if kind is type(None) else f"of class {kind.__name__}" for kind in classes]
        return f"{elements} not numeric, but {', '.join(names[:3])}"
    return f"{elements} not numeric, but of dtype {array.dtype}"


def constant(x, name=None, ndim=None, dtype=None):
    """A constant with value ``x``.

    Parameters
    ----------
    x : array_like
        The value, which is copied. Dimensions of length 1 become broadcastable.
    name : str, optional
    ndim : int, optional
        The rank; broadcastable dimensions are added on the left.
    dtype : str, optional
        The default is the dtype of ``x``; Python numbers are autocast.

    Returns
    -------
    TensorConstant

    Raises
    ------
    TypeError
        If ``x`` is not numeric.
    ValueError
        If ``x`` has more than ``ndim`` dimensions.

    Examples
    --------
    >>> T.constant([1.0, 2.0]).type
    TensorType(float64, vector)
    """
    kind = type(x)
    if (kind is int or kind is float) and name is None and not ndim and -SHARED_RANGE <= x <= SHARED_RANGE:
        if x or kind is int:                    # 0.0 and -0.0 are equal keys
            return _shared_number(x, kind, dtype and canonical_dtype(dtype))
    try:
        return _make_constant(convert(x, dtype), name, ndim)
    except (TypeError, OverflowError) as error:
        raise TypeError(f"Could not convert {_shortened(x)} to TensorType: {error}") from None


def _shared_number(x, kind, dtype):
    key = (kind, x, dtype, config.floatX, config.cast_policy)
    found = _shared_numbers.get(key)
    if found is None:
        if len(_shared_numbers) >= MOST_SHARED:
            _shared_numbers.clear()
        found = _shared_numbers[key] = _make_constant(convert(x, dtype), None, None)
        found.cached = True
    return found


def _make_constant(array, name, ndim):
    if ndim is not None and array.ndim != ndim:
        if array.ndim > ndim:
            raise ValueError(f"ndarray could not be cast to constant with {ndim} dimensions: "
                             f"it has shape {array.shape}")
        array = array.reshape((1,) * (ndim - array.ndim) + array.shape)
    array.flags.writeable = False
    type_ = known_type(DTYPE_NAMES[array.dtype.num], [length == 1 for length in array.shape], array.shape)
    return type_.Constant(type_, array, name=name)


def padded_constant(variable, ndim):
    """A constant with the same data and additional broadcastable dimensions on the left; made once per rank."""
    padded = variable.__dict__.setdefault("padded", {})
    if ndim not in padded:
        data = variable.data
        padded[ndim] = _make_constant(data.reshape((1,) * (ndim - data.ndim) + data.shape), None, None)
        padded[ndim].is_padded = True
    return padded[ndim]


def is_padded_constant(variable):
    """Whether ``padded_constant`` made the variable, so that users have no reference to it."""
    return variable.__dict__.get("is_padded", False)


def constant_number(x):
    """The value of a constant whose elements are all equal, as a Python number; None for other variables."""
    if not isinstance(x, Variable):
        x = numpy.asarray(x)
        return x.item() if x.size == 1 else None
    if not isinstance(x, Constant) or not (isinstance(x.type, TensorType) and x.data.size or x.type.is_number):
        return None
    first = x.data.item(0)
    return first if x.data.size == 1 or (x.data == first).all() else None


def as_tensor_variable(x, name=None, ndim=None):
    """Convert ``x`` to a tensor variable.

    Parameters
    ----------
    x : Variable, Apply, number, array_like, or sequence that contains variables
        Tensor variables are returned unchanged; sequences of variables are stacked.
    name : str, optional
        The name of the constant if one is made.
    ndim : int, optional
        The rank of the result: broadcastable dimensions are added or dropped on the left.

    Raises
    ------
    AsTensorError
        If ``x`` cannot be converted; a subclass of ``TypeError``.
    ValueError
        If ``x`` is an Apply with several outputs and no default output, or cannot have rank ``ndim``.

    Examples
    --------
    >>> T.as_tensor_variable([1, 2]).type
    TensorType(int64, vector)
    """
    if isinstance(x, Variable):
        if ndim is None and isinstance(x.type, TensorType):
            return x
    elif isinstance(x, Apply):
        x = x.default_output()
    if not isinstance(x, Variable):
        converted = getattr(x, "_as_TensorVariable", None)
        return _from_value(x, name, ndim) if converted is None else converted()
    if not isinstance(x.type, TensorType):
        converted = getattr(x, "_as_TensorVariable", None)
        if converted is None:
            raise AsTensorError(f"Variable type field must be a TensorType: {x} has type {x.type}.")
        x = converted()
    return x if ndim is None or ndim == x.type.ndim else _with_rank(x, ndim)


def _from_value(x, name, ndim):
    if isinstance(x, (list, tuple)) and _contains_variables(x):
        return as_tensor_variable(TensorType.stack(x), ndim=ndim)
    if isinstance(x, bool):
        raise AsTensorError(
            "Cannot cast True or False as a tensor variable. Please use numpy.array(True) or numpy.array(False) if you "
            "need these constants. This error might be caused by using the == operator on Variables. v == w does "
            "not do what you think it does, use phintys.tensor.eq(v, w) instead.")
    try:
        return constant(x, name=name, ndim=ndim)
    except TypeError as error:
        raise AsTensorError(str(error).replace("Could not", "Cannot", 1)) from None


def _contains_variables(sequence):
    """Whether nested lists and tuples contain a variable."""
    waiting = [sequence]
    while waiting:
        for item in waiting.pop():
            if isinstance(item, Variable):
                return True
            if isinstance(item, (list, tuple)):
                waiting.append(item)
    return False


def _with_rank(x, ndim):
    rank = x.type.ndim
    if rank < ndim:
        return x.dimshuffle(["x"] * (ndim - rank) + list(range(rank)))
    surplus = x.type.broadcastable[:rank - ndim]
    if not all(surplus):
        raise ValueError(f"TensorType could not be cast to have {ndim} dimensions: {x.type}")
    return x.dimshuffle(list(range(rank - ndim, rank)))


def _shortened(value):
    try:
        text = repr(value) if isinstance(value, (str, bytes)) else str(value)
    except Exception:                           # a broken __str__ must not hide the real error
        text = object.__repr__(value)
    return text if len(text) <= 80 else text[:75] + "(...)"
