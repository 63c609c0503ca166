"""The small functions of ``gof.utils``."""
import pytest

import phintys.tensor as T
from phintys.gof import utils


def test_sequence_functions():
    assert utils.flatten([1, (2, [3, {4}])]) == [1, 2, 3, 4] and utils.flatten(5) == [5]
    assert utils.uniq([2, 1, 2]) == [2, 1] and utils.uniq([[1], [1]]) == [[1]] and not utils.unique([1, 1])
    assert utils.difference([1, 2, 3], [2]) == [1, 3] and utils.difference([[1], [2]], [[1]]) == [[2]]
    assert utils.hist("aab") == {"a": 2, "b": 1} and utils.remove(str.isdigit, "a1b") == ["a", "b"]
    assert utils.to_return_values([3]) == 3 and utils.from_return_values(3) == [3]
    assert utils.toposort({"c": {"a", "b"}, "b": {"a"}, "a": set()}) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="cycles"):
        utils.toposort({1: {2}, 2: {1}})
    calls = []
    square = utils.memoize(lambda number: calls.append(number) or number ** 2)
    assert [square(3), square(3)] == [9, 9] and calls == [3]
    with pytest.warns(DeprecationWarning):
        named = utils.give_variables_names([T.dscalar(), T.dscalar("a"), T.dscalar("a")])
    assert len({variable.name for variable in named}) == 3
