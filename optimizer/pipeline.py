"""The pipeline: the order in which the families of rewrites run. ``optimize(fgraph, query)`` is the entry point.

Each stage is a function ``stage(fgraph, query)``; stages that apply a table share one driver per query, so that a
second compilation needs no set-up. Merging comes first, so that the tables can compare variables by identity, and again
whenever the tables have made new nodes. Then canonicalize, stabilize, sums of exponentials, specialize, lazy branches,
products by BLAS, length checks, fusion of elementwise nodes, then of reductions with them, placement on a device,
fusion of draws and of convolutions, and what may be overwritten. Passes on loops run between these.
"""
from collections import deque
from functools import partial
from importlib import import_module
from time import perf_counter

from phintys.graph import hooks
from phintys.graph.config import config
from phintys.graph.progress import bar_for
from phintys.optimizer.engine import registered
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Family, Query, change_tags
from phintys.optimizer.engine.driver import Driver, report
from phintys.optimizer.engine.forms import key_of_class
from phintys.optimizer.passes import constant_folding, fusion, lazy_branches, shapes
from phintys.optimizer.passes.inner_graphs import drop_unused_outputs, expand_inner_graphs
from phintys.optimizer.passes.inner_products import find_inner_products
from phintys.optimizer.passes.inplace import handled, mark_inplace, protect
from phintys.optimizer.passes.length_checks import check_lengths, note_lengths
from phintys.optimizer.passes.merge import merge
from phintys.optimizer.passes.reduction_fusion import fuse_reductions
from phintys.optimizer.rewrites import (
    approximations,
    blas_rewrites,
    cancelling,
    congruences,
    diagonals,
    distinct,
    fills,
    group_sums,
    indexing,
    joins,
    log_sum_exp,
    logarithms,
    neutral,
    one_element,
    outside_sums,
    parts_of_joins,
    reductions,
    shifted_exponentials,
    signs,
    softmax,
    specialize,
    stabilize,
    switches,
    systems,
    unused_outputs,
    views,
)

FOLDING = Family("constant_folding", constant_folding.REWRITES, ("canonicalize", "stabilize", "specialize"))
CANONICALIZE = [Family(name, table.REWRITES, ("canonicalize",)) for name, table in (
    ("neutral", neutral), ("switches", switches), ("views", views), ("fills", fills),
    ("shapes", shapes), ("reductions", reductions), ("joins", joins), ("parts_of_joins", parts_of_joins),
    ("indexing", indexing), ("one_element", one_element), ("signs", signs), ("ifelse", lazy_branches))]
STABILIZE = [Family("stabilize", stabilize.REWRITES), Family("signs", signs.POWERS, ("stabilize",)),
             Family("cancelling", cancelling.REWRITES, ("stabilize",)),
             Family("outside_sums", outside_sums.REWRITES + group_sums.REWRITES, ("stabilize",)),
             Family("linear_algebra", systems.REWRITES, ("stabilize",)),
             Family("linear_algebra", congruences.REWRITES + diagonals.REWRITES, ("stabilize",))]
SOFTMAX = [Family("softmax", softmax.REWRITES, ("stabilize", "specialize"))]
LOGARITHMS = [Family("logarithms", logarithms.REWRITES, ("stabilize",))]
IFELSE = [Family("ifelse", lazy_branches.REWRITES)]
SPECIALIZE = [Family("specialize", specialize.REWRITES), Family("linear_algebra", systems.HINTS, ("specialize",))]
APPROXIMATIONS = [Family("uncanonicalize", approximations.REWRITES)]
BATCH_NORMALIZATION = [Family("batchnorm_opts", unused_outputs.REWRITES, ("specialize",)),
                       Family("ctc_opts", unused_outputs.CTC, ("specialize",)),
                       Family("unique_opts", distinct.REWRITES, ("specialize",)),
                       Family("linear_algebra", systems.PSEUDO_INVERSES, ("specialize",))]
BLAS = [Family("blas", blas_rewrites.REWRITES, ("BlasOpt",))]

CONVOLUTIONS = ["AbstractConv", "AbstractConv2d", "AbstractConv3d", "CorrMM", "Corr3dMM"]
SUMS = "nan range rounding"         # what another order, or a shift, of summands may change
LARGEST_NUMBER_OF_TURNS = 5        # the graphs of tests/optimizer/test_linear_time.py need 1 or 2, whatever their size

_drivers = {}                  # (name of the stage, query, version of what is registered) -> Driver


def _driven(name, families):
    """Return a stage that applies the rewrites of ``families``."""
    def stage(fgraph, query):
        key = name, query, registered.version
        driver = _drivers.get(key)
        if driver is None:
            users = Family(name, registered.rewrites.get(name, ()), (name,))
            rewrites = [rewrite for family in [*families, users] for rewrite in family.chosen(query)]
            if name == "specialize":
                rewrites.extend([entry for entry in query.extra if not isinstance(entry, tuple)])
            driver = _drivers[key] = Driver(rewrites)
        return driver.run(fgraph).replacements if driver.rewrites else 0
    return stage


def _whole(function, *tags, changes=""):
    """Return a stage that processes the whole graph, if the query includes one of ``tags``; ``changes`` is as for a
    rewrite."""
    tags = frozenset(tags).union(change_tags(changes))

    def stage(fgraph, query):
        return function(fgraph) if query.wants(tags) else 0
    stage.changes, stage.function = tuple(changes.split()), function
    return stage


def _of_nodes(keys, name, *tags, changes=""):
    """Return a stage for graphs with nodes of one of some keys, a function of ``passes``: ``"module.function"``.

    The module is imported when the first such graph is compiled: most programs need none of these, nor their ops.
    """
    module, function = name.split(".")

    def process(fgraph):
        present = fgraph.derived.get("keys")        # of fourteen stages, most change nothing
        if present is None:
            present = fgraph.derived["keys"] = set(map(key_of_class, {type(node.op) for node in fgraph.apply_nodes}))
        if present.isdisjoint(keys):
            return 0
        return getattr(import_module(f"phintys.optimizer.passes.{module}"), function)(fgraph)
    process.place = f"phintys.optimizer.passes.{module}", function
    return _whole(process, *tags, changes=changes)


_of_loops = partial(_of_nodes, ["Scan"])


def _in_turns(first, second):
    """Run two stages in turn while both find something: results of the first are often equal to existing nodes."""
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
_CHECKS = FAST_RUN, "canonicalize", "stabilize", "specialize", "length_checks"
_resolve_nested = _whole(lazy_branches.resolve_nested, FAST_RUN, "ifelse", "cond_merge_nested")

_FUSION = frozenset([FAST_RUN, "fusion", "fuse", "elemwise_fusion", "local_elemwise_fusion"])


def _fuse(fgraph, query):
    """Fuse elementwise nodes, with other formulas for derivatives where the query allows it."""
    return fusion.fuse(fgraph, query.wants(_FUSION.union(change_tags("rounding")))) if query.wants(_FUSION) else 0


_fuse.changes, _fuse.function = ("rounding",), fusion.fuse

STAGES = [
    ("inline_ofg_expansion", _whole(expand_inner_graphs, FAST_RUN, FAST_COMPILE, "inline_ofg_expansion")),
    ("cond_merge_nested1", _resolve_nested),        # merging would move equal ones out of the branches
    ("merge1", _whole(merge, FAST_RUN, FAST_COMPILE, "merge", "merge1")),
    ("drop_unused_outputs", _whole(drop_unused_outputs, FAST_RUN, FAST_COMPILE, "drop_unused_outputs")),
    ("note_lengths", _whole(note_lengths, *_CHECKS)),
    ("scan_simplify1", _of_loops("loops.simplify_loops", FAST_RUN, "scan", "scan_simplify", "scan_eqopt1")),
    ("scan_pushout_seqs", _of_loops("loop_pushing.push_before_loops", FAST_RUN, "scan", "scan_pushout",
                                       "scanOp_pushout_seqs_ops")),
    ("scan_pushout_outputs", _of_loops("loop_pushing.push_after_loops", FAST_RUN, "scan", "scan_pushout",
                                          "scanOp_pushout_output", "scanOp_pushout_seqs_ops", changes=SUMS)),
    ("canonicalize", _in_turns(_driven("canonicalize", [FOLDING] + CANONICALIZE), _merge)),
    ("stabilize", _in_turns(_driven("stabilize", [FOLDING] + STABILIZE + SOFTMAX + LOGARITHMS + CANONICALIZE), _merge)),
    ("local_log_sum_exp", _whole(log_sum_exp.stabilize_sums_of_exponentials, FAST_RUN, "stabilize",
                                 "local_log_sum_exp", changes=SUMS)),
    ("local_shift_exponentials", _whole(shifted_exponentials.shift_exponentials, FAST_RUN, "stabilize",
                                        "local_shift_exponentials", changes=SUMS)),
    ("specialize", _in_turns(_driven("specialize", [FOLDING] + SOFTMAX + SPECIALIZE), _merge)),
    ("share_factors", _whole(systems.share_factors, FAST_RUN, "linear_algebra", "share_factors", changes="rounding")),
    ("scan_simplify2", _of_loops("loops.simplify_loops", FAST_RUN, "scan", "scan_simplify", "scan_eqopt2")),
    ("scan_merge", _of_loops("loop_merging.merge_loops", FAST_RUN, "scan", "scan_merge", "scanOp_merge")),
    ("scan_needless_choices", _of_loops("loops.drop_needless_choices", FAST_RUN, "scan", "scan_needless_choices")),
    ("scan_save_mem", _of_loops("loops.keep_last_rows", FAST_RUN, "scan", "scan_save_mem")),
    ("scan_scalars", _of_loops("loop_scalars.split_short_rows", FAST_RUN, "scan", "scan_scalars")),
    ("scan_make_inplace", _of_loops("loop_carrying.carry_last_rows", FAST_RUN, "scan", "inplace", "scan_make_inplace",
                                     "scanOp_make_inplace")),
    ("scan_pushout_blocks", _of_loops("loop_pushing.push_before_blocks", FAST_RUN, "scan", "scan_pushout",
                                         "scanOp_pushout_seqs_ops")),
    ("scan_copy_factors", _of_loops("loop_factors.copy_factors", FAST_RUN, "scan", "scan_copy_factors")),
    ("cond_merge_nested", _resolve_nested),
    ("cond_merge", _in_turns(_whole(lazy_branches.merge_branches, FAST_RUN, "ifelse", "cond_merge",
                                    "cond_merge_random_op"), _driven("ifelse", IFELSE))),
    ("gpu_widen", _whole(lambda fgraph: hooks.widen_for_device(fgraph) if hooks.widen_for_device else 0, FAST_RUN,
                         "gpu", "gpuarray", "gpu_widen")),
    ("xent", _whole(softmax.share_softmax, FAST_RUN, "xent", "graph_merge_softmax_with_crossentropy_softmax",
                    changes="rounding")),
    ("batchnorm_opts", _driven("batchnorm_opts", BATCH_NORMALIZATION)),
    ("uncanonicalize", _driven("uncanonicalize", APPROXIMATIONS)),
    ("blas", _in_turns(_driven("blas", BLAS), _merge)),
    ("inner_products", _whole(find_inner_products, FAST_RUN, "fusion", "fuse", "inner_products", changes="rounding")),
    ("length_checks", _whole(check_lengths, *_CHECKS)),
    ("elemwise_fusion", _fuse),
    ("reduction_fusion", _whole(fuse_reductions, FAST_RUN, "fusion", "fuse", "reduction_fusion")),
    ("gpu", _whole(lambda fgraph: hooks.place_at_device(fgraph) if hooks.place_at_device else 0, FAST_RUN, "gpu",
                   "gpuarray")),
    ("draw_fusion", _of_nodes(["Draw"], "draw_fusion.fuse_draws", FAST_RUN, "fusion", "fuse", "draw_fusion")),
    ("convolution_fusion", _of_nodes(CONVOLUTIONS, "convolution_fusion.fuse_convolutions", FAST_RUN, "fusion", "fuse",
                                     "convolution_fusion")),
    ("cond_make_inplace", _whole(lazy_branches.make_views, FAST_RUN, "inplace", "cond_make_inplace")),
    ("protect", lambda fgraph, query: protect(fgraph)),
    ("inplace", mark_inplace),
]


def all_rewrites():
    """Yield (family or stage, `Rewrite` or stage function) of everything that may change a graph, in order."""
    seen = set()
    for family in [FOLDING, *CANONICALIZE, *STABILIZE, *SOFTMAX, *LOGARITHMS, *IFELSE, *SPECIALIZE,
                   *BATCH_NORMALIZATION, *APPROXIMATIONS, *BLAS]:
        for rewrite in family.rewrites:
            if rewrite not in seen:
                seen.add(rewrite)
                yield family.name, rewrite
    yield from [(name, stage) for name, stage in STAGES if hasattr(stage, "changes")]


def optimize(fgraph, query, stages=None):
    """Rewrite ``fgraph`` in place.

    Parameters
    ----------
    fgraph : FunctionGraph
        A private copy of the user's graph.
    query : database.Query
        Selects the rewrites to apply.
    stages : dict, optional
        Gets, for the name of each stage and of each rewrite that a user registered, (seconds, replacements).

    Returns
    -------
    dict of str to int
        The number of replacements that each stage made.
    """
    handled(fgraph).rewriting = True
    query = query.under(config.math_rules)
    title = f"compiling {getattr(fgraph, 'name', None) or 'a function'}"
    with bar_for(title, len(STAGES), config.compile.progress) as tell:
        return _run(fgraph, query, {} if stages is None else stages, tell)


def _run(fgraph, query, stages, tell):
    """Run all stages; ``tell`` is told how many are done."""
    waiting, made, reached = deque(registered.chosen(query)), {}, 0
    for number, (name, stage) in enumerate(STAGES):
        tell(number)
        position = registered.POSITIONS.get(name, 0)
        while waiting and waiting[0].position < min(position, query.position_cutoff):
            rewrite, begun = waiting.popleft(), perf_counter()
            _apply_whole(fgraph, query, rewrite)
            stages[rewrite.name] = perf_counter() - begun, 0
        if name != "protect":                       # which always runs
            reached = max(reached, position)        # also by stages without a position
            if reached >= query.position_cutoff:
                continue
        begun = perf_counter()
        made[name] = stage(fgraph, query)
        stages[name] = perf_counter() - begun, made[name] or 0
    tell(len(STAGES))
    return made


def _apply_whole(fgraph, query, rewrite):
    """Apply a user's rewrite; if it fails, the compilation fails only if ``config.on_opt_error`` says so."""
    try:
        rewrite.apply(fgraph, query)
    except Exception as error:
        report(error, rewrite, fgraph)


BEFORE_GRADIENTS = [
    dict(STAGES)["merge1"], _in_turns(_driven("canonicalize", [FOLDING] + CANONICALIZE), _merge),
    _in_turns(_driven("before_gradients", [FOLDING] + STABILIZE + SOFTMAX + CANONICALIZE + [
        Family("logarithms", logarithms.BEFORE_GRADIENTS, ("stabilize",))]), _merge)]
_BEFORE_GRADIENTS = Query(["merge", "canonicalize", "stabilize"])


def stabilize_before_gradient(fgraph):
    """Rewrite a graph in place to formulas that are simpler and more stable, as gradients of these then are, too."""
    handled(fgraph).rewriting = True
    query = _BEFORE_GRADIENTS.under(config.math_rules)
    for stage in BEFORE_GRADIENTS:
        stage(fgraph, query)
