"""Scalar: the type of single numbers, which are the operands of the ops of ``phintys.scalar``.

A single number is not a tensor of rank 0: values are NumPy numbers (``numpy.float64(3)``), which are immutable, and
variables have operators but neither a shape nor methods. Programs store the values as arrays of rank 0, so that the
kernels of elementwise ops can compute them. There is one type for each dtype, which ``get_scalar_type`` returns.
"""
import numpy

from phintys.graph.public_names import at_home
from phintys.graph.type import Type
from phintys.ops.types.dtypes import ALL_DTYPES, NUMPY_DTYPES, TYPE_NUMBERS, canonical_dtype, upcast
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.places import HOST

# dtype → (name of the type in C, name of NumPy's class of such numbers in its C API).
C_NAMES = {dtype: (f"{'theano' if 'complex' in dtype else 'npy'}_{dtype}",
                   dtype.capitalize().replace("Uint", "UInt")) for dtype in ALL_DTYPES}

# dtype → classes of Python numbers that NumPy's class of this dtype converts directly, without an array.
EXACT = {"float64": (int, float), "complex128": (int, float, complex)}

_types = {}         # dtype → its type


class Scalar(Type):
    """The type of single numbers of one dtype.

    Parameters
    ----------
    dtype : str or numpy.dtype
        One of ``dtypes.ALL_DTYPES``, or ``"floatX"``.

    Raises
    ------
    TypeError
        If the dtype is not supported.

    Examples
    --------
    >>> number = phintys.scalar.float64
    >>> number.filter(3), number("x").type
    (np.float64(3.0), Scalar(float64))
    """

    __props__ = ("dtype",)
    is_number = True
    ndim = 0
    shape = broadcastable = ()

    def __init__(self, dtype):
        try:
            self.dtype = canonical_dtype(dtype)
        except TypeError:
            raise TypeError(f"Unsupported dtype for {type(self).__name__}: {dtype}") from None
        self.numpy_dtype = NUMPY_DTYPES[self.dtype]
        self.layout = (TYPE_NUMBERS[self.dtype], 0, HOST)
        self._as_tensor = TensorType(self.dtype, (), name=self.dtype)
        self._exact = EXACT.get(self.dtype, (int,) if self.numpy_dtype.kind in "iu" else ())

    def __reduce__(self):
        return (get_scalar_type, (self.dtype,)) if type(self) is Scalar else (type(self), (self.dtype,))

    def __str__(self):
        return self.dtype

    def __repr__(self):
        return f"Scalar({self.dtype})"

    def dtype_specs(self):
        """(NumPy's class of such numbers, name of the type in C, name of the class in NumPy's C API)."""
        return (self.numpy_dtype.type, *C_NAMES[self.dtype])

    def upcast(self, *others):
        """The common dtype of this type and others."""
        return upcast(self.dtype, *[other.dtype for other in others])

    # ---- values ------------------------------------------------------------------------------------------
    def unread_value(self):
        return self.numpy_dtype.type(0)

    def filter(self, data, strict=False, allow_downcast=None):
        """Convert ``data`` to a NumPy number of this dtype.

        Parameters
        ----------
        data : number, or array of rank 0
        strict : bool
            Whether to accept only numbers of exactly this dtype.
        allow_downcast : bool or None
            See ``TensorType.filter``.

        Returns
        -------
        numpy.generic

        Raises
        ------
        TypeError
            If ``data`` is not a single number, or the conversion would change its value.
        """
        if type(data) is self.numpy_dtype.type:
            return data
        if not strict and type(data) in self._exact:
            try:
                converted = self.numpy_dtype.type(data)
                if converted.item() == data:
                    return converted
            except OverflowError:
                pass                                # the error below says more
        if strict and not (isinstance(data, numpy.ndarray) and not data.ndim and data.dtype == self.numpy_dtype):
            raise TypeError(f"{self} expected a {self.numpy_dtype.type}, got {data} of type {type(data)}")
        return self._as_tensor.filter(data, strict, allow_downcast)[()]

    def value_validity_msg(self, value):
        """The reason why ``value`` is not a value of this type, or "value is valid"."""
        return "value is valid" if self.is_valid_value(value) else f"{value!r} is not a {self.numpy_dtype.type}"

    @staticmethod
    def may_share_memory(a, b):
        """Always False, because numbers are immutable."""
        return False

    @staticmethod
    def get_shape_info(value):
        """The argument for ``get_size``: the size in bytes."""
        return value.itemsize

    @staticmethod
    def get_size(shape_info):
        """The size of a value in bytes."""
        return shape_info

    @staticmethod
    def values_eq(a, b):
        """Whether two numbers have the same dtype and value; NaN equals NaN."""
        return TensorType.values_eq(numpy.asarray(a), numpy.asarray(b))

    @staticmethod
    def values_eq_approx(a, b, **tolerances):
        """Whether two numbers are equal up to rounding, with the tolerances of tensors."""
        return TensorType.values_eq_approx(numpy.asarray(a), numpy.asarray(b), **tolerances)


@at_home
def get_scalar_type(dtype):
    """The type of single numbers of ``dtype``; always the same object.

    Examples
    --------
    >>> phintys.scalar.get_scalar_type("int32") is phintys.scalar.int32
    True
    """
    found = _types.get(dtype)
    if found is None:
        made = Scalar(dtype)
        found = _types.setdefault(made.dtype, made)     # the canonical name is the key: "floatX" may change
    return found


TensorType.get_scalar_type = staticmethod(get_scalar_type)
