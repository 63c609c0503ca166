"""Slices and None as variables: SliceType, MakeSlice, NoneTypeT, NoneConst.

``x[1:n]`` does not need these types: symbolic bounds are inputs of the indexing op. A variable of type ``slicetype`` is
a Python slice that is passed to a function as an argument. If it is used as an index, it is converted to three integers
at run time, because the length of the dimension is known only then.
"""
import operator

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import SingletonType
from phintys.graph.variable import Constant
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["MakeSlice", "NoneConst", "NoneTypeT", "SliceConstant", "SliceType", "make_slice", "none_type_t",
           "slicetype"]


class NoneTypeT(SingletonType):
    """The type whose only value is None.

    Examples
    --------
    >>> T.NoneConst.type, T.NoneConst.data is None
    (NoneTypeT, True)
    """

    def filter(self, value, strict=False, allow_downcast=None):
        if value is not None:
            raise TypeError(f"Expected None! Got {value!r}")
        return None


class SliceConstant(Constant):
    """A slice that is known at compile time.

    Examples
    --------
    >>> T.SliceConstant(T.slicetype, slice(1, 3)).data
    slice(1, 3, None)
    """

    def signature(self):
        """The type and the three parts; slices have no hash before Python 3.12."""
        return self.type, self.data.start, self.data.stop, self.data.step


class SliceType(SingletonType):
    """The type of Python slices of integers.

    Examples
    --------
    >>> T.slicetype("part").type
    SliceType
    """

    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, slice):
            raise TypeError(f"Expected a slice! Got {value!r}")
        return slice(*[None if part is None else operator.index(part) for part in (value.start, value.stop,
                                                                                   value.step)])

    def make_constant(self, value, name=None):
        return SliceConstant(self, value, name)


none_type_t, slicetype = NoneTypeT(), SliceType()
NoneConst = Constant(none_type_t, None, name="NoneConst")


def _as_part(part):
    """A bound or step of a slice as a variable: a 0-d integer, or None."""
    if part is None or (isinstance(part, Constant) and part.type == none_type_t):
        return NoneConst
    part = as_tensor_variable(part, ndim=0)
    if part.type.dtype not in integer_dtypes:
        raise TypeError(f"index must be integers, got {part} of dtype {part.type.dtype}")
    return part


class MakeSlice(Op):
    """Makes a slice from its start, stop and step, each an integer or None, or from a slice of these.

    Examples
    --------
    >>> T.make_slice(1, 3, 1).eval()
    slice(1, 3, 1)
    """

    __props__ = ()
    depends_on = ()

    def make_node(self, slc, stop=None, step=None):
        parts = (slc.start, slc.stop, slc.step) if isinstance(slc, slice) else (slc, stop, step)
        return Apply(self, [_as_part(part) for part in parts], [slicetype()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = slice(*[None if part is None else int(part) for part in inputs])


make_slice = MakeSlice()


class SliceParts(Op):
    """The start, stop and step of a slice for a dimension of a given length, as three int64. The inputs are the slice
    and the length."""

    __props__ = ()
    depends_on = ()

    def make_node(self, slc, length):
        return Apply(self, [slc, as_tensor_variable(length)], [TensorType("int64", ())() for _ in range(3)])

    def perform(self, node, inputs, output_storage):
        slc, length = inputs
        start, stop, step = slc.indices(int(length))
        stop = stop if stop >= 0 else -int(length) - 1       # -1 would mean the last element
        for storage, part in zip(output_storage, (start, stop, step)):
            storage[0] = node.outputs[0].type.filter(part)


def as_slice(variable, length):
    """Convert a variable of type ``slicetype`` to a slice of None, ints and symbolic integers.

    Parameters
    ----------
    variable : Variable
    length : callable
        Returns the symbolic length of the dimension; called only if it is needed.
    """
    if isinstance(variable, Constant):
        return variable.data
    if variable.owner is not None and type(variable.owner.op) is MakeSlice:
        return slice(*[None if part.type == none_type_t else part for part in variable.owner.inputs])
    return slice(*SliceParts()(variable, length()))
