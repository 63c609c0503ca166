"""The results that the function of a loop's body may return: outputs, updates, and a condition.

Outputs are a variable or a list of variables, updates a dictionary or a list of pairs, the condition is wrapped in
``until``. Each of them may be missing. Outputs and updates may come in either order; the condition comes last.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.ops.types.constant import as_tensor_variable
from phintys.updates import shared_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.shared import SharedVariable


@at_home
class until:
    """The condition that ends a loop: it is tested after each step, and the step that makes it true is the last.

    Parameters
    ----------
    condition : Variable
        A scalar; computed from the arguments of the body.

    Examples
    --------
    >>> values, updates = phintys.scan(
    ...     lambda before: (before * 2, phintys.scan_module.until(before > 10)),
    ...     outputs_info=T.constant(1.0, dtype="float64"), n_steps=100)
    >>> values.eval()
    array([ 2.,  4.,  8., 16., 32.])
    """

    def __init__(self, condition: Variable) -> None:
        self.condition = as_tensor_variable(condition)
        if self.condition.type.ndim != 0:
            raise ValueError(f"the condition of a loop must be a scalar, got one with {self.condition.type.ndim} "
                             f"dimensions: {self.condition}")


def _is_outputs(element):
    return isinstance(element, Variable) or (isinstance(element, (list, tuple))
                                             and all([isinstance(entry, Variable) for entry in element]))


def _is_updates(element):
    if isinstance(element, dict):
        return True
    return isinstance(element, (list, tuple)) and all([_is_pair(entry) for entry in element])


def _is_pair(entry):
    """Whether it is a shared variable, or a part of one, with its new value. Two outputs are not, nor two lists."""
    return (isinstance(entry, (list, tuple)) and len(entry) == 2 and shared_of(entry[0]) is not None
            and not isinstance(entry[1], (list, tuple)))


def _is_condition(element):
    return isinstance(element, until)


KINDS = (("outputs", _is_outputs), ("updates", _is_updates), ("condition", _is_condition))


def separated(returned: Variable | Mapping[SharedVariable, Variable] | Sequence[Any]) -> tuple[Any, ...]:
    """The outputs, updates and condition that a body returned.

    Parameters
    ----------
    returned : object

    Returns
    -------
    tuple of (list of Variable, list of (SharedVariable, Variable), Variable or None)

    Raises
    ------
    ValueError
        If it holds anything else, or the order is wrong.
    """
    if not _only_known(returned):
        raise ValueError("The return value of your scan lambda expression may only be made of lists, tuples, or "
                         "dictionaries containing phintys variables (or `phintys.scan_module.until` objects for "
                         "conditions). In particular if you need to use constant values, you can use "
                         f"`tensor.constant` to turn them into phintys variables. Got {returned!r}")
    if _is_outputs(returned):
        return _as_list(returned), [], None
    if _is_updates(returned):
        return [], _pairs(returned), None
    if _is_condition(returned):
        return [], [], returned.condition
    return _of_several(returned)


def _of_several(returned):
    error = f"Scan cannot parse the return value of your lambda expression, which is: {returned!r}"
    if not isinstance(returned, (list, tuple)) or not 1 <= len(returned) <= len(KINDS):
        raise ValueError(error + ". Expected outputs, updates, and a condition wrapped in `until`, in this order")
    found = {}
    for element in returned:
        kinds = [name for name, test in KINDS if test(element) and name not in found]
        if isinstance(element, (list, tuple)) and not element:      # neither outputs nor updates
            continue
        if not kinds or "condition" in found:
            raise ValueError(error + _hint(returned))
        found[kinds[0]] = element
    condition = found.get("condition")
    return (_as_list(found.get("outputs", [])), _pairs(found.get("updates", ())),
            None if condition is None else condition.condition)


def _hint(returned):
    if any([_is_condition(element) for element in returned[:-1]]):
        return ". The condition (`until`) must be the last thing that the function returns"
    if sum([isinstance(element, Variable) for element in returned]) > 1:
        return ". Several outputs together with updates or a condition have to be one list"
    return ". You have to return outputs (if any) and updates (if any), each once, and at the end the condition"


def _as_list(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _pairs(updates):
    return list(updates.items()) if isinstance(updates, dict) else [tuple(pair) for pair in updates]


def _only_known(value):
    """Whether a value is made of lists, tuples, dictionaries, variables and conditions only."""
    if isinstance(value, dict):
        return all([_only_known(pair) for pair in value.items()])
    if isinstance(value, (list, tuple)):
        return all([_only_known(entry) for entry in value])
    return isinstance(value, (Variable, until))
