"""Many random programs at a time: their results are the outputs of one function.

The programs of a batch are those of ``random_programs``, of a few steps each. They share inputs and now and then read
values of one another, so that the optimizer merges them and their kernels share memory. Compiling is most of the time
of a program that is checked alone; here two functions are compiled for the whole batch, and are called with several
draws of operands. Results are compared with NumPy's as there, and a part of the batches with NumPy's in long doubles:
an optimized function may be off by what the steps as they are written are off by, and some roundings.

``python tests/support/random_batches.py FIRST LAST`` checks the batches of these seeds.
"""
import operator
import re
import warnings

import numpy
from family_cases import DTYPES
from random_derivatives import Derivatives
from random_programs import EXACT, Program, Variant, overflows
from seed_ranges import main

PROGRAMS, STEPS, DRAWS = 50, 3, 2
LONG = {"float32": "longdouble", "float64": "longdouble", "complex64": "clongdouble", "complex128": "clongdouble"}


class Batch(Program):
    """Programs over the same inputs; ``roots`` are their results."""

    def __init__(self, seed, programs=PROGRAMS, steps=STEPS):
        self.own = None                             # where the program that is made begins
        Program.__init__(self, seed, steps=0)
        while len(self.arrays) < 6:
            self.add_input(self.pick([*self.dtypes, self.pick(DTYPES)]), int(self.random.integers(0, 5)))
        self.inputs, self.roots = len(self.arrays), []
        for _ in range(programs):
            self.own = len(self.arrays)
            for _ in range(20):
                if len(self.arrays) >= self.own + steps:
                    break
                self.try_step()
            if len(self.arrays) > self.own:
                self.roots.append(len(self.arrays) - 1)

    def readable(self):
        """The inputs, some values of other programs, and those of this one."""
        if self.own is None:
            return range(len(self.arrays))
        others = self.random.integers(self.inputs, self.own, 2).tolist() if self.own > self.inputs else []
        return [*range(self.inputs), *others, *range(self.own, len(self.arrays))]

    def check(self, derivatives):
        """Every program for each draw of operands; returns how many programs there are."""
        if derivatives:
            self.derivatives = Derivatives(self, self.roots)
        variant = function = None
        for draw in range(DRAWS):
            operands = [array if draw == 0 else self.operand(array.dtype.name, array.shape)
                        for array in self.arrays[:self.inputs]]
            if derivatives:                         # off whole numbers, where maxima and signs have ties
                operands = [numpy.asarray(array + self.random.uniform(-0.3, 0.3, array.shape), array.dtype)
                            if array.dtype.kind == "f" else array for array in operands]
            values = self.every_value(operands)
            if values is None:
                continue
            if self.derivatives:
                self.derivatives.compare_with_differences(values, self.derived)
            if variant is None:
                variant = Variant(self, values, self.roots)
                function = variant.check()
                if function is None or variant.stored:
                    break
                continue
            variant.values, variant.derived = values, self.derived
            results = [numpy.array(result) for result in function(*[array.copy() for array in operands])]
            variant.agree(results, variant.wanted())
            if self.seed % 4 == 0:
                self.compare_with_long_doubles(variant, values, results)
        return len(self.roots) if variant else 0

    def every_value(self, operands):
        """The inputs and what follows, each step compared with NumPy's; None if there is an overflow, or if lengths
        that depend on values, as of ``a[a != b]``, do not fit."""
        try:
            values = self.computed(operands)
        except (ValueError, IndexError):
            if all(map(operator.is_, operands, self.arrays)):           # the arrays that the program was made for
                raise
            return None
        if any([overflows(self.texts[n][0], values[self.texts[n][2]["a"]]) or values[n].dtype.kind in "fc"
                and not (abs(values[n]) < 1e6).all() for n in range(self.inputs, len(values))]):
            return None
        for n in range(self.inputs, len(values)):
            self.check_step(n, values)
        return values

    def compare_with_long_doubles(self, variant, values, results):
        """The errors of a function's results are those of the plain steps, or small."""
        exact = [value.astype(LONG.get(value.dtype.name, value.dtype)) for value in values[:self.inputs]]
        for n in range(self.inputs, len(values)):
            value = self.exact(n, exact) if all([exact[m] is not None for m in self.texts[n][2].values()]) else None
            exact.append(value if value is not None and value.shape == values[n].shape
                         and value.dtype.char in "gG" else None)
        for n, result in zip(variant.outputs, results):
            eps = EXACT.get(result.dtype.str[1:])
            if re.search("copysign|angle", str(self.chain(n))):         # of a zero, whose sign is the rewrites' own
                continue
            if exact[n] is None or eps is None or not numpy.isfinite(exact[n]).all():
                continue
            plain, ours = [abs(got - exact[n]).max(initial=0) for got in (values[n], result)]
            scale = max([1, *[abs(values[m]).max(initial=0) for m in self.read_by(n)]])
            assert ours <= 30 * plain + 100 * eps * scale, (
                f"{variant.title(n)}: off by {ours}, the steps as written by {plain}: "
                f"{result.tolist()}, not {exact[n].tolist()}")


def check(seed, programs=PROGRAMS, derivatives=None):
    """The batch of one seed; returns how many programs it has."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return Batch(seed, programs).check(seed % 4 == 1 if derivatives is None else derivatives)


if __name__ == "__main__":
    main(check)
