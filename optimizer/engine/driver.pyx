"""The driver: applies a set of rewrites to a FunctionGraph until none applies any more.

It contains no mathematics. Rewrites are indexed by the key of the node they examine, so only the rewrites that can
apply to a node are tried on it: those for its key and the keys of the nodes that compute its inputs. Rewrites that need
a node of another kind elsewhere are tried only while the graph has one.
A worklist starts with all nodes, inputs first; after a replacement the new nodes and the readers of the replaced ones
go to its front, so that a node is examined after its inputs have settled. The work is therefore linear in the size of
the graph plus the number of replacements; `Run.steps` counts it. At the end of a run all nodes are *settled*: later
runs, also of other drivers, try the same rewrites only on nodes near which the graph has changed since. A node made by
a rewrite stores the number of rewrites that led to it; a chain of `LIMIT` of them counts as an endless loop, which is
reported with the rewrite's name.
"""
from collections import deque

from phintys.graph.config import config
from phintys.graph.nodes cimport inputs_of, outputs_of, owner_of
from phintys.graph.progress import tick
from phintys.graph.trace import MOST_TRACES, is_in_parts, joined
from phintys.graph.variable import Constant
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.shape.shape import patternbroadcast
from phintys.optimizer.engine.database import CONSTANT, REPEATED
from phintys.optimizer.engine.forms import key_of
from phintys.optimizer.engine.values import as_type

STEPS_BETWEEN_TICKS = 1024      # of a progress bar
LIMIT = 100


class EndlessRewriting(RuntimeError):
    """A rewrite keeps producing nodes that are rewritten again."""


class Driver:
    """A set of rewrites, indexed by node key. It stores nothing about a run, so one driver serves all compilations."""

    def __init__(self, rewrites):
        self.rewrites = tuple(rewrites)
        self.keys = frozenset().union(*[rewrite.keys for rewrite in rewrites])
        self.is_for_all = not all([rewrite.keys for rewrite in rewrites])
        self.beside = frozenset().union(*[rewrite.beside for rewrite in rewrites])
        self.of = frozenset().union(*[rewrite.of for rewrite in rewrites])
        self._index = {}               # (another driver or None, key or None) -> rewrites
        self.chosen = {}               # (what a `Run` knows of a node and of its graph) -> rewrites, for all runs

    def rewrites_for(self, key, other=None):
        """The rewrites for nodes of this key, in order, without those that another driver has."""
        entry = other, key if key in self.keys else None        # None: those for all nodes
        if entry not in self._index:
            known = frozenset(other.rewrites if other else ())
            self._index[entry] = tuple([rewrite for rewrite in self.rewrites if rewrite not in known
                                        and (not rewrite.keys or key in rewrite.keys)])
        return self._index[entry]

    def run(self, fgraph):
        """Rewrite ``fgraph`` in place; return the finished `Run` with its counts."""
        run = Run(self, fgraph)
        run.finish()
        return run


def report(error, rewrite, node):
    """Raise, warn or ignore a rewrite that failed, as ``config.on_opt_error`` says."""
    how = config.on_opt_error
    if how == "ignore":
        return
    message = f"The rewrite {rewrite.name} failed on {node}: {type(error).__name__}: {error}"
    if how == "warn":
        import logging  # costs 3 ms, so it is not imported at start
        logging.getLogger("phintys.optimizer").error(message)
        return
    if hasattr(error, "add_note"):                      # from Python 3.11 on
        error.add_note(message)
    raise error


def standing_for(old, node, new):
    """Return a rewrite's replacement, converted to the type of what it replaces; None if that is not possible.

    An elementwise node may be replaced by a smaller operand, which is then filled over the others. The replacement of
    any other node has the same shape, and at most more static lengths.
    """
    if type(node.op) is Elemwise:
        return as_type(new, old.type, node.inputs)
    mine, wanted = [getattr(variable.type, "broadcastable", ()) for variable in (new, old)]
    if mine != wanted and len(mine) == len(wanted) and all([flag or not lost for flag, lost in zip(mine, wanted)]):
        new = patternbroadcast(new, wanted)
    return as_type(new, old.type, ())


cdef class Run:
    """One run of a driver over one graph: the worklist, and the callbacks by which the graph reports changes.

    Attributes
    ----------
    steps : int
        How many times a node was tried with the rewrites for its key.
    replacements : int
    """

    cdef object driver, fgraph, queue
    cdef readonly long steps, replacements
    cdef dict generation            # node made by a rewrite -> number of rewrites that led to it
    cdef dict keys                  # node -> key
    cdef dict rewrites              # (key, what settled it or None) -> the rewrites to try now, see `chosen`
    cdef list imported, pruned
    cdef set pending
    cdef set present                # the keys in the graph that some rewrites need beside the node that they are for
    cdef frozenset of, beside

    def __init__(self, driver, fgraph):
        self.driver, self.fgraph, self.queue = driver, fgraph, deque()
        self.generation, self.keys, self.rewrites = {}, {}, {}
        self.imported, self.pruned, self.pending, self.present = [], [], set(), set()
        self.of, self.beside = driver.of, driver.beside

    def finish(self):
        """Work until the worklist is empty."""
        fgraph, queue, driver = self.fgraph, self.queue, self.driver
        cdef dict keys = self.keys, settled = fgraph.settled
        cdef set alive = fgraph.apply_nodes, moved = set()      # nodes that were not settled when their turn came
        self.enrol(fgraph.toposort())
        mark = driver, frozenset(self.present)
        # What depends on a node that is not settled is found by visiting all nodes; otherwise, only those are visited
        # that have rewrites.
        visits_all, wanted = driver.is_for_all or len(settled) < len(alive), driver.keys
        queue.extend(keys if visits_all else [node for node, key in keys.items() if key in wanted])
        self.pending.update(queue)
        fgraph.attach_feature(self)
        try:
            while queue:
                node = queue.popleft()
                self.pending.discard(node)
                if node not in alive:
                    continue
                before = settled.get(node)  # which driver tried it since it and what it depends on changed last, and
                if before is not None:      # what was present then
                    for variable in inputs_of(node):
                        owner = owner_of(variable)
                        if owner is not None and (owner in moved or owner not in settled):
                            before = None
                            break
                if before is None:
                    moved.add(node)
                settled[node] = mark
                if before is not None and (<tuple>before)[0] is driver and (<tuple>before)[1] >= self.present:
                    continue                # by a turn before this one
                kind = keys[node], before
                rewrites = self.rewrites.get(kind)
                if rewrites is None:
                    rewrites = self.rewrites[kind] = self.chosen(keys[node], before)
                if type(rewrites) is dict:
                    rewrites = self.of_inputs(rewrites, node)
                if rewrites:
                    self.steps += 1
                    self.visit(node, rewrites)
                    if self.steps % STEPS_BETWEEN_TICKS == 0:
                        tick()
        finally:
            fgraph.remove_feature(self)

    cdef of_inputs(self, dict rewrites, node):
        """Return those of some rewrites, by what they are ``of``, that the node has such inputs for."""
        cdef set found = set()
        inputs = inputs_of(node)
        for variable in inputs:
            owner = owner_of(variable)
            found.add(self.keys[owner] if owner is not None else CONSTANT if isinstance(variable, Constant) else None)
        if len(inputs) > 1 and len(set(inputs)) < len(inputs):
            found.add(REPEATED)
        met = self.of.intersection(found)
        chosen = rewrites.get(met)
        if chosen is None:
            chosen = rewrites[met] = tuple([rewrite for rewrite in rewrites[None]
                                            if not rewrite.of or not rewrite.of.isdisjoint(met)])
        return chosen

    cdef enrol(self, list nodes):
        """Note the keys of nodes, and whether there are some that rewrites need beside others."""
        for node in nodes:
            key = self.keys[node] = key_of(node.op)
            if key in self.beside and key not in self.present:
                self.present.add(key)
                self.rewrites.clear()

    cdef chosen(self, key, settled):
        """The rewrites to try on nodes of this key, as the graph is now: all, or a table by what their inputs are."""
        entry = key if key in self.driver.keys else None, settled, frozenset(self.present)
        chosen = self.driver.chosen.get(entry)
        if chosen is None:
            chosen = self.driver.chosen[entry] = self.choose(key, settled)
        return chosen

    cdef choose(self, key, settled):
        """The same, found anew."""
        driver, present = settled or (None, self.present)
        rewrites = self.driver.rewrites_for(key, driver)
        if not present >= self.present:     # what was not tried, because there was no node that it needs
            known = set(rewrites)
            rewrites = [rewrite for rewrite in self.driver.rewrites_for(key) if rewrite in known
                        or rewrite.beside and rewrite.beside.isdisjoint(present)]
        rewrites = tuple([rewrite for rewrite in rewrites
                          if not (rewrite.beside and rewrite.beside.isdisjoint(self.present))])
        return {None: rewrites} if any([rewrite.of for rewrite in rewrites]) else rewrites

    cdef visit(self, node, tuple rewrites):
        """Try rewrites in turn, until one applies."""
        for rewrite in rewrites:
            try:
                found = rewrite.apply(self.fgraph, node)
                if found is None:
                    continue
                if self.replace(node, found if isinstance(found, (list, tuple)) else [found], rewrite):
                    return
            except Exception as error:                      # a failed rewrite must not fail the compilation
                report(error, rewrite, node)

    cdef bint replace(self, node, found, rewrite) except -1:
        """Replace the node's outputs by ``found``; return whether anything changed."""
        cdef list pairs = []
        for old, new in zip(outputs_of(node), found):
            if new is not None and new is not old:
                new = standing_for(old, node, new)
                if new is None:
                    return False
                pairs.append((old, new))
        if not pairs:
            return False
        age = self.generation.get(node, 0) + 1
        if age > LIMIT:
            raise EndlessRewriting(f"{rewrite.name}, after {LIMIT} rewrites in a row, still rewrites {node}")
        fgraph = self.fgraph
        readers = dict.fromkeys([reader for old, _ in pairs for reader, _ in fgraph.clients[old]])
        self.imported, self.pruned = [], []
        for old, new in pairs:
            if new.name is None and new not in fgraph.clients:
                new.name = old.name
            fgraph.replace(old, new, reason=rewrite.name)
        self.replacements += 1
        self.tell_origins(node)
        self.enter(age, readers)
        return True

    cdef tell_origins(self, node):
        """Record on new nodes where the user made all that they replace: the node, and the nodes removed with it."""
        if self.imported and len(self.pruned) > 1:
            position = joined([node._position, *[gone._position for gone in self.pruned[:MOST_TRACES]]])
            for made in self.imported:
                if not is_in_parts(made._position):
                    made._position = position

    cdef enter(self, age, readers):
        """Put new nodes, then the readers of what was replaced, at the front of the worklist."""
        for node in self.imported:
            self.generation[node] = age
        fresh = self.imported + [reader for reader in readers if reader != "output" and reader not in self.pending]
        self.queue.extendleft(reversed(fresh))
        self.pending.update(fresh)

    def on_import(self, fgraph, node, reason):
        """Record that a node was added."""
        self.imported.append(node)
        self.enrol([node])

    def on_prune(self, fgraph, node, reason):
        """Record that a node was removed."""
        self.pruned.append(node)
