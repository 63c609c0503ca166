"""``scan_checkpoints``: a loop of loops, which keeps every N-th state for the gradient and recomputes the others."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.ops.creation.allocation import alloc, ones
from phintys.ops.elementwise import scalar as elementwise
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.shape.join import join
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.scan_module.loop_arguments import as_list
from phintys.scan_module.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.updates import OrderedUpdates


def scan_checkpoints(fn: Callable[..., Any], sequences: Any = [],  # noqa: B006  (Theano's signature; never changed)
                     outputs_info: Any = None, non_sequences: Any = [], name: str = "checkpointscan_fn",  # noqa: B006
                     n_steps: Any = None, save_every_N: int = 10,
                     padding: bool = True) -> tuple[Any, OrderedUpdates]:
    """A loop whose gradient takes less memory, by computing most states a second time.

    ``scan`` keeps the states of all steps for the gradient; this function keeps those of every N-th step and, while the
    gradient is computed, those of N steps.

    Parameters
    ----------
    fn : callable
        As of ``scan``.
    sequences : variable or list of variables
        All of one length, without taps.
    outputs_info : variable, None, or list of them
        As of ``scan``, without taps.
    non_sequences : variable or list
        As of ``scan``.
    name : str
    n_steps : int or integer scalar, optional
        Positive; the length of the sequences if there are any.
    save_every_N : int
        The number of steps that are computed again from one kept state.
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
        If nothing says how many steps there are.

    Examples
    --------
    >>> start, w = T.dvector("start"), T.dmatrix("w")
    >>> states, updates = phintys.scan_checkpoints(lambda state, w: T.tanh(T.dot(w, state)), [], start, w, n_steps=1000,
    ...                                            save_every_N=32)
    >>> gradient = T.grad(states[-1].sum(), w)
    """
    sequences = [as_tensor_variable(sequence) for sequence in _without_taps(as_list(sequences))]
    outputs_info = outputs_info if isinstance(outputs_info, list) else [outputs_info]
    non_sequences = as_list(non_sequences)
    for element in outputs_info:
        if isinstance(element, dict) and "taps" in element:
            raise RuntimeError("scan_checkpoints doesn't work with taps.")
    if n_steps is None:
        if not sequences:
            raise ValueError("No information about the number of steps provided. Either provide a value for n_steps "
                             "argument of scan_checkpoints or provide an input sequence")
        n_steps = shape_i(sequences[0], 0)
    n_steps = as_tensor_variable(n_steps).astype("int64")
    count = (n_steps + (save_every_N - 1)) // save_every_N
    blocks = [_in_blocks(sequence, count, save_every_N, padding) for sequence in sequences]
    lengths = set_subtensor((save_every_N * ones((count,), "int64"))[-1], n_steps - (count - 1) * save_every_N)
    n_states = sum([info is not None for info in outputs_info])

    def block(*arguments):
        rows, length = list(arguments[:len(blocks)]), arguments[len(blocks)]
        states = iter(arguments[len(blocks) + 1:len(blocks) + 1 + n_states])
        inner_info = [None if info is None else next(states) for info in outputs_info]
        results, updates = scan(fn, rows, inner_info, list(arguments[len(blocks) + 1 + n_states:]), length,
                                name=f"{name}_inner", return_list=True)
        return [result[-1] for result in results], updates

    return scan(block, [*blocks, lengths], outputs_info, non_sequences, count, name=f"{name}_outer", allow_gc=True)


def _without_taps(sequences):
    for sequence in sequences:
        if isinstance(sequence, dict):
            if "taps" in sequence:
                raise RuntimeError("scan_checkpoints doesn't work with taps.")
            sequence = sequence["input"]
        yield sequence


def _in_blocks(sequence, count, size, padding):
    """A sequence as blocks of ``size`` rows."""
    lengths = [shape_i(sequence, axis) for axis in range(sequence.type.ndim)]
    if padding:
        missing = elementwise.maximum(count * size - lengths[0], 0)
        zeros = alloc(constant(0, dtype=sequence.type.dtype), missing, *lengths[1:])
        sequence = join(0, sequence, zeros)
    return reshape(sequence, [count, size, *lengths[1:]], ndim=sequence.type.ndim + 1)
