"""Ops: what a node computes. Theano's protocol, plus ``make_kernel`` and ``lower``.

An op is immutable and refers to no graph; it gets facts about its inputs in ``make_node``. It computes either by a
native kernel or by a Python ``perform``. The ``perform`` of an op with a kernel runs the kernel, so that constant
folding and test values need no program. Every optional method has a default here, so that callers never test whether it
exists.
"""
from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.debug_values import compute_test_values, get_test_value
from phintys.graph.errors import MethodNotDefined, made_at
from phintys.graph.properties import Properties
from phintys.graph.thunks import perform_by_thunk, storage_for
from phintys.graph.valueless_types import disconnected_type, grad_not_implemented
from phintys.vm.abi import run_kernel
from phintys.vm.call_stack import user_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Result = TypeVar("Result")
    from collections.abc import Iterator, Mapping

    import numpy

    from phintys.graph.variable import Variable


ON_ALL = slice(None)                            # of ``depends_on``


def of_any_parameters(method: Callable[..., Result]) -> Callable[..., Result]:
    """Tell type checkers that a subclass may give the method other parameters."""
    return method


def positions_in(positions: Any, count: int) -> Sequence[int]:
    """Return the positions that an attribute such as ``depends_on`` names, of ``count`` inputs."""
    return range(count)[positions] if isinstance(positions, slice) else positions


class PureOp(Properties):
    """What ops are, without Theano's thunks; derive from `Op`.

    Attributes
    ----------
    __props__ : tuple of str
        The attributes by which two ops of a class are equal. Without it, equality is identity.
    view_map, destroy_map : dict
        Output position → a list with one input position: the output is a view of that input, or overwrites it.
    can_overwrite : dict
        Output position → a tuple of input positions: a variant of the op, see ``overwriting``, can compute that output
        in the memory of one of these inputs.
    writes_by_strides : bool
        The kernel writes to outputs of any strides, so that it can overwrite an argument in any layout. The outputs of
        other kernels are in C order.
    inplace_property : str
        The one of ``__props__`` that is True for the variant that works in place.
    cannot_fail : bool
        One native kernel does all the work, and cannot fail once its ``prepare`` has succeeded.
    changes_part : bool
        Outputs that overwrite an input change only a part of it; if they cannot overwrite, the rest must be copied.
    runs_alone : bool
        The kernel's ``prepare`` can return ``RUNS_ALONE``, and its ``run`` cannot fail: independent nodes may run side
        by side.
    chooses : bool
        Each element of the output is an element of one of the inputs, so that gradients have masks; see
        ``masked_L_op``.
    gives_memory : sequence of int
        Positions of outputs for which ``perform`` stores arrays that own their memory although NumPy did not allocate
        it (a file mapped into memory). They are used as they are; other arrays with a base are copied.
    linear_in : sequence of int, or slice
        Positions of inputs in which, taken together, the outputs are linear while the others are fixed. The default
        ``R_op`` follows from it; if it is empty, there is no default.
    depends_on : sequence of int, or slice
        Positions of inputs on whose elements the outputs depend, all on the same ones; else `connection_pattern` says
        it. If it is empty, no gradient passes, and no derivative along a direction.
    is_foldable : bool
        A node with constant inputs may be computed while a function is made; what `do_constant_folding` says.
    first_examined : int or None
        ``prepare`` examines the values of this and all later inputs, not only their shapes (they are indices, for
        instance); the kernel's ``examined`` names the same inputs. Nodes that compute such an input never run after
        COMMIT, because ``prepare`` runs before it.
    reads_before_writing : bool
        No element of an input is read after the output's element at the same index was written. So the input that a
        node overwrites may also be another input of the node.
    destroyhandler_tolerate_same, destroyhandler_tolerate_aliased : sequence of (int, int)
        Pairs (overwritten input, other input) that may be the same variable, or share memory in any way.
    is_harmless : bool
        A node does not fail, have an effect, or compute values that are not finite from finite ones, so it may run
        where its outputs are not needed. Only lengths of its inputs may not fit.
    explains_errors : bool
        Exceptions of ``perform`` already say which node of the op's inner graph failed.
    shape_as : int or None
        The input that has the shape of each output; None: `infer_shape` says what shapes they have, or nobody does.
    takes_none : sequence of int
        Positions of integer inputs for which a function may be called with None; see ``ops/creation/absent.py``.
    rewrite_name : str or None
        The name by which rewrites know the class, if not its own.
    default_output : int or None
        The output that ``__call__`` returns. None: all of them, as a list if there are several.
    params_type : Type or None
        If set, ``perform`` gets the value of ``get_params(node)`` as its last argument.
    itypes, otypes : sequence of Type
        Types of inputs and outputs, for ops that use the ``make_node`` of this class.

    Examples
    --------
    >>> issubclass(phintys.Op, phintys.gof.PureOp)
    True
    """

    view_map: dict[int, list[int]] = {}
    destroy_map: dict[int, list[int]] = {}
    can_overwrite: dict[int, tuple[int, ...]] = {}
    inplace_property: str | None = "inplace"
    writes_by_strides = False
    cannot_fail = changes_part = reads_before_writing = explains_errors = runs_alone = chooses = False
    moves_elements = False                      # whether each element of an output is one of an input
    is_harmless = False
    computes_by_thunk = False                   # whether the class has ``make_thunk``: programs call its thunks
    linear_in: Any = ()
    depends_on: Any = ON_ALL
    is_foldable = True
    shape_as: int | None = None
    gives_memory: Any = ()
    takes_none: tuple[int, ...] = ()
    first_examined: Any = None
    rewrite_name: str | None = None
    rewrite_key: str | None = None              # of this object, noted by ``values.key_of`` of the optimizer
    destroyhandler_tolerate_same: Any = ()
    destroyhandler_tolerate_aliased: Any = ()
    default_output: int | None = None
    itypes: Sequence[Any] | None = None
    otypes: Sequence[Any] | None = None
    params_type: Any = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.params_type is not None and "perform" in cls.__dict__:
            cls.perform = _given_params(cls.perform)     # type: ignore[method-assign]
        maker = getattr(cls, "make_thunk", None)
        cls.computes_by_thunk = maker is not None and not hasattr(maker, "calls_perform")
        if "make_thunk" in cls.__dict__ and cls.computes_by_thunk and "make_kernel" not in cls.__dict__:
            # A class with a kernel is its base.
            cls.make_kernel, cls.lower = PureOp.make_kernel, PureOp.lower  # type: ignore[method-assign]

    # ---- building ----------------------------------------------------------------------------------------------------
    @of_any_parameters
    def make_node(self, *inputs: Any) -> Apply:
        """Make an Apply node of this op on ``inputs``.

        Raises
        ------
        ValueError
            If the number of inputs is wrong.
        TypeError
            If an input has a wrong type.
        """
        if self.itypes is None or self.otypes is None:
            raise NotImplementedError(f"You can either define itypes and otypes, or implement make_node: {self}")
        if len(inputs) != len(self.itypes):
            raise ValueError(f"We expected {len(self.itypes)} inputs but got {len(inputs)}: {self}")
        converted = []
        for position, (wanted, value) in enumerate(zip(self.itypes, inputs)):
            variable = wanted.filter_variable(value)
            if variable.type != wanted:
                raise TypeError(f"We expected type {wanted} as input {position} but got {variable.type}: {self}")
            converted.append(variable)
        return Apply(self, converted, [output.make_variable() for output in self.otypes])   # type: ignore[arg-type]

    def node_on(self, inputs: Sequence[Variable]) -> Apply:
        """Make a node on variables in the order of a node's inputs; for ops whose ``make_node`` takes something else.
        """
        return self.make_node(*inputs)

    def __call__(self, *inputs: Any, return_list: bool = False, **options: Any) -> Any:
        """Make a node and return its outputs.

        Parameters
        ----------
        *inputs, **options
            For ``make_node``.
        return_list : bool
            Return a list even if there is one output.

        Returns
        -------
        Variable or list of Variable
        """
        node = self.make_node(*inputs, **options)
        if not isinstance(node, Apply):
            raise TypeError(f"make_node of {self} has to return an Apply node, got {node!r}")
        if node._position is None:
            node._position = user_trace()
        if config.compute_test_value != "off":
            compute_test_values(node)
        if self.default_output is not None:
            output = node.outputs[self.default_output]
            return [output] if return_list else output
        outputs = node.outputs
        return outputs[0] if len(outputs) == 1 and not return_list else list(outputs)

    @staticmethod
    def _get_test_value(variable):
        """Return a test value, as Theano's programs do; see `get_test_value`."""
        return get_test_value(variable)

    @staticmethod
    def add_tag_trace(thing: Variable, user_line: Any = None) -> Variable:
        """Record where a variable or node was made, if that is not known yet, and return it.

        Examples
        --------
        >>> x = T.dvector("x")
        >>> phintys.gof.utils.add_tag_trace(x) is x
        True
        """
        if thing._position is None:
            thing._position = user_trace()
        return thing

    # ---- computing ---------------------------------------------------------------------------------------------------
    def make_kernel(self, node: Apply) -> Any:
        """Return the native kernel that computes a node, or None if the op has only ``perform``."""
        return None

    def lower(self, emitter: Any, node: Apply) -> None:
        """Emit the instructions that compute a node."""
        kernel = self.make_kernel(node)
        if kernel is None:
            self._prepare(node)
            emitter.call(node)
        else:
            emitter.kernel(kernel, node)

    def _prepare(self, node):
        """Get ready to compute a node by ``perform``."""

    def lazy_branches(self, node: Apply) -> Any:
        """Return which inputs a node needs only if its condition says so.

        Returns
        -------
        None or tuple (int, sequence of int, sequence of int)
            None: it needs all of them. Else the positions of the condition, a 0-d number, of the inputs needed if it is
            not zero, and of the inputs needed if it is.
        """
        return None

    def has_lazy_gradient(self, node: Apply) -> Any:
        """Return whether a lazy node's op has ``lazy_L_op``, ``chosen_gradient`` and ``any_taken``, and for it.

        Then its gradient is as lazy as its values: see ``graph/gradients/gradient_arms.py``.
        """
        return False

    def lower_branch(self, emitter: Any, node: Apply, branch: Any) -> Any:
        """Emit the end of a branch of a lazy node, 0 or 1: it computes the outputs from the branch's inputs."""
        raise MethodNotDefined("lower_branch", type(self), type(self).__name__)

    @of_any_parameters
    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]],
                params: Any = None) -> None:
        """Compute a node on values; by default with the node's kernel, or with the result of ``make_thunk``.

        Parameters
        ----------
        node : Apply
        inputs : list
            Values; arrays are read-only unless ``destroy_map`` says that they are overwritten.
        output_storage : list of list
            A list with one element per output, which is to be replaced by the value.
        """
        kernel = self.make_kernel(node)
        if kernel is None:
            if not self.computes_by_thunk:
                raise MethodNotDefined("perform", type(self), type(self).__name__)
            perform_by_thunk(self, node, inputs, output_storage)
            return
        results = run_kernel(kernel, inputs, [output.type.layout for output in node.outputs])
        for storage, result in zip(output_storage, results):
            storage[0] = result

    def missing_method(self) -> tuple[Any, ...] | None:
        """Return what an op without a kernel lacks to compute nodes.

        Returns
        -------
        None or tuple (Op, str)
            None: nothing. Else the op, or the one inside it, and the method that its class should define.
        """
        performs = getattr(self.perform, "__func__", self.perform) is not PureOp.perform or self.computes_by_thunk
        return None if performs else (self, "perform(self, node, inputs, output_storage)")

    def get_params(self, node: Apply) -> Any:
        """Return the last argument of ``perform``, for ops with a ``params_type``."""
        raise MethodNotDefined("get_params", type(self), type(self).__name__)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> Sequence[Any]:
        """Return symbolic shapes of the outputs, given those of the inputs: a list of tuples.

        Raises
        ------
        MethodNotDefined
            If the op has no shape rule, and results with dimensions.
        """
        if self.shape_as is not None:
            return [input_shapes[self.shape_as]] * len(node.outputs)
        if all([getattr(output.type, "ndim", None) == 0 for output in node.outputs]):
            return [()] * len(node.outputs)
        raise MethodNotDefined("infer_shape", type(self), type(self).__name__)

    def do_constant_folding(self, node: Apply) -> bool:
        """Return whether a node with constant inputs may be computed while a function is made."""
        return self.is_foldable

    @property
    def as_merged(self) -> PureOp:
        """The op by which merging compares nodes; also that of the merged node, unless no node is known by another."""
        return self

    # ---- overwriting -------------------------------------------------------------------------------------------------
    def inplace_candidates(self, node: Apply) -> Iterator[Any]:
        """Yield which inputs the outputs of a node could overwrite, as far as the op is concerned.

        Returns
        -------
        iterable of (int, int)
            Output and input position, in order of preference.
        """
        for output, positions in self.can_overwrite.items():
            for position in positions:
                if node.inputs[position].type == node.outputs[output].type:
                    yield output, position

    def overwriting(self, pairs: Mapping[int, int]) -> PureOp | None:
        """Return the variant of this op that overwrites inputs.

        Parameters
        ----------
        pairs : dict
            Output → input position; empty for the variant that overwrites nothing.

        Returns
        -------
        Op or None
            None if there is no such variant.
        """
        if not self.can_overwrite:
            return None
        properties: dict[str, Any] = dict(self._props_dict())           # type: ignore[attr-defined]  # Op has them
        properties[str(self.inplace_property)] = bool(pairs)
        return type(self)(**properties)

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return for each input a list that says for each output whether it depends on the input's elements."""
        results = len(node.outputs)
        pattern = [[False] * results for _ in node.inputs]
        for position in positions_in(self.depends_on, len(pattern)):
            pattern[position] = [True] * results
        return pattern

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """Return gradients of the cost with respect to the inputs, given those with respect to the outputs."""
        connected = positions_in(self.depends_on, len(inputs))
        return [grad_not_implemented(self, position, variable) if position in connected else disconnected_type()
                for position, variable in enumerate(inputs)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """Return gradients as ``grad`` does; the outputs are available, too.

        A method whose attribute ``takes_wanted`` is true gets as ``wanted``, for each input, whether its gradient will
        be read, and may return None for the others.
        """
        return self.grad(inputs, output_grads)

    def masked_L_op(self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_grads: Sequence[Variable],
                    masks: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        """Return gradients as ``L_op`` does, and their masks, given those of the outputs' gradients.

        A mask says where a gradient is zero because a branch was not chosen (``ops/elementwise/masks.py``), None that
        nothing is known. The default makes these zeros, and applies ``L_op``; if the op ``moves_elements``, also to
        what the masks say. `grad` calls this method instead of ``L_op`` if there is a mask, or the op ``chooses``.
        """
        mask = next((mask for mask in masks if mask is not None), None)
        given = [gradient if own is None else own.applied(gradient) for gradient, own in zip(output_grads, masks)]
        terms = list(self.L_op(inputs, outputs, given))
        left = mask and mask.left(masks)
        found = [left and left.of(term) for term in terms]
        felt = [own and own.felt(gradient) for own, gradient in zip(masks, output_grads)] if self.moves_elements else []
        if left and felt and None not in felt:
            counts = self.L_op(inputs, outputs, felt)
            found = [own and own.where(count) for own, count in zip(found, counts)]
        return terms, found

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> Sequence[Any]:
        """Return derivatives of the outputs along ``eval_points``: for each input a Variable, or None for no change.

        It is not called if no input that the op ``depends_on`` changes. A result of None means no change, too; one of a
        NullType is undefined, and `Rop` raises. The default, for an op that is ``linear_in`` some inputs, is the op
        itself, applied to the points; for one that ``depends_on`` no input, no change.

        Raises
        ------
        NotImplementedError
            If the op is linear in no input.
        """
        linear = positions_in(self.linear_in, len(inputs))
        if not linear and self.depends_on:
            raise NotImplementedError(f"{self} of class {type(self).__name__} does not implement R_op.")
        if all([eval_points[position] is None for position in linear]):
            return [None] * len(self.make_node(*inputs).outputs)
        arguments = list(inputs)
        for position in linear:
            point = eval_points[position]
            arguments[position] = inputs[position].zeros_like() if point is None else point
        return self(*arguments, return_list=True)

    # ---- errors ------------------------------------------------------------------------------------------------------
    def part_at_fault(self, node: Apply, shapes: Any) -> Any:
        """Return which part of a node that replaced several nodes of the user fails on operands of the given shapes.

        Parameters
        ----------
        node : Apply
        shapes : list of (tuple of int or None)
            The shapes of the inputs.

        Returns
        -------
        int or None
            A position in ``node._position.parts``; None if it cannot be determined.
        """
        return None

    def __repr__(self):
        return str(self)

    def __str__(self):
        return type(self).__name__


class Op(PureOp):
    """Base of all ops; see `PureOp` for its attributes and methods.

    Examples
    --------
    >>> class Doubled(phintys.Op):
    ...     __props__ = ()
    ...     def make_node(self, x):
    ...         x = T.as_tensor_variable(x)
    ...         return phintys.Apply(self, [x], [x.type()])
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = inputs[0] * 2
    ...     def grad(self, inputs, output_gradients):
    ...         return [output_gradients[0] * 2]
    >>> Doubled()(T.as_tensor([1.0, 2.5])).eval()
    array([2., 5.])
    """

    def prepare_node(self, node: Apply, storage_map: Any, compute_map: Any, impl: Any) -> None:
        """Called once for each node that a function computes by ``perform``, before it does; and by `make_thunk`."""

    def _prepare(self, node):
        if type(self).prepare_node is not Op.prepare_node and not self.computes_by_thunk:
            storage, computed = storage_for(node)
            self.prepare_node(node, storage, computed, "py")

    def make_thunk(self, node: Apply, storage_map: Mapping[Variable, Sequence[Any]],
                   compute_map: Mapping[Variable, Sequence[bool]], no_recycling: Sequence[Any],
                   impl: str | None = None) -> Callable[..., Any]:
        """Return a function without arguments that computes a node by ``perform``, in the storage of its variables.

        A class may override it, instead of ``perform`` or beside it; see ``graph/thunks.py``.
        """
        self.prepare_node(node, storage_map, compute_map, "py")
        return self.make_py_thunk(node, storage_map, compute_map, no_recycling)

    make_thunk.calls_perform = True             # type: ignore[attr-defined]

    def make_py_thunk(self, node: Apply, storage_map: Mapping[Variable, Sequence[Any]],
                      compute_map: Mapping[Variable, Sequence[bool]], no_recycling: Sequence[Any],
                      debug: bool = False) -> Any:
        """Return the function that `make_thunk` returns."""
        inputs = [storage_map[variable] for variable in node.inputs]
        outputs = [storage_map[variable] for variable in node.outputs]

        def thunk():
            self.perform(node, [storage[0] for storage in inputs], outputs)
            for variable in node.outputs:
                compute_map[variable][0] = True

        thunk.inputs, thunk.outputs, thunk.lazy = inputs, outputs, False    # type: ignore[attr-defined]
        return thunk

    def make_c_thunk(self, node: Apply, storage_map: Mapping[Variable, Sequence[numpy.ndarray]],
                     compute_map: Mapping[Variable, Sequence[bool]], no_recycling: Sequence[Any]) -> Any:
        """Refuse: Theano's programs call `make_py_thunk` then."""
        raise NotImplementedError(f"{self} has no C thunk: phintys generates no C code")


class IdentityOp(Op):
    """Base of ops whose output has the value of their one input; the gradient passes as it is."""

    __props__ = ()
    shape_as = 0

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]],
                params: Any = None) -> None:
        output_storage[0][0] = inputs[0]

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        return list(output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return list(eval_points)


class InPlaceOp(Op):
    """Base of ops whose only property is ``inplace``: whether they overwrite their first input."""

    __props__ = ("inplace",)
    can_overwrite = {0: (0,)}

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}


def check_computable(node: Apply) -> None:
    """Raise MethodNotDefined for a node that Python is to compute, but whose op has no method for it."""
    missing = node.op.missing_method()
    if missing is not None and node.op.make_kernel(node) is None:
        op, method = missing
        reason = ("has only C code, which phintys does not compile: write" if hasattr(op, "c_code")
                  else "cannot compute anything: write")
        raise MethodNotDefined(f"{op} of class {type(op).__name__} {reason} {method} in its class, as for Theano "
                               f"without a C compiler. The node is {node}{made_at(node)}.")


def lower_node(emitter: Any, node: Apply) -> None:
    """Emit the instructions that compute a node. Theano's ops on triangles have data in an attribute ``lower``, which
    hides their method of this name."""
    lower = node.op.lower
    if callable(lower):
        lower(emitter, node)
    else:
        type(node.op).lower(node.op, emitter, node)


def _given_params(perform):
    """Wrap a ``perform`` so that it looks up its parameters if none are given."""
    @wraps(perform)
    def with_params(self, node, inputs, output_storage, params=None):
        return perform(self, node, inputs, output_storage, self.get_params(node) if params is None else params)
    return with_params
