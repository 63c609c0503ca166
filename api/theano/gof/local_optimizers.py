"""Hand-written local optimizers: objects that examine one node and return replacements of its outputs.

``transform(node)`` returns False or None (nothing to do), a list with a replacement for each output (None: the output
is not used), or a dict from variables to their replacements. While it runs, ``node.fgraph`` is the node's graph.
Navigators (``navigators.py``) and the built-in tables (``as_rewrite``) apply local optimizers to the nodes of a graph.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from phintys.gof.whole_optimizers import attach_destroy_handler, print_summary
from phintys.graph.op import PureOp
from phintys.graph.scratchpad import copy_tag
from phintys.optimizer.engine.registered import inside, is_tracked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.graph.apply import Apply
    from phintys.graph.function_graph import FunctionGraph


class LocalOptimizer:
    """Examines one node: subclasses define ``transform``, and ``tracks`` to be called for fewer nodes.

    Examples
    --------
    >>> class ExpOfLog(phintys.gof.LocalOptimizer):
    ...     def tracks(self):
    ...         return [T.exp]
    ...     def transform(self, node):
    ...         inner = node.inputs[0].owner
    ...         return [inner.inputs[0]] if inner is not None and inner.op == T.log else False
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.exp(T.log(x))], clone=False)
    >>> _ = phintys.gof.TopoOptimizer(ExpOfLog()).optimize(graph)
    >>> graph.outputs
    [x]
    """

    name = None

    def tracks(self) -> Any:
        """The ops, or classes of ops, whose nodes it wants to see; None: all."""
        return None

    def transform(self, node: Apply) -> Any:
        """What may replace a node's outputs; see above."""
        raise NotImplementedError(f"{type(self).__name__} does not define transform")

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that ``transform`` needs."""

    def parts(self) -> Any:
        """The local optimizers it consists of."""
        return []

    def print_summary(self, stream: Any = None, level: int = 0, depth: int = -1) -> None:
        """Print its class and name, and those of its parts down to ``depth``; -1: all."""
        print_summary(self, sys.stdout if stream is None else stream, level, depth)


class FromFunctionLocalOptimizer(LocalOptimizer):
    """A local optimizer made from a function.

    Parameters
    ----------
    fn : callable
        ``fn(node)``; see ``LocalOptimizer.transform``.
    tracks : sequence of Op or of classes, optional
    requirements : sequence of callable
        Each is called with the graph before the first node.

    Examples
    --------
    >>> rewrite = phintys.gof.opt.FromFunctionLocalOptimizer(lambda node: [T.cos(*node.inputs)], tracks=[T.sin])
    >>> x = T.dvector("x")
    >>> [phintys.pp(found) for found in rewrite.transform(T.sin(x).owner)]
    ['cos(x)']
    """

    def __init__(self, fn: Callable[..., Any], tracks: Any = None, requirements: Iterable[Any] = ()) -> None:
        self.fn = fn
        self.transform = fn            # type: ignore[method-assign]
        self._tracks = tracks
        self.requirements = tuple(requirements)
        self.__name__ = fn.__name__

    def tracks(self) -> Any:
        return self._tracks

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for require in self.requirements:
            require(fgraph)

    def __str__(self) -> str:
        return self.__name__

    __repr__ = __str__


def local_optimizer(tracks: Any, inplace: bool = False, requirements: Iterable[Any] = (),
                    ) -> Callable[[Callable[..., Any]], FromFunctionLocalOptimizer]:
    """Decorator: a function of a node as a `LocalOptimizer`.

    Parameters
    ----------
    tracks : sequence of Op or of classes of ops, or None
        The nodes that it examines; None: all.
    inplace : bool
        Whether it inserts ops that overwrite their inputs.
    requirements : sequence of callable
        Each is called with the graph before the first node.

    Raises
    ------
    ValueError
        If ``tracks`` is empty or holds anything else.

    Examples
    --------
    >>> @phintys.gof.local_optimizer([T.exp])
    ... def exp_of_log(node):
    ...     inner = node.inputs[0].owner
    ...     return [inner.inputs[0]] if inner is not None and inner.op == T.log else False
    >>> x = T.dvector("x")
    >>> exp_of_log.transform(T.exp(T.log(x)).owner)
    [x]
    """
    def decorator(f: Callable[..., Any]) -> FromFunctionLocalOptimizer:
        if tracks is not None and not len(tracks):
            raise ValueError(f"Use None instead of an empty list to apply to all nodes: {f.__module__}.{f.__name__}")
        for tracked in tracks or ():
            if not (isinstance(tracked, PureOp) or (isinstance(tracked, type) and issubclass(tracked, PureOp))):
                raise ValueError(f"Tracks are op classes or instances, not {tracked!r}: {f.__module__}.{f.__name__}")
        required = tuple(requirements) + ((attach_destroy_handler,) if inplace else ())
        return FromFunctionLocalOptimizer(f, tracks, required)
    return decorator


class LocalOptGroup(LocalOptimizer):
    """A group of local optimizers; the first that applies is used.

    Parameters
    ----------
    *optimizers : LocalOptimizer, or one list of them
    apply_all_opts : bool
        Continue with the replacement's node until none applies.
    profile : bool
        Accepted for compatibility with Theano.

    Examples
    --------
    >>> to_product = phintys.gof.PatternSub((T.add, "x", "x"), (T.mul, "x", 2.0))
    >>> to_sum = phintys.gof.PatternSub((T.sub, "x", "x"), (T.mul, "x", 0.0))
    >>> group = phintys.gof.LocalOptGroup(to_product, to_sum)
    >>> x = T.dvector("x")
    >>> [phintys.pp(found) for found in group.transform((x + x).owner)]
    ['(x * TensorConstant{2.0})']
    """

    def __init__(self, *optimizers: Any, apply_all_opts: bool = False, profile: Any = False) -> None:
        self.opts = tuple(optimizers[0]) if len(optimizers) == 1 and isinstance(optimizers[0], list) else optimizers
        self.apply_all_opts = apply_all_opts
        self.profile = profile
        self.reentrant = any([getattr(part, "reentrant", True) for part in self.opts])
        self.retains_inputs = all([getattr(part, "retains_inputs", False) for part in self.opts])

    def tracks(self) -> Any:
        found = [part.tracks() for part in self.opts]
        return None if None in found else [tracked for tracks in found for tracked in tracks]

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for part in self.opts:
            part.add_requirements(fgraph)

    def transform(self, node: Apply) -> Any:
        result, fgraph = None, getattr(node, "fgraph", None)
        while True:
            with inside(fgraph, node):
                found = next(filter(None, (part.transform(node) for part in self.opts if is_tracked(part, node))), None)
            if not found:
                return result
            result = found
            first = list(found.values() if isinstance(found, dict) else found)[0]
            if not self.apply_all_opts or first.owner is None:
                return result
            node = first.owner

    def parts(self) -> Any:
        return list(self.opts)

    def __str__(self) -> str:
        return getattr(self, "__name__", f"LocalOptGroup({','.join(map(str, self.opts))})")


class OpSub(LocalOptimizer):
    """Replaces an op by another.

    Parameters
    ----------
    op1, op2 : Op
        The op, and its replacement, which takes the same inputs and has as many outputs.
    transfer_tags : bool
        Copy the tags of the old outputs to the new ones.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.OpSub(T.sin, T.cos).transform(T.sin(x).owner)
    [Elemwise{cos,no_inplace}.0]
    """

    reentrant = False
    retains_inputs = True

    def __init__(self, op1: Any, op2: Any, transfer_tags: bool = True) -> None:
        self.op1, self.op2, self.transfer_tags = op1, op2, transfer_tags

    def op_key(self) -> Any:
        """The op it replaces."""
        return self.op1

    def tracks(self) -> Any:
        return [self.op1]

    def transform(self, node: Apply) -> Any:
        if node.op != self.op1:
            return False
        made = self.op2.make_node(*node.inputs)
        if self.transfer_tags:
            for old, new in zip([node, *node.outputs], [made, *made.outputs]):
                copy_tag(old, new)
        return made.outputs

    def __str__(self) -> str:
        return f"{self.op1} -> {self.op2}"


class OpRemove(LocalOptimizer):
    """Removes an op: its outputs are replaced by its inputs.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.gof.OpRemove(T.tensor_copy).transform(T.tensor_copy(x).owner)
    [x]
    """

    reentrant = False

    def __init__(self, op: Any) -> None:
        self.op = op

    def op_key(self) -> Any:
        """The op it removes."""
        return self.op

    def tracks(self) -> Any:
        return [self.op]

    def transform(self, node: Apply) -> Any:
        return list(node.inputs) if node.op == self.op else False

    def __str__(self) -> str:
        return f"{self.op}(x) -> x"


# ---- taking them to nodes --------------------------------------------------------------------------------------------
