"""From a FunctionGraph to a Program: schedule → own → cells → lower → collect → assemble → verify.

Each stage is a function from one small structure to the next; no stage calls an earlier one. A program runs in this
order, so that a failing call leaves every shared variable as it was: load shared values; compute; give the update
values memory that only they refer to (OWN); make the results (RESULT); check and allocate for the kernels that
overwrite old values (PREPARE); then, after COMMIT, where nothing can fail, run those kernels (RUN) and store the
updates. The GIL is held from PREPARE to COMMIT, so that no other thread starts to read a value that is about to be
overwritten.
"""
from array import array

from numpy import asarray

from phintys.graph.lazy_regions import known_regions
from phintys.graph.op import lower_node
from phintys.graph.variable import Constant
from phintys.vm.linking.emitter import Emitter
from phintys.vm.linking.last_uses import PathRegions
from phintys.vm.linking.lazy_code import lower_nodes
from phintys.vm.linking.ownership import Ownership
from phintys.vm.linking.plan import places_something
from phintys.vm.linking.schedule import schedule
from phintys.vm.linking.side_by_side import side_by_side
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.opcodes import DROP_LARGE, NUMBER, RESULT_EMPTIES
from phintys.vm.places import LATE
from phintys.vm.program import INSTRUCTION_FORMAT, MANY_INPUTS, OBJECT_TYPENUM, Program, layout_of
from phintys.vm.symbolic import SymbolicInstruction
from phintys.vm.worker_count import usable_workers


def link(fgraph, n_arguments, containers, updates, n_outputs, allow_gc=True, name=None, mutable=(), written=(),
         borrowed=(), lent=(), commit=()):
    """Link an optimised graph.

    Parameters
    ----------
    fgraph : FunctionGraph
    n_arguments : int
        The number of leading inputs of the graph that are arguments of the call; the others are shared.
    containers : list of Container
        The storage of each remaining graph input, in order.
    updates : list of (int, Container)
        Index of a graph output, and the container that it is stored in.
    n_outputs : int
        The number of leading outputs of the graph that are results.
    allow_gc : bool or "plan"
        True: emit a DROP after the last use of each cell. False: dropped memory stays with the frame. "plan": as
        True, and PLAN places the temporaries, if there are any, in one arena.
    name : str, optional
    mutable, borrowed : collection of int
        Arguments whose memory may be overwritten, or may be seen in results that are lent.
    written : collection of int
        Mutable arguments that the user's own nodes overwrite: there the caller looks for what they compute.
    lent : collection of int
        Results that the caller borrows.
    commit : sequence of Apply
        Nodes that overwrite a shared value with its update, in the order in which they run after COMMIT.

    Returns
    -------
    Program
    """
    late = dict.fromkeys(commit)
    order = schedule(fgraph)
    nodes = [node for node in order if node not in late]
    owners = Ownership(fgraph, nodes, late=late, n_arguments=n_arguments, n_outputs=n_outputs, updates=updates,
                       mutable=mutable, written=written, borrowed=borrowed, lent=lent)
    cells, cell_of = assign_cells(fgraph, [*nodes, *late], n_arguments, owners)
    storage = list(containers)
    number = {id(container): position for position, container in enumerate(storage)}
    for _, container in updates:
        if id(container) not in number:
            number[id(container)] = len(storage)
            storage.append(container)
    stored = [(position, number[id(container)]) for position, container in updates]
    lowering = Lowering(fgraph, cells, cell_of, owners)
    lowering.load(n_arguments, len(containers), [*nodes, *late])
    if allow_gc == "plan":
        lowering.emitter.emit("PLAN")
    lower_nodes(lowering.emitter, nodes, known_regions(fgraph), lowering.lower)
    lowering.finish(late, stored, n_arguments, n_outputs, allow_gc)
    code = lowering.emitter.code
    if usable_workers() > 1 and fgraph.budget is None:      # what runs side by side needs more memory
        code = side_by_side(code, cells, lowering.emitter.kernels)
    code = collect(code, cells, allow_gc)
    surroundings = {"name": name, "kernels": lowering.emitter.kernels, "calls": lowering.emitter.calls, "cells": cells,
                    "containers": storage, "n_arguments": n_arguments, "n_results": n_outputs, "allow_gc": allow_gc,
                    "argument_types": [variable.type for variable in fgraph.inputs[:n_arguments]]}
    program = assemble(code, **surroundings)
    if allow_gc == "plan" and not places_something(program):
        program = assemble([instruction for instruction in code if instruction.name != "PLAN"], **surroundings)
    verify(program)
    return program


def assign_cells(fgraph, nodes, n_arguments, owners):
    """Give each variable a cell: first arguments and shared values, then constants and node outputs in order of use."""
    cells, cell_of = [], {}

    def add(variable, kind, value=None):
        donor = owners.donors.get(variable)
        cell_of[variable] = len(cells)
        cells.append(layout_of(variable, kind, value, None if donor is None else cell_of[donor],
                               owners.access.get(variable, "")))

    def add_leaf(variable):
        if variable not in cell_of:                 # all but constants have a cell by now, unless the graph is broken
            if not isinstance(variable, Constant):
                raise ValueError(f"the linker met {variable}, which is neither an input, a constant nor computed")
            add(variable, "constant", asarray(variable.data) if variable.type.is_number else variable.data)

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


class Lowering:
    """Builds the symbolic code of one program, without DROPs."""

    def __init__(self, fgraph, cells, cell_of, owners):
        self.fgraph = fgraph
        self.cells = cells
        self.cell_of = cell_of
        self.owners = owners
        self.emitter = Emitter(cell_of, cells)

    def load(self, n_arguments, n_shared, nodes):
        """Emit a LOAD for each shared value that is read."""
        used = set(self.fgraph.outputs)
        for node in nodes:
            used.update(node.inputs)
        for number in range(n_shared):
            variable = self.fgraph.inputs[n_arguments + number]
            if variable in used:
                self.emitter.emit("LOAD", a=self.cell_of[variable], b=number)

    def lower(self, node):
        """Emit the code of one node; a COPY gets a remark that names the node which needs the copy."""
        code = self.emitter.code
        lower_node(self.emitter, node)
        if code[-1].name == "COPY" and not code[-1].remark:
            code[-1] = code[-1]._replace(remark=self._why_copied(node.outputs[0]))

    def _why_copied(self, variable):
        for reader, position in self.fgraph.clients[variable]:
            if reader != "output" and any([position in positions for positions in reader.op.destroy_map.values()]):
                return f"because {reader.op} overwrites it"
        return "because the graph says so"

    def finish(self, late, updates, n_arguments, n_outputs, allow_gc):
        """Emit everything after the computation; ``late`` are the nodes that run after COMMIT."""
        emitter = self.emitter
        stored = self._prepare_updates(updates, late, n_arguments)
        results = self._prepare_results({cell for _, cell in stored}, n_outputs)
        prepared = [self._kernel_of(node) for node in late]
        self._wait_once(results, {cell for _, cell in stored}, n_outputs)
        if results:
            emitter.emit("RESULT", cells=results, flags=RESULT_EMPTIES if allow_gc else 0)
        emitter.code.extend([instruction._replace(name="PREPARE") for instruction in prepared])
        if stored:
            emitter.emit("COMMIT")
        emitter.code.extend([instruction._replace(name="RUN") for instruction in prepared])
        for container, cell in stored:
            emitter.emit("STORE", a=container, b=cell)
        emitter.emit("HALT")
        emitter.code.extend(emitter.blocks)

    def _wait_once(self, results, stored, n_outputs):
        """Wait for results from another place before RESULT only, if nothing else reads them; and for kernels that tell
        later what they find wrong, before anything is stored."""
        kernels, code, clients = self.emitter.kernels, self.emitter.code, self.fgraph.clients
        wanted = {self.cell_of[variable] for variable in self.fgraph.outputs[:n_outputs]
                  if len(clients[variable]) == 1}.intersection(results) - stored
        tells = any([getattr(kernel, "tells", False) for kernel in kernels])
        begun, waits = [], next((arrival for _, arrival in LATE.values()), None) if tells else None
        for position, instruction in enumerate(code):
            late = LATE.get(type(kernels[instruction.a])) if instruction.name == "KERNEL" else None
            if late is not None and wanted.issuperset(instruction.writes()):
                begun.extend(instruction.writes())
                code[position] = instruction._replace(a=len(kernels))
                kernels.append(late[0]())
                waits = late[1]
        if waits is not None:
            code.append(SymbolicInstruction("KERNEL", n=len(begun), a=len(kernels), cells=begun))
            kernels.append(waits())

    def _kernel_of(self, node):
        """Return the only instruction of a node that runs after COMMIT; it must be a kernel that cannot fail."""
        code = self.emitter.code
        length = len(code)
        lower_node(self.emitter, node)
        instruction, *more = code[length:]
        del code[length:]
        if more or instruction.name != "KERNEL" or self.emitter.kernels[instruction.a].may_fail:
            raise ProgramError(f"{node} may fail, and cannot run after COMMIT")
        return instruction

    def _prepare_updates(self, updates, late, n_arguments):
        """Give each update value a cell with memory of its own; return [(container number, cell)]."""
        stored, taken = [], set()
        movable = self._movable(updates, late, n_arguments)
        for position, container in updates:
            variable = self.fgraph.outputs[position]
            cell = self.cell_of[variable]
            if cell in taken:
                cell = self._copy(cell, "it is stored twice")
            elif variable.owner is None and cell not in movable:
                cell = self._copy(cell, f"it is a{'n' if self.cells[cell].kind == 'argument' else ''} "
                                        f"{self.cells[cell].kind}{' value' * (self.cells[cell].kind == 'shared')}")
            elif variable.owner not in late and cell not in movable:
                self.emitter.emit("OWN", a=cell, b=container)
            taken.add(cell)
            stored.append((container, cell))
        return stored

    def _movable(self, updates, late, n_arguments):
        """Return the cells of old values that may be stored as new values of other variables.

        The variable of such a cell gets a new value itself, so that its container gives up the old one.
        """
        overwritten = {self.owners.root_of(self.owners.donors[variable]) for node in late for variable in node.outputs
                       if variable in self.owners.donors}
        inputs, outputs = self.fgraph.inputs, self.fgraph.outputs
        movable = set()
        for position, container in updates:
            if n_arguments + container < len(inputs):
                old = inputs[n_arguments + container]
                if outputs[position] is not old and old not in overwritten:
                    movable.add(self.cell_of[old])
        return movable

    def _prepare_results(self, stored, n_outputs):
        """Return the cells of the results, in order; a cell that is also stored, or listed twice, is copied first."""
        results, taken = [], set()
        for variable in self.fgraph.outputs[:n_outputs]:
            cell = self.cell_of[variable]
            if cell in stored and self.cells[cell].kind == "value":
                cell = self._copy(cell, "it is stored too")
            elif cell in taken:
                cell = self._copy(cell, "it is a result twice")
            elif variable in self.owners.copied:
                cell = self._copy(cell, "the caller has this memory")
            taken.add(cell)
            results.append(cell)
        return results

    def _copy(self, source, reason):
        """Copy the cell ``source`` to a new cell, and return the new one."""
        self.cells.append(self.cells[source]._replace(kind="value", value=None, donor=None, access=""))
        self.emitter.copy(len(self.cells) - 1, source, f"because {reason}")
        return len(self.cells) - 1


def collect(code, cells, allow_gc):
    """Insert a DROP after the last use of each cell that refers to memory of others or should not keep its own.

    An ALIAS of a value that is not used again becomes a MOVE.
    """
    regions = PathRegions(code) if any([instruction.name == "JUMPZ" for instruction in code]) else None
    uses = _uses(code, cells) if regions is None else _uses_on_paths(code, cells, regions)
    for cell, layout in enumerate(cells):
        if layout.kind == "argument" and layout.typenum == OBJECT_TYPENUM and len(code) > 1:
            uses.setdefault(cell, (0,))                 # unread, but the frame must not keep a reference
    dying = {}
    for cell, positions in uses.items():
        dropped = is_dropped(cells[cell], allow_gc)
        for position in positions:
            if dropped or (code[position].name == "ALIAS" and code[position].b == cell):
                dying.setdefault(position, []).append(cell)
    code = [*code]
    halt = next(position for position, instruction in enumerate(code) if instruction.name == "HALT")
    code[halt] = code[halt]._replace(cells=_left_to_halt(code[:halt], dying))
    if not dying:
        return code
    _postpone(code, dying)
    collected = []
    for position, instruction in enumerate(code):
        dead = sorted(dying.get(position, ()))
        if instruction.name == "ALIAS" and instruction.b in dead:
            source = instruction.b
            dead.remove(source)
            if cells[source].kind == "value" and cells[source].ndim:
                instruction = instruction._replace(name="MOVE")
            elif is_dropped(cells[source], allow_gc):
                dead.append(source)
        collected.append(instruction)
        _append_drops(collected, sorted(dead), cells, allow_gc)
    return collected


def _left_to_halt(code, dying):
    """Return the cells that HALT empties once all updates are visible: old values, and cells last used after COMMIT."""
    commit = next((position for position, instruction in enumerate(code) if instruction.name == "COMMIT"), len(code))
    late = range(commit, len(code))
    stored = [cell for position in late if code[position].name == "STORE" for cell in code[position].reads()]
    return [*stored, *sorted([cell for position in late for cell in dying.pop(position, ())])]


def _append_drops(collected, dead, cells, allow_gc):
    """Append DROPs; with ``allow_gc=False`` small arrays stay in their cells, larger memory with the frame."""
    chosen_for = {0: [], DROP_LARGE: []}
    for cell in dead:
        chosen_for[DROP_LARGE if allow_gc is False and is_own_array(cells[cell]) else 0].append(cell)
    for flags, chosen in chosen_for.items():
        if chosen:
            collected.append(SymbolicInstruction("DROP", flags=flags, cells=chosen))


def _postpone(code, dying):
    """Move the DROPs of values that are last used inside a TOGETHER group to the end of the group."""
    for position, instruction in enumerate(code):
        if instruction.name == "TOGETHER":
            last = position + instruction.a
            for member in range(position + 1, last):
                dying.setdefault(last, []).extend(dying.pop(member, ()))
            if not dying.get(last):
                dying.pop(last, None)


def _uses(code, cells):
    """Map each cell to a tuple with the position of its last use; cells that are emptied there are left out."""
    last_use = {}
    for position, instruction in enumerate(code):
        for cell in instruction.touches():
            last_use[cell] = (position,)
        for cell in instruction.empties(cells):
            last_use.pop(cell, None)
    return last_use


def _uses_on_paths(code, cells, regions):
    """Map each cell to positions after its last uses: every path that fills the cell meets exactly one of them."""
    uses = {}
    for position in [*range(regions.halt + 1, len(code)), *range(regions.halt)]:
        instruction = code[position]
        for cell in instruction.touches():
            uses.setdefault(cell, []).append(position)
        for cell in instruction.empties(cells):
            uses.pop(cell, None)
    return {cell: list(regions.last_uses(positions, cells[cell].kind == "argument"))
            for cell, positions in uses.items()}


def is_dropped(layout, allow_gc):
    """Return whether a cell is emptied after its last use."""
    if layout.kind == "argument":
        return layout.typenum == OBJECT_TYPENUM or layout.access in ("held", "shown", "mutable")
    if layout.kind == "constant" or layout.access == "lent":
        return False
    if is_own_array(layout):
        return layout.ndim > 0 or (allow_gc and layout.donor is not None)       # other numbers are stored in cells
    return layout.typenum == OBJECT_TYPENUM or layout.ndim > 0 or layout.kind != "shared"


def is_own_array(layout):
    """Whether a cell holds an array that was computed for it; loaded values and views are only pinned."""
    return layout.kind == "value" and layout.typenum != OBJECT_TYPENUM and not layout.is_view


def assemble(code, **surroundings):
    """A Program of symbolic code, which becomes bytes and operand pool; all else that it has is in ``surroundings``."""
    pool, binary, nodes = array("i"), bytearray(), []
    tables = {"remarks": {}, "views": {}, "overwritten": {}, "counts": {}}
    pack = INSTRUCTION_FORMAT.pack
    labels, blocks = _numbered(code)
    for name, flags, n, a, b, operands, node, remark, views, overwritten in code:
        if name == "LABEL":
            continue
        if remark:
            tables["remarks"][len(nodes)] = remark
        if views:
            tables["views"][len(nodes)] = views
        if overwritten:
            tables["overwritten"][len(nodes)] = overwritten
        if n >= MANY_INPUTS:
            tables["counts"][len(nodes)] = n
        nodes.append(node)
        if name == "NEED":
            a, b = labels[a], blocks[a]
        elif name in ("JUMP", "JUMPZ"):
            a = labels[a]
        elif name == "BACK":
            a = blocks[a]
        if operands:
            b = len(pool)
            pool.extend(operands)
        binary += pack(NUMBER[name], flags, min(n, MANY_INPUTS), a, b, len(operands))
    return Program(code=bytes(binary), pool=pool, nodes=nodes, known_cell_texts=None, known_instruction_texts=None,
                   **tables, **surroundings)


def _numbered(code):
    """Return (label → number of its instruction, label of a block → number of the block)."""
    labels, blocks, position = {}, {}, 0
    for instruction in code:
        if instruction.name == "LABEL":
            labels[instruction.a] = position
            continue
        if instruction.name == "BACK":
            blocks[instruction.a] = len(blocks)
        position += 1
    return labels, blocks
