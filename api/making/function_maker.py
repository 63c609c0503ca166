"""``FunctionMaker`` compiles inputs, outputs and updates to a private, optimised graph, and makes functions of it.

The maker's graph has the arguments of the call first, then the states and shared variables, whose values are in
containers; its outputs are the results, then the new values of states and shared variables. Values belong to the
functions: ``create`` gives each function separate storage, except for what the user shares between functions.
"""
from __future__ import annotations

import os
import warnings
from collections import Counter
from contextlib import nullcontext
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import change_flags, config
from phintys.graph.destroy_handler import DestroyHandler, destroyed_inputs
from phintys.graph.errors import MissingInputError, UnusedInputError, made_at
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.public_names import at_home
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant, Variable
from phintys.io import In, SymbolicInput, SymbolicOutput
from phintys.making.argument_container import ArgumentContainer
from phintys.making.compiled_function import Function
from phintys.making.rebuild import pairs, rebuild
from phintys.making.shown_graph import shown_graph
from phintys.modes import get_mode
from phintys.ops.creation.optional_argument import argument_types as types_of_arguments
from phintys.optimizer.pipeline import optimize
from phintys.shared import container_of
from phintys.vm.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.modes import Mode
    from phintys.reports.profile_stats import ProfileStats
    from phintys.updates import Pairs
    from phintys.vm.program import Program


_beginning = RLock()                    # held while a maker that has waited begins
if hasattr(os, "register_at_fork"):     # a child has no thread that would release it
    os.register_at_fork(before=_beginning.acquire, after_in_parent=_beginning.release,
                        after_in_child=_beginning.release)


@at_home
class FunctionMaker:
    """Compiles functions: from inputs, outputs and updates to a program, and from that to any number of functions.

    Parameters
    ----------
    inputs : list of SymbolicInput or Variable
        The user's inputs; shared variables are found in the graph.
    outputs : None, Variable, Out, or list of them
        None makes functions that return None.
    mode : str or Mode, optional
    accept_inplace : bool
        Whether the user's graph may contain ops that overwrite their inputs.
    function_builder : type
        `Function` or a subclass.
    profile : None, bool, str or ProfileStats
    on_unused_input : {'raise', 'warn', 'ignore', None}
    output_keys : list of str, optional
        Results come in a dictionary with these keys.
    name : str, optional
    updates, givens, rebuild_strict, no_default_updates
        As in ``function``.
    swap : dict, optional
        Shared variable → the one that replaces it wherever it is read.
    argument_types : list of Type, optional
        What the attribute is to be. The graph is then optimised when it is first asked for: not for a function whose
        program is there already.
    memory_limit : int, optional
        The bytes that values may take at once in a call; 0: any number. Default: ``config.memory_limit``.
    budget : MemoryBudget, optional
        The same for one tuple of shapes, for which values are computed again instead of kept.

    Attributes
    ----------
    fgraph : FunctionGraph
        The optimised graph, as `shown_graph` shows it.
    inputs : list of In
        The user's inputs, then one implicit input for each shared variable.
    outputs : list of Out
    arguments : list of In
        The inputs that the virtual machine takes from the caller, in order.
    argument_types : list of Type
        The type that converts each of them.
    positions : list of int
        For each argument, its position among the inputs that a caller may give.
    graph_order : list of int
        For each input of ``fgraph``, its position in ``inputs``.
    update_positions : list of (int, int)
        Position of a new value in the outputs of ``fgraph``, and of the value that it replaces in its inputs.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> maker = phintys.FunctionMaker([phintys.In(x)], [phintys.Out(x * 2)])
    >>> maker.create()([1.0, 2.0])
    [array([2., 4.])]
    """

    keeps_programs = True                   # copies and pickles of functions keep what was linked; subclasses may not

    def __init__(self, inputs: Sequence[Any], outputs: Any = None, mode: Mode | str | None = None,
                 accept_inplace: bool = False, function_builder: type = Function,
                 profile: ProfileStats | str | bool | None = None, on_unused_input: str | None = None,
                 output_keys: Any = None, name: str | None = None, updates: Pairs | None = None,
                 givens: Pairs | None = None, rebuild_strict: bool = True,
                 no_default_updates: bool | list[Variable] = False, swap: Any = None,
                 argument_types: list[Any] | None = None, memory_limit: int | None = None,
                 budget: Any = None) -> None:
        self.mode = get_mode(mode)
        self.memory_limit = config.memory_limit if memory_limit is None else memory_limit
        self.budget = budget
        self._waits = False
        self.profile = _profile_for(profile, name)
        self.name = name
        self.output_keys = output_keys
        self.accept_inplace = accept_inplace
        self.function_builder = function_builder
        self.on_unused_input = config.on_unused_input if on_unused_input is None else on_unused_input
        self._take_outputs(outputs)
        self._given = [wrap_in(spec) for spec in _as_list(inputs)]
        self._givens = pairs(givens)
        self._rebuild_strict = rebuild_strict
        self._swap = dict(swap or {})
        with self._timed("compile_time", "rebuild_time"):
            self._prepare(givens, updates, no_default_updates)
        self._shown = None
        self._entry = None
        if argument_types is None and config.program_cache:
            from phintys.making.program_cache import entry_for

            self._entry = entry_for(self)
            argument_types = self._entry and self._entry.argument_types
        self._waits = argument_types is not None
        if not self._waits:
            with self._timed("compile_time", "optimizer_time"):
                self._optimize()
                self._copy_objects()
        self.argument_types = (types_of_arguments(self._compiled, len(self.arguments)) if argument_types is None
                               else argument_types)

    @classmethod
    def waiting(cls, arguments: Any) -> FunctionMaker:
        """Return a maker of which nothing is there until somebody asks for something.

        Parameters
        ----------
        arguments : callable
            It returns those of the constructor.
        """
        maker = object.__new__(cls)
        maker._arguments = arguments
        return maker

    if not TYPE_CHECKING:                   # type checkers would accept any name
        def __getattr__(self, name):
            with _beginning:
                arguments = self.__dict__.pop("_arguments", None)
                if arguments is not None:
                    try:
                        self.__init__(**arguments())
                    except BaseException:
                        self.__dict__ = {"_arguments": arguments}
                        raise
            return object.__getattribute__(self, name)

    def __getstate__(self):
        state = vars(self).copy()
        if "_entry" in state:
            state["_entry"] = None                  # of the cache, which belongs to this process
        return state

    # ---- stages ------------------------------------------------------------------------------------------------------
    @property
    def _compiled(self):
        """The private graph, optimised once the stage for it is over."""
        if self._waits:
            self._waits = False                     # the rewrites ask for the graph, too
            self._optimize()
            self._copy_objects()
        return self._graph

    @_compiled.setter
    def _compiled(self, graph):
        self._graph = graph

    def _timed(self, *names):
        """A block whose time is added to attributes of the profile, if there is one."""
        return nullcontext() if self.profile is None else self.profile.timed(*names)

    def _prepare(self, givens, updates, no_default_updates):
        """Do all work before the rewrites."""
        rebuilt = self._rebuild(givens, updates, no_default_updates)
        self._describe_inputs(rebuilt)
        self._make_graph(rebuilt)
        self._describe_updates(rebuilt)
        self._attach_handler()
        self._check_unused(rebuilt.inputs, self._read_inputs())
        self._check_inplace()

    def _take_outputs(self, outputs):
        """The results, and in which form a call returns them."""
        self.return_none = outputs is None
        self.unpack_single = outputs is not None and not isinstance(outputs, (list, tuple))
        self.outputs = [wrap_out(output) for output in _as_list(outputs)]

    def _rebuild(self, givens, updates, no_default_updates):
        """A copy of the user's graph in which givens are replaced: of the results, then the new values of states."""
        self._changing = [spec for spec in self._given if spec.update is not None]
        rebuilt = rebuild([output.variable for output in self.outputs] + [spec.update for spec in self._changing],
                          [spec.variable for spec in self._given], givens, updates, self._rebuild_strict,
                          no_default_updates, self._swap)
        self._new_values = rebuilt.new_values
        return rebuilt

    def _describe_inputs(self, rebuilt):
        """Return all inputs: arguments of the call, and values stored between calls."""
        self.inputs = self._given + [_shared_spec(variable, rebuilt.new_values.get(variable))
                                     for variable in rebuilt.shared]
        stored = [position for position, spec in enumerate(self.inputs) if spec.is_state]
        arguments = [position for position, spec in enumerate(self.inputs) if not spec.is_state]
        self.graph_order = arguments + stored
        self.arguments = [self.inputs[position] for position in arguments]
        explicit = {position: index for index, position in enumerate(
            position for position, spec in enumerate(self.inputs) if not spec.implicit)}
        self.positions = [explicit[position] for position in arguments]

    def _updated(self, rebuilt):
        """Variable of a state or a shared variable → its new value in the copy of the graph."""
        changing = [spec.variable for spec in self._changing]
        new_values = dict(zip(changing, rebuilt.outputs[len(self.outputs):])) | rebuilt.updates
        for variable, value in new_values.items():
            if value.type != variable.type:
                raise TypeError(f"givens change the new value of {variable}{made_at(variable)}, of type "
                                f"{variable.type}, to {value}{made_at(value)}, which has the type {value.type}")
        return new_values

    def _make_graph(self, rebuilt):
        """The private graph: of all inputs, in the order of the graph, to the results and the new values."""
        copies = dict(zip([spec.variable for spec in self._given], rebuilt.inputs)) | rebuilt.shared
        outputs = rebuilt.outputs[:len(self.outputs)] + list(self._updated(rebuilt).values())
        try:
            self._compiled = FunctionGraph([copies[self.inputs[position].variable] for position in self.graph_order],
                                           outputs, clone=False)
        except MissingInputError:
            if self.on_unused_input == "raise":     # one input for another: the one that was given tells more
                self._check_unused(rebuilt.inputs, set(ancestors([*rebuilt.outputs, *rebuilt.updates.values()])))
            raise
        self._compiled.name = self.name

    def _describe_updates(self, rebuilt):
        """Which outputs of the graph replace which of its inputs."""
        index = {self.inputs[position].variable: number for number, position in enumerate(self.graph_order)}
        self.update_positions = [(len(self.outputs) + position, index[variable])
                                 for position, variable in enumerate(self._updated(rebuilt))]

    def _attach_handler(self):
        """What may be overwritten: mutable arguments, and values that are replaced."""
        # With accept_inplace, the arguments that the user's own nodes overwrite may be overwritten.
        written = destroyed_inputs(self._compiled) if self.accept_inplace else set()
        self._mutable = _where(spec.mutable or variable in written
                               for spec, variable in zip(self.arguments, self._compiled.inputs))
        self._written = _where(variable in written for variable in self._compiled.inputs[:len(self.arguments)])
        values = [container_of(self.inputs[position].value) for position in self.graph_order]
        count = Counter([id(value) for value in values if isinstance(value, Container)])
        self._handler = DestroyHandler(
            mutable=[self._compiled.inputs[position] for position in self._mutable],
            updates={self._compiled.inputs[number]: position for position, number in self.update_positions
                     if count[id(values[number])] < 2})         # else another input has the same memory
        self._compiled.attach_feature(self._handler)

    def _read_inputs(self):
        """The inputs of the graph that a node or an output reads."""
        return {variable for variable in self._compiled.inputs if self._compiled.clients[variable]}

    def _check_unused(self, copies, needed):
        """Complain about given inputs whose copies are not in ``needed``."""
        reaction = self.on_unused_input
        if reaction == "ignore":
            return
        if reaction not in ("raise", "warn"):
            raise ValueError(f"Invalid value for keyword on_unused_input of phintys.function: '{reaction}'.\n"
                             "Valid values are 'raise', 'warn', and 'ignore'.")
        for position, (spec, copied) in enumerate(zip(self._given, copies)):
            if spec.update is not None or copied in needed:
                continue
            message = ("phintys.function was asked to create a function computing outputs given certain inputs, but "
                       f"the provided input variable at index {position} is not part of the "
                       f"computational graph needed to compute the outputs: {spec.variable}{made_at(spec.variable)}.\n"
                       + _about_expression(spec.variable))
            if reaction == "raise":
                raise UnusedInputError(message + "To make this error into a warning, you can pass the parameter "
                                       "on_unused_input='warn' to phintys.function. To disable it completely, use "
                                       "on_unused_input='ignore'.") from None
            warnings.warn(message + "To make this warning into an error, you can pass the parameter "
                          "on_unused_input='raise' to phintys.function. To disable it completely, use "
                          "on_unused_input='ignore'.", stacklevel=5)

    def _optimize(self):
        # Reading a flag that is changed for a thread takes longer, so none is changed without need.
        quiet = nullcontext() if config.compute_test_value == "off" else change_flags(compute_test_value="off")
        with self._apart(), quiet, self.mode.observed(self._compiled) as self._history:
            stages = {}
            self._compiled.budget = self.budget
            optimize(self._compiled, self.mode.query, stages)
        if self.profile is not None:
            self.profile.add_stages(stages)

    def _apart(self):
        """A block in which functions are compiled that are a part of this one, and therefore of its file."""
        return nullcontext() if self._entry is None else self._entry.inside()

    def _copy_objects(self):
        """Copy sparse matrices and lists that would be results or new values in the memory of other values.

        The virtual machine sees by its references whether an array must be copied; it knows no memory of objects.
        """
        compiled = self._compiled
        if all([variable.type.layout is not None for variable in compiled.outputs]):
            return
        for position, copied in enumerate(self.fgraph.outputs):
            kind = copied.type
            if kind.layout is None and hasattr(kind, "may_share_memory") and copied is not compiled.outputs[position]:
                compiled.change_input("output", position, copied, reason="results have memory of their own")
        self._shown = None

    def _check_inplace(self):
        if self.accept_inplace:
            return
        for node in self._compiled.apply_nodes:
            if node.op.destroy_map:
                raise TypeError(f"Graph must not contain inplace operations: {node}{made_at(node)} overwrites an "
                                "input. Use the op that does not, or pass accept_inplace=True.")

    # ---- results -----------------------------------------------------------------------------------------------------
    def create(self, input_storage: Any = None, trustme: bool = False, storage_map: Any = None) -> Function:
        """Link the graph and make a function.

        Parameters
        ----------
        input_storage : list, optional
            For each input, or for the first ones, its default or first value, or the container to use; None: as the
            input specifies.
        trustme, storage_map
            Accepted for compatibility with Theano.
        """
        with self._timed("compile_time", "linker_time"):
            return self._linked(input_storage)

    def _linked(self, input_storage):
        storage = self._storage(input_storage)
        stored = self._stored(storage)
        self._check_targets(self._targets(stored))
        program = None if self._entry is None else self._entry.program_on(stored)
        if program is None:
            program = self.program_on(stored)
            if self._entry is not None:
                self.argument_types = types_of_arguments(self._compiled, len(self.arguments))
                self._entry.keep(program, self.argument_types, stored)
        return self.function_builder(self, program, storage)

    def _stored(self, storage):
        """The containers of states and shared variables, in the order of the graph."""
        return [storage[position] for position in self.graph_order[len(self.arguments):]]

    def _targets(self, stored):
        """Which output of the graph goes to which container."""
        return [(position, stored[number - len(self.arguments)]) for position, number in self.update_positions]

    def program_on(self, stored: Sequence[Any]) -> Program:
        """Link the optimised graph on the containers of states and shared variables, in the order of the graph."""
        graph = self._compiled
        if self.profile is not None:
            self._measure_loops()
        with self._apart():
            return self.mode.link(graph, self._history, n_arguments=len(self.arguments), containers=stored,
                                  updates=self._targets(stored), n_outputs=len(self.outputs),
                                  allow_gc=self.mode.allow_gc, name=self.name, mutable=self._mutable,
                                  written=self._written, borrowed=_where(spec.borrow for spec in self.arguments),
                                  lent=_where(spec.borrow for spec in self.outputs),
                                  commit=self._handler.commit_nodes(graph))

    def _storage(self, given):
        """The containers of all inputs, of which some may be given."""
        given = list(given or ())
        given += [None] * (len(self.inputs) - len(given))
        return [_container(spec, value) for spec, value in zip(self.inputs, given)]

    def create_with(self, program: Program, input_storage: Any) -> Function:
        """Make a function of a program that was linked before, on the containers that are given or those of the inputs.

        Parameters
        ----------
        program : Program
            With these containers.
        input_storage : list
            As of ``create``.
        """
        return self.function_builder(self, program, self._storage(input_storage))

    def _measure_loops(self):
        """Measure the steps of loops that no profile measures yet; the function's profile shows them."""
        from phintys.ops.loops.loop import Scan
        from phintys.reports.scan_profile import ScanProfileStats

        for node in self._compiled.apply_nodes:
            if type(node.op) is Scan and node.op.step_profile() is None:
                node.op = node.op.measured_by(ScanProfileStats(False, name=node.op.name))

    def _check_targets(self, updates):
        """Check that no container gets two new values."""
        targets = set()
        for _, container in updates:
            if container in targets:
                raise ValueError(f"{container.name or container.type}: two inputs of phintys function with name "
                                 f"{self.name!r} share this container, and both have an update")
            targets.add(container)

    @property
    def fgraph(self) -> FunctionGraph:
        """The optimised graph, with a DeepCopyOp where a result is copied so that it shares no memory."""
        if self._shown is None:
            lent = {position for position, spec in enumerate(self.outputs) if spec.borrow}
            lent.update(position for position, _ in self.update_positions)
            borrowed = {number for number, position in enumerate(self.graph_order) if self.inputs[position].borrow}
            self._shown = shown_graph(self._compiled, lent, borrowed, {number for _, number in self.update_positions})
        return self._shown

    cached = property(lambda self: "" if self._entry is None else self._entry.state)
    unoptimized = property(lambda self: self._graph)        # as long as nobody asked for the optimised one
    overwritable = property(lambda self: (self._mutable, self._written))
    compiled = property(lambda self: self._compiled)        # the optimised graph that the linker received
    linker = property(lambda self: self.mode.linker)
    indices = property(lambda self: [(spec, None, [spec]) for spec in self.inputs])
    expanded_inputs = property(lambda self: self.inputs)
    required = property(lambda self: [spec.required for spec in self.inputs])
    refeed = property(lambda self: [not spec.required and not spec.is_state for spec in self.inputs])

    def given_arguments(self) -> dict[Any, Any]:
        """Return the keyword arguments that make this maker again."""
        outputs = None if self.return_none else self.outputs[0] if self.unpack_single else self.outputs
        return {"inputs": self._given, "outputs": outputs, "mode": self.mode, "accept_inplace": self.accept_inplace,
                "function_builder": self.function_builder, "on_unused_input": "ignore", "name": self.name,
                "output_keys": self.output_keys, "updates": pairs(self._new_values), "givens": self._givens,
                "rebuild_strict": self._rebuild_strict, "no_default_updates": True, "swap": self._swap,
                "memory_limit": self.memory_limit}



def _as_list(things):
    if things is None:
        return []
    return list(things) if isinstance(things, (list, tuple)) else [things]


def _where(flags):
    return [position for position, flag in enumerate(flags) if flag]


def _profile_for(profile, name):
    """Return the ``ProfileStats`` of a function, or None; most programs never load the profiler."""
    if profile is False or profile is None and not (config.profile or config.print_global_stats):
        return None
    from phintys.reports.profile_stats import profile_for

    return profile_for(profile, name)


def _about_expression(variable):
    """Return a sentence about an input that is computed in the user's graph, or an empty string."""
    if variable.owner is None:
        return ""
    return (f"It is an expression, computed by {variable.owner.op}, and not an input by itself: only outputs that "
            "are computed from this expression would need it. Inputs are usually made by T.vector() and its like.\n")


def wrap_in(spec: Any) -> In:
    """Return an input as `In`; a specification is returned unchanged."""
    variable = spec.variable if isinstance(spec, SymbolicInput) else spec
    if isinstance(variable, Constant):
        raise TypeError(f"A Constant instance is not a legal function input: {variable}")
    if not isinstance(variable, Variable):
        raise TypeError(f"Unknown input type: {type(spec)} ({spec!r}), expected a Variable or In instance")
    if isinstance(spec, In):
        return spec
    return In(**vars(spec)) if isinstance(spec, SymbolicInput) else In(spec)


def wrap_out(output: Any) -> SymbolicOutput:
    """Return an output as `Out`."""
    if isinstance(output, SymbolicOutput):
        return output
    if isinstance(output, Variable):
        return SymbolicOutput(output)
    hint = ". It is a function of variables: call it" if callable(output) else ""
    raise TypeError(f"Outputs must be phintys Variable or Out instances. Received {output} of type "
                    f"{type(output)}{hint}")


def _shared_spec(variable, update):
    return In(variable, value=variable.container, mutable=update is not None, borrow=True, update=update, shared=True)


def _container(spec, given):
    """Return the container that holds the input's value between calls."""
    value = container_of(spec.value if given is None else given)
    if isinstance(value, ArgumentContainer):
        return value.stored() if spec.is_state else value
    if isinstance(value, Container):
        return value
    if not spec.is_state:
        return ArgumentContainer(spec, value)
    if value is None:
        value = _placeholder(spec.variable.type)
    return Container(spec.variable.type, value, name=spec.name, strict=bool(spec.strict),
                     allow_downcast=spec.allow_downcast)


def _placeholder(type_):
    """Return a value for a state before its first call, if each call must give one."""
    if type_.layout is None:
        return None
    return numpy.zeros([int(broadcastable) for broadcastable in type_.broadcastable], type_.numpy_dtype)
