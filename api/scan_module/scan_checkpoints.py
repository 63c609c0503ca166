"""``scan_checkpoints``: a loop of loops, which keeps every N-th state for the gradient and recomputes the others."""
from __future__ import annotations

from functools import update_wrapper
from math import isqrt
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.variable import Variable
from phintys.ops.creation.allocation import alloc, arange
from phintys.ops.elementwise import scalar as elementwise
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.identity.assertion import Assert
from phintys.ops.loops.first_rows import FirstRows, first_rows
from phintys.ops.loops.loop import LoopOptions
from phintys.ops.shape.join import join
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import constant
from phintys.ops.types.dtypes import integer_dtypes
from phintys.scan_module.body_call import result_of
from phintys.scan_module.body_results import until
from phintys.scan_module.loop_arguments import as_list, integer, known_number, read_input, read_steps
from phintys.scan_module.scan import check_count, made_loop, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.updates import OrderedUpdates

ONE_LENGTH = "all sequences of scan_checkpoints have the same length, here that of the first one"
WHOLE_BLOCKS = ("without padding, scan_checkpoints takes sequences of n_steps rows, and n_steps is a multiple of "
                "save_every_N")


def scan_checkpoints(fn: Callable[..., Any], sequences: Any = [],  # noqa: B006  (Theano's signature; never changed)
                     outputs_info: Any = None, non_sequences: Any = [], name: str = "checkpointscan_fn",  # noqa: B006
                     n_steps: Any = None, save_every_N: Any = 10,
                     padding: bool = True) -> tuple[Any, OrderedUpdates]:
    """A loop whose gradient takes less memory, by computing most states a second time.

    ``scan`` keeps the states of all steps for the gradient; this function keeps those of every N-th step and, while the
    gradient is computed, those of N steps.

    Parameters
    ----------
    fn : callable
        As of ``scan``. A condition (``until``) ends the loop after the step that makes it true.
    sequences : variable or list of variables
        All of one length, without taps.
    outputs_info : variable, None, or list of them
        As of ``scan``, without taps.
    non_sequences : variable or list
        As of ``scan``.
    name : str
    n_steps : int or integer scalar, optional
        The length of the sequences if there are any; fewer: their first rows.
    save_every_N : int, integer scalar or "sqrt"
        The number of steps that are computed again from one kept state, at least 1. "sqrt": the square root of the
        number of steps, rounded up, with which the fewest states are in memory at once.
    padding : bool
        Fill the sequences with zeros (which are not used) to a multiple of ``save_every_N``, which copies them. With
        False their length must be such a multiple.

    Returns
    -------
    outputs : TensorVariable or list of TensorVariable
        The rows of every N-th step, and of the last one.
    updates : OrderedUpdates

    Raises
    ------
    RuntimeError
        If an output has taps.
    ValueError
        If nothing says how many steps there are, or ``save_every_N`` is below 1. When it runs: if the sequences differ
        in length, have fewer than ``n_steps`` rows, or do not fill whole blocks and are not padded.
    TypeError
        If ``save_every_N`` is not an integer.

    Examples
    --------
    >>> start, w = T.dvector("start"), T.dmatrix("w")
    >>> states, updates = phintys.scan_checkpoints(lambda state, w: T.tanh(T.dot(w, state)), [], start, w, n_steps=1000,
    ...                                            save_every_N="sqrt")
    >>> gradient = T.grad(states[-1].sum(), w)
    """
    sequences = list(_without_taps(as_list(sequences)))
    outputs_info, non_sequences = as_list(outputs_info), as_list(non_sequences)
    if save_every_N != "sqrt":
        save_every_N = _read_size(save_every_N)
    for element in outputs_info:
        if isinstance(element, dict) and element.get("taps") is not None:
            raise RuntimeError("scan_checkpoints doesn't work with taps.")
    steps, sequences = _steps_and_sequences(read_steps(n_steps), sequences)
    size = _square_root(steps) if isinstance(save_every_N, str) else save_every_N
    count = elementwise.minimum(steps, (steps + (size - 1)) // size)       # the former if it is negative: scan refuses
    lengths = elementwise.minimum(steps - size * arange(count), size)
    blocks = [_in_blocks(sequence, steps, count, size, padding) for sequence in sequences]
    n_states = sum([_is_state(info) for info in outputs_info])
    step = _Step(fn, len(outputs_info))

    def block(*arguments):
        rows, length = list(arguments[:len(blocks)]), arguments[len(blocks)]
        states = iter(arguments[len(blocks) + 1:len(blocks) + 1 + n_states])
        inner_info = [next(states) if _is_state(info) else None for info in outputs_info]
        results, updates = made_loop(step, rows, inner_info and [*inner_info, None],
                                     list(arguments[len(blocks) + 1 + n_states:]), length,
                                     LoopOptions(allow_gc=config.scan.allow_gc, needs_step=True),
                                     name=f"{name}_inner", return_list=True)
        *outputs, ends = [result[-1] for result in results]
        return [outputs, updates, until(ends)] if step.may_end and known_number(count) != 1 else [outputs, updates]

    return scan(block, [*blocks, lengths], outputs_info, non_sequences, count, name=f"{name}_outer", allow_gc=True)


class _Step:
    """The function of a step; the condition is its last output too, because it also ends the outer loop.

    Attributes
    ----------
    may_end : bool
        Whether the function, which has been called, has a condition.
    """

    def __init__(self, fn, count):
        self.fn, self.count, self.may_end = fn, count, False
        update_wrapper(self, fn)                        # scan reads the signature, and names the function in errors

    def __call__(self, *arguments):
        outputs, updates, condition = result_of(self.fn, arguments)
        if self.count:
            check_count(self.fn, outputs, self.count)
        self.may_end = condition is not None
        ends = constant(False) if condition is None else elementwise.neq(condition, 0)
        return [[*outputs, ends], updates, *([until(condition)] if self.may_end else [])]


def _read_size(save_every_N):
    rule = "save_every_N is an integer, at least 1"
    is_variable = isinstance(save_every_N, Variable)
    if not is_variable:
        save_every_N = integer(save_every_N, rule)
    elif save_every_N.type.ndim or save_every_N.type.dtype not in integer_dtypes:
        raise TypeError(f"{rule}, got {save_every_N} of type {save_every_N.type}")
    known = known_number(save_every_N)
    if known is not None and known < 1:
        raise ValueError(f"{rule}, got {known}")
    return Assert(rule)(save_every_N, save_every_N >= 1) if is_variable else save_every_N


def _square_root(steps):
    """The square root of a number of steps, rounded up, and at least 1."""
    known = known_number(steps)
    if known is not None:
        return isqrt(max(known - 1, 0)) + 1
    return cast(elementwise.ceil(elementwise.sqrt(elementwise.maximum(steps, 1))), "int64")


def _is_state(info):
    return info is not None and not (isinstance(info, dict) and info.get("initial") is None)


def _without_taps(sequences):
    for tensor, taps in map(read_input, sequences):
        if taps is not None:
            raise RuntimeError("scan_checkpoints doesn't work with taps.")
        yield tensor


def _steps_and_sequences(steps, sequences):
    """The number of steps, and the sequences, which are checked to have the same length, and at least this one."""
    if sequences:
        length = shape_i(sequences[0], 0)
        same_length = FirstRows(ONE_LENGTH)
        sequences = [sequences[0], *[same_length(sequence, length) for sequence in sequences[1:]]]
    if steps is not None:
        return steps, [first_rows(sequence, steps) for sequence in sequences]
    if not sequences:
        raise ValueError("No information about the number of steps provided. Either provide a value for n_steps "
                         "argument of scan_checkpoints or provide an input sequence")
    return length, sequences


def _in_blocks(sequence, steps, count, size, padding):
    """A sequence as blocks of ``size`` rows."""
    lengths = [shape_i(sequence, axis) for axis in range(sequence.type.ndim)]
    if padding:
        missing = elementwise.maximum(count * size - steps, 0)
        zeros = alloc(constant(0, dtype=sequence.type.dtype), missing, *lengths[1:])
        sequence = join(0, sequence, zeros)
    else:
        sequence = FirstRows(WHOLE_BLOCKS)(sequence, count * size)
    return reshape(sequence, [count, size, *lengths[1:]], ndim=sequence.type.ndim + 1)
