"""Assert: passes on a tensor if conditions are true, and raises an error otherwise.

It serves for debugging: a rewrite may remove it together with a result that is not used.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Variable
from phintys.ops.identity.assertion_kernel import ERRORS, AssertKernel
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes


class Assert(Op):
    """Returns the first input; raises an error at run time unless all other inputs, which are 0-d conditions, are true.

    Parameters
    ----------
    msg : str
        The message of the ``AssertionError``.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> f = phintys.function([x], T.opt.Assert("x must be positive")(T.sqrt(x), x > 0))
    >>> f(4.0)
    array(2.)
    """

    __props__ = ("msg",)
    shape_as = 0
    error = "AssertionError"
    view_map = {0: [0]}
    depends_on = (0,)
    is_foldable = False                         # a condition that is never true is an error of the call, not before

    def __init__(self, msg="phintys Assert failed!"):
        self.msg = msg

    def make_node(self, value, *conditions):
        value = value if isinstance(value, Variable) else as_tensor_variable(value)
        conditions = [as_tensor_variable(condition) for condition in conditions]
        for condition in conditions:
            if condition.type.ndim:
                raise AssertionError(f"the conditions of Assert are scalars, got {condition} of type {condition.type}")
        return Apply(self, [value, *conditions], [value.type.make_variable()])

    def make_kernel(self, node):
        value, *conditions = node.inputs
        if value.type.layout is None or any([condition.type.dtype not in discrete_dtypes for condition in conditions]):
            return None
        return AssertKernel(len(conditions), self.msg, self.error)

    def perform(self, node, inputs, output_storage, params=None):
        value, *conditions = inputs
        if not all(conditions):
            raise ERRORS[self.error](self.msg)
        output_storage[0][0] = value

    def grad(self, inputs, output_grads):
        return [output_grads[0]] + [disconnected_type() for _ in inputs[1:]]

    def R_op(self, inputs, eval_points):
        return [eval_points[0]]


assert_op = assert_ = Assert()


class Check(Assert):
    """An `Assert` that raises the error NumPy raises for the same arguments: a key of ``ERRORS``."""

    __props__ = ("msg", "error")

    def __init__(self, msg, error="ValueError"):
        Assert.__init__(self, msg)
        self.error = error
