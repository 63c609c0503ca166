"""What the optimizer leaves out must still have had lengths that agree: modes raise for the same arguments, and the
check costs nothing where other nodes compare the same lengths.
"""
import random

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.graph.traversal import graph_inputs as inputs_of
from phintys.ifelse import ifelse
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.types.tensor_type import TensorType

MODES = ("FAST_RUN", "FAST_COMPILE")
V, W, M, N = T.dvector("v"), T.dvector("w"), T.dmatrix("m"), T.dmatrix("n")
S, COUNT = T.dscalar("s"), T.lscalar("count")
FIVE = TensorType("float64", (False,), shape=(5,))("five")
ROWS = TensorType("float64", (False, False), shape=(4, None))("rows")
VALUES = {V: numpy.arange(1, 6.0), W: numpy.linspace(2, 3, 5), M: numpy.arange(1, 26.0).reshape(5, 5), S: 0.5, COUNT: 5,
          N: numpy.arange(25.0).reshape(5, 5)[::-1] + 1, FIVE: numpy.arange(5.0),
          ROWS: numpy.arange(20.0).reshape(4, 5)}

# Expressions in which no element of an operand matters, or only some elements do. All lengths must be 5.
def in_branches(depth, value):
    """A value inside many branches, all of which are taken."""
    for number in range(depth):
        value = ifelse(T.gt(S, -number), value, W)
    return value


CASES = {
    "fill": T.fill(V, W),
    "zeros_like": T.zeros_like(V) + W,
    "ones_like": T.ones_like(V) * W,
    "product with 0": V * 0 + W,
    "power 0": (V * W) ** 0,
    "terms that cancel": V + W - V,
    "factors that cancel": V * W / V,
    "switch of one branch": T.switch(1, V, W),
    "equal branches": T.switch(T.ge(V, 0), W, W),
    "element": (V + W)[1],
    "element of a switch": T.switch(S > 0, V, W)[0],
    "first elements": (V * W)[:2],
    "every other element": T.exp(V - W)[::2],
    "elements": (V * W)[[0, 2]],
    "row": (M + N)[1],
    "row beside a vector": (M + V)[1],
    "part of a product": T.dot(M, N)[0, 1],
    "shape": (V + W).shape,
    "length": (M * N).shape[0] + (M * N).shape[1],
    "product with 0 of a dot": T.dot(M, V) * 0 + S,
    "one of a stack": T.stack([V, W])[0],
    "columns": T.concatenate([V[:, None], W[:, None]], axis=1)[:, 0],
    "sum of zeros": (0 * M).sum(axis=0) + V,
    "given length": T.alloc(S, COUNT) * 0 + V,
    "static length": FIVE * 0 + V,
    "with a constant": numpy.ones(5) * 0 + V,
    "reversed": V[::-1] * 0 + W,
    "slices": V[1:3] + W[2:4] + (V[1:] * W[1:])[:2],
    "gradient": grad((V * W).sum(), V),
    "gradient of a quotient": grad((V / W).sum(), V),
    "gradient of a sum": grad((V + W).sum(), [V, W]),
    "gradient of a product": grad(T.dot(M, V).sum(), V),
    "gradient by a row": grad((M + V).sum(), V),
    "gradient of an element": grad((V * W)[0], W),
    "solution": T.slinalg.solve(M + 10 * T.eye(5), V) * 0 + W,
    "biased rows": (T.nnet.softmax_with_bias(M, V) * 0).sum(axis=0) + W,
    "branch": ifelse(S > 0, V * 0 + W, W),
    "the other branch": ifelse(T.exp(S) < 0, W, (V * W)[:2].sum() + W),
    "branch in a branch": ifelse(S > 0, ifelse(S < 1, V * 0 + W, W), W),
    "gradient of a branch": grad(ifelse(S > 0, (V * W).sum(), W.sum()), V),
    "a number as the condition": ifelse(S, V - V + W, W),
    "what two branches need": ifelse(S > 0, V * 0 + W, W) + ifelse(S > 0, T.exp(V * 0 + W), W),
    "what six branches need": (lambda value: sum([ifelse(T.lt(S, number), T.exp(value + number), W) for number in range(
        1, 7)]))(V * 0 + W),
    "twelve branches around": in_branches(12, V * 0 + W),
    "length of a choice": ifelse(S > 0, V, V[:2]) * 0 + W,
    "in a loop": phintys.scan(lambda row: row * 0 + W, M)[0],
    "loop": phintys.scan(lambda row, v: (row * v)[1], M, non_sequences=V)[0],
    "loop of three steps": phintys.scan(lambda h, w: h + w * 0, outputs_info=V, non_sequences=W, n_steps=3)[0],
    "last state": phintys.scan(lambda h, w: h * 0 + w, outputs_info=V, non_sequences=W, n_steps=20)[0][-1],
    "moved before a loop": phintys.scan(lambda row, h: T.tanh(h) + T.dot(row, N) * 0 + W, M, outputs_info=V)[0],
    "element that is moved before a loop": phintys.scan(lambda row, h: T.tanh(h) + (T.dot(row, N) + W)[1], M,
                                                        outputs_info=S)[0],
    "moved after a loop": phintys.scan(lambda row, h: [T.tanh(h + row[0]), row * h * 0 + W], M,
                                       outputs_info=[S, None])[0],
    "product that is moved after a loop": phintys.scan(lambda row, h: [T.tanh(h + row[0]), T.dot(row * h, N) * 0 + W],
                                                       M, outputs_info=[S, None])[0],
    "gradient of a sum of states": grad(phintys.scan(lambda row, h: h + T.dot(row, N), M, outputs_info=V)[0].sum(), N),
    "gradient of a sum in steps": grad(phintys.scan(lambda row, h: h + (row * V).sum(), M, outputs_info=S)[0].sum(), V),
    "gradient by rows": grad(phintys.scan(lambda row, h: h + (row * V).sum(), M, outputs_info=S)[0].sum(), M),
    "loop without a reader": phintys.scan(lambda row, h: T.tanh(h * row + V), M, outputs_info=W)[0].sum() * 0 + S,
    "rows without a reader": phintys.scan(lambda row, h: [T.tanh(h), row * h * V], M, outputs_info=[S, None])[0][0],
    "state without a reader": phintys.scan(lambda row, h: [T.tanh(h * V), row * 2], M, outputs_info=[W, None])[0][1],
    "parts of rows without a reader": phintys.map(lambda row: row[2:] * V[2:] + row[:3], M)[0].sum() * 0 + W,
    "loop in a loop": phintys.map(lambda row: phintys.scan(lambda h, v: T.tanh(h * v), outputs_info=row, n_steps=20,
                                                           non_sequences=V)[0][-1], M)[0].sum() * 0 + W,
    "branch in a loop": phintys.map(lambda row: ifelse(S > 0, row * V + W, row), M)[0].sum() * 0 + S,
    "what two branches in a loop need": phintys.map(lambda row: ifelse(S > 0, row * V, ifelse(S < 1, T.exp(
        row * V), row)), M)[0].sum() * 0 + S,
    "graph as an op": phintys.OpFromGraph([V, W], [V * W])(V, W) * 0 + M,
    "convolution": (T.nnet.conv2d(M[None, :, :, None], N[:, :, None, None]) * 0).sum() + W,
    "gradient of a convolution": grad(T.nnet.conv2d(M[None, :, :, None], N[:, :, None, None]).sum(), N) + V,
    "parts of rows beside a loop": phintys.scan(lambda row, h: [T.tanh(h + row[0]), row[1:] * V[1:] * 0 + W[:-1]], M,
                                                outputs_info=[S, None])[0],
    "parts of rows that a loop reads, too": phintys.scan(
        lambda row, h: [T.tanh(h + (row[1:] * V[1:]).sum()), row[1:] + W[1:] - row[1:]], M, outputs_info=[S, None])[0],
    "part of a state": phintys.scan(lambda row, h: [T.tanh(h), h[1:] * 0 + row[1:]], M, outputs_info=[V, None])[0],
    "rows in another order": phintys.scan(lambda row, h: [T.tanh(h), row[::-1][1:] * 0 + V[1:]], M,
                                          outputs_info=[S, None])[0],
    "what two branches in a loop need, and no other": phintys.map(
        lambda row: ifelse(S > 0, row * V, row) + ifelse(S < 1, T.exp(row * V), row), M)[0].sum() * 0 + S,
    "branches in what branches need": (lambda both: [ifelse(S > -1, T.exp(both), W), ifelse(S < 2, both * 2, W)])(
        ifelse(S > 0, V * 0 + W, W)),
    "graph as an op, twice": (lambda op: [op(V, V), op(V, W)])(phintys.OpFromGraph([V, W], [V[1:] * 0 + W[1:]])),
    "loop of other values": (lambda rows: [rows, phintys.clone(rows, {V: W})])(
        phintys.scan(lambda row, v: row[1:] * 0 + v[1:], M, non_sequences=V)[0]),
    "known number of rows": phintys.scan(lambda row, v: (row * v)[1], ROWS, non_sequences=V)[0],
}


@pytest.mark.parametrize("name", CASES)
def test_modes_raise_for_the_same_lengths(name):
    outputs = CASES[name] if isinstance(CASES[name], list) else [CASES[name]]
    inputs = [x for x in VALUES if x in inputs_of(outputs)]
    functions = [phintys.function(inputs, outputs, mode=mode) for mode in MODES]
    values = [VALUES[x] for x in inputs]
    for _ in range(3):
        fast, plain = [f(*values) for f in functions]
        for mine, other in zip(fast, plain):
            numpy.testing.assert_allclose(mine, other, rtol=1e-12)
    changed = 0
    for position, x in enumerate(inputs):
        for axis in range(x.type.ndim):
            if x.type.shape[axis] is None:
                for wrong in (numpy.repeat(values[position], 2, axis), values[position].take([0], axis)):
                    arguments = [*values[:position], wrong, *values[position + 1:]]
                    fast, plain = [raised(f, arguments) for f in functions]
                    assert fast is plain, (x, wrong.shape)
                    changed += fast is not None
        if x is COUNT:
            assert all([raised(f, [*values[:position], 4, *values[position + 1:]]) for f in functions])
    assert changed >= 2
    for f in functions:
        f(*values)                                  # a call that failed leaves nothing behind


def raised(f, arguments):
    """The class of the error of a call, or None."""
    try:
        f(*arguments)
    except (ValueError, IndexError) as error:
        return type(error)
    return None


def test_the_error_says_what_differs_and_where():
    y = V * 0 + W                                   # the line that is named
    f = phintys.function([V, W], T.exp(y))
    with pytest.raises(ValueError, match=r"mis-match. \(v.shape\[0\] = 2, w.shape\[0\] = 3\)(?s:.)*line that is named"):
        f([1, 2], [1, 2, 3])
    assert "equal_lengths(exp1, v.shape[0] == w.shape[0])" in f.explain()


@pytest.mark.parametrize("mode", MODES)
def test_an_element_of_an_operand_that_is_too_short(mode):
    """The lengths are the reason, not the index, although the element is taken before lengths are compared."""
    index, state = T.lscalar("index"), phintys.shared(numpy.zeros(1), "state")
    steps = phintys.scan(lambda row, h: T.tanh(h) + (row * h + V)[1], M, outputs_info=S)[0]
    for inputs, output, arguments in [([V, W], (V + W)[1], [[1.0], [1.0, 2.0]]),
                                      ([V, W, index], (V * W)[index], [[1.0, 2.0], [1.0], 1]),
                                      ([V], (V + state)[1], [[1.0, 2.0]]),
                                      ([V, W, index], T.exp(T.outer(V, V) + W)[index], [[1.0], [1.0, 2.0], 1]),
                                      ([V, W, index], [(V + 1)[index] * 2, T.exp(V * W)], [[1.0], [1.0, 2.0], 1]),
                                      ([M, V, S], steps, [numpy.ones((2, 1)), [1.0, 2.0], 0.5])]:
        f = phintys.function(inputs, output, mode=mode, on_unused_input="ignore")
        for _ in range(2):
            with pytest.raises(ValueError, match=r"mis-match(?s:.)*test_length_checks.py"):
                f(*arguments)
    f = phintys.function([V, W, index], (V * W)[index], mode=mode)
    with pytest.raises(IndexError, match="index 2 is out of bounds"):
        f([1.0, 2.0], [1.0, 2.0], 2)


def checks_of(inputs, outputs, updates=(), mode="FAST_RUN"):
    f = phintys.function(inputs, outputs, updates=updates, mode=mode)
    return [node for node in f.maker.fgraph.toposort() if type(node.op) is EqualLengths]


def test_one_node_checks_everything_that_nothing_else_checks():
    outputs = [V * 0 + W, (V + W)[1], (M + N).shape[0], V.shape[0], T.exp(M) + V]
    check, = checks_of([V, W, M, N], outputs)
    assert sorted([len(group) for group in check.op.groups]) == [2, 3]        # rows; v, w and columns of n
    assert not checks_of([V, W, M], [V * 0 + W, V + M + W])
    assert not checks_of([V, W], [V * 0 + W], mode=phintys.compile.mode.get_mode("FAST_RUN").excluding("length_checks"))


def usual_programs():
    x, y, labels = T.dmatrix(), T.dvector(), T.lvector()
    weights = [phintys.shared(numpy.full(shape, 0.1)) for shape in ((4, 3), (3, 3), (3, 2))]
    biases = [phintys.shared(numpy.zeros(length)) for length in (3, 3, 2)]
    linear = phintys.shared(numpy.zeros(4))
    p = 1 / (1 + T.exp(-T.dot(x, linear)))
    cost = -(y * T.log(p) + (1 - y) * T.log(1 - p)).mean() + 0.1 * (linear ** 2).sum()
    yield "logistic regression", [x, y], [cost], [(linear, linear - 0.1 * grad(cost, linear))]
    hidden = x
    for weight, bias in zip(weights[:2], biases):
        hidden = T.tanh(T.dot(hidden, weight) + bias)
    p = T.nnet.softmax(T.dot(hidden, weights[2]) + biases[2])
    cost = T.nnet.categorical_crossentropy(p, labels).mean()
    parameters = weights + biases
    yield "network", [x, labels], [cost], [(w, w - 0.1 * g) for w, g in zip(parameters, grad(cost, parameters))]
    mean, scale = T.dscalars("mean", "scale")
    density = (-0.5 * ((y - mean) / T.exp(scale)) ** 2 - scale).sum() - mean ** 2
    yield "density", [y, mean, scale], [density, *grad(density, [mean, scale])], []
    inner = weights[1]
    states, _ = phintys.scan(lambda row, h: T.tanh(T.dot(row, weights[0]) + T.dot(h, inner) + biases[0]), x,
                             outputs_info=T.zeros(3))
    cost = (states[-1] ** 2).sum()
    yield "recurrent network", [x], [cost], [(w, w - g) for w, g in zip(parameters[:2], grad(cost, parameters[:2]))]
    rows = T.dtensor3("rows")                       # of which the product before the loop makes a matrix
    states, _ = phintys.scan(lambda row, h: T.tanh(T.dot(row, weights[0]) + T.dot(h, inner)), rows,
                             outputs_info=T.zeros((rows.shape[1], 3)))
    cost = (states[-1] ** 2).sum()
    yield "recurrent network of batches", [rows], [cost], [(w, w - g) for w, g in zip(parameters[:2],
                                                                                      grad(cost, parameters[:2]))]
    places, values = T.dvectors("places", "values")
    factor = T.slinalg.cholesky(T.exp(-(places[:, None] - places) ** 2 * mean) + T.eye(places.shape[0]))
    white = T.slinalg.solve_triangular(factor, values, lower=True)
    density = -0.5 * (white ** 2).sum() - T.log(T.diagonal(factor)).sum()
    yield "Gaussian process", [places, values, mean], [density, grad(density, mean)], []


@pytest.mark.parametrize("name, inputs, outputs, updates", list(usual_programs()))
def test_usual_programs_have_no_such_node(name, inputs, outputs, updates):
    assert not checks_of(inputs, outputs, updates)


def test_updates_stay_in_place_and_are_not_made_if_lengths_differ():
    shared = phintys.shared(numpy.zeros(3), "shared")
    f = phintys.function([V, W], [], updates=[(shared, shared + (V * 0 + W))])
    assert "in place of shared" in f.explain()
    f([1, 2, 3], [1, 2, 3])
    for _ in range(2):
        with pytest.raises(ValueError, match="mis-match"):
            f([1, 2], [1, 2, 3])
    assert shared.get_value().tolist() == [1, 2, 3]
    other = phintys.shared(numpy.ones(3), "other")
    g = phintys.function([], [], updates=[(shared, shared + (other * 0 + shared)), (other, other * 2)])
    g()
    other.set_value(numpy.ones(4))
    with pytest.raises(ValueError, match="mis-match"):
        g()
    assert shared.get_value().tolist() == [2, 4, 6] and other.get_value().tolist() == [1] * 4


def test_nothing_is_computed_only_to_be_compared():
    """How many elements are above 0 is not known without computing it."""
    positive = V.nonzero()[0]
    f = phintys.function([V, W], positive * 0 + W)
    assert f([1.0], [1.0, 2.0]).tolist() == [1, 2] and "nonzero" not in f.explain().lower()
    check, = checks_of([V, W], [positive * 0 + W, positive])
    assert check.inputs[0].type.ndim == 1


UNTAKEN = {
    "first": (ifelse(S > 0, V * 0 + W, W), -1.0),
    "second": (ifelse(S > 0, W, (V * W)[:2].sum() + W), 1.0),
    "inner": (ifelse(S > 0, ifelse(S > 1, V * 0 + W, W), W), 1.0),
    "outer": (ifelse(S > 0, ifelse(S < 1, V * 0 + W, W), W), -1.0),
    "zero": (ifelse(S, V - V + W, W), -0.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", UNTAKEN)
def test_what_an_untaken_branch_would_compare_is_not_compared(name, mode):
    output, number = UNTAKEN[name]
    f = phintys.function([S, V, W], output, mode=mode)
    for value in (number, number, 0.5, number):
        if value == number:
            assert f(value, [1.0], [1.0, 2.0]).shape == (2,)
        elif name != "second":
            assert raised(f, (value, [1.0], [1.0, 2.0])) is (None if name == "inner" else ValueError)


@pytest.mark.parametrize("mode", MODES)
def test_what_steps_would_compare_is_not_compared_if_there_is_none(mode):
    rows, _ = phintys.scan(lambda row, h: [T.tanh(h + row.sum()), row * 0 + V], M, outputs_info=[S, None])
    for outputs in ([rows[0].sum() * 0 + W], [rows[0]], [grad(rows[0].sum(), S)]):
        f = phintys.function([M, V, W, S], outputs, mode=mode, on_unused_input="ignore")
        for _ in range(3):
            f(numpy.ones((0, 4)), [1.0], [1.0, 2.0], 1.0)
            f(numpy.ones((2, 1)), [1.0], [1.0, 2.0], 1.0)
            with pytest.raises(ValueError, match="mis-match"):
                f(numpy.ones((2, 4)), [1.0], [1.0, 2.0], 1.0)


@pytest.mark.parametrize("mode", MODES)
def test_a_sequence_that_is_too_short_for_a_loop_that_is_left_out(mode):
    rows = phintys.scan(lambda row: row * 0, V, n_steps=COUNT)[0]
    states = phintys.scan(lambda row, h: T.tanh(h + row), V, outputs_info=S, n_steps=COUNT)[0]
    for inputs, output in [([V, COUNT], rows), ([V, COUNT], rows.sum()), ([V, S, COUNT], states.shape[0])]:
        f = phintys.function(inputs, output, mode=mode, on_unused_input="ignore")
        rest = [0.5] * (len(inputs) - 2)
        for _ in range(3):
            f([1.0, 2.0], *rest, 2)
            f([1.0, 2.0, 3.0], *rest, 2)
            with pytest.raises(ValueError):
                f([1.0, 2.0], *rest, 3)


def test_branches_that_compare_for_themselves_cost_nothing():
    assert not checks_of([S, V, W], [ifelse(S > 0, V * W, W)])
    assert not checks_of([S, V, W], [ifelse(S > 0, ifelse(S < 1, V * 0 + W, V * W), V + W)[:1], V + W])
    f = phintys.function([S, V, W], ifelse(S > 0, V * 0 + W, W))
    assert "equal_lengths(w, w.shape[0] == v.shape[0] if gt1)" in f.explain()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("results", [slice(None), slice(1)])
def test_a_random_state_as_a_result(mode, results):
    """It has no dimensions; the lengths of what was drawn are compared all the same."""
    state = T.raw_random.random_state_type("state")
    drawn = list(T.raw_random.uniform(state, low=V, high=W))
    f = phintys.function([state, V, W], [drawn[0], drawn[1] - drawn[1] + V][results], mode=mode)
    values = f(numpy.random.RandomState(1), numpy.zeros(3), numpy.ones(3))
    expected = numpy.random.RandomState(1)
    expected.uniform(numpy.zeros(3), numpy.ones(3))
    assert values[0].uniform() == expected.uniform()
    with pytest.raises(ValueError):
        f(numpy.random.RandomState(1), numpy.zeros(3), numpy.ones(2))


def test_debug_mode():
    f = phintys.function([V, W], [V * 0 + W, (V + W)[0]], mode="DebugMode")
    f([1, 2], [3, 4])
    with pytest.raises(ValueError, match="mis-match"):
        f([1, 2], [3])


# ---- random expressions ----------------------------------------------------------------------------------------------
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1), T.maximum,
          lambda a, b: T.fill(a, b) if b.ndim <= a.ndim else a + b, lambda a, b: T.switch(S > 0, a, b),
          lambda a, b: a + b - a, lambda a, b: T.switch(T.ge(a, b + 0.125), a, 1.0), lambda a, b: (a * b) ** 0, T.dot,
          lambda a, b: T.stack([a, b])[0], lambda a, b: T.stack([a, b])[1], lambda a, b: T.concatenate([a, b])[:3],
          lambda a, b: grad((a * a).sum(), b, disconnected_inputs="ignore"),
          lambda a, b: grad(a.sum(), b, disconnected_inputs="ignore"), lambda a, b: ifelse(S > 0, a, b),
          lambda a, b: ifelse(S > 0.5, a * b, a) + ifelse(S < -0.5, T.exp(a * b), a), lambda a, b: a[1:] + b[:-1] * 0,
          lambda a, b: phintys.OpFromGraph([V, W], [V[1:] + W[1:] * 0])(a, b)]
UNARY = [lambda a: a * 0, T.zeros_like, T.ones_like, lambda a: T.exp(-a * a), lambda a: a[1:], lambda a: a[1],
         lambda a: a[::-1], lambda a: a[:2], lambda a: a.T, lambda a: a.sum(axis=0), lambda a: a.sum(axis=-1),
         lambda a: a.mean(), lambda a: a.max(), lambda a: a.shape[0] * a, lambda a: a[[1, 0]],
         lambda a: a[:, None] if a.ndim == 1 else a.flatten(), lambda a: a.reshape((-1, 1))]


def grown(pool, count, draw, rank=2):
    """Some values, and random expressions of them."""
    pool = list(pool)
    for _ in range(count):
        operands = [draw.choice(pool[-6:] if draw.random() < 0.6 else pool) for _ in range(2)]
        try:
            made = draw.choice(BINARY)(*operands) if draw.random() < 0.5 else draw.choice(UNARY)(operands[0])
        except (ValueError, TypeError, IndexError):
            continue
        if made.ndim <= rank:
            pool.append(made)
    return pool


def random_expressions(inputs, draw):
    """A few expressions."""
    return grown(inputs, draw.randint(3, 8), draw)[5:][-draw.randint(1, 2):]


def random_loops(inputs, draw):
    """What is read of a loop: its body has random expressions, which are moved out or have no reader."""
    start = draw.choice([inputs[0], T.zeros_like(inputs[1]), T.constant(numpy.float64(0)), None])
    wholes = [draw.choice(grown(inputs, 2, draw)) for _ in range(2)]

    def step(row, *rest):
        pool = grown([row, *rest], draw.randint(2, 5), draw, rank=draw.choice([1, 1, 1, 2]))
        if start is None:
            return [pool[-1], draw.choice(pool)]
        fitting = [value for value in pool[3:] if value.ndim == start.ndim]
        return [T.tanh(rest[0] + draw.choice(fitting)) if fitting else rest[0] * 0.5 + 1, pool[-1]]

    try:
        rows, _ = phintys.scan(step, draw.choice([inputs[3], inputs[4][::-1]]), outputs_info=[start, None],
                               non_sequences=wholes)
    except (ValueError, TypeError):
        return []
    post = [lambda r: r, lambda r: r[-1], lambda r: r.sum(), lambda r: r.sum() * 0 + inputs[2],
            lambda r: grad(T.tanh(r).sum(), inputs[3], disconnected_inputs="ignore"),
            lambda r: grad(r.sum(), inputs[1], disconnected_inputs="ignore")]
    outputs = [draw.choice(post)(r) for r in rows[:draw.randint(1, 2)]]
    if draw.random() < 0.3:                         # the same bodies with other values
        outputs.append(phintys.clone(outputs[0], {inputs[1]: inputs[2], inputs[3]: inputs[4]}))
    return outputs


def check_random_case(seed, make):
    draw = random.Random(seed)
    inputs = [T.dvector(), T.dvector(), T.dvector(), T.dmatrix(), T.dmatrix()]
    outputs = make(inputs, draw)
    if not outputs:
        return
    functions = [phintys.function([*inputs, S], outputs, mode=mode, on_unused_input="ignore") for mode in MODES]
    for _ in range(5):
        usual = draw.choice([3, 4])
        shapes = [[usual if draw.random() < 0.8 else draw.choice([1, 2, 3, 4, 5]) for _ in range(x.type.ndim)]
                  for x in inputs]
        normal = numpy.random.RandomState(draw.randrange(10 ** 6)).randn
        arguments = [*[normal(*shape) for shape in shapes], normal()]
        fast, plain = [raised(f, arguments) for f in functions]
        if plain is not IndexError:
            assert fast is plain, (seed, shapes, fast, plain)
        if plain is None:
            for mine, other in zip(*[f(*arguments) for f in functions]):
                numpy.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-8, err_msg=f"{seed} {shapes}")


def test_a_value_does_not_live_until_its_length_is_compared():
    """Without the check two values of 64 x 64 are alive at once; what is compared is a number."""
    x, y = T.dmatrices("xy")
    hidden = T.dot(x, x)
    last = T.dot(T.dot(T.tanh(hidden), x), x)
    function = phintys.function([x, y], [last.sum() + (hidden + y - hidden).sum()])
    assert any(isinstance(node.op, EqualLengths) for node in function.maker.fgraph.apply_nodes)
    assert function.memory_report([(64, 64)] * 2).lower_bound == 2 * 64 * 64 * 8
    with pytest.raises(ValueError):
        function(numpy.ones((4, 4)), numpy.ones((4, 3)))


@pytest.mark.parametrize("first", range(0, 100, 20))
@pytest.mark.parametrize("make", [random_expressions, random_loops])
def test_random_expressions(make, first):
    for seed in range(first, first + 20):
        check_random_case(seed, make)


@pytest.mark.parametrize("seed, make", [
    *[(seed, random_loops) for seed in (165, 177, 268, 418, 876, 885, 3347)],       # parts of rows, a length of 2
    (934, random_expressions), (1258, random_expressions),                    # branches in what branches need
    (688, random_expressions)])                                               # an element before lengths are compared
def test_random_expressions_that_found_something(seed, make):
    check_random_case(seed, make)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 10_100, 500))
@pytest.mark.parametrize("make", [random_expressions, random_loops])
def test_many_random_expressions(make, first):
    for seed in range(first, first + 500):
        check_random_case(seed, make)
