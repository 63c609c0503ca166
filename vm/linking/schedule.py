"""The order in which nodes run: every order that respects the graph is correct; this one keeps few values alive.

Sizes are not known when a function is compiled, so the weight of a value depends on its rank: 0 for rank 0, which is
stored in its cell, 1 for a vector, and ROW times more for each further dimension. Arguments, shared values, constants
and results have no weight, because no order can free them early. A view has no weight and keeps its source alive.

The greedy order picks, among the nodes that are ready, the one that frees most: a chain is followed to its end before
another starts, and the gradient of a weight is computed as soon as that frees a factor of it. Of this order and the
graph's own depth-first order, the one with the lower peak is used, or the lower average where peaks are about equal. If
its peak is higher than what a single node needs, a third one is tried: depth first, with the operands first that need
most memory for a while, as is good for trees. Then ``lower_peaks`` looks for a better one: it finds the best order of
few nodes, and of parts of longer ones, by going through the sets of nodes that can have run, those with the lowest peak
first. For series-parallel graphs of up to about 15 nodes that is the best order of all; for such graphs of 20 to 25
nodes the peak is nearly always the lowest (tests compare it with all orders). A node that holds a graph, as a loop
does, needs the peak of that graph while it runs.

Nodes that overwrite an input run after the other readers of that memory, as the graph's ``orderings`` require. Nodes
that overwrite shared values with their updates run last, in their own order; what they read stays alive to the end.

Where branches are lazy, each region has an order of its own. Its lazy nodes read what their branches read, and need the
higher peak of the two, since one of them runs. If several branches share nodes (a block), all nodes are ordered as if
they ran, and those of a region run at the position of its lazy node or of the first node that needs its block.
"""
from collections import namedtuple
from heapq import heapify, heappop, heappush

from phintys.graph.destroy_handler import handler_of
from phintys.graph.lazy_regions import known_regions
from phintys.graph.toposort import io_toposort

PART = 24               # nodes of which the best order is looked for at once
FEWEST, EACH = 100, 2   # sets of nodes that are gone through: so many, and for each node of the graph
SMALL = 0.001           # the share of a peak that decides between orders no more than their averages do
ROW = 64                # the weight of a matrix, in vectors, and so on for each rank


_Graph = namedtuple("_Graph", "outputs")


def weight_of(variable):
    """Return the weight of a value: an estimate of its size by its rank."""
    layout = variable.type.layout
    return 0 if layout is None or layout[1] == 0 else ROW ** (min(layout[1], 8) - 1)


def schedule(fgraph, weigh=weight_of, adds_soon=False):
    """Return the nodes of a graph in the order in which they will run.

    Parameters
    ----------
    fgraph : FunctionGraph
    weigh : function
        From a variable to its weight.
    adds_soon : bool
        Whether sums over many steps, such as the gradient of a weight, begin with the first step, not at the end.

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
    if regions is None or regions.blocks:
        values = _Values(fgraph, nodes, last, weigh)
        if adds_soon and regions is None:
            values.ignore_sums(weigh)
            nodes = _greedy_order(nodes, values, fgraph.orderings())
        else:
            nodes = _ordered(nodes, values, fgraph.orderings())
    else:
        nodes = _ordered_by_regions(fgraph, regions, nodes, last, weigh)
    if regions is None:
        return nodes + last
    regions.arrange(nodes + last)
    return regions.flattened()


def _ordered(nodes, values, orderings):
    if len(nodes) < 3:
        return nodes
    least, found = values.least(nodes), [(nodes, values.alive(nodes))]
    if max(found[0][1]) <= least:
        return nodes
    for other in _greedy_order, _order_by_operands:
        order = other(nodes, values, orderings)
        found.append((order, values.alive(order)))
        order, alive = values.best(found)
        if max(alive) <= least:
            return order
    return lower_peaks(order, alive, values, orderings)


def _ordered_by_regions(fgraph, regions, nodes, last, weigh):
    """The nodes of each region in an order of its own, the innermost regions first."""
    members, inside, outside, found = {}, {}, {}, []
    for node in nodes:
        members.setdefault(regions.of[node], []).append(node)
    orderings = {node: list(earlier) for node, earlier in fgraph.orderings().items()}
    for region in sorted(members, key=lambda region: -region.number):       # arms have higher numbers
        own = members[region]
        further = {node: [variable for arm in regions.arms[node] for variable in outside.get(arm, ())]
                   for node in own if node in regions.arms}
        for node, variables in further.items():
            orderings.setdefault(node, []).extend([variable.owner for variable in variables])
        kept = fgraph.outputs if region.node is None else [
            variable for position, variable in enumerate(region.node.inputs)
            if regions.region_at(region.node, position) is region]
        values = _Values(_Graph(kept), own, last if region.node is None else (), weigh, inside, further)
        order = _ordered(own, values, orderings)
        found += order
        if region.node is not None:
            inside[region.node] = max(inside.get(region.node, 0), values.peak(order))
            outside[region] = dict.fromkeys([
                variable for node in own for variable in (*node.inputs, *further.get(node, ()))
                if variable.owner is not None and variable.owner not in values.makes])
    return found


class _Values:
    """The memory that each node reads and makes; views count as their root.

    ``inside`` and ``further`` say which peaks nodes have inside, and what they read besides their inputs.
    """

    def __init__(self, fgraph, nodes, last=(), weigh=weight_of, inside=(), further=None):
        self.weight = {}                # root → weight; only of roots that an order can free
        self.reads = {}                 # node → the roots in `weight` that it reads
        self.readers = {}               # root → nodes that read it
        self.makes = {}                 # node → the roots in `weight` that it makes
        self.inside = dict(inside)      # node → the peak of the graph that it holds, if it holds one
        root = {}
        for node in nodes:
            same_memory = {**node.op.view_map, **node.op.destroy_map}
            read = dict.fromkeys([root.get(variable) for variable in (
                [*node.inputs, *further[node]] if further and node in further else node.inputs)])
            read.pop(None, None)
            self.reads[node] = list(read)
            made = self.makes[node] = []
            if weigh is weight_of and getattr(node.op, "local_outputs", None):
                self.inside[node] = _peak_of_graph(node.op)
            for position, variable in enumerate(node.outputs):
                if position in same_memory:
                    root[variable] = root.get(node.inputs[same_memory[position][0]])
                    continue
                root[variable] = variable
                self.weight[variable] = weigh(variable)
                self.readers[variable] = []
                made.append(variable)
        for variable in [*fgraph.outputs, *[variable for node in last for variable in node.inputs]]:
            kept = root.get(variable)
            if kept is not None:
                self.weight[kept] = 0
        for node in nodes:
            for variable in self.reads[node]:
                self.readers[variable].append(node)

    def ignore_sums(self, weigh):
        """Give no weight to what becomes a result in place: it takes the memory of the result, only earlier."""
        waiting = [variable for variable, weight in self.weight.items() if not weight and weigh(variable)]
        while waiting:
            variable = waiting.pop()
            for output, position in variable.owner.op.inplace_candidates(variable.owner):
                source = variable.owner.inputs[position]
                if (variable.owner.outputs[output] is variable and len(self.readers.get(source, ())) == 1
                        and self.weight[source] == weigh(variable)):
                    self.weight[source] = 0
                    waiting.append(source)

    def peak(self, order):
        """Return the largest weight alive at one time."""
        return max(self.alive(order), default=0)

    @staticmethod
    def best(found):
        """Of orders with what is alive in each, return the one with the lowest peak; of those that are as good but for
        small values, the one with the least alive on average, because what is small by its rank may be large."""
        enough = min([max(alive) for _, alive in found]) * (1 + SMALL)
        return min([order for order in found if max(order[1]) <= enough], key=lambda order: sum(order[1]))

    def alive(self, order):
        """Return for each node the weight alive while it runs."""
        left = {variable: len(readers) for variable, readers in self.readers.items()}
        alive, found = 0, []
        for node in order:
            for variable in self.makes[node]:
                alive += self.weight[variable]
            found.append(alive + self.inside.get(node, 0))
            for variable in self.reads[node]:
                left[variable] -= 1
                if not left[variable]:
                    alive -= self.weight[variable]
            for variable in self.makes[node]:
                if not left[variable]:                  # never read
                    alive -= self.weight[variable]
        return found

    def needed(self, node):
        """Return the weight that must be alive while a node runs, in any order."""
        return self.inside.get(node, 0) + sum([self.weight[variable] for variable in {
            *self.reads[node], *self.makes[node]}])

    def least(self, nodes):
        """Return what no order of nodes can be below."""
        return max([self.needed(node) for node in nodes])


def _peak_of_graph(op):
    """The peak of the graph that an op holds, in the graph's own order."""
    inputs, outputs = op.body() if hasattr(op, "body") else (op.local_inputs, op.local_outputs)
    nodes = io_toposort(inputs, outputs)
    return _Values(_Graph(outputs), nodes).peak(nodes)


# ---- better orders ---------------------------------------------------------------------------------------------------
def lower_peaks(order, alive, values, orderings):
    """Return an order with a lower peak than that of a given one, if one is found: the best order of few nodes.

    Parameters
    ----------
    order : list of Apply
    alive : list of int
        What is alive while each of them runs.
    values : _Values
    orderings : mapping
        Node → nodes that must run before it, besides those whose results it reads.

    Returns
    -------
    list of Apply
    """
    least, states = values.least(order), FEWEST + EACH * len(order)
    while max(alive) > least and states > 0:
        top = alive.index(max(alive))
        first = max(0, min(top - PART // 2, len(order) - PART))
        part, used = _best_order(order, first, min(first + PART, len(order)), alive, values, orderings, states)
        states -= used + len(order) // 8         # what it costs to go through the order again
        if part is None:
            break
        order = order[:first] + part + order[first + len(part):]
        alive = values.alive(order)
    return order


def _best_order(order, first, end, alive, values, orderings, states):
    """Return (order[first:end] in an order with a lower peak, or None; how many sets of nodes were gone through).

    A state is the set of those nodes of the part that have run, as bits. Its order so far does not matter for what
    comes after it, so of the ways to a state only that with the lowest peak is followed. States with the lowest peak
    come first, so the first way to the end is the best. A node that is ready, frees at least what it makes and does not
    raise the peak runs at once: in any other order it could be moved to the front.
    """
    part = order[first:end]
    bit = {node: 1 << position for position, node in enumerate(part)}
    needs, steps, all_bits = [], [], (1 << len(part)) - 1
    readers = {variable: None for node in part for variable in (*values.reads[node], *values.makes[node])}
    later = set(order[end:])
    for variable in readers:                    # bits of the readers in this part; None: it is not freed here
        if values.weight[variable] and later.isdisjoint(values.readers[variable]):
            readers[variable] = sum([bit.get(node, 0) for node in values.readers[variable]])
    for node in part:
        before = {*[variable.owner for variable in node.inputs], *orderings.get(node, ())}
        needs.append(sum([bit[owner] for owner in before if owner in bit]))
        freed = [(readers[variable], values.weight[variable]) for variable in {*values.reads[node], *values.makes[node]}
                 if readers[variable] is not None]
        steps.append((sum([values.weight[variable] for variable in values.makes[node]]),
                      values.inside.get(node, 0), freed))
    bound, start = max(alive[first:end]), alive[first] - steps[0][0] - steps[0][1]
    heap, peaks, came, used = [(0, 0, 0, start)], {0: 0}, {}, 0
    least = max([values.needed(node) for node in part])
    while heap and used < states:
        peak, _, state, now = heappop(heap)
        if peak > peaks[state]:
            continue                            # a better way to this state was found after it was entered
        if state == all_bits:
            return _way_back(part, came), used
        used += 1
        ways = []
        for position, (made, inside, freed) in enumerate(steps):
            reached = state | 1 << position
            if reached == state or needs[position] & ~state:
                continue
            height = max(peak, now + made + inside)
            left = now + made - sum([weight for bits, weight in freed if not bits & ~reached])
            ways.append((height, left, reached, position))
            if left <= now and height <= max(peak, least):      # no order is worse for running it at once
                ways = ways[-1:]
                break
        for height, left, reached, position in ways:
            if height < peaks.get(reached, bound):
                peaks[reached], came[reached] = height, position
                heappush(heap, (height, -reached.bit_count(), reached, left))
    return None, used


def _way_back(part, came):
    """The nodes of a part in the order in which a search came to its end."""
    state, found = (1 << len(part)) - 1, []
    while state:
        found.append(part[came[state]])
        state ^= 1 << came[state]
    return found[::-1]


def _order_by_operands(nodes, values, orderings):
    """Depth first, of the operands of a node first that which needs most memory beyond what it leaves.

    For a tree this is the best of the orders that compute one operand after the other. What several nodes read is
    computed for the first of them, and counts as if each had it computed.
    """
    number = {node: position for position, node in enumerate(nodes)}
    highest, left, operands = [], [], []            # of each node: its peak, what it leaves, its operands in order
    most = sum(values.weight.values())
    for node in nodes:
        before = {*[variable.owner for variable in node.inputs], *orderings.get(node, ())}
        before = sorted([number[owner] for owner in before if owner in number],
                        key=lambda position: (left[position] - highest[position], position))
        peak = alive = 0
        for position in before:
            peak = max(peak, alive + highest[position])
            alive += left[position]
        made = alive + sum([values.weight[variable] for variable in values.makes[node]])
        freed = sum([values.weight[variable] for variable in values.reads[node] if len(values.readers[variable]) == 1])
        highest.append(max(peak, made + values.inside.get(node, 0)))
        left.append(min(made - freed, most))        # not what grows with each node that is read twice
        operands.append(before)
    order, entered, done = [], [False] * len(nodes), [False] * len(nodes)
    for last in reversed(range(len(nodes))):
        waiting = [last]
        while waiting:
            position = waiting[-1]
            if entered[position]:
                waiting.pop()
                if not done[position]:
                    done[position] = True
                    order.append(nodes[position])
                continue
            entered[position] = True
            waiting.extend([operand for operand in reversed(operands[position]) if not entered[operand]])
    return order


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
