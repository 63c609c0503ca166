"""Views among cells: which cell refers to whose memory, as ops declare in ``view_map``; for variables see
``graph/traversal.py``.

Only this file follows views of cells, except for the verifier, which follows them independently to check the others.
"""


def is_view(variable):
    """Return whether a node made the variable as a view of its input; a number chosen from several inputs is copied."""
    node = variable.owner
    if node is None or not node.op.view_map:
        return False
    positions = node.op.view_map.get(variable.index, ())
    return len(positions) == 1 or (len(positions) > 1 and getattr(variable.type, "ndim", None) != 0)


def declared_pairs(declared, node, inputs, cells):
    """What a node's op declares of its memory, as cells.

    Parameters
    ----------
    declared : dict
        The op's ``view_map`` or ``destroy_map``.
    node : Apply
    inputs : sequence of Variable
        Those that the node's instruction reads.
    cells : sequence of int
        The instruction's operands: these inputs, then the outputs.

    Returns
    -------
    tuple of tuple
        Pairs of an output's cell and an input's cell, as far as the instruction reads the inputs.
    """
    if not declared:
        return ()
    cell_of, outputs = dict(zip(inputs, cells)), cells[len(inputs):]
    return tuple([(outputs[output], cell_of[node.inputs[position]])
                  for output, (position, *_) in declared.items() if node.inputs[position] in cell_of])


def roots_of(program):
    """Map each cell that is a view to the cell that owns its memory.

    Returns
    -------
    dict
    """
    roots = {}
    for instruction in program.symbolic():
        for view, source in instruction.views:
            roots[view] = roots.get(source, source)
    return roots


def memories_of(code):
    """Map each cell to a representative of all cells that it may share memory with, through views or branches.

    Parameters
    ----------
    code : sequence of SymbolicInstruction

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
        for view, source in instruction.views:
            parents[memory(view)] = memory(source)
    return {cell: memory(cell) for cell in parents}
