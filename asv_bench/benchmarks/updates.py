"""Training steps of one large parameter: the cost of an update beyond reading and writing the parameter's memory."""
import numpy

import phintys
import phintys.tensor as T

RATE, DECAY = 0.01, 0.9


def descent(w, gradient):
    """w - rate * g."""
    return [(w, w - RATE * gradient)]


def momentum(w, gradient):
    """A parameter with a velocity."""
    velocity = phintys.shared(numpy.zeros_like(w.get_value()))
    step = DECAY * velocity - RATE * gradient
    return [(velocity, step), (w, w + step)]


def adam(w, gradient):
    """A parameter with two moments and a counter (Kingma and Ba 2015)."""
    first, second = [phintys.shared(numpy.zeros_like(w.get_value())) for _ in range(2)]
    steps = phintys.shared(numpy.asarray(0.0))
    count = steps + 1
    new_first = DECAY * first + (1 - DECAY) * gradient
    new_second = 0.999 * second + 0.001 * gradient ** 2
    rate = RATE * T.sqrt(1 - 0.999 ** count) / (1 - DECAY ** count)
    return [(steps, count), (first, new_first), (second, new_second),
            (w, w - rate * new_first / (T.sqrt(new_second) + 1e-8))]


RULES = {"descent": descent, "momentum": momentum, "adam": adam}


class ParameterUpdate:
    """A parameter of 1000 x 1000 float64 by three rules; the gradient is an argument."""

    params = [list(RULES)]
    param_names = ["rule"]

    def setup(self, rule):
        random = numpy.random.default_rng(0)
        w, gradient = phintys.shared(random.standard_normal((1000, 1000))), T.dmatrix("gradient")
        self.step = phintys.function([gradient], [], updates=RULES[rule](w, gradient))
        self.gradient = random.standard_normal((1000, 1000))
        self.step(self.gradient)

    def time_step(self, rule):
        self.step(self.gradient)

    def peakmem_step(self, rule):
        self.step(self.gradient)


class ProductIntoParameter:
    """w += a * dot(x.T, g): one product that accumulates into the parameter."""

    params = [["60 x 784 x 500", "1000 x 1000 x 1000"]]
    param_names = ["examples x rows x columns"]

    def setup(self, size):
        examples, rows, columns = [int(number) for number in size.split(" x ")]
        random = numpy.random.default_rng(0)
        w, x, errors = phintys.shared(numpy.zeros((rows, columns))), T.dmatrix("x"), T.dmatrix("errors")
        self.step = phintys.function([x, errors], [], updates=[(w, w - RATE * T.dot(x.T, errors))])
        self.values = random.standard_normal((examples, rows)), random.standard_normal((examples, columns))

    def time_step(self, size):
        self.step(*self.values)
