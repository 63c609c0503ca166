"""One call in DebugMode: computes all nodes that ever were in the graph, then checks the rewrites and the program.

The nodes of the optimised graph and of the graph as written are checked (`CheckedNode`); nodes that one rewrite added
and another removed are only computed. Each old variable is compared with its replacement, and the outputs with those of
a copy of the graph that was never optimised. Finally the program that any other mode would run is run on copies of all
values and compared with the nodes.
"""
from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy

from phintys.debugging.debug_differences import agree, copied, identical, is_finite
from phintys.debugging.debug_errors import BadOptimization, BadProgram, DebugModeError, InvalidValueError
from phintys.debugging.debug_node import CheckedNode
from phintys.debugging.debug_paths import Paths
from phintys.debugging.debug_turns import Turns
from phintys.debugging.stepwise import compute, explained, nodes_in_turn, value_of
from phintys.graph.errors import made_at
from phintys.graph.lazy_regions import lazy_regions
from phintys.graph.toposort import io_toposort
from phintys.vm.callables.callable import Callable
from phintys.vm.containers.container import Container
from phintys.vm.explaining.runtime_error import with_details
from phintys.vm.linking.linker import link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.debugging.debug_record import ReplacementRecord
    from phintys.graph.function_graph import FunctionGraph
    from phintys.modes import Mode

WHOLE = "(all rewrites together)"


class DebugRun:
    """The work of a function in DebugMode at each call; see `Stepwise`.

    Parameters
    ----------
    fgraph : FunctionGraph
        The optimised graph.
    record : ReplacementRecord
    pristine : FunctionGraph
        A copy of the graph from before it was optimised.
    mode : DebugMode
    arguments : dict
        The keyword arguments of ``linker.link``.
    """

    def __init__(self, fgraph: FunctionGraph, record: ReplacementRecord, pristine: FunctionGraph, mode: Mode,
                 arguments: Mapping[str, int | Sequence[Container]]) -> None:
        self.fgraph, self.mode = fgraph, mode
        self.makers = record.makers()
        active = fgraph.apply_nodes
        ever = [output for node in record.nodes for output in node.outputs]
        self.order = io_toposort(fgraph.inputs, [*fgraph.outputs, *ever])
        around = set(self.order)
        self.checked = {node: CheckedNode(node, mode, around, fgraph.clients if node in active else None)
                        for node in self.order if (node in active or node in record.original)
                        and node.op.lazy_branches(node) is None}
        self.paths = Paths(record, self.order, self.makers)
        self.turns, self.number = Turns(fgraph, self.order, self.makers), {node: i for i, node in enumerate(self.order)}
        self.pristine, self.pristine_order = pristine, pristine.data_order()
        self.pristine_regions = lazy_regions(pristine, self.pristine_order)
        self.program = ProgramBeside(fgraph, arguments)

    def __call__(self, inputs: Sequence[Sequence[int] | numpy.ndarray]) -> list[list[int] | numpy.ndarray]:
        """Return the values of the outputs if no check fails.

        Raises
        ------
        DebugModeError
            The first failed check, in the order of the data.
        Exception
            The exception that an op raised.
        """
        values = dict(zip(self.fgraph.inputs, map(copied, inputs)))
        self._check_given(values)
        lost, failure = self._compute_all(values)
        try:
            self._compare_replacements(values, lost)
        except BadOptimization as error:
            raise error from failure
        if failure is not None:
            try:
                raise failure
            finally:
                del failure                         # its traceback holds this frame
        outputs = [value_of(variable, values) for variable in self.fgraph.outputs]
        self._compare_with_pristine(inputs, outputs)
        self.program.compare(inputs, outputs)
        return outputs

    def _check_given(self, values):
        """Check that arguments and shared values have their types, and are finite if they must be."""
        for variable, value in values.items():
            if not variable.type.is_valid_value(value):
                raise InvalidValueError(variable, value, hint="input of the graph",
                                        specific_hint=variable.type.value_validity_msg(value))
            if self.mode.check_isfinite and not is_finite(value):
                raise InvalidValueError(variable, value, hint="input of the graph", specific_hint="it holds NaN or "
                                        "infinities; DebugMode(check_isfinite=False) accepts them")

    # ---- nodes -------------------------------------------------------------------------------------------------------
    def _compute_all(self, values):
        """Compute all values; return the variables without one, or with one that strays from the path of this call
        (`Paths`), and the error of the first active node that failed."""
        lost, failure, ran = set(), None, set()
        active = self.fgraph.apply_nodes
        with numpy.errstate(all="ignore"):
            for node, runs in self.turns.nodes(values):
                if runs:
                    ran.add(node)
                position = self.number[node]
                if lost and not lost.isdisjoint(node.inputs):
                    lost.update(node.outputs)
                    continue
                try:
                    self._compute(node, values, node in active)
                except Exception as error:
                    lost.update(node.outputs)
                    if failure is None and runs and (node in active or isinstance(error, DebugModeError)):
                        failure = self._described(error, node, position, values)
                        failure.__traceback__ = error.__traceback__.tb_next     # without this frame, which holds it
        if self.turns.is_lazy:
            lost.update([variable for node in self.order for variable in node.outputs if variable not in values])
            lost |= self.paths.strayed(ran, values)
        return lost, failure

    def _compute(self, node, values, active):
        check = self.checked.get(node)
        if check is None:
            compute(node, values)
        else:
            inputs = [value_of(variable, values) for variable in node.inputs]
            values.update(zip(node.outputs, check.run(inputs, values, finite=active)))

    def _described(self, error, node, position, values):
        """Return the error of a node, with the rewrite that made the node."""
        rewrites = self._rewrites_of(node)
        if isinstance(error, DebugModeError):
            error.context = rewrites
            return error
        error = explained(error, node, position, [value_of(variable, values) for variable in node.inputs])
        return with_details(error, "\n".join(rewrites)) if rewrites else error

    def _rewrites_of(self, node):
        return [f"The rewrite {reason} put output {new.index} of this node in place of {old}{made_at(old)}."
                for new in node.outputs for reason, old in self.makers.get(new, ())]

    # ---- rewrites ----------------------------------------------------------------------------------------------------
    def _compare_replacements(self, values, lost):
        """Check that each new variable has the value of the old one, in the order of the data."""
        doubtful = self._doubtful(values, lost)
        leaves = [variable for variable in self.makers if variable.owner is None]
        computed = [variable for node in self.order for variable in node.outputs if variable in self.makers]
        for new in leaves + computed:
            for reason, old in self.makers[new]:
                if lost.isdisjoint((old, new)) and (old.owner is None or doubtful.isdisjoint(old.owner.inputs)):
                    self._compare(old, value_of(old, values), new, value_of(new, values), reason)

    def _compare(self, old, old_value, new, new_value, reason):
        rule = new if getattr(new.tag, "values_eq_approx", None) is not None else old
        if old.type != new.type or not agree(rule, old_value, new_value, may_improve=True):
            raise BadOptimization(old, new, old_value, new_value, reason)

    def _doubtful(self, values, lost):
        """Return the replaced variables that contain, or depend on, NaN or infinities. Replacements may be finite, so
        the variables that read the old and new ones may differ."""
        doubtful, active = set(), self.fgraph.apply_nodes
        for node in self.order:
            if node in active:
                continue
            inherited = not doubtful.isdisjoint(node.inputs)
            doubtful.update([variable for variable in node.outputs
                             if inherited or (variable not in lost and not is_finite(values[variable]))])
        return doubtful

    def _compare_with_pristine(self, inputs, outputs):
        """Check that the graph as written gives the same outputs, unless it fails or has NaN or infinities."""
        values = dict(zip(self.pristine.inputs, map(copied, inputs)))
        with numpy.errstate(all="ignore"):
            for node in nodes_in_turn(self.pristine_order, self.pristine_regions, values):
                try:
                    compute(node, values, spared=True)
                except Exception:
                    return
                if not all([is_finite(values[variable]) for variable in node.outputs]):
                    return
        for old, new, value in zip(self.pristine.outputs, self.fgraph.outputs, outputs):
            self._compare(old, value_of(old, values), new, value, WHOLE)


class ProgramBeside:
    """The program of the optimised graph, with separate containers.

    Parameters
    ----------
    fgraph : FunctionGraph
    arguments : dict
        The keyword arguments of ``linker.link``.
    """

    def __init__(self, fgraph: FunctionGraph, arguments: Mapping[str, int | Sequence[Container]]) -> None:
        self.fgraph = fgraph
        self.count = arguments["n_arguments"]
        twins = {id(container): Container(container.type, container.get(), container.name)
                 for container in [*arguments["containers"], *[container for _, container in arguments["updates"]]]}
        self.containers = [twins[id(container)] for container in arguments["containers"]]
        self.updates = [(position, twins[id(container)]) for position, container in arguments["updates"]]
        self.mutable = set(arguments.get("mutable", ()))
        program = link(fgraph, **arguments | {"containers": self.containers, "updates": self.updates})
        types = [variable.type for variable in fgraph.inputs[:self.count]]
        self.run = Callable(program, types, [None] * self.count, [False] * self.count, [None] * self.count)
        self.lock = Lock()

    def compare(self, inputs: Sequence[Sequence[int] | numpy.ndarray],
                outputs: Sequence[Sequence[int] | numpy.ndarray]) -> None:
        """Run the program, unless it is running already, in this thread or another; raise `BadProgram` if it differs.

        Parameters
        ----------
        inputs, outputs : list
            Values of the graph's inputs, which are not changed, and of all its outputs.
        """
        if not self.lock.acquire(blocking=False):
            return
        try:
            self._compare(inputs, outputs)
        finally:
            self.lock.release()

    def _compare(self, inputs, outputs):
        for container, value in zip(self.containers, inputs[self.count:]):
            container.set(copied(value), borrow=True)
        given = list(map(copied, inputs[:self.count]))
        results = self.run(*given)
        for variable, value, expected in zip(self.fgraph.outputs, results, outputs):
            self._check(variable, value, expected, "a result")
        for position, container in self.updates:
            self._check(self.fgraph.outputs[position], container.get(), outputs[position], "a new value")
        for position, (value, now) in enumerate(zip(inputs, given)):
            if position not in self.mutable and not identical(value, now):
                raise BadProgram(self.fgraph.inputs[position], now, value, "an argument")

    def _check(self, variable, value, expected, what):
        if not agree(variable, expected, value):
            raise BadProgram(variable, value, expected, what)
