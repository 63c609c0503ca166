"""Theano's ``tensor.opt``: ops that its rewrites use, and decorators that register local optimizers of users.

    @register_specialize
    @local_optimizer([T.exp])
    def local_exp_of_log(node): ...
"""
from phintys.gof.local_optimizers import local_optimizer
from phintys.gof.navigators import in2out, out2in
from phintys.gof.opt import copy_stack_trace
from phintys.graph import public_names as _public_names
from phintys.graph.errors import NotScalarConstantError
from phintys.ops.identity.assertion import Assert, assert_, assert_op
from phintys.ops.indexing.constant_value import get_scalar_constant_value
from phintys.ops.shape.join import MakeVector, make_vector
from phintys.ops.shape.shape import Rebroadcast, Shape, Shape_i, shape_i
from phintys.rewrite_database import optdb
from phintys.theano_finder import lookup as _lookup

__all__ = ["Assert", "MakeVector", "NotScalarConstantError", "Rebroadcast", "Shape", "Shape_i", "assert_", "assert_op",
           "copy_stack_trace", "get_scalar_constant_value", "in2out", "local_optimizer", "make_vector", "out2in",
           "register_canonicalize", "register_specialize", "register_stabilize", "register_uncanonicalize", "shape_i"]


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
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)
