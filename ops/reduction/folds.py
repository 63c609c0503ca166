"""Which reductions have a fold of our own (``reduction_loops.h``), and what it does besides folding.

A fold reads values of a narrower dtype than it accumulates in, so the cast before a reduction is its own work. It may
also do the last step of the producer: squares, magnitudes, and the test for zero in front of ``any`` and ``all``.
Everything else is reduced by NumPy's loops. This file only chooses; it holds no loops.
"""
import numpy

# The order of the table in reduction_folds.h.
KINDS = ("sum", "product", "squares", "magnitudes", "any", "all")

KIND_OF_LOOP = {numpy.add: "sum", numpy.multiply: "product", numpy.bitwise_or: "any", numpy.logical_or: "any",
                numpy.bitwise_and: "all", numpy.logical_and: "all"}

# What becomes of a fold that does the step before it, too.
WITH_STEP = {("sum", "square"): "squares", ("sum", "absolute"): "magnitudes", ("any", "not_equal"): "any",
             ("all", "not_equal"): "all"}

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
WIDE_INTEGERS = ("int64", "uint64")
WIDE_FLOAT = {"float16": ("float32",), "float32": ("float64",), "float64": ("float64",)}


def accumulates(kind, dtype, accumulator):
    """Whether folds of a kind take values of ``dtype`` to an accumulator of that dtype."""
    if kind in ("any", "all"):
        return accumulator == "bool" and not dtype.startswith("complex")
    if dtype in INTEGERS:
        return kind == "sum" and accumulator in WIDE_INTEGERS
    return accumulator in WIDE_FLOAT.get(dtype, ()) and (kind in ("sum", "product") or dtype != "float16")


def choose_fold(loop, slots, steps, value, accumulator, output):
    """The fold for a reduction, and what is left of its producer.

    Parameters
    ----------
    loop : numpy.ufunc
    slots : list of (str, numpy.ndarray or None)
        Dtypes of all slots, and the values of those that are constant.
    steps : list of (loop, operands, dtypes)
    value : int
        The slot that is reduced.
    accumulator, output : str

    Returns
    -------
    (str or None, list, int)
        The kind of fold, None if there is none; the steps that are left; the slot that is folded.
    """
    kind, dtype = KIND_OF_LOOP.get(loop), slots[value][0]
    if kind is None or not accumulates(kind, dtype, accumulator):
        return None, steps, value
    if steps and value == len(slots) - 1 and isinstance(steps[-1][0], numpy.ufunc):
        step, operands, dtypes = steps[-1]
        more = WITH_STEP.get((kind, step.__name__))
        source = folded_operand(more, operands, slots, output)
        if source is not None and accumulates(more, dtypes[0], accumulator):
            return more, steps[:-1], source
    return kind, steps, value


def folded_operand(kind, operands, slots, output):
    """The slot that a fold reads when it does a step with these operands, too; None if it cannot."""
    if kind in ("any", "all"):
        others = [slot for slot in operands if slots[slot][1] is None]
        zeros = [slot for slot in operands if slots[slot][1] is not None and slots[slot][1] == 0]
        return others[0] if len(others) == len(zeros) == 1 else None
    dtype = slots[operands[0]][0]
    if kind == "squares":                   # those of float32 are not rounded and may be out of its range
        return operands[0] if dtype == output or dtype == "float64" else None
    return operands[0] if kind == "magnitudes" and dtype in WIDE_FLOAT else None
