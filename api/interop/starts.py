"""What PyMC and nutpie compile in PyTensor's mode FAST_COMPILE to call it once or for each chain, without C."""
from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from pymc import initial_point
from pytensor.compile.mode import FAST_COMPILE, Mode
from pytensor.link.basic import PerformLinker
from pytensor.link.vm import VMLinker

from phintys.interop.swaps import Swaps, marked

if TYPE_CHECKING:
    from collections.abc import Callable


class PythonLinker(PerformLinker):
    """PyTensor's linker that calls Python, for what FAST_COMPILE compiles to be called once.

    The linker of that mode runs the same code, but compiles a part of itself in C in the first process and loads
    setuptools, which takes longer than a small model. Ops that choose what to compute are left to it.
    Generators are copied when they draw: the rewrite that lets them draw in place looks at all others for each.
    """

    incompatible_rewrites = (*PerformLinker.incompatible_rewrites, "random_make_inplace")

    def make_all(self, *arguments: Any, **options: Any) -> tuple[Callable[..., Any] | list[Callable[..., Any]], ...]:
        """Let another linker of PyTensor make what has lazy ops, which this one cannot run."""
        made = super().make_all(*arguments, **options)
        if any(thunk.lazy for thunk in made[3]):
            linker = VMLinker(allow_gc=self.allow_gc, use_cloop=False, c_thunks=False)
            return linker.accept(self.fgraph, self.no_recycling).make_all(*arguments, **options)
        return made


IN_PYTHON = Mode(PythonLinker(), FAST_COMPILE.provided_optimizer)


@marked
def compiler_of_starts(compile_function: Callable[..., Any]) -> Callable[..., Any]:
    """PyMC's compiling of what draws starts, which is in the mode FAST_COMPILE. Generators take their seeds in the
    order in which that mode's rewrites leave them, so these are kept."""
    @wraps(compile_function)
    def compile_start(*arguments, mode, **options):
        return compile_function(*arguments, mode=IN_PYTHON if mode is FAST_COMPILE else mode, **options)
    return compile_start


STARTS = Swaps([(initial_point, "compile", compiler_of_starts)])
