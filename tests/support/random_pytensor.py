"""Random programs of PyTensor, run by phintys and in PyTensor's Python mode.

A step is a text of which PyTensor makes a variable. Its value is found by PyTensor's Python mode from the values that
it reads; a step that fails there is left out. Functions in mode ``PHINTYS`` then compute some of the values, their
derivatives and updates; values may differ as far as roundings of the inputs change them.

``python tests/support/random_pytensor.py FIRST LAST`` checks the programs of these seeds.
"""
import re
import warnings

import numpy
from pytensor_reference import PYTHON, ifelse, pytensor
from seed_ranges import main

pt = pytensor.tensor

# Kinds of dtypes, least and most dimensions of ``a``, and texts; ``b`` and ``c`` have its type and shape.
STEPS = """
biufc 0 4 | a + b; a * b; pt.eq(a, b); pt.neq(a, b); pt.switch(pt.neq(a, b), a, b); a + a; pt.isnan(a)
iufc 0 4 | a - b; -a; abs(a); a ** 2; a * 2; a + 1; a * a - b; pt.sqr(a); 1 - a
iuf 0 4 | pt.maximum(a, b); pt.minimum(a, b); a < b; a >= b; pt.clip(a, -1, 2); pt.sign(a); a // (abs(b) + 1)
iuf 0 4 | a % (abs(b) + 1); pt.cast(a, 'float64'); pt.cast(a, 'float32'); pt.cast(a, 'int32'); pt.ceil(a * 1.5)
f 0 4 | pt.exp(-abs(a)); pt.log(abs(a) + 1); pt.tanh(a); pt.sin(a); pt.cos(a); pt.sqrt(abs(a)); a / (abs(b) + 1)
f 0 4 | pt.log1p(abs(a)); pt.expm1(pt.tanh(a)); pt.sigmoid(a); pt.softplus(a); pt.erf(a); pt.gammaln(abs(a) + 1)
f 0 4 | pt.log1mexp(-abs(a) - 1); pt.arctan2(a, b + 0.5); pt.erfc(a); pt.digamma(abs(a) + 1); pt.round(a); pt.floor(a)
biu 0 4 | a & b; a | b; a ^ b; ~a
biufc 0 4 | pt.sum(a{axis}); pt.mean(a{axis}); pt.all(a{axis}); pt.any(a{axis}); pt.prod(pt.sign(abs(a) * 1.0){axis})
iuf 0 4 | pt.max(a{axis}); pt.min(a{axis}); pt.argmax(a{axis}); pt.argmin(a{axis})
f 0 4 | pt.var(a{axis}); pt.std(a{axis}); pt.logsumexp(a{axis})
biufc 1 4 | a[::-1]; a[1:]; a[:-1]; a[0]; a[-1]; a[[0, -1, 0]]; a[None]; a[..., None]; a.T; a[a.shape[0] - 1]
biufc 1 4 | a[pt.eq(a, b)]; pt.nonzero(a)[0]; a.ravel(); a.reshape((-1,)); pt.concatenate([a, b], {ax}); a[..., ::2]
biufc 1 4 | pt.stack([a, b], {ax}); pt.repeat(a, 2, axis={ax}); pt.tile(a, 2)
iufc 1 4 | pt.cumsum(a, axis={ax}); pt.cumprod(a, axis={ax})
biufc 1 4 | pt.set_subtensor(a[0], b[-1]); pt.inc_subtensor(a[[0, 0]], b[:2])
biufc 1 4 | pt.set_subtensor(a[1:], b[:-1]); pt.inc_subtensor(a[::2], b[::2]); a * b[0]
biufc 1 4 | pt.broadcast_to(a, (2, *[a.shape[n] for n in range(a.ndim)])); pt.shape_padleft(a); pt.atleast_2d(a)
biufc 1 4 | pt.specify_shape(a, (None,) * a.ndim) + b; pt.zeros_like(a) + b; pt.full_like(a, 2); pt.expand_dims(a, {ax})
iuf 1 4 | pt.sort(a, axis={ax}); pt.argsort(a, axis={ax}, kind='stable'); pt.diff(a)
iuf 1 4 | pt.searchsorted(pt.sort(a.ravel()), b)
biuf 1 1 | pt.unique(a); pt.bincount(abs(a).astype('int64')); pt.arange(a.shape[0]) + a; pt.eye(a.shape[0])
biufc 2 2 | pt.diag(a); pt.tril(a); pt.triu(a, 1); pt.join(1, a, b); pt.split(a, [1, a.shape[0] - 1], 2)[1]
iufc 2 2 | pt.dot(a, b.T); a @ b.T; a.T @ b; a @ a[0]; pt.outer(a[0], b[0]); pt.trace(a); pt.diagonal(a, 1)
fc 2 2 | pt.linalg.solve(a @ a.T + 3 * pt.eye(a.shape[0]), a); pt.linalg.inv(a @ a.T + 3 * pt.eye(a.shape[0]))
f 2 2 | pt.linalg.cholesky(a @ a.T + 3 * pt.eye(a.shape[0])); pt.linalg.det(a @ a.T + 3 * pt.eye(a.shape[0]))
f 2 2 | pt.special.softmax(a, axis={ax}); pt.special.log_softmax(a, axis={ax})
f 2 2 | pt.linalg.slogdet(a @ b.T + pt.eye(a.shape[0]))[1]
iufc 3 4 | pt.matmul(a, pt.swapaxes(b, -1, -2)); pt.tensordot(a, b, [[0], [0]]); pt.einsum('i...,i...->...', a, b)
biuf 0 4 | ifelse(pt.gt(c.sum(), 0.0123), a, b); ifelse(pt.gt(c.sum(), 0.0123), a * b, b)
f 1 4 | loop(lambda row, state: pt.tanh(row + state * 0.5), a); loop(lambda row, state: row * state, a)[-1]
f 1 4 | loop(lambda row, state: pt.maximum(row, state), a[::-1]); loop(lambda row, state: row + state, a).sum(0)
f 1 4 | loop(lambda row, state: pt.tanh(state) + row, a, go_backwards=True); loop(lambda row, state: state * 0.5, a)[1:]
f 0 4 | slope(lambda a: (pt.tanh(a) * b).sum(), a); slope(lambda a: slope(lambda a: (a ** 3 * b).sum(), a).sum(), a)
f 1 4 | slope(lambda a: (a[::2] ** 2).sum() + a[[0, 0]].sum(), a); slope(lambda a: pt.logsumexp(a) + a.max(), a)
f 1 4 | slope(lambda a: loop(lambda row, state: pt.tanh(row + state * 0.5), a)[-1].sum(), a)
f 2 2 | slope(lambda a: (pt.special.softmax(a, axis=1) * b).sum(), a); slope(lambda a: pt.tanh(a @ b.T).sum(), a)
f 2 2 | slope(lambda a: pt.linalg.slogdet(a @ a.T + 3 * pt.eye(a.shape[0]))[1], a)
"""
ROWS = [(kinds, int(least), int(most), text.strip()) for line in STEPS.strip().splitlines()
        for head, _, texts in [line.partition(" | ")] for kinds, least, most in [head.split()]
        for text in texts.split("; ")]
DTYPES = ("float64", "float64", "float64", "float32", "int64", "int32", "int8", "uint8", "bool", "complex128")
EXACT = {"float16": 2e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-12, "complex128": 1e-12}


def loop(step, rows, **options):
    """All states of a loop that begins with zeros."""
    states, _ = pytensor.scan(step, sequences=rows, outputs_info=pt.zeros_like(rows[0]), **options)
    return states


def slope(function, x):
    """The derivative by a value, whatever else depends on that."""
    x = pt.tensor_copy(x)
    return pytensor.grad(function(x), x, disconnected_inputs="ignore")


NAMES = {"pt": pt, "ifelse": ifelse, "loop": loop, "slope": slope}


class Program:
    """Variables of PyTensor and their values."""

    def __init__(self, seed, steps=7):
        self.random = numpy.random.default_rng(seed)
        self.lengths = self.random.integers(2, 5, 3)
        if self.random.integers(6) == 0:
            self.lengths[self.random.integers(3)] = self.random.integers(2)
        self.variables, self.values, self.texts = [], [], []
        for _ in range(self.random.integers(1, 4)):
            self.add_input()
        self.inputs = len(self.values)
        for _ in range(60):
            if len(self.values) >= self.inputs + steps:
                break
            self.try_step()

    def pick(self, things):
        return things[int(self.random.integers(len(things)))]

    def add_input(self):
        dtype, rank = self.pick(DTYPES), int(self.random.integers(0, 4))
        shape = tuple(map(int, self.lengths[:rank]))
        value = self.random.uniform(-3, 3, shape) + (1j * self.random.uniform(-3, 3, shape) if "c" in dtype else 0)
        value = abs(value) if dtype[0] == "u" else value > 0 if dtype == "bool" else value
        static = tuple([length if self.random.integers(4) == 0 else None for length in shape])
        self.values.append(numpy.asarray(value).astype(dtype))
        self.variables.append(pt.tensor(f"x{len(self.values)}", dtype=dtype, shape=static))
        self.texts.append(None)

    def try_step(self):
        kinds, least, most, text = self.pick(ROWS)
        fitting = [n for n, value in enumerate(self.values)
                   if value.dtype.kind in kinds and least <= value.ndim <= most]
        if not fitting:
            return
        a = self.pick(fitting[-6:])
        same = [n for n, value in enumerate(self.values)
                if (value.dtype, value.shape) == (self.values[a].dtype, self.values[a].shape)]
        axes = range(-self.values[a].ndim, self.values[a].ndim)
        text = re.sub(r"\{axis\}", self.pick(["", *[f", axis={axis}" for axis in axes]]), text)
        text = re.sub(r"\{ax\}", str(self.pick([*axes, 0])), text)
        names = {name: self.variables[n] for name, n in zip("abc", (a, self.pick(same), self.pick(same)))}
        try:
            variable = pt.as_tensor_variable(eval(text, {**NAMES, **names}))
            f = pytensor.function(self.variables[:self.inputs], variable, mode=PYTHON, on_unused_input="ignore")
            value = numpy.asarray(f(*[value.copy() for value in self.values[:self.inputs]]))
        except Exception:
            return                                  # PyTensor refuses it, or fails
        if value.size > 500 or value.dtype != variable.dtype or value.ndim > 5 \
                or value.dtype.kind not in "biufc" or not (abs(value.astype("complex128")) < 1e5).all():
            return
        self.variables.append(variable)
        self.values.append(value)
        self.texts.append(text)

    def check(self):
        count = len(self.values)
        for mode in ("PHINTYS", pytensor.compile.mode.get_mode("PHINTYS")):
            outputs = sorted({count - 1, int(self.random.integers(count)), int(self.random.integers(count))})
            self.check_function(mode, outputs)
        self.check_gradient(outputs[-1])
        self.check_updates()

    def arguments(self, layout=None):
        return [value.copy() if layout is None else numpy.array(value, order="F")[...] for value in
                self.values[:self.inputs]]

    def check_function(self, mode, outputs):
        f = pytensor.function(self.variables[:self.inputs], [self.variables[n] for n in outputs], mode=mode,
                              on_unused_input="ignore")
        for layout in (None, "F", None):
            self.agree(f(*self.arguments(layout)), [self.values[n] for n in outputs], outputs)

    def check_gradient(self, last):
        floats = [n for n in range(self.inputs) if self.values[n].dtype.kind == "f"]
        if not floats or self.values[last].dtype.kind != "f":
            return
        x = self.variables[self.pick(floats)]
        try:
            slope = pytensor.grad(self.variables[last].sum(), x, disconnected_inputs="ignore")
            wanted = pytensor.function(self.variables[:self.inputs], slope, mode=PYTHON, on_unused_input="ignore")(
                *self.arguments())
        except Exception:
            return
        f = pytensor.function(self.variables[:self.inputs], slope, mode="PHINTYS", on_unused_input="ignore")
        self.agree([f(*self.arguments())], [wanted], ["gradient"])

    def check_updates(self):
        """Shared variables instead of inputs, which take values of the program."""
        found = []
        for mode in (PYTHON, "PHINTYS"):
            shared = [pytensor.shared(value.copy()) for value in self.values[:self.inputs]]
            updates = []
            for n, variable in enumerate(shared):
                fitting = [m for m in range(self.inputs, len(self.values))
                           if self.values[m].dtype == variable.dtype and self.values[m].ndim == variable.ndim]
                if fitting:
                    updates.append((variable, self.variables[fitting[-1]]))
            givens = [(old, new) for old, new in zip(self.variables, shared)]
            try:
                f = pytensor.function([], self.variables[-1], givens=givens, updates=updates, mode=mode)
            except Exception:
                if mode is PYTHON:
                    return
                raise
            result = f()
            found.append([result, *[variable.get_value() for variable in shared]])
        self.agree(found[1], found[0], ["updates"] * len(found[0]))

    def agree(self, got, wanted, names):
        slack = None
        for position, (one, other) in enumerate(zip(got, wanted, strict=True)):
            one, other = numpy.asarray(one), numpy.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape), (
                f"{self.title(names[position])}: {one.dtype}{one.shape}, not {other.dtype}{other.shape}")
            with numpy.errstate(all="ignore"):
                off = abs(one.astype("complex128") - other.astype("complex128"))
            off = numpy.where((numpy.isnan(one) & numpy.isnan(other)) | (one == other), 0, off).max(initial=0)
            worst = max([EXACT.get(value.dtype.name, 0) for value in [*self.values, one, other]])
            if off <= 50 * worst * abs(other.astype("complex128")).max(initial=1):
                continue
            slack = self.slack(names) if slack is None else slack
            assert off <= 1000 * slack, (f"{self.title(names[position])}: {one.tolist()}, not {other.tolist()}; "
                                         f"roundings change it by {slack}")

    def slack(self, names):
        """How much roundings of the inputs change the values; infinite for derivatives and updates."""
        if not all([isinstance(name, int) for name in names]):
            return 1e-6 * max([abs(value.astype("complex128")).max(initial=1) for value in self.values])
        f = pytensor.function(self.variables[:self.inputs], [self.variables[n] for n in names], mode=PYTHON,
                              on_unused_input="ignore")
        worst, random = 0.0, numpy.random.default_rng(0)
        for _ in range(5):
            moved = []
            for value in self.values[:self.inputs]:
                eps = EXACT.get(value.dtype.name, 0)
                moved.append((value * (1 + eps * random.uniform(-1, 1, value.shape))).astype(value.dtype))
            for one, n in zip(f(*moved), names):
                if one.shape != self.values[n].shape:
                    return numpy.inf
                worst = max(worst, abs(one.astype("complex128") - self.values[n].astype("complex128")).max(initial=0))
        return worst

    def title(self, name):
        read = [f"{value.dtype}{value.shape} {variable.type}" for value, variable in
                zip(self.values[:self.inputs], self.variables)]
        return f"{name} of {read} and {self.texts[self.inputs:]}"


def check(seed):
    """The program of one seed."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        Program(seed).check()


if __name__ == "__main__":
    main(check)
