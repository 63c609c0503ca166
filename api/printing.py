"""``debugprint`` and related functions: graphs as text, for debugging.

The lines that ``debugprint`` prints are made in ``reports/graph_text.py``; ``pp`` (``reports/pretty_print.py``) prints
formulae.
"""
from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Variable
from phintys.io import SymbolicInput, SymbolicOutput
from phintys.making.function_maker import Function
from phintys.ops.identity.print_op import Print
from phintys.ops.loops.loop import Scan
from phintys.reports.graph_text import INDENT_LIMIT, GraphPrinter, letters
from phintys.reports.graphviz_text import COLOURS, DrawnGraph, Style, dot_text
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
from phintys.shared import SharedVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    pydot_imported: bool
    Printable = Variable | Apply | Function | FunctionGraph | SymbolicInput | SymbolicOutput | numpy.ndarray | float
    Ids = Literal["CHAR", "int", "id", ""]
    File = TypeVar("File", bound=IO[str])

__all__ = ["DefaultPrinter", "FunctionPrinter", "IgnorePrinter", "LeafPrinter", "OperatorPrinter", "PPrinter",
           "PatternPrinter", "Print", "debugprint", "default_printer", "hex_digest", "leaf_printer",
           "min_informative_str", "pp", "pprint", "pydotprint", "var_descriptor"]

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
    """Print how a value is computed: a tree of nodes and their inputs.

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
        Node or variable that was printed before → its label; it is extended, so that several calls share their labels.
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

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.debugprint(T.exp(x) + 1)
    Elemwise{add,no_inplace} [id A] ''
     |Elemwise{exp,no_inplace} [id B] ''
     | |x [id C]
     |TensorConstant{(1,) of 1} [id D]
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
    """The graph of a variable as text that depends only on the graph.

    Each line is a label and an op, an input's name or its type; ``<A>`` refers to the part with the label A. Unlike
    ``debugprint`` it contains no addresses, so two texts can be compared.

    Examples
    --------
    >>> print(phintys.printing.min_informative_str(T.dvector("x") + 1))
    A. Elemwise{add,no_inplace}
     B. x
     C. TensorConstant{(1,) of 1}
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
    """How a variable is computed, as one line of text that depends only on the graph and its constants.

    Parameters
    ----------
    obj : Variable or numpy.ndarray

    Returns
    -------
    str
        Each part is ``label=op(parts)``, a name or a type; ``<label>`` refers to an earlier part.

    Examples
    --------
    >>> phintys.printing.var_descriptor(T.dvector("x") + 1)
    'A=Elemwise{add,no_inplace}(B=x,C=TensorConstant{(1,) of 1})'
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

    Examples
    --------
    >>> phintys.printing.hex_digest(numpy.arange(3)) == phintys.printing.hex_digest(numpy.arange(3))
    True
    """
    strides, lengths = [",".join(map(str, numbers)) for numbers in (x.strides, x.shape)]
    return f"{hashlib.sha256(x.tobytes()).hexdigest()}|strides=[{strides}]|shape=[{lengths}]"


def pydotprint(fct: Any, outfile: Any = None, compact: bool = True, format: str = "png", with_ids: bool = False,
               high_contrast: bool = True, cond_highlight: Any = None, colorCodes: dict[str, str] | None = None,
               max_label_size: int = 70, scan_graphs: bool = False, var_with_name_simple: bool = False,
               print_output_file: bool = True, return_image: bool = False) -> bytes | None:
    """Draw a graph with graphviz.

    Ellipses are nodes and boxes are variables: green inputs, cyan shared variables, blue results, grey values that
    nothing reads. Other variables are arrows with their type. An arrow to a node that overwrites its input is red, one
    to a node that returns a view of it is blue. The picture is made by the program ``dot``; ``phintys.d3viz`` and
    ``debugprint`` show graphs without it.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply, or list of Variable
    outfile : str or path, optional
        The file to write; default: ``theano.pydotprint.cpu.<format>`` in the folder for temporary files.
    compact : bool
        Draw no boxes for variables inside the graph that have no name.
    format : str
        Of the picture, as ``dot -T`` takes it: "png", "svg", "pdf"; "dot" or "raw" for the text that describes it,
        which needs no program.
    with_ids : bool
        Add the position of each node in the order of computation.
    high_contrast : bool
        Fill shapes with their colours instead of drawing their borders in them.
    cond_highlight : str or Apply, optional
        An ``ifelse``, or its name: frames are drawn around the nodes that each branch needs, and those that both need.
    colorCodes : dict, optional
        A part of the name of an op's class → colour.
    max_label_size : int
        Characters.
    scan_graphs : bool
        Draw the inner graph of each loop to a separate file, whose name contains the loop's name and position.
    var_with_name_simple : bool
        Do not add types to names.
    print_output_file : bool
        Print where the picture is.
    return_image : bool
        Return the picture instead of writing it.

    Returns
    -------
    bytes or None
        The picture if ``return_image``.

    Raises
    ------
    RuntimeError
        If the program ``dot`` is not installed, or fails.
    TypeError
        If ``fct`` is nothing of the above.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.printing.pydotprint(T.dvector("x") + 1, os.path.join(folder, "graph.dot"), format="dot",
    ...                                 print_output_file=False)
    ...     os.listdir(folder)
    ['graph.dot']
    """
    style = Style(compact, with_ids, high_contrast, cond_highlight, COLOURS if colorCodes is None
                  else {"Output": "blue", **colorCodes}, max_label_size, var_with_name_simple)
    graph = _drawn_graph(fct)
    picture = _rendered(dot_text(graph, style), format)
    if return_image:
        return picture
    path = Path(tempfile.gettempdir(), f"theano.pydotprint.cpu.{format}") if outfile is None else Path(outfile)
    path.write_bytes(picture)
    if print_output_file:
        print("The output file is available at", path)
    if scan_graphs:
        for number, node in enumerate(graph.nodes):
            if isinstance(node.op, Scan):
                name = f"{path.stem}_{node.op.name or 'scan'}_{number}{path.suffix}"
                pydotprint(node.op.fn, path.with_name(name), compact, format, with_ids, high_contrast, cond_highlight,
                           colorCodes, max_label_size, scan_graphs, var_with_name_simple, print_output_file)
    return None


def _drawn_graph(thing: Any) -> DrawnGraph:
    """What ``pydotprint`` draws."""
    if isinstance(thing, Function):
        maker, fgraph = thing.maker, thing.maker.fgraph
        new_values = {fgraph.outputs[position]: fgraph.inputs[number] for position, number in maker.update_positions}
        outputs = fgraph.outputs[:len(maker.outputs)]
        return DrawnGraph(fgraph.toposort(), outputs, new_values, set(thing.stored_values()), thing.profile)
    if isinstance(thing, FunctionGraph):
        return DrawnGraph(thing.toposort(), list(thing.outputs))
    variables = [thing] if isinstance(thing, Variable) else thing.outputs if isinstance(thing, Apply) else thing
    if not isinstance(variables, (list, tuple)) or not all([isinstance(one, Variable) for one in variables]):
        raise TypeError(f"pydotprint draws a function, a FunctionGraph, an Apply, a variable or a list of variables, "
                        f"got {thing!r}, a {type(thing).__name__}")
    leaves = graph_inputs(variables)
    return DrawnGraph(io_toposort(leaves, variables), list(variables),
                      shared={leaf for leaf in leaves if isinstance(leaf, SharedVariable)})


def _rendered(text: str, format: str) -> bytes:
    """A picture as bytes."""
    if format in ("dot", "raw"):
        return text.encode()
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError("pydotprint needs the program dot of graphviz (on Debian and Ubuntu: apt install graphviz), "
                           "which was not found. Without it, phintys.d3viz.d3viz(f, 'f.html') draws the graph as a "
                           "page, debugprint prints it as text, and format='dot' writes the text that dot reads.")
    done = subprocess.run([program, f"-T{format}"], input=text.encode(), capture_output=True)
    if done.returncode:
        raise RuntimeError(f"dot cannot draw the graph in the format {format!r}: {done.stderr.decode().strip()}")
    return done.stdout


if not TYPE_CHECKING:                           # type checkers would accept any name
    def __getattr__(name):
        if name == "pydot_imported":            # programs for Theano ask this before they call ``pydotprint``
            return shutil.which("dot") is not None
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
