"""Apply nodes: one application of an op to inputs, and the outputs it computes.

A node owns its outputs from the moment it is made, and never loses them. Its inputs change only through
``FunctionGraph.change_input``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.membership import InGraph
from phintys.graph.nodes import copy_slots, slots_of, twin_of
from phintys.graph.scratchpad import LazyTag, copy_tag, position_of
from phintys.graph.serialization import GraphNode
from phintys.graph.trace import resolve, where_of
from phintys.graph.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.op import Op


class Apply(GraphNode):
    """``op`` applied to ``inputs``, as the owner of ``outputs``.

    Parameters
    ----------
    op : Op
    inputs : list or tuple of Variable
    outputs : list or tuple of Variable
        Variables without an owner.

    Raises
    ------
    TypeError
        If inputs or outputs are not lists of Variables.
    ValueError
        If an output already has an owner, or is a constant.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> node = T.exp(x).owner
    >>> node.op, node.inputs, node.outputs
    (Elemwise{exp,no_inplace}, [x], [Elemwise{exp,no_inplace}.0])
    """

    tag = LazyTag()
    fgraph = InGraph(lambda fgraph: fgraph.apply_nodes, lambda fgraph, node: fgraph, "The FunctionGraph it is in.")

    op: Any
    inputs: list[Any]
    outputs: list[Any]

    if TYPE_CHECKING:                   # as `NodeSlots` has it
        def __init__(self, op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None: ...

    @property
    def where(self) -> tuple[str, int] | None:
        """(file, line) where the user made it, or None if that is not known."""
        return where_of(position_of(self))

    nin = property(lambda self: len(self.inputs), doc="The number of inputs.")
    nout = property(lambda self: len(self.outputs), doc="The number of outputs.")

    @property
    def default_index(self) -> int | str | None:
        """The position of the default output, or None."""
        index = self.op.default_output
        return 0 if index is None and len(self.outputs) == 1 else index

    def default_output(self) -> Variable:
        """Return the output that represents the node: the one in ``op.default_output``, or the only one.

        Raises
        ------
        AttributeError
            If there is no such output.
        """
        index = self.default_index
        if index is None:
            raise AttributeError(f"{self.op}.default_output should be an output index: it has {self.nout} outputs.")
        if not isinstance(index, int):
            raise AttributeError(f"{self.op}.default_output should be an int, not {index!r}")
        if not 0 <= index < len(self.outputs):
            raise AttributeError(f"{self.op}.default_output is out of range: {index} of {self.nout} outputs.")
        return self.outputs[index]

    out = property(default_output, doc="The same as ``default_output()``.")

    def get_parents(self) -> list[Variable]:
        """Return the inputs in a new list."""
        return list(self.inputs)

    def clone(self) -> Apply:
        """Return a new node with the same op and inputs, new outputs, and the same tag and origin."""
        return self._with_inputs(list(self.inputs))

    def clone_with_new_inputs(self, inputs: Sequence[Variable], strict: bool = True) -> Apply:
        """Return a new node with other inputs.

        Parameters
        ----------
        inputs : list of Variable
        strict : bool
            Inputs of another type are converted to the old type, so that the outputs have the old types. Otherwise the
            op makes a node from the inputs as they are.

        Raises
        ------
        TypeError
            If ``strict`` and a conversion is not possible, or the op cannot take the new inputs.
        """
        inputs = list(inputs)
        remake = False
        for position, (old, new) in enumerate(zip(self.inputs, inputs)):
            if old.type is new.type:
                continue
            if old.type != new.type:
                if strict:
                    inputs[position] = new = old.type.filter_variable(new)
                else:
                    remake = True
            # The outputs' types may state lengths that followed from lengths in the old inputs' types but not in the
            # new ones.
            remake = remake or old.type.shape != new.type.shape
        return self._remade(inputs) if remake else self._with_inputs(inputs)

    def _with_inputs(self, inputs):
        """Return a clone with other inputs of the same types, without any checks; copies of whole graphs use it."""
        return twin_of(self, inputs)

    def _remade(self, inputs):
        node = self.op.node_on(inputs)
        copy_tag(self, node)
        node._position = self._position
        for old, new in zip(self.outputs, node.outputs):
            if new.name is None:
                new.name = old.name
            if new.type == old.type:                    # it may know more lengths; its test value is kept, as in copies
                copy_tag(old, new)
        return node

    def __str__(self):
        return f"{self.op}({', '.join([str(variable) for variable in self.inputs])})"

    __repr__ = __str__

    def __getstate__(self):
        return {**self.__dict__, **slots_of(self), "_position": resolve(self._position)}

    def __copy__(self):
        copied = self.__class__.__new__(self.__class__)
        copy_slots(self, copied)
        copied.__dict__.update(self.__dict__)
        return copied
