"""``GpuArrayType``: the type of arrays on the device.

It has the dtype, rank and pattern of a ``TensorType``, whose rules convert values; its layout says that the memory is
on the device. Variables of this type have the operators of tensors: an operator is applied to the tensor on the host,
and the optimizer moves the work to the device.
"""
import numpy

from phintys.gpu.runtime.device import opened_for
from phintys.gpu.runtime.dlpack import imported, is_foreign
from phintys.graph.public_names import at_home
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.ops.operators import TensorOperators
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.places import DEVICE

NAMES = {0: "scalar", 1: "vector", 2: "matrix"}
# What kernels of the device can compute with; arrays of other dtypes stay on the host.
DTYPES = frozenset(["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                    "float32", "float64", "complex64", "complex128"])


class AtDevice(TensorOperators):
    """What variables and constants on the device have in common."""

    def _as_TensorVariable(self):
        return GpuArrayType.to_host(self)

    def __setstate__(self, state):
        super().__setstate__(state)
        if isinstance(self.type, TensorType):       # a pickle that is opened without a device
            self.__class__ = getattr(self.type, "Constant" if isinstance(self, Constant) else "Variable")


class GpuArrayVariable(AtDevice, Variable):
    """A variable whose values are on the device."""


class GpuArrayConstant(AtDevice, Constant):
    """A constant on the device; ``data`` is an array of the host."""


@at_home
def unpickled_type(dtype, broadcastable, name, shape):
    """A type on the device; without a device, the type of the same arrays on the host."""
    kind = GpuArrayType if opened_for("a part of what is opened") else TensorType
    return kind(dtype, broadcastable, name=name, shape=shape)


class GpuArrayType(Type):
    """Arrays on the device.

    Parameters
    ----------
    dtype : str
    broadcastable : sequence of bool
    name : str, optional
    shape : sequence of int or None, optional
        Lengths that are known, as for ``TensorType``.

    Raises
    ------
    TypeError
        If the device has no arrays of this dtype.
    """

    Variable = GpuArrayVariable
    Constant = GpuArrayConstant
    to_host = None              # set by transfers.py: a variable as a tensor
    from_host = None            # and a tensor as a variable on the device
    __props__ = ("dtype", "broadcastable")

    def __init__(self, dtype, broadcastable, name=None, shape=None):
        self.tensor = TensorType(dtype, broadcastable, shape=shape)
        self.dtype, self.broadcastable, self.ndim = self.tensor.dtype, self.tensor.broadcastable, self.tensor.ndim
        if self.dtype not in DTYPES:
            raise TypeError(f"the device has no arrays of dtype {self.dtype}")
        self.numpy_dtype, self.shape, self.name = self.tensor.numpy_dtype, self.tensor.shape, name
        self.layout = (*self.tensor.layout[:2], DEVICE)

    @classmethod
    def of(cls, type_):
        """The type on the device of a ``TensorType``."""
        return cls(type_.dtype, type_.broadcastable, shape=type_.shape)

    def filter(self, value, strict=False, allow_downcast=None):
        """An array of pycuda, or of any library with ``__cuda_array_interface__`` or DLPack, as it is; else one of the
        host that is converted as for tensors, and copied to the device when it is stored."""
        if is_foreign(value):
            value = imported(value)
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is None or isinstance(value, numpy.ndarray):
            return self.tensor.filter(value, strict=strict, allow_downcast=allow_downcast)
        dtype, shape = numpy.dtype(interface["typestr"]), interface["shape"]
        if dtype != self.numpy_dtype or len(shape) != self.ndim:
            raise TypeError(f"{self} cannot store an array on the device of dtype {dtype} and rank {len(shape)}: "
                            "convert it first")
        for length, flag in zip(shape, self.broadcastable):
            if flag and length != 1:
                raise TypeError(f"{self} cannot store an array of shape {shape}: the broadcastable pattern is "
                                f"{self.broadcastable}")
        return value

    def filter_variable(self, other, allow_convert=True):
        """A variable of this type, transferred to the device if it is a tensor.

        Raises
        ------
        TypeError
            If the dtype or the pattern is another.
        """
        if getattr(other, "type", None) == self:
            return other
        other = GpuArrayType.from_host(self.tensor.filter_variable(
            GpuArrayType.to_host(other) if isinstance(getattr(other, "type", None), GpuArrayType) else other))
        return other

    def convert_variable(self, variable):
        if isinstance(variable.type, TensorType) and self.tensor == variable.type:
            return GpuArrayType.from_host(variable)
        return None

    def clone(self, dtype=None, broadcastable=None):
        """The type with another dtype or pattern."""
        return type(self)(dtype or self.dtype, self.broadcastable if broadcastable is None else broadcastable)

    def __reduce__(self):
        return unpickled_type, (self.dtype, self.broadcastable, self.name, self.shape)

    # ---- values ------------------------------------------------------------------------------------------------------
    @staticmethod
    def host_value(value):
        """A value as an array of the host."""
        return value if isinstance(value, numpy.ndarray) else as_host_array(value)

    def values_eq(self, a, b, force_same_dtype=True):
        return TensorType.values_eq(self.host_value(a), self.host_value(b), force_same_dtype)

    def values_eq_approx(self, a, b, allow_remove_inf=False, allow_remove_nan=False, rtol=None, atol=None):
        return TensorType.values_eq_approx(self.host_value(a), self.host_value(b), allow_remove_inf, allow_remove_nan,
                                           rtol, atol)

    @staticmethod
    def may_share_memory(a, b):
        """Whether two values may overlap in memory."""
        spans = [span(value) for value in (a, b) if not isinstance(value, numpy.ndarray)]
        return len(spans) == 2 and spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]

    @staticmethod
    def get_shape_info(value):
        """The argument for ``get_size``: the shape of a value."""
        return value.shape

    def get_size(self, shape_info):
        """The size in bytes of the elements of a value of that shape."""
        return self.tensor.get_size(shape_info)

    def __repr__(self):
        return f"GpuArrayType<None>({self.dtype}, {self.broadcastable})"

    def __str__(self):
        if self.name:
            return self.name
        if any(self.broadcastable):
            return f"GpuArrayType<None>({self.dtype}, {self.broadcastable})"
        return f"GpuArrayType<None>({self.dtype}, {NAMES.get(self.ndim, f'{self.ndim}D')})"


def as_host_array(value):
    """A new array of the host with the elements of an array on the device."""
    from pycuda.gpuarray import GPUArray
    if not isinstance(value, GPUArray):
        interface = value.__cuda_array_interface__
        value = GPUArray(interface["shape"], numpy.dtype(interface["typestr"]), gpudata=interface["data"][0],
                         strides=interface.get("strides"))
    if not value.flags.forc:
        from phintys.gpu.runtime.driver import contiguous
        value = contiguous(value)
    return value.get()


def span(value):
    """The addresses between which the elements of an array on the device lie."""
    interface = value.__cuda_array_interface__
    low = high = interface["data"][0]
    size = numpy.dtype(interface["typestr"]).itemsize
    strides = interface.get("strides")
    if strides is None:
        return low, high + int(numpy.prod(interface["shape"])) * size
    for length, stride in zip(interface["shape"], strides):
        low, high = low + min(0, (length - 1) * stride), high + max(0, (length - 1) * stride)
    return low, high + size
