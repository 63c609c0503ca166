"""A graph run on names instead of arrays: what every piece of memory holds at every moment, and what it should hold.

It shares no code with the rules that it checks. ``compiled`` makes a graph with results and updates and optimises it;
``check`` follows the order in which it would run.
"""
from phintys.graph.destroy_handler import DestroyHandler, handler_of
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.variable import Constant
from phintys.modes import OPT_FAST_RUN
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.deep_copy import DeepCopyOp
from phintys.optimizer.pipeline import optimize
from phintys.vm.linking.schedule import schedule


class Compiled:
    """An optimised graph of ``results`` and ``updates``, a dict from shared values to new values."""

    def __init__(self, arguments, results, updates, mutable=(), shared=(), query=OPT_FAST_RUN):
        shared = list(dict.fromkeys([*updates, *shared]))
        inputs = [*arguments, *shared]
        self.fgraph = FunctionGraph(inputs, [*results, *updates.values()])
        copies = dict(zip(inputs, self.fgraph.inputs))
        self.n_results = len(results)
        self.mutable = {copies[variable] for variable in mutable}
        self.updates = {copies[variable]: len(results) + place for place, variable in enumerate(updates)}
        self.fgraph.attach_feature(DestroyHandler(self.mutable, self.updates))
        optimize(self.fgraph, query)
        self.order = schedule(self.fgraph)
        self.commits = handler_of(self.fgraph).commit_nodes(self.fgraph)

    @property
    def destroyers(self):
        """For each destroyer in order: what it is, and which of its inputs it overwrites, by name or key."""
        found = [(_kind(node.op), [_name(node.inputs[place]) for place, in node.op.destroy_map.values()])
                 for node in self.order]
        return [f"{operation}({', '.join(names)})" for operation, names in found if names]

    @property
    def copies(self):
        """How many values are copied before they are overwritten."""
        return sum([isinstance(node.op, DeepCopyOp) for node in self.order])


def _name(variable):
    return variable.name if variable.owner is None and variable.name else _kind(variable.owner.op)


def _kind(op):
    """The scalar op's name, or the class's."""
    return op.scalar_op.name if type(op) is Elemwise else type(op).__name__


def check(compiled):
    """Fail if a node reads, or an output gets, memory that holds something else than it should."""
    fgraph, order, commits = compiled.fgraph, compiled.order, compiled.commits
    assert set(order) == fgraph.apply_nodes and len(order) == len(fgraph.apply_nodes)
    assert order[len(order) - len(commits):] == commits
    leaves = {*fgraph.inputs, *fgraph.outputs, *[variable for node in order for variable in node.inputs]}
    memory = {variable: variable for variable in leaves if variable.owner is None}      # variable → where it lies
    content, value = dict(memory), dict(memory)         # place → what it holds, variable → what it should hold

    def read(variable):
        assert content[memory[variable]] is value[variable], f"{variable} was overwritten"

    for node in order[:len(order) - len(commits)]:
        step(node, memory, content, value, read)
    stored = fgraph.outputs[compiled.n_results:]
    for variable in fgraph.outputs:
        if variable.owner not in commits:
            read(variable)
    for leaf in leaves:
        if leaf.owner is None and leaf not in compiled.mutable:
            read(leaf)                                                 # whatever fails, fails before this moment
    for node in commits:
        assert node.op.cannot_fail and any([memory[variable] in compiled.updates for variable in node.inputs])
        for out in node.outputs:
            assert all([reader in commits or (reader == "output" and place >= compiled.n_results)
                        for reader, place in fgraph.clients[out]])
        step(node, memory, content, value, read)
    for place, variable in enumerate(stored, compiled.n_results):
        if variable.owner in commits:
            read(variable)
            shared = memory[variable]
            assert shared not in compiled.updates or compiled.updates[shared] == place
    for leaf in leaves:
        if isinstance(leaf, Constant) or (leaf in fgraph.inputs and leaf not in compiled.mutable
                                          and leaf not in compiled.updates):
            read(leaf)


def step(node, memory, content, value, read):
    """Let one node read and write."""
    for variable in node.inputs:
        read(variable)
    destroyed = [node.inputs[place] for places in node.op.destroy_map.values() for place in places]
    assert len({memory[variable] for variable in destroyed}) == len(destroyed)
    for variable in destroyed:
        for other in node.inputs:
            assert memory[other] is not memory[variable] or (other is variable and (
                node.inputs.count(variable) == 1 or node.op.reads_before_writing))
    for place, out in enumerate(node.outputs):
        source = [*node.op.view_map.get(place, ()), *node.op.destroy_map.get(place, ())]
        memory[out] = memory[node.inputs[source[0]]] if source else out
        value[out] = value[node.inputs[source[0]]] if place in node.op.view_map else out
        if place not in node.op.view_map:
            content[memory[out]] = out


def missed(compiled):
    """Nodes of one output before the commits that could overwrite a temporary of the output's type, and do not."""
    order, found = compiled.order, []
    outputs, root = compiled.fgraph.outputs, {}
    for node in order:
        for place, out in enumerate(node.outputs):
            looked_at = node.op.view_map.get(place)
            root[out] = root.get(node.inputs[looked_at[0]], node.inputs[looked_at[0]]) if looked_at else out
    needed = {root.get(variable, variable) for variable in outputs}
    for position, node in enumerate(order[:len(order) - len(compiled.commits)]):
        if not node.op.reads_before_writing or len(node.outputs) > 1 or not node.outputs[0].type.ndim:
            continue
        later = {root.get(variable, variable) for reader in order[position + 1:] for variable in reader.inputs}
        for variable in node.inputs:
            memory = root.get(variable, variable)
            aliases = {other for other in node.inputs if root.get(other, other) is memory}
            if memory not in needed | later and len(aliases) == 1 and variable.type == node.outputs[0].type \
                    and (memory.owner is not None or memory in compiled.mutable) and not node.op.destroy_map:
                found.append(node)
    return found
