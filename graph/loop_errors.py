"""Errors of loops that cannot run, for the kernel of loops and for loops that run in Python."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phintys.graph.op import Op

NO_BOUND = 0x7fffffffffffffff       # the number of steps of a loop that only its condition ends


def negative_steps(title: Any, n_steps: Any) -> Any:
    """The error for a number of steps that is negative."""
    return IndexError(f"Scan was asked to run for negative number of step {n_steps}: {title}")


def no_step(title: Any) -> Any:
    """The error for a loop of no steps that must do one: a gradient by its last row is asked for."""
    return IndexError(f"{title} was asked to run for 0 steps, and the last row, by which there is a gradient, is index "
                      "-1 out of bounds for axis 0 with size 0")


def negative_rows(title: Any, number: Any, count: int) -> Any:
    """The error for a negative number of kept rows of a stacked output."""
    return IndexError(f"{title} was asked to keep a negative number of rows of its stacked output {number}: {count}")


def short_sequence(title: Any, number: Any, shape: Any, n_steps: Any) -> Any:
    """The error for a sequence that has fewer rows than there are steps."""
    return ValueError(f"Sequence {number} of {title} is shorter than the required number of steps: it has {shape[0]} "
                      f"rows for {n_steps} steps; its shape is {shape}")


def wrong_initial_rows(title: Any, number: Any, shape: Any, taps: Any) -> Any:
    """The error for a state that has more or fewer initial rows than its taps read before the first step."""
    return ValueError(f"The initial state of output {number} of {title} has {shape[0]} rows, but the taps {list(taps)} "
                      f"look {-min(taps)} steps back; its shape is {shape}")


def changed_row(number: Any, shape: Any, before: Any) -> Any:
    """The error for a row whose shape differs from that of the rows before it."""
    return ValueError(f"output {number} has the shape {shape}, and had the shape {before} before: all rows of a loop's "
                      "output have one shape")


def where_of_steps(title: Any, first: Any, count: int, n_steps: Any) -> Any:
    """In which steps an error happened, in work for several steps at once."""
    return f"in steps {first} to {first + count - 1} of {title}, of {n_steps} steps (the first is step 0)"


def where(title: Op | str, step: int, n_steps: int) -> str:
    """In which step an error happened, for the error's details."""
    steps = "with no bound on its steps" if n_steps == NO_BOUND else f"of {n_steps} steps"
    return f"in step {step} of {title}, {steps} (the first is step 0)"
