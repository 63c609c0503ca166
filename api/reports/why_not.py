"""``phintys.why_not``: what held a rewrite back; and the rewrites that were applied to a function, as text."""
from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING

from phintys.graph.config import config
from phintys.graph.lazy_regions import known_regions
from phintys.graph.public_names import at_home
from phintys.graph.scratchpad import position_of
from phintys.graph.trace import lines_of
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.formulas import written
from phintys.optimizer.engine import registered
from phintys.optimizer.engine.database import CONSTANT, REPEATED, Rewrite
from phintys.optimizer.engine.forms import key_of
from phintys.optimizer.passes.fusion import OPERANDS, STEPS, steps_in
from phintys.optimizer.passes.not_in_place import reasons_against
from phintys.optimizer.pipeline import all_rewrites
from phintys.pages.rewrite_story import story_of

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function

MOST_NODES = 10                 # that a text names


def story_text(function: Function, chosen: str | bool = True) -> str:
    """Return the rewrites that were applied to a function, in order: what became what, and the user's lines.

    Parameters
    ----------
    function : Function
    chosen : str or True
        Only rewrites with this in their name, of this family, or of values made at this line (``"model.py:12"``).
    """
    families = {getattr(rewrite, "name", family): family for family, rewrite in all_rewrites()}
    lines = []
    for chapter in story_of(function).chapters:
        name, examples = chapter["name"], chapter["examples"]
        if chosen is not True and chosen not in name and chosen != families.get(name):
            examples = [example for example in examples if any([_line(place).endswith(chosen) for place in example[2]])]
            if not examples:
                continue
        times = f", {chapter['count']} times" if chapter["count"] > 1 else ""
        lines.append(f"{name}{times}:")
        lines += [f"    {old}  ->  {new}{''.join([f'  [{_line(place)}]' for place in made_at[:1]])}"
                  for old, new, made_at in examples]
    return "\n".join(lines) or "no rewrite was applied"


def _line(place):
    return f"{place[0]}:{place[1]}"


@at_home
def why_not(function: Function, what: str) -> str:
    """Return which condition held a rewrite back, in the graph of a compiled function.

    Parameters
    ----------
    function : Function
    what : str
        ``"inplace"``: values that are not computed in the memory of an input. ``"fusion"``: elementwise operations that
        are computed apart. Otherwise the name of a rewrite: see :doc:`/rewrites`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is no rewrite of this name.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> f = phintys.function([x], T.exp(x), mode=phintys.Mode().excluding("local_log1p"))
    >>> phintys.why_not(f, "local_log1p")
    'local_log1p: the mode excludes local_log1p'
    >>> phintys.why_not(f, "local_log_exp")
    'local_log_exp: the graph has no log'
    """
    maker = function.maker
    if what == "inplace":
        return _listed([(f"{written(value)} instead of {written(other)}", value, why)
                        for value, other, why in reasons_against(maker.compiled, maker.mode.query)],
                       "each value that can be is computed in place")
    if what == "fusion":
        return _listed(list(_apart(maker.compiled)), "no elementwise operation reads another one")
    rows = _rows_called(what, maker.mode.query)
    applied = {chapter["name"] for chapter in story_of(function).chapters}
    unfused = maker.given_arguments() | {"mode": maker.mode.excluding("fusion"), "profile": False}
    graph = type(maker)(**unfused).compiled
    return "\n".join(dict.fromkeys([
        f"{row.name}: {'it was applied' if row.name in applied else _against(row, function, graph)}" for row in rows]))


def _listed(found, nothing):
    """Lines (text, variable, reason), of which the first are told."""
    lines = [f"{text}{''.join([f' [{_line(place)}]' for place in lines_of(position_of(value))[:1]])}: {why}"
             for text, value, why in found[:MOST_NODES]]
    if len(found) > MOST_NODES:
        lines.append(f"... and {len(found) - MOST_NODES} more")
    return "\n".join(lines) or nothing


def _rows_called(name, query):
    rows = [row for _, row in all_rewrites()] + [row for family in registered.rewrites.values() for row in family]
    rows = [row for row in [*rows, *query.extra] if isinstance(row, Rewrite)]
    found = [row for row in rows if row.name == name] or [row for row in rows if name in row.tags]
    if not found:
        near = get_close_matches(name, {row.name for row in rows}, 3)
        raise ValueError(f"there is no rewrite {name!r}; expected 'inplace', 'fusion', or a name of docs/rewrites.md"
                         f"{', such as ' if near else ''}{', '.join(near)}")
    return found


def _against(row, function, graph):
    """Return the first reason against a row."""
    own, query = function.maker.mode.query, function.maker.mode.query.under(config.math_rules)
    excluded = sorted(query.exclude & row.tags)
    if excluded and not own.exclude & row.tags:
        return f"config.math_rules is {config.math_rules!r}, but it {excluded[0].replace('_', ' ')}"
    if excluded:
        return f"the mode excludes {', '.join(excluded)}"
    if not query.include & row.tags and row.tags.isdisjoint(registered.FAMILIES):
        return f"the mode includes none of {', '.join(sorted(row.tags))}"
    nodes = graph.toposort()
    keys = {key_of(node.op) for node in nodes}
    if row.beside and row.beside.isdisjoint(keys):
        return f"the graph has no {_any(row.beside)}"
    nodes = [node for node in nodes if not row.keys or key_of(node.op) in row.keys]
    if not nodes:
        return f"the graph has no {_any(row.keys)}"
    fitting = [node for node in nodes if not row.of or row.of & _inputs_of(node)]
    if not fitting:
        return f"no {_any(row.keys)} has an input that is {_any(row.of)}"
    match = getattr(row.apply, "match", None)
    fitting = [node for node in fitting if match is None or match(node.inputs, {})]
    if not fitting:
        return f"nothing matches {row.identity.partition(' -> ')[0]}``"
    return "its condition does not hold" + _condition(row) + " for " + ", ".join(
        [written(node.outputs[0]) for node in fitting[:MOST_NODES]])


def _any(keys):
    names = sorted([key if isinstance(key, str) else key.__name__ for key in keys])
    return " or ".join(names[:MOST_NODES]) + (" or others" if len(names) > MOST_NODES else "")


def _inputs_of(node):
    """What a row may be ``of`` that a node's inputs are."""
    found = {CONSTANT if isinstance(variable, Constant) else None if variable.owner is None
             else key_of(variable.owner.op) for variable in node.inputs}
    return found | ({REPEATED} if len(set(node.inputs)) < len(node.inputs) else set())


def _condition(row):
    """What the condition of a row, or the row itself, says, in brackets."""
    condition = getattr(row.apply, "condition", None)
    text = row.identity if condition is None else inspect.cleandoc(condition.__doc__ or condition.__name__)
    return f" ({' '.join(text.split()).rstrip('.')})"


def _apart(graph):
    """Yield (text, value, reason) for each elementwise node that reads another one."""
    regions = known_regions(graph)
    for node in graph.toposort():
        if type(node.op) is not Elemwise:
            continue
        for value in dict.fromkeys(node.inputs):
            made = value.owner
            if made is not None and type(made.op) is Elemwise:
                reason = _reason_apart(graph, regions, made, node)
                yield f"{written(value)} and {written(node.outputs[0])}", value, reason


def _reason_apart(graph, regions, first, second):
    one, other = [node.outputs[0].type.broadcastable for node in (first, second)]
    if regions is not None and regions.of.get(first) is not regions.of.get(second):
        return "they are in different branches"
    if one != other:
        return f"they have other shapes: {one} and {other} say which lengths are 1"
    operands = len({*first.inputs, *first.outputs, *second.inputs, *second.outputs})
    if operands > OPERANDS or steps_in(first) + steps_in(second) > STEPS:
        return f"together they have {operands} operands and {steps_in(first) + steps_in(second)} steps, of at most " \
               f"{OPERANDS} and {STEPS}"
    between = [reader for out in first.outputs for reader, _ in graph.clients[out]
               if reader != "output" and type(reader.op) is not Elemwise]
    if between:
        return f"{between[0].op} reads the first and comes between them"
    return "their lengths are not known to be equal, or only updates need one of them"
