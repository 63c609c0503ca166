"""Products of rows that are computed before a loop, in blocks of steps where no rows of the loop are kept.

The values that ``loop_pushing.py`` computes before a loop need memory for all steps. A loop that keeps all states needs
twice as much memory by this, but for a loop of which only the last state is read these values are nearly all of its
memory. At first, such a loop keeps its products inside (``leaves_products``). Here they become a separate graph, which
the kernel of loops runs for a block of steps at a time (``vm/loops/blocks.pyx``): so they are products of many rows,
whose results stay in the cache.
"""
from phintys.graph.trace import staying
from phintys.ops.graphs.inner_graph import stacked_type
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.open_loop import OpenLoop
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.passes.loops import readings_of


def leaves_products(fgraph, loop):
    """Whether the products of a loop's rows are to be computed in blocks.

    Parameters
    ----------
    fgraph : FunctionGraph
    loop : OpenLoop

    Returns
    -------
    bool
    """
    options = loop.op.options
    if loop.condition is not None or loop.stacked or loop.summed or options.mode is not None or options.profile:
        return False                                # terms of sums may become rows, too
    if not all([isinstance(variable.type, TensorType)
                for variable in [*loop.op.local_inputs, *loop.op.local_outputs]]):
        return False                                # steps are run in Python
    return all([readings_of(fgraph, entry.old, -min(entry.taps)) is not None for entry in loop.states])


def in_blocks(node, rows_of_all_steps):
    """Take the products of rows out of a loop that has been left alone before.

    Parameters
    ----------
    node : Apply
    rows_of_all_steps : function
        From a loop, its number of steps, and rows of its sequences, what can be computed for many steps at once:
        ``(inner variables, their rows)``, as ``loop_pushing.py`` finds them.

    Returns
    -------
    list of (Variable, Variable) or None
        Old outputs and new ones; None if there are no such products.
    """
    loop = OpenLoop(node)
    if not loop.sequences:
        return None
    blocks = [stacked_type(inner.type).make_variable(inner.name) for inner, _ in loop.sequences]
    moved, rows = rows_of_all_steps(loop, shape_i(blocks[0], 0), blocks)
    if not moved:
        return None
    fresh = {variable: variable.type.make_variable(variable.name) for variable in moved}
    loop.replace(fresh)
    op, wholes = node.op, [inner for inner, _ in loop.wholes]
    sequences = [inner for inner, _ in loop.sequences]
    changed = Scan([*sequences, *fresh.values(), *loop.moving()[len(sequences):], *wholes], loop.inner_outputs(),
                   op.parts._replace(n_ahead=len(moved)), op.kept, op.name, op.options, ([*blocks, *wholes], rows))
    outputs = changed(*node.inputs, return_list=True)
    outputs[0].owner._position = staying(node._position)
    return list(zip(node.outputs, outputs))
