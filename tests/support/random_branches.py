"""Random graphs with lazy branches, of which those that are not taken cannot be computed.

Values are *sound* or not: what is computed from a logarithm of zero, or by an op that raises an error, is not. Of the
two branches of a choice, the one that is taken is sound, the other may be either. So the value of the cost, its first
and second derivatives are those of the same graph without choices, in which what is taken is written at once.

``python tests/support/random_branches.py 0 1000`` checks the graphs of these seeds.
"""

import numpy
import seed_ranges

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse

MODES = ["FAST_RUN", "FAST_COMPILE"]


def _by_steps(a, b):
    return phintys.scan(lambda x, state, b: T.tanh(x + state) * b, a, T.zeros_like(b), b)[0][-1]


def _factored(a, b):
    return T.slinalg.cholesky(-T.eye(3) - T.outer(a, a))[0] + b


# Two vectors → a vector. Those of the second table are undefined, or fail, for all vectors.
SOUND = [lambda a, b: 0.5 * a * b, lambda a, b: T.sin(a) + b, lambda a, b: a[::-1] - b, lambda a, b: 0.1 * a * b.sum(),
         lambda a, b: T.tanh(a), lambda a, b: T.set_subtensor(a[:1], b[1:2]), _by_steps]
UNSOUND = [lambda a, b: T.log(a * 0) + b, lambda a, b: b / T.sqrt((a * 0).sum()),
           lambda a, b: T.sqrt(-1 - a ** 2) * b, lambda a, b: T.exp(1000 + a ** 2) * b, _factored,
           lambda a, b: T.nlinalg.matrix_inverse(T.outer(a, b) * 0)[1], lambda a, b: a[T.constant([5, 6, 7])] * b]


class RandomBranches:
    """A graph, with choices or without; ``random_branches(seed, ...)`` makes the same one in both forms.

    Attributes
    ----------
    x, y, flags : Variable
    cost : Variable
    """

    def __init__(self, seed, has_choices):
        self.rng, self.has_choices = numpy.random.RandomState(seed), has_choices
        self.x, self.y, self.flags = T.dvector("x"), T.dvector("y"), T.bvector("flags")
        self.values = [(self.x, True), (self.y, True)]             # and whether they are sound
        for _ in range(self.rng.randint(3, 14)):
            kind = self.rng.randint(5)
            if kind < 2:
                self._compute(SOUND)
            elif kind == 2:
                self._compute(UNSOUND)
            else:
                self._choose(kind == 4)
        sound = [value for value, is_sound in self.values if is_sound]
        self.cost = sum([(value ** 2).sum() * 0.1 for value in sound[-3:]])

    def _pick(self, sound=False):
        while True:
            found = self.values[self.rng.randint(len(self.values))]
            if found[1] or not sound:
                return found

    def _compute(self, formulas):
        formula, picked = formulas[self.rng.randint(len(formulas))], [self._pick(), self._pick()]
        is_sound = formulas is SOUND and all([sound for _, sound in picked])
        value = formula(*[value for value, _ in picked]) if is_sound or self.has_choices else None
        self.values.append((value, is_sound))

    def _choose(self, several):
        """Add what a lazy branch gives: a sound value, or two."""
        condition, is_true = self._condition()
        if self.rng.randint(4) == 0:
            self._choose_inside(condition, is_true)
            return
        taken = [self._pick(sound=True)[0] for _ in range(1 + several)]
        other = [self._pick()[0] for _ in range(1 + several)]
        if self.has_choices:
            taken = ifelse(condition, *((taken, other) if is_true else (other, taken)))
        self.values += [(value, True) for value in taken]

    def _choose_inside(self, condition, is_true):
        """The same inside an op that holds a graph: its arguments are computed in any case."""
        sound, unsound = [formulas[self.rng.randint(len(formulas))] for formulas in (SOUND, UNSOUND)]
        values = [self._pick(sound=True)[0] for _ in range(2)]
        passes = self.rng.randint(2)
        a, b, flag = T.dvector(), T.dvector(), T.lscalar()
        taken, other = (a if passes else sound(a, b)), (b if passes else unsound(a, b))
        if not self.has_choices:
            self.values.append((values[0] if passes else sound(*values), True))
            return
        op = phintys.OpFromGraph([flag, a, b], [ifelse(flag, *((taken, other) if is_true else (other, taken)))])
        self.values.append((op(T.cast(condition, "int64"), *values), True))

    def _condition(self):
        kind, flag, (value, _) = self.rng.randint(3), self.rng.randint(3), self._pick(sound=True)
        if kind == 0:
            return value.sum() < 1e6, True
        return (self.flags[flag], flag > 0) if kind == 1 else (T.eq(self.flags[flag], 0), flag == 0)

    def results(self):
        """The cost, its gradients, second derivatives, and its derivative along a direction."""
        wrt = [self.x, self.y]
        gradients = phintys.grad(self.cost, wrt, disconnected_inputs="ignore")
        second = phintys.grad(sum([(gradient ** 2).sum() for gradient in gradients]), wrt, disconnected_inputs="ignore")
        return [self.cost, *gradients, *second, phintys.Rop(self.cost, wrt, wrt)]


def check(seed, modes=MODES):
    """Compare a graph with choices with the graph without."""
    arguments = [numpy.array([0.5, -0.25, 1]), numpy.array([-0.75, 0.5, 0.125]), numpy.array([0, 1, 1], "int8")]
    plain, lazy = RandomBranches(seed, False), RandomBranches(seed, True)

    def values(graph, mode):
        f = phintys.function([graph.x, graph.y, graph.flags], graph.results(), mode=mode, on_unused_input="ignore")
        return f(*arguments)

    wanted = values(plain, "FAST_COMPILE")
    for mode in modes:
        for value, expected in zip(values(lazy, mode), wanted, strict=True):
            numpy.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12, err_msg=mode)


if __name__ == "__main__":
    seed_ranges.main(check)
