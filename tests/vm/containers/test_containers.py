"""Containers: who owns the memory of a value after ``set``, what ``get`` returns, copies, pickles."""
import copy
import gc
import pickle

import numpy
import pytest

import phintys
from phintys.graph.type import generic
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.containers.container import Container

VECTOR = TensorType("float64", (False,))
MATRIX = TensorType("float64", (False, False))


def address(container):
    """Where the value lies; refers to nothing afterwards."""
    return container.data.ctypes.data


def pool_array(values):
    """An array over the pool's memory that no container holds any more."""
    container = Container(VECTOR, values)
    return container.data


def foreign_array(values):
    return numpy.array(values)


def read_only(values):
    array = numpy.array(values)
    array.flags.writeable = False
    return array


def unaligned(values):
    array = numpy.frombuffer(bytearray(len(values) * 8 + 1), "u1")[1:].view("float64")
    array[:] = values
    return array


# ---- set without borrow ----------------------------------------------------------------------------------------------
def test_a_value_of_the_same_shape_goes_into_the_same_memory():
    container = Container(VECTOR, numpy.zeros(100))
    before = address(container)
    for value in (numpy.ones(100), numpy.arange(200.0)[::2], numpy.arange(100.0)[::-1]):
        container.set(value)
        assert address(container) == before
        numpy.testing.assert_array_equal(container.get(), value)


# Each returns a container of 100 zeros and what keeps their memory from being overwritten.
def seen_by_an_array():
    container = Container(VECTOR, numpy.zeros(100))
    return container, container.data


def seen_by_a_view():
    container = Container(VECTOR, numpy.zeros(100))
    return container, container.data[::2]


def lent_by_the_user():
    mine = numpy.zeros(100)
    container = Container(VECTOR, numpy.ones(1))
    container.set(mine, borrow=True)
    return container, mine


def lent_as_a_view():
    mine = numpy.zeros(200)
    container = Container(VECTOR, numpy.ones(1))
    container.set(mine[:100], borrow=True)
    return container, mine


def lent_by_bytes():
    mine = bytearray(800)
    container = Container(VECTOR, numpy.ones(1))
    container.set(numpy.frombuffer(mine), borrow=True)
    return container, mine


def strided():
    container = Container(VECTOR, numpy.ones(1))
    container.set(numpy.zeros(200)[::2], borrow=True)
    return container, numpy.zeros(1)


@pytest.mark.parametrize("make", [seen_by_an_array, seen_by_a_view, lent_by_the_user, lent_as_a_view, lent_by_bytes,
                                  strided])
def test_memory_that_others_refer_to_is_not_overwritten(make):
    container, kept = make()
    container.set(numpy.ones(100))
    assert container.data.tolist() == [1.0] * 100
    assert not numpy.asarray(kept).any()


def test_lent_memory_is_overwritten_once_its_lender_has_dropped_it():
    container = Container(VECTOR, numpy.zeros(1))
    container.set(numpy.zeros(100), borrow=True)
    before = address(container)
    container.set(numpy.ones(100))
    assert address(container) == before and container.data.tolist() == [1.0] * 100


def test_another_shape_takes_other_memory():
    container = Container(VECTOR, numpy.zeros(100))
    for size in (0, 3, 100, 10000, 1):
        container.set(numpy.arange(float(size)))
        assert container.get().tolist() == list(range(size))


@pytest.mark.parametrize("cut", [slice(None), slice(None, None, -1), slice(1, None)])
@pytest.mark.parametrize("borrow", [False, True])
def test_a_view_of_the_own_value(cut, borrow):
    container = Container(VECTOR, numpy.arange(100.0))
    expected = numpy.arange(100.0)[cut]
    container.set(container.data[cut], borrow=borrow)
    gc.collect()
    numpy.testing.assert_array_equal(container.get(), expected)
    container.set(container.get() + 1)
    numpy.testing.assert_array_equal(container.get(), expected + 1)


# ---- set with borrow -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [foreign_array, pool_array])
@pytest.mark.parametrize("cut", [slice(None), slice(None, None, -1), slice(3, 50, 2)])
def test_borrowed_memory_is_used_itself(make, cut):
    array = make(numpy.arange(100.0))[cut]
    container = Container(VECTOR, numpy.zeros(3))
    container.set(array, borrow=True)
    assert address(container) == array.ctypes.data and container.data.strides == array.strides
    array[0] = -1.0
    assert container.get()[0] == -1.0


@pytest.mark.parametrize("make", [read_only, unaligned, lambda values: numpy.array(values, ">f8")])
def test_memory_that_cannot_be_borrowed_is_copied(make):
    array = make([1.0, 2.0, 3.0])
    container = Container(VECTOR, numpy.zeros(3))
    container.set(array, borrow=True)
    assert not numpy.shares_memory(container.data, array) and container.get().tolist() == [1.0, 2.0, 3.0]


# (what the first container borrows, what the second one borrows afterwards), both from one array of 100
OVERLAPS = [
    (slice(None), slice(None)), (slice(0, 60), slice(50, 100)), (slice(None, None, -1), slice(0, 1)),
    (slice(99, 100), slice(None, None, -1)), (slice(0, None, 2), slice(1, None, 2)),
]


@pytest.mark.parametrize("first, second", OVERLAPS)
@pytest.mark.parametrize("make", [foreign_array, pool_array])
def test_two_containers_never_hold_the_same_memory(make, first, second):
    array = make(numpy.arange(100.0))
    a, b = Container(VECTOR, numpy.zeros(1)), Container(VECTOR, numpy.zeros(1))
    a.set(array[first], borrow=True)
    b.set(array[second], borrow=True)
    assert numpy.shares_memory(a.data, array) and not numpy.may_share_memory(a.data, b.data)
    numpy.testing.assert_array_equal(b.get(), numpy.arange(100.0)[second])


@pytest.mark.parametrize("make", [foreign_array, pool_array])
def test_pieces_of_one_array_can_be_borrowed_one_by_one(make):
    array = make(numpy.arange(100.0))
    held = [Container(VECTOR, numpy.zeros(1)) for _ in range(4)]
    for number, container in enumerate(held):
        container.set(array[25 * number:25 * number + 25], borrow=True)
    assert all(numpy.shares_memory(container.data, array) for container in held)


def test_memory_is_free_to_be_borrowed_when_its_container_has_gone():
    array = numpy.zeros(100)
    first, second = Container(VECTOR, numpy.zeros(1)), Container(VECTOR, numpy.zeros(1))
    first.set(array, borrow=True)
    first.set(numpy.zeros(3))
    second.set(array, borrow=True)
    assert numpy.shares_memory(second.data, array)
    del second
    first.set(array, borrow=True)
    assert numpy.shares_memory(first.data, array)


def test_containers_come_and_go_in_any_order():
    held = [Container(VECTOR, numpy.zeros(10)) for _ in range(20)]
    arrays = [container.data for container in held]
    for number in (19, 0, 7, 8, 3, 18):
        held[number] = None
    probe = Container(VECTOR, numpy.zeros(1))
    for container, array in zip(held, arrays):
        probe.set(array, borrow=True)
        assert numpy.shares_memory(probe.data, array) == (container is None)


@pytest.mark.parametrize("value", [[1.0], 3.0, None, numpy.zeros(3, "float32"), numpy.zeros((2, 2)),
                                   numpy.zeros(3).view(numpy.recarray)])
def test_set_takes_filtered_values_only(value):
    container = Container(VECTOR, numpy.zeros(2))
    with pytest.raises(TypeError, match="cannot hold"):
        container.set(value)
    assert container.get().tolist() == [0.0, 0.0]


# ---- get -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000, 100000])
def test_copies_never_alias(size):
    container = Container(VECTOR, numpy.zeros(size))
    value = container.get()
    value += 1
    assert not numpy.may_share_memory(value, container.data) and not container.get().any()


@pytest.mark.parametrize("shape", [(), (0,), (3,), (100000,)])
def test_the_value_is_one_array_and_can_be_written_to(shape):
    container = Container(TensorType("float64", (False,) * len(shape)), numpy.zeros(shape))
    value = container.value
    assert value is container.value is container.data is container.storage[0]
    value[...] = 2.0
    numpy.testing.assert_array_equal(container.get(), numpy.full(shape, 2.0))
    container.set(numpy.ones(shape))                        # the array is still held, and keeps what it had
    numpy.testing.assert_array_equal(value, numpy.full(shape, 2.0))
    numpy.testing.assert_array_equal(container.value, numpy.ones(shape))
    container.value = numpy.zeros(shape)
    numpy.testing.assert_array_equal(container.value, numpy.zeros(shape))


def test_borrowed_values_survive_the_container():
    container = Container(VECTOR, numpy.arange(1000.0))
    value = container.data
    container.set(numpy.zeros(1000))
    del container
    gc.collect()
    numpy.testing.assert_array_equal(value, numpy.arange(1000.0))


@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array has been deprecated:DeprecationWarning")
def test_the_users_own_array_comes_back():
    mine = numpy.arange(12.0).reshape(3, 4)
    container = Container(MATRIX, numpy.zeros((1, 1)))
    for lent in (mine, mine.T, mine[::-1]):
        container.set(lent, borrow=True)
        assert container.data is lent
    mine = numpy.arange(12.0).reshape(3, 4)
    container.set(mine, borrow=True)
    mine.shape = 4, 3                                       # unknown to the container
    assert container.data.shape == (3, 4) and numpy.shares_memory(container.data, mine)


# ---- objects, words, copies ------------------------------------------------------------------------------------------
def test_objects():
    value = [1, [2]]
    container = Container(generic)
    assert container.get() is None and container.data is None
    container.set(value, borrow=True)
    assert container.data is value and container.get() == value and container.get()[1] is not value[1]
    container.set(value)
    assert container.data == value and container.data is not value


def test_an_object_that_cannot_be_copied_leaves_the_old_one():
    container = Container(generic, 5)
    with pytest.raises(TypeError):
        container.set(item for item in ())
    assert container.get() == 5


def test_value_converts_and_readonly_refuses():
    container = Container(VECTOR, [1, 2], name="state", allow_downcast=True)
    container.value = [3, 4]
    assert container.value.tolist() == container.storage[0].tolist() == container.data.tolist() == [3.0, 4.0]
    assert repr(container) == "<array([3., 4.])>"
    container.readonly = True
    with pytest.raises(Exception, match="readonly storage: state"):
        container.value = [5, 6]
    assert container.value.tolist() == [3.0, 4.0]


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickled])
def test_copies_and_pickles_have_memory_of_their_own(duplicate):
    original = Container(VECTOR, numpy.arange(100.0), "name", True, True, False)
    twin = duplicate(original)
    numpy.testing.assert_array_equal(twin.get(), original.get())
    assert not numpy.may_share_memory(twin.data, original.data)
    assert (twin.type, twin.name) == (VECTOR, "name")
    assert (twin.readonly, twin.strict, twin.allow_downcast) == (True, True, False)
    original.set(numpy.zeros(100))
    numpy.testing.assert_array_equal(twin.get(), numpy.arange(100.0))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled])
def test_what_is_one_object_stays_one_object(duplicate):
    value = [1, 2]
    container = Container(generic)
    container.set(value, borrow=True)
    first, second, found = duplicate((container, container, value))
    assert first is second and first.data is found and found is not value


@pytest.mark.parametrize("value", [numpy.complex128(1 + 2j), numpy.complex64(3 - 4j), numpy.float32(0.5),
                                   numpy.int8(-7), numpy.array([1.5, -2.5]), numpy.arange(4, dtype="float32"),
                                   numpy.array([3 + 4j])], ids=repr)
def test_values_inside_a_cell_are_loaded_and_stored_whole(value):
    value = numpy.asarray(value)
    shared = phintys.shared(numpy.zeros_like(value))
    f = phintys.function([], shared * 1, updates={shared: shared + value})
    for count in range(3):
        numpy.testing.assert_array_equal(f(), value * count)
    numpy.testing.assert_array_equal(shared.get_value(), value * 3)
