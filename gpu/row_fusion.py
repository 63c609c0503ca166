"""Row fusion: folds along rows, and the elementwise work before and after them, become one kernel of the device.

Normalization of rows is a chain: a mean, differences, a mean of their squares, quotients. Each is a kernel, and each
reads and writes all elements, which takes 400 us where one kernel takes 20. So after placement nodes are collected into
groups, in one pass in the order of the graph. A node joins a group if it reads a value of the group, or an input of it
that the group knows by its dimensions, and nothing that depends on the group in another way. All folds of a group
are over the same last axes; others axes are its rows. A group becomes one node if that saves reading elements: it has
two folds, or elements that are computed from a fold.
"""
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.kernels.scalar_source import NoSource
from phintys.gpu.row_op import RowOp, part_of

MOST_PARTS = 40


class Group:
    """Nodes that may become one.

    Attributes
    ----------
    parts : list of Part
    layouts : dict
        Of the variables that are computed or read; see ``row_op.py``.
    rank : int
        Of the common shape.
    inner : int or None
        The number of axes along which folds go; None: there is none yet.
    members, above : int
        A bit for each node, and for each that one of them depends on.
    """

    def __init__(self):
        self.parts, self.layouts, self.made, self.rank, self.inner = [], {}, set(), None, None
        self.members = self.above = 0

    def layout_of(self, part):
        """The layout of the elements of a part: that of the inputs that the group knows. None: it does not fit."""
        rank = len(part.patterns[0])
        axes = [None] * rank
        for variable, pattern in zip(part.inputs, part.patterns):
            known = self.layouts.get(variable)
            for dimension, axis in enumerate(known or ()):
                if axis is not None:
                    if axes[dimension] not in (None, axis):
                        return None
                    axes[dimension] = axis
        for dimension in range(rank):
            if axes[dimension] is None and not all([pattern[dimension] for pattern in part.patterns]):
                return None
        found = [axis for axis in axes if axis is not None]
        return axes if found == sorted(set(found)) else None

    def is_wide(self, layout):
        """Whether a value of this layout has all dimensions of the rows."""
        return [axis for axis in layout if axis is not None] == list(range(self.rank))

    def is_narrow(self, layout):
        """Whether it has those that are left when rows are folded."""
        return self.inner is not None and [axis for axis in layout if axis is not None] == list(
            range(self.rank - self.inner))

    def join(self, part, member):
        """Whether a node has joined."""
        if len(self.parts) == MOST_PARTS:
            return False
        if part.is_view:
            layout = self._of_view(part)
        else:
            if not any([variable in self.layouts for variable in part.inputs]):
                return False
            layout = self.layout_of(part)
            if layout is not None and part.is_fold:
                return self.is_wide(layout) and self._fold(part, member, layout)
            if layout is not None and not (self.is_wide(layout) or (self.is_narrow(layout) and any(
                    [variable in self.made for variable in part.inputs]))):
                layout = None
        if layout is None:
            return False
        self._add(part, member, layout, layout)
        return True

    def _of_view(self, part):
        known = self.layouts.get(part.inputs[0]) if part.inputs[0] in self.made else None
        if known is None:
            return None
        layout = [None if dimension == "x" else known[dimension] for dimension in part.kernel.arguments[1]]
        found = [axis for axis in layout if axis is not None]
        return layout if found == sorted([axis for axis in known if axis is not None]) else None

    def _fold(self, part, member, layout):
        folded = [layout[dimension] for dimension in part.folded if layout[dimension] is not None]
        inner = len(folded)
        if not inner or inner == self.rank or self.inner not in (None, inner) or (
                sorted(folded) != list(range(self.rank - inner, self.rank))):
            return False
        self.inner = inner
        kept = layout if part.code is None else [
            None if dimension in part.folded else axis for dimension, axis in enumerate(layout)
            if part.fold.get("keepdims") or dimension not in part.folded]
        self._add(part, member, layout, kept)
        return True

    def _add(self, part, member, layout, result):
        if not part.is_view:
            for variable, pattern in zip(part.inputs, part.patterns):
                self.layouts.setdefault(variable, [None if single else axis for single, axis in zip(pattern, layout)])
        for variable in part.node.outputs:
            self.layouts[variable] = result
            self.made.add(variable)
        self.parts.append(part)
        self.members |= member

    def begin(self, part, member):
        """Whether a node can be the first: it computes elements, or folds them."""
        if part.is_view:
            return False
        wide = [not all([pattern[dimension] for pattern in part.patterns])
                for dimension in range(len(part.patterns[0]))]
        self.rank = sum(wide)
        layout = [sum(wide[:dimension]) if long else None for dimension, long in enumerate(wide)]
        if self.rank < 2:
            return False
        if part.is_fold:
            return self._fold(part, member, layout)
        self._add(part, member, layout, layout)
        return True

    def is_worth_it(self):
        """Whether elements are read less often in one kernel."""
        folds = [part for part in self.parts if part.is_fold]
        if len(folds) != 1:
            return bool(folds)
        felt = set(folds[0].node.outputs)
        for part in self.parts:
            if felt.intersection(part.inputs):
                felt.update(part.node.outputs)
            reads = part is not folds[0] and not part.is_view and self.is_wide(self.layouts[part.node.outputs[0]])
            if reads and (folds[0].code is None or felt.intersection(part.node.outputs)):
                return True
        return False


def fuse_rows(fgraph, kernels):
    """Make groups, and replace each that is worth it by one node.

    Parameters
    ----------
    fgraph : FunctionGraph
    kernels : dict
        Node on the device → the processor's kernel, and the positions of the inputs that it reads.

    Returns
    -------
    int
        How many there are.
    """
    groups, known, above, bits = [], {}, {}, {}
    for number, node in enumerate(fgraph.toposort()):
        bits[node], above[node] = 1 << number, 0
        owners = {variable.owner for variable in node.inputs if variable.owner is not None}
        for owner in owners:
            above[node] |= above[owner] | bits[owner]
        part = part_of(node, *kernels[node]) if node in kernels else None
        group = part and _group_for(part, bits[node], [(bits[owner], above[owner]) for owner in owners], groups, known)
        if group is not None:
            group.above |= above[node]
            for variable in (*part.inputs, *node.outputs):
                if variable in group.layouts and group not in known.setdefault(variable, []):
                    known[variable].append(group)
    return sum([_replace(fgraph, group) for group in groups if group.is_worth_it()])


def _group_for(part, own, owners, groups, known):
    """The last group that takes a node, of those that know an input; else a new one; None if it cannot be in any."""
    knowing = dict.fromkeys([group for variable in part.inputs for group in known.get(variable, ())])
    for group in reversed(knowing):
        reached = 0                             # what the node depends on, if groups are nodes
        for bit, above in owners:
            reached |= 0 if bit & group.members else bit | above
        others = [other for other in groups if other is not group and len(other.parts) > 1]
        more = True
        while more:
            felt = [other for other in others if other.members & reached and (other.members | other.above) & ~reached]
            for other in felt:
                reached |= other.members | other.above
            more = bool(felt)
        if not reached & group.members and group.join(part, own):
            return group
    group = Group()
    if not group.begin(part, own):
        return None
    groups.append(group)
    return group


def _replace(fgraph, group):
    """Make the node of a group; return 1, or 0 if there is no kernel for it."""
    parts = _without_last_views(fgraph, group.parts)
    nodes = {part.node for part in parts}
    made = [variable for part in parts for variable in part.node.outputs]
    inputs = list(dict.fromkeys([variable for part in parts for variable in part.inputs
                                 if variable not in set(made)]))
    outputs = [variable for variable in made if any([reader == "output" or reader not in nodes
                                                     for reader, _ in fgraph.clients[variable]])]
    for variable in inputs:
        if not isinstance(variable.type, GpuArrayType) and not all(variable.type.broadcastable):
            return 0
    try:
        op = RowOp(parts, inputs, outputs, group.layouts, group.rank, group.inner)
    except NoSource:
        return 0
    node = op.make_node(*inputs)
    node._position = parts[-1].node._position
    for old, new in zip(outputs, node.outputs):
        new.name = old.name
        fgraph.replace(old, new, reason="row fusion")
    return 1


def _without_last_views(fgraph, parts):
    """The parts without views that nothing of the group reads: these stay nodes of their own."""
    for part in reversed(parts):
        if part.is_view:
            readers = fgraph.clients[part.node.outputs[0]]
            if not any([other.node is reader for reader, _ in readers if reader != "output" for other in parts]):
                parts = [other for other in parts if other is not part]
    return parts
