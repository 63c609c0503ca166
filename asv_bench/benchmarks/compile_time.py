"""From an empty graph to the first result; the long graphs show whether compile time grows linearly."""
import numpy

import phintys
import phintys.tensor as T

from .logistic_regression import train_function


class Compile:
    """Building the graph, compiling it, and calling it once."""

    def time_increment(self):
        x = T.dscalar()
        phintys.function([x], x + 1)(1.0)

    def time_logistic_regression(self):
        train_function(100)(numpy.ones((4, 100)), numpy.ones(4))


class CompileLongGraph:
    """Graphs of n nodes: elementwise steps, products with tanh, and the latter's gradient."""

    params = [[100, 1000]]
    param_names = ["nodes"]

    def setup(self, nodes):
        self.vector, self.square = numpy.ones(10), 0.3 * numpy.eye(10) + 0.05

    def time_elementwise_chain(self, nodes):
        x = y = T.dvector()
        for number in range(nodes // 2):
            y = T.tanh(y) + 0.001 * number
        phintys.function([x], y)(self.vector)

    def product_chain(self, nodes):
        x, w = T.dmatrices("x", "w")
        y = x
        for _ in range(nodes // 2):
            y = T.tanh(T.dot(w, y))
        return x, w, y

    def time_product_chain(self, nodes):
        x, w, y = self.product_chain(nodes)
        phintys.function([x, w], y)(self.square, self.square)

    def time_gradient_of_product_chain(self, nodes):
        x, w, y = self.product_chain(nodes)
        phintys.function([x, w], T.grad(y.sum(), w))(self.square, self.square)
