"""Programs in the cache: what is written of one, and one that was read and makes the rest when it is asked for it.

A file in the cache has the program without its graph, texts and containers. Those of the process that reads it take
their place: the containers at once, constants of the graph, too, and the graph when somebody asks for nodes, lines or
names: for an error, a listing, a pickle. Then the maker optimises and links it, as it would have done, and all that is
said of the program is of this process. If what it makes is another program (an option was changed for the whole process
meanwhile, say), nodes stay unknown, and errors name neither nodes nor lines, rather than wrong ones.
"""
from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy

from phintys.vm.abi import Kernel
from phintys.vm.described_node import described
from phintys.vm.files.archive import pack, unpack
from phintys.vm.files.programs import BYTECODE, as_file_errors
from phintys.vm.files.values import PARTS, FileError, Reader, Unsaved, Writer
from phintys.vm.kernel_spec import plain
from phintys.vm.linking.verifier import check_layout
from phintys.vm.program import Program
from phintys.vm.texts import NO_TEXT, CellText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT = [name for name in Program.__slots__ if name not in ("nodes", "known_cell_texts", "known_instruction_texts")]


PLAIN = frozenset([type(None), bool, int, str])
INNER = "program", "blocks"      # attributes of kernels of loops with programs: the body, what is done ahead of it
_lock = RLock()                  # held while a graph is optimised for what it tells
if hasattr(os, "register_at_fork"):             # a child has no thread that would release it
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class CachedProgram(Program):
    """A program without its graph, which gets it when somebody asks.

    Attributes
    ----------
    source : callable or None
        Returns the program with its graph; it is called once.
    """

    __slots__ = ("source", "_made")

    def __init__(self, source: Callable[[], Any] | None, **fields: Any) -> None:
        self.source, self._made = source, None
        for name in KEPT:
            setattr(self, name, fields[name])

    def made(self) -> Program | None:
        """The same program with its graph; None if it cannot be made again."""
        if self.source is not None:
            with _lock:                             # another thread may have made it meanwhile
                self._make()
        return self._made

    def _make(self):
        if self.source is None:
            return
        with suppress(Exception):                   # the error, or the listing, that asks for it is what counts
            made = self.source()
            if made is not None and is_same(made, self):
                self._made, self.cells = made, made.cells
        self.source = None
        if self._made is not None:
            for _, _, inner in _inner_programs(self):
                inner.made()

    def complete(self) -> None:
        """Make the program with its graph."""
        self.made()

    @property
    def nodes(self) -> Any:
        """For each instruction the node, or None; None if the graph is not known."""
        made = self.made()
        return None if made is None else made.nodes

    @property
    def known_nodes(self) -> Any:
        """The nodes, if somebody asked for them before."""
        return None if self._made is None else self._made.nodes

    @property
    def known_cell_texts(self) -> Any:
        """What is said of cells."""
        made = self.made()
        return [CellText(f"C{number}", None, "a value") for number in range(len(self.cells))] if made is None else \
            made.cell_texts()

    @property
    def known_instruction_texts(self) -> Any:
        """What is said of instructions."""
        made = self.made()
        return [NO_TEXT] * len(self.instructions()) if made is None else made.instruction_texts()

    def on_containers(self, containers: Sequence[Any], name: str | None,
                      source: Callable[[], Any] | None = None) -> CachedProgram:
        """The same program on other containers, under another name; ``source`` is by default that of this one."""
        fields = {field: getattr(self, field) for field in KEPT}
        twin = CachedProgram(source or self.made, **fields | {"containers": list(containers), "name": name})
        _follow(twin)
        return twin


def is_same(one: Program, other: Program) -> bool:
    """Whether two programs have the same instructions and kernels."""
    return (one.code == other.code and one.pool == other.pool and len(one.cells) == len(other.cells)
            and len(one.kernels) == len(other.kernels) and all(map(_is_same_kernel, one.kernels, other.kernels)))


def _is_same_kernel(one, other):
    if type(one) is not type(other):
        return False
    bodies = [(_inner(one, name), _inner(other, name)) for name in INNER]
    if bodies[0][0] is None:
        return repr(one.spec) == repr(other.spec)           # in which NaN is equal to NaN
    return all([mine is theirs is None or (None not in (mine, theirs) and is_same(mine, theirs))
                for mine, theirs in bodies])


def _follow(program):
    """Let the programs inside kernels (bodies of loops) get their graphs from those of the outer program."""
    for number, name, inner in _inner_programs(program):
        inner.source = partial(_counterpart, program, number, name)
        _follow(inner)


def _inner_programs(program):
    """Yield (number of a kernel, attribute, program) for the programs inside the kernels of a program."""
    for number, kernel in enumerate(program.kernels):
        for name in INNER:
            inner = _inner(kernel, name)
            if isinstance(inner, CachedProgram):
                yield number, name, inner


def _inner(kernel, name):
    found = getattr(kernel, name, None)
    return found if found is None or name == "program" else getattr(found, "program", None)


def _counterpart(outer, number, name):
    """The program inside a kernel of what ``outer`` is with its graph."""
    made = outer.made()
    return None if made is None else _inner(made.kernels[number], name)


class CacheWriter(Writer):
    """Writes a program that a graph was compiled to.

    Parameters
    ----------
    containers : list of Container
        Of the program, in the order of the graph's stored inputs.
    constants : list of Constant
        Of the graph as it was before it was optimised.
    """

    def __init__(self, containers: Sequence[Any], constants: Sequence[Any]) -> None:
        super().__init__()
        self._stored = {id(container): number for number, container in enumerate(containers)}
        self._constants = {id(constant.data): number for number, constant in enumerate(constants)}

    def write(self, value: Any) -> Any:
        """The JSON of a value, as that of ``Writer``, most frequent kinds first."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is tuple:
            return {"tuple": [self.write(item) for item in value]}
        if isinstance(value, Kernel):
            return self.shared(value, self._kernel)
        if isinstance(value, numpy.ndarray):
            return self.array(value)
        return super().write(value)

    def _kernel(self, kernel):
        """A kernel by what its constructor was given; the texts of bodies are not made for it, as for a spec."""
        return {"kernel": [self.name(type(kernel)), [self._given(value) for value in kernel.arguments],
                           [[name, self._given(value)] for name, value in (kernel.named_arguments or {}).items()]]}

    def _given(self, value):
        if isinstance(value, (tuple, list)):
            return {"tuple": [self._given(item) for item in value]}
        if isinstance(value, (Kernel, Program, numpy.ndarray)):
            return self.write(value)
        return self.write(plain(value))

    def container(self, container: Any) -> Any:
        """A stored input by its number."""
        if id(container) not in self._stored:
            raise Unsaved(f"the value {container.name!r}, which is stored inside an op")
        return {"stored": self._stored[id(container)]}

    def array(self, value: Any) -> Any:
        """An array; a constant of the graph, which each process has, by its number."""
        number = self._constants.get(id(value))
        return super().array(value) if number is None else {"of_graph": number}

    def program(self, program: Program) -> Any:
        """A program without graph and texts."""
        cells = [layout._replace(variable=None) for layout in program.cells]
        fields = {name: getattr(program, name) for name in KEPT} | {
            "cells": cells, "calls": [described(node) for node in program.calls]}
        return {"program": {name: self.write(value) for name, value in fields.items()}}


class CacheReader(Reader):
    """Reads what ``CacheWriter`` wrote.

    Parameters
    ----------
    arrays : list of ndarray
    containers, constants : list
        As of ``CacheWriter``, of this process.
    """

    def __init__(self, arrays: Sequence[Any], containers: Sequence[Any], constants: Sequence[Any]) -> None:
        super().__init__(arrays)
        self.rows = self.rows | {
            "stored": lambda reader, number: containers[number], "program": CacheReader.program,
            "of_graph": lambda reader, number: constants[number].data}

    def program(self, fields: Any) -> CachedProgram:
        """A program without its graph."""
        if set(fields) != set(KEPT):
            raise FileError(f"a program has the parts {', '.join(sorted(fields))}")
        program = CachedProgram(None, **{name: self.read(value) for name, value in fields.items()})
        self.check_parts(program, [part for part in PARTS if part[0] in KEPT])
        self.verify(program)
        return program


def dumped(key: str, program: Program, argument_types: Any, containers: Sequence[Any], constants: Sequence[Any]) -> Any:
    """The bytes of a file in parts; Unsaved if the program has what no file can hold."""
    writer = CacheWriter(containers, constants)
    content = {"bytecode": BYTECODE, "key": key, "program": writer.write(program),
               "types": Writer().several(argument_types)}
    return pack(content, writer.arrays)


class Found:
    """A file of the cache that is the one of a key.

    Parameters
    ----------
    data : bytes-like
    key : str
    constants : list of Constant
        As of ``CacheWriter``.

    Attributes
    ----------
    argument_types : list of Type

    Raises
    ------
    FileError
        If it is not.
    """

    def __init__(self, data: Any, key: str, constants: Sequence[Any]) -> None:
        self._content, self._arrays = unpack(data)
        if self._content.get("key") != key or self._content.get("bytecode") != BYTECODE:
            raise FileError("the file is of another program")
        self._constants, self._program = constants, None
        with as_file_errors(AUTHOR):
            self.argument_types = Reader([]).several(self._content["types"])

    def program(self, containers: Sequence[Any], name: str | None, source: Callable[[], Any],
                inputs: Sequence[Any]) -> CachedProgram:
        """The program on these containers; FileError if it is not sound, or other containers are of other types.

        ``inputs`` are those of the graph, which errors of arguments name.
        """
        if self._program is None:
            with as_file_errors(AUTHOR):
                program = CacheReader(self._arrays, containers, self._constants).read(self._content["program"])
                if (len(self.argument_types) != program.n_arguments or len(program.containers) != len(containers)
                        or any([one is not other for one, other in zip(program.containers, containers)])):
                    raise FileError("the program has other arguments and shared values than the function")
                for number, (layout, type_) in enumerate(zip(program.cells, self.argument_types)):
                    check_layout(f"C{number}", layout, type_)
            program.cells[:len(inputs)] = [layout._replace(variable=variable)
                                           for layout, variable in zip(program.cells, inputs)]
            self._program, self._content, self._arrays = program, None, None
        elif any([one.type != other.type for one, other in zip(self._program.containers, containers)]):
            raise FileError("the program is for shared values of other types")
        return self._program.on_containers(containers, name, source)


AUTHOR = "in the cache, is not one that this version can run"
