"""Elementwise functions that may overwrite their first argument: ``exp_inplace``, ``add_inplace``, ...

Each is the ``Elemwise`` of the function's scalar op, and its only output may take the memory of the first input. So the
result has the dtype of the first input, which must have the broadcastable pattern of the result. A function accepts
them with ``accept_inplace=True``. Overwriting is only permitted: memory that must keep its value is not overwritten.
"""
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.first_dtype import in_first_dtype
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.shape.dimshuffle import transpose as transpose_inplace
from phintys.theano_finder import lookup as _lookup

_SCALAR_OPS = """lt gt le ge eq neq and_ or_ xor invert abs_ exp exp2 expm1 neg inv log log1p log2 log10 sgn ceil floor
    trunc round_half_to_even round_half_away_from_zero sqr sqrt deg2rad rad2deg cos arccos sin arcsin tan arctan arctan2
    cosh arccosh sinh arcsinh tanh arctanh erf erfc erfcx gamma gammaln psi tri_gamma chi2sf j0 j1 jv i0 i1 iv second
    maximum minimum add sub mul true_div int_div mod pow conj""".split()


def _documentation(name):
    return (f"{SCALAR_OPS[name].summary}\n\nThe result may take the memory of the first operand, and has its dtype.\n\n"
            f"Examples\n--------\n>>> T.inplace.{name}_inplace.inplace_pattern       # output 0 overwrites operand 0\n"
            "{0: 0}")


_OPS = {f"{name}_inplace": Elemwise(in_first_dtype(SCALAR_OPS[name]), {0: 0}, name=f"{name}_inplace",
                                    doc=_documentation(name))
        for name in _SCALAR_OPS}
globals().update(_OPS)
fill_inplace = _OPS["second_inplace"]

__all__ = ["fill_inplace", "transpose_inplace", *_OPS]
__getattr__ = _lookup(__name__)
