"""Arrays in memory that ends, or begins, at a page that cannot be touched."""
import ctypes
import mmap

import numpy

PROT_NONE, PAGE = 0, mmap.PAGESIZE


def guarded(array, where="after"):
    """Return a copy of an array without gaps, next to such a page; ``where``: as `config.guards`, "none": the array."""
    if where == "none":
        return array
    pages = -(-max(array.nbytes, 1) // PAGE) * PAGE
    memory = mmap.mmap(-1, pages + 2 * PAGE)
    whole = numpy.frombuffer(memory, "uint8")
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for page in (0, pages + PAGE):
        if mprotect(whole.ctypes.data + page, PAGE, PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + (pages - array.nbytes if where == "after" else 0)
    copy = whole[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
