"""Sorting, selection and Fourier transforms, against NumPy's functions on the same arrays; special functions against
SciPy's; polynomials."""
import numpy
import scipy.special

import phintys
import phintys.tensor as T

RANDOM = numpy.random.default_rng(0)


def best_of_numpy(values, k):
    """The k largest elements, the best one first."""
    return numpy.sort(numpy.partition(values, len(values) - k)[len(values) - k:])[::-1]


# Name: what it computes of a tensor, what NumPy does, and the operand.
CASES = {
    "sort 1e5": (T.sort, numpy.sort, RANDOM.normal(size=100000)),
    "argsort 1e5": (T.argsort, numpy.argsort, RANDOM.normal(size=100000)),
    "sort rows of 8": (T.sort, numpy.sort, RANDOM.normal(size=(10000, 8))),
    "argsort rows of 8": (T.argsort, numpy.argsort, RANDOM.normal(size=(10000, 8))),
    "partition 1e4": (lambda x: T.partition(x, 5000), lambda x: numpy.partition(x, 5000), RANDOM.normal(size=10000)),
    "partition 1e6": (lambda x: T.partition(x, 500000), lambda x: numpy.partition(x, 500000),
                      RANDOM.normal(size=1000000)),
    "partition 1e6 of int": (lambda x: T.partition(x, 500000), lambda x: numpy.partition(x, 500000),
                             RANDOM.integers(0, 1000000, 1000000)),
    "topk 10 of 1e4": (lambda x: T.topk(x, 10), lambda x: best_of_numpy(x, 10), RANDOM.normal(size=10000)),
    "topk 1000 of 1e4": (lambda x: T.topk(x, 1000), lambda x: best_of_numpy(x, 1000), RANDOM.normal(size=10000)),
    "unique of 1e4": (T.unique, numpy.unique, RANDOM.integers(0, 1000, 10000).astype("float64")),
    **{f"rfft 2^{power}": (T.fft.complex_rfft, numpy.fft.rfft, RANDOM.normal(size=2 ** power))
       for power in (4, 8, 12, 16, 20)},
    "gammaln 1e4": (T.gammaln, scipy.special.gammaln, RANDOM.uniform(0.1, 20, 10000)),
    "gammaln 1e4, some negative": (T.gammaln, scipy.special.gammaln, RANDOM.uniform(-5, 20, 10000)),
    "psi 1e4": (T.psi, scipy.special.psi, RANDOM.uniform(0.1, 20, 10000)),
    "erfinv 1e4": (T.erfinv, scipy.special.erfinv, RANDOM.uniform(-0.999, 0.999, 10000)),
    "polyval of 100 coefficients": (lambda x: T.polyval(numpy.ones(100), x),
                                    lambda x: numpy.polyval(numpy.ones(100), x), RANDOM.uniform(-1, 1, 10000)),
}


class AgainstNumPy:
    params = [[*CASES]]
    param_names = ["case"]

    def setup(self, case):
        build, self.theirs, self.operand = CASES[case]
        x = T.TensorType(self.operand.dtype.name, (False,) * self.operand.ndim)()
        self.function = phintys.function([x], build(x))
        found, wanted = self.function(self.operand), self.theirs(self.operand)
        numpy.testing.assert_allclose(numpy.sort(found, axis=None), numpy.sort(wanted, axis=None), rtol=1e-9, atol=1e-9)

    def time_phintys(self, case):
        self.function(self.operand)

    def time_numpy(self, case):
        self.theirs(self.operand)
