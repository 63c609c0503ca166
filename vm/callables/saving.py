"""Programs in files and other processes, without their graphs and without what optimised them.

A pickled program has no graph. It keeps bytecode, cells, kernels (each as its class and plain
arguments), constants, what is a view of what, texts for listings and errors, and its containers with the values they
have at that moment; ``with_containers`` puts others in their place. What is pickled together shares containers
afterwards if it shared them before.

``dumps`` differs from ``pickle.dumps`` in two things. Classes are named by the modules that define them, not by the
public ones. So the process that loads needs the virtual machine, the kernels and the types, but no symbolic op, no
optimizer and no function maker. And a header comes before the pickle: what wrote it, how long it is, and its digest.
``loads`` compares them before it reads anything else, so a file that was cut off or changed by accident, wherever, is
refused: an opcode, a cell number, a length or a dtype that is wrong would otherwise reach the interpreter, which checks
nothing. Both sides must run the same version of phintys on machines of one kind; files are no format for archives.

The digest is no signature. A pickle may run any code of the installed packages, so files are loaded only from a source
that is trusted.

An op that has only ``perform`` is saved itself, with a description of its node. It cannot be if it holds a graph, or
what else cannot be pickled: `dumps` says which op it is. ``perform`` of an op that asks its node for more than the
description has fails when it is called, with a message that says so.
"""
import hashlib
import io
import pickle
import struct
import sys
from importlib import import_module

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.public_names import defined_in
from phintys.graph.variable import Variable
from phintys.vm.callables.callable import Callable
from phintys.vm.described_node import DescribedNode
from phintys.vm.linking.verifier import verify
from phintys.vm.opcodes import OPCODES
from phintys.vm.program import ACCESS, CellLayout, Program

GRAPH_PARTS = (Apply, Variable, FunctionGraph)
MAGIC = b"phintys program\n"
HEADER = struct.Struct("<16s32sQ32s")           # MAGIC, the digest of what both sides must agree on, length, digest


class GraphError(TypeError):
    """What is to be saved holds a graph."""


class CorruptedError(ValueError):
    """Data is not what ``dumps`` has written, or was written by another version."""


def digest(data):
    """32 bytes that other data does not have."""
    return hashlib.sha256(data).digest()


def written_by():
    """The digest of what the meaning of a program depends on."""
    parts = (OPCODES, sorted(ACCESS), CellLayout._fields, Program.__slots__, sys.byteorder, sys.version_info[:2])
    return digest(repr(parts).encode())


class ProgramPickler(pickle.Pickler):
    """Names classes by the modules that define them, and refuses graphs."""

    call = None                     # the DescribedNode that is being pickled

    def reducer_override(self, thing):
        if isinstance(thing, (DescribedNode, Program)):
            self.call = thing if isinstance(thing, DescribedNode) else None
        elif isinstance(thing, GRAPH_PARTS):
            raise GraphError(self._refusal(thing))
        elif hasattr(thing, "__qualname__") and hasattr(thing, "__module__"):
            module = defined_in(thing)
            if module != thing.__module__:
                return definition, (module, thing.__qualname__)
        return NotImplemented

    def _refusal(self, thing):
        kind = type(thing).__name__
        if self.call is None:
            return f"programs are saved without their graphs, but what is to be pickled holds a {kind}: {thing}"
        return (f"{self.title()} cannot be saved without its graph: the op has only a perform in Python, and holds a "
                f"{kind}")

    def title(self):
        """The program that is being pickled, by the op that it calls."""
        return f"a program that calls {self.call.op} (a {type(self.call.op).__name__})"


def definition(module, name):
    """A class or function by the module that defines it."""
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def dumps(programs, protocol=None):
    """Programs as bytes.

    Parameters
    ----------
    programs : Program, or any structure with programs in it

    Raises
    ------
    TypeError
        If a kernel has no spec, or an op that is called in Python holds a graph.
    pickle.PicklingError
        If an op that is called in Python cannot be pickled.
    """
    written = io.BytesIO()
    pickler = ProgramPickler(written, protocol)
    try:
        pickler.dump(programs)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        if pickler.call is None or isinstance(error, GraphError):
            raise
        raise pickle.PicklingError(f"{pickler.title()} cannot be saved: the op has only a perform in Python, and "
                                   f"cannot be pickled: {error}") from error
    pickled = written.getvalue()
    return HEADER.pack(MAGIC, written_by(), len(pickled), digest(pickled)) + pickled


def loads(data):
    """What ``dumps`` was given. As with any pickle, only data from a source that is trusted may be loaded.

    Parameters
    ----------
    data : bytes-like

    Raises
    ------
    CorruptedError
        If the data is not exactly what ``dumps`` has written, in this version of phintys.
    """
    data = memoryview(data).cast("B")
    if len(data) < HEADER.size or bytes(data[:len(MAGIC)]) != MAGIC:
        raise CorruptedError(f"the {len(data)} bytes are not a saved program: they do not begin with the header that "
                             "dumps writes (what pickle.dumps has written is read by pickle.loads)")
    _, writer, length, expected = HEADER.unpack_from(data)
    pickled = data[HEADER.size:]
    if len(pickled) != length:
        raise CorruptedError(f"the saved program is corrupted: it should have {length} bytes after its header, but has "
                             f"{len(pickled)}")
    if digest(pickled) != expected:
        raise CorruptedError(f"the saved program is corrupted: its {length} bytes have another digest than when they "
                             "were written")
    if writer != written_by():
        raise CorruptedError("the saved program was written by another version of phintys or Python, or its header is "
                             "corrupted; programs are saved again by the version that is to read them")
    return pickle.loads(pickled)


def with_containers(program, containers):
    """The same program on other containers.

    Parameters
    ----------
    program : Program
    containers : sequence of Container
        One for each of ``program.containers``, of the same types.

    Raises
    ------
    ValueError
        If their number is another.
    TypeError
        If one has another type.
    """
    if len(containers) != len(program.containers):
        raise ValueError(f"{program.name or 'the program'} has {len(program.containers)} containers, "
                         f"{len(containers)} were given")
    for number, (old, new) in enumerate(zip(program.containers, containers)):
        if old.type != new.type:
            raise TypeError(f"container {number} ({old.name}) is of type {old.type}, the one given of type {new.type}")
    fields = {name: getattr(program, name) for name in Program.__slots__}
    return Program(**fields | {"containers": list(containers)})


def callable_of(program, strict_flags=None, downcast_flags=None, **options):
    """A loaded program as a Python function of its arguments, once the verifier has found it sound.

    Parameters
    ----------
    program : Program
    strict_flags, downcast_flags : list, optional
        How each argument converts, as for ``Callable``; by default as arguments without options do.
    **options
        As for ``Callable``: ``single``, ``output_keys``, ``return_none``.

    Returns
    -------
    Callable

    Raises
    ------
    ProgramError
        If the program breaks a rule of the bytecode.
    """
    verify(program)
    count = program.n_arguments
    names = [text.name for text in program.cell_texts()[:count]]
    return Callable(program, program.argument_types, names, strict_flags or [False] * count,
                    downcast_flags or [None] * count, **options)
