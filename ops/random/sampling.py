"""Sampling: the base class of ops that draw from a state.

The inputs are the state, the size and the parameters of a distribution, the outputs the new state and the sample."""
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class Sampling(Op):
    """The base class.

    Attributes
    ----------
    depends : bool
        Whether the sample depends on the parameters; then it has no derivatives by them.
    """

    depends = True

    def as_state(self, state):
        """The state as a variable, a vector of uint64."""
        state = as_tensor_variable(state)
        if state.type != TensorType("uint64", (False,)):
            raise TypeError(f"{self} draws from a state that is a vector of uint64, got {state} of type {state.type}")
        return state

    def do_constant_folding(self, node):
        return False

    def connection_pattern(self, node):
        return [[True, True], [False, False], *[[False, self.depends] for _ in node.inputs[2:]]]

    def grad(self, inputs, output_grads):
        state, _, *parameters = inputs
        by_parameters = [grad_undefined(self, place, value) if self.depends else disconnected_type()
                         for place, value in enumerate(parameters, start=2)]
        return [grad_undefined(self, 0, state), disconnected_type(), *by_parameters]

    def R_op(self, inputs, eval_points):
        if not self.depends or all([point is None for point in eval_points[2:]]):
            return [None, None]
        return [None, grad_undefined(self, 2, inputs[2])]
