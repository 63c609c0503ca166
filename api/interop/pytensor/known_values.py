"""Numbers that are known while a graph is translated.

Integers are lengths, indices and masks that follow from static shapes. PyTensor's types know the lengths of most values
of a model. phintys' constant folding would find the same integers later, but too late for rows that need numbers, such
as the row of an op on each item of a batch.

PyMC makes a parameter that is written as a Python number a float32, if that is exact, and so its logarithm. As float32
is rounded in other ways by each library, 2e-8 of a log-density would differ; so PyTensor computes these.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from phintys.graph.read_only import inputs_for
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant
from phintys.interop.pytensor.fallback import not_in_place
from phintys.interop.pytensor.types import translated_type
from phintys.optimizer.passes.constant_folding import copied, too_large

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable

LARGEST = 1 << 12              # elements


def with_known_value(found: Variable, inputs: Sequence[Variable | Constant]) -> TensorVariable:
    """A constant for a translation whose inputs are all integer constants; otherwise the translation itself.

    Parameters
    ----------
    found : Variable or slice
        The result of a row.
    inputs : list
        The arguments of the row.
    """
    if getattr(found, "owner", None) is None or not inputs or not _is_discrete(found.type):
        return found
    if not all([isinstance(each, (Constant, slice)) for each in inputs]):
        return found
    values = {}
    for node in io_toposort([], [found]):
        if not all([isinstance(each, Constant) or each in values for each in node.inputs]) or not _computes(node):
            return found
        given = [each.data if isinstance(each, Constant) else values[each] for each in node.inputs]
        storage = [[None] for _ in node.outputs]
        node.op.perform(node, inputs_for(node.op, [copied(each) for each in given]), storage)
        values.update(zip(node.outputs, [cell[0] for cell in storage]))
    value = values[found]
    return found if value.size > LARGEST else found.type.make_constant(value, name=None)


def computed_in_single_precision(node: Any, inputs: Sequence[Variable | Constant]) -> list[TensorVariable] | None:
    """The constant that an elementwise node of float32 computes of constants, by PyTensor; None for others."""
    op = node.op
    if not isinstance(op, (Elemwise, DimShuffle)) or getattr(node.outputs[0].type, "dtype", None) != "float32":
        return None
    if len(node.outputs) > 1 or not all([isinstance(each, Constant) for each in inputs]):
        return None
    op, cell = not_in_place(op), [None]
    if isinstance(op, Elemwise):
        op.prepare_node(node, None, None, "py")
    op.perform(node, [each.data for each in inputs], [cell])
    value = numpy.asarray(cell[0], "float32")
    return [translated_type(node.outputs[0].type).make_constant(value, name=None)]


def _is_discrete(kind):
    return str(getattr(kind, "dtype", "")).startswith(("int", "uint", "bool"))


def _computes(node):
    """Whether a node always computes the same small integers."""
    return (not node.op.destroy_map and node.op.do_constant_folding(node) and not too_large(node)
            and all([_is_discrete(output.type) for output in node.outputs]))
