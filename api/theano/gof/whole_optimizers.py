"""Hand-written optimizers of graphs: objects that change a whole FunctionGraph, as programs for Theano define them.

The built-in rewrites are in tables and use none of these classes. A user's optimizer is applied to a graph directly
(``opt.optimize(fgraph)``), passed to ``Mode(optimizer=...)``, or registered in ``optdb``. Optimizers that examine one
node at a time are local optimizers; see ``local_optimizers.py``.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.destroy_handler import DestroyHandler
from phintys.optimizer.passes.merge import merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.graph.function_graph import FunctionGraph


class Optimizer:
    """Changes a FunctionGraph: subclasses define ``apply``, and ``add_requirements`` if they need features.

    Examples
    --------
    >>> class SinToCos(phintys.gof.Optimizer):
    ...     def apply(self, fgraph):
    ...         for node in list(fgraph.toposort()):
    ...             if node.op == T.sin:
    ...                 fgraph.replace(node.outputs[0], T.cos(*node.inputs))
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> SinToCos().optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    name: str | None = None

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Change the graph in place."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that ``apply`` needs."""

    def optimize(self, fgraph: FunctionGraph, *arguments: Any, **options: Any) -> Any:
        """Attach the required features, and apply."""
        self.add_requirements(fgraph)
        return self.apply(fgraph, *arguments, **options)

    def __call__(self, fgraph: FunctionGraph) -> Any:
        return self.optimize(fgraph)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def parts(self) -> Any:
        """The optimizers it consists of."""
        return []

    def print_summary(self, stream: Any = None, level: int = 0, depth: int = -1) -> None:
        """Print its class and name, and those of its parts down to ``depth``; -1: all."""
        print_summary(self, sys.stdout if stream is None else stream, level, depth)


def print_summary(optimizer: Any, stream: Any, level: int, depth: int) -> None:
    """Print an optimizer, whole or local, and its parts indented below."""
    named = getattr(optimizer, "name", None) or getattr(optimizer, "__name__", None)
    print(f"{' ' * level}{type(optimizer).__name__} {named} id={id(optimizer)}", file=stream)
    if depth:
        for part in optimizer.parts():
            part.print_summary(stream, level + 2, depth - 1)


def report_failure(error: BaseException, what: Any, where: Any) -> Any:
    """React to a failed optimization as ``config.on_opt_error`` says; failed assertions are always raised.

    Parameters
    ----------
    error : Exception
    what, where : object
        The optimizer, and the node or graph it failed on.
    """
    if isinstance(error, AssertionError) or config.on_opt_error in ("raise", "pdb"):
        raise error
    if config.on_opt_error == "warn":
        import logging  # costs 3 ms, so it is not imported at start
        logging.getLogger("phintys.gof").error("Optimization failure due to: %s\nnode: %s", what, where,
                                               exc_info=error)


class FromFunctionOptimizer(Optimizer):
    """An optimizer made from a function.

    Parameters
    ----------
    fn : callable
        ``fn(fgraph)``.
    requirements : sequence of callable
        Each is called with the graph before ``fn``.

    Examples
    --------
    >>> def to_cosine(fgraph):
    ...     fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]))
    >>> rewrite = phintys.gof.opt.FromFunctionOptimizer(to_cosine)
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> rewrite.optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    def __init__(self, fn: Callable[..., Any], requirements: Iterable[Any] = ()) -> None:
        self.fn = fn
        self.apply = fn                # type: ignore[method-assign]
        self.requirements = tuple(requirements)
        self.__name__ = fn.__name__

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        for require in self.requirements:
            require(fgraph)

    def __str__(self) -> str:
        return self.__name__


class AddFeatureOptimizer(Optimizer):
    """Attaches a feature to a graph that is optimized, and changes nothing.

    Parameters
    ----------
    feature : Feature

    Examples
    --------
    >>> finder = phintys.gof.toolbox.NodeFinder()
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> phintys.compile.AddFeatureOptimizer(finder).optimize(graph)
    >>> len(list(graph.get_nodes(T.sin)))
    1
    """

    def __init__(self, feature: Any) -> None:
        self.feature = feature

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        fgraph.attach_feature(self.feature)


def optimizer(f: Callable[..., Any]) -> Any:
    """Decorator: the function of a graph as an `Optimizer`.

    Examples
    --------
    >>> @phintys.gof.optimizer
    ... def sin_to_cos(fgraph):
    ...     for node in list(fgraph.toposort()):
    ...         if node.op == T.sin:
    ...             fgraph.replace(node.outputs[0], T.cos(*node.inputs))
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> sin_to_cos.optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """
    return FromFunctionOptimizer(f)


def attach_destroy_handler(fgraph: FunctionGraph) -> None:
    """Make the graph obey the rules for ops that overwrite their inputs."""
    fgraph.attach_feature(DestroyHandler())


def inplace_optimizer(f: Callable[..., Any]) -> Any:
    """Decorator: as ``optimizer``, for an optimizer that inserts ops that overwrite their inputs.

    Examples
    --------
    >>> @phintys.gof.inplace_optimizer
    ... def do_nothing(fgraph):
    ...     pass
    >>> do_nothing.optimize(phintys.FunctionGraph([], [T.constant(1.0)], clone=False))
    """
    return FromFunctionOptimizer(f, (attach_destroy_handler,))


class SeqOptimizer(Optimizer, list):  # type: ignore[misc,type-arg]
    """Optimizers one after the other; a list of them.

    Parameters
    ----------
    *opts : Optimizer, or one list of them
    failure_callback : callable, optional
        ``(error, self, optimizer)``, called instead of raising; failed assertions are raised.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x)], clone=False)
    >>> steps = phintys.gof.SeqOptimizer(phintys.gof.MergeOptimizer(),
    ...                              phintys.gof.TopoOptimizer(phintys.gof.OpSub(T.sin, T.cos)))
    >>> _ = steps.optimize(graph)
    >>> phintys.pp(graph.outputs[0])
    'cos(x)'
    """

    def __init__(self, *opts: Any, failure_callback: Any = None) -> None:
        super().__init__(opts[0] if len(opts) == 1 and isinstance(opts[0], (list, tuple)) else opts)
        self.failure_callback = failure_callback

    @staticmethod
    def warn(exc: BaseException, self: Any, optimizer: Any) -> None:
        """A failure callback: see ``report_failure``."""
        report_failure(exc, optimizer, self)

    def apply(self, fgraph: FunctionGraph) -> Any:
        for part in self:
            try:
                part.optimize(fgraph)
            except AssertionError:
                raise
            except Exception as error:
                if self.failure_callback is None:
                    raise
                self.failure_callback(error, self, part)

    def parts(self) -> Any:
        return list(self)

    def __str__(self) -> str:
        return f"SeqOpt({list.__str__(self)})"

    __repr__ = list.__repr__


class MergeOptimizer(Optimizer):
    """Merges equal computations on equal inputs, and equal constants.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> graph = phintys.FunctionGraph([x], [T.sin(x) + T.sin(x)], clone=False)
    >>> _ = phintys.gof.MergeOptimizer().optimize(graph)
    >>> len(graph.apply_nodes)
    2
    """

    def apply(self, fgraph: FunctionGraph) -> Any:
        merge(fgraph)

    def __str__(self) -> str:
        return type(self).__name__
