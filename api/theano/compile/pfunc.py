"""Theano's ``compile.pfunc``: ``function`` with the first argument's old name, and ``rebuild_collect_shared``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from phintys.function import function
from phintys.graph.variable import Variable
from phintys.io import In, Param
from phintys.making.rebuild import pairs as iter_over_pairs
from phintys.making.rebuild import rebuild

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.io import SymbolicInput, SymbolicOutput
    from phintys.making.compiled_function import Function
    from phintys.modes import Mode
    from phintys.reports.profile_stats import ProfileStats
    from phintys.updates import Pairs

__all__ = ["In", "Param", "iter_over_pairs", "pfunc", "rebuild_collect_shared"]


def pfunc(params: Sequence[Variable | SymbolicInput | tuple[Any, ...]],
          outputs: None | Variable | SymbolicOutput | Sequence[Variable | SymbolicOutput]
          | Mapping[str, Variable | SymbolicOutput] = None,
          mode: str | Mode | None = None, updates: Pairs | None = None, givens: Pairs | None = None,
          no_default_updates: bool | list[Variable] = False, accept_inplace: bool = False, name: str | None = None,
          rebuild_strict: bool = True, allow_input_downcast: bool | None = None,
          profile: ProfileStats | str | bool | None = None,
          on_unused_input: Literal["raise", "warn", "ignore"] | None = None,
          output_keys: Sequence[str] | None = None) -> Function:
    """Compile a function: ``phintys.function``, whose inputs are called ``params`` here.

    Parameters
    ----------
    params : list of Variable or In
    output_keys : list of str, optional
        One for each of ``outputs``, which must be a list; calls then return a dictionary with these keys.
    outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict, allow_input_downcast, \
    profile, on_unused_input
        As in ``phintys.function``.

    Returns
    -------
    Function

    Raises
    ------
    ValueError
        If there are not as many keys as outputs; other errors as ``phintys.function``.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.compile.pfunc([x], x * 2)(3)
    array(6.)
    """
    if output_keys is not None:
        given: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if len(given) != len(output_keys):
            raise ValueError(f"pfunc: {len(output_keys)} output_keys for {len(given)} outputs: {output_keys!r}")
        outputs = dict(zip(output_keys, given))
    return function(params, outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict,
                    allow_input_downcast, profile, on_unused_input)


def rebuild_collect_shared(
        outputs: None | Variable | SymbolicOutput | Sequence[Variable | SymbolicOutput],
        inputs: Sequence[Variable] | None = None, replace: Pairs | None = None, updates: Pairs | None = None,
        rebuild_strict: bool = True, copy_inputs_over: bool = True, no_default_updates: bool | list[Variable] = False,
) -> tuple[list[Variable], Variable | list[Variable], list[Any]]:
    """Copy a graph, with replacements, updates and the shared variables that it reads.

    Parameters
    ----------
    outputs : None, Variable, Out, or list of them
    inputs : list of Variable, optional
        The variables where the graph is cut.
    replace, updates : dict or pairs, optional
        Variable → its replacement; shared variable → its new value.
    rebuild_strict : bool
        Replacements must have the type of what they replace.
    copy_inputs_over : bool
        Accepted for compatibility with Theano: the copy always has its own inputs.
    no_default_updates : bool or list of Variable
        The variables whose ``default_update`` is ignored; True: all.

    Returns
    -------
    tuple (list, Variable or list, list)
        Copied inputs; copied outputs, in the form of ``outputs``; and a list: dict from the given variables to their
        copies, dict of updates, dict of their copies, shared variables.

    Examples
    --------
    >>> x, weights = T.dvector("x"), phintys.shared(numpy.array([1.0, 2.0]), "weights")
    >>> inputs, outputs, rest = phintys.compile.rebuild_collect_shared(x * weights, inputs=[x])
    >>> rest[3]
    [<shared weights: float64 (2,), [1. 2.]>]
    """
    inputs = list(inputs or ())
    many = isinstance(outputs, (list, tuple))
    given: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [] if outputs is None else [outputs]
    variables = [output if isinstance(output, Variable) else output.variable for output in given]
    rebuilt = rebuild(variables, inputs, replace, updates, rebuild_strict, no_default_updates)
    copies = {**dict(zip(inputs, rebuilt.inputs)), **dict(zip(variables, rebuilt.outputs)), **rebuilt.shared}
    made = rebuilt.outputs if many else rebuilt.outputs[0] if given else []
    return rebuilt.inputs, made, [copies, rebuilt.new_values, rebuilt.updates, list(rebuilt.shared)]
