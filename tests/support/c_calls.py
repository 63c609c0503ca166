"""Calls of C functions through ctypes, for tests."""
import ctypes


def call_general(entry, arguments, outputs, user_data=None):
    """Call an entry of the signature ``general`` on arrays; the outputs are written to."""
    def addresses(arrays):
        return (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])

    def lengths(arrays):
        return [(ctypes.c_int64 * max(array.ndim, 1))(*array.shape) for array in arrays]

    def pointers(vectors):
        pointer = ctypes.POINTER(ctypes.c_int64)
        return (pointer * len(vectors))(*[ctypes.cast(each, pointer) for each in vectors])

    given, wanted = lengths(arguments), lengths(outputs)
    status = entry.ctypes(addresses(arguments), pointers(given), addresses(outputs), pointers(wanted), user_data)
    return status, [tuple(each)[:array.ndim] for each, array in zip(wanted, outputs)]
