"""The representation of None as a kernel's operand: a 0-d array over one fixed piece of memory.

A compiled function may be called with None. Theano passes None to ``perform``, whatever the argument's type, and the
NumPy functions that some ops call accept it (``numpy.eye(3, None)``). A kernel takes only numbers, so None is passed as
an array that is recognised by its *address*; its value, -1, is an error wherever a length is expected. An op lists the
inputs that may be None in ``takes_none``.
"""
import numpy

ABSENT = numpy.full(16, 0xff, dtype="uint8")
ABSENT.flags.writeable = False


def absent(dtype, rank=0):
    """The array, of lengths 1, that represents None."""
    return ABSENT[:numpy.dtype(dtype).itemsize].view(dtype).reshape((1,) * rank)


def is_absent(array):
    """Whether an array represents None."""
    return array.ctypes.data == ABSENT.ctypes.data
