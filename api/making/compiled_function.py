"""``Function``: the object that a user calls.

It is a ``Callable`` of the virtual machine with Theano's attributes. A plain call goes straight to the machine; only
functions with states that the caller may set (``In`` with ``update``) or with values elsewhere, and calls after a
default was set, run the Python code here (``call``). Invariant: a call that fails leaves states and defaults unchanged.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.debugging.failed_node import at_length
from phintys.graph.public_names import at_home
from phintys.making.argument_container import ArgumentContainer
from phintys.making.described_function import DocstringOfInstance, SignatureOfInstance
from phintys.making.function_copies import Recipe, pickled, token_of
from phintys.optimizer.passes.not_in_place import reasons_against
from phintys.vm.callables.callable import Callable, enable_vectorcall
from phintys.vm.explaining.runtime_error import bad_argument
from phintys.vm.places import HOST

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy

    from phintys.graph.apply import Apply
    from phintys.making.function_maker import FunctionMaker
    from phintys.ops.operators import TensorVariable
    from phintys.reports.memory_report import MemoryReport
    from phintys.reports.profile_stats import ProfileStats
    from phintys.shared import SharedVariable

# Names that the machine and the files of this folder use; ``dir(f)`` does not show them to users.
INTERNAL = frozenset("""arranged at_length call containers_of_graph default_was_set evaluate fitted has_states
    indirect last_shapes lasting measurements output_keys_of position_of refuse_keyword stored_values""".split())

MOST_NODES_SHOWN = 1000             # of the optimized graph, for a page that a notebook shows by itself

DUPLICATE = ["DUPLICATE"]           # the value in ``finder`` for a name of several inputs


@at_home
class Function(Callable):
    """A compiled function; made by ``phintys.function``.

    Parameters
    ----------
    maker : FunctionMaker
    program : Program
    input_storage : list of Container or ArgumentContainer
        One for each of ``maker.inputs``.

    Attributes
    ----------
    maker : FunctionMaker
        With ``maker.fgraph``, the compiled graph, and ``maker.inputs``, ``maker.outputs``, ``maker.mode``.
    name : str
    profile : ProfileStats or None
        The times of calls, if they are measured.
    trust_input : bool
        Refuse arguments that are not arrays of exactly the declared type instead of converting them.
    input_storage : list of Container or ArgumentContainer
        The storage of each input: of states and shared variables, and of the defaults of arguments.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> f = phintys.function([x], [x.sum(), x * 2], name="f")
    >>> f([1, 2])
    [array(3.), array([2., 4.])]
    >>> f.name, f.n_returned_outputs
    ('f', 2)
    """

    profile: ProfileStats | None = None
    shares_programs = True                  # with other functions of the same pickle; subclasses may not

    def __init__(self, maker: FunctionMaker, program: Any, input_storage: list[Any],
                 model: FunctionMaker | None = None) -> None:
        self.maker = maker
        if model is not None:                                  # one with equal inputs, while this one waits
            maker = model
        self.input_storage = input_storage
        self._finder: Any = None
        self._fn: Any = None
        self.lasting: dict[Any, Any] = {}                      # see function_copies
        arguments = maker.arguments
        own = [container for container in input_storage if isinstance(container, ArgumentContainer)]
        super().__init__(program, maker.argument_types, [spec.name for spec in arguments],
                         [bool(spec.strict) for spec in arguments], [spec.allow_downcast for spec in arguments],
                         single=maker.unpack_single, output_keys=maker.output_keys, return_none=maker.return_none,
                         defaults=[None if container.required else container for container in own],
                         measured=_what_is_measured(maker.profile))
        self._explicit = [(spec, container) for spec, container in zip(maker.inputs, input_storage)
                          if not spec.implicit]
        self._set: list[Any] = []                              # containers whose defaults were set after the last call
        self.has_states = len(self._explicit) > len(own)
        self._visits = _visits_of(maker.inputs)
        self._fitting = _fitting_of(self, maker)
        self.indirect = self._always_indirect = (self._visits is not None or self._fitting is not None
                                                 or self._states_are_in_the_way(maker))
        for container in own:
            container.belong_to(self)
        if maker.profile is not None:
            self.profile = maker.profile
            maker.profile.watch(self)

    def _states_are_in_the_way(self, maker):
        """Return whether positional values, as many as there are arguments, may belong to other inputs."""
        n_arguments = len(maker.arguments)
        return (maker.positions != list(range(n_arguments))
                or any([spec.required for spec, _ in self._explicit[n_arguments:]]))

    __signature__ = SignatureOfInstance()

    def explain(self, style: str = "formulas", html: bool = False, rewrites: bool | str = False) -> str:
        """Return the program as text: the formulas in the order in which they are computed, with the lines that made
        them.

        After a call, shapes and bytes are those of the last call; with ``profile=True`` there are times, too. Remarks
        say what is a view, what is computed in the memory of another value, what is copied and why, and why values are
        not computed in place.

        Parameters
        ----------
        style : {"formulas", "instructions"}
            "instructions": the bytecode, with cells instead of names, for people who work on the virtual machine.
        html : bool
            Return a page instead, a ``str`` with a method ``save``, for any browser; notebooks show it. It has the
            program beside its source, bars of times and bytes, the memory, the graph before and after the optimizer,
            and what each rewrite did. It needs no network, and holds the source of the lines that made the program.
        rewrites : bool or str
            Return the rewrites that the optimizer applied instead, step by step, with the lines that made what they
            replaced. A text selects those with it in their name, of this family, or of this line (``"model.py:12"``).

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If there is no such style.

        Examples
        --------
        >>> import phintys
        >>> x = phintys.tensor.dvector("x")
        >>> f = phintys.function([x], x * 2, name="f")
        >>> print(f.explain())                      # doctest: +ELLIPSIS
        f(x): 1 result; 1 kernel, 0 Python calls, 3 instructions, allow_gc=True
        ...
        """
        self.program.complete()
        if html:
            from phintys.pages.program_page import program_page

            return program_page(self, reasons_in)
        if rewrites:
            from phintys.reports.why_not import story_text

            return story_text(self, rewrites)
        from phintys.vm.callables.explanation import explained

        shown, cached = explained(self, style, reasons_in), self.maker.cached
        return f"{shown}program cache: {cached}\n" if cached else shown

    def _repr_html_(self) -> str:
        """The page of ``explain``, as notebooks show it; of a large program only its name, because it takes a while."""
        self.program.complete()
        if len(self.maker.compiled.apply_nodes) > MOST_NODES_SHOWN:
            from html import escape

            return (f"<pre>{escape(repr(self))}: a large program; explain(html=True) shows it, and explain() its "
                    "text</pre>")
        from phintys.pages.program_page import program_page

        return program_page(self, reasons_in)._repr_html_()

    def memory_report(self, shapes: Any = None) -> MemoryReport:
        """Report how much memory calls need, for each way of collecting garbage.

        Parameters
        ----------
        shapes : sequence or dict, optional
            For each argument, in order or by name or variable, its shape (a tuple), or its value if sizes depend on it.
            None: the shapes of the last call.

        Returns
        -------
        MemoryReport
            Print it, read its figures, or ``plot`` it.

        Raises
        ------
        ValueError
            If nothing is given and the function has not been called, or if a shape does not fit its argument.
        """
        from phintys.reports.memory_report import report_of

        return report_of(self, shapes)

    # ---- calls -------------------------------------------------------------------------------------------------------
    def at_length(self, node: Apply) -> tuple[str, ...]:
        """Return more lines for the error of a node that failed; see `failed_node`."""
        return at_length(node)

    def call(self, positional: Sequence[float | numpy.ndarray],
             named: Mapping[str, float]) -> dict[str, numpy.ndarray] | list[numpy.ndarray] | numpy.ndarray:
        """Make a call that is not plain: ``f(*positional, **named)`` with states, with defaults that were set, or with
        shared variables whose value is elsewhere."""
        run = self._call_with_states if self.has_states else self._evaluated
        try:
            return run(positional, named) if self._visits is None else self._visits.run(run, positional, named)
        finally:
            self._restore_defaults()

    def _evaluated(self, positional, named):
        """A call of the program, or of one that fits into the limit."""
        return (self.evaluate if self._fitting is None else self._fitting.call)(positional, named)

    def fitted(self, given: Sequence[Any] | None = None) -> Function:
        """Return what runs for these shapes, or values, of arguments, or ran in the last call: this function, or one
        that fits into ``config.memory_limit``."""
        if self._fitting is None:
            return self
        return self._fitting.latest if given is None else self._fitting.fitted(given)

    def free(self) -> None:
        """Give up all memory that the function keeps between calls."""
        for function in self._programs():
            super(Function, function).free()

    def kept_bytes(self) -> int:
        """Return the memory that the function keeps between calls, in bytes."""
        return sum([super(Function, function).kept_bytes() for function in self._programs()])

    def _programs(self):
        """This function, and those that run instead of it because of ``config.memory_limit``."""
        return [self] if self._fitting is None else [self, *self._fitting.functions()]

    def _restore_defaults(self):
        for container in self._set:
            container.restore()
        self._set = []
        self.indirect = self._always_indirect

    def default_was_set(self, container: ArgumentContainer) -> None:
        """Note that a default was set: it counts for one call, and then the declared default is restored."""
        self._set.append(container)
        self.indirect = True

    def _call_with_states(self, positional, named):
        arguments, states = self._sorted(positional, dict(named))
        old = [(container, container.get(borrow=True)) for _, container, _ in states]
        try:
            for position, container, value in states:
                self._set_state(position, container, value)
            return self._evaluated(*arguments)
        except BaseException:
            for container, value in old:            # a call that fails changes nothing
                container.set(value, borrow=True)
            raise

    def _sorted(self, positional, named):
        """Return the machine's arguments (positional, named), and the states: [(position, container, value)]."""
        explicit = self._explicit
        if len(positional) > len(explicit):
            raise TypeError(f"Too many parameter passed to phintys function with name {self.name!r}: it takes "
                            f"{len(explicit)}, {len(positional)} were given")
        arguments, states = [], []
        for position, (spec, container) in enumerate(explicit):
            is_argument = isinstance(container, ArgumentContainer)
            if position < len(positional):
                if spec.name is not None and spec.name in named and not self._is_ambiguous(spec.name):
                    raise TypeError(f"Multiple values for input: {spec.variable}")
                if is_argument:
                    arguments.append(positional[position])
                else:
                    states.append((position, container, positional[position]))
            elif not is_argument and spec.name in named:
                self._refuse_ambiguous(spec.name)
                states.append((position, container, named.pop(spec.name)))
            elif not is_argument and spec.required:
                raise TypeError(f"Missing required input: {spec.variable}")
        return (tuple(arguments), named), states

    def _set_state(self, position, container, value):
        spec, _ = self._explicit[position]
        try:
            container.value = value
        except Exception as error:
            raise bad_argument(error, self.name, spec.name, position, spec.variable, value) from None

    def _is_ambiguous(self, name):
        return [spec.name for spec, _ in self._explicit].count(name) > 1

    def _refuse_ambiguous(self, name):
        if self._is_ambiguous(name):
            raise TypeError(f"Ambiguous name: {name} - please check the names of the inputs of your function "
                            f"{self.name!r} for duplicates.")

    def refuse_keyword(self, name: str) -> Any:
        """Raise the error that explains why no argument can be given by this name."""
        self._refuse_ambiguous(name)
        if name in self.finder:
            raise TypeError(f"Tried to provide value for implicit input: {name} of phintys function with name "
                            f"{self.name!r}")
        from difflib import get_close_matches

        known = [spec.name for spec in self.maker.inputs if spec.name is not None]
        alike = get_close_matches(name, known, n=1)
        hint = f" Did you mean {alike[0]!r}?" if alike else ""
        raise TypeError(f"Unknown input or state: {name!r}. {self._described_inputs()}.{hint}")

    def position_of(self, index: int) -> int:
        """Return the position among the inputs of the machine's argument ``index``."""
        return self.maker.positions[index]

    # ---- values between calls ----------------------------------------------------------------------------------------
    @property
    def finder(self) -> Any:
        """Input (variable, name or position) → its container, or ``DUPLICATE`` for a name of several inputs."""
        if self._finder is None:
            self._finder = finder = {}
            for position, (spec, container) in enumerate(zip(self.maker.inputs, self.input_storage)):
                finder[position] = finder[spec.variable] = container
                if spec.name is not None:
                    finder[spec.name] = DUPLICATE if spec.name in finder else container
        return self._finder

    @property
    def inv_finder(self) -> Any:
        """Container → the input whose value it holds."""
        return dict(zip(self.input_storage, self.maker.inputs))

    @property
    def container(self) -> dict[TensorVariable | int | str, ArgumentContainer]:
        """Input (variable, name or position) → its container: ``f.container[x]``."""
        return self.finder

    @property
    def value(self) -> Function:
        """Theano's name for the function used as a dictionary: ``f.value[x]`` is ``f[x]``."""
        return self

    def __contains__(self, item: Any) -> bool:
        return item in self.finder

    def __getitem__(self, item: Any) -> Any:
        """Return the value of a state or shared variable, or the default of an argument."""
        return self._container_of(item).value

    def __setitem__(self, item: Any, value: Any) -> None:
        """Set the value of a state or shared variable, or, for the next call, the default of an argument."""
        self._container_of(item).value = value

    def _container_of(self, item):
        try:
            container = self.finder[item]
        except (KeyError, TypeError):
            raise TypeError(f"Unknown input or state: {item}. {self._described_inputs()}") from None
        if container is DUPLICATE:
            raise TypeError(f"Ambiguous name: {item} - please check the names of the inputs of your function "
                            f"{self.name!r} for duplicates.")
        return container

    def _described_inputs(self):
        states = [spec.name for spec in self.maker.inputs if spec.implicit and spec.name is not None]
        given = [spec.name for spec in self.maker.inputs if not spec.implicit]
        named = [name for name in given if name is not None]
        return (f"The phintys function with name {self.name!r} has {len(named)} named inputs ({', '.join(named)}) and "
                f"{len(given) - len(named)} unnamed" + (f", and the states {', '.join(states)}" if states else ""))

    def containers_of_graph(self) -> list[ArgumentContainer]:
        """Return the storage of each input of ``maker.fgraph``, in the graph's order."""
        return [self.input_storage[position] for position in self.maker.graph_order]

    def stored_values(self) -> dict[Any, Any]:
        """Map states and shared variables of ``maker.fgraph`` to their values between calls."""
        return {variable: container.data
                for variable, container in zip(self.maker.fgraph.inputs, self.containers_of_graph())
                if not isinstance(container, ArgumentContainer)}

    # ---- Theano's attributes -----------------------------------------------------------------------------------------
    @property
    def fn(self) -> Any:
        """The compiled program, with the names of Theano's linked functions; see ``program_view.py``."""
        if self._fn is None:
            from phintys.making.program_view import ProgramView
            self._fn = ProgramView(self)
        return self._fn

    @property
    def output_storage(self) -> Any:
        """One-element lists that ``f.fn()`` fills."""
        return self.fn.output_storage

    @property
    def defaults(self) -> list[tuple[Any, ...]]:
        """For each input: whether each call must give it, whether it is restored after calls, and its value."""
        return [(spec.required, not spec.required and isinstance(container, ArgumentContainer),
                 None if spec.required or spec.shared else container.value)
                for spec, container in zip(self.maker.inputs, self.input_storage)]

    indices = property(lambda self: self.maker.indices)
    outputs = property(lambda self: self.maker.outputs)
    unpack_single = property(lambda self: self.maker.unpack_single)
    return_none = property(lambda self: self.maker.return_none)
    output_keys = property(lambda self: self.maker.output_keys)
    n_returned_outputs = property(lambda self: len(self.maker.outputs))

    @property
    def _check_for_aliased_inputs(self):
        """Theano's flag: whether an argument's memory may be seen or overwritten. Overlaps are always checked."""
        return any([bool(spec.borrow or spec.mutable) for spec in self.maker.inputs if not spec.shared])

    def output_keys_of(self, positions: Any) -> Any:
        """Return the positions of outputs for ``output_subset``, which contains keys if outputs have keys."""
        return positions if self.output_keys is None else [self.output_keys[position] for position in positions]

    def get_shared(self) -> list[SharedVariable]:
        """Return the shared variables that the function reads or updates."""
        return [spec.variable for spec in self.maker.inputs if spec.implicit]

    def sync_shared(self) -> None:
        """Wait until all updates are done; they are done when a call returns."""

    # ---- copies ------------------------------------------------------------------------------------------------------
    def copy(self, share_memory: bool = False, swap: Mapping[Any, Any] | None = None, delete_updates: bool = False,
             name: str | None = None, profile: ProfileStats | str | bool | None = None) -> Function:
        """Return a separate function with the same graph, defaults and shared variables.

        States of this function are copied with their present values. As in Theano, a copy returns a list of its
        results, whatever the original returns.

        Parameters
        ----------
        share_memory : bool
            Accepted for compatibility with Theano; intermediate results always come from one pool.
        swap : dict, optional
            Shared variable → the one to use instead; it must have the same type.
        delete_updates : bool
            Leave the updates out; states become arguments with defaults.
        name : str, optional
            Default: this function's name with " copy".
        profile : None, bool, str or ProfileStats
            As in ``function``.

        Raises
        ------
        ValueError
            If the function does not use a variable to be swapped.
        TypeError
            If a swapped variable is not shared or has another type.
        """
        recipe = Recipe(self).without_sharing().returning_lists()
        if swap:
            recipe.swap(swap)
        if delete_updates:
            recipe.delete_updates()
        name = name or (f"{self.name} copy" if self.name else None)
        copied = None if delete_updates or profile else recipe.make_with_program(name, swap or {})
        return recipe.make(name, profile) if copied is None else copied

    def save(self, path: str | os.PathLike[str], key: bytes | None = None, include_graph: bool = False) -> None:
        """Write the program to a file that ``phintys.load`` and ``phintys.runtime`` read.

        It holds the present values of the shared variables. ``phintys.save`` writes several functions that share some.

        Parameters
        ----------
        path : str or path-like
        key : bytes, optional
            A secret, without which nobody can read the file, or make one that its readers accept.
        include_graph : bool
            Write the graph, too, for gradients later; see ``phintys.save``.

        Raises
        ------
        TypeError
            If the program holds what no file can; see ``phintys.save``.

        Examples
        --------
        >>> import tempfile
        >>> x = T.dvector("x")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     phintys.function([x], x.sum(), name="total").save(f"{folder}/total")
        ...     total = phintys.load(f"{folder}/total")
        >>> total([1, 2, 3])
        array(6.)
        """
        from phintys.vm.files.functions import save

        save(path, self, key, include_graph)

    def __copy__(self):
        return self.copy()

    def __reduce__(self):
        return pickled(self)

    def __dask_tokenize__(self):
        """Return what identifies the function's results for Dask, also in another process.

        Raises
        ------
        TypeError
            If calls change values that are in this process: Dask would make one call for two, or two for one.
        """
        from phintys.vm.files.functions import refuse_updates

        refuse_updates(self, [] if self._visits is None else [variable.container for variable in self._visits.updated])
        return token_of(self)

    def __repr__(self):
        return f"<phintys function {self.name!r}>"

    def __dir__(self) -> list[str]:
        """List the attributes for users; others may change from one version to the next."""
        return sorted([name for name in super().__dir__() if not name.startswith("_") and name not in INTERNAL])


def reasons_in(function: Function) -> list[tuple[TensorVariable | str, ...]]:
    """Return why values of a function are not computed in place; see ``Listing``."""
    return reasons_against(function.maker.compiled, function.maker.mode.query)


def _visits_of(inputs):
    """What surrounds calls if values of shared variables are elsewhere, or None."""
    elsewhere = [spec for spec in inputs if spec.shared and getattr(spec.variable, "visits", None) is not None]
    if not elsewhere:
        return None
    return elsewhere[0].variable.visits([spec.variable for spec in elsewhere],
                                        [spec.variable for spec in elsewhere if spec.update is not None])


def _fitting_of(function, maker):
    """What keeps the calls of a function within its limit of memory, or None."""
    if not maker.memory_limit or not maker.mode.runs_graph or any([
            cell.place != HOST for cell in function.program.cells]):
        return None
    from phintys.making.fitting import Fitting

    return Fitting(function, maker.memory_limit)


def _what_is_measured(profile):
    """Return what ``Callable`` measures: "instructions", only whole "calls", or None."""
    return None if profile is None else "instructions" if profile.flag_time_thunks else "calls"


enable_vectorcall(Function)
Function.__doc__ = DocstringOfInstance(Function.__doc__)        # type: ignore[assignment]
