"""What the optimizer does to loops: golden listings, and that values stay what they are."""

import numpy
import pytest
from loop_listings import loop_listing, loops_of, text

import phintys
import phintys.tensor as T
from phintys.ops.loops.building import Body, make_loop
from phintys.scan_module import until
from phintys.vm.explaining.listing import listing
from phintys.vm.loops.loop_kernel import loops_in

x, h0, b = T.matrix("x"), T.vector("h0"), T.vector("b")
W, U, V = T.matrices("W", "U", "V")
RNG = numpy.random.RandomState(7)
VALUES = {x: RNG.uniform(size=(5, 3)), h0: RNG.uniform(size=4), b: RNG.uniform(size=4),
          W: RNG.uniform(size=(4, 4)) / 4, U: RNG.uniform(size=(3, 4)), V: RNG.uniform(size=(4, 2))}
INPUTS = list(VALUES)


def compiled(outputs, **options):
    return phintys.function(INPUTS, outputs, on_unused_input="ignore", **options)


def same_values(outputs):
    """The function, whose values were compared with those of the unoptimized graph."""
    f, plain = compiled(outputs), compiled(outputs, mode="FAST_COMPILE")
    for found, wanted in zip(f(*VALUES.values()), plain(*VALUES.values())):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10)
    return f


def network():
    def step(x, h, W, U, b, V):
        state = T.tanh(T.dot(x, U) + T.dot(h, W) + b)
        return state, T.dot(state, V)

    return phintys.scan(step, x, [h0, None], [W, U, b, V], name="rnn")[0]


def test_products_of_sequences_come_before_the_loop_and_only_the_last_state_is_kept():
    states, _ = network()
    f = same_values([states[-1]])
    assert loop_listing(f) == text("""
        for{cpu,rnn}: 1 sequences, state [-1] keeps 1, 3 wholes
            KERNEL C6 := InplaceDimShuffle{1,0}(C3)
            KERNEL C8 := Gemv{no_inplace}(C1, C7, C6, C2, C7)
            DROP C6
            KERNEL C9 := Elemwise{tanh}[(0, 0)](C8)
            DROP C8
            RESULT C9
            DROP C9
            HALT""")
    assert kinds_before_loop(f)[-1] == "Gemm"       # of many rows, see test_loop_blocks.py


def test_products_of_states_come_after_the_loop():
    f = same_values([network()[1]])
    assert loop_listing(f) == text("""
        for{cpu,rnn}: 1 sequences, state [-1] keeps all, 1 wholes
            KERNEL C3 := InplaceDimShuffle{1,0}(C2)
            KERNEL C5 := Gemv{no_inplace}(C0, C4, C3, C1, C4)
            DROP C3
            KERNEL C6 := Elemwise{tanh}[(0, 0)](C5)
            DROP C5
            RESULT C6
            DROP C6
            HALT""")


def kinds_before_loop(f):
    """The names of the ops that run before the first loop, or ahead of blocks of its steps."""
    order = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
    blocks = loops_in(f.program)[0].blocks
    ahead = [] if blocks is None else [type(node.op).__name__ for node in blocks.program.nodes if node is not None]
    return order[:order.index("Scan")] + ahead


BATCH, START = T.tensor3(), T.matrix()
GIVEN = [RNG.uniform(size=(5, 2, 3)), RNG.uniform(size=(2, 4)), VALUES[W], VALUES[U], VALUES[b]]


@pytest.mark.parametrize("step, moved", [
    (lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W) + b), True),
    (lambda x, h: T.tanh(b + (T.dot(h, W) + T.dot(x, U))) * h, True),
    (lambda x, h: T.tanh(T.dot(x, U) + b + h.sum(axis=0)) * W[0], True),
    (lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W) + b * START), False),       # not alike in all rows
    (lambda x, h: T.tanh(T.dot(h, W) + b) + T.dot(x, U), False),
    (lambda x, h: T.dot(h, W) + b + x[:, 0].dimshuffle(0, "x") * U[0], False)], ids=range(6))
def test_vectors_are_added_to_products_of_all_rows(step, moved):
    states, _ = phintys.scan(step, BATCH, START)
    f = same_in_both_modes([BATCH, START, W, U, b], [states[-1]], GIVEN)
    assert ("Gemm" in kinds_before_loop(f)) == moved


def test_sums_of_several_layers_are_gathered():
    """A sum whose terms read another one."""
    def step(x, h, g):
        first = T.tanh(T.dot(x, U) + T.dot(h, W) + b)
        return first, T.tanh(T.dot(x, U[:, ::-1]) + T.dot(first, W) + T.dot(g, W.T) + b)

    states, _ = phintys.scan(step, BATCH, [START, 2 * START])
    f = same_in_both_modes([BATCH, START, W, U, b], [states[0][-1], states[1][-1]], GIVEN)
    assert kinds_before_loop(f).count("Gemm") == 2
    cost = sum([(rows ** 2).sum() for rows in states])
    same_in_both_modes([BATCH, START, W, U, b], [cost, *T.grad(cost, [W, U, b])], GIVEN)


def test_transposed_factors_are_copied_once():
    states, _ = phintys.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W.T)), BATCH, START)
    f = same_in_both_modes([BATCH, START, W, U], [states[-1]], GIVEN[:4])
    assert kinds_before_loop(f).count("CpuContiguous") == 1
    states, _ = phintys.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W)), BATCH, START)
    f = same_in_both_modes([BATCH, START, W, U], [states[-1]], GIVEN[:4])
    assert "CpuContiguous" not in kinds_before_loop(f)
    states, _ = phintys.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W.T)), x, h0)
    assert "CpuContiguous" not in kinds_before_loop(same_values([states[-1]]))


def test_factors_of_loops_in_steps_are_copied_once():
    """The gradient of checkpoints multiplies by the transpose in the steps of its inner loop."""
    states, _ = phintys.scan_checkpoints(lambda h: T.tanh(T.dot(h, W)), [], START, n_steps=7, save_every_N=3)
    f = same_in_both_modes([START, W], T.grad((states[-1] ** 2).sum(), [START, W]), GIVEN[1:3])
    assert kinds_before_loop(f).count("CpuContiguous") == 1


def test_sums_of_loops_in_steps_do_not_add_zeros():
    """The gradient of checkpoints by a matrix adds one product a block to the sum of those before."""
    states, _ = phintys.scan_checkpoints(lambda h: T.tanh(T.dot(h, W)), [], START, n_steps=7, save_every_N=3)
    f = same_in_both_modes([START, W], T.grad((states[-1] ** 2).sum(), W), GIVEN[1:3])
    lines = loop_listing(f)
    first = next(number for number, line in enumerate(lines) if "grad_of_checkpointscan_fn_outer" in line)
    found = [line.split(" := ")[1].split("(")[0] for line in lines[first:] if " := " in line]
    assert "Dot22" in found and not [kind for kind in found if any(
        name in kind for name in ("Gemm", "add", "second", "Alloc"))]


def test_gradients_by_weights_are_products_of_all_rows():
    states, _ = network()
    cost = (states[-1] ** 2).sum()
    f = same_values([cost, *T.grad(cost, [W, U, b, x, h0])])
    assert loop_listing(f)[-6:] == text("""
        for{cpu,grad_of_rnn}: 1 sequences, state [-1] keeps 0, stacked keeps all, 1 wholes
            KERNEL C3 := Elemwise{Composite{(i1 * (1.0 - sqr(i0)))}}(C0, C1)
            KERNEL C4 := dot(C3, C2)
            RESULT C4, C3
            DROP C3, C4
            HALT""")


def test_batches():
    batch, start = T.tensor3(), T.matrix()
    states, _ = phintys.scan(lambda x, h: T.tanh(T.dot(x, U) + T.dot(h, W) + b), batch, start)
    cost = (states ** 2).sum()
    f, plain = [phintys.function([batch, start, W, U, b], [cost, *T.grad(cost, [W, U, b, batch, start])], mode=mode)
                for mode in ("FAST_RUN", "FAST_COMPILE")]
    values = [RNG.uniform(size=(5, 2, 3)), RNG.uniform(size=(2, 4)), VALUES[W], VALUES[U], VALUES[b]]
    for found, wanted in zip(f(*values), plain(*values)):
        numpy.testing.assert_allclose(found, wanted)
    assert [node.op.parts.n_summed for node in loops_of(f)] == [0, 0]
    assert loop_listing(f)[-1 - loop_listing(f)[::-1].index("    HALT")]


def test_loops_without_states_are_no_loops():
    rows, _ = phintys.scan(lambda row: T.tanh(T.dot(row, U)).sum(), x)
    f = same_values([rows, T.grad(rows.sum(), U)])
    assert not loops_of(f)


def test_what_would_grow_stays_inside():
    rows, _ = phintys.scan(lambda row, W: (T.exp(row.sum() * W)).sum(), x, non_sequences=W)
    assert len(loops_of(same_values([rows]))) == 1


def test_outputs_and_inputs_that_are_not_read():
    (first, second, third), _ = phintys.scan(
        lambda row, other, a, c, W: (a + row[0], c * other[1], T.dot(W[0], W[0]) * a), [x, x + 1], [b[0], b[1], None],
        W, name="walk")
    f = same_values([first])
    (loop,) = loops_of(f)
    assert loop.op.parts == (1, ((-1,),), 0, 0, 0, False, 0) and not loop.op.inner_inputs.wholes
    f = same_values([second, third])
    assert loops_of(f)[0].op.parts.taps == ((-1,), (-1,))


def test_equal_inputs_and_constants():
    doubled = x * 2
    rows, _ = phintys.scan(lambda a, c, state, w, v, k: T.tanh(a + c * state[:3].sum() + w[0, :3] * v[1, :3]) * k,
                           [doubled, x * 2], T.zeros((3,)), [W, W, numpy.array(2.)])
    (loop,) = loops_of(same_values([rows]))
    assert loop.op.parts.n_sequences == 1
    assert [variable.type.ndim for variable in loop.op.inner_inputs.wholes] in ([2], [1, 1], [1])


@pytest.mark.parametrize("read, kept", [
    (lambda rows: rows[-1], 1), (lambda rows: rows[-3:], 3), (lambda rows: rows[-3:-1], 3), (lambda rows: rows[-2], 2),
    (lambda rows: rows[-1] + rows[-4], 4), (lambda rows: rows[0], None), (lambda rows: rows[:-1], None),
    (lambda rows: rows[::2], None), (lambda rows: rows[-1, 0] + rows.shape[0], 1)])
@pytest.mark.parametrize("taps", [[-1], [-3, -1]])
def test_rows_that_are_kept(read, kept, taps):
    start = h0 if taps == [-1] else T.stack([h0, h0 + 1, h0 * 2])
    rows, _ = phintys.scan(lambda row, *states: T.tanh(T.dot(states[0], W) + states[-1] + row.sum()), x,
                           dict(initial=start, taps=taps))
    (loop,) = loops_of(same_values([read(rows)]))
    assert loop.op.kept == (kept,)


def test_fewer_steps_than_rows_that_are_read():
    k = T.iscalar()
    rows, _ = phintys.scan(lambda a, c: a + c, outputs_info=dict(initial=T.arange(2.), taps=[-2, -1]), n_steps=k)
    f = phintys.function([k], rows[-4:])
    assert [f(steps).tolist() for steps in (0, 1, 2, 5)] == [[], [1], [1, 2], [2, 3, 5, 8]]
    last = phintys.function([k], rows[-1])
    with pytest.raises(IndexError):
        last(0)


def test_equal_loops_and_loops_of_one_length_are_merged():
    first, _ = phintys.scan(lambda row, state: T.tanh(row + state), x[:, 0], h0[0])
    second, _ = phintys.scan(lambda row, state: T.tanh(row * state), x[:, 0], h0[1])
    third, _ = phintys.scan(lambda row, state: row - state, first, h0[2])
    f = same_values([first, second, third])
    assert sorted([len(node.op.parts.taps) for node in loops_of(f)]) == [1, 2]


def test_one_op_applied_twice_is_merged():
    """Copies of a loop have one op, with the same inner variables, and other inputs."""
    first, _ = phintys.scan(lambda row, state, u: T.tanh(row * u + state), x[:, 0], h0[0], b[0])
    second = phintys.clone(first, replace={x: x * 2, h0: h0 + 1, b: b - 1}, share_inputs=True)
    assert len(loops_of(same_values([first, second]))) == 1


def test_while_loops_keep_their_last_rows_and_move_products_out():
    limit = T.scalar()
    (states, rows), _ = phintys.scan(lambda state, W, V: ([(new := T.dot(state, W) + 1), T.dot(new, V)],
                                                         until(new.sum() > limit)),
                                     outputs_info=[h0, None], non_sequences=[W, V], n_steps=100)
    f, plain = [phintys.function([h0, W, V, limit], [states[-1], rows], mode=mode)
                for mode in ("FAST_RUN", "FAST_COMPILE")]
    for value in (1., 5., 7.):
        found, wanted = [g(VALUES[h0], VALUES[W], VALUES[V], value) for g in (f, plain)]
        numpy.testing.assert_allclose(found[0], wanted[0])
        numpy.testing.assert_allclose(found[1], wanted[1])
    assert loops_of(f)[0].op.parts.n_stacked == 0
    (loop,) = loops_of(phintys.function([h0, W, V, limit], states[-1]))
    assert loop.op.kept == (1,)


def peak_of_call(f, *arguments):
    """The most memory that the pool gave out during a call, beyond what is in use before it."""
    before = phintys.memory.stats()["live_bytes"]
    phintys.memory.reset_peak()
    f(*arguments)
    return phintys.memory.stats()["peak_bytes"] - before


def test_memory_of_the_last_state_does_not_depend_on_the_number_of_steps():
    k = T.iscalar()
    rows, _ = phintys.scan(lambda state: state * 0.5 + 1, outputs_info=h0, n_steps=k)
    f, every = phintys.function([k, h0], rows[-1]), phintys.function([k, h0], rows)
    value = numpy.zeros(100)
    f(2, value)
    assert peak_of_call(f, 5000, value) < 50_000 and peak_of_call(every, 5000, value) >= 4_000_000
    assert abs(peak_of_call(f, 100, value) - peak_of_call(f, 5000, value)) < 10_000


def test_checkpoints_take_less_memory():
    a, k = T.vector(), T.iscalar()
    whole, _ = phintys.scan(lambda state, a: T.tanh(state * a), outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    saving, _ = phintys.scan_checkpoints(lambda state, a: T.tanh(state * a), outputs_info=T.ones_like(a),
                                         non_sequences=a, n_steps=k, save_every_N=20)
    plain, less = [phintys.function([a, k], T.grad(rows[-1].sum(), a)) for rows in (whole, saving)]
    value = numpy.linspace(.5, 1.5, 2000)
    numpy.testing.assert_allclose(plain(value, 400), less(value, 400))
    assert peak_of_call(less, value, 400) < peak_of_call(plain, value, 400) / 3


@pytest.mark.parametrize("other", [lambda state: state[0], lambda state: state[::-1], lambda state: state.T])
def test_a_view_of_a_state_that_nothing_else_reads(other):
    """The new state is not written over the old one before its view was copied."""
    start = T.dmatrix("start")
    (_, rows), _ = phintys.scan(lambda state: [2 * T.tanh(state), other(state)], outputs_info=[start, None], n_steps=7)
    (last, kept), _ = phintys.scan(lambda state, seen: [2 * T.tanh(state), other(state)],
                                   outputs_info=[start, other(start)], n_steps=7)
    value = RNG.randn(3, 3)
    for outputs in ([rows], [kept[-1]], [kept], [last[-1], kept[-1]]):
        found, wanted = [phintys.function([start], outputs, mode=mode)(value) for mode in ("FAST_RUN", "FAST_COMPILE")]
        for result, expected in zip(found, wanted):
            numpy.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("n_steps", [1, 2, 4, 7, 40])
@pytest.mark.parametrize("step", [
    lambda a, b: [b, a], lambda a, b: [b[::-1], a.T], lambda a, b: [a.T, b[::-1] + a], lambda a, b: [a + 1, a[::-1]],
    lambda a, b: [b.T, 2 * b]], ids=["swap", "views", "own view", "view of another", "view and value"])
def test_last_states_that_are_views_of_each_other(step, n_steps):
    """No row is written over another before all that is seen of that was copied; also beside carried values."""
    a, b = T.dmatrices("ab")
    states, _ = phintys.scan(lambda a, b, c: [*step(a, b), T.inc_subtensor(c[0], a[1] + b[2])], None, [a, b, a],
                             n_steps=n_steps)
    values = RNG.randn(2, 3, 3)
    for outputs in ([states[0][-1]], [rows[-1] for rows in states], [states[1][-2:], states[2][-1]][n_steps == 1:]):
        found, wanted = [phintys.function([a, b], outputs, mode=mode, on_unused_input="ignore")(*values)
                         for mode in ("FAST_RUN", "FAST_COMPILE")]
        for result, expected in zip(found, wanted):
            numpy.testing.assert_allclose(result, expected, rtol=1e-13)


@pytest.mark.parametrize("keep", [1, 2, 3])
@pytest.mark.parametrize("step", [lambda state: state + 1, lambda state: state[::-1] + 1, lambda state: state.T],
                         ids=["value", "read twice", "view"])
def test_a_while_loop_that_ends_before_its_last_rows_are_full(step, keep):
    start, bound = T.dmatrix("start"), T.iscalar("bound")
    (rows, _), _ = phintys.scan(lambda state, count, bound: ([step(state), count + 1], until(count >= bound)),
                                outputs_info=[start, T.constant(0, dtype="int32")], non_sequences=bound, n_steps=1000)
    functions = [phintys.function([start, bound], rows[-keep:], mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    assert loops_of(functions[0])[0].op.kept[0] == keep
    value = RNG.randn(3, 3)
    for steps in range(12):
        found, wanted = [f(value, steps) for f in functions]
        numpy.testing.assert_array_equal(found, wanted)


def kernels_of(program):
    """The kernels of a program, with their operands."""
    return [line.split("KERNEL")[1].split("  [")[0].split("  test")[0].strip() for line in listing(program).splitlines()
            if "KERNEL" in line]


def kernels_of_body(f):
    """The kernels that a function's loop runs in each step."""
    body, = [loop.program for loop in loops_in(f.program)]
    return kernels_of(body)


def test_a_state_that_steps_change_in_part_is_overwritten():
    places = T.lvector("places")
    rows, _ = phintys.scan(lambda place, row: T.inc_subtensor(row[place], 2 * row[place]), places, h0, name="change")
    f, plain = [phintys.function([places, h0], rows[-1], mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    assert loop_listing(f)[0] == "for{cpu,change}: 1 sequences, carried, 0 wholes"
    assert kernels_of_body(f) == text("""
        C2 := Subtensor{int64}(C1, C0)
        C4 := Elemwise{mul,no_inplace}(2, C2)
        C5 := IncSubtensor{InplaceInc;int64}(C1, C4, C0)""")
    for chosen in ([0], [3, 1, 1, 0], [2] * 30):
        before = VALUES[h0].copy()
        numpy.testing.assert_array_equal(f(chosen, before), plain(chosen, before))
        numpy.testing.assert_array_equal(before, VALUES[h0])
    for g in (f, plain):
        with pytest.raises(IndexError):
            g([], VALUES[h0])                           # there is no last row


def test_products_are_added_to_a_state_in_place():
    a, c, start = T.tensor3("a"), T.tensor3("c"), T.matrix("start")
    rows, _ = phintys.scan(lambda a, c, total: total + T.dot(T.tanh(a * total[0, 0]), c), [a, c], start, name="add")
    f, plain = [phintys.function([a, c, start], rows[-1], mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    assert kernels_of_body(f) == text("""
        C3 := Subtensor{0, 0}(C2)
        C4 := InplaceDimShuffle{x,x}(C3)
        C5 := Elemwise{Composite{tanh((i0 * i1))}}(C0, C4)
        C7 := Gemm{inplace}(C2, C6, C5, C1, C6)""")
    values = RNG.randn(12, 3, 5), RNG.randn(12, 5, 4), RNG.randn(3, 4)
    for _ in range(2):
        numpy.testing.assert_allclose(f(*values), plain(*values))
    (loop,) = loops_of(phintys.function([a, c, start], [rows[-1], rows[0]]))
    assert loop.op.parts.n_carried == 0                 # other rows are read, too


def test_states_that_are_computed_anew_stay_states():
    states, _ = network()
    assert loops_of(compiled([states[-1]]))[0].op.parts.n_carried == 0
    rows, _ = phintys.scan(lambda total, row: total + row, outputs_info=h0, sequences=T.outer(b, b))
    f = same_values([rows[-1], rows.shape])
    assert all([loop.op.parts.n_carried == 0 for loop in loops_of(f)])


def test_gradients_of_batches_copy_no_reversed_rows():
    """Besides the states, the gradient needs rows of the backward loop, and not the sequence backwards as a copy."""
    batch, w, start = T.tensor3(), T.matrix(), T.matrix()
    states, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w) + T.dot(state, w) * state), batch, start)
    f = same_in_both_modes([batch, start, w], T.grad(states[-1].sum(), [w]),
                           [RNG.uniform(size=(7, 5, 4)), RNG.uniform(size=(5, 4)), VALUES[W]])
    values = [RNG.uniform(size=(50, 30, 20)), RNG.uniform(size=(30, 20)), RNG.uniform(size=(20, 20)) / 20]
    size = values[0].nbytes
    f(*values)
    needed = peak_of_call(f, *values)
    assert 4 * size < needed < 4.6 * size
    assert abs(f.memory_report().modes[True].peak - needed) < 0.1 * size


@pytest.mark.parametrize("tag", ["scan_simplify", "scan_pushout", "scan_save_mem", "scan_merge", "scan_make_inplace",
                                 "scan_copy_factors", "scan_scalars", "scan"])
def test_each_rewrite_can_be_excluded(tag):
    states, rows = network()
    mode = phintys.Mode("vm", "fast_run").excluding(tag)
    f = compiled([states[-1], rows[-1]], mode=mode)
    for found, wanted in zip(f(*VALUES.values()), same_values([states[-1], rows[-1]])(*VALUES.values())):
        numpy.testing.assert_allclose(found, wanted)
    kept = loops_of(f)[0].op.kept
    assert (None in kept) == (tag in ("scan_save_mem", "scan"))


def same_in_both_modes(inputs, outputs, values):
    """The optimized function, whose values were compared with those of the unoptimized graph."""
    f, plain = [phintys.function(inputs, outputs, mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    for found, wanted in zip(f(*values), plain(*values)):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-10)
    return f


@pytest.mark.parametrize("rank", [0, 1])
def test_rows_of_a_table_are_looked_up_and_changed_all_at_once(rank):
    table, words = T.matrix("table"), [T.lvector, T.lmatrix][rank]()
    start = [T.vector, T.matrix][rank]()
    states, _ = phintys.scan(lambda word, state: T.tanh(T.dot(table[word], W) + state), words, start)
    f = same_in_both_modes([table, words, start, W], [states, *T.grad((states ** 2).sum(), [table, W, start])],
                           [RNG.uniform(size=(6, 4)), RNG.randint(-6, 6, (5, 3)[:rank + 1]),
                            RNG.uniform(size=(3, 4)[1 - rank:]), VALUES[W]])
    ops = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
    assert "AdvancedSubtensor1" in ops and "AdvancedIncSubtensor1" in ops
    for node in loops_of(f):
        inside = {type(part.op).__name__ for part in node.op.fn.maker.fgraph.apply_nodes}
        assert node.op.parts.n_summed == 0 and not inside & {"AdvancedIncSubtensor1", "IncSubtensor"}


def test_a_jacobian_by_a_loop_over_elements_is_no_loop():
    v = T.vector()
    y = T.tanh(T.dot(v, W)) * v.sum()
    rows, _ = phintys.scan(lambda i, y, v: T.grad(y[i], v), T.arange(y.shape[0]), non_sequences=[y, v])
    f = same_in_both_modes([v, W], [rows, T.jacobian(y, v)], [VALUES[h0], VALUES[W]])
    assert not loops_of(f)
    numpy.testing.assert_allclose(*f(VALUES[h0], VALUES[W]))


def test_sums_of_changed_zeros_whose_zeros_are_like_rows():
    """Zeros like a row of a sequence, to some of which each step adds: their sum has no dimension for the steps."""
    rows, positions, values = T.matrix(), T.lvector(), T.vector()
    row, position, value = T.vector(), T.lscalar(), T.scalar()
    results = make_loop(rows.shape[0], Body([(row, rows), (position, positions), (value, values)], summed=[
        (T.inc_subtensor(T.zeros_like(row)[position], value * row[0]), T.zeros_like(rows[0]))]))
    f = same_in_both_modes([rows, positions, values], results.summed,
                           [VALUES[x], numpy.array([2, 0, 1, 0, -1]), RNG.uniform(size=5)])
    assert not loops_of(f)
