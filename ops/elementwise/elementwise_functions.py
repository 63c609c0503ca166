"""The elementwise functions of the tensor namespace.

``exp``, ``add``, ``switch`` and so on are the ``Elemwise`` of the rows of the table in ``scalar.py``, as in Theano:
calling one makes a node, and ``node.op == exp`` is true for it. The other functions combine these. Arguments may be
tensors, numbers, arrays or nested lists. Names such as ``round`` shadow Python's built-ins inside this file only.
"""
import warnings

import phintys.ops.elementwise.elementwise  # noqa: F401  gives every scalar op its Elemwise
from phintys.graph.config import config
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import ComplexError, IntegerDivisionError
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import NUMPY_DTYPES, canonical_dtype, complex_dtypes, discrete_dtypes
from phintys.ops.types.numpy_arguments import with_numpy_arguments

add = scalar.add.elementwise
mul = scalar.mul.elementwise
sub = scalar.sub.elementwise
true_div = scalar.true_div.elementwise
int_div = floor_div = floor_divide = scalar.int_div.elementwise
mod = scalar.mod.elementwise
pow = power = scalar.pow.elementwise
neg = negative = scalar.neg.elementwise
inv = reciprocal = scalar.inv.elementwise
sqr = square = scalar.sqr.elementwise
sqrt = scalar.sqrt.elementwise
abs_ = abs = scalar.abs_.elementwise
sgn = sign = scalar.sgn.elementwise

ceil = scalar.ceil.elementwise
floor = scalar.floor.elementwise
trunc = scalar.trunc.elementwise
round_half_to_even = rint = scalar.round_half_to_even.elementwise
round_half_away_from_zero = scalar.round_half_away_from_zero.elementwise

exp = scalar.exp.elementwise
exp2 = scalar.exp2.elementwise
expm1 = scalar.expm1.elementwise
log = scalar.log.elementwise
log2 = scalar.log2.elementwise
log10 = scalar.log10.elementwise
log1p = scalar.log1p.elementwise
logaddexp = scalar.logaddexp.elementwise
xlogx = scalar.xlogx.elementwise
xlogy0 = scalar.xlogy0.elementwise
sigmoid = scalar.sigmoid.elementwise
softplus = scalar.softplus.elementwise

deg2rad = scalar.deg2rad.elementwise
rad2deg = scalar.rad2deg.elementwise
cos = scalar.cos.elementwise
sin = scalar.sin.elementwise
tan = scalar.tan.elementwise
arccos = scalar.arccos.elementwise
arcsin = scalar.arcsin.elementwise
arctan = scalar.arctan.elementwise
arctan2 = scalar.arctan2.elementwise
hypot = scalar.hypot.elementwise
cosh = scalar.cosh.elementwise
sinh = scalar.sinh.elementwise
tanh = scalar.tanh.elementwise
arccosh = scalar.arccosh.elementwise
arcsinh = scalar.arcsinh.elementwise
arctanh = scalar.arctanh.elementwise

erf = scalar.erf.elementwise
erfc = scalar.erfc.elementwise
erfcx = scalar.erfcx.elementwise
erfinv = scalar.erfinv.elementwise
erfcinv = scalar.erfcinv.elementwise
gamma = scalar.gamma.elementwise
gammaln = scalar.gammaln.elementwise
psi = scalar.psi.elementwise
tri_gamma = scalar.tri_gamma.elementwise
chi2sf = scalar.chi2sf.elementwise
gammainc = scalar.gammainc.elementwise
gammaincc = scalar.gammaincc.elementwise
gammau = scalar.gammau.elementwise
gammal = scalar.gammal.elementwise
j0 = scalar.j0.elementwise
j1 = scalar.j1.elementwise
jv = scalar.jv.elementwise
i0 = scalar.i0.elementwise
i1 = scalar.i1.elementwise
iv = scalar.iv.elementwise

lt = scalar.lt.elementwise
gt = scalar.gt.elementwise
le = scalar.le.elementwise
ge = scalar.ge.elementwise
eq = scalar.eq.elementwise
neq = scalar.neq.elementwise
isnan = isnan_ = scalar.isnan.elementwise
isinf = isinf_ = scalar.isinf.elementwise
isfinite = scalar.isfinite.elementwise
and_ = bitwise_and = scalar.and_.elementwise
or_ = bitwise_or = scalar.or_.elementwise
xor = bitwise_xor = scalar.xor.elementwise
invert = bitwise_not = scalar.invert.elementwise

switch = where = scalar.switch.elementwise
maximum = scalar.maximum.elementwise
minimum = scalar.minimum.elementwise
clip = scalar.clip.elementwise
second = fill = scalar.second.elementwise
tensor_copy = identity = scalar.identity.elementwise

real = scalar.real.elementwise
imag = scalar.imag.elementwise
angle = scalar.angle.elementwise
conj = scalar.conj.elementwise
complex = scalar.complex.elementwise
complex_from_polar = scalar.complex_from_polar.elementwise


def public_functions():
    """Name → Elemwise of each row that is public in the tensor namespace itself, including rows not listed above."""
    return {row.public: row.elementwise for row in SCALAR_OPS.values() if row.public and "." not in row.public}


# Conversions to each dtype, by dtype.
CASTS = {dtype: SCALAR_OPS[f"convert_to_{dtype}"].elementwise for dtype in NUMPY_DTYPES}


def cast(x, dtype):
    """Convert ``x`` to ``dtype``; returns ``x`` itself if it already has that dtype.

    Parameters
    ----------
    x : tensor-like
    dtype : str
        ``"floatX"`` means ``config.floatX``.

    Raises
    ------
    TypeError
        If ``x`` is complex and ``dtype`` is real: use ``real``, ``imag``, ``angle`` or ``abs`` instead.

    Examples
    --------
    >>> T.cast(T.as_tensor([1.5, -2.5]), "int32").eval()
    array([ 1, -2], dtype=int32)
    """
    x = as_tensor_variable(x)
    dtype = canonical_dtype(dtype)
    if x.type.dtype == dtype:
        return x
    if x.type.dtype in complex_dtypes and dtype not in complex_dtypes:
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), angle() or abs()")
    return CASTS[dtype](x)


def div_proxy(x, y):
    """``x / y``; for two discrete tensors ``config.int_division`` selects ``int_div``, ``true_div`` or an error.

    Raises
    ------
    IntegerDivisionError
        For two discrete tensors while ``config.int_division`` is ``"raise"``.

    Examples
    --------
    >>> T.div_proxy(T.as_tensor(1.0), T.as_tensor(4.0)).eval()
    array(0.25, dtype=float32)
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if x.type.dtype not in discrete_dtypes or y.type.dtype not in discrete_dtypes or config.int_division == "floatX":
        return true_div(x, y)
    if config.int_division == "raise":
        raise IntegerDivisionError(
            "With `config.int_division` set to 'raise', dividing two integer types with '/' is forbidden to avoid "
            "confusion between integer and floating point divisions. Please use // for integer division, or if you "
            "want a float result either cast one of the arguments to a float or directly call `x.__truediv__(y)`.")
    warnings.warn("Division of two integer types with x / y is deprecated, please use x // y for an integer division.",
                  DeprecationWarning, stacklevel=2)
    return int_div(x, y)


def mod_check(x, y):
    """``x % y``.

    Raises
    ------
    ComplexError
        If one of the operands is complex.

    Examples
    --------
    >>> T.mod_check(T.as_tensor([7, -7]), T.as_tensor(3)).eval()
    array([1, 2])
    """
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    _refuse_complex("the mod operator (%)", x, y)
    return mod(x, y)


def floor_div_check(x, y):
    """``x // y``; raises ``ComplexError`` if one of the operands is complex."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    _refuse_complex("integer division (//)", x, y)
    return int_div(x, y)


def _refuse_complex(operation, *variables):
    if any(variable.type.dtype in complex_dtypes for variable in variables):
        raise ComplexError(f"phintys does not support {operation} on complex numbers, since numpy deprecated it: "
                           f"{', '.join(f'{variable} is {variable.type.dtype}' for variable in variables)}")


def divmod(x, y):
    """The pair ``(x // y, x % y)``.

    Examples
    --------
    >>> quotient, remainder = T.divmod(T.as_tensor([7, -7]), 3)
    >>> quotient.eval(), remainder.eval()
    (array([ 2, -3]), array([1, 2]))
    """
    return floor_div_check(x, y), mod_check(x, y)


def ceil_intdiv(a, b):
    """``a / b`` rounded towards plus infinity; exact for integers, which are never converted to floats.

    Examples
    --------
    >>> T.ceil_intdiv(T.as_tensor([6, 7]), T.as_tensor(3)).eval()
    array([2, 3])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    quotient = int_div(a, b)
    return cast(neq(mod(a, b), 0), quotient.type.dtype) + quotient


@with_numpy_arguments
def round(a, mode=None):
    """``a`` rounded to the nearest integer.

    Parameters
    ----------
    a : tensor-like of a float dtype
    mode : str, optional
        ``"half_to_even"`` (the default, as in NumPy) or ``"half_away_from_zero"`` (as in C). An integer is NumPy's
        ``decimals``.

    Raises
    ------
    TypeError
        If ``a`` is not a real float.
    ValueError
        For another mode.

    Examples
    --------
    >>> T.round([0.5, 1.5, -2.5], mode="half_to_even").eval()
    array([ 0.,  2., -2.])
    """
    modes = {None: round_half_to_even, "half_to_even": round_half_to_even,
             "half_away_from_zero": round_half_away_from_zero}
    if type(mode) is int:
        return round(a, decimals=mode)
    if not isinstance(mode, (str, type(None))) or mode not in modes:
        raise ValueError(f"round mode {mode} is not implemented: expected half_to_even or half_away_from_zero.")
    return modes[mode](a)


def iround(a, mode=None):
    """``a`` rounded to the nearest integer, as int64.

    Examples
    --------
    >>> T.iround([0.4, 1.6, -2.6], mode="half_to_even").eval()
    array([ 0,  2, -3])
    """
    return cast(round(a, mode), "int64")


def isclose(a, b, rtol=1.e-5, atol=1.e-8, equal_nan=False):
    """Elementwise ``abs(a - b) <= atol + rtol * abs(b)``, as NumPy's ``isclose``.

    Parameters
    ----------
    a, b : tensor-like
    rtol, atol : float
        Tolerances, relative to ``b`` and absolute.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    TensorVariable
        Of dtype bool. Infinities are close when they are equal.

    Examples
    --------
    >>> T.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).eval()
    array([ True, False])
    """
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if b.type.dtype in discrete_dtypes:             # as floats: differences and magnitudes of integers overflow
        b = cast(b, "float64")
    finite = invert(or_(or_(isnan(a), isinf(a)), or_(isnan(b), isinf(b))))
    near = le(abs(a - b), atol + rtol * abs(b))
    close = or_(and_(finite, near), and_(and_(isinf(a), isinf(b)), eq(a, b)))
    return or_(close, and_(isnan(a), isnan(b))) if equal_nan else close


def allclose(a, b, rtol=1.e-5, atol=1.e-8, equal_nan=False):
    """Whether all elements are close in the sense of ``isclose``; a 0-d bool.

    Examples
    --------
    >>> T.allclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).eval()
    array(False)
    """
    return isclose(a, b, rtol, atol, equal_nan).all()


def smallest(*args):
    """Elementwise smallest of any number of tensors.

    Examples
    --------
    >>> T.smallest(T.as_tensor([1, 5]), T.as_tensor([4, 2]), T.as_tensor([3, 3])).eval()
    array([1, 2])
    """
    return _fold("smallest", lambda a, b: switch(lt(a, b), a, b), args)


def largest(*args):
    """Elementwise largest of any number of tensors.

    Examples
    --------
    >>> T.largest(T.as_tensor([1, 5]), T.as_tensor([4, 2]), T.as_tensor([3, 3])).eval()
    array([4, 5])
    """
    return _fold("largest", lambda a, b: switch(gt(a, b), a, b), args)


def _fold(name, choose, tensors):
    if not tensors:
        raise TypeError(f"{name} needs at least one tensor.")
    result = as_tensor_variable(tensors[0])
    for tensor in tensors[1:]:
        result = choose(result, as_tensor_variable(tensor))
    return result


@with_numpy_arguments
def zeros_like(model, dtype=None, opt=False):
    """Zeros of the shape of ``model``.

    Parameters
    ----------
    model : tensor-like
    dtype : str, optional
        By default that of ``model``.
    opt : bool
        Return a constant where the type alone determines the result (0-d, or all dimensions broadcastable).

    Examples
    --------
    >>> T.zeros_like(T.as_tensor([1, 2])).eval()
    array([0, 0])
    """
    return _filled_like(model, 0, dtype, opt)


@with_numpy_arguments
def ones_like(model, dtype=None, opt=False):
    """Ones of the shape of ``model``; the parameters are those of ``zeros_like``.

    Examples
    --------
    >>> T.ones_like(T.as_tensor([1, 2])).eval()
    array([1, 1])
    """
    return _filled_like(model, 1, dtype, opt)


def _filled_like(model, value, dtype, opt):
    model = as_tensor_variable(model)
    value = constant(value, dtype=model.type.dtype if dtype is None else canonical_dtype(dtype))
    return value if opt and value.type == model.type else fill(model, value)
