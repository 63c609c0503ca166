"""Arguments of calls convert to just what ``Type.filter`` makes of them, and are refused as it does.

Most values need no Python code for it.
"""
import decimal
import fractions
import sys
import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys import In
from phintys.graph.config import change_flags
from phintys.ops.types.dtypes import ALL_DTYPES
from phintys.ops.types.tensor_type import TensorType

RANDOM = np.random.RandomState(0)
SIGNALLING_NANS = [np.array([0x7FA00000], "uint32").view("float32"), np.array([0x7D00], "uint16").view("float16")]


def unaligned(dtype):
    return np.frombuffer(b"\0" + np.arange(3).astype(dtype).tobytes() + b"\0", dtype, 3, 1)


class Sequence:
    """What NumPy takes for a list."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [1.0, 2.5][index]


NUMBERS = [
    0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 65535, 65536, 70000, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1,
    2**63, 2**64 - 1, 2**64, -2**63, 10**30, True, False, 0.0, -0.0, 0.1, 0.5, 1.5, -1.5, -0.5, 3.0, -3.0, 255.0,
    256.0, 1e10, 16777217, 16777217.0, 1e300, -1e300, 1e-300, 2.0**63, 2.0**64, -2.0**63, float("inf"), float("-inf"),
    float("nan"), 1 + 2j, 0.1j, 3 + 0j, complex("nan+0.1j"), complex(1e300, 0), decimal.Decimal("1.5"),
    fractions.Fraction(1, 2), None, "1", b"1", object,
]
SCALARS = [np.dtype(dtype).type(value) for dtype in (*ALL_DTYPES, "longdouble") for value in (0, 1, 3)]
SCALARS += [np.float64(0.1), np.float32(0.1), np.float16(0.1), np.float64("nan"), np.int64(-1), np.int64(2**40),
            np.uint64(2**63), np.complex128(0.1 + 1j), np.datetime64(3, "s"), np.str_("1")]
ARRAYS = [make(dtype) for dtype in (*ALL_DTYPES, ">f8", ">f4", ">i4", "longdouble", "longlong", "S1")
          for make in (lambda dtype: np.arange(3).astype(dtype), lambda dtype: np.ones(7, dtype)[::-2],
                       lambda dtype: np.zeros(0, dtype))]
ARRAYS += [unaligned(dtype) for dtype in ("float64", "float32", "int32")]
ARRAYS += [np.array(values) for values in ([0.1, 1e300], [np.nan, 1.5], [-1.0, 2.5], [300, -1], [2**40, 1], [1e10],
                                           [-0.5], [2.0**63, -2.0**63], [1j, 0.1], [np.inf])]
ARRAYS += [*SIGNALLING_NANS, np.array([object()]), np.array(["a"]), np.ma.array([1.0], mask=[True]),
           np.array([1, 2], object), np.array([1.5, 2.5]).view(np.recarray), np.array(1.5),
           np.array(3), np.array(0.1, "float32"), np.zeros((2, 2), "float32")]
LISTS = [
    [], [1], [1.5], [1, 2.5], [True, 2], [True, False], (1, 2), (0.1, 0.2), range(4), [0.1], [300], [-1], [2**40],
    [2**63], [2**64], [2**53 + 1], [16777217], [1e300], [float("nan"), 0.1], [float("nan"), 3.0], [1j, 2], [0.1j],
    [1 + 2j, 3], [np.nan + 1j], [np.float32(0.1), 1], [np.float16(0.5)], [np.int8(3)], [np.float32(0.1)],
    [np.array(1.5), 2], [np.arange(2)], [[1, 2], [3]], [[1.5, 2], [3, 4]], [None], ["a"], [1, "a"],
    [decimal.Decimal(1)], [object()], [Sequence()], Sequence(), [[]], [np.longdouble(1)], [np.array([1.0], ">f8")],
    {1, 2}, {}, iter([1]), bytearray(b"ab"), [1.5] * 3000, list(range(3000)),
]
LAYOUTS = [RANDOM.rand(40, 50)[::2].astype("float32"), np.asfortranarray(RANDOM.rand(3, 4)),
           RANDOM.rand(2, 3, 4).transpose(1, 0, 2), np.asfortranarray(RANDOM.rand(3, 4)).astype("float32")[:, ::2]]
VALUES = NUMBERS + SCALARS + ARRAYS + LISTS + LAYOUTS


def outcome(convert, value):
    """(dtype, values and layout) of what comes out, or (kind of error, its message)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = convert(value)
    except Exception as error:
        return type(error).__name__, str(error)
    order = result.ndim > 1 and not result.flags.c_contiguous
    return result.dtype.str, result.shape, order, list(map(repr, result.ravel("K").tolist()))


@pytest.fixture(autouse=True)
def old_warnings():
    """NumPy's own warnings about the values above, such as integers that do not fit, are no matter of this file."""
    with np.errstate(all="warn"):
        yield


def function_of(type_, **options):
    """The identity, which shows what a call makes of its argument: a user's op gets it as it is."""
    seen = []

    class Look(phintys.Op):
        def make_node(self, value):
            return phintys.Apply(self, [value], [T.bscalar()])

        def perform(self, node, inputs, output_storage):
            seen.append(inputs[0])
            output_storage[0][0] = np.int8(0)

    variable = type_()
    function = phintys.function([In(variable, **options)], Look()(variable))

    def convert(value):
        function(value)
        return seen.pop()
    return convert


OPTIONS = [{}, {"allow_downcast": True}, {"allow_downcast": False}, {"strict": True}]


CONFIGURATIONS = [(dtype, rank, {}) for dtype in ALL_DTYPES for rank in (0, 1, 2)]
CONFIGURATIONS += [(dtype, rank, {"floatX": float_x, "cast_policy": policy})
                   for dtype in ("float16", "float32", "float64") for rank in (0, 1)
                   for float_x, policy in [("float32", "custom"), ("float32", "numpy+floatX"),
                                           ("float16", "numpy+floatX")]]


@pytest.mark.parametrize("dtype, rank, flags", CONFIGURATIONS)
def test_a_call_converts_as_filter_does(dtype, rank, flags):
    type_ = TensorType(dtype, (False,) * rank)
    for options in OPTIONS:
        convert = function_of(type_, **options)
        with change_flags(**flags):                 # after the function was made: rules follow the configuration
            for value in VALUES:
                expected = outcome(lambda value: type_.filter(value, **options), value)
                found = outcome(convert, value)
                if len(expected) == 2:              # the call's message says before which argument it was
                    assert len(found) == 2 and found[0] == expected[0] and found[1].endswith(expected[1])
                else:
                    assert found == expected, (value, options)


# ---- what needs no Python code ---------------------------------------------------------------------------------------
QUICK = [
    # dtype, options, values that convert quickly
    ("float64", {}, [1, True, 1.5, np.float64(0.1), np.float32(0.1), np.int64(1), np.bool_(True), float("nan"),
                     2**53 + 1]),
    ("float32", {}, [1, 0.5, True, np.float64(0.5), np.float32(0.1), np.int8(1), np.uint32(7)]),
    ("float32", {"allow_downcast": True}, [0.1, 16777217, np.float64(0.1)]),
    ("int64", {}, [1, 3.0, True, np.int16(3), np.uint8(3)]),
    ("uint8", {"allow_downcast": True}, [300, 3.7, -1]),
    ("bool", {}, [True, 0, 1]),
    ("complex128", {}, [1j, np.complex128(1j)]),
    ("float64", {}, [[1, 2], [1.5], (1.5, 2), range(3), [True], [np.float32(0.1), 1], []]),
    ("float32", {}, [[1, 2], [1.5, 2.5], np.arange(3, dtype="int16"), np.arange(3, dtype=">f4")]),
    ("float32", {"allow_downcast": True}, [[0.1], np.array([0.1, 1e300]), np.arange(9.0)[::3], np.arange(3)]),
    ("int32", {"allow_downcast": True}, [[2**40], np.array([0.5, -7.9]), np.array([0.5], "float32"),
                                         np.array([2**40])]),
    ("float64", {}, [np.ones(3, dtype) for dtype in ALL_DTYPES
                     if dtype not in ("complex64", "complex128")]),
    ("complex128", {}, [np.ones(3, dtype) for dtype in ("complex64", "float64", "float32", "int8")]),
    ("complex128", {}, [[1.5], [1, 2j], [True]]),
    ("complex64", {}, [[1.5], [1, 2j], [1], np.ones(3, "float32")]),
]


@pytest.mark.parametrize("dtype, options, values", QUICK, ids=range(len(QUICK)))
@pytest.mark.parametrize("access", [{}, {"borrow": True}, {"mutable": True}], ids=["read", "held", "mutable"])
def test_python_code_is_not_asked(dtype, options, values, access, monkeypatch):
    for value in values:
        variable = TensorType(dtype, (False,) * np.ndim(value))()
        options = dict(options, **access)
        expected = variable.type.filter(value, allow_downcast=options.get("allow_downcast"))
        function = phintys.function([In(variable, **options)], phintys.Out(variable, borrow="borrow" in access))
        with monkeypatch.context() as patch:
            patch.setattr(TensorType, "_convert", None)
            for found in (function(value), function(value)):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
                found[...] = 0                      # no other call uses this memory


def test_finite_values_can_be_demanded(monkeypatch):
    x, y = T.dvector("x"), T.dscalar("y")
    function = phintys.function([x, y], x + y)
    function([1.0], 2)
    monkeypatch.setattr(TensorType, "filter_checks_isfinite", True)
    for arguments in [([np.inf], 1), (np.array([np.nan], "float32"), 1), ([1.0], float("nan"))]:
        with pytest.raises(ValueError, match="non-finite"):
            function(*arguments)


class Halved(TensorType):
    """A type whose values are halves of what is given."""

    def filter(self, value, strict=False, allow_downcast=None):
        return super().filter(np.asarray(value) / 2, strict, allow_downcast)


class Wrong(TensorType):
    """A type whose ``filter`` returns what it was given."""

    def filter(self, value, strict=False, allow_downcast=None):
        return value


def test_a_filter_of_the_users_is_asked():
    x = Halved("float64", (False,))("x")
    assert phintys.function([x], x + 0.0)([3, 4]).tolist() == [1.5, 2]


@pytest.mark.parametrize("value", [3.0, [1.0, 2.0], np.zeros((2, 2)), np.zeros(2, "float32"), None])
def test_what_a_filter_returns_is_looked_at(value):
    x = Wrong("float64", (False,))("x")
    function = phintys.function([x], x + 1)
    assert function(np.ma.array([1.0])).tolist() == [2]         # as a plain array
    with pytest.raises(TypeError, match="Wrong.filter returned no array of the type TensorType.float64, vector."):
        function(value)


def test_several_arguments_by_name_and_by_default():
    x, y, z = T.dvector("x"), T.fscalar("y"), T.lmatrix("z")
    function = phintys.function([x, y, In(z, value=[[1]])], x * y + z.sum())
    assert function([1, 2], 3).tolist() == function(y=np.float32(3), x=(1, 2)).tolist() == [4, 7]
    assert function(z=[[1, 2]], y=3, x=range(1, 3)).tolist() == [6, 9]
    assert function([1, 2], 3, np.array([[3]], "int8")).tolist() == [6, 9]


def test_an_argument_is_let_go_after_the_call():
    x, y = T.dvector("x"), T.dscalar("y")
    function = phintys.function([x, y], x + y)
    values = {"fits": np.ones(3), "converts": np.ones(3, "float32"), "number": np.array(1.0)}
    before = {name: sys.getrefcount(value) for name, value in values.items()}
    for first, second in [("fits", "number"), ("converts", "number"), ("number", "fits")]:
        try:
            function(values[first], values[second])
        except TypeError:
            assert second == "fits"
        assert {name: sys.getrefcount(value) for name, value in values.items()} == before
