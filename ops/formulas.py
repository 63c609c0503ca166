"""Formulas for readers: the computation of a node as text in Python's notation, for listings of programs.

There is one table: a class of ops → a function ``(op, node, texts)``, which gets a text for each input and returns one
text for all outputs, or a list of lines ``(target, text)``, each before the lines that use it. A target is the position
of an output, or the name of an intermediate value that later lines use. Ops that are not in the table are written as
calls, with their properties as keywords. Nothing is evaluated or simplified.
"""
import re
from functools import singledispatch

from phintys.graph.variable import Constant
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.graphs.ifelse import IfElse
from phintys.ops.identity.equal_lengths import NUMBER, VALUE, EqualLengths
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1, AdvancedSubtensor1
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor, filled
from phintys.ops.loops.loop import Scan
from phintys.ops.products.blas import Accumulation, Dot22, Dot22Scalar, Ger
from phintys.ops.products.dot import Dot
from phintys.ops.reduction.careduce import CAReduce
from phintys.ops.reduction.fused_reduction import FusedReduction
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.ops.shape.join import MakeVector
from phintys.ops.shape.reshape import Reshape
from phintys.ops.shape.shape import Shape, Shape_i

OUTPUT, END = "\x03", "\x02"            # the number of an output that another line reads is between them
ATOM = 9                                # how tightly a name or a call binds
BINDING = {"|": 1, "^": 1, "&": 2, "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}    # comparisons: 0
SIGN = 6
LONGEST_INLINE = 60                     # characters; a longer part of a formula becomes a line
LONGEST, LONGEST_CONSTANT = 160, 40     # characters
LEVELS = 3                              # of a graph that are written in one formula
# The first part of an op's name → a word for its result, or one for each of its results.
WORDS = {"true_div": "quotient", "int_div": "quotient", "add": "sum", "sub": "difference", "mul": "product",
         "second": "fill", "abs_": "absolute", "Shape_i": "length", "MakeVector": "vector",
         "CrossentropySoftmaxArgmax1HotWithBias": ("nll", "softmax", "argmax"),
         "CrossentropySoftmax1HotWithBiasDx": "d_softmax"}
IN_PLACE = re.compile(r"(, )?\b(inplace|destructive)=(True|False)(, )?")


class Text(str):
    """A piece of a formula, and how tightly its outermost operator binds."""

    def __new__(cls, text, binding=ATOM):
        made = super().__new__(cls, text)
        made.binding = binding
        return made

    def at_least(self, binding):
        """Return the text, in parentheses unless it binds as tightly."""
        return self if self.binding >= binding else f"({self})"


def atom(text):
    """Return a text that an index or an attribute can follow."""
    return text.at_least(ATOM) if isinstance(text, Text) else text


def _as_text(text):
    return text if isinstance(text, Text) else Text(text)


def infix(symbol, operands):
    """Return operands joined by an operator that groups from the left."""
    binding = BINDING.get(symbol, 0)
    first, *rest = map(Text.at_least, operands, [binding + (symbol == "**"), *[binding + 1] * (len(operands) - 1)])
    return Text(f" {symbol} ".join([first, *rest]), binding)


def call(name, operands, **keywords):
    """Return a call."""
    return Text(f"{name}({', '.join([*operands, *[f'{key}={value}' for key, value in keywords.items()]])})")


# ---- numbers ---------------------------------------------------------------------------------------------------------
SPECIAL = {
    "sqr": lambda x: infix("**", [x, Text("2")]),
    "inv": lambda x: infix("/", [Text("1"), x]),
    "identity": lambda x: x,
    "second": lambda shape, value: call("fill", [shape, value]),
    "abs_": lambda x: call("abs", [x]),
}


def scalar_text(scalar_op, operands):
    """Return the formula of a scalar op with one output."""
    name = scalar_op.name
    if name in SPECIAL and len(operands) == SPECIAL[name].__code__.co_argcount:
        return SPECIAL[name](*operands)
    if scalar_op.symbol is None:
        text = str(scalar_op)
        return call(text[5:-1] if text.startswith("Cast{") else text, operands)
    if len(operands) == 1:
        return Text(f"{scalar_op.symbol}{operands[0].at_least(SIGN)}", SIGN)
    return infix(scalar_op.symbol, operands)


def scalar_lines(scalar_op, texts):
    """Return the lines of a scalar op; for a Composite, values that are read twice or would be long get lines of their
    own."""
    operands = list(map(_as_text, texts))
    if not isinstance(scalar_op, Composite):
        if scalar_op.nout > 1:
            return [(tuple(range(scalar_op.nout)), call(str(scalar_op), operands))]
        return [(0, scalar_text(scalar_op, operands))]
    operands += [_constant(value) for value in scalar_op.constants]
    readers = [0] * len(scalar_op.slot_dtypes)
    for _, slots in scalar_op.steps:
        for slot in slots:
            readers[slot] += 1
    lines, locals_ = [], 0
    for step_op, slots in scalar_op.steps:
        text = scalar_text(step_op, [operands[slot] for slot in slots])
        slot = len(operands)
        if readers[slot] and slot in scalar_op.output_slots:
            output = scalar_op.output_slots.index(slot)
            lines.append((output, text))
            text = Text(f"{OUTPUT}{output}{END}")
        elif readers[slot] > 1 or (readers[slot] and _width(text) > LONGEST_INLINE):
            lines.append((f"t{locals_}", text))
            text, locals_ = Text(f"t{locals_}"), locals_ + 1
        operands.append(text)
    written = {target for target, _ in lines}
    return lines + [(output, operands[slot]) for output, slot in enumerate(scalar_op.output_slots)
                    if output not in written]


def with_outputs(text, names):
    """Return a line of a formula with the names of outputs that it reads."""
    return re.sub(f"{OUTPUT}(\\d+){END}", lambda found: names[int(found[1])], text)


def _constant(value):
    text = str(value)
    return Text(text, SIGN if text.startswith("-") else ATOM)


def _width(text):
    """Return approximately how wide a text will be; the names of operands are not known yet."""
    return len(re.sub("[\x01\x03]\\d+\x02", "12345", text))


# ---- the table -------------------------------------------------------------------------------------------------------
@singledispatch
def formula(op, node, texts):
    """Return the formulas of a node's outputs.

    Parameters
    ----------
    op : Op
        ``node.op``.
    node : Apply
    texts : list of str
        One for each input.

    Returns
    -------
    str or list of (int, str or tuple of int, str)
        One text for all outputs, or lines: a target and its text.
    """
    name, brace, properties = str(op).partition("{")
    if not brace or not properties.endswith("}"):
        return call(name if brace == "" else str(op), texts)
    properties = IN_PLACE.sub(lambda found: ", " if found[1] and found[4] else "", properties[:-1])
    return call(name, [*texts, properties] if properties else texts)


formula.register(Elemwise)(lambda op, node, texts: scalar_lines(op.scalar_op, texts))
formula.register(ScalarOp)(lambda op, node, texts: scalar_lines(op, texts))


def _reduced(op, text):
    name = type(op).__name__.lower()
    name = name if name != "careduce" and not name.startswith("careducedtype") else str(op.scalar_op)
    axes = op.axis[0] if op.axis is not None and len(op.axis) == 1 else op.axis
    return call(name, [text]) if axes is None else call(name, [text], axis=axes)


formula.register(CAReduce)(lambda op, node, texts: _reduced(op, texts[0]))


@formula.register(FusedReduction)
def _fused_reduction(op, node, texts):
    *lines, (_, text) = scalar_lines(op.scalar_op, texts)
    return [*lines, (0, _reduced(op.reduction, text))]


@formula.register(DimShuffle)
def _dimshuffle(op, node, texts):
    order, rank = list(op.new_order), node.inputs[0].type.ndim
    if rank > 1 and order == list(range(rank))[::-1]:
        return f"{atom(texts[0])}.T"
    kept = [axis for axis in order if axis != "x"]
    if order == list(range(rank)):
        return texts[0]
    if kept == list(range(rank)):
        return f"{atom(texts[0])}[{', '.join(['None' if axis == 'x' else ':' for axis in order])}]"
    return call(f"{atom(texts[0])}.dimshuffle", [repr(axis) for axis in order])


def _index(idx_list, texts):
    """Return an index in Python's notation."""
    entries = []
    for entry in filled(idx_list, texts):
        if isinstance(entry, slice):
            parts = ["" if part is None else str(part) for part in (entry.start, entry.stop, entry.step)]
            entries.append(":".join(parts if parts[2] else parts[:2]))
        else:
            entries.append("..." if entry is Ellipsis else str(entry))
    return ", ".join(entries)


formula.register(Subtensor)(lambda op, node, texts: f"{atom(texts[0])}[{_index(op.idx_list, texts[1:])}]")


@formula.register(IncSubtensor)
def _inc_subtensor(op, node, texts):
    name = "set_subtensor" if op.set_instead_of_inc else "inc_subtensor"
    return call(name, [f"{atom(texts[0])}[{_index(op.idx_list, texts[2:])}]", texts[1]])


formula.register(AdvancedSubtensor1)(lambda op, node, texts: f"{atom(texts[0])}[{texts[1]}]")


@formula.register(AdvancedIncSubtensor1)
def _inc_rows(op, node, texts):
    name = "set_subtensor" if op.set_instead_of_inc else "inc_subtensor"
    return call(name, [f"{atom(texts[0])}[{texts[2]}]", texts[1]])


@formula.register(Dot)
@formula.register(Dot22)
def _dot(op, node, texts):
    return call("dot", texts)


formula.register(Dot22Scalar)(lambda op, node, texts: infix("*", [_as_text(texts[2]), call("dot", texts[:2])]))


def _accumulated(target, alpha, product, beta):
    """``beta * target + alpha * product``, without factors of 1."""
    size = alpha.lstrip("-")
    scaled = product if size == "1.0" else infix("*", [Text(size), product])
    kept = _as_text(target) if beta == "1.0" else infix("*", [Text(beta), _as_text(target)])
    return scaled if beta in ("0", "0.0") else infix("-" if alpha.startswith("-") else "+", [kept, scaled])


@formula.register(Accumulation)
def _accumulation(op, node, texts):
    target, alpha, x, y, beta = texts
    return _accumulated(target, alpha, call("dot", [x, y]), beta)


@formula.register(Ger)
def _outer(op, node, texts):
    target, alpha, x, y = texts
    return _accumulated(target, alpha, call("outer", [x, y]), "1.0")


formula.register(Shape)(lambda op, node, texts: f"{atom(texts[0])}.shape")
formula.register(Shape_i)(lambda op, node, texts: f"{atom(texts[0])}.shape[{op.i}]")


@formula.register(EqualLengths)
def _equal_lengths(op, node, texts):
    groups = []
    for group, guards in zip(op.groups, op.guards):
        text = " == ".join([str(position) if number == NUMBER else texts[number] if position == VALUE
                            else f"{atom(texts[number])}.shape[{position}]" for number, position, _ in group])
        needed = " and ".join([texts[number] if wanted else f"not {atom(texts[number])}" for number, wanted in guards])
        groups.append(f"{text} if {needed}" if needed else text)
    return call("equal_lengths", [texts[0], *groups])


formula.register(MakeVector)(lambda op, node, texts: f"[{', '.join(texts)}]")
formula.register(Reshape)(lambda op, node, texts: call(f"{atom(texts[0])}.reshape", texts[1:]))


@formula.register(IfElse)
def _choice(op, node, texts):
    condition, *values = texts
    half = len(values) // 2
    return [(position, f"{values[position]} if {condition} else {values[half + position]}") for position in range(half)]


@formula.register(Scan)
def _loop(op, node, texts):
    groups = op.parts.outer_inputs(texts)
    given = [f"n_steps={groups.steps}"]
    for word, group in (("sequences", groups.sequences), ("states", groups.states + groups.carried),
                        ("sums", groups.summed), ("constants", groups.wholes)):
        given += [f"{word}=[{', '.join(group)}]"] if group else []
    return call(op.name or "scan", given)


def one_line(node, index, texts):
    """Return the formula of an output of a node as one text: intermediate values are written where they are read.

    Parameters
    ----------
    node : Apply
    index : int
        Of the output.
    texts : list of str
        One for each input.

    Returns
    -------
    str
    """
    lines = formula(node.op, node, texts)
    if isinstance(lines, str):
        return lines
    known = {}
    for target, text in lines:
        text = Text(re.sub(rf"\bt\d+\b|{OUTPUT}\d+{END}", lambda found: _within(known, found[0]), text),
                     getattr(text, "binding", ATOM))
        known[f"{OUTPUT}{target}{END}" if isinstance(target, int) else target] = text
        if target == index:
            return text
    return lines[-1][1]


def _within(known, name):
    return atom(known[name]) if name in known else name


def written(variable, levels=LEVELS):
    """Return the uppermost levels of a graph as a formula; lower levels become ``…``.

    Parameters
    ----------
    variable : Variable
    levels : int

    Returns
    -------
    str
    """
    text = _written(variable, levels)
    return text if len(text) <= LONGEST else text[:LONGEST - 1] + "…"


def _written(variable, levels):
    if variable.owner is None:
        return known_text(variable)
    if levels == 0:
        return variable.name or "…"
    return one_line(variable.owner, variable.index, [_written(source, levels - 1) for source in variable.owner.inputs])


def known_text(variable):
    """Return the text of a leaf: the value of a constant, a name, or a type."""
    if isinstance(variable, Constant):
        return _short(variable.data.reshape(()) if getattr(variable.data, "size", 0) == 1 else variable.data)
    return str(variable)


def _short(value):
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_CONSTANT else text[:LONGEST_CONSTANT - 3] + "..."


# ---- names -----------------------------------------------------------------------------------------------------------
def result_name(node, index):
    """Return a short word for an output of a node that has no name, from the op.

    Parameters
    ----------
    node : Apply
    index : int

    Returns
    -------
    str
    """
    op = node.op.reduction if isinstance(node.op, FusedReduction) else node.op
    if isinstance(op, (Dot, Dot22, Dot22Scalar, Accumulation)):
        return "dot"
    if isinstance(op, Scan):
        word = op.name or "scan"
    else:
        word = str(_last_scalar_op(op, index)).partition("{")[0]
    word = WORDS.get(word, word)
    word = word if isinstance(word, str) else word[index]
    return re.sub(r"\W+", "_", word.lower()).strip("_") or "value"


def _last_scalar_op(op, index):
    """Return the scalar op whose result an output of an elementwise op is; other ops themselves."""
    scalar_op = op.scalar_op if isinstance(op, Elemwise) else op
    if not isinstance(scalar_op, Composite):
        return scalar_op
    position = scalar_op.output_slots[index] - len(scalar_op.slot_dtypes) + len(scalar_op.steps)
    return scalar_op.steps[position][0] if position >= 0 else scalar_op


# ---- loops -----------------------------------------------------------------------------------------------------------
def names_in_body(op, inputs, outputs):
    """Return names for the values in a loop's body, made from the names outside; () for other ops.

    They are the names of the body's arguments and results. If the loop computes rows ahead, the names of the arguments
    and results of the program that does so come first.

    Parameters
    ----------
    op : Scan
    inputs, outputs : list of str
        Names of a node's inputs and outputs.

    Returns
    -------
    tuple of (list of str, list of str)
        In the order in which the programs take and return them.
    """
    if not isinstance(op, Scan):
        return ()
    given, made = op.parts.outer_inputs(inputs), op.parts.outer_outputs(outputs)
    ahead = [f"ahead{number + 1}" for number in range(op.parts.n_ahead)]
    rows = [f"{name}[t]" for name in (*given.sequences, *ahead)]
    taps = [f"{name}[t{tap}]" for name, own in zip(made.states, op.parts.taps) for tap in own]
    carried = [f"{name}[before]" for name in made.summed + made.carried]
    results = [*[f"{name}[t]" for name in made.states + made.stacked], *made.summed, *made.carried]
    body = [*rows, *taps, *carried, *given.wholes], results + ["stop"] * op.parts.is_while
    if not ahead:
        return (body,)
    blocks = [f"{name}[block]" for name in given.sequences]
    return ([*blocks, *given.wholes], [f"{name}[block]" for name in ahead]), body
