"""``pp``: prints a variable as a formula.

A printer turns one node into text and the inputs that belong inside it. ``PPrinter`` finds the printer of each node
by the op, then by the op's classes, then by conditions, and joins the pieces without recursion, so that a chain of
100,000 nodes can be printed. A formula is a tree: a variable that is used twice is printed twice, and after
``LENGTH_LIMIT`` characters the text ends in ``...``. Printers in Theano's style, with ``process(variable, state)``,
also work; they may recurse.
"""
from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.allocation import Alloc
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.indexing.subtensor import Subtensor, filled
from phintys.ops.products.dot import Dot
from phintys.ops.reduction.careduce import CAReduce
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import Join, MakeVector

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.op import Op
    from phintys.ops.operators import TensorVariable

LENGTH_LIMIT = 10_000_000

GREEK = {name: "\\" + name for name in ("alpha", "beta", "gamma", "delta", "epsilon")}


class LeafPrinter:
    """Prints a variable as its name or type.

    Examples
    --------
    >>> phintys.printing.leaf_printer.pieces(T.dvector("alpha"))
    ['\\\\alpha']
    """

    def pieces(self, variable: Variable) -> list[str]:
        """Return texts and operands in their order: The name, or the value of a constant."""
        if isinstance(variable, Constant) and variable.name is None and getattr(variable.type, "ndim", 0) \
                and variable.data.size == 1:
            return [f"TensorConstant{{{variable.data.reshape(())}}}"]        # as Theano: before broadcasting
        return [GREEK.get(variable.name) or str(variable)]


class DefaultPrinter:
    """``op(inputs)``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.printing.default_printer.pieces(T.exp(x))
    ['Elemwise{exp,no_inplace}', '(', x, ')']
    """

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``Op(x, y)``."""
        node = variable.owner
        if node is None:
            return leaf_printer.pieces(variable)
        return _call(str(node.op), node.inputs)


class FunctionPrinter:
    """Prints ``name(inputs)``; one name for each output of the op.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.printing.FunctionPrinter("my_exp").pieces(T.exp(x))
    ['my_exp', '(', x, ')']
    """

    def __init__(self, *names: Any) -> None:
        self.names = names

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``name(x, y)``."""
        return _call(self.names[variable.index], variable.owner.inputs)


class OperatorPrinter:
    """Prints ``(a + b)`` or ``(-a)``: an operator with its operands, always in parentheses.

    ``precedence`` and ``assoc`` are kept for compatibility; they have no effect because of the parentheses.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.printing.OperatorPrinter("<+>", 0).pieces(x + x)
    ['(', x, ' <+> ', x, ')']
    """

    def __init__(self, operator: str, precedence: int, assoc: str = "left") -> None:
        if assoc not in ("left", "right", "either"):
            raise ValueError(f"assoc must be 'left', 'right' or 'either', got {assoc!r}")
        self.operator = operator
        self.precedence = precedence
        self.assoc = assoc

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``(x + y)``, with the parentheses that are needed."""
        inputs = variable.owner.inputs
        if len(inputs) == 1:
            return ["(", self.operator, inputs[0], ")"]
        return ["(", *_joined(inputs, f" {self.operator} "), ")"]


class PatternPrinter:
    """Prints a text with ``%(0)s`` for the first input, and so on; one pattern for each output of the op.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.printing.PatternPrinter("|%(0)s|").pieces(abs(x))
    ['|', x, '|']
    """

    def __init__(self, *patterns: Any) -> None:
        self.patterns = [pattern if isinstance(pattern, str) else pattern[0] for pattern in patterns]

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: The pattern, filled with the operands."""
        pieces = []
        for position, text in enumerate(self.patterns[variable.index].split("%(")):
            number, closed, rest = text.partition(")s")
            if position and closed:
                pieces += [variable.owner.inputs[int(number)], rest]
            else:
                pieces.append(text)
        return pieces


class IgnorePrinter:
    """Prints the first input, as if the node did not exist.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.printing.IgnorePrinter().pieces(T.exp(x))
    [x]
    """

    def pieces(self, variable: Variable) -> list[TensorVariable]:
        """Return texts and operands in their order: What the first operand prints."""
        return [variable.owner.inputs[0]]


class ElementwisePrinter:
    """Prints a node of numbers or an elementwise one: arithmetic with its operator, all else as ``name(inputs)``.

    As in Theano, comparisons are names, too: ``gt(a, b)``.
    """

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: As the scalar op has it."""
        op = variable.owner.op
        scalar_op = op if isinstance(op, ScalarOp) else op.scalar_op
        if scalar_op.name in SPECIAL:
            return SPECIAL[scalar_op.name].pieces(variable)
        if str(scalar_op).startswith("Cast{"):
            return _call(str(scalar_op)[5:-1], variable.owner.inputs)
        if scalar_op.symbol in ARITHMETIC:
            return OperatorPrinter(scalar_op.symbol, 0).pieces(variable)
        return _call(str(scalar_op), variable.owner.inputs)


class DimShufflePrinter:
    """Omits new leading dimensions; prints a reversal of all dimensions as ``.T``."""

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``x.T``, ``x`` or ``DimShuffle{...}(x)``."""
        op, value = variable.owner.op, variable.owner.inputs[0]
        order = list(op.new_order)
        while order and order[0] == "x":
            del order[0]
        axes = list(range(value.ndim))
        if order == axes:
            return [value]
        if order == axes[::-1]:
            return [value, ".T"]
        return [f"DimShuffle{{{', '.join(map(str, order))}}}(", value, ")"]


class ReductionPrinter:
    """Prints ``sum(x)`` or ``sum(x, axis=(0,))``."""

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``sum(x, axis=(0,))``."""
        op = variable.owner.op
        axes = "" if op.axis is None else f", axis={op.axis}"
        return [type(op).__name__.lower(), "(", variable.owner.inputs[0], axes, ")"]


class VectorPrinter:
    """Prints ``[a, b]``."""

    def pieces(self, variable: Variable) -> Any:
        """Return texts and operands in their order: ``[x, y]``."""
        return ["[", *_joined(variable.owner.inputs, ", "), "]"]


class SubtensorPrinter:
    """Prints ``x[Constant{1}:n, Constant{0}]``, as Theano does."""

    def pieces(self, variable: Variable) -> list[TensorVariable | str]:
        """Return texts and operands in their order: ``x[Constant{1}:n]``."""
        x, *integers = variable.owner.inputs
        pieces = [x, "["]
        for entry in filled(variable.owner.op.idx_list, integers):
            pieces += _index_pieces(entry) + [", "]
        return pieces[:-1] + ["]"]


def _index_pieces(entry):
    """Return the pieces of one entry of an index."""
    if not isinstance(entry, slice):
        return [_number(entry)]
    pieces = []
    for part in (entry.start, entry.stop, entry.step):
        pieces += ["" if part is None else _number(part), ":"]
    return pieces[:-3] if entry.step is None else pieces[:-1]


def _number(part):
    """Return one number of an index: a variable, or the text of a constant."""
    return part if isinstance(part, Variable) else f"Constant{{{part}}}"


def _joined(variables, separator):
    pieces = []
    for variable in variables:
        pieces += [separator, variable] if pieces else [variable]
    return pieces


def _call(name, inputs):
    return [name, "(", *_joined(inputs, ", "), ")"]


leaf_printer = LeafPrinter()
default_printer = DefaultPrinter()

ARITHMETIC = ("+", "-", "*", "/", "//", "**", "%")

# Name of a scalar op → its format, unless it is printed as its symbol between the operands or as name(inputs).
SPECIAL = {
    "abs_": PatternPrinter("|%(0)s|"),
    "second": FunctionPrinter("fill"),
    "identity": IgnorePrinter(),
}


class _State:
    """The ``state`` argument of printers in Theano's style: it takes the inputs that are to be printed."""

    def __init__(self, pprinter):
        self.pprinter = pprinter
        self.memo = {}


class PPrinter:
    """Prints formulae with the printers assigned to it.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> phintys.pp(T.exp(2 * x))
    'exp((TensorConstant{2} * x))'
    """

    def __init__(self) -> None:
        self.printers = []
        self.printers_dict = {}

    def assign(self, condition: Op | Callable[..., Any] | type, printer: Any) -> None:
        """Use ``printer`` for an op, a class of ops, or the nodes for which ``condition(state, r)`` is true."""
        if isinstance(condition, type) or not callable(condition) or hasattr(condition, "make_node"):
            self.printers_dict[condition] = printer
        else:
            self.printers.insert(0, (condition, printer))

    def clone(self) -> PPrinter:
        """Return a printer with the same assignments, which can be changed independently."""
        twin = copy(self)
        twin.printers = list(self.printers)
        twin.printers_dict = dict(self.printers_dict)
        return twin

    def clone_assign(self, condition: Any, printer: Any) -> Any:
        """Return a clone with one more assignment."""
        twin = self.clone()
        twin.assign(condition, printer)
        return twin

    def _pieces(self, variable, state):
        printer = self._printer_of(variable, state)
        if hasattr(printer, "pieces"):
            return printer.pieces(variable)
        return [printer.process(variable, state)]

    def _printer_of(self, variable, state):
        if getattr(variable, "owner", None) is not None:
            op = variable.owner.op
            for key in (op, *type(op).__mro__[:-1]):
                if key in self.printers_dict:
                    return self.printers_dict[key]
        for condition, printer in self.printers:
            if condition(state, variable):
                return printer
        return default_printer

    def process(self, variable: Variable, state: Any = None) -> str:
        """Return the formula of ``variable`` as text."""
        if not isinstance(variable, Variable):
            raise TypeError(f"a variable can be printed as a formula, got {variable!r}")
        state = state if isinstance(state, _State) else _State(self)
        texts, length = [], 0
        waiting = [variable]
        while waiting:
            piece = waiting.pop()
            if not isinstance(piece, str):
                waiting.extend(reversed(self._pieces(piece, state)))
                continue
            texts.append(piece)
            length += len(piece)
            if length > LENGTH_LIMIT:
                texts.append(" ...")
                break
        return "".join(texts)

    def __call__(self, variable: Variable, state: Any = None) -> str:
        """Return a variable as a formula, printed by the printers assigned to its ops."""
        return self.process(variable, state)


pprint = PPrinter()
pprint.assign(Elemwise, ElementwisePrinter())
pprint.assign(ScalarOp, ElementwisePrinter())
pprint.assign(DimShuffle, DimShufflePrinter())
pprint.assign(Dot, OperatorPrinter("\\dot", -1))
pprint.assign(Alloc, FunctionPrinter("alloc"))
pprint.assign(CAReduce, ReductionPrinter())
pprint.assign(Subtensor, SubtensorPrinter())
pprint.assign(MakeVector, VectorPrinter())
pprint.assign(Join, FunctionPrinter("join"))
pp = pprint
