"""PyTensor's optimizers: ops of its inner graph; read when a graph has the first of them."""
from phintys.interop.pytensor.translation import named_input, row, translated
from phintys.solvers.optimizers import Minimum, Root, ScalarMinimum, ScalarRoot

KINDS = {"MinimizeOp": Minimum, "MinimizeScalarOp": ScalarMinimum, "RootOp": Root, "RootScalarOp": ScalarRoot}


@row(*[f"optimize.{name}" for name in KINDS])
def _optimizer(op, node, *inputs):
    known = {variable: named_input(variable) for variable in op.fgraph.inputs}
    outputs = translated(op.fgraph.outputs, known)
    kind = KINDS[type(op).__name__]
    return kind([known[variable] for variable in op.fgraph.inputs], outputs, op.method, op.optimizer_kwargs,
                getattr(op, "bound_kwargs", ())).solution(*inputs)
