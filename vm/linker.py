"""From a FunctionGraph to a Program: schedule → cells → lower → collect → assemble → verify.

Each stage is a function from one small structure to the next; no stage reaches back. A program runs in this order, so
that a failing call leaves every shared variable as it was: load shared values; compute; make the update values own
their memory (OWN); hand out the results (RESULT); then, past COMMIT, where nothing can fail, store the updates.
"""
from array import array

from phintys.graph.variable import Constant
from phintys.vm.emitter import Emitter
from phintys.vm.opcodes import NUMBER, RESULT_EMPTIES
from phintys.vm.program import INSTRUCTION_FORMAT, CellLayout, Program
from phintys.vm.schedule import schedule
from phintys.vm.verifier import verify

OBJECT_TYPENUM = -1        # the layout of a cell that holds a Python object


def link(fgraph, n_arguments, containers, updates, n_outputs, allow_gc=True, name=None):
    """Link an optimised graph.

    Parameters
    ----------
    fgraph : FunctionGraph
    n_arguments : int
        How many leading inputs of the graph are arguments of the call; the others are shared.
    containers : list of Container
        The storage of each remaining graph input, in order.
    updates : list of (int, Container)
        Which outputs of the graph are stored where.
    n_outputs : int
        How many leading outputs of the graph are results.
    allow_gc : bool
        Emit DROPs at the last use of each cell; else frames keep their buffers between calls.
    name : str, optional

    Returns
    -------
    Program
    """
    nodes = schedule(fgraph)
    cells, cell_of = assign_cells(fgraph, nodes, n_arguments)
    storage = list(containers)
    number = {id(container): position for position, container in enumerate(storage)}
    for _, container in updates:
        if id(container) not in number:
            number[id(container)] = len(storage)
            storage.append(container)
    emitter = lower(fgraph, nodes, cells, cell_of, n_arguments, len(containers),
                    [(position, number[id(container)]) for position, container in updates], n_outputs, allow_gc)
    code = collect(emitter.code, cells, allow_gc)
    program = assemble(code, emitter.kernels, cells, storage, n_arguments, n_outputs, allow_gc, name)
    verify(program)
    return program


def assign_cells(fgraph, nodes, n_arguments):
    """One cell a variable: arguments first, then shared values, constants and node outputs as they appear."""
    cells, cell_of = [], {}

    def add(variable, kind, value=None):
        typenum, ndim = variable.type.layout or (OBJECT_TYPENUM, 0)
        cell_of[variable] = len(cells)
        cells.append(CellLayout(variable, kind, typenum, ndim, value))

    def add_leaf(variable):
        if variable not in cell_of:                 # everything else has a cell by now, or the graph is broken
            if not isinstance(variable, Constant):
                raise ValueError(f"the linker met {variable}, which is neither an input, a constant nor computed")
            add(variable, "constant", variable.data)

    for position, variable in enumerate(fgraph.inputs):
        add(variable, "argument" if position < n_arguments else "shared")
    for node in nodes:
        for variable in node.inputs:
            add_leaf(variable)
        for variable in node.outputs:
            add(variable, "value")
    for variable in fgraph.outputs:
        add_leaf(variable)
    return cells, cell_of


def lower(fgraph, nodes, cells, cell_of, n_arguments, n_shared, updates, n_outputs, allow_gc):
    """Symbolic code of the whole program, without DROPs."""
    emitter = Emitter(cell_of)
    used = _used_shared(fgraph, nodes)
    for number in range(n_shared):
        variable = fgraph.inputs[n_arguments + number]
        if variable in used:
            emitter.load(cell_of[variable], number)
    for node in nodes:
        node.op.lower(emitter, node)
    stored = _prepare_updates(fgraph, emitter, cells, cell_of, updates)
    results = _prepare_results(fgraph, emitter, cells, cell_of, {cell for _, cell in stored}, n_outputs)
    if results:
        emitter.result(results, RESULT_EMPTIES if allow_gc else 0)
    if stored:
        emitter.commit()
        for container, cell in stored:
            emitter.store(container, cell)
    emitter.halt()
    return emitter


def _used_shared(fgraph, nodes):
    used = set(fgraph.outputs)
    for node in nodes:
        used.update(node.inputs)
    return used


def _fresh_copy(emitter, cells, source):
    """A new cell with a copy of the cell ``source``."""
    layout = cells[source]
    cells.append(layout._replace(kind="value", value=None))
    emitter.copy(len(cells) - 1, source)
    return len(cells) - 1


def _prepare_updates(fgraph, emitter, cells, cell_of, updates):
    """Give each update value a cell with memory of its own; answer [(container number, cell)]."""
    stored, taken = [], set()
    for position, container in updates:
        cell = cell_of[fgraph.outputs[position]]
        if cells[cell].kind != "value" or cell in taken:
            cell = _fresh_copy(emitter, cells, cell)
        else:
            emitter.own(cell)
        taken.add(cell)
        stored.append((container, cell))
    return stored


def _prepare_results(fgraph, emitter, cells, cell_of, stored, n_outputs):
    """The cells of the results, in order; a cell that is stored too, or appears twice, is copied."""
    results, taken = [], set(stored)
    for variable in fgraph.outputs[:n_outputs]:
        cell = cell_of[variable]
        if cell in taken:
            cell = _fresh_copy(emitter, cells, cell)
        taken.add(cell)
        results.append(cell)
    return results


def collect(code, cells, allow_gc):
    """Insert DROPs behind the last use of each cell. Shared values are dropped in any case: they are pinned only."""
    last_use = {}
    for position, (name, _flags, _n, a, b, operands, _node) in enumerate(code):
        if name in ("KERNEL", "CALL"):
            for cell in operands:
                last_use[cell] = position
        elif name == "COPY":
            last_use[a] = last_use[b] = position
        elif name in ("LOAD", "OWN"):
            last_use[a] = position
        elif name == "RESULT":
            empties = _flags & RESULT_EMPTIES
            for cell in operands:
                if empties and cells[cell].kind != "shared":
                    last_use.pop(cell, None)
                else:
                    last_use[cell] = position
        elif name == "STORE":
            last_use.pop(b, None)
    dying = {}
    for cell, position in last_use.items():
        layout = cells[cell]
        if layout.typenum != OBJECT_TYPENUM and layout.ndim == 0:
            continue
        if layout.kind == "shared" or (layout.kind == "value" and (allow_gc or layout.typenum == OBJECT_TYPENUM)):
            dying.setdefault(position, []).append(cell)
    if not dying:
        return code
    collected = []
    for position, instruction in enumerate(code):
        collected.append(instruction)
        if position in dying:
            collected.append(("DROP", 0, 0, 0, 0, sorted(dying[position]), None))
    return collected


def assemble(code, kernels, cells, containers, n_arguments, n_results, allow_gc, name):
    """Symbolic code to bytes and operand pool."""
    pool, binary, nodes = array("i"), bytearray(), []
    pack = INSTRUCTION_FORMAT.pack
    for opcode, flags, n, a, b, operands, node in code:
        nodes.append(node)
        if opcode == "CALL":
            a = len(nodes) - 1                      # N[a]: the node of this very instruction
        if operands:
            b = len(pool)
            pool.extend(operands)
        binary += pack(NUMBER[opcode], flags, min(n, 65535), a, b, len(operands))
    return Program(name=name, code=bytes(binary), pool=pool, kernels=kernels, nodes=nodes, cells=cells,
                   containers=containers, n_arguments=n_arguments, n_results=n_results, allow_gc=allow_gc)
