"""OpFromGraph: an op made from a graph, optionally with user-defined gradients.

The code of the compiled inner graph is a part of the program that has the node. With ``inline=True`` the optimizer
replaces the node by the inner graph (``inline_ofg_expansion``). Gradients and R-operators are also ops from graphs,
made once for each set of outputs that have a gradient. An override replaces the derivative of the inner graph, for all
inputs or for single ones.
"""
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import float_zeros_like, grad
from phintys.graph.gradients.view_op import view_op
from phintys.graph.public_names import at_home
from phintys.graph.traversal import clone_replace, graph_inputs, io_connection_pattern
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Variable
from phintys.ops.graphs.inner_graph import InnerGraphOp, as_gradient, gradient_type
from phintys.ops.shape.shape import declared_lengths, of_declared_lengths
from phintys.ops.types.tensor_type import TensorType

DEFAULT = "default"
COMPILING = frozenset(("mode", "name", "on_unused_input", "rebuild_strict", "no_default_updates",
                       "allow_input_downcast"))     # options that say no more than how the inner graph is compiled


class OpFromGraph(InnerGraphOp):
    """An op that computes a graph.

    Shared variables in the graph become inputs of the nodes automatically; all other leaves that the outputs depend on
    must be among ``inputs``.

    Parameters
    ----------
    inputs, outputs : list of Variable
        An operand must have the lengths that the type of its input states; ones that are not known are checked when
        the node runs.
    inline : bool
        Whether to optimise the inner graph together with the surrounding graph instead of running it as one step.
    lop_overrides : 'default', callable, OpFromGraph, Variable, or list of those
        The gradient. A callable takes the lists ``inputs``, ``outputs`` and ``output_grads`` and returns a list with a
        gradient for each input; an OpFromGraph takes the same variables as single arguments. A variable of
        ``DisconnectedType`` or ``NullType`` means that there is no gradient. A list has one entry for each input, and
        each entry returns one variable; the entry 'default' means the gradient of the inner graph.
    grad_overrides : as ``lop_overrides``
        Like ``lop_overrides``, but without ``outputs``. Only one of the two can be given.
    rop_overrides : as ``lop_overrides``
        The R-operator, as a function of ``inputs`` and ``eval_points``, with one result or entry for each output.
    connection_pattern : list of list of bool, optional
        Replaces the connection pattern of the inner graph.
    name : str, optional
    **kwargs
        Options of the ``function`` that compiles the inner graph, except ``updates`` and ``givens``. With ``profile``
        or ``accept_inplace``, or a mode that watches nodes, the nodes call this function. Otherwise the code of the
        inner graph becomes a part of the program that has the node, and intermediate results are kept as the mode of
        that program says.

    Raises
    ------
    TypeError
        If inputs or outputs are not lists of variables, or an override or option is invalid.
    ValueError
        If both ``lop_overrides`` and ``grad_overrides`` are given; when the gradient is taken, if the number of
        overrides is not the number of inputs.

    Examples
    --------
    >>> x, y = T.scalars("xy")
    >>> op = OpFromGraph([x, y], [x + 2 * y])
    >>> z = op(x, x) * op(y, x)
    """

    def __init__(self, inputs, outputs, inline=False, lop_overrides=DEFAULT, grad_overrides=DEFAULT,
                 rop_overrides=DEFAULT, connection_pattern=None, name=None, **kwargs):
        if not isinstance(outputs, list):
            raise TypeError(f"outputs must be list, got {type(outputs)}")
        for option in ("updates", "givens"):
            if option in kwargs:
                raise TypeError(f"updates and givens are not allowed here, got {option}={kwargs[option]!r}")
        super().__init__(inputs, outputs, name, **kwargs)
        self.is_inline = bool(inline)
        self.input_types = [variable.type for variable in self.inputs]
        self.output_types = [variable.type for variable in self.outputs]
        self._connection_pattern = connection_pattern
        self._restricted = {}                       # positions of outputs → (op that computes them, inputs it reads)
        if not _is_default(lop_overrides) and not _is_default(grad_overrides):
            raise ValueError("lop_overrides and grad_overrides are mutually exclusive")
        if _is_default(grad_overrides):
            self.set_lop_overrides(lop_overrides)
        else:
            self.set_grad_overrides(grad_overrides)
        self.set_rop_overrides(rop_overrides)

    @property
    def has_own_derivatives(self):
        """Whether a derivative is not that of the inner graph."""
        return not (self._gradient.is_default and self._forward.is_default)

    # ---- overrides -------------------------------------------------------------------------------------------
    def set_lop_overrides(self, lop_overrides):
        """Replace the gradient; earlier overrides are discarded."""
        self._gradient = _Derivative("lop", lop_overrides)

    def set_grad_overrides(self, grad_overrides):
        """Replace the gradient by overrides that do not take the outputs; earlier overrides are discarded."""
        self._gradient = _Derivative("grad", grad_overrides)

    def set_rop_overrides(self, rop_overrides):
        """Replace the R-operator; earlier overrides are discarded."""
        self._forward = _Derivative("rop", rop_overrides)

    # ---- building and running --------------------------------------------------------------------------------
    def make_node(self, *inputs):
        if len(inputs) != len(self.input_types):
            raise ValueError(f"Expected {len(self.input_types)} inputs, got {len(inputs)}: {self}")
        inputs = [of_declared_lengths(wanted.filter_variable(value), wanted, f"{self} was made")
                  for wanted, value in zip(self.input_types, inputs)]
        return Apply(self, inputs + self.shared_inputs, [kind.make_variable() for kind in self.output_types])

    def lower(self, emitter, node):
        maker = self.fn.maker
        if COMPILING.issuperset([name for name, value in self.kwargs.items() if value]) and maker.mode.runs_graph:
            emitter.graph(maker.fgraph, node)
        else:                                       # the user's options require a separate function, which is called
            super().lower(emitter, node)

    def perform(self, node, inputs, output_storage, params=None):
        for storage, value in zip(output_storage, self.fn(*inputs)):
            storage[0] = value

    def infer_shape(self, node, input_shapes):
        return self.shapes_outside(node.inputs, input_shapes)

    def expanded(self, inputs):
        """The inner graph applied to a node's inputs, which replaces the node if ``inline`` is true."""
        return clone_replace(self.local_outputs, dict(zip(self.local_inputs, inputs)))

    def restricted(self, inputs, wanted):
        """The outputs at the positions ``wanted``, computed without the others; None if that would save nothing.

        The op that computes them is cached, so that nodes of this op share it. It is used in compiled functions only
        and has no overridden gradient.
        """
        found = self._restricted.get(wanted)
        if found is None:
            outputs = [self.local_outputs[position] for position in wanted]
            needed = set(graph_inputs(outputs, self.local_inputs))
            read = [position for position, variable in enumerate(self.local_inputs) if variable in needed]
            op = self
            if len(read) < len(self.local_inputs) or len(wanted) < len(self.local_outputs):
                op = OpFromGraph([self.local_inputs[position] for position in read], outputs, name=self.name,
                                 **self.kwargs)
            found = self._restricted[wanted] = op, read
        op, read = found
        return None if op is self else op(*[inputs[position] for position in read], return_list=True)

    # ---- derivatives -----------------------------------------------------------------------------------------
    def connection_pattern(self, node=None):
        if self._connection_pattern is not None:
            return self._connection_pattern
        if self._gradient.pattern is None:
            self._gradient.pattern = self._connections()
        return [list(row) for row in self._gradient.pattern]

    def _connections(self):
        """The connection pattern of the inner graph and of the overrides of its gradient."""
        pattern = [list(row) for row in io_connection_pattern(self.local_inputs, self.local_outputs)]
        if self._gradient.is_default:
            return pattern
        self._gradient.pattern = pattern                # a derivative that contains the op asks for it again
        derivative, valueless = self._gradient_op((True,) * len(self.outputs))
        first = len(self.local_inputs) + len(self.local_outputs)
        by_gradients = [] if derivative is None else io_connection_pattern(derivative.local_inputs[first:],
                                                                           derivative.local_outputs)
        kept = iter(range(len(self.local_inputs)))
        for position, row in enumerate(pattern):
            special = valueless.get(position)
            if special is not None:
                pattern[position] = [False] * len(row) if isinstance(special.type, DisconnectedType) else row
                continue
            column = next(kept)
            pattern[position] = [linked or used[column] for linked, used in zip(row, by_gradients)]
        return pattern

    def L_op(self, inputs, outputs, output_grads):
        reached = tuple([not isinstance(gradient.type, (DisconnectedType, NullType)) for gradient in output_grads])
        gradients = [as_gradient(gradient if flag else float_zeros_like(output), gradient_type(output.type))
                     for flag, gradient, output in zip(reached, output_grads, outputs)]
        derivative, valueless = self._gradient_op(reached)
        computed = iter(() if derivative is None else derivative(*inputs, *outputs, *gradients, return_list=True))
        connected = [any([linked and flag for linked, flag in zip(row, reached)]) for row in self.connection_pattern()]
        terms = []
        for position, variable in enumerate(inputs):
            term = valueless[position] if position in valueless else next(computed)
            if isinstance(term.type, DisconnectedType) and connected[position] and hasattr(variable, "zeros_like"):
                term = float_zeros_like(variable)
            terms.append(term)
        return terms

    def _gradient_op(self, reached):
        """The op that computes the gradients from inputs, outputs and output gradients, and a dict of the gradients
        without a value by position.

        ``reached`` says which outputs have a gradient.
        """
        def by_default(inputs, outputs, gradients, positions):
            known = {view_op(output): gradient for output, gradient, flag in zip(outputs, gradients, reached) if flag}
            if not known:
                return [disconnected_type() for _ in positions]
            return grad(None, [inputs[position] for position in positions], known_grads=known, null_gradients="return",
                        disconnected_inputs="ignore", return_disconnected="Disconnected", add_names=False)

        kinds = [gradient_type(kind) for kind in self.output_types]
        # Gradients of any lengths, which nodes need not check.
        gradients = [TensorType(kind.dtype, kind.broadcastable).make_variable() if any(declared_lengths(kind)) else
                     kind.make_variable() for kind in kinds]
        return self._gradient.op(self, reached, len(self.local_inputs), by_default,
                                 (self.local_inputs, self.local_outputs, gradients))

    def R_op(self, inputs, eval_points):
        reached = tuple([point is not None for point in eval_points])
        points = [variable.type.make_variable() for variable in self.local_inputs]

        def by_default(inputs, points, positions):
            moved = [position for position, flag in enumerate(reached) if flag]
            outputs = [self.local_outputs[position] for position in positions]
            return Rop(outputs, [inputs[position] for position in moved], [points[position] for position in moved],
                       disconnected_outputs="ignore", return_disconnected="Disconnected")

        derivative, valueless = self._forward.op(self, reached, len(self.local_outputs), by_default,
                                                 (self.local_inputs, points))
        given = [_no_direction(variable) if point is None else point for variable, point in zip(inputs, eval_points)]
        computed = iter(() if derivative is None else derivative(*inputs, *given, return_list=True))
        results = []
        for position in range(len(self.local_outputs)):
            special = valueless.get(position)
            results.append(next(computed) if special is None else
                           None if isinstance(special.type, DisconnectedType) else special)
        return results

    def __getstate__(self):
        return dict(super().__getstate__(), _restricted={})

    def get_lop_op(self):
        """The op that computes the gradients that have a value from inputs, outputs and output gradients."""
        return self._gradient_op((True,) * len(self.outputs))[0]

    def __str__(self):
        return f"{super().__str__()}{{inline={self.is_inline}}}"


# Kind of derivative → function that selects the lists of variables that an override takes.
LOOKS_AT = {"lop": lambda inputs, outputs, gradients: (inputs, outputs, gradients),
            "grad": lambda inputs, outputs, gradients: (inputs, gradients),
            "rop": lambda inputs, points: (inputs, points)}


@at_home
class _Derivative:
    """A gradient or R-operator: its overrides, and the ops made for it.

    ``ops`` maps each choice of reached variables to an op (or None) and a dict of the terms without a value by
    position; ``pattern`` is the connection pattern, or None until it is computed.
    """

    def __init__(self, kind, overrides):
        for entry in overrides if isinstance(overrides, list) else [overrides]:
            _check_override(entry)
        self.kind, self.overrides = kind, overrides
        self.is_default = _is_default(overrides)
        self.ops = {}
        self.pattern = None

    def op(self, owner, reached, count, by_default, variables):
        """An op like ``owner`` that computes ``count`` terms from ``variables`` (lists), and a dict of the terms
        without a value by position."""
        found = self.ops.get(reached)
        if found is None:
            with change_flags(compute_test_value="off"):
                terms = self._terms(count, by_default, variables)
            valueless = {position: term for position, term in enumerate(terms)
                         if isinstance(term.type, (DisconnectedType, NullType))}
            valued = [term for position, term in enumerate(terms) if position not in valueless]
            name = None if owner.name is None else f"{owner.name}_{self.kind}"
            made = type(owner)([variable for group in variables for variable in group], valued, name=name,
                               inline=owner.is_inline, **owner.kwargs) if valued else None
            found = self.ops[reached] = made, valueless
        return found

    def _terms(self, count, by_default, variables):
        """The terms: one for each input of a gradient, or for each output of an R-operator."""
        if self.is_default:
            return by_default(*variables, list(range(count)))
        if not isinstance(self.overrides, list):
            return self._of_one_override(count, variables)
        if len(self.overrides) != count:
            raise ValueError(f"Need to override {count} derivatives, got {len(self.overrides)}: {self.overrides}")
        missing = [position for position, entry in enumerate(self.overrides) if _is_default(entry)]
        defaults = dict(zip(missing, by_default(*variables, missing))) if missing else {}
        return [defaults[position] if position in defaults else self._called(entry, variables)
                for position, entry in enumerate(self.overrides)]

    def _of_one_override(self, count, variables):
        if isinstance(self.overrides, Variable):
            return [self.overrides.type() for _ in range(count)]
        terms = self._called(self.overrides, variables, return_list=True)
        if not isinstance(terms, list):
            raise TypeError(f"an overriding function should return a list, got {type(terms)}: {self.overrides}")
        if len(terms) != count:
            raise ValueError(f"an overriding function should return a list of {count} variables, got {len(terms)}: "
                             f"{self.overrides}")
        return terms

    def _called(self, override, variables, **options):
        if isinstance(override, Variable):
            return override.type()
        groups = [list(group) for group in LOOKS_AT[self.kind](*variables)]
        if not isinstance(override, OpFromGraph):
            return override(*groups)
        given = [variable for group in groups for variable in group]
        if len(given) != len(override.input_types):
            raise ValueError(f"expect overrider with {len(given)} inputs, got {len(override.input_types)}: {override}")
        return override(*given, **options)

    def __getstate__(self):
        return dict(self.__dict__, ops={})          # the ops are large, and can be made again when needed


def _is_default(override):
    """Whether an override means the default; ``None`` is an older form of 'default'."""
    return override is None or (isinstance(override, str) and override == DEFAULT)


def _check_override(override):
    if isinstance(override, Variable):
        if not isinstance(override.type, (DisconnectedType, NullType)):
            raise ValueError(f"Overriding Variable instance can only have type of DisconnectedType or NullType, got "
                             f"{override.type}")
    elif not (_is_default(override) or callable(override)):
        raise TypeError(f"L_op/gradient override should be (single or list of) 'default' | OpFromGraph | callable | "
                        f"Variable with NullType or DisconnectedType, got {override!r}")


def _no_direction(variable):
    """The argument for a direction of zero: zeros, or the variable itself if its type has no zeros."""
    return variable.zeros_like() if hasattr(variable, "zeros_like") else variable
