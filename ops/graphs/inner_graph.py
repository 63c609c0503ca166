"""Ops that hold a graph of their own: the graph, its compiled function, and what follows from it for shapes.

The inner graph is a private copy. Its leaves are ``local_inputs``: the declared inputs, then one stand-in for each
shared variable that the user's graph read; nodes get the shared variables themselves as further inputs, so gradients
and functions see them. The function is made when a program is, or when the op first runs; copies and pickles do not
carry it. What the inner graph means for the op's inputs is said by the subclasses.
"""
from phintys.graph import hooks
from phintys.graph.config import change_flags, config
from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import ancestors, clone_replace, graph_inputs
from phintys.graph.variable import Variable
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.shape.shape import Shape, Shape_i, patternbroadcast, shape_i
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType


class InnerGraphOp(Op):
    """An op that runs a graph.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The graph; what computes the inputs is not looked at.
    name : str or None
        For printing.
    **options
        For the ``function`` that compiles the graph, ``mode`` for example.

    Attributes
    ----------
    inputs, outputs : list of Variable
        As given.
    local_inputs, local_outputs : list of Variable
        The private copy.
    shared_inputs : list of Variable
        The shared variables whose stand-ins are the last of ``local_inputs``.
    """

    _function = None

    def __init__(self, inputs, outputs, name=None, **options):
        for kind, variables in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(variables, (list, tuple)):
                raise TypeError(f"{kind} must be list, got {type(variables)}")
            for variable in variables:
                if not isinstance(variable, Variable):
                    raise TypeError(f"inputs and outputs must be Variable instances, got {variable!r} in {kind}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of an op must be None or a string, got {name!r}")
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.name = name
        self.kwargs = options
        given = set(inputs)
        self.shared_inputs = [leaf for leaf in graph_inputs(outputs, inputs)
                              if hasattr(leaf, "container") and leaf not in given]
        self.local_inputs = [_stand_in(variable) for variable in self.inputs + self.shared_inputs]
        replace = dict(zip(self.inputs + self.shared_inputs, self.local_inputs))
        with change_flags(compute_test_value="off"):
            self.local_outputs = clone_replace(self.outputs, replace)

    @property
    def fn(self):
        """The compiled inner graph: from values of ``local_inputs`` to a list of values."""
        if self._function is None:
            options = {"on_unused_input": "ignore", "name": str(self), **self.kwargs}
            self._function = hooks.function(self.local_inputs, self.local_outputs, **options)
        return self._function

    def lower(self, emitter, node):
        self.fn                                     # compiled now, so that the first call is as quick as the others
        emitter.call(node)

    def do_constant_folding(self, node):
        return False                                # running it compiles it, which costs more than it could save

    def shapes_outside(self, inputs, input_shapes, inside=()):
        """The shapes of the outputs.

        Parameters
        ----------
        inputs : list of Variable
            What stands for ``local_inputs`` outside; anything for those in ``inside``.
        input_shapes : list of tuple
            The lengths of ``local_inputs``, outside.
        inside : collection of Variable
            The ``local_inputs`` whose values are not known outside.

        Returns
        -------
        list of tuple or None
            None for a shape that can only be learned from values that are computed inside.
        """
        computed = {output for node in io_toposort(self.local_inputs, self.local_outputs) for output in node.outputs}
        given = {length for shape in input_shapes for length in shape or () if isinstance(length, Variable)}
        shapes = [shape if shape is not None and _is_known(shape, given, computed, inside) else None
                  for shape in self._local_shapes(input_shapes)]
        lengths = [length for shape in shapes for length in shape or () if isinstance(length, Variable)]
        replace = {local: outer for local, outer in zip(self.local_inputs, inputs) if local not in inside}
        outer = dict(zip(lengths, clone_replace(lengths, replace)))
        return [shape and tuple([outer[length] if isinstance(length, Variable) else length for length in shape])
                for shape in shapes]

    def _local_shapes(self, input_shapes):
        """The lengths of ``local_outputs`` as expressions of the inner graph."""
        shapes = dict(zip(self.local_inputs, input_shapes))
        for node in io_toposort(self.local_inputs, self.local_outputs):
            known = [shapes[variable] if variable in shapes else _own_shape(variable) for variable in node.inputs]
            try:
                inferred = node.op.infer_shape(node, known)
            except (MethodNotDefined, NotImplementedError):
                inferred = [None] * len(node.outputs)
            for output, shape in zip(node.outputs, inferred):
                shapes.setdefault(output, _own_shape(output) if shape is None else shape)
        return [shapes[output] if output in shapes else _own_shape(output) for output in self.local_outputs]

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_function", None)
        return state

    def __str__(self):
        return type(self).__name__ if self.name is None else self.name


def gradient_type(kind):
    """The type of a gradient by an output of a type: floatX stands for what is discrete."""
    return TensorType(config.floatX, kind.broadcastable) if getattr(kind, "dtype", None) in discrete_dtypes else kind


def as_gradient(gradient, kind):
    """A gradient that comes from outside, in the dtype and pattern of a type.

    A gradient of more dimensions (one for each row) keeps the pattern of those in front.
    """
    if getattr(kind, "dtype", None) is None:
        return gradient
    if gradient.type.dtype != kind.dtype:
        gradient = cast_op(kind.dtype)(gradient)
    more = gradient.type.ndim - kind.ndim
    return patternbroadcast(gradient, gradient.type.broadcastable[:more] + kind.broadcastable)


def _stand_in(variable):
    """A leaf of the same type and name; test values stay with the original."""
    leaf = variable.type.make_variable(variable.name)
    leaf._position = variable._position if variable.owner is None else variable.owner._position
    return leaf


def _own_shape(variable):
    """The lengths of a variable read from itself, or None if it has none."""
    if getattr(variable.type, "ndim", None) is None:
        return None
    return tuple([shape_i(variable, axis) for axis in range(variable.type.ndim)])


def _is_known(shape, given, computed, inside):
    """Whether no length depends on one of ``inside`` or is read from a variable that is ``computed`` inside.

    What computes the ``given`` lengths lies outside.
    """
    for variable in ancestors([length for length in shape if isinstance(length, Variable)], given):
        if variable in inside:
            return False
        if variable.owner is not None and variable not in given and isinstance(variable.owner.op, (Shape, Shape_i)):
            if variable.owner.inputs[0] in computed:
                return False
    return True
