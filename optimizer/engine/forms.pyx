"""What rewrites read of a graph: keys of nodes, numbers, and products and sums in normal form.

Most rewrites begin with these functions and find nothing; in Python they took a tenth of the time of a compilation.

A `Product` or `Sum` describes a variable and is not part of the graph: it is collected, simplified, compared and, if
that saves something, built again (``factors.py`` and ``sums.py`` of the rewrites). Collecting goes through inner nodes
that have no other reader and the same dtype, so a tree is read once, from its root, and no work is ever duplicated;
signs pass through every ``neg`` that cannot wrap around. Products are formed only for floating point and complex
dtypes, because integers have no inverse. Numbers whose product the dtype cannot hold stay separate, and so do powers of
`LARGEST_EXPONENT` and more: ``1e200 * x * 1e200`` must not overflow.
"""
import math

import numpy

from phintys.graph.config import config
from phintys.graph.nodes cimport inputs_of, op_of, owner_of, type_of
from phintys.graph.variable import Constant
from phintys.ops.elementwise.composite import Composite
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.dtypes import CONTINUOUS_DTYPES, continuous_dtypes, uint_dtypes

LARGEST_EXPONENT = 2 ** 10     # of a factor of a product: float16 holds all integers up to 2**11, others more
FILLED = frozenset(["DimShuffle", "Alloc", "second"])      # what may have a number for all elements
FACTORS = frozenset(["mul", "true_div", "inv", "neg", "sqr", "pow"])
TERMS = frozenset(["add", "sub", "neg"])
LARGEST_FORM = 32              # a limit on nodes in `linear_form`: t and -t are cut off at the same point
# The smallest and the largest number of each dtype, as Python numbers.
RANGES = {name: (float(numpy.finfo(name).smallest_normal), float(numpy.finfo(name).max)) for name in CONTINUOUS_DTYPES}
EVERYTHING = 0.0, math.inf

cdef enum: LOOK_THROUGH = 8    # nodes that `constant_value` looks through; rewrites merge consecutive ones
cdef dict names = {}           # class of a built-in op -> its name
cdef object ndarray = numpy.ndarray


# ---- keys ------------------------------------------------------------------------------------------------------------
cpdef object key_of(op):
    """Return the key by which rewrites are indexed: the scalar op's name for elementwise ops, else the class's name.

    The key of a user's op is its class, so that it is never confused with a built-in op of the same name. The same
    holds for scalar ops outside the table, which may compute something else.
    """
    kind = type(op)
    if kind is Elemwise:
        return op.rewrite_key or key_of_elementwise(op)
    found = names.get(kind)
    return key_of_class(kind) if found is None else found


cdef object key_of_elementwise(op):
    name, kind = op.scalar_op.name, type(op.scalar_op)
    if SCALAR_OPS.get(name) is not op.scalar_op and kind is not Composite:
        return kind
    op.rewrite_key = name
    return name


def key_of_class(kind):
    """Return the key of all ops of a class, `Elemwise` excepted."""
    if not kind.__module__.startswith("phintys."):
        return kind
    return names.setdefault(kind, kind.rewrite_name or kind.__name__)


cpdef object key(variable):
    """Return the key of the node that computes ``variable``, or None."""
    node = owner_of(variable)
    return None if node is None else key_of(op_of(node))


# ---- types and numbers -----------------------------------------------------------------------------------------------
cpdef bint is_inexact(variable) except -1:
    """Return whether the dtype is floating point or complex."""
    return type_of(variable).dtype in continuous_dtypes


cpdef bint is_unsigned(variable) except -1:
    """Return whether negation leaves the range of the dtype (also for bool)."""
    dtype = type_of(variable).dtype
    return dtype in uint_dtypes or dtype == "bool"


cpdef bint keeps_value(negation, dtype) except -1:
    """Return whether a ``neg`` may be undone inside an expression of ``dtype``.

    Integers wrap around when they are negated (-128 of int8 stays -128); this cancels only in their own dtype.
    """
    own = type_of(negation).dtype
    return own in continuous_dtypes or own == dtype and not is_unsigned(negation)


cpdef object constant_value(variable):
    """Return the one number that all elements of ``variable`` have, as a Python number, or None if it is not known.

    This looks through dimshuffles and fills of constants.
    """
    cdef int left
    for left in range(LOOK_THROUGH):
        node = owner_of(variable)
        if node is None:
            if not isinstance(variable, Constant):
                return None
            data = variable.data
            return data.item() if isinstance(data, ndarray) and data.size == 1 else None
        name = key_of(op_of(node))
        if name not in FILLED:
            return None
        variable = inputs_of(node)[1 if name == "second" else 0]
    return None


# ---- readers ---------------------------------------------------------------------------------------------------------
cdef class Readers:
    """Says how often a variable of a graph is read; variables not in the graph yet will have one reader."""

    cdef dict clients

    def __init__(self, fgraph):
        clients = fgraph.clients
        if not isinstance(clients, dict):
            raise TypeError(f"the clients of {fgraph} are no dict")
        self.clients = <dict>clients                # a dict of a class of its own

    def __call__(self, variable):
        return self.count(variable)

    cdef Py_ssize_t count(self, variable) except -1:
        found = self.clients.get(variable)
        return 1 if found is None else len(found)


def readers_in(fgraph):
    """Return a function from variables to the number of their readers; variables not in the graph yet will have one."""
    return Readers(fgraph)


cdef bint is_read_once(readers, variable) except -1:
    if type(readers) is Readers:
        return (<Readers>readers).count(variable) == 1
    return readers(variable) == 1


def read_once(str name, form_of):
    """Return a function of a graph and a variable of it that returns the variable's normal form.

    It is read by ``form_of`` once, until the graph changes; every caller gets the same object, which stays as it is.

    Parameters
    ----------
    name : str
        Of the table in ``fgraph.derived``.
    form_of : callable
        Takes a variable and what ``readers_in`` returns.
    """
    def form_in(fgraph, root):
        known = fgraph.derived.get(name)
        if known is None:
            known = fgraph.derived[name] = {}
        found = known.get(root)
        if found is None:
            found = known[root] = form_of(root, Readers(fgraph))
        return found
    return form_in


cpdef object only_reader(fgraph, variable):
    """Return the first output of the only node that reads ``variable``, else None."""
    readers = fgraph.clients[variable]
    if len(readers) != 1:
        return None
    for reader, _ in readers:
        return None if reader == "output" else reader.outputs[0]


cpdef bint is_inside(fgraph, variable, keys) except -1:
    """Return whether ``variable`` is an inner node of a larger tree; the rewrite of its root then includes it."""
    reader = only_reader(fgraph, variable)
    if reader is None:
        return False
    name = key(reader)
    if name not in keys or type_of(reader).dtype != type_of(variable).dtype:
        return False
    return name != "pow" or variable is inputs_of(owner_of(reader))[0] and whole_power(reader) is not None


cpdef object whole_power(variable):
    """Return the exponent n of ``pow(x, n)`` if that counts as n factors, else None."""
    power = constant_value(inputs_of(owner_of(variable))[1])
    if type(power) not in (int, float) or not 1 <= abs(power) <= LARGEST_EXPONENT or power != int(power):
        return None
    return int(power)


# ---- products --------------------------------------------------------------------------------------------------------
cdef class Product:
    """A product in normal form, ``coefficient * x**a * y**b * ...``, read from a tree of `FACTORS`.

    Attributes
    ----------
    coefficient : number
    powers : dict of Variable to int
        The exponent of each factor, never 0, in order of appearance.
    leaves : list of Variable
        All factors met, including cancelled ones, which still determine the shape.
    operations : int
        The number of nodes that the product was read from.
    constants : int
        The number of constants that are included in the coefficient.
    cancelled : bool
        Whether a factor met its inverse, so that the normal form is smaller than the original.
    """

    cdef public object coefficient
    cdef public dict powers
    cdef public list leaves
    cdef public Py_ssize_t operations, constants
    cdef public bint cancelled

    def __init__(self):
        self.coefficient = 1
        self.powers = {}
        self.leaves = []

    cpdef multiply(self, factor, exponent):
        """Include ``factor ** exponent``."""
        known = self.powers.get(factor)
        if known is None:
            self.powers[factor] = exponent
            return
        if known * exponent < 0:
            self.cancelled = True
        if known + exponent:
            self.powers[factor] = known + exponent
        else:
            del self.powers[factor]

    cpdef Product copy(self):
        """Return a product of the same factors, which can be changed."""
        cdef Product result = Product()
        result.coefficient = self.coefficient
        result.powers = dict(self.powers)
        result.leaves = list(self.leaves)
        result.operations, result.constants, result.cancelled = self.operations, self.constants, self.cancelled
        return result

    def times(self, Product other):
        """Return the product of two products."""
        cdef Product result = self.copy()
        result.coefficient = self.coefficient * other.coefficient
        result.leaves.extend(other.leaves)
        result.operations += other.operations + 1
        for factor, exponent in other.powers.items():
            result.multiply(factor, exponent)
        return result

    def signature(self):
        """Return a value that is equal for products which differ only in the coefficient."""
        return frozenset(self.powers.items())


cpdef Product product_of(root, readers, nearby=None):
    """Return the normal form of ``root``.

    Parameters
    ----------
    root : Variable
    readers : callable
        ``readers(variable)`` returns how often a variable is read; the root's own node is always entered.
    nearby : int, optional
        Stop entering nodes after this number.

    Returns
    -------
    Product
    """
    cdef Product product = Product()
    cdef list stack = [(root, 1)], inner
    cdef Py_ssize_t most = -1 if nearby is None else nearby
    dtype = type_of(root).dtype
    while stack:
        variable, exponent = <tuple>stack.pop()
        name = key(variable)
        if name is None or name in FILLED:
            value = constant_value(variable)
            if value is not None and (value != 0 or exponent == 1):
                coefficient = multiplied_number(product.coefficient, value, exponent, dtype)
                if coefficient is not None:
                    product.coefficient = coefficient
                    product.constants += 1
                    product.leaves.append(variable)
                    continue
        inner = None
        if name in FACTORS:
            inner = factors_of(name, variable, exponent, dtype, product,
                               variable is root or ((most < 0 or product.operations < most)
                                                    and is_read_once(readers, variable)))
        if inner is None:
            product.leaves.append(variable)
            product.multiply(variable, exponent)
        else:
            product.operations += 1
            inner.reverse()
            stack.extend(inner)
    return product


cdef object multiplied_number(coefficient, value, exponent, dtype):
    """Return ``coefficient * value ** exponent``, or None if ``dtype`` cannot hold it although it holds all parts."""
    try:
        result = coefficient * (value if exponent == 1 else (value * 1.0) ** exponent)
    except OverflowError:
        return None
    smallest, largest = RANGES.get(dtype, EVERYTHING)
    return result if smallest <= abs(result) <= largest or not smallest <= abs(value) <= largest \
        or not smallest <= abs(coefficient) <= largest else None


cdef list factors_of(name, variable, exponent, dtype, Product product, bint may_enter):
    """Return the factors ``[(variable, exponent)]`` of ``variable ** exponent``, computed by an op of this key in
    `FACTORS`, or None if they stay together."""
    inputs = inputs_of(owner_of(variable))
    if name == "neg":
        if not keeps_value(variable, dtype):
            return None
        if exponent % 2:
            product.coefficient = -product.coefficient
        return [(inputs[0], exponent)]
    if not may_enter:
        return None
    own = type_of(variable).dtype
    if own != dtype or own not in continuous_dtypes or 2 * abs(exponent) > LARGEST_EXPONENT \
            or stays_under_power(name, exponent):
        return None
    if name == "mul":
        return [(factor, exponent) for factor in inputs]
    if name == "true_div":
        return [(inputs[0], exponent), (inputs[1], -exponent)]
    if name == "inv":
        return [(inputs[0], -exponent)]
    if name == "sqr":
        return [(inputs[0], 2 * exponent)]
    power = whole_power(variable)
    return None if power is None else [(inputs[0], power * exponent)]


cpdef bint stays_under_power(name, exponent) except -1:
    """Return whether products and quotients stay together under a power: ``(x / m)**2`` is finite where ``x**2`` and
    ``m**2`` are not."""
    return abs(exponent) > 1 and (name == "mul" or name == "true_div") and config.math_rules != "fast"


# ---- sums ------------------------------------------------------------------------------------------------------------
cdef class Sum:
    """A sum in normal form, ``constant + x1 - x2 + ...``, read from a tree of `TERMS`.

    Attributes
    ----------
    constant : number
    terms : list of (int, Variable)
        Signs and variables.
    leaves : list of Variable
    operations, constants : int
        As of a `Product`.
    """

    cdef public object constant
    cdef public list terms, leaves
    cdef public Py_ssize_t operations, constants

    def __init__(self):
        self.constant = 0
        self.terms = []
        self.leaves = []


cpdef Sum sum_of(root, readers, nearby=None):
    """Return the normal form of ``root``; parameters as in `product_of`."""
    cdef Sum result = Sum()
    cdef list stack = [(1, root)]
    cdef Py_ssize_t most = -1 if nearby is None else nearby
    dtype = type_of(root).dtype
    while stack:
        sign, variable = <tuple>stack.pop()
        name = key(variable)
        if name is None or name in FILLED:
            value = constant_value(variable)
            if value is not None:
                result.constant = result.constant + sign * value
                result.constants += 1
                result.leaves.append(variable)
                continue
        if name in TERMS and enters_sum(name, variable, dtype, variable is root or (
                (most < 0 or result.operations < most) and is_read_once(readers, variable))):
            result.operations += 1
            inputs = inputs_of(owner_of(variable))
            if name == "neg":
                stack.append((-sign, inputs[0]))
            elif name == "add":
                stack.extend([(sign, term) for term in reversed(inputs)])
            else:
                stack.append((-sign, inputs[1]))
                stack.append((sign, inputs[0]))
        else:
            result.leaves.append(variable)
            result.terms.append((sign, variable))
    return result


cdef bint enters_sum(name, variable, dtype, bint may_enter) except -1:
    """Return whether the terms of a node of a key in `TERMS` are those of the sum around it."""
    if is_unsigned(variable):
        return False
    if name == "neg":
        return keeps_value(variable, dtype)
    return may_enter and type_of(variable).dtype == dtype


def linear_form(variable):
    """Return ``variable`` as a dict from leaf variables (None: the constant 1) to coefficients.

    This reading also goes through multiplication by constants and through shared nodes, and is bounded in depth; it is
    used to find out whether one variable is the negative of another.
    """
    cdef dict form = {}
    cdef list stack = [(variable, 1)], inner
    cdef int budget = LARGEST_FORM
    if not is_inexact(variable):
        return {variable: 1}
    dtype = type_of(variable).dtype
    while stack:
        current, coefficient = <tuple>stack.pop()
        value = constant_value(current)
        if value is not None:
            form[None] = form.get(None, 0) + coefficient * value
            continue
        inner = linear_parts(current, coefficient) if budget > 0 and type_of(current).dtype == dtype else None
        budget -= key(current) != "neg"        # so that t and -t are read to the same depth
        if inner is None:
            form[current] = form.get(current, 0) + coefficient
        else:
            stack.extend(inner)
    return {leaf: coefficient for leaf, coefficient in form.items() if coefficient != 0}


cdef list linear_parts(variable, coefficient):
    name = key(variable)
    if name is None or is_unsigned(variable):
        return None
    inputs = inputs_of(owner_of(variable))
    if name == "add":
        return [(term, coefficient) for term in inputs]
    if name == "sub":
        return [(inputs[0], coefficient), (inputs[1], -coefficient)]
    if name == "neg":
        return [(inputs[0], -coefficient)]
    if name == "mul" and len(inputs) == 2:
        for number, other in ((inputs[0], inputs[1]), (inputs[1], inputs[0])):
            value = constant_value(number)
            if value is not None and type_of(other).broadcastable == type_of(variable).broadcastable:
                return [(other, coefficient * value)]
    return None
