"""Values on the device as Python sees them: pycuda's GPUArray, over memory that phintys allocates.

They have DLPack's methods, too. Work is done in a stream that the default stream waits for, which both protocols say.
"""
import pycuda.driver as cuda
from pycuda import gpuarray

from phintys.gpu.runtime import dlpack

device_number = 0               # of the device in use; device.py sets it


class DeviceMemory(cuda.PointerHolderBase):
    """Memory of the device that is kept as long as this object is; ``buffer`` refers to it."""

    def __init__(self, address, buffer):
        super().__init__()
        self.address = address
        self.buffer = buffer

    def get_pointer(self):
        """The address, as pycuda asks for it."""
        return self.address

    def __int__(self):
        return self.address

    __index__ = __int__

    def __deepcopy__(self, memo):
        raise TypeError("memory of the device is copied with the array that it belongs to: use its method copy()")


class GPUArray(gpuarray.GPUArray):
    """An array of pycuda that other libraries may read by DLPack."""

    @property
    def __cuda_array_interface__(self):
        return {**super().__cuda_array_interface__, "stream": dlpack.DEFAULT_STREAM}

    def __dlpack_device__(self):
        return dlpack.CUDA, device_number

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule with this array's memory; ``stream`` is the reader's.

        Raises
        ------
        BufferError
            If a copy or another device is asked for.
        """
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("an array on the device is exported by DLPack without a copy, and where it is")
        if stream not in (None, -1, dlpack.DEFAULT_STREAM):
            cuda.Context.synchronize()              # the reader's stream waits for nothing else
        return dlpack.exported(self, self.__dlpack_device__()[1])


def value_at(address, shape, strides, dtype, buffer):
    """The value of a cell on the device, over the cell's memory.

    Returns
    -------
    pycuda.gpuarray.GPUArray
    """
    return GPUArray(shape, dtype, gpudata=DeviceMemory(address, buffer), strides=strides)
