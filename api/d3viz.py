"""Graphs as pages, under Theano's name: ``phintys.d3viz.d3viz(f, "f.html")``.

Theano's page draws with d3; this page has its own script, and is a single file that loads nothing. The graph can be
searched, zoomed and moved.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Variable
from phintys.making.function_maker import Function
from phintys.pages.document import page
from phintys.pages.graph_picture import picture_of
from phintys.printing import pydotprint

__all__ = ["d3viz", "d3write"]


def d3viz(fct: Any, outfile: Any, copy_deps: bool = True, *args: Any, **kwargs: Any) -> None:
    """Write a page with the graph of a function or of variables.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply, or list of Variable
    outfile : str or path
        The HTML file to write. Folders that do not exist are made.
    copy_deps : bool
        Accepted for compatibility with Theano: the page is complete in one file.
    *args, **kwargs
        Accepted for compatibility with Theano.

    Raises
    ------
    TypeError
        If ``fct`` is none of these.

    Examples
    --------
    >>> import os, tempfile, phintys
    >>> x = phintys.tensor.dmatrix("x")
    >>> folder = tempfile.mkdtemp()
    >>> phintys.d3viz.d3viz(phintys.function([x], x.sum()), os.path.join(folder, "sum.html"))
    >>> os.listdir(folder)
    ['sum.html']
    """
    graphs = {title: picture_of(*graph) for title, graph in _graphs(fct)}
    path = Path(outfile)
    path.parent.mkdir(parents=True, exist_ok=True)
    page(f"{getattr(fct, 'name', None) or 'graph'} - phintys", {"graphs": graphs}).save(path)


def d3write(fct: Any, path: Any, *args: Any, **kwargs: Any) -> None:
    """Write a graph to a file in graphviz's language.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply, or list of Variable
    path : str or path
    *args, **kwargs
        Accepted for compatibility with Theano.

    Examples
    --------
    >>> import os, tempfile
    >>> x = T.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.d3viz.d3write(T.exp(x).sum(), os.path.join(folder, "graph.html"))
    ...     print(os.listdir(folder))
    ['graph.html']
    """
    pydotprint(fct, path, format="dot", print_output_file=False)


def _graphs(thing: Any) -> list[tuple[str, tuple[Any, ...]]]:
    """The graphs on a page: (title, arguments of ``picture_of``)."""
    if isinstance(thing, Function):
        maker, graph = thing.maker, thing.maker.compiled
        names = {position: f"new value of {graph.inputs[number]}" for position, number in maker.update_positions}
        found = [(thing.name or "function", (graph.inputs, graph.outputs, names))]
        bodies = [node.op.fn.maker.compiled for node in graph.toposort() if getattr(node.op, "is_loop", False)]
        return found + [(f"body {number + 1}", (body.inputs, body.outputs)) for number, body in enumerate(bodies)]
    if isinstance(thing, FunctionGraph):
        return [("graph", (thing.inputs, thing.outputs))]
    variables = [thing] if isinstance(thing, Variable) else thing.outputs if isinstance(thing, Apply) else thing
    if not isinstance(variables, (list, tuple)) or not all([isinstance(one, Variable) for one in variables]):
        raise TypeError(f"d3viz draws a function, a FunctionGraph, an Apply, a variable or a list of variables, got "
                        f"{thing!r}, a {type(thing).__name__}")
    return [("graph", (graph_inputs(variables), list(variables)))]
