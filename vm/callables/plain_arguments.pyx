"""PlainArguments: whether a call's arguments are arrays of the types that are wanted, so none must be converted.

Functions that do more than the VM with their arguments (such as those of PyTensor's graphs) ask this first. Yes means
that the VM would take each argument as it is; no may also be said of arguments that are good.
"""
import numpy

cimport numpy as cnp

cnp.import_array()


cdef class PlainArguments:
    """What the arguments of a function must be.

    Parameters
    ----------
    names : sequence of (str or None)
        If a name is missing or not unique, no arguments can be given by name.
    types : sequence of ((dtype, tuple of (int or None)) or None)
        For each argument the dtype and the shape of arrays, in which None is any length; or None if no value is plain.

    Examples
    --------
    >>> plain = PlainArguments(["x"], [("float64", (None, 2))])
    >>> plain.accepts((numpy.ones((3, 2)),)), plain.accepts((numpy.ones(2),)), plain.accepts((1.0,))
    (True, False, False)
    """
    cdef readonly tuple names
    cdef Py_ssize_t count
    cdef bytes layout                   # for each argument type number, rank and lengths, or -1 for a number not known

    def __init__(self, names, types):
        numbers = []
        for kind in types:
            dtype, shape = kind or (None, ())
            numbers += [-1 if kind is None else numpy.dtype(dtype).num, len(shape),
                        *[-1 if length is None else length for length in shape]]
        self.names = tuple(names) if len({*names} - {None}) == len(names) else ()
        self.count = len(types)
        self.layout = numpy.array(numbers, "intp").tobytes()

    def accepts(self, tuple args):
        """Whether there is a plain array for each argument."""
        cdef const cnp.npy_intp* wanted = <const cnp.npy_intp*><const char*>self.layout
        cdef int axis
        if len(args) != self.count:
            return False
        for value in args:
            if type(value) is not cnp.ndarray or cnp.PyArray_TYPE(<cnp.ndarray>value) != wanted[0]:
                return False
            if cnp.PyArray_NDIM(<cnp.ndarray>value) != wanted[1] or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>value):
                return False
            for axis in range(wanted[1]):
                if wanted[2 + axis] >= 0 and cnp.PyArray_DIM(<cnp.ndarray>value, axis) != wanted[2 + axis]:
                    return False
            wanted += 2 + wanted[1]
        return True

    def in_order(self, dict given):
        """The arguments that are given by name, or None if they are not those of all names."""
        cdef list found
        if len(given) != self.count or len(self.names) != self.count:
            return None
        found = []
        for name in self.names:
            if name not in given:
                return None
            found.append(given[name])
        return tuple(found)
