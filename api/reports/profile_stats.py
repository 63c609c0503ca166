"""``ProfileStats``: the times that compiling and calling functions took. ``f.profile.summary()`` prints them.

The virtual machine counts and times instructions, without Python code (``vm/machine/profile.pyx``). A ``ProfileStats``
collects the records of one or several functions, and adds them up by node, op and class when they are read. The tables
that it prints are in ``profile_tables.py``.
"""
from __future__ import annotations

import atexit
import sys
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.public_names import at_home
from phintys.reports.graph_text import GraphPrinter
from phintys.reports.profile_tables import (
    print_classes,
    print_compilation,
    print_function,
    print_globals,
    print_loops,
    print_memory,
    print_nodes,
    print_ops,
    print_stages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable
    from phintys.making.compiled_function import Function

__all__ = ["ProfileStats", "print_global_stats", "profile_for", "register_profiler_printer"]

IMPORTED = time.time()
COMPUTING = frozenset(["KERNEL", "CALL", "RUN"])       # instructions that compute values of a node, once for each call
TIMES = ("compile_time", "rebuild_time", "optimizer_time", "validate_time", "linker_time", "import_time",
         "linker_node_make_thunks")
SUMMED_AT_EXIT = "Sum of all (%d) printed profiles at exit."

_at_exit: list[ProfileStats] = []       # in the order in which they were made
_printers: list[Callable[..., Any]] = []


class MeasuredFunction:
    """The records of one function, which need not exist any more.

    Attributes
    ----------
    profile : Profile
    names : list of str
        Of the program's instructions.
    nodes : list of (Apply or None)
        For each instruction.
    """

    def __init__(self, function: Function) -> None:
        program = function.program
        self.profile = function.measurements()
        self.names = [instruction.name for instruction in program.symbolic()]
        self.nodes = [None] * len(self.names) if program.nodes is None else program.nodes
        # Reports on memory need the function itself; else it can be freed although its times are reported at exit.
        self.function = (lambda: function) if config.profile_memory else weakref.ref(function)

    def __reduce__(self):
        raise TypeError("a ProfileStats that measures functions cannot be pickled: print its summary, or store the "
                        "figures that you need")

    def by_instruction(self) -> list[tuple[Any, ...]]:
        """Return (name, node, calls, seconds, bytes) of each instruction."""
        return [(name, node, *record) for name, node, record in zip(self.names, self.nodes, self.profile.records())]

    def at_device(self) -> dict[Any, Any]:
        """Return node → seconds that a device worked on it."""
        found: dict[Apply, float] = {}
        for node, seconds in zip(self.nodes, self.profile.seconds_at_device()):
            if seconds and node is not None:
                found[node] = found.get(node, 0.0) + seconds
        return found


class NodeRecord:
    """The times and counts of one node: the sum over its instructions.

    Attributes
    ----------
    calls : int
    seconds, bytes : float
        ``bytes`` are those of the values that it computed, in all calls.
    native : bool
        Whether kernels compute it; else ``perform`` does.
    position : int
        Of its first instruction in the program.
    """

    def __init__(self, position: int) -> None:
        self.calls, self.seconds, self.bytes, self.native, self.position = 0, 0.0, 0.0, True, position


@at_home
class ProfileStats:
    """Times and counts of one function, or of several together.

    ``phintys.function(..., profile=True)`` makes one. Users may also make one and pass it as ``profile`` to several
    functions, which it then adds up.

    Parameters
    ----------
    atexit_print : bool
        Print a summary when the program ends, if ``config.profile`` is on then, or ``always_printed``.
    flag_time_thunks : bool, optional
        Time each instruction, not only whole calls; default: ``config.profiling.time_thunks``.
    gpu_checks : bool
        Accepted for compatibility with Theano.
    message : str, optional
        A title for the summary; by default the function's name.
    **values
        First values of attributes.

    Attributes
    ----------
    compile_time, rebuild_time, optimizer_time, linker_time : float
        Seconds to make the functions: altogether, to copy the graphs, to rewrite them, to link the programs.
    optimizer_profile : dict
        Stage of the rewrites → [seconds, replacements].
    validate_time, import_time, linker_node_make_thunks : float
        Theano's names; always 0, because graphs are not validated again and no module is compiled.

    Examples
    --------
    >>> import io, numpy, phintys
    >>> x = phintys.tensor.dvector("x")
    >>> f = phintys.function([x], phintys.tensor.exp(x).sum(), profile=True)
    >>> _ = f(numpy.ones(3)), f(numpy.ones(3))
    >>> f.profile.fct_callcount, sum(f.profile.apply_callcount.values())
    (2, 2)
    """

    compile_time: float = 0.0
    rebuild_time: float = 0.0
    optimizer_time: float = 0.0
    validate_time: float = 0.0
    linker_time: float = 0.0
    import_time: float = 0.0
    linker_node_make_thunks: float = 0.0
    message: str | None = None
    is_inside = False               # whether other profiles include what this one measures
    always_printed = False          # at the end of the program

    def __init__(self, atexit_print: bool = True, flag_time_thunks: bool | None = None, gpu_checks: bool = True,
                 **values: Any) -> None:
        self.flag_time_thunks = config.profiling.time_thunks if flag_time_thunks is None else bool(flag_time_thunks)
        self.ignore_first_call = config.profiling.ignore_first_call
        self.line_width = config.profiling.output_line_width
        self.optimizer_profile: dict[str, list[Any]] = {}
        self.linker_make_thunk_time: dict[Any, float] = {}
        self._measured: list[MeasuredFunction] = []
        for name, value in values.items():
            setattr(self, name, value)
        if atexit_print:
            if not _at_exit:
                atexit.register(print_at_exit)
            _at_exit.append(self)

    def __repr__(self):
        return f"<ProfileStats {self.message!r}: {self.fct_callcount} calls, {self.fct_call_time:.3e} s>"

    # ---- what the parts that make functions tell ---------------------------------------------------------------------
    def watch(self, function: Function) -> None:
        """Collect the records of a function that was made with this profile."""
        self._measured.append(MeasuredFunction(function))
        self._measured[-1].profile.skips_first = self.ignore_first_call

    @contextmanager
    def timed(self, *names: str) -> Iterator[None]:
        """Add the time that a block takes to attributes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            for name in names:
                setattr(self, name, getattr(self, name) + seconds)

    def add_stages(self, stages: dict[str, tuple[float, int]]) -> None:
        """Add the figures of each stage of the rewrites: name → (seconds, replacements)."""
        for name, (seconds, made) in stages.items():
            known = self.optimizer_profile.setdefault(name, [0.0, 0])
            known[0] += seconds
            known[1] += made

    def combine(self, others: Any, message: str | None = None) -> ProfileStats:
        """Return a new profile: the sum of this profile and others.

        Parameters
        ----------
        others : list of ProfileStats
        message : str, optional
            The title of the sum.

        Returns
        -------
        ProfileStats
            It counts later calls of the functions too, and is not printed at exit.
        """
        total = ProfileStats(atexit_print=False, message=message, flag_time_thunks=self.flag_time_thunks)
        for part in [self, *others]:
            for name in TIMES:
                setattr(total, name, getattr(total, name) + getattr(part, name))
            total.add_stages(part.optimizer_profile)
            total._measured.extend([function for function in part._measured if function not in total._measured])
        return total

    def reset(self) -> None:
        """Forget all calls; the times to compile stay."""
        for function in self._measured:
            function.profile.reset()

    # ---- sums --------------------------------------------------------------------------------------------------------
    @property
    def fct_callcount(self) -> int:
        """How many calls there were, also those that failed."""
        return sum([function.profile.calls for function in self._measured])

    @property
    def fct_call_time(self) -> float:
        """Seconds in calls, altogether."""
        return sum([function.profile.seconds for function in self._measured], 0.0)

    @property
    def vm_call_time(self) -> float:
        """Seconds in the virtual machine: in all instructions."""
        return sum([seconds for function in self._measured for _, seconds, _ in function.profile.records()], 0.0)

    @property
    def nb_nodes(self) -> int:
        """The number of nodes of the compiled graphs that have instructions; -1 if there is no function yet."""
        return len(self.by_node()) if self._measured else -1

    def by_node(self) -> dict[Apply, NodeRecord]:
        """Return a ``NodeRecord`` for each node, also of those that never ran."""
        found: dict[Apply, NodeRecord] = {}
        for function in self._measured:
            ran: dict[Apply, int] = {}
            for position, (name, node, calls, seconds, size) in enumerate(function.by_instruction()):
                if node is None:
                    continue
                record = found.setdefault(node, NodeRecord(position))
                record.seconds += seconds
                record.bytes += size
                record.native &= name != "CALL"
                if name in COMPUTING or node not in ran:
                    ran[node] = max(ran.get(node, 0), calls)        # it may have several instructions
            for node, calls in ran.items():
                found[node].calls += calls
        return found

    def by_opcode(self) -> dict[str, tuple[int, float]]:
        """Return (calls, seconds) of the instructions that belong to no node."""
        found: dict[str, tuple[int, float]] = {}
        for function in self._measured:
            for name, node, calls, seconds, _ in function.by_instruction():
                if node is None:
                    known = found.get(name, (0, 0.0))
                    found[name] = known[0] + calls, known[1] + seconds
        return found

    def _of_nodes(self, attribute):
        return {node: getattr(record, attribute) for node, record in self.by_node().items() if record.calls}

    apply_time = property(lambda self: self._of_nodes("seconds"), doc="Node → seconds; only nodes that ran.")
    apply_callcount = property(lambda self: self._of_nodes("calls"), doc="Node → how often it ran.")
    apply_cimpl = property(lambda self: self._of_nodes("native"), doc="Node → whether a kernel computes it.")
    apply_bytes = property(lambda self: self._of_nodes("bytes"),
                           doc="Node → bytes of the values that it computed, in all calls.")

    @property
    def apply_device_time(self) -> dict[Apply, float]:
        """Node → seconds that a GPU worked on it, by CUDA's events; only nodes with such work."""
        found: dict[Apply, float] = {}
        for function in self._measured:
            for node, seconds in function.at_device().items():
                found[node] = found.get(node, 0.0) + seconds
        return found

    @property
    def output_size(self) -> dict[Variable, int]:
        """Variable → the bytes of its value in the last call, with ``config.profile_memory``."""
        return {variable: _size(variable, shape) for variable, shape in self.variable_shape.items()}

    @property
    def variable_shape(self) -> dict[Variable, tuple[int, ...]]:
        """Variable → its shape in the last call, with ``config.profile_memory``; else empty."""
        shapes: dict[Variable, tuple[int, ...]] = {}
        for function in self.functions() if config.profile_memory else ():
            for layout, shape in zip(function.program.cells, function.last_shapes()):
                if layout.variable is not None and shape is not None:
                    shapes[layout.variable] = shape
        return shapes

    def functions(self) -> list[Function]:
        """Return the functions that still exist and were called."""
        return [function.function() for function in self._measured
                if function.profile.calls and function.function() is not None]

    def _grouped(self, values, key, add=lambda old, new: old + new):
        groups: dict[Any, Any] = {}
        for node, value in values.items():
            group = key(node)
            groups[group] = add(groups[group], value) if group in groups else value
        return groups

    def op_time(self) -> dict[Op, float]:
        """Return op → seconds."""
        return self._grouped(self.apply_time, _op)

    def op_callcount(self) -> dict[Op, int]:
        """Return op → how often its nodes ran."""
        return self._grouped(self.apply_callcount, _op)

    def op_nodes(self) -> dict[Op, int]:
        """Return op → how many nodes ran."""
        return self._grouped(dict.fromkeys(self.apply_time, 1), _op)

    def op_bytes(self) -> dict[Op, float]:
        """Return op → bytes of the values that its nodes computed."""
        return self._grouped(self.apply_bytes, _op)

    def op_impl(self) -> dict[Op, str]:
        """Return op → ``"C "``, ``"Py"``, or both together."""
        return self._grouped(self._kinds(), _op, _joined)

    def class_time(self) -> dict[type, float]:
        """Return class of ops → seconds."""
        return self._grouped(self.apply_time, _class)

    def class_callcount(self) -> dict[type, int]:
        """Return class of ops → how often its nodes ran."""
        return self._grouped(self.apply_callcount, _class)

    def class_nodes(self) -> dict[type, int]:
        """Return class of ops → how many nodes ran."""
        return self._grouped(dict.fromkeys(self.apply_time, 1), _class)

    def class_bytes(self) -> dict[type, float]:
        """Return class of ops → bytes of the values that its nodes computed."""
        return self._grouped(self.apply_bytes, _class)

    def class_impl(self) -> dict[type, str]:
        """Return class of ops → ``"C "``, ``"Py"``, or both together."""
        return self._grouped(self._kinds(), _class, _joined)

    def _kinds(self):
        return {node: "C " if native else "Py" for node, native in self.apply_cimpl.items()}

    def compute_total_times(self) -> dict[Apply, float]:
        """Return node → its seconds, with those of all nodes that its inputs depend on (as often as they are read)."""
        ran = [(record.position, node, record.seconds) for node, record in self.by_node().items() if record.calls]
        totals: dict[Apply, float] = {}
        for _, node, seconds in sorted(ran, key=lambda row: row[0]):
            totals[node] = seconds + sum([totals.get(variable.owner, 0.0) for variable in node.inputs])
        return totals

    # ---- text --------------------------------------------------------------------------------------------------------
    def summary(self, file: TextIO | None = None, n_ops_to_print: int | None = None,
                n_apply_to_print: int | None = None) -> None:
        """Print everything: calls, compilation, times by class, by op and by node, and memory.

        Parameters
        ----------
        file : file, optional
            Where to; default: the standard error output.
        n_ops_to_print, n_apply_to_print : int, optional
            The largest number of rows in the tables of classes and ops, and of nodes; default:
            ``config.profiling.n_ops`` and ``config.profiling.n_apply``.
        """
        file = sys.stderr if file is None else file
        n_ops = config.profiling.n_ops if n_ops_to_print is None else n_ops_to_print
        n_nodes = config.profiling.n_apply if n_apply_to_print is None else n_apply_to_print
        self.summary_function(file)
        self.summary_globals(file)
        if self.vm_call_time > 0:
            self.summary_class(file, n_ops)
            self.summary_ops(file, n_ops)
            self.summary_nodes(file, n_nodes)
        elif self.fct_callcount:
            print("  No execution time accumulated (hint: try config profiling.time_thunks=1)", file=file)
        print_loops(self, file)
        if config.profiling.debugprint:
            self._print_graphs(file)
        if config.profile_memory:
            self.summary_memory(file, n_nodes)
        if config.profile_optimizer:
            print_stages(self, file)
        for printer in _printers:
            printer(self.message, self.compile_time, self.fct_call_time, self.apply_time, self.apply_cimpl,
                    self.output_size, file=file)

    def summary_function(self, file: TextIO | None = None) -> None:
        """Print how long calls and compiling took."""
        print_function(self, sys.stderr if file is None else file)
        print_compilation(self, sys.stderr if file is None else file)

    def summary_globals(self, file: TextIO | None = None) -> None:
        """Print the times of the whole program."""
        print_globals(time.time() - IMPORTED, sys.stderr if file is None else file)

    def summary_class(self, file: TextIO | None = None, N: int | None = None) -> None:
        """Print a table with a row for each class of ops, at most ``N``."""
        print_classes(self, sys.stderr if file is None else file, N)

    def summary_ops(self, file: TextIO | None = None, N: int | None = None) -> None:
        """Print a table with a row for each op, at most ``N``."""
        print_ops(self, sys.stderr if file is None else file, N)

    def summary_nodes(self, file: TextIO | None = None, N: int | None = None) -> None:
        """Print a table with a row for each node, at most ``N``, and the user's lines that made it."""
        print_nodes(self, sys.stderr if file is None else file, N)

    def summary_memory(self, file: TextIO | None = None, N: int | None = None) -> None:
        """Print the memory report of each function that was called and still exists."""
        print_memory(self, sys.stderr if file is None else file)

    def _print_graphs(self, file):
        printer = GraphPrinter(file, print_type=True)
        for function in self.functions():
            for variable in function.maker.fgraph.outputs:
                printer.print_variable(variable, -1)
        printer.print_bodies(-1)


def _op(node):
    return node.op


def _class(node):
    return type(node.op)


def _joined(old, new):
    return old if new in old else old + new


def _size(variable, shape):
    dtype = getattr(variable.type, "numpy_dtype", None)
    if dtype is None:
        return 0
    size = dtype.itemsize
    for length in shape:
        size *= length
    return size


def profile_for(profile: Any, name: str | None) -> ProfileStats | None:
    """Return the profile that the argument ``profile`` of ``phintys.function`` requests.

    Parameters
    ----------
    profile : None, bool, str or ProfileStats
        None: as ``config.profile`` and ``config.print_global_stats`` say; a string: the title of a new profile.
    name : str or None
        The function's name.

    Returns
    -------
    ProfileStats or None

    Raises
    ------
    TypeError
        If it is anything else.

    Examples
    --------
    >>> phintys.reports.profile_stats.profile_for(False, None) is None
    True
    """
    if profile is None:
        profile = config.profile or config.print_global_stats
    if profile is False:
        return None
    if profile is True:
        return ProfileStats(message=name)
    if isinstance(profile, str):
        return ProfileStats(message=profile)
    if not isinstance(profile, ProfileStats):
        raise TypeError(f"profile is None, True, False, a title or a ProfileStats, got {profile!r} of type "
                        f"{type(profile).__name__}")
    if profile.message is None:
        profile.message = name
    return profile


def register_profiler_printer(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function print more at the end of each summary.

    Parameters
    ----------
    function : callable
        Called with (message, compile_time, fct_call_time, apply_time, apply_cimpl, output_size, file=file).

    Returns
    -------
    callable
        The function, so that this can be a decorator.

    Examples
    --------
    >>> @phintys.compile.profiling.register_profiler_printer
    ... def nothing_more(*arguments, file):
    ...     pass
    """
    _printers.append(function)
    return function


@contextmanager
def _destination():
    """The file that ``config.profiling.destination`` names."""
    known = {"stderr": sys.stderr, "stdout": sys.stdout}
    if config.profiling.destination in known:
        yield known[config.profiling.destination]
    else:
        with open(config.profiling.destination, "a", encoding="utf-8") as file:
            yield file


def print_at_exit() -> None:
    """Print profiles when the program ends: those of loops that ask for it; all, and their sum, if the configuration
    says so."""
    called = sorted([stats for stats in _at_exit if (config.profile or stats.always_printed)
                     and (stats.fct_callcount or stats.compile_time > 1)],
                    key=lambda stats: stats.compile_time + stats.fct_call_time, reverse=True)
    if called:
        with _destination() as file:
            for stats in called:
                stats.summary(file)
            functions = [stats for stats in called if not stats.is_inside]
            if len(functions) > 1:
                functions[0].combine(functions[1:], SUMMED_AT_EXIT % len(functions)).summary(file)
    if config.print_global_stats:
        print_global_stats()


def print_global_stats() -> None:
    """Print the time since the import, in calls of measured functions, and in compiling them.

    Examples
    --------
    >>> phintys.compile.profiling.print_global_stats()
    """
    rewriting = sum([stats.optimizer_time for stats in _at_exit])
    linking = sum([stats.linker_time for stats in _at_exit])
    calling = sum([stats.fct_call_time for stats in _at_exit])
    with _destination() as file:
        print("=" * 50, file=file)
        print(f"Global stats:  Time elapsed since the profiler was loaded = {time.time() - IMPORTED:6.3f}s, Time "
              f"spent in functions = {calling:6.3f}s, Time spent compiling functions:  "
              f"optimization = {rewriting:6.3f}s, linker = {linking:6.3f}s", file=file)
        print("=" * 50, file=file)
