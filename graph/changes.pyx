"""What changes a FunctionGraph: nodes come and go, and readers of variables read others.

These are the methods of ``graph/function_graph.py`` that run for each replacement; in Python they took a tenth of the
time of a compilation.
"""
from itertools import islice

from phintys.graph.errors import MissingInputError, made_at
from phintys.graph.nodes cimport inputs_of, outputs_of, owner_of
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import stays
from phintys.graph.valueless_types import NullType
from phintys.graph.variable import Constant


cdef class Clients(dict):
    """The readers of one variable, in the order in which they were added: pairs (node, input position).

    A reader of an output of the graph is ``("output", position)``. For reading it behaves like a list of pairs; because
    it is a dictionary, removing one of a hundred thousand readers takes as long as removing one of two.
    """

    def __getitem__(self, position):
        if isinstance(position, slice):
            return list(self)[position]
        index = position + len(self) if position < 0 else position
        if not 0 <= index < len(self):
            raise IndexError(f"there are {len(self)} clients, none at {position}")
        return next(islice(self, index, None))

    def __repr__(self):
        return repr(list(self))


def tell(fgraph, event, tuple arguments):
    """Call the method of this name of each feature that has it."""
    if fgraph._told != fgraph.features:             # most features have few of the methods
        fgraph._told, fgraph._methods = list(fgraph.features), {}
    methods = (<dict>fgraph._methods).get(event)
    if methods is None:
        methods = fgraph._methods[event] = [getattr(feature, event) for feature in fgraph._told
                                            if hasattr(feature, event)]
    for method in <list>methods:
        method(fgraph, *arguments)


def import_node(fgraph, node, reason=None, origin=None):
    """Take in a node and everything that it needs and that is not in the graph yet."""
    cdef set known = fgraph.apply_nodes
    cdef list nodes = missing(known, node)
    cdef Py_ssize_t index
    cdef Clients readers                            # what is not one is refused
    clients = fgraph.clients
    check_leaves(clients, nodes)
    for new in nodes:
        known.add(new)
        for output in outputs_of(new):
            if output not in <dict>clients:
                (<dict>clients)[output] = Clients()
        index = 0
        for variable in inputs_of(new):
            readers = (<dict>clients).get(variable)
            if readers is None:
                readers = (<dict>clients)[variable] = Clients()
            (<dict>readers)[new, index] = None
            index += 1
        if origin is not None and not stays(new._position):
            new._position = origin
        tell(fgraph, "on_import", (new, reason))
    forget_order(fgraph)


cdef forget_order(fgraph):
    fgraph._order = fgraph._kept_order = None       # the order by data alone; the order in which nodes run
    fgraph.derived = {}


cdef list missing(set known, node):
    """Return, in order, the node and the nodes that it needs and that are not in the graph yet."""
    for variable in inputs_of(node):
        owner = owner_of(variable)
        if owner is not None and owner not in known:
            return io_toposort((), node.outputs, known=known)
    return [] if node in known else [node]          # as nearly always when a rewrite replaces a node


cdef check_leaves(clients, list nodes):
    for node in nodes:
        for variable in inputs_of(node):
            if owner_of(variable) is None and not isinstance(variable, Constant) and variable not in <dict>clients:
                raise error_of(variable, f"is input {node.inputs.index(variable)} of {node.op}{made_at(node)}")


def import_variable(fgraph, variable, reason, origin=None):
    """Take in a variable, and what computes it."""
    if variable in fgraph.clients:
        return
    if variable.owner is not None:
        import_node(fgraph, variable.owner, reason, origin)
    else:
        if not isinstance(variable, Constant):
            raise error_of(variable, "is an output")
        fgraph.clients[variable] = Clients()


cdef error_of(variable, use):
    if isinstance(variable.type, NullType):
        return TypeError(f"Computation graph contains a NaN: {variable.type.why_null}")
    return MissingInputError(f"Undeclared input: {variable} of type {variable.type}{made_at(variable)} {use}, but it "
                             f"is neither an input, nor a constant, nor computed. Was it left out of the inputs?")


cdef remove_client(fgraph, variable, client, reason):
    """Remove one reader, and then every node that is not read any more."""
    cdef list pending = [(variable, client)]
    cdef Clients readers
    clients, settled = fgraph.clients, fgraph.settled
    while pending:
        variable, client = pending.pop()
        readers = (<dict>clients)[variable]
        del (<dict>readers)[client]
        node = owner_of(variable)
        if readers:
            if len(<dict>readers) == 1 and next(iter(readers))[0] in settled:   # not the one that just came
                settled.pop(node, None)
            continue
        if node is None:
            if isinstance(variable, Constant):
                del (<dict>clients)[variable]
            continue
        for output in outputs_of(node):
            if (<dict>clients)[output]:
                break
        else:
            fgraph.apply_nodes.discard(node)
            settled.pop(node, None)
            for output in outputs_of(node):
                del (<dict>clients)[output]
            tell(fgraph, "on_prune", (node, reason))
            pending.extend([(needed, (node, index)) for index, needed in enumerate(inputs_of(node))])


def put(fgraph, node, position, new, reason, origin):
    """Let one reader read another variable. ``origin`` is where the user made what new nodes compute; None keeps their
    own origins."""
    readers = fgraph.outputs if isinstance(node, str) else inputs_of(node)
    old = readers[position]
    import_variable(fgraph, new, reason, origin)
    readers[position] = new
    fgraph.settled.pop(node, None)
    forget_order(fgraph)
    now = <Clients?>fgraph.clients[new]
    (<dict>now)[node, position] = None
    remove_client(fgraph, old, (node, position), reason)
    tell(fgraph, "on_change_input", (node, position, old, new, reason))
