"""The operands that each kernel of ops accepts, and the arguments that it may be made with: one rule for each class.

Programs from files are checked by them, before a kernel is made and when its operands are known; what a rule returns is
explained in ``operands.py``. A rule has the parameters of its class's constructor. What the constructor or
``prepare`` checks itself is left to them. ``tests/vm/files/test_operands.py`` compares the table with the cases of all
kernels, and runs what it accepts of operands that are wrong.
"""
import numpy

from phintys.vm.abi import LARGEST_RANK, Kernel
from phintys.vm.files.operands import INTEGERS, NAMES, RULES, OperandError, accepted
from phintys.vm.places import HOST
from phintys.vm.program import Program

ALL = frozenset(NAMES.values())
FLOAT = frozenset(["float32", "float64"])
LAPACK = FLOAT | {"complex64", "complex128"}
REAL = INTEGERS | FLOAT | {"bool", "float16"}
POSITIONS = INTEGERS | {"bool"}
NUMBERS = {name: number for number, name in NAMES.items()}
MOST_INPUTS = 1 << 20               # of what a constructor counts


def rule(*names):
    """Enter a function as the rule of classes. Rules that are one expression are rows of tables."""
    def enter(function):
        RULES.update(dict.fromkeys(names, function))
        return function
    return enter


def need(holds, what):
    """Raise unless a condition holds."""
    if not holds:
        raise OperandError(f"a kernel is not made with such arguments: {what}")


def one_of(value, known=ALL, what="a dtype"):
    """A value, which must be one of those that are known."""
    need(isinstance(value, (str, type(None))) and value in known, f"{what} is {value!r}")
    return value


def whole(value, least=0, most=LARGEST_RANK, what="a rank"):
    """An integer in a range."""
    need(isinstance(value, int) and least <= value <= most, f"{what} is {value!r}")
    return int(value)


def distinct(axes, rank):
    """Axes of a value, none twice."""
    axes = [whole(axis, 0, rank - 1, "an axis") for axis in axes]
    need(len(set(axes)) == len(axes), f"an axis is there twice: {axes}")
    return axes


def listed(*parts):
    """Operands as text."""
    return ", ".join(parts)


# ---- shapes, views and new arrays ------------------------------------------------------------------------------------
RULES.update({
    "ContiguousKernel": lambda: "T:r -> T:r | view 0 of 0",
    "ReshapeKernel": lambda: "T:?, int:1 -> T:? | view 0 of 0",
    "SpecifyShapeKernel": lambda: "T:r, int:1 -> T:r | view 0 of 0",
    "ShapeKernel": lambda: "any:? -> int64:1",
    "NonzeroKernel": lambda: "bool:>=1 -> int64:2",
    "ComplexPartsKernel": lambda: "C:r -> part:r+1 | view 0 of 0",
    "RebroadcastKernel": lambda ones: f"T:r>={max(distinct(ones, LARGEST_RANK), default=-1) + 1} -> T:r | view 0 of 0",
    "ShapeIKernel": lambda axis: f"any:r>={whole(axis, 0, LARGEST_RANK - 1) + 1} -> int64:0",
    "MakeVectorKernel": lambda count:
        f"{listed(*['T:0'] * whole(count, 1, MOST_INPUTS, 'a number of elements'))} -> T:1",
    "AllocEmptyKernel": lambda rank: f"{listed(*['int:0'] * whole(rank))} -> any:{rank}",
    "ARangeKernel": lambda exact:
        "int:0, int:0, int:0 -> index:1" if exact else "number:0, number:0, number:0 -> number:1",
})


@rule("DimShuffleKernel")
def _dimshuffle(input_rank, new_order):
    kept = distinct([axis for axis in new_order if axis != "x"], whole(input_rank))
    need(len(kept) <= input_rank, "more dimensions than there are")
    return f"T:{input_rank} -> T:{whole(len(new_order))} | view 0 of 0"


@rule("JoinKernel")
def _join(dtypes, dtype, view=-1):
    whole(len(dtypes), 1, MOST_INPUTS, "a number of arrays")
    whole(view, -1, len(dtypes) - 1, "the number of the view")
    need(view < 0 or dtypes[view] == dtype, "a view of another dtype")
    arrays = [f"{one_of(each)}:r>=1" for each in dtypes]
    return f"int:0, {listed(*arrays)} -> {one_of(dtype)}:r" + (f" | view 0 of {view + 1}" if view >= 0 else "")


@rule("SplitKernel")
def _split(count):
    whole(count, 0, MOST_INPUTS, "a number of parts")
    return (f"T:r>=1, int:0, int:1 -> {listed(*['T:r'] * count)}"
            + "".join([f" | view {number} of 0" for number in range(count)]))


@rule("AllocKernel")
def _alloc(rank, repeats=None):
    need(isinstance(repeats, (str, type(None))), f"a name {repeats!r}")
    return f"{listed(f'T:<={whole(rank)}', *['int:0'] * rank)} -> T:{rank}"


@rule("EyeKernel", "TriKernel")
def _eye(one):
    need(isinstance(one, numpy.ndarray) and one.ndim == 0, "a one that is no number")
    return f"int:0, int:0, int:0 -> {one_of(one.dtype.name)}:2"


@rule("SumStretchedKernel")
def _sum_stretched(axis, total):
    need(isinstance(total, Kernel) and type(total).__name__ == "ReductionKernel", "a sum that is none")
    (dtype, rank, *_), *others = accepted(total).inputs
    (result, kept, *_), = accepted(total).outputs
    need(not others and dtype == result and rank == kept, "a sum of another type than its operand")
    whole(axis, 0, int(rank) - 1)
    return f"{dtype}:{rank}, int64:0 -> {dtype}:{rank} | view 0 of 0"


@rule("FirstRowsKernel")
def _first_rows(least, name, rule=None):
    whole(least, -1, 1 << 62, "a number of rows")
    need(isinstance(name, (str, type(None))) and isinstance(rule, (str, type(None))), "names that are none")
    return f"T:r>=1{', int:0' if least < 0 else ''} -> T:r | view 0 of 0"


@rule("StepCountKernel")
def _step_count(name):
    need(isinstance(name, (str, type(None))), "a name that is none")
    return "int64:0 -> int64:0 | view 0 of 0"


# ---- assertions ------------------------------------------------------------------------------------------------------
@rule("AssertKernel")
def _assert(n_conditions, message, error="AssertionError"):
    conditions = ["int:0"] * whole(n_conditions, 0, MOST_INPUTS, "a number of conditions")
    return f"{listed('T:r', *conditions)} -> T:r | view 0 of 0"


@rule("EqualLengthsKernel")
def _equal_lengths(n_inputs, groups, guards, values):
    least, numbers = [0] * whole(n_inputs, 1, MOST_INPUTS, "a number of inputs"), set()
    need(len(guards) == len(groups) and list(values) == sorted(set(values)), "groups without guards")
    for operand, axis, name in [entry for group in groups for entry in group]:
        whole(operand, -1, n_inputs - 1, "an operand")
        need(isinstance(name, str), "a name that is none")
        whole(axis, -1, LARGEST_RANK - 1 if operand >= 0 else 1 << 62, "an axis")
        if operand >= 0 and axis >= 0:
            least[operand] = max(least[operand], axis + 1)
        elif operand >= 0:
            numbers.add(operand)
    for operand, wanted in [guard for own in guards for guard in own]:
        need(isinstance(wanted, (bool, int)), "a guard that is none")
        numbers.add(whole(operand, 0, n_inputs - 1, "an operand"))
    need(numbers <= {whole(operand, 0, n_inputs - 1, "an operand") for operand in values}, "lengths not examined")
    need(not any([least[operand] for operand in numbers]), "a number with dimensions")
    inputs = ["int:0" if operand in numbers else f"any:>={least[operand]}" for operand in range(n_inputs)]
    inputs[0] = "T:0" if 0 in numbers else f"T:r>={least[0]}"
    return f"{listed(*inputs)} -> T:{0 if 0 in numbers else 'r'} | view 0 of 0"


# ---- elementwise work and reductions ---------------------------------------------------------------------------------
RULES.update({
    "VectorConvolutionKernel": lambda dtype: f"{one_of(dtype, LAPACK | {'int64'})}:1, {dtype}:1 -> {dtype}:1",
})


def need_code(code, outputs=None):
    """A ``ScalarCode`` and how many results it has."""
    need(type(code).__name__ == "ScalarCode", "code that is none")
    for dtype in code.dtypes:
        one_of(dtype)
    for constant in code.constants:
        need(isinstance(constant, numpy.ndarray) and constant.ndim == 0, "a constant that is no number")
    need(outputs is None or len(code.outputs) == outputs, "code with other results")
    return code


@rule("ScalarCode")
def _scalar_code(input_dtypes, constants=(), steps=(), outputs=()):
    for constant in constants:
        need(isinstance(constant, numpy.ndarray) and constant.ndim == 0, "a constant that is no number")
        one_of(constant.dtype.name)
    for dtype in input_dtypes:
        one_of(dtype)
    for loop, operands, dtypes in steps:
        need(isinstance(loop, str) or (isinstance(loop, numpy.ufunc) and loop.signature is None and loop.nout == 1
                                       and loop.nin == len(operands)), f"a loop {loop!r}")
        for dtype in dtypes:
            one_of(dtype)
    for slot in (*[operand for _, operands, _ in steps for operand in operands], *outputs):
        whole(slot, 0, MOST_INPUTS, "a slot")
    return " -> "


def rank_of(patterns, inputs):
    """The rank of broadcastable patterns, one for each input."""
    need(len(patterns) == inputs and len({len(pattern) for pattern in patterns}) <= 1, f"patterns {patterns}")
    for flag in [flag for pattern in patterns for flag in pattern]:
        need(isinstance(flag, (bool, int)), "a pattern that is none")
    return whole(len(patterns[0]) if patterns else 0)


@rule("ElementwiseKernel")
def _elementwise(code, patterns):
    rank = rank_of(patterns, len(need_code(code).input_dtypes))
    inputs = [f"{dtype}:{rank}" for dtype in code.input_dtypes]
    results = [code.dtypes[slot] for slot in code.outputs]
    # A result overwrites an input of its dtype that no broadcasting makes shorter.
    over = "".join([f" | over {result} by {number}" for result, dtype in enumerate(results)
                    for number, given in enumerate(code.input_dtypes) if given == dtype])
    return f"{listed(*inputs)} -> {listed(*[f'{dtype}:{rank}' for dtype in results])}{over}"


@rule("ReductionKernel", "MeanKernel")
def _reduction(code, patterns, loop, axes, accumulator_dtype, output_dtype, keepdims=False, identity=None):
    rank = rank_of(patterns, len(need_code(code, 1).input_dtypes))
    need(code.input_dtypes, "nothing is reduced")
    need(isinstance(loop, numpy.ufunc) and (loop.nin, loop.nout, loop.signature) == (2, 1, None), f"a loop {loop!r}")
    one_of(accumulator_dtype)
    need(isinstance(identity, (type(None), bool, int, float, complex, numpy.generic)), f"an identity {identity!r}")
    kept = rank if keepdims else rank - len(distinct(axes, rank))
    return f"{listed(*[f'{dtype}:{rank}' for dtype in code.input_dtypes])} -> {one_of(output_dtype)}:{kept}"


@rule("ArgKernel")
def _arg(dtype, rank, axes, which, keepdims=False):
    one_of(which, ("argmax", "argmin"), "a search")
    kept = whole(rank) if keepdims else rank - len(distinct(axes, rank))
    return f"{one_of(dtype, REAL)}:{rank} -> int64:{kept}"


@rule("ExtremumKernel")
def _extremum(dtype, rank, axes, which, keepdims=False):
    inputs, position = _arg(dtype, rank, axes, which, keepdims).split("->")
    return f"{inputs}-> {position.replace('int64', dtype)}, {position}"


@rule("CumulativeKernel")
def _cumulative(dtype, axis, mode):
    one_of(mode, ("add", "mul"), "a mode")
    if whole(axis, -1, LARGEST_RANK - 1, "an axis") < 0:
        return f"{one_of(dtype)}:? -> {dtype}:1"
    return f"{one_of(dtype)}:r>={axis + 1} -> {dtype}:r"


# ---- products --------------------------------------------------------------------------------------------------------
RULES.update({
    "GerKernel": lambda dtype: f"{one_of(dtype)}:2, {dtype}:0, {dtype}:1, {dtype}:1 -> {dtype}:2 | over 0 by 0",
})


@rule("ProductKernel")
def _product(dtype, left_rank, right_rank, form="plain", spread=(False, False)):
    left, right = whole(left_rank, 1, 2), whole(right_rank, 1, 2)
    one_of(form, ("plain", "scaled", "accumulated"), "a form")
    rank = left + right - 2
    need(len(spread) <= 2 and len(spread) >= rank, "too many dimensions")
    x, y, out = f"{one_of(dtype)}:{left}", f"{dtype}:{right}", f"{dtype}:{rank}"
    if form == "accumulated":
        return f"{out}, {dtype}:0, {x}, {y}, {dtype}:0 -> {out} | over 0 by 0"
    return f"{listed(x, y, *[f'{dtype}:0'] * (form == 'scaled'))} -> {out}"


@rule("BatchedProductKernel")
def _batched_product(dtype, left_rank, right_rank, spread=(False, False)):
    left, right = whole(left_rank, 1, 2), whole(right_rank, 1, 2)
    need(len(spread) == 2, "a spread of other operands")
    return f"{one_of(dtype)}:{left + 1}, {dtype}:{right + 1} -> {dtype}:{left + right - 1}"


# ---- stacks of matrices ----------------------------------------------------------------------------------------------
RULES.update({
    "CholeskyKernel": lambda dtype, lead, lower, nan: stack(dtype, lead, (2, 2), 1, [(0, 0)]),
    "InverseKernel": lambda dtype, lead: stack(dtype, lead, (2, 2), 1, [(0, 0)]),
    "MirrorKernel": lambda dtype, lead: stack(dtype, lead, (2, 2), 1, [(0, 0)]),
    "AdjugateKernel": lambda dtype, lead: stack(dtype, lead, (2, 2), 1),
    "ExpmKernel": lambda dtype, lead: stack(dtype, lead, (2, 2), 1),
    "CholeskyInverseKernel": lambda dtype, lead, nan: stack(dtype, lead, (2, 2), 1, [(0, 0)]),
    "EigKernel": lambda dtype, lead: stack(dtype, lead, (2, 1, 2), 1),
    "EighKernel": lambda dtype, lead, lower, vectors:
        stack(dtype, lead, [2, 1, 2][:3 if vectors else 2], 1, (), {1: real_part(dtype)}),
    "RelativeEighKernel": lambda dtype, lead, lower: stack(one_of(dtype, FLOAT), lead, (2, 1, 2), 1),
    "LUFactorKernel": lambda dtype, lead: stack(dtype, lead, (2, 2, 1), 1, (), {2: "int32"}),
    "LUSolveKernel": lambda dtype, lead, rank, transposed, nan=False, spread=():
        stack(dtype, lead, (2, 1, whole(rank, 1, 2), rank), 3, [(0, 2)], {1: "int32"}, spread),
    "SolveKernel": lambda dtype, lead, rank, nan=False, spread=():
        stack(dtype, lead, (2, whole(rank, 1, 2), rank), 2, [(0, 1)], None, spread),
    "PivotedQRKernel": lambda dtype, lead, mode: f"{_qr(dtype, lead, mode)}, int32:{lead + 1}",
    "SVDKernel": lambda dtype, lead, full, vectors, by_numpy=False:
        stack(dtype, lead, [2, 2, 1, 2] if vectors else [2, 1], 1, (), {2 if vectors else 1: real_part(dtype)}),
    "SylvesterKernel": lambda dtype, lead, spread, triangular, nan:
        stack(dtype, lead, (2, 2, 2, 2), 3, [(0, 2)], None, spread),
})


def stack(dtype, lead, ranks, inputs, over=(), other=None, spread=()):
    """The rule of a ``StackKernel`` with items of such ranks; ``other``: dtypes that are not that of the kernel."""
    one_of(dtype, LAPACK)
    whole(lead, 0, LARGEST_RANK - 2, "a number of dimensions before matrices")
    for bits in spread:
        whole(bits, 0, (1 << 63) - 1, "a spread")
    need(len(spread) <= inputs, "a spread of other operands")
    parts = [f"{(other or {}).get(position, dtype)}:{lead + rank}" for position, rank in enumerate(ranks)]
    return (f"{listed(*parts[:inputs])} -> {listed(*parts[inputs:])}"
            + "".join([f" | over {result} by {source}" for result, source in over]))


def real_part(dtype):
    """The dtype of magnitudes."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


@rule("TriangularSolveKernel")
def _triangular_solve(dtype, lead, rank, lower, transposition, unit, nan=False, spread=()):
    whole(transposition, 0, 2, "a transposition")
    return stack(dtype, lead, (2, whole(rank, 1, 2), rank), 2, [(0, 1)], None, spread)


@rule("DeterminantKernel")
def _determinant(dtype, lead, logarithm, factored):
    ranks = [2, 1][:2 if factored else 1] + [0] * (2 if logarithm else 1)
    others = {1: "int32"} if factored else {}
    if logarithm:
        others[len(ranks) - 1] = real_part(dtype)
    return stack(dtype, lead, ranks, 2 if factored else 1, (), others)


@rule("LeastSquaresKernel")
def _least_squares(dtype, lead, rank, with_ratio, spread=()):
    first = 3 if with_ratio else 2
    magnitudes = {first + 1: real_part(dtype), first + 2: "int64", first + 3: real_part(dtype)}
    if with_ratio:
        magnitudes[2] = real_part(dtype)
    return stack(dtype, lead, [2, whole(rank, 1, 2), *[0] * bool(with_ratio), rank, 1, 0, 1], first, (), magnitudes,
                 spread)


@rule("QRKernel")
def _qr(dtype, lead, mode):
    return stack(dtype, lead, {"r": [2, 2], "raw": [2, 2, 1]}.get(one_of(mode, ("reduced", "complete", "r", "raw"),
                                                                        "a mode"), [2, 2, 2]), 1)


@rule("SchurKernel")
def _schur(dtype, lead, sort, nan):
    need(isinstance(sort, (str, type(None))), "an order that is none")
    return stack(dtype, lead, (2, 2, 2, 0), 1, (), {3: "int32"})


@rule("GeneralizedSchurKernel")
def _generalized_schur(dtype, lead, spread, sort, nan):
    need(isinstance(sort, (str, type(None))), "an order that is none")
    alpha = dtype if dtype.startswith("complex") else {"float32": "complex64"}.get(dtype, "complex128")
    return stack(dtype, lead, (2, 2, 2, 2, 1, 1, 2, 2), 2, (), {4: alpha}, spread)


@rule("TransformKernel")
def _transform(kind, dtype, axis):
    one_of(kind, ("forward", "backward", "real", "hermitian"), "a transform")
    one_of(dtype, FLOAT if kind == "real" else ("complex64", "complex128"))
    pairs = {"float32": "complex64", "float64": "complex128", "complex64": "float32", "complex128": "float64"}
    result = dtype if kind in ("forward", "backward") else pairs[dtype]
    over = " | over 0 by 0" if result == dtype else ""
    least = whole(axis, 0, LARGEST_RANK - 1, "an axis") + 1
    return f"{dtype}:r>={least}, int:0, {real_part(dtype)}:0 -> {result}:r{over}"


# ---- indices ---------------------------------------------------------------------------------------------------------
def part_of(part, first, result):
    """A part of an index: nothing, a number, or a number that is an operand."""
    if isinstance(part, tuple):
        kind, operand = part
        need(kind == "operand", f"a part {part!r}")
        return whole(operand, first, result - 1, "an operand")
    need(part is None or whole(part, -(1 << 63), (1 << 63) - 1, "a part of an index") == part, "a part")
    return None


def need_present(part):
    """The position of an integer is said."""
    need(part is not None, "an integer that is none")
    return part


def basic_plan(plan, first, integers):
    """The operands that are integers, and the rank that is indexed and kept, of a plan of ``IndexKernel``."""
    result = first + whole(integers, 0, MOST_INPUTS, "a number of integers")
    kept = 0
    for drops, start, stop, step in plan:
        need(isinstance(drops, bool), f"a plan {plan!r}")
        for part in (need_present(start) if drops else start, stop, step):
            part_of(part, first, result)
        need(drops or step != 0, "a step of 0")
        kept += not drops
    return ["int:0"] * integers, whole(len(plan)), kept


@rule("SubtensorKernel")
def _subtensor(plan, integers):
    operands, indexed, kept = basic_plan(plan, 1, integers)
    return f"{listed(f'T:r>={indexed}', *operands)} -> T:r{kept - indexed:+d} | view 0 of 0"


@rule("IncSubtensorKernel")
def _inc_subtensor(plan, integers, dtype, sets):
    operands, indexed, kept = basic_plan(plan, 2, integers)
    part = f"{dtype}:<=r{kept - indexed:+d}"
    return f"{listed(f'{one_of(dtype)}:r>={indexed}', part, *operands)} -> {dtype}:r | over 0 by 0"


def advanced_plan(plan, lead, first, result):
    """Operands by number, how many dimensions are indexed, and how many they become."""
    operands = {}
    indexed = kept = arrays = 0

    def number(part):
        operand = part_of(part, first, result)
        if operand is not None:
            need(operands.setdefault(operand, "int:0") == "int:0", "an operand of two kinds")

    for kind, *details in plan:
        if kind == "slice":
            need(len(details) == 3 and details[2] != 0, f"a slice {details!r}")
            for part in details:
                number(part)
            kept += 1
        elif kind == "integer":
            number(need_present(*details))
        elif kind == "new":
            need(not details, f"a new dimension {details!r}")
            kept += 1
        elif kind == "array":
            operand, dtype, rank = details
            arrays = max(arrays, whole(rank))
            wanted = f"{one_of(dtype, INTEGERS)}:{rank}"
            need(operands.setdefault(whole(operand, first, result - 1, "an operand"), wanted) == wanted, "two kinds")
        else:
            need(kind == "mask", f"an entry {kind!r}")
            operand, rank = details
            arrays = max(arrays, 1)
            wanted = f"bool:{whole(rank)}"
            need(operands.setdefault(whole(operand, first, result - 1, "an operand"), wanted) == wanted, "two kinds")
        indexed += 0 if kind == "new" else details[1] if kind == "mask" else 1
    whole(lead, 0, LARGEST_RANK, "a number of dimensions before arrays")
    whole(indexed)
    whole(kept + arrays)
    return [operands.get(operand, "any:?") for operand in range(first, result)], indexed, kept + arrays


@rule("AdvancedSubtensorKernel")
def _advanced_subtensor(plan, lead, result):
    operands, indexed, made = advanced_plan(plan, lead, 1, whole(result, 1, MOST_INPUTS, "the result"))
    return f"{listed(f'T:r>={indexed}', *operands)} -> T:r{made - indexed:+d}"


@rule("AdvancedIncSubtensorKernel")
def _advanced_inc_subtensor(plan, lead, result, dtype, sets, constants=0):
    operands, indexed, made = advanced_plan(plan, lead, 2, whole(result, 2, MOST_INPUTS, "the result"))
    whole(constants, 0, MOST_INPUTS, "a number of positions")
    part = f"{dtype}:<=r{made - indexed:+d}"
    return f"{listed(f'{one_of(dtype)}:r>={indexed}', part, *operands)} -> {dtype}:r | over 0 by 0"


@rule("RowsKernel")
def _rows(dtype, constants=0):
    whole(constants, 0, MOST_INPUTS, "a number of positions")
    return f"T:r>=1, {one_of(dtype, INTEGERS)}:1 -> T:r"


@rule("ChooseKernel")
def _choose(dtype, mode, listed_, count):
    one_of(mode, ("raise", "wrap", "clip"), "a mode")
    need(whole(count, 1, MOST_INPUTS, "a number of choices") == 1 or listed_, "choices twice")
    choices = ["T:r"] * count if listed_ else ["T:r+1"]
    return f"{listed(f'{one_of(dtype, POSITIONS)}:r', *choices)} -> T:r"


@rule("UnravelIndexKernel")
def _unravel_index(count, order):
    one_of(order, ("C", "F"), "an order")
    return f"int64:r, int:1 -> {listed(*['int64:r'] * whole(count, 1))}"


@rule("RavelMultiIndexKernel")
def _ravel_multi_index(count, mode, order):
    one_of(order, ("C", "F"), "an order")
    one_of(mode, ("raise", "wrap", "clip"), "a mode")
    return f"{listed(*['int64:r'] * whole(count, 1))}, int:1 -> int64:r"


# ---- diagonals, triangles, polynomials, repetitions ------------------------------------------------------------------
RULES.update({
    "ExtractDiagKernel": lambda offset, first, second:
        f"T:r>={max(axes_pair(offset, first, second), 2)} -> T:r-1 | view 0 of 0",
    "SetDiagonalKernel": lambda offset, first, second:
        f"T:r>={max(axes_pair(offset, first, second), 2)}, T:<=r-1 -> T:r | over 0 by 0",
    "TriangleKernel": lambda upper: "T:r>=2, int:0 -> T:r | over 0 by 0",
    "HornerKernel": lambda dtype: f"{one_of(dtype, FLOAT)}:1, {dtype}:r -> {dtype}:r",
    "PowerSumsKernel": lambda dtype: f"{one_of(dtype, FLOAT)}:r, {dtype}:r, int:0 -> {dtype}:1",
    "SumRepeatsKernel": lambda dtype, axis:
        f"{one_of(dtype)}:r>={whole(axis, 0, LARGEST_RANK - 1, 'an axis') + 1}, int:<=1, int:0 -> {dtype}:r",
})


def axes_pair(offset, first, second):
    """The least rank of what has these two dimensions."""
    whole(offset, -(1 << 62), 1 << 62, "an offset")
    return max(distinct([first, second], LARGEST_RANK)) + 1


@rule("AllocDiagKernel")
def _alloc_diag(offset, first, second):
    need(first < second, "dimensions in the wrong order")
    return f"T:r>={axes_pair(offset, first, second) - 1} -> T:r+1"


@rule("RepeatKernel")
def _repeat(axis):
    if whole(axis, -1, LARGEST_RANK - 1, "an axis") < 0:
        return "T:?, int:<=1 -> T:1"
    return f"T:r>={axis + 1}, int:<=1 -> T:r"


# ---- sorting and searching -------------------------------------------------------------------------------------------
RULES.update({
    "RowOrderKernel": lambda dtype: f"{one_of(dtype)}:2 -> int64:1",
    "SearchsortedKernel": lambda dtype, right, ordered:
        f"{one_of(dtype)}:1, {dtype}:r{', int64:1' if ordered else ''} -> int64:r",
})


KINDS_OF_SORT = ("quicksort", "mergesort", "heapsort", "stable", None)


@rule("SortKernel")
def _sort(dtype, kind):
    one_of(kind, KINDS_OF_SORT, "an algorithm")
    return f"{one_of(dtype)}:r>=1, number:0 -> {dtype}:r | over 0 by 0"


@rule("ArgSortKernel")
def _arg_sort(dtype, kind):
    one_of(kind, KINDS_OF_SORT, "an algorithm")
    return f"{one_of(dtype)}:r>=1, number:0 -> int64:r"


@rule("PartitionKernel")
def _partition(dtype, positions):
    results = "int64:r" if positions else f"{dtype}:r | over 0 by 0"
    return f"{one_of(dtype)}:r>=1, int:1, number:0 -> {results}"


@rule("TopKKernel")
def _top_k(dtype, axis, sorted, position_dtype, values, positions):
    need(values or positions, "no result")
    one_of(position_dtype, ("int32", "int64"))
    results = [f"{dtype}:r"] * bool(values) + [f"{position_dtype}:r"] * bool(positions)
    return f"{one_of(dtype)}:r>={whole(axis, 0, LARGEST_RANK - 1, 'an axis') + 1}, int:0 -> {listed(*results)}"


# ---- neural networks -------------------------------------------------------------------------------------------------
RULES.update({
    "SoftmaxKernel": lambda dtype, logarithm=False, bias=False:
        f"{one_of(dtype, FLOAT)}:2{f', {dtype}:1' if bias else ''} -> {dtype}:2",
    "CrossentropyKernel": lambda dtype, bias=True, as_index=False, leading=False:
        f"{one_of(dtype, FLOAT)}:2, {dtype}:1, I:1 -> {dtype}:1, {dtype}:2, I:1",
    "CrossentropyGradKernel": lambda rank, as_index=False, leading=False: f"F:{whole(rank, 0, 1)}, F:2, index:1 -> F:2",
    "LabelLossKernel": lambda dtype: f"{one_of(dtype, FLOAT)}:2, index:1 -> {dtype}:1",
    "LabelLossGradKernel": lambda: "F:1, F:2, index:1 -> F:2",
    "BlockGemvKernel": lambda position_dtypes: f"F:3, F:4, F:3, {positions_pair(position_dtypes)} -> F:3 | over 0 by 0",
    "BlockOuterKernel": lambda position_dtypes:
        f"F:4, F:3, F:3, {positions_pair(position_dtypes)}, F:0 -> F:4 | over 0 by 0",
})


@rule("SoftmaxGradKernel")
def _softmax_grad(dtype, spread=(False, False)):
    need(len(spread) == 2, "a spread of other operands")
    return f"{one_of(dtype, FLOAT)}:2, {dtype}:2 -> {dtype}:2"


def normalized(dtype, axes):
    """The operand that batch normalization works on."""
    return f"{one_of(dtype, FLOAT)}:r>={max(distinct(axes, LARGEST_RANK), default=-1) + 1}"


@rule("BatchNormTrainKernel")
def _batch_norm_train(dtype, axes, whole=True, running=False):
    moments = [f"{dtype}:r"] * (4 if running else 2)
    inputs = [normalized(dtype, axes), f"{dtype}:r", f"{dtype}:r", "number:0", "number:0", *moments[2:]]
    return f"{listed(*inputs)} -> {listed(*[f'{dtype}:r'] * bool(whole), *moments)}{' | over 0 by 0' if whole else ''}"


@rule("BatchNormInferenceKernel")
def _batch_norm_inference(dtype, axes, whole=True):
    need(whole, "no result")
    return f"{listed(normalized(dtype, axes), *[f'{dtype}:r'] * 4)}, number:0 -> {dtype}:r | over 0 by 0"


@rule("BatchNormTrainGradKernel")
def _batch_norm_train_grad(dtype, axes, whole=True):
    return (f"{listed(normalized(dtype, axes), *[f'{dtype}:r'] * 4)}, number:0 -> "
            f"{listed(*[f'{dtype}:r'] * (3 if whole else 2))}{' | over 0 by 0 | over 0 by 1' if whole else ''}")


def positions_pair(position_dtypes):
    """Two matrices of positions."""
    first, second = position_dtypes
    return f"{one_of(first, INTEGERS)}:2, {one_of(second, INTEGERS)}:2"


MODES_OF_POOLING = ("max", "sum", "average_inc_pad", "average_exc_pad")


def pooling(inputs):
    """The rule of a kernel of pooling with so many operands before the sizes."""
    def of(dtype, pooled, mode="max", ignore_border=True):
        one_of(mode, MODES_OF_POOLING, "a mode")
        whole(pooled, 1, LARGEST_RANK, "a number of dimensions")
        return (f"{listed(f'{one_of(dtype, REAL)}:r>={pooled}', *[f'{dtype}:r'] * (inputs - 1))}, int:1, int:1, int:1"
                f" -> {dtype}:r")
    return of


for _name, _inputs in {"PoolKernel": 1, "MaxFirstKernel": 2, "AveragePoolGradKernel": 2, "MaxPoolGradKernel": 3,
                       "MaxSelectedKernel": 3}.items():
    RULES[_name] = pooling(_inputs)


def need_lengths(values, count, least, what):
    """So many integers, none less."""
    need(len(values) == count, f"{what} of {len(values)} dimensions")
    for value in values:
        whole(value, least, 1 << 30, what)


def steps_after(code, patterns, place, bias, limits, rest, dtype, rank):
    """Operands of the elementwise steps that follow a convolution."""
    inputs = len(need_code(code, 1).input_dtypes)
    need(rank_of(patterns, inputs) == rank and code.dtypes[code.outputs[0]] == dtype, "results of another type")
    need(code.input_dtypes[whole(place, 0, inputs - 1, "a place")] == dtype, "a convolution of another type")
    for number, pattern in enumerate(patterns):
        need(number == place or all([flag for axis, flag in enumerate(pattern) if axis != 1]), f"an operand {pattern}")
    if bias is not None:
        need(whole(bias, 0, inputs - 1, "a bias") != place and code.input_dtypes[bias] == dtype, "a bias")
    need(limits is None or (len(limits) == 2 and all([isinstance(limit, (int, float)) for limit in limits])), "limits")
    if rest is not None:
        need(need_code(rest, 1).input_dtypes == code.input_dtypes and rest.dtypes[rest.outputs[0]] == dtype, "a rest")
    return [f"{given}:{rank}" for number, given in enumerate(code.input_dtypes) if number != place]


def need_windows(ws, stride, pad, mode, ignore_border, first):
    """What pools the results of a convolution."""
    need_lengths(ws, 2, 1, "windows")
    need_lengths(stride, 2, 1, "steps")
    need_lengths(pad, 2, 0, "paddings")
    one_of(mode, MODES_OF_POOLING, "a mode")
    for size, padding in zip(ws, pad):
        need(padding < size and (ignore_border or padding == 0), "a window without an element")


@rule("ConvolutionKernel")
def _convolution(dtype, role, rank, border, stride, dilation, flip, groups, unshared, image_shape, filter_shape,
                 following=None, pooled=None):
    one_of(dtype, FLOAT)
    one_of(role, ("forward", "by images", "by filters"), "a role")
    filters = 2 + whole(rank, 2, 3) * (2 if unshared else 1)
    if border not in ("half", "full"):
        need(len(border) == rank, "a border of other dimensions")
        for pair in border:
            need_lengths(pair, 2, 0, "a border")
    need_lengths(stride, rank, 1, "steps")
    need_lengths(dilation, rank, 1, "dilations")
    whole(groups, 1, 1 << 30, "a number of groups")
    for shape, count in ((image_shape, rank + 2), (filter_shape, filters)):
        need_lengths([0 if length is None else length for length in shape], count, 0, "lengths")
    need(role == "forward" or (following is None and pooled is None), "steps after a gradient")
    need(pooled is None or (rank == 2 and not unshared), "a pooled convolution of other dimensions")
    need(following is None or not unshared, "steps after filters for each place")
    others = [] if following is None else steps_after(*following, dtype, rank + 2)
    if pooled is not None:
        need_windows(*pooled)
    image, kernel = f"{dtype}:{rank + 2}", f"{dtype}:{filters}"
    return {"forward": f"{listed(image, kernel, *others)} -> {image}",
            "by images": f"{kernel}, {image}, int:1 -> {image}",
            "by filters": f"{image}, {image}, int:1 -> {kernel}"}[role]


# ---- random numbers --------------------------------------------------------------------------------------------------
RULES.update({
    "MultinomialKernel": lambda chooses, replace, checked: "real:2, real:1, int:0 -> real:2",
    "MrgUniformKernel": lambda only_used=False: "int32:2, int:1 -> int32:2, real:? | over 0 by 0",
    "MrgNormalKernel": lambda: "int32:2, int:1 -> int32:2, float:?",
    "StateRowsKernel": lambda: "int32:2, int32:2 -> int32:2 | over 0 by 0",
})


PARAMETERS = {          # of distributions: real numbers or integers
    "random": "r", "normal": "rr", "exponential": "r", "gamma": "rr", "standard_cauchy": "", "laplace": "rr",
    "gumbel": "rr", "logistic": "rr", "rayleigh": "r", "chisquare": "r", "pareto": "r", "power": "r", "standard_t": "r",
    "weibull": "r", "beta": "rr", "f": "rr", "lognormal": "rr", "noncentral_chisquare": "rr", "vonmises": "rr",
    "wald": "rr", "triangular": "rrriii", "noncentral_f": "rrr", "geometric": "r", "logseries": "r", "poisson": "r",
    "zipf": "r", "negative_binomial": "rr", "binomial": "ir", "hypergeometric": "iiii", "integers": "iii",
    "randomstate_uniform": "rri", "randomstate_normal": "rr", "randomstate_binomial": "ir", "randomstate_poisson": "r",
    "randomstate_integers": "iii"}
STANDARD = ("random", "normal", "exponential", "laplace", "gumbel", "logistic", "rayleigh")    # may have no parameters
COUNTED = ("geometric", "logseries", "poisson", "zipf", "negative_binomial", "binomial", "hypergeometric", "integers")
MERSENNE = 4                        # the number of the only generator that is a RandomState's


def need_generator(kind, legacy):
    """A bit generator's number."""
    whole(kind, 0, MERSENNE, "a generator")
    need(not legacy or kind == MERSENNE, "a RandomState of another generator")


def drawn(name, kind, parameters):
    """Operands of a draw, and the dtype of its sample."""
    types = PARAMETERS[one_of(name, PARAMETERS, "a distribution")]
    need_generator(kind, name.startswith("randomstate_"))
    need(len(parameters) == len(types) or (not parameters and name in STANDARD), "parameters of another distribution")
    for parameter, condition in parameters:
        need(isinstance(parameter, str) and isinstance(condition, str), "parameters without names")
    inputs = [{"r": "float64:?", "i": "int64:?"}[letter] for letter in types[:len(parameters)]]
    sample = "number:?" if name.removeprefix("randomstate_") in COUNTED else "float:?"
    return ["uint64:1", "int:1", *inputs], sample


@rule("DrawKernel")
def _draw(name, kind, parameters):
    inputs, sample = drawn(name, kind, parameters)
    return f"{listed(*inputs)} -> uint64:1, {sample} | over 0 by 0"


@rule("DrawnElementwiseKernel")
def _drawn_elementwise(name, kind, parameters, place, typenum, elementwise):
    inputs, _ = drawn(name, kind, parameters)
    need(type(elementwise).__name__ == "ElementwiseKernel", "steps that are none")
    steps = accepted(elementwise)
    dtype, rank, *_ = steps.inputs[whole(place, 0, len(steps.inputs) - 1, "a place")]
    need(dtype in FLOAT and NUMBERS[dtype] == typenum, "a sample of another dtype")
    others = [f"{given}:{rank}" for number, (given, *_) in enumerate(steps.inputs) if number != place]
    results = [f"{given}:{rank}" for given, *_ in steps.outputs]
    return f"{listed(*inputs, *others)} -> {listed('uint64:1', *results)} | over 0 by 0"


@rule("PermutationKernel")
def _permutation(kind, legacy):
    need_generator(kind, legacy)
    return "uint64:1, int:1, int:0 -> uint64:1, int64:>=1 | over 0 by 0"


@rule("ChoiceKernel")
def _choice(kind, legacy, shuffled, tolerance, ascending=False):
    need_generator(kind, legacy)
    return "uint64:1, int:1, int:0, int:0, float64:1 -> uint64:1, int64:? | over 0 by 0"


@rule("MultinomialDrawKernel")
def _multinomial_draw(kind, legacy, narrow, exact=True):
    need_generator(kind, legacy)
    return "uint64:1, int:1, int:?, float64:>=1 -> uint64:1, number:>=1 | over 0 by 0"


@rule("DirichletKernel")
def _dirichlet(kind, legacy):
    need_generator(kind, legacy)
    return "uint64:1, int:1, float64:>=1 -> uint64:1, float64:>=1 | over 0 by 0"


# ---- loops -----------------------------------------------------------------------------------------------------------
def layouts(cells):
    """(dtype, rank) of cells on the host that have numbers."""
    need(all([cell.place == HOST and cell.typenum in NAMES for cell in cells]), "a body with other values than arrays")
    return [(NAMES[cell.typenum], cell.ndim) for cell in cells]


def need_program(program):
    """(dtype, rank) of the arguments and of the results of a program that runs inside a kernel."""
    need(isinstance(program, Program) and not program.containers, "a body that is none")
    return layouts(program.cells[:program.n_arguments]), layouts(program.result_cells())


def need_body(kernel, arguments, results, groups):
    """What runs many steps at once must compute what the body does."""
    name = type(kernel).__name__
    dtypes = [dtype for dtype, _ in arguments]
    if name == "RecurrenceBody":
        need(groups == (2, ((-1,),), 0, False) and len(arguments) == 3 and len({*arguments, *results}) == 1
             and dtypes[0] == kernel.arguments[0], "a recurrence of other operands")
        return
    need(name == "ScalarBody", "steps that are none")
    code, *others = kernel.arguments
    need(tuple(others) == groups and not kernel.named_arguments, "steps of another loop")
    need([*code.input_dtypes] == dtypes and [code.dtypes[slot] for slot in code.outputs] == [
        dtype for dtype, _ in results] and not any([rank for _, rank in arguments + results]), "steps of other values")


@rule("ScalarBody")
def _scalar_body(code, n_sequences, taps, n_carried, is_while):
    moving = whole(n_sequences, 0, MOST_INPUTS, "a number of sequences") + sum([len(own) for own in taps])
    inputs = len(need_code(code).input_dtypes)
    need_taps(taps)
    need(moving + whole(n_carried, 0, MOST_INPUTS, "a number of values") <= inputs, "steps without operands")
    need(len(code.outputs) >= len(taps) + n_carried + bool(is_while), "steps without results")
    for number, slot in enumerate(code.outputs[len(code.outputs) - n_carried - bool(is_while):][:n_carried]):
        need(code.dtypes[slot] == code.input_dtypes[moving + number], "a carried value that changes its dtype")
    first = n_sequences
    for own, slot in zip(taps, code.outputs):
        for _ in own:
            need(code.input_dtypes[first] == code.dtypes[slot], "a state that changes its dtype")
            first += 1
    return " -> "


@rule("RecurrenceBody")
def _recurrence_body(dtype, factor):
    one_of(dtype, LAPACK)
    whole(factor, 0, 1, "a factor")
    return " -> "


def need_taps(taps):
    """Which rows of states a step reads."""
    for own in taps:
        need(own and len(set(own)) == len(own), f"taps {taps!r}")
        for tap in own:
            whole(tap, -(1 << 30), -1, "a tap")


@rule("LoopKernel")
def _loop(program, n_sequences, taps, n_stacked, n_carried, is_while, kept, row_lengths, title, name=None,
          scalar_body=None, ahead=None, lengths=None, needs_step=False):
    arguments, results = need_program(program)
    need_taps(taps)
    for count in (n_sequences, n_stacked, n_carried):
        whole(count, 0, MOST_INPUTS, "a number of values")
    need(isinstance(is_while, (bool, int)) and all([isinstance(text, (str, type(None))) for text in (title, name)]),
         "a loop without a name")
    need(len(kept) == len(taps) and all([rows is None or whole(rows, 0, 1 << 62, "rows") == rows for rows in kept]),
         "rows of other states")
    rows_ahead = [] if ahead is None else need_program(ahead)[1]
    sequences, rest = arguments[:n_sequences], arguments[n_sequences + len(rows_ahead):]
    states = [rest[sum(map(len, taps[:number])):][:len(own)] for number, own in enumerate(taps)]
    carried, wholes = rest[sum(map(len, taps)):][:n_carried], rest[sum(map(len, taps)) + n_carried:]
    count = len(taps) + n_stacked
    need(len(carried) == n_carried and len(results) == count + n_carried + bool(is_while), "a body of another loop")
    need(all([{*own} == {result} and len(own) == len(taps[number])
              for number, (own, result) in enumerate(zip(states, results))]), "a state that changes its type")
    need(results[count:count + n_carried] == carried, "a carried value that changes its type")
    need(not is_while or results[-1][1] == 0, "a condition that is no number")
    first = len(arguments) - len(wholes) - n_carried
    for number, cell in enumerate(program.cells[:program.n_arguments]):
        need(cell.access != "mutable" or first <= number < first + n_carried, "a body that overwrites its arguments")
    need_ahead(ahead, is_while, n_stacked, arguments, sequences, wholes, rows_ahead)
    need_row_lengths(row_lengths, lengths, arguments, [rank for _, rank in results[len(taps):count]])
    if scalar_body is not None:
        need(ahead is None, "steps in registers of rows ahead")
        need_body(scalar_body, arguments, results, (n_sequences, taps, n_carried, bool(is_while)))
    rows = [f"{dtype}:{rank + 1}" for dtype, rank in [*sequences, *results[:len(taps)]]]
    one = [f"{dtype}:{rank}" for dtype, rank in carried]
    inputs = ["int64:0", *rows, *one, *["int64:0"] * n_stacked, *[f"{dtype}:{rank}" for dtype, rank in wholes]]
    outputs = [*[f"{dtype}:{rank + 1}" for dtype, rank in results[:count]], *one, *["int64:0"] * bool(is_while)]
    return f"{listed(*inputs)} -> {listed(*outputs)}"


def need_ahead(ahead, is_while, n_stacked, arguments, sequences, wholes, rows):
    """What computes rows for a block of steps takes rows of sequences and the wholes, and returns rows."""
    if ahead is None:
        return
    need(not is_while and not n_stacked, "rows ahead of a loop that may have none")
    need(need_program(ahead)[0] == [*[(dtype, rank + 1) for dtype, rank in sequences], *wholes], "rows of other values")
    need(rows == [(dtype, rank + 1) for dtype, rank in arguments[len(sequences):len(sequences) + len(rows)]],
         "rows of another type")
    need(not any([cell.access == "mutable" for cell in ahead.cells[:ahead.n_arguments]]), "rows that are overwritten")


def need_row_lengths(row_lengths, lengths, arguments, ranks):
    """The lengths of rows if there is no step: numbers, those of arguments, or what a program returns."""
    need([len(entries) for entries in row_lengths] == ranks, "rows of other lengths")
    flat = [entry for entries in row_lengths for entry in entries]
    for entry in flat:
        if isinstance(entry, tuple):
            argument, axis = entry
            whole(axis, 0, arguments[whole(argument, 0, len(arguments) - 1, "an argument")][1] - 1, "an axis")
        else:
            need(entry is None or whole(entry, 0, 1 << 62, "a length") == entry, "a length")
    if lengths is not None:
        need(need_program(lengths)[0] == arguments, "lengths of other values")
        need([rank for _, rank in need_program(lengths)[1]] == [0] * flat.count(None), "lengths that are no numbers")
