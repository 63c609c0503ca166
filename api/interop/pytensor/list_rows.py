"""Lists of tensors. This module is imported at the first op on one."""
from phintys import typed_list
from phintys.interop.pytensor.translation import row

SAME_INPUTS = {
    "Append": typed_list.append, "Count": typed_list.count, "Extend": typed_list.extend,
    "GetItem": typed_list.getitem, "Index": typed_list.index_, "Insert": typed_list.insert,
    "Length": typed_list.length, "Remove": typed_list.remove, "Reverse": typed_list.reverse,
}

for _name, _function in SAME_INPUTS.items():
    row(f"typed_list.{_name}")(lambda op, node, *inputs, function=_function: function(*inputs))


@row("typed_list.MakeList")
def _list(op, node, *elements):
    return typed_list.make_list(elements)
