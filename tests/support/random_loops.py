"""Random loops, and the same loops in plain NumPy.

A loop has sequences and states with random taps, outputs that are not fed back, a weight, and perhaps a condition. The
body is written once, in terms of the module that has ``tanh``, so that NumPy and phintys run the same formulas.
"""
from dataclasses import dataclass, field

import numpy

import phintys
import phintys.tensor as T


@dataclass
class RandomLoop:
    """What a loop reads and computes; made by ``random_loop``."""

    seed: int
    row_shape: tuple
    sequence_taps: list
    state_taps: list
    n_stacked: int
    steps: int
    go_backwards: bool
    is_while: bool
    coefficients: list = field(default_factory=list)

    def body(self, module, arguments):
        """The new rows of the states, then those of the other outputs, then the condition."""
        *moving, weight = arguments
        rows = []
        for factors in self.coefficients:
            total = weight * factors[0]
            for factor, value in zip(factors[1:], moving):
                total = total + factor * value * (1 + 0.3 * weight)
            rows.append(module.tanh(total) + 0.1 * total)
        return rows, (rows[-1].sum() if self.row_shape else rows[-1]) > 1.1

    # ---- as a graph ------------------------------------------------------------------------------------------
    def graph(self):
        """The inputs and the outputs as variables."""
        rank = len(self.row_shape)
        sequences = [T.TensorType("float64", (False,) * (rank + 1))() for _ in self.sequence_taps]
        initial = [T.TensorType("float64", (False,) * (rank + (taps != [-1])))() for taps in self.state_taps]
        weight = T.TensorType("float64", (False,) * rank)()

        def step(*arguments):
            rows, condition = self.body(T, arguments)
            return (rows, phintys.scan_module.until(condition)) if self.is_while else rows

        info = [state if taps == [-1] else dict(initial=state, taps=taps)
                for state, taps in zip(initial, self.state_taps)]
        outputs, updates = phintys.scan(step, [dict(input=sequence, taps=taps)
                                               for sequence, taps in zip(sequences, self.sequence_taps)],
                                        info + [None] * self.n_stacked, weight, n_steps=self.steps,
                                        go_backwards=self.go_backwards, return_list=True)
        assert not updates
        return [*sequences, *initial, weight], outputs

    # ---- in NumPy --------------------------------------------------------------------------------------------
    def values(self):
        """Values of the inputs."""
        rng = numpy.random.RandomState(self.seed)
        spans = [max([0, *taps]) - min([0, *taps]) for taps in self.sequence_taps]
        sequences = [rng.uniform(-1, 1, (self.steps + span, *self.row_shape)) for span in spans]
        initial = [rng.uniform(-1, 1, self.row_shape if taps == [-1] else (-min(taps), *self.row_shape))
                   for taps in self.state_taps]
        return [*sequences, *initial, rng.uniform(-1, 1, self.row_shape)]

    def run(self, *values):
        """The outputs, by a loop in Python."""
        sequences, initial = values[:len(self.sequence_taps)], values[len(self.sequence_taps):-1]
        states = [[value] if taps == [-1] else list(value) for value, taps in zip(initial, self.state_taps)]
        depths = [len(state) for state in states]
        outputs = [[] for _ in range(self.n_stacked)]
        for step in range(self.steps):
            arguments = []
            for sequence, taps in zip(sequences, self.sequence_taps):
                for tap in taps:
                    first = tap - min([0, *taps])
                    last = len(sequence) - (max([0, *taps]) - tap)
                    arguments.append(sequence[last - 1 - step if self.go_backwards else first + step])
            arguments += [state[step + depth + tap] for state, depth, taps in zip(states, depths, self.state_taps)
                          for tap in taps]
            rows, condition = self.body(numpy, [*arguments, values[-1]])
            for target, row in zip([*states, *outputs], rows):
                target.append(row)
            if self.is_while and condition:
                break
        rows = [*[state[depth:] for state, depth in zip(states, depths)], *outputs]
        return [numpy.array(row).reshape((len(row), *self.row_shape)) for row in rows]


def random_loop(seed):
    """The loop of a seed."""
    rng = numpy.random.RandomState(seed)
    sequence_taps = [sorted(rng.choice(numpy.arange(-2, 3), rng.randint(1, 3), replace=False).tolist())
                     for _ in range(rng.randint(0, 3))]
    state_taps = [rng.choice([-1, -2, -3], rng.randint(1, 4), replace=False).tolist()
                  for _ in range(rng.randint(0 if sequence_taps else 1, 3))]
    n_stacked = rng.randint(0 if state_taps else 1, 3)
    loop = RandomLoop(seed, [(), (2,), (2, 3)][rng.randint(3)], sequence_taps, state_taps, n_stacked,
                      int(rng.randint(2, 7)), bool(rng.randint(2)), bool(rng.randint(3) == 0))
    count = 1 + sum(map(len, sequence_taps)) + sum(map(len, state_taps))
    loop.coefficients = [rng.uniform(-1, 1, count) * (rng.uniform(size=count) < .8)
                         for _ in range(len(state_taps) + n_stacked)]
    return loop


def check(seed, mode=None):
    """Compare values, gradients, directional derivatives and second derivatives of a random loop with NumPy's."""
    loop = random_loop(seed)
    inputs, outputs = loop.graph()
    values, rng = loop.values(), numpy.random.RandomState(seed + 1)
    wanted = loop.run(*values)
    weights = [rng.uniform(-1, 1, value.shape) for value in wanted]
    directions = [rng.uniform(-1, 1, value.shape) for value in values]
    if seed % 3 == 0:                               # only the last rows count
        wanted_rows, weights = slice(-1, None), [weight[-1:] for weight in weights]
        cost = sum([(output[-1] * weight[0]).sum() for output, weight in zip(outputs, weights)])
    else:
        wanted_rows = slice(None)
        cost = sum([(output * weight).sum() for output, weight in zip(outputs, weights)])
    gradients = phintys.grad(cost, inputs, disconnected_inputs="ignore")
    along = sum([(gradient * direction).sum() for gradient, direction in zip(gradients, directions)])
    seconds = phintys.grad(along, inputs, disconnected_inputs="ignore")
    points = [variable.type() for variable in inputs]
    forward = phintys.Rop(cost, inputs, points)
    f = phintys.function([*inputs, *points], [*outputs, along, forward, *seconds], mode=mode,
                         on_unused_input="ignore")
    found = f(*values, *directions)
    for value, result in zip(wanted, found):
        numpy.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-12)
    backward, ahead, *second = found[len(wanted):]
    numpy.testing.assert_allclose(ahead, backward, rtol=1e-9, atol=1e-11)
    at = [numpy.array(value) for value in values]

    def cost_at(distance):
        rows = loop.run(*[value + distance * direction for value, direction in zip(at, directions)])
        if any(row.shape != value.shape for row, value in zip(rows, wanted)):
            return None                             # a while loop that ends in another step
        return sum([(row[wanted_rows] * weight).sum() for row, weight in zip(rows, weights)])

    step = 1e-3
    costs = [cost_at(distance * step) for distance in (-2, -1, 0, 1, 2)]
    if None in costs:
        return
    first = (costs[0] - 8 * costs[1] + 8 * costs[3] - costs[4]) / (12 * step)
    numpy.testing.assert_allclose(backward, first, rtol=1e-6, atol=1e-7)
    curvature = (-costs[0] + 16 * costs[1] - 30 * costs[2] + 16 * costs[3] - costs[4]) / (12 * step ** 2)
    total = sum([(gradient * direction).sum() for gradient, direction in zip(second, directions)])
    numpy.testing.assert_allclose(total, curvature, rtol=1e-4, atol=1e-5)
