"""The emitter: what an op sees of the linker while it is lowered, and the symbolic code that lowering makes.

An op calls ``emitter.kernel(kernel, node)`` (with ``inputs=`` when its kernel reads only some) or
``emitter.call(node)``; the linker itself emits loads, copies, results, jumps and stores. Instructions are tuples
``(name, flags, n, a, b, cells, node, remark)`` whose ``cells`` are not yet in the operand pool; a remark says why, for
listings. Where the bytecode names an instruction, they name a *label*: a number that ``("LABEL", 0, 0, label, ...)``
gives to the instruction behind it.
"""
from phintys.vm.linking.inner_code import lower_graph


class Emitter:
    """Collects symbolic instructions; ``cell_of`` maps each variable to its cell, ``cells`` has their layouts."""

    def __init__(self, cell_of, cells):
        self.cell_of = cell_of
        self.cells = cells
        self.code = []
        self.kernels = []
        self.blocks = []                # the code of finished blocks
        self._kernel_number = {}
        self._labels = 0
        self._outside = []              # the code around the block that is being emitted

    # ---- for ops ------------------------------------------------------------------------------------------------
    def kernel(self, kernel, node, inputs=None):
        """Run a native kernel on the node's inputs, or only on ``inputs`` of them, and its outputs."""
        number = self._kernel_number.get(id(kernel))
        if number is None:
            number = self._kernel_number[id(kernel)] = len(self.kernels)
            self.kernels.append(kernel)
        inputs = node.inputs if inputs is None else inputs
        self.code.append(("KERNEL", 0, len(inputs), number, 0, self._operands(inputs, node.outputs), node, ""))

    def call(self, node):
        """Run the op's Python ``perform``."""
        self.code.append(("CALL", 0, len(node.inputs), 0, 0, self._operands(node.inputs, node.outputs), node, ""))

    def graph(self, fgraph, node):
        """Run an optimised graph that the op holds: its inputs and outputs are those of the node."""
        lower_graph(self, fgraph, node)

    def _operands(self, inputs, outputs):
        cell_of = self.cell_of
        return [cell_of[variable] for variable in inputs] + [cell_of[variable] for variable in outputs]

    # ---- for the linker -----------------------------------------------------------------------------------------
    def load(self, cell, container):
        self.code.append(("LOAD", 0, 0, cell, container, (), None, ""))

    def copy(self, target, source, reason="", node=None):
        self.code.append(("COPY", 0, 0, target, source, (), node, reason))

    def alias(self, target, source, node=None):
        """Let the cell ``target`` look at the memory of ``source``."""
        self.code.append(("ALIAS", 0, 0, target, source, (), node, ""))

    def own(self, cell, container):
        """Give a cell that will be stored in ``container`` memory that nobody else has."""
        self.code.append(("OWN", 0, 0, cell, container, (), None, ""))

    def drop(self, cells):
        self.code.append(("DROP", 0, 0, 0, 0, cells, None, ""))

    def result(self, cells, flags):
        self.code.append(("RESULT", flags, 0, 0, 0, cells, None, ""))

    def prepare(self, instruction):
        self.code.append(("PREPARE", *instruction[1:]))

    def commit(self):
        self.code.append(("COMMIT", 0, 0, 0, 0, (), None, ""))

    def run(self, instruction):
        self.code.append(("RUN", *instruction[1:]))

    def store(self, container, cell):
        self.code.append(("STORE", 0, 0, container, cell, (), None, ""))

    def plan(self):
        self.code.append(("PLAN", 0, 0, 0, 0, (), None, ""))

    def halt(self):
        self.code.append(("HALT", 0, 0, 0, 0, (), None, ""))

    # ---- branches and blocks ----------------------------------------------------------------------------------------
    def label(self):
        """A new label, to be placed once."""
        self._labels += 1
        return self._labels

    def place(self, label):
        self.code.append(("LABEL", 0, 0, label, 0, (), None, ""))

    def jump(self, label):
        self.code.append(("JUMP", 0, 0, label, 0, (), None, ""))

    def jump_if_zero(self, label, cell, node):
        self.code.append(("JUMPZ", 0, 0, label, cell, (), node, ""))

    def need(self, label):
        self.code.append(("NEED", 0, 0, label, 0, (), None, ""))

    def begin_block(self, label):
        """What is emitted up to ``end_block`` stands behind HALT."""
        self._outside.append(self.code)
        self.code = []
        self.place(label)

    def end_block(self, label):
        self.code.append(("BACK", 0, 0, label, 0, (), None, ""))
        self.blocks.extend(self.code)
        self.code = self._outside.pop()
