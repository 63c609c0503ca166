"""First and second derivatives of random programs, backward and forward, against differences.

The programs are those of ``random_programs``, their inputs moved off whole numbers, where maxima and signs have ties.
Where differences of several widths disagree, the program has a kink or is too steep, and nothing is compared; nor is
anything where a derivative is NaN, as at the root of 0.

``python tests/support/random_derivatives.py FIRST LAST`` checks the programs of these seeds.
"""
import warnings

import numpy
from random_programs import Program
from seed_ranges import main

import phintys
import phintys.tensor as T
from phintys.graph.errors import NullTypeGradError

WIDTHS = 1e-5, 2.3e-5, 0.7e-6
TIES = "symmetric", "edge", "reflect", "wrap", "repeat", "tile", "append", "concatenate", "maximum"    # copies


class Slope:
    """A cost of a program, one of its inputs, and a direction."""

    def __init__(self, seed):
        self.program, random = Program(seed, steps=3), numpy.random.default_rng(seed)
        program, self.mode = self.program, "FAST_RUN" if seed % 3 else "FAST_COMPILE"
        floats = [n for n in range(program.inputs) if program.arrays[n].dtype == "float64" and program.arrays[n].size]
        results = [n for n in range(program.inputs, len(program.arrays)) if program.arrays[n].dtype == "float64"]
        self.usable = bool(floats and results) and not any([tie in str(program.texts) for tie in TIES])
        if not self.usable:
            return
        self.at, result = floats[0], program.variables[results[-1]]
        self.arguments = [array + random.uniform(-0.3, 0.3, array.shape) if n in floats else array
                          for n, array in enumerate(program.arrays[:program.inputs])]
        self.direction = random.uniform(-1, 1, self.arguments[self.at].shape)
        self.x = program.variables[self.at]
        self.cost = (result * T.cos(T.arange(result.size).reshape(result.shape) + 1.0)).sum()

    def function(self, cost):
        inputs = self.program.variables[:self.program.inputs]
        f = phintys.function(inputs, cost, mode=self.mode, on_unused_input="ignore")

        def at(distance):
            arguments = list(self.arguments)
            arguments[self.at] = arguments[self.at] + distance * self.direction
            return float(f(*arguments))
        return at

    def along(self, cost):
        """The derivative of a cost along the direction; None if there is none."""
        try:
            return (T.grad(cost, self.x, disconnected_inputs="ignore") * self.direction).sum()
        except NullTypeGradError:
            return None

    def compare(self, what, values, slopes):
        """Whether the differences agree with one another, and the derivative with them."""
        found = [(values(width) - values(-width)) / (2 * width) for width in WIDTHS]
        got = slopes(0)
        if not numpy.isfinite([*found, got]).all():
            return False
        scale = max(abs(found[0]), abs(found[1]), 1e-3 * abs(values(0)), 1e-3)
        if abs(found[0] - found[1]) > 1e-4 * scale or abs(found[0] - found[2]) > 1e-3 * scale:
            return False
        assert abs(got - found[0]) <= 3e-3 * scale, (
            f"{what} in {self.mode}: {got}, not {found} of {self.program.texts}, {self.arguments}")
        return True

    def check(self):
        first = self.along(self.cost) if self.usable else None
        if first is None:
            return
        values, slopes = self.function(self.cost), self.function(first)
        if not self.compare("first", values, slopes):
            return
        second = self.along(first)
        if second is not None:
            self.compare("second", slopes, self.function(second))
        try:
            forward = T.Rop(self.cost, self.x, T.constant(self.direction), disconnected_outputs="ignore")
        except (NotImplementedError, NullTypeGradError):
            return
        self.compare("forward", values, self.function(forward))


def check(seed):
    """The program of one seed."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            slope = Slope(seed)
        except AssertionError:
            return                                  # `random_programs` says more
        slope.check()


if __name__ == "__main__":
    main(check)
