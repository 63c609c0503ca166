"""ScalarLoop: PyTensor's loop for each element, by which it differentiates special functions by their parameters.

All elements take their steps together, in a loop of phintys over whole tensors. An element that is done keeps its
states; the loop ends when all are.
"""
from phintys import tensor as T
from phintys.interop.pytensor.translation import row, translated
from phintys.ops.loops.building import Body, make_loop


@row("scalar.ScalarLoop")
def _scalar_loop(op, node, steps, *inputs):
    count = len(op.outputs) - op.is_while
    steps, *inputs = T.broadcast_arrays(T.cast(steps, "int64"), *inputs)
    states = [each.type() for each in inputs[:count]]
    done, step = T.TensorType("bool", steps.type.broadcastable)(), T.lscalar()
    after = translated(op.outputs, dict(zip(op.inputs, [*states, *inputs[count:]])))
    ends = after.pop() if op.is_while else T.zeros_like(done)
    active = T.and_(T.invert(done), T.lt(step, steps))
    kept = [T.switch(active, new, old) for new, old in zip(after, states)]
    ended = T.switch(active, ends, done)
    carried = [(old, new, first) for old, new, first in zip(states, kept, inputs)]
    carried += [(done, ended, T.zeros_like(steps, dtype="bool")), (step, step + 1, T.constant(0, dtype="int64"))]
    longest = T.max(T.join(0, T.flatten(steps), [0]))
    body = Body(carried=carried, condition=T.all(T.or_(ended, T.ge(step + 1, steps))))
    *found, ended, _ = make_loop(longest, body, op.name, lifts=False).carried
    return [*found, T.or_(ended, T.le(steps, 0))] if op.is_while else found
