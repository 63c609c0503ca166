"""Loops: what a step costs, what a recurrent network and its gradient cost, and how long compiling one takes."""
import subprocess
import sys
from pathlib import Path

import numpy

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse

if not hasattr(phintys, "scan"):
    raise NotImplementedError                       # asv skips this file: this version has no loops

STEPS = 1000


def network(hidden, batch):
    """Sequence, initial state and weights as variables; the states; and values."""
    rank = 1 if batch == 1 else 2
    u, start = T.TensorType("float64", (False,) * (rank + 1))(), T.TensorType("float64", (False,) * rank)()
    w_in, w, b = T.dmatrix(), T.dmatrix(), T.dvector()
    states, _ = phintys.scan(lambda u, h: T.tanh(T.dot(u, w_in) + T.dot(h, w) + b), u, start)
    rng = numpy.random.RandomState(0)
    shapes = [(STEPS, *[batch] * (rank - 1), hidden), (*[batch] * (rank - 1), hidden), (hidden, hidden),
              (hidden, hidden), (hidden,)]
    return [u, start, w_in, w, b], states, [rng.uniform(-1, 1, shape) / hidden for shape in shapes]


class Counting:
    """10,000 steps of x + 1."""

    def setup(self):
        k = T.lscalar()
        rows, _ = phintys.scan(lambda x: x + 1, outputs_info=T.constant(0.0, dtype="float64"), n_steps=k)
        self.last, self.every = phintys.function([k], rows[-1]), phintys.function([k], rows)

    def time_last(self):
        self.last(10_000)

    def time_every(self):
        self.every(10_000)


class Network:
    """1000 steps of tanh(u W + h V + b)."""

    params = [[8, 64, 256], [1, 32]]
    param_names = ["hidden", "batch"]

    def setup(self, hidden, batch):
        inputs, states, self.values = network(hidden, batch)
        cost = (states[-1] ** 2).sum()
        self.forward = phintys.function(inputs, states)
        self.gradient = phintys.function(inputs, [cost, *T.grad(cost, inputs[2:])])

    def time_forward(self, hidden, batch):
        self.forward(*self.values)

    def time_gradient(self, hidden, batch):
        self.gradient(*self.values)


def _position(h):
    return T.cast(T.abs_(h) * 100, "int64") % 8


class Unbound:
    """1000 steps whose body reads or sets elements at computed positions, or has a lazy branch."""

    bodies = {"rows": lambda x, h, w: T.tanh(w[_position(h)[:3]].sum(axis=0) + x),
              "points": lambda x, h, w: T.tanh(w[_position(h), _position(h)[::-1]] + x),
              "row": lambda x, h, w: T.tanh(w[_position(h[0])] + x),
              "part": lambda x, h, w: T.tanh(T.set_subtensor(h[_position(h)[:3]], x[:3]) + x),
              "branch": lambda x, h, w: ifelse(h[0] > 0, T.tanh(T.dot(w, h) + x), h * 0.5 - x)}
    params = [list(bodies)]
    param_names = ["body"]

    def setup(self, body):
        x, h, w = T.dmatrix(), T.dvector(), T.dmatrix()
        rows, _ = phintys.scan(self.bodies[body], x, h, w)
        self.function = phintys.function([x, h, w], rows[-1])
        rng = numpy.random.RandomState(0)
        self.values = [rng.uniform(-1, 1, shape) for shape in ((STEPS, 8), 8, (8, 8))]

    def time_steps(self, body):
        self.function(*self.values)


class Recurrence:
    """Rows ``g + a h``, few and many: what a loop takes besides its steps, and a derivative of a cumulative product."""

    params = [[10, 1000]]
    param_names = ["steps"]

    def setup(self, steps):
        a, g, h = T.dvectors("agh")
        start = T.dscalar()
        self.loop = phintys.function([a, g, start], phintys.scan(lambda a, g, h: g + a * h, [a, g], start)[0])
        self.derivative = phintys.function([h], T.grad(T.cumprod(h).sum(), h))
        self.values = [numpy.random.RandomState(0).uniform(0.5, 1, steps) for _ in range(2)]

    def time_loop(self, steps):
        self.loop(*self.values, 0.5)

    def time_derivative_of_product(self, steps):
        self.derivative(self.values[0])


class LastState:
    """The last of 1000 states of tanh(u W + h V + b), whose products of rows are computed in blocks of steps."""

    params = [[8, 64, 256], [1, 32]]
    param_names = ["hidden", "batch"]

    def setup(self, hidden, batch):
        inputs, states, self.values = network(hidden, batch)
        self.function = phintys.function(inputs, states[-1])

    def time_forward(self, hidden, batch):
        self.function(*self.values)

    def peakmem_forward(self, hidden, batch):
        self.function(*self.values)


FIRST_GRADIENT = """
import sys, time
import phintys, phintys.tensor
sys.path.insert(0, sys.argv[1])
from benchmarks.loops import Compile
start = time.process_time()
Compile().time_gradient_of_network()
print(time.process_time() - start)
"""


class Compile:
    """From an empty graph to the first gradient of a recurrent network."""

    def track_first_gradient(self):
        """CPU seconds in a fresh process, without those of the import."""
        program = [sys.executable, "-c", FIRST_GRADIENT, str(Path(__file__).parents[1])]
        return min([float(subprocess.check_output(program)) for _ in range(3)])

    track_first_gradient.unit = "s"

    def time_gradient_of_network(self):
        inputs, states, values = network(8, 1)
        cost = (states[-1] ** 2).sum()
        phintys.function(inputs, [cost, *T.grad(cost, inputs[2:])])(*values)


class HamiltonianMonteCarlo:
    """A chain of 200 samples of 25 leapfrog steps each, for a regression on 442 rows with ten weights."""

    samples, leapfrog_steps, step_size = 200, 25, 0.02

    def setup(self):
        rng = numpy.random.RandomState(0)
        rows = rng.normal(size=(442, 10))
        self.data = rows, rows @ rng.normal(size=10) + 0.7 * rng.normal(size=442)
        self.values = numpy.zeros(10), rng.normal(size=(self.samples, 10)), rng.uniform(size=self.samples)
        self.chain = self.compiled()

    def compiled(self):
        rows, targets = [phintys.shared(value) for value in self.data]
        start, momenta, uniforms = T.dvector(), T.dmatrix(), T.dvector()

        def potential(w):
            return ((targets - T.dot(rows, w)) ** 2).sum() + (w ** 2).sum() / 2

        def leapfrog(w, p):
            p = p - self.step_size / 2 * T.grad(potential(w), w)
            w = w + self.step_size * p
            return w, p - self.step_size / 2 * T.grad(potential(w), w)

        def transition(momentum, uniform, w):
            (ws, ps), _ = phintys.scan(leapfrog, outputs_info=[w, momentum], n_steps=self.leapfrog_steps)
            energy = potential(w) + (momentum ** 2).sum() / 2
            accepted = T.log(uniform) < energy - potential(ws[-1]) - (ps[-1] ** 2).sum() / 2
            return T.switch(accepted, ws[-1], w)

        samples, _ = phintys.scan(transition, [momenta, uniforms], start)
        return phintys.function([start, momenta, uniforms], samples)

    def time_chain(self):
        self.chain(*self.values)

    def time_compile_and_chain(self):
        self.compiled()(*self.values)


class Memory:
    """The gradient of 400 steps by a vector of 10,000 elements, with all states kept and with every 20th."""

    params = [["scan", "scan_checkpoints"]]
    param_names = ["kind"]

    def setup(self, kind):
        a, k = T.dvector(), T.lscalar()
        options = {"save_every_N": 20} if kind == "scan_checkpoints" else {}
        states, _ = getattr(phintys, kind)(lambda state, a: T.tanh(state * a), outputs_info=T.ones_like(a),
                                           non_sequences=a, n_steps=k, **options)
        self.function = phintys.function([a, k], T.grad(states[-1].sum(), a))
        self.value = numpy.linspace(0.5, 1.5, 10_000)

    def peakmem_gradient(self, kind):
        self.function(self.value, 400)

    def time_gradient(self, kind):
        self.function(self.value, 400)
