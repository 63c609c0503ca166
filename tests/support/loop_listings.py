"""A function's loops as text: what they read and keep, and the code of their bodies."""
import re

from phintys.graph.variable import Constant


def loops_of(f):
    """The nodes of loops in a function, in the order in which they run."""
    return [node for node in f.maker.fgraph.toposort() if type(node.op).__name__ == "Scan"]


def loop_listing(f):
    """The listing of a function's loops: for each a line about its groups, then the instructions of a step."""
    lines = []
    for node in loops_of(f):
        op, parts = node.op, node.op.parts
        kept = ["all" if count is None else count for count in op.kept]
        kept += ["all" if count is node.inputs[0] else count.data if isinstance(count, Constant) else count
                 for count in parts.outer_inputs(node.inputs).stacked]
        groups = [f"{parts.n_sequences} sequences", *[f"state {list(taps)} keeps {count}"
                                                      for taps, count in zip(parts.taps, kept)],
                  *[f"stacked keeps {count}" for count in kept[parts.n_states:]], *["summed"] * parts.n_summed,
                  *["carried"] * parts.n_carried, f"{len(op.inner_inputs.wholes)} wholes"]
        lines.append(f"{op}: {', '.join(groups)}")
        body = [re.match(r" +\d+  ([A-Z]+) *(.*)", line) for line in op.fn.explain("instructions").splitlines()]
        lines += [f"    {line[1]} {line[2].split('  ')[0]}".rstrip() for line in body if line]
    return lines


def text(listing):
    """A golden listing as a list of lines."""
    lines = listing.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [line[indent:].rstrip() for line in lines if line.strip()]
