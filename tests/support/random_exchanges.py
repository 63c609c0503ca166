"""Random loops that hand on values: lazy branches, views and exchanges among states and shared variables.

The new rows of states, the new values of shared variables and the recorded rows are values of a random graph. Its
leaves are what a step reads; its nodes choose one of two values by a lazy branch, choose a pair of values at once, look
at a value in another order, overwrite a part of one, or add two. So a new row is often an older one of the same or of
another state, in the same memory, as a condition says. A graph is evaluated by the modules of ``random_loops``.

``python tests/support/random_exchanges.py 0 1000`` checks the loops of these seeds in all ``WAYS``.
"""
from dataclasses import dataclass

import numpy
import seed_ranges
from random_loops import Plain, Symbolic

import phintys
import phintys.tensor as T

# How a loop may be run: its mode, its ``allow_gc``, and whether memory is poisoned when it is given back.
WAYS = [("FAST_RUN", True, False), ("FAST_RUN", False, False), ("FAST_RUN", "plan", False),
        ("FAST_COMPILE", True, False), ("FAST_RUN", True, True), ("FAST_RUN", False, True)]


def _less(module, first, second, counter):
    return first.sum() + 0.1 < second.sum()         # one may be the other in another order, added up otherwise


def _in_turn(module, first, second, counter):
    return counter % 2 > 0


def _first_steps(module, first, second, counter):
    return counter < 3


CONDITIONS = [_less, _in_turn, _first_steps]

# Two values, a condition and the module → the values of a node.
NODES = {
    "chosen": lambda module, first, second, condition: [module.chosen(condition, first, second)],
    "exchanged": lambda module, first, second, condition: module.both_chosen(condition, [first, second],
                                                                             [second, first]),
    "reversed": lambda module, first, second, condition: [first[::-1] if first.ndim else first],
    "transposed": lambda module, first, second, condition: [first.T],
    "written": lambda module, first, second, condition: [module.written(first, second[-1]) if first.ndim else second],
    "chosen part": lambda module, first, second, condition: [
        module.chosen(condition, first[::-1], second) if first.ndim else first],
    "added": lambda module, first, second, condition: [0.5 * first + 0.25 * second + 0.125],
    "late": lambda module, first, second, condition: [module.chosen(condition, module.tanh(first), second)],
}


@dataclass
class RandomExchange:
    """What a loop reads and computes; made by ``random_exchange``."""

    seed: int
    shape: tuple                # of each value
    steps: int
    taps: list                  # of each state
    n_shared: int
    nodes: list                 # (a key of ``NODES``, two positions among the values so far, a condition)
    states: list                # positions of the values that are new rows of states
    shared: list                # the same for the new values of shared variables
    recorded: list              # the same for rows that are not fed back
    reads: list                 # of each output: how many last rows; None: all; 0: none
    is_while: bool

    def step(self, module, leaves, counter):
        """The new rows, the new values, the recorded rows, and the condition that ends the loop."""
        values = list(leaves)
        for kind, first, second, condition in self.nodes:
            first, second = values[first], values[second]
            values += NODES[kind](module, first, second, CONDITIONS[condition](module, first, second, counter))
        rows, new, recorded = [[values[position] for position in group]
                               for group in (self.states, self.shared, self.recorded)]
        return rows, new, recorded, values[-1].sum() > 1.5

    def values(self):
        """Values of the sequence, the initial rows of states, and the shared variables."""
        rng = numpy.random.RandomState(self.seed)
        depths = [-min(taps) for taps in self.taps]
        return (rng.uniform(-1, 1, (self.steps, *self.shape)),
                [rng.uniform(-1, 1, (depth, *self.shape)) for depth in depths],
                [rng.uniform(-1, 1, self.shape) for _ in range(self.n_shared)])

    def run(self, sequence, initial, shared):
        """The rows that are read, and the new values of shared variables, by a loop in Python."""
        states, shared = [list(rows) for rows in initial], list(shared)
        recorded = [[] for _ in self.recorded]
        for counter, row in enumerate(sequence):
            leaves = [row, *[state[tap] for state, taps in zip(states, self.taps) for tap in taps], *shared]
            rows, shared, stacked, stops = self.step(Plain, leaves, counter)
            for target, value in zip([*states, *recorded], [*rows, *stacked]):
                target.append(numpy.array(value))
            if self.is_while and stops:
                break
        outputs = [*[state[len(rows):] for state, rows in zip(states, initial)], *recorded]
        outputs = [numpy.array(rows).reshape((len(rows), *self.shape)) for rows in outputs]
        return [rows if count is None else rows[len(rows) - min(count, len(rows)):]
                for rows, count in zip(outputs, self.reads) if count != 0], shared

    def function(self, shared, **options):
        """The same as a function of the sequence and the initial rows, which updates variables with these values."""
        rank = len(self.shape)
        variables = [phintys.shared(value) for value in shared]
        sequence = T.TensorType("float64", (False,) * (rank + 1))("sequence")
        initial = [T.TensorType("float64", (False,) * (rank + 1))() for _ in self.taps]

        def step(counter, row, *arguments):
            rows, new, recorded, stops = self.step(Symbolic, [row, *arguments, *variables], counter)
            updates = dict(zip(variables, new))
            found = [*rows, *recorded]
            return (found, updates, phintys.scan_module.until(stops)) if self.is_while else (found, updates)

        outputs, updates = phintys.scan(
            step, [T.arange(sequence.shape[0]), sequence],
            [dict(initial=rows if taps != [-1] else rows[0], taps=taps) for rows, taps in zip(initial, self.taps)]
            + [None] * len(self.recorded), return_list=True)
        outputs = [rows if count is None else rows[-count:] for rows, count in zip(outputs, self.reads) if count != 0]
        return phintys.function([sequence, *initial], outputs, updates=updates, on_unused_input="ignore",
                                **options), variables


def random_exchange(seed):
    """The loop of a seed."""
    rng = numpy.random.RandomState(seed)
    shape = [(), (2,), (40,), (2, 2), (9, 9)][rng.randint(5)]
    taps = [[[-1], [-1], [-2], [-1, -2], [-1, -3]][rng.randint(5)] for _ in range(rng.randint(0, 4))]
    n_shared = int(rng.randint(0 if taps else 1, 4))
    nodes, count = [], 1 + sum(map(len, taps)) + n_shared
    for _ in range(rng.randint(2, 8)):
        kind = list(NODES)[rng.randint(len(NODES))]
        nodes.append((kind, rng.randint(count), rng.randint(count), rng.randint(len(CONDITIONS))))
        count += 2 if kind == "exchanged" else 1
    n_recorded = int(rng.randint(0 if taps else 1, 3))
    positions = [[int(position) for position in rng.randint(1, count, size)]
                 for size in (len(taps), n_shared, n_recorded)]
    reads = [[None, 1, 2, 0, 1][rng.randint(5)] for _ in range(len(taps) + n_recorded)]
    return RandomExchange(seed, shape, int(rng.choice([1, 2, 3, 5, 30])), taps, n_shared, nodes, *positions, reads,
                          bool(rng.randint(4) == 0))


def check(seed, ways=WAYS):
    """Compare a loop, run twice in each of some ways, with the loop in Python."""
    loop = random_exchange(seed)
    sequence, initial, shared = loop.values()
    wanted, after = loop.run(sequence, initial, shared)
    wanted_again, after_again = loop.run(sequence, initial, after)
    for mode, allow_gc, stress in ways:
        with phintys.change_flags(allow_gc=allow_gc, stress=stress):
            f, variables = loop.function(shared, mode=mode)
            for rows, values in ((wanted, after), (wanted_again, after_again)):
                found = f(sequence, *initial)
                for result, value in zip([*found, *[variable.get_value() for variable in variables]],
                                         [*rows, *values], strict=True):
                    numpy.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-14,
                                                  err_msg=f"{mode}, {allow_gc=}, {stress=}")


if __name__ == "__main__":
    seed_ranges.main(check)
