"""What an error at run time adds about the node that failed when ``config.exception_verbosity`` is ``"high"``.

The node and what it depends on, as `debugprint` shows them, a few levels deep: a message should stay readable when the
graph is not. Errors themselves, and what they always say, are in ``vm/explaining/runtime_error.py``.
"""
from io import StringIO

from phintys.graph.config import config
from phintys.reports.graph_text import GraphPrinter

LEVELS = 10                     # of the graph


def at_length(node):
    """More lines about a node that failed.

    Returns
    -------
    tuple of str
        Empty with the verbosity ``"low"``.
    """
    if config.exception_verbosity == "low":
        return ()
    text = StringIO()
    printer = GraphPrinter(text, print_type=True, stop_on_name=True)
    for variable in node.outputs:
        printer.print_variable(variable, LEVELS)
    return "Debugprint of the apply node:", text.getvalue().rstrip()
