"""Linear algebra, against SciPy's functions on the same arrays, and the log-likelihood of a Gaussian process."""
import numpy
import scipy.linalg

import phintys
import phintys.tensor as T
from phintys.tensor.slinalg import cho_solve, cholesky, solve_triangular


class CholeskyAndSolve:
    params = [[10, 100, 500]]
    param_names = ["order"]

    def setup(self, order):
        random = numpy.random.default_rng(0)
        matrix = random.normal(size=(order, order))
        self.matrix, self.vector = matrix @ matrix.T + order * numpy.eye(order), random.normal(size=order)
        A, b = T.dmatrix(), T.dvector()
        self.function = phintys.function([A, b], cho_solve((cholesky(A), True), b))
        self.function(self.matrix, self.vector)

    def time_phintys(self, order):
        self.function(self.matrix, self.vector)

    def time_scipy(self, order):
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(self.matrix, lower=True), self.vector)


class LeastSquares:
    params = [[(10, 3), (100, 10), (500, 100)]]
    param_names = ["shape"]

    def setup(self, shape):
        random = numpy.random.default_rng(0)
        self.matrix, self.vector = random.normal(size=shape), random.normal(size=shape[0])
        A, b = T.dmatrix(), T.dvector()
        self.function = phintys.function([A, b], T.linalg.lstsq(A, b)[0])
        self.function(self.matrix, self.vector)

    def time_phintys(self, shape):
        self.function(self.matrix, self.vector)

    def time_numpy(self, shape):
        numpy.linalg.lstsq(self.matrix, self.vector, rcond=None)


class GaussianProcess:
    """The log-likelihood and its gradient with respect to three parameters."""

    params = [[10, 100, 1000]]
    param_names = ["points"]

    def setup(self, points):
        random = numpy.random.default_rng(0)
        self.places = numpy.sort(random.uniform(0, 10, points))
        self.values = numpy.sin(self.places) + 0.1 * random.normal(size=points)
        self.parameters = numpy.array([0.1, 0.2, -1.0])
        parameters, places, values = T.dvectors("parameters", "places", "values")
        squares = (places[:, None] - places[None, :]) ** 2
        covariance = T.exp(2 * parameters[0]) * T.exp(-0.5 * squares * T.exp(-2 * parameters[1]))
        factor = cholesky(covariance + T.exp(2 * parameters[2]) * T.eye(places.shape[0]))
        white = solve_triangular(factor, values, lower=True)
        density = -0.5 * (white ** 2).sum() - T.log(T.diagonal(factor)).sum()
        self.function = phintys.function([parameters, places, values], [density, phintys.grad(density, parameters)])
        self.function(self.parameters, self.places, self.values)

    def time_value_and_gradient(self, points):
        self.function(self.parameters, self.places, self.values)
