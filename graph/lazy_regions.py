"""Assigns the nodes of a graph with lazy branches to the paths on which they run: a tree of regions.

An op whose ``lazy_branches(node)`` returns positions needs its condition, and then only the inputs of one of its two
branches. The root region always runs. A lazy node has a region for each branch, an *arm*, inside the region of the node
itself. A node belongs to the innermost region that runs exactly when one of the node's readers runs; so nodes that both
arms need come before the jump. Nodes for which there is no such region, because several arms need them, form a *block*.
It belongs to the innermost region around these arms and runs once per call, when the first arm needs it.

This is a static analysis: it changes no graph and uses no values. Its time is linear in the size of the graph, up to
logarithms, and it is not recursive.
"""
from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from phintys.graph.op import PureOp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph

EXCLUSIVE = "exclusive"                 # two accesses of which a call does at most one


class Region:
    """Nodes that run together or not at all.

    Attributes
    ----------
    parent : Region or None
        None for the root.
    node, branch : Apply and int, or None
        An arm has its lazy node and the number of the branch; a block has neither.
    number : int
        Regions are numbered in the order in which they are found: the root has 0, and a block comes after all regions
        that need it.
    steps : list of Apply and Region
        Nodes and blocks in the order in which they run. A Region is a block that is needed at this point.
    """

    __slots__ = ("parent", "depth", "jump", "node", "branch", "number", "steps", "needed")

    def __init__(self, parent: Region | None = None, node: Any = None, branch: int | None = None,
                 number: int = 0) -> None:
        self.parent, self.node, self.branch, self.number = parent, node, branch, number
        self.clear()
        if parent is None:
            self.depth, self.jump = 0, self
            return
        self.depth = parent.depth + 1
        far = parent.jump                       # skip pointers: ancestors are found in logarithmic time
        self.jump = far.jump if parent.depth - far.depth == far.depth - far.jump.depth else parent

    def clear(self) -> None:
        """Remove the steps."""
        self.steps, self.needed = [], set()

    @property
    def is_block(self) -> bool:
        """Whether it is a block."""
        return self.node is None and self.parent is not None


def ancestor_at(region: Region, depth: int) -> Region:
    """Return the region around ``region``, or itself, that is ``depth`` levels below the root."""
    while region.depth > depth:
        region = region.jump if region.jump.depth >= depth else region.parent
    return region


def common_region(first: Region, second: Region) -> Region:
    """Return the innermost region that contains both."""
    depth = min(first.depth, second.depth)
    first, second = ancestor_at(first, depth), ancestor_at(second, depth)
    while first is not second:
        if first.jump is not second.jump:
            first, second = first.jump, second.jump
        else:
            first, second = first.parent, second.parent
    return first


def known_regions(fgraph: FunctionGraph) -> Any:
    """Return the regions of a graph in its present state, or None if nothing in it is lazy.

    They are computed once and shared by all callers until the graph changes: a caller that needs steps must arrange
    them first, and must not keep them.

    Returns
    -------
    LazyRegions or None
    """
    if "lazy regions" not in fgraph.derived:
        branches = _lazy_nodes(fgraph.apply_nodes)
        fgraph.derived["lazy regions"] = LazyRegions(fgraph, fgraph.data_order(), branches) if branches else None
    return fgraph.derived["lazy regions"]


def lazy_regions(fgraph: FunctionGraph, order: Sequence[Apply]) -> LazyRegions | None:
    """Return the regions of a graph, arranged, for the caller alone; None if nothing in it is lazy.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
        All its nodes, each after what it reads.
    """
    branches = _lazy_nodes(order)
    if not branches:
        return None
    regions = LazyRegions(fgraph, order, branches)
    regions.arrange(order)
    return regions


def _lazy_nodes(nodes):
    """Map each lazy node to the inputs of its branches, and to its condition."""
    found = [(node, node.op.lazy_branches(node)) for node in nodes
             if type(node.op).lazy_branches is not PureOp.lazy_branches]
    return {node: positions for node, positions in found if positions is not None}


class LazyRegions:
    """The regions of one graph.

    Attributes
    ----------
    root : Region
    of : dict
        Node → its region.
    arms : dict
        Lazy node → (region of its first branch, region of its second).
    blocks : list of Region
        Each block after the blocks that need it.
    conditions : dict
        Lazy node → the position of its condition.
    """

    def __init__(self, fgraph: FunctionGraph, order: Sequence[Apply], branches: Mapping[Apply, Sequence[Any]]) -> None:
        self.root = Region()
        self.of, self.arms, self.blocks = {}, {}, []
        self.conditions = {node: positions[0] for node, positions in branches.items()}
        self._branch_of = {node: _by_position(node, *positions) for node, positions in branches.items()}
        self._regions = [self.root]
        self._find(fgraph.clients, order)

    # ---- regions -----------------------------------------------------------------------------------------------------
    def region_at(self, reader: Any, position: int) -> Any:
        """Return the region in which a node reads one of its inputs; for an output of the graph, the root.

        An input of a branch is read at the end of its arm.
        """
        if isinstance(reader, str):
            return self.root
        branch_of = self._branch_of.get(reader)
        if branch_of is None or branch_of[position] is None:
            return self.of[reader]
        return self.arms[reader][branch_of[position]]

    def _new(self, *description):
        region = Region(*description, len(self._regions))
        self._regions.append(region)
        return region

    def _find(self, clients, order):
        """Give each node its region, readers first."""
        blocks, of, branch_of = {}, self.of, self._branch_of
        for node in reversed(order):
            regions = set()
            for output in node.outputs:
                for reader, position in clients[output]:
                    regions.add(of[reader] if reader in of and reader not in branch_of
                                else self.region_at(reader, position))
            region = of[node] = self._region_for(regions, blocks)
            if node in branch_of:
                self.arms[node] = self._new(region, node, 0), self._new(region, node, 1)

    def _region_for(self, regions, blocks):
        """Return the region of a node that is read in ``regions``; a node without readers belongs to the root."""
        if len(regions) < 2:
            return next(iter(regions), self.root)
        key = frozenset(regions)
        if key not in blocks:
            innermost = self._innermost(regions)
            if innermost in self._certain(regions):
                return innermost
            blocks[key] = self._new(innermost, None, None)
            self.blocks.append(blocks[key])
        return blocks[key]

    def _innermost(self, regions):
        found = None
        for region in regions:
            found = region if found is None else common_region(found, region)
        return found

    def _certain(self, regions):
        """Return the regions that always reach one of ``regions`` when they run, as far as they lead to these."""
        certain = set(regions)
        waiting = [(-region.depth, region.number, region) for region in regions]
        heapify(waiting)
        while waiting:
            region = heappop(waiting)[-1]
            around = region.parent
            if region.node is not None and around not in certain and certain.issuperset(self.arms[region.node]):
                certain.add(around)
                heappush(waiting, (-around.depth, around.number, around))
        return certain

    def relation(self, reader: Apply, position: int, other: Apply,
                 other_position: int) -> str | tuple[Apply, ...] | None:
        """Return how two accesses to a value are related.

        Returns
        -------
        tuple of Apply, EXCLUSIVE, or None
            The two nodes of the innermost common region in which the accesses happen; the order of these nodes decides.
            ``EXCLUSIVE`` if at most one access happens. None if the order of nodes does not decide which comes first,
            because one of them happens in a block.
        """
        here, there = self.region_at(reader, position), self.region_at(other, other_position)
        around = common_region(here, there)
        first = _step_in(around, here, reader)
        second = _step_in(around, there, other)
        if isinstance(first, Region) and isinstance(second, Region) and first.node is second.node is not None:
            return EXCLUSIVE
        steps = [step.node if isinstance(step, Region) else step for step in (first, second)]
        return None if None in steps else tuple(steps)

    # ---- steps -------------------------------------------------------------------------------------------------------
    def arrange(self, order: Sequence[Apply]) -> None:
        """Fill in the steps of all regions.

        Parameters
        ----------
        order : list of Apply
            Nodes, each after what it reads; those of a region run in this order.
        """
        for region in self._regions:
            region.clear()
        of, arms, has_blocks = self.of, self.arms, bool(self.blocks)
        for node in order:
            region = of[node]
            for position, variable in enumerate(node.inputs if has_blocks else ()):
                needed = of.get(variable.owner)
                if needed is not None and needed.is_block:
                    self._need(needed, self.region_at(node, position))
            if node in arms:
                self._join(region, *arms[node])
            region.steps.append(node)

    def _need(self, block, region):
        """Place a block before the next steps in ``region``, unless the block contains it."""
        holds = block.depth <= region.depth and ancestor_at(region, block.depth) is block
        if block not in region.needed and not holds:
            region.needed.add(block)
            region.steps.append(block)

    def _join(self, region, first, second):
        """Run blocks that both arms need before the jump; blocks that ran before it are needed in neither arm."""
        for block in sorted(first.needed & second.needed, key=lambda block: block.number):
            if block not in region.needed and common_region(block, region) is not block:
                self._need(block, region)
        for arm in (first, second):
            earlier = arm.needed & region.needed
            if earlier:
                arm.steps = [step for step in arm.steps if step not in earlier]

    def flattened(self) -> list[Apply]:
        """Return all arranged nodes in one order: arms before their lazy node, blocks before their first use."""
        return list(self.walk(self.arms.get))

    def walk(self, entered: Callable[..., Any]) -> Iterator[Any]:
        """Yield the arranged nodes, each block once, before its first use.

        Parameters
        ----------
        entered : callable
            Maps a lazy node to those of its arms whose nodes come before it; called when the node is reached.

        Yields
        ------
        Apply
        """
        seen = set()
        waiting = self.root.steps[::-1]
        while waiting:
            step = waiting.pop()
            if isinstance(step, Region):
                if step not in seen:
                    seen.add(step)
                    waiting.extend(reversed(step.steps))
            elif step in self.arms and step not in seen:
                seen.add(step)
                waiting.append(step)
                for arm in reversed(entered(step)):
                    waiting.extend(reversed(arm.steps))
            else:
                yield step


def in_turn(order: Sequence[Apply], regions: LazyRegions | None, is_true: Callable[..., Any]) -> Any:
    """Yield the nodes that a call runs; the last one must have been computed before the next is requested.

    Parameters
    ----------
    order : list of Apply
        The nodes that run if nothing is lazy.
    regions : LazyRegions or None
        The regions, arranged.
    is_true : callable
        Maps a lazy node to whether its condition, which has been computed, is true.

    Returns
    -------
    iterator of Apply
    """
    if regions is None:
        return iter(order)
    return regions.walk(lambda node: [regions.arms[node][0 if is_true(node) else 1]])


def _by_position(node, condition, first, second):
    """Return for each input of a lazy node the branch that needs it, None for the condition."""
    branches = [None] * len(node.inputs)
    for branch, positions in enumerate((first, second)):
        for position in positions:
            branches[position] = branch
    return branches


def _step_in(around, region, node):
    """Return the step of ``around`` that contains a node in ``region``: the node itself, or a region inside."""
    return node if region is around else ancestor_at(region, around.depth + 1)
