"""Operations on typed lists, as on Python's: getitem, append, extend, insert, remove, reverse, index, count, length.

The ops run in Python. A list owns its elements: an op that changes a list first copies the list and its elements,
unless it works in place, and added elements are copied. So in a chain of changes only the first one copies the list.
Elements are compared by ``values_eq`` of their type.
"""
import copy

import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import InPlaceOp, Op
from phintys.graph.public_names import at_home
from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.lists.typed_list_type import TypedListType
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.slice_type import SliceType
from phintys.ops.types.tensor_type import TensorType


def copied(value):
    """A copy of an element that shares no memory with it."""
    return value.copy() if isinstance(value, numpy.ndarray) else copy.deepcopy(value)


def _checked_list(name, x):
    if not isinstance(x, Variable) or not isinstance(x.type, TypedListType):
        raise TypeError(f"{name}: expected a typed list, got {x}")
    return x


def _checked_element(name, x, element):
    """An element as a variable of the elements' type."""
    if not isinstance(element, Variable):
        element = x.type.ttype.filter_variable(element)
    if element.type != x.type.ttype:
        raise TypeError(f"{name}: the elements of {x} are of type {x.type.ttype}, not {element.type}")
    return element


def _checked_position(name, index):
    if not isinstance(index, Variable):
        return constant(index, ndim=0, dtype="int64")
    if not isinstance(index.type, TensorType) or index.type.ndim or index.type.dtype not in discrete_dtypes:
        raise TypeError(f"{name}: Expected scalar or slice as index, of an integer dtype; got {index} of type "
                        f"{index.type}")
    return as_dtype(index, "int64")


class _ListOp(Op):
    """The base class: the inputs are a list and others. A derivative through a list is refused, by default."""

    __props__ = ()

    def __str__(self):
        return type(self).__name__


class _Change(InPlaceOp, _ListOp):
    """The base class of ops that return a changed list.

    Parameters
    ----------
    inplace : bool
        Whether to change the list itself.
    """

    def perform(self, node, inputs, output_storage):
        x, *others = inputs
        changed = x if self.inplace else [copied(element) for element in x]
        self.change(node, changed, *others)
        output_storage[0][0] = changed


class GetItem(_ListOp):
    """A copy of an element of a list, or of the part of it that a slice selects.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> phintys.function([values], phintys.typed_list.getitem(values, 1))([[1.0], [2.0, 3.0]])
    array([2., 3.])
    """

    depends_on = (0,)

    def make_node(self, x, index):
        x = _checked_list("GetItem", x)
        if isinstance(index, slice):
            index = SliceType().make_constant(index)
        if isinstance(index, Variable) and isinstance(index.type, SliceType):
            return Apply(self, [x, index], [x.type.make_variable()])
        return Apply(self, [x, _checked_position("GetItem", index)], [x.type.ttype.make_variable()])

    def perform(self, node, inputs, output_storage):
        x, index = inputs
        if isinstance(index, slice):
            output_storage[0][0] = [copied(element) for element in x[index]]
        else:
            output_storage[0][0] = copied(x[int(index)])


class Append(_Change):
    """A list with one element more at the end.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], phintys.typed_list.append(values, x))([[1.0, 2.0]], [3.0])
    [array([1., 2.]), array([3.])]
    """

    def make_node(self, x, to_append):
        x = _checked_list("Append", x)
        return Apply(self, [x, _checked_element("Append", x, to_append)], [x.type.make_variable()])

    def change(self, node, x, element):
        """Append the element."""
        x.append(copied(element))


class Extend(_Change):
    """A list followed by another one.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> phintys.function([values], phintys.typed_list.extend(values, values))([[1.0, 2.0]])
    [array([1., 2.]), array([1., 2.])]
    """

    def make_node(self, x, to_append):
        x, to_append = _checked_list("Extend", x), _checked_list("Extend", to_append)
        if x.type != to_append.type:
            raise TypeError(f"Extend: the lists have different types, {x.type} and {to_append.type}")
        return Apply(self, [x, to_append], [x.type.make_variable()])

    def change(self, node, x, others):
        """Append the elements of the other list."""
        x.extend([copied(element) for element in others])


class Insert(_Change):
    """A list with one element more at a position.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], phintys.typed_list.insert(values, 0, x))([[1.0, 2.0]], [3.0])
    [array([3.]), array([1., 2.])]
    """

    depends_on = (0, 2)

    def make_node(self, x, index, to_insert):
        x = _checked_list("Insert", x)
        return Apply(self, [x, _checked_position("Insert", index), _checked_element("Insert", x, to_insert)],
                     [x.type.make_variable()])

    def change(self, node, x, index, element):
        """Insert the element before the position."""
        x.insert(int(index), copied(element))


class Remove(_Change):
    """A list without the first element that equals another one; the whole list if there is none.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], phintys.typed_list.remove(values, x))([[1.0, 2.0], [3.0]], [3.0])
    [array([1., 2.])]
    """

    depends_on = (0,)

    def make_node(self, x, to_remove):
        x = _checked_list("Remove", x)
        return Apply(self, [x, _checked_element("Remove", x, to_remove)], [x.type.make_variable()])

    def change(self, node, x, element):
        """Remove the first element that is equal."""
        position = _position_of(node, x, element)
        if position is not None:
            del x[position]


class Reverse(_Change):
    """A list in the opposite order.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> phintys.function([values], phintys.typed_list.reverse(values))([[1.0], [2.0, 3.0]])
    [array([2., 3.]), array([1.])]
    """

    def make_node(self, x):
        x = _checked_list("Reverse", x)
        return Apply(self, [x], [x.type.make_variable()])

    def change(self, node, x):
        """Reverse the order."""
        x.reverse()


def _position_of(node, x, element):
    """The position of the first equal element, or None."""
    equal = node.inputs[0].type.ttype.values_eq
    return next((position for position, other in enumerate(x) if equal(other, element)), None)


class _Search(_ListOp):
    """The base class of ops that compare elements; the result is a number in floatX, as in Theano."""

    depends_on = ()

    def make_node(self, x, elem):
        name = type(self).__name__
        x = _checked_list(name, x)
        return Apply(self, [x, _checked_element(name, x, elem)], [TensorType(config.floatX, ()).make_variable()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = numpy.asarray(self.found(node, *inputs), node.outputs[0].type.dtype)


class Index(_Search):
    """The position of the first element that equals another one.

    Raises
    ------
    ValueError
        At run time, if there is none.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], phintys.typed_list.index_(values, x))([[1.0], [3.0]], [3.0])
    array(1.)
    """

    def found(self, node, x, element):
        """The position of the first element that is equal; ValueError if there is none."""
        position = _position_of(node, x, element)
        if position is None:
            raise ValueError("Index: the element is not in the list")
        return position


class Count(_Search):
    """How many elements equal another one.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], phintys.typed_list.count(values, x))([[3.0], [1.0, 2.0], [3.0]], [3.0])
    array(2.)
    """

    def found(self, node, x, element):
        """How many elements are equal."""
        equal = node.inputs[0].type.ttype.values_eq
        return sum([bool(equal(other, element)) for other in x])


class Length(_ListOp):
    """The number of elements, as int64.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> phintys.function([values], phintys.typed_list.length(values))([[1.0], [2.0, 3.0]])
    array(2)
    """

    depends_on = ()

    def make_node(self, x):
        return Apply(self, [_checked_list("Length", x)], [TensorType("int64", ()).make_variable()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = numpy.asarray(len(inputs[0]), "int64")


class MakeList(_ListOp):
    """A list of variables of one type; their values are copied.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if the types differ, or there are no variables.

    Examples
    --------
    >>> phintys.typed_list.make_list([T.as_tensor([1.0, 4.0]), T.as_tensor([2.0, 3.0])]).eval()
    [array([1., 4.]), array([2., 3.])]
    """

    def make_node(self, a):
        if not isinstance(a, (tuple, list)) or not a:
            raise TypeError(f"MakeList takes a list of variables that is not empty, got {a!r}")
        elements = [element if isinstance(element, Variable) else as_tensor_variable(element) for element in a]
        types = {element.type for element in elements}
        if len(types) > 1:
            raise TypeError("MakeList need all input variable to be of the same type; they are "
                            + ", ".join(sorted(map(str, types))))
        return Apply(self, elements, [TypedListType(elements[0].type).make_variable()])

    def node_on(self, inputs):
        return self.make_node(list(inputs))

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = [copied(value) for value in inputs]


getitem, append, extend, insert = GetItem(), Append(), Extend(), Insert()
remove, reverse, index_, count = Remove(), Reverse(), Index(), Count()
length, make_list = Length(), MakeList()


# ---- variables -------------------------------------------------------------------------------------------------------
@at_home
class TypedListOperators:
    """Additional methods of variables and constants of lists.

    ``ind`` returns the position of an element; the attribute ``index`` is the number of the variable among its node's
    outputs."""

    def __getitem__(self, index):
        return getitem(self, index)

    def __len__(self):
        raise TypeError("the length of a typed list is not known before a function runs; typed_list.length(x) is a "
                        "variable for it")

    def __iter__(self):
        raise TypeError("a typed list has no known length, so it cannot be iterated over; see phintys.scan")

    def append(self, to_append):
        """The list with one element more at the end."""
        return append(self, to_append)

    def extend(self, to_append):
        """The list followed by another one."""
        return extend(self, to_append)

    def insert(self, index, to_insert):
        """The list with one element more at a position."""
        return insert(self, index, to_insert)

    def remove(self, to_remove):
        """The list without the first element that equals another one."""
        return remove(self, to_remove)

    def reverse(self):
        """The list in the opposite order."""
        return reverse(self)

    def count(self, element):
        """How many elements equal another one."""
        return count(self, element)

    def ind(self, element):
        """The position of the first element that equals another one."""
        return index_(self, element)

    @property
    def ttype(self):
        """The type of the elements."""
        return self.type.ttype

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self.type.ttype.dtype

    @property
    def ndim(self):
        """The rank of the elements, plus 1."""
        return self.type.ttype.ndim + 1


@at_home
class TypedListVariable(TypedListOperators, Variable):
    """A variable whose values are lists.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> x = T.dvector("x")
    >>> phintys.function([values, x], values.append(x))([[1.0, 2.0]], [3.0])
    [array([1., 2.]), array([3.])]
    """


@at_home
class TypedListConstant(TypedListOperators, Constant):
    """A constant list.

    Examples
    --------
    >>> phintys.typed_list.TypedListConstant(phintys.typed_list.TypedListType(T.dvector), [numpy.ones(2)]).data
    [array([1., 1.])]
    """


TypedListType.Variable, TypedListType.Constant = TypedListVariable, TypedListConstant
