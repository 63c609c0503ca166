"""An op built outside phintys: the symbolic side of the moving average; its Cython kernel is in the same folder.

    python setup.py build_ext --inplace
    python moving_average.py
"""
import numpy
from moving_average_kernel import MovingAverageKernel

import phintys
import phintys.tensor as T


class MovingAverage(phintys.Op):
    """The mean of each ``window`` adjacent elements of a float64 vector."""

    __props__ = ("window",)

    def __init__(self, window):
        if window < 1:
            raise ValueError(f"MovingAverage: the window must be at least 1, not {window}")
        self.window = window

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        if x.type != T.dvector:
            raise TypeError(f"MovingAverage takes a float64 vector, not {x} of type {x.type}")
        return phintys.Apply(self, [x], [T.dvector()])

    def make_kernel(self, node):
        return MovingAverageKernel(self.window)

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0] - self.window + 1,)]


if __name__ == "__main__":
    x = T.dvector("x")
    smooth = phintys.function([x], 100 * MovingAverage(3)(x))
    print(smooth(numpy.sin(numpy.arange(10))).round(2))
    print(smooth.explain())
