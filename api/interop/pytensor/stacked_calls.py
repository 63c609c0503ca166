"""Many calls of a function of PyTensor, one for each row of its arguments, with the results of all calls stacked.

The rows are run one after the other by a C function, which writes the results where they are to be. What that cannot
do (a function of another mode, ops in Python, updates of other variables than generators), and the first row, which
tells the shapes of all, go through PyTensor's call; so does a row that fails, for its error.
"""
from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy

from phintys.interop.pytensor.quick_function import QuickFunction
from phintys.ops.random.generator_objects import ProgramWithGenerators, state_of
from phintys.vm.callables.row_calls import call_rows

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.02                          # without a look at signals, and between two reports of progress


class StackedCalls:
    """``count`` calls of a function.

    Parameters
    ----------
    function : pytensor.compile.executor.Function
    count : int
        How many calls; at least 1.
    report : callable, optional
        Told after some calls how many they were.

    Attributes
    ----------
    results : list of numpy.ndarray
        The results of all calls so far, in arrays that have room for those of all calls.
    """

    def __init__(self, function: Callable[..., Any], count: int, report: Any = lambda rows: None) -> None:
        self.function, self.count, self.report, self.results = function, count, report, None

    def __call__(self, **given: Any) -> Any:
        """The stacked results of the calls: a list, or one array if the function returns one.

        Parameters
        ----------
        **given : numpy.ndarray
            For each argument, with a row for each call.

        Raises
        ------
        ValueError
            If results of different calls have different shapes.
        """
        self._call(given, 0)
        self.report(1)
        by_rows = self._by_rows(given) if self.count > 1 else None
        row, block = 1, 1
        while row < self.count:
            stop, start = min(row + block, self.count), perf_counter()
            last = row if by_rows is None else by_rows(row, stop)
            if last < stop:
                self._call(given, last)             # which fails, or did so in C alone
                last += 1
            self.report(last - row)
            row = last
            seconds = perf_counter() - start
            block = min(2 * block, self.count) if 2 * seconds < SECONDS else max(1, int(block * SECONDS / seconds))
        return self.results[0] if self.function.unpack_single else self.results

    def _call(self, given, row):
        """One call by PyTensor."""
        values = self.function(**{name: value[row, ...] for name, value in given.items()})
        values = list(map(numpy.asarray, [values] if self.function.unpack_single else values))
        if self.results is None:
            self.results = [numpy.empty((self.count, *value.shape), value.dtype) for value in values]
        for number, (result, value) in enumerate(zip(self.results, values)):
            if value.shape != result.shape[1:]:
                raise ValueError(f"result {number} has the shape {value.shape} in call {row}, and {result.shape[1:]} "
                                 "in those before: they cannot be stacked")
            result[row] = value

    def _by_rows(self, given):
        """What runs the rows from one up to another and returns the one that it could not run, or None."""
        if not isinstance(self.function, QuickFunction) or any([result.dtype.hasobject for result in self.results]):
            return None
        found = self.function.program_and_arguments({name: value[0, ...] for name, value in given.items()})
        if found is None:
            return None
        program, arguments, updates = found
        rows = [numpy.require(given[name], requirements="CA") for name in self.function.names]
        try:
            return Rows(program, rows, arguments, updates, self.results)
        except NotImplementedError:             # a part of the program runs in Python
            return None


class Rows:
    """The program of a function, which is run for rows of its arguments.

    Parameters
    ----------
    program : Function or ProgramWithGenerators
    rows : list of numpy.ndarray
        The first arguments, with a row for each call.
    arguments : tuple
        All arguments of one call; those after the rows are the values of shared variables.
    updates : int
        How many of the program's last results are new values of shared variables.
    results : list of numpy.ndarray
        Where the results are stacked.

    Raises
    ------
    NotImplementedError
        If the program cannot be called from C, has shared variables of other types than arrays, changes others than
        generators, or does more with generators than to draw from them.
    """

    def __init__(self, program: Any, rows: Any, arguments: Any, updates: Any, results: Any) -> None:
        self.rows, self.results, self.sources = rows, results, {}
        fixed = arguments[len(rows):]
        if isinstance(program, ProgramWithGenerators):
            self.sources = {output: source for output, source, changes in program.results if changes}
            generators = [arguments[position] for position in program.positions]
            if (sorted(self.sources.values()) != sorted(program.positions) or len(self.sources) < len(program.results)
                    or any([state_of(value) is None for value in generators])
                    or len({*map(id, generators)}) < len(generators)):
                raise NotImplementedError("a generator that is not changed by each call")
            fixed = [value for position, value in enumerate(arguments[len(rows):], len(rows))
                     if position not in program.positions]
            self.run = ProgramWithGenerators(self._run, program.positions, program.results, None)
            program = program.program
        else:
            self.run = self._run
        if updates != len(self.sources):
            raise NotImplementedError("an update of another variable than a generator")
        if not all([isinstance(value, numpy.ndarray) and not value.dtype.hasobject for value in fixed]):
            raise NotImplementedError("a shared variable whose value is no array")
        self.arguments = [numpy.require(value, requirements="CA") if isinstance(value, numpy.ndarray) else value
                          for value in arguments]
        self.entry = program.c_function("general")

    def __call__(self, first: Any, stop: Any) -> Any:
        """Run the rows from ``first`` up to ``stop``; returns the row that failed, or ``stop``."""
        self.first, self.stop = first, stop
        self.run(*self.arguments)
        return self.last

    def _run(self, *arguments):
        """The same, with states in the places of generators; a state is changed where it is."""
        count, results = len(self.rows), iter(self.results)
        outputs = [arguments[self.sources[number]] if number in self.sources else next(results)
                   for number in range(len(self.sources) + len(self.results))]
        self.last = call_rows(
            self.entry.address,
            [*[(array, True) for array in self.rows], *[(array, False) for array in arguments[count:]]],
            [(array, number not in self.sources) for number, array in enumerate(outputs)], self.first, self.stop)
        return outputs
