"""``function`` compiles variables to a callable.

It checks the arguments, gives the function a name and passes everything to ``FunctionMaker``.
"""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from phintys.graph import hooks
from phintys.graph.errors import UnusedInputError, made_at
from phintys.graph.garbage import garbage_kept
from phintys.graph.variable import Constant, Variable
from phintys.io import In, check_truths
from phintys.making.function_dump import function_dump
from phintys.making.function_maker import FunctionMaker, wrap_in
from phintys.making.rebuild import pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.io import SymbolicInput, SymbolicOutput
    from phintys.making.compiled_function import Function
    from phintys.modes import Mode
    from phintys.reports.profile_stats import ProfileStats
    from phintys.updates import Pairs
__all__ = ["convert_function_input", "function", "function_dump"]


def function(inputs: Sequence[Variable | SymbolicInput | tuple[Any, ...]],
             outputs: None | Variable | SymbolicOutput | Sequence[Variable | SymbolicOutput]
             | Mapping[str, Variable | SymbolicOutput] = None,
             mode: str | Mode | None = None, updates: Pairs | None = None, givens: Pairs | None = None,
             no_default_updates: bool | list[Variable] = False, accept_inplace: bool = False, name: str | None = None,
             rebuild_strict: bool = True, allow_input_downcast: bool | None = None,
             profile: ProfileStats | str | bool | None = None,
             on_unused_input: Literal["raise", "warn", "ignore"] | None = None) -> Function:
    """Compile a function that computes ``outputs`` from ``inputs`` and then applies ``updates``.

    Parameters
    ----------
    inputs : list of Variable or In
        The arguments of the call, without shared variables, which are found in the graph. An `In` may give an argument
        a default, or make it a state that keeps its updates; see also ``convert_function_input``.
    outputs : None, Variable, Out, list or dict of them
        What a call returns: None gives an empty list, one variable its value, a list a list, a dictionary (with strings
        as keys) a dictionary.
    mode : str or Mode, optional
        How to optimise and link; ``config.mode`` by default.
    updates : dict, OrderedUpdates or pairs
        Shared variable, or a part of one (``s[1]``), → its value after the call. All new values are computed from the
        old ones. A call that fails changes nothing.
    givens : dict or pairs
        Variable → its replacement in this function.
    no_default_updates : bool or list of Variable
        True: no ``default_update`` of a shared variable is applied. A list: those of the listed variables are not
        applied.
    accept_inplace : bool
        Whether the graph may contain ops that overwrite their inputs. They then overwrite arguments too, if that
        changes no other result; shared variables are copied first.
    name : str, optional
        Used in messages and listings; by default file and line of the caller.
    rebuild_strict : bool
        Replacements in ``givens`` must have the types of the variables that they replace; if False, nodes are made
        anew.
    allow_input_downcast : bool or None
        Convert arguments even where that loses precision. None: only Python floats to ``config.floatX``.
    profile : None, bool, str or ProfileStats
        Measure the calls, and each operation in them: ``f.profile.summary()`` prints a report. A string is its title. A
        `ProfileStats` of several functions adds them up. None: as ``config.profile`` says.
    on_unused_input : {'raise', 'warn', 'ignore', None}
        What to do about an input that is not needed; ``config.on_unused_input`` by default.

    Returns
    -------
    Function
        A callable. Results are new arrays; 0-d results are 0-d arrays.

    Raises
    ------
    TypeError
        An input, output or update is of the wrong kind, or an update, replacement or default has another type.
    UnusedInputError
        An input is given twice, or not needed.
    MissingInputError
        A needed variable is neither an input, a constant nor shared.
    ValueError, RuntimeError, AssertionError
        The updates or givens are malformed, replace an input, or depend on each other.

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> f = phintys.function([x, phintys.In(y, value=[10.0, 20.0])], x + y)
    >>> f([1, 2])
    array([11., 22.])
    >>> f([1, 2], y=[3, 4])
    array([4., 6.])
    >>> count = phintys.shared(0)
    >>> advance = phintys.function([], count, updates={count: count + 1})
    >>> advance(), advance(), count.get_value()
    (array(0), array(1), array(2))
    """
    if os.environ.get("THEANO_FLAGS"):
        hooks.theano_flags_are_set()
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Input variables of a phintys function should be contained in a list, even when there is a "
                        f"single input; got {inputs!r}")
    if not isinstance(no_default_updates, (bool, list)):
        raise TypeError(f"no_default_updates should be either a boolean or a list, got {no_default_updates!r}")
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"the name of a function must be a string, got {name!r}")
    check_truths(accept_inplace=accept_inplace, rebuild_strict=rebuild_strict,
                 allow_input_downcast=allow_input_downcast)
    _check_update_pairs(updates)
    specs = [_as_in(spec, allow_input_downcast) for spec in inputs]
    _check_duplicates(specs)
    _check_givens(givens, specs)
    outputs, output_keys = _keys_apart(outputs)
    name = _calling_line() if name is None else name
    with garbage_kept():
        return FunctionMaker(specs, outputs, mode, accept_inplace=accept_inplace, profile=profile,
                             on_unused_input=on_unused_input, output_keys=output_keys, name=name, updates=updates,
                             givens=givens, rebuild_strict=rebuild_strict,
                             no_default_updates=no_default_updates).create()


def _calling_line():
    """Return ``file:line`` of the innermost caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "phintys":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _check_update_pairs(updates):
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs(updates)):
        raise ValueError("The updates parameter must be an OrderedDict/dict or a list of lists/tuples with 2 elements, "
                         f"got {updates!r}")


def _as_in(spec, allow_downcast):
    if isinstance(spec, Constant):
        raise TypeError(f"Constants not allowed in param list: {spec} has a fixed value, so it cannot be an input")
    if isinstance(spec, Variable):
        return In(spec, allow_downcast=allow_downcast)
    return convert_function_input(spec)


def convert_function_input(spec: SymbolicInput | Variable | tuple[Any, ...] | list[Any]) -> SymbolicInput:
    """Convert an input to `In`; Theano's old tuples are accepted.

    Parameters
    ----------
    spec : SymbolicInput, Variable, tuple or list
        A tuple is ``(variable, value)``, ``((variable, update), value)`` or one of them after a name, or
        ``(name, variable)``.

    Raises
    ------
    TypeError
        If it is anything else.

    Examples
    --------
    >>> phintys.compile.convert_function_input((T.dscalar("x"), 3.0)).value
    3.0
    """
    if not isinstance(spec, (tuple, list)):
        return wrap_in(spec)
    parts = list(spec)
    name = parts.pop(0) if parts and isinstance(parts[0], str) else None
    variable, value = [*parts, None][:2] if len(parts) in (1, 2) else (None, None)
    update = None
    if isinstance(variable, (tuple, list)) and len(variable) == 2 and len(parts) == 2:
        variable, update = variable
    if not isinstance(variable, Variable) or isinstance(value, Variable):
        raise TypeError(f"The input specification is not valid: {spec!r}; expected a Variable, an In instance or "
                        "(name, (variable, update), value), of which name and update may be left out")
    return In(variable, name=name, value=value, update=update)


def _check_duplicates(specs):
    first = {}
    for position, spec in enumerate(specs):
        if spec.variable in first:
            raise UnusedInputError(f"Variable {spec.variable}{made_at(spec.variable)} is used twice in inputs to "
                                   f"phintys.function, at indices {first[spec.variable]} and {position}. This would "
                                   "result in values provided for it being ignored. Please do not duplicate variables "
                                   "in the inputs list.")
        first[spec.variable] = position


def _check_givens(givens, specs):
    inputs = {spec.variable for spec in specs}
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs(givens)):
        raise ValueError("The givens parameter must be a dict or a list of lists/tuples with 2 elements, "
                         f"got {givens!r}")
    for replaced, replacement in pairs(givens):
        if isinstance(replaced, Variable) and replaced in inputs:
            where = made_at(replacement) if isinstance(replacement, Variable) else ""
            raise RuntimeError(f"You are trying to replace variable '{replaced}'{made_at(replaced)} by {replacement}"
                               f"{where} through the `givens` parameter, but this variable is an input to your "
                               "function. Replacing inputs is currently forbidden because it has no effect. One way to "
                               "modify an input `x` to a function evaluating f(x) is to define a new input `y` and use "
                               "`phintys.function([y], f(x), givens={x: g(y)})`. Another solution consists in using "
                               "`phintys.clone`, e.g. like this: "
                               "`phintys.function([x], phintys.clone(f(x), replace={x: g(x)}))`.")


def _keys_apart(outputs):
    """Return outputs as ``FunctionMaker`` takes them, and the keys if they came in a dictionary."""
    if outputs is None:
        return [], None
    if not isinstance(outputs, dict):
        return outputs, None
    wrong = [key for key in outputs if not isinstance(key, str)]
    if wrong:
        raise AssertionError(f"keys of the outputs must be strings, got {wrong}")
    keys = sorted(outputs)
    return [outputs[key] for key in keys], keys
