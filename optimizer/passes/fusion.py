"""Elementwise fusion: nodes that run over the same elements become one `Elemwise` of a `Composite`.

Groups are found by simulating a schedule, in linear time and without a search for cycles. A node that is not
elementwise runs as soon as its inputs are ready. When there is no such node, all elementwise nodes of one shape that
are ready, and nodes of this shape that become ready by them, run at the same time: they are a group. Smaller shapes
come first. Nodes that run at the same time cannot depend on each other through a node outside the group. If the first
reader of a node with the node's shape is in a later group, the node moves there, if its other readers allow it. Within
a group, nodes are joined if one reads the other or both read the same values. Values that other nodes read become
outputs: nothing is computed twice, but what would wait for long beside its operand (``long_waits.py``).

In graphs with lazy branches, a group stays within one region: no node runs only because it was fused with another.

Elementwise nodes that are needed only by updates of shared values run last and in separate groups: nodes that can
overwrite these values must not compute anything else.

Whole groups are fused. A group is cut, in order, where a kernel would have more than `OPERANDS` operands or `STEPS`
steps.
"""
from collections import deque
from heapq import heappop, heappush

from phintys.graph.destroy_handler import handler_of
from phintys.graph.lazy_regions import known_regions
from phintys.graph.trace import Traces
from phintys.graph.variable import Constant
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.composite_assembly import Assembly, is_inlined
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.optimizer.engine.lengths import ONE, Lengths
from phintys.optimizer.passes.length_checks import lengths_now
from phintys.optimizer.passes.long_waits import shorten_waits

LATE = 20                      # turns
OPERANDS = 30                  # inputs and outputs of a fused kernel: their blocks must stay in L1
STEPS = 200                    # programs are compiled in linear time, but their block registers come from L1 as well


def fuse(fgraph, rounding=True):
    """Fuse the elementwise nodes of ``fgraph`` in place; return how many nodes were made.

    ``rounding`` says whether a derivative may get a formula that is rounded in another way.
    """
    order = fgraph.toposort()
    regions = known_regions(fgraph)
    number = {} if regions is None else {node: region.number for node, region in regions.of.items()}
    lengths = lengths_now(fgraph) or Lengths(order, {node: () for node, region in number.items() if region})
    late = last_steps(fgraph, order)
    shapes = {node: ((node in late, number.get(node, 0)), *lengths.shape(node.outputs[0]))
              for node in order if type(node.op) is Elemwise}
    turns = turns_of(fgraph, order, shapes)
    sink(fgraph, order, shapes, turns)
    order = shorten_waits(fgraph, order, shapes, turns, rounding)
    made = 0
    for members in groups_of(order, shapes, turns):
        for chunk in chunks_of(fgraph, in_depth(members)):
            if len(chunk) > 1:
                replace_chunk(fgraph, chunk)
                made += 1
    return made


def last_steps(fgraph, order):
    """Return elementwise nodes that are needed only for updates of shared values which elementwise nodes read."""
    handler, clients, late = handler_of(fgraph), fgraph.clients, set()
    if handler is None or not handler.updates:
        return late
    stored = {output for position, output in handler.updates.items()
              if any([reader != "output" and type(reader.op) is Elemwise
                      for reader, _ in clients[fgraph.inputs[position]]])}
    for node in reversed(order):
        if type(node.op) is Elemwise and all([operand in stored if reader == "output" else reader in late
                                              for out in node.outputs for reader, operand in clients[out]]):
            late.add(node)
    return late


def turns_of(fgraph, order, shapes):
    """Return when each node runs: a number that the elementwise nodes of one group share.

    ``shapes`` has for each elementwise node whether it belongs to the last steps and the number of its region, then the
    tokens of its lengths.
    """
    clients, turns, turn = fgraph.clients, {}, 0
    waiting = {node: len({variable.owner for variable in node.inputs if variable.owner is not None}) for node in order}
    others = deque([node for node in order if not waiting[node] and node not in shapes])
    ready, heap, number = {}, [], {}   # shape -> ready nodes; the shapes among them; a number for each shape

    def enter(node):
        shape = shapes.get(node)
        if shape is None:
            others.append(node)
            return
        if not ready.get(shape):
            ready[shape] = []
            size = len(shape) - 1 - shape[1:].count(ONE)
            heappush(heap, (shape[0], size, number.setdefault(shape, len(number)), shape))
        ready[shape].append(node)

    def leave(node):
        # A dictionary, not a set, whose order differs from run to run: the order of readers decides about turns.
        for reader in {reader: None for out in node.outputs for reader, _ in clients[out] if reader != "output"}:
            waiting[reader] -= 1
            if not waiting[reader]:
                enter(reader)

    for node in order:
        if node in shapes and not waiting[node]:
            enter(node)
    while others or heap:
        turn += 1
        if others:
            node = others.popleft()
            turns[node] = turn
            leave(node)
            continue
        shape = heappop(heap)[-1]
        for node in ready[shape]:      # it grows during the loop
            turns[node] = turn
            leave(node)
        ready[shape] = []
    return turns


def sink(fgraph, order, shapes, turns):
    """Move nodes to the group of their first reader of the same shape, if no other reader comes before it.

    A node that is read late, by nodes of other shapes, runs before them if what it reads waits as long anyway.
    """
    clients = fgraph.clients
    for node in reversed(order):
        shape = shapes.get(node)
        if shape is None:
            continue
        first = target = None
        for out in node.outputs:
            for reader, _ in clients[out]:
                if reader != "output":
                    turn = turns[reader]
                    first = turn if first is None else min(first, turn)
                    if shapes.get(reader) == shape:
                        target = turn if target is None else min(target, turn)
        if target is None and first is not None and first - turns[node] >= LATE:
            if waits(fgraph, node, first, shapes, turns):
                turns[node] = first - 0.5       # before what runs in that turn
            continue
        if target is None or target != first or target == turns[node]:
            continue
        if sum([variable.owner is not None and turns[variable.owner] == turns[node] for variable in node.inputs]) < 2:
            turns[node] = target


def waits(fgraph, node, turn, shapes, turns):
    """Return whether all that a node reads is there in a turn though it is read late, or could be computed then."""
    computed = [node]               # a list, not recursion: values with one reader can be a long chain
    for reader in computed:
        for variable in dict.fromkeys(reader.inputs):
            if variable.owner is None or all(variable.type.broadcastable):
                continue
            others = [other for other, _ in fgraph.clients[variable] if other is not reader]
            if not others and shapes.get(variable.owner) == shapes[node] and len(variable.owner.outputs) == 1:
                computed.append(variable.owner)
            elif not any([other == "output" or turns[other] >= turn for other in others]):
                return False
    return True


def groups_of(order, shapes, turns):
    """Return lists of nodes, in order, that may run as one."""
    groups = {}
    for node in order:
        shape = shapes.get(node)
        if shape is not None:
            groups.setdefault((turns[node], shape), []).append(node)
    for (_, shape), members in groups.items():
        if len(members) > 1:
            yield from connected(members, any([token != ONE for token in shape[1:]]))


def connected(members, has_elements):
    """Return the parts of a group that share values; sharing one-element values does not connect large loops."""
    parents = {node: node for node in members}

    def root(node):
        while parents[node] is not node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    position = {node: number for number, node in enumerate(members)}
    seen = {}
    for node in members:
        for variable in node.inputs + node.outputs:
            if isinstance(variable, Constant) or (has_elements and all(variable.type.broadcastable)):
                continue
            other = seen.setdefault(variable, node)
            if other is not node:
                first, second = root(other), root(node)
                if position[first] > position[second]:
                    first, second = second, first
                parents[second] = first
    parts = {}
    for node in members:
        parts.setdefault(root(node), []).append(node)
    return list(parts.values())


def in_depth(members):
    """Order a group so that few values wait to be read: from each result down, the longest branch first."""
    if len(members) < 3:                # as they are, inputs first
        return members
    heights, read = {}, set()
    for node in members:
        inner = [variable.owner for variable in node.inputs if variable.owner in heights]
        heights[node] = 1 + max([heights[owner] for owner in inner], default=0)
        read.update(inner)
    ordered, done = [], set()
    for result in members:
        stack = [] if result in read else [result]
        while stack:
            node = stack.pop()
            if node in done:
                continue
            inner = dict.fromkeys([variable.owner for variable in node.inputs
                                   if variable.owner in heights and variable.owner not in done])
            if inner:
                stack.append(node)
                stack.extend(sorted(inner, key=heights.get))
            else:
                done.add(node)
                ordered.append(node)
    return ordered


def steps_in(node):
    """Return how many steps a node adds to a fused kernel."""
    scalar_op = node.op.scalar_op
    if scalar_op.steps is not None:
        return sum([max(len(slots) - 1, 1) for _, slots in scalar_op.steps])
    return max(len(node.inputs) - 1, 1)


class Chunk:
    """Nodes of a group, in order, that become one kernel, and how large it is.

    Attributes
    ----------
    nodes : list of Apply
    inputs : set of Variable
        What the kernel reads.
    waiting : dict
        Each result of the nodes → how many of its readers are not in the chunk. Those with readers left are outputs.
    outputs : int
        How many these are.
    steps : int
    """

    def __init__(self, clients):
        self.clients = clients
        self.nodes, self.inputs, self.waiting, self.outputs, self.steps = [], set(), {}, 0, 0

    def takes(self, node):
        """Add a node, unless the kernel would be too large with it; return whether it was added. One always is."""
        clients, waiting, inputs, times = self.clients, self.waiting, self.inputs, {}
        for variable in node.inputs:
            times[variable] = times.get(variable, 0) + 1
        fresh = [variable for variable in times
                 if variable not in waiting and variable not in inputs and not is_inlined(variable)]
        wanted = [out for out in node.outputs if clients[out]]
        outputs, steps = self.outputs + len(wanted), self.steps + steps_in(node)
        for variable, count in times.items():
            if waiting.get(variable) == count:          # nothing but the chunk reads it any more
                outputs -= 1
        if self.nodes and (steps > STEPS or len(inputs) + len(fresh) + outputs > OPERANDS):
            return False
        self.nodes.append(node)
        inputs.update(fresh)
        self.outputs, self.steps = outputs, steps
        for variable, count in times.items():
            if variable in waiting:
                waiting[variable] -= count
        for out in wanted:
            waiting[out] = len(clients[out])
        return True


def chunks_of(fgraph, members):
    """Cut a group, in order, where a kernel would become too large: lists of nodes."""
    chunk = Chunk(fgraph.clients)
    for node in members:
        if not chunk.takes(node):
            yield chunk.nodes
            chunk = Chunk(fgraph.clients)
            chunk.takes(node)
    if chunk.nodes:
        yield chunk.nodes


def replace_chunk(fgraph, chunk):
    """Replace the nodes of ``chunk`` by one fused node."""
    assembly, inside = Assembly(), set(chunk)
    outputs = []
    for node in chunk:
        assembly.add(node)
        for out in node.outputs:
            if any([reader not in inside for reader, _ in fgraph.clients[out]]):
                outputs.append(out)
    composite = Composite.of_steps(*assembly.finish(outputs))
    fused = composite.elementwise.make_node(*assembly.inputs)
    fused._position = Traces(assembly.positions, in_parts=True)
    for old, new in zip(outputs, fused.outputs):
        new.name = old.name
        fgraph.replace(old, new, reason="elemwise_fusion")
