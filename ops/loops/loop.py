"""Scan: an inner graph run step by step, the op of ``scan``.

``parts.py`` defines the groups of its inputs and outputs. They are closed under differentiation: the gradient by a
sequence is stacked, the gradient by a whole is summed, and the gradient that flows back through a state is a state of a
loop that runs backwards. So derivatives of any order need no other kinds of values. ``building.py`` makes loops,
``loop_gradient.py`` and ``loop_direction.py`` have the derivatives, ``native_steps.py`` makes a kernel that runs the
steps, ``stepping.py`` runs them in Python if there is no kernel.

A sequence has exactly as many rows as the loop has steps (``FirstRows`` takes them). A state's output begins with its
initial rows; ``Scan.kept`` says how many of the rows that steps add are kept, so indices from the end read the same
rows as before. A while loop has one more output: the number of steps that it did. A loop of no steps runs nothing of
its body (``row_lengths.py``).

Two loops are equal if their parts and options are, and their inner graphs compute the same.
"""
from time import perf_counter
from typing import NamedTuple

from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags, config
from phintys.graph.public_names import at_home
from phintys.graph.row_lengths import lengths_of_rows
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import equal_computations, io_connection_pattern
from phintys.ops.elementwise import scalar
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.graphs.inner_graph import InnerGraphOp, stacked_type
from phintys.ops.loops.native_steps import arguments_of, native_kernel
from phintys.ops.loops.row_lengths import row_lengths
from phintys.ops.loops.stepping import run_loop
from phintys.ops.loops.theano_names import TheanoNames
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes
from phintys.ops.types.tensor_type import TensorType

COUNT = TensorType("int64", ())


@at_home
class LoopOptions(NamedTuple):
    """Options of a loop that do not change its results.

    Attributes
    ----------
    truncate_gradient : int
        The number of last steps through which gradients flow back; -1: all steps.
    mode : str or Mode or None
        In which the inner graph is compiled.
    profile : bool, str or ScanProfileStats
        Whether steps are measured; a string: the title.
    allow_gc : bool
        Whether memory of intermediate results is dropped in each step. Otherwise it is kept until the last step, and
        longer in functions that keep theirs (``allow_gc=False``).
    strict : bool
        Whether all shared variables of the body had to be passed.
    needs_step : bool
        Whether the loop is refused if it does no step. So all that its body computes once may be computed before it.
    """

    truncate_gradient: int = -1
    mode: object = None
    profile: object = False
    allow_gc: bool = False
    strict: bool = False
    needs_step: bool = False


class Scan(TheanoNames, InnerGraphOp):
    """Run a graph for a number of steps.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The inner graph, in the order of the groups.
    parts : LoopParts
    kept : sequence of (int or None), optional
        For each state how many of the rows that the loop adds are kept, the last ones; None: all. (Of stacked outputs
        this is an input of the node.)
    name : str, optional
    options : LoopOptions, optional
    ahead : tuple of (list of Variable, list of Variable), optional
        The inputs and outputs of a graph that computes rows for many steps at once, which the inner graph reads as
        ``parts.n_ahead`` inputs: from as many rows of each sequence, and the wholes. Optimized functions have such
        loops.

    Raises
    ------
    TypeError
        If a state, a carried value or a sum changes its type from one step to the next.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> rows, updates = phintys.scan(lambda element: element * 2, sequences=x)
    >>> type(rows.owner.op).__name__
    'Scan'
    """

    is_loop = True                      # listings show the inner graph as the body of a step

    def __init__(self, inputs, outputs, parts, kept=None, name=None, options=LoopOptions(), ahead=None):
        super().__init__(inputs, outputs, name)
        self.parts = parts
        self.kept = (None,) * parts.n_states if kept is None else tuple(kept)
        self.options, self.ahead = options, ahead
        self._connections = self._without_need = None
        self._kernels, self._step_profile, self._ahead_function, self._row_lengths = {}, None, None, None
        if options.mode is not None:
            self.kwargs = {"mode": options.mode}
        self._check_types()

    def _check_types(self):
        inner, found = self.inner_inputs, self.inner_outputs
        for kind, befores, afters in (("state", [own[0] for own in inner.states], found.states),
                                      ("carried value", inner.carried, found.carried)):
            for number, (before, after) in enumerate(zip(befores, afters)):
                if before.type != after.type:
                    raise TypeError(f"Inconsistency in the inner graph of scan '{self}': {kind} {number} should have "
                                    f"the same type before and after a step, but has {before.type} and {after.type}")

    # ---- groups ----------------------------------------------------------------------------------------------
    @property
    def inner_inputs(self):
        """``local_inputs`` by groups; shared variables that the graph reads are among the wholes."""
        return self.parts.inner_inputs(self.local_inputs)

    @property
    def inner_outputs(self):
        """``local_outputs`` by groups."""
        return self.parts.inner_outputs(self.local_outputs)

    def body(self):
        """The inner graph, as lists of inputs and outputs: optimized if it has been compiled."""
        if self._function is None:
            return self.local_inputs, self.local_outputs
        graph = self._function.maker.fgraph
        return graph.inputs, graph.outputs

    def outer_of_inner(self, node):
        """For each inner input the input of a node that it is a part of."""
        return [node.inputs[position] for position in self.outer_of_inner_positions()]

    # ---- building and running --------------------------------------------------------------------------------
    def make_node(self, steps, *inputs):
        given_steps, steps = steps, _as_count(steps, "the number of steps of a loop")
        inputs = [steps if variable is given_steps else variable for variable in inputs]
        given, local = self.parts.outer_inputs([steps, *inputs]), self.parts.inner_inputs(self.inputs)
        if len(given.wholes) != len(local.wholes):
            raise ValueError(f"{self} takes {len(local.wholes)} wholes, got {len(given.wholes)}")
        sums = [variable.type for variable in self.inner_outputs.summed]
        wanted = [*[stacked_type(variable.type) for variable in local.sequences],
                  *[stacked_type(own[0].type) for own in local.states], *sums,
                  *[variable.type for variable in local.carried], *[COUNT for _ in given.stacked],
                  *[variable.type for variable in local.wholes]]
        inputs = [_as_count(value, "how many rows a loop keeps") if kind is COUNT else kind.filter_variable(value)
                  for kind, value in zip(wanted, inputs)]
        found = self.inner_outputs
        kinds = [*[stacked_type(variable.type) for variable in found.states + found.stacked], *sums,
                 *[variable.type for variable in found.carried]]
        if self.parts.is_while:
            kinds.append(COUNT)
        return Apply(self, [steps, *inputs, *self.shared_inputs], [kind.make_variable() for kind in kinds])

    @property
    def fn(self):
        """The compiled inner graph, which keeps memory from step to step unless ``allow_gc`` says otherwise."""
        if self._function is None:
            self._frees_at_end = bool(config.allow_gc) and not self.options.allow_gc
            profile = self.step_profile()
            options = {} if profile is None else {"profile": profile}
            with change_flags(allow_gc=self.options.allow_gc):
                return self.compiled(**options)
        return self._function

    def step_profile(self):
        """The profile of the steps, for all programs that have this loop.

        Returns
        -------
        ScanProfileStats or None
            None unless ``profile`` of ``scan`` or ``config.profile`` requests it.
        """
        given = self.options.profile
        if self._step_profile is None and (given or config.profile):
            is_made = isinstance(given, (bool, int, str))
            name = given if isinstance(given, str) and given else self.name
            self._step_profile = hooks.scan_profile(name=name, always_printed=bool(given)) if is_made else given
        return self._step_profile

    def measured_by(self, profile):
        """The same loop, whose steps a ``ScanProfileStats`` measures."""
        measured = self.with_kept(self.kept)
        measured._step_profile = profile
        return measured

    def rows_ahead(self, given, n_steps):
        """The rows that are computed ahead, for all steps at once.

        Parameters
        ----------
        given : Groups
            The values of a node's inputs.
        n_steps : int

        Returns
        -------
        list of numpy.ndarray
        """
        if self._ahead_function is None:
            self._ahead_function = self.compiled_ahead()
        return self._ahead_function(*[rows[:n_steps] for rows in given.sequences], *given.wholes)

    def compiled_ahead(self):
        """Compile the graph that computes rows for many steps at once."""
        inputs, outputs = self.ahead
        return hooks.function(inputs, outputs, on_unused_input="ignore", name=f"{self}, ahead", profile=False,
                              **self.kwargs)

    def row_lengths(self, values):
        """The lengths of stacked rows without a step, for values of ``arguments_of``.

        Returns
        -------
        list of list of int
        """
        if self._row_lengths is None:
            sums = [term.type() for term in self.inner_outputs.summed]
            self._row_lengths = row_lengths(self, arguments_of(self, sums))
        entries, compute = self._row_lengths
        return lengths_of_rows(entries, [getattr(value, "shape", ()) for value in values], lambda: compute(*values))

    def lower(self, emitter, node):
        kernel = native_kernel(self, self._kernels)
        if kernel is None:
            super().lower(emitter, node)
        else:
            emitter.kernel(self._measured(kernel), node)

    def _measured(self, kernel):
        """The kernel, or one like it that measures."""
        profile = self.step_profile()
        if profile is None:
            return kernel
        kernel = kernel.measured(profile.flag_time_thunks)
        profile.watch_loop(kernel)
        return kernel

    def perform(self, node, inputs, output_storage, params=None):
        function, profile, start = self.fn, self._step_profile, perf_counter()
        try:
            for storage, value in zip(output_storage, run_loop(self, function, inputs)):
                storage[0] = value
        finally:
            if self._frees_at_end:
                function.free()
            if profile is not None:
                profile.add_run(perf_counter() - start)

    def __getstate__(self):
        state = super().__getstate__()
        state["_kernels"] = {}                          # made again where they are needed
        state["_step_profile"] = state["_ahead_function"] = state["_row_lengths"] = state["_without_need"] = None
        return state

    def with_kept(self, kept, options=None):
        """The same loop with other numbers of kept rows, or other options."""
        return type(self)(self.local_inputs, self.local_outputs, self.parts, kept, self.name, options or self.options,
                          self.ahead)

    # ---- shapes ----------------------------------------------------------------------------------------------
    def infer_shape(self, node, input_shapes):
        parts, outer, inner = self.parts, self.parts.outer_inputs(input_shapes), self.inner_inputs
        steps = node.inputs[0] if not parts.is_while else node.outputs[-1]
        local = [*[shape[1:] for shape in outer.sequences], *[_own_lengths(variable) for variable in inner.ahead],
                 *[shape[1:] for shape, taps in zip(outer.states, parts.taps) for _ in taps],
                 *[None if shape is None else _own_lengths(variable)
                   for shape, variable in zip(outer.carried, inner.carried)],
                 *outer.wholes]
        moving = self.local_inputs[:parts.n_moving]
        stacked = self.inner_outputs.stacked
        inside = self.shapes_outside([*moving, *node.inputs[len(node.inputs) - len(inner.wholes):]], local,
                                     set(moving), stacked) if stacked else []
        rows = [shape[1:] for shape in outer.states] + inside
        lengths = [*[self._length(steps, number) for number in range(parts.n_states)],
                   *[steps if count is node.inputs[0] else scalar.minimum(steps, count)
                     for count in parts.outer_inputs(node.inputs).stacked]]
        shapes = [(length, *(shape if shape is not None else _read(output, 1)))
                  for length, shape, output in zip(lengths, rows, node.outputs)]
        carried = parts.outer_outputs(node.outputs).carried
        return [*shapes, *outer.summed, *[_read(output, 0) for output in carried], *([()] if parts.is_while else [])]

    def _length(self, steps, number):
        """How many rows a state has after a number of steps."""
        kept = self.kept[number]
        return (steps if kept is None else scalar.minimum(steps, kept)) + self.parts.depths[number]

    # ---- dependence ------------------------------------------------------------------------------------------
    def inner_connections(self):
        """For each inner input a list that says which inner outputs depend on it after any number of steps."""
        pattern = [list(row) for row in io_connection_pattern(self.local_inputs, self.local_outputs)]
        parts = self.parts
        position = {variable: number for number, variable in enumerate(self.local_inputs)}
        first = parts.n_states + parts.n_stacked + parts.n_summed
        feeds = [(number, [position[tap] for tap in own]) for number, own in enumerate(self.inner_inputs.states)]
        feeds += [(first + number, [position[variable]]) for number, variable in enumerate(self.inner_inputs.carried)]
        reached = {output: [any(row) for row in zip(*[pattern[source] for source in sources])]
                   for output, sources in feeds}
        for row in pattern:
            pending = [output for output in reached if row[output]]
            while pending:
                for output, flag in enumerate(reached[pending.pop()]):
                    if flag and not row[output]:
                        row[output] = True
                        if output in reached:
                            pending.append(output)
        return pattern

    def connection_pattern(self, node=None):
        if self._connections is None:
            self._connections = self._outer_connections()
        return [list(row) for row in self._connections]

    def _outer_connections(self):
        parts, pattern = self.parts, self.inner_connections()
        n_outputs = parts.n_states + parts.n_stacked + parts.n_summed + parts.n_carried
        done = [False] * parts.is_while
        rows = parts.inner_inputs([row[:n_outputs] for row in pattern])
        own = [[number == output for output in range(n_outputs)] for number in range(n_outputs)]
        own = parts.inner_outputs(own)
        result = [[False] * n_outputs, *rows.sequences]
        result += [_either(*taps) for taps in rows.states]      # the rows before the first step do not count
        result += own.summed
        result += [_either(row, *other) for row, other in zip(own.carried, zip(rows.carried))]
        result += [[False] * n_outputs for _ in range(parts.n_stacked)]
        return [list(row) + done for row in [*result, *rows.wholes]]

    # ---- derivatives -----------------------------------------------------------------------------------------
    # By modules that make loops.
    def L_op(self, inputs, outputs, output_gradients):
        return hooks.loop_derivatives("loop_gradient").gradients_of_loop(self, inputs, outputs, output_gradients)

    def R_op(self, inputs, eval_points):
        return hooks.loop_derivatives("loop_direction").direction_of_loop(self, inputs, eval_points)

    # ---- equality --------------------------------------------------------------------------------------------
    def __eq__(self, other):
        if self is other:
            return True
        if type(self) is not type(other) or hash(self) != hash(other) or self._signature() != other._signature():
            return False
        graphs = [(self.local_inputs, self.local_outputs, other.local_inputs, other.local_outputs)]
        if self.ahead is not None:
            graphs.append((*self.ahead, *other.ahead))
        return all([equal_computations(outputs, others, inputs, other_inputs)
                    for inputs, outputs, other_inputs, others in graphs])

    @property
    def as_merged(self):
        """The loop without the need of a step: it may replace one that an equal loop does not need."""
        if not self.options.needs_step:
            return self
        if self._without_need is None:
            self._without_need = self.with_kept(self.kept, self.options._replace(needs_step=False))
        return self._without_need

    def __hash__(self):
        try:
            return self._kept_hash
        except AttributeError:
            nodes = [hash(node.op) for node in io_toposort(self.local_inputs, self.local_outputs)]
            self._kept_hash = kept = hash((*self._signature(), tuple(sorted(nodes))))
            return kept

    def _signature(self):
        """A value that equal loops have in common, apart from their inner graphs; it omits the mode, which changes no
        value."""
        return (type(self), self.parts, self.kept, self.options._replace(mode=None),
                tuple([variable.type for variable in self.local_inputs]))

    def __str__(self):
        kind = "do_while" if self.parts.is_while else "for"
        return f"{kind}{{cpu,{self.name or 'scan_fn'}}}"


def _own_lengths(variable):
    return tuple([shape_i(variable, axis) for axis in range(variable.type.ndim)])


def _as_count(value, what):
    """An integer scalar as a variable of int64."""
    value = as_tensor_variable(value)
    if value.type.dtype not in integer_dtypes or value.type.ndim:
        raise TypeError(f"{what} is an integer scalar, got {value.type}")
    return value if value.type.dtype == "int64" else cast_op("int64")(value)


def _either(*rows):
    return [any(flags) for flags in zip(*rows)]


def _read(variable, first):
    """The lengths of a variable from a dimension on, read from itself; None if it has no dimensions."""
    if getattr(variable.type, "ndim", None) is None:
        return None
    return tuple([shape_i(variable, axis) for axis in range(first, variable.type.ndim)])
