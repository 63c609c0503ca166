"""Lists of tensors. This module is imported at the first op on one."""
from phintys.interop.pytensor.translation import row
from phintys.ops.lists import typed_lists

SAME_INPUTS = {
    "Append": typed_lists.append, "Count": typed_lists.count, "Extend": typed_lists.extend,
    "GetItem": typed_lists.getitem, "Index": typed_lists.index_, "Insert": typed_lists.insert,
    "Length": typed_lists.length, "Remove": typed_lists.remove, "Reverse": typed_lists.reverse,
}

for _name, _function in SAME_INPUTS.items():
    row(f"typed_list.{_name}")(lambda op, node, *inputs, function=_function: function(*inputs))


row("typed_list.MakeList")(lambda op, node, *elements: typed_lists.make_list(elements))
