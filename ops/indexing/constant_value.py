"""Values of variables that are known at compile time: the number that a variable is equal to, the length of a vector.

A rule for each op class determines the value from the values of some inputs. The search is iterative and follows
``max_recur`` levels of nodes. For integers that are lengths, ``known_length.py`` is faster.
"""
import numpy

from phintys.graph.errors import EmptyConstantError, NotScalarConstantError, made_at
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.assertion import Assert, Check
from phintys.ops.indexing.subtensor import Indexing, Subtensor, filled
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import MakeVector
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, SpecifyShape
from phintys.ops.types.constant import as_tensor_variable, constant


def get_scalar_constant_value(orig_v, elemwise=True, only_process_constants=False, max_recur=10):
    """The number to which all elements of ``orig_v`` are equal, for all inputs of a function.

    Supports constants, fills, views, elements of constants and of vectors made of scalars, known lengths, true
    assertions, and elementwise functions of these.

    Parameters
    ----------
    orig_v : Variable, number or numpy.ndarray
    elemwise : bool
        Whether to evaluate elementwise functions.
    only_process_constants : bool
        Whether to examine only ``orig_v`` itself.
    max_recur : int
        The number of levels of nodes to follow.

    Returns
    -------
    numpy.ndarray
        0-d, a copy.

    Raises
    ------
    EmptyConstantError
        If a constant that determines the value has no elements.
    NotScalarConstantError
        If the value is not known, or if the elements differ.

    Examples
    --------
    >>> T.get_scalar_constant_value(T.constant(3) + 0)
    array(3, dtype=int8)
    """
    if not isinstance(orig_v, Variable):
        return _only_number(numpy.asarray(orig_v), orig_v)
    depth = 0 if only_process_constants else max_recur
    values, pending = {}, [(orig_v, 0)]
    while pending:
        variable, level = pending[-1]
        if isinstance(variable, Constant):
            values[variable] = _only_number(numpy.asarray(variable.data), variable)
        if variable in values:
            pending.pop()
            continue
        needed, combine = _rule(variable, elemwise) if level < depth else _unknown(variable)
        missing = [(other, level + 1) for other in needed if other not in values]
        if missing:
            pending.extend(missing)
        else:
            values[variable] = numpy.asarray(combine(*[values[other] for other in needed]))
    return values[orig_v].copy()


def extract_constant(x, elemwise=True, only_process_constants=False):
    """``get_scalar_constant_value`` of ``x`` if there is one, else ``x`` itself.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> T.extract_constant(T.constant(3)), T.extract_constant(x)
    (np.int8(3), x)
    """
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


def get_constant_idx(self, inputs, allow_partial=False, only_process_constants=False, elemwise=True):
    """Return the index of a node of this op, with numbers for the integers that are constant.

    Parameters
    ----------
    inputs : list of Variable
        Of the node.
    allow_partial : bool
        Leave integers that are not constant as variables.
    only_process_constants, elemwise : bool
        See `get_scalar_constant_value`.

    Raises
    ------
    NotScalarConstantError
        If an integer is not constant, unless ``allow_partial``.
    """
    def known(part):
        try:
            return int(get_scalar_constant_value(part, elemwise, only_process_constants))
        except NotScalarConstantError:
            if not allow_partial:
                raise
            return part

    symbolic = inputs[len(inputs) - sum([isinstance(part, Type) for parts in self.indices for part in parts]):]
    return filled(self.idx_list, map(known, symbolic))


Indexing.get_constant_idx = get_constant_idx


def get_vector_length(v):
    """The length of a symbolic vector, if it is known.

    Raises
    ------
    TypeError
        If ``v`` is not a vector.
    ValueError
        If the length depends on inputs.

    Examples
    --------
    >>> T.get_vector_length(T.stack([T.dscalar(), T.dscalar()]))
    2
    """
    v = as_tensor_variable(v)
    if v.type.ndim != 1:
        raise TypeError(f"argument must be symbolic vector, got '{v}' of type {v.type}")
    if v.type.shape[0] is None:
        raise ValueError(f"length not known: {v}{made_at(v)}")
    return v.type.shape[0]


def _only_number(array, source):
    """The number to which all elements of an array are equal, as a 0-d array."""
    if array.size == 0:
        raise EmptyConstantError(f"{source} has no elements")
    if array.dtype.kind not in "biufc" or not (array == array.flat[0]).all() and array.size > 1:
        raise NotScalarConstantError(f"{source} is not numeric, or its elements differ")
    return array.reshape(-1)[0].reshape(()).copy()


def _unknown(variable):
    raise NotScalarConstantError(f"the value of {variable}{made_at(variable)} is not known before a function runs")


# ---- rules: each takes a node and the position of an output, and returns the variables that determine the output and
# the function of their values
def _rule(variable, elemwise):
    node = variable.owner
    rule = _RULES.get(type(node.op)) if node is not None else None
    found = rule(node, variable.index) if rule is not None and (elemwise or rule is not _elementwise) else None
    return _unknown(variable) if found is None else found


def _same(value):
    return value


def _first(node, index):
    return node.inputs[:1], _same


def _elementwise(node, index):
    if node.op.scalar_op is scalar.second:
        return node.inputs[1:], lambda value: value.astype(node.outputs[0].type.dtype)
    return node.inputs, lambda *values: _computed(node.op.scalar_op.elementwise, values)[index]


def _computed(op, values):
    node = op.make_node(*[constant(value) for value in values])
    storage = [[None] for _ in node.outputs]
    op.perform(node, list(values), storage)
    return [cell[0] for cell in storage]


def _length(node, index):
    length = node.inputs[0].type.shape[node.op.i]
    return None if length is None else ((), lambda: numpy.int64(length))


def _element(node, index):
    """An element of a constant, a shape, or a vector of scalars; a position that is an input is evaluated first."""
    source, *integers = node.inputs
    if isinstance(source, Constant):
        return integers, lambda *values: source.data[tuple(filled(node.op.idx_list, [int(value) for value in values]))]
    if source.owner is None or len(node.op.idx_list) != 1 or type(node.op.idx_list[0]) is slice:
        return None
    position = node.op.idx_list[0]
    if integers:
        position = int(get_scalar_constant_value(integers[0], only_process_constants=True))
    if isinstance(source.owner.op, MakeVector) and -len(source.owner.inputs) <= position < len(source.owner.inputs):
        return [source.owner.inputs[position]], _same
    if isinstance(source.owner.op, Shape):
        lengths = source.owner.inputs[0].type.shape
        if -len(lengths) <= position < len(lengths) and lengths[position] is not None:
            return (), lambda: numpy.int64(lengths[position])
    return None


def _asserted(node, index):
    def value_if(value, *conditions):
        return value if all(conditions) else _unknown(node.outputs[0])
    return node.inputs, value_if


_RULES = {Alloc: _first, DimShuffle: _first, Rebroadcast: _first, SpecifyShape: _first, Elemwise: _elementwise,
          Shape_i: _length, Subtensor: _element, Assert: _asserted, Check: _asserted}
