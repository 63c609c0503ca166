"""Graphs in files of programs: what functions compute, as the user wrote it, for gradients and other functions later.

A graph follows the programs of its file, and is read when somebody asks for it. It is written flat, so that it may
be of any depth: a computed variable as the nodes that no variable before it needed, inputs first, and which output of
which node it is. A node is its op, its inputs, and the names of its outputs. Ops are written as programs have them,
with the graphs inside them; functions of Python in an op (an override of a gradient) are refused.

Reading makes each node by its op's ``node_on``: types are inferred and not believed. Shared variables get the
containers of the loaded programs, so new functions share their values with the loaded ones.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys.graph.function_graph import FunctionGraph
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.making.rebuild import rebuild
from phintys.ops.graphs.op_from_graph import _Derivative as DerivativeOfGraph
from phintys.shared import SharedVariable
from phintys.vm.containers.container import Container
from phintys.vm.files.values import FileError, Reader, Unsaved, Writer, is_type_or_op

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.vm.callables.callable import Callable


class SavedGraph(NamedTuple):
    """What a function computes.

    Attributes
    ----------
    inputs : list of Variable
        The arguments, in the order of a call.
    outputs : list of Variable
        The results.
    updates : list of (SharedVariable, Variable)
        Shared variables and their new values. They hold the values of the loaded function: whoever sets one sets both.

    Examples
    --------
    >>> import tempfile
    >>> x, w = T.dvector("x"), phintys.shared([1.0, 2.0], "w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.function([x], (w * x ** 2).sum()).save(f"{folder}/f", include_graph=True)
    ...     f = phintys.load(f"{folder}/f")
    >>> graph = f.graph()
    >>> slope = phintys.function(graph.inputs, T.grad(graph.outputs[0], graph.inputs[0]))
    >>> slope([3, 4])
    array([ 6., 16.])
    """

    inputs: list[Any]
    outputs: list[Any]
    updates: list[tuple[Any, Any]]


def graph_of(function: Callable) -> SavedGraph:
    """The graph of a function: a copy, in which givens and default updates have been carried out.

    Parameters
    ----------
    function : Function or SavedFunction
        Without states that callers may set: `options_of` has refused those.

    Raises
    ------
    TypeError
        If it was loaded from a file without its graph.
    """
    if not hasattr(function, "maker"):
        return function.graph()
    maker = function.maker
    given = maker.given_arguments()
    arguments = [given["inputs"][position].variable for position in maker.positions]
    copied = rebuild([output.variable for output in maker.outputs], arguments, given["givens"], given["updates"],
                     given["rebuild_strict"], True, given["swap"])
    return SavedGraph(copied.inputs, copied.outputs,
                      [(copied.shared[variable], value) for variable, value in copied.updates.items()])


class GraphWriter(Writer):
    """Writes graphs after what another writer has written, and refers to it.

    Parameters
    ----------
    writer : Writer
    """

    def __init__(self, writer: Writer) -> None:
        vars(self).update(vars(writer))
        self._written: set[Any] = set()             # nodes
        self._of_containers: dict[Any, Any] = {}    # container → its shared variable

    def write(self, value: Any) -> Any:
        """The JSON of a value: of variables, too, and of what ops with graphs hold."""
        if isinstance(value, Variable):
            return self._variable(value)
        if isinstance(value, FunctionGraph):
            return {"inner": self.several([value.inputs, value.outputs])}
        if is_plain_record(type(value)):
            return {"parts": [self.name(type(value)), *self.several(value)]}
        return super().write(value)

    def _variable(self, variable):
        if isinstance(variable, SharedVariable):    # the copies of one in several graphs are one
            variable = self._of_containers.setdefault(variable.container, variable)
        if variable.owner is None:
            return self.shared(variable, self._leaf)
        nodes = io_toposort((), [variable], known=self._written)
        self._written.update(nodes)
        described = [self.shared(node, self._node) for node in nodes]
        return {"output": [described, self.shared(variable.owner, self._node), variable.index]}

    def _node(self, node):
        return {"apply": self.several([node.op, node.inputs, [output.name for output in node.outputs]])}

    def _leaf(self, variable):
        if isinstance(variable, SharedVariable):
            if variable.visits is not None:
                raise Unsaved(f"{variable}, a shared variable whose value is elsewhere")
            kind = type(variable)
            return {"shared": [f"{kind.__module__}:{kind.__qualname__}",
                               *self.several([variable.type, variable.name, variable.container])]}
        if isinstance(variable, Constant):
            return {"constant": self.several([variable.type, variable.data, variable.name])}
        return {"input": self.several([variable.type, variable.name])}


class GraphReader(Reader):
    """Reads graphs after what another reader has read.

    Parameters
    ----------
    reader : Reader
    """

    def __init__(self, reader: Reader) -> None:
        vars(self).update(vars(reader))
        self.rows = self.rows | GRAPH_ROWS

    def output(self, content: Any) -> Variable:
        """A computed variable."""
        nodes, node, index = content
        self.several(nodes)
        return self.read(node).outputs[index]

    def node(self, content: Any) -> Any:
        """A node, made by its op."""
        op, inputs, names = self.several(content)
        if not hasattr(op, "make_node") or not all([isinstance(variable, Variable) for variable in inputs]):
            raise FileError("there is a node without an op, or with inputs that are no variables")
        made = op.node_on(inputs)
        for output, name in zip(made.outputs, names, strict=True):
            output.name = name
        return made

    def shared_variable(self, content: Any) -> Any:
        """A shared variable on a container of the programs."""
        name, *fields = content
        kind = self.found(name)
        if not (isinstance(kind, type) and issubclass(kind, SharedVariable)):
            raise FileError(f"{name} is no class of shared variables")
        type_, name, container = self.several(fields)
        if not isinstance(container, Container) or container.type != type_:
            raise FileError(f"the shared variable {name} has no container of its type")
        return kind(name, type_, None, None, container=container)

    def found(self, name: str) -> Any:
        """What a module that may be named has under a name; classes of shared variables have their whole name."""
        module, _, path = name.partition(":")
        return getattr(import_module(module), path) if module.startswith("phintys.") else super().found(name)

    def parts(self, content: Any) -> Any:
        """A named tuple of an op."""
        name, *fields = content
        return self.class_of(name, is_plain_record, "record")(*self.several(fields))

    def inner(self, content: Any) -> FunctionGraph:
        """The graph inside an op."""
        return FunctionGraph(*self.several(content), clone=False)


def is_part(kind: type) -> bool:
    """Whether a class is one of types, of ops, or of what ops hold."""
    return is_type_or_op(kind) or kind is DerivativeOfGraph


GraphWriter.is_known = GraphReader.is_known = staticmethod(is_part)


def is_plain_record(kind: type) -> bool:
    """Whether a class is a named tuple of phintys."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__module__.startswith("phintys.")


GRAPH_ROWS = {
    "output": GraphReader.output, "apply": GraphReader.node, "parts": GraphReader.parts, "inner": GraphReader.inner,
    "shared": GraphReader.shared_variable,
    "constant": lambda reader, content: made_constant(*reader.several(content)),
    "input": lambda reader, content: made_variable(*reader.several(content))}


def made_constant(type_: Any, data: Any, name: str | None) -> Constant:
    """A constant of a type."""
    return type_.make_constant(data, name)


def made_variable(type_: Any, name: str | None) -> Variable:
    """A variable of a type."""
    return type_.make_variable(name)


def written(writer: Writer, functions: Sequence[Callable]) -> Any:
    """The JSON of the graphs of functions that ``writer`` has written."""
    return GraphWriter(writer).several([list(graph_of(function)) for function in functions])


def read(reader: Reader, graphs: Any) -> list[SavedGraph]:
    """The graphs of functions that ``reader`` has read."""
    found = []
    for inputs, outputs, updates in GraphReader(reader).several(graphs):
        found.append(SavedGraph(inputs, outputs, [tuple(pair) for pair in updates]))
    return found
