"""Shared variables on the device.

``shared`` makes one if ``config.device`` names a GPU and the value is an array of float32, or if its parameter
``target`` names a device. ``get_value`` copies to the host and returns a NumPy array, unless the caller requests the
internal type, a ``pycuda.gpuarray.GPUArray``. A variable that was made from a GPUArray always returns GPUArrays.
"""
from __future__ import annotations

from typing import Any

import numpy

from phintys.gpu.gpu_array_type import DTYPES, GpuArrayType, as_host_array
from phintys.gpu.runtime.device import number_of, open_device, opened_for
from phintys.gpu.runtime.dlpack import imported, is_foreign
from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.ops.operators import TensorOperators
from phintys.shared import SharedVariable, shared_constructor, tensor_constructor


class GpuArraySharedVariable(TensorOperators, SharedVariable):
    """A shared array on the device."""

    made_at_device = False      # from an array on the device: values are seen as such

    def _as_TensorVariable(self):
        return GpuArrayType.to_host(self)

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The value, as a NumPy array unless the variable was made from an array on the device.

        Parameters
        ----------
        borrow : bool
            With the internal type: return the variable's own memory. A NumPy array is always a copy.
        return_internal_type : bool
            Return a ``pycuda.gpuarray.GPUArray``.
        """
        if return_internal_type or self.made_at_device:
            return self.container.get(borrow=borrow)
        return as_host_array(self.container.get(borrow=True))

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value: by an array of the host, which is copied to the device (to the memory of the old value, if
        the shape is the same and nothing else refers to it), or by an array on the device."""
        if is_at_device(new_value):
            self.container.set(self.type.filter(new_value), borrow=borrow)
        else:
            super().set_value(new_value)

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to zero."""
        shape = self.container.get(borrow=True).shape
        self.container.set(numpy.zeros(shape, self.type.dtype))

    def __reduce__(self):
        value = as_host_array(self.container.get(borrow=True))
        return unpickled, (self.name, self.type.dtype, self.type.broadcastable, value, self.container.strict,
                           self.container.allow_downcast)


@at_home
def unpickled(name: str, dtype: str, broadcastable: Any, value: Any, strict: bool, allow_downcast: Any) -> Any:
    """A shared variable on the device from its pickle; without a device, one of the host, and a warning."""
    if not opened_for(f"the shared variable {name or value.dtype}"):
        return tensor_constructor(value, name=name, strict=bool(strict), allow_downcast=allow_downcast,
                                  broadcastable=broadcastable)
    return GpuArraySharedVariable(name, GpuArrayType(dtype, broadcastable), value, bool(strict), allow_downcast)


def is_at_device(value: Any) -> Any:
    """Whether a value is an array in the memory of a device, which says so by ``__cuda_array_interface__``."""
    return is_foreign(value) or (hasattr(value, "__cuda_array_interface__") and not isinstance(value, numpy.ndarray))


def reason_against(value: Any, target: Any) -> Any:
    """Why a target cannot have a value, or None."""
    if number_of(target) is None:
        return f"{target!r} names no place: expected 'cpu', 'cuda', or 'cuda0', 'cuda1', ..."
    there = is_at_device(value)
    if not there and not isinstance(value, (numpy.ndarray, numpy.number)):
        return f"a GPU stores arrays, and not a value of {type(value)}: make it one by numpy.asarray"
    dtype = numpy.dtype(interface_of(value)["typestr"]) if there else value.dtype
    return None if dtype.name in DTYPES else f"a GPU has no arrays of dtype {dtype}"


def interface_of(value: Any) -> Any:
    """The ``__cuda_array_interface__`` of an array in the memory of a device."""
    return (imported(value) if is_foreign(value) else value).__cuda_array_interface__


@shared_constructor
def gpuarray_shared_constructor(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None,
                                borrow: bool = False, broadcastable: Any = None, target: Any = None) -> Any:
    """A shared variable on the device, if the value is there, ``target`` names it, or ``config.device`` does and the
    value is an array of float32."""
    there = is_at_device(value)
    if is_foreign(value):
        value = imported(value)
    if target is None:
        if not there and not (config.device != "cpu" and isinstance(value, numpy.ndarray) and value.dtype == "float32"):
            raise TypeError("the value stays on the host")
    reason = reason_against(value, target or "cuda")
    if reason:
        raise TypeError(reason)
    if target is not None:
        open_device(number_of(target))
    dtype = numpy.dtype(value.__cuda_array_interface__["typestr"]) if there else value.dtype
    rank = len(value.__cuda_array_interface__["shape"]) if there else value.ndim
    pattern = (False,) * rank if broadcastable is None else broadcastable
    made = GpuArraySharedVariable(name, GpuArrayType(dtype.name, pattern), value if there else numpy.array(value),
                                  strict, allow_downcast, borrow=borrow)
    made.made_at_device = there
    return made
