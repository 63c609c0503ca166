"""What ``explain()`` of a function shows: its program with what is known of its calls, and the bodies of its loops."""
from textwrap import indent

from phintys.vm.explaining.listing import listing
from phintys.vm.explaining.program_text import program_text
from phintys.vm.explaining.rows import Listing, Measured
from phintys.vm.loops.loop_kernel import LoopKernel

STYLES = ("formulas", "instructions")
AHEAD = "each block of steps, ahead of them"


def explained(function, style="formulas", reasons_of=lambda function: ()):
    """Return the program of a function as text.

    Parameters
    ----------
    function : Callable
    style : {"formulas", "instructions"}
    reasons_of : callable
        Maps a function to why its values are not computed in place; see ``Listing``.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If there is no such style.
    """
    if style not in STYLES:
        raise ValueError(f"there is no style {style!r} of explain; expected one of {', '.join(map(repr, STYLES))}")
    if style == "formulas":
        return program_text(rows_of(function, reasons_of))
    return _instructions(function, reasons_of)


def rows_of(function, reasons_of=lambda function: ()):
    """Return the program of a function as a Listing; parameters as in ``explained``."""
    def body_of(position, made):
        if isinstance(made, LoopKernel):
            where = _how(made)
            ahead = [] if made.blocks is None else [(AHEAD, made.blocks.program, Measured(), ())]
            return [*ahead, (f"each step{where}", made.program, measured_by(made), ())]
        inner = _loop_in_python(made)
        return [] if inner is None else [("each step, in Python", inner.program, measured_by(inner), reasons_of(inner))]

    return Listing(function.program, measured_by(function), reasons_of(function), body_of)


def measured_by(function):
    """Return what is known of the calls of a function, or of the steps of a loop.

    Parameters
    ----------
    function : Callable or LoopKernel

    Returns
    -------
    Measured
    """
    shapes, profile = function.last_shapes(), function.measurements()
    known = any([shape is not None and layout.ndim and layout.kind != "constant"
                 for shape, layout in zip(shapes, function.program.cells)])
    records = [] if profile is None else profile.records()
    timed = any([calls for calls, _, _ in records])
    at_device = [] if profile is None else profile.seconds_at_device()
    return Measured(shapes if known else None,
                    [seconds / calls if calls else 0.0 for calls, seconds, _ in records] if timed else None,
                    [seconds / calls if calls else 0.0 for seconds, (calls, _, _) in zip(at_device, records)]
                    if any(at_device) else None)


def _how(kernel):
    """Return how the steps of a loop are done, if not by the program of its body."""
    if kernel.scalar_body is not None:
        return f", {kernel.scalar_body.steps_are_done}"
    found = kernel.steps_at_device.values()
    return ", in one kernel of the device" if found and all(found) else ""


def _loop_in_python(made):
    """Return the function of the body of a loop that CALL runs, or None."""
    op = getattr(made, "op", None)
    return op.fn if getattr(op, "is_loop", False) else None


def _instructions(function, reasons_of):
    return listing(function.program, reasons=reasons_of(function)) + _bodies(function.program, reasons_of)


def _bodies(program, reasons_of):
    """List the bodies of a program's loops, those of the loops in them too."""
    text = ""
    for position, instruction in enumerate(program.symbolic()):
        body, where = None, ""
        if instruction.name == "KERNEL" and isinstance(program.kernels[instruction.a], LoopKernel):
            kernel = program.kernels[instruction.a]
            if kernel.blocks is not None:
                ahead = indent(listing(kernel.blocks.program), "    ")
                text += f"ahead of the body of instruction {position}, once a block of steps\n{ahead}"
            body = listing(kernel.program) + _bodies(kernel.program, reasons_of)
            where = _how(kernel)
        elif instruction.name == "CALL" and _loop_in_python(program.calls[instruction.a]) is not None:
            body = _instructions(_loop_in_python(program.calls[instruction.a]), reasons_of)
        if body is not None:
            text += f"body of instruction {position}, once a step{where}\n{indent(body, '    ')}"
    return text
