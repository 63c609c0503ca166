"""Connectionist temporal classification: a clear error without the library; with it, what it is called with.

A library with the functions of warp-ctc is compiled here. It is no loss: it shows what arrives.
"""
import shutil
import subprocess

import numpy
import pytest
from family_cases import values

import phintys
import phintys.tensor as T
from phintys.ops.nnet.ctc import ConnectionistTemporalClassification, ctc, ctc_available, ctc_present

SOURCE = """
#include <stddef.h>
typedef struct { int location; union { unsigned threads; void* stream; } at; int blank; } options_t;
const char* ctcGetStatusString(int status) { return status == 3 ? "execution failed" : "no error"; }
int get_workspace_size(const int* label_lengths, const int* lengths, int symbols, int examples, options_t options,
                       size_t* size) {
    *size = 64 * examples;
    return options.location == 0 && options.at.threads == 1 && options.blank == 0 ? 0 : 3;
}
int compute_ctc_loss(const float* x, float* gradients, const int* labels, const int* label_lengths, const int* lengths,
                     int symbols, int examples, float* costs, void* workspace, options_t options) {
    for (int b = 0; b < examples; b++) {
        float sum = 0;
        for (int t = 0; t < lengths[b]; t++)
            for (int s = 0; s < symbols; s++) {
                const int place = (t * examples + b) * symbols + s;
                sum += x[place] * x[place];
                if (gradients) gradients[place] = 2 * x[place];
            }
        for (int l = 0; l < label_lengths[b]; l++) {
            if (*labels == 7) return 3;
            sum += 100 * *labels++;
        }
        costs[b] = sum;
    }
    return 0;
}
"""
LABELS, LENGTHS = numpy.array([[1, 2, -1], [3, -1, -1]], "int32"), numpy.array([4, 2], "int32")
X = values((4, 2, 9), "float32")


@pytest.fixture
def library(tmp_path):
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    (tmp_path / "lib").mkdir()
    (tmp_path / "ctc.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(tmp_path / "lib" / "libwarpctc.so"),
                    str(tmp_path / "ctc.c")], check=True)
    with phintys.change_flags(**{"ctc.root": str(tmp_path)}):
        yield


def test_without_the_library(tmp_path):
    with phintys.change_flags(**{"ctc.root": str(tmp_path)}):
        if ctc_present():
            pytest.skip("the library is installed")
        assert not ctc_available() and "libwarpctc.so is not found" in ctc_available.msg
        with pytest.raises(RuntimeError, match="CTC is not available .* libwarpctc.so is not found in build, lib"):
            ctc(T.ftensor3(), T.imatrix(), T.ivector())


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libwarpctc.so").write_text("text")
    with phintys.change_flags(**{"ctc.root": str(tmp_path)}), pytest.raises(RuntimeError, match="cannot be used"):
        ctc(T.ftensor3(), T.imatrix(), T.ivector())


def test_costs_and_gradients(library):
    x, labels, lengths = T.ftensor3(), T.imatrix(), T.ivector()
    cost = ctc(x, labels, lengths)
    weights = numpy.array([1, 3], "float32")
    function = phintys.function([x, labels, lengths], [cost, cost.shape, T.grad((cost * weights).sum(), x)])
    got, shape, gradient = function(X, LABELS, LENGTHS)
    used = X * (numpy.arange(4)[:, None] < LENGTHS)[..., None]
    numpy.testing.assert_allclose(got, (used ** 2).sum(axis=(0, 2)) + [300, 300], rtol=1e-6)
    numpy.testing.assert_allclose(gradient, 2 * used * weights[:, None], rtol=1e-6)
    assert tuple(shape) == (2,)


def test_costs_alone_need_no_gradients(library):
    symbols = T.ftensor3(), T.imatrix(), T.ivector()
    function = phintys.function(symbols, ctc(*symbols))
    node, = [node for node in function.maker.fgraph.toposort() if "Connectionist" in str(node.op)]
    assert not node.op.compute_grad and len(node.outputs) == 1
    wanted = phintys.function(symbols, ctc(*symbols), mode=phintys.Mode(optimizer=None))(X, LABELS, LENGTHS)
    numpy.testing.assert_array_equal(function(X, LABELS, LENGTHS), wanted)


@pytest.mark.parametrize("labels, lengths, error, message", [
    (LABELS[:1], LENGTHS, ValueError, "2 examples, but there are 1 rows of labels and 2 lengths"),
    (LABELS, LENGTHS + 1, ValueError, r"4 steps, got lengths \[5 3\]"),
    (LABELS + 7, LENGTHS, ValueError, "9 symbols, got label 10"),
    (numpy.full((2, 1), 7, "int32"), LENGTHS, RuntimeError, "CTC error: execution failed"),
])
def test_errors_while_running(library, labels, lengths, error, message):
    symbols = T.ftensor3(), T.imatrix(), T.ivector()
    with pytest.raises(error, match=message):
        phintys.function(symbols, ctc(*symbols))(X, labels, lengths)


def test_errors_while_building(library):
    op = ConnectionistTemporalClassification()
    with pytest.raises(TypeError, match="activations must use the float32 type"):
        op(T.dtensor3(), T.imatrix(), T.ivector())
    with pytest.raises(ValueError, match="labels must have 2 dimensions"):
        op(T.ftensor3(), T.ivector(), T.ivector())
    assert T.nnet.ctc.ctc is ctc
