"""docs/seeds.md: its rows are numbered and name tests that exist; and promises that no other test shows."""
import ast
import re
from functools import cache
from pathlib import Path

import numpy
import pytest
import scipy.signal
import scipy.special

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| (.+) \| (`.+`) \|$", re.MULTILINE)
COUNTS = {"memory": 34, "paper": 40, "sharing": 7, "loops": 33}


def rows_of(text):
    """(number, promise, the tests that show it) of each row of the page's tables."""
    return [(int(number), promise, re.findall(r"`([^`]+)`", tests)) for number, promise, tests in ROW.findall(text)]


ROWS = rows_of((ROOT / "docs" / "seeds.md").read_text())


@cache
def names_in(path):
    """Names of the tests of a file, as pytest has them; the file is not imported."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            names |= {f"{node.name}::{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
    return {name for name in names if name.rpartition("::")[2].startswith("test_")}


def exists(test):
    file, _, name = test.partition("::")
    path = ROOT / file
    return file.startswith("tests/") and path.name.startswith("test_") and path.is_file() and name in names_in(path)


def test_rows_are_numbered():
    assert [number for number, _, _ in ROWS] == list(range(1, 1 + sum(COUNTS.values()))) and len(ROWS) == 114
    assert [promise for _, promise, tests in ROWS if not 1 <= len(tests) <= 2] == []
    promises = [promise for _, promise, _ in ROWS]
    assert len(set(promises)) == len(promises)


def test_each_document_has_its_rows():
    tables = re.split(r"^## ", (ROOT / "docs" / "seeds.md").read_text(), flags=re.MULTILINE)
    assert [len(rows_of(table)) for table in tables if rows_of(table)] == list(COUNTS.values())


def test_named_tests_exist():
    assert [f"{number}: {test}" for number, _, tests in ROWS for test in tests if not exists(test)] == []


def test_what_does_not_exist_is_found():
    assert exists("tests/docs/test_seeds.py::test_named_tests_exist")
    assert exists("tests/api/scan_module/test_recurrent_networks.py::TestSentiment::test_gradients")
    for test in ("tests/docs/test_seeds.py::test_that_moved", "tests/docs/test_seed.py::test_rows_are_numbered",
                 "tests/docs/test_seeds.py::exists", "tests/docs/test_seeds.py"):
        assert not exists(test)


# ---- the paper's table of operations ---------------------------------------------------------------------------------
random = numpy.random.RandomState(0)
A, B, N = random.uniform(0.5, 2.0, (3, 3)), random.uniform(0.5, 2.0, (3, 3)), numpy.array([[6, 3, 5]])
Z, S = A + 1j * B, A @ A.T + numpy.eye(3)
IMAGE, FILTER = random.randn(1, 1, 6, 6), random.randn(1, 1, 3, 3)
a, b, s = T.dmatrix("a"), T.dmatrix("b"), T.dmatrix("s")
n, z = T.lmatrix("n"), T.zmatrix("z")
image, taps = T.dtensor4("image"), T.dtensor4("taps")
VALUES = {a: A, b: B, s: S, n: N, z: Z, image: IMAGE, taps: FILTER}


def changed(value, place, by, add=False):
    value = value.copy()
    value[place] = value[place] + by if add else by
    return value


# Row of the table → pairs of what is computed and its value.
TABLE = {
    "operators": [
        (a + b, A + B), (a - b, A - B), (a / b, A / B), (a * b, A * B), (a ** b, A ** B), (a // b, A // B),
        (T.eq(a, b), A == B), (T.neq(a, b), A != B), (a < b, A < B), (a <= b, A <= B), (a > b, A > B),
        (a >= b, A >= B), (n & 5, N & 5), (n | 5, N | 5), (n ^ 5, N ^ 5)],
    "allocation": [
        (T.alloc(2.0, 3, 2), numpy.full((3, 2), 2.0)), (T.eye(3), numpy.eye(3)), (T.ones_like(a), numpy.ones((3, 3))),
        (T.zeros_like(a), numpy.zeros((3, 3))), (T.identity_like(a), numpy.eye(3))],
    "indexing": [
        (a[1:, ::-1], A[1:, ::-1]), (a[-1, 0], A[-1, 0]), (a[[2, 0], [1, 1]], A[[2, 0], [1, 1]]),
        (a[a > 1], A[A > 1]), (T.set_subtensor(a[0], 5.0), changed(A, 0, 5.0)),
        (T.inc_subtensor(a[:, 1], b[0]), changed(A, (slice(None), 1), B[0], add=True))],
    "functions": [
        *[(getattr(T, name)(a), getattr(numpy, name)(A)) for name in
          "exp log tan tanh cos cosh sin sinh sqrt floor ceil".split()],
        (T.real(z), A), (T.imag(z), B), (T.round(a), numpy.round(A)), (abs(-a), A)],
    "tensors": [
        *[(getattr(T, name)(a, axis=1), getattr(numpy, name)(A, axis=1)) for name in
          "all any mean sum min max var prod argmin argmax".split()],
        (a.reshape((9, 1)), A.reshape(9, 1)), (a.flatten(), A.ravel()), (a.dimshuffle(1, "x", 0), A.T[:, None])],
    "conditional": [
        (T.switch(a > b, a, b), numpy.maximum(A, B)), (ifelse(T.gt(a[0, 0], 9), a, b), B)],
    "linear algebra": [
        (T.dot(a, b), A @ B), (T.outer(a[0], b[0]), numpy.outer(A[0], B[0])),
        (T.tensordot(a, b, 2), numpy.tensordot(A, B, 2)), (T.diag(a), numpy.diag(A)), (T.diag(a[0]), numpy.diag(A[0])),
        (T.slinalg.cholesky(s), numpy.linalg.cholesky(S)), (T.nlinalg.matrix_inverse(s), numpy.linalg.inv(S)),
        (T.slinalg.solve(s, b), numpy.linalg.solve(S, B))],
    "signals": [
        (T.nnet.conv2d(image, taps)[0, 0], scipy.signal.convolve2d(IMAGE[0, 0], FILTER[0, 0], "valid")),
        (T.signal.pool.pool_2d(image, (2, 2), ignore_border=True)[0, 0],
         IMAGE[0, 0].reshape(3, 2, 3, 2).max(axis=(1, 3))),
        (T.fft.rfft(a)[..., 0], numpy.fft.rfft(A).real), (T.fft.rfft(a)[..., 1], numpy.fft.rfft(A).imag)],
    "learning": [
        (T.nnet.sigmoid(a), scipy.special.expit(A)), (T.nnet.softmax(a), scipy.special.softmax(A, axis=1)),
        (T.nnet.multiclass_hinge_loss(a, T.constant([0, 1, 2])), numpy.maximum(
            0, numpy.max(A - 9 * numpy.eye(3), axis=1) - A.diagonal() + 1))],
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("row", TABLE)
def test_operations_of_the_papers_table(row, mode):
    outputs, wanted = zip(*TABLE[row])
    f = phintys.function(list(VALUES), list(outputs), mode=mode, on_unused_input="ignore")
    for output, found, value in zip(outputs, f(*VALUES.values()), wanted):
        numpy.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-12, err_msg=str(output))


# ---- the paper's examples of what the compiler does ------------------------------------------------------------------
u, v, w, y = T.dvectors("u", "v", "w", "y")


def operations(output):
    """Names of the scalar operations of the compiled function, and of its other ops."""
    mode = phintys.Mode().excluding("fusion", "length_checks")
    f = phintys.function([u, v, w, y], output, on_unused_input="ignore", mode=mode)
    return sorted([getattr(node.op, "scalar_op", node.op).__class__.__name__ for node in f.maker.fgraph.toposort()])


def test_examples_of_the_pipeline():
    assert operations(u / (((u * v) / w) / y)) == operations(w * y / v)
    assert not {"Exp", "Log"} & set(operations(T.exp(T.log(u)) * v))
    numpy.testing.assert_array_equal(T.exp(T.log(u)).eval({u: [3.0, 0.0, -1.0]}), [3.0, 0.0, numpy.nan])
    assert operations(T.log(1 + T.exp(u))) == ["ScalarSoftplus"]
    assert operations(T.pow(u, 2)) == ["Sqr"]
    assert len(operations(u * (numpy.float64(2) * 3 + T.constant(4.0)) + 0)) == 1


def test_mapped_expressions_are_one_kernel():
    f = phintys.function([u, v, w], u * v + w)
    node, = f.maker.fgraph.toposort()
    assert type(node.op.scalar_op).__name__ == "Composite"
    numpy.testing.assert_array_equal(f([2.0], [3.0], [4.0]), [10.0])


def test_reshapes_transposes_and_slices_are_views():
    x = T.dmatrix("x")
    value = numpy.arange(12.0).reshape(3, 4)
    for output in (x.T, x[1:, ::2], x.reshape((2, 6)), x.dimshuffle(1, "x", 0)):
        f = phintys.function([phintys.In(x, borrow=True)], phintys.Out(output, borrow=True))
        assert numpy.shares_memory(f(value), value)


class Words(phintys.Type):
    """Values are lists of words."""

    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise TypeError(f"a list of words is expected, got {value!r}")
        return value

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(Words)


class Count(phintys.Op):
    """How many words there are."""

    __props__ = ()

    def make_node(self, words):
        return phintys.Apply(self, [words], [T.lscalar()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = numpy.asarray(len(inputs[0]), "int64")


def test_a_type_of_the_users():
    words = Words()("words")
    f = phintys.function([words], [words, Count()(words) * 2])
    found, twice = f(["one", "two", "three"])
    assert found == ["one", "two", "three"] and twice == 6
    with pytest.raises(TypeError, match="a list of words is expected, got 3"):
        f(3)


# ---- the note on memory ----------------------------------------------------------------------------------------------
def overwriting(output):
    """For each sigmoid of a program, in its order, whether it writes to the memory of its operand."""
    f = phintys.function([u], output, mode="FAST_COMPILE")
    nodes = [node for node in f.maker.fgraph.toposort() if "sigmoid" in str(node.op).lower()]
    return [bool(node.op.destroy_map) for node in nodes]


def test_a_chain_of_sigmoids_is_one_buffer():
    first = T.nnet.sigmoid(u)
    second = T.nnet.sigmoid(first)
    assert overwriting(T.nnet.sigmoid(second)) == [False, True, True]
    assert overwriting([T.nnet.sigmoid(second), first]) == [False, False, True]


# ---- the chapter on loops --------------------------------------------------------------------------------------------
def test_what_outputs_info_may_leave_out():
    """A variable, or a dict without taps, is the state one step ago; no initial value or None is no state."""
    start, rows = T.dscalar("start"), T.dvector("rows")
    for state in (start, {"initial": start}, {"initial": start, "taps": [-1]}):
        for none in (None, {}, {"taps": None}):
            (sums, doubled), _ = phintys.scan(lambda row, total: (total + row, row * 2), rows, [state, none])
            found = phintys.function([start, rows], [sums, doubled])(1.0, [2.0, 3.0])
            assert [value.tolist() for value in found] == [[3.0, 6.0], [4.0, 6.0]]
    for nothing in (None, [], {}):
        squares, _ = phintys.scan(lambda row: row ** 2, rows, nothing)
        assert phintys.function([rows], squares)([2.0, 3.0]).tolist() == [4.0, 9.0]


def test_rows_of_the_initial_state_are_those_before_the_first_step():
    start = T.dvector("start")
    rows, _ = phintys.scan(lambda far, near, last: far * 100 + near * 10 + last, n_steps=3,
                           outputs_info={"initial": start, "taps": [-5, -2, -1]})
    found = phintys.function([start], rows)([1.0, 2.0, 3.0, 4.0, 5.0])
    wanted = [1.0, 2.0, 3.0, 4.0, 5.0]
    for _ in range(3):
        wanted.append(wanted[-5] * 100 + wanted[-2] * 10 + wanted[-1])
    assert found.tolist() == wanted[5:]


class Counted(phintys.Op):
    """The hyperbolic tangent, which counts its calls."""

    __props__, calls = (), 0

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, outputs):
        Counted.calls += 1
        outputs[0][0] = numpy.asarray(numpy.tanh(inputs[0]))

    def L_op(self, inputs, outputs, gradients):
        return [gradients[0] * (1 - outputs[0] ** 2)]


@pytest.mark.parametrize("every, most", [(None, 12), (3, 24), (4, 24), (5, 24)])
def test_checkpoints_compute_no_step_more_than_twice(every, most):
    start, rows = T.dscalar("start"), T.dvector("rows")
    loop, options = (phintys.scan, {}) if every is None else (phintys.scan_checkpoints, {"save_every_N": every})
    states, _ = loop(lambda row, state: Counted()(state + row), rows, start, **options)
    f = phintys.function([start, rows], T.grad(states[-1], start))
    Counted.calls = 0
    slope = f(0.5, numpy.linspace(0, 0.5, 12))
    assert 12 <= Counted.calls <= most and 0 < slope < 1
