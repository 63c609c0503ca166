"""Theano's name ``compile.function_module`` for the parts that make functions: names, and ``orig_function``."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from phintys.function import convert_function_input
from phintys.graph.errors import AliasedMemoryError, UnusedInputError
from phintys.io import In, SymbolicInput, SymbolicOutput
from phintys.making.argument_container import ArgumentContainer
from phintys.making.compiled_function import DUPLICATE, Function
from phintys.making.function_maker import FunctionMaker
from phintys.making.supervisor import Supervisor
from phintys.ops.identity.deep_copy import deep_copy_op
from phintys.theano_finder import lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable
    from phintys.modes import Mode
    from phintys.reports.profile_stats import ProfileStats

__all__ = ["AliasedMemoryError", "ArgumentContainer", "DUPLICATE", "Function", "FunctionMaker", "In", "Supervisor",
           "SymbolicInput", "SymbolicOutput", "UnusedInputError", "convert_function_input", "deep_copy_op",
           "orig_function"]


def orig_function(inputs: Sequence[Variable | SymbolicInput | tuple[Any, ...]],
                  outputs: None | Variable | SymbolicOutput | Sequence[Variable | SymbolicOutput],
                  mode: str | Mode | None = None, accept_inplace: bool = False, name: str | None = None,
                  profile: ProfileStats | str | bool | None = None,
                  on_unused_input: Literal["raise", "warn", "ignore"] | None = None,
                  output_keys: Sequence[str] | None = None) -> Function:
    """Compile a function from specifications of its inputs; ``function`` without its conveniences.

    Parameters
    ----------
    inputs : list of In, Variable or tuple
        See ``convert_function_input``.
    outputs : None, Variable, Out, or list of them
        None makes a function that returns None.
    mode, accept_inplace, name, profile, on_unused_input
        As in ``function``.
    output_keys : list of str, optional
        Results come in a dictionary with these keys.

    Returns
    -------
    Function

    Examples
    --------
    >>> f = phintys.compile.orig_function([phintys.In(x := T.dscalar("x"))], [phintys.Out(x * 2)])
    >>> f(3)
    [array(6.)]
    """
    return FunctionMaker([convert_function_input(spec) for spec in inputs], outputs, mode,
                         accept_inplace=accept_inplace, profile=profile, on_unused_input=on_unused_input,
                         output_keys=output_keys, name=name).create()
__getattr__ = lookup(__name__)
