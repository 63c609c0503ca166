"""Loops in parts, for ``config.memory_limit``: each row is found in its part, and gradients need few rows at once."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.loops.loop import Scan

STEPS, WIDTH = 300, 8
w, u, x, two = T.dmatrices("w", "u", "x", "two")
start, b = T.dvectors("start", "b")
VALUES = {w: (WIDTH, WIDTH), u: (WIDTH, WIDTH), x: (STEPS, WIDTH), start: (WIDTH,), two: (2, WIDTH), b: (WIDTH,)}
VALUES = {variable: np.random.RandomState(number).randn(*shape) / 3
          for number, (variable, shape) in enumerate(VALUES.items())}


def rows_of(step, sequences=(), initial=start, wholes=(w,), **options):
    return phintys.scan(step, list(sequences), initial, list(wholes), **options)[0]


def plain(sign=1):
    return rows_of(lambda x, h, w: T.tanh(T.dot(w, h) + x), [x[::sign]])


def last_row():
    return rows_of(lambda h, w: T.tanh(T.dot(w, h)), n_steps=STEPS)[-1].sum(), [start, w]


def all_rows():
    return (rows_of(lambda x, h, w, b: T.tanh(T.dot(w, h) + x + b), [x], wholes=[w, b]) ** 2).sum(), [start, w, b, x]


def products_before_the_loop():
    rows = rows_of(lambda x, h, w, u: T.tanh(T.dot(w, h) + T.dot(x, u)), [x], wholes=[w, u])
    return (rows ** 2).sum(), [start, w, u]


def two_rows_back():
    rows = rows_of(lambda early, late, w: T.tanh(T.dot(w, late) + 0.3 * early), [], {"initial": two, "taps": [-2, -1]},
                   n_steps=STEPS)
    return rows[::2].sum() + rows[-3].sum(), [two, w]


def rows_of_a_sequence_apart():
    rows = rows_of(lambda early, late, h, w: T.tanh(T.dot(w, h) + early * late), [{"input": x, "taps": [-1, 1]}])
    return (rows ** 2).sum(), [start, w, x]


def stacked_results():
    rows, losses = rows_of(lambda x, h, w: (T.tanh(T.dot(w, h) + x), (h ** 2).sum()), [x], [start, None])
    return losses.mean() + rows[-1].sum(), [start, w]


def two_states():
    def step(x, h, c, w, u):
        gate = T.nnet.sigmoid(T.dot(x, u) + T.dot(h, w))
        c = gate * c + T.tanh(x - h)
        return gate * T.tanh(c), c
    rows, others = rows_of(step, [x], [start, start * 0], [w, u])
    return (rows ** 2).sum() + others[-1].sum(), [w, u, start]


def backwards():
    rows = rows_of(lambda x, h, w: T.tanh(T.dot(w, h) + x), [x], go_backwards=True)
    return (rows ** 2).sum(), [start, w, x]


def a_loop_on_a_loop():
    first = plain()
    second = rows_of(lambda row, h, u: T.tanh(T.dot(u, h) + row), [first[::-1]], wholes=[u])
    return (second * first).sum(), [start, w, u]


def matrices():
    rows = rows_of(lambda x, h, w: T.tanh(T.dot(h, w) + x), [x], T.outer(start, b))
    return (rows[-1] ** 2).sum() + rows[3:10].sum(), [start, w, b]


def draws():
    drawn = T.shared_randomstreams.RandomStreams(3).normal((STEPS, WIDTH))
    rows = rows_of(lambda x, h, w: T.tanh(T.dot(w, h) + x), [drawn])
    return (rows ** 2).sum(), [start, w]


def no_state():
    return (rows_of(lambda x, w: T.tanh(T.dot(w, x)), [x], None) ** 2).sum(), [w, x]


def computed_steps():
    rows = rows_of(lambda h, w: T.tanh(T.dot(w, h)), n_steps=2 * x.shape[0] // 3)
    return (rows ** 2).sum(), [start, w]


def one_row_is_changed():
    rows = plain(-1)
    changed = T.set_subtensor(rows[40], b) * rows[::-1]
    return changed.sum() + T.inc_subtensor(rows[10:200:7], b)[150].sum(), [start, w, b]


CASES = [last_row, all_rows, products_before_the_loop, two_rows_back, rows_of_a_sequence_apart, stacked_results,
         two_states, backwards, a_loop_on_a_loop, matrices, draws, no_state, computed_steps, one_row_is_changed]


def made(case, mode, limit=0):
    """A function, and what to call it with."""
    cost, by = case()
    results = [cost, *T.grad(cost, by)]
    leaves = [variable for variable in VALUES if variable in phintys.gof.graph.inputs(results)]
    with phintys.change_flags(memory_limit=limit):
        return phintys.function(leaves, results, mode=mode), [VALUES[variable] for variable in leaves]


def peak_of(function, values):
    return function.memory_report([value.shape for value in values]).modes[True].peak


def loops_in(function):
    return sum([type(node.op) is Scan for node in function.fitted().maker.compiled.apply_nodes])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("case", CASES)
def test_loops_in_parts_compute_the_same(case, mode):
    """All loops are split, whether that is enough for the limit or not."""
    whole, values = made(case, mode)
    wanted, peak = whole(*values), peak_of(whole, values)
    function, _ = made(case, mode, peak)                # of each draw, the first call is compared
    fitting = function._fitting
    given = [value.shape for value in values]
    parts = 7 if mode == "FAST_RUN" else 4
    split = fitting._compiled(given, 2 * peak, True, parts)
    if mode == "FAST_RUN":                              # the other mode knows fewer numbers of steps
        assert loops_in(split) >= parts * loops_in(whole)
    first = split(*values)
    for one, other in zip(first, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    if case is not draws:
        for one, other in zip(first, fitting._compiled(given, None, True, parts)(*values)):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case, share", [(last_row, 0.4), (all_rows, 0.7), (products_before_the_loop, 0.4),
                                         (two_states, 0.6), (matrices, 0.5), (stacked_results, 0.4)])
def test_gradients_of_loops_fit(case, share):
    whole, values = made(case, "FAST_RUN")
    limit = int(share * peak_of(whole, values))
    function, _ = made(case, "FAST_RUN", limit)
    for one, other in zip(function(*values), whole(*values)):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    assert peak_of(function, values) <= limit and loops_in(function) > 8


def test_long_loops_have_the_same_bits():
    """Products are summed by parts of 3840 steps, where OpenBLAS begins a new sum for any processor in use."""
    steps = 40_000
    rows = rows_of(lambda h, w: T.tanh(T.dot(w, h)), n_steps=steps)
    gradients = T.grad(rows[-1].sum(), [start, w])
    whole = phintys.function([start, w], gradients)
    values = [VALUES[start], VALUES[w] / 2]
    limit = int(0.4 * peak_of(whole, values))
    with phintys.change_flags(memory_limit=limit):
        function = phintys.function([start, w], gradients)
    for one, other in zip(function(*values), whole(*values)):
        np.testing.assert_array_equal(one, other)
    assert peak_of(function, values) <= limit and function.memory_report().again


def test_a_while_loop_stays_whole():
    rows = rows_of(lambda h, w: (T.tanh(T.dot(w, h)), phintys.scan_module.until(h.sum() > 1e9)), n_steps=STEPS)
    gradients = T.grad((rows ** 2).sum(), w)
    whole = phintys.function([start, w], gradients)
    values = [VALUES[start], VALUES[w]]
    with phintys.change_flags(memory_limit=peak_of(whole, values) // 3):
        function = phintys.function([start, w], gradients)
    with pytest.raises(MemoryError, match="memory_limit"):
        function(*values)
