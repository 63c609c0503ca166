"""Few numbers of a RandomState in each call: they and the shared state are NumPy's, whoever else has the state."""
import copy
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ops.random.generator_states import words_of_random_state
from phintys.tensor.opt import Assert
from phintys.tensor.shared_randomstreams import RandomStreams
from phintys.vm.opcodes import OPCODES

# How a sample of a size is drawn from a stream, and by NumPy.
DRAWS = {
    "normal": (lambda s, n: s.normal((n,), 1.5, 0.5), lambda r, n: r.normal(1.5, 0.5, n)),
    "standard normal": (lambda s, n: s.normal((n,)), lambda r, n: r.normal(size=n)),
    "uniform": (lambda s, n: s.uniform((n,)), lambda r, n: r.uniform(size=n)),
    "uniform between": (lambda s, n: s.uniform((n,), -1.0, 2.5), lambda r, n: r.uniform(-1.0, 2.5, n)),
}
STATES = {                              # of 316 words: what no seed makes, and positions that are out of range
    "no keys": [4, 0, 0, 10] + [0] * 312,
    "one bit": [4, 0, 0, 620] + [1 << 33] + [0] * 311,
    "position 623": [4, 0, 0, 623] + list(range(1, 313)),
    "position 1000": [4, 1, 0x3ff8000000000000, 1000] + list(range(1, 313)),
    "position 65535": [4, 0, 0, 65535] + list(range(1, 313)),
    "last position": [4, 1, 0x3ff8000000000000, 2 ** 64 - 1] + list(range(1, 313)),
}


def stream(name, size, seed=3, **options):
    """A function that draws, its shared state, and a RandomState that will draw the same."""
    source, state = RandomStreams(77), numpy.random.RandomState(seed)
    sample = DRAWS[name][0](source, size)
    shared = source.state_updates[0][0]
    shared.set_value(state)
    return phintys.function([], sample, **options), shared, state


def words(shared):
    return shared.get_value(return_internal_type=True)


@pytest.mark.parametrize("cpu", ["native", "baseline"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 10, 16, 17, 50])
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_and_states(name, size, cpu):
    """Of calls that cross the refill of the words at 624 at all places, beside draws of a length that is not known."""
    function, shared, state = stream(name, size)
    length = T.lscalar()
    source = RandomStreams(77)
    other = DRAWS[name][0](source, length)
    varied = phintys.function([length], other, givens={source.state_updates[0][0]: shared}, no_default_updates=True,
                              updates=[(shared, phintys.clone(source.state_updates[0][1],
                                                              {source.state_updates[0][0]: shared}))])
    with phintys.change_flags(cpu=cpu):
        for turn in range(150):
            numpy.testing.assert_array_equal(function(), DRAWS[name][1](state, size))
            if turn % 10 == 0:
                numpy.testing.assert_array_equal(varied(turn % 7), DRAWS[name][1](state, turn % 7))
            numpy.testing.assert_array_equal(words(shared), words_of_random_state(state))


@pytest.mark.parametrize("size", [0, 1, 3, 50])
@pytest.mark.parametrize("name", ["normal", "uniform"])
@pytest.mark.parametrize("given", STATES)
def test_states_of_no_seed(given, name, size):
    """Points are rejected for thousands of words; the state after each call is that of mode FAST_COMPILE."""
    function, shared, _ = stream(name, size)
    plain, other, _ = stream(name, size, mode="FAST_COMPILE")
    for variable in (shared, other):
        variable.set_value(numpy.array(STATES[given], "uint64"))
    for _ in range(40):
        numpy.testing.assert_array_equal(function(), plain())
        numpy.testing.assert_array_equal(words(shared), words(other))


def test_a_borrowed_state_stays():
    function, shared, state = stream("normal", 10)
    for _ in range(60):
        borrowed = shared.get_value(borrow=True, return_internal_type=True)
        kept = borrowed.copy()
        numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))
        numpy.testing.assert_array_equal(borrowed, kept)
        numpy.testing.assert_array_equal(words(shared), words_of_random_state(state))


def test_a_lent_state_stays():
    function, shared, state = stream("normal", 10)
    lent = words_of_random_state(state)
    shared.set_value(lent, borrow=True)
    kept = lent.copy()
    for _ in range(60):
        numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))
        numpy.testing.assert_array_equal(lent, kept)


def test_a_call_that_fails_changes_nothing():
    x, source = T.scalar(), RandomStreams(77)
    sample = source.normal((10,))
    shared, state = source.state_updates[0][0], numpy.random.RandomState(3)
    shared.set_value(state)
    function = phintys.function([x], [sample, Assert("x is positive")(x, (x + sample[0] * 0) > 0)])
    for turn in range(60):
        with pytest.raises(AssertionError, match="x is positive"):
            function(-1.0)
        numpy.testing.assert_array_equal(words(shared), words_of_random_state(state))
        numpy.testing.assert_array_equal(function(1.0)[0], state.normal(size=10))


def test_each_instruction_that_fails():
    function, shared, state = stream("normal", 10)
    names = [OPCODES[instruction.op].name for instruction in function.program.instructions()]
    for position in range(names.index("COMMIT") + 1):
        for _ in range(3):
            function.fail_at(position)
            with pytest.raises(RuntimeError, match="this instruction was asked to fail"):
                function()
            function.fail_at(None)
            numpy.testing.assert_array_equal(words(shared), words_of_random_state(state))
            numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))


def test_two_functions_of_one_state_and_copies():
    function, shared, state = stream("normal", 10)
    source = RandomStreams(78)
    sample = source.uniform((7,))
    own, after = source.state_updates[0]
    second = phintys.function([], phintys.clone(sample, {own: shared}), no_default_updates=True,
                              updates=[(shared, phintys.clone(after, {own: shared}))])
    third = function.copy()
    for _ in range(40):
        numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))
        numpy.testing.assert_array_equal(second(), state.uniform(size=7))
        numpy.testing.assert_array_equal(third()[0], state.normal(1.5, 0.5, 10))


def test_pickles():
    function, _, state = stream("normal", 10)
    function()
    state.normal(size=10)
    loaded, apart = pickle.loads(pickle.dumps(function)), copy.deepcopy(state)
    for _ in range(40):
        numpy.testing.assert_array_equal(loaded(), apart.normal(1.5, 0.5, 10))
        numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))


def test_debug_mode_and_kept_memory():
    for mode in ("DebugMode", phintys.Mode(linker="vm_nogc"), phintys.Mode(linker="vm", optimizer="fast_run")):
        function, shared, state = stream("normal", 10, mode=mode)
        for _ in range(6):
            numpy.testing.assert_array_equal(function(), state.normal(1.5, 0.5, 10))
            numpy.testing.assert_array_equal(words(shared), words_of_random_state(state))


def test_parameters_are_checked():
    deviation, source = T.scalar(), RandomStreams(77)
    function = phintys.function([deviation], source.normal((3,), 0.0, deviation))
    shared = source.state_updates[0][0]
    before = words(shared).copy()
    with pytest.raises(ValueError, match="normal: std must be at least 0, got -1"):
        function(-1.0)
    numpy.testing.assert_array_equal(words(shared), before)
