"""Mistakes of users: Theano's exception types, and messages that have the line of the function or of the call."""
import linecache
import re

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.gof import MissingInputError
from phintys.scan_module import until

x, start, weight = T.dvector("x"), T.dvector("start"), phintys.shared(2.0, "weight")


def lines_in(message):
    """The lines of this file that a message names."""
    numbers = re.findall(r'test_scan_mistakes\.py(?:", line |:)(\d+)', message)
    return [linecache.getline(__file__, int(number)) for number in numbers]


def two_outputs(row, state):
    return row, state                               # the body's line


def row_as_state(row, state):
    return state.dimshuffle("x", 0)                 # the body's line


def narrower(row, state):
    return (state + row).astype("float32")          # the body's line


def longer(row, state):
    return T.concatenate([state, state])            # the body's line


def sum_of_both(row, state):
    return row + state                              # the body's line


def unlisted(row):
    return row * weight                             # the body's line


def condition_first(row):
    return until(row > 1), row                      # the body's line


# name → (exception, words of the message, function, arguments of scan)
WHILE_BUILDING = {
    "wrong number of outputs": (ValueError, "returned 2 outputs, and outputs_info describes 1", two_outputs,
                                (x, start)),
    "a state that changes its rank": (ValueError, "should be one less than the initial state", row_as_state,
                                      (x, start)),
    "a state that changes its dtype": (ValueError, "dtype float64, while the result .* dtype float32", narrower,
                                       (x, start)),
    "an implicit downcast": (ValueError, "smallest dtype that holds it, here int8", sum_of_both,
                             (T.arange(3), T.as_tensor_variable(0))),
    "no initial state": (TypeError, "needs an initial state in outputs_info", sum_of_both, (x,)),
    "a condition that is not last": (ValueError, "must be the last", condition_first, (x,)),
    "strict": (MissingInputError, "weight", unlisted, (x, None, None, None, -1, False, None, None, False, None, True)),
}


@pytest.mark.parametrize("name", WHILE_BUILDING)
def test_while_the_loop_is_made(name):
    error, words, function, arguments = WHILE_BUILDING[name]
    with pytest.raises(error, match=f"(?s){words}") as caught:
        phintys.scan(function, *arguments)
    assert any(["the body's line" in line or function.__name__ in line for line in lines_in(str(caught.value))])


def taps_beyond_the_sequence():
    rows, _ = phintys.scan(lambda before, after: before + after, dict(input=x, taps=[-3, 2]))       # the loop
    return rows, numpy.zeros(4), "reach over 6 rows, but it has only 4"


def a_sequence_that_is_too_short():
    rows, _ = phintys.scan(lambda row: row * 2, x, n_steps=9)                                       # the loop
    return rows, numpy.zeros(4), "4"


def a_negative_number_of_steps():
    rows, _ = phintys.scan(lambda state: state * 2, outputs_info=numpy.float64(1), n_steps=x.shape[0] - 5)  # the loop
    return rows, numpy.zeros(4), "negative"


def a_state_that_changes_its_shape():
    rows, _ = phintys.scan(longer, x, x)                                                            # the loop
    return rows, numpy.zeros(4), r"step 0.*|shape"


def too_few_initial_rows():
    rows, _ = phintys.scan(lambda before: before * 2, outputs_info=dict(initial=x, taps=[-6]), n_steps=2)  # the loop
    return rows, numpy.zeros(4), "has 4 rows"


def an_index_in_a_step():
    rows, _ = phintys.scan(lambda position, x: x[position], T.arange(5), non_sequences=T.exp(x))    # the loop
    return rows, numpy.zeros(4), "index"


WHILE_RUNNING = {taps_beyond_the_sequence: ValueError, a_sequence_that_is_too_short: ValueError,
                 a_negative_number_of_steps: IndexError, a_state_that_changes_its_shape: ValueError,
                 too_few_initial_rows: ValueError, an_index_in_a_step: IndexError}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("mistake", WHILE_RUNNING)
def test_while_the_loop_runs(mistake, mode):
    rows, value, words = mistake()
    total = phintys.shared(1.0)
    function = phintys.function([x], rows, updates=[(total, total + rows.sum())], mode=mode)
    with pytest.raises(WHILE_RUNNING[mistake], match=f"(?s){words}") as caught:
        function(value)
    assert any(["the loop" in line for line in lines_in(str(caught.value))])
    assert total.get_value() == 1


@pytest.mark.parametrize("steps, error", [
    (2.5, ValueError), (2.0, ValueError), (numpy.float64(3), ValueError), (numpy.array(1.5), ValueError),
    (T.dscalar(), ValueError), (numpy.array([3]), ValueError), (numpy.True_, ValueError), (1j, ValueError),
    ("5", TypeError), (b"5", TypeError), ({}, TypeError), (True, TypeError)])
def test_a_number_of_steps_is_an_integer(steps, error):
    """Theano raises too, some of these when the function is compiled."""
    for loop in (phintys.scan, phintys.scan_checkpoints):
        with pytest.raises(error, match="n_steps must be"):
            loop(lambda state: state * 2, outputs_info=numpy.float64(1), n_steps=steps)


k = T.lscalar("k")
# Loops of k steps, over a vector with enough rows. The optimizer replaces those without a state.
OF_K_STEPS = {
    "the same in all steps": lambda: phintys.scan(lambda: T.exp(weight), n_steps=k)[0],
    "a row": lambda: phintys.scan(lambda row: row * 2 + 1, x, n_steps=k)[0],
    "a vector for each row": lambda: phintys.scan(lambda row: T.dot(T.outer(x, x), x) * row, x, n_steps=k)[0],
    "a state": lambda: phintys.scan(lambda state: T.tanh(state), outputs_info=weight, n_steps=k)[0],
    "a state, and rows": lambda: phintys.scan(lambda state: [T.tanh(state), T.exp(state)], outputs_info=[weight, None],
                                              n_steps=k)[0][1],
    "a state of two steps": lambda: phintys.scan(lambda one, two: T.tanh(one) + two, n_steps=k,
                                                 outputs_info=dict(initial=x, taps=[-2, -1]))[0],
    "a linear recurrence": lambda: phintys.scan(lambda row, state: state / 2 + row, x, weight, n_steps=k)[0],
    "checkpoints": lambda: phintys.scan_checkpoints(lambda state: T.tanh(state), outputs_info=weight, n_steps=k,
                                                    save_every_N=1)[0],
    "a condition": lambda: phintys.scan(lambda state: (state * 2, until(state > 1e9)), outputs_info=weight,
                                        n_steps=k)[0],
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("name", OF_K_STEPS)
def test_a_negative_number_of_steps_is_refused_however_the_loop_is_computed(name, mode):
    rows = OF_K_STEPS[name]()
    for outputs in (rows, rows.sum(), rows.shape[0]):
        f = phintys.function([x, k], outputs, mode=mode, on_unused_input="ignore")
        f([1.0, 2.0, 3.0], 0)
        for steps in (-1, -7):
            with pytest.raises(IndexError, match=f"negative number of step {steps}"):
                f([1.0, 2.0, 3.0], steps)


READ = {
    "o[-3]": lambda o: o[-3], "o[2]": lambda o: o[2], "o[-1] + o[-3]": lambda o: o[-1] + o[-3],
    "o[-3, ...]": lambda o: o[-3, ...], "o[-2:][-3]": lambda o: o[-2:][-3], "o[::-1][2]": lambda o: o[::-1][2],
    "o[1:][1]": lambda o: o[1:][1], "o[:-1][-2]": lambda o: o[:-1][-2], "o[::2][1]": lambda o: o[::2][1],
    "take": lambda o: T.take(o, -3, axis=0), "o[[-3]]": lambda o: o[[-3]], "o[k]": lambda o: o[k],
    "o[-k - 1]": lambda o: o[-k - 1],
}


@pytest.mark.parametrize("name", OF_K_STEPS)
def test_a_row_that_a_loop_of_two_steps_does_not_have(name):
    """Also where only the last rows are kept, or all rows are one value."""
    rows = OF_K_STEPS[name]()
    for how, read in READ.items():
        f = phintys.function([x, k], read(rows), on_unused_input="ignore")
        with pytest.raises(IndexError):
            assert f([1.0, 2.0, 3.0], 2) is how
    for read in (lambda o: o[-3:], lambda o: o[-3:-1], lambda o: o[-5::2], lambda o: o[5:], lambda o: o[k - 5:],
                 lambda o: o[-2], lambda o: o[1], lambda o: o[-k], lambda o: o[k - 1]):
        fast, plain = [phintys.function([x, k], read(rows), mode=mode, on_unused_input="ignore")([1.0, 2.0, 3.0], 2)
                       for mode in ("FAST_RUN", "FAST_COMPILE")]
        assert fast.shape == plain.shape
        numpy.testing.assert_allclose(fast, plain)


TERMS = (lambda row: row * 2), x
PARAMETERS = {
    "no function": (TypeError, "fn is a function", (None, x), {}),
    "a scalar sequence": (ValueError, "is a scalar", (TERMS[0], 3), {}),
    "an unknown key": (ValueError, "keys 'input' and 'taps'", (TERMS[0], {"input": x, "tap": [0]}), {}),
    "taps that are no integers": (TypeError, "taps are integers, got 0.5", (TERMS[0], {"input": x, "taps": [0.5]}), {}),
    "no taps": (ValueError, "at least one tap", (TERMS[0], None, {"initial": x, "taps": []}), {"n_steps": 3}),
    "a tap of later steps": (ValueError, "smaller than 0", (TERMS[0], None, {"initial": x, "taps": [1]}), {}),
    "truncate_gradient": (ValueError, "or -1 for all, got -2", TERMS, {"truncate_gradient": -2}),
    "truncate_gradient, text": (TypeError, "truncate_gradient is an integer, got '1'", TERMS,
                                {"truncate_gradient": "1"}),
    "go_backwards": (TypeError, "go_backwards is True or False, got", TERMS, {"go_backwards": T.dscalar()}),
    "go_backwards, text": (TypeError, "go_backwards is True or False, got 'no'", TERMS, {"go_backwards": "no"}),
    "mode": (Exception, "nonsense", TERMS, {"mode": "nonsense"}),
    "mode, a number": (Exception, "3", TERMS, {"mode": 3}),
    "profile": (TypeError, "profile is True, False, a title", TERMS, {"profile": 3.5}),
    "name": (TypeError, "must be None or a string, got 5", TERMS, {"name": 5}),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    error, words, arguments, options = PARAMETERS[name]
    with pytest.raises(error, match=words):
        phintys.scan(*arguments, **options)


@pytest.mark.parametrize("sequence, error", [(3, ValueError), ({"tap": x}, ValueError),
                                             ({"input": x, "taps": [0]}, RuntimeError), ("x", TypeError)])
def test_sequences_of_checkpoints(sequence, error):
    with pytest.raises(error):
        phintys.scan_checkpoints(lambda row: row * 2, sequence)
