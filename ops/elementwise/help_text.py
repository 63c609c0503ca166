"""The ``help`` text of an elementwise function: operands, shape, dtype and an example, from its row in ``scalar.py``.

The text is generated on access, so that importing phintys does not pay for it.
"""
import inspect
from textwrap import fill

from phintys.ops.types.tensor_type import TensorType

OPERANDS = {1: ["x"], 2: ["a", "b"], 3: ["a", "b", "c"]}        # of rows whose gradient does not name them
LETTERS = {"float64": "d", "int64": "l", "complex128": "z", "bool": None}      # dtype → its letter in ``T.dmatrix``


class HelpText:
    """A descriptor for the ``__doc__`` of a class whose instances have separate documentation.

    Parameters
    ----------
    of_class : str
    of_instance : callable
        Takes an instance and returns its text, or None for the text of the class.
    """

    def __init__(self, of_class, of_instance):
        self.of_class = of_class
        self.of_instance = of_instance

    def __get__(self, instance, owner):
        return (self.of_instance(instance) if instance is not None else None) or self.of_class


def operand_names(scalar_op):
    """The names of a scalar op's operands: the parameter names of its gradient, or letters if it names none."""
    if scalar_op.nin < 0:
        return ["*tensors"]
    gradient = getattr(scalar_op, "gradient", None)
    names = [] if gradient is None else list(inspect.signature(gradient).parameters)[:-2]
    return names if len(names) == scalar_op.nin else OPERANDS.get(scalar_op.nin, [])


def help_text(scalar_op):
    """The documentation of the Elemwise of a row.

    Parameters
    ----------
    scalar_op : ScalarOp

    Returns
    -------
    str or None
        None if the op is not a row of the table or has no docstring.
    """
    if not scalar_op.__doc__ or not hasattr(scalar_op, "output_rule"):
        return None
    names = operand_names(scalar_op)
    one = len(names) == 1 and names != ["*tensors"]
    shape = (f"that of ``{names[0]}``." if one else
             "that of the operands, broadcast: a dimension that the type declares to have length 1 is repeated.")
    rule = inspect.getdoc(scalar_op.output_rule).partition("\n")[0]
    dtype = rule[0].lower() + rule[1:]
    return "\n".join([
        f"{scalar_op.name}({', '.join(names)})", "", scalar_op.__doc__, "",
        "Parameters", "----------", f"{', '.join(names)} : tensor-like",
        "    Variables, arrays, numbers or lists of them, of any rank.", "",
        "Returns", "-------", "TensorVariable", _indented(f"Shape: {shape}"), _indented(f"Dtype: {dtype}"),
        *_example(scalar_op)])


def _indented(text):
    return fill(text, 120, initial_indent="    ", subsequent_indent="        ")


def _example(scalar_op):
    """The lines of an example: the type of the result for matrices of the first dtype that the op accepts."""
    count = 2 if scalar_op.nin < 0 else scalar_op.nin
    for dtype, letter in LETTERS.items():
        try:
            result, = scalar_op.output_dtypes((dtype,) * count)
        except TypeError:
            continue
        matrix = f"T.{letter}matrix()" if letter else f"T.matrix(dtype={dtype!r})"
        call = f"T.{scalar_op.name}({', '.join([matrix] * count)})"
        return ["", "Examples", "--------", f">>> {call}.type", str(TensorType(result, (False, False)))]
    return []
