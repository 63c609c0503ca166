"""Loops of no steps: rows have the shapes that a step would give them, states are as they were, nothing is run."""
import numpy
import pytest
from program_callables import callable_of

import phintys
import phintys.tensor as T
from phintys.compile.ops import as_op
from phintys.ifelse import ifelse
from phintys.vm.files.programs import dumps, loads
from phintys.vm.loops.loop_kernel import record_steps

MODES = ["FAST_RUN", "FAST_COMPILE", "DebugMode"]
START = numpy.array([1.0, 2.0, 4.0])
seen = []


def _noted(value):
    seen.append(value)
    return value * 2


noted = as_op([T.dvector], [T.dvector], lambda node, shapes: shapes)(_noted)
of_unknown_shape = as_op([T.dvector], [T.dvector])(_noted)
printed, checked = phintys.printing.Print("row"), T.opt.Assert("no")
inverse, cholesky = T.nlinalg.matrix_inverse, T.slinalg.cholesky


def integer(number):
    return number.astype("int64")


# What the body computes from a row, a state and a number: the next state, and a row. The shape of all rows, of none.
BODIES = {
    "divides": (lambda r, s, n: (s + r / r, 1 / r.sum()), (0,)),
    "factors": (lambda r, s, n: (s + inverse(T.outer(r, r))[0], cholesky(T.outer(r, r))), (0, 3, 3)),
    "prints": (lambda r, s, n: (s + printed(r), printed(r)), (0, 3)),
    "asserts": (lambda r, s, n: (s + checked(r, r.sum() > 0), checked(r, r.sum() < 0)), (0, 3)),
    "calls a user's op": (lambda r, s, n: (s + noted(r), noted(r)), (0, 3)),
    "calls an op without a rule": (lambda r, s, n: (s + of_unknown_shape(r), of_unknown_shape(s)), (0, 0)),
    "reads a position": (lambda r, s, n: (s + r[n - 1], r[T.stack([n, n]) - 1] * s[n - 1]), (0, 2)),
    "joins": (lambda r, s, n: (s + r, T.concatenate([r, s, r])), (0, 9)),
    "multiplies": (lambda r, s, n: (s + r, T.outer(r, T.concatenate([s, r]))), (0, 3, 6)),
    "lengths of a whole": (lambda r, s, n: (s + r, T.zeros((n + 1, 2 * r.shape[0])) + 1 / n), (0, 4, 6)),
    "lengths of a user's op": (lambda r, s, n: (s + r, T.zeros([integer(noted(s)[0])])), (0, 0)),
    "lengths of rows": (lambda r, s, n: (s + r, T.zeros([integer(r[0]), 2])), (0, 0, 2)),
    "lengths of states": (lambda r, s, n: (s + r, T.zeros([integer(s[-1]) + n])), (0, 7)),
    "lengths below 0": (lambda r, s, n: (s + r, T.zeros([integer(s[0]) - n])), (0, 0)),
    "lengths that fail": (lambda r, s, n: (s + r, T.zeros([integer(s[n])])), (0, 0)),
    "a condition": (lambda r, s, n: ((s / r, T.log(r)), phintys.scan_module.until(s[0] / r[0] > 1)), (0, 3)),
    "a branch": (lambda r, s, n: (s / r, ifelse(s.sum() > 1, cholesky(T.outer(r, r)), T.outer(s, r))), (0, 3, 3)),
    "a loop": (lambda r, s, n: (s + r, phintys.scan(lambda e, t: (t / e, t * s), r, [T.ones(()), None])[0][1]),
               (0, 3, 3)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_not_run(name, mode, capsys):
    body, shape = BODIES[name]
    x, start, n = T.dmatrix(), T.dvector(), T.lscalar()
    total = phintys.shared(START)
    (states, rows), updates = phintys.scan(body, x, [start, None], n)
    _, more = phintys.scan(lambda r: {total: total + r / r}, x)
    f = phintys.function([x, start, n], [states, rows], updates=[*updates.items(), *more.items()], mode=mode)
    del seen[:]
    saved = [] if mode == "DebugMode" or "op" in name or name == "prints" else [callable_of(loads(dumps(f.program)))]
    for function in [f, f, *saved]:
        found = function(numpy.zeros((0, 3)), START, 3)
        assert [value.shape for value in found] == [(0, 3), shape]
    numpy.testing.assert_array_equal(total.get_value(), START)
    assert not seen and capsys.readouterr().out == ""


def derivatives(cost, x, w):
    """The cost, its gradients, gradients of a function of these, and its derivative along w."""
    gradients = T.grad(cost, [x, w], disconnected_inputs="ignore")
    curvature = sum([(gradient ** 2).sum() for gradient in gradients])
    return [cost, *gradients, *T.grad(curvature, [x, w], disconnected_inputs="ignore"), T.Rop(cost, w, w)]


@pytest.mark.parametrize("mode", MODES)
def test_derivatives(mode):
    x, w, n = T.dmatrix(), T.dvector(), T.lscalar()
    (states, rows), _ = phintys.scan(lambda r, s, w: (T.tanh(s * w) + r / r.sum(), r * w / r.sum()), x, [2 * w, None],
                                     w)
    first = T.stack([w, 2 * w])
    (deep, others), _ = phintys.scan(lambda a, b, w: (a * b / w, a + b), None,
                                     [dict(initial=first, taps=[-2, -1]), None], w, n_steps=n)
    last = (T.concatenate([first, deep])[-1] ** 2).sum()            # which is that of 2 w
    f = phintys.function([x, w, n], [*derivatives(states.sum() + rows.sum(), x, w),
                                     *derivatives(last + others.sum(), x, w)], mode=mode)
    empty, zeros = numpy.zeros((0, 3)), numpy.zeros(3)
    wanted = [0, empty, zeros, empty, zeros, 0, 4 * 21, empty, 8 * START, empty, 128 * START, 8 * 21]
    for _ in range(2):
        for value, expected in zip(f(empty, START, 0), wanted, strict=True):
            numpy.testing.assert_array_equal(value, expected, strict=isinstance(expected, numpy.ndarray))


@pytest.mark.parametrize("mode, last", [("FAST_RUN", 8), ("FAST_RUN", 0), ("FAST_COMPILE", 8), ("DebugMode", 8)])
def test_inner_loops_of_no_steps(mode, last):
    counts, x, w = T.lvector(), T.dvector(), T.dvector()

    def inner(count, x, w):
        (states, rows), _ = phintys.scan(lambda e, s: (s / e, e * s), x[:count], [w, None])
        return T.concatenate([[w], states])[-1], rows.sum(axis=0)

    rows, _ = phintys.scan(inner, counts, None, [x, w])
    f = phintys.function([counts, x, w], [*rows, *T.grad(rows[0].sum() + rows[1].sum(), [x, w])], mode=mode)
    record_steps(last)
    try:
        found = f([0, 1, 0, 2] * 5, [2.0, 4.0], START)
    finally:
        record_steps()
    wanted = numpy.outer([1, 1 / 2, 1, 1 / 8] * 5, START), numpy.outer([0, 2, 0, 4] * 5, START)
    for value, expected in zip(found, [*wanted, [24.0625, 16.40625], 5 * numpy.full(3, 2.625 + 6)], strict=True):
        numpy.testing.assert_allclose(value, expected)


@pytest.mark.parametrize("mode", MODES)
def test_random_states_are_as_they_were(mode):
    x, streams = T.dmatrix(), T.shared_randomstreams.RandomStreams(3)
    (sums, draws), updates = phintys.scan(
        lambda r, s: (s + streams.normal(), streams.uniform(size=(r.shape[0] + 1,))), x, [numpy.float64(1), None])
    f = phintys.function([x], [sums, draws], updates=updates, mode=mode)
    before = [repr(variable.get_value().get_state()) for variable in updates]
    assert [value.shape for value in f(numpy.zeros((0, 3)))] == [(0,), (0, 4)]
    assert [repr(variable.get_value().get_state()) for variable in updates] == before


@pytest.mark.parametrize("mode", MODES)
def test_loops_of_other_names(mode):
    x, w = T.dmatrix(), T.dvector()
    squares, _ = phintys.map(lambda row: T.outer(row, row) / row.sum(), x)
    kept, _ = phintys.scan_checkpoints(lambda row, state: state / row, x, w, save_every_N=2)
    f = phintys.function([x, w], [squares, kept, T.cumprod(x, axis=0), *T.grad(T.cumprod(x, axis=0).sum(), [x])],
                         mode=mode)
    assert [value.shape for value in f(numpy.zeros((0, 3)), START)] == [(0, 3, 3), (0, 3), (0, 3), (0, 3)]
    for fold in (phintys.reduce, phintys.foldl, phintys.foldr):
        f = phintys.function([x, w], fold(lambda row, state: state / row, x, w)[0], mode=mode)
        with pytest.raises(IndexError, match="out of bounds"):
            f(numpy.zeros((0, 3)), START)
