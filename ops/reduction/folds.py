"""Selects the built-in loop, or fold (``reduction_loops.h``), for a reduction, and the steps that it includes.

A fold reads values of a narrower dtype than that of its accumulator, so it includes the cast before a reduction. It may
also include the last step of the producer: squares, magnitudes, and the test for zero before ``any`` and ``all``.
NumPy's loops compute all other reductions. This file only selects loops and contains none.
"""
import numpy

# In the order of the table in reduction_folds.h.
KINDS = ("sum", "product", "squares", "magnitudes", "any", "all", "maximum", "minimum")

KIND_OF_LOOP = {numpy.add: "sum", numpy.multiply: "product", numpy.bitwise_or: "any", numpy.logical_or: "any",
                numpy.bitwise_and: "all", numpy.logical_and: "all", numpy.maximum: "maximum", numpy.minimum: "minimum"}

# Kind of fold and preceding step → kind of the fold that includes this step.
WITH_STEP = {("sum", "square"): "squares", ("sum", "absolute"): "magnitudes", ("any", "not_equal"): "any",
             ("all", "not_equal"): "all"}

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
WIDE_INTEGERS = ("int64", "uint64")
WIDE_FLOAT = {"float16": ("float32",), "float32": ("float64",), "float64": ("float64",)}


def accumulates(kind, dtype, accumulator):
    """Whether there are folds of this kind from values of ``dtype`` to the given accumulator dtype."""
    if kind in ("any", "all"):
        return accumulator == "bool" and not dtype.startswith("complex")
    if kind in ("maximum", "minimum"):      # of float64: NumPy's loops are slow for short lines only
        return dtype == accumulator == "float64"
    if dtype in INTEGERS:
        return kind == "sum" and accumulator in WIDE_INTEGERS
    return accumulator in WIDE_FLOAT.get(dtype, ()) and (kind in ("sum", "product") or dtype != "float16")


def choose_fold(loop, code, accumulator, output):
    """The fold for a reduction, and what is left to compute before it.

    Parameters
    ----------
    loop : numpy.ufunc
    code : ScalarCode
        Its result is reduced.
    accumulator, output : str

    Returns
    -------
    (str or None, ScalarCode)
        The kind of fold, or None if there is none; the code without the step that the fold includes.
    """
    value, = code.outputs
    kind = KIND_OF_LOOP.get(loop)
    if kind is None or not accumulates(kind, code.dtypes[value], accumulator):
        return None, code
    if code.steps and value == len(code.dtypes) - 1 and isinstance(code.steps[-1][0], numpy.ufunc):
        step, operands, dtypes = code.steps[-1]
        more = WITH_STEP.get((kind, step.__name__))
        source = folded_operand(more, operands, code, output)
        if source is not None and accumulates(more, dtypes[0], accumulator):
            return more, code.with_outputs([source]).live()
    return kind, code


def folded_operand(kind, operands, code, output):
    """The slot that a fold reads if it includes a step with these operands; None if that is not possible."""
    if kind in ("any", "all"):
        others = [slot for slot in operands if code.constant(slot) is None]
        zeros = [slot for slot in operands if code.constant(slot) is not None and code.constant(slot) == 0]
        return others[0] if len(others) == len(zeros) == 1 else None
    dtype = code.dtypes[operands[0]]
    if kind == "squares":                   # a fold does not round squares to float32, and they may exceed its range
        return operands[0] if dtype == output or dtype == "float64" else None
    return operands[0] if kind == "magnitudes" and dtype in WIDE_FLOAT else None
