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
