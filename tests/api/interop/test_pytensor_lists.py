"""PyTensor's lists of tensors: values as PyTensor's own Python code has them."""
import numpy as np
import pytest

pytest.importorskip("pytensor_reference")

import pytensor_reference as reference
from pytensor import typed_list
from pytensor.typed_list import basic
from pytensor_reference import pytensor

from phintys.interop.pytensor import translation
from phintys.interop.pytensor.fallback import Performed

LISTS = [[np.arange(3.0), np.ones(2)], np.full(2, 4.0)]

# Functions of a list of vectors and a vector.
CASES = {
    "append": lambda values, x: typed_list.append(values, x),
    "extend": lambda values, x: typed_list.extend(values, values),
    "insert": lambda values, x: typed_list.insert(values, pytensor.tensor.constant(1, dtype="int64"), x),
    "item": lambda values, x: values[1] * 2, "part": lambda values, x: values[:1],
    "length": lambda values, x: typed_list.length(values),
    "remove": lambda values, x: typed_list.remove(typed_list.append(values, x), x),
    "reverse": lambda values, x: typed_list.reverse(values),
    "position": lambda values, x: typed_list.index_(typed_list.append(values, x), x),
    "count": lambda values, x: typed_list.count(typed_list.append(values, x), x),
    "list": lambda values, x: typed_list.make_list([x, x + 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    values, x = typed_list.TypedListType(pytensor.tensor.dvector)(), pytensor.tensor.dvector()
    f, g = reference.functions([values, x], CASES[name](values, x))
    found, wanted = f(*LISTS), g(*LISTS)
    assert not any(isinstance(node.op, Performed) for node in f.vm.jit_fn.maker.fgraph.apply_nodes)
    assert isinstance(found, list) == isinstance(wanted, list)
    if not isinstance(found, list):
        found, wanted = [found], [wanted]
    for value, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(value, other)



def test_every_op_has_a_row():
    translation.late_rows["typed_list"]()
    kinds = [kind for kind in vars(basic).values() if isinstance(kind, type) and issubclass(kind, pytensor.graph.op.Op)
             and kind.__module__ == basic.__name__]
    assert len(kinds) == 10
    assert [kind.__name__ for kind in kinds if f"typed_list.{kind.__name__}" not in translation.ROWS] == []
