"""The order in which nodes run: every order that respects the graph is correct; this one keeps few values alive.

Sizes are not known when a function is compiled, so the weight of a value depends on its rank: 0 for rank 0, which is
stored in its cell, 1 for a vector, and ROW times more for each further dimension. Arguments, shared values, constants
and results have no weight, because no order can free them early. A view has no weight and keeps its source alive.

The greedy order picks, among the nodes that are ready, the one that frees most: a chain is followed to its end before
another starts, and the gradient of a weight is computed as soon as that frees a factor of it. Of this order and the
graph's own depth-first order, the one with the lower peak is used.

Nodes that overwrite an input run after the other readers of that memory, as the graph's ``orderings`` require. Nodes
that overwrite shared values with their updates run last, in their own order; what they read stays alive to the end.

Where branches are lazy, the nodes of each region run in this order, at the position of its lazy node or of the first
node that needs its block.
"""
from heapq import heapify, heappop, heappush

from phintys.graph.destroy_handler import handler_of
from phintys.graph.lazy_regions import known_regions

ROW = 64                # the weight of a matrix, in vectors, and so on for each rank


def schedule(fgraph):
    """Return the nodes of a graph in the order in which they will run.

    Parameters
    ----------
    fgraph : FunctionGraph

    Returns
    -------
    list of Apply
    """
    if fgraph.kept_order is not None:
        return list(fgraph.kept_order)
    handler, nodes = handler_of(fgraph), fgraph.toposort()
    regions = known_regions(fgraph)
    last = handler.commit_nodes(fgraph, nodes) if handler is not None else []
    if last:
        in_last = set(last)
        nodes = [node for node in nodes if node not in in_last]
    if len(nodes) > 2:
        values = _Values(fgraph, nodes, last)
        greedy = _greedy_order(nodes, values, fgraph.orderings())
        if values.peak(greedy) < values.peak(nodes):
            nodes = greedy
    if regions is None:
        return nodes + last
    regions.arrange(nodes + last)
    return regions.flattened()


def weight_of(variable):
    """Return the weight of a value: an estimate of its size by its rank."""
    layout = variable.type.layout
    return 0 if layout is None or layout[1] == 0 else ROW ** (min(layout[1], 8) - 1)


class _Values:
    """The memory that each node reads and makes; views count as their root."""

    def __init__(self, fgraph, nodes, last=()):
        self.weight = {}                # root → weight; only of roots that an order can free
        self.reads = {}                 # node → the roots in `weight` that it reads
        self.readers = {}               # root → nodes that read it
        self.makes = {}                 # node → the roots in `weight` that it makes
        root = {}
        for node in nodes:
            same_memory = {**node.op.view_map, **node.op.destroy_map}
            read = dict.fromkeys([root.get(variable) for variable in node.inputs])
            read.pop(None, None)
            self.reads[node] = list(read)
            made = self.makes[node] = []
            for position, variable in enumerate(node.outputs):
                if position in same_memory:
                    root[variable] = root.get(node.inputs[same_memory[position][0]])
                    continue
                root[variable] = variable
                self.weight[variable] = weight_of(variable)
                self.readers[variable] = []
                made.append(variable)
        for variable in [*fgraph.outputs, *[variable for node in last for variable in node.inputs]]:
            kept = root.get(variable)
            if kept is not None:
                self.weight[kept] = 0
        for node in nodes:
            for variable in self.reads[node]:
                self.readers[variable].append(node)

    def peak(self, order):
        """Return the largest weight alive at one time."""
        left = {variable: len(readers) for variable, readers in self.readers.items()}
        alive = peak = 0
        for node in order:
            for variable in self.makes[node]:
                alive += self.weight[variable]
            peak = max(peak, alive)
            for variable in self.reads[node]:
                left[variable] -= 1
                if not left[variable]:
                    alive -= self.weight[variable]
            for variable in self.makes[node]:
                if not left[variable]:                  # never read
                    alive -= self.weight[variable]
        return peak


def _greedy_order(nodes, values, orderings):
    """Always pick the ready node that frees most; among equals, the first in the graph's own order."""
    number = {node: position for position, node in enumerate(nodes)}
    weight, reads = values.weight, values.reads
    left = {variable: len(readers) for variable, readers in values.readers.items()}
    # The sum of the numbers of the nodes that still have to read a value; once one is left, the sum is its number.
    waiting = {variable: sum([number[node] for node in readers]) for variable, readers in values.readers.items()}
    gain = [-sum([weight[variable] for variable in values.makes[node]]) for node in nodes]
    for variable, count in left.items():
        if count == 1:
            gain[waiting[variable]] += weight[variable]
    unmet, followers = _dependencies(nodes, number, orderings)
    heap = [(-gain[position], position) for position, count in enumerate(unmet) if count == 0]
    heapify(heap)
    order, done = [], [False] * len(nodes)
    while heap:
        _, position = heappop(heap)
        if done[position]:                              # an older entry, from before the node's gain grew
            continue
        done[position] = True
        node = nodes[position]
        order.append(node)
        for variable in reads[node]:
            left[variable] -= 1
            waiting[variable] -= position
            if left[variable] == 1 and weight[variable]:
                last = waiting[variable]
                gain[last] += weight[variable]
                if unmet[last] == 0:
                    heappush(heap, (-gain[last], last))
        for follower in followers[position]:
            unmet[follower] -= 1
            if unmet[follower] == 0:
                heappush(heap, (-gain[follower], follower))
    return order


def _dependencies(nodes, number, orderings):
    """Return, by number, how many nodes each node waits for, and which nodes wait for it."""
    unmet, followers = [0] * len(nodes), [[] for _ in nodes]
    for position, node in enumerate(nodes):
        for owner in {*[variable.owner for variable in node.inputs], *orderings.get(node, ())}:
            if owner is not None and owner in number:
                unmet[position] += 1
                followers[number[owner]].append(position)
    return unmet, followers
