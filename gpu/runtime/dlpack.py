"""DLPack: arrays of the device for other libraries, and theirs, without a copy.

A capsule has a struct with address, shape, strides and dtype, and a function that gives the memory back. The struct is
kept here, with the array that has the memory, until that function is called. Since version 1 of the protocol the struct
also has flags, and another name; who asks for a capsule says which version it knows.
"""
import ctypes

import numpy

CUDA, CPU = 2, 1                # kinds of devices
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
DEFAULT_STREAM = 1              # of CUDA, as the protocol numbers it
VERSION = 1, 0                  # the newest that is used here
READ_ONLY, IS_COPIED = 1, 2     # flags
OLD, VERSIONED = b"dltensor", b"dltensor_versioned"     # names of capsules that nobody has taken yet
TAKEN = {name: b"used_" + name for name in (OLD, VERSIONED)}        # a capsule has only the address of its name

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", DELETER), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_kept = {}                      # address of a struct → (struct, its arrays, who has the memory)
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_by_address = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))


@DELETER
def _give_back(address):
    _kept.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule):
    """A capsule that nobody has taken: its memory goes back. One that was taken has another name."""
    for name in TAKEN:
        if _by_address(capsule, name):
            _kept.pop(_pointer(capsule, name), None)


def exported(array, device_number, versioned=False, flags=0):
    """A capsule for an array of the device.

    Parameters
    ----------
    array : object with ``__cuda_array_interface__``
        It is kept until the capsule's receiver gives the memory back.
    device_number : int
    versioned : bool
        Whether the receiver knows version 1.
    flags : int
        Of ``READ_ONLY`` and ``IS_COPIED``.

    Returns
    -------
    PyCapsule
    """
    interface = array.__cuda_array_interface__
    dtype, shape = numpy.dtype(interface["typestr"]), interface["shape"]
    strides = interface.get("strides")
    if strides is None:
        strides = [dtype.itemsize * int(numpy.prod(shape[axis + 1:], dtype="int64")) for axis in range(len(shape))]
    managed = _Versioned(*VERSION, flags=flags) if versioned else _Managed()
    lengths = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    steps = (ctypes.c_int64 * max(1, len(shape)))(*[stride // dtype.itemsize for stride in strides])
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device_id = interface["data"][0], CUDA, device_number
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = len(shape), CODES[dtype.kind], 8 * dtype.itemsize, 1
    tensor.shape, tensor.strides, tensor.byte_offset = lengths, steps, 0
    managed.deleter = _give_back
    address = ctypes.addressof(managed)
    _kept[address] = managed, lengths, steps, array
    return _python.PyCapsule_New(address, VERSIONED if versioned else OLD,
                                 ctypes.cast(_drop_capsule, ctypes.c_void_p))


class ForeignMemory:
    """What another library has exported: an object with ``__cuda_array_interface__`` that gives the memory back when
    nothing refers to it any more.

    Attributes
    ----------
    shown : object or None
        The array that it was, where its library's own interface shows it.
    """

    def __init__(self, capsule, array=None):
        versioned = bool(_python.PyCapsule_IsValid(capsule, VERSIONED))
        name, struct = (VERSIONED, _Versioned) if versioned else (OLD, _Managed)
        address = _python.PyCapsule_GetPointer(capsule, name)
        managed = struct.from_address(address)
        if versioned and managed.major != VERSION[0]:
            raise BufferError(f"an array by DLPack is of version {managed.major}, and {VERSION[0]} was asked for")
        tensor = managed.tensor
        kind = next((kind for kind, code in CODES.items() if code == tensor.code), None)
        if kind is None or tensor.lanes != 1:
            raise TypeError(f"an array by DLPack has a dtype that NumPy does not know: code {tensor.code}, "
                            f"{tensor.bits} bits, {tensor.lanes} lanes")
        dtype = numpy.dtype("bool" if kind == "b" else f"{kind}{tensor.bits // 8}")
        shape = tuple(tensor.shape[:tensor.ndim])
        strides = tuple([step * dtype.itemsize for step in tensor.strides[:tensor.ndim]]) if tensor.strides else None
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)
        self.shown = array if hasattr(array, "__cuda_array_interface__") else None
        self.__cuda_array_interface__ = {
            "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3, "stream": None,
            "data": ((tensor.data or 0) + tensor.byte_offset, bool(versioned and managed.flags & READ_ONLY))}
        _python.PyCapsule_SetName(capsule, TAKEN[name])
        self._managed, self._address = managed, address

    def __del__(self):
        managed = getattr(self, "_managed", None)
        if managed is not None and managed.deleter:
            managed.deleter(self._address)


def is_foreign(value):
    """Whether a value is on a device, and another library exports it by DLPack. Arrays of phintys have their memory's
    buffer, and need no protocol."""
    if isinstance(value, (numpy.ndarray, ForeignMemory)) or hasattr(getattr(value, "gpudata", None), "buffer"):
        return False
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and hasattr(value, "__dlpack__") and device()[0] == CUDA


def imported(value):
    """The memory of a value on a device, for the default stream.

    Returns
    -------
    ForeignMemory
    """
    try:
        capsule = value.__dlpack__(stream=DEFAULT_STREAM, max_version=VERSION)
    except TypeError:                               # it is older than versions are
        capsule = value.__dlpack__(stream=DEFAULT_STREAM)
    return ForeignMemory(capsule, value)
