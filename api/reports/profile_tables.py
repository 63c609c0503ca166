"""The tables that ``ProfileStats`` prints, in the same form as Theano's."""
from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.graph.scratchpad import position_of
from phintys.graph.trace import described_frame, traces_of
from phintys.ops.loops.loop import Scan

if TYPE_CHECKING:
    from phintys.reports.profile_stats import ProfileStats

# A row. kind: "C ", "Py" or both; count: the number of nodes, or the position of a single one; details: lines;
# at_device: seconds that a GPU worked.
Row = namedtuple("Row", "name seconds calls bytes kind count details at_device", defaults=(0.0,))

SLOWEST = 5                     # stages of the rewrites in a summary
LINES = 3                       # the user's lines that made a node; a fused one has many


def print_function(stats: ProfileStats, file: Any) -> None:
    """How long calls took, and how much of that was spent where."""
    calls, whole, machine = stats.fct_callcount, stats.fct_call_time, stats.vm_call_time
    kernels = sum(stats.apply_time.values())
    print("Function profiling", file=file)
    print("==================", file=file)
    print(f"  Message: {stats.message}", file=file)
    print(f"  Time in {calls} calls to Function.__call__: {whole:e}s", file=file)
    if whole > 0:
        print(f"  Time in Function.fn.__call__: {machine:e}s ({100 * machine / whole:.3f}%)", file=file)
    if machine > 0:
        others = stats.by_opcode()
        print(f"  Time in thunks: {kernels:e}s ({100 * kernels / whole:.3f}%)", file=file)
        print(f"  Time outside thunks: {whole - kernels:e}s ({100 * (whole - kernels) / whole:.3f}%)", file=file)
        print(f"    Arguments, results, and taking turns with other threads: {whole - machine:e}s", file=file)
        for name, (count, seconds) in sorted(others.items(), key=lambda item: -item[1][1]):
            if count:
                print(f"    {count} instructions {name}: {seconds:e}s", file=file)


def print_compilation(stats: ProfileStats, file: Any) -> None:
    """How long compiling took, and its slowest stages."""
    print(f"  Total compile time: {stats.compile_time:e}s", file=file)
    print(f"    Number of Apply nodes: {stats.nb_nodes}", file=file)
    print(f"    Copy of the graph: {stats.rebuild_time:e}s", file=file)
    print(f"    Optimizer time: {stats.optimizer_time:e}s", file=file)
    for name, (seconds, made) in _slowest(stats)[:SLOWEST]:
        print(f"       {name}: {seconds:e}s, {made} replacements", file=file)
    print(f"    Linker time: {stats.linker_time:e}s", file=file)
    print(file=file)


def _slowest(stats):
    return sorted(stats.optimizer_profile.items(), key=lambda item: -item[1][0])


def print_stages(stats: ProfileStats, file: Any) -> None:
    """All stages of the rewrites."""
    print("Optimizer Profile", file=file)
    print("-----------------", file=file)
    for name, (seconds, made) in _slowest(stats):
        print(f"  {seconds:e}s {made:7d} replacements  {name}", file=file)
    print(file=file)


def print_globals(seconds: float, file: Any) -> None:
    """The times of the whole program."""
    print(f"Time since the profiler was loaded {seconds:.3f}s", file=file)
    print(file=file)


def print_classes(stats: ProfileStats, file: Any, most: int) -> None:
    """A row for each class of ops."""
    calls, nodes, kinds, sizes = stats.class_callcount(), stats.class_nodes(), stats.class_impl(), stats.class_bytes()
    rows = [Row(f"{cls.__module__}.{cls.__qualname__}", seconds, calls[cls], sizes[cls], kinds[cls], nodes[cls], ())
            for cls, seconds in stats.class_time().items()]
    _print_table("Class", "Classes", "<#apply>", rows, most, stats.line_width, file)


def print_ops(stats: ProfileStats, file: Any, most: int) -> None:
    """A row for each op."""
    calls, nodes, kinds, sizes = stats.op_callcount(), stats.op_nodes(), stats.op_impl(), stats.op_bytes()
    rows = [Row(str(op), seconds, calls[op], sizes[op], kinds[op], nodes[op], ())
            for op, seconds in stats.op_time().items()]
    _print_table("Op", "Ops", "<#apply>", rows, most, stats.line_width, file)


def print_nodes(stats: ProfileStats, file: Any, most: int) -> None:
    """A row for each node, with the user's lines."""
    shapes, at_device = stats.variable_shape, stats.apply_device_time
    rows = [Row(str(node), record.seconds, record.calls, record.bytes, "C " if record.native else "Py",
                record.position, _details(node, shapes), at_device.get(node, 0.0))
            for node, record in stats.by_node().items() if record.calls]
    _print_table("Apply", "Apply instances", "<id>", rows, most, stats.line_width, file)


def _details(node, shapes):
    """Return lines: where the user made a node, and its operands if their shapes are known."""
    traces = traces_of(position_of(node))
    lines = [described_frame(trace) for trace in traces[:LINES]]
    if len(traces) > LINES:
        lines.append(f"... {len(traces) - LINES} more lines")
    for title, variables in (("input", node.inputs), ("output", node.outputs)) if shapes else ():
        lines += [f"{title} {number}: dtype={getattr(variable.type, 'dtype', 'no dtype')}, "
                  f"shape={shapes.get(variable, 'no shape')}" for number, variable in enumerate(variables)]
    return lines


def _print_table(title, plural, counted, rows, most, width, file):
    total = sum([row.seconds for row in rows])
    if total == 0:
        print(f"{title}: total time 0 (did you forget to enable counters?)", file=file)
        return
    rows.sort(key=lambda row: (row.seconds, row.calls), reverse=True)
    most = len(rows) if most is None else most
    print(title, file=file)
    print("---", file=file)
    headers = ["<% time>", "<sum %>", "<apply time>", "<time per call>", "<bytes per call>", "<type>", "<#call>",
               counted]
    works = any([row.at_device for row in rows])
    headers += ["<on the GPU, per call>"] if works else []
    print(" ".join([*headers, f"<{title} name>"]), file=file)
    passed = 0.0
    for row in rows[:most]:
        passed += row.seconds
        cells = [f"{100 * row.seconds / total:.1f}%", f"{100 * passed / total:.1f}%", f"{row.seconds:.2e}s",
                 f"{row.seconds / row.calls:.2e}s", f"{row.bytes / row.calls:.0f}", row.kind, str(row.calls),
                 str(row.count), *([f"{row.at_device / row.calls:.2e}s"] if works else [])]
        line = " ".join([cell.rjust(len(header)) for cell, header in zip(cells, headers)])
        print(f"{line} {row.name}"[:max(width, len(line))], file=file)
        for detail in row.details:
            print(f"    {detail}", file=file)
    rest = sum([row.seconds for row in rows[most:]])
    print(f"   ... (remaining {max(0, len(rows) - most)} {plural} account for {100 * rest / total:6.2f}%({rest:.2f}s) "
          "of the runtime)", file=file)
    print(file=file)


def print_loops(stats: ProfileStats, file: Any) -> None:
    """A row for each loop: how much of its time its steps take, if they are measured."""
    loops = {node: seconds for node, seconds in stats.apply_time.items() if type(node.op) is Scan}
    if not loops or stats.is_inside:
        return
    print("Scan overhead:", file=file)
    print("<Scan op time(s)> <sub scan fct time(s)> <sub scan op time(s)> <sub scan fct time(% scan op time)> "
          "<sub scan op time(% scan op time)> <node>", file=file)
    for node, seconds in loops.items():
        inside = node.op.step_profile()
        if inside is None:                          # the function was linked before it was measured
            print(f"  The steps of {node} are not measured", file=file)
            continue
        parts = inside.call_time, sum(inside.apply_time.values())
        shares = [f"{100 * part / seconds:5.1f}%" if seconds > 0 else "    -" for part in parts]
        print(f"  {seconds:.2e}s  {parts[0]:.2e}s  {parts[1]:.2e}s  {'  '.join(shares)}  {node}", file=file)
    print(file=file)
    for node in loops:
        inside = node.op.step_profile()
        if inside is not None and not inside.printed_apart:
            inside.summary(file)


def print_memory(stats: ProfileStats, file: Any) -> None:
    """The memory report of each function, and its largest values."""
    from phintys.reports.memory_report import report_of

    print("Memory Profile", file=file)
    print("--------------", file=file)
    for function in stats.functions():
        try:
            report = report_of(function)
        except ValueError as error:                 # no call has come to its end
            print(error, file=file)
            continue
        print(report, file=file)
        large = [piece for piece in report.pieces if piece.bytes >= config.profiling.min_memory_size]
        print(f"  {len(large)} pieces of memory have at least {config.profiling.min_memory_size} B.", file=file)
    print(file=file)
