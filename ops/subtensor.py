"""Basic indexing: Subtensor (a view of part of a tensor), IncSubtensor (a copy with part of it changed), ``getitem``.

An index is a list with one entry per dimension: an int or a symbolic integer, which drops the dimension, or a slice of
such. What is constant stands in the op's ``idx_list``; for each symbolic integer there is its type, and an input of the
node. Dimensions without an entry are kept whole. ``None`` and ``...`` are resolved before there is an op.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.ops.careduce import Sum
from phintys.ops.constant import as_tensor_variable, constant
from phintys.ops.dimshuffle import dimshuffle
from phintys.ops.dtypes import discrete_dtypes, integer_dtypes, upcast
from phintys.ops.join import MakeVector
from phintys.ops.known_length import passes_on
from phintys.ops.scalar import cast_op
from phintys.ops.shape import Shape, shape_i
from phintys.ops.slices import slice_length
from phintys.ops.subtensor_kernel import IncSubtensorKernel, SubtensorKernel
from phintys.ops.tensor_type import TensorType

WHOLE = slice(None)


def _parts(entry):
    """The integers of an entry of an index: three for a slice, else one."""
    return (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)


def _rebuilt(entry, parts):
    return slice(*parts) if isinstance(entry, slice) else parts[0]


def filled(idx_list, integers):
    """``idx_list`` with its types replaced by the next of ``integers``."""
    integers = iter(integers)
    return [_rebuilt(entry, [next(integers) if isinstance(part, Type) else part for part in _parts(entry)])
            for entry in idx_list]


class Indexing(Op):
    """What Subtensor and IncSubtensor share: an index as part of the op.

    Attributes
    ----------
    idx_list : tuple
        The index, as Theano has it.
    indices : tuple of tuples
        The same, hashable: a slice is (start, stop, step), an integer is (integer,).
    """

    def __init__(self, idx_list):
        self.idx_list = tuple([self._checked(entry) for entry in idx_list])
        self.indices = tuple([_parts(entry) for entry in self.idx_list])

    def _checked(self, entry):
        parts = []
        for part in _parts(entry):
            if isinstance(part, numpy.integer):
                part = int(part)
            symbolic = isinstance(part, TensorType) and part.ndim == 0 and part.dtype in integer_dtypes
            if not (symbolic or (part is None and isinstance(entry, slice)) or type(part) is int):
                raise TypeError(f"{type(self).__name__}: an index must be made of integers, slices and types of "
                                f"scalars, got {entry!r}")
            parts.append(part)
        return _rebuilt(entry, parts)

    def _check_inputs(self, x, integers):
        if len(self.idx_list) > x.type.ndim:
            raise IndexError(f"too many indices for {x}: it has {x.type.ndim} dimensions, but {len(self.idx_list)} "
                             "were indexed")
        types = [part for parts in self.indices for part in parts if isinstance(part, Type)]
        if len(types) != len(integers):
            raise IndexError(f"{self} takes {len(types)} symbolic integers, {len(integers)} given")
        for value, expected in zip(integers, types):
            if value.type != expected:
                raise TypeError(f"Wrong type for the index of {self}. Expected {expected}, got {value.type}.")

    def _plan(self, first_operand):
        """The index as the kernels take it."""
        operand = first_operand
        plan = []
        for entry, parts in zip(self.idx_list, self.indices):
            row = []
            for part in parts:
                if isinstance(part, Type):
                    part = ("operand", operand)
                    operand += 1
                row.append(part)
            plan.append((not isinstance(entry, slice), *row, *[None] * (3 - len(row))))
        return plan

    def _region_type(self, x):
        """The type of the indexed part of a tensor of type ``x``."""
        flags, lengths = [], []
        for axis in range(x.ndim):
            entry = self.idx_list[axis] if axis < len(self.idx_list) else WHOLE
            if not isinstance(entry, slice):
                continue
            length = x.shape[axis]
            if not any([isinstance(part, Type) for part in _parts(entry)]) and length is not None:
                length = len(range(*entry.indices(length))) if entry.step != 0 else None
            elif entry != WHOLE:
                length = None
            flags.append(x.broadcastable[axis] and length == 1)
            lengths.append(length)
        return TensorType(x.dtype, flags, shape=lengths)

    def _text(self):
        texts = []
        for entry in self.idx_list:
            parts = [part.dtype if isinstance(part, Type) else part for part in _parts(entry)]
            texts.append(":".join(["" if part is None else str(part) for part in parts]))
        return ", ".join(texts)


class Subtensor(Indexing):
    """Part of a tensor, as a view: inputs x, then the symbolic integers of the index.

    Parameters
    ----------
    idx_list : sequence
        For each dimension an int, the type of an integer scalar, or a slice of those.
    """

    __props__ = ("indices",)
    view_map = {0: [0]}

    def make_node(self, x, *integers):
        x = as_tensor_variable(x)
        integers = [as_tensor_variable(value) for value in integers]
        self._check_inputs(x, integers)
        return Apply(self, [x, *integers], [self._region_type(x.type)()])

    def make_kernel(self, node):
        return SubtensorKernel(self._plan(1), len(node.inputs) - 1)

    def infer_shape(self, node, input_shapes):
        index = filled(self.idx_list, node.inputs[1:])
        index += [WHOLE] * (node.inputs[0].type.ndim - len(index))
        lengths = []
        for entry, length in zip(index, input_shapes[0]):
            if isinstance(entry, slice):
                inferred = slice_length(entry, length)
                lengths.append(shape_i(node.outputs[0], len(lengths)) if inferred is None else inferred)
        return [tuple(lengths)]

    def connection_pattern(self, node):
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def grad(self, inputs, output_grads):
        x, *integers = inputs
        if x.type.dtype in discrete_dtypes:
            gradient = x.zeros_like(dtype=config.floatX)
        else:
            gradient = IncSubtensor(self.idx_list)(x.zeros_like(), output_grads[0], *integers)
        return [gradient] + [disconnected_type() for _ in integers]

    def R_op(self, inputs, eval_points):
        if eval_points[0] is None:
            return [None]
        return [self(eval_points[0], *inputs[1:])]

    def __str__(self):
        return f"Subtensor{{{self._text()}}}"


@passes_on(Subtensor)
def _element(node):
    """What an element of a shape or of a vector of scalars is, when the position is constant."""
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


class IncSubtensor(Indexing):
    """A copy of x with part of it set or added to: inputs x, y, then the symbolic integers of the index.

    Parameters
    ----------
    idx_list : sequence
        As for `Subtensor`.
    inplace : bool
        Whether the result may overwrite x.
    set_instead_of_inc : bool
        Set the part to y; otherwise add y to it.
    """

    __props__ = ("indices", "inplace", "set_instead_of_inc")

    def __init__(self, idx_list, inplace=False, set_instead_of_inc=False):
        Indexing.__init__(self, idx_list)
        self.inplace, self.set_instead_of_inc = bool(inplace), bool(set_instead_of_inc)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x, y, *integers):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        integers = [as_tensor_variable(value) for value in integers]
        self._check_inputs(x, integers)
        region = self._region_type(x.type)
        if y.type.ndim > region.ndim:
            raise ValueError(f"Trying to increment a {region.ndim}-dimensional subtensor with a "
                             f"{y.type.ndim}-dimensional value.")
        if y.type.dtype != x.type.dtype:
            if upcast(x.type.dtype, y.type.dtype) != x.type.dtype:
                raise TypeError(f"Trying to increment a subtensor of dtype {x.type.dtype} with a value of dtype "
                                f"{y.type.dtype}, which would lose precision; cast the value")
            y = cast_op(x.type.dtype)(y)
        return Apply(self, [x, y, *integers], [x.type()])

    def make_kernel(self, node):
        return IncSubtensorKernel(self._plan(2), len(node.inputs) - 2, node.inputs[0].type.dtype,
                                  self.set_instead_of_inc)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]]

    def connection_pattern(self, node):
        return [[True], [True]] + [[False]] * (len(node.inputs) - 2)

    def grad(self, inputs, output_grads):
        x, y, *integers = inputs
        gz, = output_grads
        rest = [disconnected_type() for _ in integers]
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), y.zeros_like(dtype=config.floatX)] + rest
        by_x = gz
        if self.set_instead_of_inc:
            zero = constant(0, dtype=x.type.dtype)
            by_x = IncSubtensor(self.idx_list, set_instead_of_inc=True)(gz, zero, *integers)
        return [by_x, _sum_to(Subtensor(self.idx_list)(gz, *integers), y)] + rest

    def R_op(self, inputs, eval_points):
        by_x, by_y = eval_points[:2]
        if by_x is None and by_y is None:
            return [None]
        x, y, *integers = inputs
        return [self(x.zeros_like() if by_x is None else by_x, y.zeros_like() if by_y is None else by_y, *integers)]

    def __str__(self):
        name = ("Inplace" if self.inplace else "") + ("Set" if self.set_instead_of_inc else "Inc")
        return f"IncSubtensor{{{name};{self._text()}}}"


def _sum_to(gradient, y):
    """The gradient by ``y``, which was repeated to the size of ``gradient``."""
    lead = gradient.type.ndim - y.type.ndim
    repeated = [axis for axis, flag in enumerate(y.type.broadcastable)
                if flag and not gradient.type.broadcastable[axis + lead]]
    if lead or repeated:
        gradient = Sum([*range(lead), *[axis + lead for axis in repeated]], dtype=gradient.type.dtype)(gradient)
    if repeated:
        kept = iter(range(gradient.type.ndim))
        gradient = dimshuffle(gradient, ["x" if axis in repeated else next(kept) for axis in range(y.type.ndim)])
    return gradient


# ---- from Python's index to an op
# --------------------------------------------------------------------------------------
def getitem(x, index):
    """``x[index]`` for basic indexing.

    Parameters
    ----------
    x : TensorVariable
    index : int, 0-d integer variable, slice of those, None, Ellipsis, or tuple of them

    Returns
    -------
    TensorVariable
        A view.

    Raises
    ------
    IndexError
        For more indices than dimensions; when it runs, for an integer out of range.
    NotImplementedError
        For advanced indexing: by sequences, arrays, vectors, masks.
    TypeError
        For anything else that is no index.
    """
    entries = _expanded(x, index if isinstance(index, tuple) else (index,))
    idx_list, integers, order, kept = [], [], [], 0
    for entry in entries:
        if entry is None:
            order.append("x")
            continue
        parts = [_part(part, entry, integers) for part in _parts(entry)]
        idx_list.append(_rebuilt(entry, parts))
        if isinstance(entry, slice):
            order.append(kept)
            kept += 1
    while idx_list and idx_list[-1] == WHOLE:
        idx_list.pop()
    result = Subtensor(idx_list)(x, *integers) if idx_list else x
    return dimshuffle(result, order) if "x" in order else result


def _expanded(x, index):
    """The index with the Ellipsis replaced and missing entries added: as many as ``x`` has dimensions, and Nones."""
    places = [position for position, entry in enumerate(index) if entry is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = len([entry for entry in index if entry is not None and entry is not Ellipsis])
    if used > x.type.ndim:
        raise IndexError(f"too many indices for {x}: it has {x.type.ndim} dimensions, but {used} were indexed")
    place = places[0] if places else len(index)
    return [*index[:place], *[WHOLE] * (x.type.ndim - used), *index[place + 1:]]


def _part(part, entry, integers):
    """An integer of an index as ``idx_list`` holds it; a symbolic one joins ``integers``."""
    if isinstance(part, Constant) and part.type.ndim == 0:
        part = part.data[()]
    if type(part) is int or (part is None and isinstance(entry, slice)):
        return part
    if isinstance(part, numpy.integer):
        return int(part)
    if isinstance(part, Variable) and part.type.ndim == 0 and part.type.dtype in integer_dtypes:
        integers.append(part)
        return part.type
    if isinstance(part, (list, tuple, numpy.ndarray, bool, numpy.bool_)) or (
            isinstance(part, Variable) and (part.type.ndim or part.type.dtype == "bool")):
        raise NotImplementedError(f"advanced indexing, here by {part!r}, is not supported yet: use integers and slices")
    raise TypeError(f"Expected an integer or a slice of integers as index, got {part!r}")


def set_subtensor(x, y, inplace=False):
    """A copy of the tensor that ``x`` is a part of, with that part set to ``y``: ``set_subtensor(a[1:3], 0)``.

    Parameters
    ----------
    x : TensorVariable
        The result of indexing.
    y : tensor-like
        Broadcast over the part; of a dtype that fits.
    inplace : bool
        Whether the original may be overwritten.

    Raises
    ------
    TypeError
        If ``x`` is no result of indexing, or ``y`` would lose precision.
    """
    return inc_subtensor(x, y, inplace=inplace, set_instead_of_inc=True)


def inc_subtensor(x, y, inplace=False, set_instead_of_inc=False):
    """A copy of the tensor that ``x`` is a part of, with ``y`` added to that part; otherwise as `set_subtensor`."""
    x = as_tensor_variable(x)
    if x.owner is None or not isinstance(x.owner.op, Subtensor):
        raise TypeError(f"x must be the result of a subtensor operation, such as a[1:3], not {x}")
    whole, *integers = x.owner.inputs
    return IncSubtensor(x.owner.op.idx_list, inplace, set_instead_of_inc)(whole, y, *integers)
