"""Arithmetic trees: chains of float arithmetic whose intermediate values have one reader, merged into one loop.

``merge_arithmetic`` searches a list of steps for additions, subtractions, multiplications, divisions, negations,
squares and small integer powers of float32 or float64, and replaces each tree of them by one step whose loop
(arithmetic_tree_loops.h) reads and writes memory once. An instruction of it performs several operations: ``2*a + 3*b``
is one instruction, ``2*a + b**10`` two, between which values stay in registers (arithmetic_chain.py). Every operation
is rounded as NumPy rounds it, in the user's order; only powers above 2 (computed by squaring) may differ from NumPy's
in the last bits.

A form is a value that has not been computed yet, so that the instruction that reads it can include its computation:

* ``("value", operand)``
* ``("scaled", factor, operand)``: factor * operand
* ``("product", factor, operand, operand)``: factor * operand * operand
"""
cimport cython
cimport numpy as cnp
from libc.stdlib cimport calloc, free

import numpy

from phintys.graph.config import config
from phintys.ops.elementwise.arithmetic_chain import chained, most_read
from phintys.ops.elementwise.scalar_code import numbered
from phintys.ops.native.loops cimport InnerLoop, LoopFunction
from phintys.ops.native.sets cimport usable_set

cnp.import_array()

cdef extern from "elementwise/arithmetic_tree_loops.h" nogil:
    ctypedef void (*phintys_operation)(void*, void* const*, const double*, Py_ssize_t)
    ctypedef struct phintys_operation_row:
        const char* name
        phintys_operation of_double[3]
        phintys_operation of_float[3]
    const phintys_operation_row phintys_operation_table[]
    ctypedef void (*phintys_any)()
    ctypedef struct phintys_link_row:
        const char* name
        const char* position
        phintys_any of_double[3]
        phintys_any of_float[3]
    const phintys_link_row phintys_link_table[]
    ctypedef struct phintys_link:
        phintys_any function
        int operands[4]
        double constants[2]
    ctypedef void (*phintys_chain)(const phintys_link*, const void*, void*, int, Py_ssize_t)
    const phintys_chain phintys_chains_of_double[3]
    const phintys_chain phintys_chains_of_float[3]
    const int phintys_tiles[3]
    ctypedef struct phintys_instruction:
        phintys_operation function
        phintys_operation function_of_many
        int operands[4]
        int out
        double constants[2]
    ctypedef struct phintys_tree:
        int inputs
        int locals
        int instructions
        phintys_instruction* instruction
        phintys_chain chain
        phintys_link* link
        int slots
        int tile
        int aligned
    void phintys_tree_double(char**, const Py_ssize_t*, const Py_ssize_t*, void*)
    void phintys_tree_float(char**, const Py_ssize_t*, const Py_ssize_t*, void*)

cdef enum:
    MOST_LEAVES = 24               # bounds a step's operands (block_code.pxd) and a tree's (arithmetic_tree_loops.h)
    MOST_INSTRUCTIONS = 256
    LARGEST_POWER = 32             # squaring loses too many bits for larger exponents

cdef dict operation_rows = {}       # name -> row
cdef dict link_rows = {}            # (name, position) -> row
cdef int _row = 0
while phintys_operation_table[_row].name != NULL:
    operation_rows[phintys_operation_table[_row].name.decode()] = _row
    _row += 1
TREE_OPERATIONS = frozenset(operation_rows)
_row = 0
while phintys_link_table[_row].name != NULL:
    link_rows[phintys_link_table[_row].name.decode(), phintys_link_table[_row].position.decode()] = _row
    _row += 1


@cython.final
cdef class Tree:
    """The C struct of one tree, passed to its loop as ``data``."""
    cdef phintys_tree tree
    cdef bint is_double
    cdef int chosen                # the instruction set: 0 for the baseline
    cdef readonly list listing, links

    def __cinit__(self, str dtype, int inputs, int locals_, list instructions, list links, int slots):
        self.is_double, self.chosen = dtype == "float64", usable_set()
        self.listing, self.links = instructions, links
        self.tree.inputs, self.tree.locals, self.tree.instructions = inputs, locals_, len(instructions)
        self.tree.slots, self.tree.tile = slots, phintys_tiles[self.chosen]
        self.tree.aligned = most_read(links, inputs)
        self.tree.instruction = <phintys_instruction*>calloc(len(instructions), sizeof(phintys_instruction))
        self.tree.link = <phintys_link*>calloc(max(1, len(links)), sizeof(phintys_link))
        if self.tree.instruction == NULL or self.tree.link == NULL:
            raise MemoryError()
        self.write_instructions(instructions)
        if links:
            self.write_links(links)
            self.tree.chain = (phintys_chains_of_double[self.chosen] if self.is_double
                               else phintys_chains_of_float[self.chosen])

    cdef int write_instructions(self, list instructions) except -1:
        cdef int index, operand
        cdef phintys_instruction* target
        cdef const phintys_operation* functions
        for index in range(len(instructions)):
            name, out, operands, constants = instructions[index]
            target = &self.tree.instruction[index]
            row = operation_rows[name]
            functions = (&phintys_operation_table[<int>row].of_double[0] if self.is_double
                         else &phintys_operation_table[<int>row].of_float[0])
            target.function, target.function_of_many = functions[self.chosen], functions[min(self.chosen, 1)]
            target.out = out
            for operand in range(len(operands)):
                target.operands[operand] = operands[operand]
            for operand in range(len(constants)):
                target.constants[operand] = constants[operand]

    cdef int write_links(self, list links) except -1:
        cdef int index, operand
        cdef phintys_link* target
        for index in range(len(links)):
            name, position, operands, constants = links[index]
            target = &self.tree.link[index]
            row = link_rows[name, position]
            target.function = (phintys_link_table[<int>row].of_double[self.chosen] if self.is_double
                               else phintys_link_table[<int>row].of_float[self.chosen])
            for operand in range(len(operands)):
                target.operands[operand] = operands[operand]
            for operand in range(len(constants)):
                target.constants[operand] = constants[operand]

    def __dealloc__(self):
        free(self.tree.instruction)
        free(self.tree.link)


@cython.final
cdef class Branch:
    """One value inside a tree: its form, and the instructions that compute the form's operands."""
    cdef tuple form
    cdef list code                 # (name, virtual result, operands, constants); virtual numbers are negative
    cdef int leaves                # an upper bound

    def __cinit__(self, tuple form, list code, int leaves):
        self.form, self.code, self.leaves = form, code, leaves


# Which moves keep every rounding: the two operands of a sum or a product may change places, and a factor of 1 or -1 is
# exact wherever it stands; nothing else moves. The factor of a form multiplies its first operand before all else:
# ("product", a, x, y) is (a * x) * y. Examples:
# * 2*x + 3*y is scale_scale_add with 2 and 3: two products and a sum, each rounded once, as written.
# * x*y - z is multiply_scale_add with 1 and -1, because -1 * z is exact; so is z - x*y, with -1 and 1, as the sides
#   may change places.
# * 0.1*(x*y) stays two instructions, and so does 0.1*(3*x): (0.1*x)*y and 0.3*x are rounded otherwise.
cdef class Merger:
    """Turns single-use arithmetic values of one dtype into branches, and finished branches into steps."""
    cdef str dtype
    cdef int next_virtual

    def __cinit__(self, str dtype):
        self.dtype = dtype
        self.next_virtual = -1

    cdef object compute(self, list code, str name, tuple operands, tuple constants=()):
        """Append an instruction; returns the virtual number of its result."""
        cdef int virtual = self.next_virtual
        self.next_virtual -= 1
        code.append((name, virtual, operands, constants))
        return virtual

    cdef object operand(self, Branch branch):
        """The operand that holds the branch's value, computed now if necessary."""
        kind = branch.form[0]
        if kind == "value":
            return branch.form[1]
        if kind == "scaled":
            return self.compute(branch.code, "scale", branch.form[2:], branch.form[1:2])
        factor, x, y = branch.form[1:]
        if factor != 1:
            return self.compute(branch.code, "scale_multiply", (x, y), (factor,))
        if x == y:
            return self.compute(branch.code, "square", (x,))
        return self.compute(branch.code, "multiply", (x, y))

    cdef Branch add(self, Branch left, Branch right, double sign):
        """left + sign * right"""
        cdef list code = joined(left, right)
        cdef int leaves = left.leaves + right.leaves
        first, second = left.form, scaled(right.form, sign)
        if first[0] == "value" and right.form[0] == "value":
            name = "add" if sign > 0 else "subtract"
            result = self.add_scaled(code, name, (first[1], right.form[1]), ())
            return Branch(("value", result), code, leaves)
        if first[0] != "product" and second[0] == "product":
            first, second = second, first
        a, b = factor_of(first), factor_of(second)
        if first[0] != "product":
            if b == 1 or a == 1:
                if a == 1:
                    first, second, a = second, first, b
                result = self.add_scaled(code, "scale_add", (first[len(first) - 1], second[len(second) - 1]), (a,))
            else:
                result = self.compute(code, "scale_scale_add", (first[2], second[2]), (a, b))
        elif second[0] != "product":
            result = self.add_product(code, (first[2], first[3], second[len(second) - 1]), a, b)
        elif first[2] == first[3] and second[2] == second[3] and abs(a) == 1 and abs(b) == 1:
            result = self.compute(code, "square_square_add", (first[2], second[2]), (a, b))
        else:
            result = self.compute(code, "multiply_multiply_add", first[2:] + second[2:], (a, b))
        return Branch(("value", result), code, leaves)

    cdef object add_scaled(self, list code, str name, tuple operands, tuple constants):
        """x + y, x - y or a * x + y; an operand that is a power just computed is computed here."""
        cdef object fused = sum_with_power(code[len(code) - 1], name, operands, constants) if code else None
        if fused is not None:
            code.pop()
            name, operands, constants = fused
        return self.compute(code, name, operands, constants)

    cdef object add_product(self, list code, tuple operands, double a, double b):
        """a * x * y + b * z"""
        cdef object square = square_of_sum(code[len(code) - 1], operands, a) if b == 1 and code else None
        if square is not None:
            code.pop()
            name, operands, constants = square
            return self.compute(code, name, operands, constants)
        if a != 1 or b != 1:
            return self.compute(code, "multiply_scale_add", operands, (a, b))
        if operands[0] == operands[1]:
            return self.compute(code, "square_add", operands[1:])
        return self.compute(code, "multiply_add", operands)

    cdef Branch shift(self, Branch branch, double amount):
        """branch + amount"""
        form, code = branch.form, branch.code
        if form[0] == "value":
            result = self.compute(code, "shift", form[1:], (amount,))
        elif form[0] == "scaled":
            result = self.compute(code, "scale_shift", form[2:], (form[1], amount))
        elif form[1] == 1:
            result = self.compute(code, "multiply_shift", form[2:], (amount,))
        else:
            result = self.compute(code, "scale_multiply_shift", form[2:], (form[1], amount))
        return Branch(("value", result), code, branch.leaves)

    cdef Branch scale(self, Branch branch, double factor):
        """factor * branch; a factor can move into a form that already has one only if that causes no extra rounding,
        that is, if one of the two factors is 1 or -1."""
        if abs(factor) != 1 and branch.form[0] != "value" and (branch.form[0] == "product" or abs(branch.form[1]) != 1):
            branch = Branch(("value", self.operand(branch)), branch.code, branch.leaves)
        return Branch(scaled(branch.form, factor), branch.code, branch.leaves)

    cdef Branch multiply(self, Branch left, Branch right):
        cdef list code = joined(left, right)
        cdef int leaves = left.leaves + right.leaves
        first, second = left.form, right.form
        if first[0] == "value" and second[0] == "scaled":
            first, second = second, first
        if first[0] == "scaled" and second[0] == "value":
            return Branch(("product", first[1], first[2], second[1]), code, leaves)
        x = first[1] if first[0] == "value" else self.operand(Branch(first, code, 0))
        y = second[1] if second[0] == "value" else self.operand(Branch(second, code, 0))
        return Branch(("product", 1.0, x, y), code, leaves)

    cdef Branch apply(self, str name, list operands):
        """The branch of one operation; each operand is a branch, or a float if it is constant."""
        cdef Branch x = operands[0] if isinstance(operands[0], Branch) else None
        cdef Branch y = operands[1] if len(operands) == 2 and isinstance(operands[1], Branch) else None
        if name == "negative":
            return self.scale(x, -1.0)
        if name == "square":
            return self.power(x, 2.0)
        if name == "power":
            return self.power(x, operands[1])
        if name == "reciprocal":
            return self.divide(None, x, 1.0)
        if x is not None and y is not None:
            return (self.add(x, y, 1.0) if name == "add" else self.add(x, y, -1.0) if name == "subtract"
                    else self.multiply(x, y) if name == "multiply" else self.divide(x, y, 1.0))
        constant = operands[0] if x is None else operands[1]
        if name == "add":
            return self.shift(y if x is None else x, constant)
        if name == "subtract":
            return self.shift(self.scale(y, -1.0), constant) if x is None else self.shift(x, -constant)
        if name == "multiply":
            return self.scale(y if x is None else x, constant)
        return self.divide(x, y, constant)

    cdef Branch power(self, Branch branch, double exponent):
        x = self.operand(branch)
        if exponent == 2:
            return Branch(("product", 1.0, x, x), branch.code, branch.leaves)
        return Branch(("value", self.compute(branch.code, "power", (x,), (exponent,))), branch.code, branch.leaves)

    cdef Branch divide(self, Branch left, Branch right, double constant):
        """left / right, where an operand that is None is the constant."""
        if left is None:
            result = self.compute(right.code, "divide_into", (self.operand(right),), (constant,))
            return Branch(("value", result), right.code, right.leaves)
        if right is None:
            result = self.compute(left.code, "divide_by", (self.operand(left),), (constant,))
            return Branch(("value", result), left.code, left.leaves)
        operands = self.operand(left), self.operand(right)
        code = joined(left, right)
        return Branch(("value", self.compute(code, "divide", operands)), code, left.leaves + right.leaves)

    cdef tuple finish(self, Branch branch):
        """The step of a whole tree."""
        cdef InnerLoop loop
        cdef Tree tree
        if branch.form[0] == "value" and branch.form[1] >= 0:
            self.compute(branch.code, "copy", branch.form[1:])
        else:
            self.operand(branch)
        leaves, locals_, code = with_locals(branch.code)
        links, slots = chained(branch.code, {slot: number for number, slot in enumerate(leaves)},
                               link_rows) if len(code) > 1 else ([], 0)
        tree = Tree(self.dtype, len(leaves), locals_, code, links, slots)
        name = "arithmetic" if len(code) == 1 else f"arithmetic ({len(code)} instructions in one pass)"
        loop = InnerLoop(name, (self.dtype,) * (len(leaves) + 1))
        loop.function = <LoopFunction>(phintys_tree_double if self.dtype == "float64" else phintys_tree_float)
        loop.data, loop.owner = <void*>&tree.tree, tree
        loop.cost, loop.vector = 0.2 + 0.05 * len(code), phintys_tiles[tree.chosen] // 8
        return loop, leaves, loop.dtypes


cdef tuple sum_with_power(tuple last, str name, tuple operands, tuple constants):
    """The arguments of `compute` for one instruction in place of the last one, a power, and one that adds its result
    to another value; else None."""
    cdef tuple raised
    kind, result, raised, exponent = last
    x, y = operands
    if kind != "power" or name == "subtract" or x == y:
        return None
    if y == result:
        return "power_add", raised + (x,), exponent + (constants or (1.0,))
    if x == result and name == "add":
        return "power_add", raised + (y,), exponent + (1.0,)
    return None


cdef tuple square_of_sum(tuple last, tuple operands, double a):
    """The arguments of `compute` for one instruction in place of the last one and of a * x * y + its result, if the two
    are x**2 + y**2 + c*x*y in one of the orders that users write; else None."""
    cdef tuple summed
    name, result, summed, constants = last
    x, y, z = operands
    if result != z or z == x or z == y:
        return None
    if name == "square_square_add" and constants == (1, 1) and x != y and set(summed) == {x, y}:
        return "squares_product", (x, y), (a,)
    if (name == "multiply_multiply_add" and constants[0] == 1 and a == 1 and x == y
            and summed[0] == summed[1] == summed[2] and summed[3] == x):
        return "square_product_square", (summed[0], x), constants[1:]
    return None


cdef inline double factor_of(tuple form):
    return 1.0 if form[0] == "value" else form[1]


cdef tuple scaled(tuple form, double factor):
    """The form times a factor."""
    if factor == 1:
        return form
    if form[0] == "value":
        return ("scaled", factor, form[1])
    return (form[0], factor * form[1]) + form[2:]


cdef list joined(Branch left, Branch right):
    """The code of both; the longer list is extended, so that long chains stay linear."""
    if left.code is right.code:
        return left.code
    if len(left.code) >= len(right.code):
        left.code.extend(right.code)
        return left.code
    right.code.extend(left.code)
    return right.code


cdef tuple with_locals(list code):
    """(leaf slots, number of locals, code with final operand numbers); a local is reused after its last reader."""
    cdef list leaves = [], free_locals = [], final = []
    cdef dict number = {}, last = {}
    cdef int count = 0
    for position, (name, virtual, operands, constants) in enumerate(code):
        for operand in operands:
            last[operand] = position
            if operand >= 0 and operand not in number:
                number[operand] = len(leaves)
                leaves.append(operand)
    cdef int inputs = len(leaves), final_position = len(code) - 1
    for position, (name, virtual, operands, constants) in enumerate(code):
        read = tuple([number[operand] for operand in operands])
        # Exact overlap of a result with an operand is safe: an instruction reads each element before it writes it.
        free_locals += [number[operand] for operand in set(operands) if operand < 0 and last[operand] == position]
        if position == final_position:
            number[virtual] = -1
        elif free_locals:
            number[virtual] = free_locals.pop()
        else:
            number[virtual] = inputs + count
            count += 1
        final.append((name, number[virtual], read, constants))
    name, _, read, constants = final[final_position]
    final[final_position] = (name, inputs + count, read, constants)
    return leaves, count, final


OPERATIONS = {"add", "subtract", "multiply", "divide", "true_divide", "negative", "square", "reciprocal", "power"}


cdef bint is_arithmetic(tuple step, code):
    """Whether a step can be part of a tree: a ufunc of the table OPERATIONS, over float32 or float64."""
    cdef InnerLoop loop
    loop, operands, dtypes = step
    if loop.name not in OPERATIONS or dtypes[0] not in ("float32", "float64") or len(set(dtypes)) != 1:
        return False
    if loop.name == "power":
        exponent = code.constant(operands[1])
        largest = 2 if config.math == "numpy" else LARGEST_POWER
        return exponent is not None and 2 <= exponent <= largest and exponent == int(exponent)
    return True


def merge_arithmetic(code):
    """Merge arithmetic steps into trees.

    Parameters
    ----------
    code : ScalarCode
        Its loops are InnerLoops.

    Returns
    -------
    ScalarCode
    """
    cdef dict branches = {}, mergers = {}, readers = {}, merged = {}
    cdef Merger merger
    cdef Branch branch
    constants, steps = code.by_slot()
    for slot, (_, operands, _) in steps.items():
        for operand in set(operands):
            readers[operand] = None if operand in readers else slot
    ours = {slot for slot, step in steps.items() if is_arithmetic(step, code)}
    if not ours:
        return code
    for slot, (loop, operands, dtypes) in steps.items():
        if slot not in ours:
            merged[slot] = loop, operands, dtypes
            continue
        if dtypes[0] not in mergers:
            mergers[dtypes[0]] = Merger(dtypes[0])
        merger = mergers[dtypes[0]]
        branch = merger.apply(loop.name, branch_operands(merger, operands, constants, branches, merged))
        reader = readers.get(slot)
        if slot in code.outputs or reader is None or reader not in ours or len(branch.code) > MOST_INSTRUCTIONS:
            merged[slot] = merger.finish(branch)
        else:
            branches[slot] = branch
    return numbered(code.input_dtypes, constants, merged, code.outputs)


cdef list branch_operands(Merger merger, tuple operands, dict constants, dict branches, dict merged):
    """Branches or floats for a step's operands; an operand that would make the tree too wide becomes a separate
    step."""
    cdef Branch branch
    cdef int leaves = 0
    cdef dict parts = {}
    for slot in operands:
        if slot in constants:
            parts[slot] = float(constants[slot])
        elif slot not in parts:
            branch = branches.get(slot)
            if branch is not None and leaves + branch.leaves > MOST_LEAVES:
                merged[slot] = merger.finish(branch)
                branch = None
            parts[slot] = branch if branch is not None else Branch(("value", slot), [], 1)
            leaves += (<Branch>parts[slot]).leaves
    # An operand used twice has one branch, whose value must be computed once before it is combined with itself.
    if len(operands) == 2 and operands[0] == operands[1] and operands[0] not in constants:
        branch = parts[operands[0]]
        branch.form = ("value", merger.operand(branch))
    return [parts[slot] for slot in operands]
