"""DeepCopyOp: a copy of a value in separate memory.

The optimizer inserts it before a node that would overwrite a value that must be preserved. For arrays and numbers it
becomes the virtual machine's COPY instruction; other values, such as sparse matrices, are copied by Python.
"""
from copy import deepcopy

from phintys.graph.op import IdentityOp

__all__ = ["DeepCopyOp", "deep_copy_op"]


class DeepCopyOp(IdentityOp):
    """A copy of the input.

    Examples
    --------
    >>> phintys.compile.deep_copy_op(T.as_tensor([1.0, 2.0])).eval()
    array([1., 2.])
    """

    def lower(self, emitter, node):
        if node.outputs[0].type.layout is None:
            super().lower(emitter, node)
            return
        emitter.copy(emitter.cell_of[node.outputs[0]], emitter.cell_of[node.inputs[0]], node=node)

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = deepcopy(inputs[0])


deep_copy_op = DeepCopyOp()
