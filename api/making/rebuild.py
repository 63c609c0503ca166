"""Copies the user's graph to a private one: collects shared variables, and applies replacements and updates.

``rebuild`` copies what the outputs and updates need, so that the user's graph is never changed. At the same time it
applies ``givens``, finds the shared variables that are read, and follows their default updates, which may add more of
both. The copies of the inputs cut the graph: the nodes that compute an input are not copied.
"""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from phintys.graph.errors import made_at
from phintys.graph.variable import Constant, Variable
from phintys.ops.shape.shape import of_declared_lengths
from phintys.shared import SharedVariable, shared
from phintys.updates import placed, with_whole_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.updates import Pairs

# inputs, outputs: copies, in the given order. new_values: shared variable → its new value in the user's graph, with
# default updates. updates: the same with copies of the new values. shared: shared variable, read or updated → its
# copy.
Rebuilt = namedtuple("Rebuilt", "inputs outputs new_values updates shared")


def pairs(mapping: Pairs | None) -> list[tuple[Any, Any]]:
    """Return the pairs of a dictionary, or of an iterable of pairs.

    Examples
    --------
    >>> from phintys.compile.pfunc import iter_over_pairs
    >>> list(iter_over_pairs({"a": 1}))
    [('a', 1)]
    """
    if isinstance(mapping, Variable) or not (mapping is None or isinstance(mapping, Iterable)):
        raise TypeError("Updates and givens are dictionaries or lists of pairs: got "
                        f"{placed(mapping) if isinstance(mapping, Variable) else repr(mapping)}")
    return list(mapping.items()) if hasattr(mapping, "items") else list(mapping or ())


class _Copier:
    """Copies graphs, remembers all copies, and collects the shared variables among the leaves.

    ``swap``: shared variable → the one to use instead.
    """

    def __init__(self, strict, swap):
        self.strict = strict
        self.swap = swap
        self.copies = {}
        self.shared = {}

    def copy(self, variable):
        """Return the copy of ``variable``; all that it needs and that has no copy yet is copied first."""
        copies = self.copies
        stack = [variable]
        while stack:
            current = stack[-1]
            if current in copies:
                stack.pop()
                continue
            node = current.owner
            if node is None:
                copies[current] = self._copy_leaf(current)
                continue
            pending = [variable for variable in node.inputs if variable not in copies]
            if pending:
                stack.extend(reversed(pending))
                continue
            twin = node.clone_with_new_inputs([copies[variable] for variable in node.inputs], strict=self.strict)
            for old, new in zip(node.outputs, twin.outputs):
                copies.setdefault(old, new)
        return copies[variable]

    def _copy_leaf(self, variable):
        if isinstance(variable, Constant):
            return variable
        if not isinstance(variable, SharedVariable):
            return variable.clone()
        variable = self.swap.get(variable, variable)
        if variable not in self.shared:
            self.shared[variable] = variable.clone()
        return self.shared[variable]


def rebuild(outputs: Any, inputs: Sequence[Any] = (),
            replace: Pairs | None = None,
            updates: Pairs | None = None, rebuild_strict: bool = True,
            no_default_updates: bool | list[Variable] = False, swap: Mapping[Any, Any] | None = None) -> Any:
    """Copy a graph.

    Parameters
    ----------
    outputs : list of Variable
    inputs : sequence of Variable
        The variables where the graph is cut.
    replace : dict or pairs
        Variable → its replacement: a variable, or a value, which becomes a shared variable.
    updates : dict or pairs
        Shared variable, or a part of one, → its new value.
    rebuild_strict : bool
        Replacements must have the types of the variables that they replace.
    no_default_updates : bool or list of Variable
        The variables whose ``default_update`` is ignored; True: all.
    swap : dict, optional
        Shared variable → the one that replaces it wherever it is read. It is not replaced as a target of updates.

    Returns
    -------
    Rebuilt

    Raises
    ------
    TypeError, ValueError, AssertionError
        As documented for ``function``.

    Examples
    --------
    >>> x, y = T.dvectors("xy")
    >>> rebuilt = phintys.compile.rebuild([x + 1], replace={x: y * 2})
    >>> [phintys.pp(output) for output in rebuilt.outputs]
    ['((y * TensorConstant{2}) + TensorConstant{1})']
    """
    copier = _Copier(rebuild_strict, swap or {})
    for variable in inputs:
        if isinstance(variable, SharedVariable):
            raise TypeError(f"Cannot use a shared variable ({variable}{made_at(variable)}) as explicit input. Consider "
                            "substituting a non-shared variable via the `givens` parameter")
        copier.copies[variable] = variable.clone()
    _replace(copier, replace)
    new_values = _checked_updates(updates)
    copied_outputs = [copier.copy(variable) for variable in outputs]
    copied_updates = _follow_updates(copier, new_values, no_default_updates)
    return Rebuilt([copier.copies[variable] for variable in inputs], copied_outputs, new_values, copied_updates,
                   copier.shared)


def _replace(copier, replace):
    for old, new in pairs(replace):
        if not isinstance(old, Variable):
            raise TypeError(f"given keys must be Variable, got {old!r}")
        if not isinstance(new, Variable):
            new = shared(new)
        if old in copier.copies:
            raise AssertionError("When using 'givens' or 'replace' with several (old_v, new_v) replacement pairs, you "
                                 "can not have a new_v variable depend on an old_v one. For instance, givens = "
                                 f"{{a:b, b:(a+1)}} is not allowed. Here, the old_v {old}{made_at(old)} is used to "
                                 f"compute other new_v's, but it is scheduled to be replaced by {new}{made_at(new)}.")
        copier.copies[old] = copier.copy(_replacement(old, new) if copier.strict else new)


def _replacement(old, new):
    """Return ``new`` converted to the type of what it replaces, with the lengths that this states."""
    try:
        return of_declared_lengths(old.type.filter_variable(new), old.type, "It stands")
    except TypeError as error:
        raise TypeError(f"{placed(old)} of type {old.type} cannot be replaced by {placed(new)} of type {new.type}. "
                        f"{error}") from None


def _checked_updates(updates):
    """Map shared variables to new values, as variables of their types."""
    return {target: _of_type(target, value) for target, value in with_whole_targets(pairs(updates))}


def _of_type(target, value):
    try:
        return target.type.filter_variable(value, allow_convert=False)
    except TypeError as error:
        if not isinstance(value, Variable):
            raise TypeError(f"The update of {placed(target)} must be a variable or a value of type {target.type}, got "
                            f"{value!r}. {error}") from None
        raise TypeError(f"An update must have the same type as the original shared variable: {placed(target)} has the "
                        f"type {target.type}, but its new value {placed(value)} has the type {value.type}. "
                        f"{_difference(target.type, value.type) or error}") from None


def _difference(wanted, found):
    """Say how a type differs from the wanted one, and what to do; an empty string for types that are not tensors."""
    if not (hasattr(wanted, "broadcastable") and hasattr(found, "broadcastable")):
        return ""
    if wanted.ndim != found.ndim:
        return (f"The new value has {found.ndim} dimensions instead of {wanted.ndim}: look for a sum or mean that "
                "needs an axis, or an index too many.")
    if wanted.dtype != found.dtype:
        return (f"Their dtypes differ: cast the new value, T.cast(value, {wanted.dtype!r}), or look for an operand of "
                f"dtype {found.dtype}; constructors without a dtype, as T.matrix(), give config.floatX.")
    return ("They differ in which dimensions are always 1: T.unbroadcast(value, axis) takes this knowledge from a "
            "value, shared(value, broadcastable=...) gives it to a shared variable.")


def _follow_updates(copier, new_values, no_default_updates):
    """Copy the new values, including those of default updates, until no new shared variable is found."""
    excluded = () if isinstance(no_default_updates, bool) else no_default_updates
    copied = {}
    waiting = list(new_values.items())
    looked_at = 0
    while waiting or looked_at < len(copier.shared):
        for target, value in waiting:
            copied[target] = _of_type(target, copier.copy(value))
            if target not in copier.shared:         # updated but not read, or read by its replacement only
                copier.shared[target] = target.clone()
        waiting = []
        for target in list(copier.shared)[looked_at:]:
            looked_at += 1
            update = getattr(target, "default_update", None)
            wanted = (update is not None and no_default_updates is not True and target not in new_values
                      and not any(target is other for other in excluded))
            if wanted:
                new_values[target] = _of_type(target, update)
                waiting.append((target, new_values[target]))
    return copied
