"""Pickling and copying of graphs, deep ones included."""
import copy
import pickle

import numpy
import pytest

import phintys.tensor as T
from phintys import function, shared

LENGTH = 30_000


def chain(x, length):
    for _ in range(length):
        x = -x
    return x


@pytest.mark.parametrize("duplicate", [lambda pair: pickle.loads(pickle.dumps(pair)), copy.deepcopy],
                         ids=["pickle", "deepcopy"])
def test_identity_is_kept(duplicate):
    x = T.dvector("x")
    y = T.exp(x) + x
    new_x, new_y = duplicate((x, y))
    assert new_x is not x and new_x.name == "x" and new_x.type == x.type
    numpy.testing.assert_allclose(function([new_x], new_y)([0.0, 1.0]), [1.0, 1.0 + numpy.e])


@pytest.mark.parametrize("duplicate", [lambda pair: pickle.loads(pickle.dumps(pair)), copy.deepcopy],
                         ids=["pickle", "deepcopy"])
def test_deep_graphs(duplicate):
    x = T.dscalar("x")
    new_x, new_y = duplicate((x, chain(x, LENGTH)))
    length = 0
    while new_y.owner is not None:
        new_y = new_y.owner.inputs[0]
        length += 1
    assert new_y is new_x and length == LENGTH


def test_shared_values_travel():
    s = shared(numpy.arange(3.0), "s")
    new_s, new_z = pickle.loads(pickle.dumps((s, s * 2)))
    new_s.set_value([5.0])
    assert function([], new_z)().tolist() == [10.0] and s.get_value().tolist() == [0.0, 1.0, 2.0]


def test_constants_travel():
    z = pickle.loads(pickle.dumps(T.constant([1.0, 2.0]) + 1))
    assert function([], z)().tolist() == [2.0, 3.0]
