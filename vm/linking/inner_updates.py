"""Updates inside updates: code that runs during a call replaces a value that the call has loaded and will replace too.

Such code may be called by the ``perform`` of a user's op, a weak reference's callback, a finalizer or a signal handler.
It runs in the thread of the call, so claims do not exclude it. As in Theano, an instruction computes with the value
that a variable has when the instruction runs: a value that was loaded but not read yet is loaded again. If the old
value has been read, storing what was computed from it could undo the inner update. Theano does this silently; here
the call fails and changes nothing, and the inner update stays.
"""
ENDS = "RESULT", "PREPARE", "COMMIT"            # the first of these follows the whole computation


def may_have_read(program, cell, position):
    """Return whether an instruction up to and including ``position`` may have read a loaded value.

    Parameters
    ----------
    program : Program
    cell : int
        The cell of the value.
    position : int
        The position of a CALL. If it is in a block, the whole computation counts as run.

    Returns
    -------
    bool
    """
    instructions = program.symbolic()
    names = [instruction.name for instruction in instructions]
    halt = names.index("HALT")
    last = position if position < halt else min([names.index(name) for name in ENDS if name in names]) - 1
    return any([cell in instruction.reads() for number, instruction in enumerate(instructions)
                if number <= last or number > halt])


def lost_update(container, culprit):
    """Return the exception for a call that would undo an update.

    Parameters
    ----------
    container : Container
    culprit : str
        The function or op that called the code which made the update.

    Returns
    -------
    RuntimeError
    """
    title = f"shared variable {container.name!r}" if container.name else f"shared variable of type {container.type}"
    return RuntimeError(f"{culprit} has updated the {title} inside this call, which updates it too and had already read"
                        " its old value. To store what was computed from it could undo the inner update, so this call "
                        "changes nothing, and the inner update stays. Update the variable in one place only, or let "
                        "the outer update read it after the op, by computing it from the op's output")
