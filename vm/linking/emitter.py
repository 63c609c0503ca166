"""The emitter: the part of the linker that ops see when they are lowered; it collects the symbolic code.

An op calls ``emitter.kernel(kernel, node)`` (with ``inputs=`` if its kernel reads only some of the inputs) or
``emitter.call(node)``; the linker itself emits loads, copies, results, jumps and stores. The result is a list of
``SymbolicInstruction``s, whose ``cells`` are not in the operand pool yet. Where bytecode holds the number of an
instruction, they hold a *label*: a number that a ``LABEL`` gives to the instruction after it.
"""
from phintys.graph.op import check_computable
from phintys.vm.linking.inner_code import lower_graph
from phintys.vm.symbolic import SymbolicInstruction
from phintys.vm.views import declared_pairs


class Emitter:
    """Collects symbolic instructions; ``cell_of`` maps each variable to its cell, ``cells`` has their layouts."""

    def __init__(self, cell_of, cells):
        self.cell_of = cell_of
        self.cells = cells
        self.code = []
        self.kernels = []
        self.calls = []                 # the nodes that CALL runs
        self.blocks = []                # the code of finished blocks
        self._kernel_number = {}
        self._labels = 0
        self._outside = []              # the code around each block that is being emitted
        self.separate = set()           # cells that never refer to the memory of others: ALIAS copies to them

    # ---- for ops ------------------------------------------------------------------------------------------------
    def kernel(self, kernel, node, inputs=None):
        """Run a native kernel on the node's inputs, or on the given ``inputs`` only, and on its outputs."""
        number = self._kernel_number.get(id(kernel))
        if number is None:
            number = self._kernel_number[id(kernel)] = len(self.kernels)
            self.kernels.append(kernel)
        self._operate("KERNEL", node, node.inputs if inputs is None else inputs, number)

    def call(self, node):
        """Run the op's Python ``perform``."""
        check_computable(node)
        self._operate("CALL", node, node.inputs, len(self.calls))
        self.calls.append(node)

    def graph(self, fgraph, node):
        """Run an optimised graph that the op holds; its inputs and outputs correspond to those of the node."""
        lower_graph(self, fgraph, node)

    def _operate(self, name, node, inputs, number):
        """What computes a node's outputs from some of its inputs, with what the op declares of their memory."""
        cell_of, op = self.cell_of, node.op
        cells = [cell_of[variable] for variable in inputs] + [cell_of[variable] for variable in node.outputs]
        views = declared_pairs(op.view_map, node, inputs, cells) if op.view_map else ()
        overwritten = declared_pairs(op.destroy_map, node, inputs, cells) if op.destroy_map else ()
        self.code.append(SymbolicInstruction(name, n=len(inputs), a=number, cells=cells, node=node, views=views,
                                             overwritten=overwritten))

    # ---- for the linker -----------------------------------------------------------------------------------------
    def emit(self, name, **fields):
        """Emit an instruction of the opcode table; ``fields`` are those of `SymbolicInstruction`."""
        self.code.append(SymbolicInstruction(name, **fields))

    def copy(self, target, source, reason="", node=None):
        """Copy ``source`` to the cell ``target``; listings say the reason."""
        self.emit("COPY", a=target, b=source, node=node, remark=reason)

    def alias(self, target, source, node=None):
        """Make the cell ``target`` refer to the memory of ``source``."""
        self.emit("COPY" if target in self.separate else "ALIAS", a=target, b=source, node=node)

    # ---- branches and blocks ----------------------------------------------------------------------------------------
    def label(self):
        """Return a new label, to be placed once, by a LABEL."""
        self._labels += 1
        return self._labels

    def begin_block(self, label):
        """Start a block: what is emitted up to ``end_block`` is placed after HALT."""
        self._outside.append(self.code)
        self.code = []
        self.emit("LABEL", a=label)

    def end_block(self, label):
        """End the block that was started last."""
        self.emit("BACK", a=label)
        self.blocks.extend(self.code)
        self.code = self._outside.pop()
