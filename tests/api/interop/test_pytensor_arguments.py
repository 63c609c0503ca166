"""Arguments and results of functions in mode PHINTYS: what PyTensor's, PyMC's and Dask's callers rely on."""
import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor_reference import pytensor

pt = pytensor.tensor
pytestmark = [pytest.mark.filterwarnings("ignore")]
ROWS = np.random.default_rng(5).normal(size=(4, 3))


def unaligned(array):
    """The same values at an odd address, as Dask passes on what has come over the network."""
    found = np.ndarray(array.shape, array.dtype, np.empty(array.nbytes + 1, dtype="uint8")[1:])
    found[...] = array
    assert not found.flags.aligned
    return found


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def field(array):
    """Strides that are no multiples of the size of an element."""
    records = np.zeros(array.shape, dtype=[("flag", "i1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


LAYOUTS = {
    "contiguous": lambda array: array,
    "Fortran": np.asfortranarray,
    "reversed": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda array: np.repeat(np.repeat(array, 2, 0), 2, 1)[::2, ::2],
    "unaligned": unaligned,
    "read-only": read_only,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "rows repeated": lambda array: np.broadcast_to(array[:1], array.shape),
    "one number repeated": lambda array: np.broadcast_to(array[0, 0], array.shape),
    "a part of a record": field,
    "float32": lambda array: array.astype("float32"),
    "integers": lambda array: np.round(array * 4).astype("int8"),
    "lists": lambda array: array.tolist(),
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_of_any_layout(layout, trusted):
    """None is changed; PyTensor's own call refuses those that are not aligned."""
    x = pt.dmatrix("x")
    outputs = [pt.exp(x).sum(), x * 2, x[::2, 1:] - x.mean(0)[1:], pt.dot(x, x.T), x.T]
    f = pytensor.function([x], outputs, mode="PHINTYS")
    if trusted and layout not in ("float32", "integers", "lists"):
        f.trust_input = True
    value = LAYOUTS[layout](ROWS)
    same = np.array(value, dtype="float64")
    found = f(value)
    wanted = [np.exp(same).sum(), same * 2, same[::2, 1:] - same.mean(0)[1:], same @ same.T, same.T]
    for result, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result, other, rtol=1e-12)
        assert result.dtype == "float64" and result.dtype.isnative and result.flags.aligned and result.flags.writeable
        assert not isinstance(value, np.ndarray) or not np.shares_memory(result, value)
    np.testing.assert_array_equal(np.array(value, dtype="float64"), same)


@pytest.mark.parametrize("number", [2, 2.5, np.float64(2.5), np.float32(2.5), np.array(2.5), np.int8(2)])
def test_numbers_as_arguments(number):
    x = pt.dscalar("x")
    f = pytensor.function([x], [x * 2, x + 1], mode="PHINTYS")
    found = f(number)
    assert [float(value) for value in found] == [float(number) * 2, float(number) + 1]
    assert [type(value) for value in found] == [np.ndarray] * 2 and found[0].shape == ()


def test_trusted_arguments_of_another_dtype_are_converted():
    """PyTensor's C code refuses float32, its Python code computes in it: here the type of the variable holds."""
    x = pt.dvector("x")
    f = pytensor.function([x], pt.exp(x), mode="PHINTYS")
    f.trust_input = True
    value = np.array([0.5, 1.0], dtype="float32")
    np.testing.assert_array_equal(f(value), f(value.astype("float64")))


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("borrow", [False, True])
def test_each_call_returns_new_arrays(borrow, trusted):
    """PyMC's NUTS keeps gradients of earlier calls, and changes none; others change what they get."""
    x, w = pt.dvector("x"), pytensor.shared(np.ones(3))
    outputs = [x * w, (x * w).sum(), x, w, pt.ones(3), x[::-1], 2 * w]
    f = pytensor.function([x], [pytensor.Out(each, borrow=borrow) for each in outputs], mode="PHINTYS")
    f.trust_input = trusted
    value = np.arange(3.0)
    kept = f(value)
    before = [each.copy() for each in kept]
    other = f(value + 5)
    for first, second in zip(kept, other, strict=True):
        assert not np.shares_memory(first, second) or borrow
    for number, (first, copied) in enumerate(zip(kept, before)):
        np.testing.assert_array_equal(first, copied)
        if not borrow:
            first[...] = -1.0
    np.testing.assert_array_equal(f(value)[0], value)
    np.testing.assert_array_equal(w.get_value(), np.ones(3))
    np.testing.assert_array_equal(value, np.arange(3.0))


def test_several_results_are_a_list_and_one_is_itself():
    x = pt.dvector("x")
    value = np.arange(3.0)
    assert type(pytensor.function([x], [x.sum(), x[0]], mode="PHINTYS")(value)) is list
    assert type(pytensor.function([x], [x.sum()], mode="PHINTYS")(value)) is list
    assert type(pytensor.function([x], x.sum(), mode="PHINTYS")(value)) is np.ndarray
    nothing = pytensor.function([x], [], mode="PHINTYS", on_unused_input="ignore")
    assert [nothing(value) for _ in range(5)] == [[]] * 5


def test_copies_with_exchanged_states_have_their_own_storage():
    """As PyMC copies a log-density for other data: neither sees the other's, also after calls."""
    x, data = pt.dvector("x"), pytensor.shared(np.ones(3), name="data")
    f = pytensor.function([x], (x * data).sum(), mode="PHINTYS")
    others = [pytensor.shared(np.full(3, float(number)), name="data") for number in range(2, 5)]
    copies = [f.copy(swap={data: other}) for other in others]
    value = np.ones(3)
    assert [float(each(value)) for each in (f, *copies)] == [3.0, 6.0, 9.0, 12.0]
    others[0].set_value(np.full(3, 10.0))
    data.set_value(np.zeros(3))
    assert [float(each(value)) for each in (f, *copies)] == [0.0, 30.0, 9.0, 12.0]
    again = copies[0].copy(swap={others[0]: others[1]})
    assert float(again(value)) == 9.0 and float(copies[0](value)) == 30.0
    counted = pytensor.function([x], x.sum() + data[0], updates={data: data + 1}, mode="PHINTYS")
    swapped = counted.copy(swap={data: others[2]})
    assert [float(swapped(value)), float(swapped(value)), float(counted(value))] == [7.0, 8.0, 3.0]


@pytest.mark.parametrize("low, high", [(3.0, 1.0), (1.0, 3.0), (np.nan, 3.0), (1.0, np.nan), (2.0, 2.0)])
@pytest.mark.parametrize("constant", [True, False])
def test_clip_takes_the_bounds_in_pytensors_order(low, high, constant):
    """The lower one first: NumPy takes the upper one where it is below."""
    x, first, last = pt.dvector("x"), pt.dscalar("first"), pt.dscalar("last")
    values = np.array([0.0, 1.0, 2.0, 3.0, 5.0, np.nan, -np.inf, np.inf])
    result = pt.clip(x, low, high) if constant else pt.clip(x, first, last)
    outputs = [result, pytensor.grad(result.sum(), x)]
    for found, wanted in zip(*[f(values, low, high) for f in reference.functions([x, first, last], outputs)]):
        np.testing.assert_array_equal(found, wanted)
    integers = pt.lvector()
    f, g = reference.functions([integers], pt.clip(integers, 3, 1))
    np.testing.assert_array_equal(f([0, 2, 5]), g([0, 2, 5]))


def test_a_clip_of_a_matrix_is_one_operation():
    """PyTensor's limits are then matrices of one element, which are constants behind dimshuffles here."""
    x = pt.dmatrix("x")
    f = pytensor.function([x], pt.clip(x, 0.0, np.inf), mode="PHINTYS")
    np.testing.assert_array_equal(f([[-1.0, 2.0, np.nan, np.inf]]), [[0.0, 2.0, np.nan, np.inf]])
    listing = f.vm.jit_fn.explain()
    assert "clip(" in listing and "switch(" not in listing


@pytest.mark.parametrize("extremum", [pt.max, pt.min, pt.argmax], ids=["max", "min", "argmax"])
def test_the_largest_of_nothing_is_an_error(extremum):
    """As in NumPy, and in PyTensor's Python code; not infinity."""
    x = pt.dmatrix("x")
    with pytest.raises(ValueError):
        pytensor.function([x], extremum(x), mode="PHINTYS")(np.ones((0, 3)))
    f = pytensor.function([x], extremum(x, axis=0), mode="PHINTYS")
    with pytest.raises(ValueError):
        f(np.ones((0, 3)))
    assert f(np.ones((3, 0))).shape == (0,)
    assert f(ROWS).shape == (3,)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("name", ["Max", "Min"])
def test_the_largest_of_nothing_with_a_start_is_the_lowest_value(name, dtype):
    kind = getattr(pytensor.tensor.math, name)
    try:
        op = kind(axis=(0, 1), initial=True)
    except TypeError:
        pytest.skip("PyTensor before 3.3 has no start")
    x = pt.tensor("x", dtype=dtype, shape=(None, None))
    f, g = reference.functions([x], op(x))
    for shape in ((2, 3), (0, 3), (2, 0), (0, 0)):
        value = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        found, wanted = f(value), g(value)
        assert found.dtype == wanted.dtype and found == wanted


def test_the_logarithm_of_a_sum_of_no_exponentials():
    x = pt.dmatrix("x")
    f, g = reference.functions([x], [pt.logsumexp(x, axis=1), pytensor.grad(pt.logsumexp(x, axis=1).sum(), x)])
    values = np.array([[1.0, 2.0], [-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 3.0]])
    for found, wanted in zip(f(values), g(values)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_registered_modes_are_given_by_argument():
    """An option of PyTensor's takes the names of PyTensor's own modes only, and mode objects."""
    with pytest.raises(ValueError, match="PHINTYS"), pytensor.config.change_flags(mode="PHINTYS"):
        pass
