"""The pipeline: in which order the families of rewrites run. ``optimize(fgraph, query)`` is the entry point.

Each stage is a function ``stage(fgraph, query)``; stages that drive a table share one driver per query, so that a
second compilation pays for no set-up. Merging comes first, so that the tables can compare variables by identity, and
again whenever the tables have made new nodes.
"""
from phintys.optimizer import (blas_rewrites, constant_folding, fills, fusion, neutral, reductions, shapes, specialize,
                               stabilize, views)
from phintys.optimizer.database import FAST_COMPILE, FAST_RUN, Family
from phintys.optimizer.driver import Driver
from phintys.optimizer.merge import merge
from phintys.optimizer.reduction_fusion import fuse_reductions

FOLDING = Family("constant_folding", constant_folding.REWRITES, ("canonicalize", "stabilize", "specialize"))
CANONICALIZE = [Family(name, table.REWRITES, ("canonicalize",)) for name, table in (
    ("neutral", neutral), ("views", views), ("fills", fills), ("shapes", shapes), ("reductions", reductions))]
STABILIZE = [Family("stabilize", stabilize.REWRITES)]
SPECIALIZE = [Family("specialize", specialize.REWRITES)]
BLAS = [Family("blas", blas_rewrites.REWRITES, ("BlasOpt",))]

LARGEST_NUMBER_OF_TURNS = 5

_drivers = {}                  # (name of the stage, query) -> Driver


def _driven(name, families):
    """A stage that drives the rewrites of ``families``."""
    def stage(fgraph, query):
        driver = _drivers.get((name, query))
        if driver is None:
            rewrites = [rewrite for family in families for rewrite in family.chosen(query)]
            if name == "specialize":
                rewrites.extend(query.extra)
            driver = _drivers[name, query] = Driver(rewrites)
        return driver.run(fgraph).replacements if driver.index or driver.everywhere else 0
    return stage


def _whole(function, *tags):
    """A stage that looks at the whole graph, if the query wants one of ``tags``."""
    return lambda fgraph, query: function(fgraph) if query.wants(tags) else 0


def _in_turns(first, second):
    """Two stages by turns while both find something: the first one's products are often equal to what is there."""
    def stage(fgraph, query):
        total = 0
        for _ in range(LARGEST_NUMBER_OF_TURNS):
            made = first(fgraph, query)
            total += made
            if not made or not second(fgraph, query):
                break
        return total
    return stage


_merge = _whole(merge, FAST_RUN, "merge")

STAGES = [
    ("merge1", _whole(merge, FAST_RUN, FAST_COMPILE, "merge", "merge1")),
    ("canonicalize", _in_turns(_driven("canonicalize", [FOLDING] + CANONICALIZE), _merge)),
    ("stabilize", _in_turns(_driven("stabilize", [FOLDING] + STABILIZE + CANONICALIZE), _merge)),
    ("specialize", _in_turns(_driven("specialize", [FOLDING] + SPECIALIZE), _merge)),
    ("blas", _in_turns(_driven("blas", BLAS), _merge)),
    ("elemwise_fusion", _whole(fusion.fuse, FAST_RUN, "fusion", "fuse", "elemwise_fusion", "local_elemwise_fusion")),
    ("reduction_fusion", _whole(fuse_reductions, FAST_RUN, "fusion", "fuse", "reduction_fusion")),
]


def optimize(fgraph, query):
    """Rewrite ``fgraph`` in place.

    Parameters
    ----------
    fgraph : FunctionGraph
        Its own copy of the user's graph.
    query : database.Query
        Which rewrites to apply.

    Returns
    -------
    dict of str to int
        How many replacements each stage made.
    """
    return {name: stage(fgraph, query) for name, stage in STAGES}
