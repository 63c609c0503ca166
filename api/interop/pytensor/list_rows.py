"""Lists of tensors. This module, and so PyTensor's, is imported at the first op on one."""
from pytensor.typed_list import basic

from phintys import typed_list
from phintys.interop.pytensor.translation import row

SAME_INPUTS = {
    basic.Append: typed_list.append, basic.Count: typed_list.count, basic.Extend: typed_list.extend,
    basic.GetItem: typed_list.getitem, basic.Index: typed_list.index_, basic.Insert: typed_list.insert,
    basic.Length: typed_list.length, basic.Remove: typed_list.remove, basic.Reverse: typed_list.reverse,
}

for _kind, _function in SAME_INPUTS.items():
    row(_kind)(lambda op, node, *inputs, function=_function: function(*inputs))


@row(basic.MakeList)
def _list(op, node, *elements):
    return typed_list.make_list(elements)
