"""Basic indexing: Subtensor (a view of part of a tensor) and IncSubtensor (a copy with part of it changed).

An index is a list with one entry per dimension: an int or a symbolic integer, which removes the dimension, or a slice
of these. Constants are in the op's ``idx_list``; each symbolic integer is an input of the node, and its type is in
``idx_list``. Dimensions without an entry are kept whole. ``getitem.py`` makes such an index from a user's index; arrays
and masks as indices are in ``advanced_subtensor.py``.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.alloc import Alloc, gradient_of_broadcast
from phintys.ops.elementwise.masks import NONE
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.indexing.slices import slice_length
from phintys.ops.indexing.subtensor_kernel import IncSubtensorKernel, SubtensorKernel
from phintys.ops.shape.join import MakeVector
from phintys.ops.shape.shape import Shape, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes, integer_dtypes
from phintys.ops.types.known_length import passes_on
from phintys.ops.types.tensor_type import TensorType, known_type

WHOLE = slice(None)


# ---- entries of an index ---------------------------------------------------------------------------------------------
def entry_parts(entry):
    """The integers of an entry: three for a slice, else one."""
    return (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)


def _rebuilt(entry, parts):
    return slice(*parts) if isinstance(entry, slice) else parts[0]


def filled(idx_list, inputs):
    """``idx_list`` with its types replaced by the next of ``inputs``."""
    inputs = iter(inputs)
    return [_rebuilt(entry, [next(inputs) if isinstance(part, Type) else part for part in entry_parts(entry)])
            for entry in idx_list]


def checked_entry(op, entry):
    """An entry in the form of ``idx_list``; raises TypeError unless it is an integer, a type of integers, or a slice of
    these. A variable stands for its type, and Theano's type of a number for that of a 0-d tensor."""
    parts = []
    for part in entry_parts(entry):
        if isinstance(part, numpy.integer):
            part = int(part)
        if isinstance(part, Variable):
            part = part.type
        if isinstance(part, Type) and part.is_number:
            part = TensorType(part.dtype, ())
        symbolic = isinstance(part, TensorType) and part.ndim == 0 and part.dtype in integer_dtypes
        if not (symbolic or (part is None and isinstance(entry, slice)) or type(part) is int):
            raise TypeError(f"{op.__name__}: an index must be made of integers, slices and types of scalars, got "
                            f"{entry!r}")
        parts.append(part)
    return _rebuilt(entry, parts)


def split_entry(entry, inputs):
    """An integer or slice in the form of ``idx_list``; its symbolic integers are appended to ``inputs``."""
    return _rebuilt(entry, [None if part is None else _split_part(part, inputs) for part in entry_parts(entry)])


def _split_part(part, inputs):
    if type(part) is int:
        return _within_int64(part)
    if isinstance(part, numpy.integer):
        return int(part)
    if isinstance(part, (Variable, Apply, numpy.ndarray)):
        variable = as_tensor_variable(part)
        if variable.type.ndim == 0 and variable.type.dtype in integer_dtypes:
            if isinstance(variable, Constant):
                return int(variable.data)
            inputs.append(variable)
            return variable.type
    raise TypeError(f"Expected an integer or a slice of integers as index, got {part!r}")


def _within_int64(number):
    if not -2 ** 63 <= number < 2 ** 63:
        raise IndexError(f"the index {number} does not fit into 64 bits")
    return number


def planned_parts(entry, operand):
    """The integers of an entry in the form that kernels take, and the number of the next operand."""
    plan = []
    for part in entry_parts(entry):
        if isinstance(part, Type):
            part = ("operand", operand)
            operand += 1
        plan.append(part)
    return plan, operand


def index_text(idx_list):
    """The index in Python's notation, with dtypes instead of symbolic integers."""
    texts = []
    for entry in idx_list:
        if entry in (None, Ellipsis):
            texts.append("newaxis" if entry is None else "...")
            continue
        parts = [f"{part.dtype}{'' if part.ndim == 0 else f' {part.ndim}D'}" if isinstance(part, Type) else part
                 for part in entry_parts(entry)]
        text = ":".join(["" if part is None else str(part) for part in parts])
        texts.append(text[:-1] if isinstance(entry, slice) and entry.step is None else text)
    return ", ".join(texts)


# ---- the value stored in a part --------------------------------------------------------------------------------------
def fitting_value(x, y, sets=True):
    """``y`` converted to the dtype of ``x``, a part of which is to be set to it or increased by it.

    A value to add must have a dtype of the same kind, as in NumPy. A value to set may have any dtype, unless fractions
    or imaginary parts would be lost; a constant may have any dtype if ``x`` can represent its value.

    Raises
    ------
    TypeError
        If floats would be stored in integers, complex numbers in reals, or a constant in a dtype that cannot represent
        it.
    """
    if y.type.dtype == x.type.dtype:
        return y
    verb = "set" if sets else "increment"
    if isinstance(y, Constant) and x.type.dtype in integer_dtypes:
        if not _holds(x.type.dtype, y.data):
            shown = numpy.array2string(y.data, threshold=5)
            raise TypeError(f"Trying to {verb} a subtensor of dtype {x.type.dtype} with {shown}, which does not fit; "
                            f"cast the tensor or the value")
    elif not (_keeps_parts if sets else _same_kind)(y.type.dtype, x.type.dtype):
        raise TypeError(f"Trying to {verb} a subtensor of dtype {x.type.dtype} with a value of dtype {y.type.dtype}, "
                        "which would lose precision; cast the tensor or the value")
    return cast_op(x.type.dtype)(y)


def _same_kind(source, target):
    return numpy.can_cast(source, target, "same_kind")


def _keeps_parts(source, target):
    """Whether a conversion preserves fractions and imaginary parts; any real number can be converted to bool."""
    if source in complex_dtypes:
        return target in complex_dtypes
    return source in discrete_dtypes or target not in integer_dtypes


def _holds(dtype, values):
    """Whether an integer dtype represents all values exactly."""
    if numpy.can_cast(values.dtype, dtype):
        return True
    limits = numpy.iinfo(dtype)
    if values.dtype.kind in "fc":
        parts = values.real.astype("float64")
        within = (parts >= limits.min) & (parts < float(limits.max) + 1) & (values.imag == 0)
    else:
        parts, within = values, (values >= limits.min) & (values <= limits.max)
    return bool(within.all()) and bool((parts.astype(dtype) == parts).all())


def zero_gradients(x, y):
    """The zero gradients with respect to a discrete tensor and the value stored in it."""
    y_dtype = config.floatX if y.type.dtype in discrete_dtypes else y.type.dtype
    return [x.zeros_like(dtype=config.floatX), y.zeros_like(dtype=y_dtype)]


class Assignment:
    """What ops share that set or add to a part of a tensor."""

    @property
    def chooses(self):
        """Whether elements of the first input are replaced, not added to."""
        return self.set_instead_of_inc

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        """Gradients and their masks: what is overwritten is not chosen."""
        terms, found = Op.masked_L_op(self, inputs, outputs, output_grads, masks)
        if self.set_instead_of_inc and type(terms[0].type) is TensorType:
            all_of_x = Alloc()(constant(True), *[shape_i(inputs[0], axis) for axis in range(inputs[0].type.ndim)])
            stays = self.overwriting(())(all_of_x, constant(False), *inputs[2:])
            found[0] = (found[0] or NONE).of_values(stays)
        return terms, found


# ---- the ops ---------------------------------------------------------------------------------------------------------
class Indexing(Op):
    """The base class of Subtensor and IncSubtensor, whose index is part of the op.

    Attributes
    ----------
    idx_list : tuple
        The index, in Theano's form.
    indices : tuple of tuples
        The index in hashable form: a slice is (start, stop, step), an integer is (integer,).
    """

    def __init__(self, idx_list):
        self.idx_list = tuple([checked_entry(type(self), entry) for entry in idx_list])
        self.indices = tuple([entry_parts(entry) for entry in self.idx_list])

    @classmethod
    def convert(cls, entry):
        """Return an entry of an index in the form of ``idx_list``, with types instead of variables."""
        return checked_entry(cls, entry)

    @staticmethod
    def collapse(idxs, cond):
        """Return the parts of an index that fulfil a condition, as a list."""
        return [part for entry in idxs for part in entry_parts(entry) if cond(part)]

    def _check_inputs(self, x, integers):
        if len(self.idx_list) > x.type.ndim:
            raise IndexError(f"too many indices for array: {x} has {x.type.ndim} dimensions, but {len(self.idx_list)} "
                             "were indexed")
        types = [part for parts in self.indices for part in parts if isinstance(part, Type)]
        if len(types) != len(integers):
            raise IndexError(f"{self} takes {len(types)} symbolic integers, {len(integers)} given")
        for value, expected in zip(integers, types):
            if value.type != expected:
                raise TypeError(f"Wrong type for the index of {self}. Expected {expected}, got {value.type}.")

    def _plan(self, operand):
        """The index in the form that the kernels take; ``operand`` is the number of the first symbolic integer."""
        plan = []
        for entry in self.idx_list:
            parts, operand = planned_parts(entry, operand)
            plan.append((not isinstance(entry, slice), *parts, *[None] * (3 - len(parts))))
        return plan

    def _region_type(self, x):
        """The type of the indexed part of a tensor of type ``x``."""
        flags, lengths = [], []
        for axis in range(x.ndim):
            entry = self.idx_list[axis] if axis < len(self.idx_list) else WHOLE
            if not isinstance(entry, slice):
                continue
            length = x.shape[axis]
            if not any([isinstance(part, Type) for part in entry_parts(entry)]) and length is not None:
                length = len(range(*entry.indices(length))) if entry.step != 0 else None
            elif entry != WHOLE:
                length = None
            flags.append(x.broadcastable[axis] and length == 1)
            lengths.append(length)
        return known_type(x.dtype, flags, lengths)


class Subtensor(Indexing):
    """A view of part of a tensor. The inputs are x and the symbolic integers of the index.

    Parameters
    ----------
    idx_list : sequence
        For each dimension an int, the type of an integer scalar, or a slice of those.
    new_axes : bool
        Whether the DimShuffle that computes x adds the new dimensions of the same index, as in ``x[None, 1:]``. The
        result does not depend on it.

    Examples
    --------
    >>> T.dvector("x")[1:3].owner.op
    Subtensor{1:3}
    """

    __props__ = ("indices",)
    moves_elements = True
    linear_in = (0,)
    view_map = {0: [0]}
    depends_on = (0,)

    def __init__(self, idx_list, new_axes=False):
        Indexing.__init__(self, idx_list)
        self.new_axes = new_axes

    def make_node(self, x, *integers):
        x = as_tensor_variable(x)
        integers = [as_tensor_variable(value) for value in integers]
        self._check_inputs(x, integers)
        return Apply(self, [x, *integers], [self._region_type(x.type).make_variable()])

    def make_kernel(self, node):
        return SubtensorKernel(self._plan(1), len(node.inputs) - 1)

    def infer_shape(self, node, input_shapes):
        index = filled(self.idx_list, node.inputs[1:])
        index += [WHOLE] * (node.inputs[0].type.ndim - len(index))
        lengths = []
        for entry, length in zip(index, input_shapes[0]):
            if isinstance(entry, slice):
                lengths.append(slice_length(entry, length))
        return [tuple(lengths)]

    def grad(self, inputs, output_grads):
        x, *integers = inputs
        if x.type.dtype in discrete_dtypes:
            gradient = x.zeros_like(dtype=config.floatX)
        else:
            gradient = IncSubtensor(self.idx_list)(x.zeros_like(), output_grads[0], *integers)
        return [gradient] + [disconnected_type() for _ in integers]

    def __str__(self):
        return f"Subtensor{{{index_text(self.idx_list)}}}"


@passes_on(Subtensor)
def _element(node):
    """The known value of an element of a shape or of a vector of scalars, if the position is constant."""
    index, = node.op.idx_list if len(node.op.idx_list) == 1 else (None,)
    vector = node.inputs[0]
    if type(index) is not int or vector.owner is None:
        return None
    if isinstance(vector.owner.op, Shape):
        lengths = vector.owner.inputs[0].type.shape
        return lengths[index] if -len(lengths) <= index < len(lengths) else None
    if isinstance(vector.owner.op, MakeVector) and -len(vector.owner.inputs) <= index < len(vector.owner.inputs):
        return vector.owner.inputs[index]
    return None


class IncSubtensor(Assignment, Indexing):
    """A copy of x in which a part is set or added to. The inputs are x, y, and the symbolic integers of the index.

    Parameters
    ----------
    idx_list : sequence
        See `Subtensor`.
    inplace : bool
        Whether the result may overwrite x.
    set_instead_of_inc : bool
        Whether to set the part to y; otherwise y is added to it.
    destroyhandler_tolerate_aliased : sequence of (int, int)
        ``[(0, 1)]`` means that x and y may share memory even if x is overwritten, because the caller guarantees that y
        does not overlap the part that is changed.

    Examples
    --------
    >>> x = T.as_tensor([1, 2, 3])
    >>> T.inc_subtensor(x[1:], 10).owner.op
    IncSubtensor{Inc;1:}
    >>> T.inc_subtensor(x[1:], 10).eval()
    array([ 1, 12, 13])
    """

    __props__ = ("indices", "inplace", "set_instead_of_inc")
    shape_as = 0
    linear_in = (0, 1)
    can_overwrite = {0: (0,)}
    cannot_fail = changes_part = runs_alone = writes_by_strides = True
    first_examined = 2
    depends_on = (0, 1)

    def __init__(self, idx_list, inplace=False, set_instead_of_inc=False, destroyhandler_tolerate_aliased=None):
        Indexing.__init__(self, idx_list)
        self.inplace, self.set_instead_of_inc = bool(inplace), bool(set_instead_of_inc)
        self.destroyhandler_tolerate_aliased = tuple([tuple(pair) for pair in destroyhandler_tolerate_aliased or ()])
        if self.inplace:
            self.destroy_map = {0: [0]}

    def overwriting(self, pairs):
        return IncSubtensor(self.idx_list, bool(pairs), self.set_instead_of_inc, self.destroyhandler_tolerate_aliased)

    def make_node(self, x, y, *integers):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        integers = [as_tensor_variable(value) for value in integers]
        self._check_inputs(x, integers)
        region = self._region_type(x.type)
        if y.type.ndim > region.ndim:
            raise ValueError(f"Trying to increment a {region.ndim}-dimensional subtensor with a "
                             f"{y.type.ndim}-dimensional value.")
        return Apply(self, [x, fitting_value(x, y, self.set_instead_of_inc), *integers], [x.type.make_variable()])

    def make_kernel(self, node):
        return IncSubtensorKernel(self._plan(2), len(node.inputs) - 2, node.inputs[0].type.dtype,
                                  self.set_instead_of_inc)

    def grad(self, inputs, output_grads):
        x, y, *integers = inputs
        gz, = output_grads
        rest = [disconnected_type() for _ in integers]
        if x.type.dtype in discrete_dtypes:
            return zero_gradients(x, y) + rest
        by_x = gz
        if self.set_instead_of_inc:
            zero = constant(0, dtype=x.type.dtype)
            by_x = IncSubtensor(self.idx_list, set_instead_of_inc=True)(gz, zero, *integers)
        return [by_x, gradient_of_broadcast(Subtensor(self.idx_list)(gz, *integers), y)] + rest

    def __str__(self):
        name = ("Inplace" if self.inplace else "") + ("Set" if self.set_instead_of_inc else "Inc")
        return f"IncSubtensor{{{name};{index_text(self.idx_list)}}}"
