"""Recomputation: values that are computed a second time instead of kept, so that a call fits in a given memory.

A graph with a ``budget`` gets clones of nodes, and an order in which the bytes alive at once stay below the
budget. Both come from a simulation of the call. It goes through the nodes in one of two orders of ``schedule`` (sums
over many steps, such as the gradient of a weight, begin early or late) and knows the bytes of each value; where a
result would not fit, it gives up the value that costs least time to compute again, for its size and for how long nobody
reads it. A node whose operand was given up computes it again first, with whatever that needs in turn: so long chains
get checkpoints without a rule for them. A clone computes the bits of its original, because it is the same op on equal
operands.

What cannot be computed again stays: results, operands of Python code, and what is made by ops without a kernel, by ops
that overwrite an input and by ops on objects (draws of NumPy's generators). Views take no memory and no time; they are
made again on the new value. The simulation knows nothing of scratch memory, so its user compares the program's report
with the limit, and calls again with another budget (``api/making/fitting.py``).
"""
from collections import namedtuple
from contextlib import suppress
from math import prod, sqrt

from phintys.graph.op import PureOp
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.identity.deep_copy import DeepCopyOp
from phintys.ops.loops.loop import Scan
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.blas import BlasOp
from phintys.ops.products.dot import Dot
from phintys.vm.linking.packing import ALIGNMENT
from phintys.vm.linking.schedule import schedule
from phintys.vm.places import HOST

SMALLEST = 1 << 10              # bytes of a value that is worth giving up
SMALL = 16                      # how many times smaller a value is that is kept because of what is computed from it
MOST = 5                        # times as many nodes as there are may run: some choices lead to hours of that
EVENTS = 100_000                # nodes that run in all simulations, until no further one begins: some ten seconds
DEEPEST = 60                    # how often computing a value again may have to give up what the next one needs

# Seconds, for one core of an ordinary processor; only ratios matter.
CALL, BYTE, FLOP, STEP, FUNCTION = 3e-7, 1e-10, 4e-11, 1.5e-10, 2e-9

# How values are chosen: by (seconds to compute again) / (bytes ** a * nodes until the next reader ** b).
CHOICES = (1, 0.25), (1, 0), (1, 1), (0.5, 0), (2, 0)
IMPOSSIBLE = float("inf")

# A node that runs again: the clone, which of its results is wanted first, how many bytes are, and estimated seconds.
Again = namedtuple("Again", "node output bytes seconds")


class DoesNotFit(Exception):
    """No values are left that could be given up."""


class MemoryBudget:
    """The bytes that the computed values of a graph may take at once: ``fgraph.budget``.

    Parameters
    ----------
    limit : int or None
        None: as few as possible; it is then set to what that is.
    known_of : function
        From the FunctionGraph to a dict from its variables to their shapes, None where a shape is not known, and a
        function from a small variable to its value, or None.
    parts : int
        Into how many parts loops are split.
    commits : bool
        Whether updates may be computed in the memory of the old values at the end of a call, which keeps their operands
        until then.

    Attributes
    ----------
    again : list of Again
        The clones that were made.
    seconds : float
        Estimated time of a call without them.
    peak : int
        The bytes alive at once, as foreseen.
    """

    def __init__(self, limit, known_of, parts=1, commits=True):
        self.limit, self.known_of, self.parts, self.commits = limit, known_of, parts, commits
        self.again, self.seconds, self.peak = [], 0.0, 0

    @property
    def price(self):
        """The estimated time of what is computed again, as a share of that of the rest."""
        return sum([again.seconds for again in self.again]) / self.seconds if self.again else 0.0

    def scheduled(self, fgraph, late_of):
        """Add clones of nodes to a graph, so that its values take fewer bytes at once.

        Parameters
        ----------
        fgraph : FunctionGraph
        late_of : function
            From the order of the nodes to those that run last, and overwrite shared values with their updates.

        Returns
        -------
        list of Apply
            The nodes of the changed graph in the order in which they should run.

        Raises
        ------
        DoesNotFit
            If no choice of values fits.
        """
        shapes = self._shapes(fgraph)
        simulations, orders = [], []
        for adds_soon in (True, False):         # the first has fewer bytes alive nearly always, if not at the peak
            order = schedule(fgraph, lambda variable: _bytes(variable, shapes), adds_soon)
            if order not in orders:
                last = dict.fromkeys(late_of(order))
                early = [node for node in order if node not in last]
                simulations.append(_Simulation(fgraph, early, list(last), shapes))
                orders.append(order)
        if self.limit is None:
            self.limit = _least(simulations)
        best = None
        for simulation in simulations:
            if simulation.within(self.limit, best.least if best else IMPOSSIBLE):
                best = simulation
        if best is None:
            raise DoesNotFit
        self.seconds, self.peak = sum(best.seconds.values()), best.peak
        return _changed(fgraph, best, self)

    def _shapes(self, fgraph):
        """The shapes of all variables, after loops were split."""
        shapes, value_of = self.known_of(fgraph)
        loops = [node for node in fgraph.apply_nodes if type(node.op) is Scan] if self.parts > 1 else []
        if not loops:
            return shapes
        from phintys.optimizer.passes.loop_splitting import split_loops

        split_loops(fgraph, shapes, {node: value_of(node.inputs[0]) for node in loops}, self.parts)
        return self.known_of(fgraph)[0]


def _least(simulations):
    """The least bytes that the nodes of one of these simulations can run in, about."""
    low, high = 0, sum(simulations[0].size.values())
    while high - low > high // 200 + ALIGNMENT and sum([simulation.ran for simulation in simulations]) < EVENTS:
        middle = (low + high) // 2
        if any(simulation.within(middle, is_enough=True) for simulation in simulations):
            high = middle
        else:
            low = middle
    return high


def _bytes(variable, shapes):
    """The bytes of a value; numbers are stored in cells."""
    shape, layout = shapes.get(variable), variable.type.layout
    return prod(shape) * variable.type.numpy_dtype.itemsize if shape and layout is not None and layout[1] else 0


# ---- time ------------------------------------------------------------------------------------------------------------
def seconds_of(node, shapes):
    """Estimate the time of a node from the shapes of its operands.

    Parameters
    ----------
    node : Apply
    shapes : mapping
        Variable → shape, or None.

    Returns
    -------
    float
    """
    if node.op.view_map:
        return 0.0
    op, read, made = node.op, [shapes.get(each) for each in node.inputs], [shapes.get(each) for each in node.outputs]
    largest = max([prod(shape) for shape in made if shape is not None], default=0)
    elements = sum([prod(shape) for shape in read + made if shape is not None])
    return CALL + elements * 8 * BYTE + _arithmetic(op, read, made, largest)


def _arithmetic(op, read, made, largest):
    """The seconds of arithmetic of an op, besides reading and writing."""
    if isinstance(op, (BlasOp, BatchedDot, Dot)):
        factors = sorted([prod(shape) for shape in read if shape], reverse=True)[:2]
        return 2 * FLOP * sqrt(largest * prod(factors)) if factors and largest else 0
    if hasattr(op, "flops") and None not in read + made:
        return FLOP * op.flops(read, made)
    if isinstance(op, Elemwise):
        steps = [step for step, _ in op.scalar_op.steps] if isinstance(op.scalar_op, Composite) else [op.scalar_op]
        return largest * sum([STEP if step.name in _ARITHMETIC else FUNCTION for step in steps])
    if isinstance(op, Scan):
        inner = op.body()[1]
        return largest * FUNCTION + CALL * (made[0][0] if made and made[0] else 1) * len(inner)
    return largest * STEP


_ARITHMETIC = frozenset("""add sub mul neg true_div sqr abs maximum minimum switch second identity cast lt gt le ge eq
    neq clip inv sgn and_ or_ not_""".split())


# ---- what can be computed again --------------------------------------------------------------------------------------
def can_run_again(node):
    """Return whether a node computes the same values whenever it runs, and nothing else."""
    op = node.op
    if op.destroy_map or op.lazy_branches(node) or any([
            variable.type.layout is None or variable.type.layout[2] != HOST
            for variable in node.inputs + node.outputs]):
        return False
    if isinstance(op, Scan):
        return all([can_run_again(inner) for inner in _nodes_of(op.body()[1])])
    return _has_kernel(op)


def _has_kernel(op):
    """Whether an op runs as an instruction, not as Python code."""
    return isinstance(op, (Scan, DeepCopyOp)) or bool(op.view_map) or type(op).make_kernel is not PureOp.make_kernel


def _nodes_of(outputs):
    """All nodes above some variables."""
    found, waiting = set(), [variable.owner for variable in outputs]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in found:
            found.add(node)
            waiting.extend([variable.owner for variable in node.inputs])
    return found


# ---- the simulation --------------------------------------------------------------------------------------------------
class _Simulation:
    """A call in which values are given up and computed again.

    Values are the *roots* of variables: views belong to the value whose memory they show. Arguments, shared values and
    constants are no values here, because no choice could free them. The *closure* of a value that was given up are the
    nodes that compute it again; its *border* are the values alive that these read. They stay alive until then, or are
    given up themselves.

    Attributes
    ----------
    events : list of (Apply, list of Variable)
        The nodes in the order in which they run; of a node that runs again, which of its results are wanted, else None.
    """

    def __init__(self, fgraph, order, late, shapes):
        self.seconds = {node: seconds_of(node, shapes) for node in [*order, *late]}
        self.order, self.late, self.ran = order, late, 0
        self.root, self.size, self.reads, self.makes, self.uses, self.children = {}, {}, {}, {}, {}, {}
        for position, node in enumerate([*order, *late]):
            self._add(position, node, shapes)
        self.kept = {self.root[variable] for variable in fgraph.outputs if variable in self.root}
        self.kept.update([value for node in late for value in [*self.reads[node], *self.makes[node]]])
        self.kept.update([value for node in order if not _has_kernel(node.op) for value in self.reads[node]])
        overwrites = any([bool(node.op.destroy_map) for node in order])         # by the user: what is read may be gone
        runs_again = {node: not overwrites and can_run_again(node) for node in order}
        self.again = {value for value in self.size if runs_again.get(value.owner, False)}

    def _add(self, position, node, shapes):
        """Note what a node reads and makes."""
        same_memory = {**node.op.view_map, **node.op.destroy_map}
        self.reads[node] = list(dict.fromkeys([self.root[variable] for variable in node.inputs
                                               if variable in self.root]))
        made = self.makes[node] = []
        for output, variable in enumerate(node.outputs):
            if output in same_memory:
                source = node.inputs[same_memory[output][0]]
                if source in self.root:
                    self.root[variable] = self.root[source]
                continue
            self.size[variable] = _bytes(variable, shapes)
            self.root[variable], self.uses[variable], self.children[variable] = variable, [], []
            made.append(variable)
        for value in self.reads[node]:
            self.uses[value].append(position)
            self.children[value].extend(made)

    def within(self, limit, least=IMPOSSIBLE, is_enough=False):
        """Run all nodes in a limit, by the best of ``CHOICES``, or the first that does if that is enough, in less than
        ``least`` seconds for what runs again; return whether they fit."""
        best, self.least = None, least
        for choice in CHOICES:
            if best and is_enough:
                break
            with suppress(DoesNotFit):
                self._run_all(limit, choice)
                best, self.least = (self.events, self.peak), self.spent
            self.ran += len(self.events)
        if best:
            self.events, self.peak = best
        return best is not None

    def _run_all(self, limit, choice):
        self.limit, self.choice = limit, choice
        self.alive, self.used, self.peak, self.now = {}, 0, 0, 0        # a dict: choices do not depend on ids
        self.locks, self.needed_by, self.borders, self.costs = dict.fromkeys(self.size, 0), {}, {}, {}
        self.events, self.next_use, self.spent = [], dict.fromkeys(self.size, 0), 0
        for position, node in enumerate([*self.order, *self.late]):
            self.now = position
            self._with_operands(node, None, 0)

    # ---- running -----------------------------------------------------------------------------------------------------
    def _with_operands(self, node, wanted, depth):
        """Run a node, after the operands of it that were given up."""
        reads = self.reads[node]
        if depth > DEEPEST:
            raise DoesNotFit
        for value in reads:
            self.locks[value] += 1
        missing = [value for value in reads if value not in self.alive]
        if missing:
            self._restore(missing, depth)
        self._run(node, wanted)
        for value in reads:
            self.locks[value] -= 1
            self._free_if_over(value)
        for value in self.makes[node]:
            self._free_if_over(value)

    def _restore(self, wanted, depth):
        """Compute values again; what only they need in between is alive as long as it is read."""
        steps, _ = self._closure(wanted)
        pending = {value: 0 for node in steps for value in self.makes[node]}
        for node in steps:
            for value in self.reads[node]:
                if value in pending:
                    pending[value] += 1
        for value, count in pending.items():
            self.locks[value] += count > 0
        for node in steps:
            for value in self.reads[node]:
                if value in pending:
                    pending[value] -= 1
                    self.locks[value] -= not pending[value]
            made = [value for value in self.makes[node]
                    if value not in self.alive and (pending[value] or value in wanted)]
            if made:                                    # else another restoration computed it meanwhile
                self._with_operands(node, made, depth + 1)

    def _closure(self, wanted):
        """The nodes that compute values again, in order, and their border; (None, None) if that is not possible."""
        steps, border, entered, waiting = [], set(), set(), []
        for value in wanted:
            if value not in self.again:
                return None, None
            waiting.append((value.owner, False))
        while waiting:
            node, is_done = waiting.pop()
            if is_done:
                steps.append(node)
                continue
            if node in entered:
                continue
            entered.add(node)
            waiting.append((node, True))
            for value in self.reads[node]:
                if value in self.alive:
                    border.add(value)
                elif value not in self.again:
                    return None, None
                elif value.owner not in entered:
                    waiting.append((value.owner, False))
        return steps, border

    def _run(self, node, wanted):
        """Let a node run: its results, or the wanted ones of a node that runs again, become alive."""
        made = self.makes[node] if wanted is None else wanted
        taken = self._overwritten(node, made)
        self._make_room(sum([self.size[value] for value in self.makes[node] if value not in taken]))
        for value in taken.values():
            self._change(value, False)
        for value in made:
            self._change(value, True)
        self.peak = max(self.peak, self.used)
        if wanted is not None:
            self.spent += self.seconds[node]
            if self.spent >= self.least or len(self.events) > MOST * len(self.seconds):
                raise DoesNotFit
        for value in made:
            self._forget_border(value)
        self.events.append((node, wanted))

    def _overwritten(self, node, made):
        """Map results to the operands whose memory they will take, because nobody reads these any more."""
        taken = {}
        if node.op.destroy_map:
            return taken
        for output, position in node.op.inplace_candidates(node):
            result, read = node.outputs[output], self.root.get(node.inputs[position])
            if (result in made and read in self.alive and read not in taken.values() and result not in taken
                    and self.size[read] == self.size[result] and self.locks[read] == 1 and self._is_over(read, made)):
                taken[result] = read
        return taken

    def _is_over(self, value, made=()):
        """Whether nobody reads a value after the node that runs now and computes ``made``."""
        return (value not in self.kept and self._next(value) is None
                and not self.needed_by.get(value, set()).difference(made) and not self._starts_others(value))

    def _starts_others(self, value):
        """Whether a small value is what much larger ones, that are still read, could be computed again from."""
        return any([other in self.alive and other in self.again and self.size[value] * SMALL <= self.size[other]
                    and self._next(other) is not None for other in self.children[value]])

    def _next(self, value):
        """The position of the next node that reads a value, after the one that runs now; None: there is none."""
        uses, at = self.uses[value], self.next_use[value]
        while at < len(uses) and uses[at] <= self.now:
            at += 1
        self.next_use[value] = at
        return uses[at] if at < len(uses) else None

    def _change(self, value, is_alive):
        """Make a value alive or not; what it costs to compute others again changes."""
        if is_alive:
            self.alive[value] = None
            self.used += self.size[value]
        else:
            self.alive.pop(value, None)
            self.used -= self.size[value]
        waiting = [value]
        while waiting:
            for child in self.children[waiting.pop()]:
                if self.costs.pop(child, None) is not None and child not in self.alive:
                    waiting.append(child)

    # ---- giving up ---------------------------------------------------------------------------------------------------
    def _free_if_over(self, value):
        """Free a value that nobody needs any more."""
        if value in self.alive and not self.locks[value] and self._is_over(value):
            self._change(value, False)
            for other in self.reads[value.owner]:
                self._free_if_over(other)

    def _make_room(self, size):
        """Give up values until another one of this size fits."""
        while self.used + size > self.limit:
            best, lowest = None, None
            for value in self.alive:
                if (self.size[value] >= SMALLEST and not self.locks[value] and value not in self.kept
                        and value in self.again):
                    score = self._score(value)
                    if lowest is None or score < lowest:
                        best, lowest = value, score
            if lowest is None or lowest == IMPOSSIBLE:
                raise DoesNotFit
            _, border = self._closure([best])
            self.borders[best] = border
            for other in border:
                self.needed_by.setdefault(other, set()).add(best)
            self._change(best, False)

    def _score(self, value):
        """How bad it is to give up a value."""
        bytes_, distance = self.choice
        reader = self._next(value)
        if reader is None:                              # only others that were given up need it
            readers = [self._next(other) for other in self.needed_by.get(value, ())]
            reader = min([at for at in readers if at is not None], default=self.now)
        return self._cost(value) / (self.size[value] ** bytes_ * max(reader - self.now, 1) ** distance)

    def _cost(self, value):
        """The seconds that it takes to compute a value again."""
        cost = self.costs.get(value)
        if cost is None:
            steps, _ = self._closure([value])
            cost = self.costs[value] = (IMPOSSIBLE if steps is None
                                        else sum([self.seconds[node] for node in steps]) + 1e-12)
        return cost

    def _forget_border(self, value):
        """A value is alive again, or nobody needs it: it needs nothing."""
        for other in self.borders.pop(value, ()):
            self.needed_by[other].discard(value)
            if other in self.alive:
                self._free_if_over(other)
            elif self._next(other) is None and not self.needed_by[other]:
                self._forget_border(other)


# ---- the changed graph -----------------------------------------------------------------------------------------------
def _changed(fgraph, run, budget):
    """Add the clones of a simulation to the graph; return its nodes in order."""
    current, version, order, clones = {}, {}, [], []

    def present(variable):
        """The variable that has the value now; views of a value that was computed again are made again."""
        value = run.root.get(variable)
        known, of = current.get(variable, (variable, 0))
        if value is None or version.get(value, 0) == of:
            return known
        node = variable.owner                           # a view of what was given up
        again = node.clone_with_new_inputs([present(each) for each in node.inputs])
        order.append(again)
        for old, new in zip(node.outputs, again.outputs):
            if run.root.get(old) is value:
                current[old] = new, version[value]
        return current[variable][0]

    for node, wanted in run.events:
        inputs = [present(variable) for variable in node.inputs]
        if wanted is None:
            for position, new in enumerate(inputs):
                if node.inputs[position] is not new:
                    fgraph.change_input(node, position, new, reason="memory_limit")
            order.append(node)
            for variable in node.outputs:
                value = run.root.get(variable)
                if value is not variable and version.get(value, 0):
                    current[variable] = variable, version[value]
            continue
        again = node.clone_with_new_inputs(inputs)
        order.append(again)
        clones.append(Again(again, node.outputs.index(wanted[0]), sum([run.size[value] for value in wanted]),
                            run.seconds[node]))
        for old, new in zip(node.outputs, again.outputs):
            if old in wanted:
                version[old] = version.get(old, 0) + 1
                current[old] = new, version[old]
    in_graph = fgraph.apply_nodes
    budget.again = [clone for clone in clones if clone.node in in_graph]
    return [node for node in order if node in in_graph]
