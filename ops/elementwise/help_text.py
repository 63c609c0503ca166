"""The ``help`` text of an elementwise function: operands, shape, dtype and an example, from its row in ``scalar.py``.

The text is generated on access, so that importing phintys does not pay for it.
"""
import inspect
import re
from textwrap import fill

from phintys.ops.types.tensor_type import TensorType

OPERANDS = {1: ["x"], 2: ["a", "b"], 3: ["a", "b", "c"]}        # of rows whose gradient does not name them
LETTERS = {"float64": "d", "int64": "l", "complex128": "z", "bool": None}      # dtype → its letter in ``T.dmatrix``
# Where in its interval each operand of an example lies, from 0 to 1; other positions for each, so that they differ.
PLACES = ((0.25, 0.75), (0.5, 0.6), (0.65, 0.75), (0.5, 0.25))


class HelpText:
    """A descriptor for the ``__doc__`` of a class whose instances have separate documentation.

    Parameters
    ----------
    of_class : str
    of_instance : callable
        Takes an instance and returns its text, or None for the text of the class.

    Attributes
    ----------
    only_instance : object or None
        The instance whose text is also that of the class.
    """

    def __init__(self, of_class, of_instance):
        self.of_class = of_class
        self.of_instance = of_instance
        self.only_instance = None

    def __get__(self, instance, owner):
        instance = self.only_instance if instance is None else instance
        return (self.of_instance(instance) if instance is not None else None) or self.of_class


def operand_names(scalar_op):
    """The names of a scalar op's operands: the parameter names of its gradient, or letters if it names none."""
    if scalar_op.nin < 0:
        return ["*tensors"]
    gradient = getattr(scalar_op, "gradient", None)
    formula = gradient[0] if type(gradient) is tuple else gradient
    names = [] if formula is None else list(inspect.signature(formula).parameters)[:-2]
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
    if not getattr(scalar_op, "summary", None):
        return None
    names = operand_names(scalar_op)
    one = len(names) == 1 and names != ["*tensors"]
    shape = (f"that of ``{names[0]}``." if one else
             "that of the operands, broadcast: a dimension that the type declares to have length 1 is repeated.")
    rule = inspect.getdoc(scalar_op.output_rule).partition("\n")[0]
    dtype = rule[0].lower() + rule[1:]
    return "\n".join([
        f"{(scalar_op.public or scalar_op.name).rpartition('.')[2]}({', '.join(names)})", "", scalar_op.summary, "",
        "Parameters", "----------", f"{', '.join(names)} : tensor-like",
        "    Variables, arrays, numbers or lists of them, of any rank.", "",
        "Returns", "-------", "TensorVariable", _indented(f"Shape: {shape}"), _indented(f"Dtype: {dtype}"),
        *_example(scalar_op)])


def scalar_help_text(scalar_op):
    """The documentation of a row as an op on numbers; None if it has no summary."""
    if not scalar_op.summary:
        return None
    dtype, result = _first_dtypes(scalar_op)
    operands = ", ".join("x" * _count(scalar_op))
    return "\n".join([
        scalar_op.summary, "", "Examples", "--------", f'>>> x = phintys.scalar.{dtype}("x")',
        f">>> phintys.scalar.{scalar_op.name}({operands}).type", f"Scalar({result})"])


def _indented(text):
    return fill(text, 120, initial_indent="    ", subsequent_indent="        ")


def _example(scalar_op):
    """The lines of two examples: the type of the result for matrices, and values."""
    dtype, result = _first_dtypes(scalar_op)
    letter = LETTERS[dtype]
    matrix = f"T.{letter}matrix()" if letter else f"T.matrix(dtype={dtype!r})"
    function = f"T.{scalar_op.public or scalar_op.name}"
    operands = example_operands(scalar_op)
    return ["", "Examples", "--------",
            f">>> {function}({', '.join([matrix] * _count(scalar_op))}).type", str(TensorType(result, (False, False))),
            f">>> {function}({', '.join(map(_written, operands))}).eval()", repr(_computed(scalar_op, operands))]


def _count(scalar_op):
    return 2 if scalar_op.nin < 0 else scalar_op.nin


def _first_dtypes(scalar_op):
    """The first dtype that the op accepts for all operands, and that of its result."""
    for dtype in LETTERS:
        try:
            return dtype, *scalar_op.output_dtypes((dtype,) * _count(scalar_op))
        except TypeError:
            continue
    raise TypeError(f"{scalar_op.name} accepts no operands that are all {' or '.join(LETTERS)}: its help text needs "
                    "one of these dtypes")


def example_operands(scalar_op):
    """The operands of the example of a row: those that it states, or else vectors from its ``domain``."""
    if scalar_op.example is not None:
        return scalar_op.example
    count = _count(scalar_op)
    intervals = scalar_op.domain if isinstance(scalar_op.domain[0], tuple) else (scalar_op.domain,) * count
    return tuple([[round(low + part * (high - low), 1) for part in parts]
                  for (low, high), parts in zip(intervals, PLACES)])


def _written(operand):
    """An operand as text that Python reads when NumPy is imported."""
    return re.sub(r"\b(nan|inf)\b", r"numpy.\1", repr(operand))


def _computed(scalar_op, operands):
    """The result of the row's Elemwise."""
    node = scalar_op.elementwise.make_node(*operands)
    storage = [[None] for _ in node.outputs]
    scalar_op.elementwise.perform(node, [operand.data for operand in node.inputs], storage)
    return storage[0][0]
