"""Views among cells: which cell refers to whose memory, as ops declare in ``view_map``; for variables see
``graph/traversal.py``.

Only this file follows views of cells, except for the verifier, which follows them independently to check the others.
"""
PASSING = frozenset(["ALIAS", "MOVE"])          # instructions by which a lazy branch passes on a value without a copy


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
    """Map each cell that is a view on every path to the cell that owns its memory.

    What a lazy branch passes on may be in the memory of either arm's value, so it counts as its own root. This is for
    reports, and for decisions that reference counts check at run time; others need ``memories_of``.

    Returns
    -------
    dict
    """
    sources = {view: source for _, pairs in sorted(program.views.items()) for view, source in pairs}
    return {cell: _last(sources, cell) for cell in sources}


def memories_of(code):
    """Map cells that may share memory with others, through views or branches, to one that represents them all.

    Parameters
    ----------
    code : iterable of SymbolicInstruction

    Returns
    -------
    dict
        Without the representatives themselves. Two cells may share memory if their representatives are the same.
    """
    joined = {}
    for instruction in code:
        passed_on = [(instruction.a, instruction.b)] if instruction.name in PASSING else ()
        for view, source in (*instruction.views, *passed_on):
            view, source = _last(joined, view), _last(joined, source)
            if view != source:
                joined[view] = source
    return {cell: _last(joined, cell) for cell in joined}


def _last(following, cell):
    """Follow a chain of cells to its end, and halve it for the next time."""
    while cell in following:
        after = following[cell]
        if after in following:
            following[cell] = following[after]
        cell = after
    return cell
