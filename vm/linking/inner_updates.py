"""Updates inside updates: code that runs inside a call replaces a value that the call has loaded and will replace, too.

Such code is what ``perform`` of a user's op calls, a callback of a weak reference, a finalizer, a signal's handler. It
runs in the thread of the call, so claims do not keep it out. As in Theano, an instruction computes with the value that
a variable has when it runs: what was loaded and not yet read is loaded again. If the old value has been read, storing
what was computed from it may undo the inner update, which Theano does silently; here the call fails and changes
nothing, and the inner update stays.
"""
ENDS = "RESULT", "PREPARE", "COMMIT"            # the first of these comes after all that is computed


def may_have_read(program, cell, position):
    """Whether an instruction that runs before ``position``, or this one, may have read a loaded value.

    Parameters
    ----------
    program : Program
    cell : int
        The cell of the value.
    position : int
        A CALL. When it stands in a block, all that is computed counts as run.

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
    """The exception of a call that would undo an update.

    Parameters
    ----------
    container : Container
    culprit : str
        Who called what updated it.

    Returns
    -------
    RuntimeError
    """
    title = f"shared variable {container.name!r}" if container.name else f"shared variable of type {container.type}"
    return RuntimeError(f"{culprit} has updated the {title} inside this call, which updates it too and had already read"
                        " its old value. To store what was computed from it could undo the inner update, so this call "
                        "changes nothing, and the inner update stays. Update the variable in one place only, or let "
                        "the outer update read it after the op, by computing it from the op's output")
