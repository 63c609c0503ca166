"""Which cases of a table share a function."""
import numpy
from compiled_once import compiled

import phintys
import phintys.tensor as T


def test_only_equal_graphs_share_a_function():
    x, y, single = T.dvector(), T.dvector(), T.fvector()
    function = compiled([x], x + 1)
    assert compiled([y], y + 1) is function
    others = [compiled([x], x + 2), compiled([single], single + 1), compiled([x], [x + 1]), compiled([x], T.exp(x)),
              compiled([x], x + 1, "FAST_COMPILE"), compiled([x], x.sum(keepdims=True) + 1), compiled([x, y], x + 1)]
    assert len({id(other) for other in [function, *others]}) == 8
    assert compiled([x, y], x - y)([3.0], [1.0]) == -compiled([x, y], y - x)([3.0], [1.0]) == [2.0]
    assert compiled([y, x], x - y)([3.0], [1.0]) == [-2.0]
    with phintys.change_flags(floatX="float32"):
        assert compiled([x], x + 1) is not function


def test_shared_variables_are_never_shared():
    x = T.dvector()
    for value in (1.0, 2.0):
        assert compiled([x], x + phintys.shared(numpy.array([value])))([1.0]) == [1 + value]
