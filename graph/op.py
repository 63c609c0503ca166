"""Ops: what a node does. Theano's protocol, plus ``make_kernel`` and ``lower``.

An op is immutable and knows no graph; what it knows of its inputs it learns in ``make_node``. It computes either by a
native kernel or by a Python ``perform``; an op with a kernel gets its ``perform`` from it, so that constant folding and
test values need no program. Every optional method has its default here, so that nobody has to ask whether an op has it.
"""
from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.debug_values import compute_test_values
from phintys.graph.errors import MethodNotDefined
from phintys.graph.properties import Properties
from phintys.graph.thunks import perform_by_thunk
from phintys.graph.valueless_types import grad_not_implemented
from phintys.vm.abi import run_kernel
from phintys.vm.call_stack import user_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Result = TypeVar("Result")


def of_any_parameters(method: Callable[..., Result]) -> Callable[..., Result]:
    """Tells type checkers that a subclass may give the method parameters of its own."""
    return method


class Op(Properties):
    """Base of all ops.

    Attributes
    ----------
    __props__ : tuple of str
        The attributes by which two ops of a class are equal. Without it, equality is identity.
    view_map, destroy_map : dict
        Output position to a list with one input position: the output looks at, or overwrites, that input's memory.
    can_overwrite : dict
        Output position to a tuple of input positions: a variant of the op, see ``overwriting``, can compute that output
        into the memory of one of these inputs.
    writes_by_strides : bool
        The kernel writes to its outputs by their strides, whatever they are, so that it can overwrite an argument in
        any layout. Others find memory in C order.
    inplace_property : str
        The one of ``__props__`` that is True for that variant.
    cannot_fail : bool
        One native kernel does all the work, and once its ``prepare`` has succeeded nothing can go wrong.
    changes_part : bool
        Outputs that overwrite an input change a part of it; only those that do not must copy the rest.
    runs_alone : bool
        The kernel's ``prepare`` can answer ``RUNS_ALONE``, and its ``run`` cannot fail: nodes that do not depend on
        each other may run side by side.
    gives_memory : sequence of int
        Positions of outputs for which ``perform`` stores arrays whose memory is nothing else's, though NumPy did not
        allocate it (a file mapped into memory). They are used as they are; other arrays with a base are copied.
    linear_in : sequence of int, or slice
        Positions of inputs in which, taken together, the outputs are linear while the others stay as they are.
        ``R_op`` follows from it; empty: the op has none, or its own.
    first_examined : int or None
        From this input on ``prepare`` looks at values and not only at shapes, as it does at indices. What computes such
        an input never runs behind COMMIT, where it would be too late.
    reads_before_writing : bool
        No element of an input is read after an output's element at the same place was written: a node may also read
        elsewhere the input that it overwrites.
    destroyhandler_tolerate_same, destroyhandler_tolerate_aliased : sequence of (int, int)
        Pairs (overwritten input, other input) that may be the same variable, or share memory in any way.
    explains_errors : bool
        What ``perform`` raises says which node failed, of the graph that the op runs; nothing need be added.
    takes_none : sequence of int
        Positions of integer inputs for which a function may be called with None; see ``ops/creation/absent.py``.
    default_output : int or None
        Which output ``__call__`` answers. None: all of them, as a list when there is more than one.
    params_type : Type or None
        If set, ``perform`` gets what ``get_params(node)`` answers as its last argument.
    itypes, otypes : sequence of Type
        Types of inputs and outputs, for ops that leave ``make_node`` to this class.
    """

    view_map: dict[int, list[int]] = {}
    destroy_map: dict[int, list[int]] = {}
    can_overwrite: dict[int, tuple[int, ...]] = {}
    inplace_property: str | None = "inplace"
    writes_by_strides = False
    cannot_fail = changes_part = reads_before_writing = explains_errors = runs_alone = False
    linear_in: Any = ()
    gives_memory: Any = ()
    takes_none: tuple[int, ...] = ()
    first_examined: Any = None
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

    # ---- building ----------------------------------------------------------------------------------------------------
    @of_any_parameters
    def make_node(self, *inputs: Any) -> Apply:
        """An Apply node of this op on ``inputs``.

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
        return Apply(self, converted, [output.make_variable() for output in self.otypes])

    def __call__(self, *inputs: Any, return_list: bool = False, **options: Any) -> Any:
        """Make a node and answer its outputs.

        Parameters
        ----------
        *inputs, **options
            For ``make_node``.
        return_list : bool
            Answer a list even of one output.

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

    # ---- computing ---------------------------------------------------------------------------------------------------
    def make_kernel(self, node):
        """The native kernel that computes a node, or None when the op has only ``perform``."""
        return None

    def lower(self, emitter, node):
        """Emit the instructions that compute a node."""
        kernel = self.make_kernel(node)
        if kernel is None:
            emitter.call(node)
        else:
            emitter.kernel(kernel, node)

    def lazy_branches(self, node):
        """Which inputs a node needs only when its condition says so.

        Returns
        -------
        None or tuple (int, sequence of int, sequence of int)
            None: it needs all of them. Else the positions of the condition, a 0-d number, of what is needed when it is
            not zero, and of what is needed when it is.
        """
        return None

    def lower_branch(self, emitter, node, branch):
        """Emit what ends a branch of a lazy node, 0 or 1: the outputs from the branch's inputs."""
        raise MethodNotDefined("lower_branch", type(self), type(self).__name__)

    @of_any_parameters
    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]],
                params: Any = None) -> None:
        """Compute a node on values; by default with the node's kernel, or with what ``make_thunk`` makes.

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
            if not hasattr(self, "make_thunk"):
                raise MethodNotDefined("perform", type(self), type(self).__name__)
            perform_by_thunk(self, node, inputs, output_storage)
            return
        results = run_kernel(kernel, inputs, [output.type.layout for output in node.outputs])
        for storage, result in zip(output_storage, results):
            storage[0] = result

    def get_params(self, node):
        """What ``perform`` gets as its last argument, for ops with a ``params_type``."""
        raise MethodNotDefined("get_params", type(self), type(self).__name__)

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> Sequence[Any]:
        """Symbolic shapes of the outputs from those of the inputs: a list of tuples.

        Raises
        ------
        MethodNotDefined
            If the op has no shape rule.
        """
        raise MethodNotDefined("infer_shape", type(self), type(self).__name__)

    def do_constant_folding(self, node: Apply) -> bool:
        """Whether a node with constant inputs may be computed while a function is made."""
        return True

    # ---- overwriting -------------------------------------------------------------------------------------------------
    def inplace_candidates(self, node):
        """Which inputs the outputs of a node could overwrite, for all that the op knows.

        Returns
        -------
        iterable of (int, int)
            Output and input position, in order of preference.
        """
        for output, positions in self.can_overwrite.items():
            for position in positions:
                if node.inputs[position].type == node.outputs[output].type:
                    yield output, position

    def overwriting(self, pairs):
        """The variant of this op that overwrites inputs.

        Parameters
        ----------
        pairs : dict
            Output to input position; empty for the variant that overwrites nothing.

        Returns
        -------
        Op or None
            None when there is no such variant.
        """
        if not self.can_overwrite:
            return None
        return type(self)(**{**self._props_dict(), self.inplace_property: bool(pairs)})

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """For each input a list that says for each output whether it depends on the input's elements."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """Gradients of the cost with respect to the inputs, given those with respect to the outputs."""
        return [grad_not_implemented(self, position, variable) for position, variable in enumerate(inputs)]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> Sequence[Any]:
        """As ``grad``, for ops whose gradients can use the outputs."""
        return self.grad(inputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> Sequence[Any]:
        """Derivatives of the outputs along ``eval_points``: for each input a Variable, or None if it does not move.

        A result that is None does not move either; one of a NullType is undefined, and `Rop` raises. By default, for an
        op that is ``linear_in`` some inputs: the op itself, applied to the points.

        Raises
        ------
        NotImplementedError
            If the op is linear in no input.
        """
        count = len(inputs)
        linear = range(count)[self.linear_in] if isinstance(self.linear_in, slice) else self.linear_in
        if not linear:
            raise NotImplementedError(f"{self} of class {type(self).__name__} does not implement R_op.")
        if all([eval_points[position] is None for position in linear]):
            return [None] * len(self.make_node(*inputs).outputs)
        arguments = list(inputs)
        for position in linear:
            point = eval_points[position]
            arguments[position] = inputs[position].zeros_like() if point is None else point
        return self(*arguments, return_list=True)

    # ---- errors ------------------------------------------------------------------------------------------------------
    def part_at_fault(self, node, shapes):
        """Which part of a node that replaced several nodes of the user's cannot work on operands of such shapes.

        Parameters
        ----------
        node : Apply
        shapes : list of (tuple of int or None)
            Of the inputs.

        Returns
        -------
        int or None
            A position in ``node._position.parts``; None: it cannot be told.
        """
        return None

    def __repr__(self):
        return str(self)

    def __str__(self):
        return type(self).__name__


def _given_params(perform):
    """A ``perform`` that looks up its parameters where nobody gives them."""
    @wraps(perform)
    def with_params(self, node, inputs, output_storage, params=None):
        return perform(self, node, inputs, output_storage, self.get_params(node) if params is None else params)
    return with_params
