"""The key of a function in the cache of programs: a digest of all that its program depends on.

The graph is written as text, flat: a line for each type, op, leaf and node, in an order that only the graph decides;
what is inside ops (the bodies of loops, graphs as ops) is written by the same lines. Ops and types are written as
saved graphs have them: by class and state. To this come what a caller permits, the mode, the options, and what is
installed: phintys with the times and sizes of its files, NumPy, SciPy, Python, and what the processor has.

Invariant: what cannot be written completely has no key (`Unsaved`), and is compiled: classes and functions of users,
values on devices. Left out is what changes no program: values of shared variables, where nodes were made, the options
in ``NOT_IN_KEY``.
"""
from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph import hooks
from phintys.graph.config import ACCEPTED, OPTIONS, config
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.public_names import defined_in
from phintys.graph.toposort import io_toposort
from phintys.graph.variable import Constant, Variable
from phintys.making.saved_graphs import is_part, is_plain_record
from phintys.modes import Mode
from phintys.ops.graphs.inner_graph import InnerGraphOp
from phintys.ops.native.sets import sets_of_processor
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine import registered
from phintys.shared import SharedVariable
from phintys.vm.files.archive import digest
from phintys.vm.files.programs import BYTECODE
from phintys.vm.files.values import Unsaved, Writer
from phintys.vm.places import HOST
from phintys.vm.worker_count import usable_workers

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.making.function_maker import FunctionMaker

SMALL_CONSTANT = 64                 # bytes; larger ones are written as digests

# Options that no program depends on, and those that the key has in another form: the mode as its rewrites, workers as
# their number. Names that end in a dot are sections.
NOT_IN_KEY = frozenset("""
    mode optimizer optimizer_including optimizer_excluding optimizer_requiring optimizer_verbose memory_limit workers
    plan_seconds check_plans kept_frames pool_limit on_unused_input print_test_value pickle_test_value
    exception_verbosity profile profile_memory profile_optimizer print_global_stats unpickle_function scan.progress
    compile.progress traceback.limit program_cache program_cache_limit gpu. profiling. DebugMode. NanGuardMode.
    """.split())
_WITHOUT_EFFECT = frozenset([name for names, *_ in ACCEPTED for name in names.split()])
KEY_OPTIONS = [name for name, *_ in OPTIONS if name not in _WITHOUT_EFFECT and name not in NOT_IN_KEY
               and f"{name.partition('.')[0]}." not in NOT_IN_KEY]
PLAIN = frozenset([type(None), bool, int, float, complex, str, bytes])         # of which `repr` tells all
# What ops and types note about themselves; of ops with graphs what only derivatives ask for, and the user's graph, of
# which the local one is a copy without shared variables.
NOTED = frozenset(["rewrite_key", "_kept_hash"])
NOTED_WITH_GRAPH = NOTED | {"inputs", "outputs", "shared_inputs", "_connections", "_without_need", "_restricted",
                            "_gradient", "_forward", "_connection_pattern"}
# Variables of the environment that decide which loops libraries use.
ENVIRONMENT = ("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "MKL_CBWR",
               "MKL_ENABLE_INSTRUCTIONS")


class GraphText(Writer):
    """Writes graphs as lines.

    Attributes
    ----------
    lines : list of str
    constants : list of Constant
        Those with arrays, in the order of their lines.
    """

    is_known = staticmethod(is_part)

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.constants: list[Any] = []
        self._variables: dict[Any, int] = {}        # variable → its number
        self._nodes: set[Any] = set()
        self._ops: dict[Any, int] = {}              # op → its line; equal ops are one
        self._names: dict[type, str] = {}
        self._types: dict[int, tuple[int, Any]] = {}        # id of a type → its line, and the type

    def graph(self, inputs: list[Any], outputs: list[Any]) -> None:
        """Write a graph: its inputs, nodes and outputs."""
        for variable in inputs:
            self._number(variable, f"input {self._type(variable.type)} {variable.name!r}{_marks(variable)}")
        for node in io_toposort(inputs, outputs):
            self._node(node)
        self.lines.append(f"outputs {[self.variable(variable) for variable in outputs]}")

    def variable(self, variable: Variable) -> int:
        """The number of a variable; what computes it is written first."""
        number = self._variables.get(variable)
        if number is not None:
            return number
        if variable.owner is None:
            return self._leaf(variable)
        for node in io_toposort((), [variable], known=self._nodes):
            self._node(node)
        return self._variables[variable]

    def write(self, value: Any) -> Any:
        """What stands for a value, of which `repr` is a part of the key; variables and graphs by their lines."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is tuple or kind is list:
            return [kind.__name__, *[self.write(item) for item in value]]
        if isinstance(value, Variable):
            return {"variable": self.variable(value)}
        if kind is FunctionGraph:
            return {"inner": self.several([value.inputs, value.outputs])}
        if isinstance(value, numpy.ndarray):
            return self.array(value)
        if is_plain_record(kind):
            return {"parts": [self.name(kind), *self.several(value)]}
        return super().write(value)

    def array(self, value: Any) -> Any:
        """An array by its dtype, layout and content; see ``_content``."""
        return {"array": _content(value)}

    def container(self, container: Any) -> Any:
        """Nothing: a value that is shared is no part of a graph."""
        raise Unsaved(f"the shared value {container.name!r}")

    def name(self, kind: type) -> str:
        """A class of phintys; the source of others may change, and nothing would tell."""
        if kind not in self._names:
            if not defined_in(kind).startswith("phintys."):
                raise Unsaved(f"a {kind.__qualname__} of {kind.__module__}, which is no part of phintys")
            self._names[kind] = super().name(kind)
        return self._names[kind]

    def object(self, value: Any) -> Any:
        """A type or an op by class and state; functions of users are refused."""
        kind = type(value)
        if kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__ and is_part(kind):
            noted = NOTED_WITH_GRAPH if isinstance(value, InnerGraphOp) else NOTED
            state = [[name, self.write(part)] for name, part in value.__getstate__().items() if name not in noted]
            return [self.name(kind), getattr(value, "has_own_derivatives", None), *state]
        written = super().object(value)
        if "global" in written:
            raise Unsaved(f"{value}, a function of {value.__module__}")
        return written

    def _number(self, variable, line):
        self._variables[variable] = number = len(self._variables)
        self.lines.append(line)
        return number

    def _leaf(self, variable):
        if isinstance(variable, Constant):
            data = variable.data
            if type(data) is numpy.ndarray:
                self.constants.append(variable)
                text = _content(data)
            else:
                text = repr(self.write(data))
            return self._number(variable, f"constant {self._type(variable.type)} {variable.name!r} {text}")
        if isinstance(variable, SharedVariable):
            raise Unsaved(f"{variable}, a shared variable inside an op")
        return self._number(variable, f"leaf {self._type(variable.type)} {variable.name!r}{_marks(variable)}")

    def _node(self, node: Apply) -> None:
        self._nodes.add(node)
        op, known = self._op(node.op), self._variables
        inputs = [known[variable] if variable in known else self.variable(variable) for variable in node.inputs]
        results = [(self._type(variable.type), variable.name) for variable in node.outputs]
        self.lines.append(f"node {op} {inputs} {results}")
        for variable in node.outputs:
            known.setdefault(variable, len(known))

    def _op(self, op):
        number = self._ops.get(op)
        if number is None:
            text = repr(self.write(op))       # its inner graph may write lines
            self._ops[op] = number = len(self.lines)
            self.lines.append(text)
        return number

    def _type(self, kind):
        if id(kind) in self._types:
            return self._types[id(kind)][0]
        if type(kind) is TensorType:
            text = f"tensor {kind.dtype} {kind.shape} {kind.broadcastable} {kind.name!r}"
        else:
            if kind.layout is not None and kind.layout[2] != HOST:
                raise Unsaved(f"a value on a device, of type {kind}")
            text = repr(self.write(kind))
        self._types[id(kind)] = len(self.lines), kind
        self.lines.append(text)
        return len(self.lines) - 1


def _marks(variable):
    """What the user has written on a variable, and a rewrite reads."""
    return " indestructible" if getattr(variable.tag, "indestructible", False) else ""


def _content(value: Any) -> str:
    """An array as text: of small ones the elements, of large ones a digest."""
    if value.dtype.hasobject:
        raise Unsaved("an array of objects")
    layout = "" if value.flags.c_contiguous else f" {value.strides}"        # sums may depend on it
    content = value.tobytes()
    shown = content if value.nbytes <= SMALL_CONSTANT else digest(content)
    return f"{value.dtype.str} {value.shape}{layout} {shown.hex()}"


def key_of(maker: FunctionMaker) -> tuple[str, list[Any], dict[str, Any]]:
    """The key of a maker's program, before the graph is optimised.

    Returns
    -------
    tuple (str, list of Constant, dict)
        The key; the constants of the graph that are arrays; the options, by name, that are a part of the key.

    Raises
    ------
    Unsaved
        If the program depends on what has no key; the message says on what.
    """
    why = _objection(maker)
    if why:
        raise Unsaved(why)
    graph, mode, query = maker.unoptimized, maker.mode, maker.mode.query
    text = GraphText()
    text.graph(graph.inputs, graph.outputs)
    options = {name: config.get(name) for name in KEY_OPTIONS}
    permitted = [[bool(spec.borrow) for spec in specs] for specs in (maker.arguments, maker.outputs)]
    text.lines.append(repr([
        len(maker.arguments), len(maker.outputs), maker.update_positions, maker.overwritable, permitted,
        maker.accept_inplace, mode.allow_gc, sorted(query.include), sorted(query.exclude), sorted(query.require),
        query.position_cutoff, usable_workers(), options, [os.environ.get(name) for name in ENVIRONMENT]]))
    return digest(installed(), "\n".join(text.lines).encode()).hex(), text.constants, options


def _objection(maker):
    """Why a maker's program has no key, whatever its graph; an empty text if it may have one."""
    mode, query = maker.mode, maker.mode.query
    if type(mode) is not Mode or hasattr(mode.provided_linker, "link"):
        return f"the mode {mode}"
    if query.extra or query.subquery or registered.names():
        return f"rewrites of users: {', '.join(sorted(registered.names())) or 'those of the mode'}"
    if "keeps_programs" not in vars(type(maker)):
        return f"a {type(maker).__name__}, which makes functions in its own way"
    if maker.profile is not None:
        return "a profile of the function"
    if maker.memory_limit or maker.budget is not None:
        return "a limit of memory"
    if config.optimizer_verbose:
        return "a report of the rewrites (config.optimizer_verbose)"
    return ""


@cache
def installed() -> bytes:
    """A digest of what is installed, which does not change while a process runs.

    Files of phintys are known by time and size: a digest of their content would take ten times as long.
    """
    scipy = find_spec("scipy")                      # not imported
    where = [] if scipy is None or scipy.origin is None else [_stamp(scipy.origin)]
    features = getattr(numpy._core._multiarray_umath, "__cpu_features__", {})
    return digest(repr([
        hooks.version, BYTECODE, sys.version, sys.implementation.cache_tag, platform.machine(), numpy.__version__,
        where, sets_of_processor(), sorted([name for name, present in features.items() if present]),
        _files_of_phintys()]).encode())


def _stamp(path):
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size


def _files_of_phintys():
    """(path, time, size) of each file that may be imported."""
    roots = {os.path.dirname(sys.modules[name].__file__) for name in (
        "phintys", "phintys.graph", "phintys.ops", "phintys.optimizer", "phintys.vm")}
    found, waiting, seen = [], sorted(roots), set()
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        for entry in os.scandir(folder):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    waiting.append(entry.path)
            elif entry.name.endswith((".py", ".so", ".pyd")):
                state = entry.stat()
                found.append((entry.path, state.st_mtime_ns, state.st_size))
    return sorted(found)
