"""``pad``: more elements around a tensor, in all of NumPy's modes that are names.

Dimensions are padded one after the other, as NumPy does it. The modes that repeat elements (``POSITIONS``) say for each
place of the result which element it has; the others put two parts beside the tensor (``ENDS``).
"""
from phintys.ops.compositions.parts import beside, part
from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.creation.linspace import linspace
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.identity.assertion import Check
from phintys.ops.indexing.take import take
from phintys.ops.numpy_functions import expand_dims
from phintys.ops.reduction import reduction
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.sorting.partitioning import median
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes


# ---- modes that repeat elements --------------------------------------------------------------------------------------
def _folded(place, period, last):
    """Where a place is on a way to and fro of this period, whose second half runs back from ``last``."""
    place = place % elementwise.maximum(period, 1)
    return elementwise.minimum(place, last - place)


POSITIONS = {
    "edge": lambda place, length: elementwise.clip(place, 0, length - 1),
    "wrap": lambda place, length: place % elementwise.maximum(length, 1),
    "reflect": lambda place, length: _folded(place, 2 * (length - 1), 2 * (length - 1)),
    "symmetric": lambda place, length: _folded(place, 2 * length, 2 * length - 1),
}
PERIODS = {"reflect": lambda length: 2 * (length - 1), "symmetric": lambda length: 2 * length}


def _repeated(mode, x, axis, before, after, reflect_type):
    length = shape_i(x, axis)
    place = arange(-before, length + after)
    where = POSITIONS[mode](place, length)
    message = f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
    where = Check(message)(where, elementwise.or_(length > 0, elementwise.eq(before + after, 0)))
    found = take(x, where, axis=axis)
    return _mirrored(mode, x, axis, place, found) if reflect_type == "odd" else found


def _mirrored(mode, x, axis, place, found):
    """Reflection in the values, too: on the way back they go on beyond the last element; each period adds a step."""
    length = shape_i(x, axis)
    period = elementwise.maximum(PERIODS[mode](length), 1)
    turns, place = [beside(vector, axis, x.type.ndim) for vector in (place // period, place % period)]
    first, last = [expand_dims(part(x, axis, edge), axis) for edge in (0, -1)]
    found = elementwise.switch(place >= length, 2 * last - found, found)
    return as_dtype(found + as_dtype(turns, x.type.dtype) * (2 * (last - first)), x.type.dtype)


# ---- modes that put parts beside the tensor --------------------------------------------------------------------------
def _filled(x, axis, width, value):
    lengths = [width if number == axis else shape_i(x, number) for number in range(x.type.ndim)]
    return alloc(as_dtype(as_tensor_variable(value), x.type.dtype), *lengths)


def _constant(x, axis, widths, values, stat_length):
    return [_filled(x, axis, width, value) for width, value in zip(widths, values)]


def _ramp(x, axis, widths, values, stat_length):
    """From the given value at the end to the element at the edge, which is excluded."""
    edges = [part(x, axis, 0), part(x, axis, -1)]
    ramps = [linspace(as_dtype(as_tensor_variable(value), edge.type.dtype), edge, width, endpoint=False,
                      dtype=x.type.dtype, axis=axis)
             for value, edge, width in zip(values, edges, widths)]
    return [ramps[0], part(ramps[1], axis, slice(None, None, -1))]


def _statistic(reduce):
    """The ends of a mode that fills with a reduction of the elements next to the edge."""
    def ends(x, axis, widths, values, stat_length):
        found = []
        for width, count, is_last in zip(widths, stat_length, (False, True)):
            near = x
            if count is not None:
                count = elementwise.minimum(as_tensor_variable(count), shape_i(x, axis))
                near = part(x, axis, slice(shape_i(x, axis) - count, None) if is_last else slice(0, count))
            number = reduce(near, axis=axis, keepdims=True)
            if x.type.dtype in integer_dtypes and number.type.dtype not in discrete_dtypes:
                number = elementwise.round_half_to_even(number)
            found.append(_filled(x, axis, width, number))
        return found
    return ends


ENDS = {
    "constant": _constant,
    "empty": _constant,
    "linear_ramp": _ramp,
    "maximum": _statistic(reduction.max),
    "minimum": _statistic(reduction.min),
    "mean": _statistic(reduction.mean),
    "median": _statistic(median),
}

# Mode → the arguments that it takes, with their defaults.
OPTIONS = {**{mode: {} for mode in ("edge", "wrap", "empty")},
           **{mode: {"reflect_type": "even"} for mode in PERIODS},
           **{mode: {"stat_length": None} for mode in ("maximum", "minimum", "mean", "median")},
           "constant": {"constant_values": 0}, "linear_ramp": {"end_values": 0}}


def _pairs(name, given, rank):
    """NumPy's spellings of a pair for each dimension: one number, one number in a list, one pair, or all of them."""
    if isinstance(given, dict):
        return [given.get(number, given.get(number - rank, (0, 0))) for number in range(rank)]
    if not isinstance(given, (list, tuple)):
        if getattr(given, "ndim", 0) == 0:
            return [(given, given)] * rank
        given = list(given) if not hasattr(given, "tolist") else given.tolist()
    rows = [row if isinstance(row, (list, tuple)) else [row] for row in given]
    if all([len(row) == 1 for row in rows]) and len(rows) in (1, 2):       # (both,) or (before, after)
        rows = [[row[0] for row in rows]]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    rows = rows * rank if len(rows) == 1 else rows
    if len(rows) != rank or not all([len(row) == 2 for row in rows]):
        raise ValueError(f"pad: {name}={given!r} cannot be broadcast to a pair for each of {rank} dimensions")
    return rows


def pad(array, pad_width, mode="constant", **options):
    """A tensor with more elements before and after, in each dimension, like ``numpy.pad``.

    Parameters
    ----------
    array : tensor-like
    pad_width : int or symbolic integer, (before, after), ((before, after), ...), or dict of axis to pair
        The numbers of elements to add.
    mode : str
        "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap" or
        "empty", which fills with 0.
    constant_values, end_values : number or tensor, or pairs
        Of "constant" and "linear_ramp"; 0 by default.
    stat_length : int, or pairs
        Of "maximum", "mean", "median" and "minimum": how many elements at the edge are used; all by default.
    reflect_type : {"even", "odd"}
        Of "reflect" and "symmetric": "odd" reflects in the values at the edge, too.

    Returns
    -------
    TensorVariable
        Of the dtype of ``array``.

    Raises
    ------
    ValueError
        For another mode or argument, pairs that do not fit, or negative widths; at run time, if an empty dimension
        cannot be extended.

    Examples
    --------
    >>> T.pad(T.as_tensor([1, 2, 3]), (1, 2), mode="reflect").eval()
    array([2, 1, 2, 3, 2, 1])
    """
    x = as_tensor_variable(array)
    if mode not in OPTIONS:
        raise ValueError(f"pad: mode {mode!r} is not supported; use one of {', '.join(OPTIONS)}")
    wrong = sorted(set(options) - set(OPTIONS[mode]))
    if wrong:
        raise ValueError(f"pad: unsupported keyword arguments for mode {mode!r}: {', '.join(wrong)}")
    options = {**OPTIONS[mode], **options}
    reflect_type = options.pop("reflect_type", "even")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    if isinstance(pad_width, dict):
        pad_width = {one_axis("pad", x, axis): width if isinstance(width, (list, tuple)) else (width, width)
                     for axis, width in pad_width.items()}
    rank = x.type.ndim
    stat_length = _pairs("stat_length", options.pop("stat_length", None), rank)
    values = _pairs(*(options.popitem() if options else ("constant_values", 0)), rank)
    for axis, widths in enumerate(_pairs("pad_width", pad_width, rank)):
        widths = [_checked_width(width) for width in widths]
        if mode in POSITIONS:
            x = _repeated(mode, x, axis, *widths, reflect_type)
        else:
            before, after = ENDS[mode](x, axis, widths, values[axis], stat_length[axis])
            x = concatenate([before, x, after], axis=axis)
    return x


def _checked_width(width):
    if isinstance(width, int) and width < 0:
        raise ValueError(f"pad: pad_width can't contain negative values, got {width}")
    width = as_tensor_variable(width)
    if width.type.dtype not in discrete_dtypes or width.type.ndim:
        raise TypeError(f"pad: pad_width must be of integers, got {width} of type {width.type}")
    return as_dtype(width, "int64")
