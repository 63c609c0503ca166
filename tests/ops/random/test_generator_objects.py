"""States of NumPy's generators in memory, and functions of states that are called with generators."""
import numpy as np
import pytest

from phintys.ops.random.generator_objects import (
    ProgramWithGenerators,
    generator_of,
    knows_layout,
    set_state,
    state_of,
)
from phintys.ops.random.generator_states import words_of


def with_half(seed):
    """A generator that has half a number left."""
    generator = np.random.default_rng(seed)
    generator.integers(9, dtype="uint32")
    return generator


@pytest.mark.parametrize("make", [np.random.default_rng, with_half])
def test_states_are_those_of_the_dictionaries(make):
    source, other = make(3), make(4)
    assert knows_layout()
    np.testing.assert_array_equal(state_of(source), words_of(source.bit_generator))
    set_state(other, state_of(source))
    assert other.bit_generator.state == source.bit_generator.state
    set_state(other, state_of(make(4))[::-1][::-1])                 # strides of another sign in between
    set_state(other, np.repeat(state_of(source), 2)[::2])
    assert other.bit_generator.state == source.bit_generator.state
    new = generator_of(state_of(source), source)
    np.testing.assert_array_equal(new.normal(size=3), other.normal(size=3))
    assert new.spawn(1)[0].bit_generator.state == make(3).spawn(1)[0].bit_generator.state


def test_what_is_no_generator_on_pcg64():
    for other in (np.random.Generator(np.random.MT19937(1)), np.random.RandomState(1), {"state": 1}, None):
        assert state_of(other) is None
    with pytest.raises(TypeError, match="a generator on PCG64"):
        set_state(np.random.Generator(np.random.Philox(1)), state_of(np.random.default_rng(1)))
    for words in (np.zeros(6, "uint64"), np.zeros(7, "int64"), np.zeros((7, 1), "uint64")):
        with pytest.raises(ValueError, match="a vector of 7 uint64"):
            set_state(np.random.default_rng(1), words)


def advanced(words):
    generator = generator_of(words)
    return [generator.random(), state_of(generator)]


def test_a_call_changes_its_generators_when_it_has_returned():
    f = ProgramWithGenerators(lambda x, words: [x, *advanced(words)], (1,), ((2, 1, True),), None)
    generator, expected = np.random.default_rng(3), np.random.default_rng(3)
    for x in range(3):
        given, number, returned = f(x, generator)
        assert (given, number) == (x, expected.random()) and returned is generator
    assert generator.bit_generator.state == expected.bit_generator.state


def test_a_call_that_fails_changes_nothing_and_unlocks():
    def fails(*states):
        raise ZeroDivisionError
    f = ProgramWithGenerators(fails, (0, 1), ((0, 0, True), (1, 1, True)), None)
    generators = [np.random.default_rng(seed) for seed in (3, 4)]
    before = [generator.bit_generator.state for generator in generators]
    for order in (1, -1):
        with pytest.raises(ZeroDivisionError):
            f(*generators[::order])
    assert [generator.bit_generator.state for generator in generators] == before
    for generator in generators:
        assert generator.bit_generator.lock.acquire(blocking=False)
        generator.bit_generator.lock.release()


def test_new_generators_and_other_bit_generators():
    f = ProgramWithGenerators(lambda words: advanced(words)[1:], (0,), ((0, 0, False),), lambda generator: "otherwise")
    generator, expected = np.random.default_rng(3), np.random.default_rng(3)
    new, = f(generator)
    assert generator.bit_generator.state == expected.bit_generator.state
    expected.random()
    assert new is not generator and new.bit_generator.state == expected.bit_generator.state
    assert f(np.random.Generator(np.random.SFC64(3))) == "otherwise"


def test_one_generator_given_twice():
    f = ProgramWithGenerators(lambda *states: [advanced(states[0])[1], states[1]], (0, 1), ((0, 0, True), (1, 1, True)),
                              None)
    generator, expected = np.random.default_rng(3), np.random.default_rng(3)
    first, second = f(generator, generator)
    assert second.bit_generator.state == generator.bit_generator.state == expected.bit_generator.state
    expected.random()
    assert first.bit_generator.state == expected.bit_generator.state
