"""Theano's name ``tensor.utils``: the shapes of a graph's variables as numbers, and hashes of arrays."""
from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import public_names as _public_names
from phintys.reports.predicted_shapes import shapes_in_graph
from phintys.theano_finder import lookup as _lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.function_graph import FunctionGraph
    from phintys.ops.operators import TensorVariable

__all__ = ["hash_from_ndarray", "shape_of_variables"]


def hash_from_ndarray(data: numpy.ndarray) -> str:
    """Return a hash of an array's elements, shape, strides and dtype.

    Parameters
    ----------
    data : numpy.ndarray

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> T.utils.hash_from_ndarray(numpy.arange(3)) == T.utils.hash_from_ndarray(numpy.arange(3))
    True
    """
    digest = hashlib.sha256(repr((data.shape, data.strides, data.dtype.str)).encode())
    digest.update(numpy.ascontiguousarray(data))
    return digest.hexdigest()


def shape_of_variables(fgraph: FunctionGraph, input_shapes: Sequence[Any]) -> dict[TensorVariable, tuple[int, ...]]:
    """Return the shapes of a graph's variables for given shapes of its inputs.

    Parameters
    ----------
    fgraph : FunctionGraph
        Made with ``clone=False`` if its variables should be those of the user.
    input_shapes : dict
        Input of the graph → its shape.

    Returns
    -------
    dict
        Variable → its shape; None where it depends on values.

    Raises
    ------
    ValueError
        If a key is not an input of the graph, or the shape of an input is missing.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> graph = phintys.FunctionGraph([x], [x[1:]], clone=False)
    >>> T.utils.shape_of_variables(graph, {x: (3, 4)})[graph.outputs[0]]
    (2, 4)
    """
    strange = [variable for variable in input_shapes if variable not in fgraph.inputs]
    if strange:
        raise ValueError(f"input_shapes keys aren't in fgraph.inputs: {strange}. Is the graph a copy? "
                         "FunctionGraph(..., clone=False) takes the variables as they are")
    missing = [variable for variable in fgraph.inputs if variable not in input_shapes]
    if missing:
        raise ValueError(f"input_shapes lacks the inputs {missing}")
    return shapes_in_graph(fgraph, input_shapes)
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
