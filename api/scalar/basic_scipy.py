"""Theano's name ``scalar.basic_scipy`` for special functions of single numbers: names only."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.elementwise import scalar as _scalar

_NAMES = """erf erfc erfcx erfinv erfcinv gamma gammaln psi tri_gamma chi2sf gammainc gammaincc gammau gammal jv j0 j1
    iv i0 i1""".split()

imported_scipy_special = True
globals().update({name: getattr(_scalar, name) for name in _NAMES})
globals().update({type(globals()[name]).__name__: type(globals()[name]) for name in _NAMES})

__all__ = sorted(["imported_scipy_special", *_NAMES, *[type(globals()[name]).__name__ for name in _NAMES]])
__getattr__ = _lookup(__name__)
