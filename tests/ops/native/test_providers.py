"""Whose loops serve functions: special values, errors, and that an element's value depends on its value alone."""
import math
import runpy
from pathlib import Path

import numpy
import pytest
import scipy.special
from measured_values import samples, special_values, ulps, wide

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags, config
from phintys.ops.native import providers as table
from phintys.ops.native.loops import built_in_loop, find_loop, provided_loop, ufunc_loop
from phintys.ops.native.measured import COLUMNS, MEASURED
from phintys.ops.native.special.vector_math import (
    BINARY,
    FUNCTIONS,
    NO_UFUNCS,
    has_vector_function,
    symbol_of,
    vector_sets,
)

CPUS = ("native", "avx2", "baseline")


PRECISE = ("gammaln", "psi", "erfinv")         # compared with mpmath


def softplus(x):
    """In place of a ufunc, which this function does not have."""
    return numpy.logaddexp(numpy.zeros((), x.dtype), x)


softplus.nin = 1


def ufunc_of(name):
    return softplus if name == "softplus" else getattr(numpy, name, None) or getattr(scipy.special, name)


def loop_of(name, dtype, provider):
    """The provider's loop."""
    if name in NO_UFUNCS:
        return built_in_loop(name, (dtype,) * 2, provider)
    ufunc = ufunc_of(name)
    return provided_loop(ufunc, (dtype,) * (ufunc.nin + 1), provider)


def every_loop():
    """(function, dtype, provider) of the vector functions that there are here."""
    return [(name, dtype, provider) for name, dtype in MEASURED for provider in table.TITLES
            if has_vector_function(name, dtype, provider)]


def chosen_loops():
    """(function, dtype, config.cpu) for every row of the table that has a loop."""
    rows = [(*row, cpu) for row in MEASURED for cpu in CPUS]
    return [(name, dtype, cpu) for name, dtype, cpu in rows if name not in NO_UFUNCS or has_built_in(name, dtype, cpu)]


def has_built_in(name, dtype, cpu):
    with change_flags(cpu=cpu):
        return any(has_vector_function(name, dtype, provider) for provider in table.providers(name, dtype))


def operands_of(name, values):
    """All pairs of values for a function of two."""
    if name not in BINARY:
        return [values]
    return [grid.ravel().copy() for grid in numpy.meshgrid(values, values)]


def bits(values):
    """Equal bits are equal values: zeros keep their sign, and all NaN are one."""
    return numpy.where(numpy.isnan(values), numpy.nan, values).astype(values.dtype).view(f"uint{8 * values.itemsize}")


def loop_for(name, dtype, cpu):
    ufunc = ufunc_of(name)
    with change_flags(cpu=cpu, math="vector"):
        return find_loop(name if name in NO_UFUNCS else ufunc, (dtype,) * (ufunc.nin + 1))


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(Path(__file__).parents[3] / "asv_bench" / "measure_loops.py"))


# ---- values ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, dtype, provider", every_loop())
def test_special_values_are_numpys(name, dtype, provider):
    ufunc = ufunc_of(name)
    operands = operands_of(name, special_values(dtype))
    got = loop_of(name, dtype, provider)(*operands)
    with numpy.errstate(all="ignore"):
        wanted = ufunc(*operands)
        if name == "erfc":                          # SciPy's is 0 where the value is subnormal
            wanted = numpy.vectorize(math.erfc)(operands[0].astype("float64")).astype(dtype)
        if name == "gammaln":                       # SciPy's is infinite for subnormal numbers
            small = abs(operands[0]) < numpy.finfo(dtype).tiny
            wanted = numpy.where(small & (operands[0] != 0), -numpy.log(abs(operands[0]).astype("float64")),
                                 wanted).astype(dtype)
        if name == "erfinv":                        # SciPy's of -0 is 0
            wanted = numpy.where(operands[0] == 0, operands[0], wanted)
    ordinary = numpy.isfinite(wanted) & (wanted != 0) & numpy.isfinite(got) & (got != 0)
    numpy.testing.assert_array_equal(bits(got[~ordinary]), bits(wanted[~ordinary]))
    numpy.testing.assert_array_equal(numpy.signbit(got[ordinary]), numpy.signbit(wanted[ordinary]))
    if name in PRECISE:                             # SciPy's are wrong beside 1 and -1, a zero and a pole
        ordinary &= abs(abs(operands[0]) - 1) > 1e-7
        below = ordinary & (operands[0] < 0)        # between zeros and poles: the absolute error is small
        numpy.testing.assert_allclose(got[below], wanted[below], rtol=1e-13 if dtype == "float64" else 1e-6)
        ordinary &= (operands[0] > 0) | (name == "erfinv")
    assert ulps(got[ordinary], wanted[ordinary].astype("longdouble")).max(initial=0) <= 5


@pytest.mark.parametrize("name, dtype, provider", every_loop())
def test_errors_are_as_small_as_the_table_says(name, dtype, provider):
    ufunc = ufunc_of(name)
    error = MEASURED[name, dtype][1][COLUMNS.index(table.MEASURED_AS.get(provider, provider))]
    loop = loop_of(name, dtype, provider)
    for operands in samples(dtype, len(loop.dtypes) - 1, 3000, seed=1, positive=name == "power"):
        if dtype == "float64" and name in ("erf", "erfc", *PRECISE):
            continue                                        # there is no wider type that has them
        with numpy.errstate(all="ignore"):
            assert ulps(loop(*operands), wide(ufunc, operands)).max() <= error + 0.5


@pytest.mark.parametrize("name, dtype, provider", [row for row in every_loop() if row[0] in PRECISE])
def test_errors_of_special_functions(name, dtype, provider, script):
    """Against 40 digits: all magnitudes, near zeros of the functions, where formulas change, near the ends."""
    pytest.importorskip("mpmath")
    generator = numpy.random.default_rng(3)
    near = [1e-300, 0.5, 1, 1.4616321449683622, 1.5, 2, 2.5, 7.5, 8, 1e300] if name != "erfinv" else [1e-300, 0.9966, 1]
    operands = numpy.concatenate([10.0 ** generator.uniform(-300, 300, 100), generator.uniform(0, 12, 400),
                                  1 - 10.0 ** generator.uniform(-16, 0, 200),
                                  *[place * (1 + generator.normal(size=20) * 1e-7) for place in near]])
    with numpy.errstate(all="ignore"):
        operands = operands.astype(dtype)
    loop = provided_loop(ufunc_of(name), (dtype,) * 2, provider)
    wanted = numpy.array([script["precise"](name, value) for value in operands.tolist()], "longdouble")
    assert ulps(loop(operands), wanted).max() <= table.MOST_ULPS


def test_whatever_is_chosen_is_exact_enough():
    for name, dtype in MEASURED:
        for provider in table.providers(name, dtype):
            assert MEASURED[name, dtype][1][COLUMNS.index(table.MEASURED_AS.get(provider, provider))] <= table.MOST_ULPS


@pytest.mark.parametrize("name, dtype, cpu", chosen_loops())
def test_a_value_depends_on_the_value_alone(name, dtype, cpu):
    """Not on the length, the position, the neighbours, gaps, the direction, or whether the result overwrites it."""
    loop = loop_for(name, dtype, cpu)
    count = len(loop.dtypes) - 1
    values = [special_values(dtype), *samples(dtype, count, 100, seed=2)[0][:1]]
    operands = [numpy.resize(numpy.roll(numpy.concatenate(values), 7 * shift), 600) for shift in range(count)]
    whole = bits(loop(*operands))
    for start, stop in [(0, 1), (5, 6), (160, 163), (3, 7), (31, 46), (1, 600), (7, 24)]:
        numpy.testing.assert_array_equal(bits(loop(*[x[start:stop].copy() for x in operands])), whole[start:stop])
    for step in (2, 3, -1, -2):
        numpy.testing.assert_array_equal(bits(loop(*[x[::step] for x in operands])), whole[::step])
    apart = [numpy.stack([x] * 3, axis=1)[:, 1] for x in operands]
    numpy.testing.assert_array_equal(bits(loop(*apart)), whole)
    if count == 2:
        constant = [operands[0], numpy.full(600, operands[1][20])]
        wanted = bits(loop(*constant))
        numpy.testing.assert_array_equal(
            bits(loop(operands[0], numpy.broadcast_to(operands[1][20:21], (600,)))), wanted)
        wanted = bits(loop(constant[1], operands[0]))
        numpy.testing.assert_array_equal(
            bits(loop(numpy.broadcast_to(operands[1][20:21], (600,)), operands[0])), wanted)
    for position in range(0, 600, 60):
        alike = [numpy.broadcast_to(x[position:position + 1], (20,)) for x in operands]
        numpy.testing.assert_array_equal(bits(loop(*alike)), numpy.repeat(whole[position], 20))


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_fusion_and_threads_change_no_bit(dtype, cpu):
    values = numpy.random.default_rng(0).uniform(-3, 3, 70_001).astype(dtype)
    x = T.TensorType(dtype, (False,))()
    with change_flags(cpu=cpu):
        alone = phintys.function([x], T.tanh(x))(values)
        with change_flags(workers=2):
            together = phintys.function([x], [T.tanh(x), T.exp(x) * 0, T.tanh(x) + T.exp(x)])
        single, _, _ = together(values)
        total = phintys.function([x], T.maximum(T.tanh(x), 0).max())(values)
    numpy.testing.assert_array_equal(single, alone)
    assert total == alone.max()
    numpy.testing.assert_array_equal(together(values[:33])[0], alone[:33])


# ---- choice ----------------------------------------------------------------------------------------------------------
def test_numpys_loops_give_numpys_bits():
    values = numpy.random.default_rng(0).uniform(0.1, 0.9, 1001)
    x = T.dvector()
    with change_flags(math="numpy"):
        function = phintys.function([x], [getattr(T, name)(x) for name in ("exp", "log", "tanh", "sin", "arcsin")]
                                    + [x ** 3.5, x ** 10, T.erf(x), T.logaddexp(x, x * x)])
    wanted = [getattr(numpy, name)(values) for name in ("exp", "log", "tanh", "sin", "arcsin")]
    for got, value in zip(function(values), [*wanted, values ** 3.5, values ** 10, scipy.special.erf(values),
                                      numpy.logaddexp(values, values * values)]):
        numpy.testing.assert_array_equal(got, value)


def test_functions_are_looked_up_where_there_may_be_some():
    assert symbol_of("exp", "float64", "neon") == ("_ZGVnN2v_exp" if "neon" in vector_sets() else None)
    assert symbol_of("exp", "int64", "avx2") is None
    assert not has_vector_function("exp", "float64", "another avx2")
    for instructions in vector_sets():
        assert has_vector_function("tanh", "float64", f"phintys {instructions}")


@pytest.mark.skipif(not has_vector_function("exp2", "float64", "libmvec avx2"), reason="needs AVX2 and glibc 2.35")
def test_options_choose_the_provider():
    assert loop_for("exp2", "float64", "avx2").provider == "glibc AVX2"
    assert loop_for("tanh", "float64", "avx2").provider == "phintys AVX2"
    assert loop_for("erf", "float64", "avx2").provider == "glibc AVX2"
    assert loop_for("tanh", "float64", "baseline").provider == "NumPy"
    assert loop_for("erf", "float64", "baseline").provider == "SciPy"
    with change_flags(cpu="avx2", math="numpy"):
        assert find_loop(numpy.tanh, ("float64",) * 2).provider == "NumPy"
    assert loop_for("sqrt", "float64", "avx2").provider == "NumPy"
    assert find_loop("cast", ("float64", "float32")).provider == "phintys"


def test_what_numpy_does_as_fast_stays_numpys(monkeypatch):
    monkeypatch.setattr(table, "MEASURED", {("exp", "float64"): ((1.0, 1.0, None, None, 1.05, 1.05), (1,) * 6)})
    assert table.providers("exp", "float64") == []
    assert table.providers("log", "float64") == []          # not measured


@change_flags(math="vector", cpu="native")
def test_what_is_not_exact_enough_is_not_used(monkeypatch):
    for name in ("usable_sets", "vector_sets"):
        monkeypatch.setattr(table, name, lambda: () if config.cpu == "baseline" else ("avx2", "avx512"))
    row = (1.0, 2.0, 3.0, None, 9.0, 9.0), (4.1, 3.9, 1, None, 1, 1)
    monkeypatch.setattr(table, "MEASURED", {("exp", "float64"): row})
    assert table.providers("exp", "float64") == ["libmvec avx2", "phintys avx512"]
    with change_flags(cpu="baseline"):
        assert table.providers("exp", "float64") == []


@pytest.mark.parametrize("missing", [("libmvec mmx", "nothing"), ()])
def test_the_next_provider_serves_where_one_is_missing(monkeypatch, missing):
    monkeypatch.setattr("phintys.ops.native.loops.providers", lambda name, dtype: missing)
    with change_flags(cpu="baseline"):                      # another loop than those that are kept
        assert find_loop(numpy.exp, ("float64",) * 2).provider == "NumPy"


def test_no_vector_function():
    assert provided_loop(numpy.sqrt, ("float64",) * 2, "libmvec avx2") is None
    assert provided_loop(numpy.exp, ("complex128",) * 2, "libmvec avx2") is None
    assert provided_loop(numpy.exp, ("float64",) * 2, "libmvec mmx") is None
    assert provided_loop(numpy.frompyfunc(abs, 1, 1), ("float64",) * 2, "libmvec avx2") is None
    if "neon" not in vector_sets():                         # with NEON, one set serves all levels
        assert symbol_of("exp", "float64", "avx2") == "_ZGVdN4v_exp"
        assert symbol_of("power", "float32", "avx512") == "_ZGVeN16vv_powf"


def test_a_ufunc_of_another_kind_is_not_mistaken_for_numpys():
    exp = numpy.vectorize(numpy.exp)
    exp.nin, exp.__name__ = 1, "exp"
    assert provided_loop(exp, ("float64",) * 2, "libmvec avx2") is None


def test_every_function_has_rows():
    assert {name for name, _ in MEASURED} == set(FUNCTIONS)
    assert {dtype for _, dtype in MEASURED} == {"float64", "float32", "float16"}


@pytest.mark.skipif(not has_vector_function("softplus", "float64", "phintys avx2"), reason="needs AVX2")
def test_softplus_is_one_loop_where_vectors_are_allowed():
    """Otherwise it is NumPy's exp and log1p."""
    values = numpy.array([-800, -745.1, -90, -3, -1e-9, 0, 2, 40, 800])
    x = T.dvector()
    formulas = {T.nnet.softplus(x): numpy.logaddexp(0, values),
                T.logaddexp(x, 2 * x): numpy.logaddexp(values, 2 * values),
                T.nnet.sigmoid_binary_crossentropy(x, T.ones_like(x)): numpy.logaddexp(0, -values)}
    for formula, wanted in formulas.items():
        for cpu, present, absent in [("avx2", "softplus: phintys AVX2", "log1p"), ("baseline", "log1p", "softplus:")]:
            with change_flags(cpu=cpu, math="vector"):
                function = phintys.function([x], formula)
            numpy.testing.assert_allclose(function(values), wanted, rtol=1e-15)
            loops = " ".join(function.explain().partition("loops: ")[2].replace("#", " ").split())
            assert present in loops and absent not in loops
    with change_flags(math="numpy"):
        numpy.testing.assert_array_equal(phintys.function([x], T.nnet.softplus(x))(values[2:-1]),
                                         numpy.log1p(numpy.exp(values[2:-1])))


def test_softplus_of_half_floats_overflows_nowhere():
    values = numpy.array([-20, -12, 0, 11, 12, 60000, numpy.inf, numpy.nan], "float16")
    for cpu in CPUS:
        x = T.TensorType("float16", (False,))()
        with change_flags(cpu=cpu):
            got = phintys.function([x], T.nnet.softplus(x))(values)
        assert got.dtype == "float16"
        numpy.testing.assert_allclose(got[:-2], numpy.logaddexp(0, values[:-2].astype("float64")), rtol=2e-3, atol=6e-8)
        assert got[-2] == numpy.inf and numpy.isnan(got[-1])


# ---- measuring -------------------------------------------------------------------------------------------------------
def test_every_provider_is_measured(script):
    loops = script["loops_of"]("tanh", "float32")
    assert list(loops)[-1].startswith("numpy") and set(loops) <= {*COLUMNS, *table.MEASURED_AS}
    assert script["loops_of"]("erf", "float16") == {}       # SciPy has no loop for it
    speeds = script["speeds"]("tanh", "float32", loops, 1e-5)
    errors = script["errors"]("tanh", "float32", loops, 50)
    assert set(speeds) == set(errors) == set(loops)
    assert min(speeds.values()) > 0 and 0 < max(errors.values()) <= table.MOST_ULPS


def test_columns_that_cannot_be_measured_here_keep_their_numbers(script):
    now = {"tanh float64": ({"libmvec avx2": 7.5}, {"libmvec avx2": 3})}
    name, dtype, row = script["merged"]("tanh float64", [now])
    assert (name, dtype) == ("tanh", "float64")
    for new, old, measured in zip(row, MEASURED["tanh", "float64"], (7.5, 3)):
        wanted = dict(zip(COLUMNS, old)) | {"libmvec avx2": measured}
        assert dict(zip(COLUMNS, new)) == wanted


def test_a_loop_called_from_python_checks_its_operands():
    loop = ufunc_loop(numpy.hypot, ("float64",) * 3)
    numpy.testing.assert_array_equal(loop(numpy.ones(3) * 3, numpy.ones(3) * 4), numpy.full(3, 5.0))
    with pytest.raises(TypeError, match="operand 1 is float32"):
        loop(numpy.ones(3), numpy.ones(3, "float32"))
    with pytest.raises(TypeError, match="hypot takes 2 operands, not 1"):
        loop(numpy.ones(3))


@pytest.mark.parametrize("option, value", [("math", "fast"), ("cpu", "sse9")])
def test_other_values_are_refused(option, value):
    with pytest.raises(ValueError, match=f"config.{option} cannot be '{value}'"):
        config.set(option, value)
