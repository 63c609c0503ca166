"""``function_dump``: writes all arguments of ``function`` to a file, to compile the function elsewhere.

Nothing is compiled. ``phintys.function(**pickle.load(file))`` makes the function from the file. Tags that only record
where things come from are left out of the file.
"""
from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from phintys.graph.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.graph.variable import Variable
    from phintys.shared import SharedVariable

LEFT_OUT = ("trace", "test_value")


class StripPickler(pickle.Pickler):
    """A pickler that omits attributes of tags.

    Parameters
    ----------
    file : binary file
    protocol : int
    extra_tag_to_remove : list of str, optional
        Omitted in addition to ``trace`` and ``test_value``.
    """

    def __init__(self, file: Any, protocol: int = 0, extra_tag_to_remove: Sequence[str] | None = None) -> None:
        super().__init__(file, protocol)
        self.tag_to_remove = [*LEFT_OUT, *(extra_tag_to_remove or ())]

    def reducer_override(self, thing: Any) -> Any:
        """Reduce scratchpads without the omitted attributes; everything else is pickled as usual."""
        if type(thing) is not Scratchpad:
            return NotImplemented
        return Scratchpad, (), {name: value for name, value in vars(thing).items() if name not in self.tag_to_remove}


def function_dump(filename: int | str, inputs: Sequence[Variable],
                  outputs: Variable | Sequence[Variable] | None = None, mode: str | None = None,
                  updates: Mapping[SharedVariable, Variable] | None = None, givens: Any = None,
                  no_default_updates: bool = False, accept_inplace: bool = False, name: str | None = None,
                  rebuild_strict: bool = True, allow_input_downcast: Any = None, profile: Any = None,
                  on_unused_input: Any = None, extra_tag_to_remove: Sequence[str] | None = None) -> None:
    """Write the arguments of ``function`` to a file.

    Parameters
    ----------
    filename : str
    extra_tag_to_remove : list of str, optional
        Attributes of tags to omit, in addition to ``trace`` and ``test_value``.
    inputs, outputs, mode, ...
        As in ``function``. Values of shared variables are written too.

    Raises
    ------
    AssertionError
        If ``filename`` is not a string.

    Examples
    --------
    >>> import os, tempfile
    >>> x = T.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.function_dump(os.path.join(folder, "f.pkl"), [x], x * 2)
    ...     os.listdir(folder)
    ['f.pkl']
    """
    if not isinstance(filename, str):
        raise AssertionError(f"function_dump needs the name of a file, got {filename!r}")
    arguments = {"inputs": inputs, "outputs": outputs, "mode": mode, "updates": updates, "givens": givens,
                 "no_default_updates": no_default_updates, "accept_inplace": accept_inplace, "name": name,
                 "rebuild_strict": rebuild_strict, "allow_input_downcast": allow_input_downcast, "profile": profile,
                 "on_unused_input": on_unused_input}
    with open(filename, "wb") as file:
        StripPickler(file, -1, extra_tag_to_remove).dump(arguments)
