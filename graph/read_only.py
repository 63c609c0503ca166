"""What ``perform`` may write to: the inputs that the op's ``destroy_map`` names, and no others.

The virtual machine hands out read-only views by itself (``vm/machine/perform.pyx``); this is for code that calls
``perform`` on values, node by node.
"""
import numpy


def inputs_for(op, values):
    """The values as ``op.perform`` may have them: arrays that it does not overwrite are read-only views.

    Parameters
    ----------
    op : Op
    values : iterable
        One for each input.

    Returns
    -------
    list
    """
    destroyed = {position for positions in op.destroy_map.values() for position in positions}
    return [value if position in destroyed else read_only(value) for position, value in enumerate(values)]


def read_only(value):
    """A view of an array that cannot be written to; other values as they are."""
    if type(value) is not numpy.ndarray or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view
