"""The kernel of a loop: its inner graph, compiled to a program that the kernel runs step by step.

Loops with equal bodies, such as the layers of a network and their gradients, share the program as long as one of them
lives; each has a kernel and frames of its own. A program that was made with lengths that types knew serves loops with
these lengths only.
"""
from weakref import WeakKeyDictionary

from phintys.graph import hooks
from phintys.graph.config import change_flags, config
from phintys.graph.toposort import io_toposort
from phintys.graph.trace import innermost
from phintys.ops.elementwise.scalar import add
from phintys.ops.loops.in_registers import scalar_body
from phintys.ops.loops.recurrences import recurrence_body
from phintys.ops.loops.row_lengths import row_lengths
from phintys.ops.types.tensor_type import TensorType

# Options by which programs of one graph differ, besides the mode that a loop itself may have.
COMPILED_BY = ("mode", "optimizer", "linker", "optimizer_excluding", "optimizer_including", "optimizer_requiring",
               "floatX", "math", "cpu", "math_rules")

# Loop, which equal loops find → {(options, what errors and listings tell): [(shapes of the arguments, program)]}.
_programs = WeakKeyDictionary()


def native_kernel(op, kernels):
    """The kernel of a loop, compiled at most once for all programs with the same options.

    Parameters
    ----------
    op : Scan
    kernels : dict
        The loop's kernels so far, by options; gets the one that is made.

    Returns
    -------
    LoopKernel or None
        None if a value of the inner graph is not a tensor, or if the graph is compiled in a mode without programs.
    """
    key = tuple([getattr(config, name) for name in COMPILED_BY])
    if key not in kernels:
        with change_flags(allow_gc=op.options.allow_gc):
            kernels[key] = _compiled(op, key)
    return kernels[key]


def _told_by(op):
    """What errors and listings tell of a loop: titles, names of variables, lines that made them. None: the body holds a
    graph itself, whose frames other loops would find bound to their own arrays."""
    nodes = io_toposort(op.local_inputs, op.local_outputs)
    if any([hasattr(node.op, "local_outputs") for node in nodes]):
        return None
    variables = [*op.local_inputs, *[out for node in nodes for out in node.outputs]]
    places = [innermost(node._position) for node in nodes]
    return str(op), tuple([variable.name for variable in variables]), tuple(places)


def _compiled(op, key):
    """Compile a loop's inner graph for the kernel of loops; None if this is not possible.

    Sums become carried values to which the inner graph adds, so that it may add in place.
    """
    inputs, outputs = op.inner_inputs, op.inner_outputs
    if not all([isinstance(variable.type, TensorType) for variable in op.local_inputs + op.local_outputs]):
        return None
    sums = [term.type() for term in outputs.summed]
    carried = [*sums, *inputs.carried]
    arguments = arguments_of(op, sums)
    mutable = [hooks.input(variable, mutable=True) if variable in carried else variable for variable in arguments]
    totals = [_total(total, term) for total, term in zip(sums, outputs.summed)]
    condition = [] if outputs.condition is None else [outputs.condition]
    options = {"on_unused_input": "ignore", "name": str(op), "profile": False, **op.kwargs}
    told = _told_by(op)
    known = [] if told is None else _programs.setdefault(op, {}).setdefault((key, op.options.mode, told), [])
    shapes = [variable.type.shape for variable in arguments]
    program = next((program for others, program in known if _fit(shapes, others)), None)
    if program is None:
        function = hooks.function(mutable, [*outputs.states, *outputs.stacked, *totals, *outputs.carried, *condition],
                                  **options)
        program = getattr(function, "program", None)
        if program is None:
            return None
        known.append((shapes, program))
    groups = len(inputs.sequences), op.parts.taps, len(outputs.stacked), len(carried), op.parts.is_while
    lengths = row_lengths(op, arguments)
    ahead = None if op.ahead is None else op.compiled_ahead().program
    body = None if op.ahead is not None else recurrence_body(op) or scalar_body(program, *groups)
    return hooks.loop_kernel(program, *groups, op.kept, lengths.entries, str(op), op.name, body, ahead, lengths.program,
                             op.options.needs_step)


def _fit(shapes, others):
    """Whether shapes have the lengths that others know."""
    return all([other is None or length == other for shape, given in zip(shapes, others)
                for length, other in zip(shape, given)])


def arguments_of(op, sums):
    """The arguments of the kernel's program: the inner inputs, and ``sums``, to which it adds."""
    inputs = op.inner_inputs
    taps = [variable for own in inputs.states for variable in own]
    return [*inputs.sequences, *inputs.ahead, *taps, *sums, *inputs.carried, *inputs.wholes]


def _total(total, term):
    """The sum after a step, of the same type as before it."""
    return total.type.filter_variable(add(total, term))
