"""Shared variables: construction, values, cloning, copies. Whose memory a value is in: ``test_memory_aliasing.py``."""
import copy
import pickle

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import function, shared
from phintys.graph.type import generic
from phintys.shared import ScalarSharedVariable, SharedVariable, TensorSharedVariable, shared_constructor


class Labelled(numpy.ndarray):
    """An array with something more to it."""


# (value, class, dtype, rank)
KINDS = [
    (1.5, ScalarSharedVariable, "float64", 0),
    (3, ScalarSharedVariable, "int64", 0),
    (True, ScalarSharedVariable, "bool", 0),
    (1j, ScalarSharedVariable, "complex128", 0),
    (numpy.float32(1), ScalarSharedVariable, "float32", 0),
    (numpy.bool_(True), ScalarSharedVariable, "bool", 0),
    (numpy.zeros(()), TensorSharedVariable, "float64", 0),
    (numpy.zeros((2, 3), "int8"), TensorSharedVariable, "int8", 2),
    (numpy.zeros((2, 0, 3), "float16"), TensorSharedVariable, "float16", 3),
    (numpy.zeros(3, ">f4"), TensorSharedVariable, "float32", 1),
    (numpy.zeros((1, 2)).view(Labelled), TensorSharedVariable, "float64", 2),
]


@pytest.mark.parametrize("value, cls, dtype, rank", KINDS)
def test_kinds(value, cls, dtype, rank):
    variable = shared(value, name="s")
    assert type(variable) is cls and variable.dtype == dtype and variable.ndim == rank and variable.name == "s"
    assert variable.broadcastable == (False,) * rank
    found = variable.get_value()
    assert type(found) is numpy.ndarray and found.dtype == dtype
    numpy.testing.assert_array_equal(found, numpy.asarray(value))


@pytest.mark.parametrize("value", ["text", [1, 2], {"a": 1}, None, numpy.array(["a"]), numpy.zeros(2, "longdouble")])
def test_other_objects_are_generic(value):
    variable = shared(value)
    assert type(variable) is SharedVariable and variable.type is phintys.generic
    assert variable.get_value(borrow=True) is value
    with pytest.raises(TypeError, match="not subscriptable"):
        variable[0]


def test_generic_values_are_copied_when_not_borrowed():
    value = [1, [2]]
    variable = shared(value)
    variable.get_value()[1].append(3)
    assert value == [1, [2]]
    variable.set_value(value)
    value.append(4)
    assert variable.get_value() == [1, [2]]


# (name, what to do, exception, words)
REFUSED = [
    ("symbolic value", lambda: shared(T.dscalar("x")), TypeError, "not symbolic variables"),
    ("masked array", lambda: shared(numpy.ma.masked_array([1.0], [True])), TypeError, "masked"),
    ("unknown keyword", lambda: shared(1.0, bad_kw=1), TypeError, "No suitable SharedVariable constructor"),
    ("dtype is no keyword", lambda: shared(1.0, dtype="float32"), TypeError, "parameter dtype"),
    ("another device", lambda: shared(numpy.zeros(2), target="moon"), TypeError, "No suitable"),
    ("rank", lambda: shared(numpy.zeros(2)).set_value(numpy.zeros((2, 2))), TypeError, "dimensions"),
    ("dtype", lambda: shared(numpy.zeros(2, "float32")).set_value(numpy.array([0.1, 0.2])), TypeError, "float32"),
    ("strict", lambda: shared(numpy.zeros(2), strict=True).set_value([1.0, 2.0]), TypeError, "ndarray"),
    ("broadcastable", lambda: shared(numpy.zeros((1, 2)), broadcastable=(True, False)).set_value(numpy.zeros((2, 2))),
     TypeError, "broadcastable"),
    ("container and value", lambda: TensorSharedVariable("s", T.dvector, [1.0], None, container=shared(1.0).container),
     TypeError, "ignored"),
    ("value attribute", lambda: shared(1.0).value, AttributeError, "get_value"),
]


@pytest.mark.parametrize("name, act, exception, words", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(name, act, exception, words):
    with pytest.raises(exception, match=words):
        act()


def test_a_refused_value_leaves_the_old_one():
    s = shared(numpy.array([1.0, 2.0]))
    for exception in (TypeError, ValueError):       # the first as everything that does not fit, the second as Theano
        with pytest.raises(exception, match="nonsense"):
            s.set_value("nonsense")
    numpy.testing.assert_array_equal(s.get_value(), [1.0, 2.0])


def test_a_refused_value_names_whose_it_was_to_be():
    weights, x = shared(numpy.ones(2), "weights"), T.dvector("x")
    f = function([phintys.In(x, value=[1.0])], x * 2)

    def set_the_argument(value):
        f[x] = value

    def set_the_container(value):
        weights.container.value = value

    for act, words in [(weights.set_value, f"the shared variable weights .*{__file__}"),
                       (set_the_container, "the container weights"), (set_the_argument, "the argument x")]:
        with pytest.raises(TypeError, match=f"(?s)expected 1, got 2.*meant for {words}"):
            act(numpy.ones((2, 2)))
    numpy.testing.assert_array_equal(weights.get_value(), [1.0, 1.0])
    numpy.testing.assert_array_equal(f(), [2.0])


def test_allow_downcast():
    s = shared(numpy.zeros(2, "float32"), allow_downcast=True)
    s.set_value(numpy.array([0.1, 0.2]))
    numpy.testing.assert_array_equal(s.get_value(), numpy.float32([0.1, 0.2]))


def test_broadcastable():
    s = shared(numpy.ones((1, 3)), broadcastable=(True, False))
    assert s.broadcastable == (True, False)
    m = T.dmatrix()
    numpy.testing.assert_array_equal(function([m], m + s)(numpy.zeros((2, 3))), numpy.ones((2, 3)))


@pytest.mark.parametrize("value", [1.5, numpy.float32(1.5), 2, True, 1j, numpy.ones(()), numpy.ones(3)])
@pytest.mark.parametrize("borrow", [False, True])
def test_numbers_and_arrays_take_borrow(value, borrow):
    numpy.testing.assert_array_equal(shared(value, borrow=borrow).get_value(), value)


def test_borrowed_read_only_memory_is_not_written():
    values = numpy.zeros(3)
    values.flags.writeable = False
    s = shared(values, borrow=True)
    function([], [], updates={s: s + 1})()
    assert values.tolist() == [0.0, 0.0, 0.0] and s.get_value().tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("borrow", [False, True])
def test_zero(borrow):
    for value in (numpy.arange(300.0), numpy.arange(3), numpy.float32(3), numpy.ones((2, 0)), 2 + 1j):
        s = shared(value)
        before, kept = s.get_value(borrow=True).ctypes.data, s.get_value()
        s.zero(borrow=borrow)
        found = s.get_value(borrow=True)
        assert found.dtype == kept.dtype and found.shape == kept.shape and not found.any()
        assert found.size < 300 or found.ctypes.data == before
    number = shared([1, 2])
    number.zero(borrow=borrow)
    assert number.get_value() == []


def test_clones_share_the_container():
    s = shared(1.0, name="s")
    s.tag.note = "kept"
    twin = s.clone()
    assert type(twin) is type(s) and twin.container is s.container and twin.name == "s" and twin.tag.note == "kept"
    twin.set_value(2.0)
    assert s.get_value() == 2.0


def test_container_speaks_theanos_words():
    s = shared(numpy.zeros(2))
    s.container.value = [1, 2]
    assert s.container.value.tolist() == s.container.data.tolist() == s.container.storage[0].tolist() == [1.0, 2.0]


def test_strided_values_keep_their_order():
    values = numpy.arange(12.0).reshape(3, 4)
    for view in (values.T, values[::-1], values[:, ::2], values[:0]):
        for borrow in (False, True):
            s = shared(view, borrow=borrow)
            numpy.testing.assert_array_equal(s.get_value(), view)
            numpy.testing.assert_array_equal(function([], s * 2)(), view * 2)


def test_pickle():
    s = shared(numpy.arange(3.0), name="s")
    twin = pickle.loads(pickle.dumps(s))
    assert type(twin) is type(s) and twin.name == "s" and twin.type == s.type
    numpy.testing.assert_array_equal(twin.get_value(), [0.0, 1.0, 2.0])
    twin.set_value(numpy.zeros(1))
    assert s.get_value().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_what_is_shared_stays_shared_in_copies(duplicate):
    s, g = shared(numpy.arange(100.0), name="s"), shared([1])
    same, twin, other, number = duplicate((s, s.clone(), g, g.get_value(borrow=True)))
    assert same.container is twin.container and other.get_value(borrow=True) is number
    twin.set_value(numpy.zeros(100))
    assert not same.get_value().any() and s.get_value()[-1] == 99.0


def test_a_shallow_copy_shares_the_container():
    s = shared(numpy.zeros(3), name="s")
    twin = copy.copy(s)
    assert type(twin) is type(s) and twin.container is s.container


def test_own_constructors():
    class Money:
        amount = 3.0

    @shared_constructor
    def money_constructor(value, name=None, strict=False, allow_downcast=None):
        if not isinstance(value, Money):
            raise TypeError("no money")
        return shared(value.amount, name=name)

    try:
        assert shared(Money()).get_value() == 3.0 and shared(2.0).get_value() == 2.0
    finally:
        shared_constructor(money_constructor, remove=True)
    assert type(shared(Money())) is SharedVariable


def test_ordered_updates():
    a, b = shared(1.0), shared(2.0)
    both = phintys.OrderedUpdates([(a, a + 1)]) + {b: b + 1}
    assert list(both) == [a, b]
    with pytest.raises(TypeError):
        phintys.OrderedUpdates({T.dscalar(): a})
    with pytest.raises(TypeError):
        both[T.dscalar()] = a
    with pytest.raises(KeyError):
        both.update({a: a + 2})


# ---- lists are no tensors --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("use, error", [
    (lambda s: s * 2, TypeError), (lambda s: 2.0 - s, TypeError), (lambda s: -s, TypeError), (abs, TypeError),
    (lambda s: s[0], TypeError), (lambda s: s @ s, TypeError), (lambda s: s.sum(), AttributeError),
    (lambda s: s.T, AttributeError), (lambda s: s.dtype, AttributeError)])
def test_a_shared_list_is_generic_and_says_so_where_a_tensor_was_meant(use, error):
    assert shared([1.0, 2.0]).type == shared([]).type == generic            # as in Theano
    with pytest.raises(error, match=r"object of type: <class 'list'>.*phintys.shared\(numpy.array\(value\)\)"):
        use(shared([1.0, 2.0]))
    with pytest.raises(error, match="dtype: '<U1', which is not a dtype of tensors"):
        use(shared(numpy.array(["a"])))


def test_other_attributes_are_missing_as_usual():
    s = shared([1.0])
    assert not hasattr(s, "default_update") and not hasattr(s, "dtype")
    with pytest.raises(AttributeError, match="object has no attribute 'no_such_name'$"):
        s.no_such_name
    copied = pickle.loads(pickle.dumps(copy.copy(s)))
    assert copied.get_value() == [1.0]


# ---- as Python shows them --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value, name, expected", [
    (numpy.array([0.0, 1.0, 2.5]), "b", "<shared b: float64 (3,), [0. 1. 2.5]>"),
    (numpy.arange(100), "long", "<shared long: int64 (100,), [0 1 ... 98 99]>"),
    (numpy.zeros((2, 2), "float32"), None, "<shared: float32 (2, 2), [[0. 0.] [0. 0.]]>"),
    (3, "n", "<shared n: int64, 3>"),
    (numpy.zeros((0, 3)), "empty", "<shared empty: float64 (0, 3), []>"),
    ({"a": 1}, "table", "<shared table: dict, {'a': 1}>")])
def test_a_shared_variable_shows_its_value(value, name, expected):
    variable = phintys.shared(value, name)
    assert repr(variable) == expected
    assert str(variable) == (name or str(variable))


def test_large_values_are_shown_in_a_line():
    for value in (numpy.random.RandomState(0).rand(300, 40, 5), "text " * 100, list(range(1000))):
        shown = repr(phintys.shared(value, "w"))
        assert len(shown) <= 120 and "\n" not in shown and "..." in shown
