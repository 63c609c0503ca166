"""The kernel of a loop: its inner graph, compiled to a program that the kernel runs step by step."""
from phintys.graph import hooks
from phintys.graph.config import change_flags, config
from phintys.ops.elementwise.scalar import add
from phintys.ops.loops.in_registers import scalar_body
from phintys.ops.loops.recurrences import recurrence_body
from phintys.ops.loops.row_lengths import row_lengths
from phintys.ops.types.tensor_type import TensorType

# Options by which programs of one graph differ, besides the mode that a loop itself may have.
COMPILED_BY = ("mode", "optimizer", "linker", "optimizer_excluding", "optimizer_including", "optimizer_requiring",
               "floatX", "math", "cpu")


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
            kernels[key] = _compiled(op)
    return kernels[key]


def _compiled(op):
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
    function = hooks.function(mutable, [*outputs.states, *outputs.stacked, *totals, *outputs.carried, *condition],
                              **options)
    program = getattr(function, "program", None)
    if program is None:
        return None
    groups = len(inputs.sequences), op.parts.taps, len(outputs.stacked), len(carried), op.parts.is_while
    lengths = row_lengths(op, arguments)
    ahead = None if op.ahead is None else op.compiled_ahead().program
    body = None if op.ahead is not None else recurrence_body(op) or scalar_body(program, *groups)
    return hooks.loop_kernel(program, *groups, op.kept, lengths.entries, str(op), op.name, body, ahead, lengths.program,
                             op.options.needs_step)


def arguments_of(op, sums):
    """The arguments of the kernel's program: the inner inputs, and ``sums``, to which it adds."""
    inputs = op.inner_inputs
    taps = [variable for own in inputs.states for variable in own]
    return [*inputs.sequences, *inputs.ahead, *taps, *sums, *inputs.carried, *inputs.wholes]


def _total(total, term):
    """The sum after a step, of the same type as before it."""
    return total.type.filter_variable(add(total, term))
