"""A flag is True or False when the graph is made: a variable is refused by name, not taken for True."""
import numpy
import pytest

import phintys
import phintys.tensor as T

FLAGS = """T.sum(m, keepdims=flag)|T.linalg.cholesky(m, upper=flag)|T.slinalg.cho_solve((m, flag), v)
    T.linalg.svd(m, flag)|T.slinalg.solve_triangular(m, v, lower=flag)|T.slinalg.lu(m, permute_l=flag)
    T.unique(v, return_index=flag)|numpy.linalg.pinv(m, hermitian=flag)|T.average(v, returned=flag)
    T.isclose(v, v, equal_nan=flag)|m.std(keepdims=flag)|T.sort(v, descending=flag)
    T.linspace(0, 1, 3, endpoint=flag)|T.histogram(v, 3, density=flag)|numpy.sum(m, keepdims=flag)
    numpy.linalg.svd(m, full_matrices=flag)|T.vander(v, 2, increasing=flag)|T.cov(m, rowvar=flag)
    T.nnet.conv2d(t, t, filter_flip=flag)|T.max(m, 0, flag)|T.isin(v, v, invert=flag)
    T.digitize(v, v, right=flag)|phintys.function([m], m, allow_input_downcast=flag)
    T.slinalg.qr(m, pivoting=flag)"""


def test_a_variable_is_no_flag():
    m, v = T.dmatrix("m"), T.dvector("v")
    for flag in (T.bscalar("flag"), T.TensorType("bool", ())("flag"), T.dvector("flag")):
        with pytest.raises(TypeError, match="flag is symbolic .* cannot be a flag"):
            T.slinalg.cho_solve((m, flag), v)


@pytest.mark.parametrize("call", [call.strip() for call in FLAGS.replace("\n", "|").split("|")])
def test_calls(call):
    known = {"T": T, "numpy": numpy, "phintys": phintys, "m": T.dmatrix("m"), "v": T.dvector("v"), "t": T.dtensor4("t")}
    with pytest.raises((TypeError, ValueError), match="flag"):
        eval(call, {**known, "flag": T.bscalar("flag")})


def test_programs_may_ask_for_existence():
    assert T.dvector("v") and bool(T.bscalar("b"))


def test_constant_numbers_have_the_truth_of_their_values():
    """As NumPy's arrays have; in Theano all that exists is true."""
    assert not any([T.constant(0), T.constant(0.0), T.constant(False), T.constant(numpy.zeros(()))])
    assert all([T.constant(2), T.constant(numpy.nan), T.constant(numpy.array(True)), T.constant([0, 0])])
    assert T.sum(T.dmatrix(), keepdims=T.constant(1)).ndim == 2 and T.sum(T.dmatrix(), keepdims=T.constant(0)).ndim == 0
    with phintys.change_flags(theano_rules=True):
        assert T.constant(0)


def test_grids_of_symbols():
    """Of their slices, only what is left out has a default."""
    n = T.lscalar("n")
    assert phintys.function([n], [*T.mgrid[n:5], *T.ogrid[0:6:n]])(2)[0].tolist() == [2, 3, 4]
