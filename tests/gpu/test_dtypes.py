"""What has no kernel on the device though an operation has one, by dtype; and functions of numbers that have no text
there: ``refused.txt`` lists them all."""
import re
import warnings
from pathlib import Path

import pytest

import phintys
import phintys.tensor as T
from phintys.gpu.gpu_array_type import DTYPES
from phintys.gpu.transfers import HostFromGpu
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.tensor import nnet
from phintys.tensor import slinalg as S

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "gpu.md"
LIST = Path(__file__).with_name("refused.txt")
EXPRESSIONS = {
    "x + x": lambda x: x + x, "x * x": lambda x: x * x, "-x": lambda x: -x, "abs(x)": lambda x: abs(x),
    "x / y": lambda x: x / x[0], "x // x": lambda x: x // x, "x % x": lambda x: x % x, "x ** 2": lambda x: x ** 2,
    "x ** x": lambda x: x ** x, "exp(x)": lambda x: T.exp(x), "sqrt(x)": lambda x: T.sqrt(x),
    "tanh(x)": lambda x: T.tanh(x), "erf(x)": lambda x: T.erf(x), "gammaln(x)": lambda x: T.gammaln(x),
    "psi(x)": lambda x: T.psi(x), "x < x": lambda x: x < x, "x == x": lambda x: T.eq(x, x),
    "maximum(x, x)": lambda x: T.maximum(x, x), "switch(x, x, x)": lambda x: T.switch(x, x, x),
    "x & x": lambda x: x & x, "~x": lambda x: ~x, "floor(x)": lambda x: T.floor(x), "isnan(x)": lambda x: T.isnan(x),
    "x.astype('float32')": lambda x: x.astype("float32"), "x.real": lambda x: T.real(x), "conj(x)": lambda x: T.conj(x),
    "angle(x)": lambda x: T.angle(x),
    "sum(x)": lambda x: x.sum(), "sum(x, 0)": lambda x: x.sum(0), "prod(x)": lambda x: x.prod(),
    "max(x)": lambda x: x.max(), "any(x)": lambda x: T.any(x), "all(x)": lambda x: T.all(x),
    "mean(x)": lambda x: x.mean(), "var(x)": lambda x: x.var(),
    "argmax(x)": lambda x: x.argmax(), "cumsum(x)": lambda x: T.cumsum(x), "cumprod(x)": lambda x: T.cumprod(x),
    "sort(x)": lambda x: T.sort(x), "argsort(x, kind='stable')": lambda x: T.argsort(x, kind="stable"),
    "argsort(x)": lambda x: T.argsort(x),
    "partition(x, 1)": lambda x: T.partition(x, 1), "searchsorted(x, x)": lambda x: T.searchsorted(x[0], x[1]),
    "dot(x, x)": lambda x: T.dot(x, x), "dot(x, x[0])": lambda x: T.dot(x, x[0]),
    "outer(x, x)": lambda x: T.outer(x[0], x[1]), "batched_dot(x, x)": lambda x: T.batched_dot(x[None], x[None]),
    "x.T": lambda x: x.T.reshape((-1,)), "concatenate([x, x])": lambda x: T.concatenate([x, x]),
    "tile(x, 2)": lambda x: T.tile(x, (2, 2)), "repeat(x, 2)": lambda x: T.repeat(x, 2),
    "roll(x, 1)": lambda x: T.roll(x, 1),
    "tril(x)": lambda x: T.tril(x), "diag(x)": lambda x: T.diag(x[0]), "diagonal(x)": lambda x: T.diagonal(x) + x[0],
    "x[[0, 1]]": lambda x: x[T.constant([0, 1])], "x[[0], [1]]": lambda x: x[T.constant([0]), T.constant([1])],
    "inc_subtensor(x[1:], 1)": lambda x: T.inc_subtensor(x[1:], x[0]),
    "inc_subtensor(x[[0, 1]], 1)": lambda x: T.inc_subtensor(x[T.constant([0, 1])], x[0]),
    "set_subtensor(x[[0, 1]], 1)": lambda x: T.set_subtensor(x[T.constant([0, 1])], x[0]),
    "softmax(x)": lambda x: nnet.softmax(x), "logsoftmax(x)": lambda x: nnet.logsoftmax(x),
    "conv2d(x, x)": lambda x: nnet.conv2d(x[None, None], x[None, None]),
    "pool_2d(x)": lambda x: T.signal.pool.pool_2d(x, (2, 2), ignore_border=True),
    "rfft(x)": lambda x: T.fft.rfft(x),
    "cholesky(x)": lambda x: S.cholesky(x), "solve(x, x)": lambda x: S.solve(x, x),
    "det(x)": lambda x: T.nlinalg.det(x),
    "matrix_inverse(x)": lambda x: T.nlinalg.matrix_inverse(x), "qr(x)": lambda x: T.nlinalg.qr(x)[0],
    "svd(x)": lambda x: T.nlinalg.svd(x)[1], "eigh(x)": lambda x: T.nlinalg.eigh(x)[0],
    "bincount(x)": lambda x: T.bincount(x[0]),
}


def listed():
    return dict(line.split(": ") for line in LIST.read_text().splitlines() if not line.startswith("#"))


def is_refused(expression, *dtypes):
    """Whether matrices are transferred to the host for it; None if there is no such function."""
    operands = [phintys.gpu.GpuArrayType(dtype, (False, False))() for dtype in dtypes]
    try:
        f = phintys.function(operands, expression(*map(phintys.gpu.host_from_gpu, operands)),
                             on_unused_input="ignore")
    except (TypeError, ValueError, NotImplementedError):
        return None                                 # NumPy has none, either
    fgraph = f.maker.fgraph
    return any([isinstance(node.op, HostFromGpu) and node.outputs[0].ndim and reader != "output"
                and not isinstance(reader.op, EqualLengths)         # which passes on a result of the host
                for node in fgraph.apply_nodes for reader, _ in fgraph.clients[node.outputs[0]]])


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_refused_dtypes(device, name):
    refused = [dtype for dtype in sorted(DTYPES) if is_refused(EXPRESSIONS[name], dtype)]
    assert " ".join(refused) == listed().get(name, "")


def test_functions_of_numbers_without_a_text(device):
    """All of ``phintys.tensor`` that make an elementwise node of one to four numbers."""
    refused = []
    for name in T.__all__:
        if T._HOMES.get(name, "").startswith("compositions."):
            continue
        function = getattr(T, name)
        for count in (1, 2, 3, 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", DeprecationWarning)      # a variable for a dtype, in NumPy 2.2
                try:
                    result = function(*[T.fmatrix() for _ in range(count)])
                except Exception:                   # it takes other arguments
                    continue
            if type(getattr(getattr(result, "owner", None), "op", None)) is T.Elemwise and is_refused(
                    function, *["float32"] * count):
                refused.append(name)
                break
    assert " ".join(sorted(refused)) == listed()["functions of float32"]


def test_the_guide_names_the_functions():
    section = GUIDE.read_text().partition("these functions of numbers computed: ")[2].partition(". ")[0]
    assert re.findall("`(.*?)`", section) == listed()["functions of float32"].split()
