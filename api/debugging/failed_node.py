"""Details that run-time errors add about the failed node when ``config.exception_verbosity`` is ``"high"``.

They show the node and what it depends on, as `debugprint` does, to a depth of a few levels: a message should stay
readable when the graph is large. The rest of each message is made in ``vm/explaining/runtime_error.py``.
"""
from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from phintys.graph.config import config
from phintys.reports.graph_text import GraphPrinter

if TYPE_CHECKING:
    from phintys.graph.apply import Apply

LEVELS = 10                     # of the graph


def at_length(node: Apply) -> tuple[str, ...]:
    """Return more lines about a node that failed.

    Returns
    -------
    tuple of str
        Empty if the verbosity is ``"low"``.
    """
    if config.exception_verbosity == "low":
        return ()
    text = StringIO()
    printer = GraphPrinter(text, print_type=True, stop_on_name=True)
    for variable in node.outputs:
        printer.print_variable(variable, LEVELS)
    return "Debugprint of the apply node:", text.getvalue().rstrip()
