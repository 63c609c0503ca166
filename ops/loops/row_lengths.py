"""What the lengths of a loop's stacked rows depend on: the outputs of a loop of no steps have these.

They follow from the shapes of what the loop reads, by the rules of the body's ops (``infer_shape``), and from values
that exist without a step: wholes, and first values of states. Nothing of the body runs that a caller could notice, and
nothing that only a step can compute: where a length needs that, it is what the type says, or 0.
"""
from typing import NamedTuple

from phintys.graph import hooks
from phintys.graph.config import change_flags
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.shape.shape import Shape, Shape_i


class RowLengths(NamedTuple):
    """The lengths of the rows of a loop's stacked outputs.

    Attributes
    ----------
    entries : tuple of tuple
        As ``lengths_of_rows`` in ``graph/row_lengths.py`` takes them.
    compute : callable or None
        Returns the lengths that are None there, from values of the body's arguments; of rows of sequences, it looks at
        shapes only.
    """

    entries: tuple
    compute: object = None

    @property
    def program(self):
        """The program of ``compute``, or None."""
        return None if self.compute is None else self.compute.program


def row_lengths(op, arguments, elsewhere=()):
    """The lengths of the rows of a loop's stacked outputs.

    Parameters
    ----------
    op : Scan
    arguments : list of Variable
        Of the body's program: ``op.local_inputs``, and what it adds to.
    elsewhere : collection of Variable
        Arguments of which only shapes can be read.

    Returns
    -------
    RowLengths
    """
    rows = op.inner_outputs.stacked
    if not rows:
        return RowLengths(())
    with change_flags(compute_test_value="off"):
        try:
            shapes = op.parts.inner_outputs(op.local_shapes()).stacked
        except Exception:                           # of an op's rule; it is reported where the rule is needed
            shapes = [None] * len(rows)
        body = _Body(op, arguments, elsewhere)
        entries = tuple([tuple([body.entry(static, length) for static, length in zip(row.type.shape, shape)])
                         if shape is not None and len(shape) == row.type.ndim
                         else tuple([static or 0 for static in row.type.shape])
                         for row, shape in zip(rows, shapes)])
        if not body.computed:
            return RowLengths(entries)
        return RowLengths(entries, hooks.function(arguments, body.computed, mode="FAST_COMPILE", profile=False,
                                                  on_unused_input="ignore", name=f"{op}, lengths of rows"))


class _Body:
    """What a loop's body reads and computes.

    Attributes
    ----------
    computed : list of Variable
        The lengths so far that must be computed.
    """

    def __init__(self, op, arguments, elsewhere):
        inner = op.inner_inputs
        self.without_values = {*inner.sequences, *inner.ahead, *elsewhere}
        self.position = {variable: position for position, variable in enumerate(arguments)}
        self.inside = {output for node in io_toposort(op.local_inputs, op.local_outputs) for output in node.outputs}
        self.computed = []

    def entry(self, static, length):
        """What a length is, as ``lengths_of_rows`` takes it; ``static`` is what the type says."""
        if static is not None or isinstance(length, int):
            return length if static is None else static
        if isinstance(length, Constant):
            return int(length.data)
        node = length.owner
        if node is not None and isinstance(node.op, Shape_i) and node.inputs[0] in self.position:
            return self.position[node.inputs[0]], node.op.i
        if self._is_known(length):
            self.computed.append(length)
            return None
        if node is not None and type(node.op) is IfElse:        # nearly always, both branches have one shape
            for branch in node.op.branches(node.inputs):
                found = self.entry(None, branch[length.index])
                if found != 0:
                    return found
        return 0

    def _is_known(self, length):
        """Whether a length depends on no step: only kernels compute it, from shapes and values that there are."""
        pending, seen = [length], set()
        while pending:
            variable = pending.pop()
            if variable in self.without_values:
                return False
            node = variable.owner
            if node is None or node in seen:
                continue
            seen.add(node)
            if isinstance(node.op, (Shape, Shape_i)) and node.inputs[0] in self.position:
                continue
            if variable in self.inside and node.op.make_kernel(node) is None:
                return False
            pending.extend(node.inputs)
        return True
