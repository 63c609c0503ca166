"""Random programs whose values change their shapes and strides from call to call, each made twice.

One function of a pair is used as it is, so it binds its kernels to layouts that it has seen; the other gives up all
that it keeps before each call (``free``), so it prepares every kernel anew. Both must compute the same bits, raise the
same errors, and leave the same values in their shared variables.
"""
import numpy as np

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.ifelse import ifelse
from phintys.tensor import TensorType

LENGTHS = 0, 1, 1, 2, 3, 3, 4, 7, 40
LARGE = 0, 1, 150, 151            # kernels of such lengths are worth a worker
DTYPES = "float64", "float64", "float32", "int64"
LAYOUTS = "C", "C", "C", "F", "reversed", "apart", "zero", "inner", "read-only", "list"
MODES = [("FAST_RUN", {}, LENGTHS), ("FAST_RUN", {"allow_gc": False}, LENGTHS),
         ("FAST_RUN", {"allow_gc": "plan"}, LENGTHS), ("FAST_RUN", {"stress": True}, LENGTHS),
         ("FAST_RUN", {"workers": 2}, LARGE), ("FAST_COMPILE", {}, LENGTHS)]


class Trim(phintys.Op):
    """Rows of an array, in an order of memory that differs from call to call: only ``perform``; it fails for many."""

    __props__ = ("kind",)

    def __init__(self, kind):
        self.kind = kind

    def make_node(self, x, count):
        return phintys.Apply(self, [x, T.as_tensor_variable(count)], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, count = inputs
        if count > 40:
            raise ArithmeticError("too many rows")
        if self.kind == "rows":
            output_storage[0][0] = x[:max(int(count), 0)].copy()
        elif self.kind == "order":
            output_storage[0][0] = np.array(x, order="F" if count % 2 else "C")
        else:
            output_storage[0][0] = x[::-1] if count % 2 else x


def make_value(dtype, shape, layout, seed):
    """An array of the layout; each call with the same arguments returns an equal one."""
    random = np.random.default_rng(seed)
    whole = [2 * length + 1 for length in shape]
    large = (random.uniform(-3, 3, whole) * (3 if dtype == "int64" else 1)).astype(dtype)
    value = np.ascontiguousarray(large[tuple([slice(length) for length in shape])]).reshape(shape)
    if layout == "F":
        return np.asfortranarray(value)
    if layout == "reversed" and shape:
        return np.flip(np.flip(value).copy())
    if layout == "apart":
        view = large[tuple([slice(1, 2 * length + 1, 2) for length in shape])]
        return view
    if layout == "inner" and shape:
        return large[(*[slice(length) for length in shape],)]
    if layout == "zero" and value.size:
        return np.broadcast_to(value.flat[0], shape)
    if layout == "read-only":
        value.flags.writeable = False
    if layout == "list" and dtype != "float32" and value.size:
        return value.tolist()
    return value


class Recipe:
    """The choices that make a program, so that it can be made twice."""

    def __init__(self, random, steps=8):
        self.random = random
        self.arguments = [(self.pick(DTYPES), int(random.integers(1, 3))) for _ in range(random.integers(1, 4))]
        self.stored = [(self.pick(DTYPES), int(random.integers(1, 3))) for _ in range(random.integers(0, 3))]
        self.access = [self.pick([{}, {}, {"mutable": True}, {"borrow": True}]) for _ in self.arguments]
        self.choices = [(self.pick(list(STEPS)), random.integers(0, 1 << 30, 4)) for _ in range(steps)]
        self.chosen = random.integers(0, 1 << 30, 4)
        self.borrows = random.integers(0, 2, 4).astype(bool)
        self.updates = random.integers(0, 1 << 30, len(self.stored))

    def pick(self, things):
        return things[int(self.random.integers(len(things)))]

    def compile(self, mode):
        """(the function, its shared variables)"""
        inputs = [TensorType(dtype, (False,) * rank)(f"x{number}")
                  for number, (dtype, rank) in enumerate(self.arguments)]
        stored = [phintys.shared(make_value(dtype, (3,) * rank, "C", number), name=f"s{number}")
                  for number, (dtype, rank) in enumerate(self.stored)]
        k, axis = T.lscalar("k"), T.lscalar("axis")
        values = inputs + stored
        for name, numbers in self.choices:
            made = STEPS[name](values, k, axis, [int(number) for number in numbers])
            values.extend([value for value in made if value.ndim in (1, 2)])
        outputs = [Out(values[-1 - number % min(len(values), 6)], borrow=bool(borrow))
                   for number, borrow in zip(self.chosen, self.borrows)]
        updates = []
        for variable, number in zip(stored, self.updates):
            fitting = [value for value in values if value.type == variable.type]
            if number % 3:
                updates.append((variable, fitting[number % len(fitting)]))
        function = phintys.function([*[In(x, **access) for x, access in zip(inputs, self.access)], k, axis], outputs,
                                    updates=updates, on_unused_input="ignore", mode=mode)
        return function, stored


def same_type(values, number, count=2):
    """Values of one type, the last ones more often."""
    first = values[-1 - number % len(values)]
    fitting = [value for value in values if value.type == first.type]
    return [fitting[-1 - (number >> 3 * index + 4) % len(fitting)] for index in range(count)]


def any_of(values, number):
    return values[-1 - number % len(values)]


def elementwise(values, k, axis, numbers):
    a, b = same_type(values, numbers[0])
    return [[a + b, a * 2 - b, T.maximum(a, b), T.switch(a > b, a, -b)][numbers[1] % 4]]


def unary(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return [[a * a + 1, -a, abs(a) + k.astype("int8"), a - a[:1]][numbers[1] % 4].astype(a.dtype)]


def views(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return [[a.T, a[::-1], a[::2], a[1:], a[:, ::-1] if a.ndim == 2 else a[:2]][numbers[1] % 5]]


def sliced(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return [[a[:k], a[k:], a[::k], a[-k:], a[k:, 1:] if a.ndim == 2 else a[k - 1:k]][numbers[1] % 5]]


def reduced(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    if a.ndim == 1:
        return [(a - a.sum().astype(a.dtype))]
    return [[a.sum(axis=0), a.sum(axis=1), a.max(axis=0), a.sum(axis=0, keepdims=True) * a][numbers[1] % 4]
            .astype(a.dtype)]


def reshaped(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    if a.ndim == 1:
        return [[a.reshape((-1, 1)), a.reshape((k, -1)), a[:6].dimshuffle(0, "x") + a[:6]][numbers[1] % 3]]
    return [[a.flatten(), a.reshape((a.shape[1], a.shape[0])), a.reshape((-1, k)), a.T.flatten()][numbers[1] % 4]]


def joined(values, k, axis, numbers):
    a, b = same_type(values, numbers[0])
    return [[T.join(0, a, b), T.join(axis, a, b), T.join(-1, a, b[:0])][numbers[1] % 3]]


def created(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return [[T.arange(k), T.alloc(a[:1].sum(), k), T.alloc(a.sum().astype(a.dtype), 3, k), T.zeros_like(a) + k,
             T.eye(k), T.arange(1, 9, T.maximum(k, 1))][numbers[1] % 6].astype(a.dtype)]


def repeated(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return [[T.repeat(a[:5], k, axis=0), T.repeat(a, 2, axis=0), T.tile(a[:5], (2,) * a.ndim),
             T.extra_ops.cumsum(a, axis=0)][numbers[1] % 4].astype(a.dtype)]


def split(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    return T.split(a, T.stack([k, a.shape[0] - k]), 2, axis=0)


def specified(values, k, axis, numbers):
    a = any_of(values, numbers[0])
    wanted = [a.shape[0], *([k] if a.ndim == 2 else [])] if numbers[1] % 3 == 0 else [*a.shape]
    return [T.specify_shape(a, T.stack(wanted)) if numbers[1] % 2 else T.opt.Assert("k")(a, k < 30)]


def indexed(values, k, axis, numbers):
    a, b = same_type(values, numbers[0])
    rows = T.arange(a.shape[0])[::-1]
    return [[a[rows], T.set_subtensor(a[:k], 5), T.inc_subtensor(a[rows], b), T.inc_subtensor(a[1:], b[1:]),
             a[a > 0] if a.ndim == 1 else a[(a > 0).any(axis=1).nonzero()], T.set_subtensor(a[k], 1)][numbers[1] % 6]]


def multiplied(values, k, axis, numbers):
    a, b = same_type(values, numbers[0])
    if a.ndim == 1:
        return [T.outer(a[:6], b[:6])]
    return [[T.dot(a, b.T), T.dot(a, b[0]), T.dot(a.T, b), a - T.dot(a, a.T).sum().astype(a.dtype)][numbers[1] % 4]]


def chosen(values, k, axis, numbers):
    a, b = same_type(values, numbers[0])
    return [[ifelse(k > 2, a, b), ifelse(k > 2, a + b, b[::-1]), ifelse(T.lt(k, 3), a[:k] * 2, b.copy())]
            [numbers[1] % 3]]


def by_python(values, k, axis, numbers):
    return [Trim(["rows", "order", "turned"][numbers[1] % 3])(any_of(values, numbers[0]), k)]


STEPS = {function.__name__: function for function in [
    elementwise, unary, views, sliced, reduced, reshaped, joined, created, repeated, split, specified, indexed,
    multiplied, chosen, by_python]}


class Pair:
    """A recipe's two functions, and what they are called with."""

    def __init__(self, recipe, mode, flags, lengths):
        self.recipe, self.random, self.flags, self.lengths = recipe, recipe.random, flags, lengths
        with phintys.config.change_flags(**flags):
            (self.bound, self.stored), (self.anew, self.others) = recipe.compile(mode), recipe.compile(mode)
        self.calls = self.failures = 0

    def situation(self):
        """Lengths and layouts of a call's values."""
        random, pick, known = self.random, self.recipe.pick, self.lengths
        lengths = [pick(known), pick(known)] if random.integers(3) else [pick(known)] * 2
        return [(dtype, tuple(lengths[:rank]) if random.integers(8) else tuple([pick(known) for _ in range(rank)]),
                 pick(LAYOUTS)) for dtype, rank in self.recipe.arguments], pick([0, 1, 2, 3, 3, 4, 50]), pick([0, 0, 1])

    def session(self, changes=6):
        """Calls like A A A B B A C ...; shared variables are set in between."""
        situations = []
        for _ in range(changes):
            if len(situations) < 2 or self.random.integers(2):
                situations.append(self.situation())
            situation = self.recipe.pick(situations)
            for _ in range(self.random.integers(1, 5)):
                self.call(*situation)
            if self.stored and self.random.integers(2):
                self.set_value()

    def call(self, arrays, k, axis):
        seed = int(self.random.integers(1 << 30))
        outcomes = []
        for function in (self.bound, self.anew):
            given = [make_value(*array, seed + number) for number, array in enumerate(arrays)]
            if function is self.anew:
                function.free()
            with phintys.config.change_flags(**self.flags), np.errstate(all="ignore"):
                try:
                    outcomes.append([np.array(value) for value in function(*given, k, axis)])
                except Exception as error:
                    outcomes.append(type(error))
        self.calls += 1
        self.failures += isinstance(outcomes[0], type)
        self.compare(*outcomes)

    def compare(self, got, wanted):
        if isinstance(got, type) or isinstance(wanted, type):
            assert got is wanted, (got, wanted)
        else:
            for value, other in zip(got, wanted):
                assert value.dtype == other.dtype and value.shape == other.shape
                assert value.tobytes() == other.tobytes()
        for variable, other in zip(self.stored, self.others):
            value, other = variable.get_value(borrow=True), other.get_value(borrow=True)
            assert value.shape == other.shape and value.tobytes() == other.tobytes()

    def set_value(self):
        number = int(self.random.integers(len(self.stored)))
        dtype, rank = self.recipe.stored[number]
        lengths = [self.recipe.pick(self.lengths) for _ in range(rank)]
        layout, seed = self.recipe.pick(["C", "F", "apart", "reversed"]), int(self.random.integers(1 << 30))
        borrow = bool(self.random.integers(2))
        for variable in (self.stored[number], self.others[number]):
            variable.set_value(make_value(dtype, tuple(lengths), layout, seed), borrow=borrow)


def run_session(seed):
    """(calls, of which failed) of a random program."""
    random = np.random.default_rng(seed)
    mode, flags, lengths = MODES[int(random.integers(len(MODES)))]
    recipe = Recipe(random, int(random.integers(1, 10)))
    pair = Pair(recipe, mode, flags, lengths)
    pair.session()
    return pair.calls, pair.failures
