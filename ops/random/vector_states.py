"""States of ``numpy.random.RandomState`` as vectors: RandomFunction on them, native for the frequent distributions.

A vector is what ``generator_states.py`` says of MT19937. Kernels draw from it without Python objects, and what they
draw is what ``RandomState`` draws, bit by bit. Other distributions, and functions of users, are called with a
``RandomState`` that is made of the vector.
"""
from collections import namedtuple

from phintys.ops.elementwise.elementwise_functions import cast, isinf, isnan, le, or_
from phintys.ops.elementwise.elementwise_functions import invert as not_
from phintys.ops.random.draw_kernel import DrawKernel
from phintys.ops.random.generator_states import KINDS, WORDS
from phintys.ops.types.dtypes import complex_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType

STATE_TYPE = TensorType("uint64", (False,))
STATE_WORDS = WORDS["MT19937"]
REALS = ("float32", "float64")
COUNTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", *REALS)

# name: the kernel's; count: of parameters of the user; parameters: name and check of those of the kernel; integers:
# which are int64; checked: makes what the kernel checks beside them, or None; dtypes: of samples.
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


def native_draw_of(name, outtype, known_size, parameters):
    """The row of ``NATIVE_DRAWS`` that draws these samples, or None.

    Parameters
    ----------
    name : str or None
    outtype : TensorType
    known_size : list of (int or None) or None
        As ``size_vector`` returns it.
    parameters : list of Variable
    """
    draw = NATIVE_DRAWS.get(name)
    if draw is None or outtype.dtype not in draw.dtypes or known_size is None or len(known_size) != outtype.ndim:
        return None
    if any(flag and length != 1 for flag, length in zip(outtype.broadcastable, known_size)):
        return None
    if len(parameters) < draw.count or any(variable.type.dtype in complex_dtypes for variable in parameters):
        return None
    if any(parameters[place].type.dtype not in integer_dtypes - {"uint64"} for place in draw.integers):
        return None
    return draw


def kernel_parameters(draw, parameters):
    """The inputs of the kernel for the parameters of the user."""
    given = [cast(variable, "int64" if place in draw.integers else "float64")
             for place, variable in enumerate(parameters[:draw.count])]
    return given if draw.checked is None else [*given, cast(draw.checked(*given), "int64")]


def native_kernel(draw):
    return DrawKernel(draw.name, KINDS.index("MT19937"), draw.parameters)
