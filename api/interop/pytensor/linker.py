"""PyTensor's linker and mode: a function graph of PyTensor as one function of phintys."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytensor.compile.mode import Mode, predefined_linkers, predefined_modes, register_linker, register_mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import Container, JITLinker
from pytensor.link.utils import map_storage

import phintys
from phintys.interop.pytensor import (  # noqa: F401  (they fill the table of rows)
    elementwise_rows,
    graph_rows,
    indexing_rows,
    linear_algebra_rows,
    loop_rows,
    random_rows,
    scalar_loop_rows,
    shape_rows,
    signal_rows,
)
from phintys.interop.pytensor.generators import with_generators
from phintys.interop.pytensor.quick_function import let_modes_choose
from phintys.interop.pytensor.translation import named_input, rules_of_densities, translated
from phintys.modes import get_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.function_graph import FunctionGraph

# The rewrites that PyTensor applies first: they remove dummy ops. ``canonicalize_db`` includes rewrites that modes
# include by name, such as PyMC's for checks of parameters. phintys does all other rewriting.
REWRITES = ("minimum_compile", "canonicalize_db")


class PhintysLinker(JITLinker):
    """A linker that hands the whole graph to phintys.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether the memory of intermediate results is released after a call; ``phintys.config.allow_gc`` by default.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> mode = pytensor.compile.Mode(linker=phintys.interop.pytensor.PhintysLinker())
    >>> pytensor.function([x], pt.exp(x).sum(), mode=mode)([0.0, 0.0])
    array(2.)
    """

    required_rewrites = REWRITES
    incompatible_rewrites = ("cxx_only", "BlasOpt", "inplace", "fusion", "scan_save_mem_prealloc")

    def fgraph_convert(self, fgraph: FunctionGraph, order: Any = None, input_storage: Any = None,
                       output_storage: list[list[Any]] | None = None, storage_map: Any = None, **options: Any) -> Any:
        """The function of phintys that computes the outputs of a graph from its inputs."""
        return with_generators(fgraph, lambda known: self._program(fgraph, known))

    def _program(self, fgraph, known):
        """A function of all inputs; those in ``known`` have a translation."""
        known.update({variable: named_input(variable) for variable in fgraph.inputs if variable not in known})
        inputs = [known[variable] for variable in fgraph.inputs]
        outputs = translated(fgraph.outputs, known, getattr(fgraph, "rows_instead", None))
        mode = get_mode("FAST_RUN").clone(link_kwargs={"allow_gc": self.allow_gc})
        with rules_of_densities():
            function = phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore", name="pytensor.function")
        function.repeat_calls()
        return function

    def create_thunk_inputs(self, storage_map: Any) -> Any:
        """The cells of the inputs, in their order."""
        return [storage_map[variable] for variable in self.fgraph.inputs]

    def jit_compile(self, function: Callable[..., Any]) -> Any:
        """The function itself, which is compiled already."""
        return function

    def make_all(self, input_storage: Sequence[Sequence[Any]] | None = None,
                 output_storage: list[list[Any]] | None = None,
                 storage_map: Any = None) -> tuple[Callable[..., Any] | list[Callable[..., Any]], ...]:
        """Return the function, the containers of its inputs and outputs, and what PyTensor asks of each node."""
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        input_storage, output_storage, storage_map = map_storage(fgraph, order, input_storage, output_storage,
                                                                 storage_map)
        function = self.fgraph_convert(fgraph)
        thunk = _thunk(function, input_storage, output_storage)
        thunk.jit_fn, thunk.allow_gc, thunk.storage_map = function, self.allow_gc, storage_map
        return (thunk, [Container(variable, storage) for variable, storage in zip(fgraph.inputs, input_storage)],
                [Container(variable, storage, readonly=True)
                 for variable, storage in zip(fgraph.outputs, output_storage)], [thunk], order)


def _thunk(function, input_storage, output_storage):
    """Return a thunk that runs a function on the values in its inputs' storage, and returns the outputs.

    PyTensor reads the returned values, so nothing is stored in ``output_storage``; it takes those of ``output_subset``
    from all. Small numbers of inputs have
    separate code, which saves a quarter of a microsecond in each call.
    """
    if len(input_storage) == 1:
        cell, = input_storage

        def thunk(output_subset=None):
            return function(cell[0])
    elif len(input_storage) == 2:
        first, second = input_storage

        def thunk(output_subset=None):
            return function(first[0], second[0])
    else:
        def thunk(output_subset=None):
            return function(*[cell[0] for cell in input_storage])

    thunk.inputs, thunk.outputs, thunk.lazy = input_storage, output_storage, False
    return thunk


def register() -> None:
    """Make the linker ``"phintys"`` and the mode ``"PHINTYS"`` known to PyTensor; importing this package does it.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> phintys.interop.pytensor.register()
    >>> x = pt.dvector("x")
    >>> pytensor.function([x], pt.exp(x).sum(), mode="PHINTYS")([0.0, 0.0])
    array(2.)
    """
    let_modes_choose(PhintysLinker)
    if "phintys" not in predefined_linkers:
        register_linker("phintys", PhintysLinker())
    if "PHINTYS" not in predefined_modes:
        register_mode("PHINTYS", Mode(PhintysLinker(), RewriteDatabaseQuery(include=list(REWRITES))))
