"""Random loops, and the same loops in plain NumPy.

A loop has sequences and states with random taps, outputs that are not fed back, a weight, and perhaps a condition, a
counter as another state, a symbolic number of steps, and a shared variable that each step updates. Rows are computed
from weighted sums of what a step reads, by one of ``KINDS``: among them are products, parts that are overwritten,
values at a computed position, and loops inside the loop. A body is written once, in terms of a *module*, so that NumPy
and phintys run the same formulas.

``python tests/support/random_loops.py 0 1000`` checks the loops of these seeds, each in one of ``WAYS``.
"""
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse


class Plain:
    """What bodies need, by NumPy."""

    tanh, dot = staticmethod(numpy.tanh), staticmethod(numpy.dot)

    @staticmethod
    def written(x, value):
        """``x`` with another first element or row."""
        result = x.copy()
        result[0] = value
        return result

    @staticmethod
    def chosen(condition, first, second):
        return first if condition else second

    both_chosen = chosen

    @staticmethod
    def sum_of_steps(x, weight, count):
        """A loop inside the loop: the sum of its rows, and its last row."""
        state, total = x * 0, x * 0
        for step in range(count):
            state = numpy.tanh(0.5 * state + x * (1 + 0.1 * step) + weight)
            total = total + state * weight
        return total + state


class Symbolic:
    """The same as graphs."""

    tanh, dot = staticmethod(T.tanh), staticmethod(T.dot)

    @staticmethod
    def written(x, value):
        return T.set_subtensor(x[0], value)

    @staticmethod
    def chosen(condition, first, second):
        return ifelse(condition, first, second)

    both_chosen = chosen

    @staticmethod
    def sum_of_steps(x, weight, count):
        rows, _ = phintys.scan(lambda step, state, x, weight: T.tanh(0.5 * state + x * (1 + 0.1 * step) + weight),
                               T.arange(count), x * 0, [x, weight], name="inner")
        return (rows * weight).sum(axis=0) + rows[-1]


def _product(module, total, weight, counter, count):
    if total.ndim == 2:
        return module.dot(module.tanh(total), module.dot(weight.T, total))
    return total * module.dot(total, weight) if total.ndim else total * weight


def _written(module, total, weight, counter, count):
    return module.written(total, weight[0] * total[-1]) if total.ndim else total * weight


def _at_a_position(module, total, weight, counter, count):
    return weight * total[counter % 2] if total.ndim else total * (1 + counter % 2)


# How a row follows from a weighted sum of what the step reads, the weight, the counter, and a number of inner steps.
KINDS = {
    "plain": lambda module, total, weight, counter, count: module.tanh(total) + 0.1 * total,
    "product": _product,
    "written": _written,
    "at a position": _at_a_position,
    "less the mean": lambda module, total, weight, counter, count: 0.5 * (total - total.mean()) + 0.2 * weight,
    "nested": lambda module, total, weight, counter, count: 0.3 * module.sum_of_steps(total, weight, count),
    "branches": lambda module, total, weight, counter, count: module.chosen(counter % 2 > 0, module.tanh(total),
                                                                            0.5 * total),
    "first state": None,                            # the first state, in which one element or row is overwritten
    "view": None,                                   # what the step reads last, with its elements or rows reversed
    "older row": None,                              # what the step reads first or last, as a lazy branch says
}


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
    kinds: list = field(default_factory=list)           # of ``KINDS``, one for each row
    inner_steps: int = 2
    counts: bool = False                                # whether it has a counter
    updates: bool = False                               # whether it updates a shared variable
    symbolic_steps: bool = False

    def body(self, module, arguments, counter):
        """The new rows of the states, then those of the other outputs, then the condition."""
        *moving, weight = arguments
        rows = []
        for factors, kind in zip(self.coefficients, self.kinds):
            total = weight * factors[0]
            for factor, value in zip(factors[1:], moving):
                total = total + factor * value * (1 + 0.3 * weight)
            if kind == "first state":
                first = moving[sum(map(len, self.sequence_taps))]
                rows.append(module.written(0.9 * first, module.tanh(total[0])))
            elif kind == "view":
                rows.append(moving[-1][::-1])
            elif kind == "older row":
                rows.append(module.chosen(counter % 3 > 0, moving[-1], moving[0]))
            else:
                rows.append(KINDS[kind](module, total, weight, counter, self.inner_steps))
        return rows, (rows[-1].sum() if self.row_shape else rows[-1]) > 1.1

    # ---- as a graph ------------------------------------------------------------------------------------------
    def graph(self):
        """The inputs and the outputs as variables, and the updates."""
        rank = len(self.row_shape)
        sequences = [T.TensorType("float64", (False,) * (rank + 1))() for _ in self.sequence_taps]
        initial = [T.TensorType("float64", (False,) * (rank + (taps != [-1])))() for taps in self.state_taps]
        weight = T.TensorType("float64", (False,) * rank)()
        total = phintys.shared(0.0)
        n_states = len(self.state_taps)
        n_moving = sum(map(len, self.sequence_taps)) + sum(map(len, self.state_taps))

        def step(*arguments):
            counter = arguments[n_moving] if self.counts else T.constant(1, dtype="int64")
            rows, condition = self.body(Symbolic, [*arguments[:n_moving], arguments[-1]], counter)
            updates = [(total, 0.5 * total + rows[0].sum())] if self.updates else []
            if self.counts:
                rows.insert(n_states, counter + 1)
            return (rows, updates, phintys.scan_module.until(condition)) if self.is_while else (rows, updates)

        info = [state if taps == [-1] else dict(initial=state, taps=taps)
                for state, taps in zip(initial, self.state_taps)]
        info += [T.constant(0, dtype="int64")] * self.counts
        n_steps = T.lscalar("n_steps") if self.symbolic_steps else self.steps
        outputs, updates = phintys.scan(step, [dict(input=sequence, taps=taps)
                                               for sequence, taps in zip(sequences, self.sequence_taps)],
                                        info + [None] * self.n_stacked, weight, n_steps=n_steps,
                                        go_backwards=self.go_backwards, return_list=True)
        assert list(updates) == [total] * self.updates
        if self.counts:
            del outputs[n_states]
        return [*sequences, *initial, weight], [n_steps] * self.symbolic_steps, outputs, updates

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
        """The outputs, and the value of the shared variable after the loop, by a loop in Python."""
        sequences, initial = values[:len(self.sequence_taps)], values[len(self.sequence_taps):-1]
        states = [[value] if taps == [-1] else list(value) for value, taps in zip(initial, self.state_taps)]
        depths = [len(state) for state in states]
        outputs, total = [[] for _ in range(self.n_stacked)], 0.0
        for step in range(self.steps):
            arguments = []
            for sequence, taps in zip(sequences, self.sequence_taps):
                for tap in taps:
                    first = tap - min([0, *taps])
                    last = len(sequence) - (max([0, *taps]) - tap)
                    arguments.append(sequence[last - 1 - step if self.go_backwards else first + step])
            arguments += [state[step + depth + tap] for state, depth, taps in zip(states, depths, self.state_taps)
                          for tap in taps]
            rows, condition = self.body(Plain, [*arguments, values[-1]], step if self.counts else 1)
            for target, row in zip([*states, *outputs], rows):
                target.append(row)
            total = 0.5 * total + rows[0].sum()
            if self.is_while and condition:
                break
        rows = [*[state[depth:] for state, depth in zip(states, depths)], *outputs]
        return [numpy.array(row).reshape((len(row), *self.row_shape)) for row in rows], total


def random_loop(seed):
    """The loop of a seed. Rows of loops with even seeds are all plain."""
    rng = numpy.random.RandomState(seed)
    sequence_taps = [sorted(rng.choice(numpy.arange(-2, 3), rng.randint(1, 3), replace=False).tolist())
                     for _ in range(rng.randint(0, 3))]
    state_taps = [rng.choice([-1, -2, -3], rng.randint(1, 4), replace=False).tolist()
                  for _ in range(rng.randint(0 if sequence_taps else 1, 3))]
    n_stacked = rng.randint(0 if state_taps else 1, 3)
    loop = RandomLoop(seed, [(), (2,), (2, 3)][rng.randint(3)], sequence_taps, state_taps, n_stacked,
                      int(rng.randint(2, 7)), bool(rng.randint(2)), bool(rng.randint(3) == 0))
    if seed % 8 in (1, 6):                          # long enough that steps are recorded, and replayed
        loop.steps *= 4
    count = 1 + sum(map(len, sequence_taps)) + sum(map(len, state_taps))
    n_rows = len(state_taps) + n_stacked
    loop.coefficients = [rng.uniform(-1, 1, count) * (rng.uniform(size=count) < .8) for _ in range(n_rows)]
    loop.kinds = ["plain"] * n_rows
    if seed % 2:
        names = [name for name in KINDS if loop.row_shape and (state_taps or name != "first state")
                 or name == "older row" or KINDS[name] is not None]
        loop.kinds = [names[rng.randint(len(names))] for _ in range(n_rows)]
        loop.inner_steps = int(rng.randint(1, 4))
        loop.counts, loop.updates, loop.symbolic_steps = [bool(flag) for flag in rng.randint(2, size=3)]
    return loop


# How a loop may be run: its mode, its ``allow_gc``, and whether two threads run it.
WAYS = [(None, True, False), (None, False, False), (None, "plan", False), (None, True, True), (None, False, True),
        (None, "plan", True), ("FAST_COMPILE", True, False), ("DebugMode", True, False)]


def check(seed, mode=None, allow_gc=True, in_threads=False, twice=True):
    """Compare values, gradients, directional derivatives and, if ``twice``, second derivatives of a random loop with
    NumPy's."""
    loop = random_loop(seed)
    inputs, more, outputs, updates = loop.graph()
    values, rng = loop.values(), numpy.random.RandomState(seed + 1)
    wanted, total = loop.run(*values)
    if not all([numpy.isfinite(rows).all() for rows in wanted]):
        return                                      # it grows beyond all floats: what is NaN then depends on the order
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
    seconds = phintys.grad(along, inputs, disconnected_inputs="ignore") if twice else []
    points = [variable.type() for variable in inputs]
    forward = phintys.Rop(cost, inputs, points)
    with phintys.change_flags(allow_gc=allow_gc):
        f = phintys.function([*inputs, *points, *more], [*outputs, along, forward, *seconds, *updates.values()],
                             mode=mode, on_unused_input="ignore")
    arguments = [*values, *directions, *[loop.steps] * len(more)]
    found = _called(f, arguments, in_threads)
    if loop.updates:
        numpy.testing.assert_allclose(found.pop(), total, rtol=1e-9, atol=1e-11)
    for value, result in zip(wanted, found):
        numpy.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-12)
    backward, ahead, *second = found[len(wanted):]
    numpy.testing.assert_allclose(ahead, backward, rtol=1e-9, atol=1e-11)
    if more and not loop.is_while:
        _check_fewer_steps(loop, f, arguments, wanted, wanted_rows)
    if seed % 4 > 1:
        _check_last_rows(rng, [*inputs, *more], outputs, [*values, *[loop.steps] * len(more)], wanted, mode)

    def cost_at(distance):
        rows, _ = loop.run(*[value + distance * direction for value, direction in zip(values, directions)])
        if any(row.shape != value.shape for row, value in zip(rows, wanted)):
            return None                             # a while loop that ends in another step
        return sum([(row[wanted_rows] * weight).sum() for row, weight in zip(rows, weights)])

    step = 1e-3
    costs = [cost_at(distance * step) for distance in (-2, -1, 0, 1, 2)]
    if None in costs:
        return
    first = (costs[0] - 8 * costs[1] + 8 * costs[3] - costs[4]) / (12 * step)
    scale = max(1, *map(abs, costs))
    closer = [cost_at(distance * step) for distance in (-0.5, 0.5)]
    if None in closer or not numpy.isclose((costs[1] - 8 * closer[0] + 8 * closer[1] - costs[3]) / (6 * step), first,
                                           rtol=3e-7, atol=3e-8 * scale):
        return                                      # a long loop that grows: differences say nothing about it
    numpy.testing.assert_allclose(backward, first, rtol=1e-6, atol=1e-7 * scale)
    if not twice:
        return
    curvature = (-costs[0] + 16 * costs[1] - 30 * costs[2] + 16 * costs[3] - costs[4]) / (12 * step ** 2)
    along_twice = sum([(gradient * direction).sum() for gradient, direction in zip(second, directions)])
    numpy.testing.assert_allclose(along_twice, curvature, rtol=1e-4, atol=1e-5 * scale)


def _called(f, arguments, in_threads):
    """What a function returns; two threads that call it several times must get the same."""
    found = f(*arguments)
    if in_threads:
        with ThreadPoolExecutor(2) as threads:
            calls = [threads.submit(lambda: [f(*arguments) for _ in range(5)]) for _ in range(2)]
            for again in [results for call in calls for results in call.result()]:
                for value, expected in zip(again, found, strict=True):
                    numpy.testing.assert_array_equal(value, expected)
    return found


def _check_fewer_steps(loop, f, arguments, wanted, wanted_rows):
    """The same function with fewer steps, on sequences that are longer than needed, and with as many as before."""
    if loop.go_backwards or wanted_rows.start is None:  # it begins elsewhere; the cost has weights for all rows
        return
    for steps in (loop.steps - 1, loop.steps):
        found = f(*arguments[:-1], steps)
        for value, result in zip(wanted, found):
            numpy.testing.assert_allclose(result, value[:steps], rtol=1e-10, atol=1e-12)


def _check_last_rows(rng, inputs, outputs, values, wanted, mode):
    """A function that reads only some of the outputs, and of these the last rows."""
    counts = rng.randint(0, 5, len(outputs))        # 0: not read
    f = phintys.function(inputs, [rows[-count:] for rows, count in zip(outputs, counts) if count], mode=mode,
                         on_unused_input="ignore")
    expected = [rows[-count:] for rows, count in zip(wanted, counts) if count]
    for value, result in zip(expected, f(*values), strict=True):
        numpy.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-12)


def main(first, last):
    """Check the loops of a range of seeds; print those that fail."""
    for seed in range(first, last):
        # DebugMode takes ten times as long as the others, so it gets every fiftieth seed only; second derivatives
        # take most of the rest, so a fourth of the seeds has them.
        mode, allow_gc, in_threads = WAYS[-1] if seed % 50 == 7 else WAYS[seed // 2 % (len(WAYS) - 1)]
        try:
            check(seed, mode, allow_gc, in_threads, seed // 14 % 4 == 0)
        except Exception:
            print(f"seed {seed}, mode {mode}, allow_gc {allow_gc}, in_threads {in_threads}", flush=True)
            traceback.print_exc(limit=-4)
        if seed % 100 == 99:
            print(f"{seed + 1}", flush=True)
    print(f"seeds {first} to {last - 1} done", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
