"""What an error at run time adds about the node that failed when ``config.exception_verbosity`` is ``"high"``.

The node and what it depends on, as `debugprint` shows them, a few levels deep: a message should stay readable when the
graph is not. Errors themselves, and what they always say, are in ``vm/explaining/runtime_error.py``.
"""
from phintys.graph.config import config

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
    from phintys.printing import debugprint

    graph = debugprint(node, depth=LEVELS, file="str", stop_on_name=True, print_type=True)
    return "Debugprint of the apply node:", graph.rstrip()
