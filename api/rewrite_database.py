"""Theano's ``optdb``: asks for rewrites by tags, to be applied to a graph at hand."""
from phintys.optimizer.database import Query
from phintys.optimizer.pipeline import optimize

OPT_NONE, OPT_MERGE = Query(), Query(["merge"])
OPT_FAST_RUN, OPT_FAST_COMPILE = Query(["fast_run"]), Query(["fast_compile"])
OPT_FAST_RUN_STABLE = Query(["fast_run"], require=["stable"])
OPT_STABILIZE = Query(["fast_run"], exclude=["specialize"])


class QueriedOptimizer:
    """All rewrites that a query asks for."""

    def __init__(self, query):
        self.chosen = query

    def optimize(self, fgraph):
        """Rewrite a FunctionGraph in place; answers how many replacements each stage made."""
        return optimize(fgraph, self.chosen)

    apply = __call__ = optimize


class RewriteDatabase:
    """The rewrites there are, by their tags."""

    def query(self, *tags):
        """An optimizer.

        Parameters
        ----------
        *tags : Query, or str
            ``"+tag"`` is wanted, ``"-tag"`` is not, ``"&tag"`` all must have.

        Raises
        ------
        ValueError
            For a tag that starts otherwise.
        """
        if len(tags) == 1 and isinstance(tags[0], Query):
            return QueriedOptimizer(tags[0])
        groups = {"+": [], "-": [], "&": []}
        for tag in tags:
            if tag[:1] not in groups:
                raise ValueError(f"'query' syntax error: {tag!r} starts neither with +, - nor &")
            groups[tag[0]].append(tag[1:])
        return QueriedOptimizer(Query(groups["+"], require=groups["&"], exclude=groups["-"]))


optdb = RewriteDatabase()
