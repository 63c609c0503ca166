"""``FunctionMaker`` compiles a private graph; ``Function`` is what a user calls.

The maker's graph has the arguments of the call first, then the states and shared variables, whose values are in
containers; its outputs are the results, then the new values of states and shared variables. A ``Function`` is a
``Callable`` of the virtual machine with Theano's attributes; it adds nothing to a call. Only functions with states the
caller may set (``In`` with ``update``) pass through Python code on their way.
"""
import copy
import warnings

from phintys.graph.config import change_flags, config
from phintys.graph.errors import MissingInputError, UnusedInputError, made_at
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.traversal import ancestors
from phintys.graph.variable import Constant, Variable
from phintys.io import In, SymbolicInput, SymbolicOutput
from phintys.modes import get_mode
from phintys.optimizer.pipeline import optimize
from phintys.rebuild import pairs, rebuild
from phintys.shared import SharedVariable
from phintys.vm.callable import Callable, enable_vectorcall
from phintys.vm.container import Container
from phintys.vm.linker import link


class _Default(list):
    """The default of one argument, as the only element of a list, where the virtual machine reads it."""

    def __init__(self, spec):
        super().__init__([spec.value])
        self.spec = spec

    def set(self, value):
        """Take another one, converted to the argument's type."""
        self[0] = self.spec.variable.type.filter(value, strict=bool(self.spec.strict),
                                                 allow_downcast=self.spec.allow_downcast)


class Function(Callable):
    """A compiled function; made by ``phintys.function``.

    Attributes
    ----------
    maker : FunctionMaker
        With ``maker.fgraph``, the compiled graph, and ``maker.inputs``, ``maker.outputs``, ``maker.mode``.
    name : str
    profile : None
    trust_input : bool
        Theano's wish to leave the check of arguments out. They are checked all the same: that takes less time than
        anything that could be gained.
    """

    profile = None
    trust_input = False

    def __init__(self, maker, program, arguments):
        self.maker = maker
        defaults = [None if spec.value is None else _Default(spec) for spec in arguments]
        self._defaults = _named({spec: default for spec, default in zip(arguments, defaults) if default is not None},
                                maker.inputs)
        super().__init__(program, [spec.variable.type for spec in arguments], [spec.name for spec in arguments],
                         [bool(spec.strict) for spec in arguments], [spec.allow_downcast for spec in arguments],
                         single=maker.unpack_single, output_keys=maker.output_keys, defaults=defaults)

    @property
    def container(self):
        """Input (variable, name or position) → its container, for states and shared variables."""
        return self.maker.containers

    @property
    def value(self):
        """Theano's name for the function seen as a dictionary: ``f.value[x]`` is ``f[x]``."""
        return self

    def __contains__(self, item):
        return item in self.maker.containers

    def __getitem__(self, item):
        """The value of a state or shared variable, or the default of an argument."""
        if item in self._defaults:
            return self._defaults[item][0]
        return self._container_of(item).value

    def __setitem__(self, item, value):
        """Set the value of a state or shared variable, or the default of an argument."""
        if item in self._defaults:
            self._defaults[item].set(value)
        else:
            self._container_of(item).value = value

    def _container_of(self, item):
        try:
            return self.maker.containers[item]
        except KeyError:
            raise TypeError(f"Unknown input or state: {item}. Inputs: {self.maker.inputs}") from None

    def get_shared(self):
        """The shared variables that the function reads or updates."""
        return [spec.variable for spec in self.maker.inputs if spec.implicit]

    def sync_shared(self):
        """Wait until all updates are done; they are when a call returns."""

    def copy(self, share_memory=False, swap=None, delete_updates=False, name=None, profile=None):
        """A function of its own with the same graph.

        Parameters
        ----------
        share_memory : bool
            Accepted for Theano's sake; intermediate results come from one pool anyway.
        swap : dict, optional
            Shared variable → the one to use in its place; must have the same type.
        delete_updates : bool
            Leave the updates out.
        name : str, optional
            Default: this function's name with " copy".

        Returns
        -------
        Function
        """
        copied = self.maker.copied(swap or {}, delete_updates, name or f"{self.name} copy")
        copied._take_defaults(self._present_defaults())
        return copied

    def __copy__(self):
        return self.copy()

    def __reduce__(self):
        return _remake, (*self.maker.recipe(), self._present_defaults())

    def _present_defaults(self):
        """Position of an argument → its default."""
        return {position: default[0] for position, default in self._defaults.items() if isinstance(position, int)}

    def _take_defaults(self, defaults):
        for position, value in defaults.items():
            self._defaults[position][0] = value

    def __repr__(self):
        return f"<phintys function {self.name!r}>"


enable_vectorcall(Function)


class StatefulFunction(Function):
    """A function some of whose inputs are states: the caller may give them, and they keep their updates."""

    def __init__(self, maker, program, arguments):
        super().__init__(maker, program, arguments)
        self._stateless = Function(maker, program, arguments)
        self._defaults = self._stateless._defaults

    def __call__(self, *args, **kwargs):
        specs = [spec for spec in self.maker.inputs if not spec.implicit]
        if len(args) > len(specs):
            raise TypeError(f"Too many parameter passed to phintys function {self.name!r}: it takes {len(specs)}, "
                            f"{len(args)} were given")
        arguments, states = [], []
        for spec, value in zip(specs, args):
            if spec.name in kwargs:
                raise TypeError(f"Multiple values for input: {spec.variable}")
            if spec.update is None:
                arguments.append(value)
            else:
                states.append((spec.variable, value))
        for spec in specs:
            if spec.update is not None and spec.name in kwargs:
                states.append((spec.variable, kwargs.pop(spec.name)))
        old = [(variable, self[variable]) for variable, _ in states]
        try:
            for variable, value in states:
                self[variable] = value
            return self._stateless(*arguments, **kwargs)
        except BaseException:
            for variable, value in old:         # a call that fails changes nothing
                self[variable] = value
            raise


class FunctionMaker:
    """Compiles.

    Parameters
    ----------
    inputs : list of SymbolicInput or Variable
        The user's inputs; shared variables are found in the graph.
    outputs : None, Variable, Out, or list of them
    mode : str or Mode, optional
    accept_inplace : bool
        Whether the user's graph may hold ops that overwrite their inputs.
    on_unused_input : {'raise', 'warn', 'ignore', None}
    output_keys : list of str, optional
        Results come in a dictionary with these keys.
    name : str, optional
    updates, givens, rebuild_strict, no_default_updates
        As in ``function``.

    Attributes
    ----------
    fgraph : FunctionGraph
        The optimised graph.
    inputs : list of In
        The user's inputs, then one implicit input for each shared variable.
    outputs : list of Out
    containers : dict
        Variable, name or position of a state or shared input → Container.
    """

    def __init__(self, inputs, outputs=None, mode=None, accept_inplace=False, on_unused_input=None, output_keys=None,
                 name=None, updates=None, givens=None, rebuild_strict=True, no_default_updates=False):
        self.mode = get_mode(mode)
        self.name = name
        self.output_keys = output_keys
        self.accept_inplace = accept_inplace
        self.unpack_single = outputs is not None and not isinstance(outputs, (list, tuple))
        self.outputs = [wrap_out(output) for output in _as_list(outputs)]
        self._given = [wrap_in(spec) for spec in inputs]
        self._givens = givens
        self._rebuild_strict = rebuild_strict
        changing = [spec for spec in self._given if _is_state(spec) and spec.update is not None]
        rebuilt = rebuild([output.variable for output in self.outputs] + [spec.update for spec in changing],
                          [spec.variable for spec in self._given], givens, updates, rebuild_strict, no_default_updates)
        self._new_values = rebuilt.new_values
        self._describe_inputs(rebuilt)
        on_unused_input = config.on_unused_input if on_unused_input is None else on_unused_input
        try:
            self._make_graph(rebuilt, [spec.variable for spec in changing])
        except MissingInputError:
            if on_unused_input == "raise":          # one input for another: the one that was given tells more
                needed = ancestors([*rebuilt.outputs, *rebuilt.updates.values()])
                self._check_unused(on_unused_input, rebuilt.inputs, set(needed))
            raise
        needed = {variable for variable in self.fgraph.inputs if self.fgraph.clients[variable]}
        self._check_unused(on_unused_input, rebuilt.inputs, needed)
        self._check_inplace()
        with change_flags(compute_test_value="off"):
            optimize(self.fgraph, self.mode.query)

    # ---- stages --------------------------------------------------------------------------------------------------
    def _describe_inputs(self, rebuilt):
        """All inputs: arguments of the call, and what is stored between calls."""
        self.inputs = self._given + [_shared_spec(variable, rebuilt.new_values.get(variable))
                                     for variable in rebuilt.shared]
        self.arguments = [spec for spec in self.inputs if not _is_state(spec)]
        self._stored = [spec for spec in self.inputs if _is_state(spec)]
        self.containers = _containers(self.inputs)

    def _make_graph(self, rebuilt, changing):
        """The private graph, and which of its outputs are stored where."""
        copies = dict(zip([spec.variable for spec in self._given], rebuilt.inputs)) | rebuilt.shared
        results, state_values = rebuilt.outputs[:len(self.outputs)], rebuilt.outputs[len(self.outputs):]
        new_values = dict(zip(changing, state_values)) | rebuilt.updates
        for variable, value in new_values.items():
            if value.type != variable.type:
                raise TypeError(f"the new value of {variable}, of type {variable.type}, became {value}, of type "
                                f"{value.type}: look at what givens replace")
        self.fgraph = FunctionGraph([copies[spec.variable] for spec in self.arguments + self._stored],
                                    results + list(new_values.values()), clone=False)
        self.fgraph.name = self.name
        self._updates = [(len(results) + position, self.containers[variable])
                         for position, variable in enumerate(new_values)]

    def _check_unused(self, reaction, copies, needed):
        """Complain about given inputs whose copies are not among the ``needed`` variables."""
        if reaction == "ignore":
            return
        if reaction not in ("raise", "warn"):
            raise ValueError(f"Invalid value for keyword on_unused_input of phintys.function: '{reaction}'.\n"
                             "Valid values are 'raise', 'warn', and 'ignore'.")
        for spec, copied in zip(self._given, copies):
            if spec.update is not None or copied in needed:
                continue
            message = ("phintys.function was asked to create a function computing outputs given certain inputs, but "
                       f"the provided input variable at index {self.inputs.index(spec)} is not part of the "
                       f"computational graph needed to compute the outputs: {spec.variable}{made_at(spec.variable)}.\n")
            if reaction == "raise":
                raise UnusedInputError(message + "To make this error into a warning, you can pass the parameter "
                                       "on_unused_input='warn' to phintys.function. To disable it completely, use "
                                       "on_unused_input='ignore'.")
            warnings.warn(message + "To make this warning into an error, you can pass the parameter "
                          "on_unused_input='raise' to phintys.function. To disable it completely, use "
                          "on_unused_input='ignore'.", stacklevel=4)

    def _check_inplace(self):
        if self.accept_inplace:
            return
        for node in self.fgraph.apply_nodes:
            if node.op.destroy_map:
                raise TypeError("Graph must not contain inplace operations", node)

    # ---- results -------------------------------------------------------------------------------------------------
    def create(self):
        """Link the graph and make the function."""
        program = link(self.fgraph, n_arguments=len(self.arguments),
                       containers=[self.containers[spec.variable] for spec in self._stored], updates=self._updates,
                       n_outputs=len(self.outputs), allow_gc=self.mode.allow_gc, name=self.name)
        settable = any(not spec.implicit for spec in self._stored)
        return (StatefulFunction if settable else Function)(self, program, self.arguments)

    def stored_values(self):
        """Variable of ``fgraph`` → its value between calls, for states and shared variables."""
        stored = self.fgraph.inputs[len(self.arguments):]
        return {variable: self.containers[spec.variable].data for variable, spec in zip(stored, self._stored)}

    def copied(self, swap, delete_updates, name):
        """A function made anew from the same specifications, with other shared variables or without updates."""
        for old, new in swap.items():
            if old not in self.containers:
                raise ValueError(f"SharedVariable: {old} not found")
            if not isinstance(new, SharedVariable) or new.type != old.type:
                raise TypeError(f"{old} of type {old.type} cannot be swapped for {new}: "
                                "expected a shared variable of the same type")
        recipe = self.recipe()[0] | {"name": name, "givens": pairs(swap) + pairs(self._givens)}
        recipe["updates"] = [] if delete_updates else [(swap.get(old, old), value) for old, value in recipe["updates"]]
        if delete_updates:
            recipe["inputs"] = [_without_update(spec) for spec in recipe["inputs"]]
        return FunctionMaker(**recipe).create()

    def recipe(self):
        """What makes the function again: the maker's arguments, and the present values of its own states."""
        arguments = {"inputs": self._given, "outputs": self._outputs_as_given(), "mode": self.mode,
                     "accept_inplace": self.accept_inplace, "on_unused_input": "ignore", "name": self.name,
                     "output_keys": self.output_keys, "updates": pairs(self._new_values), "givens": pairs(self._givens),
                     "rebuild_strict": self._rebuild_strict, "no_default_updates": True}
        states = [self.containers[spec.variable].value for spec in self._stored if not spec.implicit]
        return arguments, states

    def _outputs_as_given(self):
        return self.outputs[0] if self.unpack_single else self.outputs


def _remake(arguments, states, defaults):
    """Unpickle a function: compile it again."""
    maker = FunctionMaker(**arguments)
    for spec, value in zip((spec for spec in maker._stored if not spec.implicit), states):
        maker.containers[spec.variable].value = value
    function = maker.create()
    function._take_defaults(defaults)
    return function


def _as_list(outputs):
    if outputs is None:
        return []
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def wrap_in(spec):
    """An input as `In`: a variable, or a specification as it is."""
    if isinstance(spec, SymbolicInput):
        return spec if isinstance(spec, In) else In(spec.variable, **{key: value for key, value in vars(spec).items()
                                                                      if key != "variable"})
    if isinstance(spec, Constant):
        raise TypeError("A Constant instance is not a legal function input", spec)
    if isinstance(spec, Variable):
        return In(spec)
    raise TypeError(f"Unknown input type: {type(spec)} ({spec!r}), expected a Variable or In instance")


def wrap_out(output):
    """An output as `Out`."""
    if isinstance(output, SymbolicOutput):
        return output
    if isinstance(output, Variable):
        return SymbolicOutput(output)
    raise TypeError(f"Outputs must be phintys Variable or Out instances. Received {output} of type {type(output)}")


def _is_state(spec):
    """Whether the input's value lives in a container between calls."""
    return spec.implicit or (spec.update is not None and spec.value is not None)


def _shared_spec(variable, update):
    return In(variable, value=variable.container, mutable=update is not None, borrow=True, update=update, shared=True)


def _without_update(spec):
    plain = copy.copy(spec)
    plain.update = None
    return plain


def _containers(specs):
    """Variable, position and (where it is unique) name of each state and shared input → its container."""
    found = {}
    for spec in specs:
        if not _is_state(spec):
            continue
        container = getattr(spec.value, "container", spec.value)
        if not isinstance(container, Container):
            container = Container(spec.variable.type, spec.value, name=spec.name, strict=bool(spec.strict),
                                  allow_downcast=spec.allow_downcast)
        found[spec] = container
    return _named(found, specs)


def _named(values, specs):
    """The values of some of ``specs`` by the spec's variable, its position and, where it is unique, its name."""
    found = {}
    names = [spec.name for spec in specs] if values else []
    for position, spec in enumerate(specs):
        if spec not in values:
            continue
        found[spec.variable] = found[position] = values[spec]
        if spec.name is not None and names.count(spec.name) == 1:
            found[spec.name] = values[spec]
    return found
