"""The base class of ops that contain an inner graph: the graph, its compiled function, and the shapes of its outputs.

The inner graph is a private copy. Its leaves are ``local_inputs``: the declared inputs, then one substitute for each
shared variable that the user's graph reads. Nodes get the shared variables themselves as additional inputs, so that
gradients and functions find them. The function is compiled when a program that contains the op is linked, or when the
op first runs; copies and pickles do not contain it. Subclasses define how the inner graph is applied to the op's
inputs.
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
from phintys.ops.types.tensor_type import TensorType, known_type


class InnerGraphOp(Op):
    """An op that runs a graph.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The graph; ancestors of the inputs are not part of it.
    name : str or None
        For printing.
    **options
        Options of the ``function`` that compiles the graph, ``mode`` for example.

    Attributes
    ----------
    inputs, outputs : list of Variable
        The variables passed to the constructor.
    local_inputs, local_outputs : list of Variable
        The private copy.
    shared_inputs : list of Variable
        The shared variables whose substitutes are the last of ``local_inputs``.
    """

    _function = None
    is_foldable = False                         # folding would compile the graph, which costs more than it saves

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
        """The compiled inner graph; it takes values of ``local_inputs`` and returns a list of values."""
        return self.compiled() if self._function is None else self._function

    def compiled(self, **options):
        """Compile the inner graph, with further options of ``function``."""
        options = {"on_unused_input": "ignore", "name": str(self), **options, **self.kwargs}
        self._function = hooks.function(self.local_inputs, self.local_outputs, **options)
        return self._function

    def lower(self, emitter, node):
        self.fn                                     # compiled now, so that the first call is as fast as later ones
        emitter.call(node)

    def shapes_outside(self, inputs, input_shapes, inside=(), outputs=None):
        """The shapes of the outputs.

        Parameters
        ----------
        inputs : list of Variable
            The outer variables for ``local_inputs``; entries for those in ``inside`` are ignored.
        input_shapes : list of tuple
            The lengths of ``local_inputs`` as outer variables.
        inside : collection of Variable
            The ``local_inputs`` that have no outer variable.
        outputs : list of Variable, optional
            Those of ``local_outputs`` whose shapes are wanted; by default all.

        Returns
        -------
        list of tuple or None
            None for a shape that depends on values computed in the inner graph.
        """
        outputs = self.local_outputs if outputs is None else outputs
        computed = {output for node in io_toposort(self.local_inputs, outputs) for output in node.outputs}
        given = {length for shape in input_shapes for length in shape or ()
                 if isinstance(length, Variable) and not _is_read_from(length, inside)}
        shapes = [shape if shape is not None and _is_known(shape, given, computed, inside) else None
                  for shape in inferred_shapes(self.local_inputs, outputs, input_shapes)]
        lengths = [length for shape in shapes for length in shape or () if isinstance(length, Variable)]
        replace = {local: outer for local, outer in zip(self.local_inputs, inputs) if local not in inside}
        outer = dict(zip(lengths, clone_replace(lengths, replace)))
        return [shape and tuple([outer[length] if isinstance(length, Variable) else length for length in shape])
                for shape in shapes]

    def local_shapes(self, input_shapes=()):
        """The lengths of ``local_outputs`` as expressions of the inner graph, and of those of its inputs if given."""
        return inferred_shapes(self.local_inputs, self.local_outputs, input_shapes)

    def __getstate__(self):
        state = super().__getstate__()
        state.pop("_function", None)
        return state

    def __str__(self):
        return type(self).__name__ if self.name is None else self.name


def inferred_shapes(inputs, outputs, input_shapes=()):
    """The lengths of some variables, by the rules of the ops that compute them.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The graph; ancestors of the inputs are not part of it.
    input_shapes : list of tuple, optional
        The lengths of the inputs; by default they are read from the inputs themselves.

    Returns
    -------
    list of tuple or None
        None for variables whose types have no dimensions.
    """
    shapes = dict(zip(inputs, input_shapes))
    for node in io_toposort(inputs, outputs):
        for variable in node.inputs:
            if variable not in shapes:
                shapes[variable] = _own_shape(variable)
        known = [shapes[variable] for variable in node.inputs]
        try:
            inferred = node.op.infer_shape(node, known)
        except (MethodNotDefined, NotImplementedError):
            inferred = [None] * len(node.outputs)
        for output, shape in zip(node.outputs, inferred):
            shapes.setdefault(output, _own_shape(output) if shape is None
                              else tuple([_resolved(length, shapes) for length in shape]))
    return [shapes[output] if output in shapes else _own_shape(output) for output in outputs]


def _resolved(length, shapes):
    """A length, or what is known of it if the graph itself reads it from a variable of these shapes."""
    while isinstance(length, Variable) and length.owner is not None and isinstance(length.owner.op, Shape_i):
        known = shapes.get(length.owner.inputs[0])
        if known is None or known[length.owner.op.i] is length:
            break
        length = known[length.owner.op.i]
    return length


def gradient_type(kind):
    """The type of the gradient with respect to an output of a type; floatX replaces a discrete dtype."""
    return TensorType(config.floatX, kind.broadcastable) if getattr(kind, "dtype", None) in discrete_dtypes else kind


def stacked_type(kind):
    """The type of a tensor whose rows are of a type."""
    return known_type(kind.dtype, (False, *kind.broadcastable), (None, *kind.shape))


def as_gradient(gradient, kind):
    """An outer gradient, converted to the dtype and broadcastable pattern of a type.

    A gradient with additional leading dimensions (one for each row) keeps their pattern.
    """
    if getattr(kind, "dtype", None) is None:
        return gradient
    if gradient.type.dtype != kind.dtype:
        gradient = cast_op(kind.dtype)(gradient)
    more = gradient.type.ndim - kind.ndim
    return patternbroadcast(gradient, gradient.type.broadcastable[:more] + kind.broadcastable)


def _stand_in(variable):
    """A leaf of the same type and name, without the test value."""
    leaf = variable.type.make_variable(variable.name)
    leaf._position = variable._position if variable.owner is None else variable.owner._position
    return leaf


def _own_shape(variable):
    """The lengths of a variable, read from the variable itself; None if its type has no dimensions."""
    if getattr(variable.type, "ndim", None) is None:
        return None
    return tuple([shape_i(variable, axis) for axis in range(variable.type.ndim)])


def _is_read_from(length, variables):
    """Whether a length is that of one of some variables, such as a value that a loop carries."""
    node = length.owner
    return node is not None and isinstance(node.op, (Shape, Shape_i)) and node.inputs[0] in variables


def _is_known(shape, given, computed, inside):
    """Whether no length depends on one of ``inside`` or is read from a variable that is ``computed`` inside.

    The ``given`` lengths are outer variables, so their ancestors are not examined.
    """
    for variable in ancestors([length for length in shape if isinstance(length, Variable)], given):
        if variable in inside:
            return False
        if variable.owner is not None and variable not in given and isinstance(variable.owner.op, (Shape, Shape_i)):
            if variable.owner.inputs[0] in computed:
                return False
    return True
