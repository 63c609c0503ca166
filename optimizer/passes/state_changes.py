"""Few numbers of a RandomState: the state that a function updates is changed in place after COMMIT, and not copied.

A draw cannot overwrite its state before COMMIT, because a call that fails must leave it; and it cannot be made after
COMMIT, because its sample is a result, or is computed with. So it becomes two nodes: one draws and returns how the
state changes, in two words, and the other makes this change.
"""
import math

from phintys.graph.destroy_handler import handler_of
from phintys.graph.trace import joined
from phintys.graph.variable import Constant
from phintys.ops.random.random_function import DRAWN_WITHOUT_A_COPY, ChangedState, FewNumbers, VectorRandomFunction

# The keys are refilled twice, for the draw and for the change, in each call that reaches the end of 624 words. With
# more numbers that costs more than the copies that are saved.
MOST_NUMBERS = 50


def change_states(fgraph):
    """Split draws of few numbers in place; return how many."""
    handler = handler_of(fgraph)
    if handler is None or not handler.updates:
        return 0
    updates = {fgraph.inputs[position]: place for position, place in handler.updates.items()}
    return sum([_split(fgraph, node, updates) for node in list(fgraph.apply_nodes)
                if type(node.op) is VectorRandomFunction])


def _split(fgraph, node, updates):
    """Split a draw whose new state is only the update of its state."""
    (state, size, *parameters), (new_state, sample) = node.inputs, node.outputs
    is_update = list(fgraph.clients[new_state]) == [("output", updates.get(state))]
    if not is_update or not _is_short(node.op, size, sample, parameters):
        return 0
    change, numbers = FewNumbers(node.op.native_name, sample.type)(*node.inputs, return_list=True)
    changed = ChangedState()(state, change)
    for made in (numbers.owner, changed.owner):
        made._position = joined([node._position])
    for old, new in ((sample, numbers), (new_state, changed)):
        new.name = old.name
        fgraph.replace(old, new, reason="state_changes")
    return 1


def _is_short(op, size, sample, parameters):
    if not op.native or op.native_name not in DRAWN_WITHOUT_A_COPY or sample.type.dtype != "float64":
        return False
    return (isinstance(size, Constant) and math.prod(size.data.tolist()) <= MOST_NUMBERS
            and all([parameter.type.ndim == 0 for parameter in parameters]))
