"""Theano's name ``typed_list``: variables whose values are lists of values of one type.

>>> from phintys import typed_list
>>> numbers = typed_list.TypedListType(T.dscalar)()
>>> phintys.function([numbers], typed_list.length(typed_list.append(numbers, T.constant(1.0))))([2.0, 3.0]).item()
3
"""
from phintys.missing_names import lookup as _lookup
from phintys.ops.lists.typed_list_type import TypedListType
from phintys.ops.lists.typed_lists import (
    Append,
    Count,
    Extend,
    GetItem,
    Index,
    Insert,
    Length,
    MakeList,
    Remove,
    Reverse,
    TypedListConstant,
    TypedListVariable,
    append,
    count,
    extend,
    getitem,
    index_,
    insert,
    length,
    make_list,
    remove,
    reverse,
)
from phintys.submodules import submodules as _submodules

__all__ = ["Append", "Count", "Extend", "GetItem", "Index", "Insert", "Length", "MakeList", "Remove", "Reverse",
           "TypedListConstant", "TypedListType", "TypedListVariable", "append", "count", "extend", "getitem", "index_",
           "insert", "length", "make_list", "remove", "reverse"]
globals().update(_submodules(__name__, {"basic": "phintys.ops.lists.typed_lists",
                                        "type": "phintys.ops.lists.typed_list_type"}))
__getattr__ = _lookup(__name__)
