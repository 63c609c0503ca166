"""``config.memory_limit``: calls of a function whose values would take more memory compute some of them again instead.

Sizes are known when the function is called, so the first call with new shapes is planned, as with ``allow_gc="plan"``:
if the predicted peak of the program is above the limit, the function's graph is compiled once more with a
``MemoryBudget`` (``optimizer/passes/recomputation.py``), and that program runs for these shapes. Arguments, shared
values and scratch memory of kernels do not count, as in ``memory_report``.
"""
from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy

from phintys.making.function_copies import Recipe
from phintys.ops.loops.loop import Scan
from phintys.ops.types.dtypes import integer_dtypes
from phintys.optimizer.passes.recomputation import DoesNotFit, MemoryBudget
from phintys.reports.memory_report import MemoryReport
from phintys.reports.predicted_shapes import Prediction, known_in_graph
from phintys.vm.linking.plan import REMEMBERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.function_graph import FunctionGraph
    from phintys.making.compiled_function import Function

ATTEMPTS = 6                    # programs that are made to come below a limit
FEWEST_PARTS, MOST_PARTS = 8, 512       # of loops
ROOM = 4                        # parts of a loop that fit into the limit, about
MOST_LENGTHS = 16               # elements of an argument of integers that may be a shape


class Fitting:
    """What a function with a limit runs, for each tuple of shapes.

    Parameters
    ----------
    function : Function
        Without a limit of its own program.
    limit : int
        Bytes.

    Attributes
    ----------
    latest : Function
        What the last call ran.
    """

    def __init__(self, function: Function, limit: int) -> None:
        self.function, self.limit, self.latest = function, limit, function
        self._known: OrderedDict[Any, Function] = OrderedDict()
        self._by_value: bool | None = None              # whether lengths depend on values of arguments

    def call(self, positional: Sequence[Any], named: dict[str, Any]) -> Any:
        """Make a call: ``function(*positional, **named)``."""
        chosen = {name: named.pop(name) for name in ["output_subset"] if name in named}
        values = self.function.arranged(tuple(positional), named)
        self.latest = self.fitted([self._given(value, kind) for value, kind in zip(
            values, self.function.argument_types)])
        return self.latest.evaluate(tuple(values), chosen)

    def functions(self) -> list[Function]:
        """Return the functions with fewer values that were made."""
        return [fitted for fitted in self._known.values() if fitted is not self.function]

    def _given(self, value, kind):
        """The shape of an argument, or its value if that may be a length."""
        if kind.layout is None:
            return value
        if self._by_value is not False and kind.ndim < 2 and kind.dtype in integer_dtypes:
            value = numpy.asarray(value, kind.dtype)
            if value.size <= MOST_LENGTHS:
                return value
        return numpy.shape(value)

    def fitted(self, given: Sequence[Any]) -> Function:
        """Return the function that fits for these shapes, or values, of the arguments.

        Raises
        ------
        MemoryError
            If none does.
        """
        stored = [container.get(borrow=True) for container in self.function.program.containers]
        key = (*[given if isinstance(given, tuple) else (given.shape, given.tobytes())
                 if isinstance(given, numpy.ndarray) else None for given in given],
               *[getattr(value, "shape", None) for value in stored])
        found = self._known.get(key)
        if found is None:
            if self._by_value is None:
                self._by_value = self._needs_values(given)
                if not self._by_value:
                    return self.fitted([value.shape if isinstance(value, numpy.ndarray) else value for value in given])
            found = self._made(given)
        self._known[key] = found
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found

    def _needs_values(self, given):
        """Whether values of arguments say how large some of the function's values are."""
        shapes = [value.shape if isinstance(value, numpy.ndarray) else value for value in given]
        unknown, less = [MemoryReport(self.function, *_predicted(self.function, known)).unknown
                         for known in (shapes, given)]
        return len(less) < len(unknown)

    # ---- planning ----------------------------------------------------------------------------------------------------
    def _made(self, given):
        """The function itself if it fits, else one that computes values again."""
        plain = peak_of(self.function, given)
        if plain <= self.limit:
            return self.function
        least, ways = plain, [True, False] if self.function.maker.update_positions else [True]
        for parts in self._numbers_of_parts(plain):
            found = [self._below(given, commits, parts) for commits in ways]
            fitting = [function for function, peak in found if peak <= self.limit]
            if fitting:
                return self._measured(min(fitting, key=lambda function: function.maker.budget.price), given)
            least = min([least, *[peak for _, peak in found],
                         peak_of(self._compiled(given, None, ways[-1], parts), given)])
        raise MemoryError(
            f"memory_limit: {self.function.name or 'a function'} needs {plain:,} bytes for these shapes of its "
            f"arguments, {given}, and {least:,} bytes if all that can be computed again is not kept; the limit is "
            f"{self.limit:,} bytes. memory_report(shapes) lists its values")

    def _measured(self, function, given):
        """The function, made once more for the profile of the one with the limit, if that has one."""
        budget, profile = function.maker.budget, self.function.profile
        return function if profile is None else self._compiled(given, budget.limit, budget.commits, budget.parts,
                                                               profile)

    def _numbers_of_parts(self, plain):
        """Into how many parts loops are split, until a program fits."""
        if not any([type(node.op) is Scan for node in self.function.maker.compiled.apply_nodes]):
            return [1]
        few = FEWEST_PARTS
        while few * self.limit < ROOM * plain and few < MOST_PARTS:
            few *= 2
        return [1, few, min(4 * few, MOST_PARTS)]

    def _below(self, given, commits, parts):
        """A function and its peak, which is below the limit if possible."""
        budget, best = self.limit, (None, float("inf"))
        for _ in range(ATTEMPTS):
            try:
                function = self._compiled(given, budget, commits, parts)
            except DoesNotFit:
                break
            peak = peak_of(function, given)
            best = min(best, (function, peak), key=lambda pair: pair[1])
            if peak <= self.limit:
                break
            budget = min(budget, function.maker.budget.peak) - (peak - self.limit)      # more was alive than foreseen
        return best

    def _compiled(self, given, budget, commits, parts=1, profile=False):
        """The function, with values that are computed again, and loops in parts."""
        def known_of(fgraph: FunctionGraph) -> Any:
            known = dict(zip(fgraph.inputs, given))
            for (variable, value) in zip(fgraph.inputs[len(given):], stored):
                known[variable] = value
            return known_in_graph(fgraph, known)

        recipe, maker = Recipe(self.function), self.function.maker
        stored = [container.data for container in self.function.containers_of_graph()[len(given):]]
        arguments = recipe.arguments | {"memory_limit": 0, "budget": MemoryBudget(budget, known_of, parts, commits),
                                        "profile": profile}
        function = type(maker)(**arguments).create(recipe.input_storage)
        function.trust_input = self.function.trust_input
        return function


def _predicted(function, given):
    """The shapes of the cells of a function, and where they come from."""
    prediction = Prediction(function.program, given)
    return prediction.shapes, prediction


def peak_of(function: Function, given: Sequence[Any]) -> int:
    """Return the most bytes alive at once in a call."""
    return MemoryReport(function, *_predicted(function, given)).modes[function.program.allow_gc].peak
