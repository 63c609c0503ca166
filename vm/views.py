"""Which cells of a program are views, and of which cells: read off the nodes that its instructions came from."""
from phintys.vm.opcodes import OPCODES
from phintys.vm.program import cells_of_inputs


def views_of(program, position, instruction):
    """The views that an instruction makes.

    Returns
    -------
    list of tuple
        The cell that is a view, and the cell that it is a view of.
    """
    node = program.nodes[position]
    if OPCODES[instruction.op].name not in ("KERNEL", "CALL") or node is None or not node.op.view_map:
        return []
    cells = program.pool[instruction.b:instruction.b + instruction.c]
    inputs, outputs = cells[:-len(node.outputs)], cells[-len(node.outputs):]
    number = cells_of_inputs(node, inputs, program.cells)
    return [(outputs[output], number[node.inputs[position]])
            for output, (position, *_) in node.op.view_map.items() if node.inputs[position] in number]


def roots_of(program):
    """For each cell that is a view, the cell whose memory it is a view of in the end.

    Returns
    -------
    dict
    """
    roots = {}
    for position, instruction in enumerate(program.instructions()):
        for view, source in views_of(program, position, instruction):
            roots[view] = roots.get(source, source)
    return roots
