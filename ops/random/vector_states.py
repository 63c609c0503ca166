"""States of ``numpy.random.RandomState`` as vectors: RandomFunction on them, native for the frequent distributions.

``generator_states.py`` describes the vector for MT19937. Kernels draw from it without Python objects, and their numbers
are those of ``RandomState``, bit by bit. Other distributions, and functions of users, are called with a ``RandomState``
that is made from the vector.
"""
from collections import namedtuple

import numpy

from phintys.graph.config import config
from phintys.ops.elementwise.elementwise_functions import cast, isinf, isnan, le, or_
from phintys.ops.elementwise.elementwise_functions import invert as not_
from phintys.ops.random.draw_kernel import DrawKernel
from phintys.ops.random.generator_states import KINDS, WORDS
from phintys.ops.random.orders_kernel import ChoiceKernel, MultinomialDrawKernel, PermutationKernel
from phintys.ops.types.dtypes import complex_dtypes, float_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType

STATE_TYPE = TensorType("uint64", (False,))
STATE_WORDS = WORDS["MT19937"]
REALS = ("float32", "float64")
COUNTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *REALS)

# name: of the kernel; count: the number of the user's parameters; parameters: name and check of the kernel's ones;
# integers: those that are int64; checked: makes additional values that the kernel checks, or None; dtypes: of samples.
NativeDraw = namedtuple("NativeDraw", "name count parameters integers checked dtypes")


def _finite(low, high):
    width = high - low
    return not_(or_(isnan(width), isinf(width)))


NATIVE_DRAWS = {
    "uniform": NativeDraw("randomstate_uniform", 2, (("low", "any"), ("high", "any"), ("high - low is finite", "true")),
                          (), _finite, REALS),
    "normal": NativeDraw("randomstate_normal", 2, (("avg", "any"), ("std", "at least 0")), (), None, REALS),
    "binomial": NativeDraw("randomstate_binomial", 2, (("n", "at least 0"), ("p", "from 0 to 1")), (0,), None, COUNTS),
    "poisson": NativeDraw("randomstate_poisson", 1, (("lam", "at least 0 and at most 9.22e18"),), (), None, COUNTS),
    "integers": NativeDraw("randomstate_integers", 2, (("low", "any"), ("high", "any"), ("low <= high", "true")),
                           (0, 1), le, COUNTS),
}


MERSENNE = KINDS.index("MT19937")


def tolerance_of(dtype):
    """The largest difference from 1 that NumPy permits for the sum of probabilities of a dtype."""
    least = numpy.finfo("float64").eps
    return float(numpy.sqrt(max(least, numpy.finfo(dtype).eps) if dtype in float_dtypes else least))


# Draws of orders. count: of the parameters; ranks: the rank of each, None for any up to that of the size; added:
# dimensions of the sample that the last parameter adds; dtypes: the kernel's, and those that the parameters may have;
# kernel: makes the kernel for the dtype that the last parameter had before its cast.
NativeOrder = namedtuple("NativeOrder", "count ranks added dtypes kernel")
INTEGERS = integer_dtypes - {"uint64"}
NATIVE_ORDERS = {
    "permutation": NativeOrder(1, (0,), 1, (("int64", INTEGERS),), lambda dtype: PermutationKernel(MERSENNE, True)),
    "choice": NativeOrder(3, (0, 0, 1), 0, (("int64", INTEGERS), ("int64", INTEGERS), ("float64", float_dtypes)),
                          lambda dtype: ChoiceKernel(MERSENNE, True, True, tolerance_of(dtype))),
    "multinomial": NativeOrder(2, (None, None), 1, (("int64", INTEGERS), ("float64", frozenset(REALS))),
                               lambda dtype: MultinomialDrawKernel(MERSENNE, True, dtype == "float32",
                                                                   not config.theano_rules)),
}


def native_draw_of(name, outtype, added, known_size, parameters):
    """The row of ``NATIVE_DRAWS`` or ``NATIVE_ORDERS`` that draws these samples, or None.

    Parameters
    ----------
    name : str or None
    outtype : TensorType
    added : int
        How many dimensions samples have beside those of the size.
    known_size : list of (int or None) or None
        As ``size_vector`` returns it.
    parameters : list of Variable
    """
    draw = NATIVE_DRAWS.get(name) or NATIVE_ORDERS.get(name)
    if draw is None or len(parameters) < draw.count:
        return None
    if known_size is None:                      # the kernel checks its length
        known_size = [None] * (outtype.ndim - added)
    if len(known_size) + added != outtype.ndim:
        return None
    if any(flag and length != 1 for flag, length in zip(outtype.broadcastable, known_size)):
        return None
    fits = _order_fits if isinstance(draw, NativeOrder) else _draw_fits
    return draw if fits(draw, outtype, added, parameters) else None


def _draw_fits(draw, outtype, added, parameters):
    if added or outtype.dtype not in draw.dtypes or any(x.type.dtype in complex_dtypes for x in parameters):
        return False
    return all(parameters[position].type.dtype in INTEGERS for position in draw.integers)


def _order_fits(draw, outtype, added, parameters):
    if added != draw.added or outtype.dtype not in COUNTS or len(parameters) != draw.count:
        return False
    rank = outtype.ndim - added
    for position, (variable, wanted, (_, dtypes)) in enumerate(zip(parameters, draw.ranks, draw.dtypes)):
        own = variable.type.ndim - (added if position and position == draw.count - 1 else 0)
        if variable.type.dtype not in dtypes or not (0 <= own <= rank if wanted is None else own == wanted):
            return False
    return True


def kernel_parameters(draw, parameters):
    """The inputs of the kernel for the parameters of the user."""
    if isinstance(draw, NativeOrder):
        return [cast(variable, dtype) for variable, (dtype, _) in zip(parameters, draw.dtypes)]
    given = [cast(variable, "int64" if position in draw.integers else "float64")
             for position, variable in enumerate(parameters[:draw.count])]
    return given if draw.checked is None else [*given, cast(draw.checked(*given), "int64")]


def native_kernel(name, given):
    """The kernel; ``given`` is the dtype that the last parameter had before its cast."""
    if name in NATIVE_ORDERS:
        return NATIVE_ORDERS[name].kernel(given)
    return DrawKernel(NATIVE_DRAWS[name].name, MERSENNE, NATIVE_DRAWS[name].parameters)
