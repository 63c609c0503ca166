"""First and second derivatives of random programs, backward and forward: between modes, and against differences.

Derivatives of some results of a program are outputs beside its values. Between modes they may differ by what roundings
of all values on the way change them by: a program whose floats are multiplied by noise says how much that is. NumPy's
differences in long doubles say what they should be, where results are float64 and the sides of a kink do not differ.
At a tie (the maximum of a value and its copy) the convention decides, not the limit: noise breaks ties.

``python tests/support/random_derivatives.py FIRST LAST`` checks batches of programs, each with its derivatives.
"""
import warnings
from collections import namedtuple

import numpy

import phintys
import phintys.tensor as T
from phintys.graph.errors import NullTypeGradError

Derivative = namedtuple("Derivative", "kind n at variable")
WIDTH = {"first": 1e-6, "forward": 1e-6, "second": 2e-5}
EPS = {"f2": 1e-3, "f4": 1.2e-7, "c8": 1.2e-7, "f8": 2.2e-16, "c16": 2.2e-16}


def weighted(value):
    """A sum in which each element has a weight of its own."""
    return (value * T.cos(T.arange(value.size).reshape(value.shape) + 1.0)).sum()


def weights(shape):
    """The weights of NumPy's values."""
    return numpy.cos(numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape) + numpy.longdouble(1))


class Derivatives:
    """Those of the results ``roots`` of a program, each by one of the inputs that it is computed from."""

    def __init__(self, program, roots):
        self.program, self.rows, self.functions = program, [], {}
        for n in roots:
            floats = [m for m in program.read_by(n) if m < program.inputs and program.arrays[m].dtype.kind == "f"]
            if floats and program.arrays[n].dtype.kind == "f" and program.arrays[n].size:
                self.add(n, program.pick(sorted(floats)))

    def add(self, n, at):
        """The first derivative of a result, and now and then others."""
        kinds = ["first", *[kind for kind in ("second", "forward") if self.program.random.integers(3) == 0]]
        self.rows += [Derivative(kind, n, at, variable) for kind in kinds for variable in [
            self.made(kind, self.program.variables[n], self.program.variables[at])] if variable is not None]

    @staticmethod
    def made(kind, result, x):
        """A derivative, None where an op has none."""
        cost = weighted(result)
        try:
            if kind == "forward":
                return T.Rop(cost, x, T.cast(T.cos(T.arange(x.size).reshape(x.shape) + 1.0), x.dtype),
                             disconnected_outputs="ignore")
            first = T.grad(cost, x, disconnected_inputs="ignore")
            return first if kind == "first" else T.grad(weighted(first), x, disconnected_inputs="ignore")
        except (NullTypeGradError, NotImplementedError):
            return None

    @property
    def variables(self):
        return [row.variable for row in self.rows]

    def noisy(self, position):
        """A function of inputs and noise: a derivative of the program in which each float is multiplied by noise."""
        if position not in self.functions:
            row, program = self.rows[position], self.program
            variables, noise = {}, {}
            for m in sorted(program.read_by(row.n)):
                variable = program.variables[m] if m < program.inputs else program.symbolic(m, variables)
                if program.variables[m].dtype[0] in "fc":
                    noise[m] = variable.type()
                    variable = variable * noise[m]
                variables[m] = variable
            derivative = self.made(row.kind, variables[row.n], program.variables[row.at])
            self.functions[position] = sorted(noise), phintys.function(
                [*program.variables[:program.inputs], *noise.values()], derivative, mode="FAST_COMPILE",
                on_unused_input="ignore")
        return self.functions[position]

    def slack(self, position, values):
        """How much noise of the size of roundings changes a derivative; infinite at kinks, ties and poles."""
        positions, function = self.noisy(position)
        random, worst = numpy.random.default_rng(0), 0.0
        arguments = values[:self.program.inputs]
        try:
            plain = function(*arguments, *[numpy.ones_like(values[m]) for m in positions])
            for _ in range(10):
                noise = [(1 + 4 * EPS[values[m].dtype.str[1:]] * random.uniform(-1, 1, values[m].shape)).astype(
                    values[m].dtype) for m in positions]
                off = abs(numpy.subtract(function(*arguments, *noise), plain, dtype="float64")).max(initial=0)
                worst = max(worst, off if numpy.isfinite(off) else numpy.inf)
        except ValueError:
            return numpy.inf                        # a shape depends on the noise
        return worst

    def compare_with_differences(self, values, derived):
        """Derivatives of float64 programs against NumPy's differences in long doubles; returns how many."""
        return sum([self.differs_not(position, values, numpy.asarray(got, "float64"))
                    for position, got in enumerate(derived)])

    def differs_not(self, position, values, got):
        """Whether a derivative could be compared."""
        row, program = self.rows[position], self.program
        used = program.read_by(row.n)
        if not numpy.isfinite(got).all() or any([values[m].dtype.str[1:] not in ("f8", "c16") for m in used
                                                 if values[m].dtype.kind in "fc"]):
            return False
        along = weights(values[row.at].shape)
        if row.kind != "forward":
            along = numpy.random.default_rng(position).uniform(-1, 1, along.shape).astype("longdouble")
            got = (got * along).sum()
        wanted, spread = self.difference(row, values, along, {})
        if wanted is None:
            return False
        scale = max(abs(wanted), abs(got), 1e-3)
        if abs(got - wanted) <= 1e-6 * scale + 2 * spread or (
                abs(got - wanted) <= 1000 * along.size * self.slack(position, values)):
            return True
        positions, function = self.noisy(position)  # a tie, perhaps, or too steep
        random = numpy.random.default_rng(position)
        noise = {m: 1 + 1e-3 * random.uniform(-1, 1, values[m].shape) for m in positions}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            noisy = numpy.asarray(function(*values[:program.inputs], *noise.values()))
        noisy = noisy if row.kind == "forward" else (noisy * along).sum()
        exact, spread = self.difference(row, values, along, noise)
        if exact is None or abs(noisy - exact) <= 1e-6 * max(abs(exact), abs(noisy), 1e-3) + 2 * spread:
            return False
        raise AssertionError(f"seed {program.seed}: the {row.kind} derivative of {program.chain(row.n)} by value "
                             f"{row.at} along a direction: {got}, not {wanted}; with noise {noisy}, not {exact}")

    def difference(self, row, values, along, noise):
        """The derivative of the weighted sum along a direction, and how far two widths disagree; (None, None) where
        they do by much, as at a kink."""
        program, used = self.program, sorted(self.program.read_by(row.n))

        def cost(*steps):
            exact = {}
            for m in used:
                if m < program.inputs:
                    value = values[m].astype("longdouble") if values[m].dtype == "float64" else values[m]
                    value = value + sum(steps) if m == row.at else value
                else:
                    value = program.exact(m, exact)
                    if value is None or value.shape != values[m].shape or (
                            value.dtype.kind in "fc" and value.dtype.char not in "gG"):
                        return numpy.nan            # NumPy has no long doubles here
                exact[m] = value * noise[m] if m in noise else value
            return (exact[row.n] * weights(exact[row.n].shape)).sum()

        found = []
        for h in (WIDTH[row.kind] * numpy.longdouble(1), WIDTH[row.kind] * numpy.longdouble(0.37)):
            d = h * along
            if row.kind == "second":
                w = h * weights(along.shape)
                found.append((cost(d, w) - cost(d, -w) - cost(-d, w) + cost(-d, -w)) / (4 * h * h))
            else:
                here = cost(0 * d)
                found += [(cost(d) - here) / h, (here - cost(-d)) / h]
        spread, size = max(found) - min(found), max(map(abs, found))
        if not numpy.isfinite(found).all() or spread > 1e-3 * max(size, 1e-3):
            return None, None
        return found[1] if row.kind == "second" else (found[2] + found[3]) / 2, spread


def check(seed):
    """The batch of one seed, with derivatives of its programs; returns how many programs there are."""
    from random_batches import check as check_batch
    return check_batch(seed, derivatives=True)


if __name__ == "__main__":
    from seed_ranges import main
    main(check)
