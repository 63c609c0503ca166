"""``ScanProfileStats``: the times that the steps of a loop took.

The kernel of a loop counts runs and steps and times the instructions of the body (``vm/loops/loop_kernel.pyx``). If
steps are run in Python, the compiled body is measured like any function, and ``Scan.perform`` adds the runs.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from phintys.graph.public_names import at_home
from phintys.reports.profile_stats import MeasuredFunction, ProfileStats

if TYPE_CHECKING:
    from typing import TextIO

    from phintys.vm.loops.loop_kernel import LoopKernel

__all__ = ["ScanProfileStats"]


class MeasuredLoop(MeasuredFunction):
    """The records of the kernel of a loop: those of its body's program."""

    def __init__(self, kernel: LoopKernel) -> None:
        self.kernel, self.profile = kernel, kernel.measurements()
        self.names = [instruction.name for instruction in kernel.program.symbolic()]
        self.nodes = [None] * len(self.names) if kernel.program.nodes is None else kernel.program.nodes
        self.function = lambda: None                # there is no function, only a program


@at_home
class ScanProfileStats(ProfileStats):
    """Times and counts of the steps of one loop.

    ``scan(..., profile=True)`` makes one for a loop, which is printed when the program ends. ``function(...,
    profile=True)`` makes one for each loop of the function, which the function's summary prints. If ``config.profile``
    is on, each loop has one. For a loop in a compiled graph, ``node.op.step_profile()`` returns it. It counts the
    operations of the body in each step.

    Parameters
    ----------
    atexit_print, **values
        As of `ProfileStats`.
    name : str, optional
        Of the loop.

    Examples
    --------
    >>> import numpy, phintys
    >>> x, stats = phintys.tensor.dvector("x"), phintys.compile.ScanProfileStats(atexit_print=False)
    >>> rows, _ = phintys.scan(lambda row, state: phintys.tensor.tanh(row + state), x, x[0], profile=stats)
    >>> f = phintys.function([x], rows)
    >>> _ = f(numpy.ones(3)), f(numpy.ones(5))
    >>> stats.callcount, stats.nbsteps
    (2, 8)
    """

    is_inside = True

    def __init__(self, atexit_print: bool = True, name: str | None = None, **values: Any) -> None:
        values.setdefault("message", f"{name or 'Scan'} sub profile")
        super().__init__(atexit_print, **values)
        self.name, self.printed_apart = name, atexit_print
        self._runs, self._run_seconds = 0, 0.0      # of loops whose steps are run in Python

    def watch_loop(self, kernel: LoopKernel) -> None:
        """Collect the records of a loop's kernel that measures."""
        self._measured.append(MeasuredLoop(kernel))
        kernel.measurements().skips_first = self.ignore_first_call

    def add_run(self, seconds: float) -> None:
        """Count a run of a loop whose steps are run in Python."""
        self._runs += 1
        self._run_seconds += seconds

    def _loops(self):
        return [measured for measured in self._measured if isinstance(measured, MeasuredLoop)]

    @property
    def callcount(self) -> int:
        """How often the loop ran."""
        return self._runs + sum([loop.profile.calls for loop in self._loops()])

    @property
    def nbsteps(self) -> int:
        """How many steps there were, altogether."""
        return sum([measured.kernel.steps_done if isinstance(measured, MeasuredLoop) else measured.profile.calls
                    for measured in self._measured])

    @property
    def call_time(self) -> float:
        """Seconds in the loop, altogether."""
        return self._run_seconds + sum([loop.profile.seconds for loop in self._loops()])

    @property
    def in_registers(self) -> bool:
        """Whether steps are computed in registers, as of bodies over single numbers; such steps have no
        instructions."""
        return bool(self.flag_time_thunks and self.nbsteps) and not any(
            [calls for measured in self._measured for calls, _, _ in measured.profile.records()])

    @property
    def vm_call_time(self) -> float:
        """Seconds in the virtual machine: in all instructions, or in steps that have none."""
        return self.call_time if self.in_registers else super().vm_call_time

    fct_callcount = callcount
    fct_call_time = call_time

    def reset(self) -> None:
        """Forget all runs."""
        super().reset()
        self._runs, self._run_seconds = 0, 0.0
        for loop in self._loops():
            loop.kernel.steps_done = 0

    def __repr__(self):
        return (f"<ScanProfileStats {self.message!r}: {self.callcount} runs, {self.nbsteps} steps, "
                f"{self.call_time:.3e} s>")

    def summary_globals(self, file: TextIO | None = None) -> None:
        """Print nothing: the profile of the function prints these times."""

    def summary(self, file: TextIO | None = None, n_ops_to_print: int | None = None,
                n_apply_to_print: int | None = None) -> None:
        """Print for the body what `ProfileStats` prints for a function."""
        if self.in_registers:
            self.summary_function(file)
        else:
            super().summary(file, n_ops_to_print, n_apply_to_print)

    def summary_function(self, file: TextIO | None = None) -> None:
        """Print how long the runs took, and how much of that was spent in the body."""
        file = sys.stderr if file is None else file
        if not self.callcount:
            return
        whole, machine = self.call_time, self.vm_call_time
        inside = 100 * machine / whole if whole > 0 else 0.0
        print(f"\nScan Op profiling ( {self.name} )" if self.name else "\nScan Op profiling", file=file)
        print("==================", file=file)
        print(f"  Message: {self.message}", file=file)
        print(f"  Time in {self.callcount} calls of the op (for a total of {self.nbsteps} steps) {whole:e}s", file=file)
        print(file=file)
        if self.in_registers:
            print("  The steps are computed in registers: there are no times of single operations.", file=file)
        print(f"  Total time spent in calling the VM {machine:e}s ({inside:.3f}%)", file=file)
        print(f"  Total overhead (computing slices..) {whole - machine:e}s ({100 - inside:.3f}%)\n", file=file)
