"""In-place: decides which nodes overwrite the memory of an input that is not needed any more.

``protect`` runs in every mode and handles only destroyers that the user wrote: one that must not overwrite its input
is replaced by another variant of its op, or gets a copy of the input. ``mark_inplace`` then permits overwriting
wherever it is safe: first shared values by their own updates, after COMMIT, then temporaries and mutable arguments. The
order in which the nodes run is fixed in between, so that one pass in this order knows the last reader of every value,
and no choice has to be undone. A mark replaces ``node.op`` by a variant with a ``destroy_map``; it never changes
values.
"""
from phintys.graph.destroy_handler import DestroyHandler, Destruction, destroyed_by, handler_of, has_destroyers, ordered
from phintys.graph.op import PureOp
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.deep_copy import deep_copy_op
from phintys.ops.products.blas import BlasOp
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN
from phintys.optimizer.passes.commits import has_memory, mark_commits, without_cycles
from phintys.vm.linking.schedule import schedule

# Kind of op → the tags of its marks; the first matching row is used.
TAGS = (
    (Elemwise, (FAST_RUN, FAST_COMPILE, "inplace", "inplace_opt", "inplace_elemwise_opt", "inplace_elemwise_optimizer",
                "InplaceElemwise")),
    (BlasOp, (FAST_RUN, FAST_COMPILE, "inplace", "InplaceBlasOpt", "blas_opt_inplace")),
    (PureOp, (FAST_RUN, FAST_COMPILE, "inplace")),
)


def handled(fgraph):
    """Return the graph's DestroyHandler; if there is none, one is attached that protects all inputs."""
    handler = handler_of(fgraph)
    if handler is None:
        handler = DestroyHandler(mutable=())
        fgraph.attach_feature(handler)
    return handler


# ---- what the user wrote ---------------------------------------------------------------------------------------------
def protect(fgraph):
    """Make the destroyers that the user wrote legal.

    Parameters
    ----------
    fgraph : FunctionGraph

    Returns
    -------
    int
        The number of inputs that are no longer overwritten.
    """
    handler = handled(fgraph)
    handler.rewriting = False
    if not has_destroyers(fgraph):
        return 0
    destruction = Destruction(fgraph, handler)
    destruction.commits = without_cycles(destruction, destruction.commits)
    illegal = [destroyer for destroyer in destruction.destroyers if destruction.objection(*destroyer) is not None]
    for destroyer in illegal:
        release(fgraph, *destroyer)
    return len(illegal) + _release_cycles(fgraph, handler)


def _release_cycles(fgraph, handler):
    """Release destroyers that would have to wait for nodes that depend on them."""
    destruction, late = Destruction(fgraph, handler), set()
    memory, commits = destruction.memory, destruction.commits
    nodes = [node for node in memory.order if node not in commits] + [node for node in memory.order if node in commits]
    ordered(nodes, destruction.orderings(), lambda node, readers: late.update([(node, reader) for reader in readers]))
    released = list(dict.fromkeys([destroyer for node, reader, destroyer in destruction.edges()
                                   if (node, reader) in late])) if late else []
    for destroyer in released:
        release(fgraph, *destroyer)
    return len(released)


def release(fgraph, node, output, position):
    """Make a node stop overwriting an input: by another variant of its op, else by a copy of the input."""
    others = dict(destroyed_by(node.op))
    del others[output]
    variant = variant_of(node.op, others)
    if variant is not None:
        fgraph.change_op(node, variant)
    else:
        fgraph.change_input(node, position, deep_copy_op(node.inputs[position]), reason="protect")


def variant_of(op, pairs):
    """Return the variant of an op that overwrites exactly ``pairs``, a dict from outputs to inputs, or None."""
    variant = op.overwriting(pairs)
    return variant if variant is not None and dict(destroyed_by(variant)) == pairs else None


# ---- values that are not needed any more -----------------------------------------------------------------------------
def mark_inplace(fgraph, query):
    """Permit nodes to overwrite inputs where it is safe, and fix the order in which the nodes run.

    Parameters
    ----------
    fgraph : FunctionGraph
        After ``protect``.
    query : database.Query
        Says which of ``TAGS`` are included.

    Returns
    -------
    int
        The number of marked nodes.
    """
    budget = fgraph.budget
    if budget is None and not any([query.wants(tags) for _, tags in TAGS]):
        return 0
    handler, marks = handled(fgraph), _Marks(fgraph, query)
    if budget is None or budget.commits:
        mark_commits(fgraph, handler, marks)
    order = schedule(fgraph) if budget is None else budget.scheduled(
        fgraph, lambda nodes: handler.commit_nodes(fgraph, nodes))
    mark_temporaries(order, Destruction(fgraph, handler), marks)
    fgraph.keep_order(order)
    return marks.count


def is_wanted(op, query):
    """Return whether the query permits marks on nodes of this op."""
    return query.wants(next(tags for kind, tags in TAGS if isinstance(op, kind)))


class _Marks:
    """Finds what ops can overwrite, if the query permits it, and marks the nodes in the graph."""

    def __init__(self, fgraph, query):
        self.fgraph = fgraph
        self.count = 0
        self._query = query
        self._permitted = {}                    # class of op → whether its nodes may be marked

    def candidates(self, node):
        """Yield pairs (output, input) of arrays that the op can overwrite, and does not overwrite or view yet."""
        op = node.op
        permitted = self._permitted.get(type(op))
        if permitted is None:
            permitted = self._permitted[type(op)] = is_wanted(op, self._query)
        if not permitted:
            return []
        return [(output, position) for output, position in op.inplace_candidates(node)
                if output not in op.destroy_map and output not in op.view_map and has_memory(node.outputs[output])]

    def mark(self, node, pairs):
        """Make a node overwrite ``pairs``, if there is such a variant of its op."""
        variant = variant_of(node.op, dict(sorted([*destroyed_by(node.op), *pairs.items()])))
        if variant is not None:
            self.fgraph.change_op(node, variant)
            self.count += 1


def mark_temporaries(order, destruction, marks):
    """Mark nodes that are the last reader, in this order, of a value that they can overwrite."""
    root_of = destruction.memory.root
    number = {node: position for position, node in enumerate(order)}
    last = {root: max(readers, key=number.get) for root, readers in destruction.memory.readers.items()}
    for node in order:
        if node in destruction.commits:
            continue
        found, taken = {}, set()
        dying = [pair for pair in marks.candidates(node) if destruction.is_last(node, pair[1], number, last)]
        dying.sort(key=lambda pair: root_of(node.inputs[pair[1]]) is not node.inputs[pair[1]])    # views come last
        for output, position in dying:
            root = root_of(node.inputs[position])
            if output not in found and root not in taken and destruction.objection(node, output, position) is None:
                found[output] = position
                taken.add(root)
                destruction.note(node, position)
        if found:
            marks.mark(node, found)
