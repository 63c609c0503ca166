"""Windows of pooling: converts users' arguments for sizes, steps and paddings, and computes the number of windows.

``ws`` is the shape of a window, ``stride`` the steps from window to window (by default ``ws``), ``pad`` the elements
that are added on both sides of each dimension. Earlier versions of Theano said ``ds``, ``st`` and ``padding``.
"""
import warnings

from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise.elementwise_functions import maximum, switch
from phintys.ops.indexing.constant_value import extract_constant
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import int_dtypes

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def checked_mode(mode):
    """One of ``MODES``; "max_deterministic" is the same as "max", which is always deterministic."""
    if mode == "max_deterministic":
        return "max"
    if mode not in MODES:
        raise ValueError(f"Pool mode parameter only support 'max', 'sum', 'average_inc_pad' and 'average_exc_pad'. Got "
                         f"{mode}")
    return mode


def arguments_of(ndim, ws, stride, pad, ds, st, padding, levels=3):
    """Sizes, steps and paddings, each of which may be given by its old name.

    Parameters
    ----------
    ndim : int
        How many dimensions are pooled.
    ws, stride, pad : sequence of int, Variable or None
    ds, st, padding : sequence of int, Variable or None
        The same under their old names.
    levels : int
        How many functions are between the user's line and the warnings.

    Raises
    ------
    ValueError
        If both names of one are given, or no size.
    """
    ws = _named("ws", ws, "ds", ds, ws is not None, levels)
    stride = _named("stride", stride, "st", st, stride is not None, levels)
    nothing = pad is None or isinstance(pad, (tuple, list)) and tuple(pad) == (0,) * ndim
    pad = _named("pad", pad, "padding", padding, not nothing, levels)
    if ws is None:
        raise ValueError("You must provide a tuple value for the window size.")
    return ws, stride, pad


def _named(name, value, old_name, old_value, is_given, levels):
    if old_value is None:
        return value
    if is_given:
        raise ValueError(f"You can't provide a tuple value to both '{name}' and '{old_name}'. Please provide a value "
                         f"only to '{name}'.")
    warnings.warn(f"DEPRECATION: the '{old_name}' parameter is not going to exist anymore as it is going to be "
                  f"replaced by the parameter '{name}'.", stacklevel=levels + 1)
    return old_value


def check_known(ndim, ws, pad, ignore_border):
    """Raise ``NotImplementedError`` for paddings that are known to be impossible; others are refused at run time."""
    if not isinstance(pad, (tuple, list)) or any(isinstance(number, Variable) for number in pad):
        return
    if any(pad) and not ignore_border:
        raise NotImplementedError(f"padding works only with ignore_border=True, got pad = {tuple(pad)}")
    if isinstance(ws, (tuple, list)) and not any(isinstance(number, Variable) for number in ws):
        if any(padding >= size >= 1 for padding, size in zip(pad, ws)):
            raise NotImplementedError(f"padding must be smaller than the window: got pad = {tuple(pad)} and ws = "
                                      f"{tuple(ws)}")


def as_vectors(ndim, ws, stride, pad):
    """The three as variables: vectors of signed integers.

    Raises
    ------
    TypeError
        If one is not such a vector.
    ValueError
        If the known length of one is not ``ndim``, or a constant has a number that is too small.
    """
    if stride is None:
        stride = ws
    if pad is None:
        pad = (0,) * ndim
    named = [(name, as_tensor_variable(value)) for name, value in (("ws", ws), ("stride", stride), ("pad", pad))]
    for name, vector in named:
        if vector.type.ndim != 1:
            raise TypeError(f"{name} must be a vector with a number for each pooled dimension, got {vector} of type "
                            f"{vector.type}")
        if vector.type.dtype not in int_dtypes:
            subject = {"ws": "Pool downsample", "stride": "Stride", "pad": "Padding"}[name]
            raise TypeError(f"{subject} parameters must be ints. Got {name} of type {vector.type}")
        if vector.type.shape[0] not in (None, ndim):
            raise ValueError(f"{name} must be a vector of size {ndim}, got {vector} of type {vector.type}")
        least = 0 if name == "pad" else 1
        if isinstance(vector, Constant) and (vector.data < least).any():
            wrong = {"ws": "window sizes must be at least 1", "stride": "strides must be at least 1",
                     "pad": "paddings must not be negative"}[name]
            raise ValueError(f"{wrong}, got {name} = {vector.data.tolist()}")
    return [vector for _, vector in named]


def numbers_of(vector, ndim):
    """The numbers of a vector: ints if it is a constant."""
    if isinstance(vector, Constant):
        return vector.data.tolist()
    return [vector[axis] for axis in range(ndim)]


def shape_of_results(imgshape, ws, ignore_border, stride, pad, ndim):
    """The lengths of the result of pooling: ints where all is known, else variables; see ``Pool.out_shape``."""
    lengths = [_known(extract_constant(length)) for length in imgshape[-ndim:]]
    pooled = [_windows(length, ws[axis], stride[axis], pad[axis], ignore_border)
              for axis, length in enumerate(lengths)]
    return list(imgshape[:-ndim]) + pooled


def _known(number):
    return number if isinstance(number, Variable) else int(number)


def _windows(length, window, step, pad, ignore_border):
    """The number of windows in one dimension."""
    padded = length if not isinstance(pad, Variable) and pad == 0 else length + 2 * pad
    if not any(isinstance(number, Variable) for number in (padded, window, step)):
        return _known_windows(padded, window, step, ignore_border)
    if ignore_border:
        return maximum((padded - window) // step + 1, 0)
    begun = (padded - 1) // step + 1                            # a window at each step, if windows do not overlap
    overlapping = maximum(0, (padded - 1 - window) // step + 1) + switch(padded > 0, 1, 0)
    if isinstance(step, Variable) or isinstance(window, Variable):
        return switch(step >= window, begun, overlapping)
    return begun if step >= window else overlapping


def _known_windows(padded, window, step, ignore_border):
    if ignore_border:
        return max((padded - window) // step + 1, 0)
    if step >= window:
        return (padded - 1) // step + 1
    return max(0, (padded - 1 - window) // step + 1) + (padded > 0)
