"""Random graphs for the tests of orders: how they are made, and in which orders a library walks over them.

``python tests/api/random_orders.py theano.gof`` writes ``orders_of_theano.json``, where Theano 1.0.5 is installed: one
graph a row, with its orders.
"""
import json
import random
import sys
from collections import deque
from importlib import import_module
from pathlib import Path

ROWS = Path(__file__).with_name("orders_of_theano.json")
N_GRAPHS = 60


def random_graph(seed):
    """(number of leaves; for each node its inputs and number of outputs; outputs; inputs), variables as numbers."""
    numbers = random.Random(seed)
    n_leaves = count = numbers.randint(1, 4)
    nodes = []
    for _ in range(numbers.randint(1, 8)):
        n_outputs = numbers.choice((1, 1, 1, 2))
        nodes.append(([numbers.randrange(count) for _ in range(numbers.randint(1, 3))], n_outputs))
        count += n_outputs
    outputs = [numbers.randrange(n_leaves, count) for _ in range(numbers.randint(1, 3))]
    inputs = sorted({numbers.randrange(count) for _ in range(numbers.randint(0, 3))} - set(outputs))
    return n_leaves, nodes, outputs, inputs


def made(gof, graph):
    """All variables of a random graph, and its nodes."""
    class AnyType(gof.Type):
        def filter(self, value, strict=False, allow_downcast=None):
            return value

    class AnyOp(gof.Op):
        def make_node(self, *inputs):
            raise NotImplementedError

    n_leaves, descriptions, _, _ = graph
    variables, nodes = [AnyType()() for _ in range(n_leaves)], []
    for inputs, n_outputs in descriptions:
        nodes.append(gof.Apply(AnyOp(), [variables[i] for i in inputs], [AnyType()() for _ in range(n_outputs)]))
        variables += nodes[-1].outputs
    return variables, nodes


def orders(gof, graph):
    """Name of a walk → the order in which it finds the things of a random graph."""
    variables, nodes = made(gof, graph)
    outputs, inputs = [variables[i] for i in graph[2]], [variables[i] for i in graph[3]]
    name = {thing: f"v{number}" for number, thing in enumerate(variables)}
    name.update({node: f"n{number}" for number, node in enumerate(nodes)})
    walks, before = gof.graph, {nodes[0]: [nodes[-1]]} if len(nodes) > 1 else {}
    found, readers = {}, {}

    def around(thing):
        return thing.inputs if thing in nodes else [thing.owner] if thing.owner else []

    found["ancestors"] = walks.ancestors(outputs, inputs)
    found["inputs"] = walks.inputs(outputs)
    found["blocked inputs"] = walks.inputs(outputs, inputs)
    found["variables"] = walks.variables(inputs, outputs)
    found["orphans"] = walks.orphans(inputs, outputs)
    found["list_of_nodes"] = walks.list_of_nodes(variables[:graph[0]], outputs)
    found["io_toposort"] = walks.io_toposort(variables[:graph[0]], outputs)
    found["io_toposort with clients"] = walks.io_toposort(inputs, outputs, clients=readers)
    found["general_toposort"] = walks.general_toposort(outputs, around)
    for mode in ("bfs", "dfs"):
        found[mode], inverse = walks.stack_search(deque(outputs), around, mode, True)
        found[mode + " inverse"] = [thing for part in sorted(inverse, key=name.get) for thing in inverse[part]]
    found["clients"] = [thing for part in sorted(readers, key=name.get) for thing in readers[part]]
    try:
        found["orderings"] = walks.io_toposort([], outputs, orderings=before)
    except ValueError:
        found["orderings"] = []
    return {walk: " ".join([name[thing] for thing in things]) for walk, things in found.items()}


if __name__ == "__main__":
    library = import_module(sys.argv[1])
    graphs = [random_graph(seed) for seed in range(N_GRAPHS)]
    lines = [json.dumps([graph, orders(library, graph)]) for graph in graphs]
    ROWS.write_text("[\n" + ",\n".join(lines) + "\n]\n")
