"""Which operands a kernel accepts: types, ranks, what a result may look at, and what it may overwrite.

A kernel trusts its operands: it reads what the op that made it has declared. The linker gets kernels and cells from the
same node, so they fit. A file may say anything; there each kernel is compared with the rule of its class, which is a
function of the constructor's arguments (``kernel_operands.py`` has them) and returns a text:

    int:0, T:r -> T:r | view 0 of 1 | over 0 by 0

means an integer of rank 0 and a value of any dtype and rank; a result of the same dtype and rank, which may look at the
memory of input 1; and it may be computed in the memory of input 0. A dtype is a name, a class of ``CLASSES``, or a
capital letter, which stands for the same dtype everywhere (F for a float, I for an integer, C for a complex dtype, of
which ``part`` is the real one). A rank is a number, ``?`` (any), or a small letter, which stands for the same rank
everywhere, with ``+1`` or ``-1``. ``<=2`` and ``<=r-1`` mean at most so many dimensions, ``>=2`` and ``r>=2`` at least
two.

Invariant: a rule raises an error for arguments that the constructor of its class must not get, and a kernel that was
made of others reads and writes only memory of operands that its rule describes.
"""
import re
from collections import namedtuple
from functools import lru_cache

import numpy

from phintys.vm.linking.verifier import check_layout

DEVICE = "phintys.gpu."             # the kernels of this floor have no rules
RULES = {}                          # name of a class → its rule; ``kernel_operands.py`` enters them
Described = namedtuple("Described", "inputs outputs views overwrites")       # pairs of (dtype, rank); sets of pairs
NAMES = {numpy.dtype(code).num: numpy.dtype(code).name for code in "?bBhHiIlLqQefdFD"}
INTEGERS = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
CLASSES = {
    "any": frozenset(NAMES.values()),
    "int": INTEGERS | {"bool"},
    "index": INTEGERS,
    "real": INTEGERS | {"bool", "float16", "float32", "float64"},
    "float": frozenset(["float32", "float64"]),
    "number": INTEGERS | {"bool", "float32", "float64"},
    "complex": frozenset(["complex64", "complex128"]),
}
LETTERS = {"F": "float", "I": "index", "C": "complex"}         # the others stand for any dtype
PART_OF = {"complex64": "float32", "complex128": "float64"}
PATTERN = re.compile(r"(\w+):(?:(\?|\d+)|<=(\d+)|(<=)?([a-z])?([+-]\d+)?(?:>=(\d+))?)")
PAIR = re.compile(r"(view|over) (\d+) (?:of|by) (\d+)")


class OperandError(ValueError):
    """A kernel has operands that it does not accept, or arguments that it must not be made with."""


@lru_cache(maxsize=1024)
def parsed(text):
    """The parts of a rule's text."""
    operands, *pairs = text.split("|")
    inputs, outputs = operands.split("->")
    found = {"view": set(), "over": set()}
    for pair in pairs:
        which, result, source = PAIR.fullmatch(pair.strip()).groups()
        found[which].add((int(result), int(source)))
    return Described(*[[PATTERN.fullmatch(part.strip()).groups() for part in side.split(",") if part.strip()]
                       for side in (inputs, outputs)], found["view"], found["over"])


def described(kind, arguments, named):
    """What a kernel of a class with such arguments accepts.

    Parameters
    ----------
    kind : type
    arguments : tuple
    named : dict

    Returns
    -------
    Described or None
        None if the class is one of those that a file may name only if its reader trusts them: of modules outside of
        phintys, and of ``phintys.gpu``.

    Raises
    ------
    OperandError
        If the class must not be made with them, or no rule says what it accepts.
    """
    if not kind.__module__.startswith("phintys.") or kind.__module__.startswith(DEVICE):
        return None
    rule = RULES.get(kind.__name__)
    if rule is None:
        raise OperandError(f"nothing says which operands a {kind.__name__} accepts")
    try:
        return parsed(rule(*arguments, **named))
    except OperandError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise OperandError(f"a {kind.__name__} is not made with such arguments: {error or type(error).__name__}"
                           ) from error


def accepted(kernel):
    """What a kernel accepts; see ``described``."""
    return described(type(kernel), kernel.arguments, kernel.named_arguments or {})


def check_operands(title, inputs, outputs, pattern):
    """Raise unless operands are those of a rule.

    Parameters
    ----------
    title : str
        Of the kernel, for messages.
    inputs, outputs : list of (int, int)
        Type number and rank of each.
    pattern : Described

    Raises
    ------
    OperandError
        If they are not.
    """
    known = {}
    for what, given, wanted in (("inputs", inputs, pattern.inputs), ("outputs", outputs, pattern.outputs)):
        if len(given) != len(wanted):
            raise OperandError(f"{title} has {len(given)} {what} instead of {len(wanted)}")
        for position, ((typenum, rank), (dtype, *ranks)) in enumerate(zip(given, wanted)):
            name = NAMES.get(typenum)
            if name is None or not _is_dtype(name, dtype, known) or not _is_rank(rank, ranks, known):
                raise OperandError(f"{title} has {name or 'an object'} of {rank} dimensions among its {what}, at "
                                   f"position {position}, where it accepts {_words(dtype, ranks, known)}")


def _is_dtype(name, dtype, known):
    if dtype == "part":
        return name == PART_OF.get(known["C"])
    if dtype[0].isupper():
        return name in CLASSES[LETTERS.get(dtype, "any")] and known.setdefault(dtype, name) == name
    return name == dtype or name in CLASSES.get(dtype, ())


def _is_rank(rank, wanted, known):
    exact, most, at_most, letter, offset, least = wanted
    if exact is not None:
        return exact == "?" or rank == int(exact)
    if most is not None:
        return rank <= int(most)
    if at_most is not None:
        return rank <= known[letter] + int(offset or 0)
    return rank >= int(least or 0) and (letter is None or known.setdefault(letter, rank - int(offset or 0))
                                        == rank - int(offset or 0))


def _words(dtype, wanted, known):
    """What a pattern accepts, for messages."""
    exact, most, at_most, letter, offset, least = wanted
    ranks = exact if exact not in (None, "?") else "any number of"
    if most is not None:
        ranks = f"at most {most}"
    elif letter in known:
        ranks = f"{'at most ' if at_most else ''}{known[letter] + int(offset or 0)}"
    elif least is not None:
        ranks = f"at least {least}"
    return f"{known.get(dtype, dtype)} of {ranks} dimensions"


def check_instruction(program, instruction):
    """Raise unless an instruction that runs a kernel or a node has operands that it accepts.

    Raises
    ------
    OperandError
        If it has not; if it declares fewer views than there may be; if memory would be overwritten that must not be.
    """
    inputs, outputs = instruction.reads(), instruction.writes()
    layouts = [[(program.cells[cell].typenum, program.cells[cell].ndim) for cell in side] for side in (inputs, outputs)]
    if instruction.name == "CALL":
        _check_node(program.calls[instruction.a], [program.cells[cell] for cell in (*inputs, *outputs)], *layouts)
        return
    kernel = program.kernels[instruction.a]
    pattern = accepted(kernel)
    if pattern is None:
        return
    title = type(kernel).__name__
    check_operands(title, *layouts, pattern)
    if not {(outputs[result], inputs[source]) for result, source in pattern.views} <= {*map(tuple, instruction.views)}:
        raise OperandError(f"{title} may return a view of an operand, which the program does not say")
    for number, cell in enumerate(outputs):
        donor = program.cells[cell].donor
        if donor is not None and not any([(number, source) in pattern.overwrites and inputs[source] == donor
                                          for source in range(len(inputs))]):
            raise OperandError(f"{title} must not overwrite C{donor}")
        if donor is not None and (cell, donor) not in instruction.overwritten:
            raise OperandError(f"{title} overwrites C{donor}, which the program does not say")


def _check_node(node, cells, inputs, outputs):
    """Raise unless the cells of a CALL are those of the node's types, and its op computes without a kernel, or with one
    that accepts them."""
    variables = [*node.inputs, *node.outputs]
    if (len(node.inputs), len(node.outputs)) != (len(inputs), len(outputs)):
        raise OperandError(f"{node.title} has other operands than its node")
    for variable, cell in zip(variables, cells):
        check_layout(f"an operand of {node.title}", cell, variable.type)
    make_kernel = getattr(node.op, "make_kernel", None)
    kernel = make_kernel(node) if make_kernel is not None else None
    pattern = None if kernel is None else accepted(kernel)
    if pattern is not None:
        check_operands(type(kernel).__name__, inputs, outputs, pattern)
