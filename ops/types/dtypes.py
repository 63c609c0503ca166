"""The dtypes of tensors: their names, numbers, families and promotion rules.

In phintys, a dtype is always a string (``"float64"``), never a NumPy object; this file defines the valid strings.
Promotion (``upcast``) follows NumPy's rules for arrays, which do not depend on values, except that
``config.cast_policy = "numpy+floatX"`` keeps results in floatX unless an operand has a wider dtype. The dtype rules of
elementwise ops are in ``scalar.py``.
"""
import numpy

from phintys.graph.config import config

BOOL = "bool"
INT_DTYPES = ("int8", "int16", "int32", "int64")
UINT_DTYPES = ("uint8", "uint16", "uint32", "uint64")
FLOAT_DTYPES = ("float16", "float32", "float64")
COMPLEX_DTYPES = ("complex64", "complex128")
INTEGER_DTYPES = INT_DTYPES + UINT_DTYPES
DISCRETE_DTYPES = (BOOL,) + INTEGER_DTYPES
CONTINUOUS_DTYPES = FLOAT_DTYPES + COMPLEX_DTYPES
ALL_DTYPES = DISCRETE_DTYPES + CONTINUOUS_DTYPES

# The same families as sets, for membership tests.
discrete_dtypes = frozenset(DISCRETE_DTYPES)
integer_dtypes = frozenset(INTEGER_DTYPES)
int_dtypes = frozenset(INT_DTYPES)
uint_dtypes = frozenset(UINT_DTYPES)
float_dtypes = frozenset(FLOAT_DTYPES)
complex_dtypes = frozenset(COMPLEX_DTYPES)
continuous_dtypes = frozenset(CONTINUOUS_DTYPES)

NUMPY_DTYPES = {name: numpy.dtype(name) for name in ALL_DTYPES}
TYPE_NUMBERS = {name: dtype.num for name, dtype in NUMPY_DTYPES.items()}
CHARACTERS = {name: dtype.char for name, dtype in NUMPY_DTYPES.items()}
# Type number → name, including C types without a separate dtype here (longlong); NumPy takes 3 us to make a name.
DTYPE_NAMES = {numpy.dtype(code).num: numpy.dtype(code).name for code in numpy.typecodes["AllInteger"] + "?efdFD"}

# Complex dtype → the dtype of its real and imaginary part.
REAL_PART = {"complex64": "float32", "complex128": "float64"}

# Small discrete dtype → the default dtype of its sums and products, which is wider to avoid overflow.
REDUCED_DTYPES = dict(dict.fromkeys((BOOL, "int8", "int16", "int32"), "int64"),
                      **dict.fromkeys(("uint8", "uint16", "uint32"), "uint64"))
# The same for accumulators, where floats of low precision also get the next higher precision.
ACCUMULATOR_DTYPES = dict(REDUCED_DTYPES, float16="float32", float32="float64", complex64="complex128")


def canonical_dtype(dtype):
    """The canonical name of a dtype of tensors.

    Parameters
    ----------
    dtype : str, numpy.dtype or type
        ``"floatX"`` means ``config.floatX``; aliases such as ``"longlong"``, ``int`` or ``">f8"`` are accepted.

    Returns
    -------
    str
        One of ``ALL_DTYPES``.

    Raises
    ------
    TypeError
        If the dtype does not exist or is not supported by tensors (objects, strings, dates, long doubles).
    """
    if type(dtype) is str and dtype in NUMPY_DTYPES:
        return dtype
    if type(dtype) is str and dtype == "floatX":
        return config.floatX
    try:
        name = numpy.dtype(dtype).newbyteorder("=").name
    except TypeError:
        name = None
    if name not in NUMPY_DTYPES:
        raise TypeError(f"Unsupported dtype for TensorType: {dtype}")
    return name


def in_bounds(value, dtype):
    """``value``, which is to be converted to ``dtype``.

    Raises
    ------
    OverflowError
        NumPy's: it is a Python integer beyond the range of a dtype of integers.
    """
    if type(value) is int and dtype in integer_dtypes:
        limits = numpy.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return value


def reduced_dtype(dtype):
    """The default dtype of a sum or product over values of ``dtype``, as for ``dtype=None`` in Theano's ``sum``."""
    return REDUCED_DTYPES.get(dtype, dtype)


def accumulator_dtype(dtype):
    """The default dtype in which sums and products of values of ``dtype`` are accumulated (``acc_dtype=None``)."""
    return ACCUMULATOR_DTYPES.get(dtype, dtype)


_promoted = {}


def upcast(*dtypes):
    """The smallest dtype that holds all values of all ``dtypes``, according to NumPy's promotion table.

    With ``config.cast_policy = "numpy+floatX"``, discrete operands never push a result above floatX.

    Parameters
    ----------
    *dtypes : str
        At least one of ``ALL_DTYPES``.

    Returns
    -------
    str

    Examples
    --------
    >>> T.upcast("int8", "float32")
    'float32'
    """
    promoted = _promoted.get(dtypes)
    if promoted is None:
        promoted = canonical_dtype(dtypes[0])
        for dtype in dtypes[1:]:
            promoted = numpy.promote_types(promoted, canonical_dtype(dtype)).name
        _promoted[dtypes] = promoted
    if config.cast_policy == "numpy+floatX":
        return _kept_in_float_x(promoted, dtypes)
    return promoted


def _kept_in_float_x(promoted, dtypes):
    """``promoted``, or floatX if only discrete operands made it wider."""
    wanted = config.floatX
    if wanted == "float64" or promoted not in ("float32", "float64") or "float64" in dtypes:
        return promoted
    if wanted == "float32":
        return "float32"
    return promoted if "float32" in dtypes else wanted
