"""Converts states of NumPy's bit generators to vectors of uint64, and back; ``bit_generators.h`` describes the
words."""
import numpy

WIDE = 2 ** 64

# The generators, in the order of their numbers, with the words of a state.
KINDS = ("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937")
WORDS = {"PCG64": 7, "PCG64DXSM": 7, "SFC64": 7, "Philox": 14, "MT19937": 316}


def kind_of(bit_generator):
    """The name of a bit generator's kind, or ``TypeError`` if it is not among ``KINDS``."""
    kind = type(bit_generator).__name__
    if kind not in KINDS or getattr(numpy.random, kind) is not type(bit_generator):
        raise TypeError(f"expected a bit generator of numpy.random, {', '.join(KINDS)}, not {bit_generator!r} of type "
                        f"{type(bit_generator)}")
    return kind


def words_of(bit_generator):
    """The state of a bit generator of NumPy.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator

    Returns
    -------
    numpy.ndarray
        A vector of uint64.

    Raises
    ------
    TypeError
        If it is of an unknown kind.
    """
    kind, state = kind_of(bit_generator), bit_generator.state
    words = numpy.zeros(WORDS[kind], "uint64")
    words[:3] = KINDS.index(kind), state.get("has_uint32", 0), state.get("uinteger", 0)
    own = state["state"]
    if kind == "MT19937":
        words[3], words[4:] = own["pos"], own["key"].astype("uint32").view("uint64")
    elif kind == "Philox":
        words[3:7], words[7:9], words[9], words[10:] = own["counter"], own["key"], state["buffer_pos"], state["buffer"]
    elif kind == "SFC64":
        words[3:] = own["state"]
    else:
        words[3:] = [*divmod(own["state"], WIDE), *divmod(own["inc"], WIDE)]
    return words


def bit_generator_of(words):
    """A bit generator of NumPy in the state that ``words`` describe."""
    kind = KINDS[int(words[0])]
    bit_generator = getattr(numpy.random, kind)(0)
    state = bit_generator.state
    if kind == "MT19937":
        state["state"] = {"pos": int(words[3]), "key": words[4:].copy().view("uint32")}
    else:
        state.update(has_uint32=int(words[1]), uinteger=int(words[2]))
    if kind == "Philox":
        state["state"] = {"counter": words[3:7].copy(), "key": words[7:9].copy()}
        state.update(buffer_pos=int(words[9]), buffer=words[10:].copy())
    elif kind == "SFC64":
        state["state"] = {"state": words[3:].copy()}
    elif kind != "MT19937":
        high, low, inc_high, inc_low = [int(word) for word in words[3:]]
        state["state"] = {"state": high * WIDE + low, "inc": inc_high * WIDE + inc_low}
    bit_generator.state = state
    return bit_generator


def words_of_random_state(state):
    """The state of a ``numpy.random.RandomState`` on MT19937.

    Parameters
    ----------
    state : numpy.random.RandomState

    Returns
    -------
    numpy.ndarray
        A vector of uint64, as of the bit generator; the two words that MT19937 does not need say whether there is a
        second normal number, and what it is.

    Raises
    ------
    TypeError
        If it draws from another bit generator.
    """
    kind, keys, position, has_normal, normal = state.get_state()[:5] if _is_mersenne(state) else (None,) * 5
    if kind is None:
        raise TypeError(f"Expected a numpy.random.RandomState on MT19937, got {state!r} of {type(state)}")
    words = numpy.zeros(WORDS["MT19937"], "uint64")
    words[:2], words[3] = (KINDS.index("MT19937"), has_normal), position
    words[4:] = keys.astype("uint32").view("uint64")
    words[2:3] = numpy.array([normal]).view("uint64")
    return words


def _is_mersenne(state):
    return type(state) is numpy.random.RandomState and type(state._bit_generator) is numpy.random.MT19937


def random_state_of(words):
    """A ``numpy.random.RandomState`` in the state that ``words`` describe."""
    state = numpy.random.RandomState(0)
    normal = float(words[2:3].view("float64")[0])
    state.set_state(("MT19937", words[4:].view("uint32"), int(words[3]), int(words[1]), normal))
    return state
