"""Loops that are linear recurrences of rows: their steps are done by a loop in C."""
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.vm.loops.loop_kernel import loops_in

RNG = numpy.random.RandomState(3)
FORMS = {"term first": lambda a, g, h: g + a * h, "product first": lambda a, g, h: a * h + g,
         "state first": lambda a, g, h: h * a + g, "both": lambda a, g, h: g + h * a}


def recurrence(step, rank=1, dtype="float64"):
    a, g = [T.TensorType(dtype, (False,) * (rank + 1))() for _ in "ag"]
    h = T.TensorType(dtype, (False,) * rank)()
    return [a, g, h], phintys.scan(step, [a, g], h)[0]


def values(steps, shape, dtype="float64"):
    made = [RNG.uniform(-1, 1, (steps, *shape)), RNG.uniform(-1, 1, (steps, *shape)), RNG.uniform(-1, 1, shape)]
    return [(value + (1j * value[..., ::-1] if "complex" in dtype else 0)).astype(dtype) for value in made]


def kind(f):
    body = loops_in(f.program)[0].scalar_body
    return None if body is None else body.steps_are_done


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_values_and_rows_that_are_kept(form, dtype):
    inputs, rows = recurrence(form, 2, dtype)
    for outputs in (rows, rows[-1], rows[-3:]):
        f, plain = [phintys.function(inputs, outputs, mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
        assert kind(f) == "as a linear recurrence"
        for steps in (1, 2, 7, 3000):
            given = values(steps, (3, 2), dtype)
            numpy.testing.assert_array_equal(f(*given), plain(*given))
    assert "once a step, as a linear recurrence" in f.explain("instructions")


@pytest.mark.parametrize("step", [
    lambda a, g, h: g - a * h, lambda a, g, h: g + a * g, lambda a, g, h: a + a * h, lambda a, g, h: h + a * g,
    lambda a, g, h: g + a * h * h, lambda a, g, h: g + a * h[0], lambda a, g, h: (g + a * h) * 2])
def test_other_bodies(step):
    inputs, rows = recurrence(step)
    f, plain = [phintys.function(inputs, rows, mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    given = values(9, (3,))
    assert kind(f) is None
    numpy.testing.assert_allclose(f(*given), plain(*given))


def test_rows_with_gaps_of_other_lengths_and_without_elements():
    inputs, rows = recurrence(FORMS["both"])
    f, plain = [phintys.function(inputs, rows, mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    for given in ([numpy.asfortranarray(value) for value in values(50, (5,))], values(4, (0,)), values(0, (3,)),
                  [value[::-1] for value in values(50, (5,))]):
        numpy.testing.assert_array_equal(f(*given), plain(*given))
    a, g, h = values(6, (3,))
    for given in ((a[:, :2], g, h), (a, g[:, :2], h), (a, g, h[:2]), (a[:, :1], g, h)):
        with pytest.raises(ValueError, match="in step 0 of for.cpu,scan_fn., of 6 steps"):
            f(*given)


def test_gradients():
    inputs, rows = recurrence(FORMS["both"])
    phintys.gradient.verify_grad(lambda *given: phintys.scan(FORMS["both"], given[:2], given[2])[0].sum(axis=0),
                                 values(6, (3,)), rng=RNG)
    f = phintys.function(inputs, T.grad((rows ** 2).sum(), inputs))
    plain = phintys.function(inputs, T.grad((rows ** 2).sum(), inputs), mode="FAST_COMPILE")
    given = values(30, (4,))
    for found, wanted in zip(f(*given), plain(*given)):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_saved_bodies_and_two_threads():
    inputs, rows = recurrence(FORMS["both"])
    f = phintys.function(inputs, rows)
    body = loops_in(f.program)[0].scalar_body
    for again in (pickle.loads(pickle.dumps(body)), copy.copy(body)):
        assert again is not body and again.spec == body.spec and type(again) is type(body)
    given = values(5000, (40,))
    wanted = f(*given)
    numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*given), wanted)
    with ThreadPoolExecutor(2) as threads:
        for call in [threads.submit(lambda: [f(*given) for _ in range(10)]) for _ in range(2)]:
            for found in call.result():
                numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("rank", [0, 1])
def test_derivatives_are_recurrences(rank):
    """Of any order, and along directions: no loop does its steps one by one."""
    inputs, rows = recurrence(FORMS["product first"], rank)
    first = T.grad((rows[-2:] ** 2).sum(), inputs)
    second = T.grad(sum([(gradient ** 2).sum() for gradient in first]), inputs)
    along = phintys.Rop(rows, inputs, [variable * 2 for variable in inputs])
    f, plain = [phintys.function(inputs, [*first, *second, along], mode=mode) for mode in ("FAST_RUN", "FAST_COMPILE")]
    assert {kernel.scalar_body.steps_are_done for kernel in loops_in(f.program)} == {"as a linear recurrence"}
    for steps in (2, 9, 3000):
        given = values(steps, (4,) * rank)
        for found, wanted in zip(f(*given), plain(*given)):
            numpy.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-300)


def test_derivatives_by_truncated_loops_and_few_rows():
    inputs, _ = recurrence(FORMS["both"])
    a, g, h = inputs
    for options in ({}, {"truncate_gradient": 2}):
        rows = phintys.scan(FORMS["both"], [a, g], h, **options)[0]
        f = phintys.function(inputs, T.grad(rows[-1].sum(), a))
        found = f(*values(6, (3,)))
        assert (found[:4] == 0).all() == bool(options) and found[5].all()
