"""Scratch memory in memory reports: that of convolutions is bounded, and what is predicted is what a call takes."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T

x, w, b = T.ftensor4("x"), T.ftensor4("w"), T.fvector("b")
y = T.nnet.relu(T.nnet.conv2d(x, w, border_mode="half") + b.dimshuffle("x", 0, "x", "x"))


def arrays(images, channels=16):
    shapes = [(images, channels, 32, 32), (24, channels, 3, 3), (24,)]
    return [np.ones(shape, "float32") for shape in shapes]


def scratch(function, given):
    return max(function.memory_report([array.shape for array in given]).scratch.values())


@pytest.mark.parametrize("outputs", [[y], T.grad(y.sum(), [x, w, b])], ids=["forward", "gradients"])
def test_scratch_memory_is_that_of_a_few_images(outputs):
    """The windows of all images, as a matrix, would have 9 times their size. Of 64 images, a worker has as much as its
    cache has room for."""
    f = phintys.function([x, w, b], outputs)
    one, few, many = [scratch(f, arrays(images)) for images in (1, 64, 256)]
    batch = arrays(256)[0].nbytes
    assert 0 < one <= few == many < batch // 2


def test_what_is_predicted_is_what_a_call_takes():
    f = phintys.function([x, w, b], [y, *T.grad(y.sum(), [w])])
    given = arrays(4)
    predicted = f.memory_report([array.shape for array in given])
    f(*given)
    measured = f.memory_report()
    assert measured.scratch == predicted.scratch and len(predicted.scratch) >= 2
    f.free()
    f(*given)
    assert 0 <= f.kept_bytes() - max(predicted.scratch.values()) <= 2 ** 16        # and small blocks


def test_the_text():
    f = phintys.function([x, w, b], y)
    report = f.memory_report([array.shape for array in arrays(4)])
    position, = report.scratch
    assert f"scratch memory of kernels: {report.scratch[position] / 1024:.1f} KiB, which instruction {position} needs" \
        in str(report)
    assert phintys.function([x], x + 1).memory_report([(1, 2, 3, 4)]).scratch == {}


def test_what_is_not_known_and_what_would_fail():
    k = T.lscalar("k")
    f = phintys.function([x, w, k], T.nnet.abstract_conv.conv2d_grad_wrt_inputs(x, w, (None, None, k, k)))
    assert f.memory_report([(2, 3, 6, 6), (3, 4, 3, 3), ()]).scratch == {}
    assert f.memory_report([(2, 3, 6, 6), (3, 4, 3, 3), np.array(8)]).scratch != {}
    g = phintys.function([x, w], T.nnet.conv2d(x, w))
    assert g.memory_report([(2, 3, 6, 6), (3, 4, 3, 3)]).scratch == {}
