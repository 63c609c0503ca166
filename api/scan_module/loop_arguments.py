"""The arguments of ``scan``: sequences, initial states and the number of steps, in one form each.

A user gives variables, arrays, dictionaries, or lists of them. Here they become ``Sequence`` and ``Output``, with the
inner variables that represent a row in the body. Errors in them are found here.
"""
from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import config
from phintys.graph.debug_values import get_test_value
from phintys.graph.errors import NotScalarConstantError, with_details
from phintys.graph.variable import Variable
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.loops.first_rows import EnoughRows
from phintys.ops.shape.shape import shape_padleft, unbroadcast
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes

if TYPE_CHECKING:
    from phintys.ops.operators import TensorVariable

OLD_KEYS = ("return_steps", "inplace")              # of Theano's first versions; the latter is what compilers find out


def integer(value: int, rule: str) -> int:
    """A Python integer; other values, also floats like 1.0, raise a TypeError that states the rule."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{rule}, got {value!r} of type {type(value).__name__}") from None


def _taps(given, default):
    return default if given is None else [integer(tap, "taps are integers") for tap in as_list(given)]


def as_list(value: Variable | Sequence[Variable | None] | None) -> list[Any]:
    """None as an empty list, a single object as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Sequence:
    """A tensor that a loop walks along, and the variables of its rows in the body.

    Attributes
    ----------
    taps : list of int
    rows : list of Variable
        For each tap the part of the tensor that has, at position t, the row of step t.
    inner : list of Variable
        For each tap the variable of a row.
    """

    def __init__(self, taps: list) -> None:
        self.taps = taps
        self.rows: list = []
        self.inner: list = []


class Output:
    """What is known about an output before the body is called.

    Attributes
    ----------
    initial : Variable or None
        The rows before the first step; None if there is no state.
    taps : list of int
    inner : list of Variable
    given : Variable or None
        The initial state as the user passed it, for messages.
    """

    def __init__(self, initial: Any = None, taps: Any = (), inner: Any = (), given: Any = None) -> None:
        self.initial, self.taps, self.inner, self.given = initial, list(taps), list(inner), given


# ---- sequences ---------------------------------------------------------------------------------------------------
def read_sequences(sequences: Variable | Sequence[Variable] | None, go_backwards: bool) -> list[Sequence]:
    """The sequences of a loop.

    Parameters
    ----------
    sequences : as of ``scan``
    go_backwards : bool
    """
    return [_read_sequence(given, go_backwards) for given in as_list(sequences)]


def read_input(given: Variable) -> tuple[Any, ...]:
    """The tensor of a sequence, and its taps as the user gave them; None if there are none."""
    taps, tensor = None, given
    if isinstance(given, dict):
        if "input" not in given or given.keys() - {"input", "taps"}:
            raise ValueError(f"a sequence is described by a dictionary with the keys 'input' and 'taps', got {given!r}")
        tensor, taps = given["input"], given.get("taps")
    tensor = as_tensor_variable(tensor)
    if not tensor.type.ndim:
        raise ValueError(f"scan walks along the first dimension of a sequence, but {tensor} is a scalar: pass it as "
                         "one of non_sequences")
    return tensor, taps


def _read_sequence(given, go_backwards):
    tensor, taps = read_input(given)
    taps = _taps(taps, [0])
    result = Sequence(taps)
    first, last = min([0, *taps]), max([0, *taps])
    reached = EnoughRows(last - first)(tensor) if last > first else tensor
    for tap in taps:
        start, end = tap - first, tap - last
        rows = tensor
        if start or end:
            rows = reached[start:end or None]
            rows.name = tensor.name and f"{tensor.name}[{start}:{end or ''}]"
        result.rows.append(rows[::-1] if go_backwards else rows)
        result.inner.append(_inner_variable(tensor[start], _tap_name(tensor.name, tap)))
    return result


def _tap_name(name, tap):
    if name is None:
        return None
    return f"{name}[t{tap:+d}]" if tap else f"{name}[t]"


def _inner_variable(value, name):
    """A leaf that represents ``value`` in the body, with its test value."""
    leaf = value.type.make_variable(name)
    if config.compute_test_value != "off":
        try:
            leaf.tag.test_value = get_test_value(value)
        except AttributeError:                      # the body complains if it needs it
            pass
    return leaf


# ---- outputs -----------------------------------------------------------------------------------------------------
def read_outputs(outputs_info: Variable | Sequence[Variable | None] | None) -> list[Output]:
    """The outputs of a loop that ``outputs_info`` describes.

    Parameters
    ----------
    outputs_info : as of ``scan``

    Raises
    ------
    ValueError
        If taps are given without an initial state, are not negative, or not different.
    """
    return [_read_output(given, position) for position, given in enumerate(as_list(outputs_info))]


def _read_output(given, position):
    if given is None:
        return Output()
    if not isinstance(given, dict):
        return _single_tap(given)
    unknown = given.keys() - {"initial", "taps", *OLD_KEYS}
    if unknown:
        raise ValueError(f"an output is described by a dictionary with the keys 'initial' and 'taps', got {given!r}")
    if given.get("return_steps") is not None:
        raise ValueError("Using `return_steps` has been deprecated. Simply select the entries you need using a "
                         "subtensor. Scan will optimize memory consumption, so do not worry about that.")
    if given.get("initial") is None:
        if given.get("taps") is not None:
            raise ValueError("If you are using slices of an output you need to provide a initial state for it: "
                             f"{given}")
        return Output()
    if "taps" in given and given["taps"] is None:
        tell("Output %s (index %d) has an initial state but taps is explicitly set to None: it means [-1]",
             getattr(given["initial"], "name", None), position)
    taps = _taps(given.get("taps"), [-1])
    _check_taps(taps, given)
    return _single_tap(given["initial"]) if taps == [-1] else _several_taps(given["initial"], taps)


def tell(message, *about):
    """Warn by the logger of ``scan``."""
    import logging  # costs 4 ms

    logging.getLogger("phintys.scan_module.scan").warning(message, *about)


def _check_taps(taps, given):
    if not taps:
        raise ValueError(f"There must be at least one tap in `outputs_info`: {given}")
    if len(taps) > len(set(taps)):
        raise ValueError(f"All the taps must be different in `outputs_info`: {given}")
    if any([tap >= 0 for tap in taps]):
        raise ValueError(f"All the tap values must be smaller than 0: {given}")


def _single_tap(given):
    initial = as_tensor_variable(given)
    inner = _inner_variable(initial, _tap_name(initial.name, -1))
    return Output(unbroadcast(shape_padleft(initial), 0), [-1], [inner], initial)


def _several_taps(given, taps):
    initial = as_tensor_variable(given)
    depth = -min(taps)
    if not initial.type.ndim:
        raise ValueError(f"the initial state of an output with the taps {taps} has a dimension more than the output, "
                         f"for {depth} earlier steps, but {initial} is a scalar")
    inner = [_inner_variable(initial[tap + depth], _tap_name(initial.name, tap)) for tap in taps]
    return Output(unbroadcast(initial[:depth], 0), taps, inner, initial)


# ---- steps -------------------------------------------------------------------------------------------------------
def read_steps(n_steps: Variable | int | None) -> TensorVariable | None:
    """The number of steps that the user gave.

    Returns
    -------
    Variable or None
        None if there is none: no value, NaN or infinity.

    Raises
    ------
    ValueError
        If it is not an integer scalar.
    """
    if n_steps is None or is_no_number(n_steps):
        return None
    try:
        steps = as_tensor_variable(n_steps)
    except TypeError as error:
        raise with_details(error, f"n_steps must be an integer scalar, got {n_steps!r}") from None
    if steps.type.dtype not in integer_dtypes:
        raise ValueError(f"n_steps must be an int. dtype provided is {steps.type.dtype}: {n_steps}")
    if steps.type.ndim:
        raise ValueError(f"n_steps must be a scalar, got {steps.type.ndim} dimensions: {steps}")
    return cast_op("int64")(steps) if steps.type.dtype != "int64" else steps


def is_no_number(value: Variable | float) -> bool:
    """Whether a value is known to be NaN or infinite."""
    known = known_number(value)
    return isinstance(known, (float, numpy.floating)) and not numpy.isfinite(known)


def known_number(value: Variable | float) -> numpy.generic | numpy.ndarray | None:
    """The number that a value is known to be before running, or None."""
    try:
        return get_scalar_constant_value(value) if isinstance(value, Variable) else numpy.asarray(value)[()]
    except NotScalarConstantError:
        return None
