"""Programs in files and other processes, without their graphs and without what optimised them.

A pickled program has no graph. It keeps bytecode, cells, kernels (each as its class and plain
arguments), constants, what is a view of what, texts for listings and errors, and its containers with the values they
have at that moment; ``with_containers`` puts others in their place. What is pickled together shares containers
afterwards if it shared them before.

``dumps`` differs from ``pickle.dumps`` in one thing: classes are named by the modules that define them, not by the
public ones. So the process that loads needs the virtual machine, the kernels and the types, but no symbolic op, no
optimizer and no function maker. Pickles of both kinds are read by ``loads``, as long as both sides run the same version
of phintys on machines of one kind; they are no format for archives.

An op that has only ``perform`` is saved itself, with a description of its node. It cannot be if it holds a graph, or
what else cannot be pickled: `dumps` says which op it is. ``perform`` of an op that asks its node for more than the
description has fails when it is called, with a message that says so.
"""
import io
import pickle
from importlib import import_module

from phintys.graph.apply import Apply
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.public_names import defined_in
from phintys.graph.variable import Variable
from phintys.vm.callables.callable import Callable
from phintys.vm.described_node import DescribedNode
from phintys.vm.linking.verifier import verify
from phintys.vm.program import Program

GRAPH_PARTS = (Apply, Variable, FunctionGraph)


class GraphError(TypeError):
    """What is to be saved holds a graph."""


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
    return written.getvalue()


def loads(data):
    """What ``dumps`` was given. As with any pickle, only data from a source that is trusted may be loaded."""
    return pickle.loads(data)


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
