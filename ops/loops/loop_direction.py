"""The derivative of a loop along a direction: a loop that carries values and their derivatives side by side.

Derivatives of sequences are sequences, those of states are states with the same taps, and so on. The new loop computes
the states of the old one once more, so that the old one need not keep rows, and the new one keeps only the rows that
are read. An output that depends on no input with a direction has no derivative.
"""
from phintys.graph.config import change_flags
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import float_zeros_like
from phintys.graph.valueless_types import DisconnectedType
from phintys.ops.graphs.inner_graph import as_gradient, gradient_type
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.loops.loop_gradient import is_continuous
from phintys.ops.loops.recurrence_derivatives import direction_of_recurrence, is_recurrence


def direction_of_loop(op, inputs, eval_points):
    """``R_op`` of a loop."""
    if is_recurrence(op):
        return direction_of_recurrence(op, inputs, eval_points)
    parts = op.parts
    outer, points = parts.outer_inputs(inputs), parts.outer_inputs(eval_points)
    moving = _Moving(op, points)
    if not moving.inner:
        return [None] * (parts.n_states + parts.n_stacked) + [*points.summed] + [None] * (parts.n_carried
                                                                                           + parts.is_while)
    with change_flags(compute_test_value="off"):
        terms = moving.terms()
    results = make_loop(outer.steps, _body(op, outer, points, moving, terms),
                        f"rop_of_{op.name or 'scan_fn'}", op.options)
    return _in_order(op, moving, terms, points, results)


class _Moving:
    """The inner inputs that depend on inputs with a given direction, and the inner variables of their derivatives.

    Attributes
    ----------
    inner : dict of Variable to Variable
        Inner input → its derivative.
    """

    def __init__(self, op, points):
        self.op, self.parts = op, op.parts
        self.local = op.inner_inputs
        pattern = op.parts.inner_inputs(op.inner_connections())
        starts = [row for row, point in zip(pattern.sequences, points.sequences) if point is not None]
        starts += [row for row, point in zip(pattern.wholes, points.wholes) if point is not None]
        starts += [row for rows, point in zip(pattern.states, points.states) if point is not None for row in rows]
        self.states = [number for number, point in enumerate(points.states)
                       if (point is not None or any([row[number] for row in starts]))
                       and is_continuous(self.local.states[number][0])]
        moved = [variable for variable, point in zip(self.local.sequences, points.sequences) if point is not None]
        moved += [variable for variable, point in zip(self.local.wholes, points.wholes) if point is not None]
        moved += [tap for number in self.states for tap in self.local.states[number]]
        self.inner = {variable: gradient_type(variable.type).make_variable() for variable in moved}

    def terms(self):
        """The derivatives of the inner outputs, in their order; None for outputs that do not depend on such inputs."""
        outputs = self.op.inner_outputs
        wanted = [*outputs.states, *outputs.stacked, *outputs.summed]
        found = Rop(wanted, list(self.inner), list(self.inner.values()), disconnected_outputs="ignore",
                    return_disconnected="Disconnected")
        return [None if isinstance(term.type, DisconnectedType) else as_gradient(term, gradient_type(output.type))
                for output, term in zip(wanted, found)]


def _body(op, outer, points, moving, terms):
    """The body that computes states and derivatives."""
    local, found, parts = op.inner_inputs, op.inner_outputs, op.parts
    n_states, n_stacked = parts.n_states, parts.n_stacked
    sequences = list(zip(local.sequences, outer.sequences))
    sequences += [(moving.inner[variable], point) for variable, point in zip(local.sequences, points.sequences)
                  if point is not None]
    states = [State(taps, list(own), initial, output)
              for taps, own, initial, output in zip(parts.taps, local.states, outer.states, found.states)]
    for number in moving.states:
        own, point = local.states[number], points.states[number]
        term = terms[number]
        states.append(State(parts.taps[number], [moving.inner[tap] for tap in own],
                            float_zeros_like(outer.states[number]) if point is None else point,
                            as_gradient(float_zeros_like(found.states[number]), gradient_type(own[0].type))
                            if term is None else term))
    stacked = [term for term in terms[n_states:n_states + n_stacked] if term is not None]
    summed = []
    for term, initial, point in zip(terms[n_states + n_stacked:], outer.summed, points.summed):
        if term is not None:
            summed.append((term, float_zeros_like(initial) if point is None else point))
    body = Body(sequences, states, stacked, summed, list(zip(local.carried, found.carried, outer.carried)),
                found.condition, outside=[*outer.wholes, *[point for point in points.wholes if point is not None]])
    body.replace([*zip(local.wholes, outer.wholes),
                  *[(moving.inner[variable], point) for variable, point in zip(local.wholes, points.wholes)
                    if point is not None]])
    return body


def _in_order(op, moving, terms, points, results):
    """The derivatives of the loop's outputs in their order."""
    parts = op.parts
    states = dict(zip(moving.states, results.states[parts.n_states:]))
    stacked, summed = iter(results.stacked), iter(results.summed)
    found = [states.get(number) for number in range(parts.n_states)]
    found += [next(stacked) if term is not None else None
              for term in terms[parts.n_states:parts.n_states + parts.n_stacked]]
    found += [point if term is None else next(summed)
              for term, point in zip(terms[parts.n_states + parts.n_stacked:], points.summed)]
    return found + [None] * (parts.n_carried + parts.is_while)
