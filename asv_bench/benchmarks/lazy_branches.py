"""The cost of selecting a branch if that branch is tiny and the other one is a large product."""
import numpy

import phintys
import phintys.tensor as T


def chosen_by(kind, condition, tiny, large):
    """Return the tiny value by itself, or as one of two."""
    if kind == "tiny branch alone":
        return tiny
    if kind == "switch":
        return T.switch(condition, tiny, large)
    try:
        from phintys.ifelse import ifelse
    except ImportError:
        raise NotImplementedError from None             # asv skips it: this version has no lazy branches
    return ifelse(condition, tiny, large)


class TinyBranch:
    """x + 1 of one number; with ``ifelse`` or ``switch`` the other branch is the sum of a product of 500 x 500."""

    params = [["tiny branch alone", "ifelse", "switch"]]
    param_names = ["kind"]

    def setup(self, kind):
        condition, x, m = T.lscalar("condition"), T.dscalar("x"), T.dmatrix("m")
        result = chosen_by(kind, condition, x + 1, T.dot(m, m).sum())
        self.function = phintys.function([condition, x, m], result, on_unused_input="ignore")
        self.values = numpy.asarray(1), numpy.asarray(1.0), numpy.ones((500, 500))

    def time_call(self, kind):
        self.function(*self.values)
