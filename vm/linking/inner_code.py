"""The code of a graph inside a node: the instructions of an op that holds an optimised graph.

Its nodes run in the outer program, on new cells; its inputs are the cells of the node's inputs. So an op made from a
graph costs what its nodes cost, without a call. What the outer program assumes about the node stays true: its outputs
have memory of their own (views, inputs, and values returned twice are copied), and its inputs are only read. So a lazy
branch copies an input that it passes on: otherwise the inputs that it chooses from would count as one memory outside.
"""
from phintys.graph.lazy_regions import lazy_regions
from phintys.graph.op import lower_node
from phintys.graph.variable import Constant
from phintys.vm.linking.lazy_code import lower_nodes
from phintys.vm.linking.ownership import Ownership
from phintys.vm.linking.schedule import schedule
from phintys.vm.program import layout_of


def lower_graph(emitter, fgraph, node):
    """Emit code that computes the outputs of ``node``; inputs and outputs of ``fgraph`` are in the node's order."""
    nodes = schedule(fgraph)
    owners = Ownership(fgraph, nodes, n_arguments=len(fgraph.inputs), n_outputs=len(fgraph.outputs))
    outer = emitter.cell_of
    inner = dict(zip(fgraph.inputs, [outer[variable] for variable in node.inputs]))
    copied, separate = [], owners.chosen_from(fgraph.inputs)
    for local, output in zip(fgraph.outputs, node.outputs):
        if local.owner is None or local in inner or not (owners.is_own(local) or local in separate):
            copied.append((local, outer[output]))
        else:
            inner[local] = outer[output]
    for part in nodes:
        for variable in part.inputs + part.outputs:
            if variable not in inner:
                inner[variable] = _new_cell(emitter, variable)
        for variable in part.outputs:
            if variable in owners.donors:
                cell = inner[variable]
                emitter.cells[cell] = emitter.cells[cell]._replace(donor=inner[owners.donors[variable]])
    emitter.separate.update([inner[variable] for variable in separate])
    emitter.cell_of = inner
    lower_nodes(emitter, nodes, lazy_regions(fgraph, nodes), lambda part: lower_node(emitter, part))
    emitter.cell_of = outer
    for local, target in copied:
        if local not in inner:                      # a constant that nothing reads
            inner[local] = _new_cell(emitter, local)
        emitter.copy(target, inner[local], f"because {node.op} returns memory that it does not own", node)


def _new_cell(emitter, variable):
    """Add a cell for a constant or an intermediate result."""
    is_constant = isinstance(variable, Constant)
    emitter.cells.append(layout_of(variable, "constant" if is_constant else "value",
                                   variable.data if is_constant else None))
    return len(emitter.cells) - 1
