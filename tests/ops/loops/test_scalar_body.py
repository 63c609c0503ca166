"""Bodies of loops over single numbers, computed in registers, against the same bodies run by kernels."""
import pickle
import random
import threading

import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.ops.elementwise.arithmetic_tree import TREE_OPERATIONS
from phintys.ops.elementwise.register_code import INSTRUCTIONS
from phintys.ops.loops import native_steps
from phintys.ops.loops.scalar_body import ScalarBody
from phintys.vm.files.programs import dumps, loads
from phintys.vm.loops.loop_kernel import loops_in

FLOATS, INTEGERS = ("float64", "float32"), ("int64", "int32", "int8", "uint8")


def in_registers(f):
    """Whether the loops of a function are computed in registers, in order."""
    return [loop.scalar_body is not None for loop in loops_in(f.program)]


def compile_twice(build, monkeypatch, **options):
    """What ``build`` returns, inputs and outputs, compiled with bodies in registers and without."""
    inputs, outputs = build()
    fast = phintys.function(inputs, outputs, on_unused_input="ignore", **options)
    with monkeypatch.context() as patch:
        patch.setattr(native_steps, "scalar_body", lambda *arguments: None)
        inputs, outputs = build()
        usual = phintys.function(inputs, outputs, on_unused_input="ignore", **options)
    assert not any(in_registers(usual))
    return fast, usual


def assert_same(found, wanted):
    """The same values, bit by bit; any NaN for NaN."""
    for value, expected in zip(found, wanted):
        assert value.dtype == expected.dtype and value.shape == expected.shape
        numpy.testing.assert_array_equal(value, expected)
        if value.dtype.kind in "fc":
            numpy.testing.assert_array_equal(numpy.signbit(value.real)[value == value],
                                             numpy.signbit(expected.real)[value == value])


def test_every_operation_of_a_tree_has_an_instruction():
    assert {f"tree_{name} {dtype}" for name in TREE_OPERATIONS for dtype in FLOATS} <= INSTRUCTIONS


# ---- kernels on single numbers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(12))
def test_kernels_on_single_numbers_compute_what_their_loops_do(seed):
    """The first two calls of a frame run loops over elements; then kernels are bound, and run in registers."""
    choose = random.Random(seed)
    patterns = [(), (True,), (True, True)]
    body, pattern = RandomBody(seed), choose.choice(patterns)
    inputs = [T.TensorType(choose.choice(FLOATS + INTEGERS), pattern)() for _ in range(3)]
    terms = [*inputs, T.exp(inputs[0] * 0.25)]
    for _ in range(12):
        terms.append(body.value(terms, choose))
    f = phintys.function(inputs, terms[3:], on_unused_input="ignore")
    assert any([getattr(kernel, "scalars", None) is not None for kernel in f.program.kernels])
    shape = (1,) * len(pattern)
    values = [[numpy.full(shape, choose.choice([-3, 0, 1, 2, 5])).astype(x.dtype) for x in inputs] for _ in range(4)]
    f(*values[0]), f(*values[0])
    for given in values[1:] + [[numpy.full(shape, -0.0, x.dtype) for x in inputs]]:
        assert_same(f(*given), f.copy()(*given))


# ---- random bodies ---------------------------------------------------------------------------------------------------
FLOAT_UNARY = [T.tanh, T.exp, T.sqr, T.neg, abs, T.sin, T.floor, T.nnet.sigmoid, lambda x: x ** 3, lambda x: 1 / x,
               lambda x: T.sqrt(abs(x)), lambda x: x ** 7, T.sgn, lambda x: 2 * x + 1, lambda x: x / 3,
               lambda x: -x * x]
BINARY = [T.add, T.sub, T.mul, T.maximum, T.minimum, lambda x, y: x * y + x, lambda x, y: 3 * x - 2 * y,
          lambda x, y: x * x + y * y, lambda x, y: x * y - 0.5 * x, lambda x, y: x ** 5 + y]
INTEGER_BINARY = [T.add, T.sub, T.mul, T.maximum, T.and_, T.or_, T.xor, lambda x, y: x // (abs(y) + 1)]
COMPARISONS = [T.lt, T.le, T.gt, T.ge, T.eq, T.neq]


class RandomBody:
    """A random scan over numbers.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed):
        self.seed, self.choices = seed, random.Random(seed)
        choose = self.choices
        self.states = [(choose.choice(FLOATS + INTEGERS + ("float64", "bool")),
                        choose.choice([(-1,), (-1,), (-2, -1), (-3,), (-2,)])) for _ in range(choose.randint(1, 3))]
        self.sequences = [choose.choice(FLOATS + INTEGERS) for _ in range(choose.randint(0, 2))]
        self.wholes = [choose.choice(FLOATS + INTEGERS) for _ in range(choose.randint(0, 2))]
        self.n_steps, self.is_while = choose.choice([1, 2, 3, 7, 40, 300]), choose.random() < 0.3
        self.readings = [choose.choice([slice(None), -1, slice(-2, None)]) for _ in range(4)]

    def value(self, terms, choose):
        """One more term of the body."""
        kind = choose.random()
        x, y = choose.choice(terms), choose.choice(terms)
        if kind < 0.15:
            return T.switch(choose.choice(COMPARISONS)(x, y), x, y)
        if kind < 0.25:
            return choose.choice(COMPARISONS)(x, y)
        if kind < 0.35:
            return T.cast(x, "float64" if x.dtype in FLOATS else choose.choice(FLOATS + ("int64", "int32")))
        if x.dtype in FLOATS and kind < 0.65:
            return choose.choice(FLOAT_UNARY)(x)
        if x.dtype in INTEGERS and y.dtype in INTEGERS:
            return choose.choice(INTEGER_BINARY)(x, y)
        if "bool" in (x.dtype, y.dtype):
            return T.and_(x, y) if x.dtype == y.dtype else T.switch(x if x.dtype == "bool" else y, x, y)
        return choose.choice(BINARY)(x, y)

    def step(self, *arguments):
        choose = random.Random(self.seed)
        terms = list(arguments)
        for _ in range(choose.randint(2, 9)):
            terms.append(self.value(terms, choose))
        outputs = [T.cast(T.switch(T.isnan(term), 0.25, T.clip(term, -9, 9)) if dtype not in FLOATS else term, dtype)
                   for (dtype, _), term in zip(self.states, choose.sample(terms, len(self.states)))]
        outputs.append(choose.choice(terms))
        if self.is_while:
            return outputs, phintys.scan_module.until(choose.choice(COMPARISONS)(choose.choice(terms), 8))
        return outputs

    def build(self):
        sequences = [T.vector(dtype=dtype) for dtype in self.sequences]
        initial = [T.vector(dtype=dtype) if min(taps) < -1 else T.scalar(dtype=dtype) for dtype, taps in self.states]
        wholes = [T.scalar(dtype=dtype) for dtype in self.wholes]
        infos = [{"initial": start, "taps": list(taps)} for start, (_, taps) in zip(initial, self.states)]
        rows, _ = phintys.scan(self.step, sequences, [*infos, None], wholes, n_steps=self.n_steps)
        return [*sequences, *initial, *wholes], [row[part] for row, part in zip(rows, self.readings)]

    def arguments(self):
        numbers = numpy.random.RandomState(self.seed)

        def some(dtype, *shape):
            values = numbers.randint(0, 5, shape) if dtype == "uint8" else 3 * numbers.randn(*shape)
            return numpy.asarray(values).astype(dtype)

        sequences = [some(dtype, 2 * self.n_steps)[::-2] for dtype in self.sequences]
        initial = [some(dtype, *(() if min(taps) == -1 else (-min(taps),))) for dtype, taps in self.states]
        return [*sequences, *map(numpy.asarray, initial), *[numpy.asarray(some(dtype)) for dtype in self.wholes]]


@pytest.mark.parametrize("seed", range(40))
def test_random_bodies(seed, monkeypatch):
    body = RandomBody(seed)
    fast, usual = compile_twice(body.build, monkeypatch)
    assert all(in_registers(fast))                      # there are none where nothing depends on earlier steps
    arguments = body.arguments()
    with numpy.errstate(all="ignore"):
        for _ in range(2):
            assert_same(fast(*arguments), usual(*arguments))


@pytest.mark.parametrize("seed", range(0, 40, 8))
def test_random_gradients(seed, monkeypatch):
    """Gradients sum what goes to wholes, and carry values backwards."""
    body = RandomBody(seed)

    def build():
        inputs, outputs = body.build()
        cost = sum([output.astype("float64").sum() for output in outputs])
        wrt = [variable for variable in inputs if variable.dtype in FLOATS]
        return inputs, phintys.grad(cost, wrt, disconnected_inputs="ignore") if wrt else outputs

    fast, usual = compile_twice(build, monkeypatch)
    assert_same(fast(*body.arguments()), usual(*body.arguments()))


# ---- cases -----------------------------------------------------------------------------------------------------------
def count(n_steps, reading=-1, **options):
    start = T.dscalar()
    values, _ = phintys.scan(lambda x: x + 1, outputs_info=[start], n_steps=n_steps, **options)
    return phintys.function([start], values[reading])


@pytest.mark.parametrize("n_steps", [1, 2, 1023, 1024, 1025, 5000])
def test_counting(n_steps):
    assert count(n_steps)(0.5) == n_steps + 0.5
    numpy.testing.assert_array_equal(count(n_steps, slice(None))(0), numpy.arange(1.0, n_steps + 1))
    numpy.testing.assert_array_equal(count(n_steps, slice(-2, None))(0), numpy.arange(1.0, n_steps + 1)[-2:])


def test_the_state_is_computed_in_its_register():
    f = count(10)
    body, = [loop.scalar_body for loop in loops_in(f.program)]
    assert body.listing == ["r0 := tree_shift float64(r0, 1.0)", "lane 1 := store 8(r0)", "end()"]
    assert "once a step, in registers" in f.explain("instructions")


def test_values_that_change_places(monkeypatch):
    def build():
        a, b, c = T.dscalars(3)
        values, _ = phintys.scan(lambda a, b, c: [b, c, a], outputs_info=[a, b, c], n_steps=7)
        return [a, b, c], values

    fast, usual = compile_twice(build, monkeypatch)
    assert in_registers(fast) == [True]
    assert_same(fast(1, 2, 3), usual(1, 2, 3))
    assert [value[-1] for value in fast(1, 2, 3)] == [2, 3, 1]


def test_a_condition_that_is_an_argument(monkeypatch):
    def build():
        flags, start = T.bvector(), T.dscalar()
        values, _ = phintys.scan(lambda flag, x: (x * 2, phintys.scan_module.until(flag)), flags, start)
        return [flags, start], [values]

    fast, usual = compile_twice(build, monkeypatch)
    assert in_registers(fast) == [True]
    for flags in ([0, 0, 1, 0], [1], [0, 0, 0]):
        assert_same(fast(numpy.array(flags, "int8"), 1), usual(numpy.array(flags, "int8"), 1))


def test_complex_and_half_numbers(monkeypatch):
    def build():
        z, h = T.zscalar(), T.scalar(dtype="float16")
        values, _ = phintys.scan(lambda z, h: [z * z + 0.25j, h * h - 1], outputs_info=[z, h], n_steps=9)
        return [z, h], values

    fast, usual = compile_twice(build, monkeypatch)
    assert in_registers(fast) == [True]
    assert_same(fast(0.1 + 0.2j, numpy.float16(0.5)), usual(0.1 + 0.2j, numpy.float16(0.5)))


def test_a_loop_without_a_bound():
    limit = T.dscalar("limit")
    values, _ = phintys.scan(lambda x: (x * 1.01, phintys.scan_module.until(x > limit)),
                             outputs_info=[numpy.float64(1)])
    f = phintys.function([limit], values)
    assert in_registers(f) == [True]
    for bound in (1.5, 1e12, 2.0):
        got, wanted, x = f(bound), [], 1.0
        while True:
            wanted.append(x * 1.01)
            if x > bound:
                break
            x *= 1.01
        numpy.testing.assert_array_equal(got, wanted)


def test_no_steps():
    x = T.dvector()
    (states, squares), _ = phintys.scan(lambda x, s: [x + s, x * x], x, [numpy.float64(0), None])
    f = phintys.function([x], [states, squares])
    assert in_registers(f) == [True]
    assert [value.shape for value in f([])] == [(0,), (0,)]
    assert [value.tolist() for value in f([1, 2])] == [[1, 3], [1, 4]]


def test_other_bodies_are_not_computed_in_registers():
    x, v = T.dvector(), T.dmatrix()
    vectors, _ = phintys.scan(lambda row, state: row + state, v, T.zeros_like(v[0]))
    indexed, _ = phintys.scan(lambda position, x: x[position] * 2, T.arange(2), non_sequences=x)
    assert not any(in_registers(phintys.function([v], vectors)))
    assert not any(in_registers(phintys.function([x], indexed)))


def test_two_threads_and_long_runs():
    f, results = count(T.constant(200000)), []
    threads = [threading.Thread(target=lambda: results.extend([f(number) - number for number in range(5)]))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200000.0] * 15


def test_saved_bodies():
    f = count(12, slice(None))
    kernel, = loops_in(f.program)
    again = pickle.loads(pickle.dumps(kernel))
    assert isinstance(again.scalar_body, ScalarBody) and again.scalar_body.spec == kernel.scalar_body.spec
    assert again.scalar_body.listing == kernel.scalar_body.listing
    loaded, = loads(dumps([f.program]))
    numpy.testing.assert_array_equal(callable_of(loaded, single=True)(numpy.asarray(2.0)), f(2.0))


def test_bodies_that_are_too_large_or_too_rare_are_run_by_kernels():
    x = T.dvector()

    def wide(x):
        return sum([T.maximum(x, number) for number in range(1, 1100)])

    rows, _ = phintys.scan(wide, x)
    f = phintys.function([x], rows, mode=phintys.Mode(optimizer="fast_compile"))
    assert in_registers(f) == [False]
    numpy.testing.assert_allclose(f([0.001]), [sum(range(1, 1100))])
    z = T.zscalar()
    values, _ = phintys.scan(lambda z: (z * 2, phintys.scan_module.until(z - 4)), outputs_info=[z], n_steps=5)
    assert in_registers(phintys.function([z], values)) == [False]


# ---- registers -------------------------------------------------------------------------------------------------------
def listing_of(step, *states, sequences=0):
    """The instructions of a step over float64 numbers, and a function of the first states."""
    inputs, start = [T.dvector() for _ in range(sequences)], T.dscalars(len(states))
    rows, _ = phintys.scan(step, inputs, start, n_steps=None if inputs else 5)
    f = phintys.function([*inputs, *start], rows)
    return loops_in(f.program)[0].scalar_body.listing


def test_a_state_that_is_read_after_its_next_value_is_known_is_moved():
    """``u`` reads the old ``s`` in a call, which may not write where it reads."""
    listing = listing_of(lambda s, u: [T.exp(s), T.arctan2(s, u)], "s", "u")
    assert listing[0].startswith("r2 := call exp(r0)") and listing[-2] == "r0 := move 8(r2)"
    assert len([line for line in listing if "move" in line]) <= 2


def test_registers_are_taken_again():
    """Values between that are not needed at the same time share a register; one of a sequence is free once read."""
    def step(x, s):
        for _ in range(6):
            x = T.arctan2(T.cos(x), 2)
        return s + x

    listing = listing_of(step, "s", sequences=1)
    assert listing[0] == "r0 := load 8(lane 0)" and not any("move" in line for line in listing)
    assert {line.split(" := ")[0] for line in listing if line.startswith("r")} <= {"r0", "r1", "r3", "r4"}


def test_values_of_wholes_and_constants_are_kept():
    """They are set before the first step."""
    w, start = T.dscalars(2)
    rows, _ = phintys.scan(lambda s, w: T.maximum(T.arctan2(w, 3.0), s * 0.5), outputs_info=[start], non_sequences=[w],
                           n_steps=4)
    f = phintys.function([w, start], rows, mode=phintys.Mode(optimizer="fast_compile"))
    body, = [loop.scalar_body for loop in loops_in(f.program)]
    written = {line.split(" := ")[0] for line in body.listing}
    assert "r1" not in written and "r2" not in written
    numpy.testing.assert_allclose(f(2.0, 8.0), [4.0, 2.0, 1.0, numpy.arctan2(2.0, 3.0)], rtol=1e-15)
