"""Checks a kernel's declarations for calls in which it is not prepared: which values ``prepare`` reads, and how it is
bound.

The results of ``prepare`` must not depend on inputs that the kernel does not *examine*. Here these inputs get other
values, and the outputs must get the same shapes and strides. Protecting the memory of the inputs would detect each
read, but a process survives such a read only by a signal handler that leaves the kernel half-way, with whatever it
holds. So this is not done in a user's process; the tests of phintys do it in a separate process
(``tests/vm/test_examined.py``).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.debugging.debug_layouts import laid_out
from phintys.vm.abi import prepare_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.vm.abi import Kernel


def hidden_inputs(kernel: Kernel, inputs: Sequence[numpy.ndarray]) -> list[int]:
    """Return the numbers of the inputs whose values ``prepare`` must not read, without inputs that have no elements."""
    if kernel.examined is None:
        return []
    return [position for position, value in enumerate(inputs) if position not in kernel.examined and value.size]


def read_by_prepare(kernel: Any, inputs: Sequence[numpy.ndarray],
                    layouts: Sequence[Sequence[int]]) -> tuple[str, ...] | None:
    """Return what ``prepare`` derives from the inputs and from other values, where that differs; else None.

    Parameters
    ----------
    kernel : Kernel
    inputs : list of numpy.ndarray
        Values that the kernel accepts.
    layouts : list
        Of the outputs; see `run_kernel`.
    """
    hidden = hidden_inputs(kernel, inputs)
    if not hidden:
        return None
    given = [numpy.array(value, order="K") if position in hidden else value for position, value in enumerate(inputs)]
    expected = _derived(kernel, given, layouts)
    for number in range(3):
        for position in hidden:
            given[position][...] = _other_values(given[position].dtype)[number]
        found = _derived(kernel, given, layouts)
        if found != expected:
            return expected, found
    return None


def _other_values(dtype):
    """Return numbers that lengths and positions rarely are."""
    if dtype.kind == "b":
        return False, True, False
    return (0, 1, numpy.iinfo(dtype).max) if dtype.kind in "iu" else (0, numpy.nan, -1e4)


def _derived(kernel, inputs, layouts):
    try:
        worth, found = prepare_kernel(kernel, inputs, layouts)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"{worth}; shapes and strides {found}"


def bound_by(kernel: Any, name: str, inputs: Sequence[numpy.ndarray]) -> tuple[list[numpy.ndarray], ...]:
    """Return inputs in the layout ``name``, and arrays to bind the kernel by: others where it examines no values."""
    hidden = hidden_inputs(kernel, inputs)
    return ([laid_out(name, value) for value in inputs],
            [laid_out(name, numpy.flip(value) if position in hidden else value)
             for position, value in enumerate(inputs)])
