"""TypedListType: the type of Python lists whose elements all have one type."""
from phintys.graph.type import Type


class TypedListType(Type):
    """Lists whose elements are values of one type.

    Parameters
    ----------
    ttype : Type
        The type of the elements; it may be the type of lists.
    depth : int
        How many more lists are around the elements.

    Raises
    ------
    ValueError
        For a negative depth.
    TypeError
        If ``ttype`` is not a type.

    Examples
    --------
    >>> values = phintys.typed_list.TypedListType(T.dvector)("values")
    >>> phintys.function([values], values[0] * 2)([[1.0, 2.0]])
    array([2., 4.])
    """

    __props__ = ("ttype",)

    def __init__(self, ttype, depth=0):
        if depth < 0:
            raise ValueError(f"TypedListType: the depth must not be negative, got {depth}")
        if not isinstance(ttype, Type):
            raise TypeError(f"TypedListType: Expected a Type, got {ttype!r}")
        for _ in range(depth):
            ttype = TypedListType(ttype)
        self.ttype = ttype

    def unread_value(self):
        return []

    def filter(self, x, strict=False, allow_downcast=None):
        """Return a list of converted elements; the list itself if ``strict``."""
        if strict:
            if not isinstance(x, list):
                raise TypeError(f"Expected a python list, got {type(x).__name__}")
            for element in x:
                self.ttype.filter(element, strict=True)
            return x
        if not hasattr(x, "__iter__"):
            raise TypeError(f"Expected a list of values of {self.ttype}, got {x!r}")
        return [self.ttype.filter(element, allow_downcast=allow_downcast) for element in x]

    def values_eq(self, a, b):
        return len(a) == len(b) and all([self.ttype.values_eq(x, y) for x, y in zip(a, b)])

    def values_eq_approx(self, a, b):
        return len(a) == len(b) and all([self.ttype.values_eq_approx(x, y) for x, y in zip(a, b)])

    def may_share_memory(self, a, b):
        """Whether two values, lists or elements, have memory in common."""
        if a is b:
            return True
        a, b = [value if isinstance(value, list) else [value] for value in (a, b)]
        return any([self.ttype.may_share_memory(x, y) for x in a for y in b])

    def get_depth(self):
        """How deeply the list is nested: the number of lists around the innermost one."""
        depth, ttype = 0, self.ttype
        while isinstance(ttype, TypedListType):
            depth, ttype = depth + 1, ttype.ttype
        return depth

    @property
    def dtype(self):
        """The type of the elements."""
        return self.ttype

    @property
    def ndim(self):
        """The rank of the elements, plus 1."""
        return self.ttype.ndim + 1

    def __str__(self):
        return f"TypedList <{self.ttype}>"

    __repr__ = __str__
