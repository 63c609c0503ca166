"""Views among cells: which cell refers to whose memory, as ops declare in ``view_map``; for variables see
``graph/traversal.py``.

Only this file follows views of cells, except for the verifier, which follows them independently to check the others.
"""
from phintys.vm.program import cells_of_inputs


def is_view(variable):
    """Return whether a node made the variable as a view of its input; a number chosen from several inputs is copied."""
    node = variable.owner
    if node is None or not node.op.view_map:
        return False
    positions = node.op.view_map.get(variable.index, ())
    return len(positions) == 1 or (len(positions) > 1 and getattr(variable.type, "ndim", None) != 0)


def views_of(instruction, layouts):
    """Return the views that an instruction makes.

    Parameters
    ----------
    instruction : SymbolicInstruction
    layouts : sequence of CellLayout

    Returns
    -------
    list of tuple
        The view's cell and the cell that it is a view of.
    """
    return _declared(instruction, layouts, "view_map")


def overwritten_by(instruction, layouts):
    """Return the overwriting that the op of an instruction declares.

    Returns
    -------
    list of tuple
        The cell that takes memory, and the cell whose value is lost.
    """
    return _declared(instruction, layouts, "destroy_map")


def _declared(instruction, layouts, which):
    """Return (output cell, input cell) of the pairs in one of the op's maps, for inputs that the instruction reads."""
    node = instruction.node
    declared = getattr(node.op, which) if node is not None and instruction.computes() else None
    if not declared:
        return []
    outputs, cell_of = instruction.writes(), cells_of_inputs(node, instruction.reads(), layouts)
    return [(outputs[output], cell_of[node.inputs[position]])
            for output, (position, *_) in declared.items() if node.inputs[position] in cell_of]


def roots_of(program):
    """Map each cell that is a view to the cell that owns its memory.

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
    """Map each cell to a representative of all cells that it may share memory with, through views or branches.

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
