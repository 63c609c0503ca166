"""``debugprint`` and related functions: graphs as text, for debugging.

The lines that ``debugprint`` prints are made in ``reports/graph_text.py``; ``pp`` (``reports/pretty_print.py``) prints
formulae.
"""
from __future__ import annotations

import hashlib
import sys
from io import StringIO
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

import numpy

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.variable import Variable
from phintys.io import SymbolicInput, SymbolicOutput
from phintys.making.function_maker import Function
from phintys.ops.identity.print_op import Print
from phintys.reports.graph_text import INDENT_LIMIT, GraphPrinter, letters
from phintys.reports.pretty_print import (
    DefaultPrinter,
    FunctionPrinter,
    IgnorePrinter,
    LeafPrinter,
    OperatorPrinter,
    PatternPrinter,
    PPrinter,
    default_printer,
    leaf_printer,
    pp,
    pprint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    Printable = Variable | Apply | Function | FunctionGraph | SymbolicInput | SymbolicOutput | numpy.ndarray | float
    Ids = Literal["CHAR", "int", "id", ""]
    File = TypeVar("File", bound=IO[str])

__all__ = ["DefaultPrinter", "FunctionPrinter", "IgnorePrinter", "LeafPrinter", "OperatorPrinter", "PPrinter",
           "PatternPrinter", "Print", "debugprint", "default_printer", "hex_digest", "leaf_printer",
           "min_informative_str", "pp", "pprint", "pydotprint", "var_descriptor"]

pydot_imported = False          # programs for Theano check this before they call ``pydotprint``


def _variables_of(thing: Any) -> tuple[Sequence[Variable], dict[Apply, int], dict[Variable, Any]]:
    """(variables to print, node → position in the order of computation, variable → readers) of something printable."""
    if isinstance(thing, Function):
        thing = thing.maker.fgraph
    if isinstance(thing, FunctionGraph):
        return thing.outputs, {node: position for position, node in enumerate(thing.toposort())}, thing.clients
    if isinstance(thing, (SymbolicInput, SymbolicOutput)):
        thing = thing.variable
    if isinstance(thing, Variable):
        return [thing], {}, {}
    if isinstance(thing, Apply):
        return thing.outputs, {}, {}
    raise TypeError(f"debugprint cannot print an object of this type: {thing!r}, a {type(thing).__name__}")


@overload
def debugprint(obj: Printable | Sequence[Printable] | set[Variable], depth: int = ..., print_type: bool = ..., *,
               file: Literal["str"], ids: Ids = ..., stop_on_name: bool = ..., done: dict[Any, str] | None = ...,
               print_storage: bool = ..., print_clients: bool = ..., used_ids: Any = ..., print_destroy_map: bool = ...,
               print_view_map: bool = ...) -> str: ...
@overload
def debugprint(obj: Printable | Sequence[Printable] | set[Variable], depth: int = ..., print_type: bool = ...,
               file: None = ..., ids: Ids = ..., stop_on_name: bool = ..., done: dict[Any, str] | None = ...,
               print_storage: bool = ..., print_clients: bool = ..., used_ids: Any = ..., print_destroy_map: bool = ...,
               print_view_map: bool = ...) -> None: ...
@overload
def debugprint(obj: Printable | Sequence[Printable] | set[Variable], depth: int = ..., print_type: bool = ..., *,
               file: File, ids: Ids = ..., stop_on_name: bool = ..., done: dict[Any, str] | None = ...,
               print_storage: bool = ..., print_clients: bool = ..., used_ids: Any = ..., print_destroy_map: bool = ...,
               print_view_map: bool = ...) -> File: ...


def debugprint(obj: Any, depth: int = -1, print_type: bool = False, file: Any = None, ids: str = "CHAR",
               stop_on_name: bool = False, done: dict[Any, str] | None = None, print_storage: bool = False,
               print_clients: bool = False, used_ids: Any = None, print_destroy_map: bool = False,
               print_view_map: bool = False) -> Any:
    """Print what something is computed from.

    Parameters
    ----------
    obj : Variable, Apply, Function, FunctionGraph, In, Out, number, array, or list of them
    depth : int
        The number of levels to print; -1: all.
    print_type : bool
        Add the type of each variable.
    file : None, 'str' or file
        Where to print; None: standard output; 'str': return the text.
    ids : {'CHAR', 'int', 'id', ''}
        The kind of labels: letters, numbers, addresses of objects, or none.
    stop_on_name : bool
        Print nothing below a variable that has a name.
    done : dict, optional
        What was printed before → its label; it is extended, so that several calls share their labels.
    print_storage : bool
        Add the values that a function keeps between calls: those of states and shared variables, None for others.
    print_clients : bool
        Add the readers of a variable where there are several.
    used_ids : dict, optional
        Accepted for compatibility with Theano.
    print_destroy_map, print_view_map : bool
        Add which inputs a node overwrites or makes views of.

    Returns
    -------
    str or file or None
        The text if ``file`` is 'str', else ``file``.
    """
    if not isinstance(depth, int):
        raise TypeError(f"depth parameter must be an int, got {depth!r}")
    target: Any = StringIO() if file == "str" else sys.stdout if file is None else file
    printer = GraphPrinter(target, ids, done, print_type, stop_on_name, print_destroy_map,
                       print_view_map, print_clients)
    for thing in obj if isinstance(obj, (list, tuple, set)) else [obj]:
        if isinstance(thing, (int, float, numpy.ndarray)):
            print(thing, file=target)
            continue
        variables, order, clients = _variables_of(thing)
        storage = thing.stored_values() if print_storage and isinstance(thing, Function) else None
        for variable in variables:
            printer.print_variable(variable, depth, order, clients, storage)
    printer.print_bodies(depth)
    return target.getvalue() if file == "str" else file


def min_informative_str(obj: Variable, indent_level: int = 0) -> str:
    """The graph of a variable as text that depends on nothing but the graph.

    Each line is a label and an op, an input's name or its type; ``<A>`` refers to the part with the label A. Unlike
    ``debugprint`` it contains no addresses, so two texts can be compared.
    """
    labels: dict[Any, str] = {}
    lines: list[str] = []
    waiting: list[tuple[Any, int]] = [(obj, indent_level)]
    while waiting:
        thing, level = waiting.pop()
        indent = " " * level if level <= INDENT_LIMIT else f"... depth {level} "
        if thing in labels:
            lines.append(f"{indent}<{labels[thing]}>")
            continue
        labels[thing] = letters(len(labels))
        node = getattr(thing, "owner", None)
        if getattr(thing, "name", None) is not None or node is None:
            lines.append(f"{indent}{labels[thing]}. {getattr(thing, 'name', None) or thing}")
            continue
        lines.append(f"{indent}{labels[thing]}. {node.op}")
        waiting.extend((variable, level + 1) for variable in reversed(node.inputs))
    return "\n".join(lines)


def var_descriptor(obj: Variable | numpy.ndarray) -> str:
    """How a variable is computed, as text of one line that depends on nothing but the graph and its constants.

    Parameters
    ----------
    obj : Variable or numpy.ndarray

    Returns
    -------
    str
        Each part is ``label=op(parts)``, a name or a type; ``<label>`` refers to an earlier part.
    """
    labels: dict[int, str] = {}
    pieces: list[str] = []
    waiting: list[tuple[Any, str]] = [(obj, "")]
    while waiting:
        thing, text = waiting.pop()
        if thing is None:
            pieces.append(text)
        elif id(thing) in labels:
            pieces.append(f"<{labels[id(thing)]}>")
        else:
            labels[id(thing)] = letters(len(labels))
            pieces.append(f"{labels[id(thing)]}=")
            waiting.extend(reversed(_description(thing)))
    return "".join(pieces)


def _description(thing: Any) -> list[tuple[Any, str]]:
    """Pairs: something to describe, or None and text."""
    node = getattr(thing, "owner", None)
    if isinstance(thing, numpy.ndarray):
        return [(None, f"<ndarray:digest={hex_digest(thing)}>")]
    if node is None:
        return [(None, getattr(thing, "name", None) or str(thing))]
    parts = [pair for variable in node.inputs for pair in ((None, ","), (variable, ""))]
    return [(None, f"{node.op}("), *parts[1:], (None, ")")]


def hex_digest(x: numpy.ndarray) -> str:
    """A hash of an array's elements, strides and shape.

    Parameters
    ----------
    x : numpy.ndarray

    Returns
    -------
    str
    """
    strides, lengths = [",".join(map(str, numbers)) for numbers in (x.strides, x.shape)]
    return f"{hashlib.sha256(x.tobytes()).hexdigest()}|strides=[{strides}]|shape=[{lengths}]"


def pydotprint(fct: Any, outfile: str | None = None, **options: Any) -> NoReturn:
    """Theano's picture of a graph, which needs graphviz; ``debugprint`` shows the same as text.

    Raises
    ------
    RuntimeError
        Always: pictures are not available.
    """
    raise RuntimeError("pydotprint draws graphs with graphviz and pydot, which phintys does not use; "
                       "debugprint shows the same as text")
