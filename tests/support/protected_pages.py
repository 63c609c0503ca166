"""``prepare`` of kernels on arrays in memory that cannot be read: a kernel that reads it ends the process."""
import ctypes
import mmap

import numpy as np
from kernel_cases import CASES, made

from phintys.vm.abi import prepare_kernel


class Protected:
    """A copy of an array, apart from its neighbours if ``strided``, in pages that nothing may read."""

    def __init__(self, array, strided):
        shape = [length * (1 + strided) for length in array.shape]
        size = int(np.prod(shape)) * array.itemsize
        self.pages = mmap.mmap(-1, max(size, 1))
        whole = np.frombuffer(self.pages, array.dtype, int(np.prod(shape))).reshape(shape)
        self.array = whole[(*[slice(None, None, 1 + strided)] * array.ndim, ...)]
        self.array[...] = array
        self.address, self.size = whole.ctypes.data, len(self.pages)

    def set(self, protection):
        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if mprotect(self.address, self.size, protection):
            raise OSError(ctypes.get_errno(), "mprotect")


def prepare_protected(position, all_hidden=False):
    """Call ``prepare`` as often as there are layouts to try, with everything protected that it should not read."""
    kernel, inputs, layouts, hidden = made(position)
    for strided in (False, True):
        given, protected = list(inputs), []
        for index in range(len(inputs)) if all_hidden else hidden:
            protected.append(Protected(inputs[index], strided))
            given[index] = protected[-1].array
        expected = prepare_kernel(kernel, given, layouts)
        for pages in protected:
            pages.set(0)
        assert prepare_kernel(kernel, given, layouts) == expected
        for pages in protected:
            pages.set(mmap.PROT_READ | mmap.PROT_WRITE)


def try_from(first, all_hidden):
    """In the child process: say which case begins, and which has ended well."""
    for position in range(first, len(CASES)):
        print(position, end=" ", flush=True)
        prepare_protected(position, all_hidden)
        print("well", flush=True)
