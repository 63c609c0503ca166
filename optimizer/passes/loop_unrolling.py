"""Replaces loops of a small constant number of steps by the graphs of their steps, one after the other.

Entering a loop takes about as long as ten small kernels, so this is cheaper if there are few steps with small graphs.
Moreover, the other rewrites can then simplify values that one step passes to the next.
"""
from phintys.graph.errors import NotScalarConstantError
from phintys.graph.loop_errors import where
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import noted
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.indexing.subtensor import Subtensor
from phintys.ops.loops.building import dependents, replaced
from phintys.ops.loops.open_loop import OpenLoop
from phintys.ops.shape.join import stack
from phintys.ops.shape.shape import unbroadcast
from phintys.optimizer.passes.loops import each_loop, initial_row, padded_row

MOST_STEPS = 3
MOST_NODES = 32                     # in all steps together: compiling them should not take longer than compiling a body


def unroll_short_loops(fgraph):
    """Replace loops of few small steps by graphs.

    Returns
    -------
    int
        How many loops there are fewer.
    """
    return each_loop(fgraph, _unrolled, "scan_unroll")


def _unrolled(fgraph, node):
    steps = _few_steps(node)
    if steps is None:
        return None
    loop = OpenLoop(node)
    if not all([_has_its_rows(entry) for entry in loop.states]):
        return None                     # the loop checks that there are as many rows as the taps read
    if not all([entry.kept is None or isinstance(entry.kept, int) for entry in loop.stacked]):
        return None
    rows = {entry: [initial_row(entry.initial, position) for position in range(-min(entry.taps))]
            for entry in loop.states}
    rows.update({entry: [] for entry in loop.stacked})
    last = {entry: entry.initial for entry in loop.summed + loop.carried}
    for step in range(steps):
        _do_step(loop, step, where(node.op, step, steps), rows, last)
    pairs = [(entry.old, value) for entry, value in last.items()]
    for entry, found in rows.items():
        depth = -min(entry.taps, default=0)
        kept = steps if entry.kept is None else min(entry.kept, steps)
        pairs += _readings(fgraph, entry.old, found[len(found) - depth - kept:])
    return pairs


def _few_steps(node):
    """How many steps a loop does, if they are worth unrolling, else None."""
    op = node.op
    if op.parts.is_while or op.options.mode is not None or op.options.profile:
        return None
    try:
        steps = int(get_scalar_constant_value(node.inputs[0]))
    except NotScalarConstantError:
        return None
    if not 0 < steps <= MOST_STEPS:
        return None
    return steps if len(io_toposort(op.local_inputs, op.local_outputs)) * steps <= MOST_NODES else None


def _has_its_rows(entry):
    depth = -min(entry.taps)
    return entry.initial.type.shape[0] == depth or depth == 1 and padded_row(entry.initial) is not None


def _do_step(loop, step, note, rows, last):
    """Add the graph of a step: the next rows, sums and carried values; errors in it have the note."""
    given = {inner: outer[step] for inner, outer in loop.sequences}
    given.update(loop.wholes)
    for entry in loop.states:
        given.update({inner: rows[entry][tap] for inner, tap in zip(entry.reads, entry.taps)})
    given.update({entry.before: last[entry] for entry in loop.carried})
    values = replaced(loop.inner_outputs(), given)
    depending = dependents(given.values(), values)      # other nodes are the body's own
    for copied in io_toposort(list(given.values()), values):
        if not depending.isdisjoint(copied.inputs):
            copied._position = noted(copied._position, note)
    for entry, value in zip(loop.entries(), values):
        if entry in rows:
            rows[entry].append(value)
        else:
            last[entry] = entry.old.type.filter_variable(last[entry] + value) if entry in loop.summed else value


def _readings(fgraph, old, rows):
    """The replacements for an output: for nodes that read rows by constant indices, the rows that they read."""
    pairs, pending = [], [(old, rows)]
    while pending:
        variable, found = pending.pop()
        for client, position in fgraph.clients[variable]:
            entry = _constant_entry(client) if position == 0 else None
            if isinstance(entry, int) and -len(found) <= entry < len(found):
                pairs.append((client.outputs[0], found[entry]))
            elif isinstance(entry, slice) and found[entry]:
                pending.append((client.outputs[0], found[entry]))
        pairs.append((variable, unbroadcast(stack(found), 0)))
    return pairs


def _constant_entry(client):
    """The only entry of an index, an integer or a slice of constants; None for other readers."""
    if client == "output" or type(client.op) is not Subtensor or len(client.op.idx_list) != 1:
        return None
    entry, = client.op.idx_list
    parts = [entry.start, entry.stop, entry.step] if isinstance(entry, slice) else [entry]
    return entry if all([isinstance(part, int | None) for part in parts]) else None
