"""Elementwise formulas by size: the four in the figure of the 2010 paper, and one of transcendental functions."""
import numpy

import phintys
import phintys.tensor as T

FORMULAS = {
    "a+1": lambda a, b: a + 1,
    "2a+3b": lambda a, b: 2 * a + 3 * b,
    "a^2+b^2+2ab": lambda a, b: a ** 2 + b ** 2 + 2 * a * b,
    "2a+b^10": lambda a, b: 2 * a + b ** 10,
    "transcendental": lambda a, b: T.exp(-a ** 2) * T.tanh(b) + T.log1p(T.exp(a)),
}


class FormulaOnVectors:
    """Contiguous float64 vectors: overhead for small ones, memory bandwidth for large ones."""

    params = [list(FORMULAS), [1, 1000, 10_000, 100_000, 1_000_000]]
    param_names = ["formula", "elements"]

    def setup(self, formula, elements):
        a, b = T.dvectors("a", "b")
        self.function = phintys.function([a, b], FORMULAS[formula](a, b), on_unused_input="ignore")
        self.values = numpy.random.default_rng(0).random((2, elements))

    def time_call(self, formula, elements):
        self.function(*self.values)


class Layouts:
    """One million elements in memory orders that are not one contiguous vector."""

    params = [["contiguous", "transposed", "every other column", "row added to rows", "column added to columns"]]
    param_names = ["layout"]

    def setup(self, layout):
        square = numpy.random.default_rng(0).random((1000, 1000))
        wide = numpy.random.default_rng(0).random((1000, 2000))
        left, right = {
            "contiguous": (square, square),
            "transposed": (square, square.T),
            "every other column": (square, wide[:, ::2]),
            "row added to rows": (square, square[:1]),
            "column added to columns": (square, square[:, :1]),
        }[layout]
        x = T.dmatrix("x")
        y = T.TensorType("float64", tuple(length == 1 for length in right.shape))("y")
        self.function = phintys.function([x, y], T.tanh(x) + y)
        self.values = left, right

    def time_call(self, layout):
        self.function(*self.values)


class Functions:
    """Ten thousand elements of one function, with the loops of three kinds of processors."""

    params = [["exp", "log", "tanh", "sin", "erf", "sigmoid", "softplus"], ["float64", "float32", "float16"],
              ["native", "avx2", "baseline"]]
    param_names = ["function", "dtype", "cpu"]

    def setup(self, function, dtype, cpu):
        x = T.TensorType(dtype, (False,))()
        of = getattr(T.nnet if function in ("sigmoid", "softplus") else T, function)
        with phintys.change_flags(cpu=cpu, workers=1):
            self.function = phintys.function([x], of(x))
        self.value = numpy.random.default_rng(0).uniform(0.1, 3, 10_000).astype(dtype)

    def time_call(self, function, dtype, cpu):
        self.function(self.value)
