"""The cost of an argument that is not an array of exactly the declared type, and of ``numpy.asarray(value, dtype)``."""
import numpy

import phintys
import phintys.tensor as T

VALUES = {
    "int": (T.dscalar, 3),
    "float for float32": (T.fscalar, 0.5),
    "numpy.float32": (T.dscalar, numpy.float32(0.5)),
    "list of 3 floats": (T.dvector, [0.5, 1.5, 2.5]),
    "list of 3 ints": (T.dvector, [1, 2, 3]),
    "list of 1000 floats": (T.dvector, [0.5] * 1000),
    "nested lists of 10 x 10": (T.dmatrix, [[0.5] * 10] * 10),
    "3 of float32": (T.dvector, numpy.ones(3, "float32")),
    "3 of int64": (T.dvector, numpy.ones(3, "int64")),
    "1000 of float32": (T.dvector, numpy.ones(1000, "float32")),
    "100000 of float32": (T.dvector, numpy.ones(100000, "float32")),
}


class Conversion:
    """Calls a function that does nothing with an array of exactly its type and with another value; and NumPy alone."""

    params = [list(VALUES)]
    param_names = ["value"]

    def setup(self, name):
        make, self.value = VALUES[name]
        variable = make()
        self.function = phintys.function([variable], [], on_unused_input="ignore")
        self.dtype = variable.dtype
        self.exact = numpy.asarray(self.value, self.dtype)

    def time_exact_array(self, name):
        self.function(self.exact)

    def time_converted(self, name):
        self.function(self.value)

    def time_numpy_asarray(self, name):
        numpy.asarray(self.value, self.dtype)
