"""Arguments whose conversion runs code that changes other arguments, the function, or shared variables.

Each argument must have been converted before the address of any is read. The arrays are so large that their memory goes
back to the system when they are resized: a program that still read it would crash.
"""
import operator
import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.ops.types.tensor_type import TensorType

LARGE = 300_000


class Array:
    def __init__(self, action):
        self.action = action

    def __array__(self, dtype=None, copy=None):
        self.action()
        return np.ones(2)


class Interface:
    """What NumPy asks for the address of memory."""

    def __init__(self, action):
        self.action = action

    @property
    def __array_interface__(self):
        self.action()
        self.memory = np.ones(2)
        return self.memory.__array_interface__


class Sequence:
    def __init__(self, action):
        self.action = action

    def __len__(self):
        self.action()
        return 2

    def __getitem__(self, index):
        self.action()
        return [1.0, 1.0][index]


class Subclass(np.ndarray):
    """What ``filter`` asks whether it is masked."""

    @property
    def mask(self):
        self.action()
        raise AttributeError("no mask")


def subclass(action):
    array = np.ones(2).view(Subclass)
    array.action = action
    return array


def inside_a_list(action):
    return [Array(action), Array(action)]


HOSTILE = [Array, Interface, Sequence, subclass]


def shrink(array):
    array.resize(3, refcheck=False)


def grow(array):
    array.resize(4 * LARGE, refcheck=False)


def empty(array):
    array.resize(0, refcheck=False)


def exchange(array):
    """Other memory, as unpickling gives it."""
    array.__setstate__((1, (2,), array.dtype, False, np.array([5.0, 7.0]).tobytes()))


def with_other_dtype(array):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # NumPy is about to forbid it
        array.dtype = "int64"


def with_other_rank(array):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array.shape = 3, LARGE // 3


x, y = T.dvector("x"), T.dvector("y")
ACCESSES = [{}, {"borrow": True}, {"mutable": True}]
CALLS = [lambda function, first, second: function(first, second),
         lambda function, first, second: function(y=second, x=first),
         lambda function, first, second: function(first, second, output_subset=[0])[0]]


@pytest.mark.parametrize("call", CALLS, ids=["positional", "named", "subset"])
@pytest.mark.parametrize("access", ACCESSES, ids=["read", "held", "mutable"])
@pytest.mark.parametrize("action", [shrink, grow, empty, exchange])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_later_argument_changes_the_memory_of_the_first(hostile, action, access, call):
    function = phintys.function([In(x, **access), y], [(x * 2).sum() + y.sum(), Out(x, borrow=True)])
    for _ in range(2):
        first, changed = np.arange(1.0, LARGE + 1), np.arange(1.0, LARGE + 1)
        action(changed)
        result = call(function, first, hostile(lambda: action(first)))
        assert (result[0] if isinstance(result, list) else result) == 2 * changed.sum() + 2


@pytest.mark.parametrize("access", ACCESSES, ids=["read", "held", "mutable"])
@pytest.mark.parametrize("action", [with_other_dtype, with_other_rank])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_later_argument_changes_the_type_of_the_first(hostile, action, access):
    function = phintys.function([In(x, **access), y], x.sum() + y.sum())
    first = np.ones(LARGE)
    with pytest.raises(TypeError, match='name "x"(.|\n)*the conversion of another argument changed it'):
        function(first, hostile(lambda: action(first) if first.dtype == "float64" and first.ndim == 1 else None))
    assert function(np.ones(2), [1, 2]) == 5


def test_an_element_of_a_list_changes_the_first_argument():
    m = T.dmatrix()
    function = phintys.function([x, m], x.sum() + m.sum())
    first = np.ones(LARGE)
    assert function(first, inside_a_list(lambda: shrink(first))) == 3 + 4


def test_a_filter_changes_an_array_that_was_converted_before():
    """The array comes from ``filter``, which may keep it."""
    class Keeping(TensorType):
        kept = []

        def filter(self, value, strict=False, allow_downcast=None):
            if self.kept:
                self.kept[0].resize(3, refcheck=False)
            self.kept.append(np.ones(LARGE))
            return self.kept[-1]

    a, b = Keeping("float64", (False,))(), Keeping("float64", (False,))()
    assert phintys.function([a, b], a.sum() + b.sum())("a", "b") == 3 + LARGE


def test_the_first_argument_changes_the_later_ones():
    function = phintys.function([x, y], x.sum() + y.sum())
    second = np.ones(LARGE)
    assert function(Array(lambda: shrink(second)), second) == 2 + 3


@pytest.mark.parametrize("borrow", [False, True])
def test_an_argument_sets_a_shared_variable(borrow):
    s = phintys.shared(np.ones(LARGE))
    function = phintys.function([y], s.sum() + y.sum(), updates=[(s, s + y.sum())])
    new = np.arange(3.0)
    assert function(Array(lambda: s.set_value(new, borrow=borrow))) == 3 + 2
    assert s.get_value().tolist() == [2, 3, 4]
    assert new.tolist() == [0, 1, 2]


def test_an_argument_lends_another_one_to_a_shared_variable():
    """So the other one must not be overwritten, although it may be."""
    s = phintys.shared(np.zeros(2))
    function = phintys.function([In(x, mutable=True), y], T.exp(x) + y.sum())
    first = np.zeros(LARGE)
    result = function(first, Array(lambda: s.set_value(first, borrow=True)))
    assert (result == 3).all()
    assert not s.get_value(borrow=True).any()


def test_an_argument_sets_states_and_defaults():
    n = T.dvector("n")
    function = phintys.function([y, In(x, value=np.ones(LARGE)), In(n, value=np.ones(2), update=n + y.sum())],
                                x.sum() + n.sum())

    def action():
        function[x] = np.full(3, 2.0)
        function[n] = np.zeros(5)
    # A default is taken when the call begins, and is back when it has ended; a state is read when the program starts.
    assert function(Array(action)) == LARGE
    assert function[n].tolist() == [2] * 5
    assert function(np.zeros(1), n=np.zeros(1)) == LARGE


def test_an_argument_calls_the_function():
    function = phintys.function([x, y], x.sum() + y.sum())
    inner = []
    assert function(np.ones(LARGE), Array(lambda: inner.append(function([1.0], Array(function.free))))) == LARGE + 2
    assert inner and all([value == 3 for value in inner])


def test_an_argument_that_raises():
    function = phintys.function([x, y], x.sum() + y.sum())

    def refuse():
        raise ZeroDivisionError("no value today")

    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="no value today"):
            function(np.ones(2), Array(refuse))
    assert function(np.ones(2), np.ones(2)) == 4
    assert function.frames_made == 1


def test_an_array_is_not_resized_while_the_program_runs():
    """The frame refers to it, so NumPy refuses, although the caller has no name for it any more."""
    class Resize(phintys.Op):
        def make_node(self, value):
            return phintys.Apply(self, [value], [value.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0].copy()
            inputs.clear()
            with pytest.raises(ValueError, match="cannot resize"):
                holder.pop().resize(3)

    function = phintys.function([x, y], Resize()(y).sum() + x.sum())
    holder = [np.ones(LARGE)]
    assert function(operator.itemgetter(0)(holder), np.ones(2)) == LARGE + 2
    assert not holder
