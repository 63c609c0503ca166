"""Symbolic shapes: no value is computed only because its shape is needed.

`ShapeFeature` expresses the lengths of variables as small expressions of the shapes of inputs, found through each op's
``infer_shape``. When a graph reads a shape, it is computed once and stored. Lengths that no op can infer are a
``Shape_i`` of the variable itself.
"""
from phintys.graph.errors import MethodNotDefined
from phintys.graph.variable import Variable
from phintys.ops.shape.reshape import MakeVector
from phintys.ops.shape.shape import Shape_i
from phintys.ops.types.constant import constant
from phintys.optimizer.engine.database import FAST_RUN, Rewrite
from phintys.optimizer.engine.forms import constant_value, key_of

_length_ops = [Shape_i(axis) for axis in range(8)]


class ShapeFeature:
    """The shapes of the variables of one FunctionGraph.

    Attributes
    ----------
    shape_of : dict
        Variable → a tuple of 0-d int64 variables, None for variables without a shape.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> feature, y = T.opt.ShapeFeature(), T.exp(x)
    >>> phintys.FunctionGraph([x], [y], clone=False).attach_feature(feature)
    >>> feature.same_shape(x, y)
    True
    """

    def __init__(self):
        self.shape_of = {}
        self.opaque = set()            # variables whose lengths are their own Shape_i

    def on_change_input(self, fgraph, node, position, old, new, reason):
        """Forget all shapes when a variable is removed whose own lengths may be part of other shapes."""
        if old in self.opaque and old.owner is not None:
            self.shape_of.clear()
            self.opaque.clear()

    def shape(self, variable):
        """Return the lengths of ``variable``."""
        shape_of, stack = self.shape_of, [variable]
        while stack:
            current = stack[-1]
            if current in shape_of:
                stack.pop()
                continue
            if not hasattr(current.type, "broadcastable") or not hasattr(current.type, "shape"):
                shape_of[current] = None
            elif _is_leaf(current):
                shape_of[current] = self._own(current)
            else:
                missing = [needed for needed in current.owner.inputs if needed not in shape_of]
                if missing:
                    stack.extend(missing)
                    continue
                self._infer(current.owner)
            stack.pop()
        return shape_of[variable]

    def _own(self, variable):
        """Return lengths that are static or else read from the variable."""
        lengths = []
        for axis, length in enumerate(_static_shape(variable)):
            if length is None:
                self.opaque.add(variable)
                op = _length_ops[axis] if axis < len(_length_ops) else Shape_i(axis)
                lengths.append(op(variable))
            else:
                lengths.append(constant(length, dtype="int64"))
        return tuple(lengths)

    def _infer(self, node):
        """Infer the shapes of the outputs of ``node`` by its op."""
        try:
            shapes = node.op.infer_shape(node, [self.shape_of[variable] for variable in node.inputs])
        except (MethodNotDefined, NotImplementedError):
            shapes = [None] * len(node.outputs)
        for out, shape in zip(node.outputs, shapes):
            if shape is None or len(shape) != out.type.ndim:
                self.shape_of[out] = self._own(out)
                continue
            self.shape_of[out] = tuple([
                constant(1, dtype="int64") if flag else _as_length(length)
                for flag, length in zip(out.type.broadcastable, shape)])

    def same_shape(self, x, y, dim_x=None, dim_y=None):
        """Return whether two variables, or one dimension of each, are known to have equal lengths."""
        first, second = self.shape(x), self.shape(y)
        if dim_x is not None:
            return _same_length(first[dim_x], second[dim_y])
        return len(first) == len(second) and all(map(_same_length, first, second))

    def same_lengths(self, tensors, axes):
        """Return whether tensors are known to have equal lengths along ``axes``."""
        first, *others = [self.shape(x) for x in tensors]
        return all([_same_length(first[axis], other[axis]) for other in others for axis in axes])

    def is_length(self, number, x, axis):
        """Return whether a 0-d variable is known to be the length of dimension ``axis`` of x."""
        return _same_length(number, self.shape(x)[axis])


def _is_leaf(variable):
    """Return whether the lengths are static, or can only be read from the variable itself."""
    return (variable.owner is None or not hasattr(variable.owner.op, "infer_shape")
            or None not in _static_shape(variable))


def _static_shape(variable):
    """Return the lengths that the type knows, None for others; the state of a random stream has none."""
    return getattr(variable.type, "shape", None) or ()


SAME_DEPTH = 8                 # nodes deep: the length of a slice of a dimension is an expression of six


def _same_length(first, second, depth=SAME_DEPTH):
    """Return whether two variables are the same, equal constants, or equal small expressions of these."""
    if first is second:
        return True
    if constant_value(first) is not None:
        return constant_value(first) == constant_value(second)
    one, other = first.owner, second.owner
    return (depth > 0 and one is not None and other is not None and first.index == second.index and one.op == other.op
            and len(one.inputs) == len(other.inputs)
            and all([_same_length(mine, his, depth - 1) for mine, his in zip(one.inputs, other.inputs)]))


def _as_length(length):
    if not isinstance(length, Variable):
        return constant(int(length), dtype="int64")
    if length.owner is not None and key_of(length.owner.op) == "Subtensor":
        length = element_of_shape(None, length.owner) or length
    return length if length.type.dtype == "int64" else length.astype("int64")


def feature_of(fgraph):
    """Return the ShapeFeature of a graph, which is attached at the first call."""
    for feature in fgraph.features:
        if type(feature) is ShapeFeature:
            return feature
    feature = ShapeFeature()
    fgraph.attach_feature(feature)
    fgraph.shape_feature = feature
    return feature


def shape_i_inferred(fgraph, node):
    """``Shape_i(f(x))`` as an expression over shapes of inputs."""
    variable, axis = node.inputs[0], node.op.i
    if not hasattr(variable.type, "shape"):
        return None
    if variable.type.shape[axis] is not None:
        return constant(variable.type.shape[axis], dtype="int64")
    if variable.owner is None:
        return None
    length = feature_of(fgraph).shape(variable)[axis]
    owner = length.owner
    if owner is not None and type(owner.op) is Shape_i and owner.inputs[0] is variable:
        return None
    return length


def shape_to_lengths(fgraph, node):
    """``Shape(f(x))`` as a vector of lengths, so that f(x) need not be computed for it."""
    variable = node.inputs[0]
    if not hasattr(variable.type, "shape"):
        return None
    if not variable.type.ndim:
        return constant([], dtype="int64")
    return MakeVector("int64")(*feature_of(fgraph).shape(variable))


def element_of_shape(fgraph, node):
    """``x.shape[i] -> Shape_i(x)``, and elements of a vector made of scalars."""
    inner = node.inputs[0].owner
    position = _constant_index(node)
    if inner is None or position is None:
        return None
    name = key_of(inner.op)
    if name == "Shape":
        variable = inner.inputs[0]
        rank = variable.type.ndim
        return _length_ops[position % rank](variable) if -rank <= position < rank else None
    if name == "MakeVector":
        number = len(inner.inputs)
        return inner.inputs[position] if -number <= position < number else None
    return None


def maximum_of_length(fgraph, node):
    """``maximum(x.shape[i], 0) -> x.shape[i]``, which occurs in the length of a range."""
    for length, bound in (node.inputs, node.inputs[::-1]):
        if length.owner is not None and type(length.owner.op) is Shape_i and constant_value(bound) == 0:
            return length
    return None


def _constant_index(node):
    """Return the i of ``x[i]`` for a vector x and a constant i, else None."""
    entries = getattr(node.op, "idx_list", ())
    if len(entries) != 1 or isinstance(entries[0], slice):
        return None
    value = constant_value(node.inputs[1]) if len(node.inputs) == 2 else entries[0]
    return value if type(value) is int else None


REWRITES = [
    Rewrite("local_shape_to_shape_i", ("Subtensor",), element_of_shape, (FAST_RUN, "local_subtensor_make_vector")),
    Rewrite("local_track_shape_i", ("Shape_i",), shape_i_inferred, (FAST_RUN,), changes="errors"),
    Rewrite("local_useless_maximum_of_length", ("maximum",), maximum_of_length, (FAST_RUN,)),
    Rewrite("local_shape_make_vector", ("Shape",), shape_to_lengths, (FAST_RUN,), changes="errors"),
]
