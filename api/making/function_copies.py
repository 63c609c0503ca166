"""Copies of functions: a ``Recipe`` has all data that are needed to make a function again.

It has the arguments of ``FunctionMaker`` and the storage of the inputs that the user declared. Pickling and deep
copying use it unchanged, so that functions which share a container, or hold the same shared variable, still do so
afterwards; ``copy`` changes it first. Shared variables are in the graph and need no storage here.

Copies and pickles keep the program, on the containers of the copy, and optimise the graph only when somebody asks for
it. Copies without the updates are compiled from the user's graph, because the result of the rewrites depends on them;
so are functions that are measured or have values on a device, and those from a pickle of a version with another
bytecode.
"""
from __future__ import annotations

import copy
import io
import pickle
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import hooks
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.public_names import at_home
from phintys.graph.variable import Variable
from phintys.making.argument_container import ArgumentContainer
from phintys.shared import SharedVariable, container_of
from phintys.vm.containers.container import Container
from phintys.vm.places import HOST
from phintys.vm.program import Program, bytecode

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
        if not hasattr(swap, "items"):
            raise TypeError(f"swap must be a dict from shared variables to others, got {swap!r}")
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

    def make_with_program(self, name: str | None, swap: Mapping[Any, Any]) -> Function | None:
        """The function, with the program of the one that is copied on its own containers; None: it must be compiled."""
        function = self.function
        if not may_keep_program(function) or any([old.type.shape != new.type.shape for old, new in swap.items()
                                                  if hasattr(old.type, "shape")]):
            return None
        containers = {id(old): new for old, new in zip(function.input_storage, self.input_storage)}
        containers |= {id(old.container): new.container for old, new in swap.items()}
        program = function.program.on_containers([containers.get(id(one), one) for one in function.program.containers],
                                                 name)
        maker = type(function.maker)(**self.arguments | {"name": name, "argument_types": function.argument_types})
        copied = maker.create_with(program, self.input_storage)
        copied.trust_input = function.trust_input
        return copied

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


# ---- programs in pickles ---------------------------------------------------------------------------------------------
SMALL_ARRAY = 1024              # bytes of an array that is written twice rather than looked for


def may_keep_program(function: Function) -> bool:
    """Whether a copy of a function may have its program: it is plain, not measured, and has no value on a device."""
    program, maker = function.program, function.maker
    return ("keeps_programs" in vars(type(maker)) and isinstance(program, Program) and function.profile is None
            and all([cell.place == HOST for cell in program.cells]) and not _has_measured_loops(program))


def _has_measured_loops(program):
    """Whether a loop counts its steps: what it counts belongs to an op of the graph."""
    return any([kernel.measurements() is not None for kernel in program.kernels if hasattr(kernel, "measurements")])


class ApartPickler(pickle.Pickler):
    """Pickles something apart from parts of it, by default shared variables and their containers.

    Attributes
    ----------
    parts : list
        These, in the order of their numbers.
    """

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.parts: list[Any] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, thing: Any) -> int | None:
        """The number of a part, or None for what is pickled here."""
        if not self.is_part(thing):
            return None
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self.parts)
            self.parts.append(thing)
        return self._numbers[id(thing)]

    def is_part(self, thing: Any) -> bool:
        """Whether something is pickled apart."""
        return isinstance(thing, (SharedVariable, Container))


class ProgramPickler(ApartPickler):
    """Pickles a program apart from what it shares with the graph: containers, large arrays and ops."""

    def __init__(self, stream: io.BytesIO, program: Program) -> None:
        super().__init__(stream)
        self._ops = {id(node.op) for node in program.calls}

    def is_part(self, thing: Any) -> bool:
        """Whether something is pickled apart."""
        return (isinstance(thing, Container) or id(thing) in self._ops
                or (type(thing) is numpy.ndarray and thing.nbytes >= SMALL_ARRAY))


class ApartUnpickler(pickle.Unpickler):
    """Reads what `ApartPickler` wrote."""

    def __init__(self, content: bytes, parts: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self._parts = parts

    def persistent_load(self, number: int) -> Any:
        """The part of a number."""
        return self._parts[number]


def checksum() -> int:
    """Return a checksum of the bytecode."""
    from zlib import crc32  # only pickles need it
    return crc32(bytecode())


def kept_program(function: Function) -> tuple[Any, ...] | None:
    """What a pickle keeps besides the graph, so that nothing is compiled: a checksum of the bytecode, a pickle of the
    program, the parts that it shares with the graph, and the types of arguments. None: it is to be compiled again."""
    if not may_keep_program(function) or function.maker.memory_limit:       # plans need the graph that was compiled
        return None
    stream = io.BytesIO()
    pickler = ProgramPickler(stream, function.program)
    with suppress(Exception):                   # what cannot be pickled may be in a kernel alone, or what a mode added
        pickler.dump(function.program)
        pickle.dumps([node.op for node in function.program.calls])
        return checksum(), hooks.version, stream.getvalue(), pickler.parts, function.argument_types
    return None


def program_from(kept: tuple[Any, ...] | None) -> Program | None:
    """The program that a pickle keeps; None if it has none that this version of phintys runs."""
    if kept is None or kept[:2] != (checksum(), hooks.version):
        return None
    with suppress(Exception):                   # of a kernel or an op that is not what it was
        return ApartUnpickler(kept[2], kept[3]).load()
    return None


def pickled(function: Function) -> tuple[Any, ...]:
    """What ``__reduce__`` of a function returns.

    Schedulers pickle and unpickle a function for each task. What is not its own is written once, as bytes, and read
    once in a process. In other functions the pickle shares the graph with what is pickled beside them.
    """
    found = apart(function)
    return (remake, _parts_of(function)) if found is None else (remade_once, found)


def _parts_of(function):
    """The arguments of ``remake``."""
    recipe = Recipe(function)
    return (type(function.maker), recipe.arguments, recipe.input_storage, {"trust_input": function.trust_input},
            kept_program(function))


def apart(function: Function) -> tuple[bytes, list[Any]] | None:
    """A pickle of all that functions with other values have in common, and the shared variables and their containers;
    None if there is more that can be set in a function, or its pickle is large. It is found once."""
    key = apart, function.trust_input
    if key not in function.lasting:
        function.lasting[key] = _found_apart(function) if _has_only_shared_values(function) else None
    return function.lasting[key]


def _found_apart(function):
    parts = _parts_of(function)
    stream = io.BytesIO()
    pickler = ApartPickler(stream)
    with suppress(Exception):                   # what only another pickler can write, as that of a class of a program
        pickler.dump(parts)
        content = stream.getvalue()
        known = [part.container for part in pickler.parts if isinstance(part, SharedVariable)]
        if (parts[-1] is not None and len(content) <= LARGEST_REMADE and b"__main__" not in content
                and all([container in known for container in function.program.containers])):    # not made for givens
            return content, pickler.parts
    return None


def _has_only_shared_values(function):
    """Whether all that can be set in a function is arrays in shared variables of this process."""
    return ("shares_programs" in vars(type(function)) and not function.program.calls
            and all([container.required if isinstance(container, ArgumentContainer)
                     else spec.shared and spec.variable.visits is None and hasattr(container.type, "shape")
                     for spec, container in zip(function.maker.inputs, function.input_storage)]))


def token_of(function: Function) -> Any:
    """What identifies the function's results for Dask, also in another process."""
    from phintys.interop.dask_token import token_apart, token_of, token_of_values

    if apart(function) is None:
        return token_of(Recipe(function), function.trust_input)
    key = token_of, function.trust_input
    if key not in function.lasting:
        function.lasting[key] = token_apart(Recipe(function), function.trust_input)
    token, containers = function.lasting[key]
    return "phintys function", token, *token_of_values(containers)


MOST_REMADE = 64                # functions of pickles that a process knows
LARGEST_REMADE = 1 << 20        # bytes of such a pickle, which the function keeps, too

_remade: dict[bytes, tuple[Function, dict[int, int]]] = {}


@at_home
def remade_once(content: bytes, parts: Sequence[Any] = ()) -> Function | None:
    """Unpickle a function with the program of the first that had the same pickle, on its own shared variables."""
    if not config.unpickle_function:
        return None
    known = _remade.get(content)
    if known is None:
        emptied = _emptied(parts)
        model = remake(*ApartUnpickler(content, emptied).load())
        if model is None:                               # another thread has changed the configuration
            return None
        known = model, {id(part): number for number, part in enumerate(emptied)}
        if len(_remade) >= MOST_REMADE:
            _remade.pop(list(_remade)[0], None)         # a copy, as other threads may change it
        _remade[content] = known
    model, numbers = known
    program, maker = model.program, model.maker

    def arguments() -> dict[str, Any]:
        _, found, _, _, kept = ApartUnpickler(content, parts).load()
        return found | {"argument_types": kept[4]}

    if parts:
        containers = [parts[numbers[id(container)]] for container in program.containers]
        program, maker = program.on_containers(containers, program.name), type(maker).waiting(arguments)
    twin = type(model)(maker, program, [parts[numbers[id(container)]] if id(container) in numbers else container.twin()
                                        for container in model.input_storage], model.maker)
    twin.trust_input = model.trust_input
    twin.lasting[apart, twin.trust_input] = content, parts
    return twin


def _emptied(parts):
    """Shared variables and containers as these, with small values: a function that is only a model keeps them."""
    empty = {}
    for part in parts:
        container = container_of(part)
        if id(container) not in empty:
            kind = container.type
            value = numpy.zeros([length or 0 for length in kind.shape], kind.numpy_dtype)
            empty[id(container)] = Container(kind, value, container.name, container.readonly, container.strict,
                                             container.allow_downcast)
    return [type(part)(part.name, part.type, None, None, container=empty[id(part.container)])
            if isinstance(part, SharedVariable) else empty[id(part)] for part in parts]


@at_home
def remake(maker_class: type, arguments: Mapping[Any, Any], input_storage: Sequence[ArgumentContainer | Container],
           attributes: Mapping[str, bool], kept: tuple[Any, ...] | None = None) -> Function | None:
    """Unpickle a function, with its program or by compiling it again. None if ``config.unpickle_function`` is off."""
    if not config.unpickle_function:
        return None
    program = program_from(kept)
    if program is not None and kept is not None:
        function = maker_class(**arguments, argument_types=kept[4]).create_with(program, input_storage)
    else:
        function = maker_class(**arguments).create(input_storage)
    for name, value in attributes.items():
        setattr(function, name, value)
    return function
