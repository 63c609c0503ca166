"""Small scientific programs as users write them: clustering, a stencil on slices, a lattice of neighbours.

None of them consists of one large library operation: short rows are broadcast and reduced, positions of extremes are
found, several slices of one array are read together, a part of a shared array is set in place.
"""
import numpy

import phintys
import phintys.tensor as T


class KMeans:
    """One step over 10,000 points in 8 dimensions and 16 centres; sums by cluster in two ways."""

    params = [["inc_subtensor", "one hot"]]
    param_names = ["sums"]
    points, centres, dimensions = 10_000, 16, 8

    def setup(self, sums):
        values = numpy.random.default_rng(0).standard_normal((self.points, self.dimensions))
        x, c = phintys.shared(values), phintys.shared(values[:self.centres].copy())
        distances = ((x.dimshuffle(0, "x", 1) - c.dimshuffle("x", 0, 1)) ** 2).sum(axis=2)
        nearest = T.argmin(distances, axis=1)
        if sums == "one hot":
            members = T.eq(nearest.dimshuffle(0, "x"), T.arange(self.centres).dimshuffle("x", 0)).astype("float64")
            totals, counts = T.dot(members.T, x), members.sum(axis=0)
        else:
            totals = T.inc_subtensor(T.zeros((self.centres, self.dimensions))[nearest], x)
            counts = T.inc_subtensor(T.zeros((self.centres,))[nearest], 1.0)
        self.step = phintys.function([], totals / T.maximum(counts, 1).dimshuffle(0, "x"))
        self.distances = phintys.function([], distances)
        self.step()

    def time_step(self, sums):
        self.step()

    def time_distances(self, sums):
        self.distances()


class HeatEquation:
    """One explicit step on a grid of 512 x 512, which is updated in place except for its edges."""

    def setup(self):
        u = phintys.shared(numpy.random.default_rng(0).random((512, 512)))
        middle = u[1:-1, 1:-1]
        neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        self.step = phintys.function([], [], updates=[(u, T.set_subtensor(middle, middle + 0.1 * (neighbours
                                                                                                  - 4 * middle)))])
        self.step()

    def time_step(self):
        self.step()


class Ising:
    """Half a sweep of the Metropolis algorithm over a lattice of 256 x 256."""

    def setup(self):
        random = numpy.random.default_rng(0)
        spins = phintys.shared(numpy.where(random.random((256, 256)) < 0.5, -1.0, 1.0))
        mask = phintys.shared(numpy.indices((256, 256)).sum(axis=0) % 2.0)
        r = T.dmatrix("r")
        field = sum([T.roll(spins, shift, axis) for shift in (1, -1) for axis in (0, 1)])
        flips = (r < T.exp(-0.8 * spins * field)) * (mask > 0)
        self.step = phintys.function([r], [], updates=[(spins, T.switch(flips, -spins, spins))])
        self.random = random.random((256, 256))
        self.step(self.random)

    def time_half_sweep(self):
        self.step(self.random)


class EmbeddingUpdate:
    """64 rows of a matrix of 100,000 x 100 changed twice in one update: in place, so other rows cost nothing."""

    def setup(self):
        w = phintys.shared(numpy.zeros((100_000, 100), "float32"))
        rows, others, g = T.lvector("rows"), T.lvector("others"), T.fmatrix("g")
        new = T.inc_subtensor(T.inc_subtensor(w[rows], g)[others], g)
        self.step = phintys.function([rows, others, g], [], updates=[(w, new)])
        self.arguments = numpy.arange(64), numpy.arange(64) + 5, numpy.ones((64, 100), "float32")
        self.step(*self.arguments)

    def time_step(self):
        self.step(*self.arguments)


class FortranOrder:
    """``x * 2 + y`` of 1000 x 1000 float64 where both, or only one, are in Fortran order."""

    params = [["C", "Fortran", "mixed"]]
    param_names = ["order"]

    def setup(self, order):
        x, y = T.dmatrices("x", "y")
        self.function = phintys.function([x, y], x * 2 + y)
        first, second = numpy.random.default_rng(0).random((2, 1000, 1000))
        self.arguments = (first if order == "C" else numpy.asfortranarray(first),
                          numpy.asfortranarray(second) if order == "Fortran" else second)
        self.function(*self.arguments)

    def time_call(self, order):
        self.function(*self.arguments)
