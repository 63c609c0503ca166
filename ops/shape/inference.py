"""Shapes of variables without computing the variables, by the ``infer_shape`` of the ops before them."""
from phintys.graph.errors import MethodNotDefined
from phintys.graph.toposort import io_toposort
from phintys.ops.shape.shape import shape_i


def inferred_shapes(inputs, outputs, input_shapes=()):
    """The lengths of ``outputs``; where an op infers none, they are read from its output.

    Parameters
    ----------
    inputs, outputs : list of Variable
        A graph.
    input_shapes : list of tuple
        The lengths of the first ``inputs``; by default they are read from them.

    Returns
    -------
    list of tuple or None
        None for a variable whose type has no dimensions.
    """
    shapes = dict(zip(inputs, input_shapes))
    for node in io_toposort(inputs, outputs):
        known = [shapes[variable] if variable in shapes else _own_shape(variable) for variable in node.inputs]
        try:
            inferred = node.op.infer_shape(node, known)
        except (MethodNotDefined, NotImplementedError):
            inferred = [None] * len(node.outputs)
        for output, shape in zip(node.outputs, inferred):
            shapes.setdefault(output, _own_shape(output) if shape is None else shape)
    return [shapes[output] if output in shapes else _own_shape(output) for output in outputs]


def _own_shape(variable):
    """The lengths of a variable, read from the variable itself; None if its type has no dimensions."""
    if getattr(variable.type, "ndim", None) is None:
        return None
    return tuple([shape_i(variable, axis) for axis in range(variable.type.ndim)])
