"""Values at the device as Python sees them: pycuda's GPUArray, over memory that phintys allocates."""
import pycuda.driver as cuda
from pycuda.gpuarray import GPUArray


class DeviceMemory(cuda.PointerHolderBase):
    """Memory of the device that is kept as long as this object is; ``buffer`` refers to it."""

    def __init__(self, address, buffer):
        super().__init__()
        self.address = address
        self.buffer = buffer

    def get_pointer(self):
        return self.address

    def __int__(self):
        return self.address

    __index__ = __int__

    def __deepcopy__(self, memo):
        raise TypeError("memory of the device is copied with the array that it belongs to: use its method copy()")


def value_at(address, shape, strides, dtype, buffer):
    """The value of a cell at the device, over the cell's memory.

    Returns
    -------
    pycuda.gpuarray.GPUArray
    """
    return GPUArray(shape, dtype, gpudata=DeviceMemory(address, buffer), strides=strides)
