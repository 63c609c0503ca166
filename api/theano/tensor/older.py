"""Functions and ops of Theano's ``tensor.basic``, ``tensor.subtensor`` and their neighbours that programs may import,
and that this package itself does not need. `theano_names` says in which modules they are found.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy

from phintys import tensor
from phintys.compile import FAST_RUN, DebugMode, get_mode
from phintys.graph.apply import Apply
from phintys.graph.errors import EmptyConstantError, NotScalarConstantError
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.absent import is_absent
from phintys.ops.indexing.subtensor import entry_parts, filled
from phintys.ops.types.axes import several_axes
from phintys.ops.types.constant import convert
from phintys.ops.types.slice_type import NoneConst, NoneTypeT, SliceType, make_slice
from phintys.scalar import BinaryScalarOp, ScalarConstant, autocast_float_as, int64, upcast_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.modes import Mode


class ShapeError(Exception):
    """A shape cannot be computed."""


class AdvancedIndexingError(TypeError):
    """`Subtensor` was called with an index of arrays."""


class AdvancedBooleanIndexingError(TypeError):
    """`Subtensor` was called with an index of masks."""


# ---- ops -------------------------------------------------------------------------------------------------------------
class Default(Op):
    """The first input, or a copy of the second one if the function is called with None for the first.

    Both inputs must have the same type.
    """

    __props__ = ()
    view_map = {0: [0]}
    takes_none = (0, 1)

    def make_node(self, x: Any, default: Any) -> Apply:
        x, default = tensor.as_tensor_variable(x), tensor.as_tensor_variable(default)
        if x.type != default.type:
            raise TypeError(f"both arguments of default() must have the same type, got {x.type} and {default.type}")
        return Apply(self, [x, default], [default.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:
        x, default = inputs
        if is_absent(x) and is_absent(default):
            raise TypeError("default(): both arguments are None")
        output_storage[0][0] = default.copy() if is_absent(x) else x


class Flatten(Op):
    """`flatten` as an op. Calling it makes a graph of other ops, and no node of this op.

    Parameters
    ----------
    outdim : int
        The number of dimensions of the result.
    """

    __props__ = ("outdim",)

    def __init__(self, outdim: int = 1) -> None:
        warnings.warn("the class Flatten is deprecated, use the function flatten", DeprecationWarning, stacklevel=2)
        self.outdim = int(outdim)

    def __call__(self, x: Any) -> Any:
        return tensor.flatten(tensor.as_tensor_variable(x), self.outdim)


class MulWithoutZeros(BinaryScalarOp):
    """The product of two numbers in which zeros count as ones, unless both are zero."""

    identity = 0.0
    commutative = associative = True

    def impl(self, x: Any, y: Any) -> Any:
        return y if x == 0 else x if y == 0 else x * y


default = setdefault = Default()
mul_without_zeros = MulWithoutZeros(upcast_out, name="mul_without_zeros")


# ---- values and axes -------------------------------------------------------------------------------------------------
def constructor(f: Any) -> Any:
    """Return the function: a decorator that marked functions for a list in Theano's documentation."""
    return f


def check_equal_numpy(x: Any, y: Any) -> Any:
    """Return whether two values are equal: arrays of one dtype and shape to 1e-10, generators in their states."""
    if isinstance(x, numpy.ndarray) and isinstance(y, numpy.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and bool(numpy.all(abs(x - y) < 1e-10))
    if isinstance(x, numpy.random.RandomState) and isinstance(y, numpy.random.RandomState):
        return all([numpy.all(mine == other) for mine, other in zip(x.get_state(), y.get_state())])
    return x == y


def numpy_scalar(data: Any) -> Any:
    """Return an array if it holds one number.

    Raises
    ------
    NotScalarConstantError
        If it does not; EmptyConstantError, which is one, if it has no elements.
    """
    if data.ndim and max(data.shape) == 0:
        raise EmptyConstantError
    if data.size != 1 or data.dtype.kind not in "biufc":
        raise NotScalarConstantError(f"the data are not numeric, or are not one number: {data!r}")
    return data


def check_and_normalize_axes(x: Any, axis: int | None) -> Any:
    """Return axes as a list of integers that are not negative; an empty list for None.

    Raises
    ------
    TypeError
        For axes that are not constant integers.
    ValueError
        For axes that x does not have.
    """
    x = tensor.as_tensor_variable(x)
    if isinstance(axis, Variable):
        if not isinstance(axis, Constant):
            raise TypeError(f"Computation needs a constant axis. Got {axis}")
        axis = axis.data
    if axis is None:
        return []
    return sorted(set(several_axes("check_and_normalize_axes", x, numpy.atleast_1d(axis).tolist())))


def makeKeepDims(x: Any, y: Any, axis: int | None) -> Any:
    """Give a reduction of x along axes, y, these axes again, with length 1."""
    x, y = tensor.as_tensor_variable(x), tensor.as_tensor_variable(y)
    axes = several_axes("makeKeepDims", x, None if axis is None else numpy.atleast_1d(axis).tolist())
    kept = iter(range(y.type.ndim))
    return y.dimshuffle(*["x" if each in axes else next(kept) for each in range(x.type.ndim)])


def alloc_validate_shape(shape: Any) -> Any:
    """Return lengths as variables, and which of them are certainly 1.

    Raises
    ------
    TypeError
        For lengths that are not integers.
    """
    lengths = [tensor.as_tensor_variable(length) for length in shape]
    for position, length in enumerate(lengths):
        if length.type.dtype not in tensor.integer_dtypes:
            raise TypeError(f"Shape arguments to Alloc must be integers, but argument {position} is not: {length}")
        if length.type.ndim:
            raise TypeError(f"Each shape dimension to Alloc must be a scalar, but dimension {position} has "
                            f"{length.type.ndim} dimensions: {length}")
    return lengths, [_known(length) == 1 for length in lengths]


def _known(length):
    try:
        return tensor.get_scalar_constant_value(length)
    except NotScalarConstantError:
        return None


class NumpyAutocaster:
    """Converts Python numbers to arrays of the first of some dtypes that holds them exactly, as `config.cast_policy`
    says."""

    def __init__(self, dtypes: Sequence[str]) -> None:
        self.dtypes = tuple(dtypes)

    def __call__(self, x: Any) -> Any:
        if str(getattr(x, "dtype", None)) in self.dtypes:
            return numpy.asarray(x)
        if isinstance(x, float):
            with autocast_float_as(*self.dtypes):
                return convert(x)
        for dtype in self.dtypes:
            with numpy.errstate(all="ignore"):
                found = numpy.asarray(x).astype(dtype)
            if found == x:
                break
        return found


autocast_int = NumpyAutocaster(("int8", "int16", "int32", "int64"))


def round_half_away_from_zero_(a: Any) -> Any:
    """Round a number to the nearest integer, halves away from zero."""
    return numpy.floor(a + 0.5) if a > 0 else numpy.ceil(a - 0.5)


def load_shared_variable(value: Any) -> Any:
    """Make a shared variable; pickles of 2011 call this function."""
    return tensor._shared(value)


def mode_not_slow(mode: str | Mode | None) -> Any:
    """Return the mode in which `verify_grad` compiles its own functions instead of a slow one."""
    return FAST_RUN if mode == "FAST_COMPILE" or isinstance(get_mode(mode), DebugMode) else get_mode(mode)


def hashtype(self: Any) -> Any:
    """Return a hash of the object's class."""
    return hash((type(self).__name__, type(self).__module__))


def key_to_cmp(key: Any) -> Any:
    """Return a function that compares two objects by their keys: -1, 0 or 1."""
    def compare(a, b):
        mine, other = key(a), key(b)
        return (mine > other) - (mine < other)
    return compare


# ---- indices ---------------------------------------------------------------------------------------------------------
def make_constant(args: Any) -> Any:
    """Replace integers in an index by constants of the scalar level."""
    def converted(entry):
        if isinstance(entry, slice):
            return slice(*[converted(part) for part in (entry.start, entry.stop, entry.step)])
        return ScalarConstant(int64, entry) if isinstance(entry, (int, numpy.integer)) else entry
    return tuple([converted(entry) for entry in args])


def get_idx_list(inputs: Sequence[Variable], idx_list: Sequence[Any], get_count: bool = False) -> tuple[Any, ...]:
    """Return a `Subtensor`'s index with its types replaced by the node's inputs after the first; or how many of them
    it takes."""
    found = filled(idx_list, inputs[1:])
    taken = [part for entry in idx_list for part in entry_parts(entry) if isinstance(part, Type)]
    return len(taken) if get_count else tuple(found)


def equal_slices(first: Any, second: Any) -> Any:
    """Return whether two slices have equal parts."""
    return (first.start, first.stop, first.step) == (second.start, second.stop, second.step)


def as_int_none_variable(x: Any) -> Any:
    """Return an integer, or None, as a variable.

    Raises
    ------
    TypeError
        For anything else.
    """
    if x is None or NoneConst.equals(x):
        return NoneConst
    x = tensor.as_tensor_variable(x, ndim=0)
    if x.type.dtype not in tensor.integer_dtypes:
        raise TypeError(f"index must be integers, got {x} of dtype {x.type.dtype}")
    return x


def as_index_variable(idx: Any) -> Any:
    """Return one entry of an index as a variable.

    Raises
    ------
    TypeError
        For numbers that are neither integers nor masks.
    """
    if idx is None:
        return NoneConst.clone()
    if isinstance(idx, slice):
        return make_slice(idx)
    if isinstance(idx, Variable) and isinstance(idx.type, (SliceType, NoneTypeT)):
        return idx
    idx = tensor.as_tensor_variable(idx)
    if idx.type.dtype not in tensor.discrete_dtypes:
        raise TypeError(f"index must be integers or a boolean mask, got {idx} of dtype {idx.type.dtype}")
    return idx


def adv_index_broadcastable_pattern(a: Any, idx: Any) -> Any:
    """Return the broadcastable pattern of ``a[idx]``, by NumPy's rules."""
    entries = []
    for entry in [as_index_variable(each) for each in idx]:
        if isinstance(entry.type, (SliceType, NoneTypeT)):
            entries.append(None if isinstance(entry.type, NoneTypeT) else slice(None))
        else:
            entries.append(numpy.zeros((2,) * entry.type.ndim, int) if entry.type.dtype != "bool"
                           else numpy.ones((2,) * entry.type.ndim, bool))
    like = numpy.empty([1 if flag else 2 for flag in a.type.broadcastable])
    return tuple([length == 1 for length in like[tuple(entries)].shape])


def check_advanced_indexing_dimensions(input: Variable, idx_list: Any) -> None:
    """Check that masks of an index have the lengths of the array's dimensions.

    Raises
    ------
    IndexError
        If one does not.
    """
    seen = 0
    for index in idx_list:
        if index is None:
            continue
        if not (isinstance(index, numpy.ndarray) and index.dtype == "bool"):
            seen += 1
            continue
        for axis, length in enumerate(index.shape):
            if length != input.shape[seen + axis]:
                raise IndexError(f"boolean index did not match indexed array along dimension {seen + axis}; dimension "
                                 f"is {input.shape[seen + axis]} but corresponding boolean dimension is {length}")
        seen += index.ndim


def check_and_reject_bool(args_el: Any) -> None:
    """Raise TypeError if an index is a mask, or contains one."""
    left = [args_el]
    while left:
        entry = left.pop()
        if isinstance(entry, bool) or str(getattr(entry, "dtype", None)) == "bool":
            raise TypeError("AdvancedSubtensor does not support boolean masks for indexing. Use "
                            "AdvancedBooleanSubtensor instead.")
        if not isinstance(entry, (Variable, numpy.ndarray, str)) and isinstance(entry, Iterable):
            left.extend(entry)
