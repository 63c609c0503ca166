"""What an op sees where a function was called with None: a 0-d array over one fixed piece of memory.

Theano hands None to ``perform`` whatever the argument's type, and the NumPy functions that some ops call understand it
(``numpy.eye(3, None)``). A kernel sees numbers only, so None comes as an array whose *address* says what it is; its
value, -1, is an error wherever a length is expected. Ops name the inputs that may be absent in ``takes_none``.
"""
import numpy

ABSENT = numpy.full(8, 0xff, dtype="uint8")
ABSENT.flags.writeable = False


def absent(dtype):
    """None as a 0-d array of a signed integer dtype."""
    return ABSENT[:numpy.dtype(dtype).itemsize].view(dtype).reshape(())
