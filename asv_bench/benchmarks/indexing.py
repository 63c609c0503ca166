"""Reading and changing parts of tensors: the cost of an index for small parts, and of the loops for large ones."""
import numpy

import phintys
import phintys.tensor as T


class TenSmallParts:
    """Ten indexing operations of all kinds on 10 x 10 numbers."""

    def setup(self):
        x, v, rows, k = T.dmatrix("x"), T.dvector("v"), T.lvector("rows"), T.lscalar("k")
        self.function = phintys.function([x, v, rows, k], [
            x[1:-1, ::-1], x[k], x[:, 2:k], v[rows], x[rows], x[T.arange(rows.shape[0]), rows], v[v > 0],
            T.set_subtensor(v[2:5], 0), T.inc_subtensor(v[rows], 1), T.inc_subtensor(x[:, 0], v)])
        random = numpy.random.default_rng(0)
        self.values = (random.standard_normal((10, 10)), random.standard_normal(10), numpy.array([3, 1, 4, 1, 5]),
                       numpy.array(6))

    def time_call(self):
        self.function(*self.values)


class Rows:
    """100,000 positions in a vector of a million, and 10,000 rows of a matrix of 10,000 x 100: taken, and added to."""

    def setup(self):
        x, m, values = T.dvector("x"), T.dmatrix("m"), T.dmatrix("values")
        positions = T.lvector("positions")
        self.take = phintys.function([x, positions], x[positions])
        self.take_rows = phintys.function([m, positions], m[positions])
        table = phintys.shared(numpy.zeros((10_000, 100)))
        self.add_rows = phintys.function([positions, values], [],
                                         updates=[(table, T.inc_subtensor(table[positions], values))])
        counts = phintys.shared(numpy.zeros(1000))
        self.count = phintys.function([positions], [], updates=[(counts, T.inc_subtensor(counts[positions], 1))])
        random = numpy.random.default_rng(0)
        self.vector, self.matrix = random.standard_normal(1_000_000), random.standard_normal((10_000, 100))
        self.positions = random.integers(0, 1_000_000, 100_000)
        self.rows, self.repeated = random.integers(0, 10_000, 10_000), random.integers(0, 1000, 100_000)

    def time_take_elements(self):
        self.take(self.vector, self.positions)

    def time_take_rows(self):
        self.take_rows(self.matrix, self.rows)

    def time_add_to_rows_some_repeated(self):
        self.add_rows(self.rows, self.matrix)

    def time_count_by_repeated_indices(self):
        self.count(self.repeated)


class ElementOfEachRow:
    """m[arange(n), y], as in losses, and its gradient."""

    def setup(self):
        m, labels = T.dmatrix("m"), T.lvector("labels")
        chosen = m[T.arange(labels.shape[0]), labels]
        self.choose = phintys.function([m, labels], chosen)
        self.gradient = phintys.function([m, labels], T.grad(chosen.sum(), m))
        random = numpy.random.default_rng(0)
        self.values = random.standard_normal((10_000, 100)), random.integers(0, 100, 10_000)

    def time_choose(self):
        self.choose(*self.values)

    def time_gradient(self):
        self.gradient(*self.values)


class Elements:
    """x[positions] for as many elements as x has, and the elements of x that a random mask selects."""

    params = [[5, 1000, 10_000, 100_000, 1_000_000]]
    param_names = ["elements"]

    def setup(self, elements):
        x, positions, mask = T.dvector("x"), T.lvector("positions"), T.vector("mask", dtype="bool")
        self.take = phintys.function([x, positions], x[positions])
        self.select = phintys.function([x, mask], x[mask])
        random = numpy.random.default_rng(0)
        self.positions, self.mask = random.integers(0, elements, elements), random.random(elements) < 0.5
        self.values = random.standard_normal(elements)

    def time_take(self, elements):
        self.take(self.values, self.positions)

    def time_select(self, elements):
        self.select(self.values, self.mask)
