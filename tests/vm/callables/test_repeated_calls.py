"""Calls from Python that repeat a recorded one: against the same function without."""
import gc
import threading

import numpy
import pytest

import phintys
import phintys.tensor as T

x, y, k = T.dvector("x"), T.dscalar("y"), T.lvector("k")
PROGRAMS = {
    "sums": ([x, y], [(T.exp(x) * y).sum(), x[1:] + y, T.join(0, x[:2], [y]) * 2]),
    "views": ([x, y], [x[::-1], x.reshape((2, -1)).T, y, x[0] + y]),
    "assignments": ([x, y], [T.inc_subtensor(T.zeros_like(x)[1:3], y), T.set_subtensor((x * 2)[0], y)]),
    "gradient": ([x, y], [T.grad((T.log(1 + x ** 2) * y).sum(), v) for v in (x, y)]),
    "the same twice": ([x, y], [x + y, x + y, x]),
    "rows": ([x, y], [(x[:, None] * x[None, :] + y).sum(axis=1), (x[:, None] - y).max(axis=0)]),
}


def with_gradients(rows, *more):
    return [*more, *phintys.grad((rows ** 2).sum(), [x, y])]


def loop_of_numbers():
    """In registers, without a frame: all rows, and the last ones."""
    rows, _ = phintys.scan(lambda value, state: state * y + T.tanh(value), x, outputs_info=[x[0]])
    sums, _ = phintys.scan(lambda value, third, last: third * last - value, x, [{"initial": x[:3], "taps": [-3, -1]}])
    return with_gradients(rows, rows, sums[-2:])


def loop_of_rows():
    """Steps of a frame that are recorded themselves, rows that are stacked, a ring, and a carried sum."""
    (rows, shifted), _ = phintys.scan(
        lambda value, state: [T.tanh(T.dot(T.outer(x, x), state) + value), state * value], T.join(0, x, x, x),
        outputs_info=[x * y, None])
    sums, _ = phintys.scan(lambda third, last: T.sin(third + last[::-1]), n_steps=20,
                           outputs_info=[{"initial": T.outer(x[:3], x), "taps": [-3, -1]}])
    total, _ = phintys.scan(lambda value, total: T.inc_subtensor(total[1:3], value * y), x, outputs_info=[x])
    return with_gradients(rows, rows[-1], shifted[-4:].sum(axis=0), sums[-2:], total[-1])


def loop_in_a_loop():
    def row(value, state):
        rows, _ = phintys.scan(lambda element, inner: T.cos(inner * y) + element, state, outputs_info=[value])
        return rows[::-1] / 2
    rows, _ = phintys.scan(row, T.join(0, x, x), outputs_info=[x])
    return with_gradients(rows, rows[-1])


def loop_with_rows_ahead():
    """Products of all rows of a sequence at once, a block of steps at a time."""
    table = T.outer(T.join(0, x, x, x), x)
    rows, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, T.outer(x, x)) + state * y), table, outputs_info=[x])
    return with_gradients(rows, rows[-1])


PROGRAMS |= {made.__name__: ([x, y], made()) for made in (loop_of_numbers, loop_of_rows, loop_in_a_loop,
                                                          loop_with_rows_ahead)}


def repeating(inputs, outputs, **options):
    f = phintys.function(inputs, outputs, **options)
    assert f.repeat_calls()
    return f


@pytest.mark.parametrize("allow_gc", [True, False])
@pytest.mark.parametrize("name", PROGRAMS)
def test_repeated_calls_compute_the_same(name, allow_gc):
    """With arguments elsewhere, as numbers and arrays, of other layouts and the first ones again; results stay."""
    inputs, outputs = PROGRAMS[name]
    mode = phintys.compile.mode.get_default_mode().clone(link_kwargs={"allow_gc": allow_gc})
    f, usual = repeating(inputs, outputs, mode=mode), phintys.function(inputs, outputs, mode=mode)
    random = numpy.random.default_rng(1)
    kept, repeated = [], 0
    for number in range(80):
        values, factor = random.normal(size=6 if number < 40 or number > 60 else 8), random.normal()
        if 20 < number < 40:
            values = numpy.repeat(values, 2)[::2]
        given = values, (numpy.array(factor) if number % 2 else factor)
        repeated += f.repeats_a_call
        results, wanted = f(*given), usual(*given)
        kept += zip(results, [numpy.array(value) for value in wanted])
        for result, value in zip(results, wanted):
            numpy.testing.assert_array_equal(result, value)
        values[:] = numpy.nan
    for result, value in kept:
        numpy.testing.assert_array_equal(result, value)
    assert repeated > 20 or phintys.config.stress           # under stress nothing is kept


def warm(f, *arguments):
    for _ in range(12):
        f(*arguments)
    assert f.repeats_a_call != phintys.config.stress


def test_a_call_that_fails_is_not_repeated():
    f = repeating([x, k], [x[k] * 2, x.sum()])
    values = numpy.arange(5.0)
    good, bad = numpy.array([0, 4]), numpy.array([0, 5])
    warm(f, values, good)
    for _ in range(3):
        with pytest.raises(IndexError, match="5"):
            f(values, bad)
        assert not f.repeats_a_call
        numpy.testing.assert_array_equal(f(values, good)[0], [0, 8])
    warm(f, values, good)


def test_a_loop_that_fails_is_not_repeated():
    """In a step that a kernel refuses; the next call says the same, and the one after it is right."""
    rows, _ = phintys.scan(lambda position, state: T.tanh(state + x[position]), k, outputs_info=[x[0] * T.ones((3,))])
    f, usual = repeating([x, k], rows[-1]), phintys.function([x, k], rows[-1])
    values, good = numpy.arange(5.0), numpy.arange(20) % 5
    bad = good + (good == 4) * (numpy.arange(20) > 15)
    warm(f, values, good)
    for _ in range(2):
        messages = []
        for function in (f, usual):
            with pytest.raises(IndexError, match="step 19") as raised:
                function(values, bad)
            messages.append(str(raised.value))
        assert messages[0] == messages[1] and not f.repeats_a_call
    numpy.testing.assert_array_equal(f(values, good), usual(values, good))
    warm(f, values, good)


def test_memory_is_given_up_when_asked_for():
    matrix = T.exp(x[:, None] + x[None, :])
    f = repeating([x], [T.dot(matrix, x), T.dot(x, matrix)])
    values = numpy.arange(40.0) / 40
    warm(f, values)
    wanted = f(values)[0].copy()
    assert f.kept_bytes() > 40 * 40 * 8 or phintys.config.stress
    f.free()
    assert f.kept_bytes() == 0 and not f.repeats_a_call
    numpy.testing.assert_array_equal(f(values)[0], wanted)
    warm(f, values)
    del f
    gc.collect()


def test_large_values_are_not_kept():
    matrix = T.exp(x[:, None] + x[None, :])
    outputs = [T.dot(matrix, x).sum(), T.dot(x, matrix).sum()]
    f, usual = repeating([x], outputs), phintys.function([x], outputs)
    for _ in range(20):
        assert f(numpy.arange(300.0) / 300) == usual(numpy.arange(300.0) / 300)
    assert not f.repeats_a_call and f.kept_bytes() <= usual.kept_bytes()


def test_large_values_of_a_body_are_not_kept():
    rows, _ = phintys.scan(lambda state: T.tanh(T.dot(T.exp(T.outer(x, state)), state)), n_steps=20, outputs_info=[x])
    f = repeating([x], rows[-1].sum())
    for _ in range(20):
        f(numpy.arange(300.0) / 1e5)
    assert not f.repeats_a_call and f.kept_bytes() < 300 * 300 * 8


def test_threads_share_a_function():
    f = repeating([x, y], [T.exp(x * y).sum(), x - y])
    wrong = []

    def work(number):
        values = numpy.full(50, number / 10)
        for _ in range(2000):
            total, difference = f(values, 0.5)
            if total != totals[number] or (difference != values - 0.5).any():
                wrong.append(number)

    totals = [phintys.function([x, y], T.exp(x * y).sum())(numpy.full(50, number / 10), 0.5) for number in range(4)]
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def loops_of_which_no_call_is_repeated():
    """Values decide how many steps there are, which rows are kept, or how long a row is; or a ring has a row more."""
    steps, _ = phintys.scan(lambda state: state * 2, outputs_info=[x], n_steps=k[0])
    kept, _ = phintys.scan(lambda state: (state * 2)[1:].sum() + state, outputs_info=[x], n_steps=9)
    ended, _ = phintys.scan(lambda state: (state + 1, phintys.scan_module.until(state[0] > k[0])), outputs_info=[x],
                            n_steps=20)
    lengths, _ = phintys.scan(lambda state, length: T.arange(length).sum() + state, outputs_info=[x],
                              non_sequences=[k[0]], n_steps=9)
    inside, _ = phintys.scan(lambda state: T.arange(T.cast(state[0] > 9, "int64") + 3).sum() + state,
                             outputs_info=[x], n_steps=9)
    swapped, _ = phintys.scan(lambda second, first: second, n_steps=9,
                              outputs_info=[{"initial": T.outer(x[:2], x), "taps": [-2, -1]}])
    return [(steps, [3]), (kept[-k[0]:], [2]), (ended[-1], [5]), (lengths[-1], [4]), (inside[-1], [4]),
            (swapped[-3:], [1])]


def test_which_programs_repeat_no_call():
    shared = phintys.shared(1.0)
    condition = T.bscalar()
    assert not phintys.function([x], x * shared).repeat_calls()
    assert not phintys.function([phintys.In(x, mutable=True)], T.exp(x)).repeat_calls()
    assert not phintys.function([x], phintys.Out(x * 2, borrow=True)).repeat_calls()
    lazy = phintys.ifelse.ifelse(condition, T.exp(x), T.dot(x, x) + x)
    assert not phintys.function([condition, x], lazy).repeat_calls()
    nothing = phintys.function([x], [], on_unused_input="ignore")
    assert not nothing.repeat_calls() and all([nothing(numpy.ones(3)) == [] for _ in range(20)])
    for result, values in loops_of_which_no_call_is_repeated():
        result = result + 0 * k[0]
        f, usual = repeating([x, k], result), phintys.function([x, k], result)
        for number in range(24):
            given = numpy.linspace(0, 1, 4), numpy.array(values) + number % 2
            numpy.testing.assert_array_equal(f(*given), usual(*given))
            assert not f.repeats_a_call
    f = repeating([x], x * 2)
    for _ in range(20):
        numpy.testing.assert_array_equal(f(numpy.ones(200)), numpy.full(200, 2.0))
    assert not f.repeats_a_call                             # its result is too large to be copied
