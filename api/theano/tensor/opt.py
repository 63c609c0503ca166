"""Theano's ``tensor.opt``: ops that its rewrites use, its local optimizers, and decorators that register users' ones.

    @register_specialize
    @local_optimizer([T.exp])
    def local_exp_of_log(node): ...

The local optimizers have no lines here: a name of rows of the optimizer's tables, such as ``local_dimshuffle_lift``, is
a `TableOptimizer` once somebody asks for it, and ``mul_canonizer`` one that visits all nodes.
"""
from phintys.gof.local_optimizers import LocalOptGroup, LocalOptimizer, local_optimizer
from phintys.gof.navigators import in2out, out2in
from phintys.gof.opt import copy_stack_trace
from phintys.graph import public_names as _public_names
from phintys.graph.errors import NotScalarConstantError
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant
from phintys.ops.identity.assertion import Assert, assert_, assert_op
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.shape.join import MakeVector, make_vector
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, shape_i
from phintys.optimizer.engine.database import CONSTANT, REPEATED, Rewrite
from phintys.optimizer.engine.driver import standing_for
from phintys.optimizer.engine.forms import key, key_of
from phintys.optimizer.passes.shapes import ShapeFeature
from phintys.optimizer.pipeline import all_rewrites
from phintys.rewrite_database import optdb
from phintys.theano_finder import lookup as _lookup

__all__ = ["Assert", "MakeVector", "NotScalarConstantError", "Rebroadcast", "Shape", "ShapeFeature", "Shape_i",
           "assert_", "assert_op", "copy_stack_trace", "get_scalar_constant_value", "in2out", "local_optimizer",
           "make_vector", "out2in", "register_canonicalize", "register_specialize", "register_stabilize",
           "register_uncanonicalize", "shape_i"]


def _registering(family, *always):
    """Return a decorator that registers local optimizers in a family."""
    def register(lopt, *tags, name=None, **options):
        if isinstance(lopt, str):                       # only tags: return a decorator
            return lambda inner: register(inner, lopt, *tags, name=name, **options)
        named = name or lopt.name or getattr(lopt, "__name__", None) or str(lopt)
        optdb[family].register(named, lopt, *always, *tags, **options)
        return lopt

    register.__name__ = f"register_{family}"
    register.__doc__ = f"""Let every compilation try a local optimizer with those of {family}.

    Parameters
    ----------
    lopt : LocalOptimizer or str
        Or a tag, as all further arguments; a decorator is then returned.
    *tags : str
    name : str, optional

    Returns
    -------
    LocalOptimizer

    Raises
    ------
    ValueError
        If its name is taken.

    Examples
    --------
    >>> @T.opt.register_{family}("my_tag")
    ... @T.opt.local_optimizer([T.exp])
    ... def local_{family}_exp_of_log(node):
    ...     inner = node.inputs[0].owner
    ...     return [inner.inputs[0]] if inner is not None and inner.op == T.log else False
    >>> without = phintys.compile.get_default_mode().excluding("my_tag")
    """
    return register


register_canonicalize = _registering("canonicalize", "fast_run", "fast_compile")
register_stabilize = _registering("stabilize", "fast_run")
register_specialize = _registering("specialize", "fast_run")
register_uncanonicalize = _registering("uncanonicalize", "fast_run")


class TableOptimizer(LocalOptimizer):
    """The rows of the optimizer's tables that have a name, or it as a tag, as one local optimizer.

    Parameters
    ----------
    name : str
    rows : list of Rewrite

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.opt.local_useless_elemwise.transform(T.add(x).owner)
    [x]
    """

    def __init__(self, name, rows):
        self.name = self.__name__ = name
        self.rows = rows

    def transform(self, node):
        graph = getattr(node, "fgraph", None)
        if graph is None:
            leaves = [variable for variable in graph_inputs(node.outputs) if not isinstance(variable, Constant)]
            graph = FunctionGraph(leaves, node.outputs, clone=False)
        inside = {CONSTANT if isinstance(variable, Constant) else key(variable) for variable in node.inputs}
        if len(set(node.inputs)) < len(node.inputs):
            inside.add(REPEATED)
        for row in self.rows:
            if (not row.keys or key_of(node.op) in row.keys) and (not row.of or not row.of.isdisjoint(inside)):
                found = row.apply(graph, node)
                if found is not None:
                    found = found if isinstance(found, (list, tuple)) else [found]
                    found = [None if new is None else standing_for(old, node, new)
                             for old, new in zip(node.outputs, found)]
                    if found != [None] * len(found):
                        return found
        return False

    def __str__(self):
        return self.name

    __repr__ = __str__


def __getattr__(name):
    rows = [row for _, row in all_rewrites() if isinstance(row, Rewrite) and name in row.tags] \
        if name.startswith("local_") else []
    if rows:
        found = TableOptimizer(name, rows)
    elif name in ("add_canonizer", "mul_canonizer"):
        found = in2out(LocalOptGroup(*[__getattr__(f"local_{part}") for part in (name, "fill_sink")]), name=name)
    else:
        return _elsewhere(name)
    globals()[name] = found
    return found


_public_names.adopt(globals())
_elsewhere = _lookup(__name__)
