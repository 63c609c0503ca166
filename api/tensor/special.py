"""The functions of ``scipy.special`` for symbolic tensors, under SciPy's names. Names only.

``scipy.special``'s own functions that are ufuncs build the same graphs when they are called with a symbolic tensor.
"""
from phintys.graph import public_names as _public_names
from phintys.ops.compositions.special import (
    boxcox,
    boxcox1p,
    huber,
    inv_boxcox,
    inv_boxcox1p,
    log_expit,
    log_softmax,
    multigammaln,
    pseudo_huber,
    softmax,
)
from phintys.ops.elementwise import elementwise_functions as _elementwise
from phintys.ops.nnet.losses import kl_div, rel_entr
from phintys.ops.reduction.reduction import logsumexp

# SciPy's name → that of the elementwise op.
_SAME = """beta betainc betaincinv betaln cbrt entr erf erfc erfcinv erfcx erfinv exp2 expm1 gamma
    gammainc gammaincc gammainccinv gammaincinv gammaln hyp2f1 i0 i0e i1 i1e iv ive j0 j1 jv k0 k1 kv kve log1p log_ndtr
    logit ndtr ndtri owens_t polygamma psi softplus xlog1py xlogy zeta""".split()
_OPS = {**dict(zip(_SAME, _SAME)), "digamma": "psi", "expit": "sigmoid"}
_public = _elementwise.public_functions()
globals().update({name: _public[op] for name, op in _OPS.items()})

__all__ = ["boxcox", "boxcox1p", "huber", "inv_boxcox", "inv_boxcox1p", "kl_div", "log_expit", "log_softmax",
           "logsumexp", "multigammaln", "pseudo_huber", "rel_entr", "softmax"]
__all__ += sorted(_OPS)
_public_names.adopt(globals())


def __dir__():
    return sorted(__all__)
