"""Makes a loop from a body: the graph of one step, and the outer variables that belong to its variables.

``make_loop`` computes values that do not depend on the step once, outside, and passes them to the loop as wholes; what
can fail or be undefined only if there is a step (``before_loops.py``). It omits inputs that the body does not read.
What only a lazy branch of the body needs stays in the body, so that it is as lazy there, unless it can neither fail nor
be undefined. So do zeros from which a sum of an inner loop starts: there the body's rewrites see them, and add nothing
to them.
"""
from typing import NamedTuple

from phintys.graph.config import config
from phintys.graph.debug_values import compute_test_values
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.graphs.row_batching import repeated
from phintys.ops.indexing.subtensor import IncSubtensor
from phintys.ops.loops.before_loops import is_harmless, only_with_steps, sum_of_equal_terms
from phintys.ops.loops.loop import LoopOptions, Scan
from phintys.ops.loops.parts import LoopParts
from phintys.ops.shape.dimshuffle import DimShuffle


class State:
    """A state: its taps, the inner variable of each, the rows before the first step, and the next row."""

    def __init__(self, taps, inner, initial, output=None):
        self.taps, self.inner, self.initial, self.output = taps, inner, initial, output


class Body:
    """One step of a loop. All variables that the outputs read, except the inner ones, are outside the loop.

    Attributes
    ----------
    sequences : list of (Variable, Variable)
        A row inside, the rows outside.
    states : list of State
    stacked : list of Variable
    summed : list of (Variable, Variable)
        A term inside, outside what the sum starts from.
    carried : list of (Variable, Variable, Variable)
        Inside the value so far and the next one, outside the first.
    condition : Variable or None
        Inside; the loop ends after a step that makes it true.
    wholes : list of Variable
        Variables that are passed to the loop even if the body does not read them; others that it reads are added.
    outside : set of Variable
        Variables that are computed outside in any case.
    """

    def __init__(self, sequences=(), states=(), stacked=(), summed=(), carried=(), condition=None, wholes=(),
                 outside=()):
        self.sequences, self.states, self.stacked = list(sequences), list(states), list(stacked)
        self.summed, self.carried, self.condition = list(summed), list(carried), condition
        self.wholes, self.outside = list(wholes), set(outside)

    def moving(self):
        """The inner variables that differ from step to step."""
        return [*[inner for inner, _ in self.sequences], *[tap for state in self.states for tap in state.inner],
                *[inner for inner, _, _ in self.carried]]

    def outputs(self):
        """The values that a step computes."""
        condition = [] if self.condition is None else [self.condition]
        return [*[state.output for state in self.states], *self.stacked, *[term for term, _ in self.summed],
                *[after for _, after, _ in self.carried], *condition]

    def replace(self, pairs):
        """Let the outputs read other variables: pairs, or a dictionary, of old and new."""
        outputs = iter(replaced(self.outputs(), pairs))
        for state in self.states:
            state.output = next(outputs)
        self.stacked = [next(outputs) for _ in self.stacked]
        self.summed = [(next(outputs), initial) for _, initial in self.summed]
        self.carried = [(before, next(outputs), initial) for before, _, initial in self.carried]
        self.condition = next(outputs, None)


class Results(NamedTuple):
    """The results of a loop, by groups; ``steps`` is None unless it is a while loop."""

    states: list
    stacked: list
    summed: list
    carried: list
    steps: object = None


def make_loop(steps, body, name=None, options=LoopOptions(), lifts=True):
    """Run a body for a number of steps.

    Parameters
    ----------
    steps : Variable
        An integer scalar.
    body : Body
    name : str, optional
    options : LoopOptions, optional
    lifts : bool
        Whether outputs that are the same in each step are computed without the loop.

    Returns
    -------
    Results
    """
    _read_equal_sequences_once(body)
    depending = dependents(body.moving(), body.outputs())
    if config.compute_test_value != "off":
        _give_test_values(body, depending)
    same = {} if body.condition is not None or not lifts else _of_all_steps(steps, body, depending, options)
    inside = Body(body.sequences, body.states,
                  [row for number, row in enumerate(body.stacked) if ("stacked", number) not in same],
                  [term for number, term in enumerate(body.summed) if ("summed", number) not in same],
                  body.carried, body.condition, body.wholes, body.outside)
    found = _applied(steps, inside, name, options) if inside.outputs() else Results([], [], [], [])
    for kind, results, count in (("stacked", found.stacked, len(body.stacked)),
                                 ("summed", found.summed, len(body.summed))):
        for number in range(count):
            if (kind, number) in same:
                results.insert(number, same[kind, number])
    return found


def _give_test_values(body, depending):
    """Compute the test values of variables outside the loop that the user wrote as a part of the body."""
    for node in io_toposort(body.moving(), body.outputs()):
        if depending.isdisjoint(node.outputs) and not all([hasattr(output.tag, "test_value")
                                                           for output in node.outputs]):
            compute_test_values(node)


def dependents(variables, outputs):
    """The variables, these included, that ``outputs`` read and that depend on one of ``variables``."""
    found = set(variables)
    for node in io_toposort(variables, outputs):
        if not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def replaced(outputs, pairs):
    """``outputs`` with some variables replaced; parts that do not depend on these are not copied."""
    found = dict(pairs)
    for node in io_toposort(list(found), outputs):
        if not any([variable in found for variable in node.inputs]):
            continue
        copied = node.clone_with_new_inputs([found.get(variable, variable) for variable in node.inputs], strict=True)
        for old, new in zip(node.outputs, copied.outputs):
            found.setdefault(old, new)
    return [found.get(output, output) for output in outputs]


def _of_all_steps(steps, body, depending, options):
    """The outer values of outputs whose rows or terms are the same in each step."""
    same = {}
    for number, row in enumerate(body.stacked):
        if row not in depending:
            same["stacked", number] = repeated(*_before(steps, [row], body, options), steps)
    for number, (term, initial) in enumerate(body.summed):
        if term not in depending:
            same["summed", number] = sum_of_equal_terms(steps, initial, term)
    return same


def _read_equal_sequences_once(body):
    """Let the body read each sequence by one inner variable."""
    first, replace = {}, {}
    for inner, outer in body.sequences:
        kept = first.setdefault(outer, inner)
        if kept is not inner:
            replace[inner] = kept
    if not replace:
        return
    body.sequences = [(inner, outer) for outer, inner in first.items()]
    body.replace(replace)


def _applied(steps, body, name, options):
    """The loop of a body, applied."""
    outputs = body.outputs()
    depending = dependents(body.moving(), outputs)
    nodes = [node for node in io_toposort(body.moving(), outputs) if not depending.isdisjoint(node.inputs)]
    read = {variable: None for node in nodes for variable in node.inputs}
    read.update(dict.fromkeys(outputs))
    body.sequences = [(inner, outer) for inner, outer in body.sequences if inner in read]
    read = _lazily_expanded(body, [variable for variable in read if variable not in depending], depending)
    read = _with_fills_inside(read, nodes, body)
    wholes = [variable for variable in dict.fromkeys([*body.wholes, *read])
              if variable not in depending and not isinstance(variable, Constant)]
    parts = LoopParts(len(body.sequences), tuple([tuple(state.taps) for state in body.states]), len(body.stacked),
                      len(body.summed), len(body.carried), body.condition is not None)
    op = Scan([*body.moving(), *wholes], outputs, parts, None, name, options)
    given = _before(steps, wholes, body, options)
    results = op(steps, *[outer for _, outer in body.sequences], *[state.initial for state in body.states],
                 *[initial for _, initial in body.summed], *[initial for _, _, initial in body.carried],
                 *[steps for _ in body.stacked], *given, return_list=True)
    found = parts.outer_outputs(results)
    return Results(list(found.states), list(found.stacked), list(found.summed), list(found.carried), found.steps)


def _before(steps, values, body, options):
    """Values of the body that are computed before the loop."""
    return list(values) if options.needs_step else only_with_steps(steps, values, {*body.outside, *body.wholes})


def _with_fills_inside(read, nodes, body):
    """What a body reads from outside; for constants in the shape of another variable, which only elementwise ops and
    assignments read or sums of inner loops start from, that variable. The body fills them itself, so that its rewrites
    see the number: gradients by parts of a value begin with such zeros.
    """
    filled, others = set(), {*body.outputs(), *body.outside, *body.wholes}
    for node in nodes:
        if type(node.op) in (Elemwise, IncSubtensor):
            filled.update(node.inputs)
            continue
        summed = node.op.parts.outer_inputs(node.inputs).summed if type(node.op) is Scan else ()
        filled.update(summed)
        others.update(set(node.inputs).difference(summed))
    inside = {variable for variable in filled - others if _is_uniform(variable)}
    return list(dict.fromkeys([variable.owner.inputs[0] if variable in inside else variable for variable in read]))


def _is_uniform(variable):
    """Whether a variable is a constant in the shape of another variable."""
    node = variable.owner
    if node is None or type(node.op) is not Elemwise or node.op.scalar_op is not scalar.second:
        return False
    value = node.inputs[1]
    moved = value.owner is not None and type(value.owner.op) is DimShuffle
    return isinstance(value.owner.inputs[0] if moved else value, Constant)


# ---- values of lazy branches -----------------------------------------------------------------------------------------
def _lazily_expanded(body, read, depending):
    """What a body reads from outside, with the inputs of what only its lazy branches need in the place of that."""
    certain = _certain(body.outputs(), depending)
    if certain is None:
        return read
    kept, found = {*certain, *body.outside, *body.wholes}, {}
    for variable in read:
        pending = [variable]
        while pending:
            current = pending.pop()
            if current.owner is None or current in kept or is_harmless(current, kept):
                found[current] = None
            else:
                pending.extend(reversed(current.owner.inputs))
    return list(found)


def _certain(outputs, depending):
    """The variables that each step needs, whatever lazy branches it takes; None if there are no such branches."""
    found, pending, is_lazy = set(), list(outputs), False
    while pending:
        variable = pending.pop()
        if variable in found:
            continue
        found.add(variable)
        node = variable.owner
        if variable in depending and node is not None:
            lazy = node.op.lazy_branches(node)
            is_lazy = is_lazy or lazy is not None
            pending.extend(node.inputs if lazy is None else [node.inputs[lazy[0]]])
    return found if is_lazy else None
