"""``map``, ``reduce``, ``foldl`` and ``foldr``: loops of common kinds, made by ``scan``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.scan_module.scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.modes import Mode


def map(fn: Callable[..., Any], sequences: Any, non_sequences: Any = None, truncate_gradient: int = -1,
        go_backwards: bool = False, mode: str | Mode | None = None, name: str | None = None,
        return_updates: bool = True) -> Any:
    """Apply a function to each row of some sequences, as Python's ``map``.

    Parameters
    ----------
    fn : callable
        Gets a row of each sequence, and the ``non_sequences``.
    sequences, non_sequences, truncate_gradient, go_backwards, mode, name, return_updates
        As of ``scan``.

    Returns
    -------
    outputs, updates
        As of ``scan``.

    Examples
    --------
    >>> matrix = T.dmatrix("matrix")
    >>> lengths, updates = phintys.map(lambda row: T.sqrt((row ** 2).sum()), matrix)
    >>> lengths.eval({matrix: [[3, 4], [6, 8]]})
    array([ 5., 10.])
    """
    return scan(fn, sequences, [], non_sequences, truncate_gradient=truncate_gradient, go_backwards=go_backwards,
                mode=mode, name=name, return_updates=return_updates)


def reduce(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
           go_backwards: bool = False, mode: str | Mode | None = None, name: str | None = None,
           return_updates: bool = True) -> Any:
    """The state after the last row, as Python's ``reduce``.

    Parameters
    ----------
    fn : callable
        Gets a row of each sequence, the outputs of the previous step, and the ``non_sequences``.
    sequences, outputs_info, non_sequences, go_backwards, mode, name, return_updates
        As of ``scan``.

    Returns
    -------
    outputs : TensorVariable or list of TensorVariable
        Of the last step. There must be one: with no rows it raises IndexError when it runs.
    updates : OrderedUpdates

    Examples
    --------
    >>> vector = T.dvector("vector")
    >>> total, updates = phintys.reduce(lambda x, total: total + x, vector,
    ...                                 T.constant(0, dtype="float64"))
    >>> total.eval({vector: [1, 2, 3]})
    array(6.)
    """
    found = scan(fn, sequences, outputs_info, non_sequences, go_backwards=go_backwards, truncate_gradient=-1,
                 mode=mode, name=name, return_updates=return_updates)
    if not return_updates:
        return _last_rows(found)
    outputs, updates = found
    return _last_rows(outputs), updates


def _last_rows(outputs):
    return [rows[-1] for rows in outputs] if isinstance(outputs, (list, tuple)) else outputs[-1]


def foldl(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
          mode: str | Mode | None = None, name: str | None = None, return_updates: bool = True) -> Any:
    """``reduce`` from the first row to the last, as Haskell's ``foldl``.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, mode, name, return_updates
        As of ``reduce``.

    Returns
    -------
    outputs, updates
        As of ``reduce``.

    Examples
    --------
    >>> total, updates = phintys.foldl(lambda row, total: 10 * total + row, T.as_tensor([1, 2, 3]),
    ...                            T.constant(0, dtype="int64"))
    >>> total.eval()
    array(123)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, False, mode, name, return_updates)


def foldr(fn: Callable[..., Any], sequences: Any, outputs_info: Any, non_sequences: Any = None,
          mode: str | Mode | None = None, name: str | None = None, return_updates: bool = True) -> Any:
    """``reduce`` from the last row to the first, as Haskell's ``foldr``.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, mode, name, return_updates
        As of ``reduce``.

    Returns
    -------
    outputs, updates
        As of ``reduce``.

    Examples
    --------
    >>> total, updates = phintys.foldr(lambda row, total: 10 * total + row, T.as_tensor([1, 2, 3]),
    ...                            T.constant(0, dtype="int64"))
    >>> total.eval()
    array(321)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, True, mode, name, return_updates)
