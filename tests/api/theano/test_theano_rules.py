"""``config.theano_rules``: programs that import theano get the rules of Theano where phintys follows NumPy.

Rows that say "Theano" are what Theano 1.0.5 with NumPy 1.20 returned.
"""
import itertools

import numpy
import pytest

import phintys.tensor as T
from phintys import function, shared
from phintys.graph.config import change_flags, config
from phintys.sandbox.rng_mrg import MRG_RandomStreams
from phintys.tensor import raw_random
from phintys.tensor.raw_random import multinomial_helper
from phintys.tensor.shared_randomstreams import RandomStreams

ENTRIES = {"None": None, "...": Ellipsis, ":": slice(None), "1:": slice(1, None), "::-1": slice(None, None, -1),
           "0": 0, "i": T.iscalar("i")}
LENGTHS = {"scalar": (), "col": (3, 1), "row": (1, 3), "vector": (3,), "matrix": (2, 3), "some": (1, 3, 1)}

# Tensor, index, the pattern in Theano; None: a ValueError.
INDICES = [
    ("vector", "None", None), ("vector", "None, :", (True, False)), ("vector", ":, None", (False, True)),
    ("matrix", ":, None", None), ("matrix", ":, None, :", (False, True, False)), ("matrix", "None, 0", None),
    ("matrix", "None, ...", (True, False, False)), ("matrix", "..., None", (False, False, True)),
    ("col", "None", None), ("col", ":, None", (False, True)), ("col", "1:, None", (False, True)),
    ("col", "None, :", (True, False)), ("col", "None, 0", (True,)), ("col", "i, None", (True,)),
    ("col", "None, None, :", (True, True, False)), ("col", ":, :, None", (False, True, True)),
    ("col", "..., None", (False, True, True)), ("row", "None, :", None), ("row", ":, None, :", (True, True, False)),
    ("some", "None", None), ("some", "0, None", None), ("some", ":, None, :", (True, True, False)),
    ("some", ":, :, None", (True, False, True)), ("some", "0, :, None", (False, True)),
    ("scalar", "None", (True,)), ("scalar", "None, None", (True, True)),
]


def entries_of(text):
    parts = tuple([ENTRIES[part] for part in text.split(", ")])
    return parts if len(parts) > 1 else parts[0]


def variable(name):
    lengths = LENGTHS[name]
    return T.TensorType("float64", [length == 1 for length in lengths])("x"), numpy.arange(6.0)[:numpy.prod(
        lengths, dtype=int)].reshape(lengths)


@pytest.mark.parametrize("name, index, pattern", INDICES)
def test_none_in_an_index_is_as_in_theano(name, index, pattern):
    x, _ = variable(name)
    with change_flags(theano_rules=True):
        if pattern is None:
            with pytest.raises(ValueError, match="as in Theano"):
                x[entries_of(index)]
        else:
            assert x[entries_of(index)].broadcastable == pattern


def left_over(index, rank):
    """The last dimensions that an index does not name."""
    index = index if isinstance(index, tuple) else (index,)
    return () if Ellipsis in index else tuple(range(sum([entry is not None for entry in index]), rank))


@pytest.mark.parametrize("name", LENGTHS)
def test_every_mixture(name):
    """The value is that of the index of an array without the dimensions that the index leaves out."""
    x, value = variable(name)
    i = ENTRIES["i"]
    parts = []
    for texts in itertools.chain.from_iterable(itertools.product(ENTRIES, repeat=length) for length in (1, 2, 3)):
        index = entries_of(", ".join(texts))
        used = sum([text not in ("None", "...") for text in texts])
        if texts.count("...") > 1 or used > x.ndim or "None" not in texts or (len(texts) == 3 and "1:" in texts):
            continue
        over = left_over(index, x.ndim)
        with change_flags(theano_rules=True):
            if not all(x.broadcastable[axis] for axis in over):
                with pytest.raises(ValueError):
                    x[index]
                continue
            part = x[index]
            changed = T.set_subtensor(part, 9.0)
        plain = tuple([0 if entry is i else entry for entry in index]) if isinstance(index, tuple) else index
        expected = value.squeeze(over)[plain]
        set_by_numpy = value.copy()
        set_by_numpy.squeeze(over)[plain] = 9.0
        parts.append((part, changed, expected, set_by_numpy))
    f = function([x, i], [each for part, changed, _, _ in parts for each in (part, changed)], on_unused_input="ignore",
                 mode="FAST_COMPILE")
    results = iter(f(value, 0))
    for part, _, expected, set_by_numpy in parts:
        numpy.testing.assert_array_equal(next(results), expected)
        numpy.testing.assert_array_equal(next(results), set_by_numpy)
        assert part.ndim == expected.ndim
    assert len(parts) > (2 if name == "scalar" else 10)


def test_without_the_option_an_index_is_numpys():
    assert not config.theano_rules
    assert T.dcol("c")[:, None].broadcastable == (False, True, True) and T.dmatrix("m")[:, None].ndim == 3


m, v, s = T.dmatrix("m"), T.dvector("v"), T.dscalar("s")

# What NumPy makes of variables, in Theano: an array of objects with these elements.
OBJECTS = [
    (lambda: numpy.atleast_1d(m), [m]), (lambda: numpy.atleast_2d(m), [[m]]), (lambda: numpy.atleast_3d(v), [[[v]]]),
    (lambda: numpy.array(m), m), (lambda: numpy.array([m]), [m]), (lambda: numpy.asarray(m), m),
    (lambda: numpy.asarray([m, 2]), [m, 2]), (lambda: numpy.asanyarray((s, v)), [s, v]),
    (lambda: numpy.array([[s, 1], [2, s]]), [[s, 1], [2, s]]), (lambda: numpy.array([m, m], dtype=object), [m, m]),
    (lambda: numpy.stack([s, v]), [s, v]), (lambda: numpy.hstack([s, v]), [s, v]),
    (lambda: numpy.vstack([s, v]), [[s], [v]]), (lambda: numpy.append([1], s), [1, s]),
    (lambda: numpy.concatenate([numpy.atleast_1d(s), numpy.atleast_1d(v)]), [s, v]),
    (lambda: numpy.tile(m, 2), [m, m]), (lambda: numpy.broadcast_to(s, (2,)), [s, s]), (lambda: numpy.ravel([m]), [m]),
]


@pytest.mark.parametrize("make, elements", OBJECTS, ids=range(len(OBJECTS)))
def test_numpy_puts_variables_into_arrays(make, elements):
    with change_flags(theano_rules=True):
        made = make()
        assert type(made) is numpy.ndarray and made.dtype == object
        expected = numpy.empty(made.shape, dtype=object)
        expected[...] = numpy.array(elements, dtype=object)
        assert all([one is other for one, other in zip(made.flat, expected.flat, strict=True)])


# Expressions of arrays and lists of variables, and the same of one value each.
COMPUTED = [
    (lambda: numpy.prod([m]), lambda m, s: m), (lambda: numpy.prod([m, m]), lambda m, s: m * m),
    (lambda: numpy.sum([m, 2]), lambda m, s: m + 2), (lambda: numpy.prod((s, 3)), lambda m, s: s * 3),
    (lambda: numpy.array([m, m]).sum(), lambda m, s: m + m), (lambda: numpy.array([s, s]).prod(), lambda m, s: s * s),
    (lambda: numpy.exp([s])[0], lambda m, s: numpy.exp(s)), (lambda: (m + numpy.array([s]))[0], lambda m, s: m + s),
    (lambda: (numpy.array([s]) * m)[0], lambda m, s: s * m), (lambda: (2 - numpy.array([m]))[0], lambda m, s: 2 - m),
    (lambda: numpy.dot(numpy.array([s, s]), [1.0, 2.0]), lambda m, s: 3 * s),
    (lambda: numpy.sum(numpy.atleast_1d(m)), lambda m, s: m),
]


@pytest.mark.parametrize("compute, expected", COMPUTED, ids=range(len(COMPUTED)))
def test_arithmetic_of_arrays_of_variables(compute, expected):
    with change_flags(theano_rules=True):
        result = compute()
    matrix = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    got = function([m, s], result, on_unused_input="ignore")(matrix, 3.0)
    numpy.testing.assert_allclose(got, expected(matrix, 3.0))


def test_other_functions_of_numpy_make_nodes_all_the_same():
    with change_flags(theano_rules=True):
        for made, ndim in [(numpy.exp(m), 2), (numpy.sum(m, axis=0), 1), (numpy.dot(m, m), 2), (m + numpy.ones(2), 2),
                           (numpy.concatenate([m, m]), 2), (numpy.where(m > 0, m, 0), 2), (numpy.ones(2) * m, 2)]:
            assert made.ndim == ndim
    assert numpy.atleast_1d(m).ndim == 2
    with pytest.raises(TypeError, match="symbolic"):
        numpy.prod([m])


def test_probabilities_need_not_sum_to_1():
    """A number selects the first outcome at which the sum so far exceeds it, if there is one."""
    random = MRG_RandomStreams(5)
    p = T.dmatrix("p")
    rows = numpy.array([[0.25, 0.25], [2.0, 0.5], [0.0, 0.0], [0.5, 0.5], [-1.0, 3.0]])
    outputs = [random.multinomial(pvals=p, n=50), random.choice(p=p, size=1, replace=False)]
    strict = function([p], outputs)
    with pytest.raises(ValueError, match="row 0 has no probabilities: their sum is 0.5"):
        strict(rows)
    with change_flags(theano_rules=True):
        counts, chosen = function([p], outputs)(rows)
    assert 10 < counts[0].sum() < 40 and counts[1].tolist() == [50, 0] and counts[2].tolist() == [0, 0]
    assert counts[3].sum() == 50 and counts[4].tolist() == [0, 50]
    assert chosen[1, 0] == 0 and chosen[2, 0] == -1 and chosen[4, 0] == 1


def test_streams_give_the_last_outcome_what_is_missing():
    """As NumPy does. A sum above 1 is an error in Theano, too."""
    p = T.dmatrix("p")
    below, above = numpy.array([[0.25, 0.25], [0.1, 0.0]]), numpy.array([[0.75, 0.5]])
    expected = numpy.random.RandomState(3)
    expected = [expected.multinomial(50, row) for row in below]
    with change_flags(theano_rules=True):
        for dtype in ("int64", "int32"):
            state = shared(numpy.random.RandomState(3))
            new_state, counts = raw_random.multinomial(state, None, 50, p, dtype=dtype)
            f = function([p], counts)
            numpy.testing.assert_array_equal(f(below), expected)
            with pytest.raises(ValueError, match=r"sum of the probabilities is 1.25, not 1"):
                f(above)
        drawn = multinomial_helper(numpy.random.RandomState(3), numpy.array([50, 50]), below, None)
        numpy.testing.assert_array_equal(drawn, expected)
        drawn = RandomStreams(5).multinomial(n=50, pvals=p)
        assert function([p], drawn)(below).sum(axis=1).tolist() == [50, 50]
    with pytest.raises(ValueError, match=r"sum of the probabilities is 0.5, not 1"):
        function([p], RandomStreams(5).multinomial(n=50, pvals=p))(below)
