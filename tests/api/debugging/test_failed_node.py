"""What an error at run time says about the node that failed, with each ``config.exception_verbosity``."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T

MODES = ["FAST_RUN", "FAST_COMPILE", "DebugMode"]


def rows_of(mode):
    x, rows = T.dmatrix("x"), T.lvector("rows")
    return phintys.function([x, rows], T.exp(x)[rows], mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_small_values_are_shown(mode):
    function = rows_of(mode)
    with pytest.raises(IndexError, match="index 9 is out of bounds") as caught:
        function(np.ones((3, 2)), [0, 9])
    message = str(caught.value)
    assert "Inputs values: [not shown, array([0, 9])]" in message and "Debugprint" not in message
    assert [line for line in message.splitlines() if line.startswith("Made at") and __file__ in line]
    with pytest.raises(IndexError) as caught:
        function(np.ones((1, 2)), [0] * 5 + [9])
    assert "Inputs values: [array([[2.71828183, 2.71828183]]), not shown]" in str(caught.value)
    np.testing.assert_allclose(function(np.zeros((3, 2)), [2]), np.ones((1, 2)))


@pytest.mark.parametrize("mode", MODES)
def test_a_high_verbosity_shows_the_graph(mode):
    function = rows_of(mode)
    with phintys.change_flags(exception_verbosity="high"), pytest.raises(IndexError) as caught:
        function(np.ones((3, 2)), [0, 9])
    graph = str(caught.value).split("Debugprint of the apply node:\n")[1]
    assert "AdvancedSubtensor1" in graph.splitlines()[0] and "exp" in graph.splitlines()[1]
    assert "|x " in graph and "|rows " in graph and "TensorType(int64, vector)" in graph


def test_the_shown_graph_of_a_long_chain_is_short():
    x, i = T.dvector("x"), T.lscalar("i")
    chain = x
    for _ in range(500):
        chain = T.cumsum(chain)
    function = phintys.function([x, i], chain[i])
    with phintys.change_flags(exception_verbosity="high"), pytest.raises(IndexError) as caught:
        function([1.0], 5)
    assert 10 < len(str(caught.value).splitlines()) < 40


def test_a_failed_call_holds_no_value():
    x, i = T.dvector("x"), T.lscalar("i")
    function = phintys.function([x, i], (T.exp(x) / T.exp(x).sum())[i], allow_input_downcast=True)
    function.free()
    before = phintys.memory.stats()["live_buffers"]
    with pytest.raises(IndexError) as caught:
        function([1.0, 2.0], 5)
    assert "Inputs values: [array(" in str(caught.value)
    function.free()
    assert phintys.memory.stats()["live_buffers"] == before
