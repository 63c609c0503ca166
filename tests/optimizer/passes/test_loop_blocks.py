"""Products of rows in blocks of steps: which loops have them, their listings, values, errors and memory."""
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from loop_listings import loops_of, text

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.scan_module import until
from phintys.vm.explaining.listing import listing
from phintys.vm.loops.blocks import length_of_blocks, set_block_bytes
from phintys.vm.loops.loop_kernel import loops_in
from phintys.vm.pool import fail_allocation, pool_statistics

RNG = numpy.random.RandomState(5)
x, h, W, U, b = T.dmatrix("x"), T.dvector("h"), T.dmatrix("W"), T.dmatrix("U"), T.dvector("b")
INPUTS = [x, h, W, U, b]
LENGTHS = [1, 2, 15, 16, 17, 33, 100]


def values(steps, width=4):
    shapes = [(steps, width), (width,), (width, width), (width, width), (width,)]
    return [RNG.uniform(-1, 1, shape) for shape in shapes]


@pytest.fixture
def small_blocks():
    """Blocks of 16 steps, the fewest."""
    set_block_bytes(1)
    yield
    set_block_bytes()


def network(**options):
    return phintys.scan(lambda x, h: T.tanh(T.dot(x, W) + T.dot(h, U) + b), x, h, **options)[0]


def kernels(program):
    lines = [line.partition("  KERNEL  ")[2] for line in listing(program).splitlines()]
    return [line.split("  ")[0] for line in lines if line]


def test_the_program_that_is_run_for_blocks_of_steps():
    f = phintys.function(INPUTS, network()[-1])
    kernel, = loops_in(f.program)
    assert kernels(kernel.blocks.program) == text("""
        C4 := InplaceDimShuffle{x,0}(C3)
        C6 := Gemm{no_inplace}(C4, C5, C0, C2, C5)""")
    assert kernels(kernel.program) == text("""
        C6 := InplaceDimShuffle{1,0}(C3)
        C8 := Gemv{no_inplace}(C1, C7, C6, C2, C7)
        C9 := Elemwise{tanh}[(0, 0)](C8)""")
    assert "ahead of the body of instruction 4, once a block of steps\n" in f.explain("instructions")
    first, second = f.explain("instructions").split("once a step")
    assert "Gemm" in first and "Gemm" not in second


@pytest.mark.parametrize("outputs, in_blocks", [
    (lambda: network()[-1], True), (lambda: network()[-3:], True), (lambda: network(), False),
    (lambda: network()[0], False), (lambda: T.grad(network()[-1].sum(), W), False),
    (lambda: network(mode="FAST_COMPILE")[-1], False), (lambda: network(profile=True)[-1], False),
    (lambda: phintys.scan(lambda x, h: (T.tanh(T.dot(x, W) + h), until(h[0] > 3)), x, h)[0][-1], False),
    (lambda: phintys.scan(lambda x, h: T.tanh(x + T.dot(h, U)), x, h)[0][-1], False),
    (lambda: phintys.scan(lambda x, h: (T.dot(x, W) * h, T.dot(x, U)), x, [h, None])[0][0][-1], True),
    (lambda: phintys.scan(lambda x, h: (T.dot(x, W) * h, T.dot(x, U)), x, [h, None])[0][1][-1], False)])
def test_only_loops_that_keep_no_rows(outputs, in_blocks):
    f = phintys.function(INPUTS, outputs(), on_unused_input="ignore")
    assert any([node.op.ahead is not None for node in loops_of(f)]) == in_blocks


STEPS = {
    "sum": lambda x, h: T.tanh(T.dot(x, W) + T.dot(h, U) + b),
    "read twice": lambda x, h: T.tanh(T.dot(x, W) + T.dot(h, U)) + T.dot(x, U) * x,
    "of a function": lambda x, h: T.tanh(T.dot(T.exp(x) * b, W) + h),
    "two layers": lambda x, h: h * T.dot(T.tanh(T.dot(x, W)), U),
    "branch": lambda x, h: ifelse(h[0] > 0, T.dot(x, W), -h) + b,
    "carried": lambda x, h: T.set_subtensor(h[1], T.dot(x, W)[2] + h[0]),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "DebugMode"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_values(small_blocks, step, mode):
    last = phintys.scan(step, x, h)[0][-1]
    f, plain = [phintys.function(INPUTS, last, mode=mode, on_unused_input="ignore") for mode in (mode, "FAST_COMPILE")]
    for steps in LENGTHS if mode == "FAST_RUN" else [1, 33]:
        given = values(steps)
        numpy.testing.assert_allclose(f(*given), plain(*given), rtol=1e-12)
    if mode == "FAST_RUN":
        assert loops_of(f)[0].op.ahead is not None
        assert loops_in(f.program)[0].blocks.length == length_of_blocks(4 * 8) == 16


def test_batches_taps_lookups_and_several_states(small_blocks):
    rows, table, start = T.lmatrix("rows"), T.dmatrix("table"), T.dtensor3("start")

    def step(now, next_row, old, last, total):
        state = T.tanh(T.dot(table[now], W) + T.dot(last, U) - old[::-1]) + T.dot(table[next_row], U)
        return state, total + state.sum()

    (states, totals), _ = phintys.scan(step, dict(input=rows, taps=[0, 2]),
                                       [dict(initial=start, taps=[-3, -1]), T.constant(0.0, dtype="float64")])
    inputs = [rows, table, start, W, U]
    f, plain = [phintys.function(inputs, [states[-1], totals[-1]], mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    assert loops_of(f)[0].op.parts.n_ahead
    for steps in LENGTHS:
        given = [RNG.randint(0, 7, (steps + 2, 3)), RNG.randn(7, 4), RNG.randn(3, 3, 4), RNG.randn(4, 4) / 4,
                 RNG.randn(4, 4) / 4]
        for found, wanted in zip(f(*given), plain(*given)):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_loops_that_are_merged_with_others_that_keep_rows():
    last, every = network()[-1], phintys.scan(lambda x, g: x * 2 + T.tanh(g), x, h)[0]
    f = phintys.function(INPUTS, [last, every])
    node, = loops_of(f)
    assert node.op.ahead is None and not any(["Gemm" in line for line in kernels(loops_in(f.program)[0].program)])
    assert any(["Gemm" in line for line in kernels(f.program)])
    given = values(9)
    for found, wanted in zip(f(*given), phintys.function(INPUTS, [last, every], mode="FAST_COMPILE")(*given)):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_copies_pickles_and_equal_loops(small_blocks):
    last = network()[-1]
    f = phintys.function(INPUTS, [last])
    op = loops_of(f)[0].op
    assert op == loops_of(phintys.function(INPUTS, last))[0].op and hash(op) == hash(pickle.loads(pickle.dumps(op)))
    assert op == pickle.loads(pickle.dumps(op))
    other = phintys.scan(lambda x, h: T.tanh(T.dot(T.exp(x), W) + T.dot(h, U) + b), x, h)[0][-1]
    assert op != loops_of(phintys.function(INPUTS, other))[0].op
    given = values(40)
    for again in (f.copy(), pickle.loads(pickle.dumps(f))):
        numpy.testing.assert_array_equal(again(*given), f(*given))


def test_errors_name_the_steps_and_the_line_of_the_body(small_blocks):
    table, rows = T.dmatrix("table"), T.lvector("rows")
    last = phintys.scan(lambda row, h: T.tanh(T.dot(table[row], W) + h), rows, h)[0][-1]
    f = phintys.function([rows, table, h, W], last)
    good = numpy.arange(40) % 7, *[RNG.randn(*shape) for shape in ((7, 4), (4,), (4, 4))]
    wanted = f(*good)
    bad = good[0].copy()
    bad[37] = 7
    before = pool_statistics()["live_bytes"]
    for _ in range(3):
        with pytest.raises(IndexError, match=r"(?s)index 7 is out of bounds.*test_loop_blocks.py.*, for many steps of "
                                             r"for.cpu,scan_fn. at once.*The index is element \d+ of the indices.*"
                                             r"in steps 2\d to 3\d of for.cpu,scan_fn., of 40 steps|in steps 28 to 39"):
            f(bad, *good[1:])
        numpy.testing.assert_array_equal(f(*good), wanted)
    assert pool_statistics()["live_bytes"] <= before
    with pytest.raises(ValueError, match=r"(?s)not aligned.*in steps 0 to \d+ of for.cpu,scan_fn., of 40 steps"):
        f(good[0], RNG.randn(7, 5), *good[2:])
    with pytest.raises(IndexError):
        f(good[0][:0], *good[1:])                   # of no steps there is no last row
    f.free()
    numpy.testing.assert_array_equal(f(*good), wanted)


@pytest.mark.parametrize("position", range(2))
def test_each_instruction_and_each_allocation_may_fail(small_blocks, position):
    """Whatever fails, in the first block or a later one, loses no memory, and the next call is right."""
    f = phintys.function(INPUTS, network()[-1])
    given = values(40, 30)                          # rows of 240 bytes have buffers
    wanted = f(*given)
    program = loops_in(f.program)[0]
    before = pool_statistics()["live_bytes"]
    for step in (0, 2, 39):
        program.fail_at(position, step)
        with pytest.raises(RuntimeError, match=rf"in step {step} of for.cpu,scan_fn., of 40 steps"):
            f(*given)
        program.fail_at()
        numpy.testing.assert_array_equal(f(*given), wanted)
    failures = 0
    while True:
        f.free()
        fail_allocation(failures + 1)
        try:
            f(*given)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            fail_allocation(0)
        numpy.testing.assert_array_equal(f(*given), wanted)
    assert failures > 2 and pool_statistics()["live_bytes"] <= before + 4096


def test_two_threads(small_blocks):
    f = phintys.function(INPUTS, network()[-1])
    cases = [values(steps) for steps in (40, 17, 3, 100)]
    wanted = [f(*given) for given in cases]
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(lambda: [f(*given) for given in cases * 20]) for _ in range(2)]
        for call in calls:
            for found, expected in zip(call.result(), wanted * 20, strict=True):
                numpy.testing.assert_array_equal(found, expected)
