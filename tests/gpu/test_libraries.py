"""NVIDIA's libraries compute where they are ahead of kernels of our own; without them the results are the same.

On the stand-in the libraries check the arguments of their calls, and count them.
"""
import cases
import numpy
import pytest
from support_gpu import at_device
from test_cases import check

import phintys
import phintys.tensor as T
from phintys.gpu.libraries.cudnn import choices
from phintys.tensor import slinalg as S

# An option, the library that is called, and the beginnings of the names of cases that it computes.
USERS = [("cusolver", "cusolver", ("cholesky of large", "large systems", "eigenvalues of large")),
         ("cusolver", "cublas", ("large triangular",)),
         ("cublas", "cublas", ("large dot", "float16 dots", "dot of complex", "batched products")),
         ("cublas", "cublasLt", ("large gemm",)), ("cufft", "cufft", ("many Fourier",)),
         ("cudnn", "cudnn", ("convolution", "gradients of convolution", "float16 convolutions"))]
CASES = [pytest.param(option, library, case, id=case[0]) for option, library, beginnings in USERS
         for case in cases.CASES if case[0].startswith(beginnings)]


def calls(device, library):
    return getattr(device, library).stand_in_calls()


@pytest.mark.parametrize(("option", "library", "case"), CASES)
def test_library_only_if_wanted(device, option, library, case):
    if not device.is_stand_in:
        pytest.skip("only the stand-in counts")
    before = calls(device, library)
    with phintys.change_flags({f"gpu.{option}": False}):
        check(case, device)
    assert calls(device, library) == before
    check(case, device)
    assert calls(device, library) > before


def at_both(expression, *values):
    """What a function raises on the host and on the device."""
    found = []
    for target in ("cpu", "cuda"):
        with at_device():
            function = phintys.function([], expression(*[phintys.shared(value, target=target) for value in values]))
        with pytest.raises(Exception) as raised:
            function()
        found.append((raised.type, str(raised.value).split("\n")[0]))
    return found


SINGULAR, INFINITE, INDEFINITE = [numpy.eye(75) for _ in range(3)]
SINGULAR[:, 7] = SINGULAR[:, 30]
INFINITE[3, 50] = INFINITE[50, 3] = numpy.inf
INDEFINITE[41, 41] = -1
SIDE = numpy.ones(75)


@pytest.mark.parametrize(("expression", "values"), [
    (T.linalg.eigvalsh, (INFINITE,)), (S.cholesky, (INDEFINITE,)), (S.cholesky, (INFINITE,)),
    (lambda x, y: S.cholesky(T.stack([x, y, x])), (numpy.eye(75), INDEFINITE)),
    (S.solve, (SINGULAR, SIDE)), (S.solve, (INFINITE, SIDE)), (S.solve, (numpy.eye(75), SIDE * numpy.nan)),
    (lambda x, y, b: S.solve(T.stack([x, y]), b), (numpy.eye(75), SINGULAR, SIDE[:, None])),
    (T.linalg.inv, (SINGULAR,)), (lambda x, b: [S.solve(x, b), S.solve(x, 2 * b + 1)], (SINGULAR, SIDE)),
    (lambda x, b: [S.solve(x, b), S.solve(x, 2 * b + 1)], (INFINITE, SIDE)),
    *[(lambda x, b: S.solve_triangular(x, b, lower=True), values) for values in (
        (INFINITE, SIDE), (numpy.diag(1. * (numpy.arange(75) % 17 != 16)), SIDE), (numpy.eye(75), SIDE * numpy.inf))],
])
def test_same_errors(device, expression, values):
    host, mine = at_both(expression, *values)
    assert mine == host


def test_convolutions_in_tf32_only_when_asked(device):
    """And never by algorithms whose order of additions is not fixed."""
    if not device.is_stand_in:
        pytest.skip("only the stand-in counts")

    def counted(function, **flags):
        before = [device.cudnn.stand_in_calls(), device.cudnn.stand_in_calls_in_tf32()]
        with phintys.change_flags(flags):
            function()
            phintys.gpu.wait()
        return [now - then for now, then in zip([device.cudnn.stand_in_calls(), device.cudnn.stand_in_calls_in_tf32()],
                                                before)]

    with at_device():
        x, w = [phintys.shared(numpy.ones(shape, "float32"), target="cuda") for shape in ((2, 3, 9, 7), (4, 3, 3, 3))]
        loss = T.nnet.conv2d(x, w).sum()
        function = phintys.function([], [], updates=[(v, v - T.grad(loss, v)) for v in (x, w)])
    function()
    assert counted(function) == [2, 0]
    measured, in_tf32 = counted(function, **{"gpu.tf32": True})
    assert measured == in_tf32 > 2
    assert counted(function, **{"gpu.tf32": True}) == [2, 2]
    assert counted(function) == [2, 0]
    assert device.cudnn.stand_in_calls_in_any_order() == 0
    assert [choice[:4] for choice in choices() if choice[1] == (2, 3, 9, 7)] == [
        (role, (2, 3, 9, 7), (4, 3, 3, 3), in_tf32) for in_tf32 in (False, True)
        for role in ("by filters", "by images")]        # the last ones first


def test_unmeasured_if_deterministic(device):
    with at_device(), phintys.change_flags({"deterministic": "more"}):
        x, w = [phintys.shared(numpy.ones(shape, "float32"), target="cuda") for shape in ((2, 3, 8, 7), (4, 3, 3, 3))]
        phintys.function([], T.nnet.conv2d(x, w))()
    assert [choice[4] for choice in choices() if choice[1] == (2, 3, 8, 7)] == [1]


def transform_of_lines():
    """The transform of lines of 8 numbers that are given, on the device."""
    with at_device():
        x = phintys.shared(numpy.zeros((1, 8), "complex64"), target="cuda")
        function = phintys.function([], T.fft.fft(phintys.gpu.host_from_gpu(x)))

    def check_with(lines):
        value = cases.complexes(lines, 8)
        x.set_value(value)
        numpy.testing.assert_allclose(function(), numpy.fft.fft(value), rtol=1e-4, atol=1e-4)
    return check_with


def test_many_shapes(device):
    """The last ones are kept; others are planned, or measured, again."""
    check_transform = transform_of_lines()
    with at_device():
        y = phintys.shared(numpy.zeros((1, 1, 4, 4), "float32"), target="cuda")
        convolve = phintys.function([], T.nnet.conv2d(y, numpy.ones((1, 1, 3, 3), "float32")))
    for more in [*range(70), *range(70), 3, 3, 69, 69]:
        check_transform(2048 + more)
        y.set_value(numpy.ones((1, 1, 4, 4 + more), "float32"))
        assert (convolve() == 9).all()
    assert len(choices()) == 64
    if device.is_stand_in:
        assert device.cufft.stand_in_plans() == 64


def test_a_graph_with_a_plan_that_was_given_up_is_not_replayed(device):
    """Although the next plan has its number, and all else is equal."""
    first, others = transform_of_lines(), transform_of_lines()
    for before in (2110, 2111):
        for _ in range(4):
            first(before)
        for more in range(63):
            others(2200 + 7 * more + before % 2)
    for _ in range(4):
        first(2112)
