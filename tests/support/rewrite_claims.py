"""What a rewrite changes, against what its row says: every replacement of a variable is computed before and after.

``broken_claims`` optimizes a copy of a graph and returns, for values of its inputs, the replacements that change more
than the rewrite's row says.
"""
import numpy

from phintys.graph.function_graph import FunctionGraph
from phintys.optimizer.engine.database import Rewrite
from phintys.optimizer.pipeline import all_rewrites, optimize

CHANGES_OF = {}                 # name of a rewrite, or of a stage → what one of its rows says it may change
for _name, _row in all_rewrites():
    CHANGES_OF.setdefault(_row.name if isinstance(_row, Rewrite) else _name, set()).update(_row.changes)
TINY = 1e-150                   # what is smaller, beside a zero, has underflowed


def changes_between(before, after):
    """The words of ``database.CHANGES`` by which two arrays differ; ``"value"`` for numbers that differ by more than
    rounding."""
    before, after = numpy.broadcast_arrays(*[numpy.asarray(value) for value in (before, after)])
    if before.dtype.kind not in "fc" or after.dtype.kind not in "fc":
        return set() if numpy.array_equal(before, after) else {"value"}
    found = set()
    numbers = ~numpy.isnan(before) & ~numpy.isnan(after)
    if (numpy.isnan(before) != numpy.isnan(after)).any():
        found.add("nan")
    before, after = before[numbers], after[numbers]
    out_of_range = (numpy.isinf(before) | numpy.isinf(after)) & (before != after)
    for first, second in ((before, after), (after, before)):
        out_of_range |= (first == 0) & (second != 0) & (abs(second) < TINY)
    if out_of_range.any():
        found.add("range")
    rest = ~out_of_range & numpy.isfinite(before)
    if (before[rest] != after[rest]).any():
        close = numpy.allclose(after[rest], before[rest], rtol=1e-9, atol=1e-12)
        found.add("rounding" if close else "value")
    return found


class Watch:
    """A feature that computes each replaced variable and its replacement when it is replaced."""

    def __init__(self, values):
        self.values, self.broken, self.fired = values, [], set()

    def on_change_input(self, fgraph, node, position, old, new, reason):
        claimed = CHANGES_OF.get(reason)
        self.fired.add(reason)
        if claimed is None or not hasattr(old.type, "dtype"):
            return
        try:
            before, after = [computed(variable, self.values) for variable in (old, new)]
        except (TypeError, ValueError, IndexError, NotImplementedError):     # of other shapes than the graph is for
            return
        changed = changes_between(before, after)
        if changed - claimed and not ("value" in changed and claimed >= {"range", "rounding"}):
            self.broken.append((reason, sorted(changed - claimed), before, after))


def computed(variable, values):
    """The value of a variable, node by node, each node once."""
    known, stack = dict(values), [variable]
    with numpy.errstate(all="ignore"):
        while stack:
            current = stack[-1]
            if current in known or current.owner is None:
                known.setdefault(current, getattr(current, "data", None))
                stack.pop()
                continue
            missing = [read for read in current.owner.inputs if read not in known]
            if missing:
                stack.extend(missing)
                continue
            storage = [[None] for _ in current.owner.outputs]
            current.owner.op.perform(current.owner, [known[read] for read in current.owner.inputs], storage)
            known.update(zip(current.owner.outputs, [cell[0] for cell in storage]))
            stack.pop()
    return known[variable]


def broken_claims(inputs, outputs, values, query):
    """Optimize a copy of a graph.

    Returns
    -------
    tuple
        List of (rewrite, what it changed and does not say, value before, value after), and the names of all that fired.
    """
    fgraph = FunctionGraph(inputs, outputs)
    watch = Watch(dict(zip(fgraph.inputs, values)))
    fgraph.attach_feature(watch)
    optimize(fgraph, query)
    return watch.broken, watch.fired
