"""Training steps of the 2010 paper's logistic regression: products, elementwise work, reductions, updates."""
import numpy

import phintys
import phintys.tensor as T


def train_function(features):
    """Return the paper's train function; weights start at zero."""
    x, y = T.dmatrix("x"), T.dvector("y")
    w, b = phintys.shared(numpy.zeros(features)), phintys.shared(numpy.asarray(0.0))
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w ** 2).sum()
    gw, gb = T.grad(cost, [w, b])
    return phintys.function([x, y], [p_1 > 0.5, xent], updates=[(w, w - 0.1 * gw), (b, b - 0.1 * gb)])


class TrainingStep:
    """One step over the whole batch."""

    params = [["4 x 100 (listing)", "400 x 784 (figure)", "1797 x 64 (digits)"]]
    param_names = ["rows x features"]

    def setup(self, size):
        rows, features = (int(number) for number in size.split(" (")[0].split(" x "))
        random = numpy.random.default_rng(0)
        self.train = train_function(features)
        self.rows, self.labels = random.standard_normal((rows, features)), random.integers(0, 2, rows).astype(float)

    def time_step(self, size):
        self.train(self.rows, self.labels)
