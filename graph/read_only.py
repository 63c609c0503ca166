"""Read-only inputs: ``perform`` may write only to the inputs in the op's ``destroy_map``.

The virtual machine hands out read-only views by itself (``vm/machine/perform.pyx``); this is for code that calls
``perform`` on values, node by node.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.op import Op


def inputs_for(op: Op, values: Sequence[numpy.ndarray]) -> list[numpy.generic | numpy.ndarray]:
    """Return the values for ``op.perform``: arrays that it does not overwrite become read-only views.

    Parameters
    ----------
    op : Op
    values : iterable
        One for each input.
    """
    destroyed = {position for positions in op.destroy_map.values() for position in positions}
    return [value if position in destroyed else read_only(value) for position, value in enumerate(values)]


def read_only(value: Any) -> Any:
    """Return a view of an array that cannot be written to; other values are returned unchanged."""
    if type(value) is not numpy.ndarray or not value.flags.writeable:
        return value
    view = value.view()
    view.flags.writeable = False
    return view
