"""The op itself: groups of its variables, what it keeps, its shapes and errors, second derivatives of its states."""
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.loops.loop import LoopOptions, Scan
from phintys.ops.loops.parts import LoopParts

PARTS = LoopParts(2, ((-1,), (-3, -1)), 1, 2, 1, True)


def test_groups_of_all_four_lists():
    outer = PARTS.outer_inputs("n s1 s2 a b p q o k w1 w2".split())
    assert outer.steps == "n" and outer.sequences == ("s1", "s2") and outer.states == ("a", "b")
    assert outer.summed == ("p", "q") and outer.carried == ("o",) and outer.wholes == ("w1", "w2")
    assert outer.stacked == ("k",) and PARTS.position_of_counts == 8
    inner = PARTS.inner_inputs("s1 s2 a1 b3 b1 o w1 w2".split())
    assert inner.sequences == ("s1", "s2") and inner.states == (("a1",), ("b3", "b1"))
    assert inner.carried == ("o",) and inner.wholes == ("w1", "w2")
    found = PARTS.inner_outputs("a b z p q o stop".split())
    assert found.states == ("a", "b") and found.stacked == ("z",) and found.summed == ("p", "q")
    assert found.carried == ("o",) and found.condition == "stop"
    results = PARTS.outer_outputs("a b z p q o done".split())
    assert results.carried == ("o",) and results.steps == "done" and PARTS.depths == (1, 3) and PARTS.n_moving == 6


def looped(n=T.lscalar(), kept=None, scale=2.):
    """A loop with a sequence, a state of two taps, a stacked output, a sum and a whole."""
    row, old, last, whole = T.dvectors(4)
    parts = LoopParts(1, ((-2, -1),), 1, 1, 0, False)
    op = Scan([row, old, last, whole], [old + last * row, row * whole, scale * row], parts, kept, "walk")
    return op, [n, T.dmatrix(), T.dmatrix(), T.dvector(), T.dvector()]


def applied(op, inputs, count=None):
    """The outputs of such a loop, whose stacked output has ``count`` rows, or all."""
    return op(*inputs[:4], inputs[0] if count is None else count, *inputs[4:])


VALUES = [3, numpy.arange(6.).reshape(3, 2), numpy.ones((2, 2)), numpy.zeros(2), numpy.array([1., 2.])]


def test_states_keep_their_last_rows():
    op, inputs = looped()
    states, rows, total = phintys.function(inputs, applied(op, inputs))(*VALUES)
    assert states.shape == (5, 2) and rows.tolist() == (VALUES[1] * VALUES[4]).tolist()
    numpy.testing.assert_array_equal(total, 2 * VALUES[1].sum(0))
    for kept in (0, 1, 2, 3, 7):
        few = applied(op.with_kept([kept]), inputs, max(kept, 1))
        some, last, _ = phintys.function(inputs, few)(*VALUES)
        numpy.testing.assert_array_equal(some, states[3 - min(kept, 3):])
        numpy.testing.assert_array_equal(last, rows[3 - min(max(kept, 1), 3):])
        shapes = phintys.function(inputs, [output.shape for output in few], on_unused_input="ignore")(*VALUES)
        assert [tuple(shape) for shape in shapes] == [some.shape, last.shape, (2,)]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_how_many_rows_are_kept_may_be_known_when_the_loop_runs(mode):
    op, inputs = looped()
    count = T.iscalar("count")
    rows = applied(op, inputs, count)[1]
    f = phintys.function([*inputs, count], [rows, rows.shape], mode=mode)
    every = VALUES[1] * VALUES[4]
    for number in range(6):
        found, shape = f(*VALUES, number)
        numpy.testing.assert_array_equal(found, every[3 - min(number, 3):])
        assert shape.tolist() == [min(number, 3), 2]
    with pytest.raises(IndexError, match=r"for{cpu,walk} was asked to keep a negative number of rows.* 0: -1"):
        f(*VALUES, -1)
    gradient = T.grad((rows ** 2).sum(), inputs[4])
    f = phintys.function([*inputs, count], gradient, mode=mode, on_unused_input="ignore")
    for number in (1, 2, 5):
        wanted = 2 * (VALUES[1] ** 2)[3 - min(number, 3):].sum(0) * VALUES[4]
        numpy.testing.assert_allclose(f(*VALUES, number), wanted)


def test_gradients_of_loops_that_keep_few_rows_are_those_of_all():
    op, inputs = looped()
    costs = []
    for made in (applied(op, inputs), applied(op.with_kept([1]), inputs, 2)):
        costs.append((made[0][-1] ** 2).sum() + (made[1][-2:] ** 3).sum())
    first, second = [phintys.function(inputs, T.grad(cost, inputs[1:3]), on_unused_input="ignore")(*VALUES)
                     for cost in costs]
    for one, other in zip(first, second):
        numpy.testing.assert_array_equal(one, other)


def test_equality_and_pickles():
    (op, inputs), (same, _), (other, _) = looped(), looped(), looped(scale=3.)
    assert op == same and hash(op) == hash(same) and op != other
    assert op != op.with_kept([1]) and phintys.scan_module.scan_op.Scan is Scan
    copied = pickle.loads(pickle.dumps(op))
    assert copied == op and hash(copied) == hash(op)
    for found, wanted in zip(phintys.function(inputs, applied(copied, inputs))(*VALUES),
                             phintys.function(inputs, applied(op, inputs))(*VALUES)):
        numpy.testing.assert_array_equal(found, wanted)


def test_names_of_theano():
    op, inputs = looped()
    node = applied(op, inputs)[0].owner
    assert (op.n_seqs, op.n_nit_sot, op.as_while, op.truncate_gradient) == (1, 1, False, -1)
    assert op.inner_seqs(op.inputs) == op.inputs[:1] and op.inner_non_seqs(op.inputs) == op.inputs[-1:]
    assert op.outer_seqs(node) == [inputs[1]] and op.outer_non_seqs(node.inputs) == [inputs[-1]]


def test_mappings_of_theano():
    mappings = looped()[0].var_mappings
    assert len(mappings) == 12
    assert mappings["outer_inp_from_inner_inp"] == {0: 1, 1: 2, 2: 2, 3: 5}
    assert mappings["inner_inp_from_outer_inp"] == {0: [], 1: [0], 2: [1, 2], 3: [], 4: [], 5: [3]}
    assert mappings["inner_inp_from_outer_out"] == {0: [1, 2], 1: [], 2: []}
    assert mappings["outer_inp_from_outer_out"] == {0: 2, 1: 4, 2: 3}
    assert mappings["outer_out_from_outer_inp"] == {0: -1, 1: -1, 2: 0, 3: 2, 4: 1, 5: -1}
    assert mappings["inner_out_from_inner_inp"] == {0: [], 1: [0], 2: [0], 3: []}


def test_refused_nodes():
    op, inputs = looped()
    with pytest.raises(TypeError, match="integer scalar"):
        applied(op, [T.dscalar(), *inputs[1:]])
    with pytest.raises(TypeError, match="how many rows a loop keeps is an integer scalar"):
        applied(op, inputs, T.dscalar())
    with pytest.raises(ValueError, match="takes 1 wholes, got 2"):
        applied(op, [*inputs, T.dvector()])
    before, after = T.dvector(), T.dmatrix()
    with pytest.raises(TypeError, match="the same type before and after a step"):
        Scan([before], [after], LoopParts(0, ((-1,),)))


def test_bad_shapes_when_it_runs():
    op, inputs = looped()
    f = phintys.function(inputs, applied(op, inputs), mode="FAST_COMPILE")
    cases = ((1, VALUES[1][:2], "shorter than the required"), (2, numpy.ones((1, 2)), "has 1 rows"),
             (3, numpy.zeros(3), "Input dimension mis-match"), (0, -1, "negative number"))
    for position, value, text in cases:
        with pytest.raises((ValueError, IndexError), match=text):
            f(*[value if number == position else given for number, given in enumerate(VALUES)])


def test_no_steps():
    op, inputs = looped()
    cost = applied(op, inputs)[0].sum() + applied(op, inputs)[2].sum()
    f = phintys.function(inputs, [*applied(op, inputs), *T.grad(cost, inputs[1:4])])
    states, rows, total, *gradients = f(0, VALUES[1][:0], *VALUES[2:4], VALUES[4])
    numpy.testing.assert_array_equal(states, VALUES[2])
    assert rows.shape == (0, 2) and total.tolist() == [0, 0]
    assert [gradient.shape for gradient in gradients] == [(0, 2), (2, 2), (2,)]


def test_second_derivatives_by_a_state_that_does_not_depend_on_itself():
    start, x = T.dscalar(), T.dvector()
    (_, squares), _ = phintys.scan(lambda x, before: (x * 2, x * before ** 3), x, [start, None])
    first = T.grad(squares.sum(), start)
    f = phintys.function([x, start], [first, T.grad(first, start), *T.grad(first, [x])])
    assert [numpy.asarray(value).tolist() for value in f([3., 4.], 2.)] == [36, 36, [12, 0]]


def test_what_a_body_does_not_use_is_not_passed():
    row, other, state = T.dscalars(3)
    x, y = T.dvectors(2)
    results = make_loop(T.constant(2), Body([(row, x), (other, y)], [State([-1], [state], T.zeros((1,)), state + row)]),
                        options=LoopOptions())
    assert len(results.states[0].owner.inputs) == 3


@pytest.mark.parametrize("outer", [True, False, "plan"])
@pytest.mark.parametrize("inner", [True, False])
def test_steps_in_every_mode_of_collecting_garbage(outer, inner):
    x, start = T.dmatrix(), T.dmatrix()
    rows, _ = phintys.scan(lambda row, state: T.dot(T.tanh(T.dot(state, state)), state) + row, x, start,
                           allow_gc=inner)
    with phintys.change_flags(allow_gc=outer):
        f = phintys.function([x, start], rows[-1])
    values, state = numpy.random.RandomState(0).randn(3, 60), numpy.random.RandomState(1).randn(60, 60) / 60
    wanted = state
    for row in values:
        wanted = numpy.tanh(wanted.dot(wanted)).dot(wanted) + row
    for _ in range(3):
        numpy.testing.assert_allclose(f(values, state), wanted)


def test_gradients_through_rows_that_depend_on_carried_values():
    """What is carried is not kept, but rows that were computed from it are."""
    x, w, streams = T.dvector("x"), T.dscalar("w"), T.shared_randomstreams.RandomStreams(3)

    def noisy(x):
        return x + streams.uniform(low=x * 0, high=1.0)

    (rows, terms), updates = phintys.scan(lambda x, w: [T.tanh(w * (term := noisy(x))), term], x, non_sequences=w)
    f = phintys.function([x, w], [rows, terms, phintys.grad(rows.sum(), w)], updates=updates)
    found, known, gradient = f([0.1, -0.2, 0.3], 0.4)
    numpy.testing.assert_allclose(found, numpy.tanh(0.4 * known))
    numpy.testing.assert_allclose(gradient, ((1 - found ** 2) * known).sum())
    rows, updates = phintys.scan(lambda x, w: T.tanh(w * noisy(x)), x, non_sequences=w)
    f = phintys.function([x, w], [rows, phintys.grad(rows.sum(), w)], updates=updates)
    found, gradient = f([0.1, -0.2, 0.3], 0.4)      # the states of the stream are kept, from which the terms follow
    numpy.testing.assert_allclose(gradient, ((1 - found ** 2) * numpy.arctanh(found) / 0.4).sum())


@pytest.mark.parametrize("steps, sequence, start, kind", [
    (-1, [1., 2.], [0., 1.], IndexError), (3, [1., 2.], [0., 1.], ValueError), (2, [1., 2.], [0.], ValueError),
    (3, [1., 2., 7.], [0., 1.], IndexError)])
def test_both_ways_of_running_a_loop_raise_the_same(steps, sequence, start, kind):
    x, first, table = T.dvectors(3)
    rows, _ = phintys.scan(lambda x, before, table: before + table[x.astype("int64")], x,
                           [dict(initial=first, taps=[-2])], table)
    node = rows.owner.inputs[0].owner
    f = phintys.function(node.inputs, node.outputs, mode="FAST_COMPILE")
    values = [numpy.asarray(steps), numpy.array(sequence), numpy.array(start), numpy.arange(5.)]
    with pytest.raises(kind) as native:
        f(*values)
    with pytest.raises(kind) as stepped:
        node.op.perform(node, values, [[None]])
    told, other = [str(error.value).splitlines() for error in (native, stepped)]
    told = [line for line in told if line in other]
    assert told and (steps != 3 or len(sequence) < 3 or any(["in step 2 of for{cpu,scan_fn}" in line for line in told]))


def test_lengths_of_rows_that_a_loop_inside_another_carries():
    """They are not known without the value carried, which the graph outside does not have."""
    rows, start = T.dmatrix(), T.dvector()
    count, total = T.dvector(), T.dvector()
    inside = Body(carried=[(total, total + count[0], start)], stacked=[total * 2])
    rows_inside = make_loop(T.shape_i(count, 0), inside).stacked
    outer = make_loop(T.shape_i(rows, 0), Body(sequences=[(count, rows)], stacked=rows_inside), lifts=False).stacked[0]
    with phintys.config.change_flags(on_opt_error="raise"):
        f = phintys.function([rows, start], [outer, outer.shape])
    found, shape = f(numpy.ones((2, 3)), numpy.zeros(4))
    assert shape.tolist() == [2, 3, 4]
    numpy.testing.assert_array_equal(found, numpy.broadcast_to(2.0 * numpy.arange(3)[:, None], (2, 3, 4)))
