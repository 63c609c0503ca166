"""Operators and methods of tensors, and the classes of tensor variables and constants.

Every method is one call of a function from a family of ops; this file only provides Python's notation. ``==`` and
``!=`` compare identity, because variables are used as keys of dictionaries; the elementwise comparisons are ``eq`` and
``neq``. NumPy's ufuncs on a tensor variable make nodes, too: ``numpy.exp(x)`` is ``exp(x)``, and either operand of an
operator may be an array. This file imports from all folders of ops; it sets the ``Variable`` and ``Constant`` classes
of ``TensorType``.
"""
import sys
import warnings

import numpy

from phintys.graph import hooks
from phintys.graph.config import config
from phintys.graph.nodes import tell_new_values
from phintys.graph.public_names import at_home
from phintys.graph.variable import Constant, Variable
from phintys.ops.cumulative.cumulative import cumprod, cumsum
from phintys.ops.cumulative.product import prod
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar_op import SCALAR_OPS, upgrade_to_float
from phintys.ops.identity.transfer import transfer
from phintys.ops.indexing.choose import choose
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.getitem import getitem
from phintys.ops.indexing.nonzero import nonzero, nonzero_values
from phintys.ops.indexing.take import take
from phintys.ops.linalg.diagonal import diagonal, trace
from phintys.ops.products.products import dot, matmul
from phintys.ops.rearranging.rearranging import squeeze
from phintys.ops.rearranging.repeat import compress, repeat
from phintys.ops.reduction.reduction import all as all_
from phintys.ops.reduction.reduction import any as any_
from phintys.ops.reduction.reduction import argmax, argmin, max, mean, min, ptp, std, sum, var
from phintys.ops.shape.dimshuffle import dimshuffle, swapaxes, transpose
from phintys.ops.shape.reshape import flatten, reshape
from phintys.ops.shape.shape import shape
from phintys.ops.sorting.searching import searchsorted
from phintys.ops.sorting.sorting import argsort, sort
from phintys.ops.types.constant import AsTensorError, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType

# Name of a NumPy ufunc → the elementwise op that consists of its loop alone; tensors accept these ufuncs.
UFUNCS = {row.loop: row.elementwise for row in SCALAR_OPS.values() if type(row.loop) is str and ":" not in row.loop}
UFUNCS.update(degrees=elementwise.rad2deg, radians=elementwise.deg2rad, exp2=elementwise.exp2,
              logaddexp=elementwise.logaddexp, matmul=matmul)


def _of_whole_numbers(name):
    """NumPy's ufunc, which returns whole numbers as they are."""
    function = UFUNCS[name]
    return lambda x: x if x.type.dtype in discrete_dtypes else function(x)


def _sign(x):
    """NumPy's ufunc, which takes complex numbers: ``x / abs(x)``."""
    if x.type.dtype not in complex_dtypes:
        return elementwise.sgn(x)
    size = abs(x)
    return elementwise.switch(elementwise.eq(size, 0), elementwise.cast(0, x.type.dtype), x / size)


def _square(x):
    """NumPy's ufunc, by which bools are numbers."""
    return elementwise.sqr(elementwise.cast(x, "int8") if x.type.dtype == "bool" else x)


def _rint(x):
    """NumPy's ufunc, which makes floats of whole numbers."""
    return elementwise.rint(x if x.type.dtype not in discrete_dtypes else elementwise.cast(
        x, upgrade_to_float(x.type.dtype)))


def _reciprocal(x):
    """NumPy's ufunc, which cuts that of a whole number: 0 but for 1 and -1."""
    found = elementwise.inv(x)
    return elementwise.cast(found, x.type.dtype) if x.type.dtype in integer_dtypes else found


UFUNCS.update({name: _of_whole_numbers(name) for name in ("ceil", "floor", "trunc")}, sign=_sign, square=_square,
              rint=_rint, reciprocal=_reciprocal)

BUILT_IN = frozenset([bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None)])

# Modules whose functions make nodes, and ask for the truth of nothing but flags.
ASK_FOR_FLAGS = ("phintys.ops.", "phintys.tensor", "phintys.numpy_", "phintys.function", "phintys.making.",
                 "phintys.scan")
SMALL_CONSTANT = 64        # a constant of at most this many bytes has its data in its signature


def deferring(function):
    """Make the method of a binary operator; it returns ``NotImplemented`` if the operand cannot become a tensor.

    For operands of Python's built-in classes, masked arrays and what pandas has, which do not support tensors, it
    raises the conversion error, because that says more than theirs.
    """
    def method(self, other):
        try:
            return function(self, other)
        except (AsTensorError, NotImplementedError) as error:
            if isinstance(error, elementwise.ComplexError) or type(other) in BUILT_IN or (
                    isinstance(other, numpy.ma.MaskedArray) or type(other).__module__.partition(".")[0] == "pandas"):
                raise
            return NotImplemented
    return method


def reflected(function):
    """Make the method of a reflected binary operator, where ``self`` is the right operand."""
    return deferring(lambda self, other: function(other, self))


def comparison(function):
    """Make the method of a comparison. Its result has no truth value, because ``a < b < c`` would silently ignore
    ``a < b``."""
    def method(self, other):
        result = function(self, other)
        result._is_nonzero = False
        return result
    return method


def valueless(purpose, instead):
    """Make the method of a conversion to a Python number, which raises an error: a variable has no value."""
    def method(self, *arguments):
        raise TypeError(f"{self} is symbolic and has no value yet, so it cannot become {purpose}. Compute it first, by "
                        f"{instead}")
    return method


class TensorOperators:
    """Python's operators and NumPy's methods for variables of a ``TensorType``.

    A method without a definition below is the function of that name: its first argument is the variable.
    """

    _is_nonzero = True
    __array_priority__ = 1000

    # ---- properties of the type --------------------------------------------------------------------------
    dtype = property(lambda self: self.type.dtype, doc="The name of the dtype.")
    ndim = property(lambda self: self.type.ndim, doc="The number of dimensions.")
    broadcastable = property(lambda self: self.type.broadcastable,
                             doc="For each dimension, whether its length is always 1.")

    # ---- arithmetic --------------------------------------------------------------------------------------
    __add__, __radd__ = deferring(elementwise.add), reflected(elementwise.add)
    __sub__, __rsub__ = deferring(elementwise.sub), reflected(elementwise.sub)
    __mul__, __rmul__ = deferring(elementwise.mul), reflected(elementwise.mul)
    __truediv__, __rtruediv__ = deferring(elementwise.true_div), reflected(elementwise.true_div)
    __floordiv__, __rfloordiv__ = deferring(elementwise.floor_div_check), reflected(elementwise.floor_div_check)
    __mod__, __rmod__ = deferring(elementwise.mod_check), reflected(elementwise.mod_check)
    __divmod__, __rdivmod__ = deferring(elementwise.divmod), reflected(elementwise.divmod)
    __pow__, __rpow__ = deferring(elementwise.pow), reflected(elementwise.pow)
    __matmul__, __rmatmul__ = deferring(matmul), reflected(matmul)
    __dot__, __rdot__ = deferring(dot), reflected(dot)

    def __neg__(self):
        return elementwise.neg(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return elementwise.abs_(self)

    def __ceil__(self):
        return elementwise.ceil(self)

    def __floor__(self):
        return elementwise.floor(self)

    def __trunc__(self):
        return elementwise.trunc(self)

    # ---- bits --------------------------------------------------------------------------------------------
    __and__, __rand__ = deferring(elementwise.and_), reflected(elementwise.and_)
    __or__, __ror__ = deferring(elementwise.or_), reflected(elementwise.or_)
    __xor__, __rxor__ = deferring(elementwise.xor), reflected(elementwise.xor)
    __lshift__, __rlshift__ = deferring(UFUNCS["left_shift"]), reflected(UFUNCS["left_shift"])
    __rshift__, __rrshift__ = deferring(UFUNCS["right_shift"]), reflected(UFUNCS["right_shift"])

    def __invert__(self):
        return elementwise.invert(self)

    # ---- comparison --------------------------------------------------------------------------------------
    __lt__ = comparison(elementwise.lt)
    __le__ = comparison(elementwise.le)
    __gt__ = comparison(elementwise.gt)
    __ge__ = comparison(elementwise.ge)

    def __bool__(self):
        """True, so that ``if x:`` tests for existence; results of comparisons raise an error instead.

        A constant number is true if its value is, as in NumPy. With ``config.theano_rules`` it exists, like all others.

        Functions that make nodes ask only for the truth of their flags, such as ``keepdims``: there, any variable is
        an error. Passes also ask for existence.
        """
        if isinstance(self, Constant) and not self.type.ndim and not config.theano_rules:
            return bool(self.data)
        if self._is_nonzero:
            asking = sys._getframe(1)
            if not asking.f_globals.get("__name__", "").startswith(ASK_FOR_FLAGS):
                return True
            raise TypeError(f"{asking.f_code.co_name}: {self} is symbolic and has no value before it is computed, so "
                            "it cannot be a flag, which is True or False when the graph is made; to choose when the "
                            "function runs, use switch or ifelse")
        raise TypeError(f"Variables do not support boolean operations: {self} has no truth value before it is "
                        "computed. Use switch, or & and | with parentheses; instead of max and min, T.maximum and "
                        "T.minimum.")

    # ---- Python's numbers --------------------------------------------------------------------------------
    __int__ = valueless("an int", "eval() or a function; or use T.cast(x, 'int64')")
    __float__ = valueless("a float", "eval() or a function; or use the symbolic function: T.exp, not math.exp; "
                          "T.arange, not numpy.arange")
    __complex__ = valueless("a complex number", "eval() or a function; or use T.cast(x, 'complex128')")
    __index__ = valueless("an integer (for range(), an index of a list, or a shape of NumPy)",
                          "eval() or a function; or use the symbolic function: T.arange, not range; T.zeros, not "
                          "numpy.zeros")
    __round__ = valueless("a rounded number", "eval() or a function; or use x.round()")
    item = valueless("a Python number", "eval() or a function")
    tolist = valueless("a list", "eval() or a function")
    tobytes = valueless("bytes", "eval() or a function")

    def __format__(self, spec):
        """The text of the variable; an error if ``spec`` requires a number."""
        try:
            return format(str(self), spec)
        except ValueError:
            raise TypeError(f"{self} is symbolic and has no value yet, so it cannot be formatted as {spec!r}. Compute "
                            "it first, by eval() or a function.") from None

    # ---- NumPy -------------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """Called by NumPy's ufuncs on tensor variables; makes a node."""
        function = UFUNCS.get(ufunc.__name__)
        if function is None or method != "__call__" or options or config.theano_rules or not all(
                [hasattr(operand, "dtype") for operand in inputs]):          # arrays of variables, and Python's numbers
            return hooks.numpy_protocol().call_ufunc(ufunc, method, inputs, options, UFUNCS)
        return function(*inputs)

    def __array_function__(self, function, types, arguments, options):
        """Called by NumPy's other functions on tensor variables; makes nodes."""
        return hooks.numpy_protocol().call_function(function, arguments, options)

    def __array_namespace__(self, /, *, api_version=None):
        """The functions of the array API standard, as a module: `phintys.array_api`."""
        return hooks.array_api().of_symbols(api_version)

    def __array__(self, dtype=None, copy=None):
        """An array of objects that contains this variable; an array of numbers would require a value.

        NumPy converts a list of symbolic numbers to such an array, which supports ``numpy.prod([rows, 2])``.
        """
        if (self.type.ndim and not config.theano_rules) if dtype is None else numpy.dtype(dtype) != object:
            raise TypeError(f"{self} is symbolic and has no value before it is computed, so it cannot become an array; "
                            "use eval() or function(), T.stack for a list of variables, or the function of phintys "
                            "that has the name of NumPy's or SciPy's: T.linalg.expm, T.special.logsumexp")
        holder = numpy.empty((), dtype=object)
        holder[()] = self
        return holder

    # ---- elementwise functions ---------------------------------------------------------------------------
    def astype(self, dtype, copy=True):
        """The values converted to ``dtype``; see ``cast``. Values are never shared, so ``copy`` makes no difference."""
        return elementwise.cast(self, dtype)

    def clip(self, a_min=None, a_max=None, min=None, max=None):
        """Values limited to ``[a_min, a_max]``; None is no limit. NumPy's other names are ``min`` and ``max``."""
        for name, old, new in (("min", a_min, min), ("max", a_max, max)):
            if old is not None and new is not None:
                raise ValueError(f"clip: a_{name} and {name} are two names of one argument, and both were given")
        a_min, a_max = min if a_min is None else a_min, max if a_max is None else a_max
        if a_max is None:
            return self if a_min is None else elementwise.maximum(self, a_min)
        return elementwise.minimum(self, a_max) if a_min is None else elementwise.clip(self, a_min, a_max)

    def round(self, mode=None, **options):
        """Values rounded to integers, or to NumPy's ``decimals``; see ``round``."""
        return elementwise.round(self, **options) if options else elementwise.round(self, mode)

    def fill(self, value):
        """``value`` broadcast to the shape of this tensor."""
        return elementwise.fill(self, value)

    def zeros_like(self, dtype=None):
        """Zeros of the shape of this tensor."""
        return elementwise.zeros_like(self, dtype)

    def ones_like(self, dtype=None):
        """Ones of the shape of this tensor."""
        return elementwise.ones_like(self, dtype)

    def copy(self, name=None, order="C"):
        """A copy, optionally with a name. Variables have no order in memory, so that ``order`` makes no difference."""
        copied = elementwise.tensor_copy(self)
        copied.name = name
        return copied

    transfer = transfer
    device = property(lambda self: "cpu", doc="The array API's name of where values are when a function returns them.")

    def to_device(self, device, /, *, stream=None):
        """The tensor itself: the only device that the array API's code may name is "cpu"; see ``transfer``."""
        if device != "cpu":
            raise ValueError(f"to_device: device must be 'cpu', got {device!r}; see the method transfer")
        return self

    def get_scalar_constant_value(self):
        """The value of this tensor if it is known to be a constant number; else raises ``NotScalarConstantError``."""
        return get_scalar_constant_value(self)

    real = property(lambda self: elementwise.real(self), doc="The real part.")
    imag = property(lambda self: elementwise.imag(self), doc="The imaginary part.")

    def conj(self):
        """The complex conjugate."""
        return elementwise.conj(self)

    conjugate = conj

    # ---- shape -------------------------------------------------------------------------------------------
    shape = property(shape, doc="The symbolic shape, a vector of int64.")
    T = property(lambda self: transpose(self), doc="The transpose.")

    @property
    def mT(self):
        """The matrices of the last two dimensions, transposed."""
        rank = self.type.ndim
        if rank < 2:
            raise ValueError(f"mT: {self} has {rank} dimensions, but matrices have two")
        return dimshuffle(self, *range(rank - 2), rank - 1, rank - 2)

    flat = property(lambda self: flatten(self), doc="The elements as a vector.")

    @property
    def size(self):
        """The symbolic number of elements."""
        return self.shape[0] if self.type.ndim == 1 else prod(self.shape)

    itemsize = property(lambda self: numpy.dtype(self.type.dtype).itemsize, doc="The bytes of an element.")

    @property
    def nbytes(self):
        """The symbolic number of bytes."""
        return self.size * self.itemsize

    def transpose(self, *axes):
        """A view with the dimensions in another order, by default in reverse order."""
        if not axes or axes == (None,):
            return transpose(self)
        return transpose(self, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)

    def reshape(self, *shape, ndim=None, **options):
        """The elements in another shape: a tuple, list, symbolic vector, or the lengths themselves.

        Parameters
        ----------
        *shape
            Behind a sequence may be ``ndim``.
        ndim : int, optional
            The length of a symbolic vector, if it cannot be determined.
        **options
            NumPy's ``order`` and ``copy``.
        """
        if len(shape) > 1 and (isinstance(shape[0], (tuple, list, numpy.ndarray)) or getattr(shape[0], "ndim", 0)):
            shape, (ndim,) = shape[:1], shape[1:]
        if ndim is not None and not isinstance(ndim, int):
            raise ValueError(f"Expected ndim to be an integer, is {type(ndim)}")
        shape = shape if len(shape) > 1 else options.pop("shape", *shape)
        return reshape(self, shape, **options) if ndim is None else reshape(self, shape, ndim=ndim, **options)

    def flatten(self, ndim=1, **options):
        """The elements with trailing dimensions joined, so that ``ndim`` dimensions remain; or in NumPy's ``order``."""
        return flatten(self, ndim, **options) if not options else flatten(self, **options)

    def ravel(self, order="C"):
        """The elements as a vector, in C or Fortran order."""
        return flatten(self) if order == "C" else flatten(self, order=order)

    def compress(self, condition, axis=None):
        """The elements, or slices along an axis, for which a condition is true."""
        return compress(condition, self, axis=axis)

    dimshuffle, swapaxes, squeeze, repeat = dimshuffle, swapaxes, squeeze, repeat

    # ---- reductions --------------------------------------------------------------------------------------
    any, all, min, max, argmin, argmax, ptp = any_, all_, min, max, argmin, argmax, ptp
    sum, prod, var, std, cumsum, cumprod = sum, prod, var, std, cumsum, cumprod

    def mean(self, axis=None, dtype=None, keepdims=False, acc_dtype=None, **options):
        """The mean over the given dimensions or all; with NumPy's ``where``, of chosen elements."""
        return mean(self, axis=axis, dtype=dtype, keepdims=keepdims, **options,
                    **({} if acc_dtype is None else {"acc_dtype": acc_dtype}))

    def dot(self, right):
        """The dot product with ``right``; see the function ``dot``."""
        return dot(self, right)

    def norm(self, L, axis=None, keepdims=False):
        """The L-norm: the sum of the L-th powers of absolute values, to the power of 1 / L.

        Raises
        ------
        NotImplementedError
            If L is 0 or infinite.
        """
        if not isinstance(L, Variable) and (L == 0 or numpy.isinf(L)):
            raise NotImplementedError(f"The norm for L={L} is not implemented.")
        powers = elementwise.pow(elementwise.abs_(self), L)
        return elementwise.pow(powers.sum(axis=axis, keepdims=keepdims), 1.0 / L)

    # ---- parts and order ---------------------------------------------------------------------------------
    take, choose, nonzero, nonzero_values, diagonal, trace = take, choose, nonzero, nonzero_values, diagonal, trace
    sort, argsort, searchsorted = sort, argsort, searchsorted

    def __getitem__(self, index):
        return getitem(self, index)

    def __setitem__(self, index, value):
        raise TypeError(f"{self} is symbolic and cannot be modified. Instead of x[index] = value, write "
                        "x = T.set_subtensor(x[index], value); instead of x[index] += value, write "
                        "x = T.inc_subtensor(x[index], value).")

    def __delitem__(self, index):
        raise TypeError(f"{self} is symbolic and cannot be modified: join the parts to keep by T.concatenate.")

    def __contains__(self, value):
        raise TypeError(f"{self} is symbolic and has no value yet, so its elements are not known; use "
                        "T.any(T.eq(x, value)).")

    def __iter__(self):
        """Iterate over a vector whose length is known, as in ``rows, columns = x.shape``."""
        length = self.type.shape[0] if self.type.ndim else None
        if length is None:
            raise TypeError("TensorType does not support iteration. Maybe you are using builtin.sum instead of "
                            "phintys.tensor.sum? (Maybe .max?)")
        return iter([self[position] for position in range(length)])

    def __len__(self):
        """The length, if it is known, as that of ``x.shape`` is."""
        if self.type.ndim and self.type.shape[0] is not None:
            return self.type.shape[0]
        raise TypeError(f"object of type {type(self).__name__!r} has no len(): lengths are known only when the program "
                        "runs. Use x.shape[0].")


def method_of(name):
    """Make a method without arguments that applies the elementwise function ``name``."""
    function = getattr(elementwise, name)

    def method(self):
        return function(self)
    method.__name__, method.__doc__ = name, function.scalar_op.summary
    return method


for _name in ("arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh deg2rad exp exp2 expm1 floor log log10 log1p "
              "log2 rad2deg sin sinh sqrt tan tanh trunc").split():
    setattr(TensorOperators, _name, method_of(_name))


class TensorVariable(TensorOperators, Variable):
    """A variable of a ``TensorType``.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> x.ndim, x.dtype, x.broadcastable
    (2, 'float64', (False, False))
    >>> (x[0] ** 2).sum().eval({x: [[1, 2], [3, 4]]})
    array(5.)
    """


def _report_float64(variable):
    """Report the creation of a float64 variable as ``config.warn_float64`` requires."""
    if not isinstance(variable, TensorVariable) or variable.type.dtype != "float64" or config.warn_float64 == "ignore":
        return
    message = ("You are creating a TensorVariable with float64 dtype. You requested an action via the flag "
               "warn_float64={ignore,warn,raise,pdb}.")
    if config.warn_float64 == "warn":
        warnings.warn(message, stacklevel=5)
    elif config.warn_float64 == "raise":
        raise Exception(message)
    else:
        breakpoint()


# In other threads the option may have another value: None.
config.on_change("warn_float64", lambda value: tell_new_values(None if value == "ignore" else _report_float64),
                 of_process=False)


@at_home
class TensorConstantSignature:
    """A key that is equal for equal large constants; compares their bytes, so NaN equals NaN and 0.0 differs from
    -0.0."""

    __slots__ = ("type", "data", "hash")

    def __init__(self, type, data):
        self.type = type
        self.data = data
        self.hash = hash((type, data.shape, data.tobytes()))

    def __eq__(self, other):
        return (isinstance(other, TensorConstantSignature) and self.hash == other.hash and self.type == other.type
                and self.data.shape == other.data.shape and self.data.tobytes() == other.data.tobytes())

    def __hash__(self):
        return self.hash

    def __reduce__(self):
        return TensorConstantSignature, (self.type, self.data)


class TensorConstant(TensorOperators, Constant):
    """A constant array, made by ``constant``.

    Examples
    --------
    >>> T.constant([1.0, 2.0]), T.constant([1.0, 2.0]).data
    (TensorConstant{[1. 2.]}, array([1., 2.]))
    """

    cached = False            # whether all graphs that use this number share this constant

    def signature(self):
        """A hashable key that is equal for constants of equal type and value."""
        found = self.__dict__.get("_signature")
        if found is None:
            data = self.data
            if data.nbytes <= SMALL_CONSTANT:
                found = (self.type.dtype, self.type.broadcastable, data.shape, data.tobytes())
            else:
                found = TensorConstantSignature(self.type, data)
            self._signature = found
        return found

    def equals(self, other):
        """Whether ``other``, a constant, number or array, has the same type and value."""
        if isinstance(other, (numpy.ndarray, int, float)) and not isinstance(other, bool):
            other = constant(other)
        return isinstance(other, TensorConstant) and self.signature() == other.signature()

    @property
    def unique_value(self):
        """The value of all elements as a 0-d array, or None if they differ."""
        data = self.data
        if not data.size or (data.size > 1 and not (data == data.flat[0]).all()):
            return None
        return numpy.array(data.flat[0])

    def __str__(self):
        if self.name is not None:
            return self.name
        value = self.unique_value if self.data.ndim else None
        text = str(self.data) if value is None else f"{self.data.shape} of {value}"
        return f"TensorConstant{{{text if len(text) <= 20 else text[:10] + '..' + text[-10:]}}}"

    def __repr__(self):
        return str(self)

    def __getstate__(self):
        state = Constant.__getstate__(self)
        state.pop("_signature", None)             # strings hash differently in another process
        state.pop("padded", None)
        return state


TensorType.Variable = TensorVariable
TensorType.Constant = TensorConstant

# Theano's name of the mixin class.
_tensor_py_operators = TensorOperators
