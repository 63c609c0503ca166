"""Ops: what a node does. Theano's protocol, plus ``make_kernel`` and ``lower``.

An op is immutable and knows no graph; what it knows of its inputs it learns in ``make_node``. It computes either by a
native kernel or by a Python ``perform``; an op with a kernel gets its ``perform`` from it, so that constant folding and
test values need no program. Every optional method has its default here, so that nobody has to ask whether an op has it.
"""
import warnings
from sys import _getframe

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.errors import MethodNotDefined, made_at
from phintys.graph.properties import Properties
from phintys.graph.trace import user_position
from phintys.graph.valueless_types import grad_not_implemented
from phintys.vm.abi import run_kernel


class Op(Properties):
    """Base of all ops.

    Attributes
    ----------
    __props__ : tuple of str
        The attributes by which two ops of a class are equal. Without it, equality is identity.
    view_map, destroy_map : dict
        Output position to a list with one input position: the output looks at, or overwrites, that input's memory.
    default_output : int or None
        Which output ``__call__`` answers. None: all of them, as a list when there is more than one.
    itypes, otypes : sequence of Type
        Types of inputs and outputs, for ops that leave ``make_node`` to this class.
    """

    view_map = {}
    destroy_map = {}
    default_output = None
    itypes = otypes = None

    # ---- building ----------------------------------------------------------------------------------------------------
    def make_node(self, *inputs):
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

    def __call__(self, *inputs, return_list=False, **options):
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
        if node._position is None:
            node._position = user_position(2)
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

    def perform(self, node, inputs, output_storage, params=None):
        """Compute a node on values; by default with the node's kernel.

        Parameters
        ----------
        node : Apply
        inputs : list
            Values, not to be changed unless ``destroy_map`` says so.
        output_storage : list of list
            A list with one element per output, which is to be replaced by the value.
        """
        kernel = self.make_kernel(node)
        if kernel is None:
            raise MethodNotDefined("perform", type(self), type(self).__name__)
        results = run_kernel(kernel, inputs, [output.type.layout for output in node.outputs])
        for storage, result in zip(output_storage, results):
            storage[0] = result

    def infer_shape(self, node, input_shapes):
        """Symbolic shapes of the outputs from those of the inputs: a list of tuples.

        Raises
        ------
        MethodNotDefined
            If the op has no shape rule.
        """
        raise MethodNotDefined("infer_shape", type(self), type(self).__name__)

    def do_constant_folding(self, node):
        """Whether a node with constant inputs may be computed while a function is made."""
        return True

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def connection_pattern(self, node):
        """For each input a list that says for each output whether it depends on the input's elements."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def grad(self, inputs, output_grads):
        """Gradients of the cost with respect to the inputs, given those with respect to the outputs."""
        return [grad_not_implemented(self, position, variable) for position, variable in enumerate(inputs)]

    def L_op(self, inputs, outputs, output_grads):
        """As ``grad``, for ops whose gradients can use the outputs."""
        return self.grad(inputs, output_grads)

    def R_op(self, inputs, eval_points):
        """Derivatives of the outputs along ``eval_points``, which has a Variable or None per input."""
        raise NotImplementedError(f"{self} of class {type(self).__name__} does not implement R_op.")

    def __repr__(self):
        return str(self)

    def __str__(self):
        return type(self).__name__


def get_test_value(variable):
    """The test value of a variable: a constant's data, a shared variable's value, else ``tag.test_value``.

    Raises
    ------
    AttributeError
        If there is none.
    """
    return variable.get_test_value()


def compute_test_values(node):
    """Run a new node on the test values of its inputs, as ``config.compute_test_value`` says.

    Raises
    ------
    ValueError
        If an input has no test value and the option is ``raise``.
    """
    values = []
    for position, variable in enumerate(node.inputs):
        try:
            values.append(variable.get_test_value())
        except AttributeError:
            _react_to_missing(node, position, variable)
            return
    for positions in node.op.destroy_map.values():
        for position in positions:
            values[position] = values[position].copy()
    storage = [[None] for _ in node.outputs]
    node.op.perform(node, values, storage)
    for output, cell in zip(node.outputs, storage):
        output.tag.test_value = cell[0]


def _react_to_missing(node, position, variable):
    message = f"Cannot compute test value: input {position} ({variable}) of Op {node} missing default value." \
              f"{made_at(variable)}"
    action = config.compute_test_value
    if action == "warn":
        warnings.warn("Warning, " + message, stacklevel=4)
    elif action == "raise":
        raise ValueError(message)
    elif action == "pdb":
        from pdb import Pdb
        Pdb().set_trace(_getframe(3))


def get_debug_values(*variables):
    """The test values of several variables, for checks while a graph is built.

    Returns
    -------
    list
        Empty when test values are off or one is missing (which may warn or raise, as the option says); else one
        element: a tuple of the values, or the value itself when one variable was given.
    """
    if config.compute_test_value == "off":
        return []
    values = []
    for position, variable in enumerate(variables):
        try:
            values.append(variable.get_test_value())
        except AttributeError:
            message = f"Argument {position} ('{variable}') has no test value{made_at(variable)}"
            if config.compute_test_value == "raise":
                raise AttributeError(message) from None
            if config.compute_test_value == "warn":
                warnings.warn(message, stacklevel=2)
            return []
    return [values[0] if len(values) == 1 else tuple(values)]
