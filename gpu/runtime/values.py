"""Values on the device as Python sees them: pycuda's GPUArray, over memory that phintys allocates.

They have DLPack's methods, too. Work is done in a stream that the default stream waits for, which both protocols say.
"""
import pycuda.driver as cuda
from pycuda import gpuarray

from phintys.gpu.runtime import dlpack
from phintys.gpu.runtime.driver import contiguous, let_wait

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
        """A capsule with this array's memory, or with that of a copy.

        Parameters
        ----------
        stream : int, optional
            The reader's, which waits for the work so far: see `driver.let_wait`.
        max_version : tuple of int, optional
            The newest version of the protocol that the reader knows.
        dl_device : tuple of int, optional
            Where the reader wants the elements: here, or on the host, ``(1, 0)``.
        copy : bool, optional

        Raises
        ------
        BufferError
            If another device is asked for, or the host without a copy.
        """
        versioned = max_version is not None and max_version[0] >= 1
        wanted = self.__dlpack_device__() if dl_device is None else tuple(dl_device)
        if wanted == (dlpack.CPU, 0) and copy is not False:
            at_host = (self if self.flags.forc else contiguous(self)).get()
            return at_host.__dlpack__(**({"max_version": max_version} if versioned else {}))
        if wanted != self.__dlpack_device__():
            raise BufferError(f"an array on {self.__dlpack_device__()} is not exported to {wanted}"
                              + (" without a copy" if copy is False else ""))
        array = contiguous(self) if copy else self
        read_only = getattr(getattr(array.gpudata, "buffer", None), "read_only", False)
        if read_only and not versioned:
            raise BufferError("an array that nobody may write to is only exported by version 1 of DLPack")
        let_wait(stream)
        return dlpack.exported(array, wanted[1], versioned,
                               (dlpack.IS_COPIED if copy else 0) | (dlpack.READ_ONLY if read_only else 0))


def value_at(address, shape, strides, dtype, buffer):
    """The value of a cell on the device, over the cell's memory.

    Returns
    -------
    pycuda.gpuarray.GPUArray
    """
    return GPUArray(shape, dtype, gpudata=DeviceMemory(address, buffer), strides=strides)
