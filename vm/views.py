"""Views among cells: which look at whose memory, as ops declare it in ``view_map``; for variables see
``graph/traversal.py``.

The one place that follows views of cells, except for the verifier, which follows them by itself to check the others.
"""
from phintys.vm.program import cells_of_inputs


def is_view(variable):
    """Whether a node made the variable as a view of its input; a number that is one of several was copied."""
    node = variable.owner
    if node is None or not node.op.view_map:
        return False
    positions = node.op.view_map.get(variable.index, ())
    return len(positions) == 1 or (len(positions) > 1 and getattr(variable.type, "ndim", None) != 0)


def views_of(instruction, layouts):
    """The views that an instruction makes.

    Parameters
    ----------
    instruction : SymbolicInstruction
    layouts : sequence of CellLayout

    Returns
    -------
    list of tuple
        The cell that is a view, and the cell that it is a view of.
    """
    return _declared(instruction, layouts, "view_map")


def overwritten_by(instruction, layouts):
    """The overwriting that the op of an instruction declares.

    Returns
    -------
    list of tuple
        The cell that takes memory, and the cell whose value is lost.
    """
    return _declared(instruction, layouts, "destroy_map")


def _declared(instruction, layouts, which):
    """(output cell, input cell) of the pairs in one of an op's maps, as far as its instruction reads the inputs."""
    node = instruction.node
    declared = getattr(node.op, which) if node is not None and instruction.computes() else None
    if not declared:
        return []
    outputs, cell_of = instruction.writes(), cells_of_inputs(node, instruction.reads(), layouts)
    return [(outputs[output], cell_of[node.inputs[position]])
            for output, (position, *_) in declared.items() if node.inputs[position] in cell_of]


def roots_of(program):
    """For each cell that is a view, the cell whose memory it is a view of in the end.

    Returns
    -------
    dict
    """
    roots = {}
    for instruction in program.symbolic():
        for view, source in views_of(instruction, program.cells):
            roots[view] = roots.get(source, source)
    return roots


def memories_of(code, layouts):
    """Cell → one that stands for all with which it may share memory, as views do and what branches hand on.

    Parameters
    ----------
    code : sequence of SymbolicInstruction
    layouts : sequence of CellLayout

    Returns
    -------
    dict
    """
    parents = {}

    def memory(cell):
        parents.setdefault(cell, cell)
        while parents[cell] != cell:
            parents[cell] = parents[parents[cell]]
            cell = parents[cell]
        return cell

    for instruction in code:
        if instruction.name in ("ALIAS", "MOVE"):
            parents[memory(instruction.a)] = memory(instruction.b)
        for view, source in views_of(instruction, layouts):
            parents[memory(view)] = memory(source)
    return {cell: memory(cell) for cell in parents}
