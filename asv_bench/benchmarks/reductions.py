"""Reductions by axis and by producer; an elementwise producer should need no second pass over memory."""
import numpy

import phintys
import phintys.tensor as T


class SumOverAxis:
    """sum of a 1000 x 1000 matrix: along the rows, down the columns, and of all elements."""

    params = [["float64", "float32", "int64"], [None, 0, 1]]
    param_names = ["dtype", "axis"]

    def setup(self, dtype, axis):
        x = T.matrix("x", dtype=dtype)
        self.function = phintys.function([x], x.sum(axis=axis))
        self.value = numpy.arange(1_000_000).reshape(1000, 1000).astype(dtype)

    def time_sum(self, dtype, axis):
        self.function(self.value)


class SumOverAxesOfACube:
    """sum of 100 x 100 x 100 along each axis, and over two of them at once."""

    params = [[0, 1, 2, (0, 2), (1, 2)]]
    param_names = ["axis"]

    def setup(self, axis):
        x = T.dtensor3("x")
        self.function = phintys.function([x], x.sum(axis=axis))
        self.value = numpy.random.default_rng(0).random((100, 100, 100))

    def time_sum(self, axis):
        self.function(self.value)


class CumulativeSum:
    """cumsum along an axis of 1000 x 1000, and over all elements."""

    params = [[None, 0, 1]]
    param_names = ["axis"]

    def setup(self, axis):
        x = T.dmatrix("x")
        self.function = phintys.function([x], T.cumsum(x, axis=axis))
        self.value = numpy.random.default_rng(0).random((1000, 1000))

    def time_cumsum(self, axis):
        self.function(self.value)


class ProducerInTheSamePass:
    """The mean of squared differences of two vectors of a million, and the largest of their products."""

    def setup(self):
        x, y = T.dvectors("x", "y")
        self.values = numpy.random.default_rng(0).random((2, 1_000_000))
        self.squared_error = phintys.function([x, y], T.sqr(x - y).mean())
        self.largest_product = phintys.function([x, y], (x * y).max())

    def time_mean_of_squared_difference(self):
        self.squared_error(*self.values)

    def time_max_of_product(self):
        self.largest_product(*self.values)


class ArgmaxOfRows:
    """The column of each row's largest element, as in a classifier."""

    def setup(self):
        x = T.dmatrix("x")
        self.function = phintys.function([x], T.argmax(x, axis=1))
        self.value = numpy.random.default_rng(0).random((1000, 1000))

    def time_argmax(self):
        self.function(self.value)
