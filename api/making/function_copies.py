"""Copies of functions: a ``Recipe`` has all data that are needed to make a function again.

It has the arguments of ``FunctionMaker`` and the storage of the inputs that the user declared. Pickling and deep
copying use it unchanged, so that functions which share a container, or hold the same shared variable, still do so
afterwards; ``copy`` changes it first. Shared variables are in the graph and need no storage here. Copies are compiled
from the user's graph, because the result of the rewrites depends on the updates.
"""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.making.argument_container import ArgumentContainer
from phintys.shared import SharedVariable
from phintys.vm.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.making.compiled_function import Function
    from phintys.reports.profile_stats import ProfileStats


class Recipe:
    """The information from which ``function`` can be made again.

    Attributes
    ----------
    arguments : dict
        Arguments of the maker.
    input_storage : list
        Container of each declared input.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.arguments = dict(function.maker.given_arguments())
        self.input_storage = function.input_storage[:len(self.arguments["inputs"])]

    def without_sharing(self) -> Recipe:
        """Give this recipe separate storage, except for what the user shared between functions."""
        self.input_storage = [_own(spec, container)
                              for spec, container in zip(self.arguments["inputs"], self.input_storage)]
        return self

    def returning_lists(self) -> Recipe:
        """Make the recipe's function return its results as a list, as all copies do in Theano."""
        self.arguments["outputs"] = self.function.maker.outputs
        self.arguments["output_keys"] = None
        return self

    def swap(self, swap: Mapping[Any, Any]) -> None:
        """Replace shared variables by others."""
        used = self.function.finder
        for old, new in swap.items():
            if old not in used:
                raise ValueError(f"SharedVariable: {old} not found in phintys function with name "
                                 f"{self.function.name!r}, which uses {self.function.get_shared()}")
            for role, variable in (("Key", old), ("Value", new)):
                if not isinstance(variable, SharedVariable):
                    where = made_at(variable) if isinstance(variable, Variable) else ""
                    raise TypeError(f"{role} of swap should be SharedVariable, given: {variable!r}{where}")
            if old.type != new.type:
                raise TypeError(f"{old}{made_at(old)} of type {old.type} cannot be swapped for {new}{made_at(new)}"
                                f" of type {new.type}: expected a shared variable of the same type")
        earlier = self.arguments["swap"]
        self.arguments["swap"] = ({old: swap.get(new, new) for old, new in earlier.items()}
                                  | {old: new for old, new in swap.items() if old not in earlier})
        self.arguments["updates"] = [(swap.get(target, target), value) for target, value in self.arguments["updates"]]

    def delete_updates(self) -> None:
        """Remove all updates, so that a call changes nothing."""
        self.arguments["updates"] = []
        for position, spec in enumerate(self.arguments["inputs"]):
            if spec.update is not None:
                self._forget_update(position, spec)

    def _forget_update(self, position, spec):
        plain = copy.copy(spec)
        plain.update = None
        self.arguments["inputs"] = [*self.arguments["inputs"]]
        self.arguments["inputs"][position] = plain
        if not plain.is_state:                      # an argument from now on
            if not plain.required:
                plain.value = self.input_storage[position].value
            self.input_storage[position] = None

    def make(self, name: str | None, profile: ProfileStats | str | bool | None) -> Function:
        """The function."""
        maker = type(self.function.maker)(**self.arguments | {"name": name, "profile": profile})
        copied = maker.create(self.input_storage)
        copied.trust_input = self.function.trust_input
        return copied


def _own(spec, container):
    if isinstance(container, ArgumentContainer):
        return container.twin()
    if isinstance(spec.value, (Container, ArgumentContainer, SharedVariable)):
        return container
    return Container(container.type, container.data, container.name, container.readonly, container.strict,
                     container.allow_downcast)


@at_home
def remake(maker_class: type, arguments: Mapping[Any, Any], input_storage: Sequence[ArgumentContainer | Container],
           attributes: Mapping[str, bool]) -> Function | None:
    """Unpickle a function by compiling it again. None if ``config.unpickle_function`` is off."""
    if not config.unpickle_function:
        return None
    function = maker_class(**arguments).create(input_storage)
    for name, value in attributes.items():
        setattr(function, name, value)
    return function
